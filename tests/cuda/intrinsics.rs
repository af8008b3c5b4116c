//! Functions of the device language for one thread, each with its meaning (CUDA Math API, "Integer
//! Intrinsics").

use crate::types::Scalar::{self, F32, F64, I32, I64, U32, U64};

pub struct Intrinsic {
    pub name: &'static str,
    pub arguments: &'static [Scalar],
    pub result: Scalar,
    /// Of the arguments' cells; the result is wrapped.
    pub value: fn(&[u64]) -> u64,
}

const fn row(
    name: &'static str,
    arguments: &'static [Scalar],
    result: Scalar,
    value: fn(&[u64]) -> u64,
) -> Intrinsic {
    Intrinsic { name, arguments, result, value }
}

pub const ALL: &[Intrinsic] = &[
    row("__popc", &[U32], I32, |a| u64::from(word(a[0]).count_ones())),
    row("__popcll", &[U64], I32, |a| u64::from(a[0].count_ones())),
    row("__clz", &[I32], I32, |a| u64::from(word(a[0]).leading_zeros())),
    row("__clzll", &[I64], I32, |a| u64::from(a[0].leading_zeros())),
    row("__ffs", &[I32], I32, |a| first(u64::from(word(a[0])))),
    row("__ffsll", &[I64], I32, |a| first(a[0])),
    row("__brev", &[U32], U32, |a| u64::from(word(a[0]).reverse_bits())),
    row("__brevll", &[U64], U64, |a| a[0].reverse_bits()),
    row("__byte_perm", &[U32, U32, U32], U32, byte_perm),
    row("__funnelshift_l", &[U32, U32, U32], U32, |a| funnel(a) << (a[2] & 31) >> 32),
    row("__funnelshift_r", &[U32, U32, U32], U32, |a| funnel(a) >> (a[2] & 31)),
    row("__funnelshift_lc", &[U32, U32, U32], U32, |a| {
        ((u128::from(funnel(a)) << word(a[2]).min(32)) >> 32) as u64
    }),
    row("__funnelshift_rc", &[U32, U32, U32], U32, |a| funnel(a) >> word(a[2]).min(32)),
    row("__mulhi", &[I32, I32], I32, |a| (int(a[0]).wrapping_mul(int(a[1])) >> 32) as u64),
    row("__umulhi", &[U32, U32], U32, |a| a[0].wrapping_mul(a[1]) >> 32),
    row("__mul64hi", &[I64, I64], I64, |a| {
        ((i128::from(a[0] as i64) * i128::from(a[1] as i64)) >> 64) as u64
    }),
    row("__umul64hi", &[U64, U64], U64, |a| ((u128::from(a[0]) * u128::from(a[1])) >> 64) as u64),
    row("__mul24", &[I32, I32], I32, |a| (low24(a[0]) * low24(a[1])) as u64),
    row("__umul24", &[U32, U32], U32, |a| (a[0] & 0xff_ffff) * (a[1] & 0xff_ffff)),
    row("__sad", &[I32, I32, U32], U32, |a| (int(a[0]) - int(a[1])).unsigned_abs() + a[2]),
    row("__usad", &[U32, U32, U32], U32, |a| a[0].abs_diff(a[1]) + a[2]),
    row("__hadd", &[I32, I32], I32, |a| ((int(a[0]) + int(a[1])) >> 1) as u64),
    row("__rhadd", &[I32, I32], I32, |a| ((int(a[0]) + int(a[1]) + 1) >> 1) as u64),
    row("__uhadd", &[U32, U32], U32, |a| (a[0] + a[1]) >> 1),
    row("__urhadd", &[U32, U32], U32, |a| (a[0] + a[1] + 1) >> 1),
    row("__dp4a", &[I32, I32, I32], I32, |a| {
        let products =
            (0..4).map(|i| (a[0] >> (8 * i)) as i8 as i64 * (a[1] >> (8 * i)) as i8 as i64);
        (products.sum::<i64>() + int(a[2])) as u64
    }),
    row("__dp4a", &[U32, U32, U32], U32, |a| {
        let products =
            (0..4).map(|i| u64::from((a[0] >> (8 * i)) as u8) * u64::from((a[1] >> (8 * i)) as u8));
        products.sum::<u64>() + a[2]
    }),
    row("__dp2a_lo", &[I32, I32, I32], I32, |a| {
        let products =
            (0..2).map(|i| (a[0] >> (16 * i)) as i16 as i64 * (a[1] >> (8 * i)) as i8 as i64);
        (products.sum::<i64>() + int(a[2])) as u64
    }),
    row("fmaf", &[F32, F32, F32], F32, |a| {
        u64::from(single(a[0]).mul_add(single(a[1]), single(a[2])).to_bits())
    }),
    row("fma", &[F64, F64, F64], F64, |a| {
        f64::from_bits(a[0]).mul_add(f64::from_bits(a[1]), f64::from_bits(a[2])).to_bits()
    }),
];

fn word(x: u64) -> u32 {
    x as u32
}

fn int(x: u64) -> i64 {
    i64::from(x as i32)
}

fn single(x: u64) -> f32 {
    f32::from_bits(x as u32)
}

/// The low 24 bits, with their sign.
fn low24(x: u64) -> i64 {
    i64::from((x as i32) << 8 >> 8)
}

/// The number of the lowest bit that is set, from 1 on.
fn first(x: u64) -> u64 {
    if x == 0 { 0 } else { u64::from(x.trailing_zeros()) + 1 }
}

/// `hi:lo` of a funnel shift.
fn funnel(a: &[u64]) -> u64 {
    a[1] << 32 | a[0]
}

fn byte_perm(a: &[u64]) -> u64 {
    let bytes = funnel(a);
    (0..4).fold(0, |word, i| {
        let from = a[2] >> (4 * i) & 7;
        word | (bytes >> (8 * from) & 0xff) << (8 * i)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, a: &[u64]) -> u64 {
        let row = ALL.iter().find(|row| row.name == name).expect("an intrinsic");
        row.result.wrap((row.value)(a))
    }

    #[test]
    fn they_mean_what_the_guide_says() {
        assert_eq!(of("__byte_perm", &[0x3322_1100, 0x7766_5544, 0x7150]), 0x7711_5500);
        assert_eq!(of("__funnelshift_l", &[0x8000_0000, 1, 1]), 3);
        assert_eq!(of("__funnelshift_lc", &[7, 1, 32]), 7);
        assert_eq!(of("__funnelshift_lc", &[7, 1, 40]), 7);
        assert_eq!(of("__funnelshift_rc", &[7, 1, 40]), 1);
        assert_eq!(of("__funnelshift_r", &[7, 1, 33]), 0x8000_0003);
        assert_eq!(of("__mulhi", &[u64::MAX, 5]), u64::MAX);
        assert_eq!(of("__mul24", &[0xff_ffff, 3]), -3i64 as u64);
        assert_eq!(of("__sad", &[-3i64 as u64, 4, 10]), 17);
        assert_eq!(of("__ffs", &[0]), 0);
        assert_eq!(of("__dp4a", &[0xff02, 0x0203, 1]), 6 - 2 + 1);
    }
}
