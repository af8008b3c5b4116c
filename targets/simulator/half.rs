//! Half precision arithmetic: both halves of a register at once, in f16 or bfloat16.

use super::float::*;
use super::kinds::Combine;
use crate::approx::Approx;
use rustc_apfloat::ieee::{BFloat, Half, Single};
use rustc_apfloat::{Float, FloatConvert};

/// The NaN that half precision arithmetic gives.
pub const NAN16: u16 = 0x7fff;

/// The format of the halves of a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HalfFormat {
    F16,
    Bf16,
}

/// A half, widened (exact).
pub fn half_to_single(format: HalfFormat, x: u16) -> f32 {
    match format {
        HalfFormat::Bf16 => f32::from_bits(u32::from(x) << 16),
        HalfFormat::F16 => {
            let wide: Single = Half::from_bits(u128::from(x)).convert(&mut false).value;
            f32::from_bits(wide.to_bits() as u32)
        }
    }
}

/// A number rounded to a half.
pub fn double_to_half(format: HalfFormat, x: f64, round: Round) -> u16 {
    if x.is_nan() {
        return NAN16;
    }
    let x = ap64(x.to_bits());
    let bits = match format {
        HalfFormat::F16 => {
            let half: Half = x.convert_r(round.ap(), &mut false).value;
            half.to_bits()
        }
        HalfFormat::Bf16 => {
            let half: BFloat = x.convert_r(round.ap(), &mut false).value;
            half.to_bits()
        }
    };
    bits as u16
}

/// The same of a single.
pub fn single_to_half(format: HalfFormat, x: f32, round: Round) -> u16 {
    double_to_half(format, f64::from(x), round)
}

/// Bits of `extra` of the half precision operations. Bit 0 is always the format.
pub const BF16: u16 = 1;
/// HFMA2.RELU: a negative result becomes zero; a NaN stays one.
pub const RELU: u16 = 2;
/// HFMA2.OOB: an out-of-bounds NaN as operand makes the result zero.
pub const OOB: u16 = 4;
/// HMNMX2.NAN: a NaN operand makes the result NaN.
pub const NAN: u16 = 2;
/// HMNMX2.XORSIGN: the result gets the exclusive or of the operands' signs.
pub const XORSIGN: u16 = 4;

/// The NaN that bulk tensor copies fill in where a tensor ends and that `fma.oob` takes for zero.
/// PTX ISA 9.0 does not say its bits, nor whether the addend counts as an operand; assumed: the
/// bits that our tensor copies fill in, and that it does.
const OOB_NAN: u16 = 0x7fff;

/// `a * b + c` of halves with one rounding.
fn half_fma(format: HalfFormat, mode: Mode, a: u16, b: u16, c: u16) -> u16 {
    fn go<F: Float>(mode: Mode, a: u16, b: u16, c: u16) -> u16 {
        let input = |x: u16| {
            let x = F::from_bits(u128::from(x));
            if mode.ftz && x.is_denormal() { F::ZERO.copy_sign(x) } else { x }
        };
        let round = mode.round.ap();
        let r = input(a).mul_add_r(input(b), input(c), round).value;
        if r.is_nan() {
            return if mode.sat { 0 } else { NAN16 };
        }
        let least = F::smallest_normalized();
        let tiny = || {
            // Flushed is what 11 (or 8) bits of an exponent without bounds would leave below the
            // least normal number.
            let twice = |x: F| x.scalbn(1);
            let r = twice(input(a)).mul_add_r(input(b), twice(input(c)), round).value;
            r.abs().partial_cmp(&twice(least)).is_some_and(|o| o.is_lt())
        };
        let flushed = mode.ftz && (r.is_denormal() || r.abs() == least && tiny());
        let r = if flushed { F::ZERO.copy_sign(r) } else { r };
        let one = F::from_u128(1).value;
        let r = match mode.sat {
            true if r.is_negative() => F::ZERO,
            true if r.partial_cmp(&one).is_some_and(|o| o.is_gt()) => one,
            _ => r,
        };
        r.to_bits() as u16
    }
    match format {
        HalfFormat::F16 => go::<Half>(mode, a, b, c),
        HalfFormat::Bf16 => go::<BFloat>(mode, a, b, c),
    }
}

/// The format of a lane operation's `extra`: bit 0 is bfloat16.
pub fn half_format(mode: Mode) -> HalfFormat {
    if mode.extra & BF16 != 0 { HalfFormat::Bf16 } else { HalfFormat::F16 }
}

/// Both halves of three registers through `f`.
#[inline]
fn halves(a: u64, b: u64, c: u64, mut f: impl FnMut(u16, u16, u16) -> u16) -> (u64, u32) {
    let low = f(a as u16, b as u16, c as u16);
    let high = f((a >> 16) as u16, (b >> 16) as u16, (c >> 16) as u16);
    (u64::from(low) | u64::from(high) << 16, 0)
}

/// HFMA2, see [`RELU`] and [`OOB`].
pub fn fma16x2(param: u32, a: u64, b: u64, c: u64, _: u32) -> (u64, u32) {
    let mode = Mode::unpack(param);
    halves(a, b, c, |a, b, c| {
        if mode.extra & OOB != 0 && [a, b, c].contains(&OOB_NAN) {
            return 0;
        }
        let r = half_fma(half_format(mode), mode, a, b, c);
        let negative = r & 0x8000 != 0 && r != NAN16;
        if mode.extra & RELU != 0 && negative { 0 } else { r }
    })
}

fn one(format: HalfFormat) -> u16 {
    match format {
        HalfFormat::F16 => 0x3c00,
        HalfFormat::Bf16 => 0x3f80,
    }
}

/// HADD2
pub fn add16x2(param: u32, a: u64, b: u64, _: u64, _: u32) -> (u64, u32) {
    let mode = Mode::unpack(param);
    let format = half_format(mode);
    halves(a, b, 0, |a, b, _| half_fma(format, mode, a, one(format), b))
}

/// HMUL2: the product plus a zero of its own sign, so that the zero does not change a negative
/// zero.
pub fn mul16x2(param: u32, a: u64, b: u64, _: u64, _: u32) -> (u64, u32) {
    let mode = Mode::unpack(param);
    let format = half_format(mode);
    halves(a, b, 0, |a, b, _| half_fma(format, mode, a, b, (a ^ b) & 0x8000))
}

/// HADD2.F32: the low half of `a` plus the low half of `b`, as a single.
pub fn add_halves_to_single(param: u32, a: u64, b: u64, _: u64, _: u32) -> (u64, u32) {
    let mode = Mode::unpack(param);
    let wide = |x: u64| half_to_single(half_format(mode), x as u16);
    (finish(mode, wide(a) + wide(b)), 0)
}

/// A half as the comparing instructions see it: subnormals are zero with .FTZ.
fn compared(mode: Mode, x: u16) -> u16 {
    let subnormal = match half_format(mode) {
        HalfFormat::F16 => x & 0x7c00 == 0,
        HalfFormat::Bf16 => x & 0x7f80 == 0,
    };
    if mode.ftz && subnormal { x & 0x8000 } else { x }
}

fn minmax(mode: Mode, a: u16, b: u16, min: bool) -> u16 {
    let format = half_format(mode);
    let sign = (a ^ b) & 0x8000;
    let plain = |x| if mode.extra & XORSIGN != 0 { x & 0x7fff } else { x };
    let (a, b) = (plain(compared(mode, a)), plain(compared(mode, b)));
    let (x, y) = (half_to_single(format, a), half_to_single(format, b));
    let r = match (x.is_nan(), y.is_nan()) {
        (true, true) => return NAN16,
        (true, false) | (false, true) if mode.extra & NAN != 0 => return NAN16,
        (true, false) => b,
        (false, true) => a,
        _ if x.total_cmp(&y).is_lt() == min => a,
        _ => b,
    };
    if mode.extra & XORSIGN != 0 { r | sign } else { r }
}

/// HMNMX2: the predicate picks the minimum. See [`NAN`] and [`XORSIGN`].
pub fn minmax16x2(param: u32, a: u64, b: u64, _: u64, min: u32) -> (u64, u32) {
    let mode = Mode::unpack(param);
    halves(a, b, 0, |a, b, _| minmax(mode, a, b, min & 1 != 0))
}

/// VHMNMX: of three, two by two.
pub fn minmax3_16x2(param: u32, a: u64, b: u64, c: u64, min: u32) -> (u64, u32) {
    let mode = Mode::unpack(param);
    let min = min & 1 != 0;
    halves(a, b, c, |a, b, c| minmax(mode, minmax(mode, a, b, min), c, min))
}

/// A comparison of the halves at a bit.
fn order(mode: Mode, codes: u16, a: u64, b: u64, at: u32) -> bool {
    let wide = |x: u64| half_to_single(half_format(mode), compared(mode, (x >> at) as u16));
    compare(codes, wide(a).partial_cmp(&wide(b))).1 != 0
}

/// HSETP2: a comparison of each half; `extra` from bit 4 on is a [`FloatCompare`].
pub fn compare16x2(param: u32, a: u64, b: u64, _: u64, _: u32) -> (u64, u32) {
    let mode = Mode::unpack(param);
    let half = |at| u32::from(order(mode, mode.extra >> 4, a, b, at));
    (0, half(0) | half(16) << 1)
}

/// HSET2: the same, combined with the predicate, as number in each half: all ones, or 1.0 with .BF.
/// `extra` bit 1: .BF; bits 2 and 3: how it combines.
pub fn set16x2(param: u32, a: u64, b: u64, _: u64, p: u32) -> (u64, u32) {
    let mode = Mode::unpack(param);
    let yes = if mode.extra & 2 != 0 { one(half_format(mode)) } else { 0xffff };
    let half = |at| {
        let holds = order(mode, mode.extra >> 4, a, b, at);
        let holds = Combine::from_code(mode.extra >> 2).apply(holds, p & 1 != 0);
        if holds { u64::from(yes) << at } else { 0 }
    };
    (half(0) | half(16), 0)
}

/// MUFU.F16 and .BF16 of a half: EX2 (`param` bits 0..2: 0) or TANH (1); bit 3: bfloat16. EX2 of
/// bfloat16 exists in PTX only with `.ftz`, so its subnormal results are zero.
pub fn mufu16(param: u32, a: u64, _: u64, _: u64, _: u32) -> (u64, u32) {
    let format = if param & 8 != 0 { HalfFormat::Bf16 } else { HalfFormat::F16 };
    let function = if param & 7 == 0 { Approx::Ex2 } else { Approx::Tanh };
    let x = half_to_single(format, a as u16);
    let r = function.eval(x);
    let flush = format == HalfFormat::Bf16 && function == Approx::Ex2;
    let r = single_to_half(format, if flush { crate::approx::flush(r) } else { r }, Round::Nearest);
    (u64::from(r), 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(x: f32) -> u64 {
        u64::from(x.to_bits())
    }

    #[test]
    fn halves_round_once() {
        assert_eq!(single_to_half(HalfFormat::F16, 65520.0, Round::Nearest), 0x7c00);
        assert_eq!(single_to_half(HalfFormat::F16, 65520.0, Round::Zero), 0x7bff);
        assert_eq!(single_to_half(HalfFormat::Bf16, 1.0, Round::Nearest), 0x3f80);
        assert_eq!(half_to_single(HalfFormat::F16, 0x0001), 2.0f32.powi(-24));
        // 1 * 1 + 1 in both halves.
        assert_eq!(fma16x2(0, 0x3c00_3c00, 0x3c00_3c00, 0x3c00_3c00, 0).0, 0x4000_4000);
        assert_eq!(mul16x2(0, 0x8000, 0x3c00, 0, 0).0, 0x8000);
        assert_eq!(add_halves_to_single(0, 0x3c00, 0x8000, 0, 0).0, bits(1.0));
    }
}
