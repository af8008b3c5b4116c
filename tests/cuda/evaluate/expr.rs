//! Expressions: their numbers for a set of threads.

use super::{Address, Machine, Numbers, Slot, Threads, each, ops};
use crate::intrinsics;
use crate::program::{Expr, Lvalue, Step};
use crate::types::{Scalar, Type};

impl Machine<'_> {
    /// The values for these threads; other threads' numbers mean nothing.
    pub(super) fn value(&mut self, expr: &Expr, active: Threads) -> Result<Numbers, String> {
        let mut all = vec![0; self.threads];
        match expr {
            Expr::Constant(ty, bits) => all.fill(ty.wrap(*bits)),
            Expr::Load(lvalue, _) => {
                let (at, _) = self.place(lvalue, active)?;
                each(active).for_each(|t| all[t] = self.get(t, at[t]));
            }
            Expr::Input(index) => each(active).for_each(|t| all[t] = self.input(t, *index)),
            Expr::Thread => each(active).for_each(|t| all[t] = t as u64),
            Expr::Block => all.fill(self.block as u64),
            Expr::Lane => each(active).for_each(|t| all[t] = t as u64 % 32),
            Expr::Unary(op, ty, a) => {
                let a = self.value(a, active)?;
                each(active).for_each(|t| all[t] = ops::unary(*op, *ty, a[t]));
            }
            Expr::Binary(op, ty, a, b) => {
                let (a, b) = (self.value(a, active)?, self.value(b, active)?);
                for t in each(active) {
                    all[t] = ops::binary(*op, *ty, a[t], b[t])?;
                }
            }
            Expr::Compare(op, ty, a, b) => {
                let (a, b) = (self.value(a, active)?, self.value(b, active)?);
                each(active).for_each(|t| all[t] = ops::compare(*op, *ty, a[t], b[t]).into());
            }
            Expr::Both(a, b) => {
                let first = self.true_for(a, active)?;
                let both = self.true_for(b, first)?;
                each(both).for_each(|t| all[t] = 1);
            }
            Expr::Either(a, b) => {
                let first = self.true_for(a, active)?;
                let second = self.true_for(b, active & !first)?;
                each(first | second).for_each(|t| all[t] = 1);
            }
            Expr::Choose(cond, _, a, b) => {
                let first = self.true_for(cond, active)?;
                let (a, b) = (self.value(a, first)?, self.value(b, active & !first)?);
                each(active).for_each(|t| all[t] = if first >> t & 1 == 1 { a[t] } else { b[t] });
            }
            Expr::Cast(to, from, a) => {
                let a = self.value(a, active)?;
                each(active).for_each(|t| all[t] = ops::cast(*to, *from, a[t]));
            }
            Expr::Intrinsic(which, operands) => {
                let row = &intrinsics::ALL[*which];
                let operands = self.values(operands, active)?;
                for t in each(active) {
                    let of: Vec<u64> = operands.iter().map(|o| o[t]).collect();
                    all[t] = row.result.wrap((row.value)(&of));
                }
            }
            Expr::Call(function, _, operands) => {
                let operands = self.values(operands, active)?;
                all = self.call_numbers(*function, operands, active)?;
            }
        }
        Ok(all)
    }

    pub(super) fn values(
        &mut self,
        list: &[Expr],
        active: Threads,
    ) -> Result<Vec<Numbers>, String> {
        list.iter().map(|expr| self.value(expr, active)).collect()
    }

    /// Those of the threads for which a condition holds.
    pub(super) fn true_for(&mut self, cond: &Expr, active: Threads) -> Result<Threads, String> {
        if active == 0 {
            return Ok(0);
        }
        let ty: Scalar = cond.ty();
        let values = self.value(cond, active)?;
        let which = each(active).filter(|t| ops::holds(ty, values[*t]));
        Ok(which.fold(0, |set, t| set | 1 << t))
    }

    /// Where a variable or a part of it is, for each of these threads, and its type.
    pub(super) fn place(
        &mut self,
        lvalue: &Lvalue,
        active: Threads,
    ) -> Result<(Vec<Address>, Type), String> {
        let program = self.program;
        let frame = self.frames.len() - 1;
        let function = &program.functions[self.frames[frame].function];
        let var = function.vars.get(lvalue.var).ok_or("there is no such variable")?;
        let mut ty = &var.ty;
        let mut at = match &self.frames[frame].slots[lvalue.var] {
            Slot::Pointers(pointers) => {
                if each(active).any(|t| pointers[t].frame == usize::MAX) {
                    return Err("a pointer is not set".to_string());
                }
                pointers.clone()
            }
            Slot::Cells(_) => vec![Address { frame, var: lvalue.var, cell: 0 }; self.threads],
        };
        for step in &lvalue.path {
            match (step, ty) {
                (Step::Field(index), Type::Struct(which)) => {
                    let this = &program.structs[*which];
                    let cell = this.field_cell(*index, &program.structs);
                    at.iter_mut().for_each(|a| a.cell += cell);
                    ty = &this.fields[*index];
                }
                (Step::Index(index), Type::Array(element, count)) => {
                    let index = self.value(index, active)?;
                    let size = element.cells(&program.structs);
                    for t in each(active) {
                        at[t].cell += index[t] as u32 as usize % count * size;
                    }
                    ty = element;
                }
                _ => return Err(format!("{lvalue:?} is no part of its variable")),
            }
        }
        Ok((at, ty.clone()))
    }

    pub(super) fn store(
        &mut self,
        into: &Lvalue,
        active: Threads,
        values: &[u64],
    ) -> Result<(), String> {
        let (at, ty) = self.place(into, active)?;
        let ty = ty.number().ok_or("a number is stored to a struct")?;
        each(active).for_each(|t| self.set(t, at[t], ty.wrap(values[t])));
        Ok(())
    }
}
