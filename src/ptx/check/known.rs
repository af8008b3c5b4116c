//! Instructions' spellings that a module has had, and what was found out of them.

use super::case::by_value;
use super::forms::table::{self, Slot};
use super::literal::literal_type;
use super::shape::Shape;
use super::table::Row;
use super::words::space;
use crate::ptx::ast::{self, Spellings, Tree};
use crate::ptx::code::{Words, WordsId};
use crate::ptx::program::Operand;
use crate::ptx::types::Type;
use crate::ptx::words::{Op, Word};
use std::sync::Arc;

/// What is known of one spelling of an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    /// Operands by their number in the table; the first PTX version (63 is 6.3) and SM (91 is
    /// sm_90a).
    Right { operands: u16, version: u32, sm: u32 },
    /// The table says nothing of it.
    Unknown,
}

/// A constant that breaks a rule.
pub(super) struct Broken {
    pub argument: usize,
    pub value: i128,
    pub why: String,
}

/// An opcode with its modifiers, and what was found out of them.
pub(super) struct Spelling {
    /// Its place among the words of all; None: there is no such opcode.
    words: Option<WordsId>,
    /// With so many operands it is right, by this row of [`super::table`] if there is one.
    row: Option<(usize, Option<&'static Row>)>,
    pub form: Option<Form>,
    /// The module's PTX version and SM have it.
    pub passed: bool,
    /// It takes an address that is looked at; true where that must have 64 bits.
    pub address: Option<bool>,
    /// The type by which constants are read.
    literals: Option<Type>,
    /// Values of constants are part of its shapes.
    by_value: bool,
    /// Some shapes of operands that were right; 0 is none.
    right: [u128; SHAPES],
    /// The list of operands by which each was right, where that has rules for constants.
    rules: [Option<&'static [Slot]>; SHAPES],
    /// Where the next one goes.
    next: u8,
}

/// As many as most spellings have in a module.
const SHAPES: usize = 4;

impl Spelling {
    fn of(spelling: &ast::Spelling, all: &mut Vec<Arc<Words>>) -> Spelling {
        let words = spelling.modifiers();
        let modifiers = words.map(|text| Word::parse(text).unwrap_or(Word::Other)).collect();
        let words = Op::parse(spelling.opcode()).map(|op| Words::new(op, modifiers));
        let address = words.as_ref().and_then(|words| wide_address(words, spelling));
        let literals = words.as_ref().and_then(|words| literal_type(&words.types));
        let by_value = words.as_ref().is_some_and(|words| by_value(words.opcode));
        let words = words.map(|words| {
            all.push(Arc::new(words));
            WordsId(all.len() as u32 - 1)
        });
        Spelling {
            words,
            row: None,
            form: None,
            passed: false,
            address,
            literals,
            by_value,
            right: [0; SHAPES],
            rules: [None; SHAPES],
            next: 0,
        }
    }
}

/// Spellings met in a module, by their numbers.
#[derive(Default)]
pub(super) struct Known {
    pub all: Vec<Spelling>,
    /// What functions find their instructions' words in.
    words: Vec<Arc<Words>>,
}

impl Known {
    /// Knows an instruction's spelling from now on.
    pub fn meet(&mut self, number: usize, tree: &Tree<'_>) {
        // The last number is that of many, in turn.
        if number < self.all.len().min(Spellings::MOST) {
            return;
        }
        if self.all.is_empty() {
            self.all.reserve_exact(Spellings::USUAL);
        }
        while self.all.len() <= number {
            let next = tree.spellings.get(self.all.len() as u32);
            self.all.push(Spelling::of(next, &mut self.words));
        }
        if number == Spellings::MOST {
            self.all[number] = Spelling::of(tree.spellings.get(number as u32), &mut self.words);
        }
    }

    /// None: there is no such opcode.
    pub fn words(&self, number: usize) -> Option<(WordsId, &Arc<Words>)> {
        self.all[number].words.map(|id| (id, &self.words[id.0 as usize]))
    }

    /// All words, by their numbers.
    pub fn all_words(&self) -> Vec<Arc<Words>> {
        self.words.clone()
    }

    /// The type by which constants are read.
    pub fn literals(&self, number: usize) -> Option<Type> {
        self.all[number].literals
    }

    /// Whether some instruction of the spelling was right.
    pub fn some_right(&self, number: usize) -> bool {
        self.all.get(number).is_some_and(|spelling| spelling.right[0] != 0)
    }

    /// Whether values of constants are part of its shapes.
    pub fn by_value(&self, number: usize) -> bool {
        self.all[number].by_value
    }

    /// The words of an instruction whose shape is one that was right, and whose constants break no
    /// rule.
    pub fn right(&self, number: usize, shape: Shape, operands: &[Operand]) -> Option<WordsId> {
        let (spelling, whole) = (&self.all[number], shape.whole()?);
        let at = spelling.right.iter().position(|right| *right == whole)?;
        if let Some(rules) = spelling.rules[at]
            && broken_constant(rules, operands).is_some()
        {
            return None;
        }
        spelling.words
    }

    /// One was, by this list of operands if it has one: all of its shape are whose constants break
    /// no rule of it.
    pub fn set_right(&mut self, number: usize, shape: Shape, list: Option<&'static [Slot]>) {
        let Some(whole) = shape.whole() else { return };
        let spelling = &mut self.all[number];
        // Calls have none.
        if spelling.form.is_none() {
            return;
        }
        let has_rule = |list: &&[Slot]| {
            let mut slots = list.iter();
            slots.any(|slot| matches!(slot, Slot::Value(_, Some(_))))
        };
        let at = usize::from(spelling.next);
        (spelling.right[at], spelling.rules[at]) = (whole, list.filter(has_rule));
        spelling.next = (spelling.next + 1) % SHAPES as u8;
    }

    /// The row of a spelling with so many operands; None where that is not known.
    pub fn row(&self, number: usize, operands: usize) -> Option<Option<&'static Row>> {
        self.all[number].row.filter(|(count, _)| *count == operands).map(|(_, row)| row)
    }

    pub fn set_row(&mut self, number: usize, operands: usize, row: Option<&'static Row>) {
        self.all[number].row = Some((operands, row));
    }
}

/// Opcodes whose addresses in global and generic memory have 64 bits; some others take narrower
/// registers. Observed: ptxas 13.0.88, which says so at the end. None: of another opcode; false: of
/// another space.
fn wide_address(words: &Words, source: &ast::Spelling) -> Option<bool> {
    let wide = matches!(
        words.opcode,
        Op::Ld | Op::St | Op::Atom | Op::Red | Op::Ldu | Op::Prefetch | Op::Mbarrier
    );
    if !wide || words.has(Word::Async) {
        return None;
    }
    let space = source.modifiers().find(|word| space(word).is_some());
    Some(space.is_none_or(|space| space == "global"))
}

/// The first constant that is not in the range or list that ptxas wants.
pub(super) fn broken_constant(list: &[Slot], operands: &[Operand]) -> Option<Broken> {
    list.iter().zip(operands).enumerate().find_map(|(argument, pair)| {
        let (Slot::Value(_, Some(rule)), Operand::Int(value)) = pair else { return None };
        let why = table::rule(*rule)?.broken(value.get())?;
        Some(Broken { argument, value: value.get(), why })
    })
}
