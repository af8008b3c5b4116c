//! Where the time of a compile goes besides its phases, and when each function's turn was: for
//! `orias bench` and `--trace`.

pub use orias_systems::parallel::thread;
use orias_systems::{PhaseStat, PieceStats};
use std::time::{Duration, Instant};

/// A part of the way of a module that is no phase.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Part {
    /// Lexer, parser and checks, and what the command line changes.
    Parse,
    /// Symbols, variables and parameters of the module get their places.
    Layout,
    /// All functions: lowering and phases.
    Functions,
    /// Kernels get what they call behind them.
    Link,
    /// Sections and attributes of the cubin.
    Assemble,
    /// The file's bytes.
    Elf,
}

impl Part {
    /// As tables and traces name it.
    pub const fn name(self) -> &'static str {
        match self {
            Part::Parse => "parse",
            Part::Layout => "layout",
            Part::Functions => "functions",
            Part::Link => "link",
            Part::Assemble => "assemble",
            Part::Elf => "elf",
        }
    }
}

/// One part, when it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PartTime {
    /// Which one.
    pub part: Part,
    /// Number of the thread that saw to it: see [`thread`].
    pub thread: u32,
    /// When it began.
    pub began: Instant,
    /// How long it took.
    pub time: Duration,
}

/// One function's turn.
#[derive(Clone, Debug)]
pub struct FunctionTime {
    /// As PTX has it.
    pub name: String,
    /// Number of the thread that compiled it: see [`thread`].
    pub thread: u32,
    /// When its lowering began.
    pub began: Instant,
    /// From there to its machine code.
    pub time: Duration,
    /// How much of it was lowering, at its beginning.
    pub lowering: Duration,
    /// One row a phase.
    pub phases: Vec<PhaseStat>,
    /// Of a huge function its pieces.
    pub pieces: Vec<PieceStats>,
}

/// The times of a module. Nothing is measured unless statistics are asked for.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    is_asked: bool,
    /// In order.
    pub parts: Vec<PartTime>,
    /// Lowering of all functions together, on all threads.
    pub lowering: Duration,
    /// Where a trace is asked for: each function, in source order.
    pub functions: Vec<FunctionTime>,
}

impl Measured {
    /// Measures only if asked to.
    pub fn new(is_asked: bool) -> Measured {
        Measured { is_asked, ..Measured::default() }
    }

    /// Does a part of the work.
    pub fn part<T>(&mut self, part: Part, act: impl FnOnce() -> T) -> T {
        if !self.is_asked {
            return act();
        }
        let began = Instant::now();
        let done = act();
        self.parts.push(PartTime { part, thread: thread(), began, time: began.elapsed() });
        done
    }

    /// The time of a part, zero where it was not measured.
    pub fn of(&self, part: Part) -> Duration {
        self.parts.iter().filter(|p| p.part == part).map(|p| p.time).sum()
    }
}
