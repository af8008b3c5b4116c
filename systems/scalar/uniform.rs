//! What goes to a uniform register by way of a general one: a number is moved there at once, and
//! the sum of a number and what went the same way before is one of uniform registers.
//!
//! The descriptors of what a warpgroup multiplies are sums to one that is computed in general
//! registers. (ptxas 13.0.88 has `UIADD3 UR12, UP0, UR8, 0x2, URZ` for the next step of a product.)

use super::values::{Values, plain};
use crate::effects;
use orias_components::{Body, Inst, InstId, Opcode, Operand, RegFile, RegUse, View};
use orias_targets::Target;
use orias_targets::slots::{IADD3, MOV, R2UR};

/// How far before it another one may stand to whose register a sum is made, and how far if moves
/// are counted, most of which will be gone: those of a product's sums stand between two products.
/// So few uniform registers live longer for that; they cannot be spilled.
const NEAR: usize = 32;
const NEAR_WITH_MOVES: usize = 8 * NEAR;

/// The instruction that a move from a general register is, of those that `before` ends with.
pub(super) fn direct(
    body: &Body<'_>,
    values: &Values<'_>,
    target: &Target,
    (id, before): (InstId, &[InstId]),
) -> Option<Inst> {
    let inst = body.inst(id);
    let (to, from) = moved(inst)?;
    let by = body.inst(values.writer(from)?);
    let new = match number(by) {
        Some(number) => {
            let operands = [Operand::Reg(to), Operand::Imm(u64::from(number))];
            Inst::new(Opcode::UMOV, &[], 1, &operands)
        }
        None => {
            let (base, added) = sum(by).filter(|_| values.reads(from) == 1)?;
            let near = &before[before.len().saturating_sub(NEAR_WITH_MOVES)..];
            let base = near_copy(body, values, near, base)?;
            let (none, zero) = (Operand::UPT, Operand::URZ);
            let added = Operand::Imm(u64::from(added));
            let operands = [Operand::Reg(to), none, none, Operand::Reg(base), added, zero];
            Inst::new(Opcode::UIADD3, &[], 3, &operands)
        }
    };
    target.takes(&new).map(|_| new)
}

/// The uniform register that gets a general one's value, always, and that one.
fn moved(inst: View<'_>) -> Option<(RegUse, RegUse)> {
    let is_one = inst.op == Opcode::R2UR
        && inst.len() == R2UR::COUNT
        && inst.mods().is_empty()
        && inst.operand(R2UR::P) == Operand::PT
        && inst.guard.is_always();
    let to = plain(&inst.get(R2UR::UD).filter(|_| is_one)?)?;
    plain(&inst.get(R2UR::A)?).map(|from| (to, from))
}

/// The number that an instruction moves.
fn number(inst: View<'_>) -> Option<u32> {
    let is_move = inst.op == Opcode::MOV && inst.guard.is_always() && effects::copies_words(inst);
    match inst.get(MOV::B).filter(|_| is_move)? {
        Operand::Imm(number) => Some(number as u32),
        operand => (operand == Operand::RZ).then_some(0),
    }
}

/// The word and the number that an instruction adds.
fn sum(inst: View<'_>) -> Option<(RegUse, u32)> {
    let is_sum = inst.op == Opcode::IADD3
        && inst.len() == IADD3::COUNT
        && inst.mods().is_empty()
        && inst.guard.is_always()
        && inst.operand(IADD3::C) == Operand::RZ;
    let Operand::Imm(added) = inst.get(IADD3::B).filter(|_| is_sum)? else { return None };
    let base = plain(&inst.operand(IADD3::A))?;
    (base.reg.file() == RegFile::R && base.count == 1).then_some((base, added as u32))
}

/// The uniform register that has had a general one's value since one of these instructions, between
/// which no thread waits: others of the warp could have written it meanwhile.
fn near_copy(
    body: &Body<'_>,
    values: &Values<'_>,
    near: &[InstId],
    base: RegUse,
) -> Option<RegUse> {
    let undisturbed = |id: &InstId| {
        let op = body.op(*id);
        !(op.is_branch() || effects::may_wait(op) || effects::may_meet(op))
    };
    let mut left = NEAR;
    let mut is_near = |id: &InstId| {
        let counts = body.op(*id) != Opcode::MOV;
        left = left.saturating_sub(usize::from(counts));
        left > 0 && undisturbed(id)
    };
    near.iter().rev().take_while(|id| is_near(id)).find_map(|id| {
        let (to, from) = moved(body.inst(*id))?;
        let is_same = (from.reg, from.cell) == (base.reg, base.cell);
        (is_same && values.writer(to) == Some(*id)).then_some(to)
    })
}
