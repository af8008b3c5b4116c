//! `multimem`: loads that reduce over all memories of a multimem address (LDGMC), stores and
//! reductions to all of them, which are ordinary ones (observed: ptxas 13.0.88, sm_90a).

use crate::lower::common::access::address;
use crate::lower::common::modifiers::{operation, scope};
use crate::lower::common::order::before_release;
use crate::lower::common::words::{extract, tuple};
use crate::lower::context::cx::{Cx, Sel, operand, type_at};
use crate::ptx::program::{Instruction, Operand as Ptx};
use crate::ptx::types::{Space, Type};
use crate::ptx::words::Word;
use orias_components::{MemRef, Mod, Opcode, Operand, Reg, RegUse};
use orias_systems::build::{Address, cell, r, wide};

/// `multimem` in all its forms.
pub fn multimem(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    match inst.modifiers.first().copied().ok_or("multimem")? {
        Word::LdReduce => load(cx, inst),
        Word::St => store(cx, inst),
        Word::Red => reduce(cx, inst),
        other => Err(format!("multimem.{other}")),
    }
}

fn parts(op: &Ptx) -> &[Ptx] {
    match op {
        Ptx::Vector(parts) => parts,
        one => std::slice::from_ref(one),
    }
}

/// Type words by type and the 32-bit words of the whole access.
fn float_words(ty: Type, cells: u32, ftz: bool) -> Option<Vec<Mod>> {
    let mut words = match (ty, cells) {
        (Type::F16 | Type::F16x2, 1) => vec![Mod::F16x2],
        (Type::F16 | Type::F16x2, 2) => vec![Mod::F16x4],
        (Type::F16 | Type::F16x2, 4) => vec![Mod::F16x8],
        (Type::Bf16 | Type::Bf16x2, 1) => vec![Mod::BF16x2],
        (Type::Bf16 | Type::Bf16x2, 2) => vec![Mod::BF16x4],
        (Type::Bf16 | Type::Bf16x2, 4) => vec![Mod::BF16x8],
        (Type::F32, 1) => vec![Mod::F32],
        (Type::F32, 2) => vec![Mod::F32x2],
        (Type::F32, 4) => vec![Mod::F32x4],
        (Type::F64, 2) => vec![Mod::F64],
        _ => return None,
    };
    if ftz && ty == Type::F32 {
        words.push(Mod::FTZ);
    }
    words.push(Mod::RN);
    Some(words)
}

fn load(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let dests = parts(operand(inst, 0)?);
    let cells = (ty.bytes() * dests.len() as u32).div_ceil(4);
    let place = address(cx, operand(inst, 1)?, Space::Global)?;
    let base = cx.e.join(place[0], place[1]);
    let at = Operand::Mem(MemRef {
        base: RegUse::wide(base, 2),
        uniform: RegUse::new(Reg::URZ),
        offset: 0,
        sel: Mod::_64,
    });
    let mut mods = vec![Mod::E];
    match float_words(ty, cells, false) {
        Some(words) => {
            let sum = inst.has(Word::AccF32);
            mods.push(if sum { Mod::F32ADD } else { operation(inst)? });
            mods.extend(words);
        }
        None => {
            let op = operation(inst)?;
            mods.push(op);
            mods.push(match ty {
                Type::S32 => Mod::S32,
                // The sum of signed numbers is that of unsigned ones.
                Type::S64 if op != Mod::ADD => Mod::S64,
                ty if ty.bytes() == 8 => Mod::_64,
                _ => Mod::_32,
            });
        }
    }
    mods.extend([Mod::STRONG, Mod::SYS]);
    let tuple = cx.e.temp(cells as u8);
    let to = if cells == 1 { r(tuple) } else { wide(tuple, cells as u8) };
    cx.e.put(Opcode::LDGMC, &mods, 1, &[to, at]);
    for (i, op) in dests.iter().enumerate() {
        let d = cx.dst(op)?;
        if d.is_zero() {
            continue;
        }
        let bits = i as u32 * ty.bits();
        let word = cell(tuple, (bits / 32) as u8);
        match ty.bytes() {
            2 => extract(cx, r(d), word, bits % 32, 16),
            8 => {
                cx.e.mov(cell(d, 0), word);
                cx.e.mov(cell(d, 1), cell(tuple, (bits / 32) as u8 + 1));
            }
            _ => cx.e.mov(r(d), word),
        }
    }
    if inst.has(Word::Acquire) {
        // In every scope: the reduction is of the system's.
        cx.e.put(Opcode::CCTL, &[Mod::IVALL], 0, &[]);
    }
    Ok(())
}

/// The words of the order, after those of the type.
fn order(inst: &Instruction) -> Vec<Mod> {
    if inst.has(Word::Weak) || scope(inst).is_none() {
        return Vec::new();
    }
    vec![Mod::STRONG, scope(inst).unwrap_or(Mod::SYS)]
}

fn place(cx: &mut Cx<'_, '_>, op: &Ptx) -> Sel<Address> {
    cx.address(op, Space::Global)
}

fn store(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let value_op = operand(inst, 1)?;
    let bytes = ty.bytes() * parts(value_op).len() as u32;
    let value = tuple(cx, value_op, ty)?;
    if inst.has(Word::Release) {
        before_release(cx, inst);
    }
    let at = place(cx, operand(inst, 0)?)?;
    let mut mods = vec![Mod::E];
    match bytes {
        8 => mods.push(Mod::_64),
        16 => mods.push(Mod::_128),
        _ => {}
    }
    mods.extend(order(inst));
    let desc = Some(cx.descriptor());
    let op = if inst.has(Word::Global) { Opcode::STG } else { Opcode::ST };
    cx.e.store(op, &mods, desc, at, value);
    Ok(())
}

fn reduce(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let value_op = operand(inst, 1)?;
    let cells = (ty.bytes() * parts(value_op).len() as u32).div_ceil(4);
    let value = tuple(cx, value_op, ty)?;
    if inst.has(Word::Release) {
        before_release(cx, inst);
    }
    let at = place(cx, operand(inst, 0)?)?;
    let op = operation(inst)?;
    let mut mods = vec![Mod::E, op];
    match float_words(ty, cells, true) {
        Some(words) => mods.extend(words),
        None => match ty {
            Type::S32 => mods.push(Mod::S32),
            Type::S64 if op != Mod::ADD => mods.push(Mod::S64),
            ty if ty.bytes() == 8 => mods.push(Mod::_64),
            _ => {}
        },
    }
    let order = order(inst);
    mods.extend(if order.is_empty() { vec![Mod::STRONG, Mod::SYS] } else { order });
    let desc = Operand::Desc(cx.descriptor());
    cx.e.put(Opcode::REDG, &mods, 0, &[desc, at.operand(), value]);
    Ok(())
}
