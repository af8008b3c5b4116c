//! What an instruction gives of numbers alone. The machine has room for one number in most, so
//! registers that hold some are looked through.

use orias_components::{
    Body, Inst, InstId, Mod, Mods, Opcode, Operand, Reg, RegFile, RegFlags, RegUse, View,
};
use orias_targets::slots::{FADD, FFMA, FMUL, IADD3, LOP3_LUT as LOP3, PRMT, SHF};
use smallvec::smallvec;

/// Makes an instruction whose operands are all known a copy of what it gives; whether it did.
/// `known` is the number that a cell holds.
pub(super) fn settle(
    body: &mut Body<'_>,
    id: InstId,
    known: impl Fn(RegUse) -> Option<u32>,
) -> bool {
    let inst = body.inst(id);
    let Some(value) = value(inst, known) else { return false };
    let Some(to) = inst.reg(0).filter(|r| r.reg.file() == RegFile::R && r.count == 1) else {
        return false;
    };
    let from = if value == 0 { Operand::RZ } else { Operand::Imm(u64::from(value)) };
    let copy = Inst {
        op: Opcode::MOV,
        defs: 1,
        mods: Mods::default(),
        operands: smallvec![Operand::Reg(to), from, Operand::Imm(0xf)],
        ..inst.to_inst()
    };
    body.set_inst(id, &copy);
    true
}

/// The word that an instruction gives, where it is known.
pub(super) fn value(inst: View<'_>, known: impl Fn(RegUse) -> Option<u32>) -> Option<u32> {
    let word = |at: usize| match inst.get(at)? {
        Operand::Imm(value) => Some((value as u32, RegFlags::NONE)),
        Operand::Reg(r) => {
            let flags = r.flags.without(RegFlags::REUSE);
            let value = if r.reg == Reg::RZ {
                Some(0)
            } else {
                Some(r)
                    .filter(|r| r.reg.file() == RegFile::R && r.count == 1)
                    .and_then(|r| known(RegUse { flags: RegFlags::NONE, ..r }))
            };
            Some((value?, flags))
        }
        _ => None,
    };
    let plain =
        |at: usize| word(at).and_then(|(value, flags)| (flags == RegFlags::NONE).then_some(value));
    let float = |at: usize| word(at).and_then(|(value, flags)| signed(value, flags));
    let flush = match inst.mods().as_slice() {
        [] => false,
        [Mod::FTZ] => true,
        _ => return integer(inst, plain),
    };
    let single = |at: usize| float(at).map(|value| if flush { flushed(value) } else { value });
    // The result times a power of two.
    let scaled = |by: f32| match inst.op {
        Opcode::FADD if inst.len() == FADD::COUNT => {
            Some(single(FADD::A)? * by + single(FADD::C)? * by)
        }
        Opcode::FMUL if inst.len() == FMUL::COUNT => Some(single(FMUL::A)? * by * single(FMUL::B)?),
        Opcode::FFMA if inst.len() == FFMA::COUNT => {
            Some((single(FFMA::A)? * by).mul_add(single(FFMA::B)?, single(FFMA::C)? * by))
        }
        _ => None,
    };
    let Some(result) = scaled(1.0) else { return integer(inst, plain) };
    // Observed (ptxas 13.0.88): what rounds up to the least normal number, but would not if the
    // exponent went on, is flushed.
    let is_least = flush && result.abs() == f32::MIN_POSITIVE;
    let result = match is_least && scaled(2.0)?.abs() < 2.0 * f32::MIN_POSITIVE {
        true => 0.0_f32.copysign(result),
        false if flush => flushed(result),
        false => result,
    };
    Some(if result.is_nan() { NAN } else { result.to_bits() })
}

/// The one NaN that arithmetic gives.
const NAN: u32 = 0x7fff_ffff;

fn signed(value: u32, flags: RegFlags) -> Option<f32> {
    let both = RegFlags::NEG.with(RegFlags::ABS);
    if flags.without(both) != RegFlags::NONE {
        return None;
    }
    let value = if flags.has(RegFlags::ABS) { value & !(1 << 31) } else { value };
    Some(f32::from_bits(if flags.has(RegFlags::NEG) { value ^ 1 << 31 } else { value }))
}

/// Zero of the same sign in place of what is subnormal.
fn flushed(value: f32) -> f32 {
    if value.is_subnormal() { 0.0_f32.copysign(value) } else { value }
}

fn integer(inst: View<'_>, number: impl Fn(usize) -> Option<u32>) -> Option<u32> {
    match inst.op {
        Opcode::IADD3
            if inst.len() == IADD3::COUNT
                && inst.mods().is_empty()
                && inst.operand(IADD3::P) == Operand::PT
                && inst.operand(IADD3::Q) == Operand::PT =>
        {
            let [a, b, c] = [number(IADD3::A)?, number(IADD3::B)?, number(IADD3::C)?];
            Some(a.wrapping_add(b).wrapping_add(c))
        }
        Opcode::LOP3
            if inst.len() == LOP3::COUNT
                && inst.operand(LOP3::P) == Operand::PT
                && inst.operand(LOP3::X) == Operand::NOT_PT =>
        {
            let Operand::Imm(table) = inst.operand(LOP3::T) else { return None };
            let [a, b, c] = [number(LOP3::A)?, number(LOP3::B)?, number(LOP3::C)?];
            let rows = (0..8_u32).filter(|row| table >> row & 1 != 0);
            let of = |row: u32, bit: u32, value: u32| if row & bit != 0 { value } else { !value };
            Some(rows.fold(0, |all, row| all | of(row, 4, a) & of(row, 2, b) & of(row, 1, c)))
        }
        Opcode::PRMT if inst.len() == PRMT::COUNT && inst.mods().is_empty() => {
            let [low, high] = [number(PRMT::A)?, number(PRMT::C)?];
            let bytes = u64::from(high) << 32 | u64::from(low);
            let picks = number(PRMT::B)?;
            let byte = |at: u32| {
                let pick = picks >> (4 * at) & 0xf;
                let byte = (bytes >> (8 * (pick & 7))) as u8;
                let byte = if pick & 8 == 0 { byte } else { (byte as i8 >> 7) as u8 };
                u32::from(byte) << (8 * at)
            };
            Some((0..4).map(byte).sum())
        }
        Opcode::SHF if inst.len() == SHF::COUNT => {
            let count = number(SHF::B).filter(|count| *count < 32)?;
            match inst.mods().as_slice() {
                [Mod::L, Mod::U32] => Some(number(SHF::A)? << count),
                [Mod::R, Mod::U32, Mod::HI] if inst.operand(SHF::A) == Operand::RZ => {
                    Some(number(SHF::C)? >> count)
                }
                [Mod::R, Mod::S32, Mod::HI] if inst.operand(SHF::A) == Operand::RZ => {
                    Some((number(SHF::C)? as i32 >> count) as u32)
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether there may be something to know.
pub(super) fn may_settle(op: Opcode) -> bool {
    matches!(
        op,
        Opcode::FADD
            | Opcode::FMUL
            | Opcode::FFMA
            | Opcode::IADD3
            | Opcode::LOP3
            | Opcode::PRMT
            | Opcode::SHF
    )
}
