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
    /// What `.loc` names it by.
    pub index: u64,
    /// As it is written, escapes resolved.
    pub path: Cow<'s, str>,
    /// Seconds, and bytes.
    pub time: u64,
    /// Bytes; 0 where it is not given.
    pub size: u64,
}

/// A module without errors.
#[derive(Clone, Debug)]
pub struct Program<'s> {
    /// `.version`: major and minor.
    pub version: (u32, u32),
    /// The first `.target` word, such as `sm_90a`.
    pub target: &'s str,
    /// Further `.target` words (`debug`, `texmode_independent`).
    pub target_options: Vec<&'s str>,
    /// In bits: 64.
    pub address_size: u32,
    /// By [`FuncId`], declarations among them, in the order of their first mention.
    pub functions: Vec<Function<'s>>,
    /// By [`VarId`], in the order of the text.
    pub vars: List<Variable>,
    /// Which of `vars` each function declares.
    pub owned: Owned,
    /// The whole text.
    pub source: &'s str,
    /// `.file` lines, in the order of the text.
    pub files: Vec<SourceFile<'s>>,
    /// `.alias name, function;`: calls after it already name the function.
    pub aliases: Vec<(&'s str, FuncId)>,
    /// `.section` blocks: name and content, as text.
    pub sections: Vec<(&'s str, &'s str)>,
    /// What was found that does not stop a compile.
    pub warnings: Diagnostics,
}

/// A kernel or a function of the device.
#[derive(Clone, Debug)]
pub struct Function<'s> {
    /// As it is linked.
    pub name: &'s str,
    /// A kernel; else a function of the device.
    pub entry: bool,
    /// Whether other modules see it.
    pub linkage: Linkage,
    /// Return and input parameters as variables of [`Space::Param`]; `Variable::offset` is the
    /// place in its list's layout. A `.reg` parameter of a device function is of [`Space::Reg`] and
    /// has its register ([`Variable::reg`]).
    pub returns: Box<[VarId]>,
    /// See `returns`.
    pub params: Box<[VarId]>,
    /// Performance and other directives: name without dot, numbers.
    pub directives: Vec<(&'s str, Vec<u64>)>,
    /// False for a declaration (`.extern .func …;`).
    pub defined: bool,
    /// None: nothing in any of its lists. A function has them as its own ([`Deref`]). Copies share
    /// it, so that who is done with the program may let one function's go after the other.
    pub body: Option<Arc<FunctionBody<'s>>>,
    /// Where it was declared: from the first word to what stands before the body.
    pub span: Span,
}

/// There may be one for every twenty bytes of text.
const _: () = assert!(size_of::<Function<'_>>() == 96);

/// What only functions with a definition have.
#[derive(Clone, Debug, Default)]
pub struct FunctionBody<'s> {
    /// By [`RegId`], in the order of their first use.
    pub regs: Vec<Register<'s>>,
    /// In the order of the text.
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

/// A register of one function.
#[derive(Clone, Copy, Debug)]
pub struct Register<'s> {
    /// As written where it is first used; registers that are declared and never used are not here.
    pub name: &'s str,
    /// As it was declared.
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
    /// Where it is kept.
    pub space: Space,
    /// Whether other modules see it.
    pub linkage: Linkage,
    /// Of one element.
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

    /// Those of a function, in the order of the text.
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
    /// In bytes, from the variable's begin.
    pub offset: u32,
    /// How many bytes are filled: 1, 2, 4 or 8.
    pub bytes: u8,
    /// In bits: of a mask, where the byte that it selects begins.
    pub shift: u8,
    /// `generic(name)`
    pub generic: bool,
    /// Whose address it is.
    pub target: SymbolRef,
    /// In bytes.
    pub addend: i64,
}

/// There may be one for every two bytes of text.
const _: () = assert!(size_of::<InitReloc>() == 24);

/// What an address in an initial value is of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SymbolRef {
    /// A variable of the module.
    Var(VarId),
    /// A function, declared or defined.
    Func(FuncId),
}

/// Its words are as its own ([`Deref`]).
#[derive(Clone, Debug)]
pub struct Instruction {
    /// Guard predicate, negated or not.
    pub guard: Option<(RegId, bool)>,
    /// Shared by all instructions that are spelled so.
    pub words: Arc<Words>,
    /// In the order of the text.
    pub operands: Operands,
    /// From the guard or the opcode to the `;`, which is not in it.
    pub span: Span,
    /// `.loc` in force: file, line, column; file 0 is none.
    pub loc: (u32, u32, u32),
}

/// There are a million of them in a text of 30 MB.
const _: () = assert!(size_of::<Instruction>() == 56);

/// An opcode with its modifiers.
#[derive(Clone, Debug)]
pub struct Words {
    /// The first word.
    pub opcode: Op,
    /// Dot words after the opcode, in order, types included.
    pub modifiers: SmallVec<[Word; 8]>,
    /// The words of `modifiers`.
    pub set: WordSet,
    /// The words of `modifiers` that are types, in order.
    pub types: SmallVec<[Type; 8]>,
}

impl Words {
    /// Finds out set and types of the modifiers.
    pub fn new(opcode: Op, modifiers: SmallVec<[Word; 8]>) -> Words {
        let types = modifiers.iter().filter_map(|word| word.ty()).collect();
        Words { opcode, set: WordSet::of(&modifiers), modifiers, types }
    }

    /// Whether the modifier is among its words.
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
    /// Full ones, where they are not final when they are full.
    later: Option<Vec<LaterOperands>>,
}

/// A list that is not there yet.
#[derive(Debug)]
pub(super) struct LaterOperands {
    all: Arc<OnceLock<Vec<Operand>>>,
    pub list: Vec<Operand>,
}

impl LaterOperands {
    pub fn set(self) {
        // Nobody else does.
        let _ = self.all.set(self.list);
    }
}

impl SharedOperands {
    /// Operands that one list has, if no instruction has more: what they need is a size that
    /// allocators have.
    const MANY: usize = 1 << 10;

    /// Takes all that the list has.
    pub fn add(&mut self, operands: &mut Vec<Operand>) -> Operands {
        let start = self.begin(operands.len());
        self.next.append(operands);
        self.end(start)
    }

    /// Where the operands of an instruction begin, which are pushed then.
    pub fn begin(&mut self, count: usize) -> usize {
        if self.next.len() + count > Self::MANY {
            self.close();
        }
        if self.next.capacity() == 0 {
            self.next.reserve_exact(Self::MANY);
        }
        self.next.len()
    }

    /// Adds one to the operands that were begun.
    pub fn push(&mut self, operand: Operand) {
        self.next.push(operand);
    }

    /// Those that there are from there on.
    pub fn from(&self, start: usize) -> &[Operand] {
        &self.next[start..]
    }

    /// Those from there on.
    pub fn end(&self, start: usize) -> Operands {
        let len = self.from(start).len() as u32;
        Operands { all: self.all.clone(), start: start as u32, len }
    }

    /// Forgets those from there on.
    pub fn give_back(&mut self, start: usize) {
        self.next.truncate(start);
    }

    /// Takes them out again.
    pub fn take_back(&mut self, start: usize, operands: &mut Vec<Operand>) {
        operands.extend(self.next.drain(start..));
    }

    pub fn close(&mut self) {
        let mut full = std::mem::take(&mut self.next);
        if full.len() < Self::MANY / 4 * 3 {
            // Not the list itself made smaller: allocators leave what is half used in its place.
            let mut exact = Vec::with_capacity(full.len());
            exact.append(&mut full);
            (self.next, full) = (full, exact);
        }
        // It is set once only: the next ones get another.
        let full = LaterOperands { all: std::mem::take(&mut self.all), list: full };
        match &mut self.later {
            None => full.set(),
            Some(later) => later.push(full),
        }
    }

    /// From now on full lists wait.
    pub fn wait(&mut self) {
        self.later = Some(Vec::new());
    }

    /// Those that wait.
    pub fn take_later(&mut self) -> Vec<LaterOperands> {
        self.later.take().unwrap_or_default()
    }
}

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
