//! The kinds of change.

use super::scan::{Instruction, Scan};
use super::{Edit, Random, Source, Vocabulary, instructions, modules};
use std::ops::Range;

/// A source and where randomness comes from.
pub struct Place<'a> {
    pub source: &'a Source,
    pub vocabulary: &'a Vocabulary,
    pub random: &'a mut Random,
}

/// None where the source has nothing of the kind.
pub type Change = fn(&mut Place) -> Option<Vec<Edit>>;

/// Name and function of each kind.
#[rustfmt::skip]
pub const KINDS: &[(&str, Change)] = &[
    ("type", instructions::change_type),
    ("modifier dropped", instructions::drop_modifier),
    ("modifier added", instructions::add_modifier),
    ("modifier changed", instructions::change_modifier),
    ("modifiers swapped", instructions::swap_modifiers),
    ("opcode", instructions::change_opcode),
    ("operand kind", instructions::change_operand_kind),
    ("register", instructions::change_register),
    ("operand dropped", instructions::drop_operand),
    ("operand added", instructions::add_operand),
    ("operands swapped", instructions::swap_operands),
    ("immediate", instructions::change_immediate),
    ("vector width", instructions::change_vector),
    ("state space of an instruction", instructions::change_space),
    ("guard", instructions::change_guard),
    ("offset", instructions::change_offset),
    ("call", instructions::change_call),
    ("type of a declaration", modules::declaration_type),
    ("state space of a declaration", modules::declaration_space),
    ("alignment", modules::alignment),
    ("size of an array, number of registers", modules::declaration_count),
    ("declaration dropped", modules::drop_declaration),
    ("declaration doubled", modules::double_declaration),
    ("label", modules::label),
    ("function", modules::function),
    ("linkage", modules::linkage),
    ("parameter", modules::parameter),
    ("directive of a function", modules::directive),
    ("initial value", modules::initial_value),
    ("version", modules::version),
    ("target", modules::target),
    ("version and target", modules::version_and_target),
    ("head", modules::head),
    ("token dropped", modules::drop_token),
    ("token doubled", modules::double_token),
    ("tokens swapped", modules::swap_tokens),
    ("token replaced", modules::replace_token),
    ("character", modules::character),
];

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
