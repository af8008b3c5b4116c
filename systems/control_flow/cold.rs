//! `PerformPGO` and `MarkAdditionalColdBlocks`: which blocks are cold, by what was seen of the
//! function's runs; `OptimizeHotColdInLoop` and `OptimizeHotColdFlow`: those stand apart.
//!
//! A block is cold where fewer threads come to its PTX than one of `ColdShare` that began the
//! function. Without a profile there are none: ptxas 13.0.88 leaves ways that end in `trap` or call
//! `__assertfail` where the PTX has them, and so do these phases.
//!
//! What is marked: a cold loop is not unrolled, a cold way of more than a few instructions stays a
//! way of its branch (`OriDoPredication`), and at last cold blocks stand behind what runs, where
//! nothing falls into them: what runs is together, and its branches are not taken.

use crate::analysis::Analyses;
use crate::function::{FunctionInfo, Marked, Options};
use crate::knobs::Knob;
use crate::notes::Notes;
use crate::params::{Read, Write};
use crate::profile::Profile;
use orias_components::{
    BlockId, Body, Code, Guard, Inst, Loc, Opcode, Operand, Reader, View, edges, scratch,
    scratch::Scratch,
};
use orias_targets::slots::BRA;
use rustc_hash::{FxHashMap, FxHashSet};

/// Phase 23.
pub fn perform_pgo(
    code: Reader<'_>,
    info: Read<'_, FunctionInfo>,
    options: Read<'_, Options>,
    marked: Write<'_, Marked>,
    mut notes: Notes<'_>,
) {
    if !info.profile.is_empty() {
        notes.count(mark(&code.body(), &info.profile, &options, marked));
    }
}

/// Phase 47: once more, for blocks that phases have made since, and those that nobody has counted:
/// what only cold blocks lead to, or leads to cold ones only, is cold.
pub fn mark_additional_cold_blocks(
    code: Reader<'_>,
    mut analyses: Write<'_, Analyses>,
    info: Read<'_, FunctionInfo>,
    options: Read<'_, Options>,
    mut marked: Write<'_, Marked>,
    mut notes: Notes<'_>,
) {
    if info.profile.is_empty() {
        return;
    }
    let body = code.body();
    let mut count = mark(&body, &info.profile, &options, Write(&mut marked));
    let order = analyses.order(&body);
    let is_unknown = |block: &&BlockId| info.profile.of(&body, **block).is_none();
    let mut add = |block: BlockId, others: &[BlockId]| {
        if !others.is_empty() && others.iter().all(|other| marked.cold.contains(other)) {
            count += usize::from(marked.cold.insert(block));
        }
    };
    for &block in order.iter().skip(1).filter(is_unknown) {
        add(block, body.block(block).preds());
    }
    for &block in order.iter().skip(1).rev().filter(is_unknown) {
        add(block, body.block(block).succs());
    }
    notes.count(count);
}

/// Marks the blocks that the profile says are cold; how many are new.
fn mark(
    body: &Body<'_>,
    profile: &Profile,
    options: &Options,
    mut marked: Write<'_, Marked>,
) -> usize {
    let share = options.knobs.get(Knob::ColdShare, options.target);
    let entered = profile.entered();
    let before = marked.cold.len();
    marked.cold.clear();
    let cold = body.layout().iter().skip(1).copied().filter(|block| {
        profile.of(body, *block).is_some_and(|threads| Profile::is_cold(threads, entered, share))
    });
    marked.cold.extend(cold);
    marked.cold.len().saturating_sub(before)
}

/// Phase 131: what is cold beside the first block of a loop that it is in stands behind that loop,
/// the outermost of those.
pub fn optimize_hot_cold_in_loop(
    code: Code<'_>,
    mut analyses: Write<'_, Analyses>,
    info: Read<'_, FunctionInfo>,
    options: Read<'_, Options>,
    mut marked: Write<'_, Marked>,
    mut notes: Notes<'_>,
) {
    if info.profile.is_empty() {
        return;
    }
    let mut body = code.body();
    let share = options.knobs.get(Knob::ColdShare, options.target);
    let flow = analyses.flow_after(&mut body);
    let loops = flow.loops();
    if loops.all.is_empty() {
        return;
    }
    let threads = |block: u32| info.profile.of(&body, BlockId(block));
    let mut heads = scratch!(Vec<Option<u64>>);
    heads.extend(loops.all.iter().map(|l| threads(l.header)));
    // The last block of each loop, as they lie.
    let mut last = scratch!(Vec<Option<BlockId>>; None; loops.all.len());
    let mut behind = scratch!(FxHashMap<BlockId, usize>);
    for &block in body.layout() {
        let own = threads(block.0);
        let around =
            std::iter::successors(loops.innermost[block.0 as usize], |l| loops.all[*l].parent);
        let mut found = None;
        for l in around {
            let of = &loops.all[l];
            let is_cold = |head: u64| own.is_some_and(|own| Profile::is_cold(own, head, share));
            if of.header != block.0 && heads[l].is_some_and(is_cold) {
                found = Some(l);
            }
            last[l] = Some(block);
        }
        if let Some(l) = found {
            behind.insert(block, l);
        }
    }
    if behind.is_empty() {
        return;
    }
    let to = |block: &BlockId| behind.get(block).and_then(|l| last[*l]);
    let moved = stand_apart(&mut body, &to);
    marked.cold.extend(moved.iter().copied());
    notes.count(moved.len());
}

/// Phase 132: cold blocks stand at the function's end.
pub fn optimize_hot_cold_flow(
    code: Code<'_>,
    info: Read<'_, FunctionInfo>,
    options: Read<'_, Options>,
    mut marked: Write<'_, Marked>,
    mut notes: Notes<'_>,
) {
    if info.profile.is_empty() {
        return;
    }
    let mut body = code.body();
    let share = options.knobs.get(Knob::ColdShare, options.target);
    let entered = info.profile.entered();
    let is_cold = |block: &BlockId| match info.profile.of(&body, *block) {
        Some(threads) => Profile::is_cold(threads, entered, share),
        None => marked.cold.contains(block),
    };
    let cold = scratch!(Vec<BlockId>).with(body.layout().iter().copied().filter(is_cold));
    let Some(end) = body.layout().last().copied().filter(|_| !cold.is_empty()) else { return };
    let mut is_cold = scratch!(FxHashSet<BlockId>);
    is_cold.extend(cold.iter().copied());
    let moved = stand_apart(&mut body, &|block| is_cold.contains(block).then_some(end));
    marked.cold.extend(moved.iter().copied());
    notes.count(moved.len());
}

/// Moves blocks, in their order, behind the ones that `to` gives: behind the next block from there
/// on that does not fall through. Those stay that nothing but what falls through leads to. Which
/// have moved.
fn stand_apart(
    body: &mut Body<'_>,
    to: &dyn Fn(&BlockId) -> Option<BlockId>,
) -> Scratch<Vec<BlockId>> {
    let layout = body.walk();
    let falls_through = |block: BlockId| edges::falls_through(body, body.block(block));
    // From each block on, the first whose end nothing falls through and that stays itself.
    let mut closed = scratch!(FxHashMap<BlockId, BlockId>);
    let mut next = None;
    for &block in layout.iter().rev() {
        if to(&block).is_none() && !falls_through(block) {
            next = Some(block);
        }
        closed.extend(next.map(|next| (block, next)));
    }
    // At the function's end, behind the last of those.
    let last = layout.iter().rev().find_map(|block| closed.get(block).copied());
    if let (Some(last), Some(end)) = (last, layout.last()) {
        closed.entry(*end).or_insert(last);
    }
    let mut moved = scratch!(Vec<BlockId>);
    // By block, those that are to stand behind it.
    let mut behind = scratch!(FxHashMap<BlockId, Vec<BlockId>>);
    let (mut above, mut above_moves) = (layout[0], false);
    // Of blocks that stand where they should, what they stand behind.
    let mut there = Some(above);
    for &block in &layout[1..] {
        let after = to(&block).and_then(|place| closed.get(&place).copied());
        let is_there = after.is_some() && after == there;
        // What is cold may well branch.
        let moves = after.is_some() && !is_there && (above_moves || may_leave(body, above));
        if let Some(after) = after.filter(|_| moves) {
            moved.push(block);
            behind.entry(after).or_default().push(block);
        } else if !is_there {
            there = Some(block);
        }
        (above, above_moves) = (block, moves);
    }
    if moved.is_empty() {
        return moved;
    }
    let mut gone = scratch!(FxHashSet<BlockId>);
    gone.extend(moved.iter().copied());
    let mut order = scratch!(Vec<BlockId>);
    for block in layout.iter().filter(|block| !gone.contains(block)) {
        order.push(*block);
        order.extend(behind.remove(block).unwrap_or_default());
    }
    // Who fell into a block that is not the next one any more branches there.
    let mut fell = scratch!(FxHashMap<BlockId, BlockId>);
    fell.extend(layout.array_windows().filter(|[b, _]| falls_through(*b)).map(|[b, n]| (*b, *n)));
    for (at, block) in order.iter().enumerate() {
        let next = order.get(at + 1).copied();
        if let Some(to) = fell.get(block).copied().filter(|to| next != Some(*to)) {
            leave(body, *block, to, next);
        }
    }
    body.set_layout(&order);
    body.update_edges();
    moved
}

/// Whether a block goes on into the next one on a condition only, or not at all: if that one is not
/// the next one any more, this costs nobody an instruction who does not go there.
fn may_leave(body: &Body<'_>, block: BlockId) -> bool {
    let last = body.block(block).insts().last().map(|last| body.inst(*last));
    last.is_some_and(|last| {
        edges::ends_flow(last) || last.op.is_branch() && !last.guard.is_always()
    })
}

/// Makes a block branch to where it fell through; `next` is what it falls into now.
fn leave(body: &mut Body<'_>, block: BlockId, to: BlockId, next: Option<BlockId>) {
    let is_plain = |inst: View<'_>| {
        let is_branch = inst.op == Opcode::BRA && !inst.guard.is_always();
        is_branch && inst.mods().is_empty() && inst.operand(BRA::X) == Operand::PT
    };
    let mut new = Inst::new(Opcode::BRA, &[], 0, &[Operand::PT, Operand::Block(to)]);
    let last = body.block(block).insts().last().copied();
    if let Some(last) = last.filter(|last| is_plain(body.inst(*last)))
        && next.is_some()
        && edges::targets(body.inst(last)).next() == next
    {
        let guard = body.inst(last).guard;
        new.guard = Guard { negated: !guard.negated, ..guard };
        body.set_inst(last, &new);
    } else {
        let loc = last.map_or(Loc::default(), |last| body.loc(last));
        body.push(block, new, loc);
    }
}
