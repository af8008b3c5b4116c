//! Expressions of a type.

use super::Generator;
use crate::intrinsics;
use crate::program::{Binary, Compare, Expr, Unary};
use crate::types::Scalar;
use orias_fuzz::generate::{double, integer, single};

impl Generator {
    /// The value as another type.
    pub(super) fn converted(&mut self, expr: Expr, to: Scalar) -> Expr {
        let from = expr.ty();
        if from == to { expr } else { Expr::Cast(to, from, Box::new(expr)) }
    }

    pub(super) fn constant(&mut self, ty: Scalar) -> Expr {
        let bits = match ty {
            Scalar::F32 => {
                let bits = single(&mut self.random);
                u64::from(if f32::from_bits(bits).is_finite() { bits } else { 0x3fc0_0000 })
            }
            Scalar::F64 => {
                let bits = double(&mut self.random);
                if f64::from_bits(bits).is_finite() { bits } else { 0x4004_0000_0000_0000 }
            }
            _ if self.random.chance(50) => self.random.range(-9, 40) as u64,
            _ => integer(&mut self.random, ty.bits()),
        };
        Expr::Constant(ty, ty.wrap(bits))
    }

    fn leaf(&mut self, ty: Scalar) -> Expr {
        let expr = match self.random.below(12) {
            0 | 1 => return self.constant(ty),
            2 if self.kernel => Expr::Input(self.random.below(8)),
            3 => [Expr::Thread, Expr::Block, Expr::Lane][self.random.below(3)].clone(),
            _ => match self.readable(0) {
                Some((lvalue, ty)) => Expr::Load(lvalue, ty),
                None => return self.constant(ty),
            },
        };
        self.converted(expr, ty)
    }

    pub(super) fn expr(&mut self, ty: Scalar, depth: u32) -> Expr {
        if depth == 0 || self.random.chance(12) {
            return self.leaf(ty);
        }
        let depth = depth - 1;
        match self.random.below(20) {
            0 | 1 => {
                if let Some((lvalue, from)) = self.readable(depth) {
                    return self.converted(Expr::Load(lvalue, from), ty);
                }
                self.leaf(ty)
            }
            2 | 3 => {
                let from = self.scalar();
                let inner = self.expr(from, depth);
                self.converted(inner, ty)
            }
            4 => {
                let cond = self.condition(depth);
                let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
                Expr::Choose(Box::new(cond), ty, Box::new(a), Box::new(b))
            }
            5 => self.unary(ty, depth),
            6 | 7 => self.intrinsic(ty, depth),
            8 if !ty.float() => self.plain_sum(ty, depth),
            9 if !ty.float() => {
                let cond = self.condition(depth);
                self.converted(cond, ty)
            }
            10 => self.pure_call(ty, depth),
            _ => self.binary(ty, depth),
        }
    }

    fn unary(&mut self, ty: Scalar, depth: u32) -> Expr {
        let ops: &[Unary] = match ty.float() {
            true => &[
                Unary::Neg,
                Unary::Abs,
                Unary::Sqrt,
                Unary::Floor,
                Unary::Ceil,
                Unary::Trunc,
                Unary::Rint,
            ],
            false => &[Unary::Neg, Unary::Not, Unary::Abs],
        };
        let op = *self.random.pick(ops);
        Expr::Unary(op, ty, Box::new(self.expr(ty, depth)))
    }

    fn binary(&mut self, ty: Scalar, depth: u32) -> Expr {
        use Binary::{Add, And, Div, Max, Min, Mul, Or, Rem, Shl, Shr, Sub, Xor};
        let op = match ty.float() {
            true => *self.random.pick(&[Add, Add, Sub, Mul, Mul, Div, Min, Max]),
            false => *self.random.pick(&[
                Add, Add, Add, Sub, Sub, Mul, Mul, And, Or, Xor, Xor, Shl, Shr, Min, Max, Div, Rem,
            ]),
        };
        let a = self.expr(ty, depth);
        let constant = match op {
            Shl | Shr => self.random.chance(70),
            Div | Rem => self.random.chance(50),
            _ => self.random.chance(20),
        };
        let b = match (op, constant) {
            (Shl | Shr, true) => Expr::Constant(ty, self.random.below(ty.bits() as usize) as u64),
            (_, true) => self.constant(ty),
            (_, false) => self.expr(ty, depth),
        };
        Expr::Binary(op, ty, Box::new(a), Box::new(b))
    }

    /// Arithmetic that C does as it stands: its operands are narrow enough for the result to be in
    /// range.
    fn plain_sum(&mut self, ty: Scalar, depth: u32) -> Expr {
        use Scalar::{I8, I16, I32, I64, U8, U16, U32};
        let op = *self.random.pick(&[Binary::PlainAdd, Binary::PlainSub, Binary::PlainMul]);
        let (wide, narrow): (Scalar, &[Scalar]) = match (self.random.chance(70), op) {
            (true, Binary::PlainMul) => (I32, &[I8, U8, I16]),
            (true, _) => (I32, &[I8, U8, I16, U16]),
            (false, Binary::PlainMul) => (I64, &[I32, I16, U16, U8]),
            (false, _) => (I64, &[I32, U32, I16, U8]),
        };
        let operand = |this: &mut Self| {
            let from = *this.random.pick(narrow);
            let inner = this.expr(from, depth);
            Box::new(this.converted(inner, wide))
        };
        let (a, b) = (operand(self), operand(self));
        self.converted(Expr::Binary(op, wide, a, b), ty)
    }

    fn intrinsic(&mut self, ty: Scalar, depth: u32) -> Expr {
        let fits = |row: &intrinsics::Intrinsic| {
            if ty.float() { row.result == ty } else { !row.result.float() }
        };
        let all: Vec<usize> =
            (0..intrinsics::ALL.len()).filter(|i| fits(&intrinsics::ALL[*i])).collect();
        let which = *self.random.pick(&all);
        let arguments = intrinsics::ALL[which].arguments;
        let operands = arguments.iter().map(|ty| self.expr(*ty, depth)).collect();
        self.converted(Expr::Intrinsic(which, operands), ty)
    }

    fn pure_call(&mut self, ty: Scalar, depth: u32) -> Expr {
        let all: Vec<usize> = (0..self.program.functions.len())
            .filter(|f| self.program.functions[*f].pure && self.costs[*f] < 40)
            .collect();
        // What a call costs counts, though not how often the place is reached: loops are short.
        if all.is_empty() || self.cost > super::MOST / 4 {
            return self.binary(ty, depth);
        }
        let which = *self.random.pick(&all);
        self.cost += self.costs[which];
        let callee = self.program.functions[which].clone();
        let Some(result) = callee.result.and_then(|ty| ty.number()) else {
            return self.leaf(ty);
        };
        let parameters = callee.vars[..callee.parameters].iter();
        let operands = parameters
            .map(|var| self.expr(var.ty.number().unwrap_or(Scalar::I32), depth.min(1)))
            .collect();
        self.converted(Expr::Call(which, result, operands), ty)
    }

    /// A condition: any number is one, mostly it is a comparison.
    pub(super) fn condition(&mut self, depth: u32) -> Expr {
        use Compare::{Eq, Ge, Gt, Le, Lt, Ne};
        let below = depth.saturating_sub(1);
        match self.random.below(10) {
            0 if depth > 0 => {
                let (a, b) = (self.condition(below), self.condition(below));
                Expr::Both(Box::new(a), Box::new(b))
            }
            1 if depth > 0 => {
                let (a, b) = (self.condition(below), self.condition(below));
                Expr::Either(Box::new(a), Box::new(b))
            }
            2 => {
                let ty = self.integer_type();
                let inner = self.expr(ty, below);
                let bits = Expr::Constant(ty, ty.wrap(1 + self.random.below(7) as u64));
                Expr::Binary(Binary::And, ty, Box::new(inner), Box::new(bits))
            }
            3 => {
                let ty = self.scalar();
                Expr::Unary(Unary::Zero, ty, Box::new(self.expr(ty, below)))
            }
            _ => {
                let ty = self.scalar();
                let op = *self.random.pick(&[Eq, Ne, Lt, Le, Gt, Ge]);
                let a = self.expr(ty, below);
                let b = match self.random.chance(40) {
                    true => self.constant(ty),
                    false => self.expr(ty, below),
                };
                Expr::Compare(op, ty, Box::new(a), Box::new(b))
            }
        }
    }

    /// A number that is the same for all threads.
    pub(super) fn uniform_number(&mut self) -> Expr {
        let leaf = |this: &mut Self| match this.random.below(4) {
            0 => Expr::Cast(Scalar::I32, Scalar::U32, Box::new(Expr::Block)),
            1 | 2 if !this.uniform.is_empty() => {
                let var = *this.random.pick(&this.uniform);
                let ty = this.vars[var].ty.number().unwrap_or(Scalar::I32);
                let load = Expr::Load(crate::program::Lvalue { var, path: Vec::new() }, ty);
                this.converted(load, Scalar::I32)
            }
            _ => Expr::Constant(Scalar::I32, this.random.below(12) as u64),
        };
        let a = leaf(self);
        if self.random.chance(50) {
            return a;
        }
        let op = *self.random.pick(&[Binary::Add, Binary::Xor, Binary::Mul, Binary::Sub]);
        let b = leaf(self);
        Expr::Binary(op, Scalar::I32, Box::new(a), Box::new(b))
    }

    pub(super) fn uniform_condition(&mut self) -> Expr {
        let op = *self.random.pick(&[Compare::Lt, Compare::Ne, Compare::Ge, Compare::Eq]);
        let (a, b) = (self.uniform_number(), self.uniform_number());
        Expr::Compare(op, Scalar::I32, Box::new(a), Box::new(b))
    }
}
