//! The high and the low word of one product are one product of 64 bits, and one of whose 64 bits
//! nobody reads the upper ones is a product of words.

use super::values::Values;
use crate::ssa::{Fixed, is_value};
use orias_components::scratch;
use orias_components::{
    BlockId, Body, Inst, InstId, Mod, Opcode, Operand, Reg, RegFile, RegFlags, RegUse, View,
};
use orias_targets::slots::{IMAD, IMAD_HI, IMAD_WIDE};
use smallvec::smallvec;

/// One half of a product.
#[derive(Clone, Copy)]
struct Half {
    id: InstId,
    factors: [Operand; 2],
    result: RegUse,
}

/// Whether it is the high word of a product, and nothing else.
pub(super) fn is_high(inst: View<'_>) -> bool {
    inst.op == Opcode::IMAD && inst.mods().has(Mod::HI) && inst.len() == IMAD_HI::COUNT
}

/// Makes one product of each high word and the low one of the same block: how many.
pub(super) fn join_halves(body: &mut Body<'_>) -> usize {
    let fixed = Fixed::of(body);
    let mut count = 0;
    for &block in body.walk().iter() {
        let insts = body.block(block).insts();
        if insts.iter().any(|id| is_high(body.inst(*id))) {
            count += in_block(body, &fixed, block);
        }
    }
    count
}

fn in_block(body: &mut Body<'_>, fixed: &Fixed, block: BlockId) -> usize {
    // The halves of which the other one is still to come.
    let mut highs = scratch!(Vec<Half>);
    let mut lows = scratch!(Vec<Half>);
    // What becomes a product of 64 bits, and what goes.
    let mut joined = scratch!(Vec<(InstId, InstId, Half, Half)>);
    for id in body.block(block).insts() {
        let Some((half, is_high)) = half(body, fixed, *id) else { continue };
        let (mine, others) =
            if is_high { (&mut highs, &mut lows) } else { (&mut lows, &mut highs) };
        let [a, b] = half.factors;
        let is_other = |other: &Half| other.factors == [a, b] || other.factors == [b, a];
        match others.iter().rposition(is_other) {
            Some(place) => {
                let other = others.remove(place);
                let (low, high) = if is_high { (other, half) } else { (half, other) };
                joined.push((other.id, *id, low, high));
            }
            None => mine.push(half),
        }
    }
    if joined.is_empty() {
        return 0;
    }
    let mut pairs = scratch!(Vec<Reg>);
    pairs.extend(joined.iter().map(|_| body.new_vreg(RegFile::R, 2, 2)));
    body.rewrite(block, |body, out, id| {
        if joined.iter().any(|(_, last, ..)| *last == id) {
            return;
        }
        let Some(n) = joined.iter().position(|(first, ..)| *first == id) else {
            return out.keep(id);
        };
        let (_, _, low, high) = joined[n];
        let is_unsigned = body.inst(high.id).mods().has(Mod::U32);
        let mods: &[Mod] = if is_unsigned { &[Mod::WIDE, Mod::U32] } else { &[Mod::WIDE] };
        let loc = body.loc(id);
        let [a, b] = high.factors;
        let pair = Operand::Reg(RegUse::wide(pairs[n], 2));
        let product = Inst::new(Opcode::IMAD, mods, 2, &[pair, Operand::PT, a, b, Operand::RZ]);
        out.put(body, &product, loc);
        for (cell, half) in [(0, low), (1, high)] {
            let from = Operand::Reg(RegUse::at(pairs[n], cell, 1));
            let copy = Inst {
                operands: smallvec![Operand::Reg(half.result), from, Operand::Imm(0xf)],
                ..Inst::new(Opcode::MOV, &[], 1, &[])
            };
            out.put(body, &copy, loc);
        }
    });
    joined.len()
}

/// The product of words that is enough where nobody reads the upper word of one of 64 bits.
pub(super) fn low_half(body: &Body<'_>, values: &Values<'_>, id: InstId) -> Option<Inst> {
    let inst = body.inst(id);
    let is_wide = inst.op == Opcode::IMAD
        && matches!(inst.mods().as_slice(), [Mod::WIDE] | [Mod::WIDE, Mod::U32])
        && inst.guard.is_always()
        && inst.operand(IMAD_WIDE::P) == Operand::PT;
    let result = inst.reg(IMAD_WIDE::D).filter(|r| is_wide && r.count == 2)?;
    let word = |r: RegUse, cell: u8| RegUse { cell: r.cell + cell, count: 1, ..r };
    if values.is_read(word(result, 1)) || !values.is_read(word(result, 0)) {
        return None;
    }
    let added = match inst.operand(IMAD_WIDE::C) {
        Operand::Reg(r) if r.reg.vreg().is_some() && r.flags == RegFlags::NONE => {
            Operand::Reg(word(r, 0))
        }
        Operand::RZ => Operand::RZ,
        _ => return None,
    };
    let [a, b] = [IMAD_WIDE::A, IMAD_WIDE::B].map(|at| inst.operand(at));
    let operands = [Operand::Reg(word(result, 0)), a, b, added];
    Some(Inst::new(Opcode::IMAD, &[], 1, &operands))
}

/// The half of a product that an instruction is, and whether it is the high one. Its result is a
/// register of its own: within a wider one the word would have to be copied.
fn half(body: &Body<'_>, fixed: &Fixed, id: InstId) -> Option<(Half, bool)> {
    let inst = body.inst(id);
    let is_high = is_high(inst);
    let is_low = inst.op == Opcode::IMAD && inst.mods().is_empty() && inst.len() == IMAD::COUNT;
    if !(is_high || is_low) || !inst.guard.is_always() {
        return None;
    }
    let places = if is_high {
        [IMAD_HI::D, IMAD_HI::A, IMAD_HI::B, IMAD_HI::C]
    } else {
        [IMAD::D, IMAD::A, IMAD::B, IMAD::C]
    };
    let [result, a, b, added] = places.map(|at| inst.operand(at));
    if added != Operand::RZ || is_high && inst.operand(IMAD_HI::P) != Operand::PT {
        return None;
    }
    let is_known = |operand: &Operand| match operand {
        Operand::Imm(_) => true,
        Operand::Reg(r) => r.reg.vreg().is_some_and(|v| is_value(body, fixed, v)),
        _ => false,
    };
    let result = *result.as_reg()?;
    let is_alone = |v| body.vreg(v).cells == 1 && is_value(body, fixed, v);
    let is_half = result.reg.vreg().is_some_and(is_alone) && is_known(&a) && is_known(&b);
    is_half.then_some((Half { id, factors: [a, b], result }, is_high))
}
