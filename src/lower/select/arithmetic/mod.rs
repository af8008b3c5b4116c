//! Arithmetic, comparisons, conversions and bits of integers, floats and halves.

pub mod bits;
pub mod compare;
pub mod convert;
pub mod find_nth_set;
pub mod float;
pub mod half;
pub mod integer;
pub mod product64;
pub mod video;
