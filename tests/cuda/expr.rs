//! Expressions: whatever their operands are, they have a value.

use crate::program::Lvalue;
use crate::types::Scalar;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unary {
    Neg,
    Not,
    /// 1 for zero, else 0, as `i32`.
    Zero,
    Abs,
    Sqrt,
    Floor,
    Ceil,
    Trunc,
    Rint,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    /// Integers that C adds, subtracts and multiplies as they are: the sum is in the type's range.
    PlainAdd,
    PlainSub,
    PlainMul,
    /// The dividend where there is no quotient, and no remainder.
    Div,
    Rem,
    And,
    Or,
    Xor,
    /// By the length modulo the number of bits.
    Shl,
    Shr,
    Min,
    Max,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    Constant(Scalar, u64),
    Load(Lvalue, Scalar),
    /// A word of the thread's inputs, as `u64`; in kernels.
    Input(usize),
    /// `threadIdx.x`, `blockIdx.x` and the lane, as `u32`.
    Thread,
    Block,
    Lane,
    Unary(Unary, Scalar, Box<Expr>),
    Binary(Binary, Scalar, Box<Expr>, Box<Expr>),
    /// As `i32`.
    Compare(Compare, Scalar, Box<Expr>, Box<Expr>),
    Both(Box<Expr>, Box<Expr>),
    Either(Box<Expr>, Box<Expr>),
    Choose(Box<Expr>, Scalar, Box<Expr>, Box<Expr>),
    /// To an integer from a float: of the nearest number in range, zero for a NaN.
    Cast(Scalar, Scalar, Box<Expr>),
    Intrinsic(usize, Vec<Expr>),
    /// A pure function.
    Call(usize, Scalar, Vec<Expr>),
}

impl Expr {
    pub fn ty(&self) -> Scalar {
        match self {
            Expr::Constant(ty, _) | Expr::Load(_, ty) | Expr::Call(_, ty, _) => *ty,
            Expr::Input(_) => Scalar::U64,
            Expr::Thread | Expr::Block | Expr::Lane => Scalar::U32,
            Expr::Unary(Unary::Zero, ..)
            | Expr::Compare(..)
            | Expr::Both(..)
            | Expr::Either(..) => Scalar::I32,
            Expr::Unary(_, ty, _) | Expr::Binary(_, ty, _, _) | Expr::Choose(_, ty, _, _) => *ty,
            Expr::Cast(to, _, _) => *to,
            Expr::Intrinsic(which, _) => crate::intrinsics::ALL[*which].result,
        }
    }
}
