//! Addresses: a constant that was added to one is a part of the access itself. ptxas 13.0.88 does
//! so for all that has room for an offset, of shared, local, global and generic memory.

use super::values::{Values, plain};
use orias_components::{Body, Inst, InstId, MemRef, Mod, Opcode, Operand, RegUse, View};
use orias_targets::slots::{IADD3, IADD3_X};
use orias_targets::{SlotKind, Target};

/// The same access by what a constant was added to, and that.
pub(super) fn with_offset(
    body: &Body<'_>,
    values: &Values<'_>,
    target: &Target,
    (id, before): (InstId, &[InstId]),
) -> Option<(Inst, RegUse)> {
    let inst = body.inst(id);
    let at = inst.address()?;
    let Operand::Mem(place) = inst.operand(at) else { return None };
    let (base, added) = match (place.sel, place.base.count) {
        (Mod::NONE, 1) => sum(body, values, place.base, before)?,
        (Mod::_64, 2) => wide_sum(body, values, place.base, before)?,
        _ => return None,
    };
    let offset = i64::from(place.offset) + i64::from(added);
    let mut new = inst.to_inst();
    let SlotKind::Mem { offset: field, .. } = target.form(&new)?.slots.get(at)?.kind else {
        return None;
    };
    let half = 1_i64 << (field.width().clamp(1, 32) - 1);
    if !(-half..half).contains(&offset) {
        return None;
    }
    new.operands[at] = Operand::Mem(MemRef { base, offset: offset as i32, ..place });
    target.takes(&new).map(|_| (new, base))
}

/// The word and the constant whose sum an address is.
fn sum(
    body: &Body<'_>,
    values: &Values<'_>,
    address: RegUse,
    before: &[InstId],
) -> Option<(RegUse, i32)> {
    let by = values.writer(address).filter(|by| values.may_move(body, *by, before))?;
    let inst = body.inst(by);
    let is_sum = inst.op == Opcode::IADD3
        && inst.guard.is_always()
        && inst.mods().is_empty()
        && inst.is_pt(IADD3::P);
    let (word, added) = is_sum.then(|| terms(inst))??;
    Some((word, added as i32))
}

/// The same of 64 bits: of the low words with a carry, and of the high ones with the constant's
/// sign.
fn wide_sum(
    body: &Body<'_>,
    values: &Values<'_>,
    address: RegUse,
    before: &[InstId],
) -> Option<(RegUse, i32)> {
    let half = |cell: u8| {
        let by = values.writer(RegUse::at(address.reg, address.cell + cell, 1))?;
        values.may_move(body, by, before).then(|| body.inst(by))
    };
    let is_sum = |inst: &View<'_>| inst.op == Opcode::IADD3 && inst.guard.is_always();
    let low = half(0).filter(is_sum)?;
    let high = half(1).filter(is_sum)?;
    let carry = plain(&low.get(IADD3::P)?)?;
    let is_whole = low.mods().is_empty()
        && high.mods().as_slice() == [Mod::X]
        && high.is_pt(IADD3_X::P)
        && high.is_reg(IADD3_X::X, carry)
        && high.is_not_pt(IADD3_X::Y);
    if !is_whole {
        return None;
    }
    let ((word, added), (upper, sign)) = (terms(low)?, terms(high)?);
    let is_pair = upper.reg == word.reg
        && upper.cell == word.cell + 1
        && word.cell.is_multiple_of(2)
        && word.reg.vreg().is_some_and(|v| body.vreg(v).align >= 2);
    let extends = sign == if (added as i32) < 0 { u32::MAX } else { 0 };
    (is_pair && extends).then(|| (RegUse::at(word.reg, word.cell, 2), added as i32))
}

/// The word that a sum of one word and constants adds, and the constants' sum.
fn terms(inst: View<'_>) -> Option<(RegUse, u32)> {
    if !inst.is_pt(IADD3::Q) {
        return None;
    }
    let (mut word, mut added) = (None, 0);
    for at in [IADD3::A, IADD3::B, IADD3::C] {
        match inst.operand(at) {
            Operand::Imm(value) if added == 0 => added = value as u32,
            operand if operand == Operand::RZ => {}
            operand => {
                let one = plain(&operand).filter(|r| r.count == 1)?;
                if word.replace(one).is_some() {
                    return None;
                }
            }
        }
    }
    Some((word?, added))
}
