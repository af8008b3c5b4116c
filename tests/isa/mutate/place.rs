//! What a change is made to.

use super::scan::{Instruction, Scan};
use super::{Edit, Random, Source, Vocabulary};
use std::ops::Range;

/// A source and where randomness comes from.
pub struct Place<'a> {
    pub source: &'a Source,
    pub vocabulary: &'a Vocabulary,
    pub random: &'a mut Random,
}

/// None where the source has nothing of the kind.
pub type Change = fn(&mut Place) -> Option<Vec<Edit>>;

#[rustfmt::skip]
pub const TYPES: &[&str] = &[
    ".s8", ".s16", ".s32", ".s64", ".u8", ".u16", ".u32", ".u64", ".f16", ".f16x2", ".bf16", ".bf16x2", ".tf32", ".f32",
    ".f64", ".b8", ".b16", ".b32", ".b64", ".b128", ".pred", ".e4m3x2", ".e5m2x2", ".u16x2", ".s16x2", ".f32x2",
];

pub fn is_type(word: &str) -> bool {
    TYPES.contains(&word)
        || matches!(word, ".texref" | ".samplerref" | ".surfref" | ".e4m3" | ".e5m2")
}

impl<'a> Place<'a> {
    pub fn scan(&self) -> &'a Scan {
        &self.source.scan
    }

    pub fn text(&self, token: usize) -> &'a str {
        self.source.scan.text(&self.source.text, token)
    }

    pub fn span(&self, tokens: &Range<usize>) -> Range<usize> {
        self.source.scan.span(tokens)
    }

    pub fn instruction(&mut self) -> Option<&'a Instruction> {
        self.random.pick(&self.source.scan.instructions)
    }

    /// An instruction of which `fits` holds.
    pub fn instruction_with(
        &mut self,
        fits: impl Fn(&Instruction) -> bool,
    ) -> Option<&'a Instruction> {
        for _ in 0..20 {
            if let Some(found) = self.instruction().filter(|i| fits(i)) {
                return Some(found);
            }
        }
        None
    }

    pub fn type_word(&mut self) -> String {
        self.random.pick(TYPES).map_or(String::new(), |t| t.to_string())
    }

    /// Instead of one token.
    pub fn replace(&self, token: usize, new: impl Into<String>) -> Option<Vec<Edit>> {
        let token = self.source.scan.tokens[token];
        Some(vec![(token.start..token.end, new.into())])
    }

    /// Before a token.
    pub fn insert(&self, token: usize, new: impl Into<String>) -> Option<Vec<Edit>> {
        let at = self.source.scan.tokens[token].start;
        Some(vec![(at..at, new.into())])
    }

    /// Each of two places gets what stands in the other.
    pub fn swap(&self, a: Range<usize>, b: Range<usize>) -> Option<Vec<Edit>> {
        let apart = a.end <= b.start || b.end <= a.start;
        let text = &self.source.text;
        apart.then(|| vec![(a.clone(), text[b.clone()].to_string()), (b, text[a].to_string())])
    }

    /// Some token of which `fits` holds.
    pub fn token(&mut self, fits: impl Fn(usize) -> bool) -> Option<usize> {
        let all: Vec<usize> = (0..self.scan().tokens.len()).filter(|t| fits(*t)).collect();
        self.random.pick(&all).copied()
    }
}
