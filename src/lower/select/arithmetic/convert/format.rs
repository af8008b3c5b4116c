//! What the conversions of every kind share: words of formats and roundings, and saturation.

use crate::lower::context::cx::Cx;
use crate::ptx::program::Instruction;
use crate::ptx::types::Type;
use crate::ptx::words::Word;
use orias_components::{Mod, Opcode, Operand, Reg};
use orias_systems::build::{cell, halves, imm, not, part, r, wide};

/// The word of a float type in a conversion.
pub fn word(ty: Type) -> Mod {
    match ty {
        Type::F16 | Type::F16x2 => Mod::F16,
        Type::Bf16 | Type::Bf16x2 => Mod::BF16,
        Type::F64 => Mod::F64,
        _ => Mod::F32,
    }
}

/// The word of an integer rounding; to nearest has none.
pub fn integer_rounding(inst: &Instruction) -> Option<Mod> {
    [(Word::Rzi, Mod::TRUNC), (Word::Rmi, Mod::FLOOR), (Word::Rpi, Mod::CEIL)]
        .into_iter()
        .find(|(name, _)| inst.has(*name))
        .map(|(_, m)| m)
}

/// A register of as many cells as a value of type `ty` has.
pub fn whole(ty: Type, reg: Reg) -> Operand {
    if ty.bytes() == 8 { wide(reg, 2) } else { r(reg) }
}

/// A float in a register as the conversions read it: a half is part of one.
pub fn float_source(ty: Type, reg: Reg) -> Operand {
    if crate::lower::common::half_operands::is_half(ty) {
        part(r(reg), Mod::NONE)
    } else {
        whole(ty, reg)
    }
}

/// `d` = a float clamped to [0, 1]; NaN and -0 become +0.
pub fn saturate(cx: &mut Cx<'_, '_>, ty: Type, d: Reg, a: Reg) {
    match ty {
        Type::F64 => {
            let (positive, below) = (cx.e.temp_pred(), cx.e.temp_pred());
            let (zero, one) = (wide(Reg::RZ, 2), wide(cx.e.join(Operand::RZ, imm(0x3ff0_0000)), 2));
            let a_wide = wide(a, 2);
            for (p, cmp, limit) in [(positive, Mod::GT, zero), (below, Mod::LT, one)] {
                let mods = [cmp, Mod::AND];
                let operands = [r(p), Operand::PT, a_wide, limit, Operand::PT];
                cx.e.put(Opcode::DSETP, &mods, 2, &operands);
            }
            let t = cx.e.temp(2);
            cx.e.sel(cell(t, 0), cell(a, 0), Operand::RZ, r(below));
            cx.e.sel(cell(t, 1), cell(a, 1), imm(0x3ff0_0000), r(below));
            for (d, t) in halves(d).into_iter().zip(halves(t)) {
                cx.e.sel(d, Operand::RZ, t, not(r(positive)));
            }
        }
        Type::F16 => crate::lower::common::half_operands::saturate(cx, r(d), r(a)),
        _ => cx.e.fadd(&[Mod::SAT], r(d), r(a), Operand::RZ),
    }
}

/// What a conversion writes first: the destination, or with `.sat` a register that [`finish`]
/// clamps into it.
pub fn target(cx: &mut Cx<'_, '_>, inst: &Instruction, ty: Type, d: Reg) -> Reg {
    if inst.has(Word::Sat) { cx.e.temp(if ty == Type::F64 { 2 } else { 1 }) } else { d }
}

/// Clamps what was written to [`target`] into the destination, where `.sat` asks for it.
pub fn finish(cx: &mut Cx<'_, '_>, inst: &Instruction, ty: Type, d: Reg, target: Reg) {
    if inst.has(Word::Sat) {
        saturate(cx, ty, d, target);
    }
}
