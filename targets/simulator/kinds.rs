//! Kinds of combinations and atomics: what prepared instructions, copies and lanes name alike.

/// How a comparison's result is combined with the third predicate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Combine {
    And,
    Or,
    Xor,
}

impl Combine {
    /// From the low two bits of a lane operation's parameter.
    #[inline]
    pub fn from_code(code: u16) -> Combine {
        match code & 3 {
            0 => Combine::And,
            1 => Combine::Or,
            _ => Combine::Xor,
        }
    }

    #[inline]
    pub fn apply(self, a: bool, b: bool) -> bool {
        match self {
            Combine::And => a && b,
            Combine::Or => a || b,
            Combine::Xor => a != b,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtomicKind {
    Add,
    Min,
    Max,
    Inc,
    Dec,
    And,
    Or,
    Xor,
    Exchange,
    CompareSwap,
    /// CAST.SPIN: a compare-and-swap that gives 1 where it stored and 0 where not.
    CompareStore,
    /// ATOMS.POPC.INC: adds the number of lanes with the same address.
    PopcInc,
}

/// The type of an atomic's operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtomicType {
    U32,
    S32,
    U64,
    S64,
    F32 { ftz: bool },
    F64,
    F16x2,
    Bf16x2,
    B128,
}

impl AtomicType {
    /// Bytes of one element.
    pub fn bytes(self) -> usize {
        match self {
            AtomicType::U64 | AtomicType::S64 | AtomicType::F64 => 8,
            AtomicType::B128 => 16,
            _ => 4,
        }
    }
}
