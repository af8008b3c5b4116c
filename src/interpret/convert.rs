//! `cvt`: every pair of types that PTX ISA 9.0 allows, as one function on bits.

use rustc_apfloat::Round;

use super::float::{Format, Small, from_f64, from_int, integral, saturate, to_f64};
use super::integer::{mask, sign_extend};
use super::operand::Ternary;
use crate::ptx::types::{Type, TypeKind};

/// The modifiers of a conversion.
#[derive(Clone, Copy, Debug)]
pub struct Conversion {
    /// Of the result.
    pub to: Type,
    /// Of the source.
    pub from: Type,
    /// Rounding of a float result; of an integral result with `integer`.
    pub round: Round,
    /// `.rni`, `.rzi`, `.rmi`, `.rpi`
    pub integer: bool,
    /// `.ftz`
    pub ftz: bool,
    /// `.sat`
    pub sat: bool,
    /// `.relu`
    pub relu: bool,
    /// `.satfinite`
    pub satfinite: bool,
}

/// The function of a conversion. A signed result is extended by its sign to 64 bits: the
/// destination register cuts it.
pub fn conversion(c: Conversion) -> Option<Ternary> {
    if let Some(f) = small(c) {
        return Some(f);
    }
    let from = number(c.from)?;
    // Two floats into one register of two halves, the first operand high.
    if matches!(c.to, Type::F16x2 | Type::Bf16x2) && c.from == Type::F32 {
        let to = Format::of(c.to)?;
        return Some(Box::new(move |a, b, _| {
            float(c, Format::F32, to, a) << 16 | float(c, Format::F32, to, b)
        }));
    }
    if c.to == Type::Tf32 {
        return Some(Box::new(move |a, _, _| tf32(c, a)));
    }
    let to = number(c.to)?;
    Some(match (from, to) {
        (Number::Float(from), Number::Float(to)) => Box::new(move |a, _, _| float(c, from, to, a)),
        (Number::Float(from), Number::Int { bits, signed }) => {
            Box::new(move |a, _, _| float_to_int(c, from, bits, signed, a))
        }
        (Number::Int { bits, signed }, Number::Float(to)) => Box::new(move |a, _, _| {
            let r = from_int(to, integer(a, bits, signed), c.round);
            if c.sat { saturate(to, r) } else { r }
        }),
        (Number::Int { bits, signed }, Number::Int { bits: to_bits, signed: to_signed }) => {
            Box::new(move |a, _, _| {
                let value = integer(a, bits, signed);
                let value = if c.sat { clamp(value, to_bits, to_signed) } else { value };
                integer(value as u64, to_bits, to_signed) as u64
            })
        }
    })
}

/// To and from pairs of 8-bit floats; of two f32 the first becomes the high one.
fn small(c: Conversion) -> Option<Ternary> {
    let format = |ty| match ty {
        Type::E4m3x2 => Some(Small::E4m3),
        Type::E5m2x2 => Some(Small::E5m2),
        _ => None,
    };
    if let Some(from) = format(c.from) {
        let to = Format::of(c.to).filter(|_| matches!(c.to, Type::F16x2 | Type::Bf16x2))?;
        let one =
            move |x: u64| relu(c, to, from_f64(to, from.value(x & 0xff), Round::NearestTiesToEven));
        return Some(Box::new(move |a, _, _| one(a >> 8) << 16 | one(a)));
    }
    let to = format(c.to)?;
    let one = move |x: f64| {
        to.nearest(if c.relu && x.is_sign_negative() && !x.is_nan() { 0.0 } else { x })
    };
    match c.from {
        Type::F32 => Some(Box::new(move |a, b, _| {
            let [high, low] = [a, b].map(|x| one(to_f64(Format::F32, x)));
            high << 8 | low
        })),
        Type::F16x2 | Type::Bf16x2 => {
            let from = Format::of(c.from)?;
            Some(Box::new(move |a, _, _| {
                let [high, low] = [a >> 16, a].map(|x| one(to_f64(from, x & 0xffff)));
                high << 8 | low
            }))
        }
        _ => None,
    }
}

/// `.relu`: a negative number becomes zero.
fn relu(c: Conversion, format: Format, x: u64) -> u64 {
    if c.relu && !format.is_nan(x) && x & format.sign() != 0 { 0 } else { x }
}

enum Number {
    Int { bits: u32, signed: bool },
    Float(Format),
}

fn number(ty: Type) -> Option<Number> {
    Some(match ty.kind() {
        TypeKind::Signed | TypeKind::Unsigned | TypeKind::Bits if ty.bits() <= 64 => {
            Number::Int { bits: ty.bits(), signed: ty.is_signed() }
        }
        TypeKind::Float if matches!(ty, Type::F16 | Type::Bf16 | Type::F32 | Type::F64) => {
            Number::Float(Format::of(ty)?)
        }
        _ => return None,
    })
}

/// The value of an integer of `bits` bits.
fn integer(x: u64, bits: u32, signed: bool) -> i128 {
    if signed { i128::from(sign_extend(x, bits)) } else { i128::from(x & mask(bits)) }
}

fn clamp(value: i128, bits: u32, signed: bool) -> i128 {
    if signed {
        value.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        value.clamp(0, (1 << bits) - 1)
    }
}

fn float(c: Conversion, from: Format, to: Format, a: u64) -> u64 {
    // Subnormal f32 numbers are flushed by .ftz, those of other formats never are (PTX ISA 9.0,
    // "cvt").
    let flush = |format, x| if c.ftz && format == Format::F32 { Format::F32.flush(x) } else { x };
    let a = flush(from, a);
    // A bf16 is the upper half of an f32, a NaN too.
    if (from, to) == (Format::Bf16, Format::F32) && from.is_nan(a) && !c.sat {
        return a << 16;
    }
    let value = to_f64(from, a);
    let value = if c.integer { integral(value, c.round) } else { value };
    let mut r = flush(to, from_f64(to, value, c.round));
    // As in arithmetic, the exponent's lower bound does not take part in the decision (see
    // `float::arithmetic`).
    if c.ftz && to == Format::F32 && r & to.magnitude() == to.least_normal() {
        let twice = from_f64(to, 2.0 * value, c.round);
        if twice & to.magnitude() < 2 * to.least_normal() {
            r &= to.sign();
        }
    }
    if c.sat {
        r = saturate(to, r);
    }
    if c.satfinite && r & to.magnitude() == to.infinity() {
        r -= 1;
    }
    relu(c, to, r)
}

/// To an integer: clamped to its range. NaN gives zero, or for f64 sources and 64-bit results the
/// highest bit alone (PTX ISA 9.0, "cvt").
fn float_to_int(c: Conversion, from: Format, bits: u32, signed: bool, a: u64) -> u64 {
    let a = if c.ftz && from == Format::F32 { from.flush(a) } else { a };
    let value = to_f64(from, a);
    if value.is_nan() {
        let lowest = 1u64 << (bits - 1);
        return match from == Format::F64 || bits == 64 {
            true if signed => sign_extend(lowest, bits) as u64,
            true => lowest,
            false => 0,
        };
    }
    let value = integral(value, c.round);
    // A float cast saturates at the ends of i128.
    clamp(value as i128, bits, signed) as u64
}

/// f32 with 10 bits of fraction: the others are zero.
fn tf32(c: Conversion, a: u64) -> u64 {
    let a = a & mask(32);
    let r = match c.round {
        // A NaN stays one. (ptxas 13.0.88 takes one without high bits for an infinity here, too.)
        Round::NearestTiesToAway if c.satfinite && Format::F32.is_nan(a) => {
            Format::F32.nan() & !0x1fff
        }
        // Observed (ptxas 13.0.88, sm_90a): the low bits go, and an infinity is what is left of a
        // NaN without others.
        Round::NearestTiesToAway if a & 0x7f80_0000 == 0x7f80_0000 => a & !0x1fff,
        _ if Format::F32.is_nan(a) => return Format::F32.nan(),
        _ if a & 0x7f80_0000 == 0x7f80_0000 => a,
        Round::NearestTiesToAway => (a + 0x1000) & !0x1fff,
        Round::NearestTiesToEven => (a + 0xfff + (a >> 13 & 1)) & !0x1fff,
        _ => a & !0x1fff,
    };
    // The largest tf32 number.
    let r =
        if c.satfinite && r & 0x7fff_ffff == 0x7f80_0000 { r & 1 << 31 | 0x7f7f_e000 } else { r };
    relu(c, Format::F32, r)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cvt(to: Type, from: Type, round: Round, a: u64) -> u64 {
        let integer = from.kind() == TypeKind::Float && to.kind() != TypeKind::Float;
        let (ftz, sat, relu, satfinite) = (false, false, false, false);
        let c = Conversion { to, from, round, integer, ftz, sat, relu, satfinite };
        conversion(c).unwrap()(a, 0, 0)
    }

    #[test]
    fn integers_truncate_and_extend() {
        let round = Round::NearestTiesToEven;
        assert_eq!(cvt(Type::U16, Type::U32, round, 0x1_2345), 0x2345);
        assert_eq!(cvt(Type::S64, Type::S32, round, 0xffff_fffe), u64::MAX - 1);
        assert_eq!(cvt(Type::S64, Type::U32, round, 0xffff_fffe), 0xffff_fffe);
        assert_eq!(cvt(Type::S16, Type::S8, round, 0x80), 0xffff_ffff_ffff_ff80);
        let c = Conversion {
            to: Type::U8,
            from: Type::S32,
            round,
            integer: false,
            ftz: false,
            sat: true,
            relu: false,
            satfinite: false,
        };
        assert_eq!(conversion(c).unwrap()(u64::from(-5i32 as u32), 0, 0), 0);
        assert_eq!(conversion(c).unwrap()(300, 0, 0), 255);
    }

    #[test]
    fn floats_to_integers_clamp_and_nan_follows_the_table() {
        let zero = Round::TowardZero;
        let f = |x: f32| u64::from(x.to_bits());
        assert_eq!(cvt(Type::S32, Type::F32, zero, f(-1.9)) as u32, -1i32 as u32);
        assert_eq!(cvt(Type::S32, Type::F32, zero, f(3e9)) as u32, i32::MAX as u32);
        assert_eq!(cvt(Type::U64, Type::F32, zero, f(-3.0)), 0);
        assert_eq!(cvt(Type::U64, Type::F32, zero, f(1e30)), u64::MAX);
        assert_eq!(cvt(Type::S32, Type::F32, zero, f(f32::NAN)), 0);
        assert_eq!(cvt(Type::S32, Type::F64, zero, f64::NAN.to_bits()) as u32, 1 << 31);
        assert_eq!(cvt(Type::S8, Type::F64, zero, f64::NAN.to_bits()) as i64, -128);
        assert_eq!(cvt(Type::S64, Type::F32, zero, f(f32::NAN)), 1 << 63);
        assert_eq!(cvt(Type::S32, Type::F32, Round::NearestTiesToEven, f(2.5)), 2);
    }

    #[test]
    fn integers_to_floats_round_once() {
        let near = Round::NearestTiesToEven;
        // 2^24 + 1 lies in the middle of two f32.
        assert_eq!(cvt(Type::F32, Type::S32, near, (1 << 24) + 1), 0x4b80_0000);
        assert_eq!(cvt(Type::F32, Type::S32, Round::TowardPositive, (1 << 24) + 1), 0x4b80_0001);
        assert_eq!(cvt(Type::F64, Type::U64, near, u64::MAX), 2f64.powi(64).to_bits());
        assert_eq!(cvt(Type::F16, Type::S32, near, 70000), 0x7c00);
    }

    #[test]
    fn tf32_keeps_ten_bits_of_fraction() {
        let x = u64::from(1.000_488_4f32.to_bits());
        assert_eq!(cvt(Type::Tf32, Type::F32, Round::NearestTiesToAway, x) & 0x1fff, 0);
        assert_eq!(cvt(Type::Tf32, Type::F32, Round::NearestTiesToAway, 0x3f80_1000), 0x3f80_2000);
        assert_eq!(cvt(Type::Tf32, Type::F32, Round::NearestTiesToEven, 0x3f80_1000), 0x3f80_0000);
    }
}
