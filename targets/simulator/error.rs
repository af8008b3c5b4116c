//! What can go wrong in a launch, and where it happened.

use super::operand::RegisterError;
use crate::memory::Fault;
use std::fmt;

/// Why an instruction cannot run.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Cause {
    /// An access that the device would not do.
    #[error("{0}")]
    Memory(#[from] Fault),
    /// No row explains the word.
    #[error("cannot decode: {0}")]
    Decode(String),
    /// The simulator does not know the instruction: its text.
    #[error("unsupported instruction: {0}")]
    Unsupported(String),
    /// A register that the kernel does not have.
    #[error("{0}")]
    Register(#[from] RegisterError),
    /// A read past the end of a constant bank.
    #[error("constant bank {bank} has no {size} bytes at {offset:#x}")]
    Constant {
        /// Number of the bank.
        bank: u8,
        /// Byte offset in the bank.
        offset: i64,
        /// Bytes.
        size: u32,
    },
    #[error(
        "the descriptor {0} was never written: it must hold the value of c[0x0][0x208] or a cache policy"
    )]
    /// A memory descriptor without a value: the registers.
    Descriptor(String),
    /// A branch to an address without code.
    #[error("jump to {0:#x}, where there is no instruction")]
    Jump(u64),
    /// BPT.TRAP, or an instruction that stands where none should run.
    #[error("trap")]
    Trap,
    /// Anything else, in words.
    #[error("{0}")]
    Other(String),
}

/// An instruction of a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    /// Name of the function.
    pub function: String,
    /// Byte offset in the function's text.
    pub offset: u64,
    /// The instruction as text.
    pub text: String,
    /// The CTA: its place in the grid.
    pub cta: [u32; 3],
    /// The thread: its place in the CTA.
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
    /// The image has no kernel of this name.
    #[error("there is no kernel `{0}`")]
    NoKernel(String),
    /// An instruction cannot run.
    #[error("{cause} {site}")]
    At {
        /// Why.
        cause: Cause,
        /// Where, and for which thread.
        site: Box<Site>,
    },
    /// All threads wait: for what, in words.
    #[error("deadlock: no thread can go on; {0}")]
    Deadlock(String),
    /// The limit of warp instructions was reached.
    #[error("still running after {0} warp instructions")]
    TooLong(u64),
}
