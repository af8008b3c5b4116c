//! The instruction table beside the oracle tools (crate `orias-isa`, in `tests/isa`).

mod coverage;
mod random;
