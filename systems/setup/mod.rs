//! The first phases: what makes the program that the optimizer starts from.

mod divide;
mod divide_constant;
mod double;
mod float;
pub mod macros;
