//! What the interpreter executes: each PTX instruction decoded once, operands resolved to register
//! rows and addresses.
//!
//! All functions of a module stand in one flat list; a program counter is an index in it.

use super::bulk::Bulk;
use super::matrix::Matrix;
use super::mbarrier::Mbarrier;
use super::operand::{Address, BarrierKind, Double, Dst, Rows, Slot, SourcePlace, Src, Ternary};
use super::tensor::{MapChange, Tensor};
use crate::ptx::program::FuncId;

/// A decoded instruction.
pub struct Inst {
    /// The guard predicate's row, and whether it is negated.
    pub guard: Option<(Slot, bool)>,
    /// What it does.
    pub op: Op,
    /// Index in [`Code::places`].
    pub place: u32,
}

/// What an instruction does.
pub enum Op {
    Nop,
    /// One result of up to three operands, lane by lane.
    Alu {
        f: Ternary,
        dst: Dst,
        src: [Src; 3],
        arity: u8,
    },
    Alu2 {
        f: Double,
        dst: [Dst; 2],
        src: [Src; 4],
    },
    /// All sources are read before the first is written.
    Copy(Box<[(Dst, Src)]>),
    /// The four words of a 128-bit register.
    Split {
        dst: Box<[Dst]>,
        src: [Src; 2],
    },
    /// Elements of `bits` bits from low to high.
    Pack {
        dst: Dst,
        src: Box<[Src]>,
        bits: u32,
    },
    Unpack {
        dst: Box<[Dst]>,
        src: Src,
        bits: u32,
    },
    /// `bytes` is the size of one element; `signed` extends by the sign.
    Load {
        at: Address,
        bytes: u32,
        signed: bool,
        dst: Box<[Dst]>,
    },
    /// `complete`: the mbarrier that gets the bytes as transactions (`st.async`).
    Store {
        at: Address,
        bytes: u32,
        src: Box<[Src]>,
        complete: Option<Address>,
    },
    Atomic(Box<Atomic>),
    /// `atom.exch.b128`, and `atom.cas.b128` with what to compare; low word first.
    Atomic128 {
        at: Address,
        dst: [Dst; 2],
        compare: Option<[Src; 2]>,
        new: [Src; 2],
    },
    /// A branch that the guard decides.
    Branch(u32),
    /// `brx.idx`
    Table {
        index: Src,
        targets: Box<[u32]>,
    },
    Call(Box<Call>),
    Return,
    Exit,
    Trap,
    Barrier(Barrier),
    /// `barrier.cluster.arrive` and `.wait`
    ClusterArrive,
    ClusterWait,
    /// `wgmma.commit_group`, and `wgmma.wait_group` with how many groups may be open.
    GroupCommit,
    GroupWait(usize),
    WarpBarrier(Src),
    ActiveMask(Dst),
    Shuffle {
        mode: Shuffle,
        dst: Dst,
        valid: Dst,
        a: Src,
        b: Src,
        c: Src,
        mask: Src,
    },
    Vote {
        mode: Vote,
        dst: Dst,
        a: Src,
        mask: Src,
    },
    Match {
        all: bool,
        /// Of 64 bits.
        wide: bool,
        dst: Dst,
        valid: Dst,
        a: Src,
        mask: Src,
    },
    Reduce {
        f: Reduction,
        dst: Dst,
        a: Src,
        mask: Src,
    },
    Elect {
        dst: Dst,
        valid: Dst,
        mask: Src,
    },
    CopyAsync {
        to: Address,
        from: Address,
        bytes: u32,
        source: Option<Src>,
        skip: Option<Src>,
    },
    Bulk(Box<Bulk>),
    Tensor(Box<Tensor>),
    MapChange(Box<MapChange>),
    Mbarrier {
        action: Mbarrier,
        at: Address,
        count: Src,
        dst: Dst,
    },
    /// `alloca`: bytes and alignment.
    Alloca {
        dst: Dst,
        size: Src,
        align: u64,
    },
    StackSave(Dst),
    StackRestore(Src),
    Matrix(Box<Matrix>),
    Unsupported(Box<str>),
}

/// `atom`, `red`, `multimem.red` and `red.async`.
pub struct Atomic {
    /// The first element.
    pub at: Address,
    /// Of one element.
    pub bytes: u32,
    /// The new value of the old one and two operands.
    pub f: Ternary,
    /// The same in shared memory, where it differs.
    pub in_shared: Option<Ternary>,
    /// Empty: the old values are not wanted.
    pub dst: Box<[Dst]>,
    /// What is done to the old value, one an element.
    pub b: Box<[Src]>,
    /// The new value of compare-and-swap.
    pub c: Src,
    /// The mbarrier that gets the bytes as transactions.
    pub complete: Option<Address>,
}

/// A call as it is written.
#[derive(Debug)]
pub struct Call {
    /// What is called.
    pub callee: Callee,
    /// What the callee's parameters get, in order.
    pub args: Vec<Passed>,
    /// Where the results go.
    pub returns: Vec<Passed>,
}

/// What a call goes to.
#[derive(Debug)]
pub enum Callee {
    Known(FuncId),
    Pointer(Src),
}

/// A value on its way between caller and callee, from the caller's side.
#[derive(Clone, Copy, Debug)]
pub enum Passed {
    /// A `.param` variable of the caller's frame.
    Frame {
        offset: u64,
        size: u64,
    },
    Value(Src),
    Into(Dst),
    /// A whole register of the caller, whichever way it goes.
    Rows(Rows),
}

/// A barrier of the block.
#[derive(Clone, Copy, Debug)]
pub struct Barrier {
    /// Its number.
    pub id: Src,
    /// None: all threads of the block.
    pub count: Option<Src>,
    /// What it tells those that come.
    pub kind: BarrierKind,
    /// All threads of a warp must come together.
    pub aligned: bool,
    /// The predicate of a reduction.
    pub a: Src,
    /// Where the result of a reduction goes.
    pub dst: Dst,
}

/// The mode of `shfl`: how a lane finds its source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shuffle {
    Up,
    Down,
    Bfly,
    Idx,
}

/// The mode of `vote`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vote {
    All,
    Any,
    Uniform,
    Ballot,
}

/// What `redux` makes of two numbers of 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reduction {
    /// The operation.
    pub kind: ReductionKind,
    /// Minimum and maximum of signed numbers.
    pub signed: bool,
}

/// The operation of `redux`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReductionKind {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
}

/// One function in [`Code::insts`].
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// As the PTX has it.
    pub name: String,
    /// Of the first instruction; None for a declaration.
    pub entry: Option<u32>,
    /// Register rows of a frame.
    pub rows: u32,
    /// Bytes of a frame in local memory.
    pub frame: u64,
    /// Formal parameters and results.
    pub params: Vec<Formal>,
    /// See [`Body::params`].
    pub returns: Vec<Formal>,
}

/// A formal parameter of a device function: in its frame of local memory, or a register.
#[derive(Clone, Copy, Debug)]
pub struct Formal {
    /// Bytes from the start of the frame.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// A `.reg` parameter.
    pub reg: Option<Rows>,
}

/// All functions that a kernel reaches.
#[derive(Default)]
pub struct Code {
    /// Their instructions, one function behind the other.
    pub insts: Vec<Inst>,
    /// Where they stand, by [`Inst::place`].
    pub places: Vec<SourcePlace>,
    /// By [`FuncId`].
    pub bodies: Vec<Body>,
}
