//! What stops the interpreter.

use super::operand::SourcePlace;
use crate::launch::LaunchError;
use crate::ptx::program::Program;
use orias_targets::memory::Fault;
use std::fmt;

/// Why a launch did not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum InterpretError {
    /// It does not fit the kernel.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// A thread could not go on.
    #[error(transparent)]
    Stopped(Box<Stopped>),
    /// All threads wait for others of them.
    #[error("deadlock: every thread of the launch waits\n{waiting}")]
    Deadlock {
        /// One line for each group of lanes that waits.
        waiting: String,
    },
    /// It has executed as many warp instructions as it may: their number.
    #[error("still running after {0} warp instructions")]
    TooLong(u64),
}

/// A thread that cannot go on.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{error}\n  at `{instruction}`, line {line}, in `{function}`, {thread}")]
pub struct Stopped {
    /// Why it cannot go on.
    pub error: StepError,
    /// Its text, on one line.
    pub instruction: String,
    /// Its line in the PTX, from 1 on.
    pub line: usize,
    /// The name of the function that it stands in.
    pub function: String,
    /// Who executed it.
    pub thread: Thread,
}

/// Why an instruction could not be executed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StepError {
    /// An access to memory that is not there, not aligned, or not writable.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// The interpreter does not know it: its text.
    #[error("unsupported instruction {0}")]
    Unsupported(String),
    /// `trap` or `brkpt`.
    #[error("trap")]
    Trap,
    /// The name of the function.
    #[error("call of `{0}`, which the module declares and does not define")]
    Undefined(String),
    /// The address that was called.
    #[error("call of {0:#x}, which is no function")]
    NoFunction(u64),
    /// More calls inside each other than a stack has room for.
    #[error("the call stack overflows")]
    StackOverflow,
    /// The index of `brx.idx` is beyond its list.
    #[error("brx.idx with index {index}, of a list of {targets} targets")]
    Index {
        /// What the register held.
        index: u64,
        /// Targets in the list.
        targets: usize,
    },
    /// The number of the barrier.
    #[error("barrier {0}: there are barriers 0 to 15")]
    Barrier(u64),
    /// The rank in the cluster.
    #[error("shared memory of block {0} of the cluster, which has no such block")]
    Rank(usize),
    /// Bytes.
    #[error("a bulk copy of {0} bytes, which is no multiple of 16")]
    BulkSize(u64),
    /// What is wrong with it.
    #[error("a tensor copy with {0}")]
    Tensor(String),
    /// The text of a failed assertion of the program (`__assertfail`), or of a bad `free`.
    #[error("{0}")]
    Assertion(String),
}

/// A thread of a launch: its block and its place in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Thread {
    /// Of its block in the grid: x, y, z.
    pub block: [u32; 3],
    /// Its own in the block: x, y, z.
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
