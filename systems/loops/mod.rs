//! Loops: what is done to them as a whole.

pub mod invariants;
pub mod pointers;
pub mod rotate;
mod rounds;
pub mod unroll;
