//! Copies, selections and permutations of words.

use super::emit::Emit;
use super::operand::{cell, imm};
use orias_components::{Opcode, Operand, Reg};

impl<'w> Emit<'w> {
    /// `d = a`
    pub fn mov(&mut self, d: Operand, a: Operand) {
        self.put(Opcode::MOV, &[], 1, &[d, a, imm(0xf)]);
    }

    /// `d = p ? a : b`
    pub fn sel(&mut self, d: Operand, a: Operand, b: Operand, p: Operand) {
        self.put(Opcode::SEL, &[], 1, &[d, a, b, p]);
    }

    /// `d` = four bytes of `a` and `c`, each chosen by four bits of the selector.
    pub fn prmt(&mut self, d: Operand, a: Operand, selector: Operand, c: Operand) {
        self.put(Opcode::PRMT, &[], 1, &[d, a, selector, c]);
    }

    /// A new register pair of two words.
    pub fn join(&mut self, lo: Operand, hi: Operand) -> Reg {
        let d = self.temp(2);
        self.mov(cell(d, 0), lo);
        self.mov(cell(d, 1), hi);
        d
    }
}
