//! A program: what the generator makes, the printer writes and the evaluator runs.
//!
//! Whatever its operands are, an expression has a value in C: what needs care (divisors, lengths of
//! shifts, indices, conversions) is part of the operator, for the printer as for the evaluator.
//! What depends on how threads come (masks, barriers) the evaluator checks.

pub use crate::expr::{Binary, Compare, Expr, Unary};
use crate::types::{Scalar, Struct, Type};

#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    /// Where its inputs come from.
    pub seed: u64,
    /// What its names have in them, so that a file can hold several versions of it.
    pub number: u64,
    pub grid: u32,
    /// Threads of a block.
    pub block: u32,
    pub structs: Vec<Struct>,
    /// A function calls those before it, and perhaps itself. The last one is the kernel.
    pub functions: Vec<Function>,
    /// Words in shared and in global memory that all threads change with one operation each.
    pub shared_words: Vec<Word>,
    pub global_words: Vec<Word>,
    /// Outputs of a thread.
    pub outputs: usize,
}

impl Program {
    pub fn kernel(&self) -> &Function {
        &self.functions[self.functions.len() - 1]
    }

    pub fn threads(&self) -> u32 {
        self.grid * self.block
    }
}

/// A word that is only changed by one operation that is commutative: the order of threads does not
/// matter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Word {
    pub ty: Scalar,
    pub op: Atomic,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Atomic {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
    /// Only on a thread's own memory.
    Exchange,
    CompareAndSwap,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inline {
    Never,
    AsTheCompilerLikes,
    Always,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Function {
    pub inline: Inline,
    pub result: Option<Type>,
    /// The parameters come first.
    pub vars: Vec<Var>,
    pub parameters: usize,
    /// Threads that call it together are named by a mask that it gets: it may use warp operations.
    pub masked: bool,
    /// It has no effect besides its result: it may stand in expressions.
    pub pure: bool,
    pub body: Vec<Stmt>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Var {
    pub ty: Type,
    pub place: Place,
    pub volatile: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Begins as zero.
    Local,
    Parameter,
    /// A parameter of the kernel that has the same value for all threads.
    Uniform,
    /// A parameter that points to the value; to the first element of an array.
    Pointer,
    /// A pointer of the function's own, which [`Stmt::Point`] sets.
    Chosen,
    /// Each thread has an element in an array in shared or global memory. Begins as zero.
    Shared,
    Global,
}

/// A variable, or a part of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Lvalue {
    pub var: usize,
    pub path: Vec<Step>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    Field(usize),
    /// The index modulo the number of elements.
    Index(Box<Expr>),
}

#[derive(Clone, PartialEq, Debug)]
pub enum Argument {
    Number(Expr),
    /// A struct by value.
    Value(Lvalue),
    Pointer(Lvalue),
}

#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    Number(Expr),
    Struct(Lvalue),
}

#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    pub labels: Vec<i64>,
    pub default: bool,
    pub body: Vec<Stmt>,
    /// Goes on with the next case.
    pub falls: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoopKind {
    /// `for` upwards: the bound is looked at before each turn.
    For,
    /// `for` from the bound downwards.
    Down,
    While,
    DoWhile,
    /// All threads of the mask look together whether they go on: those that do are the mask of the
    /// body.
    Together,
}

/// A loop. It ends after `most` turns at the latest.
#[derive(Clone, PartialEq, Debug)]
pub struct Loop {
    pub kind: LoopKind,
    /// Its counter, an `i32` that nothing else changes.
    pub counter: usize,
    pub most: u32,
    /// For `for`: the bound, of which the remainder by `most + 1` is taken. For the others: whether
    /// to go on.
    pub head: Expr,
    pub step: u32,
    pub unroll: Option<u32>,
    pub body: Vec<Stmt>,
}

/// What a warp does together, under the mask of its threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Warp {
    /// From the lane whose number in the mask is the operand's remainder.
    Shuffle,
    /// Only where the mask is a whole warp, like the next three.
    ShuffleIndex,
    ShuffleUp,
    ShuffleDown,
    ShuffleXor,
    Ballot,
    All,
    Any,
    MatchAny,
    MatchAll,
    Reduce(Atomic),
    /// The number of the mask's lanes below this one.
    Rank,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Stmt {
    Assign(Lvalue, Expr),
    /// Lets a pointer point to one of two places.
    Point {
        pointer: usize,
        cond: Expr,
        one: Lvalue,
        other: Lvalue,
    },
    /// Structs of one type.
    Copy(Lvalue, Lvalue),
    /// One of the kernel's outputs.
    Out(usize, Expr),
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// Like `if`, and each side has the mask of those that come there.
    Masked(Expr, Vec<Stmt>, Vec<Stmt>),
    Loop(Loop),
    Switch(Expr, Vec<Case>),
    Break,
    Continue,
    Return(Option<Value>),
    Call {
        into: Option<Lvalue>,
        function: usize,
        args: Vec<Argument>,
    },
    /// Through a pointer to one of several functions of numbers.
    Indirect {
        into: Lvalue,
        which: Expr,
        functions: Vec<usize>,
        args: Vec<Expr>,
    },
    Warp {
        into: Lvalue,
        op: Warp,
        ty: Scalar,
        value: Expr,
        other: Expr,
        width: u32,
    },
    /// An atomic operation on a thread's own memory: what was there.
    OwnAtomic {
        into: Lvalue,
        at: Lvalue,
        op: Atomic,
        ty: Scalar,
        value: Expr,
        other: Expr,
    },
    /// An atomic operation on one of the shared words (of the global ones, if `global`).
    WordAtomic {
        global: bool,
        word: usize,
        value: Expr,
    },
    /// Another thread's shared element, between two barriers of the block.
    Exchange {
        into: Lvalue,
        from: Lvalue,
        ty: Scalar,
        thread: Expr,
    },
    /// Another lane's, between two barriers of the mask.
    ExchangeInWarp {
        into: Lvalue,
        from: Lvalue,
        ty: Scalar,
        lane: Expr,
    },
    /// A shared word after all threads of the block have changed it.
    ReadWord {
        into: Lvalue,
        word: usize,
    },
    /// `__syncthreads_count`, `_and`, `_or`.
    SyncCount {
        into: Lvalue,
        kind: u32,
        cond: Expr,
    },
}
