//! Accesses to memory: which of them become one.

mod alignment;
pub mod atomics;
pub mod local;
pub(crate) mod places;
pub mod vectorize;
