//! The [`Shape`] of an instruction's operands, as the checker knows what they name.

use super::Checker;
use super::shape::{ADDRESS_OF, ALIKE, Shape, kind, special};
use crate::ptx::ast::{self, Tree};
use crate::ptx::program::{AddressBase, Operand, RegId, VarId, Variable};
use crate::ptx::types::Space;

impl<'s> Checker<'s> {
    #[inline]
    pub(super) fn register_shape(&self, reg: RegId, shape: &mut Shape) {
        shape.register(self.register(reg).ty);
    }

    /// Of an address, whatever its offset is.
    #[inline]
    pub(super) fn base_shape(&self, base: AddressBase, shape: &mut Shape) {
        match base {
            AddressBase::Reg(reg) => shape.push(kind::ADDRESS | self.register(reg).ty as u8),
            AddressBase::Absolute => shape.push(kind::OTHER | 3),
            AddressBase::Var(var) => {
                let var = &self.program.vars[var.0 as usize];
                shape.push(kind::VARIABLE | var.ty as u8);
                shape.push(var.space as u8);
                shape.push(self.role(var));
            }
        }
    }

    /// Of a variable's address.
    pub(super) fn variable_shape(&self, var: VarId, shape: &mut Shape) {
        shape.push(ADDRESS_OF);
        self.base_shape(AddressBase::Var(var), shape);
    }

    /// Of a vector; false where it is not one of registers that have one type.
    pub(super) fn alike_shape(&self, items: &[Operand], shape: &mut Shape) -> bool {
        let (Some(first), Ok(count)) = (self.alike(items), u8::try_from(items.len())) else {
            return false;
        };
        shape.push(kind::VECTOR);
        shape.push(count);
        shape.push(ALIKE);
        self.register_shape(first, shape);
        true
    }

    pub(super) fn operand_shape(
        &self,
        operand: &Operand,
        written: &ast::Operand,
        tree: &Tree<'s>,
        shape: &mut Shape,
    ) {
        match (operand, written) {
            (_, ast::Operand::Const(value, _)) => shape.constant(*value),
            (Operand::Reg(reg), _) => self.register_shape(*reg, shape),
            (Operand::NotReg(reg), _) => shape.not(self.register(*reg).ty),
            (Operand::Element(reg, _), _) => {
                shape.push(kind::ELEMENT | self.register(*reg).ty as u8);
            }
            (Operand::Address { base, .. }, ast::Operand::Address(..)) => {
                self.base_shape(*base, shape);
            }
            (Operand::Vector(items), ast::Operand::Vector(list, _)) if items.len() < 256 => {
                if self.alike_shape(items, shape) {
                    return;
                }
                shape.push(kind::VECTOR);
                shape.push(items.len() as u8);
                for (item, written) in items.iter().zip(tree.operands(*list)) {
                    self.operand_shape(item, written, tree, shape);
                }
            }
            (Operand::Pair(both), ast::Operand::Pair(sources)) => {
                shape.pair();
                self.operand_shape(&both.0, tree.operand(*sources), tree, shape);
                self.operand_shape(&both.1, tree.operand(sources + 1), tree, shape);
            }
            (Operand::Special(register), _) => special(*register, shape),
            (Operand::Var(var, _), ast::Operand::Name(..)) => self.variable_shape(*var, shape),
            (Operand::Sink, _) => shape.push(kind::OTHER | 5),
            (Operand::Label(_), _) => shape.label(),
            _ => shape.give_up(),
        }
    }

    /// The first of a vector of registers that have one type.
    fn alike(&self, items: &[Operand]) -> Option<RegId> {
        let reg = |item: &Operand| match item {
            Operand::Reg(reg) => Some(*reg),
            _ => None,
        };
        let first = reg(items.first()?)?;
        let ty = self.register(first).ty;
        let same = |item| reg(item).is_some_and(|reg| self.register(reg).ty == ty);
        items.iter().all(same).then_some(first)
    }

    /// Whether a variable is a parameter of the function, or what it returns.
    fn role(&self, var: &Variable) -> u8 {
        match var.space {
            Space::Param => u8::from(self.is_parameter(var)) | u8::from(self.is_result(var)) << 1,
            _ => 0,
        }
    }
}
