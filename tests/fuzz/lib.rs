//! A differential fuzzer: random well-formed PTX programs, run by the interpreter, by the simulator
//! on ptxas's cubin and by the simulator on ours. All outputs must agree.
//!
//! A seed makes a [`program::Program`] ([`generate`], from the instructions in [`rows`]), which
//! [`print`] turns into PTX and [`input`] into a launch. [`engines`] runs it, [`compare`] holds the
//! outputs beside each other, [`shrink`] makes what differs small, and [`found`] keeps the small
//! ones as tests.

pub mod batch;
pub mod compare;
pub mod engines;
pub mod found;
pub mod generate;
pub mod input;
pub mod print;
pub mod program;
pub mod random;
pub mod report;
pub mod rounds;
pub mod rows;
pub mod shrink;
pub mod template;
