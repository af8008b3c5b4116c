//! Accesses to memory: which of them become one.

mod alignment;
pub mod atomics;
pub mod local;
pub mod vectorize;
