//! What phases know about a function: each analysis reads the body and changes nothing. It is computed when a phase asks
//! for it, from the body as it is; none is kept between phases, so none can be stale.

pub mod blocks;
pub mod cfg;
pub mod divergence;
pub mod dominators;
pub mod frontiers;
pub mod lists;
pub mod liveness;
pub mod loops;
#[cfg(test)]
pub(crate) mod testing;
