//! 32-bit float arithmetic.

use super::emit::Emit;
use orias_components::{Mod, Opcode, Operand};

impl<'w> Emit<'w> {
    /// `d = a + b`, of singles.
    pub fn fadd(&mut self, mods: &[Mod], d: Operand, a: Operand, b: Operand) {
        self.put(Opcode::FADD, mods, 1, &[d, a, b]);
    }

    /// `d = a * b`, of singles.
    pub fn fmul(&mut self, mods: &[Mod], d: Operand, a: Operand, b: Operand) {
        self.put(Opcode::FMUL, mods, 1, &[d, a, b]);
    }

    /// `d = a * b + c`, of singles, rounded once.
    pub fn ffma(&mut self, mods: &[Mod], d: Operand, a: Operand, b: Operand, c: Operand) {
        self.put(Opcode::FFMA, mods, 1, &[d, a, b, c]);
    }

    /// `d` = an approximate function of `a`: see [`Opcode::MUFU`].
    pub fn mufu(&mut self, function: Mod, d: Operand, a: Operand) {
        self.put(Opcode::MUFU, &[function], 1, &[d, a]);
    }
}
