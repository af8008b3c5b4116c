//! Optimizations of single values: dead code, copies and constants, common subexpressions.

mod address;
mod algebra;
mod bits;
mod combine;
pub mod common;
pub mod copies;
pub mod dead_code;
mod demand;
pub mod fold;
mod logic;
mod predicate;
mod products;
#[cfg(test)]
mod proof;
mod rules;
pub mod sink;
mod values;
