//! Statements and control flow.

use super::{Address, MOST_STEPS, Machine, Slot, Threads, each, ops};
use crate::program::{Case, Loop, LoopKind, Lvalue, Stmt};

/// Threads that have left a place on their way to another one.
#[derive(Default)]
pub(super) struct Flow {
    breaks: Threads,
    continues: Threads,
}

impl Machine<'_> {
    /// Runs statements; returns the threads that come to their end.
    pub(super) fn list(
        &mut self,
        list: &[Stmt],
        active: Threads,
        flow: &mut Flow,
    ) -> Result<Threads, String> {
        let mut active = active;
        for stmt in list {
            if active == 0 {
                break;
            }
            self.steps += 1;
            if self.steps > MOST_STEPS {
                return Err("the program takes too long".to_string());
            }
            active = self.stmt(stmt, active, flow)?;
        }
        Ok(active)
    }

    fn stmt(&mut self, stmt: &Stmt, active: Threads, flow: &mut Flow) -> Result<Threads, String> {
        match stmt {
            Stmt::Assign(into, expr) => {
                let values = self.value(expr, active)?;
                self.store(into, active, &values)?;
            }
            Stmt::Point { pointer, cond, one, other } => {
                let yes = self.true_for(cond, active)?;
                let (one, other) = (self.place(one, yes)?.0, self.place(other, active & !yes)?.0);
                if let Slot::Pointers(all) = &mut self.top().slots[*pointer] {
                    each(active)
                        .for_each(|t| all[t] = if yes >> t & 1 == 1 { one[t] } else { other[t] });
                }
            }
            Stmt::Copy(into, from) => self.copy(into, from, active)?,
            Stmt::Out(slot, expr) => {
                let (values, ty) = (self.value(expr, active)?, expr.ty());
                let (base, outputs) = (self.block * self.threads, self.program.outputs);
                for t in each(active) {
                    let bits = crate::input::canonical(ty, values[t]);
                    self.outputs[(base + t) * outputs + slot] = Some(bits);
                }
            }
            Stmt::If(cond, then, other) => {
                let yes = self.true_for(cond, active)?;
                return Ok(self.list(then, yes, flow)? | self.list(other, active & !yes, flow)?);
            }
            Stmt::Masked(cond, then, other) => {
                let mask = self.check_mask(active)?;
                let yes = self.true_for(cond, active)?;
                self.top().mask = yes;
                let first = self.list(then, yes, flow)?;
                self.top().mask = active & !yes;
                let second = self.list(other, active & !yes, flow)?;
                self.top().mask = mask;
                return Ok(first | second);
            }
            Stmt::Loop(this) => return self.turns(this, active),
            Stmt::Switch(value, cases) => return self.switch(value, cases, active, flow),
            Stmt::Break => {
                flow.breaks |= active;
                return Ok(0);
            }
            Stmt::Continue => {
                flow.continues |= active;
                return Ok(0);
            }
            Stmt::Return(value) => {
                if let Some(value) = value {
                    self.result(value, active)?;
                }
                return Ok(0);
            }
            Stmt::Call { into, function, args } => {
                self.call(into.as_ref(), *function, args, active)?;
            }
            Stmt::Indirect { into, which, functions, args } => {
                let which = self.value(which, active)?;
                let operands = self.values(args, active)?;
                let mut all = vec![0; self.threads];
                for (index, function) in functions.iter().enumerate() {
                    let some = each(active)
                        .filter(|t| which[*t] as u32 as usize % functions.len() == index);
                    let some = some.fold(0, |set, t| set | 1 << t);
                    let result = self.call_numbers(*function, operands.clone(), some)?;
                    each(some).for_each(|t| all[t] = result[t]);
                }
                self.store(into, active, &all)?;
            }
            Stmt::OwnAtomic { into, at, op, ty, value, other } => {
                let (value, other) = (self.value(value, active)?, self.value(other, active)?);
                let (place, _) = self.place(at, active)?;
                let old: Vec<u64> = (0..self.threads)
                    .map(|t| if active >> t & 1 == 1 { self.get(t, place[t]) } else { 0 })
                    .collect();
                for t in each(active) {
                    self.set(t, place[t], ops::atomic(*op, *ty, old[t], value[t], other[t]));
                }
                self.store(into, active, &old)?;
            }
            Stmt::WordAtomic { global, word, value } => {
                let values = self.value(value, active)?;
                let program = self.program;
                let words = if *global { &program.global_words } else { &program.shared_words };
                let this = words.get(*word).ok_or("there is no such word")?;
                let memory = if *global { &mut self.global } else { &mut self.shared };
                for t in each(active) {
                    memory[*word] = ops::atomic(this.op, this.ty, memory[*word], values[t], 0);
                }
            }
            Stmt::Warp { .. }
            | Stmt::Exchange { .. }
            | Stmt::ExchangeInWarp { .. }
            | Stmt::ReadWord { .. }
            | Stmt::SyncCount { .. } => self.together(stmt, active)?,
        }
        Ok(active)
    }

    fn copy(&mut self, into: &Lvalue, from: &Lvalue, active: Threads) -> Result<(), String> {
        let (from, ty) = self.place(from, active)?;
        let (into, other) = self.place(into, active)?;
        if ty != other {
            return Err("structs of different types".to_string());
        }
        let count = ty.cells(&self.program.structs);
        for t in each(active) {
            let cells: Vec<u64> = (0..count)
                .map(|c| self.get(t, Address { cell: from[t].cell + c, ..from[t] }))
                .collect();
            for (c, value) in cells.into_iter().enumerate() {
                self.set(t, Address { cell: into[t].cell + c, ..into[t] }, value);
            }
        }
        Ok(())
    }

    fn turns(&mut self, this: &Loop, active: Threads) -> Result<Threads, String> {
        let counter = Lvalue { var: this.counter, path: Vec::new() };
        let at = self.place(&counter, active)?.0;
        let mask = self.top().mask;
        let step = u64::from(this.step.max(1));
        let down = this.kind == LoopKind::Down;
        // `Down` looks at its bound once, before the first turn.
        let first = if down { self.bound(this, active)? } else { vec![0; self.threads] };
        each(active).for_each(|t| self.set(t, at[t], first[t]));
        let (mut inside, mut left) = (active, 0);
        let mut first_turn = true;
        while inside != 0 {
            if !(this.kind == LoopKind::DoWhile && first_turn) {
                let on = self.goes_on(this, inside, &at)?;
                left |= inside & !on;
                inside = on;
            }
            first_turn = false;
            let counts = matches!(this.kind, LoopKind::While | LoopKind::DoWhile);
            if counts {
                self.count(&at, inside, 1);
            }
            if this.kind == LoopKind::Together {
                self.top().mask = inside;
            }
            let mut flow = Flow::default();
            inside = self.list(&this.body, inside, &mut flow)? | flow.continues;
            left |= flow.breaks;
            if !counts {
                self.count(&at, inside, if down { step.wrapping_neg() } else { step });
            }
        }
        self.top().mask = mask;
        Ok(left)
    }

    fn count(&mut self, at: &[Address], active: Threads, by: u64) {
        for t in each(active) {
            self.set(t, at[t], self.get(t, at[t]).wrapping_add(by));
        }
    }

    fn bound(&mut self, this: &Loop, active: Threads) -> Result<Vec<u64>, String> {
        let head = self.value(&this.head, active)?;
        Ok(head.iter().map(|n| u64::from(*n as u32 % (this.most + 1))).collect())
    }

    /// Those threads that take another turn.
    fn goes_on(&mut self, this: &Loop, active: Threads, at: &[Address]) -> Result<Threads, String> {
        if active == 0 {
            return Ok(0);
        }
        let of = |set: &mut dyn Iterator<Item = usize>| set.fold(0, |set, t| set | 1 << t);
        match this.kind {
            LoopKind::For => {
                let bound = self.bound(this, active)?;
                let below = |t: &usize| (self.get(*t, at[*t]) as i64) < bound[*t] as i64;
                Ok(of(&mut each(active).filter(below)))
            }
            LoopKind::Down => Ok(of(&mut each(active).filter(|t| self.get(*t, at[*t]) as i64 > 0))),
            LoopKind::While | LoopKind::DoWhile | LoopKind::Together => {
                if this.kind == LoopKind::Together {
                    self.check_mask(active)?;
                }
                let most = u64::from(this.most);
                let some = of(&mut each(active).filter(|t| self.get(*t, at[*t]) < most));
                self.true_for(&this.head, some)
            }
        }
    }

    fn switch(
        &mut self,
        value: &crate::program::Expr,
        cases: &[Case],
        active: Threads,
        flow: &mut Flow,
    ) -> Result<Threads, String> {
        let values = self.value(value, active)?;
        let labelled = |t: &usize| cases.iter().any(|c| c.labels.contains(&(values[*t] as i64)));
        let mut rest = each(active).filter(|t| !labelled(t)).fold(0, |set, t| set | 1 << t);
        let mut inner = Flow::default();
        let (mut falling, mut left) = (0, 0);
        for case in cases {
            let here = each(active).filter(|t| case.labels.contains(&(values[*t] as i64)));
            let mut inside = here.fold(falling, |set, t| set | 1 << t);
            if case.default {
                inside |= rest;
                rest = 0;
            }
            let end = self.list(&case.body, inside, &mut inner)?;
            falling = if case.falls { end } else { 0 };
            left |= if case.falls { 0 } else { end };
        }
        flow.continues |= inner.continues;
        Ok(left | falling | rest | inner.breaks)
    }
}
