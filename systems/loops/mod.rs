//! Loops: what is done to them as a whole.

pub mod invariants;
pub mod pointers;
mod rounds;
pub mod unroll;
