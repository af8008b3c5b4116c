//! What instructions of a checked module name: registers, variables, functions and labels by their
//! numbers, special registers, constants.

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
    Int(i128),
    /// A literal of 32 bits, or one that its type made so.
    F32(f32),
    /// A literal of 64 bits, or one that its type made so.
    F64(f64),
    /// It is read only.
    Special(Special),
    /// `{a, b}`; also the whole of a `.v2`/`.v4` register, spelled out.
    Vector(Vec<Operand>),
    /// `[base + offset]`
    Address {
        /// What the brackets begin with.
        base: AddressBase,
        /// In bytes.
        offset: i64,
    },
    /// `[base, {coordinates}, …]`: addresses with several parts; each part as its own operand.
    AddressList(Vec<Operand>),
    /// `dst|pred`
    Pair(Box<Operand>, Box<Operand>),
    /// The address of a variable (+ offset), as a value.
    Var(VarId, i64),
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
    List(Vec<Operand>),
    /// `_`
    Sink,
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
