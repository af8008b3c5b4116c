//! Integer arithmetic on bits: PTX ISA 9.0, "Integer Arithmetic Instructions", "Logic and Shift
//! Instructions".

use crate::ptx::words::Word;

/// The low `bits` bits (at most 64).
#[inline]
pub fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// The value of the low `bits` bits as a signed number.
#[inline]
pub fn sign_extend(x: u64, bits: u32) -> i64 {
    let shift = 64 - bits.clamp(1, 64);
    (x << shift) as i64 >> shift
}

/// The high half of a product of `bits`-bit numbers.
pub fn mul_high(a: u64, b: u64, bits: u32, signed: bool) -> u64 {
    if signed {
        ((i128::from(sign_extend(a, bits)) * i128::from(sign_extend(b, bits))) >> bits) as u64
    } else {
        ((u128::from(a & mask(bits)) * u128::from(b & mask(bits))) >> bits) as u64
    }
}

/// The product of `bits`-bit numbers in twice as many bits (at most 64 kept).
pub fn mul_wide(a: u64, b: u64, bits: u32, signed: bool) -> u64 {
    if signed {
        sign_extend(a, bits).wrapping_mul(sign_extend(b, bits)) as u64
    } else {
        (a & mask(bits)).wrapping_mul(b & mask(bits))
    }
}

/// Division by zero gives all ones (what ptxas's code gives at every level; PTX leaves it
/// unspecified), and the lowest number divided by -1 is itself.
pub fn divide(a: u64, b: u64, bits: u32, signed: bool) -> u64 {
    if b & mask(bits) == 0 {
        return u64::MAX;
    }
    if signed {
        sign_extend(a, bits).wrapping_div(sign_extend(b, bits)) as u64
    } else {
        (a & mask(bits)) / (b & mask(bits))
    }
}

/// The remainder has the sign of the dividend; by zero it is all ones, as the quotient is.
pub fn remainder(a: u64, b: u64, bits: u32, signed: bool) -> u64 {
    if b & mask(bits) == 0 {
        return u64::MAX;
    }
    if signed {
        sign_extend(a, bits).wrapping_rem(sign_extend(b, bits)) as u64
    } else {
        (a & mask(bits)) % (b & mask(bits))
    }
}

/// Compares as numbers of `bits` bits.
#[inline]
pub fn less(a: u64, b: u64, bits: u32, signed: bool) -> bool {
    if signed {
        sign_extend(a, bits) < sign_extend(b, bits)
    } else {
        a & mask(bits) < b & mask(bits)
    }
}

/// Shifts with the amount clamped: `shl`, and `shr` by sign or zero.
pub fn shift_left(a: u64, amount: u64, bits: u32) -> u64 {
    if amount >= u64::from(bits) { 0 } else { a << amount }
}

/// `a >> amount` of `bits` bits; amounts from the width on as the width.
pub fn shift_right(a: u64, amount: u64, bits: u32, signed: bool) -> u64 {
    let amount = amount.min(u64::from(bits)) as u32;
    if signed {
        sign_extend(a, bits).checked_shr(amount).unwrap_or(sign_extend(a, bits) >> 63) as u64
    } else {
        (a & mask(bits)).checked_shr(amount).unwrap_or(0)
    }
}

/// `shf.l` and `shf.r`: the high (low) word of `high:low` shifted left (right).
pub fn funnel(low: u64, high: u64, amount: u64, left: bool, wrap: bool) -> u64 {
    let amount = (amount & mask(32)) as u32;
    let amount = if wrap { amount & 31 } else { amount.min(32) };
    let pair = (high & mask(32)) << 32 | low & mask(32);
    if left { pair << amount >> 32 } else { pair >> amount & mask(32) }
}

/// The position of the highest set bit (of the highest bit unlike the sign, if signed); with
/// `shift` how far to shift left to bring it to the top. All ones when there is none.
pub fn find_bit(a: u64, bits: u32, signed: bool, shift: bool) -> u64 {
    let a = if signed && sign_extend(a, bits) < 0 { !a & mask(bits) } else { a & mask(bits) };
    if a == 0 {
        return u64::MAX;
    }
    let position = u64::from(63 - a.leading_zeros());
    if shift { u64::from(bits) - 1 - position } else { position }
}

/// `bfe`: a field of `length` bits at `position`, extended by its highest bit if signed.
pub fn extract(a: u64, position: u64, length: u64, bits: u32, signed: bool) -> u64 {
    let (position, length) = ((position & 0xff) as u32, (length & 0xff) as u32);
    let a = a & mask(bits);
    // Bits above the word read as the sign.
    let sign_at = (position + length).wrapping_sub(1).min(bits - 1);
    let sign = signed && length != 0 && a >> sign_at & 1 != 0;
    let field = a.checked_shr(position).unwrap_or(0) & mask(length);
    let valid = length.min(bits.saturating_sub(position));
    if sign { field | !mask(valid) } else { field }
}

/// `bfi`: `a`'s low `length` bits into `b` at `position`.
pub fn insert(a: u64, b: u64, position: u64, length: u64, bits: u32) -> u64 {
    let (position, length) = ((position & 0xff) as u32, (length & 0xff) as u32);
    if position >= bits {
        return b;
    }
    let field = mask(length) << position & mask(bits);
    b & !field | a << position & field
}

/// `prmt` in its default mode: each nibble of the selector picks a byte, or its sign.
pub fn permute(a: u64, b: u64, selector: u64) -> u64 {
    let bytes = (b & mask(32)) << 32 | a & mask(32);
    let mut result = 0;
    for i in 0..4 {
        let nibble = selector >> (4 * i);
        let byte = bytes >> (8 * (nibble & 7)) & 0xff;
        let byte = if nibble & 8 != 0 { (byte >> 7) * 0xff } else { byte };
        result |= byte << (8 * i);
    }
    result
}

/// The selector that a mode of `prmt` makes of the low two bits of its control.
pub fn permute_selector(mode: Word, control: u64) -> Option<u64> {
    let i = (control & 3) as usize;
    Some(match mode {
        Word::F4e => [0x3210, 0x4321, 0x5432, 0x6543][i],
        Word::B4e => [0x5670, 0x6701, 0x7012, 0x0123][i],
        Word::Rc8 => [0x0000, 0x1111, 0x2222, 0x3333][i],
        Word::Ecl => [0x3210, 0x3211, 0x3222, 0x3333][i],
        Word::Ecr => [0x0000, 0x1110, 0x2210, 0x3210][i],
        Word::Rc16 => [0x1010, 0x3232, 0x1010, 0x3232][i],
        _ => return None,
    })
}

/// `lop3`: bit by bit, the table's entry for a, b and c.
pub fn lookup(a: u64, b: u64, c: u64, table: u64) -> u64 {
    let mut result = 0;
    for i in 0..8 {
        if table >> i & 1 != 0 {
            let pick = |x: u64, bit: u64| if bit != 0 { x } else { !x };
            result |= pick(a, i & 4) & pick(b, i & 2) & pick(c, i & 1);
        }
    }
    result
}

/// `dp4a` and `dp2a`: the sum of products of `b`'s bytes with `a`'s elements of `bits` bits, from
/// byte `first` on, plus `c`.
pub fn dot(a: u64, b: u64, c: u64, bits: u32, first: u32, signed: (bool, bool)) -> u64 {
    let value = |x: u64, bits, signed| {
        if signed { sign_extend(x, bits) } else { (x & mask(bits)) as i64 }
    };
    let mut sum = c;
    for i in 0..32 / bits {
        let x = value(a >> (bits * i), bits, signed.0);
        let y = value(b >> (8 * (first + i)), 8, signed.1);
        sum = sum.wrapping_add((x * y) as u64);
    }
    sum
}

/// `fns`: the position of the `offset`-th set bit counted from `base`, all ones when there is none.
pub fn find_nth_set(x: u64, base: u64, offset: u64) -> u64 {
    let x = x as u32;
    // Beyond the word there is nothing: PTX leaves it open, ptxas's code (13.0.88) finds none.
    let base = i64::from(base as u32);
    let offset = i64::from(offset as u32 as i32);
    let set = |i: i64| (0..32).contains(&i) && x >> i & 1 != 0;
    if offset == 0 {
        return if set(base) { base as u64 } else { u64::MAX };
    }
    let step = offset.signum();
    let (mut left, mut i) = (offset.abs(), base);
    while (0..32).contains(&i) {
        if set(i) {
            left -= 1;
            if left == 0 {
                return i as u64;
            }
        }
        i += step;
    }
    u64::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bit_fields_at_the_ends_of_the_word() {
        assert_eq!(extract(0x8000_0000, 31, 1, 32, false), 1);
        assert_eq!(extract(0x8000_0000, 31, 1, 32, true) as u32, u32::MAX);
        assert_eq!(extract(0x1234_5678, 8, 8, 32, false), 0x56);
        assert_eq!(extract(0xffff_ffff, 4, 0, 32, true), 0);
        // Past the top the field is filled with the sign.
        assert_eq!(extract(0x8000_0000, 24, 32, 32, true) as u32, 0xffff_ff80);
        assert_eq!(extract(0x8000_0000, 40, 8, 32, true) as u32, u32::MAX);
        assert_eq!(insert(0xff, 0, 28, 8, 32), 0xf000_0000);
        assert_eq!(insert(0xff, 7, 32, 8, 32), 7);
        assert_eq!(insert(u64::MAX, 0, 0, 64, 64), u64::MAX);
    }

    #[test]
    fn shifts_clamp() {
        assert_eq!(shift_left(1, 32, 32), 0);
        assert_eq!(shift_right(0x8000_0000, 40, 32, true) as u32, u32::MAX);
        assert_eq!(shift_right(u64::MAX, 64, 64, false), 0);
        assert_eq!(shift_right(1 << 63, 64, 64, true), u64::MAX);
        assert_eq!(funnel(0x1, 0x8000_0000, 1, true, true), 0);
        assert_eq!(funnel(0x8000_0000, 0x1, 1, true, true), 3);
        assert_eq!(funnel(5, 7, 32, true, false), 5);
        assert_eq!(funnel(5, 7, 32, false, false), 7);
        assert_eq!(funnel(5, 7, 32, true, true), 7);
    }

    #[test]
    fn division_wraps_and_never_traps() {
        assert_eq!(divide(1 << 31, u64::from(u32::MAX), 32, true) as u32, 1 << 31);
        assert_eq!(divide(1 << 63, u64::MAX, 64, true), 1 << 63);
        assert_eq!(remainder(u64::from(-7i32 as u32), 2, 32, true) as u32, -1i32 as u32);
        assert_eq!(divide(5, 0, 32, false) as u32, u32::MAX);
        assert_eq!(remainder(5, 0, 32, false) as u32, u32::MAX);
    }

    #[test]
    fn bits_are_found_and_permuted() {
        assert_eq!(find_bit(0x8000, 32, false, false), 15);
        assert_eq!(find_bit(0x8000, 32, false, true), 16);
        assert_eq!(find_bit(u64::from(-2i32 as u32), 32, true, false), 0);
        assert_eq!(find_bit(0, 32, false, false) as u32, u32::MAX);
        assert_eq!(permute(0x3322_1100, 0x7766_5544, 0x7531), 0x7755_3311);
        assert_eq!(permute(0x0000_0080, 0, 0x8888), 0xffff_ffff);
        assert_eq!(lookup(0b1100, 0b1010, 0b1111, 0xc0) & 0xf, 0b1000);
        assert_eq!(find_nth_set(0b1011_0000, 4, 3), 7);
        assert_eq!(find_nth_set(0b1011_0000, 7, u64::from(-2i32 as u32)), 5);
        assert_eq!(find_nth_set(0b1011_0000, 3, 0), u64::MAX);
    }

    #[test]
    fn dot_products_take_either_sign() {
        assert_eq!(dot(0x0102_0304, 0x0101_0101, 5, 8, 0, (true, true)), 15);
        assert_eq!(dot(0xff, 0xff, 0, 8, 0, (true, false)) as i64, -255);
        assert_eq!(dot(0x0002_0001, 0x0403_0201, 0, 16, 2, (false, false)), 3 + 8);
    }
}
