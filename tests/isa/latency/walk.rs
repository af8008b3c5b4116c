//! Walks a kernel's words and meets every pair of instructions that share a register: writer and
//! reader, writer and next writer, reader and next writer; with the cycles between their issues,
//! and whether a scoreboard holds the second back.
//!
//! Distance is the sum of the stalls from the first instruction up to the second. It is what the
//! compiler relies on only where nothing else keeps the second waiting, so a pair says of itself
//! what stands between: waits on scoreboards, branches that may leave. Pairs whose guards cannot
//! hold both are none. Where a branch leads to a place in the text, that way is walked too, as long
//! as what was issued before the branch may still be on its way: loops meet themselves there.

use orias_components::{Control, Guard, Inst, Opcode, Operand, RegFile};
use orias_targets::latency::Hazard;
use orias_targets::touch::{self, Cell, Part, Touch};
use orias_targets::{Form, SlotKind, Target, form::ImmStyle};
use rustc_hash::FxHashMap;

/// One end of a pair.
#[derive(Clone, Copy)]
pub struct End<'k> {
    pub inst: &'k Inst,
    pub form: &'static Form,
    pub part: Part,
    /// Which cell of a wide operand.
    pub offset: u8,
    /// Index of its word.
    pub at: usize,
}

/// What stands between the two ends, beside the stalls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Between {
    /// The stalls alone.
    Stalls,
    /// A branch that may leave, and did not.
    Branch,
    /// A wait on a scoreboard, or a barrier, that has nothing to do with the pair: the second end
    /// too may have it.
    Wait,
    /// A wait on the scoreboard that the first end sets.
    Scoreboard,
}

pub struct Pair<'k> {
    pub hazard: Hazard,
    pub file: RegFile,
    pub first: End<'k>,
    pub second: End<'k>,
    /// From the issue of the first to that of the second.
    pub cycles: u32,
    pub between: Between,
    /// A taken branch lies between.
    pub across: bool,
}

/// On the other side of a taken branch pairs are looked for so many cycles after their first end's
/// issue, and no farther.
const ACROSS: u32 = 40;

/// An end that later instructions may pair with, and the state of things when it issued.
#[derive(Clone, Copy)]
struct Open<'k> {
    end: End<'k>,
    issued: u32,
    /// Its place in the order in which instructions were walked.
    order: u32,
    waits: u32,
    branches: u32,
    /// How often its guard's register had been written.
    guard_version: u32,
    /// Scoreboards that say when it is done with the cell, one bit each.
    scoreboards: u8,
}

#[derive(Clone, Default)]
struct State<'k> {
    writers: FxHashMap<Cell, Vec<Open<'k>>>,
    readers: FxHashMap<Cell, Vec<Open<'k>>>,
    versions: FxHashMap<Cell, u32>,
    /// The instruction that last waited for each scoreboard, by its place in the order.
    waited: [u32; 8],
    order: u32,
    /// Behind a taken branch.
    across: bool,
    waits: u32,
    branches: u32,
    now: u32,
}

/// Calls `f` for every pair in the words of one text section. Words that the table does not know,
/// calls, returns and branches that always leave end every pair.
pub fn walk(target: &'static Target, text: &[u8], mut f: impl FnMut(Pair<'_>)) {
    let words = text.as_chunks::<16>().0;
    let code: Vec<_> = words.iter().enumerate().map(|(i, w)| decode(target, *w, i)).collect();
    let mut state = State::default();
    for (at, decoded) in code.iter().enumerate() {
        let Some((inst, form)) = decoded else {
            state = State::default();
            continue;
        };
        let never = inst.guard.reg.is_zero() && inst.guard.negated;
        if !never {
            state.step(inst, form, at, &mut f);
        }
        state.now += cycles(inst);
        if let Some(to) = leads_to(inst).filter(|_| !never) {
            state.recent().across(&code, to, 1, &mut f);
        }
        if ends_pairs(inst) {
            state = State::default();
        }
    }
}

/// The cycles of its stall: 0 is 16 (observed: ptxas 13.0.88 has it at -O0 after matrix products of
/// two passes).
fn cycles(inst: &Inst) -> u32 {
    if inst.control.stall == 0 { 16 } else { u32::from(inst.control.stall) }
}

/// The word that a branch goes to.
fn leads_to(inst: &Inst) -> Option<usize> {
    let to = |o: &Operand| if let Operand::Addr(at) = o { Some(*at as usize / 16) } else { None };
    (inst.op == Opcode::BRA).then(|| inst.sources().iter().find_map(to)).flatten()
}

/// An instruction and its row; `None` where the table has none.
pub fn decode(target: &Target, word: [u8; 16], at: usize) -> Option<(Inst, &'static Form)> {
    let inst = target.decode(u128::from_le_bytes(word), at as u64 * 16).ok()?;
    let form = target.form(&inst)?;
    Some((inst, form))
}

fn ends_pairs(inst: &Inst) -> bool {
    let calls = matches!(inst.op, Opcode::CALL | Opcode::RET | Opcode::BRX | Opcode::BRXU);
    calls || (inst.op.is_branch() && inst.guard.is_always() && takes_always(inst))
}

/// The predicate operand of a branch is PT.
fn takes_always(inst: &Inst) -> bool {
    let predicates = inst.sources().iter().filter_map(|o| o.as_reg());
    predicates.filter(|r| r.reg.file().is_predicate()).all(|r| r.reg.is_zero())
}

/// Instructions that may hold the warp for a time that no stall tells.
fn holds(inst: &Inst) -> bool {
    use Opcode::*;
    inst.control.wait != 0
        || matches!(inst.op, BAR | BSYNC | WARPSYNC | NANOSLEEP | YIELD | DEPBAR | MEMBAR | BREAK)
}

fn bit(scoreboard: u8) -> u8 {
    if scoreboard == Control::NO_SB { 0 } else { 1 << scoreboard }
}

impl<'k> State<'k> {
    fn step(
        &mut self,
        inst: &'k Inst,
        form: &'static Form,
        at: usize,
        f: &mut impl FnMut(Pair<'_>),
    ) {
        self.wait(inst, form);
        let (reads, writes) = (touch::reads(inst), touch::writes(inst));
        let end = |t: &Touch| End { inst, form, part: t.part, offset: t.offset, at };
        self.meet_all(&reads, &writes, end, f);
        let results = bit(inst.control.write_sb);
        let sources = bit(inst.control.read_sb) | results;
        for t in &reads {
            let open = self.open(end(t), sources);
            self.readers.entry(t.cell).or_default().push(open);
        }
        for t in &writes {
            let open = self.open(end(t), results);
            let writers = self.writers.entry(t.cell).or_default();
            let readers = self.readers.entry(t.cell).or_default();
            // Under a guard the old value may stay.
            if inst.guard.is_always() {
                writers.clear();
                readers.retain(|r| r.end.at == at);
            }
            writers.push(open);
        }
        for t in writes.iter().filter(|t| t.cell.0.is_predicate()) {
            *self.versions.entry(t.cell).or_default() += 1;
        }
        self.branches += u32::from(inst.op.is_branch());
    }

    fn meet_all(
        &self,
        reads: &[Touch],
        writes: &[Touch],
        end: impl Fn(&Touch) -> End<'k>,
        f: &mut impl FnMut(Pair<'_>),
    ) {
        for t in reads {
            self.meet(Hazard::ReadAfterWrite, t.cell, end(t), f);
        }
        for t in writes {
            self.meet(Hazard::WriteAfterWrite, t.cell, end(t), f);
            self.meet(Hazard::WriteAfterRead, t.cell, end(t), f);
        }
    }

    /// The same, with those ends alone that may still matter on the other side of a branch.
    fn recent(&self) -> State<'k> {
        let keep = |of: &FxHashMap<Cell, Vec<Open<'k>>>| {
            let young = |open: &&Open<'k>| self.now - open.issued < ACROSS;
            let each = of.iter().map(|(c, all)| (*c, all.iter().filter(young).copied().collect()));
            each.filter(|(_, all): &(Cell, Vec<_>)| !all.is_empty()).collect()
        };
        State {
            writers: keep(&self.writers),
            readers: keep(&self.readers),
            versions: self.versions.clone(),
            branches: self.branches + 1,
            across: true,
            ..*self
        }
    }

    /// Walks on behind a taken branch, and behind one more, and meets what was issued before the
    /// first.
    fn across(
        mut self,
        code: &'k [Option<(Inst, &'static Form)>],
        to: usize,
        more: u8,
        f: &mut impl FnMut(Pair<'_>),
    ) {
        let start = self.now;
        for (at, decoded) in code.iter().enumerate().skip(to) {
            let Some((inst, form)) = decoded else { return };
            if self.now - start >= ACROSS || self.writers.len() + self.readers.len() == 0 {
                return;
            }
            self.wait(inst, form);
            if !(inst.guard.reg.is_zero() && inst.guard.negated) {
                let (reads, writes) = (touch::reads(inst), touch::writes(inst));
                let end = |t: &Touch| End { inst, form, part: t.part, offset: t.offset, at };
                self.meet_all(&reads, &writes, end, f);
                for t in writes.iter().filter(|_| inst.guard.is_always()) {
                    self.writers.remove(&t.cell);
                    self.readers.remove(&t.cell);
                }
                for t in writes.iter().filter(|t| t.cell.0.is_predicate()) {
                    *self.versions.entry(t.cell).or_default() += 1;
                }
            }
            self.now += cycles(inst);
            if let Some(to) = leads_to(inst).filter(|_| more > 0) {
                self.recent().across(code, to, more - 1, f);
            }
            if ends_pairs(inst) {
                return;
            }
        }
    }

    /// Notes what the instruction waits for before it issues.
    fn wait(&mut self, inst: &Inst, form: &Form) {
        self.order += 1;
        self.waits += u32::from(holds(inst));
        let mut mask = inst.control.wait;
        if inst.op == Opcode::DEPBAR {
            let named =
                inst.operands.iter().zip(form.slots).filter_map(|(o, s)| match (o, s.kind) {
                    (
                        orias_components::Operand::Imm(n),
                        SlotKind::Imm { style: ImmStyle::Scoreboard, .. },
                    ) => Some(*n as u32),
                    _ => None,
                });
            mask |= named.fold(0, |m, n| m | 1u8.checked_shl(n).unwrap_or(0));
        }
        for scoreboard in (0..8).filter(|s| mask >> s & 1 != 0) {
            self.waited[scoreboard] = self.order;
        }
    }

    fn open(&self, end: End<'k>, scoreboards: u8) -> Open<'k> {
        Open {
            end,
            issued: self.now,
            order: self.order,
            waits: self.waits,
            branches: self.branches,
            guard_version: self.version(end.inst.guard),
            scoreboards,
        }
    }

    fn version(&self, guard: Guard) -> u32 {
        let cell = guard.reg.phys_index().map(|n| (guard.reg.file(), n as u16));
        cell.and_then(|c| self.versions.get(&c)).copied().unwrap_or(0)
    }

    fn meet(&self, hazard: Hazard, cell: Cell, second: End<'k>, f: &mut impl FnMut(Pair<'_>)) {
        let from = match hazard {
            Hazard::WriteAfterRead => &self.readers,
            _ => &self.writers,
        };
        for open in from.get(&cell).into_iter().flatten() {
            if !self.may_both_run(open, second.inst.guard) {
                continue;
            }
            let between = if self.awaited(open) {
                Between::Scoreboard
            } else if self.waits != open.waits {
                Between::Wait
            } else if self.branches != open.branches {
                Between::Branch
            } else {
                Between::Stalls
            };
            let cycles = self.now - open.issued;
            let across = self.across;
            f(Pair { hazard, file: cell.0, first: open.end, second, cycles, between, across });
        }
    }

    fn awaited(&self, open: &Open<'_>) -> bool {
        let set = (0..8).filter(|s| open.scoreboards >> s & 1 != 0);
        set.map(|s| self.waited[s]).any(|order| order > open.order)
    }

    /// Whether the guards of both are known to hold together: one has none, or both have the same.
    fn may_both_run(&self, open: &Open<'_>, second: Guard) -> bool {
        let first = open.end.inst.guard;
        first.is_always()
            || second.is_always()
            || (first == second && open.guard_version == self.version(second))
    }
}
