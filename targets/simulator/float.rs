//! IEEE arithmetic as the machine does it: every rounding mode, flush to zero, saturation,
//! canonical NaNs.
//!
//! Single precision is computed in double precision, rounded to odd, then rounded once more: 53
//! bits are more than twice 24 and two, so the second rounding is right in every mode. Double
//! precision in other modes than to-nearest, and all half precision, is left to `rustc_apfloat`.

use super::kinds::Combine;
use crate::approx::flush;
use rustc_apfloat::ieee::Double;
use rustc_apfloat::{Float, Round as ApRound};

/// The NaN that single precision arithmetic gives.
pub const NAN32: u32 = crate::approx::NAN32;
/// The NaN that double precision arithmetic gives when no operand is one.
pub const NAN64: u64 = 0xfff8_0000_0000_0000;

/// How a result is rounded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Round {
    /// To nearest, ties to even.
    #[default]
    Nearest,
    /// Toward minus infinity.
    Down,
    /// Toward plus infinity.
    Up,
    /// Toward zero.
    Zero,
}

impl Round {
    pub fn ap(self) -> ApRound {
        match self {
            Round::Nearest => ApRound::NearestTiesToEven,
            Round::Down => ApRound::TowardNegative,
            Round::Up => ApRound::TowardPositive,
            Round::Zero => ApRound::TowardZero,
        }
    }
}

/// Modifiers of a float instruction, packed in the `param` of a lane operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Mode {
    pub round: Round,
    pub ftz: bool,
    pub sat: bool,
    /// Free for the operation.
    pub extra: u16,
}

impl Mode {
    pub fn pack(self) -> u32 {
        self.round as u32
            | u32::from(self.ftz) << 2
            | u32::from(self.sat) << 3
            | u32::from(self.extra) << 16
    }

    #[inline]
    pub fn unpack(param: u32) -> Mode {
        let round = match param & 3 {
            0 => Round::Nearest,
            1 => Round::Down,
            2 => Round::Up,
            _ => Round::Zero,
        };
        Mode { round, ftz: param & 4 != 0, sat: param & 8 != 0, extra: (param >> 16) as u16 }
    }
}

#[inline]
fn single(mode: Mode, x: u64) -> f32 {
    let x = f32::from_bits(x as u32);
    if mode.ftz { flush(x) } else { x }
}

#[inline]
pub fn finish(mode: Mode, x: f32) -> u64 {
    let x = if mode.ftz { flush(x) } else { x };
    let bits = if x.is_nan() {
        if mode.sat { 0 } else { NAN32 }
    } else if mode.sat {
        // -0 becomes +0.
        if x > 0.0 { x.min(1.0).to_bits() } else { 0 }
    } else {
        x.to_bits()
    };
    u64::from(bits)
}

/// `sum + error` (exact, the error less than half a unit in the last place of the sum), rounded to
/// single precision.
#[inline]
fn narrow(sum: f64, error: f64, mode: Mode) -> f32 {
    let mut odd = sum;
    if error != 0.0 && sum.to_bits() & 1 == 0 {
        let away = (error > 0.0) == (sum > 0.0);
        odd = f64::from_bits(if away { sum.to_bits() + 1 } else { sum.to_bits() - 1 });
    }
    round_flushing(odd, mode.round, mode.ftz)
}

/// A double rounded to single precision, flushed to zero when it is tiny: whether it is, says what
/// 24 bits of an exponent without bounds would be (`tests/engines/semantics`: what ptxas 13.0.88
/// folds, and what its reciprocal with `.ftz` does).
#[inline]
pub fn round_flushing(x: f64, round: Round, ftz: bool) -> f32 {
    let near = round_to_single(x, round);
    if ftz && near.abs() <= f32::MIN_POSITIVE && x != 0.0 {
        let twice = round_to_single(2.0 * x, round);
        if twice.abs() < 2.0 * f32::MIN_POSITIVE {
            return 0f32.copysign(near);
        }
    }
    near
}

/// A double rounded to single precision.
#[inline]
pub fn round_to_single(x: f64, round: Round) -> f32 {
    let near = x as f32;
    let wide = f64::from(near);
    match round {
        Round::Nearest => near,
        Round::Down if wide > x => near.next_down(),
        Round::Up if wide < x => near.next_up(),
        Round::Zero if wide.abs() > x.abs() => {
            if x > 0.0 {
                near.next_down()
            } else {
                near.next_up()
            }
        }
        _ => near,
    }
}

/// A zero sum of terms with these signs: a sum of opposite terms is negative only when rounding
/// down.
#[inline]
fn zero_sum(a_negative: bool, b_negative: bool, round: Round) -> f32 {
    let negative = if a_negative == b_negative { a_negative } else { round == Round::Down };
    if negative { -0.0 } else { 0.0 }
}

#[inline]
fn sum(p: f64, c: f64, mode: Mode) -> f32 {
    let s = p + c;
    if s == 0.0 {
        return zero_sum(p.is_sign_negative(), c.is_sign_negative(), mode.round);
    }
    if !s.is_finite() {
        return s as f32;
    }
    // What the addition lost (Knuth).
    let t = s - p;
    let error = (p - (s - t)) + (c - t);
    narrow(s, error, mode)
}

/// FADD
pub fn add32(param: u32, a: u64, b: u64, _: u64, _: u32) -> (u64, u32) {
    let mode = Mode::unpack(param);
    let (a, b) = (single(mode, a), single(mode, b));
    let r = match mode.round {
        Round::Nearest => a + b,
        _ => sum(f64::from(a), f64::from(b), mode),
    };
    (finish(mode, r), 0)
}

/// FMUL: `extra` 1 is .FMZ (zero times anything is zero); its high byte is the exponent of a scale.
pub fn mul32(param: u32, a: u64, b: u64, _: u64, _: u32) -> (u64, u32) {
    let mode = Mode::unpack(param);
    let (a, b) = (single(mode, a), single(mode, b));
    if mode.extra & 1 != 0 && (a == 0.0 || b == 0.0) {
        return (0, 0);
    }
    let scale = f64::from((i32::from((mode.extra >> 8) as i8) as f32).exp2());
    let product = f64::from(a) * f64::from(b) * scale;
    (finish(mode, round_flushing(product, mode.round, mode.ftz)), 0)
}

/// FFMA: one rounding.
pub fn fma32(param: u32, a: u64, b: u64, c: u64, _: u32) -> (u64, u32) {
    let mode = Mode::unpack(param);
    let (a, b, c) = (single(mode, a), single(mode, b), single(mode, c));
    if mode.extra & 1 != 0 && (a == 0.0 || b == 0.0) {
        return (finish(mode, c), 0);
    }
    (finish(mode, sum(f64::from(a) * f64::from(b), f64::from(c), mode)), 0)
}

/// FMNMX: the predicate picks the minimum. `extra` bit 0: a NaN operand gives NaN; bit 1, .XORSIGN:
/// of the absolute values, with the exclusive or of the operands' signs (ptxas writes `|x|` on both
/// operands; the signs are those before it).
pub fn minmax32(param: u32, a: u64, b: u64, _: u64, min: u32) -> (u64, u32) {
    let mode = Mode::unpack(param);
    let xorsign = mode.extra & 2 != 0;
    let (x, y) = (single(mode, a), single(mode, b));
    let negative = x.is_sign_negative() != y.is_sign_negative();
    let (x, y) = if xorsign { (x.abs(), y.abs()) } else { (x, y) };
    let r = match (x.is_nan(), y.is_nan()) {
        (true, true) => f32::NAN,
        (true, false) | (false, true) if mode.extra & 1 != 0 => f32::NAN,
        (true, false) => y,
        (false, true) => x,
        _ => {
            let x_first = x.total_cmp(&y).is_lt();
            if x_first == (min & 1 != 0) { x } else { y }
        }
    };
    let r = if xorsign && negative { -r } else { r };
    (finish(mode, r), 0)
}

/// FSEL
pub fn select32(param: u32, a: u64, b: u64, _: u64, p: u32) -> (u64, u32) {
    let x = if p & 1 != 0 { a } else { b };
    if Mode::unpack(param).ftz {
        (u64::from(flush(f32::from_bits(x as u32)).to_bits()), 0)
    } else {
        (x, 0)
    }
}

/// A comparison of floats. Plain ones are false when an operand is a NaN, those with U true.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FloatCompare {
    pub less: bool,
    pub equal: bool,
    pub greater: bool,
    pub unordered: bool,
}

impl FloatCompare {
    pub fn pack(self) -> u16 {
        u16::from(self.less)
            | u16::from(self.equal) << 1
            | u16::from(self.greater) << 2
            | u16::from(self.unordered) << 3
    }
}

#[inline]
pub fn compare(codes: u16, order: Option<std::cmp::Ordering>) -> (u64, u32) {
    let bit = match order {
        Some(std::cmp::Ordering::Less) => 0,
        Some(std::cmp::Ordering::Equal) => 1,
        Some(std::cmp::Ordering::Greater) => 2,
        None => 3,
    };
    (0, u32::from(codes >> bit & 1))
}

/// FSETP: `extra` is a [`FloatCompare`]; the result is in the bits.
pub fn compare32(param: u32, a: u64, b: u64, _: u64, _: u32) -> (u64, u32) {
    let mode = Mode::unpack(param);
    compare(mode.extra, single(mode, a).partial_cmp(&single(mode, b)))
}

/// FSET.BF: a comparison, combined with the predicate, as 1.0 or 0. `extra`: [`FloatCompare`]; bits
/// 4 and 5: how it combines.
pub fn set32(param: u32, a: u64, b: u64, c: u64, p: u32) -> (u64, u32) {
    let (_, holds) = compare32(param, a, b, c, 0);
    let holds = Combine::from_code(Mode::unpack(param).extra >> 4).apply(holds != 0, p & 1 != 0);
    (if holds { u64::from(1.0f32.to_bits()) } else { 0 }, 0)
}

/// DSETP
pub fn compare64(param: u32, a: u64, b: u64, _: u64, _: u32) -> (u64, u32) {
    let codes = Mode::unpack(param).extra;
    compare(codes, f64::from_bits(a).partial_cmp(&f64::from_bits(b)))
}

/// DSETP.MIN (`extra` 1) and .MAX (0): whether the first operand is the result, and whether both
/// are NaN. The selects that follow in ptxas's code read them so (observed: ptxas 13.0.88, sm_90a).
pub fn pick64(param: u32, a: u64, b: u64, _: u64, _: u32) -> (u64, u32) {
    let (x, y) = (f64::from_bits(a), f64::from_bits(b));
    let min = Mode::unpack(param).extra != 0;
    let first = !x.is_nan() && (y.is_nan() || x.total_cmp(&y).is_lt() == min);
    (0, u32::from(first) | u32::from(x.is_nan() && y.is_nan()) << 1)
}

/// The quiet form of the first NaN operand.
fn nan64(operands: &[u64]) -> u64 {
    let nan = operands.iter().find(|x| f64::from_bits(**x).is_nan());
    nan.map_or(NAN64, |x| x | 1 << 51)
}

fn finish64(x: f64, operands: &[u64]) -> (u64, u32) {
    (if x.is_nan() { nan64(operands) } else { x.to_bits() }, 0)
}

pub fn ap64(bits: u64) -> Double {
    Double::from_bits(u128::from(bits))
}

fn from_ap64(x: Double) -> f64 {
    f64::from_bits(x.to_bits() as u64)
}

/// DADD
pub fn add64(param: u32, a: u64, b: u64, _: u64, _: u32) -> (u64, u32) {
    let r = match Mode::unpack(param).round {
        Round::Nearest => f64::from_bits(a) + f64::from_bits(b),
        round => from_ap64(ap64(a).add_r(ap64(b), round.ap()).value),
    };
    finish64(r, &[a, b])
}

/// DMUL
pub fn mul64(param: u32, a: u64, b: u64, _: u64, _: u32) -> (u64, u32) {
    let r = match Mode::unpack(param).round {
        Round::Nearest => f64::from_bits(a) * f64::from_bits(b),
        round => from_ap64(ap64(a).mul_r(ap64(b), round.ap()).value),
    };
    finish64(r, &[a, b])
}

/// DFMA
pub fn fma64(param: u32, a: u64, b: u64, c: u64, _: u32) -> (u64, u32) {
    let r = match Mode::unpack(param).round {
        Round::Nearest => f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c)),
        round => from_ap64(ap64(a).mul_add_r(ap64(b), ap64(c), round.ap()).value),
    };
    finish64(r, &[a, b, c])
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustc_apfloat::ieee::Single;

    fn mode(round: Round) -> u32 {
        Mode { round, ..Mode::default() }.pack()
    }

    fn bits(x: f32) -> u64 {
        u64::from(x.to_bits())
    }

    /// Numbers of all kinds, the same in every run.
    fn samples() -> Vec<f32> {
        let mut seed = 0x1234_5678_9abc_def1_u64;
        let mut all = vec![0.0, -0.0, 1.0, f32::MAX, f32::MIN_POSITIVE, f32::INFINITY, f32::NAN];
        all.push(f32::from_bits(1));
        for i in 0..60 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let word = (seed >> 32) as u32;
            // Near exponents often, so that sums cancel.
            let word = if i % 2 == 0 { word & 0x81ff_ffff | 0x3f00_0000 } else { word };
            all.push(f32::from_bits(word));
        }
        all
    }

    #[test]
    fn single_precision_is_correctly_rounded_in_every_mode() {
        let ap = |x: f32| Single::from_bits(u128::from(x.to_bits()));
        let all = samples();
        for round in [Round::Nearest, Round::Down, Round::Up, Round::Zero] {
            for (i, &a) in all.iter().enumerate() {
                for &b in &all {
                    let c = all[(i * 7 + 3) % all.len()];
                    let check = |got: u64, want: Single, what: &str| {
                        let want = want.to_bits() as u32;
                        let nan = f32::from_bits(want).is_nan();
                        let want = if nan { NAN32 } else { want };
                        assert_eq!(got as u32, want, "{what} {a:e} {b:e} {c:e} {round:?}");
                    };
                    let p = mode(round);
                    let (x, y, z) = (bits(a), bits(b), bits(c));
                    check(add32(p, x, y, 0, 0).0, ap(a).add_r(ap(b), round.ap()).value, "add");
                    check(mul32(p, x, y, 0, 0).0, ap(a).mul_r(ap(b), round.ap()).value, "mul");
                    let fma = ap(a).mul_add_r(ap(b), ap(c), round.ap()).value;
                    check(fma32(p, x, y, z, 0).0, fma, "fma");
                }
            }
        }
    }

    #[test]
    fn saturation_clamps_and_clears_nans() {
        let p = Mode { sat: true, ..Mode::default() }.pack();
        for (a, b, want) in
            [(2.0, 0.0, 1.0), (-1.0, 0.5, 0.0), (f32::NAN, 0.0, 0.0), (0.25, 0.5, 0.75)]
        {
            assert_eq!(add32(p, bits(a), bits(b), 0, 0).0, bits(want));
        }
        assert_eq!(add32(p, bits(-0.0), bits(-0.0), 0, 0).0, 0);
    }

    #[test]
    fn flush_to_zero_keeps_the_sign() {
        let p = Mode { ftz: true, ..Mode::default() }.pack();
        let tiny = f32::from_bits(0x8000_0001);
        assert_eq!(mul32(p, bits(tiny), bits(1.0), 0, 0).0, 0x8000_0000);
        assert_eq!(mul32(mode(Round::Nearest), bits(tiny), bits(1.0), 0, 0).0, 0x8000_0001);
    }

    #[test]
    fn flushed_is_what_rounds_below_the_least_normal_number_without_a_bound_of_the_exponent() {
        let ftz = |round| Mode { ftz: true, round, ..Mode::default() }.pack();
        let below = 0x00ff_ffff;
        for round in [Round::Nearest, Round::Up] {
            assert_eq!(mul32(ftz(round), below, bits(0.5), 0, 0).0, 0);
            assert_eq!(fma32(ftz(round), below, bits(-0.5), bits(0.0), 0).0, 0x8000_0000);
        }
        assert_eq!(mul32(mode(Round::Nearest), below, bits(0.5), 0, 0).0, 0x0080_0000);
        // The product has 26 bits and rounds up.
        let (a, b) = (0x1fff_f800u64, 0x2000_0400u64);
        assert_eq!(mul32(ftz(Round::Nearest), a, b, 0, 0).0, 0x0080_0000);
        assert_eq!(mul32(ftz(Round::Zero), a, b, 0, 0).0, 0);
    }

    #[test]
    fn minimum_and_maximum_drop_a_nan_and_order_zeros() {
        let p = mode(Round::Nearest);
        assert_eq!(minmax32(p, bits(f32::NAN), bits(3.0), 0, 1).0, bits(3.0));
        assert_eq!(minmax32(p, bits(0.0), bits(-0.0), 0, 1).0, bits(-0.0));
        assert_eq!(minmax32(p, bits(0.0), bits(-0.0), 0, 0).0, bits(0.0));
        assert_eq!(minmax32(p, bits(f32::NAN), bits(f32::NAN), 0, 1).0, u64::from(NAN32));
    }

    #[test]
    fn double_minimum_picks_the_number() {
        let pick = |extra, a: f64, b: f64| {
            pick64(Mode { extra, ..Mode::default() }.pack(), a.to_bits(), b.to_bits(), 0, 0).1
        };
        assert_eq!((pick(1, 1.0, 2.0), pick(0, 1.0, 2.0)), (1, 0));
        assert_eq!((pick(1, f64::NAN, 2.0), pick(1, 2.0, f64::NAN)), (0, 1));
        assert_eq!(pick(0, f64::NAN, f64::NAN), 2);
        assert_eq!((pick(1, -0.0, 0.0), pick(0, -0.0, 0.0)), (1, 0));
    }
}
