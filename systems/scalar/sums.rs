//! Two sums of 64 bits, one behind the other, each of two instructions.
//!
//! Of three values two instructions make one sum, with two carries. (ptxas 13.0.88 adds addresses
//! so: `IADD3 R4, P0, P1, R7, UR6, R0` and `IADD3.X R5, R5, UR7, R8, P0, P1`.) The sign that the
//! first one adds to its high word stands alone then. Where both add a
//! number the second one adds both to what the first one did: what is unrolled goes on so. And high
//! words of which is known that nothing is carried to them are a sum of words.

use super::bits;
use super::values::{Values, plain};
use orias_components::{
    Body, Inst, InstId, Mod, Mods, Opcode, Operand, RegFile, RegFlags, RegUse, View,
};
use orias_targets::Target;
use orias_targets::slots::{IADD3, IADD3_X, LEA_HI_X_SX32 as SX32};

/// The two instructions, and those of the first sum, which nothing wants any more or which become
/// something else.
pub(super) struct Sum {
    pub low: (InstId, Inst),
    pub high: Inst,
    pub first: [(InstId, Option<Inst>); 2],
}

/// The sum of which an instruction adds the high words, if it adds another such sum to something.
/// `before` is what stands near before it.
pub(super) fn three(
    body: &Body<'_>,
    values: &Values<'_>,
    target: &Target,
    (id, before): (InstId, &[InstId]),
) -> Option<Sum> {
    let high = body.inst(id);
    let carry = carry_of(high)?;
    let is_sum_near = |low: &InstId| before.contains(low) && is_low(body.inst(*low));
    let low = once(values, carry).filter(is_sum_near)?;
    // The sums that are added to others, by their low and their high words.
    let low_at = [IADD3::A, IADD3::B].into_iter().find_map(|at| {
        let word = word(body.inst(low), at)?;
        once(values, word).filter(|by| is_low(body.inst(*by))).map(|by| (at, by))
    });
    let (low_at, first_low) = low_at?;
    let first_carry = plain(&body.inst(first_low).operand(IADD3::P))?;
    let high_at = [IADD3::A, IADD3::B].into_iter().find_map(|at| {
        let by = once(values, word(high, at)?)?;
        let sign = with_sign(body.inst(by));
        let carry = carry_of(body.inst(by)).or(sign.as_ref().map(|sign| sign.carry));
        let takes = carry == Some(first_carry);
        (takes && values.reads(first_carry) == 1).then_some((at, by, sign))
    });
    let (high_at, first_high, sign) = high_at?;
    // Uniform registers are no values: they are read later only where they are not written again.
    let place = |by: InstId| before.iter().position(|before| *before == by);
    let over = place(first_low).zip(place(first_high)).map(|(a, b)| &before[a.min(b)..]);
    let stays = |operand: Operand| {
        let by = uniform(values, operand);
        by.is_some_and(|by| over.is_some_and(|over| !over.contains(&by)))
    };
    let may_move = |by: &InstId| values.may_move(body, *by, before);
    if ![first_low, first_high].iter().all(may_move) {
        return None;
    }
    let sum = |of: InstId, at: usize, first: [(View<'_>, usize); 2]| {
        let mut new = body.inst(of).to_inst();
        let other = if at == IADD3::A { IADD3::B } else { IADD3::A };
        let mut words = [(body.inst(of), other), first[0], first[1]].map(|(from, at)| {
            let value = from.operand(at);
            let is_uniform = stays(value);
            (value == Operand::RZ || is_uniform || word(from, at).is_some())
                .then_some((value, is_uniform))
        });
        // In the middle is room for one that is uniform.
        if let Some(at) = words.iter().position(|word| matches!(word, Some((_, true)))) {
            words.swap(at, 1);
        }
        for (at, word) in [IADD3::A, IADD3::B, IADD3::C].into_iter().zip(words) {
            new.operands[at] = word?.0;
        }
        Some(new)
    };
    let both = |first: InstId| [IADD3::A, IADD3::B].map(|at| (body.inst(first), at));
    let mut new_low = sum(low, low_at, both(first_low))?;
    new_low.operands[IADD3::Q] = Operand::Reg(first_carry);
    let high_words = match &sign {
        Some(_) => [SX32::D, SX32::B].map(|at| (body.inst(first_high), at)),
        None => both(first_high),
    };
    let mut new_high = sum(id, high_at, high_words)?;
    new_high.operands[IADD3_X::Y] = Operand::Reg(first_carry);
    let takes = target.takes(&new_low).is_some() && target.takes(&new_high).is_some();
    let first_high = (first_high, sign.map(|sign| sign.inst));
    takes.then_some(Sum {
        low: (low, new_low),
        high: new_high,
        first: [(first_low, None), first_high],
    })
}

/// The sign of a word, which is the upper word of one that is added.
struct Sign {
    carry: RegUse,
    /// What gives it alone.
    inst: Inst,
}

/// The sign that an instruction adds to a high word with a carry.
fn with_sign(inst: View<'_>) -> Option<Sign> {
    let is_one = inst.op == Opcode::LEA
        && inst.mods().as_slice() == [Mod::HI, Mod::X, Mod::SX32]
        && inst.len() == SX32::COUNT
        && inst.guard.is_always()
        && inst.operand(SX32::P) == Operand::PT
        && inst.operand(SX32::N) == Operand::Imm(1);
    let carry = plain(&inst.get(SX32::X)?).filter(|_| is_one)?;
    let operands = [inst.operand(SX32::D), Operand::RZ, Operand::Imm(31), inst.operand(SX32::A)];
    let inst = Inst::new(Opcode::SHF, &[Mod::R, Mod::S32, Mod::HI], 1, &operands);
    Some(Sign { carry, inst })
}

/// The low word's and the high word's sum with both numbers, of which an instruction adds the high
/// words of the second.
pub(super) fn numbers(
    body: &Body<'_>,
    values: &Values<'_>,
    target: &Target,
    (id, before): (InstId, &[InstId]),
) -> Option<((InstId, Inst), Inst)> {
    let high = body.inst(id);
    let low = once(values, carry_of(high)?).filter(|low| before.contains(low))?;
    let (first_low, low_number) = with_number(body, values, low)?;
    let (first_high, high_number) = with_number(body, values, id)?;
    let (from_low, first_low_number) = number_of(body, first_low)?;
    let (from_high, first_high_number) = number_of(body, first_high)?;
    let carries = carry_of(body.inst(first_high))?;
    let is_one = is_low(body.inst(low))
        && is_low(body.inst(first_low))
        && plain(&body.inst(first_low).operand(IADD3::P)) == Some(carries);
    if !is_one || ![first_low, first_high].iter().all(|by| values.may_move(body, *by, before)) {
        return None;
    }
    let join = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
    let number =
        join(first_low_number, first_high_number).wrapping_add(join(low_number, high_number));
    let sum = |of: InstId, from: RegUse, number: u32| {
        let mut new = body.inst(of).to_inst();
        new.operands[IADD3::A] = Operand::Reg(from);
        new.operands[IADD3::B] = Operand::Imm(u64::from(number));
        target.takes(&new).map(|_| new)
    };
    let new_low = sum(low, from_low, number as u32)?;
    Some(((low, new_low), sum(id, from_high, (number >> 32) as u32)?))
}

/// The sum of words that a sum with a carry is, where nothing is carried: what is known of the
/// words that were added before says so.
pub(super) fn without_carry(body: &Body<'_>, values: &Values<'_>, id: InstId) -> Option<Inst> {
    let high = body.inst(id);
    let low = body.inst(values.writer(carry_of(high)?)?);
    let is_inverted = |r: RegUse| r.flags != RegFlags::NONE;
    let is_known = is_low(low)
        && !high
            .sources()
            .any(|o| matches!(o, Operand::Reg(r) if o != Operand::NOT_PT && is_inverted(r)))
        && bits::carries_nothing(body, values, low);
    if !is_known {
        return None;
    }
    let mut sum = high.to_inst();
    sum.mods = Mods::new(&[]);
    sum.operands.truncate(IADD3::COUNT);
    Some(sum)
}

/// The register and the number that an instruction adds.
fn number_of(body: &Body<'_>, id: InstId) -> Option<(RegUse, u32)> {
    let inst = Some(body.inst(id)).filter(|inst| is_sum(*inst))?;
    let number = match inst.operand(IADD3::B) {
        Operand::Imm(number) => number as u32,
        operand if operand == Operand::RZ => 0,
        _ => return None,
    };
    word(inst, IADD3::A).map(|r| (r, number))
}

/// What gives the register that an instruction adds a number to, and the number.
fn with_number(body: &Body<'_>, values: &Values<'_>, id: InstId) -> Option<(InstId, u32)> {
    let (r, number) = number_of(body, id)?;
    values.writer(r).map(|by| (by, number))
}

/// The instruction that alone gives what is read once.
fn once(values: &Values<'_>, r: RegUse) -> Option<InstId> {
    values.writer(r).filter(|_| values.reads(r) == 1)
}

/// What alone writes the uniform register that an operand is.
fn uniform(values: &Values<'_>, operand: Operand) -> Option<InstId> {
    let r = plain(&operand).filter(|r| r.reg.file() == RegFile::UR && r.count == 1)?;
    values.writer(r)
}

/// A general register as it is.
fn word(inst: View<'_>, at: usize) -> Option<RegUse> {
    plain(&inst.operand(at)).filter(|r| r.reg.file() == RegFile::R && r.count == 1)
}

fn is_sum(inst: View<'_>) -> bool {
    inst.op == Opcode::IADD3 && inst.guard.is_always() && inst.is_rz(IADD3::C)
}

/// Whether it adds two words, and says what it carries.
fn is_low(inst: View<'_>) -> bool {
    is_sum(inst) && inst.mods().is_empty() && inst.len() == IADD3::COUNT && inst.is_pt(IADD3::Q)
}

/// The carry that it adds to two words, where that is all that it does.
fn carry_of(inst: View<'_>) -> Option<RegUse> {
    let is_high = is_sum(inst)
        && inst.mods().as_slice() == [Mod::X]
        && inst.len() == IADD3_X::COUNT
        && inst.is_pt(IADD3::P)
        && inst.is_pt(IADD3::Q)
        && inst.is_not_pt(IADD3_X::Y);
    plain(&inst.get(IADD3_X::X).filter(|_| is_high)?)
}
