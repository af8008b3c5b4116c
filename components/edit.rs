//! Edits of a body: how instructions come into blocks, move and go, and blocks into the layout.
//!
//! Blocks' lists are this crate's: phases read them and edit through these functions, which keep
//! what goes with an edit (its numbers, see [`Stamps`], phis, edges where they are known, the
//! layout). [`Body::rewrite`] is for phases that walk over a block and say what becomes of each
//! instruction; [`FlowEdit`] for those that lead control other ways, [`Cloner`] for those that need
//! code a second time, [`Adopter`] for those that want it in another body.
//!
//! [`Stamps`]: crate::body::Stamps

mod adopt;
mod clone;
mod flow;
mod order;
mod rewrite;

pub use adopt::Adopter;
pub use clone::{Cloned, Cloner, Copies, Region};
pub use flow::FlowEdit;
pub use order::Order;
pub use rewrite::Rewrite;

use crate::body::Body;
use crate::ids::{BlockId, InstId};
use crate::inst::{Inst, Loc};
use crate::scratch;
use crate::work;
use std::ops::Range;

/// Instructions.
impl Body<'_> {
    /// Appends to a block.
    pub fn push(&mut self, block: BlockId, inst: Inst, loc: Loc) -> InstId {
        let id = self.new_inst(&inst, loc);
        self.append(block, id);
        id
    }

    /// Appends an instruction that stands in no block.
    pub fn append(&mut self, block: BlockId, inst: InstId) {
        self.block_mut(block).insts.push(inst);
    }

    /// Inserts before place `at` of the block's list.
    pub fn insert(&mut self, block: BlockId, at: usize, inst: Inst, loc: Loc) -> InstId {
        let id = self.new_inst(&inst, loc);
        self.block_mut(block).insts.insert(at, id);
        id
    }

    /// Inserts each before the place that it names in the block's list as it is now; places do not
    /// fall from one to the next.
    pub fn insert_all(
        &mut self,
        block: BlockId,
        insts: impl IntoIterator<Item = (usize, Inst, Loc)>,
    ) {
        let mut insts = insts.into_iter().peekable();
        if insts.peek().is_none() {
            return;
        }
        let old = std::mem::take(&mut self.block_mut(block).insts);
        let mut new = scratch!(Vec<InstId>).with_room(old.len() + 2);
        let mut done = 0;
        for (at, inst, loc) in insts {
            new.extend_from_slice(&old[done..at]);
            new.push(self.new_inst(&inst, loc));
            done = at;
        }
        new.extend_from_slice(&old[done..]);
        // The old list is for the next edit.
        self.block_mut(block).insts = std::mem::replace(&mut *new, old);
    }

    /// Removes the instructions at these places of the block, and puts others there that stand in
    /// no block.
    pub fn replace(
        &mut self,
        block: BlockId,
        at: Range<usize>,
        with: impl IntoIterator<Item = InstId>,
    ) {
        let mut insts = std::mem::take(&mut self.block_mut(block).insts);
        insts.splice(at, with).for_each(|id| self.discard(id));
        self.quietly(block).insts = insts;
    }

    /// Moves an instruction from one place of its block to another; those between go one place on.
    pub fn shift(&mut self, block: BlockId, from: usize, to: usize) {
        let insts = &mut self.block_mut(block).insts;
        match from <= to {
            true => insts[from..=to].rotate_left(1),
            false => insts[to..=from].rotate_right(1),
        }
    }

    /// Removes an instruction from its block and the world. For many at once use [`Body::retain`].
    pub fn remove(&mut self, block: BlockId, inst: InstId) {
        self.block_mut(block).insts.retain(|i| *i != inst);
        self.discard(inst);
    }

    /// Keeps the block's instructions for which `keep` holds; returns how many went.
    pub fn retain(
        &mut self,
        block: BlockId,
        mut keep: impl FnMut(&Body<'_>, InstId) -> bool,
    ) -> usize {
        let mut insts = std::mem::take(&mut self.quietly(block).insts);
        let before = insts.len();
        insts.retain(|id| {
            let stays = keep(self, *id);
            if !stays {
                self.discard(*id);
            }
            stays
        });
        let gone = before - insts.len();
        self.quietly(block).insts = insts;
        gone
    }

    /// Empties a block, for a builder that gives each of its instructions a place again
    /// ([`Body::append`]) or removes it ([`Body::discard`]).
    pub fn unlink(&mut self, block: BlockId) -> std::vec::IntoIter<InstId> {
        std::mem::take(&mut self.block_mut(block).insts).into_iter()
    }

    /// Removes from the world an instruction that is in no block's list (any more).
    pub fn discard(&mut self, inst: InstId) {
        self.touch_flow(self.op(inst));
        self.bury(inst);
    }
}

/// Blocks and their order.
impl Body<'_> {
    /// Sets the order of the blocks; nothing is an edit where it is the same.
    pub fn set_layout(&mut self, order: &[BlockId]) {
        work::add(order.len());
        if self.arena.layout == order {
            return;
        }
        self.arena.edit_other();
        self.arena.flow += 1;
        self.arena.layout.clear();
        self.arena.layout.extend_from_slice(order);
    }

    /// A new block at the end of the layout.
    pub fn new_block(&mut self) -> BlockId {
        let id = self.new_detached_block();
        self.arena.layout.push(id);
        self.arena.flow += 1;
        id
    }

    /// Removes blocks and their instructions, from the layout too. Edges of other blocks are stale
    /// then.
    pub fn remove_blocks(&mut self, ids: &[BlockId]) {
        ids.iter().for_each(|id| self.remove_detached_block(*id));
        if !ids.is_empty() {
            let mut layout = std::mem::take(&mut self.arena.layout);
            layout.retain(|b| !self.block(*b).dead);
            self.arena.layout = layout;
            self.arena.flow += 1;
        }
    }

    /// Removes a block that is in no layout, and its instructions.
    pub fn remove_detached_block(&mut self, id: BlockId) {
        let mut insts = std::mem::take(&mut self.block_mut(id).insts);
        insts.drain(..).for_each(|inst| self.discard(inst));
        self.quietly(id).insts = insts;
        self.block_mut(id).dead = true;
    }
}

#[cfg(test)]
mod tests;
