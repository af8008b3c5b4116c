//! Atomics and reductions.
//!
//! What an atomic asks for is taken from the instruction here; what the machine does of it says
//! [`super::request`].

use super::request::Atomic;
use super::swap16;
use crate::lower::common::access::place;
use crate::lower::common::half_operands as half;
use crate::lower::common::modifiers::scope;
use crate::lower::common::order::{after_acquire, before_release};
use crate::lower::common::words::tuple;
use crate::lower::context::cx::{Cx, Sel, cells_of, operand};
use crate::ptx::program::{Instruction, Operand as Ptx};
use crate::ptx::types::{Space, Type, TypeKind};
use crate::ptx::words::{Op, Word};
use orias_components::{Mod, Operand, Reg};
use orias_systems::build::{cell, r};

/// The operation of an atomic.
fn operation(inst: &Instruction) -> Sel<Word> {
    [
        Word::Add,
        Word::Min,
        Word::Max,
        Word::Inc,
        Word::Dec,
        Word::And,
        Word::Or,
        Word::Xor,
        Word::Exch,
        Word::Cas,
    ]
    .into_iter()
    .find(|name| inst.has(*name))
    .ok_or_else(|| "no operation".into())
}

/// Words of the type after the operation, for this many elements; None where no instruction has it.
fn type_words(op: Word, ty: Type, elements: usize) -> Option<Vec<Mod>> {
    if half::is_half(ty) && matches!(op, Word::Add | Word::Min | Word::Max) {
        let bf16 = half::format(ty).is_some();
        let word = match (ty.bytes() as usize * elements, bf16) {
            (4, false) => Mod::F16x2,
            (4, true) => Mod::BF16x2,
            (8, false) => Mod::F16x4,
            (8, true) => Mod::BF16x4,
            (16, false) => Mod::F16x8,
            (16, true) => Mod::BF16x8,
            _ => return None,
        };
        return Some(vec![word, Mod::RN]);
    }
    Some(match (op, ty, elements) {
        (Word::Add, Type::F32, 1) => vec![Mod::F32, Mod::FTZ, Mod::RN],
        (Word::Add, Type::F32, 2) => vec![Mod::F32x2, Mod::FTZ, Mod::RN],
        (Word::Add, Type::F32, 4) => vec![Mod::F32x4, Mod::FTZ, Mod::RN],
        (Word::Add, Type::F64, 1) => vec![Mod::F64, Mod::RN],
        (Word::Min | Word::Max, Type::S32, 1) => vec![Mod::S32],
        (Word::Min | Word::Max, Type::S64, 1) => vec![Mod::S64],
        (Word::Exch | Word::Cas, ty, 1) if ty.bytes() == 16 => vec![Mod::_128],
        (_, ty, 1) if ty.kind() != TypeKind::Float || op == Word::Exch => match ty.bytes() {
            4 => Vec::new(),
            8 => vec![Mod::_64],
            _ => return None,
        },
        _ => return None,
    })
}

/// `atom`, `red`.
pub fn atom(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let red = inst.opcode == Op::Red;
    if inst.has(Word::Async) {
        return Err("asynchronous reductions".into());
    }
    let ty = *inst.types.last().ok_or("a type is missing")?;
    let op = operation(inst)?;
    let first = usize::from(!red);
    let elements = match operand(inst, first + 1)? {
        Ptx::Vector(list) => list.len(),
        _ => 1,
    };
    let cas = op == Word::Cas;
    let words = type_words(op, ty, elements);
    let narrow = elements == 1 && ty.bytes() == 2 && (cas || op == Word::Add);
    if words.is_none() && !narrow {
        return Err("atomics of this type".into());
    }
    let mut values = Vec::new();
    for i in 0..if cas { 2 } else { 1 } {
        values.push(tuple(cx, operand(inst, first + 1 + i)?, ty)?);
    }
    let dests: Vec<&Ptx> = match inst.operands.first() {
        _ if red => Vec::new(),
        Some(Ptx::Vector(list)) => list.iter().collect(),
        Some(one) => vec![one],
        None => return Err("a destination is missing".into()),
    };
    let unread = dests.iter().all(|d| cx.is_unread(d));
    let cells = (ty.bytes() as usize * elements).div_ceil(4) as u8;
    // A vector's registers, and what is wider than the result, get it from a tuple.
    let direct = dests.len() == 1 && cx.dst_cells(dests[0]) == cells;
    let vector = elements > 1;
    let d = match (unread, direct) {
        (true, _) => Reg::RZ,
        (_, true) => cx.dst(dests[0])?,
        _ => cx.e.temp(cells),
    };
    if inst.has(Word::Release) || inst.has(Word::AcqRel) {
        before_release(cx, inst);
    }
    let (space, address) = place(cx, inst, operand(inst, first)?)?;
    let strength = scope(inst).unwrap_or(Mod::GPU);
    let words = words.unwrap_or_default();
    let atomic = Atomic { op, ty, cells, vector, words, scope: strength, d, values };
    match space {
        _ if narrow && cas => swap16::compare(cx, &atomic, space, address),
        _ if narrow => swap16::add(cx, &atomic, space, address),
        Space::Global => {
            atomic.global(cx, address);
            Ok(())
        }
        Space::Generic => atomic.generic(cx, address),
        Space::Shared => atomic.shared(cx, address),
        _ => Err("atomics in this space".into()),
    }?;
    if inst.has(Word::Acquire) || inst.has(Word::AcqRel) {
        after_acquire(cx, inst);
    }
    if !unread && !direct {
        scatter(cx, &dests, d, ty)?;
    }
    Ok(())
}

/// Copies the elements of a tuple to the registers of a vector.
fn scatter(cx: &mut Cx<'_, '_>, dests: &[&Ptx], tuple: Reg, ty: Type) -> Sel {
    if ty.bytes() == 2 {
        for (i, op) in dests.iter().enumerate() {
            let to = cx.dst(op)?;
            if !to.is_zero() {
                let word = cell(tuple, (i / 2) as u8);
                crate::lower::common::words::extract(cx, r(to), word, (i % 2) as u32 * 16, 16);
            }
        }
        return Ok(());
    }
    let mut from = 0;
    for op in dests {
        let to = cx.dst(op)?;
        let cells = cells_of(ty);
        for i in 0..cells {
            if !to.is_zero() {
                cx.e.mov(cell(to, i), cell(tuple, from + i));
            }
        }
        if !to.is_zero() && cx.dst_cells(op) > cells {
            cx.e.mov(cell(to, cells), Operand::RZ);
        }
        from += cells;
    }
    Ok(())
}
