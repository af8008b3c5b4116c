//! Operands of decoded instructions: register rows, values, addresses, and what is computed of
//! them.
//!
//! Registers are rows of 32 lanes of 64 bits; a narrower register holds its value zero-extended, a
//! predicate 0 or 1, a 128-bit one takes two rows.

use crate::ptx::program::FuncId;

/// Lanes of a warp.
pub const LANES: usize = 32;

/// One register of a warp.
pub type Row = [u64; LANES];

/// A register row of the current frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot(pub u32);

/// The row that takes results that are not read.
pub const SINK: Slot = Slot(0);

/// The row of the carry flag (`.cc`).
pub const CARRY: Slot = Slot(1);

/// The first row of a function's own registers.
pub const FIRST_REGISTER: u32 = 2;

/// A row to write, and the bits that its register has.
#[derive(Clone, Copy, Debug)]
pub struct Dst {
    /// The row in its frame.
    pub slot: Slot,
    /// Set for each bit of the register.
    pub mask: u64,
}

impl Dst {
    /// A result that is not read.
    pub const SINK: Dst = Dst { slot: SINK, mask: 0 };
}

/// A value to read.
#[derive(Clone, Copy, Debug)]
pub enum Src {
    Slot(Slot),
    /// A negated predicate.
    Not(Slot),
    Imm(u64),
    /// An address in the current frame of local memory.
    Frame(u64),
    /// An address in the block's own shared memory, as every block of its cluster writes it.
    Shared(u64),
    Special(Dynamic),
}

impl Src {
    /// The number 0.
    pub const ZERO: Src = Src::Imm(0);
}

/// The special registers that are not the same for the whole launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dynamic {
    Tid(u8),
    CtaId(u8),
    ClusterId(u8),
    ClusterCtaId(u8),
    ClusterCtaRank,
    LaneId,
    WarpId,
    /// Instructions that the warp has executed: the clock that the interpreter has.
    Clock,
    MaskEq,
    MaskLe,
    MaskLt,
    MaskGe,
    MaskGt,
}

/// The memory that an instruction means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Space {
    /// Global, constant and kernel parameters: mapped regions.
    Mapped,
    /// The block's own shared memory.
    Shared,
    /// Shared memory of any block of the cluster.
    Cluster,
    Local,
    /// Below the size of a window an address in the thread's frame, otherwise generic.
    Param,
    Generic,
}

/// `base + offset` in a space.
#[derive(Clone, Copy, Debug)]
pub struct Address {
    /// What the address means.
    pub space: Space,
    /// What the offset is added to.
    pub base: Src,
    /// Bytes.
    pub offset: i64,
}

/// One result of three operands.
pub type Ternary = Box<dyn Fn(u64, u64, u64) -> u64 + Send + Sync>;

/// Two results of four operands.
pub type Double = Box<dyn Fn([u64; 4]) -> (u64, u64) + Send + Sync>;

/// What a barrier of the block tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BarrierKind {
    Sync,
    Arrive,
    Popc,
    And,
    Or,
}

/// Where an instruction stands in the source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SourcePlace {
    /// Which function of the program.
    pub function: FuncId,
    /// Byte range of its text.
    pub start: u32,
    /// See [`SourcePlace::start`].
    pub end: u32,
}

/// The rows of a register that is passed: several of a vector, and two of 128 bits.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// The lowest row.
    pub first: Slot,
    /// Rows.
    pub count: u32,
    /// Bytes of a row that count, and the bits.
    pub bytes: usize,
    /// The bits of a row that count.
    pub mask: u64,
}

/// Bits of a shared address below the block's rank in its cluster (observed: ptxas 13.0.88 adds
/// `SR_CgaCtaId << 24`).
pub const RANK_SHIFT: u32 = 24;

/// The part of a shared address inside one block.
pub const OFFSET: u64 = (1 << RANK_SHIFT) - 1;
