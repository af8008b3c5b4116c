//! The edges between blocks: what follows from the instructions at a block's end and from the
//! layout.
//!
//! A block that does not end in an unguarded branch falls through to the next one. Blocks keep the
//! edges; an edit of branches or of the layout makes them stale ([`Body::edges_are_stale`]) until
//! [`Body::update_edges`], unless the editor knows the new ones.

use crate::block::Block;
use crate::body::Body;
use crate::ids::{BlockId, InstId};
use crate::inst::View;
use crate::opcode::Props;
use crate::operand::{Operand, RegFlags};
use smallvec::SmallVec;

/// Whether the branch is taken by every thread that reaches it: no guard, and no predicate operand
/// but PT.
pub fn is_unconditional(inst: View<'_>) -> bool {
    inst.guard.is_always()
        && inst.sources().all(|o| match o {
            Operand::Reg(r) if r.reg.file().is_predicate() => {
                r.reg.is_zero() && !r.flags.has(RegFlags::NOT)
            }
            _ => true,
        })
}

/// Whether control never goes past this instruction: an unconditional branch that does not come
/// back (as CALL does).
pub fn ends_flow(inst: View<'_>) -> bool {
    inst.op.is_branch() && !inst.op.has(Props::RETURNS) && is_unconditional(inst)
}

/// The blocks that a branch may go to. BSSY names a block too, but does not go there.
pub fn targets(inst: View<'_>) -> impl Iterator<Item = BlockId> + '_ {
    let is_branch = inst.op.is_branch();
    inst.blocks().filter(move |_| is_branch)
}

/// Whether control may go on from the block's end to the next block of the layout.
pub fn falls_through(body: &Body<'_>, block: &Block) -> bool {
    block.insts().last().is_none_or(|last| !ends_flow(body.inst(*last)))
}

/// Where the block's branches start: they stand at its end only.
pub fn first_branch(body: &Body<'_>, block: BlockId) -> usize {
    let insts = body.block(block).insts();
    let is_branch = |i: &&InstId| body.op(**i).is_branch();
    insts.len() - insts.iter().rev().take_while(is_branch).count()
}

/// The blocks that may follow the block at a place in the layout, each once: targets first, in text
/// order, then the block that control falls through to.
pub fn successors(body: &Body<'_>, at: usize) -> SmallVec<[BlockId; 4]> {
    let layout = body.layout();
    let block = body.block(layout[at]);
    let mut succs: SmallVec<[BlockId; 4]> = SmallVec::new();
    for inst in &block.insts()[first_branch(body, layout[at])..] {
        for target in targets(body.inst(*inst)) {
            if !succs.contains(&target) {
                succs.push(target);
            }
        }
    }
    if falls_through(body, block)
        && let Some(next) = layout.get(at + 1)
        && !succs.contains(next)
    {
        succs.push(*next);
    }
    succs
}

/// Whether the edges that the blocks hold are those that follow from their instructions.
///
/// # Errors
/// The first block whose edges are stale, in words.
pub fn check(body: &Body<'_>) -> Result<(), String> {
    let mut preds = vec![Vec::new(); body.block_count()];
    for (at, id) in body.layout().iter().enumerate() {
        let succs = successors(body, at);
        let held = body.block(*id).succs();
        if *held != *succs {
            return Err(format!("{id}: its successors are {succs:?}, it holds {held:?}"));
        }
        succs.iter().for_each(|s| preds[s.0 as usize].push(*id));
    }
    for id in body.layout() {
        let (held, preds) = (body.block(*id).preds(), &preds[id.0 as usize]);
        if held != preds {
            return Err(format!("{id}: its predecessors are {preds:?}, it holds {held:?}"));
        }
    }
    Ok(())
}

/// Whether all that a block does besides branching is to compute and to load.
fn only_computes(body: &Body<'_>, id: BlockId) -> bool {
    let others = Props::EFFECT.with(Props::STORE).with(Props::CONVERGENT).with(Props::GROUP);
    let insts = body.block(id).insts().iter().map(|id| body.op(*id));
    insts.filter(|op| !op.is_branch()).all(|op| !op.has(others))
}

impl Body<'_> {
    /// Whether branches or the layout changed since the blocks' edges were made.
    pub fn edges_are_stale(&self) -> bool {
        self.arena.edges_are_stale()
    }

    /// Makes the edges of the blocks in the layout new, where they may be stale.
    pub fn update_edges(&mut self) {
        if !self.edges_are_stale() {
            return;
        }
        for at in 0..self.layout().len() {
            let succs = successors(self, at);
            self.set_succs(self.layout()[at], &succs);
        }
        self.update_preds();
        self.edges_are_made();
    }

    /// Adds an edge that follows from no instruction: for tests of what reads edges alone, with
    /// [`Body::edges_are_made`].
    pub fn add_edge(&mut self, from: BlockId, to: BlockId) {
        self.block_mut(from).succs.push(to);
        self.block_mut(to).preds.push(from);
    }

    /// Says that the blocks' edges are not stale.
    pub fn edges_are_made(&mut self) {
        self.arena.edges = self.arena.stamps().flow;
    }

    /// Sets where control goes from a block.
    pub(crate) fn set_succs(&mut self, id: BlockId, succs: &[BlockId]) {
        if self.block(id).succs() != succs {
            let block = self.block_mut(id);
            block.succs.clear();
            block.succs.extend_from_slice(succs);
        }
        if succs.contains(&id)
            && !self.facts().may_have_repeatable_loops()
            && only_computes(self, id)
        {
            self.arena.facts.note_repeatable_loop();
        }
    }

    /// Makes the predecessors of all blocks of the layout those that their successors say, in the
    /// layout's order.
    pub(crate) fn update_preds(&mut self) {
        for at in 0..self.layout().len() {
            let id = self.layout()[at];
            self.quietly(id).preds.clear();
        }
        for at in 0..self.layout().len() {
            let id = self.layout()[at];
            for n in 0..self.block(id).succs.len() {
                let succ = self.block(id).succs[n];
                // A target outside the layout is the validator's matter.
                if self.has_block(succ) {
                    self.quietly(succ).preds.push(id);
                }
            }
        }
    }
}
