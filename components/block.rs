//! Blocks.

use crate::ids::{BlockId, InstId};
use bevy_ecs::prelude::*;

/// A basic block: control enters at its first instruction and may leave only at its end.
///
/// The end is: nothing (falls through to the next block in layout order), one branch with or
/// without a guard, or a guarded branch followed by an unguarded one. Lists are read here, and
/// edited through the body: see [`crate::edit`].
#[derive(Component, Clone, Debug)]
pub struct Block {
    /// The row in the table of blocks: no place in the layout.
    pub id: BlockId,
    pub(crate) insts: Vec<InstId>,
    pub(crate) succs: Vec<BlockId>,
    pub(crate) preds: Vec<BlockId>,
    /// Whether the block was removed, or never was.
    pub(crate) dead: bool,
}

impl Block {
    /// What stands where no block is.
    pub(crate) const NONE: Block = Block {
        id: BlockId(u32::MAX),
        insts: Vec::new(),
        succs: Vec::new(),
        preds: Vec::new(),
        dead: true,
    };

    /// Its instructions in program order: the truth about order.
    #[inline]
    pub fn insts(&self) -> &[InstId] {
        &self.insts
    }

    /// Where control may go from its end: see [`crate::edges`].
    #[inline]
    pub fn succs(&self) -> &[BlockId] {
        &self.succs
    }

    /// The blocks that lead to it, in the layout's order.
    #[inline]
    pub fn preds(&self) -> &[BlockId] {
        &self.preds
    }
}
