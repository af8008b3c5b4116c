//! Signs of floats: an operand of arithmetic that is another value with its sign changed or taken
//! away is that value with a minus or bars, which cost nothing.
//!
//! PTX has instructions of their own for them (`neg`, `abs`), which are logic with the sign bit, or
//! sums with `-0` where subnormals are to become zero. What reads the value must be arithmetic: it
//! takes any NaN for the same.

use super::values::Values;
use crate::effects;
use orias_components::{
    Body, Inst, InstId, Mod, Opcode, Operand, Reg, RegFile, RegFlags, RegUse, View,
};
use orias_targets::Target;
use orias_targets::slots::{FADD, FFMA, LOP3_LUT as LOP3};

/// The bits of a float but its sign, and its sign.
const REST: u64 = 0x7fff_ffff;
const SIGN: u64 = 0x8000_0000;

/// What reads singles as numbers, and doubles.
const SINGLES: [Opcode; 5] =
    [Opcode::FADD, Opcode::FMUL, Opcode::FFMA, Opcode::FSETP, Opcode::FMNMX];
const DOUBLES: [Opcode; 4] = [Opcode::DADD, Opcode::DMUL, Opcode::DFMA, Opcode::DSETP];

/// Whether the instruction may have signs to fold.
pub(super) fn may_fold(op: Opcode) -> bool {
    SINGLES.contains(&op) || DOUBLES.contains(&op) || op == Opcode::MUFU
}

/// The instruction with the signs of its operands folded, where there are any that it takes.
pub(super) fn fold(
    body: &Body<'_>,
    values: &Values<'_>,
    target: &Target,
    id: InstId,
) -> Option<Inst> {
    let inst = body.inst(id);
    if inst.op == Opcode::MUFU && !matches!(inst.mods().as_slice(), [one] if reads_single(*one)) {
        return None;
    }
    // Which reads the signs besides what it does to them.
    if inst.mods().has(Mod::XORSIGN) {
        return None;
    }
    let is_double = DOUBLES.contains(&inst.op);
    let mut new = None::<Inst>;
    for at in usize::from(inst.defs)..inst.len() {
        let now = new.as_ref().map_or_else(|| inst.operand(at), |new| new.operands[at]);
        let Operand::Reg(r) = now else { continue };
        let is_number = r.reg.file() == RegFile::R && r.count == if is_double { 2 } else { 1 };
        if !is_number || r.reg.vreg().is_none() {
            continue;
        }
        let signed = match is_double {
            true => signed_double(body, values, r),
            false => signed_single(body, values, inst, r),
        };
        let Some(signed) = signed else { continue };
        let mut changed = new.clone().unwrap_or_else(|| inst.to_inst());
        changed.operands[at] = Operand::Reg(signed);
        let takes = target.takes(&changed).is_some() || {
            // The sign of a product's factor may be the other's.
            let turned = signed.flags.0 ^ r.flags.0 == RegFlags::NEG.0;
            changed.operands[at] = Operand::Reg(RegUse { flags: r.flags, ..signed });
            turned
                && factor_beside(inst.op, at).is_some_and(|other| negate(&mut changed, other))
                && target.takes(&changed).is_some()
        };
        if takes {
            new = Some(changed);
        }
    }
    new
}

/// The functions of singles.
fn reads_single(function: Mod) -> bool {
    matches!(
        function,
        Mod::RCP | Mod::RSQ | Mod::LG2 | Mod::EX2 | Mod::SQRT | Mod::SIN | Mod::COS | Mod::TANH
    )
}

/// The other factor of a product.
fn factor_beside(op: Opcode, at: usize) -> Option<usize> {
    let is_product = matches!(op, Opcode::FMUL | Opcode::FFMA | Opcode::DMUL | Opcode::DFMA);
    match at {
        FFMA::A if is_product => Some(FFMA::B),
        FFMA::B if is_product => Some(FFMA::A),
        _ => None,
    }
}

/// Changes the sign of an operand, where that is a register.
fn negate(inst: &mut Inst, at: usize) -> bool {
    let Operand::Reg(r) = &mut inst.operands[at] else { return false };
    r.flags = RegFlags(r.flags.0 ^ RegFlags::NEG.0);
    true
}

/// What is read of a value that something has made a sign of.
fn with_flags(read: RegFlags, made: RegFlags) -> RegFlags {
    match read.has(RegFlags::ABS) {
        true => read,
        false => RegFlags((read.0 ^ made.0 & RegFlags::NEG.0) | made.0 & RegFlags::ABS.0),
    }
}

fn signed_single(
    body: &Body<'_>,
    values: &Values<'_>,
    reader: View<'_>,
    r: RegUse,
) -> Option<RegUse> {
    let writer = body.inst(values.writer(RegUse { flags: RegFlags::NONE, ..r })?);
    if writer.op == Opcode::FADD {
        // Subnormals become zero here, so they must for the reader.
        let flushes = writer.mods().as_slice() == [Mod::FTZ] && reader.mods().has(Mod::FTZ);
        let Operand::Reg(from) = writer.operand(FADD::A) else { return None };
        let zero = RegUse { flags: RegFlags::NEG, ..RegUse::new(Reg::RZ) };
        let is_sign = flushes
            && writer.guard.is_always()
            && writer.len() == FADD::COUNT
            && writer.operand(FADD::C) == Operand::Reg(zero)
            && from.reg.vreg().is_some()
            && from.count == 1;
        return is_sign.then(|| RegUse { flags: with_flags(r.flags, from.flags), ..from });
    }
    let (from, made) = sign(writer)?;
    Some(RegUse { flags: with_flags(r.flags, made), ..from })
}

fn signed_double(body: &Body<'_>, values: &Values<'_>, r: RegUse) -> Option<RegUse> {
    let [low, high] = [0, 1].map(|cell| RegUse::at(r.reg, r.cell + cell, 1));
    let (from, made) = sign(body.inst(values.writer(high)?))?;
    let copy = body.inst(values.writer(low)?);
    let copy = effects::as_copy(copy).filter(|_| copy.guard.is_always())?;
    let same = copy.from.reg == from.reg
        && copy.from.flags == RegFlags::NONE
        && from.cell == copy.from.cell + 1
        && copy.from.cell.is_multiple_of(2);
    let flags = with_flags(r.flags, made);
    same.then_some(RegUse { count: 2, flags, ..copy.from })
}

/// The word of which an instruction changes the sign alone, and to what.
fn sign(inst: View<'_>) -> Option<(RegUse, RegFlags)> {
    let is_word = inst.op == Opcode::LOP3
        && inst.len() == LOP3::COUNT
        && inst.guard.is_always()
        && inst.operand(LOP3::P) == Operand::PT
        && inst.operand(LOP3::X) == Operand::NOT_PT
        && inst.operand(LOP3::C) == Operand::RZ;
    let (Operand::Reg(from), Operand::Imm(mask), Operand::Imm(table)) =
        (inst.get(LOP3::A)?, inst.get(LOP3::B)?, inst.get(LOP3::T)?)
    else {
        return None;
    };
    if !is_word || from.flags != RegFlags::NONE || from.count != 1 || from.reg.vreg().is_none() {
        return None;
    }
    let both = RegFlags(RegFlags::NEG.0 | RegFlags::ABS.0);
    let made = match (mask & u64::from(u32::MAX), table) {
        (REST, 0xc0) => RegFlags::ABS,
        (SIGN, 0x3c) => RegFlags::NEG,
        (SIGN, 0xfc) => both,
        _ => return None,
    };
    Some((from, made))
}
