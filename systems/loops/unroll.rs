//! `OriLoopUnrolling`: several rounds of a loop without a test between them.
//!
//! What holds behind it: no loop of one block is left that counts with constant steps to a bound
//! that it leaves alone, stores plainly if at all, waits for no other thread, is as short as the
//! target's row says ([`Unrolling`](orias_targets::Unrolling)), and no `.pragma "nounroll"` is
//! about. One that runs a known number of rounds is that many copies of its block. Of another one
//! there are two: one that does several rounds as long as there are so many left, and before it a
//! test whether there are; the loop as it was does the rest.
//!
//! A loop's test stands at its end, so the first of some rounds always runs, and the others if the
//! counter before them is on this side of the bound: `bound - counter` is more than their steps. It
//! is compared as an unsigned number where the counter is on this side, so nothing overflows.
//!
//! Out of SSA form copies name the same registers, as the rounds did.

use super::rounds::append;
use crate::analysis::Analyses;
use crate::analysis::trips::{Comparison, rounds};
use crate::analysis::uses::Uses;
use crate::effects;
use crate::function::{FunctionInfo, Marked, Options};
use crate::knobs::Knob;
use crate::notes::Notes;
use crate::params::{Read, Write};
use crate::profile::Profile;
use orias_components::{
    BlockId, Body, Code, FlowEdit, Inst, InstId, Loc, Mod, Opcode, Operand, Props, Reg, RegFile,
    RegFlags, RegUse, View, edges, scratch,
};
use orias_targets::Unrolling;
use orias_targets::slots::{BRA, IADD3, ISETP, LOP3_LUT as LOP3, MOV};
use smallvec::SmallVec;

/// Phase 25.
pub fn unroll_loops(
    code: Code<'_>,
    mut analyses: Write<'_, Analyses>,
    options: Read<'_, Options>,
    (info, marked): (Read<'_, FunctionInfo>, Read<'_, Marked>),
    mut notes: Notes<'_>,
) {
    // Rounds load in another order.
    if info.has_strong {
        return;
    }
    let mut body = code.body();
    let knob = |knob| options.knobs.get(knob, options.target);
    let limits = Unrolling {
        most: knob(Knob::UnrollMost),
        without_loads: knob(Knob::UnrollWithoutLoads),
        whole: knob(Knob::UnrollWhole),
        times: knob(Knob::UnrollTimes),
    };
    let all = body.layout().iter().filter_map(|block| find(&body, *block, limits));
    let mut loops = scratch!(Vec<Found>).with(all);
    if loops.is_empty() {
        return;
    }
    loops.retain(|of| {
        let is_rolled = marked.cold.contains(&of.block) || info.rolled.contains(&of.block);
        !is_rolled && runs_often(&body, &info.profile, of)
    });
    if loops.is_empty() {
        return;
    }
    let uses = analyses.uses(&body);
    loops.retain(|of| {
        of.rounds.is_some() || limits.times > 1 && !is_rest(&body, &uses, of, limits.times)
    });
    if loops.is_empty() {
        return;
    }
    let mut edit = FlowEdit::of(&body);
    for of in loops.iter() {
        match of.rounds {
            Some(rounds) => repeat(&mut body, of, rounds),
            None => split(&mut body, &mut edit, of, limits.times),
        }
    }
    edit.finish(&mut body);
    analyses.edges(&mut body);
    notes.count(loops.len());
}

/// Whether a loop was not seen to end with its first round most of the time.
fn runs_often(body: &Body<'_>, profile: &Profile, of: &Found) -> bool {
    let Some(rounds) = profile.of(body, of.block) else { return true };
    let outside = body.block(of.block).preds().iter().filter(|pred| **pred != of.block);
    let entered: u64 = outside.filter_map(|pred| profile.of(body, *pred)).sum();
    // Those who came to a block before it may not all have come to it.
    entered == 0 || rounds >= 2 * entered || of.rounds.is_some()
}

/// Of a known number of rounds so many load together.
const TOGETHER: u32 = 4;

/// A loop of one block, and how it counts.
struct Found {
    block: BlockId,
    /// Its place among the instructions of its block: the branch back.
    back: usize,
    counter: RegUse,
    step: i32,
    bound: Operand,
    how: How,
    /// How often it runs, where that is known.
    rounds: Option<u32>,
}

/// How the counter compares with the bound while the loop goes on, and whether as signed numbers.
type How = (Comparison, bool);

/// Of a comparison whose sides may be swapped, and that may be to fail.
fn how(inst: View<'_>, is_swapped: bool, fails: bool) -> Option<How> {
    let (word, is_signed) = match inst.mods().as_slice() {
        [word, Mod::AND] => (*word, true),
        [word, Mod::U32, Mod::AND] => (*word, false),
        _ => return None,
    };
    let is = Comparison::of(word)?;
    let is = if is_swapped { is.mirrored() } else { is };
    Some((if fails { is.negated() } else { is }, is_signed))
}

/// Whether a counter that grows by this step comes to where the comparison does not hold.
fn ends(is: Comparison, step: i32) -> bool {
    match is {
        Comparison::Less | Comparison::LessEqual => step > 0,
        Comparison::Greater | Comparison::GreaterEqual => step < 0,
        Comparison::NotEqual => step == 1 || step == -1,
        Comparison::Equal => false,
    }
}

/// The loop that a block is, if it is one to unroll.
fn find(body: &Body<'_>, block: BlockId, limits: Unrolling) -> Option<Found> {
    let insts = body.block(block).insts();
    let back = edges::first_branch(body, block);
    // Of one that runs twice at least.
    let most = limits.most.max(limits.whole / 2) as usize;
    if !body.block(block).succs().contains(&block) || insts.len() > most + 1 {
        return None;
    }
    let branch = body.inst(*insts.get(back)?);
    let goes_back = branch.op == Opcode::BRA
        && branch.get(BRA::X) == Some(Operand::PT)
        && branch.get(BRA::U) == Some(Operand::Block(block))
        && !branch.guard.is_always();
    if !goes_back
        || insts[back + 1..].iter().any(|id| edges::targets(body.inst(*id)).any(|to| to == block))
    {
        return None;
    }
    let rounds = &insts[..back];
    let mut loads = false;
    for id in rounds {
        let inst = body.inst(*id);
        loads |= effects::reads_memory(inst.op);
        if !may_repeat(inst) {
            return None;
        }
    }
    let (test, test_id) = last_writer(body, rounds, RegUse::new(branch.guard.reg))?;
    let compares = body.inst(test_id);
    let is_plain = compares.op == Opcode::ISETP
        && compares.len() == ISETP::COUNT
        && compares.guard.is_always()
        && compares.operand(ISETP::P) == Operand::reg(branch.guard.reg)
        && compares.operand(ISETP::X) == Operand::PT;
    if !is_plain {
        return None;
    }
    let (a, b) = (compares.operand(ISETP::A), compares.operand(ISETP::B));
    let counts = |side: Operand| {
        let counter = word(side)?;
        let (at, id) = last_writer(body, rounds, counter)?;
        let step = step(body.inst(id), counter)?;
        (at < test && is_only_writer(body, rounds, counter)).then_some((counter, step))
    };
    let (counter, step, bound, is_swapped) = match (counts(a), counts(b)) {
        (Some((counter, step)), None) => (counter, step, b, false),
        (None, Some((counter, step))) => (counter, step, a, true),
        _ => return None,
    };
    let how = how(compares, is_swapped, branch.guard.negated)?;
    if !ends(how.0, step) || !stays(body, rounds, bound) {
        return None;
    }
    let mut found = Found { block, back, counter, step, bound, how, rounds: None };
    let known = rounds_of(body, &found)
        .filter(|n| u64::from(*n) * rounds.len() as u64 <= limits.whole.into());
    found.rounds = known;
    let most = if loads { limits.most } else { limits.without_loads };
    (known.is_some() || rounds.len() < most as usize).then_some(found)
}

/// Whether it may stand in several places, of which other threads run one and some another.
fn may_repeat(inst: View<'_>) -> bool {
    /// What stores, or adds to memory, and does nothing else.
    const STORES: [Opcode; 5] = [Opcode::ST, Opcode::STG, Opcode::STL, Opcode::STS, Opcode::REDG];
    let others = Props::EFFECT
        .with(Props::STORE)
        .with(Props::BRANCH)
        .with(Props::CONVERGENT)
        .with(Props::PSEUDO)
        .with(Props::GROUP)
        .with(Props::WAITS)
        .with(Props::UNIFORM);
    STORES.contains(&inst.op)
        || !inst.op.has(others)
            && !effects::sees_other_threads(inst)
            && !effects::reads_what_changes(inst)
}

/// One whole register's word.
fn word(operand: Operand) -> Option<RegUse> {
    let Operand::Reg(r) = operand else { return None };
    let is_plain = r.flags == RegFlags::NONE && r.reg.file() == RegFile::R;
    (is_plain && r.reg.vreg().is_some() && r.count == 1).then_some(r)
}

fn writes(inst: View<'_>, r: RegUse) -> bool {
    let mut found = false;
    inst.for_each_def(|d| {
        found |= d.reg == r.reg && d.cell <= r.cell && r.cell < d.cell + d.count;
    });
    found
}

fn last_writer(body: &Body<'_>, insts: &[InstId], r: RegUse) -> Option<(usize, InstId)> {
    let at = insts.iter().rposition(|id| writes(body.inst(*id), r))?;
    Some((at, insts[at]))
}

fn is_only_writer(body: &Body<'_>, insts: &[InstId], r: RegUse) -> bool {
    insts.iter().filter(|id| writes(body.inst(**id), r)).count() == 1
}

/// What an instruction adds to the word that it writes.
fn step(inst: View<'_>, counter: RegUse) -> Option<i32> {
    let is_sum = inst.op == Opcode::IADD3
        && inst.mods().is_empty()
        && inst.guard.is_always()
        && inst.operand(IADD3::D) == Operand::Reg(counter)
        && inst.operand(IADD3::P) == Operand::PT
        && inst.operand(IADD3::Q) == Operand::PT;
    let mut step = None;
    let mut others = 0;
    for at in [IADD3::A, IADD3::B, IADD3::C].into_iter().filter(|_| is_sum) {
        match inst.operand(at) {
            Operand::Imm(value) => step = Some(value as u32 as i32),
            operand if operand == Operand::RZ || operand == Operand::Reg(counter) => {}
            _ => others += 1,
        }
    }
    let reads = inst.sources().filter(|o| *o == Operand::Reg(counter)).count();
    // Far steps would leave no room for several of them.
    step.filter(|step| others == 0 && reads == 1 && step.unsigned_abs() < 1 << 24 && *step != 0)
}

/// Whether a loop leaves a bound alone that a sum may name.
fn stays(body: &Body<'_>, rounds: &[InstId], bound: Operand) -> bool {
    match bound {
        Operand::Imm(_) => true,
        Operand::Reg(r) => {
            let is_word = word(bound).is_some()
                || r.flags == RegFlags::NONE && r.reg.file() == RegFile::UR && r.count == 1;
            is_word && !rounds.iter().any(|id| writes(body.inst(*id), r))
        }
        _ => false,
    }
}

/// How often a loop runs whose counter begins with a constant before it, and whose bound is one.
fn rounds_of(body: &Body<'_>, of: &Found) -> Option<u32> {
    /// Blocks that are looked through for it.
    const NEAR: usize = 4;
    let Operand::Imm(bound) = of.bound else { return None };
    let only_before = |block: BlockId| {
        let mut others = body.block(block).preds().iter().filter(|pred| **pred != block);
        others.next().filter(|_| others.next().is_none()).copied()
    };
    let before = std::iter::successors(only_before(of.block), |block| only_before(*block));
    let mut writers = before.take(NEAR).map(|block| body.block(block).insts());
    let (_, start) = writers.find_map(|insts| last_writer(body, insts, of.counter))?;
    let start = body.inst(start);
    if !effects::copies_words(start) || !start.guard.is_always() {
        return None;
    }
    let Operand::Imm(start) = start.operand(MOV::B) else { return None };
    let first = (start as u32).wrapping_add_signed(of.step);
    let step = u128::from(of.step as u32);
    let again = rounds(1 << 32, (first.into(), step), of.how, u128::from(bound as u32))?;
    u32::try_from(again + 1).ok()
}

/// A loop becomes so many rounds.
fn repeat(body: &mut Body<'_>, of: &Found, rounds: u32) {
    let mut end = scratch!(Vec<InstId>).with(body.unlink(of.block));
    let behind = end.split_off(of.back);
    for from in (0..rounds).step_by(TOGETHER as usize) {
        append(body, of.block, &end, TOGETHER.min(rounds - from));
    }
    end.iter().chain(&behind[..1]).for_each(|id| body.discard(*id));
    behind[1..].iter().for_each(|id| body.append(of.block, *id));
}

/// A loop gets one before it that does several rounds at once.
fn split(body: &mut Body<'_>, edit: &mut FlowEdit, of: &Found, times: u32) {
    let (block, loc) = (of.block, body.loc(body.block(of.block).insts()[of.back]));
    let preds: SmallVec<[BlockId; 4]> =
        body.block(block).preds().iter().copied().filter(|pred| *pred != block).collect();
    let first = edit.new_before(body, block);
    let many = edit.new_before(body, block);
    let rest = edit.new_before(body, block);
    for pred in preds {
        for at in edges::first_branch(body, pred)..body.block(pred).insts().len() {
            let branch = body.block(pred).insts()[at];
            body.redirect(branch, block, first);
        }
    }
    let out = body.block(block).succs().iter().copied().find(|succ| *succ != block);
    let out = out.expect("a conditional branch goes on somewhere");
    let steps = (times - 1) as i32 * of.step;
    let mut make = Make { body, loc };

    // Whether there are so many rounds: the counter is on this side of the bound, and so far away.
    let bound = make.register(first, of.bound);
    let far = make.temp();
    let (up, down) = (RegUse { flags: RegFlags::NEG, ..of.counter }, of.counter);
    let back = RegUse { flags: RegFlags::NEG, ..bound };
    match of.step > 0 {
        true => make.add(first, far, bound, Operand::Reg(up)),
        false => make.add(first, far, down, Operand::Reg(back)),
    }
    let (least, is) = match of.how.0 {
        Comparison::LessEqual | Comparison::GreaterEqual => {
            (steps.unsigned_abs(), Comparison::GreaterEqual)
        }
        Comparison::NotEqual => (times, Comparison::GreaterEqual),
        _ => (steps.unsigned_abs(), Comparison::Greater),
    };
    let enough = Operand::Imm(least.into());
    let go = match of.how.0 {
        Comparison::NotEqual => make.compare(first, (is, false), far, enough, Operand::PT),
        _ => {
            let inside = make.compare(first, of.how, of.counter, Operand::Reg(bound), Operand::PT);
            make.compare(first, (is, false), far, enough, Operand::reg(inside))
        }
    };
    let limit = make.temp();
    if of.how.0 != Comparison::NotEqual {
        make.add(first, limit, bound, Operand::Imm(u64::from(steps.wrapping_neg() as u32)));
    }
    make.branch(first, (go, true), block);

    let insts = scratch!(Vec<InstId>);
    let insts = insts.with(make.body.block(block).insts()[..of.back].iter().copied());
    append(make.body, many, &insts, times);
    let again = match of.how.0 {
        Comparison::NotEqual => {
            let left = make.temp();
            match of.step > 0 {
                true => make.add(many, left, bound, Operand::Reg(up)),
                false => make.add(many, left, down, Operand::Reg(back)),
            }
            make.compare(many, (is, false), left, enough, Operand::PT)
        }
        _ => make.compare(many, of.how, of.counter, Operand::Reg(limit), Operand::PT),
    };
    make.branch(many, (again, false), many);
    // Nobody asks what the rounds' own tests said: they go.
    let more = make.compare(rest, of.how, of.counter, Operand::Reg(bound), Operand::PT);
    make.branch(rest, (more, true), out);
}

/// Whether a loop runs fewer rounds than that: the rest that another one has left, whose counter or
/// bound is so many low bits of a number.
fn is_rest(body: &Body<'_>, uses: &Uses, of: &Found, times: u32) -> bool {
    let is_few = |id: InstId| {
        let inst = body.inst(id);
        let is_mask = inst.op == Opcode::LOP3
            && inst.get(LOP3::T) == Some(Operand::Imm(0xc0))
            && inst.get(LOP3::C) == Some(Operand::RZ);
        let is_low = |o: Operand| matches!(o, Operand::Imm(mask) if mask < u64::from(times));
        is_mask && is_low(inst.operand(LOP3::B))
    };
    let only = |r: RegUse| uses.only_writer(r.reg.vreg()?).map(|place| place.0);
    let from = |id: InstId| {
        let copied = effects::as_copy(body.inst(id)).and_then(|copy| only(copy.from));
        is_few(id) || copied.is_some_and(is_few)
    };
    let own = &body.block(of.block).insts()[..of.back];
    let is_counter_few = of.counter.reg.vreg().is_some_and(|v| {
        let mut others =
            uses.writers(v).map(|place| place.0).filter(|id| !own.contains(id)).peekable();
        others.peek().is_some() && others.all(from)
    });
    is_counter_few || word(of.bound).and_then(only).is_some_and(from)
}

/// Appends instructions to blocks.
struct Make<'b, 'w> {
    body: &'b mut Body<'w>,
    loc: Loc,
}

impl Make<'_, '_> {
    fn temp(&mut self) -> RegUse {
        RegUse::new(self.body.new_vreg(RegFile::R, 1, 1))
    }

    /// The word of an operand in a register of each thread.
    fn register(&mut self, block: BlockId, operand: Operand) -> RegUse {
        if let Some(r) = word(operand) {
            return r;
        }
        let r = self.temp();
        let operands = [Operand::Reg(r), operand, Operand::Imm(0xf)];
        self.body.push(block, Inst::new(Opcode::MOV, &[], 1, &operands), self.loc);
        r
    }

    fn add(&mut self, block: BlockId, d: RegUse, a: RegUse, b: Operand) {
        let operands = [Operand::Reg(d), Operand::PT, Operand::PT, Operand::Reg(a), b, Operand::RZ];
        self.body.push(block, Inst::new(Opcode::IADD3, &[], 3, &operands), self.loc);
    }

    fn compare(
        &mut self,
        block: BlockId,
        (is, is_signed): How,
        a: RegUse,
        b: Operand,
        and: Operand,
    ) -> Reg {
        let p = self.body.new_vreg(RegFile::P, 1, 1);
        let operands = [Operand::reg(p), Operand::PT, Operand::Reg(a), b, and];
        let is = is.word();
        let mods = [is, Mod::U32, Mod::AND];
        let mods = if is_signed { &[is, Mod::AND][..] } else { &mods[..] };
        self.body.push(block, Inst::new(Opcode::ISETP, mods, 2, &operands), self.loc);
        p
    }

    fn branch(&mut self, block: BlockId, (when, negated): (Reg, bool), to: BlockId) {
        let branch = Inst::new(Opcode::BRA, &[], 0, &[Operand::PT, Operand::Block(to)]);
        self.body.push(block, branch.guarded(when, negated), self.loc);
    }
}
