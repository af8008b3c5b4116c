//! The rewriting of a block: one walk over its instructions that says what becomes of each.

use crate::body::Body;
use crate::ids::{BlockId, InstId};
use crate::inst::{Inst, Loc};
use crate::phis::Renames;
use crate::scratch;
use crate::scratch::Scratch;

/// What stands in a block so far while it is rewritten.
///
/// A list is made only from where it is another one: a walk that keeps all instructions is no edit.
pub struct Rewrite {
    /// The list as it was.
    old: Vec<InstId>,
    /// So many of it, from the first, stand there again, and where there is more `new` behind them.
    same: usize,
    new: Option<Scratch<Vec<InstId>>>,
    /// The instruction that the walk is at, and whether it stands somewhere again.
    current: InstId,
    kept: bool,
    /// The block that instructions go to, and those that this one was cut into.
    block: BlockId,
    cuts: Vec<BlockId>,
}

impl Rewrite {
    fn of(body: &mut Body<'_>, block: BlockId) -> Rewrite {
        let old = std::mem::take(&mut body.quietly(block).insts);
        let current = InstId(u32::MAX);
        Rewrite { old, same: 0, new: None, current, kept: false, block, cuts: Vec::new() }
    }

    /// Puts an instruction next: the one that the walk is at, or another one that stands in no
    /// block.
    #[inline]
    pub fn keep(&mut self, id: InstId) {
        self.kept |= id == self.current;
        if self.new.is_none() && self.old.get(self.same) == Some(&id) {
            self.same += 1;
        } else {
            self.changed().push(id);
        }
    }

    /// Puts a new instruction next.
    pub fn put(&mut self, body: &mut Body<'_>, inst: &Inst, loc: Loc) -> InstId {
        let id = body.new_inst(inst, loc);
        self.changed().push(id);
        id
    }

    /// The last instruction of the block so far.
    pub fn last(&self) -> Option<InstId> {
        let same = self.old[..self.same].last();
        self.new.as_ref().map_or(same, |new| new.last()).copied()
    }

    /// Ends the block here. What comes goes to another one, which stands behind it.
    pub fn split(&mut self, body: &mut Body<'_>) -> BlockId {
        let next = body.new_detached_block();
        self.split_to(body, next);
        next
    }

    /// The same with a block that is in no layout yet, and empty.
    pub fn split_to(&mut self, body: &mut Body<'_>, next: BlockId) {
        let list = std::mem::take(&mut **self.changed());
        body.block_mut(self.block).insts = list;
        self.block = next;
        self.cuts.push(next);
    }

    fn changed(&mut self) -> &mut Scratch<Vec<InstId>> {
        self.new.get_or_insert_with(|| {
            let old = self.old[..self.same].iter().copied();
            scratch!(Vec<InstId>).with_room(self.old.len() + 4).with(old)
        })
    }

    fn walk<'w>(
        mut self,
        body: &mut Body<'w>,
        f: &mut impl FnMut(&mut Body<'w>, &mut Rewrite, InstId),
    ) -> Vec<BlockId> {
        for at in 0..self.old.len() {
            let id = self.old[at];
            (self.current, self.kept) = (id, false);
            f(body, &mut self, id);
            if !self.kept {
                body.discard(id);
            }
        }
        match self.new {
            // The old list is for the next walk.
            Some(mut new) => {
                body.block_mut(self.block).insts = std::mem::replace(&mut *new, self.old);
            }
            None => {
                self.old.truncate(self.same);
                body.quietly(self.block).insts = self.old;
            }
        }
        self.cuts
    }
}

impl<'w> Body<'w> {
    /// Puts a block's instructions into another order.
    ///
    /// # Panics
    /// Where `order` has not as many as the block.
    pub fn reorder(&mut self, block: BlockId, order: &[InstId]) {
        self.block_mut(block).insts.copy_from_slice(order);
    }

    /// Rewrites a block: `f` says of each instruction, in order, what stands in its place by
    /// putting that into the [`Rewrite`]. What it does not put there again is removed.
    ///
    /// # Panics
    /// Where it splits the block: for that there is [`Body::rewrite_all`].
    pub fn rewrite(
        &mut self,
        block: BlockId,
        mut f: impl FnMut(&mut Body<'w>, &mut Rewrite, InstId),
    ) {
        let cuts = Rewrite::of(self, block).walk(self, &mut f);
        assert!(cuts.is_empty(), "{block} was split and its layout is not rewritten");
    }

    /// The same of all blocks, in the layout's order. The layout, and phis behind blocks that were
    /// split, hear of it at the end.
    pub fn rewrite_all(&mut self, mut f: impl FnMut(&mut Body<'w>, &mut Rewrite, InstId)) {
        let mut layout = scratch!(Vec<BlockId>);
        let mut renames = Renames::default();
        for at in 0..self.layout().len() {
            let block = self.layout()[at];
            let cuts = Rewrite::of(self, block).walk(self, &mut f);
            if layout.is_empty() && !cuts.is_empty() {
                layout.extend_from_slice(&self.layout()[..at]);
            }
            if !layout.is_empty() || !cuts.is_empty() {
                layout.push(block);
                layout.extend_from_slice(&cuts);
            }
            if let Some(end) = cuts.last() {
                self.chain(block, &cuts);
                renames.split(self, block, *end);
            }
        }
        if !layout.is_empty() {
            self.set_layout(&layout);
            renames.finish(self);
        }
    }

    /// The edges of a block that was cut into others too: each leads to the next one, the last
    /// where the block led.
    fn chain(&mut self, block: BlockId, cuts: &[BlockId]) {
        let mut from = block;
        for next in cuts {
            self.move_succs(from, *next);
            self.quietly(from).succs.push(*next);
            self.quietly(*next).preds.push(from);
            from = *next;
        }
    }
}
