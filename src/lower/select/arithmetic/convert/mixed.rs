//! Between integers and floats.

use super::format::{finish, integer_rounding, target, whole, word};
use super::integer::finish_integer;
use crate::lower::common::modifiers::rounding;
use crate::lower::context::cx::{Cx, Sel};
use crate::lower::context::value::Value;
use crate::ptx::program::Instruction;
use crate::ptx::types::Type;
use crate::ptx::words::Word;
use orias_components::{Mod, Opcode, Operand, Reg};
use orias_systems::build::{cell, part, r, wide};

/// The word of an integer type; signed 32-bit has none.
fn integer_word(ty: Type) -> Option<Mod> {
    Some(match (ty.bytes(), ty.is_signed()) {
        (1, false) => Mod::U8,
        (1, true) => Mod::S8,
        (2, false) => Mod::U16,
        (2, true) => Mod::S16,
        (4, false) => Mod::U32,
        (8, false) => Mod::U64,
        (8, true) => Mod::S64,
        _ => return None,
    })
}

/// The operand of a value in registers of its type's width; a narrow one is the low part of its
/// register.
fn source(cx: &mut Cx<'_, '_>, a: Value, ty: Type) -> Operand {
    if ty.bytes() == 8 {
        return wide(cx.pair_of(a), 2);
    }
    let word = a.lo();
    let word = cx.in_reg(word);
    if ty.bytes() < 4 { part(word, Mod::NONE) } else { word }
}

/// Integer to float.
pub fn from_integer(
    cx: &mut Cx<'_, '_>,
    inst: &Instruction,
    d: Reg,
    a: Value,
    to: Type,
    from: Type,
) -> Sel {
    let round = rounding(inst);
    let t = target(cx, inst, to, d);
    if to == Type::F32 && from.bytes() < 8 && matches!(round, None | Some(Mod::RZ)) {
        // The fast converter takes 32 bits and has no directed roundings.
        let value = cx.extend(a, from);
        let value = cx.in_reg(value);
        let mut mods = vec![Mod::F32, if from.is_signed() { Mod::S32 } else { Mod::U32 }];
        mods.extend(round);
        cx.e.put(Opcode::I2FP, &mods, 1, &[r(t), value]);
    } else {
        let value = source(cx, a, from);
        let mut mods = Vec::new();
        if to != Type::F32 {
            mods.push(word(to));
        }
        mods.extend(integer_word(from));
        mods.extend(round);
        cx.e.put(Opcode::I2F, &mods, 1, &[whole(to, t), value]);
    }
    finish(cx, inst, to, d, t);
    Ok(())
}

/// Float to integer, clamped to the range of `to`, which `.sat` cannot narrow further. NaN becomes
/// 0, or where source or result have 64 bits the highest bit alone: without `.NTZ` the machine does
/// that.
pub fn to_integer(
    cx: &mut Cx<'_, '_>,
    inst: &Instruction,
    d: Reg,
    d_cells: u8,
    a: Value,
    to: Type,
    from: Type,
) -> Sel {
    let mut mods = Vec::new();
    if inst.has(Word::Ftz) {
        mods.push(Mod::FTZ);
    }
    mods.extend(integer_word(to));
    if from != Type::F32 {
        mods.push(word(from));
    }
    mods.extend(integer_rounding(inst));
    if from != Type::F64 && to.bytes() != 8 {
        mods.push(Mod::NTZ);
    }
    let value = source(cx, a, from);
    if to.bytes() == 8 {
        cx.e.put(Opcode::F2I, &mods, 1, &[wide(d, 2), value]);
    } else if d_cells == 1 && to.bytes() == 4 {
        cx.e.put(Opcode::F2I, &mods, 1, &[cell(d, 0), value]);
    } else {
        let t = cx.e.temp(1);
        cx.e.put(Opcode::F2I, &mods, 1, &[r(t), value]);
        finish_integer(cx, d, d_cells, Value::Reg(t, 1), to);
    }
    Ok(())
}
