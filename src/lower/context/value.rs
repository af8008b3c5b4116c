//! Values of source operands: a register or immediate bits, by 32-bit halves.

use super::cx::Cx;
use crate::ptx::types::{Type, TypeKind};
use orias_components::{Operand, Reg};
use orias_systems::build::{cell, imm, r};

/// The value of a source operand.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// A register of this many cells.
    Reg(Reg, u8),
    /// Immediate bits, sign-extended to 64 bits when the type is signed.
    Imm(u64),
}

impl Value {
    /// The low 32 bits.
    pub fn lo(self) -> Operand {
        match self {
            Value::Reg(reg, _) => cell(reg, 0),
            Value::Imm(v) => imm(v as u32),
        }
    }

    /// Bits 32 to 63. A register of one cell has none: zero.
    pub fn hi(self) -> Operand {
        match self {
            Value::Reg(_, 1) => Operand::RZ,
            Value::Reg(reg, _) => cell(reg, 1),
            Value::Imm(v) => imm((v >> 32) as u32),
        }
    }

    /// Both words, the low one first.
    pub fn halves(self) -> [Operand; 2] {
        [self.lo(), self.hi()]
    }
}

impl<'a, 'w> Cx<'a, 'w> {
    /// A value of 8 or 16 bits extended to 32 by its type; of wider ones the low word.
    pub fn extend(&mut self, value: Value, ty: Type) -> Operand {
        if let Value::Imm(v) = value {
            return imm(int_bits(i128::from(v as i64), ty) as u32);
        }
        if ty.bytes() >= 4 {
            return value.lo();
        }
        let d = self.e.temp(1);
        self.extend_to(r(d), value.lo(), ty);
        r(d)
    }

    /// `d` = the 8 or 16 low bits of `a`, extended by the type's sign.
    pub fn extend_to(&mut self, d: Operand, a: Operand, ty: Type) {
        match (ty.bytes(), ty.is_signed()) {
            (1, true) => self.e.prmt(d, a, imm(0x8880), Operand::RZ),
            (1, false) => self.e.and(d, a, imm(0xff)),
            (2, true) => self.e.prmt(d, a, imm(0x9910), Operand::RZ),
            (2, false) => self.e.and(d, a, imm(0xffff)),
            _ => self.e.mov(d, a),
        }
    }

    /// The register pair of a 64-bit value: where it is already, or a new one.
    pub fn pair_of(&mut self, value: Value) -> Reg {
        match value {
            Value::Reg(reg, 2) => reg,
            other => self.e.join(other.lo(), other.hi()),
        }
    }
}

/// The bits of an integer constant read as `ty`, sign-extended to 64 when the type is signed.
pub fn int_bits(value: i128, ty: Type) -> u64 {
    let v = value as u64;
    let bits = ty.bits();
    if bits >= 64 {
        return v;
    }
    let shift = 64 - bits;
    if ty.kind() == TypeKind::Signed {
        ((v << shift) as i64 >> shift) as u64
    } else {
        v << shift >> shift
    }
}
