//! Operands: names to registers, variables, labels and special registers; literals to the
//! instruction's type.

use super::Checker;
use super::literal::{literal, literal_type};
use super::scope::Entity;
use super::special;
use super::sum::Sum;
use crate::ptx::ast::{self, Ident, Number, Operands, Tree};
use crate::ptx::program::{AddressBase, Operand, RegId, Register, Special, Words};
use crate::ptx::types::{Span, Type, TypeKind};
use crate::ptx::words::{Op, Word};
use std::sync::Arc;
use thin_vec::ThinVec;

/// The instruction whose operands are looked at.
pub(super) struct Of<'a, 's> {
    pub tree: &'a Tree<'s>,
    /// None where there is none of the name.
    pub opcode: Option<Op>,
    pub types: &'a [Type],
}

impl<'s> Checker<'s> {
    /// None when an error was reported. Recursion is as deep as the parser's.
    pub(super) fn operand(&mut self, operand: &ast::Operand, of: &Of<'_, 's>) -> Option<Operand> {
        let tree = of.tree;
        match operand {
            ast::Operand::Name(name, number) => self.named(*name, *number),
            ast::Operand::Const(value, _) => Some(literal(*value, literal_type(of.types))),
            ast::Operand::Symbolic(span) => {
                let message = "A constant expression may not use symbols here";
                self.diagnostics.error(*span, message);
                None
            }
            ast::Operand::Not(name) => match self.lookup(self.ident(*name)) {
                Some(Entity::Reg(reg)) => Some(Operand::NotReg(reg)),
                Some(_) => {
                    let text = self.text(*name);
                    let message = format!("Predicate register expected; '{text}' is none");
                    self.diagnostics.error(*name, message);
                    None
                }
                None => {
                    self.unknown(self.ident(*name));
                    None
                }
            },
            ast::Operand::Negate(inner) => {
                let value = self.operand(tree.operand(*inner), of)?;
                Some(Operand::Neg(Box::new(value)))
            }
            // Observed: ptxas 13.0.88 reads no sums in vectors.
            ast::Operand::Vector(items, _) => {
                let mut items_of = tree.operands(*items).iter();
                if let Some(sum) = items_of.find(|item| matches!(item, ast::Operand::Sum(..))) {
                    self.diagnostics.error(tree.span(sum), "Offset not allowed in a vector");
                    return None;
                }
                Some(Operand::Vector(self.operands(*items, of)?))
            }
            ast::Operand::List(items, _) => Some(Operand::List(self.operands(*items, of)?)),
            ast::Operand::Address(parts, span) => self.address(*parts, *span, of),
            ast::Operand::Sum(name, _, offset) => {
                self.sum(self.ident(*name), tree.operand(*offset), of)
            }
            ast::Operand::Index(name, index, span) => {
                self.index(self.ident(*name), tree.operand(*index), *span, of)
            }
            ast::Operand::Pair(both) => {
                let first = self.operand(tree.operand(*both), of);
                let second = self.operand(tree.operand(both + 1), of);
                Some(Operand::Pair(Box::new((first?, second?))))
            }
            ast::Operand::Element(name, element) => self.element(self.ident(*name), *element),
            ast::Operand::Sink(_) => Some(Operand::Sink),
        }
    }

    /// All of them, or None after reporting what is wrong with each.
    fn operands(&mut self, items: Operands, of: &Of<'_, 's>) -> Option<ThinVec<Operand>> {
        let mut all = ThinVec::with_capacity(items.len());
        for item in of.tree.operands(items) {
            all.extend(self.operand(item, of));
        }
        (all.len() == items.len()).then_some(all)
    }

    fn named(&mut self, name: Span, number: Option<Number>) -> Option<Operand> {
        let name = self.ident(name);
        let Some(entity) = self.lookup_numbered(name, number) else {
            if let Some(register) = special::scalar(name.text) {
                self.special_gate(name, register);
                return Some(Operand::Special(register));
            }
            if let Some(register) = special::vector(name.text) {
                self.special_gate(name, register(0));
                return Some(Operand::Vector(
                    (0..4).map(|element| Operand::Special(register(element))).collect(),
                ));
            }
            self.unknown(name);
            return None;
        };
        Some(match entity {
            Entity::Reg(reg) => match self.body.regs[reg.0 as usize].vector {
                1 => Operand::Reg(reg),
                count => {
                    Operand::Vector((0..count as u8).map(|i| Operand::Element(reg, i)).collect())
                }
            },
            Entity::Var(var) => Operand::Var(var, 0.into()),
            Entity::Func(function) => Operand::Func(function),
            Entity::Label(label) => Operand::Label(label),
            Entity::BranchTargets(list) => Operand::BranchTargets(list),
            Entity::CallTargets(list) => Operand::CallTargets(list),
            Entity::Prototype(list) => Operand::Prototype(list),
            // lookup turns an unused register into a register.
            Entity::Unused(_) => return None,
        })
    }

    fn element(&mut self, name: Ident<'s>, element: Span) -> Option<Operand> {
        let element = self.ident(element);
        let selector = special::element(element.text);
        match self.lookup(name) {
            Some(Entity::Reg(reg)) => {
                let vector = self.body.regs[reg.0 as usize].vector;
                if vector > 1 {
                    if let Some(place) = selector.filter(|place| u32::from(*place) < vector) {
                        return Some(Operand::Element(reg, place));
                    }
                } else if let Some(part) = special::part(element.text) {
                    return Some(Operand::Part(reg, part));
                }
                self.unknown_selector(element);
                None
            }
            Some(_) => {
                self.unknown_selector(element);
                None
            }
            None => match (special::vector(name.text), selector) {
                (Some(register), Some(place)) => {
                    self.special_gate(name, register(place));
                    Some(Operand::Special(register(place)))
                }
                (Some(_), None) => {
                    self.unknown_selector(element);
                    None
                }
                (None, _) => {
                    self.unknown(name);
                    None
                }
            },
        }
    }

    fn special_gate(&mut self, name: Ident<'s>, register: Special) {
        let (version, sm) = special::since(register);
        self.gate(name.text, version, sm, name.span);
    }

    fn unknown_selector(&mut self, element: Ident<'s>) {
        let message = format!("Unknown vector selector: '{}'", element.text);
        self.diagnostics.error(element.span, message);
    }

    /// `name + offset` as a value: the address of a variable, or a register and a number.
    fn sum(&mut self, name: Ident<'s>, offset: &ast::Operand, of: &Of<'_, 's>) -> Option<Operand> {
        let span = of.tree.span(offset);
        let offset = self.offset(offset, span);
        match self.lookup(name) {
            Some(Entity::Var(var)) => Some(Operand::Var(var, offset?.into())),
            Some(Entity::Reg(reg)) if of.opcode != Some(Op::Call) => {
                self.register_sum(reg, offset?, name, span)
            }
            Some(_) => {
                let message = format!("Offset not allowed: '{}' is not a variable", name.text);
                self.diagnostics.error(name.span, message);
                None
            }
            None => {
                self.unknown(name);
                None
            }
        }
    }

    /// `register + number` where a value is read: an addition before the instruction, as wide as
    /// the register (observed: ptxas 13.0.88 adds so, and dies of registers of floats).
    fn register_sum(
        &mut self,
        reg: RegId,
        offset: i64,
        name: Ident<'s>,
        end: Span,
    ) -> Option<Operand> {
        let Register { ty, vector, .. } = self.body.regs[reg.0 as usize];
        let integer = matches!(ty.kind(), TypeKind::Signed | TypeKind::Unsigned | TypeKind::Bits);
        let word = match ty.bytes() {
            2 => Some(Word::U16),
            4 => Some(Word::U32),
            8 => Some(Word::U64),
            _ => None,
        };
        let Some(word) = word.filter(|_| integer && vector == 1) else {
            let message =
                format!("Offset not allowed: '{}' is no integer of 16 to 64 bits", name.text);
            self.diagnostics.error(name.span, message);
            return None;
        };
        let span = name.span.to(end);
        let text = self.source.get(span.start as usize..span.end as usize).unwrap_or(name.text);
        let regs = &mut self.body.regs;
        regs.push(Register { name: text, ty, vector: 1 });
        let sum = RegId(regs.len() as u32 - 1);
        let words = Arc::new(Words::new(Op::Add, smallvec::smallvec![word]));
        let operands = vec![Operand::Reg(sum), Operand::Reg(reg), Operand::Int(offset.into())];
        self.sums.push(Sum { words, operands, span });
        Some(Operand::Reg(sum))
    }

    fn offset(&mut self, written: &ast::Operand, span: Span) -> Option<i64> {
        let value = match written {
            ast::Operand::Const(value, _) => value.as_i128(),
            _ => None,
        };
        if value.is_none() {
            self.diagnostics.error(span, "The offset of an address must be an integer");
        }
        value.map(|value| value as i64)
    }

    /// `array[3]`: the address of an element.
    fn index(
        &mut self,
        name: Ident<'s>,
        index: &ast::Operand,
        span: Span,
        of: &Of<'_, 's>,
    ) -> Option<Operand> {
        let var = match self.lookup(name) {
            Some(Entity::Var(var)) => var,
            Some(_) => {
                self.diagnostics.error(name.span, format!("'{}' is not an array", name.text));
                return None;
            }
            None => {
                self.unknown(name);
                return None;
            }
        };
        let (ast::Operand::Const(_, place) | ast::Operand::Symbolic(place)) = index else {
            let message = "An array element's index must be a constant";
            self.diagnostics.error(span, message);
            return None;
        };
        // Observed: ptxas 13.0.88 scales by the element type's size.
        let scale = i64::from(self.program.vars[var.0 as usize].ty.bytes());
        let offset = self.offset(index, *place)?.wrapping_mul(scale);
        Some(match of.opcode {
            Some(Op::Mov | Op::Cvta) => Operand::Var(var, offset.into()),
            _ => Operand::Address { base: AddressBase::Var(var), offset },
        })
    }

    fn address(&mut self, list: Operands, span: Span, of: &Of<'_, 's>) -> Option<Operand> {
        let parts = of.tree.operands(list);
        match parts {
            [] => {
                self.diagnostics.error(span, "An address is missing between '[' and ']'");
                None
            }
            [part] => self.base(part, of),
            [first, rest @ ..] => {
                let first = match first {
                    ast::Operand::Name(name, number) => self.named(*name, *number),
                    other => self.base(other, of),
                };
                // Observed: ptxas 13.0.88 reads names and vectors there, without offsets.
                let plain = |part: &&ast::Operand| {
                    use ast::Operand::{Const, Sum, Symbolic};
                    !matches!(part, Const(..) | Symbolic(_) | Sum(..))
                };
                if let Some(part) = parts.iter().find(|part| !plain(part)) {
                    let message =
                        "A register or a vector is expected in an address of several parts";
                    self.diagnostics.error(of.tree.span(part), message);
                    return None;
                }
                let mut all = ThinVec::with_capacity(parts.len());
                all.extend(first);
                for part in rest {
                    all.extend(self.operand(part, of));
                }
                (all.len() == parts.len()).then_some(Operand::AddressList(all))
            }
        }
    }

    /// `base`, `base + offset` or a number, inside brackets.
    fn base(&mut self, part: &ast::Operand, of: &Of<'_, 's>) -> Option<Operand> {
        let (name, number, offset) = match part {
            ast::Operand::Name(name, number) => (self.ident(*name), *number, Some(0)),
            ast::Operand::Sum(name, number, offset) => {
                let offset = of.tree.operand(*offset);
                let name = self.ident(*name);
                (name, *number, self.offset(offset, of.tree.span(offset)))
            }
            ast::Operand::Const(_, span) | ast::Operand::Symbolic(span) => {
                let offset = self.offset(part, *span)?;
                return Some(Operand::Address { base: AddressBase::Absolute, offset });
            }
            other => {
                let message = "An address is a register, a variable or a number, plus an offset";
                self.diagnostics.error(of.tree.span(other), message);
                return None;
            }
        };
        let base = match self.lookup_numbered(name, number) {
            Some(Entity::Reg(reg)) => AddressBase::Reg(reg),
            Some(Entity::Var(var)) => AddressBase::Var(var),
            Some(_) => {
                let message = format!("'{}' has no address in memory", name.text);
                self.diagnostics.error(name.span, message);
                return None;
            }
            None => {
                self.unknown(name);
                return None;
            }
        };
        Some(Operand::Address { base, offset: offset? })
    }
}
