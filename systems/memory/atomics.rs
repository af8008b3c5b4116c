//! `OptimizeUniformAtomic`: what all threads of a warp do to one place in memory, one of them does.
//!
//! Atomic operations on one place are done one behind the other. Where the threads that run
//! together are known to mean the same place, the highest of them does the whole: the sum, the
//! least, the greatest … of what they bring (REDUX, or the number of threads times a value that
//! they share); who wants the old value takes it from that thread (SHFL) and adds what the threads
//! below it bring. And 1 added to words of shared memory, wherever each thread has it, is
//! `ATOMS.POPC.INC`, which adds the number of threads that mean one word.
//!
//! What holds behind it: of 32-bit additions, minima, maxima and logic, and 64-bit additions of
//! one value, on a place that is the same for the warp, none stands without its one thread, but for
//! guarded ones, for old values of what is no sum of one value, and where a comparison of the
//! thread's number with a value says that one thread is there alone.
//!
//! Observed (ptxas 13.0.88, sm_90a, -O1 and -O3, four dozen kernels): the same, with the scan of
//! five shuffles for old values of sums of different values, which we do not do; and around guarded
//! ones a branch. It takes `tid.x == c` for one thread, not `(tid.x & 31) == 0`; we do.

use crate::analysis::divergence::Divergence;
use crate::analysis::{Analyses, ControlFlow};
use crate::build::{Emit, r, wide};
use crate::effects;
use crate::function::Options;
use crate::notes::Notes;
use crate::params::{Read, Write};
use crate::scalar::Values;
use crate::ssa::Form;
use bitvec::vec::BitVec;
use orias_components::{
    BlockId, Body, Code, Guard, Inst, InstId, Mod, Opcode, Operand, Props, Reg, RegFile, RegUse,
    View, edges, scratch, scratch::Scratch,
};
use orias_targets::slots::{ISETP, LOP3_LUT as LOP3, S2R};
use rustc_hash::FxHashMap;

/// Atomic operations: of global, any, and shared memory.
pub const KNOWN: [Opcode; 5] =
    [Opcode::RED, Opcode::REDG, Opcode::ATOM, Opcode::ATOMG, Opcode::ATOMS];

/// How far up the dominator tree a condition is looked for.
const FAR: usize = 8;

/// Numbers of special registers.
struct Specials {
    lane: u8,
    tid: u8,
    lower_lanes: u8,
}

/// How an operation becomes one thread's.
#[derive(Clone, Copy, Debug)]
enum Plan {
    /// `ATOMS.POPC.INC.32`.
    Count,
    /// The value is the same for all: it counts once, or once for each thread.
    Same { is_sum: bool },
    /// A sum of ones: how many threads there are.
    Ones,
    /// REDUX with these modifiers.
    Different(&'static [Mod]),
}

/// What the threads that run together are, as far as nothing has come since that may change it.
#[derive(Default)]
struct Together {
    known: Option<Warp>,
    /// Values that have been reduced.
    reduced: FxHashMap<(RegUse, &'static [Mod]), Reg>,
}

#[derive(Clone, Copy)]
struct Warp {
    /// A bit for each thread.
    mask: Reg,
    /// The number of the highest one's lane.
    highest: Reg,
    /// Whether a thread is that.
    is_highest: Reg,
    /// How many there are.
    count: Reg,
}

impl Warp {
    fn is_of(self, reg: Reg) -> bool {
        [self.mask, self.highest, self.count].contains(&reg)
    }
}

/// Phase 50.
pub fn optimize_uniform_atomic(
    code: Code<'_>,
    (form, options): (Read<'_, Form>, Read<'_, Options>),
    mut analyses: Write<'_, Analyses>,
    mut notes: Notes<'_>,
) {
    let body = code.body();
    let target = options.target;
    let number = |name: &str| target.special(name);
    let (Some(lane), Some(tid), Some(lower_lanes)) =
        (number("SR_LANEID"), number("SR_TID.X"), number("SR_LTMASK"))
    else {
        return;
    };
    let specials = Specials { lane, tid, lower_lanes };
    let mut candidates = scratch!(Vec<(BlockId, InstId)>);
    for block in body.layout() {
        let insts = body.block(*block).insts().iter();
        candidates.extend(insts.filter(|id| is_atomic(body.inst(**id))).map(|id| (*block, *id)));
    }
    if !form.is_ssa || candidates.is_empty() {
        return;
    }
    let (flow, divergence) = (analyses.flow(&body), analyses.divergence(&body));
    let map = analyses.cells(&body);
    let values = Values::of(&body, &map, |_, _, _| {});
    let look = Look {
        body: &body,
        flow: &flow,
        divergence: &divergence,
        values: &values,
        in_loop: of_loops(&body, &flow),
        specials: &specials,
    };
    let mut plans = scratch!(Vec<(BlockId, InstId, Plan)>);
    plans.extend(candidates.iter().filter_map(|(b, id)| Some((*b, *id, look.plan(*b, *id)?))));
    drop(look);
    drop(values);
    if plans.is_empty() {
        return;
    }
    notes.count(plans.len());
    let layout = body.walk();
    let form = *form;
    let mut e = Emit::edit_in(body, form);
    let mut next = plans.iter().peekable();
    for &block in layout.iter() {
        if next.peek().is_none_or(|(b, ..)| *b != block) {
            e.open(block);
            continue;
        }
        let mut together = Together::default();
        for id in e.reopen(block) {
            let Some((.., plan)) = next.next_if(|(_, planned, _)| *planned == id) else {
                if changes_who_is_there(e.body.inst(id)) {
                    together = Together::default();
                }
                e.keep(id);
                continue;
            };
            let (inst, loc) = (e.body.inst(id).to_inst(), e.body.loc(id));
            e.start(loc, Guard::ALWAYS);
            rewrite(&mut e, &inst, *plan, &mut together, &specials);
            e.body.discard(id);
        }
    }
    e.finish();
}

/// An atomic operation without a guard on a word, or an addition of 64 bits.
fn is_atomic(inst: View<'_>) -> bool {
    KNOWN.contains(&inst.op)
        && inst.guard.is_always()
        && (reduction(inst).is_some() || is_wide_sum(inst))
}

/// How REDUX does what an operation on words does; an empty list for none that it has.
fn reduction(inst: View<'_>) -> Option<&'static [Mod]> {
    let mods = inst.mods();
    let (mut found, mut signed) = (None, false);
    for m in mods.iter() {
        match m {
            Mod::ADD => found = Some([&[Mod::SUM][..], &[Mod::SUM]]),
            Mod::MIN => found = Some([&[Mod::MIN], &[Mod::MIN, Mod::S32]]),
            Mod::MAX => found = Some([&[Mod::MAX], &[Mod::MAX, Mod::S32]]),
            Mod::AND => found = Some([&[], &[]]),
            Mod::OR => found = Some([&[Mod::OR], &[Mod::OR]]),
            Mod::XOR => found = Some([&[Mod::XOR], &[Mod::XOR]]),
            Mod::S32 => signed = true,
            Mod::E | Mod::STRONG | Mod::SM | Mod::GPU | Mod::SYS => {}
            _ => return None,
        }
    }
    Some(found?[usize::from(signed)])
}

fn is_wide_sum(inst: View<'_>) -> bool {
    let known = [Mod::E, Mod::ADD, Mod::_64, Mod::STRONG, Mod::SM, Mod::GPU, Mod::SYS];
    let mods = inst.mods();
    let has = |m: Mod| mods.has(m);
    has(Mod::ADD)
        && has(Mod::_64)
        && mods.iter().all(|m| known.contains(&m))
        && result_of(inst).is_none()
}

/// The place in the operands of the value that it brings, which is behind the address.
fn value_at(inst: View<'_>) -> Option<usize> {
    Some(1 + (0..inst.len()).find(|at| matches!(inst.get(*at), Some(Operand::Mem(_))))?)
}

/// The register of the old value, if any.
fn result_of(inst: View<'_>) -> Option<RegUse> {
    let mut found = None;
    inst.for_each_def(|r| found = Some(r));
    found
}

/// Behind it other threads may run together than before it.
fn changes_who_is_there(inst: View<'_>) -> bool {
    let apart = Props::CONVERGENT.with(Props::BRANCH).with(Props::MACRO).with(Props::PSEUDO);
    let exchanges = [Opcode::SHFL, Opcode::VOTE, Opcode::REDUX];
    effects::may_wait(inst.op) || (inst.op.has(apart) && !exchanges.contains(&inst.op))
}

/// Registers that are written in loops: in each round they may hold something else.
fn of_loops(body: &Body<'_>, flow: &ControlFlow) -> Scratch<BitVec> {
    let mut found = scratch!(BitVec).fill_with(false, body.vreg_count());
    for block in body.layout() {
        if flow.loops().innermost[block.0 as usize].is_none() {
            continue;
        }
        for id in body.block(*block).insts() {
            body.inst(*id).for_each_def(|r| {
                if let Some(v) = r.reg.vreg() {
                    found.set(v.0 as usize, true);
                }
            });
        }
    }
    found
}

/// What decides.
struct Look<'a, 'w, 'm> {
    body: &'a Body<'w>,
    flow: &'a ControlFlow,
    divergence: &'a Divergence,
    values: &'a Values<'m>,
    in_loop: Scratch<BitVec>,
    specials: &'a Specials,
}

impl Look<'_, '_, '_> {
    fn plan(&self, block: BlockId, id: InstId) -> Option<Plan> {
        let inst = self.body.inst(id);
        let at = value_at(inst)?;
        let value = inst.get(at)?;
        let result = result_of(inst);
        let mods = reduction(inst);
        let is_sum = inst.mods().has(Mod::ADD);
        if inst.op == Opcode::ATOMS
            && result.is_none()
            && inst.mods().as_slice() == [Mod::ADD]
            && self.constant(value) == Some(1)
        {
            return Some(Plan::Count);
        }
        let Some(Operand::Mem(place)) = inst.get(at - 1) else { return None };
        if !self.is_fixed(place.base) || !self.is_fixed(place.uniform) || self.is_alone(block) {
            return None;
        }
        let same = value.as_reg().is_none_or(|r| self.is_fixed(*r));
        let idempotent = !is_sum && !inst.mods().has(Mod::XOR);
        match mods {
            // Of one value, the old value is what the threads below have added.
            Some(_) if is_sum && self.constant(value) == Some(1) => Some(Plan::Ones),
            _ if same && is_sum => Some(Plan::Same { is_sum }),
            Some(_) if same && idempotent && result.is_none() => Some(Plan::Same { is_sum }),
            Some(mods) if result.is_none() => Some(Plan::Different(mods)),
            _ => None,
        }
    }

    /// The same for all threads that run together at any time.
    fn is_fixed(&self, r: RegUse) -> bool {
        let in_loop = || r.reg.vreg().is_some_and(|v| self.in_loop[v.0 as usize]);
        r.reg.is_zero() || (!self.divergence.is_divergent(r.reg) && !in_loop())
    }

    fn writer(&self, r: RegUse) -> Option<View<'_>> {
        self.values.writer(r).map(|id| self.body.inst(id))
    }

    fn constant(&self, value: Operand) -> Option<u64> {
        match value {
            Operand::Imm(value) => Some(value),
            Operand::Reg(r) => {
                let inst = self.writer(r).filter(|i| i.op == Opcode::MOV && i.guard.is_always())?;
                inst.sources()
                    .next()
                    .and_then(|o| if let Operand::Imm(v) = o { Some(v) } else { None })
            }
            _ => None,
        }
    }

    /// Whether a branch before the block compares the thread's number with a value, and leads there
    /// where they are equal.
    fn is_alone(&self, block: BlockId) -> bool {
        let (graph, dom) = (self.flow.graph(), self.flow.dominators());
        let mut at = block.0;
        for _ in 0..FAR {
            let Some(above) = dom.idom(at) else { return false };
            let only = graph.preds[at as usize][..] == [above];
            if only && self.says_one(BlockId(above), BlockId(at)) {
                return true;
            }
            at = above;
        }
        false
    }

    /// Whether control goes this way where the thread's number equals something.
    fn says_one(&self, from: BlockId, to: BlockId) -> bool {
        let body = self.body;
        let branches = &body.block(from).insts()[edges::first_branch(body, from)..];
        let Some(branch) = branches.first().map(|id| body.inst(*id)) else { return false };
        if branch.op != Opcode::BRA || branch.guard.is_always() || branches.len() > 2 {
            return false;
        }
        let taken = edges::targets(branch).any(|t| t == to);
        let guard = branch.guard;
        let Some(setp) = self.writer(RegUse::new(guard.reg)) else { return false };
        let operand = |at: usize| setp.get(at);
        let first = operand(ISETP::P).and_then(|o| o.as_reg().map(|r| r.reg)) == Some(guard.reg);
        if setp.op != Opcode::ISETP || !setp.guard.is_always() || !first {
            return false;
        }
        let mods = setp.mods();
        let equal = match (mods.has(Mod::EQ), mods.has(Mod::NE)) {
            (true, _) => taken != guard.negated,
            (_, true) => taken == guard.negated,
            _ => return false,
        };
        let plain =
            mods.has(Mod::AND) && !mods.has(Mod::EX) && operand(ISETP::X) == Some(Operand::PT);
        let register = |o: Option<Operand>| o.and_then(|o| o.as_reg().copied());
        let of_thread = |o: Option<Operand>| register(o).is_some_and(|r| self.is_own(r));
        let fixed =
            |o: Option<Operand>| o.is_some() && register(o).is_none_or(|r| self.is_fixed(r));
        let (a, b) = (operand(ISETP::A), operand(ISETP::B));
        equal && plain && ((of_thread(a) && fixed(b)) || (of_thread(b) && fixed(a)))
    }

    /// Whether no two threads of a warp have the same in the register (as long as CTAs are rows).
    fn is_own(&self, r: RegUse) -> bool {
        let Some(inst) = self.writer(r) else { return false };
        match inst.op {
            Opcode::S2R => {
                matches!(inst.get(S2R::A), Some(Operand::Special(n)) if n == self.specials.lane || n == self.specials.tid)
            }
            Opcode::LOP3 => {
                let is_and = inst.get(LOP3::T) == Some(Operand::Imm(0xc0));
                let low = inst.get(LOP3::B) == Some(Operand::Imm(0x1f));
                let from = inst.get(LOP3::A).and_then(|o| o.as_reg().copied());
                is_and && low && from.is_some_and(|r| self.is_own(r))
            }
            _ => false,
        }
    }
}

fn special(e: &mut Emit<'_>, number: u8) -> Reg {
    let d = e.temp(1);
    e.put(Opcode::S2R, &[], 1, &[r(d), Operand::Special(number)]);
    d
}

impl Together {
    fn warp(&mut self, e: &mut Emit<'_>, specials: &Specials) -> Warp {
        *self.known.get_or_insert_with(|| {
            let (mask, highest, is_highest, count) =
                (e.temp(1), e.temp(1), e.temp_pred(), e.temp(1));
            e.put(Opcode::VOTE, &[Mod::ANY], 2, &[r(mask), Operand::PT, Operand::PT]);
            e.put(Opcode::FLO, &[Mod::U32], 2, &[r(highest), Operand::PT, r(mask)]);
            let lane = special(e, specials.lane);
            e.icmp(r(is_highest), Mod::EQ, false, r(lane), r(highest));
            e.put(Opcode::POPC, &[], 1, &[r(count), r(mask)]);
            Warp { mask, highest, is_highest, count }
        })
    }

    fn reduced(&mut self, e: &mut Emit<'_>, value: RegUse, mods: &'static [Mod]) -> Reg {
        *self.reduced.entry((value, mods)).or_insert_with(|| {
            let all = e.body.new_vreg(RegFile::UR, 1, 1);
            e.put(Opcode::REDUX, mods, 1, &[r(all), Operand::Reg(value)]);
            let d = e.temp(1);
            e.mov(r(d), r(all));
            d
        })
    }
}

/// Puts what one thread does in the place of what all do.
fn rewrite(
    e: &mut Emit<'_>,
    inst: &Inst,
    plan: Plan,
    together: &mut Together,
    specials: &Specials,
) {
    let is_place = |o: &Operand| matches!(o, Operand::Mem(_));
    let Some(place) = inst.operands.iter().position(is_place) else { return };
    if let Plan::Count = plan {
        let mods = [Mod::POPC, Mod::INC, Mod::_32];
        e.put(Opcode::ATOMS, &mods, 1, &[Operand::RZ, inst.operands[place]]);
        return;
    }
    let mut one = inst.clone();
    let warp = together.warp(e, specials);
    let value = inst.operands[place + 1];
    one.guard = Guard { reg: warp.is_highest, negated: false };
    let is_wide = inst.mods.has(Mod::_64);
    match (plan, value) {
        (Plan::Different(mods), Operand::Reg(value)) => {
            one.operands[place + 1] = r(together.reduced(e, value, mods));
        }
        (Plan::Same { is_sum: true }, Operand::Reg(value)) if is_wide => {
            let word = |i: u8| match value.reg.is_zero() {
                true => Operand::RZ,
                false => Operand::Reg(RegUse { cell: value.cell + i, count: 1, ..value }),
            };
            let sum = e.temp(2);
            let (number, none) = ([r(warp.count), Operand::RZ], [Operand::RZ; 2]);
            e.mul64(sum, number, [word(0), word(1)], none);
            one.operands[place + 1] = wide(sum, 2);
        }
        (Plan::Ones, _) => one.operands[place + 1] = r(warp.count),
        (Plan::Same { is_sum: true }, _) => {
            let sum = e.temp(1);
            e.imad(r(sum), r(warp.count), value, Operand::RZ);
            one.operands[place + 1] = r(sum);
        }
        _ => {}
    }
    let result = (0..usize::from(inst.defs)).find(|at| {
        let reg = inst.operands[*at].as_reg().map(|r| r.reg);
        reg.is_some_and(|r| !r.is_zero() && !r.file().is_predicate())
    });
    let Some(at) = result else {
        return put(e, one);
    };
    let (to, old) = (inst.operands[at], e.temp(1));
    one.operands[at] = r(old);
    // What the others hold meanwhile is any register that nobody needs behind it.
    let tied = one.operands[place + 1].as_reg().filter(|r| !r.reg.is_zero() && !warp.is_of(r.reg));
    one.tied
        .push(RegUse { flags: Default::default(), ..*tied.unwrap_or(&RegUse::new(warp.count)) });
    put(e, one);
    let (first, below, rank) = (e.temp(1), e.temp(1), e.temp(1));
    let sources = [r(old), r(warp.highest), Operand::Imm(0x1f)];
    e.put(
        Opcode::SHFL,
        &[Mod::IDX],
        2,
        &[Operand::PT, r(first), sources[0], sources[1], sources[2]],
    );
    let lower = special(e, specials.lower_lanes);
    e.and(r(below), r(lower), r(warp.mask));
    e.put(Opcode::POPC, &[], 1, &[r(rank), r(below)]);
    e.imad(to, r(rank), value, r(first));
}

fn put(e: &mut Emit<'_>, inst: Inst) {
    let id = e.body.new_inst(&inst, e.loc);
    e.keep(id);
}
