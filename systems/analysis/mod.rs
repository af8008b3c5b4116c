//! What phases know about a function: each analysis reads the body and changes nothing. It is
//! computed when a phase asks [`Analyses`] for it, and kept until an edit makes it stale.

pub mod blocks;
pub mod cells;
pub mod cfg;
pub mod control_flow;
pub mod divergence;
pub mod dominators;
pub mod frontiers;
pub mod kept;
pub mod liveness;
pub mod loops;
pub mod pressure;
pub mod reaching;
#[cfg(test)]
pub(crate) mod testing;
pub mod trips;
pub mod uses;

pub use control_flow::ControlFlow;
pub use kept::Analyses;
pub use orias_components::lists;
