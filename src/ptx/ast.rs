//! The PTX syntax tree, straight from the text: names are slices of the source, nothing is resolved
//! or checked. The parser makes it, one item of the module after the other; `check` turns it into a
//! [`super::program::Program`].
//!
//! A text of any size must not need many times its memory: no more than one statement is kept, and
//! in it whatever may be long and is no code (initial values, lists of labels, strings) is a place
//! in the text, which `check` reads again ([`super::parser::Again`]). What operands are made of is
//! in lists ([`Tree`]) that one instruction after the other uses.

use super::constant::{Binary, Const, Unary};
use super::cursor::Numbers;
use super::types::{Linkage, Space, Span, Type};
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::hash::BuildHasher;
use std::ops::Range;

pub use super::number::Number;

/// A name with its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ident<'s> {
    /// As the source has it, without the dot of a dot word.
    pub text: &'s str,
    /// Its place, in bytes.
    pub span: Span,
}

/// What stands before everything else.
#[derive(Clone, Debug, Default)]
pub struct Header<'s> {
    /// `.version major.minor`; absent is an error of the checker.
    pub version: Option<(u32, u32, Span)>,
    /// `.target sm_90a, texmode_independent, debug`
    pub target: Vec<Ident<'s>>,
    /// `.address_size 64`, in bits.
    pub address_size: Option<(u32, Span)>,
}

/// What stands at the module level besides functions.
#[derive(Clone, Debug)]
pub enum Item<'s> {
    /// Each name of a declaration by itself.
    Variable(Variable<'s>),
    /// `.alias alias, aliasee;`
    Alias {
        /// The new name.
        alias: Ident<'s>,
        /// A function that is declared before.
        aliasee: Ident<'s>,
    },
    /// `.file 1 "path"[, time, size]`
    File {
        /// What `.loc` names it by.
        index: u64,
        /// Escapes are resolved.
        path: Cow<'s, str>,
        /// Time and size.
        numbers: [u64; 2],
        /// From `.file` to the last number or the path.
        span: Span,
    },
    /// `.section NAME { … }`: DWARF data, kept as text.
    Section {
        /// Without its dot.
        name: Ident<'s>,
        /// What stands between the braces.
        body: Span,
    },
    /// The place of its first token, to be read again.
    Pragma(Span),
}

/// The pragma that keeps loops as they are: of a module, of a function (among whose directives it
/// is found), or of the block in which it stands.
pub const NOUNROLL: &str = "nounroll";

/// A kernel or a function of the device, or the prototype of a call: what stands before its body.
#[derive(Clone, Debug)]
pub struct Function<'s> {
    /// A kernel; else a function of the device.
    pub entry: bool,
    /// `.visible`, `.extern`, `.weak`, or none.
    pub linkage: Linkage,
    /// As it is called and linked.
    pub name: Ident<'s>,
    /// The parameters that it returns, in order.
    pub returns: Vec<Variable<'s>>,
    /// The parameters that it takes, in order.
    pub params: Vec<Variable<'s>>,
    /// `.maxntid 256, 1, 1`, `.minnctapersm 2`, `.noreturn`, `.reqnctapercluster …`: name without
    /// the dot and its numbers.
    pub directives: Vec<(Ident<'s>, Vec<u64>)>,
    /// Where the `{` of its body is; None of a declaration.
    pub body: Option<u32>,
    /// From the first word to what stands before the body.
    pub span: Span,
}

/// A variable or parameter declaration: `.visible .global .align 8 .v4 .f32 name[2][4] = { … };`
#[derive(Clone, Debug)]
pub struct Variable<'s> {
    /// `.visible`, `.extern`, `.weak`, `.common`, or none.
    pub linkage: Linkage,
    /// Where it is kept.
    pub space: Space,
    /// `.align`, in bytes, as it is written: a power of two is the checker's to ask for.
    pub align: Option<u32>,
    /// 1, 2, 4 or 8.
    pub vector: u32,
    /// Of one element.
    pub ty: Type,
    /// Without `<count>` and dimensions.
    pub name: Ident<'s>,
    /// Array dimensions; a first dimension `[]` is `None` (extern shared, or sized by its
    /// initialiser).
    pub dims: Vec<Option<u64>>,
    /// Behind `=`.
    pub init: Option<Init>,
    /// `.ptr .global .align 16` and `.attribute(.managed)` and the like, uninterpreted.
    pub attributes: Vec<Ident<'s>>,
    /// The alignment after `.ptr`: of what the parameter points to.
    pub pointee_align: Option<u32>,
    /// `%r<8>` declares %r0..%r7: only for registers.
    pub count: Option<u32>,
    /// From the state space to the last token.
    pub span: Span,
}

impl Variable<'_> {
    /// One without a name, of 32 bits: what is said of it comes behind its state space.
    pub(super) fn of(space: Space, linkage: Linkage, span: Span) -> Self {
        Variable {
            linkage,
            space,
            align: None,
            vector: 1,
            ty: Type::B32,
            name: Ident { text: "", span },
            dims: Vec::new(),
            init: None,
            attributes: Vec::new(),
            pointee_align: None,
            count: None,
            span,
        }
    }
}

/// An initial value: where it begins in the text, and how many elements its outermost list has (1
/// of a single value).
#[derive(Clone, Copy, Debug)]
pub struct Init {
    /// The place of its first token, in bytes.
    pub start: u32,
    /// Elements of the outermost list.
    pub length: u32,
}

/// One step through an initial value.
#[derive(Debug)]
pub enum InitPart<'a, 's> {
    /// `{` and `}`
    Open,
    /// Elements that are numbers: as many as there are beside each other. Whoever does not take
    /// them all has them passed over.
    Numbers(&'a mut Numbers<'s>),
    /// A list ends.
    Close,
    /// One element, or a value that is no list.
    Value(Expr<'s>),
}

/// A constant expression or an address in an initialiser or operand. The parser has folded what is
/// constant, so what is left of operators has a name below it.
#[derive(Clone, Debug)]
pub enum Expr<'s> {
    /// A number.
    Const(Const, Span),
    /// The address of a variable or a function.
    Name(Ident<'s>),
    /// `generic(name)`: the callee is the name.
    Call(Ident<'s>, Vec<Expr<'s>>),
    /// `0xff00(name)`: the byte of an address that the mask selects.
    Mask(Const, Box<Expr<'s>>, Span),
    /// An operator before what has a name.
    Unary(Unary, Box<Expr<'s>>),
    /// An operator between two, one of which has a name.
    Binary(Binary, Box<Expr<'s>>, Box<Expr<'s>>),
    /// `(.s64) name`
    Cast(Type, Box<Expr<'s>>),
}

impl Expr<'_> {
    /// The place of its first name or number.
    pub fn span(&self) -> Span {
        match self {
            Expr::Const(_, span) | Expr::Mask(_, _, span) => *span,
            Expr::Name(name) | Expr::Call(name, _) => name.span,
            Expr::Unary(_, a) | Expr::Cast(_, a) => a.span(),
            Expr::Binary(_, a, b) => a.span().to(b.span()),
        }
    }
}

/// What the parts of the instruction that was read last are made of, and what all of a module's
/// instructions share.
#[derive(Debug, Default)]
pub struct Tree<'s> {
    /// Operands of the instruction. While it is read, those of lists that are not at their end yet
    /// stand behind.
    pub(super) stack: Vec<Operand>,
    /// Operands of operands: each list in one piece.
    operands: Vec<Operand>,
    /// How the module's instructions are spelled.
    pub spellings: Spellings,
    /// The whole text.
    pub(super) source: &'s str,
}

/// Operands of an operand: places in the tree's list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Operands {
    start: u32,
    len: u32,
}

impl Operands {
    /// How many operands the list has.
    pub fn len(self) -> usize {
        self.len as usize
    }

    /// Whether it has none.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    fn range(self) -> Range<usize> {
        self.start as usize..(self.start + self.len) as usize
    }
}

impl<'s> Tree<'s> {
    /// Of no instruction of the text yet.
    pub(super) fn of(source: &'s str) -> Tree<'s> {
        Tree { source, ..Tree::default() }
    }

    /// Makes room for another instruction's operands.
    pub fn clear(&mut self) {
        self.stack.clear();
        self.operands.clear();
    }

    /// The instruction's own operands, in order.
    pub fn top(&self) -> &[Operand] {
        &self.stack
    }

    fn mark(&self) -> u32 {
        self.operands.len() as u32
    }

    /// Makes a list of the operands that the stack has from `from` on.
    pub(super) fn list(&mut self, from: usize) -> Operands {
        let (start, len) = (self.mark(), (self.stack.len() - from) as u32);
        self.operands.extend_from_slice(&self.stack[from..]);
        self.stack.truncate(from);
        Operands { start, len }
    }

    /// A list of one.
    pub fn only(&mut self, operand: Operand) -> Operands {
        Operands { start: self.one(operand), len: 1 }
    }

    /// The place of one operand, or of two beside each other.
    pub fn one(&mut self, operand: Operand) -> u32 {
        self.operands.push(operand);
        self.mark() - 1
    }

    /// The place of the first of two that stand beside each other.
    pub fn pair(&mut self, first: Operand, second: Operand) -> u32 {
        self.operands.extend([first, second]);
        self.mark() - 2
    }

    /// The one at a place that the tree has given.
    pub fn operand(&self, place: u32) -> &Operand {
        &self.operands[place as usize]
    }

    /// Those of a list that the tree has made.
    pub fn operands(&self, list: Operands) -> &[Operand] {
        self.operands.get(list.range()).unwrap_or_default()
    }

    /// The dot-separated words behind an instruction's opcode, without the dots, in order:
    /// `global`, `v4`, `f32`.
    pub fn modifiers(
        &self,
        instruction: &Instruction<'s>,
    ) -> impl DoubleEndedIterator<Item = Ident<'s>> + Clone + '_ {
        let start = instruction.opcode.span.start;
        self.spellings.get(instruction.spelling).modifiers.iter().map(move |word| {
            let span = Span { start: start + word.start, end: start + word.end };
            let text = self.source.get(span.start as usize..span.end as usize);
            Ident { text: text.unwrap_or(""), span }
        })
    }

    /// The place that begins an operand and the one that ends it.
    pub fn span(&self, operand: &Operand) -> Span {
        match operand {
            Operand::Name(name, _) | Operand::Not(name) => *name,
            Operand::Negate(inner) => self.span(self.operand(*inner)),
            Operand::Const(_, span)
            | Operand::Symbolic(span)
            | Operand::Vector(_, span)
            | Operand::Address(_, span)
            | Operand::List(_, span)
            | Operand::Index(_, _, span)
            | Operand::Sink(span) => *span,
            Operand::Sum(name, _, offset) => name.to(self.span(self.operand(*offset))),
            Operand::Pair(both) => {
                self.span(self.operand(*both)).to(self.span(self.operand(both + 1)))
            }
            Operand::Element(name, element) => name.to(*element),
        }
    }
}

/// An opcode with its modifiers as some instruction has them.
#[derive(Debug)]
pub struct Spelling {
    /// From the opcode to the last modifier: its own, for more modules than one are spelled so.
    text: Box<str>,
    /// Where the first word ends, in bytes.
    opcode: u32,
    /// Their places count from the opcode's.
    modifiers: SmallVec<[Span; 5]>,
}

impl Spelling {
    /// Of a text that begins with the opcode, with the places of its modifiers in it.
    pub(super) fn new(text: &str, opcode: &str, modifiers: SmallVec<[Span; 5]>) -> Spelling {
        Spelling { text: text.into(), opcode: opcode.len() as u32, modifiers }
    }

    /// The first word.
    pub fn opcode(&self) -> &str {
        self.text.get(..self.opcode as usize).unwrap_or("")
    }

    /// The words behind it, without their dots.
    pub fn modifiers(&self) -> impl Iterator<Item = &str> {
        let text = |word: &Span| self.text.get(word.start as usize..word.end as usize);
        self.modifiers.iter().map(move |word| text(word).unwrap_or(""))
    }
}

/// How instructions of a module are spelled: each has its number. Modules have a few dozen for
/// thousands of instructions.
#[derive(Debug, Default)]
pub struct Spellings {
    /// By the text.
    numbers: HashTable<u32>,
    all: Vec<Spelling>,
}

impl Spellings {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// As many as small modules have: room for them at once is less memory than what lists leave
    /// behind that grow to it.
    pub(super) const USUAL: usize = 32;

    /// As many as ever have a number of their own; the others share one, in turn.
    pub const MOST: usize = 1 << 14;

    /// The number of a spelling that has one.
    pub fn find(&self, text: &str) -> Option<u32> {
        let is = |number: &u32| *self.all[*number as usize].text == *text;
        self.numbers.find(FxBuildHasher.hash_one(text), is).copied()
    }

    /// The number of one that has none.
    pub fn add(&mut self, new: Spelling) -> u32 {
        if self.all.len() > Self::MOST {
            self.all.pop();
        }
        let number = self.all.len();
        if number == 0 {
            self.all.reserve_exact(Self::USUAL);
        }
        if number < Self::MOST {
            let Spellings { numbers, all } = self;
            let hash = |text: &str| FxBuildHasher.hash_one(text);
            let of = |number: &u32| hash(&all[*number as usize].text);
            numbers.insert_unique(hash(&new.text), number as u32, of);
        }
        self.all.push(new);
        number as u32
    }

    /// One that was met, by its number.
    pub fn get(&self, number: u32) -> &Spelling {
        &self.all[number as usize]
    }
}

/// A statement of a function's body. Numbers are where the first token begins, for who reads the
/// statement again.
#[derive(Clone, Copy, Debug)]
pub enum Statement<'a, 's> {
    /// A variable or registers: `.reg` and every other declaration inside a body, one by one.
    Declaration(&'a Variable<'s>),
    /// A name with a colon behind it.
    Label(Ident<'s>),
    /// Its operands are in the tree.
    Instruction(&'a Instruction<'s>),
    /// `{`
    Open(u32),
    /// `}` of a block, not of the body.
    Close,
    /// `.loc file line column`
    Loc(u32, u32, u32),
    /// `, function_name label+offset, inlined_at file line column` of the `.loc` before it: the
    /// label.
    Inlined(Span),
    /// Where its `.pragma` stands.
    Pragma(u32),
    /// `label: .branchtargets a, b, c;` (the label is a [`Statement::Label`] just before)
    BranchTargets(Span),
    /// `label: .calltargets a, b, c;`
    CallTargets(Span),
    /// `label: .callprototype (…) _ (…);`
    CallPrototype(&'a Function<'s>),
}

/// `@!%p1 opcode.mod.mod a, b, c;`: its operands are the tree's ([`Tree::top`]).
#[derive(Clone, Copy, Debug)]
pub struct Instruction<'s> {
    /// The guard predicate and whether it is negated.
    pub guard: Option<(Ident<'s>, bool)>,
    /// The first word: `ld`, `mad`, `setp`, `barrier`.
    pub opcode: Ident<'s>,
    /// The number of opcode and modifiers in [`Spellings`].
    pub spelling: u32,
    /// From the guard or the opcode to the `;`, which is not in it.
    pub span: Span,
}

/// A name is its place in the text; a number is the place of an operand in the tree's list.
#[derive(Clone, Copy, Debug)]
pub enum Operand {
    /// A register, variable, label, function or special register (`%tid.x` is one name).
    /// Its number is there where that was found on the way.
    Name(Span, Option<Number>),
    /// A constant expression, numbers included.
    Const(Const, Span),
    /// An expression with names: no instruction takes one.
    Symbolic(Span),
    /// `!%p`: a negated predicate.
    Not(Span),
    /// `-%r`, `-%r.h0`: only video instructions take it.
    Negate(u32),
    /// `{a, b, c, d}`
    Vector(Operands, Span),
    /// `[base]`, `[base+imm]`, `[imm]`, `[name+reg]`… as a list of the bracket's comma-separated
    /// parts (tensor and texture operands have several): `[tensor, {x, y}]`.
    Address(Operands, Span),
    /// `base + offset`, in an address or as the address of a variable.
    Sum(Span, Option<Number>, u32),
    /// `array[3]`, `array[%r1]`: an element's address.
    Index(Span, u32, Span),
    /// `dst|pred`: two places beside each other, the first of them.
    Pair(u32),
    /// `reg.x`, `%tid.x`, `reg.b0`, `reg.h1`: element or part of a register, its name without the
    /// dot.
    Element(Span, Span),
    /// `(a, b)`: the parenthesised lists of a call.
    List(Operands, Span),
    /// `_`
    Sink(Span),
}

/// One is written and read for each operand of each instruction.
const _: () = assert!(size_of::<Operand>() == 32);
