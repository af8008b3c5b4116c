//! Halves of words as operands: what takes half a word out, for arithmetic that names the half that
//! it wants of each operand, is that operand.
//!
//! PTX has 16-bit registers, so the words that a load gives come apart into two of them before each
//! is converted or computed with; `HADD2.F32 -RZ, R4.H1_H1` reads the upper one where it is.

use super::values::{Values, plain};
use crate::effects;
use orias_components::{Body, Inst, InstId, Mod, Opcode, Operand, RegFile, RegFlags, RegUse, View};
use orias_targets::Target;
use orias_targets::slots::PRMT;

/// The arithmetic whose operands are halves; conversions of some kinds read one.
pub(super) const READERS: [Opcode; 7] = [
    Opcode::HADD2,
    Opcode::HMUL2,
    Opcode::HFMA2,
    Opcode::HMNMX2,
    Opcode::HSETP2,
    Opcode::HSET2,
    Opcode::F2FP,
];

/// Whether it reads the lower half of a word where none is named, or else the upper one: two small
/// floats.
fn reads_low(inst: View<'_>) -> bool {
    inst.mods().has(Mod::UNPACK_B)
}

/// The bits of a word of which a part is named that an instruction reads.
pub(super) fn bits_of(inst: View<'_>, part: Mod) -> u32 {
    match part {
        Mod::H0_H0 => 0xffff,
        Mod::NONE if reads_low(inst) => 0xffff,
        Mod::H1_H1 | Mod::H1 => 0xffff_0000,
        _ => u32::MAX,
    }
}

/// The instruction with operands that are where they come from, where it takes such.
pub(super) fn direct(
    body: &Body<'_>,
    values: &Values<'_>,
    target: &Target,
    id: InstId,
) -> Option<Inst> {
    let inst = body.inst(id);
    let mut new = None::<Inst>;
    for at in usize::from(inst.defs)..inst.len() {
        let Operand::Part(r, part) = inst.operand(at) else { continue };
        let (asked, named) = match reads_low(inst) {
            true if part == Mod::NONE => (Mod::H0_H0, [Mod::NONE, Mod::H1]),
            true => continue,
            false => (part, [Mod::H0_H0, Mod::H1_H1]),
        };
        let Some((from, half)) = origin(body, values, r, asked) else { continue };
        let part = match half {
            Mod::H0_H0 => named[0],
            Mod::H1_H1 => named[1],
            whole => whole,
        };
        let mut changed = new.clone().unwrap_or_else(|| inst.to_inst());
        changed.operands[at] = Operand::Part(RegUse { flags: r.flags, ..from }, part);
        if target.takes(&changed).is_some() {
            new = Some(changed);
        }
    }
    new
}

/// Where the halves are from that are named.
pub(super) fn origin(
    body: &Body<'_>,
    values: &Values<'_>,
    r: RegUse,
    part: Mod,
) -> Option<(RegUse, Mod)> {
    if !is_word(&r) || r.reg.vreg().is_none() {
        return None;
    }
    let inst = body.inst(values.writer(RegUse { flags: RegFlags::NONE, ..r })?);
    if let Some(copy) = effects::as_copy(inst).filter(|_| inst.guard.is_always()) {
        return plain(&Operand::Reg(copy.from)).filter(is_word).map(|from| (from, part));
    }
    let is_pick = inst.op == Opcode::PRMT
        && inst.len() == PRMT::COUNT
        && inst.mods().is_empty()
        && inst.guard.is_always();
    let Operand::Imm(picks) = inst.get(PRMT::B).filter(|_| is_pick)? else { return None };
    // The half of eight bytes that each half of the word is, if it is one.
    let half = |upper: bool| {
        let pair = picks >> if upper { 8 } else { 0 } & 0xff;
        [0x10, 0x32, 0x54, 0x76].iter().position(|half| *half == pair)
    };
    let half = match part {
        Mod::H0_H0 => half(false),
        Mod::H1_H1 => half(true),
        Mod::NONE => half(false).filter(|low| half(true) == Some(*low)),
        _ => None,
    }?;
    let from = inst.operand(if half < 2 { PRMT::A } else { PRMT::C });
    let part = if half.is_multiple_of(2) { Mod::H0_H0 } else { Mod::H1_H1 };
    plain(&from).filter(is_word).map(|from| (from, part))
}

fn is_word(r: &RegUse) -> bool {
    r.reg.file() == RegFile::R && r.count == 1
}
