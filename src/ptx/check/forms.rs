//! Which instructions there are: names, types and modifiers that go together, what may stand as
//! each operand, and since which PTX version and SM. All of it is data (`forms.tbl`), learned by
//! asking ptxas 13.0.88 for sm_90a; the header of that file says how it reads. What a modifier's
//! order is does not matter, except of types, state spaces and layouts among themselves.
//!
//! An instruction's words are looked up once: [`super::known`] remembers them by their text, and
//! [`memory`] for the next module of the thread.

pub(super) mod memory;
pub(super) mod table;

use super::Checker;
use super::case::Case;
use super::known::{Broken, Form, broken_constant};
use crate::ptx::ast::{self, Tree};
use crate::ptx::diagnostics::Diagnostic;
use crate::ptx::program::{AddressBase, Operand, Special, Variable};
use crate::ptx::types::{Space, Type};
use crate::ptx::words::{Op, Word};
use smallvec::SmallVec;
use table::{Slot, Words};

/// Modifiers that ptxas ignores on instructions that have none of the name.
pub(super) fn counts_for_nothing(word: Word) -> bool {
    table::ignored(word)
}

impl<'s> Checker<'s> {
    /// Whether there is such an instruction, here and now, and its operands are of the right kind;
    /// the list of operands that it has, if it is looked at and right.
    pub(super) fn form(&mut self, case: &Case<'_, 's>) -> Option<&'static [Slot]> {
        let form = match self.forms.all[case.spelling()].form {
            Some(form) => form,
            None => {
                let form = self.find_form(case)?;
                self.forms.all[case.spelling()].form = Some(form);
                form
            }
        };
        let Form::Right { operands, version, sm } = form else { return None };
        if !self.forms.all[case.spelling()].passed {
            let before = self.diagnostics.errors();
            self.form_gate(case, version, sm);
            self.forms.all[case.spelling()].passed = self.diagnostics.errors() == before;
        }
        // Their operands are checked to the last by their rows.
        if matches!(case.instruction.opcode, Op::Ld | Op::St | Op::Mov) {
            self.address_width(case);
            return None;
        }
        let lists = table::operands(operands).iter().copied();
        let mut fit = lists.filter(|list| self.operands_fit(list, case)).peekable();
        if fit.peek().is_none() {
            let message = super::case::mismatch(&case.name());
            self.diagnostics.error(case.source.span, message);
            return None;
        }
        // A rule may depend on a constant before: the list that says so is the one that fits the
        // longest.
        let (mut right, mut worst) = (None, None::<Broken>);
        for list in fit {
            let Some(broken) = broken_constant(list, &case.instruction.operands) else {
                right = Some(list);
                break;
            };
            if worst.as_ref().is_none_or(|worst| broken.argument >= worst.argument) {
                worst = Some(broken);
            }
        }
        if let (None, Some(Broken { argument, value, why })) = (right, worst) {
            let name = case.name();
            let message = format!(
                "Argument {argument} of instruction '{name}': unexpected value '{value}', {why}"
            );
            let span = match argument < case.operands().len() {
                true => case.span(argument),
                false => case.source.span,
            };
            self.diagnostics.error(span, message);
        }
        self.address_width(case);
        right
    }

    /// Looks the instruction up; None after an error.
    fn find_form(&mut self, case: &Case<'_, 's>) -> Option<Form> {
        // The table is of sm_90a: what later SMs have besides is not in it.
        if self.target.is_some_and(|sm| sm.number > 90) {
            return Some(Form::Unknown);
        }
        let opcode = case.source.opcode;
        let texts = case.modifiers().map(|word| word.text);
        let modifiers: SmallVec<[(Word, &str); 8]> =
            case.instruction.modifiers.iter().copied().zip(texts).collect();
        let Some(words) = Words::new(case.instruction.opcode, &modifiers) else {
            let message = format!(
                "Instruction '{}' not supported on .target '{}'",
                case.name(),
                self.program.target
            );
            self.diagnostics.error(opcode.span, message);
            return None;
        };
        if let Some(word) = words.doubled {
            let message = format!("Multiple modifiers '.{word}' specified");
            self.diagnostics.error(opcode.span, message);
            return None;
        }
        if let Some(table::Found { version, sm, operands }) = words.find() {
            return Some(Form::Right { operands, version, sm });
        }
        let diagnostic = no_form(case, &words);
        self.diagnostics.push(diagnostic);
        None
    }

    fn form_gate(&mut self, case: &Case<'_, 's>, version: u32, sm: u32) {
        let span = case.source.opcode.span;
        // sm_90a and its like have what later ones need not have.
        let family = sm % 10 == 1 && sm > 90;
        let least = if family { 0 } else { sm };
        let version = (version / 10, version % 10);
        if !self.passes(version, least) {
            self.gate(&case.name(), version, least, span);
        }
        if family && self.lowest_target.is_some_and(|target| target.suffix.is_none()) {
            let message = format!(
                "Instruction '{}' not supported on .target '{}'",
                case.name(),
                self.program.target
            );
            self.diagnostics.error(span, message);
        }
    }

    /// Whether the operands are those of one list of the table.
    fn operands_fit(&self, list: &[Slot], case: &Case<'_, 's>) -> bool {
        let operands = case.instruction.operands.iter().zip(case.operands());
        list.len() == case.instruction.operands.len()
            && list.iter().zip(operands).all(|(slot, (operand, source))| {
                self.operand_fits(slot, operand, source, case.tree)
            })
    }

    fn operand_fits(
        &self,
        slot: &Slot,
        operand: &Operand,
        source: &ast::Operand,
        tree: &Tree<'s>,
    ) -> bool {
        let of = |set: u64, operand: &Operand, source: &ast::Operand| {
            self.scalar(operand, source).is_some_and(|bit| set >> bit & 1 != 0)
        };
        match (slot, operand) {
            // Observed: ptxas 13.0.88 knows no other vectors there.
            (Slot::Any, Operand::Vector(items)) => matches!(items.len(), 1 | 2 | 4 | 8),
            (Slot::Any, _) => true,
            (Slot::Value(set, _), _) => of(*set, operand, source),
            (Slot::Address(set), Operand::Address { base, .. }) => {
                set >> self.base_class(*base) & 1 != 0
            }
            (Slot::Vector(count, set), Operand::Vector(items)) => {
                let sources: &[ast::Operand] = match source {
                    ast::Operand::Vector(sources, _) => tree.operands(*sources),
                    _ => &[],
                };
                let mut pairs = items.iter().enumerate();
                items.len() == usize::from(*count)
                    && self.same_sizes(items)
                    && pairs.all(|(i, item)| of(*set, item, sources.get(i).unwrap_or(source)))
            }
            (Slot::Pair(set), Operand::Pair(both)) => {
                let ast::Operand::Pair(sources) = source else { return false };
                of(*set, &both.0, tree.operand(*sources))
                    && of(set >> 32, &both.1, tree.operand(sources + 1))
            }
            (Slot::Parts(wanted), Operand::AddressList(parts)) => {
                let same = |(part, wanted): (&Operand, &u8)| match part {
                    Operand::Vector(items) => items.len() == usize::from(*wanted),
                    _ => *wanted == 0,
                };
                parts.len() == wanted.len() && parts.iter().zip(*wanted).all(same)
            }
            _ => false,
        }
    }

    /// Whether the registers among a vector's elements are of one size.
    fn same_sizes(&self, items: &[Operand]) -> bool {
        let mut sizes = items.iter().filter_map(|item| match item {
            Operand::Reg(reg) | Operand::Element(reg, _) => Some(self.register(*reg).ty.bits()),
            _ => None,
        });
        let first = sizes.next();
        sizes.all(|size| Some(size) == first)
    }

    /// See [`wide_address`].
    fn address_width(&mut self, case: &Case<'_, 's>) {
        let Some(wide) = self.forms.all[case.spelling()].address else { return };
        for (i, operand) in case.instruction.operands.iter().enumerate() {
            if let Operand::Address { base, .. } = operand
                && self.base_class(*base) == 11
            {
                let message = format!("Illegal operand type to instruction '{}'", case.name());
                let diagnostic = Diagnostic::error(case.span(i), message)
                    .note("textures and surfaces have no address here");
                self.diagnostics.push(diagnostic);
            }
        }
        if !wide {
            return;
        }
        for (i, operand) in case.instruction.operands.iter().enumerate() {
            let Operand::Address { base, .. } = operand else { continue };
            if self.base_class(*base) == 1 {
                let message = "32-Bit ABI (--machine 32 or 32-Bit addressing) is not supported on sm_90 or higher architectures.";
                let diagnostic = Diagnostic::error(case.span(i), message)
                    .note("an address in global or generic memory has 64 bits");
                self.diagnostics.push(diagnostic);
            }
        }
    }

    /// The bit of what stands where one value is wanted (see the header of the table); None for
    /// what never does.
    fn scalar(&self, operand: &Operand, source: &ast::Operand) -> Option<u32> {
        if let ast::Operand::Const(value, _) = source {
            return Some(if value.is_int() { 18 } else { 19 });
        }
        Some(match operand {
            Operand::Reg(reg) | Operand::Element(reg, _) => register_class(self.register(*reg).ty),
            Operand::Int(_) => 18,
            Operand::F32(_) | Operand::F64(_) => 19,
            Operand::Special(Special::IsExplicitCluster) => 22,
            Operand::Special(special) if super::special::bits(*special) == 64 => 21,
            Operand::Special(_) => 20,
            Operand::Vector(items) => match (items.first(), source) {
                (Some(Operand::Special(_)), ast::Operand::Name(..)) => 23,
                _ => return None,
            },
            Operand::Sink => 24,
            Operand::NotReg(_) => 25,
            Operand::Neg(inner) => match **inner {
                Operand::Part(..) => 35,
                _ => 26,
            },
            Operand::Var(var, _) => match &self.program.vars[var.0 as usize] {
                Variable { ty: Type::TexRef | Type::SamplerRef, .. } => 36,
                Variable { ty: Type::SurfRef, .. } => 37,
                Variable { space: Space::Shared, .. } => 28,
                Variable { space: Space::Local, .. } => 29,
                Variable { space: Space::Const, .. } => 30,
                Variable { space: Space::Param, .. } => 31,
                _ => 27,
            },
            Operand::Func(_) => 32,
            Operand::Label(_) => 33,
            Operand::BranchTargets(_) | Operand::CallTargets(_) | Operand::Prototype(_) => 34,
            Operand::Part(..) => 35,
            _ => return None,
        })
    }

    /// The bit of an address's base.
    fn base_class(&self, base: AddressBase) -> u32 {
        match base {
            AddressBase::Absolute => 10,
            AddressBase::Reg(reg) => match self.register(reg).ty {
                Type::B64 | Type::U64 | Type::S64 => 0,
                Type::B32 | Type::U32 | Type::S32 => 1,
                Type::F32 | Type::F16x2 => 3,
                Type::Pred => 4,
                Type::F64 => 14,
                Type::B128 => 15,
                _ => 2,
            },
            AddressBase::Var(var) => match &self.program.vars[var.0 as usize] {
                Variable { ty: Type::TexRef | Type::SamplerRef | Type::SurfRef, .. } => 11,
                Variable { space: Space::Shared, .. } => 6,
                Variable { space: Space::Local, .. } => 7,
                Variable { space: Space::Const, .. } => 8,
                var @ Variable { space: Space::Param, .. } if self.is_parameter(var) => 9,
                Variable { space: Space::Param, .. } => 16,
                _ => 5,
            },
        }
    }
}

/// Says what is wrong with an instruction whose words do not go together.
fn no_form(case: &Case<'_, '_>, words: &Words<'_>) -> Diagnostic {
    let span = case.source.opcode.span;
    if let Some(stranger) = words.stranger() {
        let found = case.modifiers().find(|word| word.text == stranger);
        let message = format!("Illegal modifier '.{stranger}' for instruction '{}'", words.name);
        return Diagnostic::error(found.map_or(span, |word| word.span), message);
    }
    if words.types_stand() {
        let message = format!("Illegal modifiers for instruction '{}'", words.name);
        return Diagnostic::error(span, message)
            .note("these modifiers and state spaces do not go together, or one is missing");
    }
    let message = format!("Unexpected instruction types specified for '{}'", words.name);
    Diagnostic::error(span, message)
}

/// The bit of a register's type.
fn register_class(ty: Type) -> u32 {
    use Type::*;
    match ty {
        B8 => 0,
        U8 => 1,
        S8 => 2,
        B16 => 3,
        U16 => 4,
        S16 => 5,
        F16 => 6,
        B32 => 7,
        U32 => 8,
        S32 => 9,
        F32 => 10,
        F16x2 => 11,
        B64 => 12,
        U64 => 13,
        S64 => 14,
        F64 => 15,
        Pred => 16,
        B128 => 17,
        _ => 63,
    }
}
