//! Integer operations on the halves and bytes of a register, and on three numbers.

use super::integer::{minmax16x2, minmax32};

/// VIADD.16x2. `param`: bits 0 and 1 say which sources are negated, half by half.
pub fn add16x2(param: u32, a: u64, b: u64, _: u64, _: u32) -> (u64, u32) {
    let half = |at: u32| {
        let pick = |x: u64, bit: u32| {
            let x = (x >> at) as u16;
            if param >> bit & 1 != 0 { x.wrapping_neg() } else { x }
        };
        u64::from(pick(a, 0).wrapping_add(pick(b, 1))) << at
    };
    (half(0) | half(16), 0)
}

/// VIADDMNMX of halves: minimum or maximum of `a + b` and c; `param` as [`minmax16x2`], from bit 8
/// on that of [`add16x2`].
pub fn add_minmax16x2(param: u32, a: u64, b: u64, c: u64, min: u32) -> (u64, u32) {
    minmax16x2(param, add16x2(param >> 8, a, b, 0, 0).0, c, 0, min)
}

/// VIMNMX3: of three; with RELU the result is not below zero. `param` as [`minmax32`].
pub fn minmax3(param: u32, a: u64, b: u64, c: u64, min: u32) -> (u64, u32) {
    minmax32(param, minmax32(param & 1, a, b, 0, min).0, c, 0, min)
}

/// The same of halves.
pub fn minmax3_16x2(param: u32, a: u64, b: u64, c: u64, min: u32) -> (u64, u32) {
    minmax16x2(param, minmax16x2(param & 1, a, b, 0, min).0, c, 0, min)
}

/// VABSDIFF4: the distances of four bytes; `param` bit 0: unsigned bytes; bit 1, .ACC: their sum
/// plus c.
pub fn absdiff4(param: u32, a: u64, b: u64, c: u64, _: u32) -> (u64, u32) {
    let distance = |i: u32| {
        let (x, y) = ((a >> (8 * i)) as u8, (b >> (8 * i)) as u8);
        let d = if param & 1 != 0 { x.abs_diff(y) } else { (x as i8).abs_diff(y as i8) };
        u64::from(d)
    };
    if param & 2 != 0 {
        return (((0..4).map(distance).sum::<u64>() + c) & 0xffff_ffff, 0);
    }
    ((0..4).fold(0, |r, i| r | distance(i) << (8 * i)), 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_add_without_a_carry_between_them() {
        assert_eq!(add16x2(0, 0x0001_ffff, 0x0002_0001, 0, 0).0, 0x0003_0000);
        assert_eq!(add16x2(2, 0x0001_0005, 0x0002_0001, 0, 0).0, 0xffff_0004);
        assert_eq!(add_minmax16x2(2, 0x0001_8000, 0x0001_0000, 0, 0).0, 0x0002_0000);
    }

    #[test]
    fn three_numbers_have_one_extreme() {
        let minus = u64::from(-5i32 as u32);
        assert_eq!(minmax3(0, 3, minus, 7, 1).0, minus);
        assert_eq!(minmax3(1, 3, minus, 7, 1).0, 3);
        assert_eq!(minmax3(2, 3, minus, 7, 1).0, 0);
        assert_eq!(minmax3(0, 3, minus, 7, 0).0, 7);
    }

    #[test]
    fn byte_distances_are_taken_by_sign() {
        assert_eq!(absdiff4(1, 0x00ff_0180, 0x0000_0200, 0, 0).0, 0x00ff_0180);
        assert_eq!(absdiff4(0, 0x00ff_0180, 0x0000_027f, 0, 0).0, 0x0001_01ff);
        assert_eq!(absdiff4(3, 0x0102_0304, 0, 10, 0).0, 20);
    }
}
