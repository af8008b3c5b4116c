//! A checked PTX module: what `check` makes of the syntax tree, and what the interpreter and the
//! lowering read.
//!
//! After checking: every name is an index, scopes and `{ }` blocks are gone, each function's body
//! is one flat list of instructions, labels are positions in it, and every register has its type.

use super::calls::Call;
use super::diagnostics::Diagnostics;
use super::lexer;
use super::types::{Linkage, Space, Span, Type};
use crate::list::List;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, LazyLock};

pub use super::code::{Code, Instruction, Words};
pub use super::operand::{AddressBase, FuncId, LabelId, Operand, Part, RegId, Special, VarId};

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
    pub code: Code,
    /// For each label the index of the instruction that it stands before (may equal `code.len()`),
    /// and its name.
    pub labels: Vec<(usize, &'s str)>,
    /// The last label before each `.pragma "nounroll"`: most functions have none, and files many
    /// functions.
    pub rolled: Option<Box<SmallVec<[LabelId; 4]>>>,
    /// `.branchtargets` lists, in order of appearance.
    pub branch_targets: Vec<Vec<LabelId>>,
    /// `.calltargets` lists.
    pub call_targets: Vec<Vec<FuncId>>,
    /// `.callprototype`s: (returns, params).
    pub prototypes: List<(Vec<VarId>, Vec<VarId>)>,
    /// From which instruction on which call's function is inlined.
    pub calls: Vec<(u32, Option<Arc<Call>>)>,
}

/// The body of all that have none.
static NO_BODY: LazyLock<FunctionBody<'static>> = LazyLock::new(FunctionBody::default);

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
