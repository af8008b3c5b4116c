//! What of an instruction's operands its checks look at, as a few bytes: two instructions of one
//! spelling and one shape are both right or both wrong, so that most are checked by a comparison.

use super::Checker;
use super::rules::Case;
use crate::ptx::ast;
use crate::ptx::constant::Const;
use crate::ptx::program::{AddressBase, Operand, Special, Variable};
use crate::ptx::types::Space;

/// Bytes of a shape: operands of the largest instructions that come in numbers, `mma` with four
/// vectors.
const BYTES: usize = 32;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shape {
    bytes: [u8; BYTES],
    len: u8,
    /// It has an integer constant, which a rule may be about.
    pub integer: bool,
}

/// Kinds of operands: the upper three bits of a byte; below is a type or a number.
mod kind {
    pub const REGISTER: u8 = 0 << 5;
    pub const NOT: u8 = 1 << 5;
    pub const ELEMENT: u8 = 2 << 5;
    pub const ADDRESS: u8 = 3 << 5;
    pub const VARIABLE: u8 = 4 << 5;
    pub const VECTOR: u8 = 5 << 5;
    pub const SPECIAL: u8 = 6 << 5;
    pub const OTHER: u8 = 7 << 5;
}

impl Shape {
    /// None: there is no room for more.
    fn push(&mut self, byte: u8) -> Option<()> {
        *self.bytes.get_mut(usize::from(self.len))? = byte;
        self.len += 1;
        Some(())
    }
}

impl<'s> Checker<'s> {
    /// None of an instruction that is to be checked on its own.
    pub(super) fn shape(&self, case: &Case<'_, 's>) -> Option<Shape> {
        let mut shape = Shape { bytes: [0; BYTES], len: 0, integer: false };
        shape.push(u8::from(case.instruction.guard.is_some()))?;
        for (operand, written) in case.instruction.operands.iter().zip(case.operands()) {
            self.operand_shape(operand, written, case, &mut shape)?;
        }
        // Nothing may be written to the register of a sum.
        self.sums.is_empty().then_some(shape)
    }

    fn operand_shape(
        &self,
        operand: &Operand,
        written: &ast::Operand<'s>,
        case: &Case<'_, 's>,
        shape: &mut Shape,
    ) -> Option<()> {
        if let ast::Operand::Const(value, _) = written {
            shape.integer |= value.is_int();
            return shape.push(match value {
                Const::Int { .. } => kind::OTHER,
                Const::F32(_) => kind::OTHER | 1,
                Const::F64(_) => kind::OTHER | 2,
            });
        }
        match (operand, written) {
            (Operand::Reg(reg), _) => shape.push(kind::REGISTER | self.register(*reg).ty as u8),
            (Operand::NotReg(reg), _) => shape.push(kind::NOT | self.register(*reg).ty as u8),
            (Operand::Element(reg, _), _) => {
                shape.push(kind::ELEMENT | self.register(*reg).ty as u8)
            }
            (Operand::Address { base, .. }, ast::Operand::Address(..)) => match base {
                AddressBase::Reg(reg) => shape.push(kind::ADDRESS | self.register(*reg).ty as u8),
                AddressBase::Absolute => shape.push(kind::OTHER | 3),
                AddressBase::Var(var) => {
                    let var = &self.program.vars[var.0 as usize];
                    shape.push(kind::VARIABLE | var.ty as u8)?;
                    shape.push(var.space as u8)?;
                    shape.push(self.role(var))
                }
            },
            (Operand::Vector(items), ast::Operand::Vector(list, _)) if items.len() < 32 => {
                shape.push(kind::VECTOR | items.len() as u8)?;
                let written = case.tree.operands(*list);
                let mut both = items.iter().zip(written);
                both.try_for_each(|(item, written)| self.operand_shape(item, written, case, shape))
            }
            (Operand::Pair(first, second), ast::Operand::Pair(both)) => {
                shape.push(kind::OTHER | 4)?;
                self.operand_shape(first, case.tree.operand(*both), case, shape)?;
                self.operand_shape(second, case.tree.operand(both + 1), case, shape)
            }
            (Operand::Special(Special::IsExplicitCluster), _) => shape.push(kind::SPECIAL | 1),
            (Operand::Special(special), _) => {
                shape.push(kind::SPECIAL | u8::from(super::special::bits(*special) == 64) << 1)
            }
            (Operand::Sink, _) => shape.push(kind::OTHER | 5),
            (Operand::Label(_), _) => shape.push(kind::OTHER | 6),
            _ => None,
        }
    }

    /// Whether a variable is a parameter of the function, or what it returns.
    fn role(&self, var: &Variable) -> u8 {
        match var.space {
            Space::Param => u8::from(self.is_parameter(var)) | u8::from(self.is_result(var)) << 1,
            _ => 0,
        }
    }
}
