//! Comparisons and selects: a function of a comparison's outcome and another predicate is the
//! comparison's own third input, and a select of what one instruction computes is that instruction
//! under a guard.

use super::values::{Values, plain};
use crate::analysis::trips::Comparison;
use crate::build::plop3;
use crate::effects;
use orias_components::{
    Body, Inst, InstId, Mod, Opcode, Operand, Props, RegFile, RegFlags, RegUse, View,
};
use orias_targets::Target;
use orias_targets::slots::{ISETP, MOV, PLOP3_LUT as PLOP3, SEL};
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

/// What a comparison of one of two numbers with a third says, of the predicate that chose between
/// them: that predicate, its opposite, or neither. (`@p mov r, 1; setp.ne q, r, 0` is how CUTLASS
/// keeps what was elected.)
pub(super) fn asked_again(
    body: &Body<'_>,
    values: &Values<'_>,
    (id, before): (InstId, &[InstId]),
) -> Option<Inst> {
    let inst = body.inst(id);
    let words = inst.mods();
    let is_plain = inst.op == Opcode::ISETP
        && inst.len() == ISETP::COUNT
        && inst.operand(ISETP::Q) == Operand::PT
        && !words.has(Mod::EX);
    let number = |operand: Operand| match operand {
        Operand::Imm(n) => Some(n as u32),
        _ => (operand == Operand::RZ).then_some(0),
    };
    let third = inst.get(ISETP::B).filter(|_| is_plain).and_then(number)?;
    let by = values.writer(plain(&inst.operand(ISETP::A))?).filter(|by| before.contains(by))?;
    let (chosen_by, chosen) = chosen(body, values, by)?;
    let is = words.as_slice().iter().find_map(|word| Comparison::of(*word));
    let of = |n: u32| {
        let order = match words.has(Mod::U32) {
            true => n.cmp(&third),
            false => (n as i32).cmp(&(third as i32)),
        };
        is.map(|is| is.holds(order))
    };
    let [where_true, where_false] = [of(chosen[0])?, of(chosen[1])?];
    let combine = |outcome: bool, other: bool| match () {
        () if words.has(Mod::OR) => outcome || other,
        () if words.has(Mod::XOR) => outcome != other,
        () => outcome && other,
    };
    // The first input is the predicate that chose, the second what the outcome is combined with.
    let holds = |row: u8| {
        let outcome = if row & 4 != 0 { where_true } else { where_false };
        combine(outcome, row & 2 != 0)
    };
    let other = inst.operand(ISETP::X);
    // Rows that cannot be say nothing: a copy is one so.
    let may_be = |row: u8| row & 1 != 0 && (other != Operand::PT || row & 2 != 0);
    let rows = (0..8).filter(|row| may_be(*row) && holds(*row));
    let table = rows.fold(0, |table, row| table | 1 << row);
    Some(plop3(inst.operand(ISETP::P), [Operand::Reg(chosen_by), other, Operand::PT], table))
}

/// The predicate by which an instruction gives one of two numbers: that where it is true, and that
/// where it is not.
fn chosen(body: &Body<'_>, values: &Values<'_>, id: InstId) -> Option<(RegUse, [u32; 2])> {
    let inst = body.inst(id);
    let number = |operand: Operand| match operand {
        Operand::Imm(n) => Some(n as u32),
        Operand::Reg(r) if r.reg.is_zero() && r.flags == RegFlags::NONE => Some(0),
        _ => None,
    };
    let moved = |inst: View<'_>| effects::copies_words(inst).then(|| inst.get(MOV::B)).flatten();
    match inst.op {
        Opcode::SEL if inst.len() == SEL::COUNT && inst.guard.is_always() => {
            let Operand::Reg(by) = inst.operand(SEL::X) else { return None };
            by.reg.vreg()?;
            let [a, b] = [SEL::A, SEL::B].map(|at| inst.operand(at));
            Some((by, [number(a)?, number(b)?]))
        }
        Opcode::MOV if !inst.guard.is_always() => {
            let first = number(moved(inst)?)?;
            let kept = inst.tied().next()?;
            let before = match kept.reg.is_zero() {
                true => 0,
                false => {
                    let by = body.inst(values.writer(kept)?);
                    number(moved(by).filter(|_| by.guard.is_always())?)?
                }
            };
            let flags = if inst.guard.negated { RegFlags::NOT } else { RegFlags::NONE };
            Some((RegUse { flags, ..RegUse::new(inst.guard.reg) }, [first, before]))
        }
        _ => None,
    }
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
