//! Time in the simulator: what an instruction's control bits promise, whether they keep the
//! promise, and about how long a kernel takes.
//!
//! Results are there at once for whoever runs the code ([`super::exec`]); time is kept beside.
//! [`Timing`] is what one instruction says and touches, prepared once. `watch` finds hazards: reads
//! and writes that neither stalls nor scoreboards protect. `clock` estimates cycles.

mod clock;
mod facts;
mod hazard;
#[cfg(test)]
mod tests;
mod watch;

pub use clock::{Clock, Placement, of_cta};
pub use facts::Timing;
pub use hazard::{Findings, Hazard, Place, Problem, Ran};
pub use watch::{Check, Watch};
