//! The pipeline of 159 phases over the Ori IR.

pub mod function;

pub use function::{Compiled, FunctionInfo, Options, PhaseStat, TextReloc};
