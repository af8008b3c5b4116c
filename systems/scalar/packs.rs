//! Two halves that are computed alike and then put into one word are computed as one.
//!
//! What PTX does with one half of a word and with the other (Triton's products and sums of `bf16`,
//! conversions one by one) the machine does for both at once: `HMUL2.BF16 R4, R8, R12` in place of
//! two products and the `PRMT` behind them. What they read comes together in the same way, where
//! it is not one word already, so a tree of such instructions becomes one, step by step. (ptxas
//! 13.0.88 does so with conversions, sums, products and both.)

use super::halves;
use super::values::{Values, plain};
use orias_components::{Body, Inst, InstId, Mod, Opcode, Operand, RegFile, RegFlags, RegUse, View};
use orias_targets::Target;
use orias_targets::slots::{F2FP_F32_PACK_AB as F2FP, HADD2, PRMT};
use smallvec::{SmallVec, smallvec};

/// The low halves of two words.
const LOW_HALVES: u64 = 0x5410;

/// What those become that computed the halves, and last the instruction that puts them together.
pub(super) struct Packed(pub SmallVec<[(InstId, Inst); 3]>);

/// `place` says where in the block of the instruction a register is written; nothing for one that
/// is there from its start.
pub(super) fn pack(
    body: &Body<'_>,
    values: &Values<'_>,
    target: &Target,
    id: InstId,
    mut place: impl FnMut(RegUse) -> Option<u32>,
) -> Option<Packed> {
    let inst = body.inst(id);
    if inst.operand(PRMT::B) != Operand::Imm(LOW_HALVES) {
        return None;
    }
    let word = |at: usize| {
        let r = plain(&inst.operand(at)).filter(is_word)?;
        values.writer(r).filter(|_| values.reads(r) == 1).map(|by| (r, by))
    };
    let ((low, low_by), (high, high_by)) = (word(PRMT::A)?, word(PRMT::C)?);
    let (a, b) = (body.inst(low_by), body.inst(high_by));
    let are_alike = low_by != high_by
        && a.op == b.op
        && a.mods() == b.mods()
        && a.len() == b.len()
        && [a, b].iter().all(|inst| inst.defs == 1 && inst.guard.is_always());
    if !are_alike {
        return None;
    }
    let mut new = a.to_inst();
    // All of these have their result where a sum has it.
    new.operands[HADD2::D] = inst.operand(PRMT::D);
    if is_conversion(a) && is_conversion(b) {
        new.operands[F2FP::A] = b.operand(F2FP::B);
        return target.takes(&new).map(|_| Packed(smallvec![(id, new)]));
    }
    let is_of_pairs =
        matches!(a.op, Opcode::HADD2 | Opcode::HMUL2 | Opcode::HFMA2 | Opcode::HMNMX2)
            && ![Mod::F32, Mod::IS_A].iter().any(|word| a.mods().has(*word));
    if !is_of_pairs {
        return None;
    }
    // The later one first: more is there before it.
    let (low_place, high_place) = (place(low)?, place(high)?);
    let mut free = SmallVec::<[(RegUse, InstId, u32); 2]>::new();
    free.push((low, low_by, low_place));
    free.push((high, high_by, high_place));
    free.sort_unstable_by_key(|(.., place)| *place);
    let mut news = SmallVec::<[(InstId, Inst); 3]>::new();
    let mut is_won = true;
    for at in 1..a.len() {
        let [from_low, from_high] = [a, b].map(|by| at_origin(body, values, by.operand(at)));
        new.operands[at] = match pair(&from_low, &from_high)? {
            Pair::One(operand) => operand,
            Pair::Two(low, high) => {
                let (to, by, at_place) = free.pop()?;
                if [low.0, high.0].iter().any(|r| place(*r).is_some_and(|p| p >= at_place)) {
                    return None;
                }
                is_won &= [low, high].iter().all(|half| is_made(body, values, *half));
                let flags = low.0.flags;
                news.push((by, together(to, low, high)));
                Operand::Part(RegUse { flags, ..to }, Mod::NONE)
            }
        };
    }
    // Three instructions are two or one, or will be.
    if news.len() > 1 && !is_won || target.takes(&new).is_none() {
        return None;
    }
    news.push((id, new));
    Some(Packed(news))
}

/// Steps back to where a half comes from.
const STEPS: u32 = 4;

/// The half that an operand is, where it comes from.
fn at_origin(body: &Body<'_>, values: &Values<'_>, operand: Operand) -> Operand {
    let Operand::Part(mut r, mut part) = operand else { return operand };
    for _ in 0..STEPS {
        let Some((from, of)) = halves::origin(body, values, r, part) else { break };
        (r, part) = (RegUse { flags: r.flags, ..from }, of);
    }
    Operand::Part(r, part)
}

/// A register and which half of it.
type Half = (RegUse, Mod);

enum Pair {
    /// One operand has both halves.
    One(Operand),
    Two(Half, Half),
}

/// The operand of both that one instruction has for the lower half and one for the upper.
fn pair(low: &Operand, high: &Operand) -> Option<Pair> {
    let (Operand::Part(r, part), Operand::Part(s, other)) = (*low, *high) else {
        let is_same = low == high && !matches!(low, Operand::Reg(r) if r.reg.vreg().is_some());
        return is_same.then_some(Pair::One(*low));
    };
    let as_it_is = RegFlags::REUSE;
    let (r, s) = (
        RegUse { flags: r.flags.without(as_it_is), ..r },
        RegUse { flags: s.flags.without(as_it_is), ..s },
    );
    match (part, other) {
        _ if r == s && part == other => Some(Pair::One(*low)),
        (Mod::H0_H0, Mod::H1_H1) if r == s => Some(Pair::One(Operand::Part(r, Mod::NONE))),
        (Mod::H0_H0 | Mod::H1_H1, Mod::H0_H0 | Mod::H1_H1)
            if r != s && r.flags == s.flags && is_word(&r) && is_word(&s) =>
        {
            Some(Pair::Two((r, part), (s, other)))
        }
        _ => None,
    }
}

fn is_word(r: &RegUse) -> bool {
    r.reg.file() == RegFile::R && r.count == 1 && r.reg.vreg().is_some()
}

/// Halves of two registers as one word.
fn together(to: RegUse, (low, part): Half, (high, other): Half) -> Inst {
    let upper = |part: Mod| part == Mod::H1_H1;
    let picks = if upper(part) { 0x32 } else { 0x10 } | if upper(other) { 0x7600 } else { 0x5400 };
    let plain = |r: RegUse| Operand::Reg(RegUse { flags: RegFlags::NONE, ..r });
    Inst::new(Opcode::PRMT, &[], 1, &[plain(to), plain(low), Operand::Imm(picks), plain(high)])
}

/// Whether a half is converted for this reader alone, so that it can be converted with another.
fn is_made(body: &Body<'_>, values: &Values<'_>, (r, part): Half) -> bool {
    let r = RegUse { flags: RegFlags::NONE, ..r };
    part == Mod::H0_H0
        && values.reads(r) == 1
        && values.writer(r).is_some_and(|by| is_conversion(body.inst(by)))
}

/// Whether it converts one single to the low half of its result.
fn is_conversion(inst: View<'_>) -> bool {
    inst.op == Opcode::F2FP
        && inst.len() == F2FP::COUNT
        && inst.guard.is_always()
        && inst.mods().has(Mod::F32)
        && inst.mods().has(Mod::PACK_AB)
        && !inst.mods().has(Mod::MERGE_C)
        && inst.operand(F2FP::A) == Operand::RZ
}
