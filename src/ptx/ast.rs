//! The PTX syntax tree, straight from the text: names are slices of the source, nothing is resolved
//! or checked. The parser makes it, one item of the module after the other; `check` turns it into a
//! [`super::program::Program`].
//!
//! A text of any size must not need many times its memory: no more than one item is kept, and in it
//! whatever may be long and is no code (lists of declarations, initial values, strings) is a place
//! in the text, which `check` reads again ([`super::parser::Again`]).

use super::constant::{Binary, Const, Unary};
use super::types::{Linkage, Space, Span, Type};
use crate::list::List;
use std::borrow::Cow;

/// A name with its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ident<'s> {
    pub text: &'s str,
    pub span: Span,
}

/// What stands before everything else.
#[derive(Clone, Debug, Default)]
pub struct Header<'s> {
    /// `.version major.minor`; absent is an error of the checker.
    pub version: Option<(u32, u32, Span)>,
    /// `.target sm_90a, texmode_independent, debug`
    pub target: Vec<Ident<'s>>,
    pub address_size: Option<(u32, Span)>,
}

#[derive(Clone, Debug)]
pub enum Item<'s> {
    Function(Function<'s>),
    Variable(Variable<'s>),
    Alias {
        alias: Ident<'s>,
        aliasee: Ident<'s>,
    },
    File {
        index: u64,
        path: Cow<'s, str>,
        /// Time and size.
        numbers: [u64; 2],
        span: Span,
    },
    /// `.section NAME { … }`: DWARF data, kept as text.
    Section {
        name: Ident<'s>,
        body: Span,
    },
    /// The place of its first token, to be read again.
    Pragma(Span),
}

#[derive(Clone, Debug)]
pub struct Function<'s> {
    pub entry: bool,
    pub linkage: Linkage,
    pub name: Ident<'s>,
    pub returns: Vec<Variable<'s>>,
    pub params: Vec<Variable<'s>>,
    /// `.maxntid 256, 1, 1`, `.minnctapersm 2`, `.noreturn`, `.reqnctapercluster …`: name without
    /// the dot and its numbers.
    pub directives: Vec<(Ident<'s>, Vec<u64>)>,
    /// None is a declaration.
    pub body: Option<Body<'s>>,
    pub span: Span,
}

/// A variable or parameter declaration: `.visible .global .align 8 .v4 .f32 name[2][4] = { … };`
#[derive(Clone, Debug)]
pub struct Variable<'s> {
    pub linkage: Linkage,
    pub space: Space,
    pub align: Option<u32>,
    /// 1, 2, 4 or 8.
    pub vector: u32,
    pub ty: Type,
    pub name: Ident<'s>,
    /// Array dimensions; a first dimension `[]` is `None` (extern shared, or sized by its
    /// initialiser).
    pub dims: Vec<Option<u64>>,
    pub init: Option<Init>,
    /// `.ptr .global .align 16` and `.attribute(.managed)` and the like, uninterpreted.
    pub attributes: Vec<Ident<'s>>,
    /// The alignment after `.ptr`: of what the parameter points to.
    pub pointee_align: Option<u32>,
    /// `%r<8>` declares %r0..%r7: only for registers.
    pub count: Option<u32>,
    pub span: Span,
}

/// An initial value: where it begins in the text, and how many elements its outermost list has (1
/// of a single value).
#[derive(Clone, Copy, Debug)]
pub struct Init {
    pub start: u32,
    pub length: u32,
}

/// One step through an initial value.
#[derive(Clone, Debug)]
pub enum InitPart<'s> {
    /// `{` and `}`
    Open,
    Close,
    Value(Expr<'s>),
}

/// A constant expression or an address in an initialiser or operand. The parser has folded what is
/// constant, so what is left of operators has a name below it.
#[derive(Clone, Debug)]
pub enum Expr<'s> {
    Const(Const, Span),
    Name(Ident<'s>),
    /// `generic(name)`: the callee is the name.
    Call(Ident<'s>, Vec<Expr<'s>>),
    /// `0xff00(name)`: the byte of an address that the mask selects.
    Mask(Const, Box<Expr<'s>>, Span),
    Unary(Unary, Box<Expr<'s>>),
    Binary(Binary, Box<Expr<'s>>, Box<Expr<'s>>),
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

/// A function's body: its statements in order, those of inner blocks too.
#[derive(Clone, Debug, Default)]
pub struct Body<'s> {
    pub statements: List<Statement>,
    /// Those of all [`Statement::Loc`]s: file, line, column.
    pub locs: List<(u32, u32, u32)>,
    /// The first ones of all [`Statement::Instruction`]s, in their order.
    pub instructions: Vec<Instruction<'s>>,
    /// How many there are in all.
    pub count: usize,
}

/// Instructions of a body that the tree has: each takes twenty times its text. The others are read
/// again, in a twentieth of the time that it takes to compile them.
const KEPT: usize = 1 << 13;

impl<'s> Body<'s> {
    /// `at`: where it begins.
    pub fn push(&mut self, at: u32, instruction: Instruction<'s>) {
        self.statements.push(Statement::Instruction(at));
        self.count += 1;
        if self.instructions.len() < KEPT {
            self.instructions.push(instruction);
        }
    }
}

/// Numbers without a name are where the first token begins, for who reads the statement again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Statement {
    /// `.reg` and every other declaration inside a body.
    Declaration(u32),
    Label(u32),
    Instruction(u32),
    /// `{ }` around the next so many statements.
    Block(u32),
    /// `.loc file line column`: the number in [`Body::locs`].
    Loc(u32),
    /// `, function_name label+offset, inlined_at file line column` of the `.loc` before it; the
    /// place of the label.
    Inlined(u32),
    Pragma(u32),
    /// `label: .branchtargets a, b, c;` (the label is a [`Statement::Label`] just before)
    BranchTargets(u32),
    CallTargets(u32),
    CallPrototype(u32),
}

/// There may be one for every two bytes of a body's text.
const _: () = assert!(size_of::<Statement>() == 8);

/// `@!%p1 opcode.mod.mod a, b, c;`
#[derive(Clone, Debug)]
pub struct Instruction<'s> {
    /// The guard predicate and whether it is negated.
    pub guard: Option<(Ident<'s>, bool)>,
    /// The first word: `ld`, `mad`, `setp`, `barrier`.
    pub opcode: Ident<'s>,
    /// The dot-separated words after it, without the dots, in order: `global`, `v4`, `f32`.
    pub modifiers: Vec<Ident<'s>>,
    pub operands: Vec<Operand<'s>>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum Operand<'s> {
    /// A register, variable, label, function or special register (`%tid.x` is one name).
    Name(Ident<'s>),
    /// A constant expression, numbers included.
    Expr(Expr<'s>),
    /// `!%p`: a negated predicate.
    Not(Ident<'s>),
    /// `-%r`, `-%r.h0`: only video instructions take it.
    Negate(Box<Operand<'s>>),
    /// `{a, b, c, d}`
    Vector(Vec<Operand<'s>>, Span),
    /// `[base]`, `[base+imm]`, `[imm]`, `[name+reg]`… as a list of the bracket's comma-separated
    /// parts (tensor and texture operands have several): `[tensor, {x, y}]`.
    Address(Vec<Operand<'s>>, Span),
    /// `base + offset`, in an address or as the address of a variable.
    Sum(Ident<'s>, Expr<'s>),
    /// `array[3]`, `array[%r1]`: an element's address.
    Index(Ident<'s>, Box<Operand<'s>>, Span),
    /// `dst|pred`
    Pair(Box<Operand<'s>>, Box<Operand<'s>>),
    /// `reg.x`, `%tid.x`, `reg.b0`, `reg.h1`: element or part of a register, its name without the
    /// dot.
    Element(Ident<'s>, Ident<'s>),
    /// `(a, b)`: the parenthesised lists of a call.
    List(Vec<Operand<'s>>, Span),
    /// `_`
    Sink(Span),
}

impl Operand<'_> {
    pub fn span(&self) -> Span {
        match self {
            Operand::Name(name) | Operand::Not(name) => name.span,
            Operand::Expr(expr) => expr.span(),
            Operand::Negate(inner) => inner.span(),
            Operand::Vector(_, span)
            | Operand::Address(_, span)
            | Operand::List(_, span)
            | Operand::Index(_, _, span)
            | Operand::Sink(span) => *span,
            Operand::Sum(name, offset) => name.span.to(offset.span()),
            Operand::Pair(first, second) => first.span().to(second.span()),
            Operand::Element(name, element) => name.span.to(element.span),
        }
    }
}
