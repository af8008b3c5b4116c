//! Phases that look at the body and change nothing.

pub mod check;
