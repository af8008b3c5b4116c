//! Device functions.

use super::{Generator, Mask, Scope};
use crate::program::{Argument, Binary, Compare, Expr, Inline, Lvalue, Place, Stmt, Value};
use crate::types::{Scalar, Type};

impl Generator {
    pub(super) fn functions(&mut self) {
        if self.random.chance(25) {
            let count = 2 + self.random.below(2);
            let ty = *self.random.pick(&[Scalar::U32, Scalar::I64]);
            self.family = (0..count).map(|_| self.numbers(vec![ty, ty], ty)).collect();
        }
        for _ in 0..1 + self.random.below(4) {
            match self.random.below(10) {
                0..=3 => {
                    let parameters = (0..1 + self.random.below(4)).map(|_| self.scalar()).collect();
                    let result = self.scalar();
                    self.numbers(parameters, result);
                }
                4 => self.recursive(),
                _ => self.general(),
            }
        }
    }

    fn scope(&mut self, masked: bool) -> Scope {
        Scope {
            mask: if masked { Mask::Some } else { Mask::None },
            block: false,
            can_break: false,
            can_continue: false,
            can_return: !masked,
            scale: 1,
            depth: 1,
        }
    }

    /// A function of numbers without an effect.
    fn numbers(&mut self, parameters: Vec<Scalar>, result: Scalar) -> usize {
        self.begin(Some(Type::Number(result)), false, true);
        let count = parameters.len();
        for ty in parameters {
            self.var(Type::Number(ty), Place::Parameter);
        }
        let (numbers, others) = (1 + self.random.below(3), self.random.below(2));
        self.locals(numbers, others);
        let scope = self.scope(false);
        let count_of_statements = 1 + self.random.below(4);
        let mut body = self.statements(scope, count_of_statements);
        body.push(Stmt::Return(self.returned()));
        let inline = *self.random.pick(&[
            Inline::Never,
            Inline::Never,
            Inline::AsTheCompilerLikes,
            Inline::Always,
        ]);
        self.end(body, inline, count, false, true)
    }

    /// A function with structs, pointers, perhaps with warp operations.
    fn general(&mut self) {
        let structs = self.program.structs.len();
        let result = match self.random.below(4) {
            0 => None,
            1 if structs > 0 => Some(Type::Struct(self.random.below(structs))),
            _ => Some(Type::Number(self.scalar())),
        };
        self.begin(result, false, false);
        let parameters = 1 + self.random.below(4);
        for _ in 0..parameters {
            match self.random.below(6) {
                0 | 1 if structs > 0 => {
                    let ty = Type::Struct(self.random.below(structs));
                    self.var(ty, Place::Pointer);
                }
                2 | 3 if structs > 0 => {
                    let ty = Type::Struct(self.random.below(structs));
                    self.var(ty, Place::Parameter);
                }
                4 => {
                    let element = Box::new(Type::Number(self.scalar()));
                    let count = *self.random.pick(&[2, 4, 8]);
                    let array = Type::Array(element, count);
                    let number = Type::Number(self.scalar());
                    let ty = if self.random.chance(40) { array } else { number };
                    self.var(ty, Place::Pointer);
                }
                _ => {
                    let ty = Type::Number(self.scalar());
                    self.var(ty, Place::Parameter);
                }
            }
        }
        let (numbers, others) = (1 + self.random.below(3), self.random.below(3));
        self.locals(numbers, others);
        let masked = self.random.chance(50);
        let scope = self.scope(masked);
        let count = 2 + self.random.below(5);
        let mut body = self.pointers();
        body.extend(self.statements(scope, count));
        if self.result.is_some() {
            body.push(Stmt::Return(self.returned()));
        }
        let inline = *self.random.pick(&[
            Inline::Never,
            Inline::Never,
            Inline::AsTheCompilerLikes,
            Inline::Always,
        ]);
        self.end(body, inline, parameters, masked, false);
    }

    /// A function that calls itself, with a depth that becomes smaller.
    fn recursive(&mut self) {
        let ty = *self.random.pick(&[Scalar::U32, Scalar::I32, Scalar::U64, Scalar::I64]);
        self.begin(Some(Type::Number(ty)), false, true);
        let depth = self.var(Type::Number(Scalar::U32), Place::Parameter);
        self.counters.push(depth);
        let value = self.var(Type::Number(ty), Place::Parameter);
        let (numbers, others) = (1 + self.random.below(2), self.random.below(2));
        self.locals(numbers, others);
        let scope = self.scope(false);
        let load = |var: usize, ty| Box::new(Expr::Load(Lvalue { var, path: Vec::new() }, ty));
        // Whatever the caller says, five deep at most.
        let number = |n| Box::new(Expr::Constant(Scalar::U32, n));
        let calls = 1 + self.random.below(2);
        let deepest = if calls == 1 { 5 } else { 3 };
        let cond = Expr::Compare(
            Compare::Eq,
            Scalar::U32,
            Box::new(Expr::Binary(
                Binary::Rem,
                Scalar::U32,
                load(depth, Scalar::U32),
                number(deepest),
            )),
            number(0),
        );
        let mut body = self.statements(scope, 1);
        body.push(Stmt::If(cond, vec![Stmt::Return(self.returned())], Vec::new()));
        let own = self.program.functions.len();
        for _ in 0..calls {
            let count = 1 + self.random.below(2);
            let more = self.statements(scope, count);
            body.extend(more);
            let rest = Expr::Binary(
                Binary::Sub,
                Scalar::U32,
                Box::new(Expr::Binary(
                    Binary::Rem,
                    Scalar::U32,
                    load(depth, Scalar::U32),
                    number(deepest),
                )),
                number(1),
            );
            let argument = self.expr(ty, 2);
            let into = Some(Lvalue { var: value, path: Vec::new() });
            let args = vec![Argument::Number(rest), Argument::Number(argument)];
            body.push(Stmt::Call { into, function: own, args });
        }
        let last = self.expr(ty, 2);
        body.push(Stmt::Return(Some(Value::Number(last))));
        self.cost *= if calls == 1 { 5 } else { 8 };
        let inline = *self.random.pick(&[Inline::Never, Inline::AsTheCompilerLikes]);
        self.end(body, inline, 2, false, true);
    }
}
