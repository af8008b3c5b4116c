//! Prepared instructions: what the engine's inner loop reads, with all modifiers resolved.

use super::address::{Address, Space};
use super::error::Cause;
use super::flight::{Kind as GroupKind, Reduction};
use super::kinds::{AtomicKind, AtomicType, Combine};
use super::matrix::MatrixOp;
use super::operand::*;
use super::tensor::Direction;

/// A computation of one lane: parameter, three sources and predicate bits to a value and predicate
/// bits.
pub type LaneFn = fn(u32, u64, u64, u64, u32) -> (u64, u32);

/// What becomes of the predicate bits of a lane operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bits {
    /// Bit 0 and bit 1 go to the two destinations.
    Plain,
    /// Bit 0 and its complement, combined.
    Compare(Combine, PredSrc),
    /// Bit 0 and bit 1, combined.
    CompareHalves(Combine, PredSrc),
}

/// A source of PLOP3.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Truth {
    Pred(PredSrc),
    /// The highest bit of a value.
    Sign(Src),
}

/// An operation that works on each lane alone.
#[derive(Clone, Copy, Debug)]
pub struct LaneOp {
    pub f: LaneFn,
    pub param: u32,
    pub dst: Dst,
    /// The result fills two cells.
    pub wide: bool,
    pub src: [Src; 3],
    pub pin: [PredSrc; 2],
    pub pout: [PredDst; 2],
    pub bits: Bits,
}

/// A load or store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemOp {
    pub address: Address,
    /// 1, 2, 4, 8 or 16.
    pub bytes: u8,
    pub signed: bool,
    /// Destination of a load; a store's data are in `data`.
    pub dst: Dst,
    /// First row of a store's data.
    pub data: u16,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AtomicOp {
    pub address: Address,
    pub kind: AtomicKind,
    pub ty: AtomicType,
    /// More than one of a vector, each with an operation of its own: `F32x4` is four singles,
    /// `F16x8` four pairs of halves.
    pub elements: u8,
    /// The old value.
    pub dst: Dst,
    /// The operand; of CompareSwap the value compared with, then the new one.
    pub src: [Src; 2],
    /// Set where the operation was done.
    pub done: PredDst,
}

impl AtomicOp {
    /// Bytes of the whole access: 4, 8 or 16.
    pub fn bytes(&self) -> usize {
        self.ty.bytes() * usize::from(self.elements)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShuffleMode {
    Index,
    Up,
    Down,
    Butterfly,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VoteMode {
    All,
    Any,
    Equal,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReduceKind {
    Add,
    Min,
    Max,
    MinSigned,
    MaxSigned,
    And,
    Or,
    Xor,
}

/// Special registers that the engine gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Special {
    Zero,
    Lane,
    Thread(u8),
    Cta(u8),
    /// Packed thread index, `SR_TID`.
    ThreadPacked,
    EqMask,
    LtMask,
    LeMask,
    GtMask,
    GeMask,
    Clock,
    GlobalTimer,
    ClockHigh,
    GlobalTimerHigh,
    Constant(u32),
    WarpId,
    SmId,
    /// The CTA's number in its cluster.
    ClusterRank,
    /// The lowest address of local memory.
    LocalBottom,
    /// Bytes of shared memory: `SR_SMEMSZ`, all of it with the part that the system keeps.
    SharedSize,
    /// Warps that an SM holds, in bits 8..16: `SR_VIRTCFG`.
    VirtualConfig,
}

/// What BAR does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BarrierKind {
    Sync,
    Arrive,
    Popc,
    And,
    Or,
}

/// How many threads a barrier of the CTA waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Threads {
    All,
    Count(Src),
    /// From bit 16 on of the register that holds the barrier's number in its low bits.
    Packed,
}

/// Where a jump through a register goes: base + register pair, as address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Indirect {
    pub register: Src,
    /// Code address added.
    pub base: u64,
    /// Anded with the guard.
    pub pred: PredSrc,
}

/// How many arrivals or bytes an instruction counts at a barrier in shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Amount {
    Known(u32),
    /// As the source says.
    Given,
}

/// Dimensions, mode and operands of a copy by tensor map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TensorOp {
    pub direction: Direction,
    /// Only a hint that the data will be wanted: no more than looking at the map.
    pub prefetch: bool,
    pub rank: u8,
    /// Uniform registers: address in shared memory, barrier of a load, coordinates.
    pub place: u8,
    /// The pair that holds the map's address.
    pub map: u8,
    pub im2col: bool,
    /// Offsets of im2col in its low half, ranks that get a copy in its high half.
    pub extra: Option<u8>,
    pub multicast: bool,
}

/// Copies that run by themselves, the barriers that count them, and what they are waited for with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AsyncOp {
    /// `SYNCS.EXCH`: a new barrier.
    Exchange {
        dst: Dst,
        address: Address,
        value: Src,
    },
    /// `SYNCS.ARRIVE`. The result is the state before; with `mask` its low word is the lanes that
    /// arrive here together.
    Arrive {
        dst: Dst,
        address: Address,
        count: Src,
        arrivals: Amount,
        transactions: Amount,
        /// Bytes have come, instead of being announced.
        comes: bool,
        drop: bool,
        mask: bool,
        /// Without a result: the barrier may be another CTA's.
        remote: bool,
    },
    /// `SYNCS.PHASECHK`: whether the phase of the parity in the source's top bit is complete.
    /// `blocks`: waits for some time.
    Check {
        holds: PredDst,
        address: Address,
        phase: Src,
        blocks: bool,
    },
    /// `SYNCS.CCTL.IV`: the barrier's memory is free for other things.
    Invalidate {
        address: Address,
    },
    /// LDGSTS: each lane copies from global to shared memory.
    Lanes {
        to: Address,
        from: Address,
        bytes: u8,
        zero_fill: bool,
        copies: PredSrc,
    },
    /// LDGDEPBAR and UTMACMDFLUSH: the copies since the last one are a group.
    Commit(GroupKind),
    /// DEPBAR: until no more than so many groups are under way.
    Wait {
        keep: u8,
    },
    /// ARRIVES: an arrival (or the coming of one byte) at a barrier when the lane's copies so far
    /// are done.
    ArriveAfter {
        address: Address,
        byte: bool,
    },
    /// UBLKCP and UBLKRED. Uniform registers: address in global memory, or in shared memory with a
    /// barrier; source; size in 16 bytes, with the ranks that get a copy in the high half.
    Bulk {
        to: u8,
        to_shared: bool,
        from: u8,
        from_shared: bool,
        size: u8,
        multicast: bool,
        reduce: Option<Reduction>,
    },
    Tensor(TensorOp),
    /// STAS and REDAS: each lane stores to the cluster's shared memory; the pair at `place` holds
    /// address and barrier.
    Remote {
        place: u16,
        offset: i32,
        data: u16,
        bytes: u8,
        reduce: Option<Reduction>,
    },
}

/// One prepared instruction's work.
#[derive(Clone, Debug)]
pub enum Op {
    /// Fences, hints and padding: nothing to do in a simulator whose memory is always consistent.
    Nop,
    Lane(Box<LaneOp>),
    Load(MemOp),
    Store(MemOp),
    Atomic(Box<AtomicOp>),
    /// PLOP3: two truth tables of three predicates.
    PredLogic {
        dst: [PredDst; 2],
        src: [Truth; 3],
        tables: [u8; 2],
    },
    /// `LDC` with a register.
    LoadConst {
        bank: u8,
        base: Src,
        offset: i32,
        bytes: u8,
        signed: bool,
        dst: Dst,
    },
    Special {
        which: Special,
        dst: Dst,
        wide: bool,
    },
    Shuffle {
        mode: ShuffleMode,
        dst: Dst,
        inside: PredDst,
        src: [Src; 3],
    },
    Vote {
        mode: VoteMode,
        dst: Dst,
        holds: PredDst,
        pred: PredSrc,
    },
    Match {
        all: bool,
        dst: Dst,
        holds: PredDst,
        src: Src,
    },
    Reduce {
        kind: ReduceKind,
        dst: Dst,
        src: Src,
    },
    /// `P2R`: predicates into a byte of a copy of a.
    PredToReg {
        uniform: bool,
        dst: Dst,
        src: [Src; 2],
        byte: u8,
    },
    RegToPred {
        uniform: bool,
        src: [Src; 2],
        byte: u8,
    },
    /// R2UR and its like: the first lane's value; the predicate is set in the lanes whose value is
    /// another, with `or` also where it was set already. ptxas runs a loop on it, until every
    /// lane's value had its turn.
    ToUniform {
        dst: Dst,
        src: Src,
        differs: PredDst,
        or: bool,
    },
    /// RPCMOV: a word of the lane's return address, which ptxas uses as one more register.
    ToReturn {
        high: bool,
        src: Src,
    },
    FromReturn {
        high: bool,
        dst: Dst,
    },
    /// LEPC: the address of an instruction.
    CodeAddress {
        dst: Dst,
        address: u64,
    },
    Branch {
        taken: PredSrc,
        uniform: PredSrc,
        target: u32,
    },
    /// BRA.U.ANY: the whole group goes, where any of its lanes' guards holds.
    BranchAny {
        taken: PredSrc,
        target: u32,
    },
    /// BRA.DIV: taken, by the whole group, when the lanes for which its guard holds are not exactly
    /// those of the mask.
    BranchDivergent {
        mask: Src,
        target: u32,
    },
    /// BRA.CONV: taken when it is.
    BranchConverged {
        mask: Src,
        target: u32,
    },
    Jump(Indirect),
    Exit {
        pred: PredSrc,
    },
    Bssy {
        barrier: u8,
        pred: PredSrc,
        /// The instruction after the region's BSYNC.
        end: u32,
    },
    Bsync {
        barrier: u8,
        pred: PredSrc,
    },
    Break {
        barrier: u8,
        pred: PredSrc,
    },
    /// `BMOV B, R`
    SetBarrier {
        barrier: u8,
        src: Src,
    },
    /// `BMOV R, B`; `clear` empties the barrier.
    GetBarrier {
        barrier: u8,
        dst: Dst,
        clear: bool,
    },
    WarpSync {
        mask: Src,
    },
    /// WARPSYNC.EXCLUSIVE: the lanes of one mask go on together, and without any other.
    WarpSyncExclusive {
        mask: Src,
    },
    Collective {
        mask: Src,
        resume: u32,
    },
    EndCollective,
    Yield {
        /// Lanes that wait for these at BSYNC go on without them.
        release: bool,
    },
    Barrier {
        kind: BarrierKind,
        barrier: Src,
        threads: Threads,
        pred: PredSrc,
    },
    /// B2R.RESULT: what the last BAR.RED gave.
    BarrierResult {
        dst: Dst,
        holds: PredDst,
    },
    /// ELECT: the first lane of the group, its number, and whether this is it.
    Elect {
        holds: PredDst,
        dst: Dst,
        pred: PredSrc,
    },
    /// QSPC: whether a generic address lies in this window.
    QuerySpace {
        holds: PredDst,
        address: Src,
        offset: i32,
        space: Space,
        /// Of shared memory only the CTA's own.
        own: bool,
    },
    Matrix(Box<MatrixOp>),
    /// UCGABAR: arrives at the cluster's barrier, or waits at it.
    ClusterBarrier {
        wait: bool,
    },
    Async(Box<AsyncOp>),
    Trap,
    /// An instruction that cannot run: an error only when it is reached.
    Invalid(Box<Cause>),
}

/// One prepared instruction.
#[derive(Clone, Debug)]
pub struct Micro {
    pub guard: PredSrc,
    /// Runs once for the group, on the uniform datapath.
    pub uniform: bool,
    pub op: Op,
}
