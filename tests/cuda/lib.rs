//! A differential fuzzer of random CUDA C: what nvcc makes of it, all engines must run as a
//! reference on the CPU says.
//!
//! A seed makes a [`program::Program`] ([`generate`]), which [`evaluate`] runs as it stands, and
//! [`print`] writes as CUDA C. [`nvcc`] makes PTX of that, [`batch`] runs it in all engines,
//! [`shrink`] makes what differs small, and [`found`] keeps the small ones as tests.

pub mod batch;
pub mod evaluate;
pub mod expr;
pub mod found;
pub mod generate;
pub mod input;
pub mod intrinsics;
pub mod nvcc;
pub mod print;
pub mod program;
pub mod report;
pub mod shrink;
pub mod types;
pub mod walk;
