//! Ways through a program's tree.

use crate::program::{Argument, Expr, Function, Lvalue, Program, Step, Stmt, Value};

/// Shows every list of statements, outer ones first.
pub fn lists(list: &mut Vec<Stmt>, visit: &mut dyn FnMut(&mut Vec<Stmt>)) {
    visit(list);
    for stmt in list {
        match stmt {
            Stmt::If(_, then, other) | Stmt::Masked(_, then, other) => {
                lists(then, visit);
                lists(other, visit);
            }
            Stmt::Loop(this) => lists(&mut this.body, visit),
            Stmt::Switch(_, cases) => {
                cases.iter_mut().for_each(|case| lists(&mut case.body, visit));
            }
            _ => {}
        }
    }
}

/// Shows every expression of a list's statements, outer ones first, and every place.
pub struct Parts<'a> {
    pub expr: &'a mut dyn FnMut(&mut Expr),
    pub place: &'a mut dyn FnMut(&mut Lvalue),
}

impl Parts<'_> {
    pub fn list(&mut self, list: &mut [Stmt]) {
        list.iter_mut().for_each(|stmt| self.stmt(stmt));
    }

    pub fn expr(&mut self, expr: &mut Expr) {
        (self.expr)(expr);
        match expr {
            Expr::Load(lvalue, _) => self.lvalue(lvalue),
            Expr::Unary(_, _, a) | Expr::Cast(_, _, a) => self.expr(a),
            Expr::Binary(_, _, a, b)
            | Expr::Compare(_, _, a, b)
            | Expr::Both(a, b)
            | Expr::Either(a, b) => {
                self.expr(a);
                self.expr(b);
            }
            Expr::Choose(cond, _, a, b) => {
                self.expr(cond);
                self.expr(a);
                self.expr(b);
            }
            Expr::Intrinsic(_, all) | Expr::Call(_, _, all) => {
                all.iter_mut().for_each(|e| self.expr(e));
            }
            Expr::Constant(..) | Expr::Input(_) | Expr::Thread | Expr::Block | Expr::Lane => {}
        }
    }

    fn lvalue(&mut self, lvalue: &mut Lvalue) {
        (self.place)(lvalue);
        for step in &mut lvalue.path {
            if let Step::Index(index) = step {
                self.expr(index);
            }
        }
    }

    fn stmt(&mut self, stmt: &mut Stmt) {
        match stmt {
            Stmt::Assign(into, expr) => {
                self.lvalue(into);
                self.expr(expr);
            }
            Stmt::Copy(into, from) => {
                self.lvalue(into);
                self.lvalue(from);
            }
            Stmt::Point { pointer, cond, one, other } => {
                (self.place)(&mut Lvalue { var: *pointer, path: Vec::new() });
                self.expr(cond);
                self.lvalue(one);
                self.lvalue(other);
            }
            Stmt::Out(_, expr) => self.expr(expr),
            Stmt::If(cond, then, other) | Stmt::Masked(cond, then, other) => {
                self.expr(cond);
                self.list(then);
                self.list(other);
            }
            Stmt::Loop(this) => {
                self.lvalue(&mut Lvalue { var: this.counter, path: Vec::new() });
                self.expr(&mut this.head);
                self.list(&mut this.body);
            }
            Stmt::Switch(value, cases) => {
                self.expr(value);
                cases.iter_mut().for_each(|case| self.list(&mut case.body));
            }
            Stmt::Break | Stmt::Continue | Stmt::Return(None) => {}
            Stmt::Return(Some(Value::Number(expr))) => self.expr(expr),
            Stmt::Return(Some(Value::Struct(lvalue))) => self.lvalue(lvalue),
            Stmt::Call { into, args, .. } => {
                into.iter_mut().for_each(|into| self.lvalue(into));
                for argument in args {
                    match argument {
                        Argument::Number(expr) => self.expr(expr),
                        Argument::Value(lvalue) | Argument::Pointer(lvalue) => self.lvalue(lvalue),
                    }
                }
            }
            Stmt::Indirect { into, which, args, .. } => {
                self.lvalue(into);
                self.expr(which);
                args.iter_mut().for_each(|e| self.expr(e));
            }
            Stmt::Warp { into, value, other, .. } => {
                self.lvalue(into);
                self.expr(value);
                self.expr(other);
            }
            Stmt::OwnAtomic { into, at, value, other, .. } => {
                self.lvalue(into);
                self.lvalue(at);
                self.expr(value);
                self.expr(other);
            }
            Stmt::WordAtomic { value, .. } => self.expr(value),
            Stmt::Exchange { into, from, thread: which, .. }
            | Stmt::ExchangeInWarp { into, from, lane: which, .. } => {
                self.lvalue(into);
                self.lvalue(from);
                self.expr(which);
            }
            Stmt::ReadWord { into, .. } => self.lvalue(into),
            Stmt::SyncCount { into, cond, .. } => {
                self.lvalue(into);
                self.expr(cond);
            }
        }
    }
}

/// Which variables of a function something names.
pub fn used(function: &Function) -> Vec<bool> {
    let mut used = vec![false; function.vars.len()];
    let mut body = function.body.clone();
    Parts { expr: &mut |_| {}, place: &mut |lvalue| used[lvalue.var] = true }.list(&mut body);
    used
}

/// Which functions the kernel leads to.
pub fn called(program: &Program) -> Vec<bool> {
    let mut called = vec![false; program.functions.len()];
    let kernel = program.functions.len() - 1;
    called[kernel] = true;
    // A function calls those before it.
    for caller in (0..=kernel).rev() {
        if !called[caller] {
            continue;
        }
        let mut body = program.functions[caller].body.clone();
        lists(&mut body, &mut |list| {
            for stmt in list {
                match stmt {
                    Stmt::Call { function, .. } => called[*function] = true,
                    Stmt::Indirect { functions, .. } => {
                        functions.iter().for_each(|f| called[*f] = true);
                    }
                    _ => {}
                }
            }
        });
        let mut expr = |expr: &mut Expr| {
            if let Expr::Call(function, _, _) = expr {
                called[*function] = true;
            }
        };
        Parts { expr: &mut expr, place: &mut |_| {} }.list(&mut body);
    }
    called
}
