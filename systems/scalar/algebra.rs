//! Constant folding and algebraic simplification of single instructions.

use orias_components::pseudo::macros;
use orias_components::{
    Body, Inst, InstId, Mod, Mods, Opcode, Operand, Reg, RegFile, RegFlags, View,
};
use orias_targets::slots::{IADD3, IMAD, LOP3_LUT as LOP3, SEL, SHF};
use smallvec::{SmallVec, smallvec};

/// Simplifies an instruction by itself; whether it changed.
pub(super) fn fold_one(body: &mut Body<'_>, id: InstId) -> bool {
    if !may_fold(body.inst(id)) {
        return false;
    }
    let inst = body.inst(id).to_inst();
    let new = fold(&inst).filter(|new| *new != inst);
    if let Some(new) = &new {
        body.set_inst(id, new);
    }
    new.is_some()
}

/// A 32-bit operand without sign changes, as a number.
fn number(operand: &Operand) -> Option<u32> {
    match operand {
        Operand::Imm(v) => Some(*v as u32),
        Operand::Reg(r) if r.reg == Reg::RZ && !r.flags.has(RegFlags::NOT) => Some(0),
        _ => None,
    }
}

/// One cell of a general register, without sign changes.
fn is_plain(operand: &Operand) -> bool {
    matches!(operand, Operand::Reg(r)
        if r.reg.file() == RegFile::R && r.count == 1 && r.flags.without(RegFlags::REUSE) == RegFlags::NONE)
}

/// `MOV to, from`, with the guard and control of the instruction that it stands for.
fn mov(inst: &Inst, to: Operand, from: Operand) -> Inst {
    let from = match from {
        Operand::Imm(0) => Operand::RZ,
        other => other,
    };
    Inst {
        op: Opcode::MOV,
        defs: 1,
        mods: Mods::default(),
        operands: smallvec![to, from, Operand::Imm(0xf)],
        ..inst.clone()
    }
}

fn constant(inst: &Inst, to: Operand, value: u32) -> Option<Inst> {
    Some(mov(inst, to, Operand::Imm(u64::from(value))))
}

/// Whether [`fold`] may find something: most instructions have too few known sources to be unpacked
/// for it.
pub(super) fn may_fold(inst: View<'_>) -> bool {
    let known = |at: usize| inst.get(at).as_ref().and_then(number);
    match inst.op {
        Opcode::IADD3 => (IADD3::A..=IADD3::C).filter(|at| known(*at).is_some()).count() > 1,
        Opcode::IMAD => known(IMAD::A).or(known(IMAD::B)).is_some(),
        Opcode::LOP3 => (LOP3::A..=LOP3::C).all(|at| known(at).is_some()),
        Opcode::SHF => known(SHF::B).is_some_and(|n| n == 0 || n >= 32 || known(SHF::A).is_some()),
        Opcode::SEL => {
            inst.get(SEL::X) == Some(Operand::PT) || inst.get(SEL::A) == inst.get(SEL::B)
        }
        Opcode::IDIV | Opcode::IREM => known(macros::A).and(known(macros::B)).is_some(),
        _ => false,
    }
}

/// What the instruction is the same as, when something simpler.
pub(super) fn fold(inst: &Inst) -> Option<Inst> {
    let ops = &inst.operands;
    let one_cell = |at: usize| is_plain(&ops[at]).then_some(ops[at]);
    match inst.op {
        Opcode::IADD3 if inst.mods.is_empty() && ops.len() == IADD3::COUNT && inst.defs == 3 => {
            let carries = [ops[IADD3::P], ops[IADD3::Q]];
            if carries != [Operand::PT; 2] {
                return None;
            }
            let to = one_cell(IADD3::D)?;
            let terms = &ops[IADD3::A..=IADD3::C];
            let rest: SmallVec<[&Operand; 3]> =
                terms.iter().filter(|o| number(o).is_none()).collect();
            let sum = terms.iter().filter_map(number).fold(0u32, u32::wrapping_add);
            match rest[..] {
                [] => constant(inst, to, sum),
                [one] if sum == 0 && (is_plain(one) || matches!(one, Operand::Const(_))) => {
                    Some(mov(inst, to, *one))
                }
                _ => None,
            }
        }
        Opcode::IMAD if inst.mods.is_empty() && ops.len() == IMAD::COUNT && inst.defs == 1 => {
            let to = one_cell(IMAD::D)?;
            let [a, b, c] = [ops[IMAD::A], ops[IMAD::B], ops[IMAD::C]];
            match (number(&a), number(&b), number(&c)) {
                (Some(a), Some(b), Some(c)) => {
                    constant(inst, to, a.wrapping_mul(b).wrapping_add(c))
                }
                (Some(0), _, Some(c)) | (_, Some(0), Some(c)) => constant(inst, to, c),
                (Some(0), _, _) | (_, Some(0), _) if is_plain(&c) => Some(mov(inst, to, c)),
                (_, Some(1), Some(0)) if is_plain(&a) => Some(mov(inst, to, a)),
                _ => None,
            }
        }
        Opcode::LOP3
            if ops.len() == LOP3::COUNT
                && ops[LOP3::P] == Operand::PT
                && ops[LOP3::X] == Operand::NOT_PT =>
        {
            let to = one_cell(LOP3::D)?;
            let (a, b) = (number(&ops[LOP3::A])?, number(&ops[LOP3::B])?);
            let c = number(&ops[LOP3::C])?;
            let Operand::Imm(table) = ops[LOP3::T] else { return None };
            let bit = |i: u32| {
                let row = (a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1);
                ((table >> row & 1) as u32) << i
            };
            constant(inst, to, (0..32).map(bit).sum())
        }
        // Of two words by one word, or more, one of them is left.
        Opcode::SHF if ops.len() == SHF::COUNT && number(&ops[SHF::B]).is_some_and(|n| n >= 32) => {
            let (to, count) = (one_cell(SHF::D)?, number(&ops[SHF::B])?);
            let (left, one): (Operand, &[Mod]) = match inst.mods.as_slice() {
                [Mod::L, Mod::U64, Mod::HI] => (ops[SHF::A], &[Mod::L, Mod::U32]),
                [Mod::R, Mod::U64] => (ops[SHF::C], &[Mod::R, Mod::U32, Mod::HI]),
                [Mod::R, Mod::S64] => (ops[SHF::C], &[Mod::R, Mod::S32, Mod::HI]),
                [Mod::R, Mod::U32, Mod::HI] if ops[SHF::A] == Operand::RZ => {
                    return constant(inst, to, 0);
                }
                [Mod::L, Mod::U32] => return constant(inst, to, 0),
                _ => return None,
            };
            match count - 32 {
                0 if is_plain(&left) || number(&left).is_some() => Some(mov(inst, to, left)),
                rest @ 1..32 if is_plain(&left) => {
                    let mut places = [Operand::RZ, Operand::Imm(u64::from(rest)), Operand::RZ];
                    places[if one[0] == Mod::L { 0 } else { 2 }] = left;
                    let [a, b, c] = places;
                    let mods = Mods::new(one);
                    Some(Inst { mods, operands: smallvec![to, a, b, c], ..inst.clone() })
                }
                _ => None,
            }
        }
        // A left shift of 32 bits takes the low word.
        Opcode::SHF if inst.mods.as_slice() == [Mod::L, Mod::U32] && ops.len() == SHF::COUNT => {
            let (to, low, amount) = (one_cell(SHF::D)?, ops[SHF::A], ops[SHF::B]);
            match (number(&low), number(&amount)) {
                (Some(a), Some(n)) => constant(inst, to, a.checked_shl(n).unwrap_or(0)),
                (_, Some(0)) if is_plain(&low) => Some(mov(inst, to, low)),
                _ => None,
            }
        }
        // By zero, all ones.
        Opcode::IDIV | Opcode::IREM if inst.mods.has(Mod::U32) || inst.mods.has(Mod::S32) => {
            let (a, b) = (number(&ops[macros::A])?, number(&ops[macros::B])?);
            let (signed_a, signed_b) = (a as i32, b as i32);
            let value = match (inst.op, inst.mods.has(Mod::S32)) {
                _ if b == 0 => u32::MAX,
                (Opcode::IDIV, false) => a / b,
                (Opcode::IDIV, true) => signed_a.wrapping_div(signed_b) as u32,
                (_, false) => a % b,
                (_, true) => signed_a.wrapping_rem(signed_b) as u32,
            };
            constant(inst, one_cell(macros::D)?, value)
        }
        Opcode::SEL if ops.len() == SEL::COUNT && inst.defs == 1 => {
            let (to, a, b) = (one_cell(SEL::D)?, ops[SEL::A], ops[SEL::B]);
            match ops[SEL::X] {
                _ if a == b && is_plain(&a) => Some(mov(inst, to, a)),
                Operand::PT if is_plain(&a) => Some(mov(inst, to, a)),
                _ => None,
            }
        }
        _ => None,
    }
}
