//! Which bits of a value may be one, and masks that take nothing away.

use super::values::{Values, plain};
use crate::analysis::trips::Comparison;
use crate::effects::SR_TID;
use orias_components::{Body, Inst, InstId, Mod, Opcode, Operand, RegFlags, RegUse, View};
use orias_targets::slots::{
    IADD3, IMAD, ISETP, LOP3_LUT as LOP3, MOV, PRMT, S2R, SEL, SGXT, SHF, VIMNMX,
};
use smallvec::smallvec;
use std::cmp::Ordering;

/// Steps back from what is asked for: what most masks stand behind is nearer.
const DEPTH: u32 = 6;

/// Special registers of which not all bits may be one: there are 32 lanes, and only so many threads
/// in a CTA.
const SR_LANEID: u8 = 0x00;
const SR_TID_Z: u8 = SR_TID + 2;

/// Truth tables of two inputs, the third RZ.
pub(super) const AND: u64 = 0xc0;
pub(super) const OR: u64 = 0xfc;
pub(super) const XOR: u64 = 0x3c;

/// The bits of an operand that may be one.
fn ones_of(body: &Body<'_>, values: &Values<'_>, operand: &Operand, depth: u32) -> u32 {
    match operand {
        Operand::Imm(value) => *value as u32,
        operand if *operand == Operand::RZ => 0,
        operand => match (plain(operand), depth) {
            (Some(r), 1..) if r.count == 1 => ones(body, values, r, depth - 1),
            _ => u32::MAX,
        },
    }
}

fn ones(body: &Body<'_>, values: &Values<'_>, r: RegUse, depth: u32) -> u32 {
    let Some(writer) = values.writer(r) else { return u32::MAX };
    let inst = body.inst(writer);
    // What it keeps where its guard is false is not looked at.
    if !inst.guard.is_always() {
        return u32::MAX;
    }
    let of = |at: usize| ones_of(body, values, &inst.operand(at), depth);
    match inst.op {
        Opcode::LDG | Opcode::LDS | Opcode::LDL | Opcode::LD | Opcode::LDC => loaded(inst),
        Opcode::LOP3 if inst.len() == LOP3::COUNT => match inst.operand(LOP3::T) {
            Operand::Imm(AND) => of(LOP3::A) & of(LOP3::B),
            Operand::Imm(OR | XOR) => of(LOP3::A) | of(LOP3::B),
            _ => u32::MAX,
        },
        Opcode::SHF if inst.len() == SHF::COUNT => {
            let Operand::Imm(count @ 0..32) = inst.operand(SHF::B) else { return u32::MAX };
            let (low, high) = (inst.operand(SHF::A), inst.operand(SHF::C));
            match inst.mods().as_slice() {
                [Mod::R, Mod::U32, Mod::HI] if low == Operand::RZ => of(SHF::C) >> count,
                [Mod::R, Mod::S32, Mod::HI] if low == Operand::RZ => {
                    (of(SHF::C) as i32 >> count) as u32
                }
                [Mod::L, Mod::U32] if high == Operand::RZ => of(SHF::A) << count,
                _ => u32::MAX,
            }
        }
        Opcode::SEL if inst.len() == SEL::COUNT => of(SEL::A) | of(SEL::B),
        // A sum ends with as many zeros as all its terms do, and so do their negatives.
        Opcode::IADD3 if inst.len() == IADD3::COUNT && inst.mods().is_empty() => {
            let term = |at: usize| match inst.operand(at) {
                Operand::Reg(r) if r.flags == RegFlags::NEG => {
                    let positive = Operand::Reg(RegUse { flags: RegFlags::NONE, ..r });
                    ones_of(body, values, &positive, depth)
                }
                term => ones_of(body, values, &term, depth),
            };
            let terms = [IADD3::A, IADD3::B, IADD3::C].map(term);
            let zeros = terms.into_iter().map(u32::trailing_zeros).min().unwrap_or(0);
            let least = u32::MAX.checked_shl(zeros).unwrap_or(0);
            let is_negative =
                |o: &Operand| matches!(o, Operand::Reg(r) if r.flags != RegFlags::NONE);
            match inst.sources().any(|o| is_negative(&o)) {
                true => least,
                false => least & up_to(terms.into_iter().map(u64::from).sum()),
            }
        }
        Opcode::IMAD if inst.len() == IMAD::COUNT && inst.mods().is_empty() => {
            let is_plain = |at: usize| match inst.operand(at) {
                Operand::Reg(r) => r.flags == RegFlags::NONE,
                operand => matches!(operand, Operand::Imm(_)),
            };
            let [a, b, c] = [IMAD::A, IMAD::B, IMAD::C].map(|at| match is_plain(at) {
                true => u64::from(of(at)),
                false => u64::from(u32::MAX),
            });
            up_to((a * b).saturating_add(c))
        }
        Opcode::VIMNMX if inst.len() == VIMNMX::COUNT && inst.mods().is_empty() => {
            clamped(body, values, inst)
        }
        Opcode::F2I => loaded(inst),
        Opcode::SGXT if inst.len() == SGXT::COUNT && inst.mods().as_slice() == [Mod::U32] => {
            match inst.operand(SGXT::B) {
                Operand::Imm(count @ 0..32) => of(SGXT::A) & !(u32::MAX << count),
                _ => u32::MAX,
            }
        }
        Opcode::S2R => match inst.operand(S2R::A) {
            Operand::Special(SR_LANEID) => 31,
            Operand::Special(n @ SR_TID..=SR_TID_Z) => {
                up_to(u64::from(values.threads[usize::from(n - SR_TID)] - 1))
            }
            _ => u32::MAX,
        },
        Opcode::PRMT if inst.len() == PRMT::COUNT && inst.mods().is_empty() => {
            let Operand::Imm(picks) = inst.operand(PRMT::B) else { return u32::MAX };
            picked(picks, of(PRMT::A), of(PRMT::C))
        }
        Opcode::MOV if inst.len() == MOV::COUNT => of(MOV::B),
        Opcode::POPC => 63,
        _ => u32::MAX,
    }
}

/// Whether a sum of words, none of them negated, is a word again: it carries nothing.
pub(super) fn carries_nothing(body: &Body<'_>, values: &Values<'_>, sum: View<'_>) -> bool {
    let term = |at: usize| match sum.operand(at) {
        Operand::Reg(r) if r.flags.without(RegFlags::REUSE) != RegFlags::NONE => u32::MAX,
        term => ones_of(body, values, &term, DEPTH),
    };
    let most: u64 = [IADD3::A, IADD3::B, IADD3::C].map(term).into_iter().map(u64::from).sum();
    most <= u64::from(u32::MAX)
}

/// The outcome of a comparison of a word with a number, where the bits of the word leave one only.
pub(super) fn outcome(body: &Body<'_>, values: &Values<'_>, inst: View<'_>) -> Option<bool> {
    let [order, rest @ ..] = inst.mods().as_slice() else { return None };
    let is_signed = match rest {
        [Mod::AND] => true,
        [Mod::U32, Mod::AND] => false,
        _ => return None,
    };
    let [a, b] = [ISETP::A, ISETP::B].map(|at| inst.operand(at));
    // Read at once, they are one word.
    if a == b && plain(&a).is_some() {
        return Some(Comparison::of(*order)?.holds(Ordering::Equal));
    }
    let number = match b {
        Operand::Imm(number) => number as u32,
        Operand::RZ => 0,
        _ => return None,
    };
    if let Some(first) = exact(body, values, &a) {
        let of_both = match is_signed {
            true => (first as i32).cmp(&(number as i32)),
            false => first.cmp(&number),
        };
        return Some(Comparison::of(*order)?.holds(of_both));
    }
    let ones = ones_of(body, values, &a, DEPTH);
    // What may be negative is another matter.
    let most = Some(ones).filter(|ones| !is_signed || *ones >> 31 == 0)?;
    let is_below = is_signed && number as i32 > most as i32 || !is_signed && number > most;
    let is_above = is_signed && (number as i32) < 0;
    match *order {
        Mod::EQ if number & !ones != 0 => Some(false),
        Mod::NE if number & !ones != 0 => Some(true),
        Mod::LT | Mod::LE if is_below => Some(true),
        Mod::GT | Mod::GE if is_below => Some(false),
        Mod::LT | Mod::LE if is_above => Some(false),
        Mod::GT | Mod::GE if is_above => Some(true),
        Mod::LE if number == most => Some(true),
        Mod::GT if number == most => Some(false),
        Mod::LT if number == 0 => Some(false),
        Mod::GE if number == 0 => Some(true),
        _ => None,
    }
}

/// The number that a word is.
fn exact(body: &Body<'_>, values: &Values<'_>, operand: &Operand) -> Option<u32> {
    if *operand == Operand::RZ {
        return Some(0);
    }
    let writer = body.inst(values.writer(plain(operand)?)?);
    match writer.get(MOV::B)? {
        Operand::Imm(number) if writer.op == Opcode::MOV && writer.guard.is_always() => {
            Some(number as u32)
        }
        Operand::RZ if writer.op == Opcode::MOV && writer.guard.is_always() => Some(0),
        _ => None,
    }
}

/// All bits of the numbers up to one.
fn up_to(most: u64) -> u32 {
    match u32::try_from(most) {
        Ok(most) => u32::MAX.checked_shr(most.leading_zeros()).unwrap_or(0),
        Err(_) => u32::MAX,
    }
}

/// Of a signed number that is made no less than one number and no greater than another, neither of
/// them negative.
fn clamped(body: &Body<'_>, values: &Values<'_>, inst: View<'_>) -> u32 {
    // The number, what it is compared with, and whether the lesser of them is taken.
    let step = |inst: View<'_>| {
        let is_lesser = match inst.get(VIMNMX::X)? {
            Operand::PT => true,
            Operand::NOT_PT => false,
            _ => return None,
        };
        let bound = match inst.operand(VIMNMX::B) {
            Operand::Imm(bound) => Some(bound as u32).filter(|bound| *bound as i32 >= 0)?,
            operand if operand == Operand::RZ => 0,
            _ => return None,
        };
        Some((inst.operand(VIMNMX::A), bound, is_lesser))
    };
    let bound = || {
        let (from, last, is_lesser) = step(inst)?;
        let first = body.inst(values.writer(plain(&from)?)?);
        let is_one = first.op == Opcode::VIMNMX
            && first.mods().is_empty()
            && first.guard.is_always()
            && first.len() == VIMNMX::COUNT;
        let (_, bound, was_lesser) = step(first).filter(|_| is_one)?;
        (is_lesser != was_lesser).then_some(if is_lesser { last } else { last.max(bound) })
    };
    bound().map_or(u32::MAX, |most| up_to(u64::from(most)))
}

/// Of bytes that are picked from two words, and of signs that are spread over one.
fn picked(picks: u64, low: u32, high: u32) -> u32 {
    let both = u64::from(low) | u64::from(high) << 32;
    let byte = |at: u32| {
        let pick = picks >> (4 * at) & 0xf;
        let bits = (both >> (8 * (pick & 7)) & 0xff) as u32;
        match pick & 8 {
            0 => bits,
            _ if bits & 0x80 != 0 => 0xff,
            _ => 0,
        }
    };
    (0..4).map(|at| byte(at) << (8 * at)).sum()
}

/// Of a load the width says it.
fn loaded(inst: View<'_>) -> u32 {
    match () {
        () if inst.mods().has(Mod::U8) => 0xff,
        () if inst.mods().has(Mod::U16) => 0xffff,
        () => u32::MAX,
    }
}

/// The copy that an extension is which gives each byte what it has: those that it fills are zero,
/// and so is the sign that it fills them with.
pub(super) fn idle_extension(body: &Body<'_>, values: &Values<'_>, id: InstId) -> Option<Inst> {
    let inst = body.inst(id);
    let (from, Operand::Imm(picks)) = (inst.get(PRMT::A)?, inst.get(PRMT::B)?) else { return None };
    plain(&from)?;
    let ones = ones_of(body, values, &from, DEPTH);
    let high = ones_of(body, values, &inst.operand(PRMT::C), DEPTH);
    let both = u64::from(ones) | u64::from(high) << 32;
    let byte = |at: u64| both >> (8 * (at & 7)) & 0xff;
    let stays = |at: u64| match picks >> (4 * at) & 0xf {
        pick if pick == at => true,
        pick if pick & 8 == 0 => byte(at) == 0 && byte(pick) == 0,
        pick => byte(at) == 0 && byte(pick) & 0x80 == 0,
    };
    (0..4).all(stays).then(|| copy(inst.operand(PRMT::D), from))
}

/// Whether it is the bits that two words have both, and says nothing of them.
pub(super) fn is_mask(inst: View<'_>) -> bool {
    inst.op == Opcode::LOP3
        && inst.len() == LOP3::COUNT
        && inst.operand(LOP3::P) == Operand::PT
        && inst.operand(LOP3::X) == Operand::NOT_PT
        && inst.operand(LOP3::T) == Operand::Imm(AND)
        && inst.operand(LOP3::C) == Operand::RZ
}

/// The copy that logic is which is the same as its only input, or takes away no bit of it that may
/// be one, or all of them.
pub(super) fn idle_mask(body: &Body<'_>, values: &Values<'_>, id: InstId) -> Option<Inst> {
    let inst = body.inst(id);
    if let Some(from) = only_input(inst) {
        return Some(copy(inst.operand(LOP3::D), Operand::Reg(from)));
    }
    let (from, Operand::Imm(mask)) = (inst.get(LOP3::A)?, inst.get(LOP3::B)?) else { return None };
    if !is_mask(inst) {
        return None;
    }
    let ones = ones_of(body, values, &from, DEPTH);
    let left = match mask as u32 {
        mask if ones & mask == 0 => Operand::RZ,
        mask if ones & !mask == 0 => Operand::Reg(plain(&from)?),
        _ => return None,
    };
    Some(copy(inst.operand(LOP3::D), left))
}

/// The zero that a shift leaves of what has no other bits.
pub(super) fn nothing(body: &Body<'_>, values: &Values<'_>, id: InstId) -> Option<Inst> {
    let inst = body.inst(id);
    let result = inst.get(SHF::D).filter(|_| inst.op == Opcode::SHF)?;
    let is_zero = ones(body, values, plain(&result)?, DEPTH) == 0;
    is_zero.then(|| copy(result, Operand::RZ))
}

/// The mask that a shift is of what was shifted by as much the other way, or whose high half was
/// taken: what PTX makes of the second of two halves, as a word or a float.
pub(super) fn masked(body: &Body<'_>, values: &Values<'_>, id: InstId) -> Option<Inst> {
    let inst = body.inst(id);
    let (is_left, from, count) = shifted(inst)?;
    let writer = body.inst(values.writer(plain(&from)?)?);
    let from = match shifted(writer) {
        Some((other, from, by)) if other != is_left && by == count => from,
        None if is_left && count == 16 => high_half(writer)?,
        _ => return None,
    };
    let mask = if is_left { u32::MAX << count } else { u32::MAX >> count };
    let [mask, table] = [u64::from(mask), AND].map(Operand::Imm);
    let from = Operand::Reg(plain(&from)?);
    let operands =
        [Operand::PT, inst.operand(SHF::D), from, mask, Operand::RZ, table, Operand::NOT_PT];
    Some(Inst::new(Opcode::LOP3, &[Mod::LUT], 2, &operands))
}

/// Whether a word is shifted to the left, or to the right without its sign, which, and how far.
fn shifted(inst: View<'_>) -> Option<(bool, Operand, u32)> {
    if inst.op != Opcode::SHF || inst.len() != SHF::COUNT || !inst.guard.is_always() {
        return None;
    }
    let Operand::Imm(count @ 1..32) = inst.operand(SHF::B) else { return None };
    let (low, high) = (inst.operand(SHF::A), inst.operand(SHF::C));
    match inst.mods().as_slice() {
        [Mod::L, Mod::U32] if high == Operand::RZ => Some((true, low, count as u32)),
        [Mod::R, Mod::U32, Mod::HI] if low == Operand::RZ => Some((false, high, count as u32)),
        _ => None,
    }
}

/// The word whose high half is the low half of what an instruction picks.
fn high_half(inst: View<'_>) -> Option<Operand> {
    let is_pick = inst.op == Opcode::PRMT
        && inst.len() == PRMT::COUNT
        && inst.mods().is_empty()
        && inst.guard.is_always();
    let Operand::Imm(picks) = inst.get(PRMT::B).filter(|_| is_pick)? else { return None };
    match picks & 0xff {
        0x32 => Some(inst.operand(PRMT::A)),
        0x76 => Some(inst.operand(PRMT::C)),
        _ => None,
    }
}

fn copy(to: Operand, from: Operand) -> Inst {
    Inst { operands: smallvec![to, from, Operand::Imm(0xf)], ..Inst::new(Opcode::MOV, &[], 1, &[]) }
}

/// The one input that logic is the same as, the others being zero.
fn only_input(inst: View<'_>) -> Option<RegUse> {
    let is_word = inst.op == Opcode::LOP3
        && inst.len() == LOP3::COUNT
        && inst.operand(LOP3::P) == Operand::PT
        && inst.operand(LOP3::X) == Operand::NOT_PT;
    let Operand::Imm(table) = inst.get(LOP3::T).filter(|_| is_word)? else { return None };
    let inputs = [LOP3::A, LOP3::B, LOP3::C].map(|at| inst.operand(at));
    let is_zero = |input: &Operand| matches!(*input, Operand::RZ | Operand::Imm(0));
    let mut others = inputs.iter().enumerate().filter(|(_, input)| !is_zero(input));
    let ((place, input), None) = (others.next()?, others.next()) else { return None };
    let is_same = table & 1 == 0 && table >> (1 << (2 - place)) & 1 != 0;
    plain(input).filter(|_| is_same)
}
