//! Optimizations of single values: dead code, copies and constants, common subexpressions.

mod algebra;
mod bits;
mod combine;
pub mod common;
pub mod copies;
pub mod dead_code;
pub mod fold;
mod logic;
mod predicate;
#[cfg(test)]
mod proof;
mod rules;
mod values;
