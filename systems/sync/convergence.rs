//! Convergence barriers: makes the threads of a warp that a divergent branch splits reconverge.
//!
//! Before threads may part, `BSSY Bn, join` notes which of them run together; `BSYNC Bn`, in a
//! block of its own before the join, holds each until all of them have come, have exited, or have
//! left the region with `BREAK Bn`. Where the regions are is [`regions`]' matter. Runs at every
//! level, after the last phase that changes the flow of control and before register allocation: the
//! barriers are virtual registers of file B.
//!
//! Observed (ptxas 13.0.88, sm_90a, -O0 and -O3), and done here too: BSSY stands before the branch,
//! before the loop when threads leave a loop one by one; BSYNC ends a block and BSSY's target is
//! what follows it; branches with the same join share a barrier; no barrier where the join only
//! exits, nor for a branch around what the whole warp does together ([`together`]); `@P BREAK`
//! right before `@P BRA` out of a region; no BREAK before a way that exits; sibling regions use the
//! same barrier again.

use super::collective;
use super::collective::Exchange;
use super::joined;
use crate::analysis::divergence::Divergence;
use crate::analysis::{Analyses, ControlFlow};
use crate::effects;
use crate::function::{FunctionInfo, Marked, Options};
use crate::notes::Notes;
use crate::params::{Read, Write};
use crate::sync::regions::{self, Plan};
use crate::sync::together;
use bitvec::vec::BitVec;
use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{
    BlockId, Body, Code, FlowEdit, Guard, Inst, InstId, Loc, Mod, Opcode, Operand, Reg, RegFile,
    RegFlags, View, edges, phis,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// Phase `LateExpandSyncInstructions`: inserts the barriers.
pub fn late_expand_sync_instructions(
    code: Code<'_>,
    (options, info): (Read<'_, Options>, Read<'_, FunctionInfo>),
    mut analyses: Write<'_, Analyses>,
    mut notes: Notes<'_>,
    mut marked: Write<'_, Marked>,
) {
    let collective = Inst::new(
        Opcode::WARPSYNC,
        &[Mod::COLLECTIVE],
        0,
        &[Operand::RZ, Operand::Block(BlockId(0))],
    );
    let collectives = options.target.takes(&collective).is_some();
    let how = How { collectives, is_kernel: info.entry, drops_idle: options.opt_level > 0 };
    let (made, divergent) = insert(&mut code.body(), &mut analyses, how);
    marked.divergent.clear();
    marked.divergent.extend(&divergent);
    notes.count(made);
}

/// Inserts the barriers that a body without any needs, and leaves its edges current. Returns how
/// many.
pub fn insert_barriers(body: &mut Body<'_>) -> usize {
    let how = How { collectives: true, is_kernel: true, drops_idle: true };
    insert(body, &mut Analyses::default(), how).0
}

/// What barriers are inserted for.
#[derive(Clone, Copy)]
struct How {
    /// The machine gathers threads that stand at different places.
    collectives: bool,
    /// Threads come to the body's start together.
    is_kernel: bool,
    /// WARPSYNC goes where barriers make it idle.
    drops_idle: bool,
}

/// How many barriers there are now, and the branches at which threads may diverge.
fn insert(
    body: &mut Body<'_>,
    analyses: &mut Analyses,
    How { collectives, is_kernel, drops_idle }: How,
) -> (usize, Scratch<Vec<InstId>>) {
    analyses.edges(body);
    drop_idle_branches(body);
    analyses.edges(body);
    let may_part = body.layout().iter().any(|b| body.block(*b).succs().len() > 1)
        || body.facts().may_have(&PART_WITHOUT_BRANCH);
    let nothing = Divergence::default();
    let found = may_part.then(|| analyses.divergence(body));
    let mut divergence = found.as_deref().unwrap_or(&nothing);
    let everywhere;
    let mut regions = 0;
    let mut divergent = scratch!(Vec<InstId>);
    let mut idle = None;
    let mut exchanges = scratch!(Vec<Exchange>);
    if divergence.branches.any() {
        let flow = analyses.flow(body);
        make_preheaders(body, &flow, divergence);
        let mut flow = analyses.flow_after(body);
        exchanges = self::exchanges(body, analyses, &flow, divergence, collectives);
        let mut plan = plan(body, &flow, divergence, !exchanges.is_empty());
        if plan.incomplete {
            // The analysis assumes that threads reconverge at every join: where they may not,
            // nothing is known to be the same.
            everywhere = Divergence::everywhere(body);
            divergence = &everywhere;
            make_preheaders(body, &flow, divergence);
            flow = analyses.flow_after(body);
            exchanges = self::exchanges(body, analyses, &flow, divergence, collectives);
            plan = self::plan(body, &flow, divergence, !exchanges.is_empty());
        }
        regions = plan.regions.len();
        divergent = divergent_branches(body, divergence);
        if drops_idle {
            let branches = &divergence.branches;
            let found = joined::idle(body, &flow, &plan, branches, &exchanges, is_kernel);
            exchanges.retain(|e| !found.meets.contains(&e.meet));
            idle = Some(found);
        }
        let together = |id: InstId| idle.as_ref().is_some_and(|i| i.barriers.contains(&id));
        together::gather(body, &flow, &divergence.branches, is_kernel, together);
        Emitter::new(body, &plan).emit(&plan);
    } else if body.facts().may_have(&[Opcode::BAR]) {
        let flow = analyses.flow(body);
        together::gather(body, &flow, &divergence.branches, is_kernel, |_| false);
    }
    collective::drop_unread_shuffles(body, &exchanges);
    if let Some(idle) = idle.filter(|idle| !idle.meets.is_empty()) {
        for &block in body.walk().iter() {
            body.retain(block, |_, id| !idle.meets.contains(&id));
        }
    }
    analyses.edges(body);
    let parting = parting(body, divergence, &exchanges);
    meet_behind(body, &parting);
    collective::emit(body, &exchanges);
    (regions + parting.len() + exchanges.len(), divergent)
}

fn exchanges(
    body: &Body<'_>,
    analyses: &mut Analyses,
    flow: &ControlFlow,
    divergence: &Divergence,
    collectives: bool,
) -> Scratch<Vec<Exchange>> {
    match collectives {
        true => collective::find(body, analyses, flow.graph(), &divergence.branches),
        false => scratch!(Vec<Exchange>),
    }
}

/// The branches with several ways of blocks whose branch is divergent.
fn divergent_branches(body: &Body<'_>, divergence: &Divergence) -> Scratch<Vec<InstId>> {
    let of_block = |block: usize| body.block(BlockId(block as u32)).insts().iter().copied();
    let guarded = |id: &InstId| {
        let inst = body.inst(*id);
        inst.op == Opcode::SWITCH || inst.op == Opcode::BRA && !inst.guard.is_always()
    };
    let all = divergence.branches.iter_ones().flat_map(of_block).filter(guarded);
    scratch!(Vec<InstId>).with(all)
}

/// Threads may diverge at these without a branch, or reconverged there.
const PART_WITHOUT_BRANCH: [Opcode; 3] = [Opcode::PCALL, Opcode::WARPSYNC, Opcode::ENDCOLLECTIVE];

/// What makes threads diverge without a branch, and where they reconverge: behind the second
/// instruction.
struct Parting {
    first: InstId,
    last: InstId,
}

/// Calls that may lead the threads of a warp to different functions, and meetings of the threads of
/// masks that may differ, up to their mark ENDCOLLECTIVE, where they are none of the exchanges. The
/// other marks are taken out.
fn parting(
    body: &mut Body<'_>,
    divergence: &Divergence,
    exchanges: &[Exchange],
) -> Scratch<Vec<Parting>> {
    let differs = |operand: Option<Operand>| {
        operand.is_some_and(|o| o.as_reg().is_some_and(|r| divergence.is_divergent(r.reg)))
    };
    let (mut found, mut marks) = (scratch!(Vec<Parting>), scratch!(Vec<(BlockId, InstId)>));
    if !body.facts().may_have(&PART_WITHOUT_BRANCH) {
        return found;
    }
    let mut meets = scratch!(FxHashSet<InstId>);
    meets.extend(exchanges.iter().map(|e| e.meet));
    for block in body.layout() {
        for (at, id) in body.block(*block).insts().iter().enumerate() {
            let inst = body.inst(*id);
            let parts = differs(inst.sources().next());
            match inst.op {
                Opcode::PCALL if parts && !inst.mods().has(Mod::ABS) => {
                    found.push(Parting { first: *id, last: *id });
                }
                Opcode::WARPSYNC if parts && !meets.contains(id) => {
                    let last = mark_behind(body, *block, at);
                    found.extend(last.map(|last| Parting { first: *id, last }));
                }
                Opcode::ENDCOLLECTIVE => marks.push((*block, *id)),
                _ => {}
            }
        }
    }
    meets.clear();
    meets.extend(found.iter().map(|p| p.last));
    for &(block, mark) in &marks {
        if !meets.contains(&mark) {
            body.retain(block, |_, id| id != mark);
        }
    }
    found
}

/// The first ENDCOLLECTIVE that control comes to from a place in a block; none behind a meeting
/// that ends nothing.
fn mark_behind(body: &Body<'_>, block: BlockId, at: usize) -> Option<InstId> {
    let mut seen = scratch!(FxHashSet<BlockId>);
    let mut work = scratch!(Vec<(BlockId, usize)>; (block, at + 1); 1);
    while let Some((block, from)) = work.pop() {
        for id in &body.block(block).insts()[from..] {
            match body.op(*id) {
                Opcode::ENDCOLLECTIVE => return Some(*id),
                Opcode::WARPSYNC => return None,
                _ => {}
            }
        }
        work.extend(body.block(block).succs().iter().filter(|s| seen.insert(**s)).map(|s| (*s, 0)));
    }
    None
}

/// Puts BSSY before and BSYNC behind each of these.
fn meet_behind(body: &mut Body<'_>, parting: &[Parting]) {
    if parting.is_empty() {
        return;
    }
    let mut begins = scratch!(FxHashMap<InstId, (Operand, BlockId)>);
    let mut ends = scratch!(FxHashMap<InstId, (Operand, BlockId)>);
    for p in parting {
        let barrier = Operand::reg(body.new_vreg(RegFile::B, 1, 1));
        let next = body.new_detached_block();
        begins.insert(p.first, (barrier, next));
        ends.insert(p.last, (barrier, next));
    }
    body.rewrite_all(|body, out, id| {
        let loc = body.loc(id);
        if let Some((barrier, next)) = begins.get(&id) {
            let bssy = Inst::new(Opcode::BSSY, &[], 1, &[*barrier, Operand::Block(*next)]);
            out.put(body, &bssy, loc);
        }
        if body.op(id) != Opcode::ENDCOLLECTIVE {
            out.keep(id);
        }
        if let Some((barrier, next)) = ends.get(&id) {
            out.put(body, &Inst::new(Opcode::BSYNC, &[], 0, &[*barrier]), loc);
            out.split_to(body, *next);
        }
    });
}

/// Most regions around a block. What a function does not keep (B0 to B5) is of no use around a
/// call; and what makes threads diverge without a branch needs a barrier of its own.
fn most_regions(body: &Body<'_>, exchanges: bool) -> usize {
    if body.facts().may_have(&[Opcode::PCALL]) {
        regions::MAX_DEPTH - 7
    } else if exchanges || body.facts().may_have(&[Opcode::ENDCOLLECTIVE]) {
        regions::MAX_DEPTH - 1
    } else {
        regions::MAX_DEPTH
    }
}

/// Removes conditional branches to where control goes on anyway: they make threads diverge for
/// nothing, and no barrier would join them again.
fn drop_idle_branches(body: &mut Body<'_>) {
    for &block in body.walk().iter() {
        if let [only] = body.block(block).succs()[..] {
            body.retain(block, |body, id| {
                let inst = body.inst(id);
                let idle = inst.op == Opcode::BRA && edges::targets(inst).any(|t| t == only);
                !idle || edges::is_unconditional(inst)
            });
        }
    }
}

fn plan(body: &Body<'_>, flow: &ControlFlow, divergence: &Divergence, exchanges: bool) -> Plan {
    let graph = flow.graph();
    let mut branches = divergence.branches.clone();
    branches.resize(graph.len(), false);
    let meets = together::meetings(body, flow);
    for &branch in &together::branches(flow, &meets, &branches) {
        branches.set(branch as usize, false);
    }
    // Where a thread may wait for others that are held at a barrier, it has to leave the barrier
    // first. (ptxas 13.0.88 does not look at this: without BREAK, as before a way that only exits,
    // its -O1 code never ends.)
    let mut waits = scratch!(BitVec).fill_with(false, graph.len());
    for block in body.layout() {
        let wait = body.block(*block).insts().iter().any(|id| effects::may_wait(body.op(*id)));
        waits.set(block.0 as usize, wait);
    }
    let mut plan = regions::plan(flow, &branches, (&waits, &meets), most_regions(body, exchanges));
    plan.regions.retain(|r| !together::only_exits(body, BlockId(r.join)));
    // Who leaves a region with BREAK is no longer of it. A callee that saved the barrier before,
    // for threads that stay, would bring him back when it restores it, and they would wait for him
    // for ever: such a region has no barrier.
    let is_call = |id: &InstId| body.op(*id) == Opcode::PCALL;
    let calls = |b: u32| body.block(BlockId(b)).insts().iter().any(is_call);
    let before = plan.regions.len();
    plan.regions.retain(|r| r.breaks.is_empty() || !r.blocks.iter().any(calls));
    plan.incomplete |= plan.regions.len() != before;
    plan
}

/// Gives each loop with a divergent branch one block before its header that leads only there.
fn make_preheaders(body: &mut Body<'_>, flow: &ControlFlow, divergence: &Divergence) {
    let mut branches = divergence.branches.clone();
    branches.resize(flow.graph().len(), false);
    // A preheader changes no other loop's entries, so one look at the graph serves all.
    let mut edit = FlowEdit::of(body);
    let mut outside = scratch!(Vec<BlockId>);
    for l in regions::without_preheader(flow, &branches) {
        outside.clear();
        outside.extend(l.entries.iter().map(|b| BlockId(*b)));
        edit.lead_through(body, &outside, BlockId(l.header));
    }
    edit.finish(body);
}

/// Where the block's place for messages and line tables is: its last instruction's.
fn end_loc(body: &Body<'_>, block: BlockId) -> Loc {
    body.block(block).insts().last().map_or(Loc::default(), |i| body.loc(*i))
}

/// Turns a plan into instructions. The plan's edges are those of the body before the first change.
struct Emitter<'a, 'w> {
    body: &'a mut Body<'w>,
    /// Under which predicate control takes the edges that leave regions, one region's behind
    /// another's; None where no
    /// one predicate says it.
    conditions: Scratch<Vec<Option<Guard>>>,
    /// Where edges lead by now that went through a new block since, and where they led first.
    moved: Scratch<FxHashMap<(BlockId, BlockId), BlockId>>,
    first: Scratch<FxHashMap<(BlockId, BlockId), BlockId>>,
    edit: FlowEdit,
}

impl<'a, 'w> Emitter<'a, 'w> {
    fn new(body: &'a mut Body<'w>, plan: &Plan) -> Self {
        let breaks = plan.regions.iter().flat_map(|region| &region.breaks);
        let conditions = breaks.map(|(a, b)| condition_of_edge(body, BlockId(*a), BlockId(*b)));
        let conditions = scratch!(Vec<Option<Guard>>).with(conditions);
        let moved = scratch!(FxHashMap<(BlockId, BlockId), BlockId>);
        let first = scratch!(FxHashMap<(BlockId, BlockId), BlockId>);
        let edit = FlowEdit::of(body);
        Emitter { body, conditions, moved, first, edit }
    }

    /// Outer regions come first in the plan: an inner one's BSSY and BREAK then stand behind the
    /// outer one's, and where an edge leaves an inner region for an outer one's join, its BREAK
    /// comes before that one's BSYNC.
    fn emit(mut self, plan: &Plan) {
        let mut next_break = 0;
        let mut preds = scratch!(Vec<BlockId>);
        for region in &plan.regions {
            let barrier = Operand::reg(self.body.new_vreg(RegFile::B, 1, 1));
            let (start, join) = (BlockId(region.start), BlockId(region.join));
            let loc = end_loc(self.body, start);
            let at = edges::first_branch(self.body, start);
            let bssy = Inst::new(Opcode::BSSY, &[], 1, &[barrier, Operand::Block(join)]);
            self.body.insert(start, at, bssy, loc);
            for (from, to) in &region.breaks {
                let condition = self.conditions[next_break];
                next_break += 1;
                self.leave(BlockId(*from), BlockId(*to), barrier, condition);
            }
            let inside = |p: &BlockId| region.blocks.contains(p.0);
            preds.clear();
            preds.extend(self.body.block(join).preds().iter().copied().filter(inside));
            let meet = self.lead_through(&preds, join);
            let first = self.body.block(join).insts().first();
            let loc = first.map_or(Loc::default(), |i| self.body.loc(*i));
            let at = phis::end(self.body, meet);
            self.body.insert(meet, at, Inst::new(Opcode::BSYNC, &[], 0, &[barrier]), loc);
        }
        self.edit.finish(self.body);
    }

    /// Emits the BREAK for an edge.
    fn leave(&mut self, from: BlockId, to: BlockId, barrier: Operand, condition: Option<Guard>) {
        let inst = Inst::new(Opcode::BREAK, &[], 0, &[Operand::PT, barrier]);
        let loc = end_loc(self.body, from);
        match condition {
            Some(guard) => {
                let at = edges::first_branch(self.body, from);
                self.body.insert(from, at, Inst { guard, ..inst }, loc);
            }
            None => {
                let to = self.moved.get(&(from, to)).copied().unwrap_or(to);
                let split = self.lead_through(&[from], to);
                self.body.insert(split, 0, inst, loc);
            }
        }
    }

    fn lead_through(&mut self, preds: &[BlockId], to: BlockId) -> BlockId {
        let new = self.edit.lead_through(self.body, preds, to);
        for pred in preds {
            // The plan may know the edge by an older target.
            let known = self.first.remove(&(*pred, to)).unwrap_or(to);
            self.moved.insert((*pred, known), new);
            self.first.insert((*pred, new), known);
        }
        new
    }
}

/// The predicate under which control goes from a block to this successor, when one predicate says
/// it.
fn condition_of_edge(body: &Body<'_>, from: BlockId, to: BlockId) -> Option<Guard> {
    let block = body.block(from);
    if block.succs() == [to] {
        return Some(Guard::ALWAYS);
    }
    let branches: Vec<View<'_>> = block.insts()[edges::first_branch(body, from)..]
        .iter()
        .map(|i: &InstId| body.inst(*i))
        .collect();
    let first = *branches.first()?;
    let plain = branches[1..].iter().all(|b| b.op == Opcode::BRA && edges::is_unconditional(*b));
    if first.op != Opcode::BRA || !first.mods().is_empty() || !plain || branches.len() > 2 {
        return None;
    }
    let guard = single_predicate(first)?;
    let taken = edges::targets(first).any(|t| t == to);
    Some(Guard { negated: guard.negated == taken, ..guard })
}

/// The one thread predicate that a branch depends on.
fn single_predicate(inst: View<'_>) -> Option<Guard> {
    let mut found = (!inst.guard.is_always()).then_some(inst.guard);
    for operand in inst.sources() {
        let Operand::Reg(r) = operand else { continue };
        let negated = r.flags.has(RegFlags::NOT);
        let always = r.reg.is_zero() && !negated;
        if r.reg.file().is_predicate() && !always {
            if found.is_some() {
                return None;
            }
            found = Some(Guard { reg: r.reg, negated });
        }
    }
    found.filter(|g| g.reg.file() == RegFile::P && g.reg != Reg::PT)
}

#[cfg(test)]
mod tests;
