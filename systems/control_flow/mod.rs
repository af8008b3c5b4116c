//! The shape of control flow: where branches stand, which are needed, in which order blocks lie.

pub mod branches;
pub mod cold;
pub(crate) mod decided;
pub mod equivalent;
pub(crate) mod forks;
pub mod layout;
pub mod nested;
mod overlap;
pub mod predication;
pub mod sinking;
pub mod switch_opt;
pub mod switches;
