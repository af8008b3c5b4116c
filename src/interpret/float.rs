//! Floating-point arithmetic on bits: the formats, rounding modes and modifiers of PTX ISA 9.0,
//! "Floating Point Instructions".
//!
//! f32 and f64 rounded to nearest use the machine's IEEE arithmetic, everything else
//! `rustc_apfloat`: both give the one correct result. A NaN that arithmetic makes is the canonical
//! NaN of its format. Of f64 PTX leaves the bits open: here it is the first operand that is one,
//! made quiet, and otherwise the NaN that CUDA's headers name.

use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use super::operand::Ternary;
use crate::ptx::types::Type;

/// A format of floats that arithmetic knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    F16,
    Bf16,
    F32,
    F64,
}

impl Format {
    /// The format of a scalar type, or of one element of a packed one.
    pub fn of(ty: Type) -> Option<Format> {
        Some(match ty {
            Type::F16 | Type::F16x2 => Format::F16,
            Type::Bf16 | Type::Bf16x2 => Format::Bf16,
            Type::F32 | Type::F32x2 | Type::Tf32 => Format::F32,
            Type::F64 => Format::F64,
            _ => return None,
        })
    }

    /// Bits of a number.
    pub fn bits(self) -> u32 {
        match self {
            Format::F16 | Format::Bf16 => 16,
            Format::F32 => 32,
            Format::F64 => 64,
        }
    }

    /// Bits of the significand that are stored.
    fn fraction_bits(self) -> u32 {
        match self {
            Format::F16 => 10,
            Format::Bf16 => 7,
            Format::F32 => 23,
            Format::F64 => 52,
        }
    }

    /// The bit of the sign.
    pub fn sign(self) -> u64 {
        1 << (self.bits() - 1)
    }

    /// All other bits.
    pub fn magnitude(self) -> u64 {
        self.sign() - 1
    }

    /// The bits of infinity: all of the exponent.
    pub fn infinity(self) -> u64 {
        self.magnitude() >> self.fraction_bits() << self.fraction_bits()
    }

    /// The NaN that arithmetic gives (PTX ISA 9.0, "Floating Point Instructions").
    pub fn nan(self) -> u64 {
        match self {
            Format::F64 => 0xfff8_0000_0000_0000,
            _ => self.magnitude(),
        }
    }

    /// The number 1.
    pub fn one(self) -> u64 {
        from_f64(self, 1.0, Round::NearestTiesToEven)
    }

    /// Whether the bits are a NaN.
    pub fn is_nan(self, x: u64) -> bool {
        x & self.magnitude() > self.infinity()
    }

    /// Whether the bits are a number below the normal ones, but not zero.
    pub fn is_subnormal(self, x: u64) -> bool {
        x & self.infinity() == 0 && x & self.magnitude() != 0
    }

    /// The bits of the least number that is not subnormal.
    pub fn least_normal(self) -> u64 {
        1 << self.fraction_bits()
    }

    /// A subnormal number as zero of its sign.
    #[inline]
    pub fn flush(self, x: u64) -> u64 {
        if x & self.infinity() == 0 { x & self.sign() } else { x }
    }
}

/// The exact value.
#[inline]
pub fn to_f64(format: Format, bits: u64) -> f64 {
    let mut exact = false;
    match format {
        Format::F64 => f64::from_bits(bits),
        Format::F32 => f64::from(f32::from_bits(bits as u32)),
        Format::Bf16 => f64::from(f32::from_bits((bits as u32) << 16)),
        Format::F16 => {
            let wide: Double = Half::from_bits(u128::from(bits & 0xffff))
                .convert_r(Round::NearestTiesToEven, &mut exact)
                .value;
            f64::from_bits(wide.to_bits() as u64)
        }
    }
}

/// A value rounded once to a format; NaN becomes the format's.
pub fn from_f64(format: Format, x: f64, round: Round) -> u64 {
    if x.is_nan() {
        return format.nan();
    }
    let mut lost = false;
    let wide = Double::from_bits(u128::from(x.to_bits()));
    match format {
        Format::F64 => x.to_bits(),
        Format::F32 if round == Round::NearestTiesToEven => u64::from((x as f32).to_bits()),
        Format::F32 => {
            FloatConvert::<Single>::convert_r(wide, round, &mut lost).value.to_bits() as u64
        }
        Format::F16 => {
            FloatConvert::<Half>::convert_r(wide, round, &mut lost).value.to_bits() as u64
        }
        Format::Bf16 => {
            FloatConvert::<BFloat>::convert_r(wide, round, &mut lost).value.to_bits() as u64
        }
    }
}

/// An 8-bit format: 1 sign, exponent, fraction (PTX ISA 9.0, "Alternate Floating-Point Data
/// Formats").
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Small {
    /// 3 bits of fraction; no infinity, and one NaN of each sign.
    E4m3,
    /// 2 bits of fraction; the upper half of an f16.
    E5m2,
}

impl Small {
    fn fraction(self) -> u32 {
        match self {
            Small::E4m3 => 3,
            Small::E5m2 => 2,
        }
    }

    /// The exponent of the least normal number.
    fn least(self) -> i32 {
        match self {
            Small::E4m3 => -6,
            Small::E5m2 => -14,
        }
    }

    /// The bits of the largest finite number.
    fn largest(self) -> u64 {
        match self {
            Small::E4m3 => 0x7e,
            Small::E5m2 => 0x7b,
        }
    }

    /// The exact value.
    pub fn value(self, bits: u64) -> f64 {
        let magnitude = bits & 0x7f;
        let value = if magnitude > self.largest() {
            if self == Small::E5m2 && magnitude == 0x7c { f64::INFINITY } else { f64::NAN }
        } else {
            let one = 1u64 << self.fraction();
            let exponent = (magnitude >> self.fraction()) as i32;
            let part = (magnitude & (one - 1)) + if exponent > 0 { one } else { 0 };
            part as f64 * 2f64.powi(self.least() + exponent.max(1) - 1 - self.fraction() as i32)
        };
        if bits & 0x80 != 0 { -value } else { value }
    }

    /// Rounded once to nearest even; what is too large becomes the largest number (`.satfinite`), a
    /// NaN the positive one.
    pub fn nearest(self, x: f64) -> u64 {
        if x.is_nan() {
            return 0x7f;
        }
        let sign = if x.is_sign_negative() { 0x80 } else { 0 };
        let magnitude = x.abs();
        let largest = self.value(self.largest());
        if magnitude >= largest {
            return sign | self.largest();
        }
        let fraction = self.fraction();
        let biased = (magnitude.to_bits() >> 52) as i32 - 1023;
        let exponent = biased.max(self.least());
        // Steps of the last place: exact, a multiplication by a power of two.
        let steps = (magnitude * 2f64.powi(fraction as i32 - exponent)).round_ties_even() as u64;
        sign | ((((exponent - self.least()) as u64) << fraction) + steps).min(self.largest())
    }
}

/// An integer rounded once to a format.
pub fn from_int(format: Format, x: i128, round: Round) -> u64 {
    match format {
        Format::F16 => Half::from_i128_r(x, round).value.to_bits() as u64,
        Format::Bf16 => BFloat::from_i128_r(x, round).value.to_bits() as u64,
        Format::F32 => Single::from_i128_r(x, round).value.to_bits() as u64,
        Format::F64 => Double::from_i128_r(x, round).value.to_bits() as u64,
    }
}

/// Rounds to an integral value.
pub fn integral(x: f64, round: Round) -> f64 {
    match round {
        Round::NearestTiesToEven => x.round_ties_even(),
        Round::NearestTiesToAway => x.round(),
        Round::TowardZero => x.trunc(),
        Round::TowardNegative => x.floor(),
        Round::TowardPositive => x.ceil(),
    }
}

/// An operation on floats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arith {
    Add,
    Sub,
    Mul,
    /// a * b + c
    Fma,
    Div,
    Rcp,
    Sqrt,
    Min,
    Max,
    Abs,
    Neg,
}

/// The modifiers of a floating-point instruction.
#[derive(Clone, Copy, Debug)]
pub struct Mode {
    /// How results are rounded.
    pub round: Round,
    /// Subnormal numbers are zero, as operands and as results.
    pub ftz: bool,
    /// Results are clamped to [0, 1]; NaN is 0.
    pub sat: bool,
    /// Negative results are zero.
    pub relu: bool,
    /// `.NaN` of min and max.
    pub nan: bool,
    /// `.xorsign.abs` of min and max.
    pub xorsign: bool,
}

impl Default for Mode {
    fn default() -> Mode {
        Mode {
            round: Round::NearestTiesToEven,
            ftz: false,
            sat: false,
            relu: false,
            nan: false,
            xorsign: false,
        }
    }
}

/// The function of one element.
pub fn arithmetic(op: Arith, format: Format, mode: Mode) -> Ternary {
    let plain = !mode.ftz && !mode.sat && !mode.relu && mode.round == Round::NearestTiesToEven;
    // The commonest ones without any test at run time.
    if plain && format == Format::F32 {
        let f = |bits: u64| f32::from_bits(bits as u32);
        let out = |x: f32| u64::from(if x.is_nan() { 0x7fff_ffff } else { x.to_bits() });
        match op {
            Arith::Add => return Box::new(move |a, b, _| out(f(a) + f(b))),
            Arith::Sub => return Box::new(move |a, b, _| out(f(a) - f(b))),
            Arith::Mul => return Box::new(move |a, b, _| out(f(a) * f(b))),
            Arith::Fma => return Box::new(move |a, b, c| out(f(a).mul_add(f(b), f(c)))),
            _ => {}
        }
    }
    Box::new(move |mut a, mut b, mut c| {
        if mode.ftz {
            a = format.flush(a);
            b = format.flush(b);
            c = format.flush(c);
        }
        let mut r = compute(op, format, mode, a, b, c);
        if mode.ftz {
            r = format.flush(r);
            if r & format.magnitude() == format.least_normal() && is_tiny(op, format, mode, a, b, c)
            {
                r &= format.sign();
            }
        }
        if mode.sat {
            r = saturate(format, r);
        }
        if mode.relu {
            r = if format.is_nan(r) {
                format.nan()
            } else if r & format.sign() != 0 {
                0
            } else {
                r
            };
        }
        r
    })
}

/// Whether a result that rounds to the least normal number counts as subnormal all the same. PTX
/// only says that `.ftz` flushes subnormal results. Observed (what ptxas 13.0.88 folds, and what
/// its `rcp.ftz` is made for): it decides by the number that the exact result rounds to when the
/// exponent has no lower bound, not by its neighbour on the coarser grid of subnormal numbers.
fn is_tiny(op: Arith, format: Format, mode: Mode, a: u64, b: u64, c: u64) -> bool {
    // Twice everything: the same rounding one binade higher. Operands are normal numbers or zero.
    let twice = |x: u64| {
        let magnitude = x & format.magnitude();
        if magnitude == 0 || magnitude >= format.infinity() { x } else { x + format.least_normal() }
    };
    let r = match op {
        Arith::Mul | Arith::Fma => compute(op, format, mode, twice(a), b, twice(c)),
        Arith::Div => compute(op, format, mode, twice(a), b, c),
        Arith::Rcp => compute(Arith::Div, format, mode, twice(format.one()), a, c),
        // Sums of normal numbers are exact down there, roots far above it.
        _ => return false,
    };
    r & format.magnitude() < twice(format.least_normal())
}

/// Clamps to 0.0 ..= 1.0; NaN gives +0.0.
pub fn saturate(format: Format, x: u64) -> u64 {
    if format.is_nan(x) || x & format.sign() != 0 { 0 } else { x.min(format.one()) }
}

fn compute(op: Arith, format: Format, mode: Mode, a: u64, b: u64, c: u64) -> u64 {
    match op {
        // Of a NaN PTX leaves open what comes out: with f16 the device computes it.
        Arith::Abs | Arith::Neg if format == Format::F16 && format.is_nan(a) => {
            return format.nan();
        }
        Arith::Abs => return a & format.magnitude(),
        Arith::Neg => return a ^ format.sign(),
        Arith::Min | Arith::Max => return min_max(op == Arith::Min, format, mode, a, b),
        _ => {}
    }
    let r = match (format, mode.round) {
        (Format::F32, Round::NearestTiesToEven) => {
            let [a, b, c] = [a, b, c].map(|x| f32::from_bits(x as u32));
            u64::from(f32::to_bits(match op {
                Arith::Add => a + b,
                Arith::Sub => a - b,
                Arith::Mul => a * b,
                Arith::Fma => a.mul_add(b, c),
                Arith::Div => a / b,
                Arith::Rcp => 1.0 / a,
                _ => a.sqrt(),
            }))
        }
        (Format::F64, Round::NearestTiesToEven) => {
            let [a, b, c] = [a, b, c].map(f64::from_bits);
            f64::to_bits(match op {
                Arith::Add => a + b,
                Arith::Sub => a - b,
                Arith::Mul => a * b,
                Arith::Fma => a.mul_add(b, c),
                Arith::Div => a / b,
                Arith::Rcp => 1.0 / a,
                _ => a.sqrt(),
            })
        }
        (Format::F32, round) => soft::<Single>(op, round, a, b, c),
        (Format::F64, round) => soft::<Double>(op, round, a, b, c),
        (Format::F16, round) => soft::<Half>(op, round, a, b, c),
        (Format::Bf16, round) => soft::<BFloat>(op, round, a, b, c),
    };
    if !format.is_nan(r) {
        return r;
    }
    let operand = [a, b, c].into_iter().find(|x| format == Format::F64 && format.is_nan(*x));
    operand.map_or(format.nan(), |x| x | 1 << 51)
}

fn soft<F: Float>(op: Arith, round: Round, a: u64, b: u64, c: u64) -> u64 {
    let mask = u64::MAX >> (64 - F::BITS.min(64));
    let [x, y, z] = [a, b, c].map(|bits| F::from_bits(u128::from(bits & mask)));
    let result = match op {
        Arith::Add => x.add_r(y, round).value,
        Arith::Sub => x.sub_r(y, round).value,
        Arith::Mul => x.mul_r(y, round).value,
        Arith::Fma => x.mul_add_r(y, z, round).value,
        Arith::Div => x.div_r(y, round).value,
        Arith::Rcp => F::from_u128_r(1, round).value.div_r(x, round).value,
        _ => return sqrt_directed::<F>(round, a),
    };
    result.to_bits() as u64
}

/// The square root with directed rounding (f32 and f64): the one rounded to nearest, moved by one
/// place where the sign of the exact remainder says so. A root is never subnormal, and its
/// neighbours have the sign of the root.
fn sqrt_directed<F: Float>(round: Round, a: u64) -> u64 {
    let wide = F::BITS == 64;
    let (root, remainder) = if wide {
        let (x, r) = (f64::from_bits(a), f64::from_bits(a).sqrt());
        // The remainder of a small operand would underflow: both are scaled, exactly.
        let small = x < f64::from_bits(0x1000_0000_0000_0000);
        let scale =
            |exponent: u64| if small { f64::from_bits((1023 + exponent) << 52) } else { 1.0 };
        let (x, scaled) = (x * scale(256), r * scale(128));
        (r.to_bits(), (-scaled).mul_add(scaled, x))
    } else {
        let x = f64::from(f32::from_bits(a as u32));
        let r = f32::from_bits(a as u32).sqrt();
        // Exact: a square of 24 bits fits 53, and so does its difference from an operand so close.
        (u64::from(r.to_bits()), x - f64::from(r) * f64::from(r))
    };
    let zero_or_special = remainder == 0.0 || remainder.is_nan() || root == 0;
    match round {
        _ if zero_or_special => root,
        Round::TowardPositive if remainder > 0.0 => root + 1,
        Round::TowardNegative | Round::TowardZero if remainder < 0.0 => root - 1,
        _ => root,
    }
}

/// min and max: a NaN operand gives the other one, -0.0 is less than +0.0.
fn min_max(min: bool, format: Format, mode: Mode, a: u64, b: u64) -> u64 {
    let sign = if mode.xorsign { (a ^ b) & format.sign() } else { 0 };
    let (x, y) =
        if mode.xorsign { (a & format.magnitude(), b & format.magnitude()) } else { (a, b) };
    let picked = match (format.is_nan(x), format.is_nan(y)) {
        (true, true) if format == Format::F64 => return x | 1 << 51,
        (true, true) => return format.nan(),
        (true, false) | (false, true) if mode.nan => return format.nan(),
        (true, false) => y,
        (false, true) => x,
        (false, false) => {
            let less = order(format, x) < order(format, y);
            if less == min { x } else { y }
        }
    };
    picked | sign
}

/// An integer that orders numbers as their values, -0.0 below +0.0.
fn order(format: Format, x: u64) -> i64 {
    let magnitude = (x & format.magnitude()) as i64;
    if x & format.sign() != 0 { -1 - magnitude } else { magnitude }
}

/// The two halves of a packed pair, one function each.
pub fn packed(f: Ternary, bits: u32) -> Ternary {
    let mask = (1u64 << bits) - 1;
    Box::new(move |a, b, c| {
        let low = f(a & mask, b & mask, c & mask) & mask;
        let high = f(a >> bits & mask, b >> bits & mask, c >> bits & mask) & mask;
        high << bits | low
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(op: Arith, format: Format, mode: Mode, a: f64, b: f64, c: f64) -> f64 {
        let bits = |x| from_f64(format, x, Round::NearestTiesToEven);
        to_f64(format, arithmetic(op, format, mode)(bits(a), bits(b), bits(c)))
    }

    #[test]
    fn directed_rounding_brackets_the_exact_result() {
        let mode = |round| Mode { round, ..Mode::default() };
        for format in [Format::F32, Format::F64] {
            for (op, a, b) in
                [(Arith::Add, 1.0, 1e-20), (Arith::Div, 1.0, 3.0), (Arith::Sqrt, 2.0, 0.0)]
            {
                let down = run(op, format, mode(Round::TowardNegative), a, b, 0.0);
                let up = run(op, format, mode(Round::TowardPositive), a, b, 0.0);
                let zero = run(op, format, mode(Round::TowardZero), a, b, 0.0);
                assert!(down < up, "{op:?} {format:?}: {down} {up}");
                assert_eq!(zero, down);
                let gap = from_f64(format, up, Round::TowardZero)
                    - from_f64(format, down, Round::TowardZero);
                assert_eq!(gap, 1, "neighbours");
            }
        }
    }

    #[test]
    fn roots_of_subnormal_numbers_round_downwards() {
        // sqrt(2 * 2^-1074) = sqrt(2) * 2^-537, whose last bit to nearest is rounded up.
        assert_eq!(sqrt_directed::<Double>(Round::TowardNegative, 2), 0x1e66_a09e_667f_3bcc);
        assert_eq!(sqrt_directed::<Double>(Round::TowardPositive, 2), 0x1e66_a09e_667f_3bcd);
    }

    #[test]
    fn min_and_max_ignore_one_nan_and_order_zeros() {
        let plain = Mode::default();
        assert_eq!(run(Arith::Min, Format::F32, plain, f64::NAN, 2.0, 0.0), 2.0);
        assert!(run(Arith::Max, Format::F32, plain, 0.0, -0.0, 0.0).is_sign_positive());
        assert!(run(Arith::Min, Format::F32, plain, 0.0, -0.0, 0.0).is_sign_negative());
        let nan = Mode { nan: true, ..plain };
        assert!(run(Arith::Max, Format::F16, nan, f64::NAN, 2.0, 0.0).is_nan());
        let xorsign = Mode { xorsign: true, ..plain };
        assert_eq!(run(Arith::Max, Format::F32, xorsign, -3.0, 2.0, 0.0), -3.0);
    }

    #[test]
    fn half_precision_rounds_once_and_saturates() {
        let plain = Mode::default();
        assert_eq!(run(Arith::Add, Format::F16, plain, 2048.0, 1.0, 0.0), 2048.0);
        assert_eq!(run(Arith::Fma, Format::F16, plain, 256.0, 256.0, -65504.0), 32.0);
        assert_eq!(run(Arith::Mul, Format::F16, plain, 256.0, 256.0, 0.0), f64::INFINITY);
        let sat = Mode { sat: true, ..plain };
        assert_eq!(run(Arith::Add, Format::F32, sat, 2.0, 1.0, 0.0), 1.0);
        assert_eq!(run(Arith::Add, Format::F32, sat, -2.0, 1.0, 0.0), 0.0);
    }

    #[test]
    fn flushing_takes_operands_and_results() {
        let ftz = Mode { ftz: true, ..Mode::default() };
        assert_eq!(run(Arith::Add, Format::F32, ftz, 1e-40, 1e-40, 0.0), 0.0);
        assert_eq!(run(Arith::Mul, Format::F32, ftz, 1e-30, 1e-10, 0.0), 0.0);
        assert!(run(Arith::Mul, Format::F32, Mode::default(), 1e-30, 1e-10, 0.0) > 0.0);
    }

    #[test]
    fn flushed_is_what_rounds_below_the_least_normal_number_without_a_bound_of_the_exponent() {
        let ftz = Mode { ftz: true, ..Mode::default() };
        let up = Mode { round: Round::TowardPositive, ..ftz };
        let least = f64::from(f32::MIN_POSITIVE);
        let (below, half) = (f64::from(f32::from_bits(0x00ff_ffff)), 0.5);
        // 24 bits: exact, and less than the least normal number.
        assert_eq!(run(Arith::Mul, Format::F32, ftz, below, half, 0.0), 0.0);
        assert_eq!(run(Arith::Fma, Format::F32, up, below, half, 0.0), 0.0);
        assert_eq!(run(Arith::Div, Format::F32, ftz, below, 2.0, 0.0), 0.0);
        // 26 bits, which round up to it.
        let root = 2f64.powi(-63);
        let (a, b) = (root * (1.0 - 2f64.powi(-13)), root * (1.0 + 2f64.powi(-13)));
        assert_eq!(run(Arith::Mul, Format::F32, ftz, a, b, 0.0), least);
        // Its reciprocal rounds down to a number of 24 bits that is less.
        let large = -f64::from(f32::from_bits(0x7e80_0001));
        let down = Mode { round: Round::TowardNegative, ..ftz };
        let zero = run(Arith::Rcp, Format::F32, down, large, 0.0, 0.0);
        assert!(zero == 0.0 && zero.is_sign_negative());
    }
}
