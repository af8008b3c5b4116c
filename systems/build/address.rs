//! Addresses of accesses to memory.

use orias_components::{MemRef, Mod, Operand, RegUse};

/// A memory address: 64-bit for global and generic, 32-bit for shared and local.
#[derive(Clone, Copy, Debug)]
pub struct Address {
    /// General registers; RZ for none.
    pub base: RegUse,
    /// A uniform register that is added; URZ for none.
    pub uniform: RegUse,
    /// Bytes that are added.
    pub offset: i32,
}

impl Address {
    /// As the memory slot of an instruction.
    pub fn operand(self) -> Operand {
        let sel = if self.base.count == 2 { Mod::_64 } else { Mod::NONE };
        Operand::Mem(MemRef { base: self.base, uniform: self.uniform, offset: self.offset, sel })
    }
}
