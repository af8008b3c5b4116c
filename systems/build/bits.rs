//! Logic and shifts of words.

use super::emit::Emit;
use super::operand::imm;
use orias_components::{Mod, Opcode, Operand};

impl<'w> Emit<'w> {
    /// Any function of three values: bit `4a + 2b + c` of `lut` is the result.
    pub fn lop3(&mut self, d: Operand, a: Operand, b: Operand, c: Operand, lut: u8) {
        self.put(
            Opcode::LOP3,
            &[Mod::LUT],
            2,
            &[Operand::PT, d, a, b, c, imm(u32::from(lut)), Operand::NOT_PT],
        );
    }

    /// `d = a & b`
    pub fn and(&mut self, d: Operand, a: Operand, b: Operand) {
        self.lop3(d, a, b, Operand::RZ, 0xc0);
    }

    /// `d = a ¦ b`
    pub fn or(&mut self, d: Operand, a: Operand, b: Operand) {
        self.lop3(d, a, b, Operand::RZ, 0xfc);
    }

    /// `d = a ^ b`
    pub fn xor(&mut self, d: Operand, a: Operand, b: Operand) {
        self.lop3(d, a, b, Operand::RZ, 0x3c);
    }

    /// Funnel shift of `hi:lo`; the words choose direction, wrapping, width and the half that is
    /// the result.
    pub fn shf(&mut self, mods: &[Mod], d: Operand, lo: Operand, shift: Operand, hi: Operand) {
        self.put(Opcode::SHF, mods, 1, &[d, lo, shift, hi]);
    }

    /// `a << b`, 0 from 32 on.
    pub fn shl(&mut self, d: Operand, a: Operand, b: Operand) {
        self.shf(&[Mod::L, Mod::U32], d, a, b, Operand::RZ);
    }

    /// `a >> b`, amounts from 32 on as 32.
    pub fn shr(&mut self, d: Operand, a: Operand, b: Operand, signed: bool) {
        let ty = if signed { Mod::S32 } else { Mod::U32 };
        self.shf(&[Mod::R, ty, Mod::HI], d, Operand::RZ, b, a);
    }
}
