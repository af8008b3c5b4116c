//! The SASS simulator: runs machine words on a model of the SM.
//!
//! A [`Image`] is a loaded module; [`run`] launches one of its kernels. Words are decoded once
//! through the target's table (`prepare`), warps run prepared instructions on register files of 32
//! lanes (`warp`, `exec`), lanes diverge and reconverge as groups (`groups`), CTAs of a cluster and
//! clusters take turns (`cta`, `cluster`, `machine`). Copies that run by themselves are in `flight`
//! until something waits for them; `mbarrier` counts them, `tensor` says what a tensor map copies.
//! What a lane computes is in `integer`, `float` and `convert`.
//!
//! Every instruction is done when the next begins, whatever its control bits say; `timing` says
//! beside it where they say too little, and about how long a kernel takes.

mod address;
mod cluster;
mod convert;
mod cta;
mod error;
mod exec;
mod flight;
mod float;
mod format;
mod groups;
mod half;
mod image;
mod integer;
mod kinds;
mod machine;
mod matrix;
mod mbarrier;
mod op;
mod operand;
mod pack;
mod prepare;
mod saved;
mod system;
mod tensor;
#[cfg(test)]
mod tests;
mod timing;
mod video;
mod warp;

pub use error::{Cause, SimError, Site};
pub use exec::Counts;
pub use flight::Completion;
pub use image::{CODE_BASE, Image, Kernel, Launch, TEXT_ALIGN, Text};
pub use machine::{Finished, Hazards, Limits, run};
pub use system::SystemCall;
pub use timing::{Hazard, Place, Problem, Ran};
