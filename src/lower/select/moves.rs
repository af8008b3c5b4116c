//! `mov` in all its forms, address conversion, selection.

use crate::lower::common::words::{extract, move_to, pack_words, select};
use crate::lower::context::cx::{Cx, Sel, cells_of, operand, type_at};
use crate::lower::context::value::Value;
use crate::ptx::program::{Instruction, Operand as Ptx};
use crate::ptx::types::{Space, Type};
use crate::ptx::words::Word;
use orias_components::{Mod, Opcode, Operand, Reg};
use orias_systems::build::{cell, r, wide};

/// `mov`: of values, of elements, and between a wide register and its parts.
pub fn mov(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let (d, s) = (operand(inst, 0)?, operand(inst, 1)?);
    if ty == Type::Pred {
        let d = cx.dst_pred(d)?;
        if matches!(s, Ptx::Special(_)) {
            let word = cx.src(s, Type::U32)?;
            cx.e.icmp(d, Mod::NE, false, word, Operand::RZ);
            return Ok(());
        }
        let s = cx.pred(s)?;
        cx.e.mov_pred(d, s);
        return Ok(());
    }
    match (d, s) {
        (Ptx::Vector(dests), Ptx::Vector(sources)) => each_element(cx, ty, dests, sources),
        (Ptx::Vector(parts), _) => unpack(cx, ty, parts, s),
        (_, Ptx::Vector(parts)) => {
            let d = cx.dst(d)?;
            pack(cx, ty, d, parts)
        }
        _ => {
            let d_reg = cx.dst(d)?;
            if let Ptx::Special(special) = s {
                let cells = cx.dst_cells(d);
                if cells == 2 || crate::lower::context::special::is_wide(*special) {
                    let value = cx.value(s, ty)?;
                    move_to(cx, d_reg, cells, value);
                    return Ok(());
                }
                return cx.special(*special, d_reg);
            }
            let value = cx.value(s, ty)?;
            move_to(cx, d_reg, cells_of(ty), value);
            Ok(())
        }
    }
}

/// `mov.v4`: element by element. All of them are read before one is written.
fn each_element(cx: &mut Cx<'_, '_>, ty: Type, dests: &[Ptx], sources: &[Ptx]) -> Sel {
    let cells = cells_of(ty);
    let mut copies = Vec::new();
    for source in sources.iter().take(dests.len()) {
        let copy = cx.e.temp(cells);
        let value = cx.value(source, ty)?;
        move_to(cx, copy, cells, value);
        copies.push(copy);
    }
    for (dest, copy) in dests.iter().zip(copies) {
        let d = cx.dst(dest)?;
        if !d.is_zero() {
            move_to(cx, d, cx.dst_cells(dest), Value::Reg(copy, cells));
        }
    }
    Ok(())
}

/// Bits of one element of a packed value of `ty` in `count` parts.
fn part_bits(ty: Type, count: usize) -> Sel<u32> {
    if count == 0 || !ty.bits().is_multiple_of(count as u32) {
        return Err("parts of unequal width".into());
    }
    Ok(ty.bits() / count as u32)
}

fn part_type(bits: u32) -> Type {
    match bits {
        8 => Type::B8,
        16 => Type::B16,
        64 => Type::B64,
        _ => Type::B32,
    }
}

/// `mov.b64 {a, b}, d` and the like.
fn unpack(cx: &mut Cx<'_, '_>, ty: Type, parts: &[Ptx], source: &Ptx) -> Sel {
    let bits = part_bits(ty, parts.len())?;
    let value = cx.value(source, ty)?;
    let mut dests = Vec::new();
    for part in parts {
        dests.push(cx.dst(part)?);
    }
    // A destination may be the source: read all of it first.
    let value = match value {
        Value::Reg(reg, cells) if dests.contains(&reg) => {
            let copy = cx.e.temp(cells);
            (0..cells).for_each(|i| cx.e.mov(cell(copy, i), cell(reg, i)));
            Value::Reg(copy, cells)
        }
        other => other,
    };
    for (i, d) in dests.into_iter().enumerate() {
        if d.is_zero() {
            continue;
        }
        let at = i as u32 * bits;
        let word = match (value, at / 32) {
            (Value::Reg(reg, _), word) => cell(reg, word as u8),
            (v, 0) => v.lo(),
            (v, _) => v.hi(),
        };
        match bits {
            64 => {
                if let Value::Reg(reg, _) = value {
                    cx.e.mov(cell(d, 0), cell(reg, (at / 32) as u8));
                    cx.e.mov(cell(d, 1), cell(reg, (at / 32) as u8 + 1));
                }
            }
            32 => cx.e.mov(r(d), word),
            _ => extract(cx, r(d), word, at % 32, bits),
        }
    }
    Ok(())
}

/// `mov.b64 d, {a, b}` and the like.
fn pack(cx: &mut Cx<'_, '_>, ty: Type, d: Reg, parts: &[Ptx]) -> Sel {
    let bits = part_bits(ty, parts.len())?;
    let mut values = Vec::new();
    for part in parts {
        values.push(cx.value(part, part_type(bits))?);
    }
    let words = pack_words(cx, bits, &values)?;
    // A part may be the destination: write it last, from temporaries.
    let words = if words.len() > 1 && cx.overlaps(d, &words) {
        words
            .into_iter()
            .map(|w| {
                let t = cx.e.temp(1);
                cx.e.mov(r(t), w);
                r(t)
            })
            .collect()
    } else {
        words
    };
    for (i, word) in words.into_iter().enumerate() {
        cx.e.mov(cell(d, i as u8), word);
    }
    Ok(())
}

/// `cvta`: between a space's own addresses and generic ones.
pub fn cvta(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let to = inst.has(Word::To);
    let space = inst.modifiers.iter().find_map(|m| m.space()).ok_or("no state space")?;
    let (d_op, s) = (operand(inst, 0)?, operand(inst, 1)?);
    let d = cx.dst(d_op)?;
    if ty.bytes() != 8 {
        return Err("32-bit addresses".into());
    }
    let value = cx.value(s, ty)?;
    match (space, to) {
        (Space::Global, _) => move_to(cx, d, 2, value),
        (Space::Shared, false) => {
            cx.e.mov(cell(d, 0), value.lo());
            let source = cx.special_operand("SR_SWINHI")?;
            cx.e.put(Opcode::S2R, &[], 1, &[cell(d, 1), source]);
        }
        (Space::Shared, true) => {
            cx.e.mov(cell(d, 0), value.lo());
            cx.e.mov(cell(d, 1), Operand::RZ);
        }
        (Space::Local | Space::Const | Space::Param, to) => {
            // Bank 0 holds where the windows begin: local memory at 0x20, constant bank 3 at 0xd0.
            let window = if space == Space::Param {
                crate::lower::common::windows::param_window(cx)
            } else {
                let at = if space == Space::Local { 0x20 } else { 0xd0 };
                let window = cx.e.temp(2);
                cx.e.ldc(&[Mod::_64], wide(window, 2), Operand::constant(0, at));
                window
            };
            let halves = [cell(window, 0), cell(window, 1)];
            let built = cx.building(d, &[value.hi()]);
            if to {
                cx.e.sub64(built, value.halves(), halves);
            } else {
                cx.e.add64(built, value.halves(), halves);
            }
            cx.built(d, built);
        }
        _ => return Err("cvta of this space".into()),
    }
    Ok(())
}

/// `selp`: by a predicate.
pub fn selp(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.value(operand(inst, 1)?, ty)?;
    let b = cx.value(operand(inst, 2)?, ty)?;
    let p = cx.pred(operand(inst, 3)?)?;
    select(cx, d, ty, a, b, p);
    Ok(())
}

/// `slct`: by the sign of the last operand.
pub fn slct(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let (ty, by) = (type_at(inst, 0)?, type_at(inst, 1)?);
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.value(operand(inst, 1)?, ty)?;
    let b = cx.value(operand(inst, 2)?, ty)?;
    let c = cx.src(operand(inst, 3)?, by)?;
    let p = cx.e.temp_pred();
    if by == Type::F32 {
        // NaN and negative numbers choose b, -0 chooses a.
        let c = cx.in_reg(c);
        let and = (Mod::AND, Operand::PT);
        cx.e.fsetp(r(p), Mod::GE, inst.has(Word::Ftz), [c, Operand::RZ], and);
    } else {
        let c = cx.in_reg(c);
        cx.e.icmp(r(p), Mod::GE, true, c, Operand::RZ);
    }
    select(cx, d, ty, a, b, r(p));
    Ok(())
}
