//! Places: variables and parts of them.

use super::Generator;
use crate::program::{Expr, Lvalue, Place, Step};
use crate::types::{Inside, Scalar, Type};

impl Generator {
    /// A step into an array.
    fn index(&mut self, count: usize, depth: u32) -> Step {
        let expr = if self.random.chance(35) {
            Expr::Constant(Scalar::U32, self.random.below(count) as u64)
        } else {
            let ty = *self.random.pick(&[Scalar::U32, Scalar::I32]);
            self.expr(ty, depth.min(1))
        };
        Step::Index(Box::new(expr))
    }

    /// From a variable down to a type that `good` takes; `None` where the way does not lead there.
    fn down(
        &mut self,
        var: usize,
        depth: u32,
        good: &dyn Fn(&Type) -> bool,
    ) -> Option<(Lvalue, Type)> {
        let mut ty = self.vars[var].ty.clone();
        let mut path = Vec::new();
        loop {
            if good(&ty) {
                return Some((Lvalue { var, path }, ty));
            }
            match ty {
                Type::Number(_) => return None,
                Type::Struct(which) => {
                    let fields = self.program.structs[which].fields.clone();
                    let field = self.random.below(fields.len());
                    path.push(Step::Field(field));
                    ty = fields[field].clone();
                }
                Type::Array(element, count) => {
                    let step = self.index(count, depth);
                    path.push(step);
                    ty = *element;
                }
            }
        }
    }

    /// A place of a type that `good` takes, among variables that `which` takes.
    fn search(
        &mut self,
        depth: u32,
        which: &dyn Fn(&Self, usize) -> bool,
        good: &dyn Fn(&Type) -> bool,
    ) -> Option<(Lvalue, Type)> {
        let all: Vec<usize> = (0..self.vars.len()).filter(|v| which(self, *v)).collect();
        if all.is_empty() {
            return None;
        }
        for _ in 0..6 {
            let var = *self.random.pick(&all);
            if let Some(found) = self.down(var, depth, good) {
                return Some(found);
            }
        }
        None
    }

    /// A number to read.
    pub(super) fn readable(&mut self, depth: u32) -> Option<(Lvalue, Scalar)> {
        let found = self.search(depth, &|_, _| true, &|ty| ty.number().is_some())?;
        Some((found.0, found.1.number()?))
    }

    fn changes(&self, var: usize) -> bool {
        !self.counters.contains(&var) && self.vars[var].place != Place::Uniform
    }

    /// A number to write, of a type that `good` takes.
    pub(super) fn writable_of(
        &mut self,
        good: &dyn Fn(Scalar) -> bool,
    ) -> Option<(Lvalue, Scalar)> {
        let which = |this: &Self, var: usize| this.changes(var);
        let found = self.search(1, &which, &|ty| ty.number().is_some_and(good))?;
        Some((found.0, found.1.number()?))
    }

    /// A number of a plain variable: where a call's result goes, so that nothing is computed beside
    /// the call.
    pub(super) fn plain(&mut self, ty: Scalar) -> Option<Lvalue> {
        let which =
            |this: &Self, var: usize| this.changes(var) && this.vars[var].place == Place::Local;
        let all: Vec<usize> = (0..self.vars.len())
            .filter(|v| which(self, *v) && self.vars[*v].ty == Type::Number(ty))
            .collect();
        if all.is_empty() {
            let var = self.var(Type::Number(ty), Place::Local);
            return Some(Lvalue { var, path: Vec::new() });
        }
        Some(Lvalue { var: *self.random.pick(&all), path: Vec::new() })
    }

    /// A place of this type whose address may be taken, or that may be copied.
    pub(super) fn of_type(&mut self, ty: &Type, to_write: bool) -> Option<Lvalue> {
        let which = |this: &Self, var: usize| {
            !this.vars[var].volatile
                && (!to_write || this.changes(var))
                && this.vars[var].place != Place::Uniform
        };
        self.search(1, &which, &|other| other == ty).map(|(lvalue, _)| lvalue)
    }

    /// A place in shared memory (or in shared or global memory) of a number.
    pub(super) fn own(
        &mut self,
        shared_only: bool,
        good: &dyn Fn(Scalar) -> bool,
    ) -> Option<(Lvalue, Scalar)> {
        let which = move |this: &Self, var: usize| match this.vars[var].place {
            Place::Shared => true,
            Place::Global => !shared_only,
            _ => false,
        };
        let found = self.search(1, &which, &|ty| ty.number().is_some_and(good))?;
        Some((found.0, found.1.number()?))
    }

    /// Numbers of all variables, of each variable so many at most.
    pub(super) fn all_leaves(&mut self, most: usize) -> Vec<(Lvalue, Scalar)> {
        let mut all = Vec::new();
        for (var, this) in self.vars.iter().enumerate() {
            if matches!(this.place, Place::Uniform | Place::Chosen) {
                continue;
            }
            for (path, ty) in this.ty.leaves(&self.program.structs).into_iter().take(most) {
                let step = |inside: &Inside| match inside {
                    Inside::Field(index) => Step::Field(*index),
                    Inside::Element(index) => {
                        Step::Index(Box::new(Expr::Constant(Scalar::U32, *index as u64)))
                    }
                };
                all.push((Lvalue { var, path: path.iter().map(step).collect() }, ty));
            }
        }
        all
    }
}
