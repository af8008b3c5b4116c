//! Optimizations of single values: dead code, copies and constants, common subexpressions.

mod address;
mod algebra;
mod bits;
mod bounds;
mod combine;
pub mod common;
mod copies;
pub mod dead_code;
mod demand;
mod ends;
pub mod fold;
mod halves;
pub mod linear;
mod logic;
pub mod nan_or_zero;
pub mod near;
mod numbers;
mod packs;
pub mod phis;
mod predicate;
mod products;
#[cfg(test)]
mod proof;
pub mod propagate;
pub mod replace;
mod rules;
mod signs;
mod simplify;
mod sink;
mod sums;
mod uniform;
mod values;
mod zero;

pub(crate) use values::{Values, plain};
