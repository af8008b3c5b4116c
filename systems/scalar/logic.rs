//! Logic of logic: two truth tables of three become one where they have no more inputs together.

use super::bits;
use super::values::{Values, plain};
use orias_components::{Body, Inst, InstId, Opcode, Operand, View};
use orias_targets::Target;
use orias_targets::slots::LOP3_LUT as LOP3;
use smallvec::SmallVec;

/// Inputs with their truth table: bit `i` is the result where input 0 is bit 2 of `i`, input 1 bit
/// 1 and input 2 bit 0.
struct Logic {
    inputs: [Operand; 3],
    table: u8,
}

/// A LOP3 that gives a word and nothing else.
fn logic(inst: View<'_>) -> Option<Logic> {
    let is_word = inst.op == Opcode::LOP3
        && inst.guard.is_always()
        && inst.mods().as_slice() == [orias_components::Mod::LUT]
        && inst.len() == LOP3::COUNT
        && inst.operand(LOP3::P) == Operand::PT
        && inst.operand(LOP3::X) == Operand::NOT_PT;
    if !is_word {
        return None;
    }
    let Operand::Imm(table) = inst.operand(LOP3::T) else { return None };
    let inputs = [LOP3::A, LOP3::B, LOP3::C].map(|at| inst.operand(at));
    Some(Logic { inputs, table: table as u8 })
}

/// The instruction that stands for this one and for one that alone it reads.
pub(super) fn fuse(
    body: &Body<'_>,
    values: &Values<'_>,
    target: &Target,
    (id, before): (InstId, &[InstId]),
) -> Option<Inst> {
    if let Some(copy) = bits::idle_mask(body, values, id) {
        return Some(copy);
    }
    let outer = logic(body.inst(id))?;
    if let Some(new) = of_constants(body, values, (id, before), &outer) {
        return target.takes(&new).map(|_| new);
    }
    (0..3).find_map(|at| {
        let r = plain(&outer.inputs[at]).filter(|r| values.reads(*r) == 1)?;
        let by = values.writer(r).filter(|by| values.may_move(body, *by, before))?;
        let inner = logic(body.inst(by))?;
        let new = together(body.inst(id), &outer, &inner, at)?;
        target.takes(&new).map(|_| new)
    })
}

/// `x op K` of `x op L`, where both are the same and care for no order.
fn of_constants(
    body: &Body<'_>,
    values: &Values<'_>,
    (id, before): (InstId, &[InstId]),
    outer: &Logic,
) -> Option<Inst> {
    let by = values.writer(plain(&outer.inputs[0])?)?;
    let inner = logic(body.inst(by)).filter(|_| values.may_move(body, by, before))?;
    let (Operand::Imm(a), Operand::Imm(b)) = (outer.inputs[1], inner.inputs[1]) else {
        return None;
    };
    let is_of_two = |logic: &Logic| logic.inputs[2] == Operand::RZ;
    if outer.table != inner.table || !is_of_two(outer) || !is_of_two(&inner) {
        return None;
    }
    let constant = match u64::from(outer.table) {
        bits::AND => a & b,
        bits::OR => a | b,
        bits::XOR => a ^ b,
        _ => return None,
    };
    let mut new = body.inst(id).to_inst();
    (new.operands[LOP3::A], new.operands[LOP3::B]) = (inner.inputs[0], Operand::Imm(constant));
    Some(new)
}

fn together(inst: View<'_>, outer: &Logic, inner: &Logic, at: usize) -> Option<Inst> {
    let others = outer.inputs.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, o)| *o);
    let mut inputs: SmallVec<[Operand; 6]> = SmallVec::new();
    for operand in others.chain(inner.inputs) {
        if operand != Operand::RZ && !inputs.contains(&operand) {
            inputs.push(operand);
        }
    }
    if inputs.len() > 3 {
        return None;
    }
    // Only the second one may be other than a register.
    let other = |o: &Operand| plain(o).is_none();
    if inputs.iter().filter(|o| other(o)).count() > 1 {
        return None;
    }
    inputs.resize(3, Operand::RZ);
    if let Some(from) = inputs.iter().position(|o| *o != Operand::RZ && other(o)) {
        inputs.swap(from, 1);
    }
    let mut table = 0u64;
    for row in 0..8u8 {
        let bit = |operand: &Operand| {
            let place =
                inputs.iter().position(|o| o == operand).filter(|_| *operand != Operand::RZ);
            place.is_some_and(|place| row >> (2 - place) & 1 != 0)
        };
        let result = |logic: &Logic, of: [bool; 3]| {
            let row = of.iter().fold(0, |row, bit| row << 1 | u8::from(*bit));
            logic.table >> row & 1 != 0
        };
        let value = result(inner, inner.inputs.each_ref().map(bit));
        let mut of = outer.inputs.each_ref().map(bit);
        of[at] = value;
        table |= u64::from(result(outer, of)) << row;
    }
    let mut new = inst.to_inst();
    for (slot, input) in [LOP3::A, LOP3::B, LOP3::C].into_iter().zip(inputs) {
        new.operands[slot] = input;
    }
    new.operands[LOP3::T] = Operand::Imm(table);
    Some(new)
}
