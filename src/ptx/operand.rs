//! What instructions of a checked module name: registers, variables, functions and labels by their
//! numbers, special registers, constants.

use std::fmt;
use thin_vec::ThinVec;

/// A register of one function: index into [`super::program::FunctionBody::regs`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct RegId(pub u32);

/// A variable: index into [`super::program::Program::vars`] (module scope and function scope alike;
/// scoping is resolved).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct VarId(pub u32);

/// A function: index into [`super::program::Program::functions`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct FuncId(pub u32);

/// A label: index into [`super::program::FunctionBody::labels`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct LabelId(pub u32);

/// What an instruction reads or writes, as it is written.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A whole register.
    Reg(RegId),
    /// `!%p`
    NotReg(RegId),
    /// One element of a vector register: x = 0 … w = 3.
    Element(RegId, u8),
    /// Bytes or halves of a 32-bit register, in video instructions: `%r.b0`, `%r.h10`, `%r.b7654`.
    Part(RegId, Part),
    /// `-a` of a video instruction: a register or a part of one.
    Neg(Box<Operand>),
    /// An integer constant; an f32/f64 literal where the instruction's type is float is
    /// [`Operand::F32`]/[`Operand::F64`].
    Int(Integer),
    /// A literal of 32 bits, or one that its type made so.
    F32(f32),
    /// A literal of 64 bits, or one that its type made so.
    F64(f64),
    /// It is read only.
    Special(Special),
    /// `{a, b}`; also the whole of a `.v2`/`.v4` register, spelled out.
    Vector(ThinVec<Operand>),
    /// `[base + offset]`
    Address {
        /// What the brackets begin with.
        base: AddressBase,
        /// In bytes.
        offset: i64,
    },
    /// `[base, {coordinates}, …]`: addresses with several parts; each part as its own operand.
    AddressList(ThinVec<Operand>),
    /// `dst|pred`
    Pair(Box<(Operand, Operand)>),
    /// The address of a variable (+ offset), as a value.
    Var(VarId, Offset),
    /// A function's address, or who is called.
    Func(FuncId),
    /// A place of this function.
    Label(LabelId),
    /// A `.branchtargets` / `.calltargets` / `.callprototype` label of this function, by index in
    /// its list.
    BranchTargets(u32),
    /// See `BranchTargets`.
    CallTargets(u32),
    /// See `BranchTargets`.
    Prototype(u32),
    /// Parenthesised list of a call: param variables, registers or constants.
    List(ThinVec<Operand>),
    /// `_`
    Sink,
}

impl Operand {
    /// Calls `f` on every register that it names, an address's too.
    pub fn each_register(&self, f: &mut impl FnMut(RegId)) {
        match self {
            Operand::Reg(r)
            | Operand::NotReg(r)
            | Operand::Element(r, _)
            | Operand::Part(r, _)
            | Operand::Address { base: AddressBase::Reg(r), .. } => f(*r),
            Operand::Neg(op) => op.each_register(f),
            Operand::Vector(list) | Operand::AddressList(list) | Operand::List(list) => {
                list.iter().for_each(|op| op.each_register(f));
            }
            Operand::Pair(both) => {
                let (a, b) = &**both;
                a.each_register(f);
                b.each_register(f);
            }
            _ => {}
        }
    }

    /// The value of an integer constant.
    #[inline]
    pub fn integer(&self) -> Option<i128> {
        match self {
            Operand::Int(value) => Some(value.get()),
            _ => None,
        }
    }
}

/// There are four million of them in a text of 30 MB.
const _: () = assert!(size_of::<Operand>() == 16);

/// An integer constant, from -2^63 to 2^64 - 1, in twelve bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Integer {
    /// The lower words of its value, the lowest first.
    words: [u32; 2],
    is_negative: bool,
}

impl Integer {
    /// Its value.
    pub fn get(self) -> i128 {
        let bits = u64::from(self.words[1]) << 32 | u64::from(self.words[0]);
        match self.is_negative {
            true => i128::from(bits as i64),
            false => i128::from(bits),
        }
    }
}

/// A number of bytes, which begins where words do.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Offset([u32; 2]);

impl Offset {
    /// In bytes.
    pub fn get(self) -> i64 {
        (u64::from(self.0[1]) << 32 | u64::from(self.0[0])) as i64
    }
}

impl From<i64> for Offset {
    fn from(bytes: i64) -> Offset {
        Offset([bytes as u32, (bytes >> 32) as u32])
    }
}

impl fmt::Debug for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

impl From<i64> for Integer {
    fn from(value: i64) -> Integer {
        Integer { is_negative: value < 0, ..Integer::from(value as u64) }
    }
}

impl From<u64> for Integer {
    fn from(value: u64) -> Integer {
        Integer { words: [value as u32, (value >> 32) as u32], is_negative: false }
    }
}

impl From<u32> for Integer {
    fn from(value: u32) -> Integer {
        Integer::from(u64::from(value))
    }
}

impl fmt::Debug for Integer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

/// Which bytes or halves a video instruction selects or writes, as its digits say (most significant
/// lane first). Digits from 4 (bytes) and from 2 (halves) select from the second source register
/// (PTX ISA 9.0, "SIMD Video Instructions").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    /// Halves of 16 bits; else bytes.
    pub halves: bool,
    /// How many of `lanes` count: 1 to 4.
    pub count: u8,
    /// Which ones, the most significant first.
    pub lanes: [u8; 4],
}

/// What an address begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressBase {
    /// The register has the address.
    Reg(RegId),
    /// A variable by its name.
    Var(VarId),
    /// A plain number.
    Absolute,
}

/// A special register (PTX ISA 9.0, "Special Registers"); `.x .y .z .w` are component 0..3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Special {
    /// `%tid`
    Tid(u8),
    /// `%ntid`
    Ntid(u8),
    /// `%laneid`
    LaneId,
    /// `%warpid`
    WarpId,
    /// `%nwarpid`
    NWarpId,
    /// `%ctaid`
    CtaId(u8),
    /// `%nctaid`
    NCtaId(u8),
    /// `%smid`
    SmId,
    /// `%nsmid`
    NSmId,
    /// `%gridid`
    GridId,
    /// `%is_explicit_cluster`
    IsExplicitCluster,
    /// `%clusterid`
    ClusterId(u8),
    /// `%nclusterid`
    NClusterId(u8),
    /// `%cluster_ctaid`
    ClusterCtaId(u8),
    /// `%cluster_nctaid`
    ClusterNCtaId(u8),
    /// `%cluster_ctarank`
    ClusterCtaRank,
    /// `%cluster_nctarank`
    ClusterNCtaRank,
    /// `%lanemask_eq`
    LaneMaskEq,
    /// `%lanemask_le`
    LaneMaskLe,
    /// `%lanemask_lt`
    LaneMaskLt,
    /// `%lanemask_ge`
    LaneMaskGe,
    /// `%lanemask_gt`
    LaneMaskGt,
    /// `%clock`
    Clock,
    /// `%clock_hi`
    ClockHi,
    /// `%clock64`
    Clock64,
    /// `%pm0` and on
    Pm(u8),
    /// `%pm0_64` and on
    Pm64(u8),
    /// `%envreg0` and on
    EnvReg(u8),
    /// `%globaltimer`
    GlobalTimer,
    /// `%globaltimer_lo`
    GlobalTimerLo,
    /// `%globaltimer_hi`
    GlobalTimerHi,
    /// begin, end, cap, 0 and 1 of `%reserved_smem_offset_…` are 0 … 4.
    ReservedSmemOffset(u8),
    /// `%total_smem_size`
    TotalSmemSize,
    /// `%aggr_smem_size`
    AggrSmemSize,
    /// `%dynamic_smem_size`
    DynamicSmemSize,
    /// `%current_graph_exec`
    CurrentGraphExec,
    /// `WARP_SZ`
    WarpSize,
}
