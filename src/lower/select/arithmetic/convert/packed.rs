//! Pairs of narrow floats, and tf32.

use super::format::word;
use crate::lower::common::modifiers::rounding;
use crate::lower::context::cx::{Cx, Sel, operand};
use crate::ptx::program::Instruction;
use crate::ptx::types::Type;
use crate::ptx::words::Word;
use orias_components::{Mod, Opcode, Operand};
use orias_systems::build::{fabs, imm, not, part, r};

/// Whether a type is two or more numbers in a word.
pub fn is_packed(ty: Type) -> bool {
    matches!(ty, Type::F16x2 | Type::Bf16x2 | Type::E4m3x2 | Type::E5m2x2)
}

/// The word of an 8-bit format.
fn byte_format(ty: Type) -> Option<Mod> {
    match ty {
        Type::E4m3x2 => Some(Mod::E4M3),
        Type::E5m2x2 => Some(Mod::E5M2),
        _ => None,
    }
}

/// To a pair: of two singles, the first one high, or of a pair.
pub fn convert(cx: &mut Cx<'_, '_>, inst: &Instruction, to: Type, from: Type) -> Sel {
    let d = cx.dst(operand(inst, 0)?)?;
    let mut sources = Vec::new();
    for op in inst.operands.iter().skip(1) {
        let value = cx.src(op, from)?;
        sources.push(cx.in_reg(value));
    }
    let mut mods = Vec::new();
    if inst.has(Word::Satfinite) {
        mods.push(Mod::SATFINITE);
    }
    if inst.has(Word::Relu) {
        mods.push(Mod::RELU);
    }
    let operands = match (byte_format(to), byte_format(from), &sources[..]) {
        (None, None, [a, b]) if from == Type::F32 => {
            mods.extend([word(to), Mod::F32, Mod::PACK_AB]);
            mods.extend(rounding(inst));
            vec![r(d), *a, *b]
        }
        (Some(to), None, [a, b]) if from == Type::F32 => {
            mods.extend([to, Mod::F32, Mod::PACK_AB_MERGE_C]);
            vec![r(d), *a, *b, part(Operand::RZ, Mod::NONE)]
        }
        (Some(to), None, [a]) if from == Type::F16x2 => {
            mods.extend([to, Mod::F16, Mod::UNPACK_B_MERGE_C]);
            vec![r(d), *a, part(Operand::RZ, Mod::NONE)]
        }
        (None, Some(from), [a]) => {
            mods.extend([word(to), from, Mod::UNPACK_B]);
            vec![r(d), part(*a, Mod::NONE)]
        }
        _ => return Err("conversion of this type".into()),
    };
    cx.e.put(Opcode::F2FP, &mods, 1, &operands);
    Ok(())
}

/// To tf32.
pub fn to_tf32(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    if inst.has(Word::Rna) {
        return to_nearest_away(cx, inst);
    }
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.src(operand(inst, 1)?, Type::F32)?;
    let a = cx.in_reg(a);
    let mut mods = Vec::new();
    if inst.has(Word::Relu) {
        mods.push(Mod::RELU);
    }
    mods.extend([Mod::TF32, Mod::F32, Mod::PACK_B]);
    mods.extend(rounding(inst));
    cx.e.put(Opcode::F2FP, &mods, 1, &[r(d), a]);
    Ok(())
}

/// `cvt.rna.tf32.f32`: half an ulp of the 10-bit mantissa is added, the rest cut off; infinities
/// stay, or are the largest number with `.satfinite`. Of a NaN without that the rest is cut off,
/// too, as ptxas 13.0.88 does it: which NaN comes out is open.
fn to_nearest_away(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.src(operand(inst, 1)?, Type::F32)?;
    let a = cx.in_reg(a);
    let and = (Mod::AND, Operand::PT);
    let (large, up, chosen) = (cx.e.temp_pred(), cx.e.temp(1), cx.e.temp(1));
    cx.e.fsetp(r(large), Mod::GEU, false, [fabs(a), imm(0x7f80_0000)], and);
    cx.e.iadd3(r(up), a, imm(0x1000), Operand::RZ);
    cx.e.sel(r(chosen), a, r(up), r(large));
    if !inst.has(Word::Satfinite) {
        cx.e.and(r(d), r(chosen), imm(0xffff_e000));
        return Ok(());
    }
    let (nan, cut) = (cx.e.temp_pred(), cx.e.temp(1));
    cx.e.fsetp(r(nan), Mod::NAN, false, [a, a], and);
    cx.e.and(r(cut), r(chosen), imm(0xffff_e000));
    let (most, signed, infinite) = (cx.e.temp(1), cx.e.temp(1), cx.e.temp_pred());
    cx.e.fsetp(r(infinite), Mod::GE, false, [fabs(r(cut)), imm(0x7f80_0000)], and);
    cx.e.mov(r(most), imm(0x7f7f_e000));
    cx.e.lop3(r(signed), a, imm(0x8000_0000), r(most), 0xea);
    let finite = cx.e.temp(1);
    cx.e.sel(r(finite), r(signed), r(cut), r(infinite));
    cx.e.sel(r(d), r(finite), imm(0x7fff_e000), not(r(nan)));
    Ok(())
}
