//! Which bits of a value may be one, and masks that take nothing away.

use super::values::{Values, plain};
use orias_components::{Body, Inst, InstId, Mod, Opcode, Operand, RegUse, View};
use orias_targets::slots::{LOP3_LUT as LOP3, MOV, SEL, SHF};
use smallvec::smallvec;

/// Steps back from what is asked for: what most masks stand behind is nearer.
const DEPTH: u32 = 6;

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
                [Mod::L, Mod::U32] if high == Operand::RZ => of(SHF::A) << count,
                _ => u32::MAX,
            }
        }
        Opcode::SEL if inst.len() == SEL::COUNT => of(SEL::A) | of(SEL::B),
        Opcode::MOV if inst.len() == MOV::COUNT => of(MOV::B),
        Opcode::POPC => 63,
        _ => u32::MAX,
    }
}

/// Of a load the width says it.
fn loaded(inst: View<'_>) -> u32 {
    match () {
        () if inst.mods().has(Mod::U8) => 0xff,
        () if inst.mods().has(Mod::U16) => 0xffff,
        () => u32::MAX,
    }
}

/// The copy that a mask is which takes no bit away that may be one, or all of them.
pub(super) fn idle_mask(body: &Body<'_>, values: &Values<'_>, id: InstId) -> Option<Inst> {
    let inst = body.inst(id);
    let is_mask = inst.op == Opcode::LOP3
        && inst.len() == LOP3::COUNT
        && inst.operand(LOP3::P) == Operand::PT
        && inst.operand(LOP3::X) == Operand::NOT_PT
        && inst.operand(LOP3::T) == Operand::Imm(AND)
        && inst.operand(LOP3::C) == Operand::RZ;
    let (from, Operand::Imm(mask)) = (inst.get(LOP3::A)?, inst.get(LOP3::B)?) else { return None };
    if !is_mask {
        return None;
    }
    let ones = ones_of(body, values, &from, DEPTH);
    let left = match mask as u32 {
        mask if ones & mask == 0 => Operand::RZ,
        mask if ones & !mask == 0 => Operand::Reg(plain(&from)?),
        _ => return None,
    };
    Some(Inst {
        operands: smallvec![inst.operand(LOP3::D), left, Operand::Imm(0xf)],
        ..Inst::new(Opcode::MOV, &[], 1, &[])
    })
}
