//! Additions that are written as an operand.

use crate::ptx::program::{Operand, RegId, Words};
use crate::ptx::types::Span;
use std::sync::Arc;

/// An addition before the instruction that is checked: `%r1 + 4` among its operands.
#[derive(Debug)]
pub(super) struct Sum {
    pub words: Arc<Words>,
    /// The register of the sum first.
    pub operands: Vec<Operand>,
    pub span: Span,
}

impl Sum {
    /// Whether it writes this register.
    pub fn writes(&self, reg: RegId) -> bool {
        self.operands.first() == Some(&Operand::Reg(reg))
    }
}
