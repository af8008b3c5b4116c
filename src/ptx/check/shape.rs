//! What of an instruction's operands its checks look at, as a few bytes: two instructions of one
//! spelling and one shape are both right or both wrong, so that most are checked by a comparison.

use crate::ptx::constant::Const;
use crate::ptx::program::Special;
use crate::ptx::types::Type;

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
pub(super) mod kind {
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
pub(super) const ADDRESS_OF: u8 = kind::SPECIAL | 4;

/// Behind the number of a vector's elements: all are the registers of one type that follows.
pub(super) const ALIKE: u8 = kind::OTHER | 7;

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
    pub fn push(&mut self, byte: u8) {
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
