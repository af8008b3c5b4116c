//! Ids of a function's instructions, blocks and virtual registers: each the row of its table.
//!
//! They stand below everything else, for operands name blocks and registers, and blocks list the
//! instructions that hold the operands.

use bevy_ecs::prelude::*;
use std::fmt;

/// Dense per-function id of an instruction. Ids of removed instructions are not used again.
#[derive(Component, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct InstId(pub u32);

/// Dense per-function id of a block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct BlockId(pub u32);

/// `BB3`, as the text form has it.
impl fmt::Display for BlockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BB{}", self.0)
    }
}

/// Dense per-function id of a virtual register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct VRegId(pub u32);
