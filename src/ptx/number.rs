//! Names of registers as numbers: most are letters with a number behind them.

use super::lexer;
use std::num::NonZeroU64;

/// `%r12` is the letters `r` and the number 12: what usual names of registers are made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Number {
    /// At most eight, the last one lowest. No name has NUL in it.
    pub letters: NonZeroU64,
    /// The digits behind the letters.
    pub number: u32,
}

impl Number {
    /// Of a name that has `%`, at most eight letters and no digits: what its registers' names begin
    /// with if it is a range's.
    pub fn letters(name: &str) -> Option<NonZeroU64> {
        let letters = name.strip_prefix('%')?;
        let usual = letters.len() <= 8 && !letters.bytes().any(|byte| byte.is_ascii_digit());
        let letters = letters.bytes().fold(0, |all, byte| all << 8 | u64::from(byte));
        NonZeroU64::new(letters).filter(|_| usual)
    }

    /// Of a name that has `%`, letters, digits without needless zeros, and nothing else; not more
    /// than eight letters and nine digits.
    pub fn of(name: &str) -> Option<Number> {
        let behind = name.as_bytes().strip_prefix(b"%")?;
        let (number, length) = Number::begin(behind);
        number.filter(|_| length == behind.len())
    }

    /// Of what begins with the letters, and how many bytes of letters and digits there are. What
    /// follows them may make it another name.
    #[inline]
    pub fn begin(bytes: &[u8]) -> (Option<Number>, usize) {
        // Most have no more than eight bytes: they need not be asked for one by one.
        let mut window = bytes.first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight));
        let (mut all, mut length, mut number, mut digits) = (0u64, 0, 0u32, 0);
        while (window as u8).is_ascii_lowercase() {
            all = all << 8 | window & 0xff;
            length += 1;
            window >>= 8;
        }
        let zero = window as u8 == b'0';
        while (window as u8).is_ascii_digit() {
            number = number * 10 + u32::from(window as u8 - b'0');
            digits += 1;
            window >>= 8;
        }
        // Behind the last of the eight there may be more; other letters are rare.
        if window != 0 && (digits > 0 || !lexer::is_name(window as u8)) {
            let usual = digits > 0 && !(zero && digits > 1);
            let letters = NonZeroU64::new(all).filter(|_| usual);
            return (letters.map(|letters| Number { letters, number }), length + digits);
        }
        Number::begin_any(bytes)
    }

    fn begin_any(bytes: &[u8]) -> (Option<Number>, usize) {
        let is_letter = |byte: &&u8| lexer::is_name(**byte) && !byte.is_ascii_digit();
        let length = bytes.iter().take_while(is_letter).count();
        let (letters, rest) = bytes.split_at(length);
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let digits = &rest[..digits];
        let usual = (1..=8).contains(&letters.len())
            && (1..=9).contains(&digits.len())
            && (digits.len() == 1 || digits[0] != b'0');
        let all = letters.iter().fold(0, |all, byte| all << 8 | u64::from(*byte));
        let number = digits
            .iter()
            .fold(0, |all: u32, digit| all.wrapping_mul(10).wrapping_add(u32::from(digit - b'0')));
        let letters = NonZeroU64::new(all).filter(|_| usual);
        (letters.map(|letters| Number { letters, number }), length + digits.len())
    }
}
