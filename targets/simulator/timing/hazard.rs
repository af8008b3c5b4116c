//! Hazards as they are reported: two instructions, a register, and what is missing between them.

use super::facts::{CellIndex, GROUP, cell_name};
use crate::latency;
use crate::simulator::prepare::Program;
use rustc_hash::FxHashMap;
use std::fmt;

/// What is missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Problem {
    /// The second issues so many cycles after the first, and must not before `needed`.
    TooEarly {
        /// Cycles between their issues.
        cycles: u32,
        /// Cycles that there must be.
        needed: u32,
    },
    /// Nothing waited for the scoreboard that the first sets.
    NotAwaited {
        /// Its number.
        scoreboard: u8,
    },
    /// The wait comes in the cycle after the scoreboard was set, and does not see it.
    NotYetVisible {
        /// Its number.
        scoreboard: u8,
    },
    /// The first sets no scoreboard, and no later one of its kind tells of it.
    NoScoreboard,
}

/// A place in the code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// Name of the function.
    pub function: String,
    /// Byte offset in the function's text.
    pub offset: u64,
    /// The instruction as text.
    pub text: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` at {:#06x}", self.text, self.offset)
    }
}

/// Two instructions of a warp of which the second does not wait long enough for the first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hazard {
    /// Why the second must wait.
    pub kind: latency::Hazard,
    /// `R4`
    pub register: String,
    /// What must be done.
    pub first: Place,
    /// What comes too early.
    pub second: Place,
    /// What is missing.
    pub problem: Problem,
    /// How often it was met, by warp instructions of the second.
    pub count: u64,
}

impl fmt::Display for Hazard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let does = match self.kind {
            latency::Hazard::ReadAfterWrite => "reads",
            latency::Hazard::WriteAfterWrite => "overwrites",
            latency::Hazard::WriteAfterRead => "overwrites",
        };
        let (result, done) = match self.kind {
            latency::Hazard::WriteAfterRead => ("source", "has read it"),
            _ => ("result", "has written it"),
        };
        let Hazard { first, second, register, .. } = self;
        write!(f, "{}: {second} {does} {register} before {first} {done}: ", second.function)?;
        match self.problem {
            Problem::TooEarly { cycles, needed } => {
                write!(f, "{cycles} cycles between them, {} missing", needed - cycles)?;
            }
            Problem::NotAwaited { scoreboard: GROUP } => {
                write!(f, "nothing waits for the group scoreboard")?;
            }
            Problem::NotAwaited { scoreboard } => {
                write!(f, "nothing waits for scoreboard {scoreboard}")?;
            }
            Problem::NotYetVisible { scoreboard } => write!(
                f,
                "the wait for scoreboard {scoreboard} comes one cycle after it is set and does not see it"
            )?,
            Problem::NoScoreboard => write!(f, "no scoreboard tells of this {result}")?,
        }
        if self.count > 1 {
            write!(f, " ({} times)", self.count)?;
        }
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
struct Key {
    second: u32,
    first: u32,
    kind: u8,
}

#[derive(Clone, Copy, Debug)]
struct Found {
    kind: latency::Hazard,
    cell: CellIndex,
    problem: Problem,
    count: u64,
}

/// An instruction that ran while hazards were looked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ran {
    /// Name of the function.
    pub function: String,
    /// Byte offset in the function's text.
    pub offset: u64,
    /// The lanes for which it did its work, of any warp; none where its guard was false each time.
    pub lanes: u32,
    /// How often it was issued, once for a warp's group of lanes.
    pub issued: u64,
}

/// The hazards of a launch, each pair of places once, and what ran.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    found: FxHashMap<Key, Found>,
    /// Lanes by instruction, and how often it was issued.
    ran: Vec<(u32, u64)>,
}

impl Findings {
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Notes that an instruction was issued, and did its work for these lanes.
    #[inline]
    pub fn ran(&mut self, pc: u32, lanes: u32) {
        let pc = pc as usize;
        if pc >= self.ran.len() {
            self.ran.resize(pc + 1, (0, 0));
        }
        let (all, issued) = &mut self.ran[pc];
        *all |= lanes;
        *issued += 1;
    }

    /// What ran, in the order of the code.
    pub fn all_that_ran(&self, program: &Program) -> Vec<Ran> {
        let ran = self.ran.iter().enumerate().filter(|(_, (_, issued))| *issued != 0);
        let place = |(index, &(lanes, issued)): (usize, &(u32, u64))| {
            let (function, offset) = program.place(index as u32);
            Ran { function: function.to_string(), offset, lanes, issued }
        };
        ran.map(place).collect()
    }

    /// Notes one; of a pair's registers the first that is met stands for all, with the fewest
    /// cycles.
    pub fn add(
        &mut self,
        kind: latency::Hazard,
        (first, second): (u32, u32),
        cell: CellIndex,
        problem: Problem,
    ) {
        let key = Key { second, first, kind: kind as u8 };
        let found = self.found.entry(key).or_insert(Found { kind, cell, problem, count: 0 });
        found.count += 1;
        let missing = |p: Problem| match p {
            Problem::TooEarly { cycles, needed } => needed - cycles,
            _ => u32::MAX,
        };
        if missing(problem) > missing(found.problem) {
            (found.cell, found.problem) = (cell, problem);
        }
    }

    /// In the order of the code.
    pub fn report(&self, program: &Program) -> Vec<Hazard> {
        let mut all: Vec<_> = self.found.iter().collect();
        all.sort_by_key(|(key, _)| **key);
        let place = |index: u32| {
            let (function, offset, text) = program.locate(index);
            Place { function, offset, text }
        };
        let report = |(key, found): (&Key, &Found)| {
            let (file, number) = cell_name(found.cell);
            Hazard {
                kind: found.kind,
                register: format!("{}{number}", file.prefix()),
                first: place(key.first),
                second: place(key.second),
                problem: found.problem,
                count: found.count,
            }
        };
        all.into_iter().map(report).collect()
    }
}
