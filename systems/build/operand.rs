//! Operands as instructions take them: registers, cells, immediates, with signs and parts.

use orias_components::{ConstRef, Mod, Operand, Reg, RegFlags, RegUse};

/// One register, its first cell.
pub fn r(reg: Reg) -> Operand {
    Operand::reg(reg)
}

/// One cell of a wide register; the zero register has but one.
pub fn cell(reg: Reg, cell: u8) -> Operand {
    Operand::Reg(RegUse::at(reg, if reg.is_zero() { 0 } else { cell }, 1))
}

/// Both words of a register pair.
pub fn halves(reg: Reg) -> [Operand; 2] {
    [cell(reg, 0), cell(reg, 1)]
}

/// A register of `count` cells.
pub fn wide(reg: Reg, count: u8) -> Operand {
    Operand::Reg(RegUse::wide(reg, count))
}

/// 32 immediate bits.
pub fn imm(value: u32) -> Operand {
    Operand::Imm(u64::from(value))
}

/// The bits of a float.
pub fn fimm(value: f32) -> Operand {
    imm(value.to_bits())
}

fn flip(op: Operand, flag: RegFlags) -> Operand {
    let flip = |f: RegFlags| if f.has(flag) { f.without(flag) } else { f.with(flag) };
    match op {
        Operand::Reg(u) => Operand::Reg(RegUse { flags: flip(u.flags), ..u }),
        Operand::Part(u, m) => Operand::Part(RegUse { flags: flip(u.flags), ..u }, m),
        Operand::Const(c) => Operand::Const(ConstRef { flags: flip(c.flags), ..c }),
        other => other,
    }
}

/// Integer negation of an operand.
pub fn neg(op: Operand) -> Operand {
    match op {
        Operand::Imm(v) => imm((v as u32).wrapping_neg()),
        op => flip(op, RegFlags::NEG),
    }
}

/// Negation of a 32-bit float operand.
pub fn fneg(op: Operand) -> Operand {
    match op {
        Operand::Imm(v) => imm(v as u32 ^ 0x8000_0000),
        op => flip(op, RegFlags::NEG),
    }
}

/// Absolute value of a 32-bit float operand, dropping a negation.
pub fn fabs(op: Operand) -> Operand {
    let with = |f: RegFlags| f.without(RegFlags::NEG).with(RegFlags::ABS);
    match op {
        Operand::Imm(v) => imm(v as u32 & 0x7fff_ffff),
        Operand::Reg(u) => Operand::Reg(RegUse { flags: with(u.flags), ..u }),
        Operand::Part(u, m) => Operand::Part(RegUse { flags: with(u.flags), ..u }, m),
        op => op,
    }
}

/// Bitwise complement, or the negation of a predicate.
pub fn not(op: Operand) -> Operand {
    match op {
        Operand::Imm(v) => imm(!(v as u32)),
        op => flip(op, RegFlags::NOT),
    }
}

/// A register as a slot with part selectors wants it: this half or byte of it, or with `Mod::NONE`
/// what the slot takes by itself.
pub fn part(op: Operand, part: Mod) -> Operand {
    match op {
        Operand::Reg(u) | Operand::Part(u, _) => Operand::Part(u, part),
        other => other,
    }
}
