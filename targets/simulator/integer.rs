//! Integer and logic operations of one lane.
//!
//! Each takes a parameter fixed by the modifiers, three sources and predicate bits, and gives a
//! value and predicate bits.

/// Sum of three with carries: IADD3, and VIADD. The sources are already negated: `!x` with its one
/// in `param`'s low bits, as the machine does, so that `a - b` carries where a >= b.
///
/// `param`: bits 0..2 say which sources are complemented with one added; the bits of `p` are
/// carries in.
pub fn add3(param: u32, a: u64, b: u64, c: u64, carries: u32) -> (u64, u32) {
    let ones = u64::from((param & 7).count_ones());
    let low = |x: u64, bit: u32| {
        if param >> bit & 1 != 0 { u64::from(!(x as u32)) } else { x & 0xffff_ffff }
    };
    let sum = low(a, 0)
        + low(b, 1)
        + low(c, 2)
        + ones
        + u64::from(carries & 1)
        + u64::from(carries >> 1 & 1);
    let carry = sum >> 32;
    (sum & 0xffff_ffff, u32::from(carry >= 1) | u32::from(carry >= 2) << 1)
}

/// UIADD3.64
pub fn add64(_: u32, a: u64, b: u64, c: u64, _: u32) -> (u64, u32) {
    (a.wrapping_add(b).wrapping_add(c), 0)
}

/// IMAD and IMAD.X: 32 bits of `a * b + c + carry`.
pub fn mad32(_: u32, a: u64, b: u64, c: u64, carry: u32) -> (u64, u32) {
    let r = (a as u32).wrapping_mul(b as u32).wrapping_add(c as u32).wrapping_add(carry & 1);
    (u64::from(r), 0)
}

/// The product of IMAD.WIDE and IMAD.HI; `param` 1: unsigned.
#[inline]
fn product(param: u32, a: u64, b: u64) -> u64 {
    if param & 1 != 0 {
        u64::from(a as u32) * u64::from(b as u32)
    } else {
        (i64::from(a as i32) * i64::from(b as i32)) as u64
    }
}

/// IMAD.WIDE: 64 bits of `a * b + c + carry`, and its carry.
///
/// `param` bit 1: `c` is subtracted (complemented, and one added).
pub fn mad_wide(param: u32, a: u64, b: u64, c: u64, carry: u32) -> (u64, u32) {
    let c = if param & 2 != 0 { !c } else { c };
    let extra = u64::from(carry & 1) + u64::from(param >> 1 & 1);
    let (r, first) = product(param, a, b).overflowing_add(c);
    let (r, second) = r.overflowing_add(extra);
    (r, u32::from(first | second))
}

/// IMAD.HI: the high word of the same.
pub fn mad_high(param: u32, a: u64, b: u64, c: u64, carry: u32) -> (u64, u32) {
    let (r, carry) = mad_wide(param, a, b, c, carry);
    (r >> 32, carry)
}

/// LEA: `(a << param) + b`, and its carry. Bits 8 and 9 of `param`: subtract a, b.
pub fn lea(param: u32, a: u64, b: u64, _: u64, carry: u32) -> (u64, u32) {
    let shifted = u64::from((a as u32).wrapping_shl(param & 31));
    add3(param >> 8 & 3, shifted, b, 0, carry)
}

/// LEA.HI: `(c:a << param) >> 32` plus b. Bit 10 of `param`: c is the sign of a.
pub fn lea_high(param: u32, a: u64, b: u64, c: u64, carry: u32) -> (u64, u32) {
    let high = if param & 1 << 10 != 0 { (a as i32 >> 31) as u32 } else { c as u32 };
    let pair = u64::from(high) << 32 | u64::from(a as u32);
    add3(param >> 8 & 3, pair << (param & 31) >> 32, b, 0, carry)
}

/// LOP3: a truth table of three, and whether the result is not zero, or'ed with the predicate; with
/// bit 8 of `param` (.PAND) and'ed with it (what `lop3.or` and `lop3.and` with a predicate
/// destination become: ptxas 13.0.88, sm_90a).
pub fn lop3(param: u32, a: u64, b: u64, c: u64, p: u32) -> (u64, u32) {
    let (a, b, c) = (a as u32, b as u32, c as u32);
    let mut r = 0;
    for bit in 0..8 {
        if param >> bit & 1 != 0 {
            let x = if bit & 4 != 0 { a } else { !a };
            let y = if bit & 2 != 0 { b } else { !b };
            let z = if bit & 1 != 0 { c } else { !c };
            r |= x & y & z;
        }
    }
    let test = if param & 256 != 0 { r != 0 && p & 1 != 0 } else { r != 0 || p & 1 != 0 };
    (u64::from(r), u32::from(test))
}

/// Kinds of SHF, packed in its parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Funnel {
    pub right: bool,
    /// The count is taken modulo the width, instead of clamped to it.
    pub wrap: bool,
    pub signed: bool,
    /// 64-bit count.
    pub wide: bool,
    /// The result is the high word.
    pub high: bool,
}

impl Funnel {
    pub fn pack(self) -> u32 {
        [self.right, self.wrap, self.signed, self.wide, self.high]
            .iter()
            .enumerate()
            .fold(0, |p, (i, b)| p | u32::from(*b) << i)
    }
}

/// SHF: `c:a` shifted by b, one word of the result.
pub fn funnel(param: u32, a: u64, b: u64, c: u64, _: u32) -> (u64, u32) {
    let width = if param & 8 != 0 { 64 } else { 32 };
    let count = if param & 2 != 0 { b as u32 & (width - 1) } else { (b as u32).min(width) };
    let pair = c << 32 | u64::from(a as u32);
    let r = match (param & 1 != 0, param & 4 != 0) {
        (true, true) => ((pair as i64) >> count.min(63)) as u64,
        (true, false) => pair.checked_shr(count).unwrap_or(0),
        (false, _) => pair.checked_shl(count).unwrap_or(0),
    };
    (if param & 16 != 0 { r >> 32 } else { r & 0xffff_ffff }, 0)
}

/// PRMT: bytes of `c:a` picked by the nibbles of b. `param` is the mode: 0 generic, then F4E, B4E,
/// RC8, ECL, ECR, RC16.
pub fn permute(param: u32, a: u64, b: u64, c: u64, _: u32) -> (u64, u32) {
    let pair = c << 32 | u64::from(a as u32);
    let byte = |i: u32| (pair >> (i * 8) & 0xff) as u32;
    let count = b as u32 & 3;
    let pick = |i: u32| match param {
        0 => {
            let nibble = b as u32 >> (4 * i) & 15;
            let x = byte(nibble & 7);
            if nibble & 8 != 0 { (x as u8 as i8 >> 7) as u8 as u32 } else { x }
        }
        1 => byte(count + i),
        2 => byte(count.wrapping_sub(i) & 7),
        3 => byte(count),
        4 => byte(count.max(i)),
        5 => byte(count.min(i)),
        _ => byte((count & 1) * 2 + (i & 1)),
    };
    (u64::from(pick(0) | pick(1) << 8 | pick(2) << 16 | pick(3) << 24), 0)
}

/// SEL
pub fn select(_: u32, a: u64, b: u64, _: u64, p: u32) -> (u64, u32) {
    (if p & 1 != 0 { a } else { b }, 0)
}

#[inline]
fn minmax(unsigned: bool, a: u32, b: u32, min: bool) -> u32 {
    let a_first = if unsigned { a < b } else { (a as i32) < b as i32 };
    if a_first == min { a } else { b }
}

/// IMNMX and VIMNMX: the predicate picks the minimum. `param` bit 0: unsigned; bit 1: RELU.
pub fn minmax32(param: u32, a: u64, b: u64, _: u64, min: u32) -> (u64, u32) {
    let r = minmax(param & 1 != 0, a as u32, b as u32, min & 1 != 0);
    let r = if param & 2 != 0 && (r as i32) < 0 { 0 } else { r };
    (u64::from(r), 0)
}

/// The same of both halves.
pub fn minmax16x2(param: u32, a: u64, b: u64, _: u64, min: u32) -> (u64, u32) {
    let half = |at: u32| {
        let wide = |x: u64| {
            let x = (x >> at) as u16;
            if param & 1 != 0 { u32::from(x) } else { x as i16 as u32 }
        };
        let r = minmax(param & 1 != 0, wide(a), wide(b), min & 1 != 0);
        let r = if param & 2 != 0 && (r as i32) < 0 { 0 } else { r };
        u64::from(r as u16) << at
    };
    (half(0) | half(16), 0)
}

/// VIADDMNMX: minimum or maximum of `a + b` and c.
pub fn add_minmax32(param: u32, a: u64, b: u64, c: u64, min: u32) -> (u64, u32) {
    minmax32(param, u64::from((a as u32).wrapping_add(b as u32)), c, 0, min)
}

/// Comparisons of ISETP: bits 0..2 of the parameter are less, equal, greater; bit 3: unsigned; bit
/// 4: .EX, where the low words decide between equal high words and come as predicate bit 0.
pub fn compare(param: u32, a: u64, b: u64, _: u64, low: u32) -> (u64, u32) {
    let (a, b) = (a as u32, b as u32);
    let order = if param & 8 != 0 { a.cmp(&b) } else { (a as i32).cmp(&(b as i32)) };
    let holds = match order {
        std::cmp::Ordering::Equal if param & 16 != 0 => low & 1 != 0,
        std::cmp::Ordering::Less => param & 1 != 0,
        std::cmp::Ordering::Equal => param & 2 != 0,
        std::cmp::Ordering::Greater => param & 4 != 0,
    };
    (0, u32::from(holds))
}

/// IABS
pub fn abs(_: u32, a: u64, _: u64, _: u64, _: u32) -> (u64, u32) {
    (u64::from((a as i32).unsigned_abs()), 0)
}

/// POPC
pub fn popc(_: u32, a: u64, _: u64, _: u64, _: u32) -> (u64, u32) {
    (u64::from((a as u32).count_ones()), 0)
}

/// BREV
pub fn brev(_: u32, a: u64, _: u64, _: u64, _: u32) -> (u64, u32) {
    (u64::from((a as u32).reverse_bits()), 0)
}

/// FLO: the highest bit that is one (signed: that differs from the sign), or all ones. `param` bit
/// 0: unsigned; bit 1: as the count of bits above it.
pub fn flo(param: u32, a: u64, _: u64, _: u64, _: u32) -> (u64, u32) {
    let a = a as u32;
    let a = if param & 1 == 0 && (a as i32) < 0 { !a } else { a };
    if a == 0 {
        return (0xffff_ffff, 0);
    }
    let at = if param & 2 != 0 { a.leading_zeros() } else { 31 - a.leading_zeros() };
    (u64::from(at), 1)
}

/// SGXT: the low b bits of a, sign-extended; `param` bit 0: zero-extended; bit 1: b modulo 32.
pub fn sgxt(param: u32, a: u64, b: u64, _: u64, _: u32) -> (u64, u32) {
    let bits = if param & 2 != 0 { b as u32 & 31 } else { (b as u32).min(32) };
    let a = a as u32;
    let r = match bits {
        0 => 0,
        32 => a,
        n if param & 1 != 0 => a & ((1 << n) - 1),
        n => ((a << (32 - n)) as i32 >> (32 - n)) as u32,
    };
    (u64::from(r), 0)
}

/// BMSK: b ones from bit a on; `param` bit 1: both modulo 32, else clamped.
pub fn bmsk(param: u32, a: u64, b: u64, _: u64, _: u32) -> (u64, u32) {
    let fix = |x: u64| if param & 2 != 0 { x as u32 & 31 } else { (x as u32).min(32) };
    let ones = (1u64 << fix(b)) - 1;
    ((ones << fix(a)) & 0xffff_ffff, 0)
}

/// VABSDIFF: `|a - b| + c`; `param` bit 0: unsigned.
pub fn absdiff(param: u32, a: u64, b: u64, c: u64, _: u32) -> (u64, u32) {
    let (a, b) = (a as u32, b as u32);
    let d = if param & 1 != 0 { a.abs_diff(b) } else { (a as i32).abs_diff(b as i32) };
    (u64::from(d.wrapping_add(c as u32)), 0)
}

/// IDP.4A: the dot product of four bytes plus c. `param` bit 0: a signed; bit 1: b signed.
pub fn dot4(param: u32, a: u64, b: u64, c: u64, _: u32) -> (u64, u32) {
    let byte = |x: u64, i: u32, signed: bool| {
        let x = (x >> (8 * i)) as u8;
        if signed { i32::from(x as i8) } else { i32::from(x) }
    };
    let sum: i32 = (0..4).map(|i| byte(a, i, param & 1 != 0) * byte(b, i, param & 2 != 0)).sum();
    (u64::from((c as u32).wrapping_add(sum as u32)), 0)
}

/// IDP.2A: two halves of a by two bytes of b, plus c. `param` as IDP.4A; bit 2: the high bytes of
/// b.
pub fn dot2(param: u32, a: u64, b: u64, c: u64, _: u32) -> (u64, u32) {
    let from = if param & 4 != 0 { 2 } else { 0 };
    let term = |i: u32| {
        let x = (a >> (16 * i)) as u16;
        let x = if param & 1 != 0 { i64::from(x as i16) } else { i64::from(x) };
        let y = (b >> (8 * (from + i))) as u8;
        let y = if param & 2 != 0 { i64::from(y as i8) } else { i64::from(y) };
        x * y
    };
    (u64::from((c as u32).wrapping_add((term(0) + term(1)) as u32)), 0)
}

/// MOV and everything that copies.
pub fn copy(_: u32, a: u64, _: u64, _: u64, _: u32) -> (u64, u32) {
    (a, 0)
}

/// I2I with saturation: `param` bits 0..7 the width, bit 8: the target is signed, bit 9: the source
/// is signed.
pub fn saturate(param: u32, a: u64, _: u64, _: u64, _: u32) -> (u64, u32) {
    let bits = param & 0xff;
    let x = if param & 512 != 0 { i64::from(a as i32) } else { i64::from(a as u32) };
    let (min, max) = if param & 256 != 0 {
        (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1)
    } else {
        (0, (1i64 << bits) - 1)
    };
    (u64::from(x.clamp(min, max) as u32), 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_carries_where_it_does_not_borrow() {
        let sub = |a: u64, b: u64| add3(2, a, b, 0, 0);
        assert_eq!(sub(5, 3), (2, 1));
        assert_eq!(sub(5, 5), (0, 1));
        assert_eq!(sub(5, 0), (5, 1));
        assert_eq!(sub(3, 5), (0xffff_fffe, 0));
        // Three large terms carry two.
        assert_eq!(add3(0, !0, !0, !0, 0), (0xffff_fffd, 3));
    }

    #[test]
    fn wide_products_keep_sign_and_carry() {
        assert_eq!(mad_wide(0, 0xffff_ffff, 4, 0, 0).0, (-4i64) as u64);
        assert_eq!(mad_wide(1, 0xffff_ffff, 4, 0, 0).0, 0x3_ffff_fffc);
        assert_eq!(mad_wide(1, 1, 1, u64::MAX, 0), (0, 1));
        assert_eq!(mad_high(1, 0x8000_0000, 4, 7 << 32, 0).0, 9);
    }

    #[test]
    fn lea_is_shift_and_add_over_two_words() {
        let (low, carry) = lea(2, 0xc000_0001, 0xffff_fff0, 0, 0);
        assert_eq!((low, carry), (0xffff_fff4, 0));
        // 64 bits: (0x2_c0000001 << 2) + 0x1_fffffff0.
        let a = 0x2_c000_0001u64;
        let b = 0x1_ffff_fff0u64;
        let (low, carry) = lea(2, a & 0xffff_ffff, b & 0xffff_ffff, 0, 0);
        let (high, _) = lea_high(2, a & 0xffff_ffff, b >> 32, a >> 32, carry);
        assert_eq!(high << 32 | low, (a << 2).wrapping_add(b));
        // Sign-extended index.
        let (high, _) = lea_high(2 | 1 << 10, 0xffff_ffff, 0, 0, 0);
        assert_eq!(high, 0xffff_ffff);
    }

    #[test]
    fn truth_tables_follow_the_ptx_rule() {
        // immLut = F(0xF0, 0xCC, 0xAA)
        assert_eq!(lop3(0xc0, 0b1100, 0b1010, 0, 0), (0b1000, 1));
        assert_eq!(lop3(0x96, 0b1100, 0b1010, 0b1111, 0).0, 0b1001);
        assert_eq!(lop3(0x0f, 0, 0, 0, 0).0, 0xffff_ffff);
        assert_eq!(lop3(0xc0, 1, 2, 0, 0), (0, 0));
    }

    #[test]
    fn funnel_shifts() {
        let rotate = Funnel { wrap: true, high: true, ..Funnel::default() }.pack();
        assert_eq!(funnel(rotate, 0x8000_0001, 4, 0x8000_0001, 0).0, 0x18);
        let shl = Funnel::default().pack();
        assert_eq!(funnel(shl, 1, 31, 0, 0).0, 0x8000_0000);
        assert_eq!(funnel(shl, 1, 32, 0, 0).0, 0);
        assert_eq!(funnel(shl, 1, 1000, 0, 0).0, 0);
        let sar = Funnel { right: true, signed: true, high: true, ..Funnel::default() }.pack();
        assert_eq!(funnel(sar, 0, 31, 0x8000_0000, 0).0, 0xffff_ffff);
        assert_eq!(funnel(sar, 0, 99, 0x8000_0000, 0).0, 0xffff_ffff);
        let shr64 = Funnel { right: true, wide: true, ..Funnel::default() }.pack();
        assert_eq!(funnel(shr64, 0, 35, 0x80, 0).0, 0x10);
    }

    #[test]
    fn permute_modes() {
        let (a, c) = (0x3322_1100, 0x7766_5544);
        assert_eq!(permute(0, a, 0x7250, c, 0).0, 0x7722_5500);
        assert_eq!(permute(0, 0x80, 0x0008, 0, 0).0 & 0xff, 0xff);
        assert_eq!(permute(1, a, 1, c, 0).0, 0x4433_2211);
        assert_eq!(permute(3, a, 2, c, 0).0, 0x2222_2222);
        assert_eq!(permute(6, a, 1, c, 0).0, 0x3322_3322);
    }

    #[test]
    fn bit_scans() {
        assert_eq!(flo(1, 0x10, 0, 0, 0), (4, 1));
        assert_eq!(flo(3, 0x10, 0, 0, 0), (27, 1));
        assert_eq!(flo(1, 0, 0, 0, 0), (0xffff_ffff, 0));
        assert_eq!(flo(0, 0xffff_fff0, 0, 0, 0), (3, 1));
        assert_eq!(sgxt(0, 0x180, 8, 0, 0).0, 0xffff_ff80);
        assert_eq!(sgxt(1, 0x1ff, 8, 0, 0).0, 0xff);
        assert_eq!(bmsk(0, 28, 8, 0, 0).0, 0xf000_0000);
    }

    #[test]
    fn dot_products() {
        assert_eq!(dot4(3, 0x01ff_0203, 0x0102_0304, 10, 0).0, 10 + 1 - 2 + 6 + 12);
        assert_eq!(dot4(0, 0x0000_00ff, 0x0000_00ff, 0, 0).0, 255 * 255);
        assert_eq!(dot2(3 | 4, 0x0001_ffff, 0x0203_0000, 0, 0).0, (2i64 - 3) as u32 as u64);
    }

    #[test]
    fn extended_comparison_takes_the_low_words_result_when_equal() {
        let lt = 1 | 16;
        assert_eq!(compare(lt, 1, 1, 0, 1).1, 1);
        assert_eq!(compare(lt, 1, 1, 0, 0).1, 0);
        assert_eq!(compare(lt, 0, 1, 0, 0).1, 1);
        assert_eq!(compare(1 | 8, 0xffff_ffff, 1, 0, 0).1, 0);
        assert_eq!(compare(1, 0xffff_ffff, 1, 0, 0).1, 1);
    }
}
