//! The order of blocks (`PlaceBlocksInSourceOrder`).
//!
//! It runs after register allocation, with convergence barriers in place: a block is moved and its
//! branches change, but to which blocks control may go on from it does not.

use crate::function::Marked;
use crate::notes::Notes;
use crate::params::Read;
use orias_components::scratch;
use orias_components::{BlockId, Body, Code, FlowEdit, Guard, Opcode, Operand, View, edges};
use orias_targets::slots::BRA;

/// Phase 135: source order, with blocks that phases appended at the end of the layout moved to
/// where they are reached from.
///
/// A block at the end that is entered from one block only, and leaves by an unguarded branch, moves
/// behind that one when it does not fall through, or else before its target when nothing falls into
/// that. Then branches to the next block go, and those that only lead over another one.
pub fn place_blocks(code: Code<'_>, marked: Read<'_, Marked>, mut notes: Notes<'_>) {
    let mut body = code.body();
    let ends_with_branch = |block: &BlockId| {
        body.block(*block).insts().last().is_some_and(|id| body.op(*id) == Opcode::BRA)
    };
    if !body.layout().iter().any(ends_with_branch) {
        return;
    }
    let (mut changed, mut inverted) = (0, 0);
    let mut edit = FlowEdit::of(&body);
    let blocks = body.walk();
    // What moves before another block shares its number.
    let mut place = scratch!(Vec<u32>; u32::MAX; body.block_count());
    blocks.iter().enumerate().for_each(|(i, b)| place[b.0 as usize] = i as u32);
    // What phases have put apart stays so.
    for block in blocks.iter().filter(|block| !marked.cold.contains(block)) {
        changed += usize::from(move_to_target(&mut body, &mut edit, &mut place, *block));
    }
    for block in &blocks {
        let next = edit.order().next(*block);
        changed += drop_branch_to(&mut body, *block, next);
        inverted += invert_branch_over(&mut body, *block, next);
    }
    edit.finish(&mut body);
    if inverted > 0 {
        // The two ways on have changed places.
        body.update_edges();
    }
    notes.count(changed + inverted);
}

/// Moves a block before the block that it branches to, when both that and the block's own place
/// allow it.
fn move_to_target(
    body: &mut Body<'_>,
    edit: &mut FlowEdit,
    place: &mut [u32],
    block: BlockId,
) -> bool {
    let Some(last) = body.block(block).insts().last().copied() else { return false };
    let inst = body.inst(last);
    let Some(target) = edges::targets(inst).next() else { return false };
    if inst.op != Opcode::BRA || !edges::is_unconditional(inst) {
        return false;
    }
    // Only blocks that stand behind their target's target for no reason: appended ones, later than
    // where they lead.
    let falls_into = |b: BlockId| {
        edit.order().previous(b).is_some_and(|above| edges::falls_through(body, body.block(above)))
    };
    let later = place[block.0 as usize] > place[target.0 as usize];
    if edit.order().previous(target).is_none() || !later || falls_into(block) || falls_into(target)
    {
        return false;
    }
    edit.move_before(block, target);
    place[block.0 as usize] = place[target.0 as usize];
    body.remove(block, last);
    true
}

/// Removes an unguarded branch to the next block.
fn drop_branch_to(body: &mut Body<'_>, block: BlockId, next: Option<BlockId>) -> usize {
    let Some(last) = body.block(block).insts().last().copied() else { return 0 };
    let inst = body.inst(last);
    let idle = inst.op == Opcode::BRA
        && edges::is_unconditional(inst)
        && next.is_some()
        && edges::targets(inst).next() == next;
    if idle {
        body.remove(block, last);
    }
    usize::from(idle)
}

/// Makes a branch to the next block, over one that is always taken, that one on the opposite
/// condition.
fn invert_branch_over(body: &mut Body<'_>, block: BlockId, next: Option<BlockId>) -> usize {
    let [.., first, last] = *body.block(block).insts() else { return 0 };
    let (over, taken) = (body.inst(first), body.inst(last));
    let is_branch = |inst: View<'_>| inst.op == Opcode::BRA && inst.mods().is_empty();
    let is_over = is_branch(over)
        && is_branch(taken)
        && !over.guard.is_always()
        && over.operand(BRA::X) == Operand::PT
        && edges::is_unconditional(taken)
        && next.is_some()
        && edges::targets(over).next() == next;
    if is_over {
        let mut new = taken.to_inst();
        new.guard = Guard { negated: !over.guard.negated, ..over.guard };
        body.set_inst(first, &new);
        body.remove(block, last);
    }
    usize::from(is_over)
}
