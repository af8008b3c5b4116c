//! What each B register holds for a thread: a dataflow over the nodes of a function.
//!
//! A value is a set of possibilities, each with the condition under which it is none: behind `@P
//! BREAK B0` the register holds the region unless P, and nothing unless not P, so that the branch
//! on P that follows tells which.

use super::graph::{Code, Condition, barrier, condition, predicate, target};
use super::report::{Report, Rule};
use orias_components::{Inst, MemRef, Mod, Opcode, Operand, RegFile};
use smallvec::{SmallVec, smallvec};
use std::collections::BTreeMap;

/// Convergence barriers of the machine.
const BARRIERS: usize = 16;
/// Those that a callee keeps: B6 and on (observed: ptxas 13.0.88).
const KEPT: usize = 6;
/// Most possibilities that are told apart.
const MOST: usize = 12;

/// What a B register holds for a thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Holds {
    Nothing,
    /// The region of the BSSY at this index.
    Region(u32),
    /// What it held when the function was called.
    Caller,
    Unknown,
}

/// A possibility; none where the condition holds.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Case {
    /// What the B register holds.
    pub holds: Holds,
    unless: Option<Condition>,
}

impl Case {
    fn sure(holds: Holds) -> Case {
        Case { holds, unless: None }
    }
}

type Value = SmallVec<[Case; 2]>;

/// Where a copy of a B register is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Copy {
    Register(u32),
    /// Bytes from where the stack pointer was at first.
    Stack(i32),
}

/// What holds for a thread at a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State {
    values: [Value; BARRIERS],
    copies: BTreeMap<Copy, Value>,
    /// Registers that point into the stack: bytes from where the stack pointer was at first.
    pointers: BTreeMap<u32, i32>,
}

/// The stack pointer.
const STACK: u32 = 1;

impl State {
    fn new(holds: Holds) -> State {
        State {
            values: std::array::from_fn(|_| smallvec![Case::sure(holds)]),
            copies: BTreeMap::new(),
            pointers: BTreeMap::from([(STACK, 0)]),
        }
    }

    /// The regions that some register may hold.
    pub fn regions(&self) -> impl Iterator<Item = u32> + '_ {
        self.values.iter().flatten().filter_map(|c| match c.holds {
            Holds::Region(at) => Some(at),
            _ => None,
        })
    }

    /// Whether B register `b` may hold the region that begins at this BSSY.
    pub fn holds(&self, b: u8, region: u32) -> bool {
        self.values[usize::from(b)].iter().any(|c| c.holds == Holds::Region(region))
    }

    fn join(&mut self, other: &State) -> bool {
        let mut changed = false;
        for (mine, theirs) in self.values.iter_mut().zip(&other.values) {
            changed |= join(mine, theirs);
        }
        let before = self.copies.len();
        self.copies.retain(|k, _| other.copies.contains_key(k));
        changed |= before != self.copies.len();
        let before = self.pointers.len();
        self.pointers.retain(|k, v| other.pointers.get(k) == Some(v));
        changed |= before != self.pointers.len();
        for (key, mine) in &mut self.copies {
            changed |= join(mine, &other.copies[key]);
        }
        changed
    }

    fn each_value(&mut self, mut f: impl FnMut(&mut Value)) {
        self.values.iter_mut().for_each(&mut f);
        self.copies.values_mut().for_each(f);
    }

    /// What is known on a way.
    fn learn(&mut self, known: &Condition) {
        if known.is_always() {
            return;
        }
        self.each_value(|value| {
            value.retain(|c| !c.unless.as_ref().is_some_and(|u| known.implies(u)));
            for case in value.iter_mut() {
                if case.unless.as_ref().is_some_and(|u| known.implies(&u.opposite())) {
                    case.unless = None;
                }
            }
            tidy(value);
        });
    }
}

/// Adds what another way brings; whether that is anything new.
fn join(mine: &mut Value, theirs: &Value) -> bool {
    let before = mine.clone();
    mine.extend(theirs.iter().cloned());
    tidy(mine);
    *mine != before
}

fn tidy(value: &mut Value) {
    value.sort();
    value.dedup();
    let sure: SmallVec<[Holds; 2]> =
        value.iter().filter(|c| c.unless.is_none()).map(|c| c.holds).collect();
    value.retain(|c| c.unless.is_none() || !sure.contains(&c.holds));
    if value.len() > MOST {
        *value = smallvec![Case::sure(Holds::Unknown)];
    }
}

/// The value where `new` takes the place of `old` under a condition.
fn blend(old: &Value, new: Value, when: &Condition) -> Value {
    if when.is_never() {
        return old.clone();
    }
    if when.is_always() {
        return new;
    }
    let mut both = Value::new();
    let under = |c: &Case, condition: Condition| Case { holds: c.holds, unless: Some(condition) };
    both.extend(new.iter().map(|c| under(c, when.opposite())));
    both.extend(old.iter().map(|c| under(c, when.clone())));
    tidy(&mut both);
    both
}

/// What holds before each node of a function.
pub struct Flow {
    /// By node; None where the function's control does not come.
    pub before: Vec<Option<State>>,
    /// The nodes that it comes to.
    pub nodes: Vec<u32>,
    /// For each region, those that were open at its BSSY.
    pub around: BTreeMap<u32, Vec<u32>>,
}

/// The functions of a section, with what each does to the B registers of its caller.
pub struct Functions<'a> {
    code: &'a Code,
    /// By entry: which registers are not what they were. None while that is being found out.
    changes: BTreeMap<u32, Option<[bool; BARRIERS]>>,
}

impl<'a> Functions<'a> {
    /// Of code of which nothing is solved yet.
    pub fn new(code: &'a Code) -> Functions<'a> {
        Functions { code, changes: BTreeMap::new() }
    }

    /// What a call changes: what the callee does, or what the convention allows where that is not
    /// known.
    fn changes(&mut self, call: u32) -> [bool; BARRIERS] {
        let convention = std::array::from_fn(|b| b < KEPT);
        let entry = self.code.callee(call).filter(|e| self.code.entries.contains(e));
        let Some(entry) = entry else { return convention };
        if let Some(found) = self.changes.get(&entry) {
            return found.unwrap_or(convention);
        }
        self.changes.insert(entry, None);
        let flow = self.solve(entry);
        let mut changed = [false; BARRIERS];
        for node in &flow.nodes {
            let last = self.code.inst(self.code.nodes[*node as usize].end - 1);
            if last.is_some_and(|i| i.op == Opcode::RET) {
                let at_end = self.after(&flow, *node);
                for (b, value) in at_end.values.iter().enumerate() {
                    changed[b] |= value.iter().any(|c| c.holds != Holds::Caller);
                }
            }
        }
        self.changes.insert(entry, Some(changed));
        changed
    }

    /// What holds before each node of the function that begins there.
    pub fn solve(&mut self, entry: u32) -> Flow {
        let code = self.code;
        let first = code.node_of[entry as usize];
        let holds = if entry == 0 && code.kernel { Holds::Nothing } else { Holds::Caller };
        let mut before: Vec<Option<State>> = vec![None; code.nodes.len()];
        before[first as usize] = Some(State::new(holds));
        let mut work = vec![first];
        while let Some(node) = work.pop() {
            let Some(mut state) = before[node as usize].clone() else { continue };
            self.pass(node, &mut state);
            for edge in &code.nodes[node as usize].edges {
                let mut there = state.clone();
                there.learn(&edge.known);
                let changed = match &mut before[edge.to as usize] {
                    Some(old) => old.join(&there),
                    empty => {
                        *empty = Some(there);
                        true
                    }
                };
                if changed {
                    work.push(edge.to);
                }
            }
        }
        let nodes = code.reached(entry);
        let mut around = BTreeMap::new();
        for node in &nodes {
            let first = code.nodes[*node as usize].first;
            let Some(inst) = code.special(*node).filter(|i| i.op == Opcode::BSSY) else { continue };
            let Some(state) = &before[*node as usize] else { continue };
            let own = barrier(inst);
            let open = state.regions().filter(|r| code.inst(*r).and_then(barrier) != own);
            around.insert(first, open.collect());
        }
        Flow { before, nodes, around }
    }

    /// What holds behind a node.
    pub fn after(&mut self, flow: &Flow, node: u32) -> State {
        let mut state =
            flow.before[node as usize].clone().unwrap_or_else(|| State::new(Holds::Unknown));
        self.pass(node, &mut state);
        state
    }

    fn pass(&mut self, node: u32, state: &mut State) {
        let node = &self.code.nodes[node as usize];
        for at in node.first..node.end {
            if let Some(inst) = self.code.inst(at) {
                self.step(at, inst, state);
            }
        }
    }

    fn step(&mut self, at: u32, inst: &Inst, state: &mut State) {
        let when = condition(inst);
        let b = barrier(inst).map(usize::from);
        match (inst.op, b) {
            (Opcode::BSSY, Some(b)) => {
                let new = smallvec![Case::sure(Holds::Region(at))];
                state.values[b] = blend(&state.values[b], new, &when);
            }
            (Opcode::BSYNC | Opcode::BREAK, Some(b)) => {
                let new = smallvec![Case::sure(Holds::Nothing)];
                state.values[b] = blend(&state.values[b], new, &when);
            }
            (Opcode::BMOV, _) => self.move_barrier(inst, state, &when),
            (Opcode::CALL, _) => {
                for (b, _) in self.changes(at).iter().enumerate().filter(|(_, c)| **c) {
                    state.values[b] = smallvec![Case::sure(Holds::Nothing)];
                }
            }
            _ => self.follow_copies(inst, state, &when),
        }
        inst.for_each_def(|r| {
            let Some(changed) = predicate(r.reg) else { return };
            state.each_value(|value| {
                for case in value.iter_mut() {
                    if case.unless.as_ref().is_some_and(|u| u.depends_on(changed)) {
                        case.unless = None;
                    }
                }
                tidy(value);
            });
        });
    }

    fn move_barrier(&self, inst: &Inst, state: &mut State, when: &Condition) {
        let register =
            |o: &Operand| o.as_reg().and_then(|r| Some((r.reg.file(), r.reg.phys_index()?)));
        let mut names = inst.operands.iter().filter_map(register);
        let (to, from) = (names.next(), names.next());
        match (to, from) {
            (Some((RegFile::R, r)), Some((RegFile::B, b))) => {
                let value = state.values[b as usize].clone();
                state.copies.insert(Copy::Register(r), value);
                if inst.mods.has(Mod::CLEAR) {
                    let new = smallvec![Case::sure(Holds::Nothing)];
                    state.values[b as usize] = blend(&state.values[b as usize], new, when);
                }
            }
            (Some((RegFile::B, b)), Some((RegFile::R, r))) => {
                let saved = state.copies.get(&Copy::Register(r)).cloned();
                let saved = saved.unwrap_or_else(|| smallvec![Case::sure(Holds::Unknown)]);
                state.values[b as usize] = blend(&state.values[b as usize], saved, when);
            }
            (Some((RegFile::B, b)), _) => {
                state.values[b as usize] = smallvec![Case::sure(Holds::Unknown)];
            }
            _ => {}
        }
    }

    /// Copies of B registers in general registers and on the stack: what is stored by addresses
    /// that are not known is taken to be elsewhere, and a call to keep them.
    fn follow_copies(&self, inst: &Inst, state: &mut State, when: &Condition) {
        let general = |o: &Operand| match o {
            Operand::Reg(r) if r.reg.file() == RegFile::R => {
                r.reg.phys_index().map(|n| (n, u32::from(r.count)))
            }
            _ => None,
        };
        let stack = |o: &Operand| match o {
            Operand::Mem(MemRef { base, offset, .. }) => {
                Some(state.pointers.get(&base.reg.phys_index()?)? + offset)
            }
            _ => None,
        };
        let place = inst.operands.iter().find_map(stack);
        let sources: SmallVec<[u32; 3]> =
            inst.sources().iter().filter_map(general).map(|(n, _)| n).collect();
        let mut made: SmallVec<[(Copy, Value); 2]> = SmallVec::new();
        let mut pointer = None;
        match (inst.op, place) {
            (Opcode::STL, Some(offset)) if when.is_always() => {
                let data = inst.sources().iter().rev().find_map(general);
                for (cell, i) in cells(data) {
                    let to = Copy::Stack(offset + 4 * i as i32);
                    state.copies.remove(&to);
                    made.extend(state.copies.get(&Copy::Register(cell)).map(|v| (to, v.clone())));
                }
            }
            (Opcode::LDL, Some(offset)) if when.is_always() => {
                for (cell, i) in cells(inst.dests().iter().find_map(general)) {
                    let from = Copy::Stack(offset + 4 * i as i32);
                    made.extend(state.copies.get(&from).map(|v| (Copy::Register(cell), v.clone())));
                }
            }
            (Opcode::MOV | Opcode::IMAD | Opcode::IADD3 | Opcode::VIADD, _) if when.is_always() => {
                let to = inst.dests().iter().find_map(general);
                if let ([from], Some((to, 1))) = (&sources[..], to) {
                    let moves = matches!(inst.op, Opcode::MOV | Opcode::IMAD);
                    let copy = state.copies.get(&Copy::Register(*from)).filter(|_| moves);
                    made.extend(copy.map(|v| (Copy::Register(to), v.clone())));
                    let by = if moves { Some(0) } else { constant(inst) };
                    let at = state.pointers.get(from).zip(by);
                    pointer = at.map(|(at, by)| (to, at.wrapping_add(by)));
                }
            }
            // A kernel's stack pointer stands in bank 0.
            (Opcode::LDC, _) => {
                let to = inst.dests().iter().find_map(general);
                pointer = to.filter(|(n, _)| *n == STACK && self.code.kernel).map(|(n, _)| (n, 0));
            }
            _ => {}
        }
        inst.for_each_def(|r| {
            let own = r.reg.file() == RegFile::R;
            let Some(first) = r.reg.phys_index().filter(|_| own) else { return };
            for cell in first..first + u32::from(r.count) {
                state.copies.remove(&Copy::Register(cell));
                state.pointers.remove(&cell);
            }
        });
        state.pointers.extend(pointer);
        state.copies.extend(made);
    }
}

/// The cells of a register operand, and which of it each is.
fn cells(data: Option<(u32, u32)>) -> impl Iterator<Item = (u32, u32)> {
    data.into_iter().flat_map(|(first, count)| (0..count).map(move |i| (first + i, i)))
}

/// The one immediate of an addition.
fn constant(inst: &Inst) -> Option<i32> {
    let found = inst.sources().iter().find_map(|o| match o {
        Operand::Imm(v) => Some(*v as u32 as i32),
        _ => None,
    });
    Some(found.unwrap_or(0))
}

/// Holds what each instruction asks of the B registers against what they hold.
pub fn judge(code: &Code, flow: &Flow, functions: &mut Functions<'_>, report: &mut Report) {
    for node in &flow.nodes {
        let Some(state) = &flow.before[*node as usize] else { continue };
        let at = code.nodes[*node as usize].first;
        if let Some(inst) = code.special(*node) {
            judge_one(code, flow, functions, (at, inst, state), report);
        }
        let last = code.nodes[*node as usize].end - 1;
        if code.inst(last).is_some_and(|i| i.op == Opcode::RET) {
            let after = functions.after(flow, *node);
            for region in after.regions() {
                report.add(Rule::Returns, last, format!("in the region of {}", place(region)));
            }
        }
    }
}

fn place(at: u32) -> String {
    format!("{:#06x}", u64::from(at) * super::graph::WORD)
}

fn judge_one(
    code: &Code,
    flow: &Flow,
    functions: &mut Functions<'_>,
    (at, inst, state): (u32, &Inst, &State),
    report: &mut Report,
) {
    let when = condition(inst);
    if when.is_never() {
        return;
    }
    // What is true where the instruction is done is known.
    let mut known = state.clone();
    known.learn(&when);
    let b = barrier(inst);
    let value = |b: u8| known.values[usize::from(b)].clone();
    match (inst.op, b) {
        (Opcode::BSSY, Some(b)) => {
            let end = target(inst).and_then(|t| t.checked_sub(1)).and_then(|t| code.inst(t));
            let fits = end.is_some_and(|i| i.op == Opcode::BSYNC && barrier(i) == Some(b));
            if !fits {
                report.add(Rule::NoBsync, at, format!("B{b}"));
            }
            for case in value(b) {
                if let Holds::Region(old) = case.holds {
                    report.add(Rule::Overwritten, at, format!("B{b} with that of {}", place(old)));
                }
            }
        }
        (Opcode::BSYNC, Some(b)) => {
            for case in value(b) {
                match case.holds {
                    Holds::Region(r) => {
                        let to = code.inst(r).and_then(target);
                        if to != Some(at + 1) {
                            let what = format!("B{b} of {}", place(r));
                            report.add(Rule::Elsewhere, at, what);
                        }
                        judge_order(code, flow, (at, b, r), &known, report);
                    }
                    Holds::Nothing => report.add(Rule::Unopened, at, format!("B{b}")),
                    Holds::Caller => report.add(Rule::Unopened, at, format!("B{b} of the caller")),
                    Holds::Unknown => report.add(Rule::Unknown, at, format!("B{b}")),
                }
            }
        }
        (Opcode::BREAK, Some(b)) => {
            let value = value(b);
            if value.iter().any(|c| c.holds == Holds::Unknown) {
                report.add(Rule::Unknown, at, format!("B{b}"));
            } else if !value.iter().any(|c| matches!(c.holds, Holds::Region(_))) {
                report.add(Rule::BreakUnopened, at, format!("B{b}"));
            }
        }
        (Opcode::BMOV, Some(b)) => {
            let writes = inst.operands.first().and_then(Operand::as_reg);
            if writes.is_some_and(|r| r.reg.file() == RegFile::B) {
                let mut after = state.clone();
                functions.move_barrier(inst, &mut after, &when);
                for case in value(b) {
                    if let Holds::Region(old) = case.holds
                        && !after.holds(b, old)
                    {
                        let what = format!("B{b} with that of {}", place(old));
                        report.add(Rule::Overwritten, at, what);
                    }
                }
            }
        }
        (Opcode::CALL, _) => {
            let changes = functions.changes(at);
            for (b, _) in changes.iter().enumerate().filter(|(_, c)| **c) {
                for case in value(b as u8) {
                    if let Holds::Region(old) = case.holds {
                        let what = format!("B{b} with that of {}", place(old));
                        report.add(Rule::Called, at, what);
                    }
                }
            }
        }
        _ => {}
    }
}

/// A thread at BSYNC is in no region that began inside this one.
fn judge_order(
    code: &Code,
    flow: &Flow,
    (at, b, region): (u32, u8, u32),
    state: &State,
    report: &mut Report,
) {
    for inner in state.regions() {
        let own = code.inst(inner).and_then(barrier);
        let inside = flow.around.get(&inner).is_some_and(|around| around.contains(&region));
        if inner != region && own != Some(b) && inside {
            let what = format!("B{b}, in the region of {}", place(inner));
            report.add(Rule::Order, at, what);
        }
    }
}
