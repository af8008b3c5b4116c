//! Accesses to memory by threads: loads, stores, atomics, fences, cache operations, address spaces.

pub mod atomic;
pub mod cache;
pub mod create_policy;
pub mod fence;
pub mod load_store;
pub mod multimem;
pub mod request;
pub mod space;
pub mod swap;
pub mod swap16;
