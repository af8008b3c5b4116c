//! The order of blocks (`PlaceBlocksInSourceOrder`) and the last clean-up of code that does nothing (`OriRemoveNopCode`).
//!
//! Both run after register allocation, with convergence barriers in place: a block is moved and its branches change, but
//! which block follows which does not.

use crate::analysis::cfg;
use crate::notes::Notes;
use orias_components::{BlockId, Body, Code, InstId, Opcode, Operand};

/// Phase 135: source order, with blocks that phases appended at the end of the layout moved to where they are reached from.
///
/// A block at the end that is entered from one block only, and leaves by an unguarded branch, moves behind that one when it
/// does not fall through, or else before its target when nothing falls into that. Then branches to the next block go.
pub fn place_blocks(code: Code<'_, '_>, mut notes: Notes<'_>) {
    let mut body = code.body();
    cfg::update(&mut body);
    let mut changed = 0;
    for block in body.layout().to_vec() {
        changed += usize::from(move_to_target(&mut body, block));
    }
    for block in body.layout().to_vec() {
        changed += drop_branch_to_next(&mut body, block);
    }
    cfg::update(&mut body);
    notes.count(changed);
}

/// Moves a block before the block that it branches to, when both that and the block's own place allow it.
fn move_to_target(body: &mut Body<'_>, block: BlockId) -> bool {
    let layout = body.layout().to_vec();
    let place = |b: BlockId| layout.iter().position(|x| *x == b);
    let Some(here) = place(block) else { return false };
    let Some(last) = body.block(block).insts.last().copied() else { return false };
    let inst = body.inst(last);
    let Some(target) = cfg::targets(inst).next() else { return false };
    let (Some(there), true) =
        (place(target), inst.op == Opcode::BRA && cfg::is_unconditional(inst))
    else {
        return false;
    };
    // Only blocks that stand behind their target's target for no reason: appended ones, later than where they lead.
    let falls_into = |at: usize| at > 0 && cfg::falls_through(body, body.block(layout[at - 1]));
    if there == 0 || here <= there || falls_into(here) || falls_into(there) {
        return false;
    }
    let mut layout = layout;
    layout.remove(here);
    layout.insert(there, block);
    body.set_layout(layout);
    body.remove(block, last);
    true
}

/// Removes an unguarded branch to the next block.
fn drop_branch_to_next(body: &mut Body<'_>, block: BlockId) -> usize {
    let layout = body.layout();
    let Some(at) = layout.iter().position(|b| *b == block) else { return 0 };
    let Some(next) = layout.get(at + 1).copied() else { return 0 };
    let Some(last) = body.block(block).insts.last().copied() else { return 0 };
    let inst = body.inst(last);
    let idle = inst.op == Opcode::BRA
        && cfg::is_unconditional(inst)
        && cfg::targets(inst).next() == Some(next);
    if idle {
        body.remove(block, last);
    }
    usize::from(idle)
}

/// Phase 130: removes NOP, and moves of a register to itself.
pub fn remove_nop_code(code: Code<'_, '_>, mut notes: Notes<'_>) {
    let mut body = code.body();
    let mut removed = 0;
    for block in body.layout().to_vec() {
        removed += body.retain(block, |body, id| !does_nothing(body, id));
    }
    notes.count(removed);
}

fn does_nothing(body: &Body<'_>, id: InstId) -> bool {
    let inst = body.inst(id);
    let self_move = inst.op == Opcode::MOV
        && inst.mods().is_empty()
        && inst.len() == 3
        && inst.operand(0) == inst.operand(1)
        && matches!(inst.operand(0), Operand::Reg(_));
    inst.op == Opcode::NOP || self_move
}
