//! Makes a program that differs small, as long as it differs in the same way.
//!
//! Each step tries changes of one kind, some at a time in one module, and keeps the first that
//! still differs. Whatever is taken out, the rest is a program without undefined behaviour:
//! variables start as zero, and masks are computed where they are used.

use crate::program::{Cond, End, Graph, Operand, Program, Slot, Stmt};

/// Says of each program whether it still differs.
pub type Check<'a> = &'a mut dyn FnMut(&[Program]) -> Vec<bool>;

/// Programs tried in one module.
const TOGETHER: usize = 24;

/// The smallest program that was found.
pub fn shrink(program: &Program, check: Check<'_>) -> Program {
    let mut best = program.clone();
    let steps: [fn(&Program) -> Vec<Program>; 7] =
        [launches, removals, unwrapped, loops, graphs, operands, guards];
    loop {
        let before = best.clone();
        for step in steps {
            while let Some(smaller) = first(step(&best), &best, check) {
                best = smaller;
            }
        }
        if best == before {
            return tidy(&best);
        }
    }
}

fn first(candidates: Vec<Program>, than: &Program, check: Check<'_>) -> Option<Program> {
    let candidates: Vec<Program> = candidates.into_iter().filter(|c| c != than).collect();
    for some in candidates.chunks(TOGETHER) {
        // Each needs a name of its own in the module: the check sees to that.
        let found = check(some);
        if let Some(at) = found.iter().position(|differs| *differs) {
            return Some(some[at].clone());
        }
    }
    None
}

/// Smaller grids and blocks, and as many registers as there are.
fn launches(program: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    if program.grid > 1 {
        all.push(Program { grid: 1, ..program.clone() });
    }
    if program.most_registers.is_some() {
        all.push(Program { most_registers: None, ..program.clone() });
    }
    // Masks are made for whole warps or for what there is: a whole warp fits both.
    if program.threads() > program.least_threads {
        all.push(Program { block: [program.least_threads, 1, 1], ..program.clone() });
    }
    all
}

/// Without some statements: half of a list, a quarter, … one.
fn removals(program: &Program) -> Vec<Program> {
    let mut lengths = Vec::new();
    program.clone().lists(&mut |list| lengths.push(list.len()));
    let longest = lengths.iter().copied().max().unwrap_or(0);
    let mut all = Vec::new();
    let mut size = longest.next_power_of_two();
    while size > 0 {
        for (number, length) in lengths.iter().enumerate() {
            // A part as long as the list is tried once, with the size that fits it best.
            if size > length.next_power_of_two() {
                continue;
            }
            for from in (0..*length).step_by(size) {
                let mut smaller = program.clone();
                at(&mut smaller, number, |list| {
                    list.drain(from..(from + size).min(list.len()));
                });
                all.push(smaller);
            }
        }
        size /= 2;
    }
    all
}

/// Changes the list with this number, in the order of [`Program::lists`].
fn at(program: &mut Program, number: usize, mut change: impl FnMut(&mut Vec<Stmt>)) {
    let mut index = 0;
    program.lists(&mut |list| {
        if index == number {
            change(list);
        }
        index += 1;
    });
}

/// With what stands inside a statement in its place.
fn unwrapped(program: &Program) -> Vec<Program> {
    let mut places = Vec::new();
    let mut number = 0;
    program.clone().lists(&mut |list| {
        places.extend((0..list.len()).map(|i| (number, i)));
        number += 1;
    });
    let mut all = Vec::new();
    for (number, index) in places {
        for way in 0..2 {
            let mut smaller = program.clone();
            let mut changed = false;
            at(&mut smaller, number, |list| {
                if let Some(inner) = inside(&list[index], way) {
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
        Stmt::If(inner) if inner.masks.is_none() => {
            Some(if way == 0 { inner.then.clone() } else { inner.other.clone() })
        }
        Stmt::Loop(inner) if inner.mask.is_none() && way == 0 => {
            (!leaves(&inner.body)).then(|| inner.body.clone())
        }
        Stmt::Switch(inner) if inner.mask.is_none() && way == 0 => {
            Some(inner.cases.iter().flat_map(|(case, _)| case.clone()).collect())
        }
        Stmt::Graph(inner) if way == 0 => {
            Some(inner.blocks.iter().flat_map(|b| b.body.clone()).collect())
        }
        _ => None,
    }
}

/// Whether a list has a break or continue of the loop that it is in.
fn leaves(list: &[Stmt]) -> bool {
    list.iter().any(|stmt| match stmt {
        Stmt::Break(_) | Stmt::Continue(_) => true,
        Stmt::If(inner) => leaves(&inner.then) || leaves(&inner.other),
        Stmt::Switch(inner) => inner.cases.iter().any(|(case, _)| leaves(case)),
        _ => false,
    })
}

/// Loops that run once, a fixed number of times, or without a mask that nobody reads.
fn loops(program: &Program) -> Vec<Program> {
    let constants = program.constants;
    let mut count = 0;
    program.clone().lists(&mut |list| {
        count += list.iter().filter(|s| matches!(s, Stmt::Loop(_))).count();
    });
    let mut all = Vec::new();
    for which in 0..count {
        for way in 0..5 {
            let mut smaller = program.clone();
            let mut index = 0;
            smaller.lists(&mut |list| {
                for stmt in list {
                    let Stmt::Loop(inner) = stmt else { continue };
                    if index == which {
                        match way {
                            0 if constants => inner.count = Operand::Bits(1),
                            0 => {}
                            1 => inner.most = 1,
                            2 => inner.most = inner.most.min(2),
                            3 => inner.test_last = true,
                            _ => inner.down = false,
                        }
                    }
                    index += 1;
                }
            });
            all.push(smaller);
        }
    }
    all
}

/// Graphs with a block less, with simpler ends, lower limits, without a meeting.
fn graphs(program: &Program) -> Vec<Program> {
    let mut sizes = Vec::new();
    program.clone().lists(&mut |list| {
        sizes.extend(list.iter().filter_map(|s| match s {
            Stmt::Graph(inner) => Some(inner.blocks.len()),
            _ => None,
        }));
    });
    let mut all = Vec::new();
    for (which, blocks) in sizes.into_iter().enumerate() {
        for at in 0..blocks {
            for way in 0..7 {
                let mut smaller = program.clone();
                let mut index = 0;
                smaller.lists(&mut |list| {
                    for stmt in list {
                        let Stmt::Graph(inner) = stmt else { continue };
                        if index == which {
                            simpler(inner, at, way);
                        }
                        index += 1;
                    }
                });
                all.push(smaller);
            }
        }
    }
    all
}

/// Makes a block of a graph simpler in one of several ways.
fn simpler(graph: &mut Graph, at: usize, way: usize) {
    let count = graph.blocks.len();
    let node = &mut graph.blocks[at];
    match (way, &mut node.end) {
        (0, _) if count > 1 => {
            graph.blocks.remove(at);
            let targets = graph.blocks.iter_mut().flat_map(|b| b.end.targets());
            targets.filter(|target| **target > at).for_each(|target| *target -= 1);
        }
        (1, end) => *end = End::Fall,
        (2, end @ End::Table { .. }) => {
            let first = end.targets().first().map_or(count, |target| **target);
            *end = End::Jump(first);
        }
        (3, End::Table { targets, .. }) if targets.len() > 2 => {
            targets.truncate(targets.len().next_power_of_two() / 2);
        }
        (4, End::Branch { other, .. }) => *other = None,
        (5, _) => node.limit = node.limit.min(4),
        (6, _) => graph.mask = None,
        _ => {}
    }
}

fn slots(program: &mut Program, visit: &mut dyn FnMut(&mut Slot)) {
    program.lists(&mut |list| {
        for stmt in list {
            if let Stmt::Op(op) = stmt {
                op.slots.iter_mut().for_each(&mut *visit);
            }
        }
    });
}

/// Operands that are constants where that is possible, and constants that are simpler. A program
/// without constants alone for operands stays one: what differs then would be something else.
fn operands(program: &Program) -> Vec<Program> {
    let constants = program.constants;
    let mut count = 0;
    slots(&mut program.clone(), &mut |_| count += 1);
    let mut all = Vec::new();
    for which in 0..count {
        for bits in [0, 1] {
            let mut smaller = program.clone();
            let mut index = 0;
            slots(&mut smaller, &mut |slot| {
                if index == which
                    && let Slot::Use { operand, constant, .. } = slot
                {
                    match operand {
                        Operand::Var(_) if *constant && constants => *operand = Operand::Bits(bits),
                        // Not by turns for ever: only the smaller one replaces another constant.
                        Operand::Bits(old) if bits < *old && *constant => {
                            *operand = Operand::Bits(bits);
                        }
                        Operand::Not(var) => *operand = Operand::Var(*var),
                        _ => {}
                    }
                }
                index += 1;
            });
            all.push(smaller);
        }
    }
    all
}

fn conds(program: &mut Program, visit: &mut dyn FnMut(&mut Option<Cond>)) {
    program.lists(&mut |list| {
        for stmt in list {
            if let Stmt::Op(op) = stmt {
                visit(&mut op.guard);
            }
        }
    });
}

/// Instructions without their guards.
fn guards(program: &Program) -> Vec<Program> {
    let mut count = 0;
    conds(&mut program.clone(), &mut |_| count += 1);
    (0..count)
        .map(|which| {
            let mut smaller = program.clone();
            let mut index = 0;
            conds(&mut smaller, &mut |guard| {
                if index == which {
                    *guard = None;
                }
                index += 1;
            });
            smaller
        })
        .collect()
}

/// Outputs that nobody stores to go away.
fn tidy(program: &Program) -> Program {
    let mut program = program.clone();
    let mut used = vec![false; program.outputs.len()];
    program.lists(&mut |list| {
        for stmt in list {
            if let Stmt::Store { slot, .. } = stmt {
                used[*slot] = true;
            }
        }
    });
    let mut new = vec![0; used.len()];
    let mut outputs = Vec::new();
    for (slot, output) in program.outputs.iter().enumerate().filter(|(slot, _)| used[*slot]) {
        new[slot] = outputs.len();
        outputs.push(*output);
    }
    program.outputs = outputs;
    program.lists(&mut |list| {
        for stmt in list {
            if let Stmt::Store { slot, .. } = stmt {
                *slot = new[*slot];
            }
        }
    });
    program
}
