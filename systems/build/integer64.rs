//! Integer arithmetic of 64 bits by words.

use super::emit::Emit;
use super::operand::{cell, imm, neg, not, r, wide};
use orias_components::{Mod, Opcode, Operand, Reg};

impl<'w> Emit<'w> {
    /// 64-bit sum of operands given by halves.
    pub fn add64(&mut self, d: Reg, a: [Operand; 2], b: [Operand; 2]) {
        let carry = self.temp_pred();
        self.iadd_carry_out(cell(d, 0), r(carry), a[0], b[0]);
        self.iadd_x(cell(d, 1), Operand::PT, a[1], b[1], r(carry));
    }

    /// `d = a - b` in 64 bits: the high half adds the complement and the carry.
    pub fn sub64(&mut self, d: Reg, a: [Operand; 2], b: [Operand; 2]) {
        if let [Operand::Imm(lo), Operand::Imm(hi)] = b {
            // Negating half by half would lose the carry of a zero low half.
            let value = (hi << 32 | lo & 0xffff_ffff).wrapping_neg();
            return self.add64(d, a, [imm(value as u32), imm((value >> 32) as u32)]);
        }
        let carry = self.temp_pred();
        self.iadd_carry_out(cell(d, 0), r(carry), a[0], neg(b[0]));
        self.iadd_x(cell(d, 1), Operand::PT, a[1], not(b[1]), r(carry));
    }

    /// `d` = low 64 bits of `a·b + c`.
    pub fn mul64(&mut self, d: Reg, a: [Operand; 2], b: [Operand; 2], c: [Operand; 2]) {
        // The cross products only reach the high word.
        let cross = self.temp(1);
        self.imad(r(cross), a[0], b[1], c[1]);
        let addend = self.temp(2);
        self.mov(cell(addend, 0), c[0]);
        self.imad(cell(addend, 1), a[1], b[0], r(cross));
        self.imad_wide(d, a[0], b[0], wide(addend, 2), false);
    }

    /// High 64 bits of the unsigned 128-bit product: the two middle products with the carry out of
    /// their sum, that carry and the one of the low words into the high product, as ptxas 13.0.88
    /// does it.
    pub fn mul64_hi(&mut self, a: [Operand; 2], b: [Operand; 2]) -> Reg {
        let (a, b) = if matches!(a[0], Operand::Imm(_)) { (b, a) } else { (a, b) };
        let cross = self.temp(2);
        self.imad_wide(cross, a[1], b[0], Operand::RZ, false);
        let (middle, over) = (self.temp(2), self.temp_pred());
        let operands = [wide(middle, 2), r(over), a[0], b[1], wide(cross, 2)];
        self.put(Opcode::IMAD, &[Mod::WIDE, Mod::U32], 2, &operands);
        let low = self.temp(2);
        self.imad_wide(low, a[0], b[0], Operand::RZ, false);
        let carry = self.temp_pred();
        self.iadd_carry_out(Operand::RZ, r(carry), cell(low, 1), cell(middle, 0));
        let upper = self.temp(2);
        self.mov(cell(upper, 0), cell(middle, 1));
        self.iadd_x(cell(upper, 1), Operand::PT, Operand::RZ, Operand::RZ, r(over));
        let high = self.temp(2);
        let operands = [wide(high, 2), Operand::PT, a[1], b[1], wide(upper, 2), r(carry)];
        self.put(Opcode::IMAD, &[Mod::WIDE, Mod::U32, Mod::X], 2, &operands);
        high
    }

    /// The absolute value of a 64-bit integer, and the predicate "was negative".
    pub fn abs64(&mut self, a: [Operand; 2]) -> (Reg, Operand) {
        let p = self.temp_pred();
        self.icmp(r(p), Mod::LT, true, a[1], Operand::RZ);
        let d = self.temp(2);
        self.negate64_if(d, a, r(p));
        (d, r(p))
    }

    /// `d = p ? -a : a` in 64 bits.
    pub fn negate64_if(&mut self, d: Reg, a: [Operand; 2], p: Operand) {
        let negative = self.temp(2);
        self.sub64(negative, [Operand::RZ; 2], a);
        self.sel(cell(d, 0), cell(negative, 0), a[0], p);
        self.sel(cell(d, 1), cell(negative, 1), a[1], p);
    }

    /// The 64-bit comparison, by halves: the low one first, the high one with its outcome.
    pub fn isetp64(
        &mut self,
        d: Operand,
        cmp: Mod,
        signed: bool,
        a: [Operand; 2],
        b: [Operand; 2],
        (comb, c): (Mod, Operand),
    ) {
        let low = self.temp_pred();
        self.icmp(r(low), cmp, false, a[0], b[0]);
        let mut mods = vec![cmp];
        if !signed {
            mods.push(Mod::U32);
        }
        mods.extend([comb, Mod::EX]);
        self.put(Opcode::ISETP, &mods, 2, &[d, Operand::PT, a[1], b[1], c, r(low)]);
    }
}
