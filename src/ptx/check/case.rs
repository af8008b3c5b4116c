//! An instruction that is being checked, and how it says what does not fit.

use super::table::Ty;
use crate::ptx::ast::{self, Ident, Tree};
use crate::ptx::program::{Operand, RegId, Words};
use crate::ptx::types::{Span, Type};
use crate::ptx::words::{Op, Word};
use std::ops::Deref;
use std::sync::Arc;

/// Why an operand does not fit: ptxas's message, and what was expected.
pub(super) struct Misfit {
    pub message: String,
    pub note: String,
}

/// What an instruction is to be: its words are as its own.
pub(super) struct Checked {
    /// Guard predicate, negated or not.
    pub guard: Option<(RegId, bool)>,
    pub words: Arc<Words>,
    pub operands: Vec<Operand>,
}

impl Deref for Checked {
    type Target = Words;

    fn deref(&self) -> &Words {
        &self.words
    }
}

/// An instruction being checked.
pub(super) struct Case<'a, 's> {
    pub instruction: &'a mut Checked,
    pub source: &'a ast::Instruction<'s>,
    pub tree: &'a Tree<'s>,
}

impl<'s> Case<'_, 's> {
    /// The number of its spelling ([`super::known::Known`]).
    pub fn spelling(&self) -> usize {
        self.source.spelling as usize
    }

    /// Its operands as they are written.
    pub fn operands(&self) -> &[ast::Operand] {
        self.tree.top()
    }

    /// Where an operand stands.
    pub fn span(&self, operand: usize) -> Span {
        self.tree.span(&self.operands()[operand])
    }

    /// The words behind its opcode.
    pub fn modifiers(&self) -> impl Iterator<Item = Ident<'s>> + Clone + '_ {
        self.tree.modifiers(self.source)
    }

    /// The instruction as ptxas names it in messages: the opcode with the modifiers that count to
    /// its name, `mul.wide`.
    pub fn name(&self) -> String {
        let opcode = self.instruction.opcode;
        let first = self.instruction.modifiers.first();
        let part = first.filter(|word| match opcode {
            Op::Mul | Op::Mad => matches!(word, Word::Lo | Word::Hi | Word::Wide),
            Op::Cvta => **word == Word::To,
            Op::Bar => **word == Word::Arrive,
            Op::Brx => **word == Word::Idx,
            Op::Shf => matches!(word, Word::L | Word::R),
            _ => false,
        });
        match part {
            Some(part) => format!("{opcode}.{part}"),
            None => opcode.to_string(),
        }
    }

    /// Whether an operand was written as an integer.
    pub fn integer(&self, i: usize) -> bool {
        matches!(self.operands()[i], ast::Operand::Const(value, _) if value.is_int())
    }

    pub fn misfit(&self, note: &str) -> Misfit {
        Misfit { message: mismatch(&self.name()), note: note.to_string() }
    }
}

impl Ty {
    pub(super) fn of(self, case: &Case<'_, '_>) -> Type {
        let types = &case.instruction.types;
        let first = types.first().copied().unwrap_or(Type::B32);
        match self {
            Ty::At(i) => types.get(usize::from(i)).copied().unwrap_or(first),
            Ty::Wide => match first {
                Type::U16 => Type::U32,
                Type::S16 => Type::S32,
                Type::U32 => Type::U64,
                Type::S32 => Type::S64,
                other => other,
            },
            Ty::Fix(ty) => ty,
        }
    }
}

/// Instructions of which some constants are looked at here; what the table of forms says of
/// constants it says itself ([`super::known::Known::right`]).
pub(super) fn by_value(opcode: Op) -> bool {
    matches!(opcode, Op::Bar | Op::Bfe | Op::Bfi)
}

pub(super) fn mismatch(name: &str) -> String {
    format!("Arguments mismatch for instruction '{name}'")
}
