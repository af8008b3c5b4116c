//! What stops the interpreter.

use super::operand::SourcePlace;
use crate::launch::LaunchError;
use crate::ptx::program::Program;
use orias_targets::memory::Fault;
use std::fmt;

#[derive(Debug, thiserror::Error)]
pub enum InterpretError {
    #[error(transparent)]
    Launch(#[from] LaunchError),
    #[error(transparent)]
    Stopped(Box<Stopped>),
    #[error("deadlock: every thread of the launch waits\n{waiting}")]
    Deadlock {
        /// One line for each group of lanes that waits.
        waiting: String,
    },
    #[error("still running after {0} warp instructions")]
    TooLong(u64),
}

/// A thread that cannot go on.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{error}\n  at `{instruction}`, line {line}, in `{function}`, {thread}")]
pub struct Stopped {
    pub error: StepError,
    /// Its text, on one line.
    pub instruction: String,
    pub line: usize,
    pub function: String,
    pub thread: Thread,
}

/// Why an instruction could not be executed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StepError {
    #[error(transparent)]
    Fault(#[from] Fault),
    #[error("unsupported instruction {0}")]
    Unsupported(String),
    #[error("trap")]
    Trap,
    #[error("call of `{0}`, which the module declares and does not define")]
    Undefined(String),
    #[error("call of {0:#x}, which is no function")]
    NoFunction(u64),
    #[error("the call stack overflows")]
    StackOverflow,
    #[error("brx.idx with index {index}, of a list of {targets} targets")]
    Index { index: u64, targets: usize },
    #[error("barrier {0}: there are barriers 0 to 15")]
    Barrier(u64),
    #[error("shared memory of block {0} of the cluster, which has no such block")]
    Rank(usize),
    #[error("a bulk copy of {0} bytes, which is no multiple of 16")]
    BulkSize(u64),
    #[error("a tensor copy with {0}")]
    Tensor(String),
    #[error("{0}")]
    Assertion(String),
}

/// A thread of a launch: its block and its place in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Thread {
    pub block: [u32; 3],
    pub thread: [u32; 3],
}

impl fmt::Display for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([bx, by, bz], [x, y, z]) = (self.block, self.thread);
        write!(f, "block ({bx}, {by}, {bz}), thread ({x}, {y}, {z})")
    }
}

/// The text of an instruction on one line, its line number, and its function's name.
pub(super) fn describe(
    program: &Program<'_>,
    source: &str,
    place: SourcePlace,
) -> (String, usize, String) {
    let (start, end) = (place.start as usize, place.end as usize);
    let text = source.get(start..end).unwrap_or_default();
    let line = 1 + source.bytes().take(start).filter(|b| *b == b'\n').count();
    let function = program.functions.get(place.function.0 as usize).map_or("", |f| f.name);
    (text.split_whitespace().collect::<Vec<_>>().join(" "), line, function.to_string())
}
