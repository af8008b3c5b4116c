//! Tokens of PTX text, made one at a time over the bytes of the source without copying.
//!
//! Source: PTX ISA 9.0, "Syntax". Two things differ from a textbook lexer: a dot with the word
//! after it is one token (`.shared::cta`, `.16x64b`), and `%` begins a name when a name character
//! follows it, else it is the remainder operator.

use super::types::Span;

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The end of the text.
    Eof,
    /// `add`, `%r1`, `$L__BB0_2`, `_`
    Ident,
    /// `.u32`, `.shared::cta`, `.L2::128B`: the dot is part of the token.
    Word,
    /// A decimal, octal, hexadecimal or binary integer, with its `U` when it has one.
    Int,
    /// `1.5`, `.5`, `2e3`
    Float,
    /// `0f3F800000`
    F32Bits,
    /// `0d3FF0000000000000`
    F64Bits,
    /// `"…"`, quotes included.
    Str,
    /// `(`
    LParen,
    /// `)`
    RParen,
    /// `{`
    LBrace,
    /// `}`
    RBrace,
    /// `[`
    LBracket,
    /// `]`
    RBracket,
    /// `,`
    Comma,
    /// `;`
    Semi,
    /// `:`
    Colon,
    /// `?`
    Question,
    /// `@`
    At,
    /// `=`
    Assign,
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Star,
    /// `/`
    Slash,
    /// `%`
    Percent,
    /// `!`
    Not,
    /// `~`
    Tilde,
    /// `&`
    And,
    /// `|`
    Or,
    /// `^`
    Caret,
    /// `&&`
    AndAnd,
    /// `||`
    OrOr,
    /// `<`
    Lt,
    /// `>`
    Gt,
    /// `<=`
    Le,
    /// `>=`
    Ge,
    /// `==`
    EqEq,
    /// `!=`
    Ne,
    /// `<<`
    Shl,
    /// `>>`
    Shr,
    /// A character that begins no token.
    BadChar,
    /// A number that is cut short or runs into letters: `0x`, `0f3F`, `12ab`.
    BadNumber,
    /// `"` without its end on the same line.
    OpenString,
    /// `/*` without `*/`.
    OpenComment,
}

/// One token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Where it stands, in bytes.
    pub span: Span,
}

/// Whether each byte is a name character, or this one.
const fn names_and(other: u8) -> [bool; 256] {
    let mut table = [false; 256];
    let mut i = 0;
    while i < 256 {
        let b = i as u8;
        table[i] = b.is_ascii_alphanumeric() || b == b'_' || b == b'$' || b == other;
        i += 1;
    }
    table
}

/// Name characters after the first: letters, digits, `_` and `$`.
pub fn is_name(byte: u8) -> bool {
    const TABLE: [bool; 256] = names_and(b'$');
    TABLE[byte as usize]
}

/// The first place behind this one where no name character stands.
pub fn end_of_name(source: &str, start: usize) -> usize {
    let rest = source.as_bytes().get(start + 1..).unwrap_or_default();
    start + 1 + rest.iter().position(|byte| !is_name(*byte)).unwrap_or(rest.len())
}

/// Each byte is 1.
const ONES: u64 = u64::MAX / 255;

/// The highest bit of each of eight bytes that is this one; bits of those above the first may be
/// wrong, and other bits are.
fn among(eight: u64, byte: u8) -> u64 {
    let other = eight ^ (ONES * u64::from(byte));
    other.wrapping_sub(ONES) & !other
}

/// Where the line that this place is in ends, or the text. Eight bytes are looked at at once.
pub fn end_of_line(source: &str, start: usize) -> usize {
    let rest = source.as_bytes().get(start..).unwrap_or_default();
    let (eights, last) = rest.as_chunks::<8>();
    let found = eights.iter().enumerate().find_map(|(i, eight)| {
        let found = among(u64::from_le_bytes(*eight), b'\n') & (ONES << 7);
        (found != 0).then(|| 8 * i + found.trailing_zeros() as usize / 8)
    });
    let end = || last.iter().position(|byte| *byte == b'\n').unwrap_or(last.len());
    start + found.unwrap_or_else(|| 8 * eights.len() + end())
}

/// A cursor over the text; a copy of it is a place to come back to.
#[derive(Clone, Copy, Debug)]
pub struct Lexer<'s> {
    source: &'s str,
    at: usize,
}

impl<'s> Lexer<'s> {
    /// The text must be shorter than 4 GiB: places are 32 bits.
    pub fn new(source: &'s str) -> Lexer<'s> {
        Lexer { source, at: 0 }
    }

    /// The byte behind the last token, 0 at the end.
    pub fn next_byte(&self) -> u8 {
        self.byte(self.at)
    }

    /// Whether the next token, behind blanks, is no dot word: of a comment that is not known.
    pub fn begins_operand(&self) -> bool {
        let mut rest = self.source.as_bytes()[self.at..].iter();
        rest.find(|byte| !byte.is_ascii_whitespace())
            .is_some_and(|byte| !matches!(byte, b'.' | b'/'))
    }

    /// The next blank or `;`, if it is not far: no instruction has so many words. Eight bytes are
    /// looked at at once.
    pub fn near_end_of_words(&self, start: usize) -> Option<usize> {
        let rest = self.source.as_bytes().get(start..)?;
        let (eights, _) = rest.as_chunks::<8>();
        eights.iter().take(16).enumerate().find_map(|(i, eight)| {
            let eight = u64::from_le_bytes(*eight);
            // The lowest bit that is set is right: of a byte that is no larger than a blank, or
            // that is the other one.
            let blank = eight.wrapping_sub(ONES * 0x21) & !eight;
            let found = (blank | among(eight, b';')) & (ONES << 7);
            (found != 0).then(|| start + 8 * i + found.trailing_zeros() as usize / 8)
        })
    }

    /// The end of the name that begins here, and of the dot words that follow it without a blank.
    pub fn end_of_words(&self, start: u32) -> usize {
        const TABLE: [bool; 256] = names_and(b'.');
        let mut at = start as usize;
        loop {
            let rest = self.source.as_bytes().get(at..).unwrap_or_default();
            let end = rest.iter().position(|byte| !TABLE[*byte as usize]);
            at += end.unwrap_or(rest.len());
            if !matches!(end.and_then(|end| rest.get(end..end + 2)), Some(b"::")) {
                return at;
            }
            at += 2;
        }
    }

    fn byte(&self, at: usize) -> u8 {
        // 0 stands for the end; a real NUL begins no token either.
        self.source.as_bytes().get(at).copied().unwrap_or(0)
    }

    /// First place at or after `at` whose byte is not a name character.
    fn name_end(&self, at: usize) -> usize {
        let rest = self.source.as_bytes().get(at..).unwrap_or_default();
        at + rest.iter().position(|byte| !is_name(*byte)).unwrap_or(rest.len())
    }

    /// Skips blanks and comments; the start of a comment that never ends is an error token.
    fn skip_blank(&mut self) -> Option<Token> {
        loop {
            match self.byte(self.at) {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => self.at += 1,
                b'/' if self.byte(self.at + 1) == b'/' => self.skip_line(),
                b'/' if self.byte(self.at + 1) == b'*' => {
                    let start = self.at;
                    match self.source[start + 2..].find("*/") {
                        Some(length) => self.at = start + 2 + length + 2,
                        None => {
                            self.at = self.source.len();
                            return Some(Token {
                                kind: Kind::OpenComment,
                                span: Span::new(start, start + 2),
                            });
                        }
                    }
                }
                _ => return None,
            }
        }
    }

    /// The end of the comment or the string that begins here; the same place where none does.
    pub fn end_of_no_code(&mut self) -> usize {
        match self.byte(self.at) {
            b'"' => self.string(self.at).1,
            b'/' => {
                self.skip_blank();
                self.at
            }
            _ => self.at,
        }
    }

    /// Goes back to the start of a token that it has given.
    pub fn rewind(&mut self, at: u32) {
        self.at = at as usize;
    }

    /// Moves to the end of the line.
    pub fn skip_line(&mut self) {
        self.at = end_of_line(self.source, self.at);
    }

    /// The next one behind blanks and comments; at the end [`Kind::Eof`], again and again.
    pub fn next_token(&mut self) -> Token {
        let bytes = self.source.as_bytes();
        let mut at = self.at;
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = bytes.get(at) {
            at += 1;
        }
        self.at = at;
        // Comments, and blanks that few texts have.
        if let Some(b'/' | 0x0b | 0x0c) = bytes.get(at)
            && let Some(error) = self.skip_blank()
        {
            return error;
        }
        let start = self.at;
        if start >= self.source.len() {
            return Token { kind: Kind::Eof, span: Span::new(start, start) };
        }
        let (kind, end) = self.scan(start);
        self.at = end;
        Token { kind, span: Span::new(start, end) }
    }

    fn scan(&self, start: usize) -> (Kind, usize) {
        let next = self.byte(start + 1);
        let one = |kind| (kind, start + 1);
        let two = |second: u8, kind, otherwise| {
            if next == second { (kind, start + 2) } else { (otherwise, start + 1) }
        };
        match self.byte(start) {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' => (Kind::Ident, self.name_end(start + 1)),
            b'%' if is_name(next) => (Kind::Ident, self.name_end(start + 1)),
            b'%' => one(Kind::Percent),
            b'0'..=b'9' => self.number(start),
            b'.' => self.word_or_fraction(start),
            b'"' => self.string(start),
            b'(' => one(Kind::LParen),
            b')' => one(Kind::RParen),
            b'{' => one(Kind::LBrace),
            b'}' => one(Kind::RBrace),
            b'[' => one(Kind::LBracket),
            b']' => one(Kind::RBracket),
            b',' => one(Kind::Comma),
            b';' => one(Kind::Semi),
            b':' => one(Kind::Colon),
            b'?' => one(Kind::Question),
            b'@' => one(Kind::At),
            b'+' => one(Kind::Plus),
            b'-' => one(Kind::Minus),
            b'*' => one(Kind::Star),
            b'/' => one(Kind::Slash),
            b'~' => one(Kind::Tilde),
            b'^' => one(Kind::Caret),
            b'=' => two(b'=', Kind::EqEq, Kind::Assign),
            b'!' => two(b'=', Kind::Ne, Kind::Not),
            b'&' => two(b'&', Kind::AndAnd, Kind::And),
            b'|' => two(b'|', Kind::OrOr, Kind::Or),
            b'<' if next == b'=' => (Kind::Le, start + 2),
            b'<' => two(b'<', Kind::Shl, Kind::Lt),
            b'>' if next == b'=' => (Kind::Ge, start + 2),
            b'>' => two(b'>', Kind::Shr, Kind::Gt),
            _ => {
                // A whole character, so that places stay on character boundaries.
                let width = self.source[start..].chars().next().map_or(1, char::len_utf8);
                (Kind::BadChar, start + width)
            }
        }
    }

    fn string(&self, start: usize) -> (Kind, usize) {
        let mut at = start + 1;
        loop {
            match self.byte(at) {
                b'"' => return (Kind::Str, at + 1),
                b'\\' if at + 1 < self.source.len() && self.byte(at + 1).is_ascii() => at += 2,
                b'\n' => return (Kind::OpenString, at),
                _ if at >= self.source.len() => return (Kind::OpenString, self.source.len()),
                _ => at += 1,
            }
        }
    }

    /// `.name`, with `::name` parts; or a number such as `.5`, when digits and nothing else follow
    /// the dot.
    fn word_or_fraction(&self, start: usize) -> (Kind, usize) {
        let mut end = self.name_end(start + 1);
        if end == start + 1 {
            return (Kind::BadChar, end);
        }
        if self.byte(start + 1).is_ascii_digit()
            && let Some(end) = self.fraction(start)
        {
            return (Kind::Float, end);
        }
        while self.byte(end) == b':' && self.byte(end + 1) == b':' && is_name(self.byte(end + 2)) {
            end = self.name_end(end + 3);
        }
        (Kind::Word, end)
    }

    /// The end of `.digits[e[+-]digits]` at `dot`, when no name character follows it.
    fn fraction(&self, dot: usize) -> Option<usize> {
        let mut at = self.digits_end(dot + 1);
        if matches!(self.byte(at), b'e' | b'E') {
            let sign = usize::from(matches!(self.byte(at + 1), b'+' | b'-'));
            let end = self.digits_end(at + 1 + sign);
            if end > at + 1 + sign {
                at = end;
            }
        }
        (!is_name(self.byte(at))).then_some(at)
    }

    fn digits_end(&self, mut at: usize) -> usize {
        while self.byte(at).is_ascii_digit() {
            at += 1;
        }
        at
    }

    fn number(&self, start: usize) -> (Kind, usize) {
        let end = self.name_end(start);
        let text = &self.source.as_bytes()[start..end];
        let hex = |digits: usize| {
            text.len() == digits + 2 && text[2..].iter().all(|b| b.is_ascii_hexdigit())
        };
        match text {
            // What most are: a few decimal digits.
            [b'1'..=b'9', ..] | [b'0']
                if text.len() < 19
                    && text.iter().all(u8::is_ascii_digit)
                    && self.byte(end) != b'.' =>
            {
                return (Kind::Int, end);
            }
            [b'0', b'f' | b'F', ..] if hex(8) => return (Kind::F32Bits, end),
            [b'0', b'd' | b'D', ..] if hex(16) => return (Kind::F64Bits, end),
            _ => {}
        }
        let digits = self.digits_end(start);
        match self.byte(digits) {
            b'.' if !is_name(self.byte(digits + 1)) => return (Kind::Float, digits + 1),
            b'.' => {
                return match self.fraction(digits) {
                    Some(end) => (Kind::Float, end),
                    None => (Kind::BadNumber, self.name_end(digits + 1)),
                };
            }
            b'e' | b'E' => {
                let sign = usize::from(matches!(self.byte(digits + 1), b'+' | b'-'));
                let exponent = self.digits_end(digits + 1 + sign);
                if exponent > digits + 1 + sign && !is_name(self.byte(exponent)) {
                    return (Kind::Float, exponent);
                }
            }
            _ => {}
        }
        if super::constant::parse_int(&self.source[start..end]).is_some() {
            (Kind::Int, end)
        } else {
            (Kind::BadNumber, end)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str) -> Vec<(Kind, &str)> {
        let mut lexer = Lexer::new(source);
        let mut all = Vec::new();
        loop {
            let token = lexer.next_token();
            if token.kind == Kind::Eof {
                return all;
            }
            all.push((token.kind, &source[token.span.start as usize..token.span.end as usize]));
        }
    }

    #[test]
    fn a_modifier_keeps_its_dot_and_its_double_colons() {
        assert_eq!(
            kinds("ld.param::func.L2::128B.16x64b"),
            [
                (Kind::Ident, "ld"),
                (Kind::Word, ".param::func"),
                (Kind::Word, ".L2::128B"),
                (Kind::Word, ".16x64b")
            ]
        );
    }

    #[test]
    fn a_percent_sign_begins_a_name_only_before_a_name_character() {
        assert_eq!(
            kinds("%r1 9 % 4"),
            [(Kind::Ident, "%r1"), (Kind::Int, "9"), (Kind::Percent, "%"), (Kind::Int, "4")]
        );
    }

    #[test]
    fn numbers_of_every_form() {
        for (text, kind) in [
            ("0", Kind::Int),
            ("0777", Kind::Int),
            ("0x1fU", Kind::Int),
            ("0b1010", Kind::Int),
            ("4000000000U", Kind::Int),
            ("1.5", Kind::Float),
            ("2.", Kind::Float),
            (".5", Kind::Float),
            ("3e10", Kind::Float),
            ("2.5e-3", Kind::Float),
            ("0f3F800000", Kind::F32Bits),
            ("0D3FF0000000000000", Kind::F64Bits),
            ("0x", Kind::BadNumber),
            ("0f3F80", Kind::BadNumber),
            ("12ab", Kind::BadNumber),
            ("08", Kind::BadNumber),
            ("99999999999999999999", Kind::BadNumber),
        ] {
            assert_eq!(kinds(text), [(kind, text)]);
        }
    }

    #[test]
    fn comments_are_blank_and_an_open_one_is_an_error() {
        assert_eq!(kinds("a // b ; c\n/* d\n */ e"), [(Kind::Ident, "a"), (Kind::Ident, "e")]);
        assert_eq!(kinds("a /* b"), [(Kind::Ident, "a"), (Kind::OpenComment, "/*")]);
    }

    #[test]
    fn a_stray_character_is_one_whole_character() {
        assert_eq!(
            kinds("a\u{e9}\0"),
            [(Kind::Ident, "a"), (Kind::BadChar, "\u{e9}"), (Kind::BadChar, "\0")]
        );
    }
}
