//! Comparisons, and functions of predicates.

use super::emit::Emit;
use super::operand::imm;
use orias_components::{Inst, Mod, Opcode, Operand, RegFlags};

/// Any function of three predicates: bit `4a + 2b + c` of `lut` is the result. A negation becomes
/// part of the table: ptxas never negates an operand of PLOP3.
pub fn plop3(d: Operand, sources: [Operand; 3], lut: u8) -> Inst {
    let mut table = lut;
    let mut plain = sources;
    for (operand, bit) in plain.iter_mut().zip([4, 2, 1]) {
        if let Operand::Reg(r) = operand
            && r.flags.has(RegFlags::NOT)
        {
            r.flags = r.flags.without(RegFlags::NOT);
            let old = table;
            table = (0..8).map(|i| (old >> (i ^ bit) & 1) << i).sum();
        }
    }
    let [a, b, c] = plain;
    let operands = [d, Operand::PT, a, b, c, imm(u32::from(table)), imm(0)];
    Inst::new(Opcode::PLOP3, &[Mod::LUT], 2, &operands)
}

impl<'w> Emit<'w> {
    /// `d = (a cmp b) comb c` for 32-bit integers. `comb` is AND, OR or XOR.
    pub fn isetp(
        &mut self,
        d: Operand,
        cmp: Mod,
        signed: bool,
        [a, b]: [Operand; 2],
        comb: Mod,
        c: Operand,
    ) {
        let mut mods = vec![cmp];
        if !signed {
            mods.push(Mod::U32);
        }
        mods.push(comb);
        self.put(Opcode::ISETP, &mods, 2, &[d, Operand::PT, a, b, c]);
    }

    /// A plain 32-bit comparison.
    pub fn icmp(&mut self, d: Operand, cmp: Mod, signed: bool, a: Operand, b: Operand) {
        self.isetp(d, cmp, signed, [a, b], Mod::AND, Operand::PT);
    }

    /// `d = (a cmp b) comb c`, of singles.
    pub fn fsetp(
        &mut self,
        d: Operand,
        cmp: Mod,
        ftz: bool,
        [a, b]: [Operand; 2],
        (comb, c): (Mod, Operand),
    ) {
        let mut mods = vec![cmp];
        if ftz {
            mods.push(Mod::FTZ);
        }
        mods.push(comb);
        self.put(Opcode::FSETP, &mods, 2, &[d, Operand::PT, a, b, c]);
    }

    /// Any function of three predicates: bit `4a + 2b + c` of `lut` is the result.
    pub fn plop3(&mut self, d: Operand, a: Operand, b: Operand, c: Operand, lut: u8) {
        let inst = plop3(d, [a, b, c], lut);
        self.put(inst.op, &[Mod::LUT], 2, &inst.operands);
    }

    /// `d = a`, of predicates.
    pub fn mov_pred(&mut self, d: Operand, a: Operand) {
        self.plop3(d, a, Operand::PT, Operand::PT, 0x80);
    }
}
