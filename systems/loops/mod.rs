//! Loops: what is done to them as a whole.

mod rounds;
pub mod unroll;
