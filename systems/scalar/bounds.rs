//! What floats are at least: comparisons of such that have one outcome.
//!
//! Approximations of functions scale what would be subnormal, and what comes to them often cannot
//! be: `|x| + 1`, a sum of squares and something positive.

use super::bits;
use super::nan_or_zero;
use super::values::{Values, plain};
use crate::effects::copies_words;
use orias_components::{
    Body, Guard, Inst, InstId, Mod, Opcode, Operand, RegFile, RegFlags, RegUse, View,
};
use orias_targets::slots::{
    FADD, FFMA, FMNMX, FMUL, FSEL, FSETP, ISETP, LOP3_LUT as LOP3, MOV, MUFU, SEL,
};
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::num::FpCategory;

/// Steps back from what is asked for.
const DEPTH: u32 = 6;

/// The outcome of the comparison that a predicate is of, where it has one only.
pub(super) fn outcome(body: &Body<'_>, values: &Values<'_>, predicate: RegUse) -> Option<bool> {
    if predicate.reg.file() != RegFile::P {
        return None;
    }
    let inst = body.inst(values.writer(RegUse { flags: RegFlags::NONE, ..predicate })?);
    if inst.op == Opcode::ISETP {
        let is_alone = inst.len() == ISETP::COUNT
            && inst.guard.is_always()
            && inst.operand(ISETP::P)
                == Operand::Reg(RegUse { flags: RegFlags::NONE, ..predicate })
            && inst.operand(ISETP::X) == Operand::PT;
        return bits::outcome(body, values, inst).filter(|_| is_alone);
    }
    let is_alone = inst.op == Opcode::FSETP
        && inst.len() == FSETP::COUNT
        && inst.guard.is_always()
        && inst.operand(FSETP::Q) == Operand::PT
        && inst.operand(FSETP::X) == Operand::PT;
    let word = match inst.mods().as_slice() {
        [word, Mod::AND] | [word, Mod::FTZ, Mod::AND] => *word,
        _ => return None,
    };
    if matches!(word, Mod::NAN | Mod::NUM) && is_alone {
        let operands = [FSETP::A, FSETP::B].map(|at| inst.operand(at));
        return nan_or_zero::are_numbers(body, values, operands).then_some(word == Mod::NUM);
    }
    let Operand::Imm(bits) = inst.get(FSETP::B).filter(|_| is_alone)? else { return None };
    let than = f32::from_bits(bits as u32);
    let exact = exact(body, values, &inst.operand(FSETP::A)).filter(|_| !than.is_subnormal());
    if let Some(value) = exact {
        // Where one of them is no number, only those that say so hold.
        let order = value.partial_cmp(&than);
        return match word {
            Mod::LT => Some(order == Some(Ordering::Less)),
            Mod::LE => Some(order.is_some_and(Ordering::is_le)),
            Mod::GT => Some(order == Some(Ordering::Greater)),
            Mod::GE => Some(order.is_some_and(Ordering::is_ge)),
            Mod::LTU => Some(order.is_none_or(Ordering::is_lt)),
            Mod::LEU => Some(order.is_none_or(Ordering::is_le)),
            Mod::GTU => Some(order.is_none_or(Ordering::is_gt)),
            Mod::GEU => Some(order.is_none_or(Ordering::is_ge)),
            _ => None,
        };
    }
    let least = least(body, values, &inst.operand(FSETP::A), DEPTH);
    // A NaN is not ordered.
    match word {
        Mod::GEU if least >= than => Some(true),
        Mod::GTU if least > than => Some(true),
        Mod::LT if least >= than => Some(false),
        Mod::LE if least > than => Some(false),
        _ => None,
    }
}

/// The number that an operand is, where a register holds one. None of those that some take for
/// zero.
fn exact(body: &Body<'_>, values: &Values<'_>, operand: &Operand) -> Option<f32> {
    let Operand::Reg(r) = *operand else { return None };
    let writer = body.inst(values.writer(RegUse { flags: RegFlags::NONE, ..r })?);
    let Some(Operand::Imm(bits)) = writer.get(MOV::B) else { return None };
    let is_copy = writer.op == Opcode::MOV
        && writer.len() == MOV::COUNT
        && writer.guard.is_always()
        && copies_words(writer);
    let value = f32::from_bits(bits as u32);
    let value = match r.flags.without(RegFlags::REUSE) {
        RegFlags::NONE => value,
        RegFlags::ABS => value.abs(),
        _ => return None,
    };
    (is_copy && !value.is_subnormal()).then_some(value)
}

/// A number that an operand is not below, where it is one.
fn least(body: &Body<'_>, values: &Values<'_>, operand: &Operand, depth: u32) -> f32 {
    match operand {
        Operand::Imm(bits) => {
            let value = f32::from_bits(*bits as u32);
            if value.is_nan() { f32::NEG_INFINITY } else { value }
        }
        operand if *operand == Operand::RZ => 0.0,
        Operand::Reg(r) if r.count == 1 && r.reg.file() == RegFile::R && depth > 0 => {
            let value = || written(body, values, *r, depth - 1);
            match r.flags.without(RegFlags::REUSE) {
                RegFlags::NONE => value(),
                RegFlags::ABS => value().max(0.0),
                _ => f32::NEG_INFINITY,
            }
        }
        _ => f32::NEG_INFINITY,
    }
}

fn written(body: &Body<'_>, values: &Values<'_>, r: RegUse, depth: u32) -> f32 {
    const ANY: f32 = f32::NEG_INFINITY;
    let Some(writer) = values.writer(RegUse { flags: RegFlags::NONE, ..r }) else { return ANY };
    let inst = body.inst(writer);
    // To the nearest: a sum of what is at least so much is at least as much as theirs.
    let is_nearest = matches!(inst.mods().as_slice(), [] | [Mod::FTZ]);
    let of = |at: usize| least(body, values, &inst.operand(at), depth);
    let product = |a: usize, b: usize| {
        let is_square = inst.operand(a) == inst.operand(b) && inst.operand(a).as_reg().is_some();
        match (of(a), of(b)) {
            (a, b) if a >= 0.0 && b >= 0.0 => a * b,
            _ if is_square => 0.0,
            _ => ANY,
        }
    };
    // Of infinite ones, the sum or product may be a NaN: nothing is known. What is subnormal may
    // have become zero.
    let known = |value: f32| match value.classify() {
        FpCategory::Nan => ANY,
        FpCategory::Subnormal => value.min(0.0),
        _ => value,
    };
    let result = match inst.op {
        Opcode::FADD if is_nearest && inst.len() == FADD::COUNT => known(of(FADD::A) + of(FADD::C)),
        Opcode::FMUL if is_nearest && inst.len() == FMUL::COUNT => known(product(FMUL::A, FMUL::B)),
        Opcode::FFMA if is_nearest && inst.len() == FFMA::COUNT => {
            known(product(FFMA::A, FFMA::B) + of(FFMA::C))
        }
        Opcode::FMNMX if is_nearest && inst.len() == FMNMX::COUNT => {
            let (a, b) = (inst.operand(FMNMX::A), inst.operand(FMNMX::B));
            match (inst.operand(FMNMX::X), a, b) {
                // Of a number and a NaN it is the number.
                (Operand::NOT_PT, _, Operand::Imm(_)) => of(FMNMX::B),
                _ => of(FMNMX::A).min(of(FMNMX::B)),
            }
        }
        Opcode::FSEL if is_nearest && inst.len() == FSEL::COUNT => of(FSEL::A).min(of(FSEL::B)),
        Opcode::MUFU if inst.len() == MUFU::COUNT => match inst.mods().as_slice() {
            [Mod::EX2 | Mod::SQRT] => 0.0,
            _ => ANY,
        },
        Opcode::LOP3 if is_magnitude(inst) => 0.0,
        Opcode::MOV if inst.len() == MOV::COUNT && copies_words(inst) => of(MOV::B),
        _ => ANY,
    };
    // Under a guard it may be what it was.
    inst.tied().fold(result, |least_yet, old| {
        least_yet.min(least(body, values, &Operand::Reg(old), depth))
    })
}

/// Whether it takes a sign away.
fn is_magnitude(inst: View<'_>) -> bool {
    inst.len() == LOP3::COUNT
        && plain(&inst.operand(LOP3::A)).is_some()
        && inst.operand(LOP3::B) == Operand::Imm(0x7fff_ffff)
        && inst.operand(LOP3::C) == Operand::RZ
        && inst.operand(LOP3::T) == Operand::Imm(0xc0)
}

/// What an instruction is whose guard, or whose choice, has one outcome.
pub(super) fn settled(body: &Body<'_>, values: &Values<'_>, id: InstId) -> Option<Inst> {
    let inst = body.inst(id);
    let copy = |from: Operand| {
        let operands = [inst.operand(0), from, Operand::Imm(0xf)];
        Inst::new(Opcode::MOV, &[], 1, &operands)
    };
    if !inst.guard.is_always() {
        let guard = RegUse::new(inst.guard.reg);
        let runs = outcome(body, values, guard)? != inst.guard.negated;
        let old: Vec<RegUse> = inst.tied().collect();
        let [old] = old[..] else { return None };
        let is_word = inst.defs == 1 && old.count == 1 && old.reg.file() == RegFile::R;
        return match runs {
            _ if !is_word => None,
            true => {
                let mut new = inst.to_inst();
                (new.guard, new.tied) = (Guard::ALWAYS, SmallVec::new());
                Some(new)
            }
            false => Some(copy(Operand::Reg(old))),
        };
    }
    let [a, b, x] = match inst.op {
        Opcode::FSEL if inst.len() == FSEL::COUNT => [FSEL::A, FSEL::B, FSEL::X],
        Opcode::SEL if inst.len() == SEL::COUNT => [SEL::A, SEL::B, SEL::X],
        _ => return None,
    };
    let Operand::Reg(choice) = inst.get(x).filter(|_| inst.mods().is_empty())? else { return None };
    let first = outcome(body, values, choice)? != choice.flags.has(RegFlags::NOT);
    let from = inst.operand(if first { a } else { b });
    let is_word = plain(&from).is_some() || matches!(from, Operand::Imm(_) | Operand::RZ);
    is_word.then(|| copy(from))
}
