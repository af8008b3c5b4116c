//! The PTX reference interpreter: a kernel of a checked program, run by the semantics of PTX ISA
//! 9.0.
//!
//! How it runs: each reached function is decoded once ([`code`], [`decode`]); warps of 32 lanes
//! execute it. Lanes of a warp that stand at the same instruction form a group; the group that is
//! furthest behind runs first, so that diverged lanes reconverge as early as they can. Instructions
//! with a member mask wait until all lanes that it names have come. Warps, blocks and, if one of
//! them spins, the groups of a warp run in slices of time, so that waiting for another thread
//! always ends. Memory is sequentially consistent. The result depends on nothing but the program
//! and the launch.

mod access;
mod atomic;
mod builtin;
mod bulk;
mod call;
mod code;
mod convert;
mod decode;
mod env;
mod error;
mod float;
mod grid;
mod groups;
mod heap;
mod image;
mod integer;
mod lanes;
mod limits;
mod matrix;
mod mbarrier;
mod operand;
mod pointer;
mod step;
mod tensor;
mod transfer;
mod video;
mod warp;

use crate::launch::{Argument, Launch, Outcome};
use crate::ptx::program::Program;

pub use error::{InterpretError, StepError, Stopped, Thread};
pub use limits::Limits;

/// Runs one launch. `source` is the text that `program` was loaded from; messages show it.
///
/// # Errors
/// A launch that does not fit the kernel, and everything that stops a thread: each with the
/// instruction and its place.
pub fn run(
    program: &Program<'_>,
    source: &str,
    launch: &Launch,
) -> Result<Outcome, InterpretError> {
    run_limited(program, source, launch, Limits::default())
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

/// The instructions that the interpreter does not know, of a kernel and the functions that it
/// reaches: what each one is, and its byte range in the source. Nothing runs.
///
/// # Errors
/// There is no such kernel, or its shared memory does not fit.
pub fn unsupported(
    program: &Program<'_>,
    entry: &str,
) -> Result<Vec<(String, std::ops::Range<usize>)>, InterpretError> {
    let kernel = program.functions.iter().find(|f| f.entry && f.defined && f.name == entry);
    let parameters = kernel.iter().flat_map(|f| &f.params);
    let args =
        parameters.map(|id| Argument::Bytes(vec![0; program.vars[id.0 as usize].size as usize]));
    let required = |name| kernel.map_or([1; 3], |f| shape(&f.directives, name));
    // One cluster.
    let (block, cluster) = (required("reqntid"), required("reqnctapercluster"));
    let launch = Launch {
        entry: entry.to_string(),
        grid: cluster,
        block,
        cluster: Some(cluster),
        args: args.collect(),
        ..Launch::default()
    };
    let image = image::Image::new(program, &launch)?;
    let code = decode::decode(program, &image, &launch);
    let unknown = code.insts.iter().filter_map(|inst| {
        let code::Op::Unsupported(what) = &inst.op else { return None };
        let place = code.places[inst.place as usize];
        Some((what.to_string(), place.start as usize..place.end as usize))
    });
    Ok(unknown.collect())
}

/// The shape that a directive asks for.
fn shape(directives: &[(&str, Vec<u64>)], name: &str) -> [u32; 3] {
    let found = directives.iter().find(|(directive, _)| *directive == name);
    let numbers = found.map_or(&[][..], |(_, numbers)| numbers);
    [0, 1, 2].map(|axis| numbers.get(axis).map_or(1, |n| *n as u32))
}
