//! The reference: runs a program's tree, all threads of a block in step.
//!
//! Each statement runs for the threads that come to it together, a set of at most 128; the blocks
//! run one after the other. This is evidently right for programs in which no thread sees what
//! another does but where they meet, and just this the evaluator checks: masks name exactly the
//! threads that are there, barriers meet the whole block.

mod call;
mod expr;
pub mod ops;
mod stmt;
mod warp;

pub use warp::result;

use crate::input::{INPUTS, Inputs};
use crate::program::{Place, Program};
use crate::types::Type;

/// A set of threads of a block.
pub type Threads = u128;

/// The threads of a set.
pub fn each(set: Threads) -> impl Iterator<Item = usize> {
    let mut rest = set;
    std::iter::from_fn(move || {
        let thread = rest.trailing_zeros();
        (rest != 0).then(|| {
            rest &= rest - 1;
            thread as usize
        })
    })
}

/// A number of each thread.
pub type Numbers = Vec<u64>;

/// What a launch leaves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The outputs of all threads; `None` where nobody stored.
    pub outputs: Vec<Option<u64>>,
    /// The global words.
    pub words: Vec<u64>,
    /// Statements that warps executed: what a run costs.
    pub steps: u64,
}

/// Where a number is: a cell of a variable of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Address {
    frame: usize,
    var: usize,
    cell: usize,
}

/// Where a pointer points that nobody has set.
const NOWHERE: Address = Address { frame: usize::MAX, var: usize::MAX, cell: 0 };

enum Slot {
    /// Cells of all threads, `threads` of them for each number of the type.
    Cells(Vec<u64>),
    Pointers(Vec<Address>),
}

struct Frame {
    function: usize,
    slots: Vec<Slot>,
    /// The threads that the mask names, in all warps.
    mask: Threads,
    result: Vec<u64>,
}

/// Statements at most, and calls inside each other: more than any program of the generator takes.
const MOST_STEPS: u64 = 60_000;
const DEEPEST: usize = 24;

struct Machine<'a> {
    program: &'a Program,
    inputs: &'a Inputs,
    block: usize,
    threads: usize,
    frames: Vec<Frame>,
    shared: Vec<u64>,
    global: Vec<u64>,
    outputs: Vec<Option<u64>>,
    steps: u64,
}

/// Runs a launch.
///
/// # Errors
/// What the program does that has no meaning: then it is no program of the generator.
pub fn run(program: &Program, inputs: &Inputs) -> Result<Outcome, String> {
    let threads = program.block as usize;
    let mut machine = Machine {
        program,
        inputs,
        block: 0,
        threads,
        frames: Vec::new(),
        shared: Vec::new(),
        global: inputs.global.clone(),
        outputs: vec![None; program.threads() as usize * program.outputs],
        steps: 0,
    };
    let all = machine.all();
    for block in 0..program.grid as usize {
        machine.block = block;
        machine.shared.clone_from(&inputs.shared);
        let kernel = program.functions.len() - 1;
        let mut frame = machine.frame(kernel, all);
        for (index, var) in program.kernel().vars.iter().enumerate() {
            if let (Place::Uniform, Type::Number(ty)) = (var.place, &var.ty) {
                let value = ty.wrap(inputs.uniform[index]);
                frame.slots[index] = Slot::Cells(vec![value; threads]);
            }
        }
        machine.frames.push(frame);
        let mut flow = stmt::Flow::default();
        machine.list(&program.kernel().body, all, &mut flow)?;
        machine.frames.pop();
    }
    Ok(Outcome { outputs: machine.outputs, words: machine.global, steps: machine.steps })
}

impl Machine<'_> {
    fn all(&self) -> Threads {
        Threads::MAX >> (128 - self.threads)
    }

    /// A frame in which all is zero.
    fn frame(&self, function: usize, mask: Threads) -> Frame {
        let body = &self.program.functions[function];
        let slots = body.vars.iter().map(|var| match var.place {
            Place::Pointer | Place::Chosen => Slot::Pointers(vec![NOWHERE; self.threads]),
            _ => Slot::Cells(vec![0; var.ty.cells(&self.program.structs) * self.threads]),
        });
        let cells = body.result.as_ref().map_or(0, |ty| ty.cells(&self.program.structs));
        let result = vec![0; cells * self.threads];
        Frame { function, slots: slots.collect(), mask, result }
    }

    fn top(&mut self) -> &mut Frame {
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    fn input(&self, thread: usize, index: usize) -> u64 {
        self.inputs.words[(self.block * self.threads + thread) * INPUTS + index % INPUTS]
    }

    fn get(&self, thread: usize, at: Address) -> u64 {
        match &self.frames[at.frame].slots[at.var] {
            Slot::Cells(cells) => cells[at.cell * self.threads + thread],
            Slot::Pointers(_) => 0,
        }
    }

    fn set(&mut self, thread: usize, at: Address, value: u64) {
        let threads = self.threads;
        if let Slot::Cells(cells) = &mut self.frames[at.frame].slots[at.var] {
            cells[at.cell * threads + thread] = value;
        }
    }
}
