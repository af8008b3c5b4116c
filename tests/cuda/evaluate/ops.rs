//! What operators give, number by number.

use crate::program::{Atomic, Binary, Compare, Unary};
use crate::types::Scalar;

fn f32_of(x: u64) -> f32 {
    f32::from_bits(x as u32)
}

fn of_f32(x: f32) -> u64 {
    u64::from(x.to_bits())
}

pub fn unary(op: Unary, ty: Scalar, a: u64) -> u64 {
    match ty {
        Scalar::F32 => {
            let x = f32_of(a);
            match op {
                Unary::Neg => of_f32(-x),
                Unary::Abs => of_f32(x.abs()),
                Unary::Sqrt => of_f32(x.sqrt()),
                Unary::Floor => of_f32(x.floor()),
                Unary::Ceil => of_f32(x.ceil()),
                Unary::Trunc => of_f32(x.trunc()),
                Unary::Rint => of_f32(x.round_ties_even()),
                Unary::Zero => u64::from(x == 0.0),
                Unary::Not => a,
            }
        }
        Scalar::F64 => {
            let x = f64::from_bits(a);
            match op {
                Unary::Neg => (-x).to_bits(),
                Unary::Abs => x.abs().to_bits(),
                Unary::Sqrt => x.sqrt().to_bits(),
                Unary::Floor => x.floor().to_bits(),
                Unary::Ceil => x.ceil().to_bits(),
                Unary::Trunc => x.trunc().to_bits(),
                Unary::Rint => x.round_ties_even().to_bits(),
                Unary::Zero => u64::from(x == 0.0),
                Unary::Not => a,
            }
        }
        _ => match op {
            Unary::Neg => ty.wrap(a.wrapping_neg()),
            Unary::Not => ty.wrap(!a),
            Unary::Zero => u64::from(a == 0),
            Unary::Abs if ty.signed() && (a as i64) < 0 => ty.wrap(a.wrapping_neg()),
            _ => a,
        },
    }
}

/// The operator's result.
///
/// # Errors
/// A plain sum that is not in its type's range.
pub fn binary(op: Binary, ty: Scalar, a: u64, b: u64) -> Result<u64, String> {
    Ok(match ty {
        Scalar::F32 => {
            let (x, y) = (f32_of(a), f32_of(b));
            of_f32(match op {
                Binary::Add => x + y,
                Binary::Sub => x - y,
                Binary::Mul => x * y,
                Binary::Div => x / y,
                // Which zero is the smaller one is open: the printer adds a zero too.
                Binary::Min => least(x, y, |x, y| x < y) + 0.0,
                Binary::Max => least(x, y, |x, y| x > y) + 0.0,
                _ => return Err(format!("{op:?} of floats")),
            })
        }
        Scalar::F64 => {
            let (x, y) = (f64::from_bits(a), f64::from_bits(b));
            match op {
                Binary::Add => x + y,
                Binary::Sub => x - y,
                Binary::Mul => x * y,
                Binary::Div => x / y,
                Binary::Min => least(x, y, |x, y| x < y) + 0.0,
                Binary::Max => least(x, y, |x, y| x > y) + 0.0,
                _ => return Err(format!("{op:?} of floats")),
            }
            .to_bits()
        }
        _ => integers(op, ty, a, b)?,
    })
}

/// One of both by an order; of a NaN and a number the number.
#[allow(clippy::eq_op)]
fn least<T: PartialOrd + Copy>(x: T, y: T, before: fn(T, T) -> bool) -> T {
    if x != x || before(y, x) { y } else { x }
}

fn integers(op: Binary, ty: Scalar, a: u64, b: u64) -> Result<u64, String> {
    let (i, j) = (i128::from(a as i64), i128::from(b as i64));
    let (i, j) = if ty.signed() { (i, j) } else { (i128::from(a), i128::from(b)) };
    let length = (b % u64::from(ty.bits())) as u32;
    let lowest = if ty.signed() { -(1i128 << (ty.bits() - 1)) } else { 0 };
    let plain = |x: i128| -> Result<u64, String> {
        let wrapped = ty.wrap(x as u64);
        let back = if ty.signed() { i128::from(wrapped as i64) } else { i128::from(wrapped) };
        if back == x { Ok(wrapped) } else { Err(format!("{i} {op:?} {j} is no {}", ty.name())) }
    };
    Ok(match op {
        Binary::Add => ty.wrap(a.wrapping_add(b)),
        Binary::Sub => ty.wrap(a.wrapping_sub(b)),
        Binary::Mul => ty.wrap(a.wrapping_mul(b)),
        Binary::PlainAdd => plain(i + j)?,
        Binary::PlainSub => plain(i - j)?,
        Binary::PlainMul => plain(i * j)?,
        Binary::Div | Binary::Rem if j == 0 || (ty.signed() && j == -1 && i == lowest) => a,
        Binary::Div => ty.wrap((i / j) as u64),
        Binary::Rem => ty.wrap((i % j) as u64),
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        Binary::Shl => ty.wrap(a << length),
        Binary::Shr => ty.wrap((i >> length) as u64),
        Binary::Min => ty.wrap(i.min(j) as u64),
        Binary::Max => ty.wrap(i.max(j) as u64),
    })
}

pub fn compare(op: Compare, ty: Scalar, a: u64, b: u64) -> bool {
    let order = match ty {
        Scalar::F32 => f32_of(a).partial_cmp(&f32_of(b)),
        Scalar::F64 => f64::from_bits(a).partial_cmp(&f64::from_bits(b)),
        _ if ty.signed() => Some((a as i64).cmp(&(b as i64))),
        _ => Some(a.cmp(&b)),
    };
    match op {
        Compare::Eq => order.is_some_and(|o| o.is_eq()),
        Compare::Ne => !order.is_some_and(|o| o.is_eq()),
        Compare::Lt => order.is_some_and(|o| o.is_lt()),
        Compare::Le => order.is_some_and(|o| o.is_le()),
        Compare::Gt => order.is_some_and(|o| o.is_gt()),
        Compare::Ge => order.is_some_and(|o| o.is_ge()),
    }
}

/// Whether a number counts as true.
pub fn holds(ty: Scalar, x: u64) -> bool {
    unary(Unary::Zero, ty, x) == 0
}

/// The least and the greatest float that a conversion to an integer takes as it is.
pub fn range(to: Scalar, from: Scalar) -> (f64, f64) {
    let top = if to.signed() { to.bits() - 1 } else { to.bits() } as i32;
    let low = if to.signed() { -(2f64.powi(top)) } else { 0.0 };
    let digits = if from == Scalar::F32 { 24 } else { 53 };
    (low, 2f64.powi(top) - 2f64.powi((top - digits).max(0)))
}

pub fn cast(to: Scalar, from: Scalar, x: u64) -> u64 {
    let value = |x: u64| if from == Scalar::F32 { f64::from(f32_of(x)) } else { f64::from_bits(x) };
    match (to, from.float()) {
        (Scalar::F32, true) => of_f32(value(x) as f32),
        (Scalar::F64, true) => value(x).to_bits(),
        (Scalar::F32, false) if from.signed() => of_f32(x as i64 as f32),
        (Scalar::F32, false) => of_f32(x as f32),
        (Scalar::F64, false) if from.signed() => (x as i64 as f64).to_bits(),
        (Scalar::F64, false) => (x as f64).to_bits(),
        (_, false) => to.wrap(x),
        (_, true) => {
            let (low, high) = range(to, from);
            let value = value(x);
            let value = if value.is_nan() { low } else { value.clamp(low, high) };
            if to.signed() { value as i64 as u64 } else { value as u64 }
        }
    }
}

/// What an atomic operation leaves in memory; `expected` is what compare-and-swap compares with.
pub fn atomic(op: Atomic, ty: Scalar, old: u64, value: u64, expected: u64) -> u64 {
    let combine = |op| binary(op, ty, old, value).unwrap_or(old);
    match op {
        Atomic::Add => combine(Binary::Add),
        Atomic::Min => combine(Binary::Min),
        Atomic::Max => combine(Binary::Max),
        Atomic::And => combine(Binary::And),
        Atomic::Or => combine(Binary::Or),
        Atomic::Xor => combine(Binary::Xor),
        Atomic::Exchange => value,
        Atomic::CompareAndSwap if old == expected => value,
        Atomic::CompareAndSwap => old,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_wrap_in_their_type() {
        assert_eq!(binary(Binary::Add, Scalar::U8, 250, 10), Ok(4));
        assert_eq!(binary(Binary::Mul, Scalar::I16, 300, 300), Ok(90000i64 as i16 as u64));
        assert_eq!(
            binary(Binary::Div, Scalar::I32, i32::MIN as u64, -1i64 as u64),
            Ok(i32::MIN as u64)
        );
        assert_eq!(binary(Binary::Rem, Scalar::I32, -7i64 as u64, 3), Ok(-1i64 as u64));
        assert_eq!(binary(Binary::Shr, Scalar::I8, -128i64 as u64, 9), Ok(-64i64 as u64));
        assert!(binary(Binary::PlainAdd, Scalar::I32, i32::MAX as u64, 1).is_err());
    }

    #[test]
    fn conversions_from_floats_stay_in_range() {
        assert_eq!(cast(Scalar::I32, Scalar::F32, of_f32(1e20)), 2_147_483_520);
        assert_eq!(cast(Scalar::U8, Scalar::F64, f64::NAN.to_bits()), 0);
        assert_eq!(cast(Scalar::U8, Scalar::F64, 254.9f64.to_bits()), 254);
        assert_eq!(cast(Scalar::I64, Scalar::F64, (-1e30f64).to_bits()), i64::MIN as u64);
        assert_eq!(cast(Scalar::F32, Scalar::U64, u64::MAX), of_f32(18_446_744_073_709_551_616.0));
    }
}
