//! The PTX reference interpreter: a kernel of a checked program, run by the semantics of PTX ISA 9.0.
//!
//! How it runs: each reached function is decoded once ([`code`], [`decode`]); warps of 32 lanes execute it. Lanes of a warp
//! that stand at the same instruction form a group; the group that is furthest behind runs first, so that diverged lanes
//! meet again as early as they can. Instructions with a member mask wait until all lanes that it names have come. Warps, blocks
//! and, if one of them spins, the groups of a warp take turns, so that waiting for another thread always ends. Memory is
//! sequentially consistent. The result depends on nothing but the program and the launch.

mod code;
mod convert;
mod decode;
mod error;
mod float;
mod grid;
mod image;
mod integer;
mod lanes;
mod matrix;
mod step;
mod transfer;
mod warp;

use crate::launch::{Launch, Outcome};
use crate::ptx::program::{FuncId, Program};
use orias_targets::misuse::Checks;

pub use error::{InterpretError, StepError, Stopped, Thread};

/// Runs one launch. `source` is the text that `program` was loaded from; messages show it.
///
/// # Errors
/// A launch that does not fit the kernel, and everything that stops a thread: each with the instruction and its place.
pub fn run(
    program: &Program<'_>,
    source: &str,
    launch: &Launch,
) -> Result<Outcome, InterpretError> {
    run_limited(program, source, launch, Limits::default())
}

/// Bounds on a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Warp instructions of all threads together; a launch that executes more is stopped.
    pub warp_instructions: u64,
    /// Misuse to look for; what is found is in [`Outcome::misuse`].
    pub checks: Checks,
}

impl Default for Limits {
    /// Some hours.
    fn default() -> Limits {
        Limits { warp_instructions: 100_000_000_000, checks: Checks::default() }
    }
}

/// [`run`] with bounds.
///
/// # Errors
/// As [`run`], and [`InterpretError::TooLong`] where the launch executes more than it may.
pub fn run_limited(
    program: &Program<'_>,
    source: &str,
    launch: &Launch,
    limits: Limits,
) -> Result<Outcome, InterpretError> {
    let image = image::Image::new(program, launch)?;
    let code = decode::decode(program, &image, launch);
    grid::run(program, source, launch, image, &code, limits)
}

/// Function pointers are `FUNCTIONS + 16 * id`: no memory is mapped there.
const FUNCTIONS: u64 = 0x7e00_0000_0000;

fn function_address(id: FuncId) -> u64 {
    FUNCTIONS + 16 * u64::from(id.0)
}

/// The function that a pointer names.
fn function_at(address: u64) -> Option<FuncId> {
    let offset = address.checked_sub(FUNCTIONS)?;
    (offset % 16 == 0).then(|| u32::try_from(offset / 16).ok().map(FuncId)).flatten()
}
