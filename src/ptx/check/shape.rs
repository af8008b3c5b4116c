//! What of an instruction's operands its checks look at, as a few bytes: two instructions of one
//! spelling and one shape are both right or both wrong, so that most are checked by a comparison.

use super::Checker;
use crate::ptx::ast::{self, Tree};
use crate::ptx::constant::Const;
use crate::ptx::program::{AddressBase, Operand, RegId, Special, VarId, Variable};
use crate::ptx::types::{Space, Type};

/// A shape as far as it is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// The guard's byte, which is not 0, and those of the operands behind it.
    bytes: u128,
    /// No room, or an operand that is to be checked on its own.
    unknown: bool,
    /// Values of integer constants are part of it.
    by_value: bool,
    /// It has a constant, of which an operand's type may make another one.
    pub constants: bool,
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

/// Of a special register's byte: it is a variable's address, and a byte for each of what counts of
/// the variable follows.
const ADDRESS_OF: u8 = kind::SPECIAL | 4;

/// Behind the number of a vector's elements: all are the registers of one type that follows.
const ALIKE: u8 = kind::OTHER | 7;

impl Shape {
    pub fn new(guarded: bool, by_value: bool) -> Shape {
        let bytes = 2 | u128::from(guarded);
        Shape { bytes, unknown: false, by_value, constants: false }
    }

    /// All of it; None of an instruction that is to be checked on its own.
    pub fn whole(&self) -> Option<u128> {
        (!self.unknown).then_some(self.bytes)
    }

    /// Makes it that of an instruction which is to be checked on its own.
    pub fn give_up(&mut self) {
        self.unknown = true;
    }

    #[inline]
    fn push(&mut self, byte: u8) {
        self.unknown |= self.bytes >> 120 != 0;
        self.bytes = self.bytes << 8 | u128::from(byte);
    }

    #[inline]
    pub fn register(&mut self, ty: Type) {
        self.push(kind::REGISTER | ty as u8);
    }

    /// A negated predicate.
    pub fn not(&mut self, ty: Type) {
        self.push(kind::NOT | ty as u8);
    }

    /// The shapes of both come behind it.
    pub fn pair(&mut self) {
        self.push(kind::OTHER | 4);
    }

    pub fn label(&mut self) {
        self.push(kind::OTHER | 6);
    }

    #[inline]
    pub fn constant(&mut self, value: Const) {
        self.constants = true;
        match value {
            Const::Int { bits, .. } => {
                self.push(kind::OTHER);
                if self.by_value {
                    self.unknown |= bits > 255;
                    self.push(bits as u8);
                }
            }
            Const::F32(_) => self.push(kind::OTHER | 1),
            Const::F64(_) => self.push(kind::OTHER | 2),
        }
    }
}

/// Of a special register.
pub(super) fn special(register: Special, shape: &mut Shape) {
    shape.push(match register {
        Special::IsExplicitCluster => kind::SPECIAL | 1,
        other => kind::SPECIAL | u8::from(super::special::bits(other) == 64) << 1,
    });
}

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
            (Operand::Pair(first, second), ast::Operand::Pair(both)) => {
                shape.pair();
                self.operand_shape(first, tree.operand(*both), tree, shape);
                self.operand_shape(second, tree.operand(both + 1), tree, shape);
            }
            (Operand::Special(register), _) => special(*register, shape),
            (Operand::Var(var, _), ast::Operand::Name(..)) => self.variable_shape(*var, shape),
            (Operand::Sink, _) => shape.push(kind::OTHER | 5),
            (Operand::Label(_), _) => shape.label(),
            _ => shape.unknown = true,
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
