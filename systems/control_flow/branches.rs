//! Branch simplification (`OriBranchOpt`) and the rule that branches end blocks
//! (`SetControlFlowOpLastInBB`).
//!
//! `OriBranchOpt` applies, until nothing changes:
//! * a branch to a block that only branches on goes where that one goes;
//! * a branch to a block that only exits is that exit;
//! * a conditional branch whose ways are the same, and a branch to the next block, go;
//! * `@P BRA next; BRA far` becomes `@!P BRA far`, in one block or two;
//! * blocks that the entry does not reach go; a block moves to the end of its only predecessor when
//!   that leads only there.
//!
//! It runs before there are convergence barriers: BSSY and BSYNC tie blocks together in ways that
//! it does not look at.

use crate::analysis::Analyses;
use crate::function::Options;
use crate::knobs::Knob;
use crate::notes::Notes;
use crate::params::{Read, Write};
use crate::scalar::dead_code::{Clean, remove_unread};
use orias_components::scratch;
use orias_components::{
    BlockId, Body, Code, FlowEdit, Guard, Inst, InstId, Opcode, Operand, RegFile, RegFlags, View,
    edges,
};
use smallvec::SmallVec;

/// Phase 6: splits blocks behind every branch, so that branches stand only at the end.
pub fn set_control_flow_op_last(code: Code<'_>, mut notes: Notes<'_>) {
    let mut body = code.body();
    let splits_block = |block: &BlockId| {
        let mut pairs = body.block(*block).insts().array_windows();
        pairs.any(|[id, next]| ends_block(&body, *id, *next))
    };
    if !body.layout().iter().any(splits_block) {
        return;
    }
    let mut splits = 0;
    body.rewrite_all(|body, out, id| {
        if out.last().is_some_and(|last| ends_block(body, last, id)) {
            out.split(body);
            splits += 1;
        }
        out.keep(id);
    });
    notes.count(splits);
}

/// Whether an instruction ends its block where `next` comes behind it: all branches do, but a
/// conditional BRA may be followed by one more branch.
fn ends_block(body: &Body<'_>, id: InstId, next: InstId) -> bool {
    if !body.op(id).is_branch() {
        return false;
    }
    let is_pair = || {
        body.op(id) == Opcode::BRA && !edges::ends_flow(body.inst(id)) && body.op(next).is_branch()
    };
    !is_pair()
}

/// Phase 17.
pub fn branch_opt(
    code: Code<'_>,
    mut analyses: Write<'_, Analyses>,
    options: Read<'_, Options>,
    mut clean: Write<'_, Clean>,
    mut notes: Notes<'_>,
) {
    let mut body = code.body();
    if body.facts().may_have(&[Opcode::BSSY, Opcode::BSYNC]) {
        return;
    }
    // Each round removes a branch, a block or a detour; the limit only guards against a fault in
    // this reasoning.
    let converges = options.knobs.is_on(Knob::BranchOptConvergence, options.target);
    let (mut total, mut gone) = (0, 0);
    for _ in 0..body.block_count() * 2 + 8 {
        let mut changed = remove_unreachable(&mut body, &mut analyses);
        gone += changed;
        let layout = body.walk();
        for (at, block) in layout.iter().enumerate() {
            let before = changed;
            changed += thread_jumps(&mut body, *block);
            if converges || changed == before {
                changed += match simplify_end(&mut body, *block, layout.get(at + 1).copied()) {
                    0 => jump_over(&mut body, &layout[at..]),
                    simplified => simplified,
                };
            }
        }
        analyses.edges(&mut body);
        changed += remove_empty(&mut body, &mut analyses);
        if converges {
            changed += merge_chains(&mut body);
        }
        total += changed;
        if changed == 0 || !converges {
            break;
        }
    }
    if gone > 0 {
        // What nobody asks for may have read what only they wrote.
        total += remove_unread(&mut body, &mut analyses, &mut clean);
    }
    notes.count(total);
}

fn remove_unreachable(body: &mut Body<'_>, analyses: &mut Analyses) -> usize {
    // Orders and dominators of edges that are about to change are not worth their while.
    analyses.edges(body);
    let mut keep = scratch!(Vec<bool>; false; body.block_count());
    let mut work = scratch!(Vec<BlockId>).with(body.layout().first().copied());
    while let Some(block) = work.pop() {
        if !std::mem::replace(&mut keep[block.0 as usize], true) {
            work.extend(body.block(block).succs().iter().filter(|b| body.has_block(**b)));
        }
    }
    if body.layout().iter().all(|b| keep[b.0 as usize]) {
        return 0;
    }
    let gone = body.layout().iter().copied().filter(|b| !keep[b.0 as usize]);
    let gone = scratch!(Vec<BlockId>).with(gone);
    body.remove_blocks(&gone);
    analyses.edges(body);
    gone.len()
}

/// Blocks without instructions that control only falls into.
fn remove_empty(body: &mut Body<'_>, analyses: &mut Analyses) -> usize {
    let is_empty = |[above, block]: &[BlockId; 2]| {
        let is_named = || {
            let end = &body.block(*above).insts()[edges::first_branch(body, *above)..];
            end.iter().any(|id| edges::targets(body.inst(*id)).any(|to| to == *block))
        };
        body.block(*block).insts().is_empty()
            && body.block(*block).preds() == [*above]
            && body.block(*block).succs().iter().all(|next| next != block)
            && !body.block(*block).succs().is_empty()
            && !is_named()
    };
    let gone = body.layout().array_windows().filter(|pair| is_empty(pair)).map(|[_, block]| *block);
    let gone = scratch!(Vec<BlockId>).with(gone);
    if !gone.is_empty() {
        body.remove_blocks(&gone);
        analyses.edges(body);
    }
    gone.len()
}

/// The block where control ends up that enters `block`, when nothing happens on the way.
pub(super) fn destination(body: &Body<'_>, block: BlockId) -> BlockId {
    let mut at = block;
    // A chain longer than the number of blocks is a loop that does nothing: it stays.
    for _ in 0..body.layout().len() {
        let insts = body.block(at).insts();
        let only_branches = match insts[..] {
            [] => true,
            [one] => {
                let inst = body.inst(one);
                inst.op == Opcode::BRA && edges::is_unconditional(inst)
            }
            _ => false,
        };
        match body.block(at).succs()[..] {
            [next] if only_branches && next != at => at = next,
            _ => return at,
        }
    }
    block
}

fn thread_jumps(body: &mut Body<'_>, block: BlockId) -> usize {
    let mut changed = 0;
    // Branches stand at the end: other instructions are not looked at.
    let insts = body.block(block).insts();
    let is_branch = |id: &&InstId| body.op(**id).is_branch();
    let branches: SmallVec<[InstId; 4]> =
        insts.iter().rev().take_while(is_branch).copied().collect();
    for id in branches.into_iter().rev() {
        if body.op(id) == Opcode::SWITCH {
            let targets = scratch!(Vec<BlockId>).with(edges::targets(body.inst(id)));
            for &target in &targets {
                let end = destination(body, target);
                changed += usize::from(end != target && body.redirect(id, target, end));
            }
            continue;
        }
        if body.op(id) != Opcode::BRA {
            continue;
        }
        let Some(target) = edges::targets(body.inst(id)).next() else { continue };
        let end = destination(body, target);
        if end != target {
            body.redirect(id, target, end);
            changed += 1;
        }
        let Some(exit) = bare_exit(body, end) else { continue };
        let branch = body.inst(id).to_inst();
        if is_thread_condition(&branch) {
            // EXIT takes guard and predicate operand as the branch has them.
            let condition =
                branch.sources().iter().copied().filter(|o| matches!(o, Operand::Reg(_)));
            let operands = condition.collect();
            body.set_inst(id, &Inst { operands, guard: branch.guard, ..exit });
            changed += 1;
        }
    }
    changed
}

/// Whether the branch has no modifiers, and one predicate operand of the thread's file.
fn is_thread_condition(branch: &Inst) -> bool {
    let mut predicates = branch.sources().iter().filter_map(Operand::file);
    branch.mods.is_empty()
        && branch.guard.reg.file() == RegFile::P
        && predicates.next() == Some(RegFile::P)
        && predicates.next().is_none()
}

/// The exit, when that is all that the block does.
fn bare_exit(body: &Body<'_>, block: BlockId) -> Option<Inst> {
    let [one] = body.block(block).insts()[..] else { return None };
    let inst = body.inst(one);
    (inst.op == Opcode::EXIT && inst.mods().is_empty() && edges::is_unconditional(inst))
        .then(|| inst.to_inst())
}

/// Simplifies the branches at the end of a block, which `next` follows in the layout.
fn simplify_end(body: &mut Body<'_>, block: BlockId, next: Option<BlockId>) -> usize {
    let mut changed = 0;
    let target = |body: &Body<'_>, id: InstId| {
        let inst = body.inst(id);
        (inst.op == Opcode::BRA).then(|| edges::targets(inst).next()).flatten()
    };
    // A branch to where control goes on anyway.
    while let Some(last) = body.block(block).insts().last().copied() {
        if target(body, last).is_none() || target(body, last) != next {
            break;
        }
        body.remove(block, last);
        changed += 1;
    }
    if let [.., first, second] = body.block(block).insts()[..]
        && let (Some(near), Some(far)) = (target(body, first), target(body, second))
        && edges::is_unconditional(body.inst(second))
    {
        if near == far {
            body.remove(block, first);
            changed += 1;
        } else if Some(near) == next
            && let Some(inverted) = inverted(body.inst(first), far)
        {
            body.set_inst(first, &inverted);
            body.remove(block, second);
            changed += 1;
        }
    }
    changed
}

/// Where a block ends with a conditional branch over the next one, which only branches on: the
/// condition inverted leads there at once, and control falls over.
fn jump_over(body: &mut Body<'_>, layout: &[BlockId]) -> usize {
    let [block, over, behind, ..] = layout else { return 0 };
    let (Some(&last), [only]) = (body.block(*block).insts().last(), body.block(*over).insts())
    else {
        return 0;
    };
    let (branch, far) = (body.inst(last), body.inst(*only));
    let is_plain = branch.op == Opcode::BRA
        && !edges::is_unconditional(branch)
        && edges::first_branch(body, *block) + 1 == body.block(*block).insts().len()
        && edges::targets(branch).eq([*behind])
        && far.op == Opcode::BRA
        && edges::is_unconditional(far);
    // Where something else leads to the block between, it is there to branch.
    if !is_plain || body.block(*over).preds() != [*block] {
        return 0;
    }
    let Some(new) = edges::targets(far).next().and_then(|to| inverted(branch, to)) else {
        return 0;
    };
    let only = *only;
    body.set_inst(last, &new);
    body.remove(*over, only);
    1
}

/// The branch with its one condition inverted, to another target.
fn inverted(inst: View<'_>, to: BlockId) -> Option<Inst> {
    if !inst.mods().is_empty() {
        // Not all of any is none of all.
        return None;
    }
    let mut new = inst.to_inst();
    let mut conditions = 0;
    if !inst.guard.is_always() {
        new.guard = Guard { negated: !inst.guard.negated, ..inst.guard };
        conditions += 1;
    }
    for operand in &mut new.operands {
        match operand {
            Operand::Block(block) => *block = to,
            Operand::Reg(r) if !(r.reg.is_zero() && r.flags == RegFlags::NONE) => {
                r.flags = RegFlags(r.flags.0 ^ RegFlags::NOT.0);
                conditions += 1;
            }
            _ => {}
        }
    }
    (conditions == 1).then_some(new)
}

/// Appends blocks to their only predecessor, when that leads only to them.
pub(crate) fn merge_chains(body: &mut Body<'_>) -> usize {
    let mut merged = 0;
    let entry = body.layout().first().copied();
    let may_merge = |block: &BlockId| {
        matches!(body.block(*block).succs(), [next] if next != block
            && Some(*next) != entry
            && body.block(*next).preds() == [*block])
    };
    if !body.layout().iter().any(may_merge) {
        return 0;
    }
    let mut edit = FlowEdit::of(body);
    for &block in body.walk().iter() {
        if !body.has_block(block) {
            continue;
        }
        while let [next] = body.block(block).succs()[..] {
            let single = body.block(next).preds() == [block];
            let follows = edit.order().next(block) == Some(next);
            if !single || next == block || Some(next) == entry {
                break;
            }
            // What the block falls through to must not change: it moves only from the place behind,
            // or when it does not fall through itself.
            if !follows && edges::falls_through(body, body.block(next)) {
                break;
            }
            if let Some(last) = body.block(block).insts().last().copied()
                && body.op(last).is_branch()
            {
                // The last is `BRA next`; a guarded exit before it stays, and ends the block for
                // good.
                if body.op(last) != Opcode::BRA {
                    break;
                }
                let before = body.block(block).insts().iter().rev().nth(1).copied();
                if before.is_some_and(|i| body.op(i).is_branch()) {
                    break;
                }
                body.remove(block, last);
            }
            edit.merge(body, block, next);
            merged += 1;
        }
    }
    edit.finish(body);
    merged
}
