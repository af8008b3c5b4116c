//! PTX: text to syntax tree to checked program.

pub mod ast;
pub mod program;
pub mod types;
