//! Macro instructions, and what each becomes.

mod divide;
mod divide_constant;
mod double;
mod float;
pub mod macros;
pub mod place;
mod shared;
