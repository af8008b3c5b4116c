//! Edits of the graph: edges that lead through new blocks, blocks that move or become one.

use super::Order;
use crate::body::Body;
use crate::edges;
use crate::ids::{BlockId, InstId};
use crate::inst::{Inst, Loc};
use crate::opcode::Opcode;
use crate::operand::Operand;
use crate::phis::Renames;

/// Such edits, each in the time that its own blocks take: the layout and phis hear of all at
/// [`FlowEdit::finish`].
///
/// Edges of blocks are right after each edit where they were before the first, but for the order of
/// predecessors.
#[must_use = "the layout and phis are to hear of the edits"]
pub struct FlowEdit {
    pub(super) order: Order,
    renames: Renames,
}

impl FlowEdit {
    /// Begins an edit; [`FlowEdit::finish`] ends it.
    pub fn of(body: &Body<'_>) -> FlowEdit {
        FlowEdit { order: Order::of(body), renames: Renames::default() }
    }

    /// The layout as it is to be.
    pub fn order(&self) -> &Order {
        &self.order
    }

    /// Makes a new block that leads to `to`, and leads the edges from `preds` to `to` through it.
    /// As the first block of the order when `to` was that.
    pub fn lead_through(&mut self, body: &mut Body<'_>, preds: &[BlockId], to: BlockId) -> BlockId {
        let new = body.new_detached_block();
        for pred in preds {
            for at in edges::first_branch(body, *pred)..body.block(*pred).insts.len() {
                let branch = body.block(*pred).insts[at];
                body.redirect(branch, to, new);
            }
        }
        let above = self.order.previous(to);
        let falls_in = above.is_some_and(|b| edges::falls_through(body, body.block(b)));
        if falls_in && above.is_some_and(|b| !preds.contains(&b)) {
            // What stands before `to` falls into it and is not to pass the new block.
            self.order.push(new);
            body.push(new, branch_to(to), Loc::default());
        } else {
            self.order.insert_before(to, new);
        }
        for pred in preds {
            body.block_mut(*pred).succs.iter_mut().filter(|s| **s == to).for_each(|s| *s = new);
        }
        let into = &mut body.block_mut(to).preds;
        into.retain(|p| !preds.contains(p));
        into.push(new);
        let block = body.block_mut(new);
        block.preds.extend(preds);
        block.succs.push(to);
        self.renames.merge(body, to, preds, new);
        new
    }

    /// Leads a branch at the end of a block to its target by a new block at the end of the order,
    /// which branches there.
    pub fn lead_around(
        &mut self,
        body: &mut Body<'_>,
        (block, branch): (BlockId, InstId),
        to: BlockId,
    ) -> BlockId {
        let new = body.new_detached_block();
        body.push(new, branch_to(to), Loc::default());
        body.redirect(branch, to, new);
        self.order.push(new);
        body.block_mut(block).succs.iter_mut().filter(|s| **s == to).for_each(|s| *s = new);
        body.block_mut(to).preds.iter_mut().filter(|p| **p == block).for_each(|p| *p = new);
        body.block_mut(new).preds.push(block);
        body.block_mut(new).succs.push(to);
        self.renames.rename(body, to, block, new);
        new
    }

    /// Puts a new block before one that stands in the order: control falls into that one.
    pub fn new_before(&mut self, body: &mut Body<'_>, block: BlockId) -> BlockId {
        let new = body.new_detached_block();
        self.order.insert_before(block, new);
        new
    }

    /// Moves a block before another one; where they lead is the caller's matter.
    pub fn move_before(&mut self, block: BlockId, at: BlockId) {
        self.order.remove(block);
        self.order.insert_before(at, block);
    }

    /// Puts what a block's only successor does to the block's end, whose only predecessor it is;
    /// the successor goes. The branch that led there is gone already.
    pub fn merge(&mut self, body: &mut Body<'_>, block: BlockId, next: BlockId) {
        let mut moved = std::mem::take(&mut body.block_mut(next).insts);
        body.block_mut(block).insts.append(&mut moved);
        // Its memory is for the next function's.
        body.quietly(next).insts = moved;
        body.quietly(block).succs.clear();
        body.move_succs(next, block);
        self.renames.split(body, next, block);
        self.order.remove(next);
        body.remove_detached_block(next);
    }

    /// What one of a block's successors does, whose only predecessor it is, is done at the block's
    /// end. The successor goes: where it led, the block leads. Branches that led there or stood at
    /// its end are gone already, and phis behind it know.
    pub fn absorb(&mut self, body: &mut Body<'_>, block: BlockId, side: BlockId) {
        let mut moved = std::mem::take(&mut body.block_mut(side).insts);
        body.block_mut(block).insts.append(&mut moved);
        // Its memory is for the next function's.
        body.quietly(side).insts = moved;
        let succs = std::mem::take(&mut body.block_mut(side).succs);
        body.block_mut(block).succs.retain(|s| *s != side);
        for succ in succs {
            let preds = &mut body.block_mut(succ).preds;
            match preds.contains(&block) {
                true => preds.retain(|p| *p != side),
                false => preds.iter_mut().filter(|p| **p == side).for_each(|p| *p = block),
            }
            let known = &mut body.block_mut(block).succs;
            if !known.contains(&succ) {
                known.push(succ);
            }
        }
        self.order.remove(side);
        body.remove_detached_block(side);
    }

    /// Tells the phis of one block what they have not heard yet: for who reads them now.
    pub fn tell(&mut self, body: &mut Body<'_>, block: BlockId) {
        self.renames.tell(body, block);
    }

    /// Tells phis what they have not heard yet.
    pub(super) fn tell_phis(&mut self, body: &mut Body<'_>) {
        std::mem::take(&mut self.renames).finish(body);
    }

    /// Tells layout and phis.
    pub fn finish(self, body: &mut Body<'_>) {
        self.renames.finish(body);
        body.set_layout(&self.order.to_layout());
    }
}

pub(super) fn branch_to(to: BlockId) -> Inst {
    Inst::new(Opcode::BRA, &[], 0, &[Operand::PT, Operand::Block(to)])
}

impl Body<'_> {
    /// Blocks were rebuilt as several: the edges out of the first of each lead out of its last now,
    /// and phis behind them know that.
    pub fn move_ends(&mut self, ends: &[(BlockId, BlockId)]) {
        let mut renames = Renames::default();
        for (block, end) in ends {
            self.move_succs(*block, *end);
            renames.split(self, *block, *end);
        }
        renames.finish(self);
    }

    /// The edges out of one block lead out of another one, which had none.
    pub(super) fn move_succs(&mut self, from: BlockId, to: BlockId) {
        let mut succs = std::mem::take(&mut self.block_mut(from).succs);
        for succ in &succs {
            self.quietly(*succ).preds.iter_mut().filter(|p| **p == from).for_each(|p| *p = to);
        }
        // The other's list stays for what comes.
        std::mem::swap(&mut self.quietly(to).succs, &mut succs);
        succs.clear();
        self.quietly(from).succs = succs;
    }
}
