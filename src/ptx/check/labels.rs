//! The labels of a function, found before its statements are read: a label is known in its whole
//! block, before the instruction that it stands at too.
//!
//! A label is a name with a colon behind it where a statement begins. To find that out takes no
//! syntax: statements end at `;`, `{`, `}` and `:`, and what is between them need not be looked at.

use crate::ptx::ast::Ident;
use crate::ptx::lexer::{self, Kind, Lexer};
use crate::ptx::parser::MAX_DEPTH;
use crate::ptx::types::Span;

/// What a label is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Names {
    /// The instruction behind it.
    Place,
    BranchTargets,
    CallTargets,
    Prototype,
}

#[derive(Clone, Copy, Debug)]
struct Label {
    /// Where its name begins.
    start: u32,
    names: Names,
    /// Where the `{` of its block is.
    block: u32,
}

/// There may be one for every two bytes of text.
const _: () = assert!(size_of::<Label>() == 12);

/// The labels of one body, by block, in the order of the text.
#[derive(Debug, Default)]
pub(super) struct Labels {
    all: Vec<Label>,
    /// How many statements end in the body.
    pub statements: usize,
}

/// Labels of a function at most, and as many more for each of its statements.
const MOST: usize = 1 << 12;
const OF_STATEMENT: usize = 8;

/// Too many labels for so few statements: the first of them, and how many there may be.
pub(super) struct TooMany<'s> {
    pub label: Ident<'s>,
    pub most: usize,
}

/// Labels that are kept while it is not known whether there are too many.
const FEW: usize = 1 << 15;

impl Labels {
    /// Of the body that begins with this `{`.
    pub fn of(source: &str, open: u32) -> Result<Labels, TooMany<'_>> {
        let mut all = Vec::new();
        let mut count = 0;
        let statements = scan(source, open, |label| {
            count += 1;
            if all.len() < FEW {
                all.push(label);
            }
        });
        let most = MOST + OF_STATEMENT * statements;
        if count > most {
            let mut first = None;
            let mut left = most;
            scan(source, open, |label| {
                if left == 0 {
                    first.get_or_insert(label.start);
                } else {
                    left -= 1;
                }
            });
            let label = name_at(source, first.unwrap_or(open));
            return Err(TooMany { label, most });
        }
        if count > all.len() {
            all = Vec::with_capacity(count);
            scan(source, open, |label| all.push(label));
        }
        if !all.is_sorted_by_key(|label| label.block) {
            all.sort_by_key(|label| label.block);
        }
        Ok(Labels { all, statements })
    }

    /// Those of a block, by the place of its `{`.
    pub fn of_block<'s>(
        &self,
        source: &'s str,
        block: u32,
    ) -> impl Iterator<Item = (Ident<'s>, Names)> {
        let start = self.all.partition_point(|label| label.block < block);
        let end = self.all.partition_point(|label| label.block <= block);
        self.all[start..end].iter().map(|label| (name_at(source, label.start), label.names))
    }
}

/// Looks for the bytes that end a statement, as many at once as a number has bits.
pub(super) struct Ends<'s> {
    bytes: &'s [u8],
    /// The place of the first of them.
    base: usize,
    /// [`ends`] of them, from the first that was not asked for yet.
    found: u64,
}

/// How many bytes are looked at at once.
const ONCE: usize = 64;

impl<'s> Ends<'s> {
    pub fn new(bytes: &'s [u8], at: usize) -> Ends<'s> {
        Ends { bytes, base: at, found: Self::among(bytes, at) }
    }

    fn among(bytes: &[u8], at: usize) -> u64 {
        let rest = bytes.get(at..).unwrap_or_default();
        match rest.first_chunk() {
            Some(many) => ends(many),
            None => {
                let mut many = [0; ONCE];
                many[..rest.len()].copy_from_slice(rest);
                ends(&many)
            }
        }
    }

    /// The first at or behind this place, which is not before the last one that was asked for.
    pub fn next(&mut self, at: usize) -> Option<usize> {
        let before = at - self.base;
        if before < ONCE {
            self.found &= u64::MAX << before;
        } else {
            (self.base, self.found) = (at, Self::among(self.bytes, at));
        }
        while self.found == 0 {
            self.base += ONCE;
            if self.base >= self.bytes.len() {
                return None;
            }
            self.found = Self::among(self.bytes, self.base);
        }
        Some(self.base + self.found.trailing_zeros() as usize)
    }
}

/// A bit for each byte that is looked for. Without branches the comparisons are a few vector
/// instructions.
fn ends(bytes: &[u8; ONCE]) -> u64 {
    let mut found = [0; ONCE];
    for (found, byte) in found.iter_mut().zip(bytes) {
        let is = |end: u8| u8::from(*byte == end);
        *found = is(b';') | is(b':') | is(b'{') | is(b'}') | is(b'/') | is(b'"');
    }
    let (eights, _) = found.as_chunks::<8>();
    eights.iter().rev().fold(0, |all, eight| {
        // Moves the lowest bit of byte `i` to bit `56 + i`; no two sums of places are the same.
        const GATHER: u64 = 0x0102_0408_1020_4080;
        all << 8 | u64::from_le_bytes(*eight).wrapping_mul(GATHER) >> 56
    })
}

/// Goes through a body; how many statements end in it.
fn scan(source: &str, open: u32, mut each: impl FnMut(Label)) -> usize {
    let bytes = source.as_bytes();
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
    let mut blocks: Vec<u32> = Vec::new();
    let mut statements = 0;
    // Where a statement may begin.
    let mut begin = open as usize;
    let mut at = begin;
    let mut ends = Ends::new(bytes, at);
    while let Some(next) = ends.next(at) {
        at = next;
        match byte(at) {
            b';' => statements += 1,
            b'{' if blocks.len() > 2 * MAX_DEPTH as usize => break,
            b'{' => blocks.push(at as u32),
            b'}' => {
                blocks.pop();
                if blocks.is_empty() {
                    break;
                }
            }
            b':' if byte(at + 1) == b':' => {
                at += 2;
                continue;
            }
            b':' => {
                if let Some((start, names)) = label(source, begin, at) {
                    each(Label { start, names, block: *blocks.last().unwrap_or(&open) });
                }
            }
            // A comment or a string, or a division.
            _ => {
                let mut lexer = Lexer::new(source);
                lexer.rewind(at as u32);
                at = lexer.end_of_no_code().max(at + 1);
                continue;
            }
        }
        at += 1;
        begin = at;
    }
    statements
}

/// What stands before a colon is a label if it is a name, and nothing before it but `.loc`s: they
/// have no `;`.
fn label(source: &str, begin: usize, colon: usize) -> Option<(u32, Names)> {
    let mut lexer = Lexer::new(source);
    lexer.rewind(begin as u32);
    let text = |span: Span| source.get(span.start as usize..span.end as usize).unwrap_or("");
    let first = lexer.next_token();
    let (mut before, mut name) = (None, first);
    let behind = loop {
        let token = lexer.next_token();
        if token.span.start as usize >= colon {
            break token.span.start as usize;
        }
        before = Some(std::mem::replace(&mut name, token));
    };
    // A `.loc` ends with a number.
    let begins = before.is_none_or(|t| t.kind == Kind::Int && text(first.span) == ".loc");
    if !begins || name.kind != Kind::Ident || behind != colon {
        return None;
    }
    let Span { start, end } = lexer.next_token().span;
    let names = match text(Span { start, end }) {
        ".branchtargets" => Names::BranchTargets,
        ".calltargets" => Names::CallTargets,
        ".callprototype" => Names::Prototype,
        _ => Names::Place,
    };
    Some((name.span.start, names))
}

fn name_at(source: &str, start: u32) -> Ident<'_> {
    let start = start as usize;
    let span = Span::new(start, lexer::end_of_name(source, start));
    Ident { text: source.get(start..span.end as usize).unwrap_or(""), span }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(source: &str, block: u32) -> Vec<(&str, Names)> {
        let labels = Labels::of(source, 0).ok().unwrap();
        labels.of_block(source, block).map(|(name, names)| (name.text, names)).collect()
    }

    #[test]
    fn a_label_is_a_name_with_a_colon_where_a_statement_begins() {
        let text = "{ a: b : ld.param::func.b32 %r, (1 ? 2 : 3); /* c: */ d /* ; */: // e:\n f:}";
        let place = |name| (name, Names::Place);
        assert_eq!(names(text, 0), ["a", "b", "d", "f"].map(place));
    }

    #[test]
    fn a_label_belongs_to_its_block() {
        let text = "{ a: { b: mov.b64 {x, y}, z; c: } d: .branchtargets a; \"e: }\" }";
        let outer = [("a", Names::Place), ("d", Names::BranchTargets)];
        assert_eq!(names(text, 0), outer);
        assert_eq!(names(text, 5), ["b", "c"].map(|name| (name, Names::Place)));
    }

    #[test]
    fn places_have_no_end() {
        let text = "{ .loc 1 2 3 a: .loc 1 2 3, function_name $L+4, inlined_at 4 5 6\n.loc 1 2 3\nb : \
                    .loc 1 2 3 ret; c: .pragma \"d:\"; }";
        assert_eq!(names(text, 0), ["a", "b", "c"].map(|name| (name, Names::Place)));
    }

    #[test]
    fn every_byte_is_found_that_ends_a_statement() {
        for byte in 0..=u8::MAX {
            for place in 0..140 {
                let mut bytes = [b'a'; 140];
                bytes[place] = byte;
                let found = b";:{}/\"".contains(&byte).then_some(place);
                assert_eq!(Ends::new(&bytes, 3).next(3), found.filter(|place| *place >= 3));
            }
        }
        let mut ends = Ends::new(b"a;;b{ccccccccccccccccc}", 0);
        assert_eq!([1, 2, 3, 5].map(|at| ends.next(at)), [1, 2, 4, 22].map(Some));
    }

    #[test]
    fn labels_need_statements() {
        let text = format!("{{ {}}}", "a:".repeat(5000));
        assert!(Labels::of(&text, 0).is_err_and(|many| many.most == MOST));
        let text = format!("{{ {}}}", "a: ret; ".repeat(5000));
        assert!(Labels::of(&text, 0).is_ok());
    }

    #[test]
    fn a_text_that_ends_early_ends_the_search() {
        for text in ["{", "{ a: { b:", "{ a: /* }", "{ \"}\n", "{ a /"] {
            assert!(Labels::of(text, 0).is_ok(), "{text}");
        }
    }
}
