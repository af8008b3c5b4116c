//! The table as data (`build.rs` makes it of `forms.tbl`) and how an instruction's words are found
//! in it.

use super::super::words::space;
use crate::ptx::words::{Op, Word, WordSet};
use smallvec::SmallVec;

include!(concat!(env!("OUT_DIR"), "/forms.rs"));

/// A line of the table: several spellings that share gate and operands.
struct Line {
    /// Bit `n % 64` of each word `n` in it: what has others is not there.
    words: u64,
    version: u8,
    sm: u8,
    operands: u16,
    /// Where its types stand in `FIELDS`: how many choices, then length and words of each.
    types: u16,
    /// Where in `BEHIND_TYPES` it is said how many more fields there are, and the place of each in
    /// `FIELDS`: sequences like the types, then modifiers, with the word of each choice, `NONE` for
    /// none. Few fields differ, and few lists of them, and a table that is small comes to memory in
    /// few pieces.
    rest: u16,
}

const _: () = assert!(size_of::<Line>() == 16);

/// An instruction's name: the opcode and the modifiers that belong to it.
struct Name {
    text: &'static str,
    words: &'static [Word],
    /// Where its lines are, and its keys in `KEYS`.
    lines: (u16, u16),
    keys: (u16, u16),
}

/// The first word of a line's types and of its state spaces, `NONE` where there are none; where in
/// `BY_KEY` the lines are that have both. There are two thousand lines for `ld`.
type Key = ((u16, u16), u32, u32);

impl Name {
    fn lines(&self) -> &'static [Line] {
        LINES.get(usize::from(self.lines.0)..usize::from(self.lines.1)).unwrap_or_default()
    }

    /// Those that may be of an instruction with these types and state spaces, in their order.
    fn lines_with(&self, types: &[u16], spaces: &[u16]) -> impl Iterator<Item = &'static Line> {
        let first = |words: &[u16]| words.first().copied().unwrap_or(NONE);
        let key = (first(types), first(spaces));
        let keys = KEYS.get(usize::from(self.keys.0)..usize::from(self.keys.1));
        let keys = keys.unwrap_or_default();
        let found = keys.binary_search_by_key(&key, |(key, ..)| *key).map(|at| &keys[at]);
        let range = found.map_or(0..0, |(_, start, end)| *start as usize..*end as usize);
        BY_KEY.get(range).unwrap_or_default().iter().map(|line| &LINES[usize::from(*line)])
    }
}

/// What may stand as an operand; sets as the header of `forms.tbl` has them.
#[derive(Debug)]
pub(in super::super) enum Slot {
    /// A set, and the rule for constants.
    Value(u64, Option<u16>),
    Address(u64),
    /// How many elements, and their set.
    Vector(u8, u64),
    /// The second's set from bit 32 on.
    Pair(u64),
    /// An address of several parts: elements of a vector, or 0 for one value.
    Parts(&'static [u8]),
    Any,
}

/// Which constants there may be: a range, or a list where it is not empty.
#[derive(Debug)]
pub(in super::super) struct Rule {
    range: (i64, i64),
    multiple: i64,
    list: &'static [i64],
}

impl Rule {
    /// What a constant should have been; None where it is right.
    pub fn broken(&self, value: i128) -> Option<String> {
        let Rule { range: (low, high), multiple, list } = self;
        if !list.is_empty() && !list.iter().any(|n| i128::from(*n) == value) {
            let list: Vec<String> = list.iter().map(i64::to_string).collect();
            return Some(format!("expected to be {}", list.join(" or ")));
        }
        if value < i128::from(*low) || value > i128::from(*high) {
            return Some(format!("out of range, expected to be in range [{low}..{high}]"));
        }
        (value % i128::from(*multiple) != 0)
            .then(|| format!("expected to be multiple of {multiple}"))
    }
}

const NONE: u16 = u16::MAX;

/// Types, layouts, state spaces, L2 priorities, operations on bits.
pub(super) const SEQUENCES: usize = 5;

/// What the table says of a spelling.
pub(super) struct Found {
    pub version: u32,
    pub sm: u32,
    pub operands: u16,
}

/// Choices of operands by their number.
pub(super) fn operands(number: u16) -> &'static [&'static [Slot]] {
    LISTS.get(usize::from(number)).copied().unwrap_or(&[])
}

pub(in super::super) fn rule(number: u16) -> Option<&'static Rule> {
    RULES.get(usize::from(number))
}

/// Modifiers that count for nothing where an instruction has none of the name.
pub(super) fn ignored(word: Word) -> bool {
    IGNORED.has(word)
}

/// Words that keep their order: types, layouts, state spaces, the two priorities of `createpolicy`,
/// and operations on bits. `tests/isa/forms/words.rs` says the same. By their text: what follows a
/// pattern and is in no list has its place too.
fn sequence((word, text): (Word, &str), opcode: Op) -> Option<usize> {
    if word.ty().is_some() || NARROW.has(word) {
        return Some(0);
    }
    match word {
        Word::Row | Word::Col if matches!(opcode, Op::Mma | Op::Wmma) => Some(1),
        Word::Other if space(text).is_some() => Some(2),
        word if word.space().is_some() => Some(2),
        _ if opcode == Op::Createpolicy && text.starts_with("L2::evict") => Some(3),
        Word::And | Word::Xor | Word::Popc if matches!(opcode, Op::Mma | Op::Wmma | Op::Wgmma) => {
            Some(4)
        }
        _ => None,
    }
}

/// An instruction's words in the table's order.
pub(super) struct Words<'a> {
    /// The longest name of the table that the mnemonic begins with.
    pub name: &'static str,
    of: &'static Name,
    sequences: [SmallVec<[u16; 4]>; SEQUENCES],
    flags: SmallVec<[(Word, &'a str); 8]>,
    /// A modifier that stands twice and may not.
    pub doubled: Option<&'a str>,
    bits: u64,
}

impl<'a> Words<'a> {
    /// None where no name of the table fits; the opcode is then unknown.
    pub fn new(opcode: Op, modifiers: &[(Word, &'a str)]) -> Option<Words<'a>> {
        let (start, end) = NAMES_OF[opcode as usize];
        let begins = |name: &&Name| {
            name.words.len() <= modifiers.len()
                && name.words.iter().zip(modifiers).all(|(word, (other, _))| word == other)
        };
        let all = NAMES.get(usize::from(start)..usize::from(end)).unwrap_or_default();
        let name = all.iter().filter(begins).max_by_key(|name| name.words.len())?;
        let first = name.words.len();
        let mut words = Words {
            name: name.text,
            of: name,
            sequences: Default::default(),
            flags: SmallVec::new(),
            doubled: None,
            bits: 0,
        };
        for (word, text) in &modifiers[first..] {
            match sequence((*word, text), opcode) {
                Some(which) => words.sequences[which].push(*word as u16),
                None if !words.flags.iter().any(|(_, other)| other == text) => {
                    words.flags.push((*word, text));
                }
                None if TWICE.has(*word) => {}
                None => words.doubled = Some(text),
            }
        }
        let unused: SmallVec<[Word; 8]> = words
            .flags
            .iter()
            .map(|(word, _)| *word)
            .filter(|word| ignored(*word) && !words.stands(*word))
            .collect();
        words.flags.retain(|(word, _)| !unused.contains(word));
        let flags = words.flags.iter().map(|(word, _)| *word as u16);
        let all = words.sequences.iter().flatten().copied().chain(flags);
        words.bits = all.fold(0, |bits, word| bits | 1 << (word % 64));
        Some(words)
    }

    pub fn find(&self) -> Option<Found> {
        let [types, _, spaces, ..] = &self.sequences;
        let mut lines = self.of.lines_with(types, spaces);
        let line = lines.find(|line| self.bits & !line.words == 0 && self.is(line))?;
        let Line { version, sm, operands, .. } = line;
        Some(Found { version: u32::from(*version), sm: u32::from(*sm), operands: *operands })
    }

    /// Whether a line's fields say this instruction.
    fn is(&self, line: &Line) -> bool {
        let mut found = 0;
        for (which, field) in Fields::new(line).enumerate() {
            match self.sequences.get(which) {
                Some(sequence) => {
                    if !field.sequences().any(|choice| choice == sequence.as_slice()) {
                        return false;
                    }
                }
                None => {
                    let there =
                        self.flags.iter().any(|(flag, _)| field.choices.contains(&(*flag as u16)));
                    found += usize::from(there);
                    if !there && !field.choices.contains(&NONE) {
                        return false;
                    }
                }
            }
        }
        found == self.flags.len()
    }

    /// Whether a modifier stands in some line of the name.
    fn stands(&self, word: Word) -> bool {
        let number = word as u16;
        self.of.lines().iter().any(|line| {
            line.words >> (number % 64) & 1 != 0
                && Fields::new(line).enumerate().any(|(which, field)| match which {
                    0..SEQUENCES => field.sequences().any(|choice| choice.contains(&number)),
                    _ => field.choices.contains(&number),
                })
        })
    }

    /// A modifier that no form of the name has.
    pub fn stranger(&self) -> Option<&'a str> {
        self.flags.iter().find(|(word, _)| !self.stands(*word)).map(|(_, text)| *text)
    }

    /// Whether some form of the name has these types.
    pub fn types_stand(&self) -> bool {
        let types = self.sequences[0].as_slice();
        let first = |line| Fields::new(line).next();
        self.of
            .lines()
            .iter()
            .filter_map(first)
            .any(|f| f.sequences().any(|choice| choice == types))
    }
}

/// One field's choices, as `FIELDS` has them.
struct Field {
    count: u16,
    choices: &'static [u16],
}

impl Field {
    fn sequences(&self) -> impl Iterator<Item = &'static [u16]> {
        let mut rest = self.choices;
        (0..self.count).map(move |_| {
            let (length, more) = rest.split_first().unwrap_or((&0, &[]));
            let (choice, after) = more.split_at_checked(usize::from(*length)).unwrap_or((&[], &[]));
            rest = after;
            choice
        })
    }
}

struct Fields {
    number: usize,
    /// The place of the next one.
    next: Option<u16>,
    rest: std::slice::Iter<'static, u16>,
}

impl Fields {
    fn new(line: &Line) -> Fields {
        let rest = BEHIND_TYPES.get(usize::from(line.rest)..).unwrap_or_default();
        let (count, places) = rest.split_first().unwrap_or((&0, &[]));
        let places = places.get(..usize::from(*count)).unwrap_or_default();
        Fields { number: 0, next: Some(line.types), rest: places.iter() }
    }
}

impl Iterator for Fields {
    type Item = Field;

    fn next(&mut self) -> Option<Field> {
        let place = std::mem::replace(&mut self.next, self.rest.next().copied())?;
        let (count, choices) = FIELDS.get(usize::from(place)..)?.split_first()?;
        // Lengths say where sequences end.
        let length = if self.number < SEQUENCES { choices.len() } else { usize::from(*count) };
        self.number += 1;
        Some(Field { count: *count, choices: choices.get(..length)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(mnemonic: &str) -> bool {
        let mut words = mnemonic.split('.');
        let opcode = Op::parse(words.next().unwrap()).unwrap();
        let modifiers: Vec<(Word, &str)> =
            words.map(|text| (Word::parse(text).unwrap(), text)).collect();
        Words::new(opcode, &modifiers).is_some_and(|words| words.find().is_some())
    }

    #[test]
    fn modifiers_have_no_order_and_types_have() {
        assert!(found("cvt.rn.ftz.f32.f16") || found("cvt.ftz.f32.f16"));
        assert!(found("fma.rn.sat.f32") && found("fma.sat.rn.f32"));
        assert!(found("set.lt.u32.f64") && !found("set.lt.f64.u32"));
        assert!(!found("fma.rn.sat.f64") && !found("fma.f32"));
    }

    #[test]
    fn constants_obey_rules() {
        let rule = Rule { range: (24, 256), multiple: 8, list: &[] };
        assert_eq!(rule.broken(32), None);
        assert!(rule.broken(25).is_some() && rule.broken(16).is_some());
        let rule = Rule { range: (i64::MIN, i64::MAX), multiple: 1, list: &[-1, 1] };
        assert_eq!(rule.broken(-1), None);
        assert_eq!(rule.broken(0).unwrap(), "expected to be -1 or 1");
    }
}
