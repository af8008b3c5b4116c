//! Integer arithmetic of 32 bits, and products of 64.

use super::emit::Emit;
use super::operand::wide;
use orias_components::{Mod, Opcode, Operand, Reg};

impl<'w> Emit<'w> {
    /// `d = a + b + c`
    pub fn iadd3(&mut self, d: Operand, a: Operand, b: Operand, c: Operand) {
        let (pt, p) = (Operand::PT, Operand::PT);
        self.put(Opcode::IADD3, &[], 3, &[d, pt, p, a, b, c]);
    }

    /// `d = a + b`, carry out to `carry`.
    pub fn iadd_carry_out(&mut self, d: Operand, carry: Operand, a: Operand, b: Operand) {
        self.put(Opcode::IADD3, &[], 3, &[d, carry, Operand::PT, a, b, Operand::RZ]);
    }

    /// `d = a + b + carry in`, carry out to `out` (PT for none).
    pub fn iadd_x(&mut self, d: Operand, out: Operand, a: Operand, b: Operand, carry: Operand) {
        self.put(
            Opcode::IADD3,
            &[Mod::X],
            3,
            &[d, out, Operand::PT, a, b, Operand::RZ, carry, Operand::NOT_PT],
        );
    }

    /// `d = a·b + c`, low 32 bits.
    pub fn imad(&mut self, d: Operand, a: Operand, b: Operand, c: Operand) {
        self.put(Opcode::IMAD, &[], 1, &[d, a, b, c]);
    }

    /// `d (64) = a·b + c (64)`.
    pub fn imad_wide(&mut self, d: Reg, a: Operand, b: Operand, c: Operand, signed: bool) {
        let mods: &[Mod] = if signed { &[Mod::WIDE] } else { &[Mod::WIDE, Mod::U32] };
        self.put(Opcode::IMAD, mods, 2, &[wide(d, 2), Operand::PT, a, b, c]);
    }

    /// `d = (a·b) >> 32`, plus the 64-bit `c`.
    pub fn imad_hi(&mut self, d: Operand, a: Operand, b: Operand, c: Operand, signed: bool) {
        let mods: &[Mod] = if signed { &[Mod::HI] } else { &[Mod::HI, Mod::U32] };
        self.put(Opcode::IMAD, mods, 2, &[d, Operand::PT, a, b, c]);
    }

    /// Minimum (`max` false) or maximum of 32-bit integers.
    pub fn minmax(&mut self, d: Operand, a: Operand, b: Operand, max: bool, signed: bool) {
        let mods: &[Mod] = if signed { &[] } else { &[Mod::U32] };
        let p = if max { Operand::NOT_PT } else { Operand::PT };
        self.put(Opcode::VIMNMX, mods, 1, &[d, a, b, p]);
    }
}
