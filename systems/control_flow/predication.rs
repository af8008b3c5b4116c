//! `OriDoPredication`: short ways of conditional branches are done under the condition, without a
//! branch.
//!
//! What holds behind it: no conditional branch of a thread leads around, or to one of, ways that
//! are as short as the target's row says ([`Predication`](orias_targets::Predication)) and may be
//! done so, but where a way was not to be.
//!
//! The ways of a branch, whose only predecessor is its block, that end where the other one goes or
//! in EXIT, go to the end of that block; what has become one block may be a way again. What changes
//! memory or reads it gets the condition as its guard (and-ed with its own, once for each),
//! everything else is done in any case: nobody reads it. What met in a phi is a select, and
//! `GeneralOptimizeLate2` makes the instruction before it a guarded one where nothing else reads
//! its result. A load whose result meets is guarded right here, for it cannot be done in any case.

use super::forks::{Fork, fork, operand};
use super::overlap::{Behind, is_load_under_way};
use crate::analysis::Analyses;
use crate::build::plop3;
use crate::effects;
use crate::function::{Marked, Options};
use crate::knobs::Knob;
use crate::notes::Notes;
use crate::params::{Read, Write};
use crate::ssa::{Fixed, Form, copy, is_value};
use orias_components::{
    BlockId, Body, Code, FlowEdit, Guard, Inst, InstId, Loc, Opcode, Operand, Props, Reg, RegFile,
    RegUse, edges, phis, scratch, scratch::Scratch,
};
use orias_targets::{Predication, Target};
use rustc_hash::FxHashSet;
use smallvec::{SmallVec, smallvec};

/// Accesses to memory that ptxas was seen to guard in place of a branch; around atomic operations
/// it branches.
const ACCESSES: [Opcode; 8] = [
    Opcode::LD,
    Opcode::LDG,
    Opcode::LDS,
    Opcode::LDL,
    Opcode::ST,
    Opcode::STG,
    Opcode::STS,
    Opcode::STL,
];

/// Instructions of the branch around a way that few threads come to, with those that let the warp
/// meet again: so many cost nothing under a condition.
const AS_A_BRANCH: u32 = 3;

/// Ways that do nothing.
const NOTHING: Predication =
    Predication { alone: 0, overlapped: 0, beside: 0, moves: 0, window: 0, behind: 0 };

/// Phase 72.
pub fn do_predication(
    code: Code<'_>,
    mut analyses: Write<'_, Analyses>,
    options: Read<'_, Options>,
    (form, marked): (Read<'_, Form>, Read<'_, Marked>),
    mut notes: Notes<'_>,
) {
    let knob = |knob| options.knobs.get(knob, options.target);
    if !form.is_ssa || knob(Knob::PredicationRegions) == 0 {
        return;
    }
    let limits = Predication {
        alone: knob(Knob::PredicationAlone),
        overlapped: knob(Knob::PredicationOverlapped),
        beside: knob(Knob::PredicationBeside),
        moves: knob(Knob::PredicationMoves),
        window: knob(Knob::PredicationWindow),
        behind: knob(Knob::PredicationBehind),
    };
    let mut body = code.body();
    for _ in 0..=knob(Knob::PredicationExtraPasses) {
        let found = convert_all(&mut body, &mut analyses, options.target, limits, &marked.cold);
        notes.count(found);
        if found == 0 {
            break;
        }
        analyses.edges(&mut body);
    }
}

/// Takes branches away whose ways do nothing but copy, and what of them has become ways so: what
/// they bring is selected. How many there were. (A part of `OriLinearReplacement`.)
pub fn select_copies(body: &mut Body<'_>, analyses: &mut Analyses, options: &Options) -> usize {
    let knob = |knob| options.knobs.get(knob, options.target);
    let moves = knob(Knob::PredicationMoves);
    if knob(Knob::PredicationRegions) == 0 {
        return 0;
    }
    let most = Predication { moves, ..NOTHING };
    convert_all(body, analyses, options.target, most, &FxHashSet::default())
}

/// Takes away the branches whose ways are within these limits; how many.
fn convert_all(
    body: &mut Body<'_>,
    analyses: &mut Analyses,
    target: &Target,
    limits: Predication,
    cold: &FxHashSet<BlockId>,
) -> usize {
    if body.layout().iter().all(|block| body.block(*block).succs().len() < 2) {
        return 0;
    }
    let order = analyses.order(body);
    let edit = FlowEdit::of(body);
    let (grown, chained) = (scratch!(FxHashSet<BlockId>), scratch!(FxHashSet<BlockId>));
    let mut work = Predicator { target, limits, cold, edit, fixed: None, grown, chained };
    let mut count = 0;
    // In the order of flow: what a block grows by has not grown itself, so that nothing is moved
    // again and again. Who has lost a branch may be a way now of the branch before it.
    for &block in order.iter() {
        let mut next = Some(block);
        while let Some(head) = next.take().filter(|b| body.has_block(*b)) {
            let before = count;
            while work.convert(body, head) {
                count += 1;
            }
            if count > before
                && let [only] = body.block(head).preds()[..]
            {
                next = Some(only).filter(|only| *only != head);
            }
        }
    }
    if count > 0 {
        work.edit.finish(body);
    }
    count
}

/// A way of a branch that may be done under a condition.
#[derive(Clone, Copy)]
struct Way {
    block: BlockId,
    /// When control goes there.
    when: Guard,
    /// Where it leads; None: it ends the thread.
    to: Option<BlockId>,
}

/// A branch, and what of it goes.
struct Region {
    ways: SmallVec<[Way; 2]>,
    /// Where all go on who are still there.
    meet: BlockId,
    /// The condition, and where control goes with it and without, before the ways' ends.
    when: Guard,
    from: [BlockId; 2],
}

struct Predicator<'t> {
    target: &'t Target,
    limits: Predication,
    /// Blocks that few threads come to.
    cold: &'t FxHashSet<BlockId>,
    edit: FlowEdit,
    /// Made for the first branch that might go.
    fixed: Option<Fixed>,
    /// Blocks that have become longer by whole regions.
    grown: Scratch<FxHashSet<BlockId>>,
    /// Those that have by regions behind which others meet too: nothing lifts their limit.
    chained: Scratch<FxHashSet<BlockId>>,
}

impl Predicator<'_> {
    /// Takes a block's branch away, if it is one to take, or what it leads around.
    fn convert(&mut self, body: &mut Body<'_>, head: BlockId) -> bool {
        let Some(Fork { when, to }) = fork(body, head) else { return false };
        let unless = Guard { negated: !when.negated, ..when };
        let ways = [way(body, head, to[0], when), way(body, head, to[1], unless)];
        if regions(head, when, to, ways).iter().any(|r| self.convert_region(body, head, r)) {
            return true;
        }
        // Where only copies are looked for nothing goes before the branch.
        self.limits.alone > 0
            && (0..2)
                .any(|i| ways[i].is_some_and(|way| self.convert_before(body, head, way, to[1 - i])))
    }

    /// Takes the branch of a region away, if it is one to take.
    fn convert_region(&mut self, body: &mut Body<'_>, head: BlockId, region: &Region) -> bool {
        let ends = region.ways.iter().any(|way| way.to.is_none());
        let is_sole = ends || body.block(region.meet).preds().len() == 2;
        if !self.is_worth(body, head, region, is_sole) {
            return false;
        }
        if ends && !self.follows(head, region.meet, &region.ways) {
            // A guarded EXIT ends its block.
            return false;
        }
        // Observed (ptxas 13.0.88): what has guarded instructions of another region in it is no way
        // of a branch around it. Where others meet behind it too short ones are taken all the same.
        if !ends {
            let grown = if is_sole { &mut self.grown } else { &mut self.chained };
            grown.insert(head);
        }
        let place = edges::first_branch(body, head);
        let loc = body.loc(body.block(head).insts()[place]);
        body.replace(head, place..body.block(head).insts().len(), []);
        let mut selects = scratch!(Vec<InstId>);
        if !ends {
            self.join(body, head, region, loc, &mut selects);
        }
        for way in &region.ways {
            self.guard(body, way, loc);
            self.edit.absorb(body, head, way.block);
        }
        selects.iter().for_each(|id| body.append(head, *id));
        if ends {
            // What had ended the way, under its condition.
            for way in region.ways.iter().filter(|way| way.to.is_none()) {
                let exit = Inst::new(Opcode::EXIT, &[], 0, &[Operand::PT]);
                body.push(head, exit.guarded(way.when.reg, way.when.negated), loc);
            }
        }
        self.go_on(body, head, region.meet, ends, loc);
        true
    }

    /// Does what a way that the branch falls into does before the branch, which leads on to where
    /// the way led then: control falls into the other way, whatever that does.
    fn convert_before(
        &mut self,
        body: &mut Body<'_>,
        head: BlockId,
        way: Way,
        other: BlockId,
    ) -> bool {
        let Some(to) = way.to.filter(|to| *to != other && *to != head) else { return false };
        let Some(size) = self.size_of(body, &way) else { return false };
        let is_short = size.total() <= self.limits.alone
            || size.loads
                && size.total() <= self.limits.overlapped
                && self.is_load_under_way(body, head, way.when);
        if !is_short || !size.leads_on || !self.follows(head, other, &[way]) {
            return false;
        }
        self.grown.insert(head);
        let place = edges::first_branch(body, head);
        let loc = body.loc(body.block(head).insts()[place]);
        body.replace(head, place..body.block(head).insts().len(), []);
        self.edit.tell(body, to);
        for id in phis::of(body, to).collect::<SmallVec<[InstId; 4]>>() {
            let mut phi = body.inst(id).to_inst();
            let from = phi.operands.iter_mut().find(|o| **o == Operand::Block(way.block));
            *from.expect("a phi has a value for each way") = Operand::Block(head);
            body.set_inst(id, &phi);
        }
        self.guard(body, &way, loc);
        self.edit.absorb(body, head, way.block);
        let leave = Inst::new(Opcode::BRA, &[], 0, &[Operand::PT, Operand::Block(to)]);
        body.push(head, leave.guarded(way.when.reg, way.when.negated), loc);
        true
    }

    /// Whether the ways of a region may be done under its condition, and cost less so.
    fn is_worth(&mut self, body: &Body<'_>, head: BlockId, region: &Region, is_sole: bool) -> bool {
        let limits = self.limits;
        let mut sizes: SmallVec<[Size; 2]> = SmallVec::new();
        for way in &region.ways {
            let Some(size) = self.size_of(body, way) else { return false };
            sizes.push(size);
        }
        // Observed (ptxas 13.0.88): it leaves short ways that load alone where nothing is under way
        // beside them. The branch costs more than they do.
        if sizes.iter().all(|size| size.total() <= limits.alone) {
            return true;
        }
        if region.ways.iter().any(|way| self.chained.contains(&way.block)) {
            return false;
        }
        let together: u32 = sizes.iter().map(Size::total).sum();
        let is_under_way = || self.is_load_under_way(body, head, region.when);
        let behind = || Behind::of(body, region.meet, limits.behind);
        let is_busy = || is_under_way() || is_sole && behind().loads_anyhow;
        match sizes[..] {
            // Where a way ends the thread nothing is behind it.
            _ if region.ways.iter().any(|way| way.to.is_none()) => {
                together <= limits.overlapped && sizes[0].loads && is_under_way()
            }
            [Size { loads: true, .. }] => together <= limits.overlapped && is_busy(),
            [Size { loads: true, .. }, Size { loads: true, .. }] => {
                sizes.iter().all(|size| size.total() <= limits.overlapped)
            }
            [a, b] if a.loads || b.loads => {
                let (loads, other) = if a.loads { (a, b) } else { (b, a) };
                let fits = together <= limits.overlapped || other.total() <= limits.beside;
                loads.total() <= limits.overlapped
                    && fits
                    && (other.total() >= limits.alone || is_busy())
            }
            _ => {
                let is_followed = || {
                    let behind = behind();
                    behind.loads || behind.is_long
                };
                together <= limits.overlapped && is_under_way() && is_followed()
            }
        }
    }

    /// Whether a load is under way at a block's branch.
    fn is_load_under_way(&self, body: &Body<'_>, head: BlockId, when: Guard) -> bool {
        is_load_under_way(body, inner(body, head), when, self.limits.window)
    }

    /// Leads the block to where its ways met: as a part of it, if nothing else leads there.
    fn go_on(&mut self, body: &mut Body<'_>, head: BlockId, meet: BlockId, ends: bool, loc: Loc) {
        let follows = self.edit.order().next(head) == Some(meet);
        let is_alone = body.block(meet).preds() == [head] && phis::end(body, meet) == 0;
        let is_first = self.edit.order().previous(meet).is_none();
        let may_move = follows || !edges::falls_through(body, body.block(meet));
        if is_alone && may_move && !ends && !is_first && meet != head {
            self.edit.merge(body, head, meet);
        } else if !follows {
            body.push(
                head,
                Inst::new(Opcode::BRA, &[], 0, &[Operand::PT, Operand::Block(meet)]),
                loc,
            );
        }
    }

    /// Whether a block stands behind another one, once the ways between them are gone.
    fn follows(&self, head: BlockId, meet: BlockId, ways: &[Way]) -> bool {
        let order = self.edit.order();
        let mut next = order.next(head);
        while next.is_some_and(|b| ways.iter().any(|way| way.block == b)) {
            next = next.and_then(|b| order.next(b));
        }
        next == Some(meet)
    }

    /// How much a way does; None where it does something that cannot be done under a condition, or
    /// more than any way may.
    fn size_of(&mut self, body: &Body<'_>, way: &Way) -> Option<Size> {
        if self.grown.contains(&way.block) {
            return None;
        }
        let insts = body.block(way.block).insts();
        let mut size = Size { leads_on: inner(body, way.block).len() < insts.len(), ..NO_SIZE };
        let is_cold = self.cold.contains(&way.block);
        let most =
            if is_cold { AS_A_BRANCH } else { self.limits.alone.max(self.limits.overlapped) };
        for id in inner(body, way.block) {
            let inst = body.inst(*id);
            if inst.op == Opcode::NOP {
                continue;
            }
            if inst.op.has(Props::PSEUDO.with(Props::UNIFORM).with(Props::CONVERGENT)) {
                return None;
            }
            let fixed = &*self.fixed.get_or_insert_with(|| Fixed::of(body));
            let mut values = true;
            inst.for_each_def(|r| {
                values &= r.reg.vreg().is_some_and(|v| is_value(body, fixed, v));
            });
            if !values || effects::reads_what_changes(inst) {
                return None;
            }
            let is_access = ACCESSES.contains(&inst.op);
            if is_access {
                let guarded = inst.to_inst().guarded(way.when.reg, way.when.negated);
                if !self.target.takes_guard(&guarded) {
                    return None;
                }
            } else if !effects::is_pure(inst.op) {
                return None;
            }
            size.loads |= matches!(inst.op, Opcode::LD | Opcode::LDG);
            match inst.op {
                Opcode::MOV => size.moves += 1,
                _ => size.insts += 1,
            }
            if size.insts > most || size.moves > self.limits.moves {
                return None;
            }
        }
        Some(size)
    }

    /// Puts the way's condition to what may not be done in any case.
    fn guard(&self, body: &mut Body<'_>, way: &Way, loc: Loc) {
        let insts = scratch!(Vec<InstId>).with(body.block(way.block).insts().iter().copied());
        // Conditions of its own, and what they are together with the way's.
        let mut both: SmallVec<[(Guard, Reg); 2]> = SmallVec::new();
        let mut out = scratch!(Vec<InstId>);
        for &id in insts.iter() {
            let (op, guard) = (body.op(id), body.inst(id).guard);
            if op.is_branch() {
                body.discard(id);
                continue;
            }
            if !ACCESSES.contains(&op) {
                out.push(id);
                continue;
            }
            // A join has guarded some already.
            if guard == way.when {
                out.push(id);
                continue;
            }
            let when = match both.iter().find(|(own, _)| *own == guard) {
                _ if guard.is_always() => way.when,
                Some((_, reg)) => Guard { reg: *reg, negated: false },
                None => {
                    let reg = body.new_vreg(RegFile::P, 1, 1);
                    let and = [operand(way.when), operand(guard), Operand::PT];
                    out.push(body.new_inst(&plop3(Operand::reg(reg), and, 0x80), loc));
                    both.push((guard, reg));
                    Guard { reg, negated: false }
                }
            };
            body.set_guard(id, when);
            if body.inst(id).defs > 0 && body.inst(id).tied().len() == 0 {
                keep_nothing(body, id);
            }
            out.push(id);
        }
        body.unlink(way.block);
        out.iter().for_each(|id| body.append(way.block, *id));
    }

    /// What met where the ways end is chosen by the condition.
    fn join(
        &mut self,
        body: &mut Body<'_>,
        head: BlockId,
        region: &Region,
        loc: Loc,
        selects: &mut Vec<InstId>,
    ) {
        let meet = region.meet;
        let [yes, no] = region.from;
        self.edit.tell(body, meet);
        let is_sole = body.block(meet).preds().iter().all(|p| *p == yes || *p == no);
        let all = scratch!(Vec<InstId>).with(phis::of(body, meet));
        for &id in all.iter() {
            let mut phi = body.inst(id).to_inst();
            let [Operand::Reg(dest)] = *phi.dests() else { continue };
            let of = |block: BlockId| {
                let mut pairs = phi.sources().chunks_exact(2);
                let pair = pairs.find(|pair| pair[1] == Operand::Block(block));
                pair.and_then(|pair| pair[0].as_reg().copied())
            };
            let brought = |block| of(block).expect("a phi has a value for each way");
            let (with, without) = (brought(yes), brought(no));
            // A way that brings no value may bring any.
            let same = with == without || with.reg.is_zero() || without.reg.is_zero();
            let value = if with.reg.is_zero() { without } else { with };
            if same && !is_sole {
                bring(&mut phi, region.from, (value, head));
                body.set_inst(id, &phi);
                continue;
            }
            let file = dest.reg.file();
            let to = if is_sole { dest } else { RegUse::new(body.new_vreg(file, 1, 1)) };
            if same {
                selects.push(copy(body, to, value, loc));
            } else if !keep(body, region, selects, [with, without], to) {
                selects.push(select(body, to, [with, without], region.when, loc));
            }
            if !is_sole {
                bring(&mut phi, region.from, (to, head));
                body.set_inst(id, &phi);
            }
        }
        if is_sole {
            body.replace(meet, 0..all.len(), []);
        }
    }
}

/// How much a way does.
#[derive(Clone, Copy)]
struct Size {
    /// But for copies.
    insts: u32,
    moves: u32,
    /// Global memory is read.
    loads: bool,
    /// Control does not fall out of it: a branch or EXIT is at its end.
    leads_on: bool,
}

const NO_SIZE: Size = Size { insts: 0, moves: 0, loads: false, leads_on: false };

impl Size {
    /// With what leads on, but alone that is nothing.
    fn total(&self) -> u32 {
        self.insts + u32::from(self.leads_on && self.insts > 0)
    }
}

/// The instructions of a way, without the branch at its end.
fn inner<'a>(body: &'a Body<'_>, block: BlockId) -> &'a [InstId] {
    &body.block(block).insts()[..edges::first_branch(body, block)]
}

/// Ways of the branch at a block's end that could be done under its condition: both together, or
/// one or the other.
fn regions(
    head: BlockId,
    when: Guard,
    to: [BlockId; 2],
    ways: [Option<Way>; 2],
) -> SmallVec<[Region; 2]> {
    if let [Some(a), Some(b)] = ways
        && let (Some(meet), true) = (a.to, a.to == b.to)
    {
        let is_region = ![a.block, b.block].contains(&meet);
        let both = Region { ways: smallvec![a, b], meet, when, from: to };
        return is_region.then_some(both).into_iter().collect();
    }
    let alone = |i: usize| {
        let (way, other) = (ways[i]?, to[1 - i]);
        let mut from = [head; 2];
        from[i] = to[i];
        let is_region = way.to.is_none_or(|to| to == other);
        is_region.then_some(Region { ways: smallvec![way], meet: other, when, from })
    };
    let behind = |i: usize| ways[i].is_some_and(|way| way.to.is_some());
    // What leads to where the other way begins is no reason to end the thread there.
    let order = if behind(1) { [1, 0] } else { [0, 1] };
    order.into_iter().filter_map(alone).collect()
}

/// A successor as a way of the branch in `head`.
fn way(body: &Body<'_>, head: BlockId, block: BlockId, when: Guard) -> Option<Way> {
    let is_way =
        body.block(block).preds() == [head] && block != head && phis::end(body, block) == 0;
    if !is_way {
        return None;
    }
    let ends = &body.block(block).insts()[edges::first_branch(body, block)..];
    let to = match (ends, body.block(block).succs()) {
        ([], [next]) => Some(*next),
        ([one], [next]) if body.op(*one) == Opcode::BRA => Some(*next),
        ([one], []) => {
            let exit = body.inst(*one);
            let is_plain = exit.op == Opcode::EXIT && exit.mods().is_empty();
            if !is_plain || !edges::is_unconditional(exit) {
                return None;
            }
            None
        }
        _ => return None,
    };
    Some(Way { block, when, to })
}

/// Where what one way brings is the one word that it has loaded for that: the load keeps what
/// the other way brings.
fn keep(
    body: &mut Body<'_>,
    region: &Region,
    selects: &[InstId],
    values: [RegUse; 2],
    to: RegUse,
) -> bool {
    // Of two ways the second is done behind the first, and may keep what that has found.
    let Some(way) = region.ways.last() else { return false };
    let at = usize::from(way.when != region.when);
    let (value, other) = (values[at], values[1 - at]);
    let insts = body.block(way.block).insts();
    let writes = |id: &&InstId| body.inst(**id).dests().any(|o| o == Operand::Reg(value));
    let Some(&load) = insts.iter().find(writes) else { return false };
    let inst = body.inst(load);
    let is_named = |o: &Operand| o.as_reg().is_some_and(|r| !r.reg.is_zero());
    if inst.dests().filter(is_named).count() > 1 {
        return false;
    }
    if !ACCESSES.contains(&inst.op) || !inst.guard.is_always() || value.count != 1 {
        return false;
    }
    let mut reads = 0;
    let mut see = |id: InstId| {
        body.inst(id).for_each_use(|r| reads += u32::from(r.reg == value.reg));
    };
    insts.iter().for_each(|id| see(*id));
    // Where phis have one value now for two, selects read in their place.
    phis::of(body, region.meet).for_each(&mut see);
    selects.iter().for_each(|id| see(*id));
    if reads != 1 {
        return false;
    }
    let mut new = inst.to_inst().guarded(way.when.reg, way.when.negated);
    let result = new.operands.iter_mut().find(|o| **o == Operand::Reg(value));
    *result.expect("it is written") = Operand::Reg(to);
    new.tied = smallvec![other];
    body.set_inst(load, &new);
    true
}

/// `to = when ? with : without`.
fn select(
    body: &mut Body<'_>,
    to: RegUse,
    [with, without]: [RegUse; 2],
    when: Guard,
    loc: Loc,
) -> InstId {
    let [to, with, without] = [to, with, without].map(Operand::Reg);
    if to.file() == Some(RegFile::P) {
        return body.new_inst(&plop3(to, [operand(when), with, without], 0xca), loc);
    }
    let [a, b] = if when.negated { [without, with] } else { [with, without] };
    let condition = operand(Guard { negated: false, ..when });
    body.make(Opcode::SEL, &[], 1, &[to, a, b, condition], loc)
}

/// A guarded load's result is read where its guard holds, and nowhere else.
fn keep_nothing(body: &mut Body<'_>, id: InstId) {
    let named = |o: Operand| o.as_reg().copied().filter(|r| !r.reg.is_zero());
    let results: SmallVec<[RegUse; 2]> = body.inst(id).dests().filter_map(named).collect();
    let nothing: SmallVec<[RegUse; 2]> =
        results.iter().map(|r| RegUse::new(Reg::zero(r.reg.file()))).collect();
    body.set_tied(id, &nothing);
}

/// The phi has one value in place of those of two ways.
fn bring(phi: &mut Inst, [yes, no]: [BlockId; 2], (value, from): (RegUse, BlockId)) {
    let goes = |block: Operand| block == Operand::Block(yes) || block == Operand::Block(no);
    let kept = phi.sources().chunks_exact(2).filter(|pair| !goes(pair[1])).flatten().copied();
    let pair = [Operand::Reg(value), Operand::Block(from)];
    phi.operands = phi.dests().iter().copied().chain(kept).chain(pair).collect();
}
