//! Conversions between number formats, and the approximate functions' odd relatives.

use super::float::*;
use super::format::{Conversion, Format, byte_to_double, largest, narrow_small};
use super::half::*;
use crate::approx::{Approx, flush};
use rustc_apfloat::Float;
use rustc_apfloat::ieee::{BFloat, Double, Half, Single};

/// A float operand, widened (exact).
pub fn widen(format: Format, ftz: bool, x: u64) -> f64 {
    match format {
        Format::F64 => f64::from_bits(x),
        Format::F32 | Format::Tf32 => {
            let x = f32::from_bits(x as u32);
            f64::from(if ftz { flush(x) } else { x })
        }
        Format::E4m3 | Format::E5m2 => byte_to_double(format, x as u8),
        Format::F16 => f64::from(half_to_single(HalfFormat::F16, x as u16)),
        Format::Bf16 => f64::from(half_to_single(HalfFormat::Bf16, x as u16)),
    }
}

fn integral(x: f64, round: Round) -> f64 {
    match round {
        Round::Nearest => x.round_ties_even(),
        Round::Down => x.floor(),
        Round::Up => x.ceil(),
        Round::Zero => x.trunc(),
    }
}

/// F2I: rounded, then clamped to the integer's range. NaN gives the highest bit alone from f64 and
/// to 64-bit integers, zero otherwise (PTX ISA 9.0, "cvt").
pub fn float_to_int(param: u32, a: u64, _: u64, _: u64, _: u32) -> (u64, u32) {
    let c = Conversion::unpack(param);
    let x = widen(c.from, c.ftz, a);
    if x.is_nan() {
        let highest = c.bits == 64 || c.from == Format::F64;
        return (if highest { 1 << (c.bits.clamp(1, 64) - 1) } else { 0 }, 0);
    }
    let x = integral(x, c.round);
    let bits = u32::from(c.bits).clamp(1, 64);
    let (min, max) = if c.signed {
        (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
    } else {
        (0, (1i128 << bits) - 1)
    };
    // `as` saturates.
    let r = (x as i128).clamp(min, max) as u64;
    (if c.bits == 64 { r } else { r & 0xffff_ffff }, 0)
}

/// The value of the integer operand of a conversion.
fn integer(c: Conversion, a: u64) -> i128 {
    let shift = 64 - u32::from(c.bits).clamp(1, 64);
    if c.signed {
        i128::from((a << shift) as i64 >> shift)
    } else {
        i128::from(a << shift >> shift)
    }
}

/// I2F and I2FP.
pub fn int_to_float(param: u32, a: u64, _: u64, _: u64, _: u32) -> (u64, u32) {
    let c = Conversion::unpack(param);
    let x = integer(c, a);
    let r = match c.to {
        Format::F32 => Single::from_i128_r(x, c.round.ap()).value.to_bits() as u64,
        Format::F64 => Double::from_i128_r(x, c.round.ap()).value.to_bits() as u64,
        Format::F16 => Half::from_i128_r(x, c.round.ap()).value.to_bits() as u64,
        Format::Bf16 => BFloat::from_i128_r(x, c.round.ap()).value.to_bits() as u64,
        // No instruction converts an integer to these.
        Format::Tf32 | Format::E4m3 | Format::E5m2 => 0,
    };
    (r, 0)
}

/// F2F between formats.
pub fn float_to_float(param: u32, a: u64, _: u64, _: u64, _: u32) -> (u64, u32) {
    let c = Conversion::unpack(param);
    let x = widen(c.from, c.ftz, a);
    (narrow(c, x), 0)
}

pub fn narrow(c: Conversion, x: f64) -> u64 {
    let x = match (c.sat, c.relu) {
        (true, _) if x.is_nan() => 0.0,
        (true, _) => x.clamp(0.0, 1.0) + 0.0,
        // A negative zero too.
        (_, true) if x.is_sign_negative() && !x.is_nan() => 0.0,
        _ => x,
    };
    let x = match largest(c.to) {
        Some(largest) if c.finite && !x.is_nan() => x.clamp(-largest, largest),
        _ => x,
    };
    match c.to {
        Format::F64 if x.is_nan() => NAN64,
        Format::F64 => x.to_bits(),
        Format::F32 if x.is_nan() => u64::from(NAN32),
        Format::F32 => u64::from(round_flushing(x, c.round, c.ftz).to_bits()),
        Format::F16 => {
            let half = u64::from(double_to_half(HalfFormat::F16, x, c.round));
            // F2F.FTZ: an H200 made a zero of what rounding down left subnormal.
            let subnormal = half & 0x7c00 == 0;
            if c.ftz && c.from == Format::F32 && subnormal { half & 0x8000 } else { half }
        }
        Format::Tf32 | Format::E4m3 | Format::E5m2 => narrow_small(c, x),
        Format::Bf16 => u64::from(double_to_half(HalfFormat::Bf16, x, c.round)),
    }
}

/// FRND: to an integral value of the same format.
pub fn round_integral(param: u32, a: u64, _: u64, _: u64, _: u32) -> (u64, u32) {
    let c = Conversion::unpack(param);
    let x = widen(c.from, c.ftz, a);
    (narrow(Conversion { to: c.from, relu: false, ..c }, integral(x, c.round)), 0)
}

/// MUFU of single precision. Subnormal operands and results are flushed: ptxas scales around it
/// where PTX asks for them.
pub fn mufu(param: u32, a: u64, _: u64, _: u64, _: u32) -> (u64, u32) {
    let f = match param {
        0 => Approx::Cos,
        1 => Approx::Sin,
        2 => Approx::Ex2,
        3 => Approx::Lg2,
        4 => Approx::Rcp,
        5 => Approx::Rsq,
        6 => Approx::Sqrt,
        _ => Approx::Tanh,
    };
    (u64::from(f.eval_ftz(f32::from_bits(a as u32)).to_bits()), 0)
}

/// MUFU.RCP64H (`param` 0) and RSQ64H (1): high word of a double to the high word of the result,
/// about 20 bits of it.
pub fn mufu64(param: u32, a: u64, _: u64, _: u64, _: u32) -> (u64, u32) {
    let x = f64::from_bits(a << 32);
    let x = if x.is_subnormal() { 0.0f64.copysign(x) } else { x };
    let r = if param == 0 { 1.0 / x } else { 1.0 / x.sqrt() };
    let r = match r {
        r if r.is_nan() => f64::from_bits(0x7fff_ffff << 32),
        r if r.is_subnormal() => 0.0f64.copysign(r),
        r => r,
    };
    (r.to_bits() >> 32, 0)
}

/// FCHK: true where a division needs the slow path: a quotient, its reciprocal or a remainder may
/// leave the normal range.
///
/// The machine's exact limits are not known; both paths give the right quotient, so wider limits
/// cost only time.
pub fn division_check(_: u32, a: u64, b: u64, _: u64, _: u32) -> (u64, u32) {
    let exponent = |x: u64| (x >> 23 & 0xff) as i32 - 127;
    let (a, b) = (exponent(a), exponent(b));
    let slow = !(-100..=125).contains(&a) || !(-124..=124).contains(&b) || (a - b).abs() > 120;
    (0, u32::from(slow))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f32_bits(x: f32) -> u64 {
        u64::from(x.to_bits())
    }

    #[test]
    fn floats_become_integers_with_clamping() {
        let p = |round, bits, signed| {
            Conversion { round, bits, signed, ..Conversion::default() }.pack()
        };
        let go = |p, x: f32| float_to_int(p, f32_bits(x), 0, 0, 0).0;
        assert_eq!(go(p(Round::Zero, 32, true), -1.9), 0xffff_ffff);
        assert_eq!(go(p(Round::Nearest, 32, true), 2.5), 2);
        assert_eq!(go(p(Round::Up, 32, false), 2.1), 3);
        assert_eq!(go(p(Round::Zero, 32, false), -5.0), 0);
        assert_eq!(go(p(Round::Zero, 32, true), 1e20), 0x7fff_ffff);
        assert_eq!(go(p(Round::Zero, 64, false), f32::INFINITY), u64::MAX);
        assert_eq!(go(p(Round::Zero, 32, true), f32::NAN), 0);
        assert_eq!(go(p(Round::Zero, 8, true), -200.0) as u32, -128i32 as u32);
    }

    #[test]
    fn integers_become_floats_rounded_once() {
        let p = |round, bits, signed, to| {
            Conversion { round, bits, signed, to, ..Conversion::default() }.pack()
        };
        let go = |p, x: u64| int_to_float(p, x, 0, 0, 0).0;
        assert_eq!(
            go(p(Round::Nearest, 32, false, Format::F32), 0xffff_ffff),
            f32_bits(4294967296.0)
        );
        assert_eq!(go(p(Round::Zero, 32, false, Format::F32), 0xffff_ffff), f32_bits(4294967040.0));
        assert_eq!(go(p(Round::Nearest, 32, true, Format::F32), 0xffff_ffff), f32_bits(-1.0));
        assert_eq!(go(p(Round::Nearest, 64, true, Format::F64), u64::MAX), (-1.0f64).to_bits());
        assert_eq!(go(p(Round::Nearest, 16, false, Format::F32), 0xffff_0001), f32_bits(1.0));
    }

    #[test]
    fn formats_narrow_in_every_mode() {
        let x = 1.0f64 + f64::EPSILON;
        let p = |round| {
            Conversion { round, from: Format::F64, to: Format::F32, ..Conversion::default() }.pack()
        };
        assert_eq!(float_to_float(p(Round::Nearest), x.to_bits(), 0, 0, 0).0, f32_bits(1.0));
        let up = f32_bits(1.0f32.next_up());
        assert_eq!(float_to_float(p(Round::Up), x.to_bits(), 0, 0, 0).0, up);
    }

    #[test]
    fn reciprocals_of_high_words() {
        let two = (2.0f64).to_bits() >> 32;
        assert_eq!(mufu64(0, two, 0, 0, 0).0, (0.5f64).to_bits() >> 32);
        let four = (4.0f64).to_bits() >> 32;
        assert_eq!(mufu64(1, four, 0, 0, 0).0, (0.5f64).to_bits() >> 32);
        assert_eq!(mufu64(0, 0, 0, 0, 0).0, f64::INFINITY.to_bits() >> 32);
    }

    #[test]
    fn division_takes_the_slow_path_at_the_edges() {
        let check = |a: f32, b: f32| division_check(0, f32_bits(a), f32_bits(b), 0, 0).1;
        assert_eq!(check(1.0, 3.0), 0);
        for (a, b) in [(1.0, 0.0), (f32::NAN, 1.0), (1.0, f32::INFINITY), (1.0, f32::from_bits(1))]
        {
            assert_eq!(check(a, b), 1);
        }
    }
}
