//! Reads what most operands are made of without making tokens: names of registers and symbols,
//! numbers. Whatever looks different it does not read, and who asks goes back to where that begins.

use super::constant::{self, Const, Unary};
use super::lexer::{self, is_name};
use super::number::Number;
use super::types::Span;

/// A place in the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'s> {
    /// The whole text.
    pub source: &'s str,
    /// In bytes.
    pub at: usize,
}

impl Cursor<'_> {
    /// The next one; 0 at the end.
    pub fn byte(&self) -> u8 {
        self.source.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    /// Goes to the next byte that is no blank. Comments are none of its.
    pub fn skip_blanks(&mut self) {
        while matches!(self.byte(), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
    }

    /// The same, and over comments to the end of their line.
    pub fn skip_blanks_and_lines(&mut self) {
        loop {
            self.skip_blanks();
            if self.byte() != b'/' || self.source.as_bytes().get(self.at + 1) != Some(&b'/') {
                return;
            }
            self.at = lexer::end_of_line(self.source, self.at);
        }
    }

    /// A word with the dot before it, and without any `::`.
    pub fn word(&mut self) -> Option<Span> {
        let start = self.at;
        if self.byte() != b'.' {
            return None;
        }
        self.at += 1;
        self.skip_name();
        (!matches!(self.byte(), b':' | b'.')).then_some(self.span(start))
    }

    /// A decimal number of a few digits behind blanks.
    pub fn count(&mut self) -> Option<u32> {
        self.skip_blanks();
        let start = self.at;
        let mut value = 0u32;
        while self.byte().is_ascii_digit() && self.at - start < 9 {
            value = value * 10 + u32::from(self.byte() - b'0');
            self.at += 1;
        }
        let usual = match self.read(start) {
            [] | [b'0', _, ..] => false,
            _ => !is_name(self.byte()) && self.byte() != b'.',
        };
        usual.then_some(value)
    }

    /// Goes behind this byte if it is next but for blanks.
    pub fn eat(&mut self, byte: u8) -> Option<()> {
        self.skip_blanks();
        let found = self.byte() == byte;
        self.at += usize::from(found);
        found.then_some(())
    }

    /// From there to here.
    pub fn span(&self, start: usize) -> Span {
        Span::new(start, self.at)
    }

    /// What has been read since that place.
    fn read(&self, start: usize) -> &[u8] {
        self.source.as_bytes().get(start..self.at).unwrap_or_default()
    }

    /// Goes on to where no name character stands.
    fn skip_name(&mut self) {
        let rest = self.source.as_bytes().get(self.at..).unwrap_or_default();
        self.at += rest.iter().position(|byte| !is_name(*byte)).unwrap_or(rest.len());
    }

    /// A name that begins with `%`, and its number if it looks like most registers do.
    pub fn register(&mut self) -> Option<(Span, Option<Number>)> {
        let start = self.at;
        let rest = self.source.as_bytes().get(start + 1..).unwrap_or_default();
        let (mut number, length) = Number::begin(rest);
        self.at = start + 1 + length;
        if is_name(self.byte()) {
            number = None;
            self.skip_name();
        }
        (self.at > start + 1).then_some((self.span(start), number))
    }

    /// Any other name, unless it is one of those that mean something else.
    pub fn symbol(&mut self) -> Option<Span> {
        let start = self.at;
        self.skip_name();
        let text = self.read(start);
        let name = !(text.first()?.is_ascii_digit() || matches!(text, b"_" | b"WARP_SZ"));
        name.then_some(self.span(start))
    }

    /// `12`, `0f3F800000`
    fn number(&mut self) -> Option<(Const, Span)> {
        let start = self.at;
        let mut value = 0u64;
        let mut byte = self.byte();
        while byte.is_ascii_digit() {
            value = value.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
            self.at += 1;
            byte = self.byte();
        }
        let zero = self.read(start).starts_with(b"0") && self.at > start + 1;
        if !is_name(byte) && (1..19).contains(&(self.at - start)) && !zero {
            return Some((Const::Int { bits: value, unsigned: false }, self.span(start)));
        }
        self.skip_name();
        let value = match self.read(start) {
            [b'0', b'f' | b'F', digits @ ..] if digits.len() == 8 => {
                Const::F32(f32::from_bits(hexadecimal(digits)? as u32))
            }
            [b'0', b'd' | b'D', digits @ ..] if digits.len() == 16 => {
                Const::F64(f64::from_bits(hexadecimal(digits)?))
            }
            text @ ([b'1'..=b'9', ..] | [b'0'] | [b'0', b'x', _, ..]) if text.len() < 21 => {
                constant::parse_int(self.source.get(start..self.at)?)?
            }
            _ => return None,
        };
        Some((value, self.span(start)))
    }

    /// The same with a sign.
    pub fn signed(&mut self) -> Option<(Const, Span)> {
        let start = self.at;
        if self.byte() != b'-' {
            return self.number();
        }
        self.at += 1;
        let (value, span) = self.number()?;
        Some((value.unary(Unary::Minus)?, Span { start: start as u32, ..span }))
    }
}

/// The numbers that a list in braces begins with, without a comment among them: tables of a
/// thousand bytes are a good part of real modules.
#[derive(Debug)]
pub struct Numbers<'s> {
    cursor: Cursor<'s>,
    last: Span,
    taken: usize,
    ended: bool,
}

impl<'s> Numbers<'s> {
    /// Of a list whose first, or next, element begins there.
    pub(super) fn new(source: &'s str, at: u32) -> Numbers<'s> {
        let cursor = Cursor { source, at: at as usize };
        Numbers { cursor, last: Span::default(), taken: 0, ended: false }
    }

    /// Where the one that was read last stands.
    pub fn span(&self) -> Span {
        self.last
    }

    /// How many were read.
    pub(super) fn taken(&self) -> usize {
        self.taken
    }

    /// Where the next element begins, or the list's `}`.
    pub(super) fn end(&self) -> u32 {
        self.cursor.at as u32
    }

    /// Whether the `}` follows.
    pub(super) fn ended(&self) -> bool {
        self.ended
    }
}

impl Numbers<'_> {
    /// What most are: a few digits, with one blank before and a comma behind them at most.
    #[inline]
    pub(super) fn short(&mut self) -> Option<u64> {
        if self.ended {
            return None;
        }
        let start = self.cursor.at;
        let eight = self.cursor.source.as_bytes().get(start..)?.first_chunk()?;
        let mut window = u64::from_le_bytes(*eight);
        let blank = u64::from(window as u8 == b' ');
        window >>= 8 * blank;
        let digit = |window: u64| u64::from((window as u8).wrapping_sub(b'0'));
        let mut value = digit(window);
        if value > 9 {
            return None;
        }
        window >>= 8;
        let mut length = 1;
        // Behind a zero there are other numbers.
        if value != 0 {
            while digit(window) <= 9 {
                value = 10 * value + digit(window);
                window >>= 8;
                length += 1;
            }
        }
        let start = start + blank as usize;
        match window as u8 {
            b',' => self.cursor.at = start + length + 1,
            b'}' => (self.cursor.at, self.ended) = (start + length, true),
            _ => return None,
        }
        (self.last, self.taken) = (Span::new(start, start + length), self.taken + 1);
        Some(value)
    }

    #[inline(never)]
    fn long(&mut self) -> Option<Const> {
        let mut cursor = self.cursor;
        cursor.skip_blanks();
        let (value, span) = cursor.signed()?;
        cursor.skip_blanks();
        match cursor.byte() {
            b',' => cursor.at += 1,
            b'}' => self.ended = true,
            _ => return None,
        }
        (self.cursor, self.last, self.taken) = (cursor, span, self.taken + 1);
        Some(value)
    }
}

impl Iterator for Numbers<'_> {
    type Item = Const;

    #[inline]
    fn next(&mut self) -> Option<Const> {
        match self.short() {
            Some(bits) => Some(Const::Int { bits, unsigned: false }),
            None if self.ended => None,
            None => self.long(),
        }
    }
}

/// Of digits that are hexadecimal, at most sixteen.
fn hexadecimal(digits: &[u8]) -> Option<u64> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    digits.iter().try_fold(0, |all, byte| Some(all << 4 | u64::from(digit(byte)?)))
}
