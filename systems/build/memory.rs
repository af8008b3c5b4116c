//! Accesses to memory.

use super::address::Address;
use super::emit::Emit;
use orias_components::{Mod, Opcode, Operand, RegUse};

impl<'w> Emit<'w> {
    /// `c[bank][offset]`, or with an index register, to one or two cells.
    pub fn ldc(&mut self, mods: &[Mod], d: Operand, source: Operand) {
        self.put(Opcode::LDC, mods, 1, &[d, source]);
    }

    /// A load; `desc` is the descriptor of global and generic accesses.
    pub fn load(
        &mut self,
        op: Opcode,
        mods: &[Mod],
        d: Operand,
        desc: Option<RegUse>,
        addr: Address,
    ) {
        match desc {
            // A generic load has no predicate among its results.
            Some(desc) if op == Opcode::LD => {
                let desc = Operand::Desc(desc);
                self.put(op, mods, 1, &[d, desc, addr.operand(), Operand::PT]);
            }
            Some(desc) => {
                let desc = Operand::Desc(desc);
                self.put(op, mods, 2, &[Operand::PT, d, desc, addr.operand(), Operand::PT]);
            }
            None => self.put(op, mods, 1, &[d, addr.operand()]),
        }
    }

    /// Stores a value, of as many bytes as the modifiers say.
    pub fn store(
        &mut self,
        op: Opcode,
        mods: &[Mod],
        desc: Option<RegUse>,
        addr: Address,
        value: Operand,
    ) {
        match desc {
            Some(desc) => {
                let desc = Operand::Desc(desc);
                self.put(op, mods, 0, &[desc, addr.operand(), value]);
            }
            None => self.put(op, mods, 0, &[addr.operand(), value]),
        }
    }
}
