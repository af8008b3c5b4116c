//! What several selectors need: values as words, addresses, parameters, and operations lane by
//! lane.
//!
//! Nothing here names a selector.

pub mod access;
pub mod half_operands;
pub mod lanes;
pub mod modifiers;
pub mod order;
pub mod params;
pub mod policy;
pub mod windows;
pub mod words;
