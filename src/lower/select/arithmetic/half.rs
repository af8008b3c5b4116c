//! Arithmetic on halves: f16 and bf16, alone or two in a register.
//!
//! The machine knows pairs only. A single half is read into both halves of the operation
//! (`.H0_H0`), and the upper half of the result means nothing: a 16-bit value lives in the low half
//! of its register, with anything above.

use crate::lower::common::half_operands::{ZERO, format, is_pair, source};
use crate::lower::context::cx::{Cx, Sel, operand, type_at};
use crate::ptx::program::{Instruction, Operand as Ptx};
use crate::ptx::types::Type;
use crate::ptx::words::Word;
use orias_components::{Mod, Opcode, Operand};
use orias_systems::build::{fabs, fneg, imm, part, r};

/// Format, flush and saturation, in the order of the rows.
fn words(inst: &Instruction, ty: Type) -> Vec<Mod> {
    let flags = [(Word::Ftz, Mod::FTZ), (Word::Oob, Mod::OOB), (Word::Sat, Mod::SAT)];
    let flags = flags.into_iter().filter(|(name, _)| inst.has(*name)).map(|(_, word)| word);
    format(ty).into_iter().chain(flags).collect()
}

/// `add` and `sub`: HADD2.
pub fn add(cx: &mut Cx<'_, '_>, inst: &Instruction, subtract: bool) -> Sel {
    let ty = type_at(inst, 0)?;
    let d = cx.dst(operand(inst, 0)?)?;
    let a = source(cx, operand(inst, 1)?, ty)?;
    let b = source(cx, operand(inst, 2)?, ty)?;
    let b = if subtract { fneg(b) } else { b };
    cx.e.put(Opcode::HADD2, &words(inst, ty), 1, &[r(d), a, b]);
    Ok(())
}

/// `mul`: HMUL2.
pub fn mul(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let d = cx.dst(operand(inst, 0)?)?;
    let a = source(cx, operand(inst, 1)?, ty)?;
    let b = source(cx, operand(inst, 2)?, ty)?;
    cx.e.put(Opcode::HMUL2, &words(inst, ty), 1, &[r(d), a, b]);
    Ok(())
}

/// `fma`: HFMA2.
pub fn fma(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let d = cx.dst(operand(inst, 0)?)?;
    let mut sources = [Operand::RZ; 3];
    for (i, source_operand) in sources.iter_mut().enumerate() {
        *source_operand = source(cx, operand(inst, i + 1)?, ty)?;
    }
    put_fma(cx, inst, ty, r(d), sources);
    Ok(())
}

fn put_fma(cx: &mut Cx<'_, '_>, inst: &Instruction, ty: Type, d: Operand, [a, b, c]: [Operand; 3]) {
    let mut mods = words(inst, ty);
    if inst.has(Word::Relu) {
        mods.push(Mod::RELU);
        cx.e.put(Opcode::HFMA2, &mods, 1, &[d, a, b, c, Operand::PT]);
    } else {
        cx.e.put(Opcode::HFMA2, &mods, 1, &[d, a, b, c]);
    }
}

/// What `float::fused` does, for halves: `a·b + c` with the signs that the addition wants.
pub fn fused(
    cx: &mut Cx<'_, '_>,
    [a, b, c]: [&Ptx; 3],
    add: &Instruction,
    (minus_product, minus_c): (bool, bool),
) -> Sel {
    let ty = type_at(add, 0)?;
    let d = cx.dst(operand(add, 0)?)?;
    let (a, b, c) = (source(cx, a, ty)?, source(cx, b, ty)?, source(cx, c, ty)?);
    let a = if minus_product { fneg(a) } else { a };
    let c = if minus_c { fneg(c) } else { c };
    put_fma(cx, add, ty, r(d), [a, b, c]);
    Ok(())
}

/// A sum with the zero that changes nothing. The sum of bf16 numbers is a product with a summand,
/// as ptxas has it.
fn unchanged(cx: &mut Cx<'_, '_>, inst: &Instruction, ty: Type, d: Operand, a: Operand) {
    let mods = words(inst, ty);
    let minus_zero = fneg(ZERO);
    if format(ty).is_some() {
        cx.e.put(Opcode::HFMA2, &mods, 1, &[d, minus_zero, ZERO, a]);
    } else {
        cx.e.put(Opcode::HADD2, &mods, 1, &[d, a, minus_zero]);
    }
}

/// `neg`: the other sign.
pub fn neg(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let d = cx.dst(operand(inst, 0)?)?;
    let a = source(cx, operand(inst, 1)?, ty)?;
    unchanged(cx, inst, ty, r(d), fneg(a));
    Ok(())
}

/// `abs`: without sign.
pub fn abs(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let d = cx.dst(operand(inst, 0)?)?;
    let a = source(cx, operand(inst, 1)?, ty)?;
    unchanged(cx, inst, ty, r(d), fabs(a));
    Ok(())
}

/// `min` and `max`: HMNMX2.
pub fn minmax(cx: &mut Cx<'_, '_>, inst: &Instruction, max: bool) -> Sel {
    let ty = type_at(inst, 0)?;
    let d = cx.dst(operand(inst, 0)?)?;
    let a = source(cx, operand(inst, 1)?, ty)?;
    let b = source(cx, operand(inst, 2)?, ty)?;
    let mut mods: Vec<Mod> = format(ty).into_iter().collect();
    if inst.has(Word::Ftz) {
        mods.push(Mod::FTZ);
    }
    if inst.has(Word::NaN) {
        mods.push(Mod::NAN);
    }
    let (a, b) = if inst.has(Word::Xorsign) {
        mods.push(Mod::XORSIGN);
        (fabs(a), fabs(b))
    } else {
        (a, b)
    };
    let p = if max { Operand::NOT_PT } else { Operand::PT };
    cx.e.put(Opcode::HMNMX2, &mods, 1, &[r(d), a, b, p]);
    Ok(())
}

/// `ex2` and `tanh`: the special function unit takes one half at a time.
pub fn function(cx: &mut Cx<'_, '_>, inst: &Instruction, function: Mod) -> Sel {
    let ty = type_at(inst, 0)?;
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.src(operand(inst, 1)?, ty)?;
    let a = part(cx.in_reg(a), Mod::NONE);
    let mods = [function, if format(ty).is_some() { Mod::BF16 } else { Mod::F16 }];
    if !is_pair(ty) {
        cx.e.put(Opcode::MUFU, &mods, 1, &[r(d), a]);
        return Ok(());
    }
    let (low, high) = (cx.e.temp(1), cx.e.temp(1));
    cx.e.put(Opcode::MUFU, &mods, 1, &[r(low), a]);
    cx.e.put(Opcode::MUFU, &mods, 1, &[r(high), part(a, Mod::H1)]);
    cx.e.prmt(r(d), r(low), imm(0x5410), r(high));
    Ok(())
}
