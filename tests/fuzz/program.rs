//! A program as data: what the generator makes, the printer prints and the shrinker takes apart.
//!
//! Control flow is a tree of statements, so that every part can be taken out and the rest is still
//! a program. A variable that is not written on every way to its first use starts as zero: the
//! printer sees to that, nothing else has to care.

/// What a variable holds, and so in which register it lives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Class {
    Pred,
    B16,
    B32,
    B64,
    B128,
    F16,
    Bf16,
    F16x2,
    Bf16x2,
    F32,
    F64,
    /// Two halves, two halves of the other kind, a tf32, four bytes of each kind, a double: small
    /// numbers, so that sums of products are exact in every order. What is made of these are
    /// accumulators, which stay exact for as long as a program runs.
    ExactF16,
    ExactBf16,
    ExactTf32,
    ExactE4m3,
    ExactE5m2,
    ExactF64,
    SumF16,
    SumF32,
    SumF64,
}

impl Class {
    pub const ALL: [Class; 20] = [
        Class::Pred,
        Class::B16,
        Class::B32,
        Class::B64,
        Class::B128,
        Class::F16,
        Class::Bf16,
        Class::F16x2,
        Class::Bf16x2,
        Class::F32,
        Class::F64,
        Class::ExactF16,
        Class::ExactBf16,
        Class::ExactTf32,
        Class::ExactE4m3,
        Class::ExactE5m2,
        Class::ExactF64,
        Class::SumF16,
        Class::SumF32,
        Class::SumF64,
    ];

    /// The class of a PTX type's register.
    pub fn of(ty: &str) -> Option<Class> {
        Some(match ty {
            "pred" => Class::Pred,
            "b8" | "u8" | "s8" | "b16" | "u16" | "s16" => Class::B16,
            "b32" | "u32" | "s32" | "s16x2" | "u16x2" => Class::B32,
            "b64" | "u64" | "s64" => Class::B64,
            "b128" => Class::B128,
            "f16" => Class::F16,
            "bf16" => Class::Bf16,
            "f16x2" => Class::F16x2,
            "bf16x2" => Class::Bf16x2,
            "f32" => Class::F32,
            "f64" => Class::F64,
            "xf16" => Class::ExactF16,
            "xbf16" => Class::ExactBf16,
            "xtf32" => Class::ExactTf32,
            "xe4m3" => Class::ExactE4m3,
            "xe5m2" => Class::ExactE5m2,
            "xf64" => Class::ExactF64,
            "sf16" => Class::SumF16,
            "sf32" => Class::SumF32,
            "sf64" => Class::SumF64,
            _ => return None,
        })
    }

    /// The type of its register, and of the memory that it is stored to.
    pub fn register(self) -> &'static str {
        match self {
            Class::Pred => "pred",
            Class::B16 | Class::F16 | Class::Bf16 => "b16",
            Class::B32 | Class::F16x2 | Class::Bf16x2 | Class::SumF16 => "b32",
            Class::ExactF16 | Class::ExactBf16 | Class::ExactTf32 => "b32",
            Class::ExactE4m3 | Class::ExactE5m2 => "b32",
            Class::B64 => "b64",
            Class::B128 => "b128",
            Class::F32 | Class::SumF32 => "f32",
            Class::F64 | Class::ExactF64 | Class::SumF64 => "f64",
        }
    }

    /// The class's own name, which [`Class::of`] reads.
    pub fn name(self) -> &'static str {
        match self {
            Class::F16 => "f16",
            Class::Bf16 => "bf16",
            Class::F16x2 => "f16x2",
            Class::Bf16x2 => "bf16x2",
            Class::ExactF16 => "xf16",
            Class::ExactBf16 => "xbf16",
            Class::ExactTf32 => "xtf32",
            Class::ExactE4m3 => "xe4m3",
            Class::ExactE5m2 => "xe5m2",
            Class::ExactF64 => "xf64",
            Class::SumF16 => "sf16",
            Class::SumF32 => "sf32",
            Class::SumF64 => "sf64",
            other => other.register(),
        }
    }

    /// The letters of its variables' names.
    pub fn letters(self) -> &'static str {
        match self {
            Class::Pred => "p",
            Class::B16 => "h",
            Class::B32 => "r",
            Class::B64 => "d",
            Class::B128 => "q",
            Class::F16 => "fh",
            Class::Bf16 => "bh",
            Class::F16x2 => "fx",
            Class::Bf16x2 => "bx",
            Class::F32 => "f",
            Class::F64 => "fd",
            Class::ExactF16 => "xh",
            Class::ExactBf16 => "xb",
            Class::ExactTf32 => "xt",
            Class::ExactE4m3 => "xp",
            Class::ExactE5m2 => "xq",
            Class::ExactF64 => "xd",
            Class::SumF16 => "sh",
            Class::SumF32 => "sf",
            Class::SumF64 => "sd",
        }
    }

    /// Bytes in memory; a predicate is stored as a word.
    pub fn bytes(self) -> usize {
        match self {
            Class::B16 | Class::F16 | Class::Bf16 => 2,
            Class::B64 | Class::F64 | Class::ExactF64 | Class::SumF64 => 8,
            Class::B128 => 16,
            _ => 4,
        }
    }

    /// Whether PTX has constants of this class that stand as operands.
    pub fn has_constants(self) -> bool {
        matches!(self, Class::B16 | Class::B32 | Class::B64 | Class::F32 | Class::F64)
    }
}

/// A variable of a function, by number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Var(pub u32);

/// What a variable is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VarInfo {
    pub class: Class,
    /// An approximation: it is stored, and nothing else is made of it.
    pub near: bool,
    /// Written by a statement of control flow: nothing else writes it.
    pub fixed: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Operand {
    Var(Var),
    /// A predicate, negated.
    Not(Var),
    /// The bits of a constant.
    Bits(u64),
    /// As it stands: offsets and other numbers that are part of the instruction.
    Text(String),
}

/// A place in an instruction's text.
#[derive(Clone, PartialEq, Debug)]
pub enum Slot {
    Def(Var),
    /// What is read and written.
    Change(Var),
    /// An operand of a class; whether a constant may stand there.
    Use {
        operand: Operand,
        class: Class,
        constant: bool,
    },
    /// A mask or a number: part of what the instruction does.
    Fixed(Operand),
}

/// A piece of an instruction's text.
#[derive(Clone, PartialEq, Debug)]
pub enum Piece {
    Text(String),
    /// The slot with this number.
    Slot(usize),
}

/// One instruction, or several that belong together.
#[derive(Clone, PartialEq, Debug)]
pub struct Op {
    pub family: &'static str,
    pub pieces: Vec<Piece>,
    pub slots: Vec<Slot>,
    pub guard: Option<Cond>,
}

/// A predicate, perhaps negated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cond {
    pub var: Var,
    pub negated: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Stmt {
    Op(Op),
    /// Stores a variable to an output slot of the program.
    Store {
        slot: usize,
        var: Var,
    },
    If(If),
    Loop(Loop),
    Switch(Switch),
    Graph(Graph),
    /// Ends the thread, or returns from the function.
    Leave(Cond),
    Break(Cond),
    Continue(Cond),
    Call(Call),
}

#[derive(Clone, PartialEq, Debug)]
pub struct If {
    pub cond: Cond,
    /// Variables that get the threads of each side, out of those of the mask: by `vote.ballot`
    /// before the branch.
    pub masks: Option<(Operand, Var, Var)>,
    pub then: Vec<Stmt>,
    pub other: Vec<Stmt>,
}

/// A loop that counts to a bound of at most `most`.
#[derive(Clone, PartialEq, Debug)]
pub struct Loop {
    /// How often: a variable or constant; its remainder by `most + 1` counts.
    pub count: Operand,
    pub most: u32,
    /// The body comes before the first test, so that it runs once at least.
    pub test_last: bool,
    /// Counts down instead of up.
    pub down: bool,
    pub counter: Var,
    pub bound: Var,
    /// The mask of the threads that come to the loop, and the variable that gets those that still
    /// run.
    pub mask: Option<(Operand, Var)>,
    pub body: Vec<Stmt>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Switch {
    /// Its remainder by the number of cases counts.
    pub index: Operand,
    /// Gets the case's number.
    pub which: Var,
    /// The mask of the threads that come here, and the variable that gets those of one's own case,
    /// by `match.any`.
    pub mask: Option<(Operand, Var)>,
    /// Each case, and whether it goes on with the next one.
    pub cases: Vec<(Vec<Stmt>, bool)>,
}

/// Blocks that go anywhere. A thread begins with the first and leaves behind the last, or where a
/// target says so.
#[derive(Clone, PartialEq, Debug)]
pub struct Graph {
    /// Blocks that the thread has come to.
    pub counter: Var,
    /// The threads that come here, where they meet behind it.
    pub mask: Option<Operand>,
    pub blocks: Vec<Node>,
}

/// A block of a graph. Targets are blocks by number; one behind the last leaves.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    /// Who has come to more blocks than this leaves.
    pub limit: u32,
    pub body: Vec<Stmt>,
    pub end: End,
}

/// Where a block goes.
#[derive(Clone, PartialEq, Debug)]
pub enum End {
    /// To the next one.
    Fall,
    Jump(usize),
    /// To `target` where none of the bits is set in the value, with the counter added if it is
    /// `counted`; to `other` else.
    Branch {
        value: Var,
        counted: bool,
        bits: u32,
        negated: bool,
        target: usize,
        other: Option<usize>,
    },
    /// By low bits of the value.
    Table {
        value: Var,
        targets: Vec<usize>,
    },
}

impl End {
    /// The targets, each to be changed.
    pub fn targets(&mut self) -> Vec<&mut usize> {
        match self {
            End::Fall => Vec::new(),
            End::Jump(target) => vec![target],
            End::Branch { target, other, .. } => std::iter::once(target).chain(other).collect(),
            End::Table { targets, .. } => targets.iter_mut().collect(),
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// Index in [`Program::functions`].
    pub function: usize,
    /// Calls through a pointer: to `function` where the condition holds, else to the other one.
    pub indirect: Option<(Cond, usize)>,
    /// How deep a recursive function may still go.
    pub depth: Option<Depth>,
    pub args: Vec<Operand>,
    pub results: Vec<Var>,
}

/// The first argument of a recursive function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Depth {
    Number(u32),
    /// One less than one's own: the function calls itself, where that is not zero.
    Less,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Function {
    pub vars: Vec<VarInfo>,
    pub params: Vec<Var>,
    pub results: Vec<Var>,
    /// Has a first parameter that says how deep it may go.
    pub recursive: bool,
    pub body: Vec<Stmt>,
}

/// An output of every thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Output {
    pub class: Class,
    pub near: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    pub seed: u64,
    pub grid: u32,
    pub block: [u32; 3],
    pub kernel: Function,
    pub functions: Vec<Function>,
    pub outputs: Vec<Output>,
    /// Words of the buffer that all threads add to.
    pub shared_words: u32,
    /// Threads that a block must have: a warp, or a warpgroup.
    pub least_threads: u32,
    /// Registers that a thread may have.
    pub most_registers: Option<u32>,
    /// Whether instructions may compute with constants alone.
    pub constants: bool,
}

impl Function {
    pub fn var(&mut self, info: VarInfo) -> Var {
        self.vars.push(info);
        Var(self.vars.len() as u32 - 1)
    }

    pub fn info(&self, var: Var) -> VarInfo {
        self.vars[var.0 as usize]
    }
}

impl Program {
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Byte offsets of the outputs in a thread's row, and the row's size.
    pub fn layout(&self) -> (Vec<usize>, usize) {
        layout(&self.outputs)
    }

    /// The kernel's and the functions' statements, each list with its number: 0 is the kernel's
    /// own.
    pub fn lists(&mut self, visit: &mut dyn FnMut(&mut Vec<Stmt>)) {
        let bodies = std::iter::once(&mut self.kernel).chain(&mut self.functions);
        for function in bodies {
            lists(&mut function.body, visit);
        }
    }

    /// Statements of all functions.
    pub fn size(&self) -> usize {
        let mut count = 0;
        self.clone().lists(&mut |list| count += list.len());
        count
    }

    /// The families of its instructions and the kinds of its statements, each once.
    pub fn features(&self) -> Vec<&'static str> {
        let mut names = Vec::new();
        self.clone().lists(&mut |list| names.extend(list.iter().map(Stmt::feature)));
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// Outputs lie at multiples of 8 bytes, those of 16 bytes at multiples of 16.
pub fn layout(outputs: &[Output]) -> (Vec<usize>, usize) {
    let mut end = 0usize;
    let offsets = outputs
        .iter()
        .map(|output| {
            let size = output.class.bytes().max(8);
            let at = end.next_multiple_of(size);
            end = at + size;
            at
        })
        .collect();
    (offsets, end.next_multiple_of(16).max(16))
}

fn lists(list: &mut Vec<Stmt>, visit: &mut dyn FnMut(&mut Vec<Stmt>)) {
    visit(list);
    for stmt in list {
        stmt.children(&mut |child| lists(child, visit));
    }
}

impl Stmt {
    /// The lists of statements inside it.
    pub fn children(&mut self, visit: &mut dyn FnMut(&mut Vec<Stmt>)) {
        match self {
            Stmt::If(inner) => {
                visit(&mut inner.then);
                visit(&mut inner.other);
            }
            Stmt::Loop(inner) => visit(&mut inner.body),
            Stmt::Switch(inner) => inner.cases.iter_mut().for_each(|(case, _)| visit(case)),
            Stmt::Graph(inner) => inner.blocks.iter_mut().for_each(|b| visit(&mut b.body)),
            _ => {}
        }
    }

    pub fn feature(&self) -> &'static str {
        match self {
            Stmt::Op(op) => op.family,
            Stmt::Store { .. } => "output",
            Stmt::If(inner) if inner.masks.is_some() => "if with masks",
            Stmt::If(_) => "if",
            Stmt::Loop(inner) if inner.mask.is_some() => "loop with mask",
            Stmt::Loop(_) => "loop",
            Stmt::Switch(inner) if inner.mask.is_some() => "switch with mask",
            Stmt::Switch(_) => "switch",
            Stmt::Graph(inner) if inner.mask.is_some() => "graph with a meeting",
            Stmt::Graph(_) => "graph",
            Stmt::Leave(_) => "leave",
            Stmt::Break(_) => "break",
            Stmt::Continue(_) => "continue",
            Stmt::Call(call) if call.indirect.is_some() => "indirect call",
            Stmt::Call(call) if call.depth.is_some() => "recursive call",
            Stmt::Call(_) => "call",
        }
    }
}
