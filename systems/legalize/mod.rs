//! Legalization: instructions take operand forms that the target has a row for.

pub mod guards;
pub mod operands;
