//! Branches, exits, calls, and what grids say to each other.

pub mod branches;
pub mod call;
pub mod grid;
