//! Makes a program that differs small, as long as it differs in the same way.
//!
//! Each step tries changes of one kind, some at a time in one file, and keeps the first that still
//! differs. What has no meaning any more (a mask that names other threads, a barrier that not all
//! reach) the reference says.

use crate::evaluate;
use crate::input::Inputs;
use crate::program::{Expr, Inline, Program, Stmt};
use crate::walk::{self, Parts};

/// Says of each program whether it still differs.
pub type Check<'a> = &'a mut dyn FnMut(&[Program]) -> Vec<bool>;

/// Programs tried in one file.
const TOGETHER: usize = 24;

/// The smallest program that was found.
pub fn shrink(program: &Program, check: Check<'_>) -> Program {
    let mut best = program.clone();
    let steps: [fn(&Program) -> Vec<Program>; 6] =
        [launches, removals, unwrapped, loops, expressions, functions];
    loop {
        let before = best.clone();
        for step in steps {
            best = pass(best, step, check);
        }
        if best == before {
            return tidy(&best);
        }
    }
}

/// Goes once through the changes that a step proposes; each that still differs is kept.
fn pass(mut best: Program, step: fn(&Program) -> Vec<Program>, check: Check<'_>) -> Program {
    let mut all = step(&best);
    let mut at = 0;
    while at < all.len() {
        let mut tried: Vec<usize> = Vec::new();
        let mut some: Vec<Program> = Vec::new();
        while at < all.len() && some.len() < TOGETHER {
            let program = &all[at];
            if *program != best && evaluate::run(program, &Inputs::of(program)).is_ok() {
                let number = best.seed * 100 + some.len() as u64;
                some.push(Program { number, ..program.clone() });
                tried.push(at);
            }
            at += 1;
        }
        if some.is_empty() {
            continue;
        }
        if let Some(found) = check(&some).iter().position(|differs| *differs) {
            best = Program { number: best.number, ..some[found].clone() };
            all = step(&best);
            at = tried[found];
        }
    }
    best
}

/// Smaller grids and blocks.
fn launches(program: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    for (grid, block) in [(1, 1), (1, 2), (1, 32), (1, 64), (1, program.block), (program.grid, 32)]
    {
        if grid <= program.grid && block <= program.block {
            all.push(Program { grid, block, ..program.clone() });
        }
    }
    all
}

/// Calls `change` with every list of the program and its number.
fn at_lists(program: &mut Program, mut change: impl FnMut(usize, &mut Vec<Stmt>)) {
    let mut number = 0;
    // The kernel first: what it does not do makes functions go away.
    for function in program.functions.iter_mut().rev() {
        walk::lists(&mut function.body, &mut |list| {
            change(number, list);
            number += 1;
        });
    }
}

/// Without some statements: half of a list, a quarter, … one.
fn removals(program: &Program) -> Vec<Program> {
    let mut lengths = Vec::new();
    at_lists(&mut program.clone(), |_, list| lengths.push(list.len()));
    let mut size = lengths.iter().copied().max().unwrap_or(0).next_power_of_two();
    let mut all = Vec::new();
    while size > 0 {
        for (number, length) in lengths.iter().enumerate() {
            if size > length.next_power_of_two() {
                continue;
            }
            for from in (0..*length).step_by(size) {
                let mut smaller = program.clone();
                at_lists(&mut smaller, |index, list| {
                    if index == number {
                        list.drain(from..(from + size).min(list.len()));
                    }
                });
                all.push(smaller);
            }
        }
        size /= 2;
    }
    all
}

/// With what stands inside a statement in its place.
fn unwrapped(program: &Program) -> Vec<Program> {
    let mut places = Vec::new();
    at_lists(&mut program.clone(), |number, list| {
        places.extend((0..list.len()).map(|i| (number, i)));
    });
    let mut all = Vec::new();
    for (number, index) in places {
        for way in 0..2 {
            let mut smaller = program.clone();
            let mut changed = false;
            at_lists(&mut smaller, |at, list| {
                if at == number
                    && !changed
                    && let Some(inner) = list.get(index).and_then(|stmt| inside(stmt, way))
                {
                    list.splice(index..=index, inner);
                    changed = true;
                }
            });
            if changed {
                all.push(smaller);
            }
        }
    }
    all
}

/// The statements inside one; `None` where they would not mean anything outside it.
fn inside(stmt: &Stmt, way: usize) -> Option<Vec<Stmt>> {
    match stmt {
        Stmt::If(_, then, other) => Some(if way == 0 { then.clone() } else { other.clone() }),
        Stmt::Masked(_, then, other) if way == 0 => Some([then.clone(), other.clone()].concat()),
        Stmt::Masked(cond, then, other) => {
            Some(vec![Stmt::If(cond.clone(), then.clone(), other.clone())])
        }
        Stmt::Loop(this) if way == 0 && !leaves(&this.body) => Some(this.body.clone()),
        Stmt::Switch(_, cases) if way == 0 => {
            let all: Vec<Stmt> = cases.iter().flat_map(|case| case.body.clone()).collect();
            (!leaves(&all)).then_some(all)
        }
        Stmt::Switch(value, cases) if cases.len() > 1 => {
            let half = cases[..cases.len() / 2].to_vec();
            Some(vec![Stmt::Switch(value.clone(), half)])
        }
        _ => None,
    }
}

/// Whether a list has a break or continue of what it is in.
fn leaves(list: &[Stmt]) -> bool {
    list.iter().any(|stmt| match stmt {
        Stmt::Break | Stmt::Continue => true,
        Stmt::If(_, then, other) | Stmt::Masked(_, then, other) => leaves(then) || leaves(other),
        Stmt::Switch(_, cases) => cases.iter().any(|case| leaves(&case.body)),
        _ => false,
    })
}

/// Loops of fewer turns, without wishes to unroll.
fn loops(program: &Program) -> Vec<Program> {
    let mut count = 0;
    at_lists(&mut program.clone(), |_, list| {
        count += list.iter().filter(|s| matches!(s, Stmt::Loop(_))).count();
    });
    let mut all = Vec::new();
    for (which, way) in (0..count).flat_map(|which| (0..4).map(move |way| (which, way))) {
        let mut smaller = program.clone();
        let mut index = 0;
        at_lists(&mut smaller, |_, list| {
            for stmt in list {
                let Stmt::Loop(this) = stmt else { continue };
                if index == which {
                    match way {
                        0 => this.most = 1,
                        1 => this.most = this.most.min(2),
                        2 => this.step = 1,
                        _ => this.unroll = None,
                    }
                }
                index += 1;
            }
        });
        all.push(smaller);
    }
    all
}

/// Calls `change` with every expression of the program and its number.
fn at_expressions(program: &mut Program, mut change: impl FnMut(usize, &mut Expr)) {
    let mut number = 0;
    for function in program.functions.iter_mut().rev() {
        let mut expr = |expr: &mut Expr| {
            change(number, expr);
            number += 1;
        };
        Parts { expr: &mut expr, place: &mut |_| {} }.list(&mut function.body);
    }
}

/// Expressions that are constants, or one of their own parts.
fn expressions(program: &Program) -> Vec<Program> {
    let mut ways = Vec::new();
    at_expressions(&mut program.clone(), |number, expr| {
        simpler(expr).into_iter().for_each(|simple| ways.push((number, simple)));
    });
    ways.into_iter()
        .map(|(number, simple)| {
            let mut smaller = program.clone();
            at_expressions(&mut smaller, |at, expr| {
                if at == number {
                    *expr = simple.clone();
                }
            });
            smaller
        })
        .collect()
}

fn simpler(expr: &Expr) -> Vec<Expr> {
    let ty = expr.ty();
    let parts: Vec<&Expr> = match expr {
        Expr::Constant(_, 0 | 1) => return Vec::new(),
        Expr::Constant(..) => {
            return vec![Expr::Constant(ty, 0), Expr::Constant(ty, 1)];
        }
        Expr::Unary(_, _, a) | Expr::Cast(_, _, a) => vec![a],
        Expr::Binary(_, _, a, b)
        | Expr::Compare(_, _, a, b)
        | Expr::Both(a, b)
        | Expr::Either(a, b) => vec![a, b],
        Expr::Choose(cond, _, a, b) => vec![cond, a, b],
        Expr::Intrinsic(_, all) | Expr::Call(_, _, all) => all.iter().collect(),
        _ => Vec::new(),
    };
    let mut all = vec![Expr::Constant(ty, 0)];
    if !ty.float() {
        all.push(Expr::Constant(ty, 1));
    }
    all.extend(parts.into_iter().filter(|part| part.ty() == ty).cloned());
    all
}

/// Functions that are not inlined on demand, variables that are not volatile.
fn functions(program: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    for which in 0..program.functions.len() {
        let mut smaller = program.clone();
        let function = &mut smaller.functions[which];
        if function.inline == Inline::Always {
            function.inline = Inline::AsTheCompilerLikes;
        }
        function.vars.iter_mut().for_each(|var| var.volatile = false);
        all.push(smaller);
    }
    for (shared, count) in [(true, program.shared_words.len()), (false, program.global_words.len())]
    {
        if count > 0 {
            let mut smaller = program.clone();
            let words = if shared { &mut smaller.shared_words } else { &mut smaller.global_words };
            words.clear();
            all.push(smaller);
        }
    }
    all
}

/// Outputs that nobody stores go away.
fn tidy(program: &Program) -> Program {
    let mut program = program.clone();
    let mut slots = Vec::new();
    at_lists(&mut program, |_, list| {
        for stmt in list {
            if let Stmt::Out(slot, _) = stmt {
                slots.push(*slot);
            }
        }
    });
    slots.sort_unstable();
    slots.dedup();
    at_lists(&mut program, |_, list| {
        for stmt in list {
            if let Stmt::Out(slot, _) = stmt {
                *slot = slots.iter().position(|s| s == slot).unwrap_or(0);
            }
        }
    });
    program.outputs = slots.len();
    program
}
