//! Barriers of the CTA: `bar` and `barrier`, named, counted, and with a reduction.

use crate::lower::common::lanes::under_guard;
use crate::lower::common::order::converge;
use crate::lower::context::cx::{Cx, Sel, operand};
use crate::ptx::program::{Instruction, Operand as Ptx};
use crate::ptx::types::Type;
use crate::ptx::words::Word;
use orias_components::{Mod, Opcode, Operand};
use orias_systems::build::{imm, r};

/// Barriers of a CTA.
const BARRIERS: u32 = 16;

/// `bar` and `barrier` of the CTA.
pub fn bar(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    if inst.has(Word::Red) {
        return reduce(cx, inst);
    }
    let operands = place(cx, inst, inst.operands)?;
    let mods: &[Mod] =
        if inst.has(Word::Arrive) { &[Mod::ARV] } else { &[Mod::SYNC, Mod::DEFER_BLOCKING] };
    converge(cx, inst);
    cx.e.put(Opcode::BAR, mods, 0, &operands);
    Ok(())
}

/// The slots of number and thread count. Both in registers share one: the number in its low bits,
/// the count from bit 16 on.
fn place(cx: &mut Cx<'_, '_>, inst: &Instruction, operands: &[Ptx]) -> Sel<Vec<Operand>> {
    let number = match operands.first() {
        Some(op) => cx.src(op, Type::U32)?,
        None => imm(0),
    };
    match number {
        Operand::Imm(n) if n < u64::from(BARRIERS) => cx.barriers = cx.barriers.max(n as u32 + 1),
        Operand::Imm(_) => return Err("a barrier above 15".into()),
        _ => cx.barriers = BARRIERS,
    }
    let count = match operands.get(1) {
        Some(op) => Some(cx.src(op, Type::U32)?),
        None if inst.has(Word::Arrive) => return Err("arriving needs a number of threads".into()),
        None => None,
    };
    Ok(match (number, count) {
        (Operand::Imm(_), None) => vec![number],
        (number, None) => vec![number, imm(0)],
        (number, Some(count @ Operand::Imm(_))) => vec![number, count],
        (Operand::Imm(_), Some(count)) => vec![number, count],
        (number, Some(count)) => {
            let (shifted, both) = (cx.e.temp(1), cx.e.temp(1));
            cx.e.shl(r(shifted), count, imm(16));
            cx.e.lop3(r(both), number, imm(0xf), r(shifted), LOW_OR);
            vec![r(both)]
        }
    })
}

/// `a & b | c`
const LOW_OR: u8 = 0xea;

/// `bar.red`: `d, number{, count}, p`. All threads then read the barrier's result.
fn reduce(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let d = operand(inst, 0)?;
    let last = inst.operands.len() - 1;
    let p = cx.pred(operand(inst, last)?)?;
    let mut operands = place(cx, inst, &inst.operands[1..last])?;
    operands.push(p);
    let popc = inst.has(Word::Popc);
    let kind = match (popc, inst.has(Word::And)) {
        (true, _) => Mod::POPC,
        (_, true) => Mod::AND,
        _ => Mod::OR,
    };
    let (to, holds) =
        if popc { (r(cx.dst(d)?), Operand::PT) } else { (Operand::RZ, cx.dst_pred(d)?) };
    under_guard(cx, |cx| {
        converge(cx, inst);
        cx.e.put(Opcode::BAR, &[Mod::RED, kind, Mod::DEFER_BLOCKING], 0, &operands);
        cx.e.put(Opcode::B2R, &[Mod::RESULT], 2, &[to, holds]);
        Ok(())
    })
}
