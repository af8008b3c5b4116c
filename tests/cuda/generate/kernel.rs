//! The kernel: inputs into its variables, statements, all that they hold into outputs.

use super::{Generator, Mask, Scope};
use crate::program::{Expr, Inline, Place, Stmt};
use crate::types::{Scalar, Type};

impl Generator {
    pub(super) fn kernel(&mut self) {
        self.begin(None, true, false);
        for _ in 0..1 + self.random.below(2) {
            let ty = *self.random.pick(&[Scalar::I32, Scalar::U32, Scalar::U64]);
            let var = self.var(Type::Number(ty), Place::Uniform);
            self.uniform.push(var);
        }
        for place in [Place::Shared, Place::Global] {
            for _ in 0..self.random.below(3) {
                let structs = self.program.structs.len();
                let ty = match self.random.chance(50) && structs > 0 {
                    true => Type::Struct(self.random.below(structs)),
                    false => Type::Number(*self.random.pick(&[
                        Scalar::U32,
                        Scalar::I32,
                        Scalar::U64,
                        Scalar::U8,
                        Scalar::I16,
                    ])),
                };
                self.var(ty, place);
            }
        }
        let numbers = 3 + self.random.below(6);
        let others = self.random.below(4);
        self.locals(numbers, others);
        let mask = if self.program.block.is_multiple_of(32) { Mask::Whole } else { Mask::Some };
        let mut scope = Scope {
            mask,
            block: true,
            can_break: false,
            can_continue: false,
            can_return: false,
            scale: 1,
            depth: 0,
        };
        let mut body = self.reads();
        body.extend(self.pointers());
        for _ in 0..4 + self.random.below(10) {
            let more = self.statements(scope, 1);
            body.extend(more);
            if scope.block && self.random.chance(4) {
                // Some threads leave: from here on nobody knows who is there.
                let cond = self.condition(2);
                body.push(Stmt::If(cond, vec![Stmt::Return(None)], Vec::new()));
                scope = Scope { mask: Mask::None, block: false, can_return: true, ..scope };
            }
        }
        if scope.block {
            body.extend(self.last_words());
        }
        body.extend(self.writes());
        self.end(body, Inline::Never, 0, false, false);
    }

    /// Pointers of the function's own, from their first places on.
    pub(super) fn pointers(&mut self) -> Vec<Stmt> {
        let mut all = Vec::new();
        for _ in 0..self.random.below(3) {
            let structs = self.program.structs.len();
            let ty = match self.random.chance(50) && structs > 0 {
                true => Type::Struct(self.random.below(structs)),
                false => Type::Number(self.scalar()),
            };
            // Found before the pointer is there: it does not point to what it points to.
            if let Some(stmt) = self.point(None, &ty) {
                all.push(stmt);
            }
        }
        all
    }

    /// Lets a pointer (or a new one) point to one of two places.
    pub(super) fn point(&mut self, pointer: Option<usize>, ty: &Type) -> Option<Stmt> {
        let (one, other) = (self.of_type(ty, true)?, self.of_type(ty, true)?);
        let cond = self.condition(1);
        let pointer = pointer.unwrap_or_else(|| self.var(ty.clone(), Place::Chosen));
        Some(Stmt::Point { pointer, cond, one, other })
    }

    /// Inputs into all numbers of the kernel's variables.
    fn reads(&mut self) -> Vec<Stmt> {
        let mut all = Vec::new();
        let first = self.random.below(8);
        for (input, (lvalue, ty)) in (first..).zip(self.all_leaves(12)) {
            let from = Expr::Input(input % 8);
            let value = self.converted(from, ty);
            all.push(Stmt::Assign(lvalue, value));
        }
        all
    }

    /// All numbers of the kernel's variables into outputs.
    fn writes(&mut self) -> Vec<Stmt> {
        let mut all = Vec::new();
        for (lvalue, ty) in self.all_leaves(16) {
            let value = Expr::Load(lvalue, ty);
            all.push(Stmt::Out(self.program.outputs, value));
            self.program.outputs += 1;
        }
        all
    }
}
