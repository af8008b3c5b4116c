//! What phases need to know of a function: flow of control, dominance, loops, divergence. Each analysis is computed when a
//! phase asks for it, from the body as it is; none is kept between phases, so none can be stale.

pub mod cfg;
pub mod dominators;
pub mod loops;
#[cfg(test)]
pub(crate) mod testing;
