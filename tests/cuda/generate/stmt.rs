//! Statements.

use super::{Generator, MOST, Mask, Scope};
use crate::program::{Argument, Case, Expr, Loop, LoopKind, Place, Stmt, Value};
use crate::types::{Scalar, Type};

/// Statements inside each other at most.
const DEEPEST: u32 = 4;

impl Generator {
    pub(super) fn statements(&mut self, scope: Scope, count: usize) -> Vec<Stmt> {
        let mut all = Vec::new();
        for _ in 0..count {
            self.cost += scope.scale;
            let stmt = self.statement(scope);
            all.extend(stmt);
        }
        all
    }

    fn body(&mut self, scope: Scope) -> Vec<Stmt> {
        let count = 1 + self.random.below(3);
        self.statements(Scope { depth: scope.depth + 1, ..scope }, count)
    }

    fn statement(&mut self, scope: Scope) -> Option<Stmt> {
        let deep = scope.depth >= DEEPEST || self.cost > MOST;
        for _ in 0..8 {
            let stmt = match self.random.below(42) {
                0..=8 => self.assign(),
                9 => self.copy(),
                10..=12 if !deep => Some(self.branch(scope)),
                13 | 14 if !deep && scope.mask != Mask::None => Some(self.masked(scope)),
                15..=18 if !deep => self.turns(scope),
                19 | 20 if !deep => Some(self.switch(scope)),
                21..=23 if !deep => self.call(scope),
                24 => self.indirect(scope),
                25 if scope.can_break => self.leave(Stmt::Break),
                26 if scope.can_continue => self.leave(Stmt::Continue),
                27 if scope.can_return && scope.depth > 0 => self.early(scope),
                28 if !self.pure => self.own_atomic(),
                29 if self.kernel => self.word_atomic(),
                30..=36 if scope.mask != Mask::None => self.warp(scope),
                37 | 38 if scope.block && self.kernel => self.block_wide(),
                39 => self.point_again(),
                _ => None,
            };
            if stmt.is_some() {
                return stmt;
            }
        }
        self.assign()
    }

    pub(super) fn assign(&mut self) -> Option<Stmt> {
        let (into, ty) = self.writable_of(&|_| true)?;
        let depth = 1 + self.random.below(3) as u32;
        let value = self.expr(ty, depth);
        Some(Stmt::Assign(into, value))
    }

    fn point_again(&mut self) -> Option<Stmt> {
        let all: Vec<usize> =
            (0..self.vars.len()).filter(|v| self.vars[*v].place == Place::Chosen).collect();
        if all.is_empty() {
            return None;
        }
        let pointer = *self.random.pick(&all);
        let ty = self.vars[pointer].ty.clone();
        self.point(Some(pointer), &ty)
    }

    fn copy(&mut self) -> Option<Stmt> {
        if self.program.structs.is_empty() {
            return None;
        }
        let ty = Type::Struct(self.random.below(self.program.structs.len()));
        let (into, from) = (self.of_type(&ty, true)?, self.of_type(&ty, false)?);
        Some(Stmt::Copy(into, from))
    }

    fn branch(&mut self, scope: Scope) -> Stmt {
        let uniform = scope.mask != Mask::None && self.random.chance(50);
        let (cond, scope) = match uniform {
            true => (self.uniform_condition(), scope),
            false => (self.condition(2), Scope { mask: Mask::None, block: false, ..scope }),
        };
        let then = self.body(scope);
        let other = if self.random.chance(40) { self.body(scope) } else { Vec::new() };
        Stmt::If(cond, then, other)
    }

    fn masked(&mut self, scope: Scope) -> Stmt {
        let cond = self.condition(2);
        let scope = Scope { mask: Mask::Some, block: false, ..scope };
        let then = self.body(scope);
        let other = if self.random.chance(50) { self.body(scope) } else { Vec::new() };
        Stmt::Masked(cond, then, other)
    }

    fn turns(&mut self, scope: Scope) -> Option<Stmt> {
        let most = *self.random.pick(&[1, 2, 3, 3, 4, 5, 7, 8, 12, 16, 20]);
        let scale = scope.scale * most;
        if scale > MOST / 4 {
            return None;
        }
        let counter = self.var(Type::Number(Scalar::I32), Place::Local);
        self.counters.push(counter);
        let kind = *self.random.pick(&[
            LoopKind::For,
            LoopKind::For,
            LoopKind::For,
            LoopKind::Down,
            LoopKind::While,
            LoopKind::DoWhile,
            LoopKind::Together,
        ]);
        let inside = Scope { scale, can_break: true, can_continue: true, ..scope };
        let unroll = self.random.chance(20).then(|| *self.random.pick(&[1, 2, 3, 4]));
        let step = *self.random.pick(&[1, 1, 1, 1, 2, 3]);
        let make = |head, body| Loop { kind, counter, most, head, step, unroll, body };
        let (known, masks) = (self.uniform.len(), scope.mask != Mask::None);
        if kind == LoopKind::Together {
            if !masks {
                return None;
            }
            let head = self.condition(2);
            let alone = Scope { mask: Mask::Some, block: false, ..inside };
            let body = self.body(Scope {
                can_break: false,
                can_continue: false,
                can_return: false,
                ..alone
            });
            return Some(Stmt::Loop(make(head, body)));
        }
        let counted = matches!(kind, LoopKind::For | LoopKind::Down);
        if masks && self.random.chance(60) {
            // All take the same turns: masks hold inside.
            let head = match counted {
                true => self.uniform_number(),
                false => self.uniform_condition(),
            };
            self.uniform.push(counter);
            let together = Scope { can_break: false, can_continue: false, ..inside };
            let body = self.body(Scope { can_return: false, ..together });
            if !scope.block {
                self.uniform.truncate(known);
            }
            return Some(Stmt::Loop(make(head, body)));
        }
        let head = match (counted, self.random.chance(40)) {
            (true, true) => Expr::Constant(Scalar::I32, u64::from(most)),
            (true, false) => {
                let ty = *self.random.pick(&[Scalar::I32, Scalar::U32]);
                self.expr(ty, 1)
            }
            (false, _) => self.condition(2),
        };
        let body = self.body(Scope { mask: Mask::None, block: false, ..inside });
        Some(Stmt::Loop(make(head, body)))
    }

    fn leave(&mut self, how: Stmt) -> Option<Stmt> {
        let cond = self.condition(2);
        Some(Stmt::If(cond, vec![how], Vec::new()))
    }

    fn early(&mut self, _: Scope) -> Option<Stmt> {
        let value = self.returned();
        let cond = self.condition(2);
        Some(Stmt::If(cond, vec![Stmt::Return(value)], Vec::new()))
    }

    /// A value of the function's result's type.
    pub(super) fn returned(&mut self) -> Option<Value> {
        let ty = self.result.clone()?;
        Some(match ty.number() {
            Some(scalar) => Value::Number(self.expr(scalar, 2)),
            None => match self.of_type(&ty, false) {
                Some(lvalue) => Value::Struct(lvalue),
                None => {
                    let var = self.var(ty, Place::Local);
                    Value::Struct(crate::program::Lvalue { var, path: Vec::new() })
                }
            },
        })
    }

    fn switch(&mut self, scope: Scope) -> Stmt {
        let uniform = scope.mask != Mask::None && self.random.chance(40);
        let count = *self.random.pick(&[1, 2, 3, 4, 5, 6, 8, 11]);
        let dense = self.random.chance(60);
        let value = if uniform {
            self.uniform_number()
        } else {
            let ty = *self.random.pick(&[Scalar::I32, Scalar::U32, Scalar::U8, Scalar::U64]);
            let inner = self.expr(ty, 2);
            let bits = if dense { [7, 15][self.random.below(2)] } else { 127 };
            let mask = Expr::Constant(ty, bits);
            let op = crate::program::Binary::And;
            Expr::Binary(op, ty, Box::new(inner), Box::new(mask))
        };
        let inside = match uniform {
            true => Scope { can_break: false, ..scope },
            false => Scope { mask: Mask::None, block: false, can_break: true, ..scope },
        };
        let mut label = self.random.below(3) as i64;
        let mut cases: Vec<Case> = Vec::new();
        for _ in 0..count {
            let mut labels = Vec::new();
            for _ in 0..1 + usize::from(self.random.chance(20)) {
                labels.push(label);
                label += if dense { 1 } else { 1 + self.random.below(14) as i64 };
            }
            let body = self.statements(Scope { depth: scope.depth + 1, ..inside }, 1);
            let falls = self.random.chance(20);
            cases.push(Case { labels, default: false, body, falls });
        }
        if self.random.chance(60) {
            let body = self.body(inside);
            let at = self.random.below(cases.len() + 1);
            let falls = self.random.chance(20);
            cases.insert(at, Case { labels: Vec::new(), default: true, body, falls });
        }
        Stmt::Switch(value, cases)
    }

    fn call(&mut self, scope: Scope) -> Option<Stmt> {
        let all: Vec<usize> = (0..self.program.functions.len())
            .filter(|f| {
                let this = &self.program.functions[*f];
                (!self.pure || this.pure)
                    && (!this.masked || scope.mask != Mask::None)
                    && scope.scale * self.costs[*f] < MOST / 2
            })
            .collect();
        if all.is_empty() {
            return None;
        }
        let which = *self.random.pick(&all);
        let callee = self.program.functions[which].clone();
        let mut args = Vec::new();
        for var in &callee.vars[..callee.parameters] {
            args.push(match (var.place, var.ty.number()) {
                (Place::Pointer, _) => Argument::Pointer(self.of_type(&var.ty, true)?),
                (_, Some(ty)) => Argument::Number(self.expr(ty, 2)),
                (_, None) => Argument::Value(self.of_type(&var.ty, false)?),
            });
        }
        let into = match callee.result {
            Some(Type::Number(ty)) => Some(self.plain(ty)?),
            Some(ty) => {
                let which = self.of_type(&ty, true)?;
                // An index would be computed beside the call, which may change it.
                which.path.is_empty().then_some(which).or_else(|| {
                    let var = self.var(ty, Place::Local);
                    Some(crate::program::Lvalue { var, path: Vec::new() })
                })
            }
            None => None,
        };
        self.cost += scope.scale * self.costs[which];
        Some(Stmt::Call { into, function: which, args })
    }

    fn indirect(&mut self, scope: Scope) -> Option<Stmt> {
        let cost: u32 = self.family.iter().map(|f| self.costs[*f]).sum();
        if self.family.len() < 2 || scope.scale * cost > MOST / 2 {
            return None;
        }
        self.cost += scope.scale * cost;
        let callee = self.program.functions[self.family[0]].clone();
        let ty = callee.result.and_then(|ty| ty.number())?;
        let into = self.plain(ty)?;
        let which = self.expr(Scalar::U32, 2);
        let parameters = callee.vars[..callee.parameters].iter();
        let args =
            parameters.map(|var| self.expr(var.ty.number().unwrap_or(Scalar::U32), 2)).collect();
        Some(Stmt::Indirect { into, which, functions: self.family.clone(), args })
    }
}
