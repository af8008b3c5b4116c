//! The small language of the tables: one text stands for many instructions.
//!
//! `<a/b/c>` is a choice, `</.sat>` an optional part, and `$1` … `$9` repeat what the first to
//! ninth choice took. A choice `a~b` takes `a`, and `$1'` then says `b` (`a` where there is no
//! `~`). All choices are multiplied out, the last one turning fastest. What stands in angle
//! brackets without a slash (`%r<4>`) is plain text.
//!
//! After that a statement still has slots, which the kernel's frame fills: `%T` an input, `=T` an
//! output, `+T` an accumulator that is both, each with `*N` for a vector of N in braces, and
//! `@SPACE` an address (`@` alone: generic). `T` is a PTX type or `pred`.

use super::operand::{Space, Type};

/// All texts that `form` stands for, in a fixed order.
///
/// # Panics
/// When a table names a choice that does not exist: a mistake in the table.
pub fn expand(form: &str) -> Vec<String> {
    let parts = parts(form);
    let choices: Vec<usize> = parts.iter().filter_map(|p| p.choices()).collect();
    let total: usize = choices.iter().product();
    (0..total)
        .map(|index| {
            let mut rest = index;
            let mut taken: Vec<usize> = choices
                .iter()
                .rev()
                .map(|n| {
                    let digit = rest % n;
                    rest /= n;
                    digit
                })
                .collect();
            taken.reverse();
            one(&parts, &taken)
        })
        .collect()
}

enum Part<'a> {
    Text(&'a str),
    Choice(Vec<&'a str>),
    /// What a choice took; whether its other side is meant.
    Repeat(usize, bool),
}

impl Part<'_> {
    fn choices(&self) -> Option<usize> {
        match self {
            Part::Choice(list) => Some(list.len()),
            _ => None,
        }
    }
}

fn one(parts: &[Part], taken: &[usize]) -> String {
    let mut chosen: Vec<&str> = Vec::new();
    let mut text = String::new();
    for part in parts {
        let piece = match part {
            Part::Text(piece) => piece,
            Part::Choice(list) => {
                chosen.push(list[taken[chosen.len()]]);
                sides(chosen[chosen.len() - 1]).0
            }
            Part::Repeat(n, false) => sides(chosen[*n]).0,
            Part::Repeat(n, true) => sides(chosen[*n]).1,
        };
        text.push_str(piece);
    }
    text
}

/// The two sides of a choice's text.
fn sides(text: &str) -> (&str, &str) {
    text.split_once('~').unwrap_or((text, text))
}

fn parts(form: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = form;
    while let Some(at) = rest.find(['<', '$']) {
        let (before, found) = rest.split_at(at);
        parts.push(Part::Text(before));
        let inner = found
            .strip_prefix('<')
            .and_then(|f| f.split_once('>'))
            .filter(|(i, _)| i.contains('/'));
        rest = if let Some((inner, after)) = inner {
            parts.push(Part::Choice(inner.split('/').collect()));
            after
        } else if let Some(n) = found[1..]
            .chars()
            .next()
            .and_then(|c| c.to_digit(10))
            .filter(|_| found.starts_with('$'))
        {
            assert!(n > 0, "choices are counted from 1: {form}");
            let other = found[2..].starts_with('\'');
            parts.push(Part::Repeat(n as usize - 1, other));
            &found[2 + usize::from(other)..]
        } else {
            parts.push(Part::Text(&found[..1]));
            &found[1..]
        };
    }
    parts.push(Part::Text(rest));
    parts
}

/// One piece of a statement whose choices are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    Text(String),
    /// `%T`, or `%T*N`.
    Input(Type, usize),
    /// `=T`, or `=T*N`.
    Output(Type, usize),
    /// `+T`, or `+T*N`: read and written.
    Both(Type, usize),
    Address(Space),
}

/// Splits a statement at its slots. A sign with no type behind it is plain text.
pub fn pieces(statement: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = statement;
    while let Some(first) = rest.chars().next() {
        match slot(rest) {
            Some((piece, length)) => {
                if !text.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut text)));
                }
                pieces.push(piece);
                rest = &rest[length..];
            }
            None => {
                text.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    pieces
}

/// The slot that `rest` begins with, and its length in bytes.
fn slot(rest: &str) -> Option<(Piece, usize)> {
    let sign = rest.chars().next()?;
    let word = |from: usize, more: fn(char) -> bool| {
        rest[from..]
            .find(|c: char| !(c.is_ascii_alphanumeric() || more(c)))
            .map_or(rest.len(), |n| from + n)
    };
    if sign == '@' {
        let from = if rest[1..].starts_with('.') { 2 } else { 1 };
        let end = word(from, |c| c == ':');
        return Space::parse(&rest[from..end]).map(|space| (Piece::Address(space), end));
    }
    if !matches!(sign, '%' | '=' | '+') {
        return None;
    }
    let end = word(1, |_| false);
    let ty = Type::parse(&rest[1..end])?;
    let (count, end) = match rest[end..].strip_prefix('*') {
        Some(_) => {
            let last = word(end + 1, |_| false);
            (rest[end + 1..last].parse().ok()?, last)
        }
        None => (0, end),
    };
    let piece = match sign {
        '%' => Piece::Input(ty, count),
        '=' => Piece::Output(ty, count),
        _ => Piece::Both(ty, count),
    };
    Some((piece, end))
}

/// The opcode and modifiers of each statement of `instruction`: guards and operands cut off.
pub fn mnemonics(instruction: &str) -> Vec<String> {
    instruction.split(';').map(str::trim).filter(|s| !s.is_empty()).map(mnemonic).collect()
}

fn mnemonic(statement: &str) -> String {
    let mut words = statement.split_whitespace();
    let first = words.next().unwrap_or_default();
    let word = if first.starts_with('@') { words.next().unwrap_or_default() } else { first };
    word.trim_end_matches(';').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_multiplied_out_and_repeated() {
        assert_eq!(
            expand("add</.sat>.<s32/u32> =$2"),
            ["add.s32 =s32", "add.u32 =u32", "add.sat.s32 =s32", "add.sat.u32 =u32"]
        );
        assert_eq!(expand("x<1~a/2>, $1, $1'"), ["x1, 1, a", "x2, 2, 2"]);
        assert_eq!(expand(".reg .b32 %r<4>;"), [".reg .b32 %r<4>;"]);
    }

    #[test]
    fn slots_are_found_between_text() {
        let found = pieces("ld.v2.f32 =f32*2, [@shared::cta];");
        let f32 = Type::parse("f32").expect("a type");
        let text = |t: &str| Piece::Text(t.to_string());
        let space = Piece::Address(Space::parse("shared::cta").expect("a space"));
        assert_eq!(
            found,
            [text("ld.v2.f32 "), Piece::Output(f32, 2), text(", ["), space, text("];")]
        );
    }

    #[test]
    fn the_mnemonic_stands_behind_the_guard() {
        assert_eq!(mnemonics("@!%p0 add.s32 %r0, %r1, 7; ret;"), ["add.s32", "ret"]);
    }
}
