//! Logic says of its result whether it is not zero: a comparison of that with zero is part of it.
//!
//! Where nothing else reads the result, the logic stands in the comparison's place; else it gets
//! the predicate beside its result, a few instructions before. A comparison that asks for zero is
//! one that asks for the opposite, where the one instruction that reads the answer may take it
//! negated. Of 64 bits whose low words are numbers the high words are compared alone. (ptxas
//! 13.0.88 does all four.)

use super::values::{Values, plain};
use crate::analysis::trips::Comparison;
use orias_components::{
    Body, Inst, InstId, Mod, Mods, Opcode, Operand, Reg, RegFile, RegFlags, RegUse, View,
};
use orias_targets::Target;
use orias_targets::slots::{ISETP, ISETP_EX, LOP3_LUT as LOP3};
use smallvec::SmallVec;

/// The logic that answers a comparison.
pub(super) struct Answer {
    by: InstId,
    /// What it becomes, or what the comparison does.
    pub inst: Inst,
    /// Whether it stands in the comparison's place.
    pub is_moved: bool,
}

impl Answer {
    /// Gives it instead of the comparison.
    pub fn apply(&self, body: &mut Body<'_>, values: &mut Values<'_>, comparison: InstId) {
        if self.is_moved {
            values.replace(body, comparison, &self.inst);
            return;
        }
        body.set_operand(comparison, ISETP::P, Operand::PT);
        values.replace(body, self.by, &self.inst);
        values.kill(body, comparison);
    }
}

/// The logic that answers a comparison with zero, of this kind. `before` is what stands near before
/// the comparison.
pub(super) fn answer(
    body: &Body<'_>,
    values: &Values<'_>,
    target: &Target,
    (id, before): (InstId, &[InstId]),
    asks: Mod,
) -> Option<Answer> {
    let inst = body.inst(id);
    let is_test = inst.op == Opcode::ISETP
        && inst.guard.is_always()
        && inst.len() == ISETP::COUNT
        && inst.mods().has(asks)
        && inst.mods().has(Mod::AND)
        && inst.operand(ISETP::Q) == Operand::PT
        && inst.operand(ISETP::X) == Operand::PT
        && matches!(inst.operand(ISETP::B), Operand::RZ | Operand::Imm(0));
    if !is_test {
        return None;
    }
    let word = plain(&inst.operand(ISETP::A))?;
    let by = values.writer(word)?;
    let is_moved = values.reads(word) == 1 && values.may_move(body, by, before);
    let logic = body.inst(by);
    let is_word = logic.op == Opcode::LOP3
        && logic.guard.is_always()
        && logic.mods().as_slice() == [Mod::LUT]
        && logic.len() == LOP3::COUNT
        && logic.operand(LOP3::P) == Operand::PT
        && logic.operand(LOP3::X) == Operand::NOT_PT;
    if !is_word || !is_moved && !before.contains(&by) {
        return None;
    }
    let mut new = logic.to_inst();
    new.operands[LOP3::P] = inst.operand(ISETP::P);
    if is_moved {
        new.operands[LOP3::D] = Operand::RZ;
    }
    target.takes(&new).map(|_| Answer { by, inst: new, is_moved })
}

/// The comparison of high words alone that one of 64 bits is whose low words are numbers: what is
/// masked or extended has zeros there.
pub(super) fn of_high_words(body: &Body<'_>, values: &Values<'_>, id: InstId) -> Option<Inst> {
    let inst = body.inst(id);
    let is_whole = inst.op == Opcode::ISETP
        && inst.len() == ISETP_EX::COUNT
        && inst.mods().has(Mod::EX)
        && inst.guard.is_always();
    let Operand::Reg(rest) = inst.get(ISETP_EX::Y).filter(|_| is_whole)? else { return None };
    let is_plain = rest.reg.file() == RegFile::P && rest.flags == RegFlags::NONE;
    let low = body.inst(values.writer(rest).filter(|_| is_plain)?);
    let is_low = low.op == Opcode::ISETP
        && low.len() == ISETP::COUNT
        && low.guard.is_always()
        && low.mods().has(Mod::U32)
        && low.mods().has(Mod::AND)
        && low.operand(ISETP::X) == Operand::PT
        && low.operand(ISETP::P) == Operand::Reg(rest);
    let number = |at: usize| match low.get(at).filter(|_| is_low)? {
        Operand::Imm(number) => Some(number as u32),
        operand => (operand == Operand::RZ).then_some(0),
    };
    let (a, b) = (number(ISETP::A)?, number(ISETP::B)?);
    let low_word = |inst: View<'_>| WORDS.into_iter().find(|word| inst.mods().has(*word));
    let holds = Comparison::of(low_word(low)?)?.holds(a.cmp(&b));
    let word = match (low_word(inst)?, holds) {
        (Mod::LT | Mod::LE, true) => Mod::LE,
        (Mod::LT | Mod::LE, false) => Mod::LT,
        (Mod::GT | Mod::GE, true) => Mod::GE,
        (Mod::GT | Mod::GE, false) => Mod::GT,
        (Mod::EQ, true) => Mod::EQ,
        (Mod::NE, false) => Mod::NE,
        _ => return None,
    };
    let mut new = inst.to_inst();
    let words: SmallVec<[Mod; 4]> = inst
        .mods()
        .as_slice()
        .iter()
        .filter(|other| **other != Mod::EX)
        .map(|other| if WORDS.contains(other) { word } else { *other })
        .collect();
    new.mods = Mods::new(&words);
    new.operands.truncate(ISETP::COUNT);
    Some(new)
}

/// What comparisons may ask.
const WORDS: [Mod; 6] = [Mod::LT, Mod::LE, Mod::GT, Mod::GE, Mod::EQ, Mod::NE];

/// A comparison whose answer one instruction alone reads, as its guard, to select by or in logic,
/// and the instruction with the opposite answer.
pub(super) fn opposite(body: &Body<'_>, values: &Values<'_>, id: InstId) -> Option<(InstId, Inst)> {
    let inst = body.inst(id);
    let once = |reg: Reg| {
        let r = RegUse::new(reg);
        let is_one = reg.vreg().is_some() && reg.file() == RegFile::P && values.reads(r) == 1;
        values.writer(r).filter(|by| is_one && body.op(*by) == Opcode::ISETP)
    };
    if let Some(by) = once(inst.guard.reg) {
        let new = inst.to_inst();
        let (reg, negated) = (new.guard.reg, new.guard.negated);
        return Some((by, new.guarded(reg, !negated)));
    }
    if !READERS.contains(&inst.op) {
        return None;
    }
    (usize::from(inst.defs)..inst.len()).find_map(|at| {
        let r = inst.reg(at).filter(|r| r.reg.file() == RegFile::P)?;
        let by = once(r.reg)?;
        let mut new = inst.to_inst();
        let flags = match r.flags.has(RegFlags::NOT) {
            true => RegFlags::NONE,
            false => RegFlags::NOT,
        };
        new.operands[at] = Operand::Reg(RegUse { flags, ..r });
        Some((by, new))
    })
}

/// Instructions that are asked whether they take the opposite of a predicate.
const READERS: [Opcode; 4] = [Opcode::SEL, Opcode::FSEL, Opcode::PLOP3, Opcode::ISETP];

/// Whether an instruction may take the opposite of what it reads.
pub(super) fn may_ask_opposite(inst: View<'_>) -> bool {
    !inst.guard.is_always() || READERS.contains(&inst.op)
}
