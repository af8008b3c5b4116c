//! Changes of a kernel's control bits after which it is wrong: a stall one shorter where a pair of
//! instructions stands as close as any such pair does, or a wait left out that a register hangs on.
//!
//! They are found in the words alone, with nothing of the simulator.

use super::mined::{Key, is_told};
use super::walk::{self, decode};
use orias_components::{Control, Guard, Inst, Opcode, RegFile};
use orias_targets::latency::Hazard;
use orias_targets::touch::{self, Cell};
use orias_targets::{Form, Target};
use std::collections::BTreeMap;

/// What a mutation does to a word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Change {
    /// One cycle less.
    Stall,
    /// The wait for this scoreboard is gone.
    Wait(u8),
}

/// What becomes wrong by it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Breaks {
    Stall(Hazard, RegFile),
    /// A result is touched too early.
    Result,
    /// A source is overwritten that may still be read.
    Source,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mutation {
    /// Index of the word.
    pub at: usize,
    pub change: Change,
    pub breaks: Breaks,
    /// Indices of instructions that must all run for the same lane, or nothing is wrong.
    pub runs: Vec<[usize; 2]>,
}

const STALL_AT: u32 = 105;
const WAIT_AT: u32 = 116;

impl Mutation {
    /// The words with the change.
    pub fn apply(&self, text: &mut [u8]) {
        let word = &mut text.as_chunks_mut::<16>().0[self.at];
        let value = u128::from_le_bytes(*word);
        *word = match self.change {
            Change::Stall => value - (1 << STALL_AT),
            Change::Wait(scoreboard) => value & !(1 << (WAIT_AT + u32::from(scoreboard))),
        }
        .to_le_bytes();
    }
}

/// Stalls that are tight: some pair of instructions stands as close as `least` says that such pairs
/// do.
pub fn stalls(
    target: &'static Target,
    text: &[u8],
    least: impl Fn(&Key) -> Option<u32>,
) -> Vec<Mutation> {
    let mut found: BTreeMap<(usize, Hazard), Mutation> = BTreeMap::new();
    let stall = |at: usize| {
        let word = text.as_chunks::<16>().0[at];
        (u128::from_le_bytes(word) >> STALL_AT) as u32 & 15
    };
    walk::walk(target, text, |pair| {
        let key = Key::of(&pair);
        if is_told(&pair) || pair.file == RegFile::B || key.classes(target).is_none() {
            return;
        }
        if pair.cycles < 2 || least(&key) != Some(pair.cycles) {
            return;
        }
        let end = if pair.across { pair.first.at + 1 } else { pair.second.at };
        let Some(at) = (pair.first.at..end).find(|at| stall(*at) >= 2) else { return };
        let runs = [pair.first.at, pair.second.at];
        let breaks = Breaks::Stall(pair.hazard, pair.file);
        let new = Mutation { at, change: Change::Stall, breaks, runs: Vec::new() };
        found.entry((at, pair.hazard)).or_insert(new).runs.push(runs);
    });
    found.into_values().collect()
}

/// An instruction whose scoreboard may be waited for.
struct Setter {
    at: usize,
    guard: Guard,
    results: Vec<Cell>,
    sources: Vec<Cell>,
    /// Scoreboards other than the one that is waited for, one bit each, that tell when it has read
    /// its sources.
    tell: u8,
}

/// Waits that protect a register which is touched before another wait for the same scoreboard.
pub fn waits(target: &'static Target, text: &[u8]) -> Vec<Mutation> {
    let words = text.as_chunks::<16>().0;
    let code: Vec<_> = words.iter().enumerate().map(|(i, w)| decode(target, *w, i)).collect();
    let mut found = Vec::new();
    for (at, decoded) in code.iter().enumerate() {
        let Some((inst, _)) = decoded else { continue };
        for scoreboard in (0..6).filter(|s| inst.control.wait >> s & 1 != 0) {
            let setters = setters(&code[..at], scoreboard);
            let mut runs = Vec::new();
            let mut breaks = None;
            for (user, why) in setters.iter().filter_map(|s| first_use(&code, at, scoreboard, s)) {
                breaks.get_or_insert(why);
                runs.push(user);
            }
            if let Some(breaks) = breaks {
                let change = Change::Wait(scoreboard);
                found.push(Mutation { at, change, breaks, runs });
            }
        }
    }
    found
}

type Code = [Option<(Inst, &'static Form)>];

/// The instructions before, on the straight way here, that set the scoreboard since the last wait
/// for it.
fn setters(before: &Code, scoreboard: u8) -> Vec<Setter> {
    let mut all = Vec::new();
    for (at, decoded) in before.iter().enumerate().rev() {
        let Some((inst, form)) = decoded else { break };
        if leaves(inst) {
            break;
        }
        let control = inst.control;
        let results = control.write_sb == scoreboard;
        if results || control.read_sb == scoreboard {
            let writes = touch::writes(inst).into_iter().map(|t| t.cell);
            let reads = touch::reads(inst).into_iter().map(|t| t.cell);
            // Only rows that say so read late; uniform registers and predicates are read at issue.
            let late = form.read_sb
                && (control.read_sb == scoreboard || control.read_sb == Control::NO_SB);
            all.push(Setter {
                at,
                guard: inst.guard,
                results: if results { writes.collect() } else { Vec::new() },
                sources: reads.filter(|c| late && c.0 == RegFile::R).collect(),
                tell: bits(inst) & !(1 << scoreboard),
            });
        }
        if waits_for(inst, scoreboard) {
            break;
        }
    }
    all
}

/// The first instruction from `from` on that needs what the setter does, before another wait.
fn first_use(
    code: &Code,
    from: usize,
    scoreboard: u8,
    setter: &Setter,
) -> Option<([usize; 2], Breaks)> {
    for (at, decoded) in code.iter().enumerate().skip(from) {
        let (inst, _) = decoded.as_ref()?;
        if at > from && waits_for(inst, scoreboard) {
            return None;
        }
        let together = setter.guard.is_always() || inst.guard.is_always();
        let writes: Vec<Cell> = touch::writes(inst).iter().map(|t| t.cell).collect();
        let reads: Vec<Cell> = touch::reads(inst).iter().map(|t| t.cell).collect();
        let touches = |cells: &[Cell]| cells.iter().any(|c| setter.results.contains(c));
        let variable = decoded.as_ref().is_some_and(|(_, f)| f.class.is_variable());
        if together && (touches(&reads) || (touches(&writes) && !variable)) {
            return Some(([setter.at, at], Breaks::Result));
        }
        // One that itself takes an unknown time writes after it has read in its turn.
        let overwrites = writes.iter().any(|c| setter.sources.contains(c)) && !variable;
        if together && overwrites && !is_told_of(code, [setter.at, from, at], scoreboard, setter) {
            return Some(([setter.at, at], Breaks::Source));
        }
        if writes.iter().any(|c| setter.sources.contains(c) || setter.results.contains(c)) {
            return None;
        }
        if leaves(inst) {
            return None;
        }
    }
    None
}

/// The scoreboards that an instruction sets, one bit each.
fn bits(inst: &Inst) -> u8 {
    let bit = |s: u8| if s == Control::NO_SB { 0 } else { 1 << s };
    bit(inst.control.write_sb) | bit(inst.control.read_sb)
}

/// Without its wait for the scoreboard at `without`, something else has told by `user` that the
/// setter has read its sources: its own result, or what a later instruction did that reads as late
/// as it (such read in order).
fn is_told_of(
    code: &Code,
    [setter, without, user]: [usize; 3],
    scoreboard: u8,
    of: &Setter,
) -> bool {
    let mut tell = of.tell;
    for (at, decoded) in code.iter().enumerate().take(user + 1).skip(setter + 1) {
        let Some((inst, form)) = decoded else { return false };
        let gone = if at == without { 1 << scoreboard } else { 0 };
        if inst.control.wait & !gone & tell != 0 {
            return true;
        }
        if form.read_sb {
            tell |= bits(inst);
        }
    }
    false
}

fn waits_for(inst: &Inst, scoreboard: u8) -> bool {
    inst.control.wait >> scoreboard & 1 != 0 || inst.op == Opcode::DEPBAR
}

/// Control may not come to the next instruction, or only after others.
fn leaves(inst: &Inst) -> bool {
    let call = matches!(inst.op, Opcode::CALL | Opcode::RET | Opcode::BRX | Opcode::BRXU);
    call || (inst.op.is_branch() && inst.guard.is_always())
}
