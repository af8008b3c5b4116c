//! Float instructions and conversions.

use super::integer::combine;
use super::slots::unsupported;
use super::slots::{Kind, Lane, Slots};
use crate::simulator::convert;
use crate::simulator::error::Cause;
use crate::simulator::float::{self as lane, FloatCompare, Mode, Round};
use crate::simulator::format::{Conversion, Format};
use crate::simulator::half;
use crate::simulator::kinds::Combine;
use crate::simulator::op::{Bits, LaneFn, Op};
use crate::simulator::operand::{Adjust, Part, PredSrc, Src};
use crate::simulator::pack;
use orias_components::{Mod, Opcode};

/// The rounding of arithmetic.
fn rounding(s: &Slots<'_>) -> Round {
    if s.has(Mod::RM) || s.has(Mod::FLOOR) {
        Round::Down
    } else if s.has(Mod::RP) || s.has(Mod::CEIL) {
        Round::Up
    } else if s.has(Mod::RZ) || s.has(Mod::TRUNC) {
        Round::Zero
    } else {
        Round::Nearest
    }
}

fn mode(s: &Slots<'_>, extra: u16) -> u32 {
    let ftz = s.has(Mod::FTZ) || s.has(Mod::FMZ);
    Mode { round: rounding(s), ftz, sat: s.has(Mod::SAT), extra }.pack()
}

/// `[Rd, A, B, …]`
fn arithmetic(s: &Slots<'_>, f: LaneFn, extra: u16, kind: Kind, count: usize) -> Result<Op, Cause> {
    let mut all = [Src::ZERO; 3];
    for (i, slot) in all.iter_mut().enumerate().take(count) {
        *slot = s.src(1 + i, kind)?;
    }
    let wide = kind.is_wide();
    let dst = s.dst(0, if wide { 2 } else { 1 })?;
    Lane::new(f, mode(s, extra)).dst(dst).wide(wide).src(&all).op()
}

fn comparison(s: &Slots<'_>) -> Result<FloatCompare, Cause> {
    let all = [
        (Mod::F, 0b0000),
        (Mod::LT, 0b0001),
        (Mod::EQ, 0b0010),
        (Mod::LE, 0b0011),
        (Mod::GT, 0b0100),
        (Mod::NE, 0b0101),
        (Mod::GE, 0b0110),
        (Mod::NUM, 0b0111),
        (Mod::NAN, 0b1000),
        (Mod::LTU, 0b1001),
        (Mod::EQU, 0b1010),
        (Mod::LEU, 0b1011),
        (Mod::GTU, 0b1100),
        (Mod::NEU, 0b1101),
        (Mod::GEU, 0b1110),
        (Mod::T, 0b1111),
    ];
    let code =
        all.iter().find(|(m, _)| s.has(*m)).map(|(_, c)| *c).ok_or_else(|| unsupported(s))?;
    Ok(FloatCompare {
        less: code & 1 != 0,
        equal: code & 2 != 0,
        greater: code & 4 != 0,
        unordered: code & 8 != 0,
    })
}

/// `[Pd1, Pd2, A, B, Pc]`
fn setp(s: &Slots<'_>, f: LaneFn, kind: Kind) -> Result<Op, Cause> {
    let mode = mode(s, comparison(s)?.pack());
    Lane::new(f, mode)
        .pout(&[s.pred_dst(0)?, s.pred_dst(1)?])
        .src(&[s.src(2, kind)?, s.src(3, kind)?])
        .bits(Bits::Compare(combine(s)?, s.pred(4)?))
        .op()
}

/// `[Rd, A, B, Pc]`
fn picked(s: &Slots<'_>, f: LaneFn, extra: u16, kind: Kind) -> Result<Op, Cause> {
    Lane::new(f, mode(s, extra))
        .dst(s.dst(0, 1)?)
        .src(&[s.src(1, kind)?, s.src(2, kind)?])
        .pin(&[s.pred(3)?])
        .op()
}

/// FMUL's scale: the exponent of the power of two.
fn scale(s: &Slots<'_>) -> i8 {
    let all =
        [(Mod::D8, -3), (Mod::D4, -2), (Mod::D2, -1), (Mod::M2, 1), (Mod::M4, 2), (Mod::M8, 3)];
    all.iter().find(|(m, _)| s.has(*m)).map_or(0, |(_, e)| *e)
}

fn bf16(s: &Slots<'_>) -> u16 {
    u16::from(s.has(Mod::BF16_V2))
}

/// Words of the rows that change a result and that the engine does not do: ptxas emits none of
/// them.
fn undone(op: Opcode) -> &'static [Mod] {
    use Opcode::*;
    match op {
        FMNMX => &[Mod::IS_A],
        HADD2 | HMUL2 | HMNMX2 | VHMNMX | HSETP2 | HSET2 => &[Mod::FMZ, Mod::IS_A, Mod::H_AND],
        HFMA2 => &[Mod::FMZ, Mod::F32],
        _ => &[],
    }
}

/// The sources of a minimum or maximum. With .XORSIGN the operation takes absolute values itself,
/// because it needs the signs before them: what ptxas writes are `|x|` on both, never a negation.
fn extremes(s: &Slots<'_>, count: usize, kind: Kind) -> Result<Vec<Src>, Cause> {
    let source = |i| {
        let mut src = s.src(i, kind)?;
        if s.has(Mod::XORSIGN) {
            let signs = if kind == Kind::F32 { 0x8000_0000 } else { 0x8000_8000 };
            if src.adjust.xor & signs != 0 {
                return Err(unsupported(s));
            }
            src.adjust = Adjust::NONE;
        }
        Ok(src)
    };
    (1..=count).map(source).collect()
}

/// `[Rd, A, B, (C), Pc]`
fn extreme(s: &Slots<'_>, f: LaneFn, extra: u16, count: usize, kind: Kind) -> Result<Op, Cause> {
    Lane::new(f, mode(s, extra))
        .dst(s.dst(0, 1)?)
        .src(&extremes(s, count, kind)?)
        .pin(&[s.pred(1 + count)?])
        .op()
}

/// `[Rd, A, B, Pc]` of comparisons whose result is a number.
fn set(s: &Slots<'_>, f: LaneFn, extra: u16, kind: Kind) -> Result<Op, Cause> {
    Lane::new(f, mode(s, extra))
        .dst(s.dst(0, 1)?)
        .src(&[s.src(1, kind)?, s.src(2, kind)?])
        .pin(&[s.pred(3)?])
        .op()
}

fn combine_code(s: &Slots<'_>) -> Result<u16, Cause> {
    Ok(match combine(s)? {
        Combine::And => 0,
        Combine::Or => 1,
        Combine::Xor => 2,
    })
}

pub fn prepare(s: &Slots<'_>) -> Result<Op, Cause> {
    use Opcode::*;
    if undone(s.inst.op).iter().any(|m| s.has(*m)) {
        return Err(unsupported(s));
    }
    let fmz = u16::from(s.has(Mod::FMZ));
    match s.inst.op {
        FADD => arithmetic(s, lane::add32, 0, Kind::F32, 2),
        FMUL => {
            let extra = fmz | u16::from(scale(s) as u8) << 8;
            arithmetic(s, lane::mul32, extra, Kind::F32, 2)
        }
        FFMA => arithmetic(s, lane::fma32, fmz, Kind::F32, 3),
        DADD => arithmetic(s, lane::add64, 0, Kind::F64, 2),
        DMUL => arithmetic(s, lane::mul64, 0, Kind::F64, 2),
        DFMA => arithmetic(s, lane::fma64, 0, Kind::F64, 3),
        FMNMX => {
            let extra = u16::from(s.has(Mod::NAN)) | u16::from(s.has(Mod::XORSIGN)) << 1;
            extreme(s, lane::minmax32, extra, 2, Kind::F32)
        }
        FSET => {
            let extra = comparison(s)?.pack() | combine_code(s)? << 4;
            set(s, lane::set32, extra, Kind::F32)
        }
        HSET2 => {
            let to_float = u16::from(s.has(Mod::BF)) << 1;
            let codes = comparison(s)?.pack() << 4 | combine_code(s)? << 2;
            set(s, half::set16x2, codes | to_float | bf16(s), Kind::F16x2)
        }
        FSEL => picked(s, lane::select32, 0, Kind::F32),
        FSETP => setp(s, lane::compare32, Kind::F32),
        DSETP if s.has(Mod::MIN) || s.has(Mod::MAX) => {
            Lane::new(lane::pick64, mode(s, u16::from(s.has(Mod::MIN))))
                .pout(&[s.pred_dst(0)?, s.pred_dst(1)?])
                .src(&[s.src(2, Kind::F64)?, s.src(3, Kind::F64)?])
                .bits(Bits::CompareHalves(combine(s)?, s.pred(4)?))
                .op()
        }
        DSETP => setp(s, lane::compare64, Kind::F64),
        FCHK => Lane::new(convert::division_check, 0)
            .pout(&[s.pred_dst(0)?])
            .src(&[s.src(1, Kind::F32)?, s.src(2, Kind::F32)?])
            .op(),
        MUFU => mufu(s),
        HADD2 if s.has(Mod::F32) => {
            arithmetic(s, half::add_halves_to_single, bf16(s), Kind::F16x2, 2)
        }
        HADD2 => arithmetic(s, half::add16x2, bf16(s), Kind::F16x2, 2),
        HMUL2 => arithmetic(s, half::mul16x2, bf16(s), Kind::F16x2, 2),
        HFMA2 => hfma2(s),
        HMNMX2 | VHMNMX => {
            let flag = |m, bit| if s.has(m) { bit } else { 0 };
            let extra = bf16(s) | flag(Mod::NAN, half::NAN) | flag(Mod::XORSIGN, half::XORSIGN);
            match s.inst.op {
                HMNMX2 => extreme(s, half::minmax16x2, extra, 2, Kind::F16x2),
                _ => extreme(s, half::minmax3_16x2, extra, 3, Kind::F16x2),
            }
        }
        HSETP2 => {
            let codes = comparison(s)?.pack() << 4 | bf16(s);
            Lane::new(half::compare16x2, mode(s, codes))
                .pout(&[s.pred_dst(0)?, s.pred_dst(1)?])
                .src(&[s.src(2, Kind::F16x2)?, s.src(3, Kind::F16x2)?])
                .bits(Bits::CompareHalves(combine(s)?, s.pred(4)?))
                .op()
        }
        I2F | I2FP => i2f(s),
        F2I => f2i(s),
        F2F => f2f(s),
        FRND => {
            let from = float_words(s).first().copied().unwrap_or(Format::F32);
            let c = conversion(s, Conversion { from, to: from, ..Conversion::default() });
            convert_op(s, convert::round_integral, c, from == Format::F64, kind_of(from))
        }
        F2FP => f2fp(s),
        F2IP => f2ip(s),
        _ => Err(unsupported(s)),
    }
}

fn hfma2(s: &Slots<'_>) -> Result<Op, Cause> {
    // The second source may be a register and the third two halves, or the other way round: all are
    // slots.
    let flag = |m, bit| if s.has(m) { bit } else { 0 };
    // What the predicate that rows with .RELU have selects is not known; ptxas leaves it true.
    if s.has(Mod::RELU) && s.len() > 4 && s.pred(4)? != PredSrc::TRUE {
        return Err(unsupported(s));
    }
    let extra = bf16(s) | flag(Mod::RELU, half::RELU) | flag(Mod::OOB, half::OOB);
    arithmetic(s, half::fma16x2, extra, Kind::F16x2, 3)
}

fn mufu(s: &Slots<'_>) -> Result<Op, Cause> {
    if s.has(Mod::F16) || s.has(Mod::BF16) {
        // Of halves the unit has these two alone (observed: ptxas 13.0.88, sm_90a).
        let tanh = s.has(Mod::TANH);
        if !tanh && !s.has(Mod::EX2) {
            return Err(unsupported(s));
        }
        let param = u32::from(tanh) | u32::from(s.has(Mod::BF16)) << 3;
        return Lane::new(half::mufu16, param)
            .dst(s.dst(0, 1)?)
            .src(&[s.src(1, Kind::F16x2)?])
            .op();
    }
    let all = [
        Mod::COS,
        Mod::SIN,
        Mod::EX2,
        Mod::LG2,
        Mod::RCP,
        Mod::RSQ,
        Mod::SQRT,
        Mod::TANH,
        Mod::RCP64H,
        Mod::RSQ64H,
    ];
    let which = all.iter().position(|m| s.has(*m)).ok_or_else(|| unsupported(s))? as u32;
    let (f, param): (LaneFn, u32) =
        if which < 8 { (convert::mufu, which) } else { (convert::mufu64, which - 8) };
    Lane::new(f, param).dst(s.dst(0, 1)?).src(&[s.src(1, Kind::F32)?]).op()
}

/// Float formats among the modifiers, in text order.
fn float_words(s: &Slots<'_>) -> Vec<Format> {
    s.inst
        .mods
        .iter()
        .filter_map(|m| match m {
            Mod::F16 => Some(Format::F16),
            Mod::BF16 => Some(Format::Bf16),
            Mod::TF32 => Some(Format::Tf32),
            Mod::E4M3 => Some(Format::E4m3),
            Mod::E5M2 => Some(Format::E5m2),
            Mod::F32 => Some(Format::F32),
            Mod::F64 => Some(Format::F64),
            _ => None,
        })
        .collect()
}

/// The integer type among the modifiers: signed and bits; 32 signed bits when there is none.
fn integer_word(s: &Slots<'_>) -> (bool, u8) {
    s.inst
        .mods
        .iter()
        .find_map(|m| match m {
            Mod::U8 => Some((false, 8)),
            Mod::S8 => Some((true, 8)),
            Mod::U16 => Some((false, 16)),
            Mod::S16 => Some((true, 16)),
            Mod::U32 => Some((false, 32)),
            Mod::S32 => Some((true, 32)),
            Mod::U64 => Some((false, 64)),
            Mod::S64 => Some((true, 64)),
            _ => None,
        })
        .unwrap_or((true, 32))
}

fn kind_of(format: Format) -> Kind {
    match format {
        Format::F32 | Format::Tf32 => Kind::F32,
        Format::F64 => Kind::F64,
        Format::F16 | Format::Bf16 => Kind::F16x2,
        Format::E4m3 | Format::E5m2 => Kind::Int,
    }
}

fn conversion(s: &Slots<'_>, c: Conversion) -> Conversion {
    Conversion {
        round: rounding(s),
        ftz: s.has(Mod::FTZ),
        relu: s.has(Mod::RELU),
        sat: s.has(Mod::SAT),
        finite: s.has(Mod::SATFINITE),
        ..c
    }
}

fn convert_op(
    s: &Slots<'_>,
    f: LaneFn,
    c: Conversion,
    wide: bool,
    kind: Kind,
) -> Result<Op, Cause> {
    let dst = s.dst(0, if wide { 2 } else { 1 })?;
    Lane::new(f, c.pack()).dst(dst).wide(wide).src(&[s.src(1, kind)?]).op()
}

fn i2f(s: &Slots<'_>) -> Result<Op, Cause> {
    let (signed, bits) = integer_word(s);
    let to = float_words(s).first().copied().unwrap_or(Format::F32);
    let c = conversion(s, Conversion { to, signed, bits, ..Conversion::default() });
    let kind = if bits == 64 { Kind::Int64 } else { Kind::Int };
    convert_op(s, convert::int_to_float, c, to == Format::F64, kind)
}

fn f2i(s: &Slots<'_>) -> Result<Op, Cause> {
    let (signed, bits) = integer_word(s);
    let from = float_words(s).first().copied().unwrap_or(Format::F32);
    let c = conversion(s, Conversion { from, signed, bits, ..Conversion::default() });
    convert_op(s, convert::float_to_int, c, bits == 64, kind_of(from))
}

fn f2f(s: &Slots<'_>) -> Result<Op, Cause> {
    let [to, from] = float_words(s)[..] else { return Err(unsupported(s)) };
    let c = conversion(s, Conversion { from, to, ..Conversion::default() });
    convert_op(s, convert::float_to_float, c, to == Format::F64, kind_of(from))
}

/// `F2FP.to.from.PACK_AB Rd, A, B` and its like. Without formats (sm_80 to sm_88) it is of singles
/// to f16 or bfloat16.
fn f2fp(s: &Slots<'_>) -> Result<Op, Cause> {
    let (to, from) = match float_words(s)[..] {
        [to, from] => (to, from),
        [to] => (to, Format::F32),
        [] => (Format::F16, Format::F32),
        _ => return Err(unsupported(s)),
    };
    let c = conversion(s, Conversion { to, from, ..Conversion::default() }).pack();
    let small = matches!(to, Format::E4m3 | Format::E5m2);
    let lane = |f: LaneFn, sources: &[Src]| Lane::new(f, c).dst(s.dst(0, 1)?).src(sources).op();
    let all = [(1, from), (2, from)];
    let [a, b] = all.map(|(i, format)| s.src(i, kind_of(format)));
    if s.has(Mod::PACK_AB) && !small {
        lane(pack::pack_halves, &[a?, b?])
    } else if s.has(Mod::PACK_AB_MERGE_C) && small {
        lane(pack::pack_bytes, &[a?, b?, merged(s, 3)?])
    } else if s.has(Mod::MERGE_C) && !small {
        lane(pack::merge_half, &[a?, merged(s, 2)?])
    } else if s.has(Mod::UNPACK_B_MERGE_C) && small {
        lane(pack::halves_to_bytes, &[a?, merged(s, 2)?])
    } else if s.has(Mod::UNPACK_B) && !small {
        lane(pack::bytes_to_halves, &[a?])
    } else if s.has(Mod::PACK_B) && to == Format::Tf32 {
        lane(pack::single_to_tf32, &[a?])
    } else {
        Err(unsupported(s))
    }
}

/// The register whose low half lies above what a conversion packs; of `.H1` it is not known where
/// it goes.
fn merged(s: &Slots<'_>, index: usize) -> Result<Src, Cause> {
    let src = s.src(index, Kind::Int)?;
    if src.part == Part::Whole { Ok(src) } else { Err(unsupported(s)) }
}

/// `F2IP.U8.F32.NTZ Rd, A, B, C`. ptxas writes .NTZ always: what becomes of a NaN without it is not
/// known.
fn f2ip(s: &Slots<'_>) -> Result<Op, Cause> {
    if !s.has(Mod::NTZ) || s.has(Mod::RELU) {
        return Err(unsupported(s));
    }
    let (signed, bits) = integer_word(s);
    let c = Conversion { from: Format::F32, signed, bits, ..Conversion::default() };
    Lane::new(pack::floats_to_bytes, conversion(s, c).pack())
        .dst(s.dst(0, 1)?)
        .src(&[s.src(1, Kind::F32)?, s.src(2, Kind::F32)?, merged(s, 3)?])
        .op()
}
