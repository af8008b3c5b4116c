//! What a compile gives.

use std::time::Duration;

use crate::ptx::diagnostics::Diagnostics;
use crate::times::Measured;
use orias_systems::PhaseStat;
use orias_targets::Target;
use serde::{Deserialize, Serialize};

/// What `-v` says of a function.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FunctionReport {
    /// The function's name in the PTX.
    pub name: String,
    /// A kernel, not a device function.
    pub entry: bool,
    /// Registers a thread.
    pub registers: u32,
    /// Machine instructions of its own, without padding and what it calls.
    pub instructions: u32,
    /// Named barriers.
    pub barriers: u32,
    /// Bytes of static shared variables.
    pub shared_bytes: u32,
    /// Bytes of the function's own frame in local memory.
    pub frame_bytes: u32,
    /// Bytes of stack with what it calls, for a kernel.
    pub stack_bytes: u32,
    /// Bytes that spill code stores, and loads, once for each instruction that does so.
    pub spill_store_bytes: u32,
    /// See [`FunctionReport::spill_store_bytes`].
    pub spill_load_bytes: u32,
    /// Bytes of constant bank 0 and of bank 3.
    pub constant_bytes: [u32; 2],
    /// From the start of its lowering to its machine code: its part of that of the functions that
    /// were compiled together.
    pub time: Duration,
}

/// A compiled module.
#[derive(Clone, Debug)]
pub struct Output {
    /// The file.
    pub cubin: Vec<u8>,
    /// The SM that it is for.
    pub target: &'static Target,
    /// One for each function with code, in source order.
    pub functions: Vec<FunctionReport>,
    /// What was found fault with, and compiled all the same.
    pub warnings: Diagnostics,
    /// Bytes of initialised and zero global memory.
    pub global_bytes: u64,
    /// One row a phase, summed over functions, when asked for.
    pub stats: Vec<PhaseStat>,
    /// `--dump-ir` text, in source order of the functions.
    pub dump: String,
    /// The level that it was compiled at, 0..=3.
    pub opt_level: u8,
    /// That is lower than the one asked for, because the time for that was over
    /// ([`CompileOptions::budget`](super::options::CompileOptions::budget)).
    pub fell_back: bool,
    /// It was not compiled now, but found in a [`Cache`](crate::Cache).
    pub cached: bool,
    /// How long each stage took.
    pub times: Times,
    /// What the time went to besides the phases, when statistics are asked for.
    pub measured: Measured,
}

/// Wall time of the stages of a compile; what a level took that was given up is in none of them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Times {
    /// Text to checked program.
    pub read: Duration,
    /// Program to machine code of all functions.
    pub code: Duration,
    /// Linking, attributes and layout: machine code to the file's bytes.
    pub file: Duration,
}
