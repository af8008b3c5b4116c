//! Expressions: each has exactly its type in C, whatever C promotes in it.

use super::{Printer, function_name};
use crate::evaluate::ops::range;
use crate::intrinsics;
use crate::program::{Binary, Compare, Expr, Lvalue, Place, Step, Unary};
use crate::types::{Scalar, Type};

/// A float's digits, exactly.
fn hexadecimal(negative: bool, mantissa: u64, exponent: i32, suffix: &str) -> String {
    let sign = if negative { "-" } else { "" };
    format!("{sign}{mantissa:#x}p{exponent}{suffix}")
}

/// A constant of this type; floats are numbers, or become zero.
pub fn constant(ty: Scalar, bits: u64) -> String {
    let signed = bits as i64;
    match ty {
        Scalar::F32 => {
            let x = bits as u32;
            let (exponent, mantissa) = ((x >> 23 & 0xff) as i32, u64::from(x & 0x7f_ffff));
            let text = match exponent {
                0xff => "0.0f".to_string(),
                0 => hexadecimal(x >> 31 == 1, mantissa, -149, "f"),
                e => hexadecimal(x >> 31 == 1, mantissa | 1 << 23, e - 150, "f"),
            };
            format!("({text})")
        }
        Scalar::F64 => {
            let (exponent, mantissa) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
            let text = match exponent {
                0x7ff => "0.0".to_string(),
                0 => hexadecimal(bits >> 63 == 1, mantissa, -1074, ""),
                e => hexadecimal(bits >> 63 == 1, mantissa | 1 << 52, e - 1075, ""),
            };
            format!("({text})")
        }
        Scalar::I64 if signed == i64::MIN => "(-9223372036854775807ll - 1)".to_string(),
        Scalar::I64 => format!("({signed}ll)"),
        Scalar::I32 if signed == i64::from(i32::MIN) => "(-2147483647 - 1)".to_string(),
        Scalar::I32 if signed < 0 => format!("({signed})"),
        Scalar::I32 => format!("{signed}"),
        Scalar::U32 => format!("{bits}u"),
        Scalar::U64 => format!("{bits}ull"),
        _ => format!("({})({signed})", ty.name()),
    }
}

impl Printer<'_> {
    pub(super) fn expr(&self, expr: &Expr) -> String {
        match expr {
            Expr::Constant(ty, bits) => constant(*ty, *bits),
            Expr::Load(lvalue, _) => self.lvalue(lvalue),
            Expr::Input(index) => format!("in[{}]", index % crate::input::INPUTS),
            Expr::Thread => "threadIdx.x".to_string(),
            Expr::Block => "blockIdx.x".to_string(),
            Expr::Lane => "(threadIdx.x % 32)".to_string(),
            Expr::Unary(op, ty, a) => self.unary(*op, *ty, a),
            Expr::Binary(op, ty, a, b) => self.binary(*op, *ty, a, b),
            Expr::Compare(op, _, a, b) => {
                let op = match op {
                    Compare::Eq => "==",
                    Compare::Ne => "!=",
                    Compare::Lt => "<",
                    Compare::Le => "<=",
                    Compare::Gt => ">",
                    Compare::Ge => ">=",
                };
                format!("(i32)({} {op} {})", self.expr(a), self.expr(b))
            }
            Expr::Both(a, b) => format!("(i32)({} && {})", self.cond(a), self.cond(b)),
            Expr::Either(a, b) => format!("(i32)({} || {})", self.cond(a), self.cond(b)),
            Expr::Choose(cond, _, a, b) => {
                format!("({} ? {} : {})", self.cond(cond), self.expr(a), self.expr(b))
            }
            Expr::Cast(to, from, a) => self.cast(*to, *from, a),
            Expr::Intrinsic(which, operands) => {
                format!("{}({})", intrinsics::ALL[*which].name, self.exprs(operands))
            }
            Expr::Call(function, _, operands) => {
                format!("{}({})", function_name(self.program, *function), self.exprs(operands))
            }
        }
    }

    pub(super) fn exprs(&self, list: &[Expr]) -> String {
        list.iter().map(|expr| self.expr(expr)).collect::<Vec<_>>().join(", ")
    }

    /// A condition, which C takes as it is.
    pub(super) fn cond(&self, expr: &Expr) -> String {
        let text = self.expr(expr);
        match text.strip_prefix("(i32)") {
            Some(inner)
                if matches!(expr, Expr::Compare(..) | Expr::Both(..) | Expr::Either(..)) =>
            {
                inner.to_string()
            }
            _ => text,
        }
    }

    fn unary(&self, op: Unary, ty: Scalar, a: &Expr) -> String {
        let (a, name, wide) = (self.expr(a), ty.name(), ty.wide().name());
        let suffix = if ty == Scalar::F32 { "f" } else { "" };
        match op {
            Unary::Zero => format!("(i32)(!{a})"),
            Unary::Neg if ty.float() => format!("(-{a})"),
            Unary::Neg => format!("({name})(0 - ({wide}){a})"),
            Unary::Not if ty.float() => a,
            Unary::Not => format!("({name})(~{a})"),
            Unary::Abs if ty.float() => format!("fabs{suffix}({a})"),
            Unary::Abs if ty.signed() => {
                format!("({name})({a} < 0 ? 0 - ({wide}){a} : ({wide}){a})")
            }
            Unary::Sqrt if ty.float() => format!("sqrt{suffix}({a})"),
            Unary::Floor if ty.float() => format!("floor{suffix}({a})"),
            Unary::Ceil if ty == Scalar::F64 => format!("up({a})"),
            Unary::Ceil if ty.float() => format!("ceil{suffix}({a})"),
            Unary::Trunc if ty.float() => format!("trunc{suffix}({a})"),
            Unary::Rint if ty.float() => format!("rint{suffix}({a})"),
            _ => a,
        }
    }

    fn binary(&self, op: Binary, ty: Scalar, a: &Expr, b: &Expr) -> String {
        let (name, wide) = (ty.name(), ty.wide().name());
        let known = match b {
            Expr::Constant(_, bits) => Some(*bits as i64),
            _ => None,
        };
        let (a, b) = (self.expr(a), self.expr(b));
        let sign = match op {
            Binary::Add | Binary::PlainAdd => "+",
            Binary::Sub | Binary::PlainSub => "-",
            Binary::Mul | Binary::PlainMul => "*",
            Binary::Div => "/",
            Binary::Rem => "%",
            Binary::And => "&",
            Binary::Or => "|",
            Binary::Xor => "^",
            Binary::Shl => "<<",
            Binary::Shr => ">>",
            Binary::Min => "min",
            Binary::Max => "max",
        };
        if ty.float() {
            let suffix = if ty == Scalar::F32 { "f" } else { "" };
            return match op {
                // Which zero is the smaller one is open: what is added makes both the positive one.
                Binary::Min | Binary::Max => format!("(f{sign}{suffix}({a}, {b}) + 0.0{suffix})"),
                _ => format!("({a} {sign} {b})"),
            };
        }
        match op {
            Binary::PlainAdd | Binary::PlainSub | Binary::PlainMul => {
                format!("({name})({a} {sign} {b})")
            }
            // All sums of small integers are in the range of `int`, and products of all but `u16`.
            Binary::Add | Binary::Sub if ty.bits() < 32 => format!("({name})({a} {sign} {b})"),
            Binary::Mul if ty.bits() < 32 && ty != Scalar::U16 => format!("({name})({a} * {b})"),
            Binary::Add | Binary::Sub | Binary::Mul if ty == ty.wide() => {
                format!("({a} {sign} {b})")
            }
            Binary::Add | Binary::Sub | Binary::Mul => {
                format!("({name})(({wide}){a} {sign} ({wide}){b})")
            }
            Binary::Div | Binary::Rem => match known {
                Some(c) if c != 0 && c != -1 => format!("({name})({a} {sign} {b})"),
                _ if op == Binary::Div => format!("quotient({a}, {b})"),
                _ => format!("remainder({a}, {b})"),
            },
            Binary::And | Binary::Or | Binary::Xor => format!("({name})({a} {sign} {b})"),
            Binary::Shl | Binary::Shr => {
                let length = match known {
                    Some(c) => format!("{}", c as u64 % u64::from(ty.bits())),
                    None => format!("({b} & {})", ty.bits() - 1),
                };
                match op {
                    Binary::Shl => format!("({name})(({wide}){a} << {length})"),
                    _ => format!("({name})({a} >> {length})"),
                }
            }
            Binary::Min | Binary::Max if ty.bits() < 32 => {
                format!("({name}){sign}((i32){a}, (i32){b})")
            }
            Binary::Min | Binary::Max => format!("{sign}({a}, {b})"),
        }
    }

    fn cast(&self, to: Scalar, from: Scalar, a: &Expr) -> String {
        let (a, name) = (self.expr(a), to.name());
        if !from.float() || to.float() {
            return format!("({name}){a}");
        }
        let (low, high) = range(to, from);
        let number = |x: f64| match from {
            Scalar::F32 => constant(from, u64::from((x as f32).to_bits())),
            _ => constant(from, x.to_bits()),
        };
        let suffix = if from == Scalar::F32 { "f" } else { "" };
        let (low, high) = (number(low), number(high));
        format!("({name})fmin{suffix}(fmax{suffix}({a}, {low}), {high})")
    }

    pub(super) fn lvalue(&self, lvalue: &Lvalue) -> String {
        self.lvalue_of(lvalue, None)
    }

    /// The place, in another thread's element where one is said.
    pub(super) fn lvalue_of(&self, lvalue: &Lvalue, thread: Option<&str>) -> String {
        let var = &self.function.vars[lvalue.var];
        let index = lvalue.var;
        let mut ty = &var.ty;
        let mut text = match var.place {
            Place::Shared => format!("s{index}[{}]", thread.unwrap_or("threadIdx.x")),
            Place::Global => format!("g{index}[thread]"),
            Place::Pointer | Place::Chosen if !matches!(var.ty, Type::Array(..)) => {
                format!("(*v{index})")
            }
            _ => format!("v{index}"),
        };
        for step in &lvalue.path {
            match (step, ty) {
                (Step::Field(field), Type::Struct(which)) => {
                    let this = &self.program.structs[*which];
                    text = format!("{text}.{}", this.field_name(*field));
                    ty = &this.fields[*field];
                }
                (Step::Index(at), Type::Array(element, count)) => {
                    let at = match &**at {
                        Expr::Constant(_, bits) => format!("{}", *bits as u32 as usize % count),
                        at => format!("(u32){} % {count}", self.expr(at)),
                    };
                    text = format!("{text}[{at}]");
                    ty = element;
                }
                _ => {}
            }
        }
        text
    }
}
