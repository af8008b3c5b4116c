//! The approximate functions of the multi-function unit: one model, for the PTX interpreter and for
//! the SASS simulator.
//!
//! A result is the exact value rounded once to the result's format, computed in double precision by
//! the `libm` crate (pure Rust: the same bits on every machine). That lies inside the error bounds
//! that PTX ISA 9.0 gives for the `.approx` instructions; the hardware's last bits differ. Every
//! NaN result is the canonical NaN.

/// The NaN that f32 arithmetic gives (PTX ISA 9.0, "Floating Point Instructions").
pub const NAN32: u32 = 0x7fff_ffff;

/// A function of the unit, over f32.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Approx {
    /// Of an angle in revolutions: `MUFU.SIN` and `MUFU.COS` take x / 2π.
    Sin,
    /// Of an angle in revolutions, as the sine.
    Cos,
    /// Two to the power of x.
    Ex2,
    /// The logarithm to base two.
    Lg2,
    /// 1 / x.
    Rcp,
    /// 1 over the square root.
    Rsq,
    /// The square root.
    Sqrt,
    /// The hyperbolic tangent.
    Tanh,
}

impl Approx {
    /// The function over the whole range, subnormal operands and results included.
    pub fn eval(self, x: f32) -> f32 {
        let wide = f64::from(x);
        let y = match self {
            Approx::Sin => revolutions(wide, libm::sin),
            Approx::Cos => revolutions(wide, libm::cos),
            Approx::Ex2 => libm::exp2(wide),
            Approx::Lg2 => libm::log2(wide),
            Approx::Rcp => 1.0 / wide,
            Approx::Rsq => 1.0 / wide.sqrt(),
            Approx::Sqrt => wide.sqrt(),
            Approx::Tanh => libm::tanh(wide),
        };
        let y = y as f32;
        // To the optimizer one NaN is as good as another: without this a release build gave the
        // processor's own, -NaN, for the root of what is negative.
        if y.is_nan() { std::hint::black_box(f32::from_bits(NAN32)) } else { y }
    }

    /// The same with subnormal operands and results flushed to zero of their sign: what `MUFU`
    /// itself computes.
    pub fn eval_ftz(self, x: f32) -> f32 {
        flush(self.eval(flush(x)))
    }
}

/// Zero of the same sign for a subnormal number.
pub fn flush(x: f32) -> f32 {
    if x.is_subnormal() { 0.0f32.copysign(x) } else { x }
}

fn revolutions(x: f64, f: fn(f64) -> f64) -> f64 {
    if !x.is_finite() {
        return f64::NAN;
    }
    if x == 0.0 {
        // The sine of -0.0 is -0.0 (PTX ISA 9.0, "sin"), which the difference below would lose.
        return f(x);
    }
    // Exact: the fraction of an f32.
    f((x - libm::round(x)) * std::f64::consts::TAU)
}

/// `sin.approx.f32` and `cos.approx.f32` of an angle in radians, as compiled code does them: a
/// multiplication by 1/2π rounded towards zero, then the unit's function of revolutions (observed:
/// ptxas 13.0.88, `FMUL.RZ` by 0.15915494).
pub fn angle(function: Approx, radians: f32) -> f32 {
    function.eval(mul_rz(radians, 0.159_154_94))
}

/// The product rounded towards zero.
fn mul_rz(a: f32, b: f32) -> f32 {
    // Exact: 24 by 24 bits of significand fit 53.
    let exact = f64::from(a) * f64::from(b);
    let near = exact as f32;
    if near.is_finite() && f64::from(near).abs() > exact.abs() {
        f32::from_bits(near.to_bits() - 1)
    } else {
        near
    }
}

/// `MUFU.RCP64H`, and the high word of `rcp.approx.ftz.f64`: from the high word of a double to that
/// of its reciprocal.
pub fn rcp64h(high: u32) -> u32 {
    double_high(high, |x| 1.0 / x)
}

/// `MUFU.RSQ64H`, and the high word of `rsqrt.approx.ftz.f64`.
pub fn rsq64h(high: u32) -> u32 {
    double_high(high, |x| 1.0 / x.sqrt())
}

fn double_high(high: u32, f: fn(f64) -> f64) -> u32 {
    let flush = |x: f64| if x.is_subnormal() { 0.0f64.copysign(x) } else { x };
    let x = flush(f64::from_bits(u64::from(high) << 32));
    let y = flush(f(x));
    if y.is_nan() { NAN32 } else { (y.to_bits() >> 32) as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_operands_follow_the_tables_of_the_ptx_isa() {
        let inf = f32::INFINITY;
        for (function, operand, result) in [
            (Approx::Rcp, 0.0, inf),
            (Approx::Rcp, -0.0, -inf),
            (Approx::Rcp, -inf, -0.0),
            (Approx::Rsq, -0.0, -inf),
            (Approx::Rsq, inf, 0.0),
            (Approx::Sqrt, -0.0, -0.0),
            (Approx::Ex2, -inf, 0.0),
            (Approx::Ex2, inf, inf),
            (Approx::Ex2, 3.0, 8.0),
            (Approx::Lg2, 0.0, -inf),
            (Approx::Lg2, 8.0, 3.0),
            (Approx::Tanh, inf, 1.0),
            (Approx::Sin, 0.0, 0.0),
            (Approx::Sin, -0.0, -0.0),
            (Approx::Cos, 1.0, 1.0),
        ] {
            let got = function.eval(operand);
            assert_eq!(got.to_bits(), f32::to_bits(result), "{function:?} of {operand}: {got}");
        }
        for (function, operand) in [
            (Approx::Rsq, -1.0),
            (Approx::Sqrt, -inf),
            (Approx::Lg2, -1.0),
            (Approx::Sin, inf),
            (Approx::Tanh, f32::NAN),
        ] {
            assert_eq!(function.eval(operand).to_bits(), NAN32, "{function:?} of {operand}");
        }
    }

    #[test]
    fn the_unit_flushes_subnormal_numbers() {
        assert_eq!(Approx::Ex2.eval_ftz(-127.0), 0.0);
        assert!(Approx::Ex2.eval(-127.0) > 0.0);
        assert_eq!(Approx::Rcp.eval_ftz(-1e-40), f32::NEG_INFINITY);
    }

    #[test]
    fn angles_are_within_the_bound_of_sin_approx() {
        for step in -200..=200 {
            let x = step as f32 * 0.03;
            let error = f64::from(angle(Approx::Sin, x)) - libm::sin(f64::from(x));
            assert!(error.abs() < 2f64.powi(-20), "sin({x}) is off by {error:e}");
        }
    }

    #[test]
    fn high_words_of_double_reciprocals() {
        let high = |x: f64| (x.to_bits() >> 32) as u32;
        assert_eq!(rcp64h(high(4.0)), high(0.25));
        assert_eq!(rsq64h(high(4.0)), high(0.5));
        assert_eq!(rcp64h(high(0.0)), high(f64::INFINITY));
        assert_eq!(rsq64h(high(-4.0)), NAN32);
    }
}
