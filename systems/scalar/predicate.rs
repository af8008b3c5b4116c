//! Comparisons and selects: a function of a comparison's outcome and another predicate is the
//! comparison's own third input, and a select of what one instruction computes is that instruction
//! under a guard.

use super::values::{Values, plain};
use crate::effects;
use orias_components::{
    Body, Inst, InstId, Mod, Opcode, Operand, Props, RegFile, RegFlags, RegUse,
};
use orias_targets::Target;
use orias_targets::slots::{ISETP, PLOP3_LUT as PLOP3, SEL};
use smallvec::smallvec;

/// `a ? b : false` and its like of two predicates, `PT` the third: the truth table, how a
/// comparison combines its outcome with the other, which operand that outcome is, and whether the
/// other is inverted.
const TABLES: [(u64, Mod, usize, bool); 8] = [
    (0x80, Mod::AND, PLOP3::X, false),
    (0x80, Mod::AND, PLOP3::Y, false),
    (0xa8, Mod::OR, PLOP3::X, false),
    (0xa8, Mod::OR, PLOP3::Y, false),
    (0x28, Mod::XOR, PLOP3::X, false),
    (0x28, Mod::XOR, PLOP3::Y, false),
    (0x20, Mod::AND, PLOP3::X, true),
    (0x08, Mod::AND, PLOP3::Y, true),
];

/// The comparison that stands for a function of two predicates, one of which is what it says. The
/// comparison may be made again for it: that is no more code, and predicates are few.
pub(super) fn compose(
    body: &Body<'_>,
    values: &Values<'_>,
    target: &Target,
    (id, before): (InstId, &[InstId]),
) -> Option<Inst> {
    let inst = body.inst(id);
    let is_of_two = inst.op == Opcode::PLOP3
        && inst.len() == PLOP3::COUNT
        && inst.operand(PLOP3::Q) == Operand::PT
        && inst.operand(PLOP3::Z) == Operand::PT
        && inst.operand(PLOP3::U) == Operand::Imm(0);
    let Operand::Imm(table) = inst.operand(PLOP3::T) else { return None };
    if !is_of_two {
        return None;
    }
    // What compares with zero may be what logic says beside its result.
    let rows = |zero| TABLES.iter().filter(|row| row.0 == table).map(move |row| (zero, row));
    rows(false).chain(rows(true)).find_map(|(zero, (_, combine, at, inverts))| {
        let other = inst.operand(if *at == PLOP3::X { PLOP3::Y } else { PLOP3::X });
        let outcome = plain(&inst.operand(*at))?;
        let (other, is_negated) = as_it_is(&other)?;
        let by = values.writer(outcome).filter(|by| values.may_move(body, *by, before))?;
        let comparison = body.inst(by);
        let is_plain = matches!(comparison.op, Opcode::ISETP | Opcode::FSETP)
            && comparison.guard.is_always()
            && comparison.len() == ISETP::COUNT
            && comparison.operand(ISETP::Q) == Operand::PT
            && comparison.operand(ISETP::X) == Operand::PT
            && comparison.mods().has(Mod::AND);
        let is_with_zero = || matches!(comparison.operand(ISETP::B), Operand::RZ | Operand::Imm(0));
        if !is_plain || zero != is_with_zero() {
            return None;
        }
        let mut new = comparison.to_inst();
        let words: Vec<Mod> = new.mods.as_slice().to_vec();
        let words: Vec<Mod> =
            words.iter().map(|word| if *word == Mod::AND { *combine } else { *word }).collect();
        new.mods = orias_components::Mods::new(&words);
        new.operands[ISETP::P] = inst.operand(PLOP3::P);
        let flags = if is_negated != *inverts { RegFlags::NOT } else { RegFlags::NONE };
        new.operands[ISETP::X] = Operand::Reg(RegUse { flags, ..other });
        target.takes(&new).map(|_| new)
    })
}

/// A register without its negation, and whether it has one.
fn as_it_is(operand: &Operand) -> Option<(RegUse, bool)> {
    let Operand::Reg(r) = *operand else { return None };
    let positive = RegUse { flags: RegFlags::NONE, ..r };
    let is_negated = r.flags == RegFlags::NOT;
    plain(&Operand::Reg(positive)).filter(|_| is_negated || r.flags == RegFlags::NONE)?;
    Some((positive, is_negated))
}

/// The instruction under a guard that stands for a select of what it alone computes, where what
/// the select has otherwise nobody reads behind it (`is_last`): so both may have one register.
pub(super) fn guard(
    body: &Body<'_>,
    values: &Values<'_>,
    target: &Target,
    (id, before): (InstId, &[InstId]),
    mut is_last: impl FnMut(RegUse) -> bool,
) -> Option<Inst> {
    let inst = body.inst(id);
    if inst.len() != SEL::COUNT || inst.defs != 1 || !inst.mods().is_empty() {
        return None;
    }
    let Operand::Reg(condition) = inst.operand(SEL::X) else { return None };
    condition.reg.vreg()?;
    let word =
        |at: usize| plain(&inst.operand(at)).filter(|r| r.count == 1 && r.reg.file() == RegFile::R);
    [(SEL::A, SEL::B, false), (SEL::B, SEL::A, true)].into_iter().find_map(
        |(at, other, inverts)| {
            let (computed, kept) = (word(at)?, word(other)?);
            let by = values.writer(computed).filter(|_| values.reads(computed) == 1)?;
            if !values.may_move(body, by, before) {
                return None;
            }
            let computes = body.inst(by);
            let is_alone = effects::is_pure(computes.op)
                && !computes.op.is_pseudo()
                && !computes.op.has(Props::UNIFORM)
                && !effects::reads_what_changes(computes)
                && computes.guard.is_always()
                && computes.op != Opcode::MOV;
            if !is_alone {
                return None;
            }
            let mut results = computes.dests().filter(|o| *o != Operand::PT && *o != Operand::RZ);
            let (Some(result), None) = (results.next(), results.next()) else { return None };
            if result != Operand::Reg(computed) {
                return None;
            }
            // Whoever else reads what is kept may do so behind it.
            let reads_of = |id: InstId| {
                let mut count = 0;
                body.inst(id).for_each_use(|r| {
                    count += u32::from(r.reg == kept.reg && r.cell == kept.cell && r.count == 1)
                });
                count
            };
            let decides = values.writer(RegUse { flags: RegFlags::NONE, ..condition });
            let near = reads_of(id) + reads_of(by) + decides.map_or(0, reads_of);
            if values.reads(kept) != near && !is_last(kept) {
                return None;
            }
            let mut new = computes.to_inst();
            let place = new.operands.iter().position(|o| *o == result)?;
            new.operands[place] = inst.operand(SEL::D);
            new.tied = smallvec![kept];
            let negated = condition.flags.has(RegFlags::NOT) != inverts;
            let new = new.guarded(condition.reg, negated);
            (target.takes(&new).is_some() && target.takes_guard(&new)).then_some(new)
        },
    )
}
