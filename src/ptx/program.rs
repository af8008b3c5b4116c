//! A checked PTX module: what `check` makes of the syntax tree, and what the interpreter and the
//! lowering read.
//!
//! After checking: every name is an index, scopes and `{ }` blocks are gone, each function's body
//! is one flat list of instructions, labels are positions in it, and every register has its type.

use super::diagnostics::Diagnostics;
use super::lexer;
use super::types::{Linkage, Space, Span, Type};
use super::words::{Op, Word, WordSet};
use crate::list::List;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, OnceLock};

/// A register of one function: index into [`Function::regs`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct RegId(pub u32);

/// A variable: index into [`Program::vars`] (module scope and function scope alike; scoping is
/// resolved).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct VarId(pub u32);

/// A function: index into [`Program::functions`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct FuncId(pub u32);

/// A label: index into [`Function::labels`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct LabelId(pub u32);

/// `.file index "path"[, time, size]`; 0 where the numbers are not given.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SourceFile<'s> {
    pub index: u64,
    pub path: Cow<'s, str>,
    /// Seconds, and bytes.
    pub time: u64,
    pub size: u64,
}

#[derive(Clone, Debug)]
pub struct Program<'s> {
    pub version: (u32, u32),
    /// The first `.target` word, such as `sm_90a`.
    pub target: &'s str,
    /// Further `.target` words (`debug`, `texmode_independent`).
    pub target_options: Vec<&'s str>,
    pub address_size: u32,
    pub functions: Vec<Function<'s>>,
    pub vars: List<Variable>,
    pub owned: Owned,
    /// The whole text.
    pub source: &'s str,
    pub files: Vec<SourceFile<'s>>,
    /// `.alias name, function;`: calls after it already name the function.
    pub aliases: Vec<(&'s str, FuncId)>,
    /// `.section` blocks: name and content, as text.
    pub sections: Vec<(&'s str, &'s str)>,
    /// What was found that does not stop a compile.
    pub warnings: Diagnostics,
}

#[derive(Clone, Debug)]
pub struct Function<'s> {
    pub name: &'s str,
    pub entry: bool,
    pub linkage: Linkage,
    /// Return and input parameters as variables of [`Space::Param`]; `Variable::offset` is the
    /// place in its list's layout. A `.reg` parameter of a device function is of [`Space::Reg`] and
    /// has its register ([`Variable::reg`]).
    pub returns: Box<[VarId]>,
    pub params: Box<[VarId]>,
    /// Performance and other directives: name without dot, numbers.
    pub directives: Vec<(&'s str, Vec<u64>)>,
    /// False for a declaration (`.extern .func …;`).
    pub defined: bool,
    /// None: nothing in any of its lists. A function has them as its own ([`Deref`]). Copies share
    /// it, so that who is done with the program may let one function's go after the other.
    pub body: Option<Arc<FunctionBody<'s>>>,
    pub span: Span,
}

/// There may be one for every twenty bytes of text.
const _: () = assert!(size_of::<Function<'_>>() == 96);

/// What only functions with a definition have.
#[derive(Clone, Debug, Default)]
pub struct FunctionBody<'s> {
    pub regs: Vec<Register<'s>>,
    pub code: Vec<Instruction>,
    /// For each label the index of the instruction that it stands before (may equal `code.len()`),
    /// and its name.
    pub labels: Vec<(usize, &'s str)>,
    /// `.branchtargets` lists, in order of appearance.
    pub branch_targets: Vec<Vec<LabelId>>,
    /// `.calltargets` lists.
    pub call_targets: Vec<Vec<FuncId>>,
    /// `.callprototype`s: (returns, params).
    pub prototypes: List<(Vec<VarId>, Vec<VarId>)>,
}

/// The body of all that have none.
static NO_BODY: FunctionBody<'static> = FunctionBody {
    regs: Vec::new(),
    code: Vec::new(),
    labels: Vec::new(),
    branch_targets: Vec::new(),
    call_targets: Vec::new(),
    prototypes: List::new(),
};

impl<'s> Deref for Function<'s> {
    type Target = FunctionBody<'s>;

    fn deref(&self) -> &FunctionBody<'s> {
        self.body.as_deref().unwrap_or(&NO_BODY)
    }
}

impl<'s> DerefMut for Function<'s> {
    fn deref_mut(&mut self) -> &mut FunctionBody<'s> {
        Arc::make_mut(self.body.get_or_insert_default())
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Register<'s> {
    /// As written where it is first used; registers that are declared and never used are not here.
    pub name: &'s str,
    pub ty: Type,
    /// 1, or 2 and 4 for `.reg .v2` and `.reg .v4` registers.
    pub vector: u32,
}

/// There is one for each parameter of each function, and of each call: [`Program::name`] reads its
/// name in the text.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Where its name stands: that of the declaration, or of a range's variable that of its first
    /// use.
    pub(super) start: u32,
    /// The function that declares it; [`NO_FUNCTION`] at module scope.
    pub(super) owner: u32,
    /// Size in bytes of the whole variable; 0 for `.extern .shared name[]`.
    pub size: u64,
    /// Byte offset in the parameter list, or number of the register that a `.reg` parameter is.
    pub(super) place: u64,
    /// None: zero.
    pub init: Option<Box<Initial>>,
    pub space: Space,
    pub linkage: Linkage,
    pub ty: Type,
    pub(super) log_align: u8,
    /// Declared with dimensions.
    pub array: bool,
    /// `.attribute(.managed)`
    pub managed: bool,
    /// What `.ptr` says of the memory that a parameter points to.
    pub pointer: Option<Pointer>,
}

const _: () = assert!(size_of::<Variable>() == 40);

/// [`Variable::owner`] of the module's variables.
pub(super) const NO_FUNCTION: u32 = u32::MAX;

impl Variable {
    /// The addresses in its initial value.
    pub fn relocs(&self) -> impl Iterator<Item = &InitReloc> {
        let init = self.init.as_ref();
        init.and_then(|init| init.relocs.as_deref()).into_iter().flatten()
    }

    /// Alignment in bytes, always a power of two.
    pub fn align(&self) -> u64 {
        1 << self.log_align
    }

    /// Byte offset in the parameter list, for parameters; otherwise 0.
    pub fn offset(&self) -> u64 {
        if self.space == Space::Reg { 0 } else { self.place }
    }

    /// The register of its function that a `.reg` parameter is.
    pub fn reg(&self) -> Option<RegId> {
        (self.space == Space::Reg).then_some(RegId(self.place as u32))
    }

    /// The function that declares it; None at module scope.
    pub fn owner(&self) -> Option<FuncId> {
        (self.owner != NO_FUNCTION).then_some(FuncId(self.owner))
    }
}

/// The variables that each function declares, parameters included, in order.
#[derive(Clone, Debug, Default)]
pub struct Owned {
    /// By function.
    vars: Vec<VarId>,
    /// By [`FuncId`]: where its variables end.
    ends: Vec<u32>,
}

impl Owned {
    pub(super) fn new(functions: usize, vars: &List<Variable>) -> Owned {
        let mut ends = vec![0; functions];
        let owners =
            || vars.iter().enumerate().filter_map(|(i, v)| Some((i, v.owner()?.0 as usize)));
        owners().for_each(|(_, owner)| ends[owner] += 1);
        let mut count = 0;
        // Where they begin, at first: filling moves that to where they end.
        for end in &mut ends {
            count += std::mem::replace(end, count);
        }
        let mut all = vec![VarId(0); count as usize];
        for (i, owner) in owners() {
            all[ends[owner] as usize] = VarId(i as u32);
            ends[owner] += 1;
        }
        Owned { vars: all, ends }
    }

    pub fn of(&self, function: FuncId) -> &[VarId] {
        let end = |f: usize| self.ends.get(f).map_or(0, |end| *end as usize);
        let start = (function.0 as usize).checked_sub(1).map_or(0, end);
        self.vars.get(start..end(function.0 as usize)).unwrap_or_default()
    }
}

impl<'s> Program<'s> {
    /// A variable's name.
    pub fn name(&self, variable: &Variable) -> &'s str {
        let span = self.span(variable);
        self.source.get(span.start as usize..span.end as usize).unwrap_or("")
    }

    /// Where its name stands.
    pub fn span(&self, variable: &Variable) -> Span {
        let start = variable.start as usize;
        Span::new(start, lexer::end_of_name(self.source, start))
    }
}

/// A variable's initial value.
#[derive(Clone, Debug)]
pub struct Initial {
    /// Exactly as many as the variable has. The file's writer shares them: they may be more than
    /// the text.
    pub bytes: Arc<Vec<u8>>,
    /// None: it has no addresses.
    pub relocs: Option<Box<List<InitReloc>>>,
}

/// `.ptr.space .align n` of a kernel parameter: advice about where the pointer points.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pointer {
    /// None: a generic address.
    pub space: Option<Space>,
    pub(super) log_align: u8,
}

impl Pointer {
    /// Alignment in bytes, a power of two.
    pub fn align(&self) -> u64 {
        1 << self.log_align
    }
}

/// An address in an initialiser: `bytes` bytes at `offset` hold (address of `target` + addend) >>
/// shift.
#[derive(Clone, Debug)]
pub struct InitReloc {
    pub offset: u32,
    pub bytes: u8,
    pub shift: u8,
    /// `generic(name)`
    pub generic: bool,
    pub target: SymbolRef,
    pub addend: i64,
}

/// There may be one for every two bytes of text.
const _: () = assert!(size_of::<InitReloc>() == 24);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SymbolRef {
    Var(VarId),
    Func(FuncId),
}

/// Its words are as its own ([`Deref`]).
#[derive(Clone, Debug)]
pub struct Instruction {
    /// Guard predicate, negated or not.
    pub guard: Option<(RegId, bool)>,
    /// Shared by all instructions that are spelled so.
    pub words: Arc<Words>,
    pub operands: Operands,
    pub span: Span,
    /// `.loc` in force: file, line, column; file 0 is none.
    pub loc: (u32, u32, u32),
}

/// There are a million of them in a text of 30 MB.
const _: () = assert!(size_of::<Instruction>() == 56);

/// An opcode with its modifiers.
#[derive(Clone, Debug)]
pub struct Words {
    pub opcode: Op,
    /// Dot words after the opcode, in order, types included.
    pub modifiers: SmallVec<[Word; 8]>,
    /// The words of `modifiers`.
    pub set: WordSet,
    /// The words of `modifiers` that are types, in order.
    pub types: SmallVec<[Type; 8]>,
}

impl Words {
    pub fn new(opcode: Op, modifiers: SmallVec<[Word; 8]>) -> Words {
        let types = modifiers.iter().filter_map(|word| word.ty()).collect();
        Words { opcode, set: WordSet::of(&modifiers), modifiers, types }
    }

    pub fn has(&self, modifier: Word) -> bool {
        self.set.has(modifier)
    }

    /// As an instruction spells them; `written` is its text.
    pub fn spelling(&self, written: &str) -> String {
        if self.has(Word::Other) {
            let guard = written.find(|c: char| written.starts_with('@') && c.is_whitespace());
            let behind = written[guard.unwrap_or(0)..].trim_start();
            let end = behind.find(|c: char| c.is_whitespace() || c == ';');
            return behind[..end.unwrap_or(behind.len())].to_string();
        }
        let modifiers = self.modifiers.iter().map(|word| word.name());
        [self.opcode.name()].into_iter().chain(modifiers).collect::<Vec<_>>().join(".")
    }
}

impl Deref for Instruction {
    type Target = Words;

    fn deref(&self) -> &Words {
        &self.words
    }
}

/// The operands of an instruction: a part of a list that it shares with its neighbours. A list of
/// its own would cost an allocation, and leave holes in memory between what lives longer and what
/// does not.
#[derive(Clone, Debug)]
pub struct Operands {
    all: Arc<OnceLock<Vec<Operand>>>,
    start: u32,
    len: u32,
}

impl Deref for Operands {
    type Target = [Operand];

    fn deref(&self) -> &[Operand] {
        let (start, len) = (self.start as usize, self.len as usize);
        self.all.get().and_then(|all| all.get(start..start + len)).unwrap_or_default()
    }
}

impl<'a> IntoIterator for &'a Operands {
    type Item = &'a Operand;
    type IntoIter = std::slice::Iter<'a, Operand>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Makes the lists that [`Operands`] are parts of: they are there once the list is full, or
/// [`SharedOperands::close`]d.
#[derive(Debug, Default)]
pub(super) struct SharedOperands {
    all: Arc<OnceLock<Vec<Operand>>>,
    next: Vec<Operand>,
}

impl SharedOperands {
    /// Operands that one list has, if no instruction has more: what they need is a size that
    /// allocators have.
    const MANY: usize = 1 << 10;

    /// Takes all that the list has.
    pub fn add(&mut self, operands: &mut Vec<Operand>) -> Operands {
        if self.next.len() + operands.len() > Self::MANY {
            self.close();
        }
        let (start, len) = (self.next.len() as u32, operands.len() as u32);
        self.next.append(operands);
        Operands { all: self.all.clone(), start, len }
    }

    pub fn close(&mut self) {
        // Not the list itself made smaller: allocators leave what is half used in its place.
        let mut full = Vec::with_capacity(self.next.len());
        full.append(&mut self.next);
        // It is set once only: the next ones get another.
        let _ = std::mem::take(&mut self.all).set(full);
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
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
    F32(f32),
    F64(f64),
    Special(Special),
    /// `{a, b}`; also the whole of a `.v2`/`.v4` register, spelled out.
    Vector(Vec<Operand>),
    /// `[base + offset]`
    Address {
        base: AddressBase,
        offset: i64,
    },
    /// `[base, {coordinates}, …]`: addresses with several parts; each part as its own operand.
    AddressList(Vec<Operand>),
    /// `dst|pred`
    Pair(Box<Operand>, Box<Operand>),
    /// The address of a variable (+ offset), as a value.
    Var(VarId, i64),
    Func(FuncId),
    Label(LabelId),
    /// A `.branchtargets` / `.calltargets` / `.callprototype` label of this function, by index in
    /// its list.
    BranchTargets(u32),
    CallTargets(u32),
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
    pub halves: bool,
    /// How many of `lanes` count: 1 to 4.
    pub count: u8,
    pub lanes: [u8; 4],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressBase {
    Reg(RegId),
    Var(VarId),
    /// A plain number.
    Absolute,
}

/// A special register (PTX ISA 9.0, "Special Registers"); `.x .y .z .w` are component 0..3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Special {
    Tid(u8),
    Ntid(u8),
    LaneId,
    WarpId,
    NWarpId,
    CtaId(u8),
    NCtaId(u8),
    SmId,
    NSmId,
    GridId,
    IsExplicitCluster,
    ClusterId(u8),
    NClusterId(u8),
    ClusterCtaId(u8),
    ClusterNCtaId(u8),
    ClusterCtaRank,
    ClusterNCtaRank,
    LaneMaskEq,
    LaneMaskLe,
    LaneMaskLt,
    LaneMaskGe,
    LaneMaskGt,
    Clock,
    ClockHi,
    Clock64,
    Pm(u8),
    Pm64(u8),
    EnvReg(u8),
    GlobalTimer,
    GlobalTimerLo,
    GlobalTimerHi,
    /// begin, end, cap, 0 and 1 of `%reserved_smem_offset_…` are 0 … 4.
    ReservedSmemOffset(u8),
    TotalSmemSize,
    AggrSmemSize,
    DynamicSmemSize,
    CurrentGraphExec,
    /// `WARP_SZ`
    WarpSize,
}
