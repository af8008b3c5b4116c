//! Exact results, from native integers and floats, and from rustc_apfloat where rounding is
//! directed.

use super::cases::Op;
use rustc_apfloat::ieee::{Double, Single};
use rustc_apfloat::{Float, Round};

/// Quotient or remainder of integers of `bits` bits. Of a divisor 0 ptxas's code, and ours, gives
/// all ones.
pub fn integer(bits: u32, signed: bool, remainder: bool, a: u64, b: u64) -> u64 {
    let mask = u64::MAX >> (64 - bits);
    let value = |x: u64| {
        let x = x & mask;
        if signed { i128::from((x << (64 - bits)) as i64 >> (64 - bits)) } else { i128::from(x) }
    };
    let (a, b) = (value(a), value(b));
    if b == 0 {
        return mask;
    }
    (if remainder { a % b } else { a / b }) as u64 & mask
}

fn flush(x: u32, ftz: bool) -> u32 {
    if ftz && x & 0x7f80_0000 == 0 { x & 0x8000_0000 } else { x }
}

/// The least normal single.
const LEAST: u32 = 0x0080_0000;

/// Whether a quotient that rounds to the least normal number is below it when the exponent has no
/// lower bound, which is what `.ftz` goes by (see `src/interpret/float.rs`): twice the quotient
/// rounds below twice that number. Operands are normal.
fn is_tiny(op: Op, round: Round, a: u32, b: u32) -> bool {
    let twice = match op {
        Op::Div => quotient_single(a + LEAST, b, round),
        Op::Rcp => quotient_single(2.0f32.to_bits(), a, round),
        Op::Sqrt => return false,
    };
    twice & 0x7fff_ffff < 2 * LEAST
}

pub fn single(op: Op, round: Round, ftz: bool, sat: bool, a: u32, b: u32) -> u32 {
    let (a, b) = (flush(a, ftz), flush(b, ftz));
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    let nearest = round == Round::NearestTiesToEven;
    let result = match op {
        Op::Div if nearest => (x / y).to_bits(),
        Op::Rcp if nearest => (1.0 / x).to_bits(),
        Op::Sqrt if nearest => x.sqrt().to_bits(),
        Op::Div => quotient_single(a, b, round),
        Op::Rcp => quotient_single(1.0f32.to_bits(), a, round),
        Op::Sqrt => directed_root_single(x, round),
    };
    let mut result = flush(result, ftz);
    if ftz && result & 0x7fff_ffff == LEAST && is_tiny(op, round, a, b) {
        result &= 0x8000_0000;
    }
    if sat { f32::from_bits(result).clamp(0.0, 1.0).to_bits() } else { result }
}

fn quotient_single(a: u32, b: u32, round: Round) -> u32 {
    let (a, b) = (Single::from_bits(u128::from(a)), Single::from_bits(u128::from(b)));
    a.div_r(b, round).value.to_bits() as u32
}

/// The root rounded to nearest, and its neighbour where that lies on the wrong side: the remainder
/// `x - s²` tells, exactly.
fn directed_root_single(x: f32, round: Round) -> u32 {
    let root = x.sqrt();
    if !root.is_finite() || root == 0.0 {
        return root.to_bits();
    }
    // 24 bits twice fit a double.
    let square = f64::from(root) * f64::from(root);
    step(u64::from(root.to_bits()), f64::from(x).partial_cmp(&square), round) as u32
}

/// The neighbour of a positive number's bits, when the exact value compares to it as `side` says.
fn step(bits: u64, side: Option<std::cmp::Ordering>, round: Round) -> u64 {
    use std::cmp::Ordering::{Greater, Less};
    match (side, round) {
        (Some(Greater), Round::TowardPositive) => bits + 1,
        (Some(Less), Round::TowardZero | Round::TowardNegative) => bits - 1,
        _ => bits,
    }
}

pub fn double(op: Op, round: Round, a: u64, b: u64) -> u64 {
    let (x, y) = (f64::from_bits(a), f64::from_bits(b));
    let nearest = round == Round::NearestTiesToEven;
    match op {
        Op::Div if nearest => (x / y).to_bits(),
        Op::Rcp if nearest => (1.0 / x).to_bits(),
        Op::Sqrt if nearest => x.sqrt().to_bits(),
        Op::Div => quotient_double(a, b, round),
        Op::Rcp => quotient_double(1.0f64.to_bits(), a, round),
        Op::Sqrt => directed_root_double(x, round),
    }
}

fn quotient_double(a: u64, b: u64, round: Round) -> u64 {
    let (a, b) = (Double::from_bits(u128::from(a)), Double::from_bits(u128::from(b)));
    a.div_r(b, round).value.to_bits() as u64
}

fn directed_root_double(x: f64, round: Round) -> u64 {
    let root = x.sqrt();
    if !root.is_finite() || root == 0.0 {
        return root.to_bits();
    }
    // Both sides scaled by an even power of two so that nothing is subnormal; then x - s² is exact
    // in one fused step.
    let up = f64::from_bits(if x < 1e-200 { 0x5ff0_0000_0000_0000 } else { 0x3ff0_0000_0000_0000 });
    let (scaled, scaled_root) = (x * up * up, root * up);
    let rest = (-scaled_root).mul_add(scaled_root, scaled);
    step(root.to_bits(), rest.partial_cmp(&0.0), round)
}
