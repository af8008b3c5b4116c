//! Blocks.

use crate::inst::InstId;
use bevy_ecs::prelude::*;
use std::fmt;

/// Dense per-function id of a block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct BlockId(pub u32);

/// `BB3`
impl fmt::Display for BlockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BB{}", self.0)
    }
}

/// A basic block: control enters at its first instruction and may leave only at its end.
///
/// The end is: nothing (falls through to the next block in layout order), one branch with or without a guard, or a guarded
/// branch followed by an unguarded one. `succs` and `preds` are what `AnalyzeControlFlow` computes from that.
#[derive(Component, Clone, Debug)]
pub struct Block {
    pub id: BlockId,
    /// Program order: the truth about order.
    pub insts: Vec<InstId>,
    pub succs: Vec<BlockId>,
    pub preds: Vec<BlockId>,
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
}
