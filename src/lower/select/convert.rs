//! `cvt`: between integers, floats, and both.

use super::float::rounding;
use super::moves::{move_to, select_word};
use crate::lower::source::{Cx, Sel, Value, cells_of, operand, type_at};
use crate::ptx::program::Instruction;
use crate::ptx::types::{Type, TypeKind};
use orias_components::{Mod, Opcode, Operand, Reg};
use orias_systems::convert::{Narrow, narrow_double};
use orias_systems::emit::{cell, fneg, imm, r, wide};

pub fn cvt<'a>(cx: &mut Cx<'a, '_>, inst: &Instruction<'a>) -> Sel {
    if inst.has("pack") || inst.operands.len() > 2 {
        return Err("packed conversion".into());
    }
    let (to, from) = (type_at(inst, 0)?, type_at(inst, 1)?);
    let known = |ty: Type| {
        matches!(ty, Type::F32 | Type::F64 | Type::F16)
            || matches!(ty.kind(), TypeKind::Signed | TypeKind::Unsigned)
                && ty != Type::U16x2
                && ty != Type::S16x2
    };
    if to == Type::Tf32 && from == Type::F32 {
        return to_tf32(cx, inst);
    }
    if !known(to) || !known(from) {
        return Err("conversion of this type".into());
    }
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.value(operand(inst, 1)?, from)?;
    match (to.kind() == TypeKind::Float, from.kind() == TypeKind::Float) {
        (false, false) => {
            // A destination register wider than its type is extended by it.
            let cells = cx.dst_cells(operand(inst, 0)?);
            integer(cx, inst, d, cells, a, to, from)
        }
        (true, false) => from_integer(cx, inst, d, a, to, from),
        (false, true) => {
            let cells = cx.dst_cells(operand(inst, 0)?);
            to_integer(cx, inst, d, cells, a, to, from)
        }
        (true, true) => float(cx, inst, d, a, to, from),
    }
}

/// Integer to integer: extension or truncation, with `.sat` clamped.
fn integer(
    cx: &mut Cx<'_, '_>,
    inst: &Instruction<'_>,
    d: Reg,
    d_cells: u8,
    a: Value,
    to: Type,
    from: Type,
) -> Sel {
    if inst.has("sat") {
        let clamped = saturate(cx, a, to, from)?;
        finish_integer(cx, d, d_cells, clamped, to);
        return Ok(());
    }
    if to.bytes() == 8 {
        if from.bytes() == 8 {
            move_to(cx, d, 2, a);
            return Ok(());
        }
        let low = cx.extend(a, from);
        if from.is_signed() {
            let low = match low {
                // The high half is written last, from the destination's low half.
                Operand::Imm(_) => cx.in_reg(low),
                low => low,
            };
            cx.e.mov(cell(d, 0), low);
            cx.e.shr(cell(d, 1), low, imm(31), true);
        } else {
            cx.e.mov(cell(d, 0), low);
            cx.e.mov(cell(d, 1), Operand::RZ);
        }
        return Ok(());
    }
    if to.bytes() >= from.bytes() {
        let value = cx.extend(a, from);
        let narrow = Value::Reg(reg_of(cx, value), 1);
        finish_integer(cx, d, d_cells, narrow, to);
    } else {
        finish_integer(cx, d, d_cells, a, to);
    }
    Ok(())
}

fn reg_of(cx: &mut Cx<'_, '_>, value: Operand) -> Reg {
    let value = cx.in_reg(value);
    match value.as_reg() {
        // A whole register of one cell is itself; one cell of a wider one is copied.
        Some(u) if u.cell == 0 && u.reg.vreg().is_none_or(|v| cx.e.body.vreg(v).cells == 1) => {
            u.reg
        }
        _ => {
            let d = cx.e.temp(1);
            cx.e.mov(r(d), value);
            d
        }
    }
}

/// Writes a 32-bit value of type `to` into a register that may be wider: 8- and 16-bit values are extended to 32 bits or more only
/// when the register is wider than 16 bits, and it costs the same.
fn finish_integer(cx: &mut Cx<'_, '_>, d: Reg, d_cells: u8, value: Value, to: Type) {
    if to.bytes() < 4 {
        let low = value.lo();
        let low = cx.in_reg(low);
        cx.extend_to(cell(d, 0), low, to);
    } else {
        cx.e.mov(cell(d, 0), value.lo());
    }
    if to.bytes() == 8 {
        cx.e.mov(cell(d, 1), value.hi());
    } else if d_cells == 2 {
        if to.is_signed() {
            cx.e.shr(cell(d, 1), cell(d, 0), imm(31), true);
        } else {
            cx.e.mov(cell(d, 1), Operand::RZ);
        }
    }
}

/// The limits of an integer type in 64 bits.
fn limits(ty: Type) -> (i128, i128) {
    let bits = ty.bits();
    if ty.is_signed() {
        (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
    } else {
        (0, (1i128 << bits) - 1)
    }
}

/// `a` of type `from`, clamped to the limits of `to`; a value of the wider of both.
fn saturate(cx: &mut Cx<'_, '_>, a: Value, to: Type, from: Type) -> Sel<Value> {
    let (to_min, to_max) = limits(to);
    let (from_min, from_max) = limits(from);
    let signed = from.is_signed();
    if from.bytes() < 8 {
        let word = cx.extend(a, from);
        let mut word = cx.in_reg(word);
        if to_max < from_max {
            let t = cx.e.temp(1);
            cx.e.minmax(r(t), word, imm(to_max as u32), false, signed);
            word = r(t);
        }
        if to_min > from_min {
            let t = cx.e.temp(1);
            cx.e.minmax(r(t), word, imm(to_min as u32), true, signed);
            word = r(t);
        }
        let reg = reg_of(cx, word);
        if to.bytes() == 8 {
            let high = cx.e.temp(1);
            if signed && to.is_signed() {
                cx.e.shr(r(high), r(reg), imm(31), true);
                return Ok(Value::Reg(cx.join(r(reg), r(high)), 2));
            }
            return Ok(Value::Reg(cx.join(r(reg), Operand::RZ), 2));
        }
        return Ok(Value::Reg(reg, 1));
    }
    let mut value = a;
    let and = (Mod::AND, Operand::PT);
    for (limit, cmp, from_limit) in [(to_max, Mod::GT, from_max), (to_min, Mod::LT, from_min)] {
        let inside = if cmp == Mod::GT { limit >= from_limit } else { limit <= from_limit };
        if inside {
            continue;
        }
        let bound = Value::Imm(limit as u64);
        let p = cx.e.temp_pred();
        let reg = cx.pair_of(value);
        let words = [cell(reg, 0), cell(reg, 1)];
        cx.e.isetp64(r(p), cmp, signed, words, bound.halves(), and);
        let t = cx.e.temp(2);
        for i in 0..2 {
            select_word(cx, cell(t, i), bound.halves()[i as usize], words[i as usize], r(p));
        }
        value = Value::Reg(t, 2);
    }
    Ok(value)
}

/// Integer to float.
fn from_integer(
    cx: &mut Cx<'_, '_>,
    inst: &Instruction<'_>,
    d: Reg,
    a: Value,
    to: Type,
    from: Type,
) -> Sel {
    let round = rounding(inst);
    let sat = inst.has("sat");
    let mut mods = Vec::new();
    if to == Type::F16 {
        return Err("conversion to f16".into());
    }
    if to == Type::F64 {
        mods.push(Mod::F64);
    }
    let dest = if to == Type::F64 { wide(d, 2) } else { r(d) };
    let to_unit = if sat { r(cx.e.temp(1)) } else { dest };
    if sat && to == Type::F64 {
        return Err("saturation of f64".into());
    }
    if from.bytes() == 8 {
        mods.push(if from.is_signed() { Mod::S64 } else { Mod::U64 });
        mods.extend(round);
        let pair = cx.pair_of(a);
        cx.e.put(Opcode::I2F, &mods, 1, &[to_unit, wide(pair, 2)]);
    } else {
        let word = cx.extend(a, from);
        let word = cx.in_reg(word);
        // After extension small integers are 32-bit ones.
        if to == Type::F64 {
            if !from.is_signed() {
                mods.push(Mod::U32);
            }
            mods.extend(round);
            cx.e.put(Opcode::I2F, &mods, 1, &[to_unit, word]);
        } else if matches!(round, None | Some(Mod::RZ)) {
            let mut mods = vec![Mod::F32, if from.is_signed() { Mod::S32 } else { Mod::U32 }];
            mods.extend(round);
            cx.e.put(Opcode::I2FP, &mods, 1, &[to_unit, word]);
        } else {
            // The fast converter has no directed roundings.
            if !from.is_signed() {
                mods.push(Mod::U32);
            }
            mods.extend(round);
            cx.e.put(Opcode::I2F, &mods, 1, &[to_unit, word]);
        }
    }
    if sat {
        cx.e.fadd(&[Mod::SAT], dest, to_unit, Operand::RZ);
    }
    Ok(())
}

/// The word of an integer rounding; to nearest has none.
fn integer_rounding(inst: &Instruction<'_>) -> Option<Mod> {
    [("rzi", Mod::TRUNC), ("rmi", Mod::FLOOR), ("rpi", Mod::CEIL)]
        .into_iter()
        .find(|(name, _)| inst.has(name))
        .map(|(_, m)| m)
}

/// Float to integer, clamped to the destination's range; NaN becomes what the hardware gives: 0 for 32 bits and less, the lowest
/// number for 64 bits.
fn to_integer(
    cx: &mut Cx<'_, '_>,
    inst: &Instruction<'_>,
    d: Reg,
    d_cells: u8,
    a: Value,
    to: Type,
    from: Type,
) -> Sel {
    let mut mods = Vec::new();
    if inst.has("ftz") {
        mods.push(Mod::FTZ);
    }
    match (to.bytes(), to.is_signed()) {
        (8, true) => mods.push(Mod::S64),
        (8, false) => mods.push(Mod::U64),
        (4, false) => mods.push(Mod::U32),
        _ => {}
    }
    if from == Type::F16 {
        return Err("conversion from f16".into());
    }
    if from == Type::F64 {
        mods.push(Mod::F64);
    }
    mods.extend(integer_rounding(inst));
    if from == Type::F32 && to.bytes() != 8 {
        mods.push(Mod::NTZ);
    }
    let source = if from == Type::F64 {
        wide(cx.pair_of(a), 2)
    } else {
        let word = a.lo();
        cx.in_reg(word)
    };
    if to.bytes() == 8 {
        cx.e.put(Opcode::F2I, &mods, 1, &[wide(d, 2), source]);
        return Ok(());
    }
    if to.bytes() == 4 {
        cx.e.put(Opcode::F2I, &mods, 1, &[cell(d, 0), source]);
        if d_cells == 2 {
            finish_high(cx, d, to);
        }
        return Ok(());
    }
    // Narrow integers: of f64 by themselves, because a NaN becomes their own lowest number.
    let t = cx.e.temp(1);
    if from == Type::F64 {
        let narrow = match to {
            Type::U8 => Mod::U8,
            Type::S8 => Mod::S8,
            Type::U16 => Mod::U16,
            _ => Mod::S16,
        };
        mods.insert(0, narrow);
        cx.e.put(Opcode::F2I, &mods, 1, &[r(t), source]);
        finish_integer(cx, d, d_cells, Value::Reg(t, 1), to);
        return Ok(());
    }
    // Others: convert to a signed 32-bit one, then clamp.
    cx.e.put(Opcode::F2I, &mods, 1, &[r(t), source]);
    let clamped = saturate(cx, Value::Reg(t, 1), to, Type::S32)?;
    finish_integer(cx, d, d_cells, clamped, to);
    Ok(())
}

fn finish_high(cx: &mut Cx<'_, '_>, d: Reg, to: Type) {
    if to.is_signed() {
        cx.e.shr(cell(d, 1), cell(d, 0), imm(31), true);
    } else {
        cx.e.mov(cell(d, 1), Operand::RZ);
    }
}

/// Float to float: width, or rounding to an integral value.
fn float(
    cx: &mut Cx<'_, '_>,
    inst: &Instruction<'_>,
    d: Reg,
    a: Value,
    to: Type,
    from: Type,
) -> Sel {
    let ftz = inst.has("ftz");
    let sat = inst.has("sat");
    let integral = ["rni", "rzi", "rmi", "rpi"].iter().any(|m| inst.has(m));
    match (to, from) {
        (Type::F32, Type::F32) | (Type::F64, Type::F64) => {
            let double = to == Type::F64;
            if double && sat {
                return Err("saturation of f64".into());
            }
            let pair = |reg: Reg| if double { wide(reg, 2) } else { r(reg) };
            let source = if double { wide(cx.pair_of(a), 2) } else { a.lo() };
            let source = if double { source } else { cx.in_reg(source) };
            if integral {
                let mut mods = Vec::new();
                if ftz {
                    mods.push(Mod::FTZ);
                }
                if double {
                    mods.push(Mod::F64);
                }
                mods.extend(integer_rounding(inst));
                if sat {
                    let t = cx.e.temp(1);
                    cx.e.put(Opcode::FRND, &mods, 1, &[r(t), source]);
                    cx.e.fadd(&[Mod::SAT], r(d), r(t), fneg(Operand::RZ));
                } else {
                    cx.e.put(Opcode::FRND, &mods, 1, &[pair(d), source]);
                }
            } else if sat || ftz {
                let mut mods = Vec::new();
                if ftz {
                    mods.push(Mod::FTZ);
                }
                // Adding -0 keeps every value; saturation makes -0 and NaN +0.
                if sat {
                    mods.push(Mod::SAT);
                    cx.e.fadd(&mods, r(d), source, Operand::RZ);
                } else {
                    cx.e.fadd(&mods, r(d), source, fneg(Operand::RZ));
                }
            } else {
                move_to(cx, d, cells_of(to), a);
            }
        }
        (Type::F64, Type::F32) => {
            if sat {
                return Err("saturation of f64".into());
            }
            let mut mods = Vec::new();
            if ftz {
                mods.push(Mod::FTZ);
            }
            mods.extend([Mod::F64, Mod::F32]);
            let word = a.lo();
            let word = cx.in_reg(word);
            cx.e.put(Opcode::F2F, &mods, 1, &[wide(d, 2), word]);
        }
        (Type::F32, Type::F64) => {
            let narrow = Narrow { round: rounding(inst), ftz };
            let pair = cx.pair_of(a);
            let rounded = if sat { r(cx.e.temp(1)) } else { r(d) };
            narrow_double(&mut cx.e, narrow, rounded, wide(pair, 2));
            if sat {
                cx.e.fadd(&[Mod::SAT], r(d), rounded, Operand::RZ);
            }
        }
        _ => return Err("conversion of half precision".into()),
    }
    Ok(())
}

/// `cvt.rna.tf32.f32`: half an ulp of the 10-bit mantissa is added, the rest cut off; infinities stay, or are the largest number with
/// `.satfinite`, and a NaN is one that keeps its bits when it is cut off.
fn to_tf32<'a>(cx: &mut Cx<'a, '_>, inst: &Instruction<'a>) -> Sel {
    if !inst.has("rna") || inst.has("relu") {
        return Err("this rounding".into());
    }
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.src(operand(inst, 1)?, Type::F32)?;
    let a = cx.in_reg(a);
    let (nan, large) = (cx.e.temp_pred(), cx.e.temp_pred());
    let and = (Mod::AND, Operand::PT);
    cx.e.fsetp(r(nan), Mod::NAN, false, [a, a], and);
    cx.e.fsetp(r(large), Mod::GE, false, [orias_systems::emit::fabs(a), imm(0x7f80_0000)], and);
    let (up, chosen, cut) = (cx.e.temp(1), cx.e.temp(1), cx.e.temp(1));
    cx.e.iadd3(r(up), a, imm(0x1000), Operand::RZ);
    cx.e.sel(r(chosen), a, r(up), r(large));
    cx.e.and(r(cut), r(chosen), imm(0xffff_e000));
    if inst.has("satfinite") {
        let (most, signed, infinite) = (cx.e.temp(1), cx.e.temp(1), cx.e.temp_pred());
        cx.e.fsetp(
            r(infinite),
            Mod::GE,
            false,
            [orias_systems::emit::fabs(r(cut)), imm(0x7f80_0000)],
            and,
        );
        cx.e.mov(r(most), imm(0x7f7f_e000));
        cx.e.lop3(r(signed), a, imm(0x8000_0000), r(most), 0xea);
        let finite = cx.e.temp(1);
        cx.e.sel(r(finite), r(signed), r(cut), r(infinite));
        cx.e.sel(r(d), r(finite), imm(0x7fff_e000), orias_systems::emit::not(r(nan)));
    } else {
        cx.e.sel(r(d), r(cut), imm(0x7fff_e000), orias_systems::emit::not(r(nan)));
    }
    Ok(())
}
