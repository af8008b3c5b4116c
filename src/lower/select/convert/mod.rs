//! `cvt`: between integers, floats, and both.

mod float;
mod integer;
mod mixed;
mod packed;

use crate::lower::source::{Cx, Sel, operand, type_at};
use crate::ptx::program::Instruction;
use crate::ptx::types::{Type, TypeKind};
use crate::ptx::words::Word;
use orias_components::{Mod, Opcode, Operand, Reg};
use orias_systems::emit::{cell, halves, imm, not, part, r, wide};

pub fn cvt(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    if inst.has(Word::Pack) {
        return integer::pack(cx, inst);
    }
    let (to, from) = (type_at(inst, 0)?, type_at(inst, 1)?);
    if to == Type::Tf32 {
        return packed::to_tf32(cx, inst);
    }
    if packed::is_packed(to) {
        return packed::convert(cx, inst, to, from);
    }
    for ty in [to, from] {
        let number = match ty.kind() {
            TypeKind::Signed | TypeKind::Unsigned => !matches!(ty, Type::U16x2 | Type::S16x2),
            _ => matches!(ty, Type::F16 | Type::Bf16 | Type::F32 | Type::F64),
        };
        if !number {
            return Err("conversion of this type".into());
        }
    }
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.value(operand(inst, 1)?, from)?;
    // A destination register wider than an integer type is extended by it.
    let cells = cx.dst_cells(operand(inst, 0)?);
    match (to.kind() == TypeKind::Float, from.kind() == TypeKind::Float) {
        (false, false) => integer::integer(cx, inst, d, cells, a, to, from),
        (true, false) => mixed::from_integer(cx, inst, d, a, to, from),
        (false, true) => mixed::to_integer(cx, inst, d, cells, a, to, from),
        (true, true) => float::float(cx, inst, d, a, to, from),
    }
}

/// The word of a float type in a conversion.
fn word(ty: Type) -> Mod {
    match ty {
        Type::F16 | Type::F16x2 => Mod::F16,
        Type::Bf16 | Type::Bf16x2 => Mod::BF16,
        Type::F64 => Mod::F64,
        _ => Mod::F32,
    }
}

/// The word of an integer rounding; to nearest has none.
fn integer_rounding(inst: &Instruction) -> Option<Mod> {
    [(Word::Rzi, Mod::TRUNC), (Word::Rmi, Mod::FLOOR), (Word::Rpi, Mod::CEIL)]
        .into_iter()
        .find(|(name, _)| inst.has(*name))
        .map(|(_, m)| m)
}

/// A register of as many cells as a value of type `ty` has.
fn whole(ty: Type, reg: Reg) -> Operand {
    if ty.bytes() == 8 { wide(reg, 2) } else { r(reg) }
}

/// A float in a register as the conversions read it: a half is part of one.
fn float_source(ty: Type, reg: Reg) -> Operand {
    if super::half::is_half(ty) { part(r(reg), Mod::NONE) } else { whole(ty, reg) }
}

/// `d` = a float clamped to [0, 1]; NaN and -0 become +0.
fn saturate(cx: &mut Cx<'_, '_>, ty: Type, d: Reg, a: Reg) {
    match ty {
        Type::F64 => {
            let (positive, below) = (cx.e.temp_pred(), cx.e.temp_pred());
            let (zero, one) = (wide(Reg::RZ, 2), wide(cx.join(Operand::RZ, imm(0x3ff0_0000)), 2));
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
        Type::F16 => super::half::saturate(cx, r(d), r(a)),
        _ => cx.e.fadd(&[Mod::SAT], r(d), r(a), Operand::RZ),
    }
}

/// What a conversion writes first: the destination, or with `.sat` a register that [`finish`]
/// clamps into it.
fn target(cx: &mut Cx<'_, '_>, inst: &Instruction, ty: Type, d: Reg) -> Reg {
    if inst.has(Word::Sat) { cx.e.temp(if ty == Type::F64 { 2 } else { 1 }) } else { d }
}

fn finish(cx: &mut Cx<'_, '_>, inst: &Instruction, ty: Type, d: Reg, target: Reg) {
    if inst.has(Word::Sat) {
        saturate(cx, ty, d, target);
    }
}
