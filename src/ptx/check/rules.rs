//! Checks one instruction against its row of the table: known words, types, modifiers and number of
//! operands; each operand is then checked in [`super::slots`].

use super::Checker;
use super::case::{Case, Checked, mismatch};
use super::shape::Shape;
use super::table::{self, ROWS, Row};
use super::words::{is_modifier, is_narrow_format};
use crate::ptx::ast::{self, Tree};
use crate::ptx::diagnostics::Diagnostic;
use crate::ptx::program::Operand;
use crate::ptx::types::Type;
use crate::ptx::words::{Op, Word};
use smallvec::SmallVec;

/// By opcode: the place of its first row. By place: that of the opcode's next row.
static ROWS_OF: ([Option<u16>; Op::ALL.len()], [Option<u16>; ROWS.len()]) = {
    let (mut first, mut next) = ([None; Op::ALL.len()], [None; ROWS.len()]);
    let mut i = ROWS.len();
    while i > 0 {
        i -= 1;
        let op = ROWS[i].opcode as usize;
        next[i] = first[op];
        first[op] = Some(i as u16);
    }
    (first, next)
};

/// The rows of an opcode; none for one whose operands are checked by what compiles them.
fn rows_of(opcode: Op) -> impl Iterator<Item = &'static Row> + Clone {
    let (first, next) = &ROWS_OF;
    let all = std::iter::successors(first[opcode as usize], |i| next[usize::from(*i)]);
    all.map(|i| &ROWS[usize::from(i)])
}

impl<'s> Checker<'s> {
    /// Reports what is wrong with the instruction; makes its literals what their operand's type
    /// wants.
    pub(super) fn check_instruction(
        &mut self,
        instruction: &mut Checked,
        source: &ast::Instruction<'s>,
        shape: Shape,
        tree: &Tree<'s>,
    ) {
        let mut case = Case { instruction, source, tree };
        let spelling = case.spelling();
        let before = self.diagnostics.errors();
        // What a constant becomes is no part of the shape.
        let as_read: Option<SmallVec<[Operand; 6]>> =
            shape.constants.then(|| case.instruction.operands.iter().cloned().collect());
        let count = tree.top().len();
        let row = match self.forms.row(spelling, count) {
            Some(row) => row,
            None => {
                let Some(row) = self.row(&mut case) else { return };
                if self.diagnostics.errors() == before {
                    self.forms.set_row(spelling, count, row);
                }
                row
            }
        };
        if let Some(row) = row {
            self.slots(row, &mut case);
        }
        let mut list = None;
        if self.diagnostics.errors() == before {
            list = self.form(&case);
        }
        if self.diagnostics.errors() == before
            && as_read.is_none_or(|as_read| case.instruction.operands[..] == as_read[..])
        {
            self.forms.set_right(spelling, shape, list);
        }
    }

    /// The row that an instruction is checked against, if any; None where nothing more of it is to
    /// be checked. What it says depends on the spelling and the number of operands alone, but for
    /// what is wrong.
    fn row(&mut self, case: &mut Case<'_, 's>) -> Option<Option<&'static Row>> {
        let rows = rows_of(case.instruction.opcode);
        let mut known = true;
        for (word, known_as) in case.modifiers().zip(&case.instruction.modifiers) {
            if *known_as == Word::Other && !is_modifier(word.text) {
                self.diagnostics.error(word.span, format!("Unknown modifier '.{}'", word.text));
                known = false;
            }
        }
        if !known {
            return None;
        }
        if case.instruction.opcode == Op::Call {
            self.check_call(case);
            return None;
        }
        if rows.clone().next().is_none() {
            return Some(None);
        }
        let row = self.choose(rows, case);
        Some(row.filter(|row| self.modifiers(row, case)))
    }

    /// The row for the instruction's modifiers, types and number of operands.
    fn choose(
        &mut self,
        rows: impl Iterator<Item = &'static Row> + Clone,
        case: &Case<'_, 's>,
    ) -> Option<&'static Row> {
        let has_all = |row: &Row| row.when.iter().all(|word| case.instruction.has(*word));
        // The rows that ask for most are meant.
        let mut most = None;
        for row in rows.clone() {
            let more = most.is_none_or(|most| row.when.len() > most);
            if more && has_all(row) {
                most = Some(row.when.len());
            }
        }
        let Some(most) = most else {
            let first = rows.clone().next();
            let wanted = first.and_then(|row| row.when.first()).map_or("", |word| word.name());
            let message =
                format!("Modifier '.{wanted}' required for instruction '{}'", case.name());
            self.diagnostics.error(case.source.opcode.span, message);
            return None;
        };
        if case.instruction.opcode == Op::Cvt
            && case.modifiers().any(|word| is_narrow_format(word.text))
        {
            return None;
        }
        let types = &case.instruction.types;
        let fits = |row: &&'static Row| {
            row.when.len() == most
                && row.types.len() == types.len()
                && has_all(row)
                && row.types.iter().zip(types.iter()).all(|(set, ty)| set.has(*ty))
        };
        let count = case.operands().len();
        let takes = |row: &&'static Row| {
            (row.slots.len() - usize::from(row.optional)..=row.slots.len()).contains(&count)
        };
        let mut fitting = rows.filter(fits);
        let first = fitting.next();
        let found = first.filter(takes).or_else(|| fitting.find(takes)).or(first);
        if found.is_none() {
            let message = format!("Unexpected instruction types specified for '{}'", case.name());
            let at = case.modifiers().find(|word| Type::parse(word.text).is_some());
            self.diagnostics.error(at.map_or(case.source.opcode.span, |word| word.span), message);
        }
        found
    }

    /// Whether the modifiers besides types are allowed, and those that are needed are there.
    fn modifiers(&mut self, row: &Row, case: &Case<'_, 's>) -> bool {
        let mut right = true;
        if let Some(allowed) = row.modifiers {
            for (written, word) in case.modifiers().zip(&case.instruction.modifiers) {
                if word.ty().is_none()
                    && !allowed.contains(word)
                    && !row.when.contains(word)
                    && !super::forms::counts_for_nothing(*word)
                {
                    let text = written.text;
                    let message =
                        format!("Illegal modifier '.{text}' for instruction '{}'", case.name());
                    self.diagnostics.error(written.span, message);
                    right = false;
                }
            }
        }
        if !row.needs.is_empty() && !row.needs.iter().any(|word| case.instruction.has(*word)) {
            let message = format!("{} '{}'", row.missing, case.name());
            self.diagnostics.error(case.source.opcode.span, message);
            right = false;
        }
        let operands = case.operands().len();
        let opcode = case.instruction.opcode;
        if let Some(what) = table::boolean_missing(opcode, &case.instruction.modifiers, operands) {
            self.diagnostics.error(case.source.opcode.span, format!("{what} '{}'", case.name()));
            right = false;
        }
        right
    }

    fn slots(&mut self, row: &Row, case: &mut Case<'_, 's>) {
        let count = case.operands().len();
        let least = row.slots.len() - usize::from(row.optional);
        if !(least..=row.slots.len()).contains(&count) {
            let expected = if least == row.slots.len() {
                format!("{least}")
            } else {
                format!("{least} to {}", row.slots.len())
            };
            let plural = if least == 1 && row.optional == 0 { "" } else { "s" };
            self.diagnostics.push(
                Diagnostic::error(case.source.span, mismatch(&case.name()))
                    .note(format!("{expected} operand{plural} expected, {count} given")),
            );
            return;
        }
        for (i, slot) in row.slots.iter().take(count).enumerate() {
            let span = case.span(i);
            if let Err(misfit) = self.slot(*slot, i, case) {
                self.diagnostics.push(Diagnostic::error(span, misfit.message).note(misfit.note));
            }
        }
        self.barrier_number(case);
        self.bit_field(case);
    }

    /// Constants of `bfe` and `bfi`: place and length of the field.
    fn bit_field(&mut self, case: &Case<'_, 's>) {
        let first = match case.instruction.opcode {
            Op::Bfe => 2,
            Op::Bfi => 3,
            _ => return,
        };
        for (i, operand) in case.instruction.operands.iter().enumerate().skip(first) {
            if let Operand::Int(value) = operand
                && !(0..256).contains(&value.get())
            {
                let message = format!(
                    "Argument {i} of instruction '{}': value '{value:?}' out of range, expected to be in range [0..255]",
                    case.name()
                );
                self.diagnostics.error(case.span(i), message);
            }
        }
    }

    /// Constants of `bar`: the barrier's number and how many threads.
    fn barrier_number(&mut self, case: &Case<'_, 's>) {
        if case.instruction.opcode != Op::Bar || case.instruction.has(Word::Warp) {
            return;
        }
        let first = usize::from(case.instruction.has(Word::Red));
        if let Some(Operand::Int(number)) = case.instruction.operands.get(first)
            && !(0..16).contains(&(number.get() & 0xffff_ffff))
        {
            let message = format!(
                "Barrier number '{number:?}' out of range, expected to be in range [0..15]"
            );
            self.diagnostics.error(case.span(first), message);
        }
        if let Some(Operand::Int(threads)) = case.instruction.operands.get(first + 1)
            && threads.get() % 32 != 0
        {
            let message =
                "Number of threads participating in barrier must be in multiple of warp size";
            self.diagnostics.error(case.span(first + 1), message);
        }
    }
}

/// Of an opcode that there is none of, with the one that the writer may have meant.
pub(super) fn unknown_opcode(opcode: ast::Ident<'_>) -> Diagnostic {
    let name = opcode.text;
    let message = format!("Not a name of any known instruction: '{name}'");
    let diagnostic = Diagnostic::error(opcode.span, message);
    let mut known = Op::ALL.iter().map(|op| op.name());
    match known.find(|known| super::scope::one_apart(known.as_bytes(), name.as_bytes())) {
        Some(similar) => diagnostic.note(format!("did you mean '{similar}'?")),
        None => diagnostic,
    }
}
