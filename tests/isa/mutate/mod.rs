//! PTX that is almost right: good modules with one thing changed, and what the compiler of
//! reference says of each.
//!
//! [`kinds`] says what is changed, [`ask`] asks ptxas. The same seed always gives the same mutants.

pub mod ask;
mod instructions;
mod kinds;
mod modules;
mod place;
pub mod scan;

pub use kinds::KINDS;

use scan::Scan;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A small generator (xorshift64*): the sequence is the same everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn word(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Below `limit`, which is at least 1.
    pub fn below(&mut self, limit: usize) -> usize {
        ((self.word() >> 33) % limit.max(1) as u64) as usize
    }

    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        if all.is_empty() { None } else { Some(&all[self.below(all.len())]) }
    }
}

/// A good module.
pub struct Source {
    pub name: String,
    pub text: String,
    /// Where its functions begin when what stands before is the same in all sources of this group;
    /// then many can be asked at once.
    pub body: Option<usize>,
    pub scan: Scan,
}

/// What is put in place of some bytes.
pub type Edit = (Range<usize>, String);

/// One change of one source.
pub struct Mutant {
    pub kind: &'static str,
    pub source: usize,
    pub edit: Vec<Edit>,
}

/// The words of all sources, from which changes are made.
#[derive(Default)]
pub struct Vocabulary {
    pub opcodes: Vec<String>,
    /// Dot words that follow opcodes and are no types.
    pub modifiers: Vec<String>,
    pub by_opcode: BTreeMap<String, Vec<String>>,
}

impl Source {
    /// A whole file.
    pub fn file(name: &str, text: &str) -> Source {
        Source { name: name.to_string(), text: text.to_string(), body: None, scan: Scan::new(text) }
    }

    /// Every kernel of a file by itself, behind what stands before the first.
    pub fn kernels(name: &str, text: &str) -> Vec<Source> {
        let whole = Scan::new(text);
        let Some((first, _)) = whole.functions.first() else { return Vec::new() };
        let head = &text[..whole.tokens[first.start].start];
        let one = |(number, (start, end)): (usize, &(Range<usize>, usize))| {
            let body = &text[whole.tokens[start.start].start..whole.tokens[*end].end];
            let text = format!("{head}{body}\n");
            let scan = Scan::new(&text);
            Source { name: format!("{name}:{number}"), body: Some(head.len()), text, scan }
        };
        whole.functions.iter().enumerate().map(one).collect()
    }
}

impl Mutant {
    /// The changed module.
    pub fn text(&self, sources: &[Source]) -> String {
        let mut text = sources[self.source].text.clone();
        let mut edits: Vec<&Edit> = self.edit.iter().collect();
        edits.sort_by_key(|(range, _)| range.start);
        for (range, new) in edits.iter().rev() {
            text.replace_range(range.clone(), new);
        }
        text
    }
}

impl Vocabulary {
    pub fn new(sources: &[Source]) -> Vocabulary {
        let mut by_opcode: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut modifiers = BTreeSet::new();
        for source in sources {
            for instruction in &source.scan.instructions {
                let opcode = source.scan.text(&source.text, instruction.opcode).to_string();
                let own = by_opcode.entry(opcode).or_default();
                for token in instruction.modifiers.clone() {
                    let word = source.scan.text(&source.text, token);
                    if !place::is_type(word) {
                        own.insert(word.to_string());
                        modifiers.insert(word.to_string());
                    }
                }
            }
        }
        Vocabulary {
            opcodes: by_opcode.keys().cloned().collect(),
            modifiers: modifiers.into_iter().collect(),
            by_opcode: by_opcode.into_iter().map(|(k, v)| (k, v.into_iter().collect())).collect(),
        }
    }
}

/// `count` mutants; kinds take turns.
pub fn mutants(
    sources: &[Source],
    vocabulary: &Vocabulary,
    seed: u64,
    count: usize,
) -> Vec<Mutant> {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut all = Vec::with_capacity(count);
    let mut turn = 0;
    // A kind may find nothing to change in a source.
    while all.len() < count && turn < count * 20 {
        let (kind, change) = KINDS[turn % KINDS.len()];
        turn += 1;
        for _ in 0..20 {
            let source = random.below(sources.len());
            let made = change(&mut place::Place {
                source: &sources[source],
                vocabulary,
                random: &mut random,
            });
            let Some(edit) = made else { continue };
            let mutant = Mutant { kind, source, edit };
            if mutant.text(sources) != sources[source].text {
                all.push(mutant);
                break;
            }
        }
    }
    all
}
