//! Copies that coalescing may make unnecessary, and where they stand.

use crate::effects::Copy;
use orias_components::{BlockId, InstId};

/// A copy that stands for a phi or a tied register, of one cell.
#[derive(Clone, Copy)]
pub struct Wanted {
    pub copy: Copy,
    pub at: Place,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Place {
    /// In place of a phi.
    Phi,
    /// At the end of a block.
    End(BlockId),
    /// Before the instruction that has the tied register.
    Tie(InstId),
}
