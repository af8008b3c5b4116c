//! Optimizations of single values: dead code, copies and constants, common subexpressions.

mod algebra;
pub mod common;
pub mod copies;
pub mod dead_code;
pub mod fold;
