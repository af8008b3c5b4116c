//! What can go wrong in a launch, and where it happened.

use super::operand::RegisterError;
use crate::memory::Fault;
use std::fmt;

/// Why an instruction cannot run.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Cause {
    #[error("{0}")]
    Memory(#[from] Fault),
    #[error("cannot decode: {0}")]
    Decode(String),
    #[error("unsupported instruction: {0}")]
    Unsupported(String),
    #[error("{0}")]
    Register(#[from] RegisterError),
    #[error("constant bank {bank} has no {size} bytes at {offset:#x}")]
    Constant { bank: u8, offset: i64, size: u32 },
    #[error(
        "the descriptor {0} was never written: it must hold the value of c[0x0][0x208] or a cache policy"
    )]
    Descriptor(String),
    #[error("jump to {0:#x}, where there is no instruction")]
    Jump(u64),
    #[error("trap")]
    Trap,
    #[error("{0}")]
    Other(String),
}

/// An instruction of a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    pub function: String,
    /// Byte offset in the function's text.
    pub offset: u64,
    /// The instruction as text.
    pub text: String,
    pub cta: [u32; 3],
    pub thread: [u32; 3],
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.cta;
        let [tx, ty, tz] = self.thread;
        write!(
            f,
            "at {:#06x} of {}: {} [block ({x}, {y}, {z}), thread ({tx}, {ty}, {tz})]",
            self.offset, self.function, self.text
        )
    }
}

/// A launch that failed.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum SimError {
    #[error("there is no kernel `{0}`")]
    NoKernel(String),
    #[error("{cause} {site}")]
    At { cause: Cause, site: Box<Site> },
    #[error("deadlock: no thread can go on; {0}")]
    Deadlock(String),
    #[error("still running after {0} warp instructions")]
    TooLong(u64),
}
