//! Integers to integers: extension, truncation, clamping; several at once in `cvt.pack`.

use crate::lower::common::words::{move_to, select_word};
use crate::lower::context::cx::{Cx, Sel, operand};
use crate::lower::context::value::Value;
use crate::ptx::program::Instruction;
use crate::ptx::types::Type;
use crate::ptx::words::Word;
use orias_components::{Mod, Opcode, Operand, Reg};
use orias_systems::build::{cell, imm, part, r};

/// Integer to integer: extension or truncation, with `.sat` clamped.
pub fn integer(
    cx: &mut Cx<'_, '_>,
    inst: &Instruction,
    d: Reg,
    d_cells: u8,
    a: Value,
    to: Type,
    from: Type,
) -> Sel {
    if inst.has(Word::Sat) {
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

/// Writes a 32-bit value of type `to` into a register that may be wider: 8- and 16-bit values are
/// extended to 32 bits or more only when the register is wider than 16 bits, and it costs the same.
pub fn finish_integer(cx: &mut Cx<'_, '_>, d: Reg, d_cells: u8, value: Value, to: Type) {
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
                return Ok(Value::Reg(cx.e.join(r(reg), r(high)), 2));
            }
            return Ok(Value::Reg(cx.e.join(r(reg), Operand::RZ), 2));
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

/// `cvt.pack`: two clamped integers, the first one high, below what `c` has in its low bits.
pub fn pack(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let to = inst.modifiers.iter().find_map(|word| match *word {
        Word::U16 => Some((Mod::U16, Mod::NONE)),
        Word::S16 => Some((Mod::S16, Mod::NONE)),
        Word::U8 => Some((Mod::U8, Mod::NONE)),
        Word::S8 => Some((Mod::S8, Mod::NONE)),
        Word::U4 => Some((Mod::U4, Mod::_24)),
        Word::S4 => Some((Mod::S4, Mod::_24)),
        Word::U2 => Some((Mod::U2, Mod::_28)),
        Word::S2 => Some((Mod::S2, Mod::_28)),
        _ => None,
    });
    let (to, place) = to.ok_or("packed type")?;
    let d = cx.dst(operand(inst, 0)?)?;
    let mut sources = [Operand::RZ; 3];
    for (i, source) in sources.iter_mut().enumerate().take(inst.operands.len() - 1) {
        let value = cx.src(operand(inst, i + 1)?, Type::S32)?;
        *source = if value == imm(0) { Operand::RZ } else { cx.in_reg(value) };
    }
    let [a, b, c] = sources;
    let operands = [r(d), a, b, part(c, place)];
    cx.e.put(Opcode::I2IP, &[to, Mod::S32, Mod::SAT], 1, &operands);
    Ok(())
}
