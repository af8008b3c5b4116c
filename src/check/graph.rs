//! The flow of control of a section of machine code, read from its words.
//!
//! A node is a run of instructions that control enters at the first and leaves behind the last.
//! Whatever has to do with convergence (BSSY, BSYNC, BREAK, BMOV, WARPSYNC, BAR, calls) is a node
//! of its own, so that what holds before a node says all.

use crate::elf::attribute::Attribute;
use crate::elf::read::{Cubin, Function};
use orias_components::{Inst, Mod, Opcode, Operand, Reg, RegFile, RegFlags};
use orias_targets::Target;
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of an instruction.
pub const WORD: u64 = 16;

/// A predicate register, or its opposite.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Literal {
    /// The number of the predicate register.
    pub reg: u8,
    /// It must be false, not true.
    pub negated: bool,
}

/// Uniform predicates count from here on.
const UNIFORM: u8 = 8;

/// What is known on a way, or decides over something: whether all of some predicates hold, or not
/// all.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Condition {
    /// All of them hold; none: always.
    pub all: SmallVec<[Literal; 2]>,
    /// Not all of them.
    pub not: bool,
}

impl Condition {
    /// Holds whatever the predicates are.
    pub fn always() -> Condition {
        Condition::default()
    }

    /// Whether it holds whatever the predicates are.
    pub fn is_always(&self) -> bool {
        self.all.is_empty() && !self.not
    }

    /// Whether it cannot hold.
    pub fn is_never(&self) -> bool {
        self.all.is_empty() && self.not
    }

    /// What holds where this does not.
    pub fn opposite(&self) -> Condition {
        Condition { all: self.all.clone(), not: !self.not }.plain()
    }

    /// The one spelling of a condition on one predicate.
    fn plain(mut self) -> Condition {
        if let ([one], true) = (&mut self.all[..], self.not) {
            one.negated = !one.negated;
            self.not = false;
        }
        self
    }

    /// Whether what is known (`self`) says that `other` holds.
    pub fn implies(&self, other: &Condition) -> bool {
        if self == other || other.is_always() {
            return true;
        }
        if self.not {
            return false;
        }
        let opposite = |l: &Literal| Literal { negated: !l.negated, ..*l };
        match other.not {
            false => other.all.iter().all(|l| self.all.contains(l)),
            true => other.all.iter().any(|l| self.all.contains(&opposite(l))),
        }
    }

    /// Whether a predicate register is in it.
    pub fn depends_on(&self, reg: u8) -> bool {
        self.all.iter().any(|l| l.reg == reg)
    }
}

/// The number of a predicate register that is not constant.
pub fn predicate(reg: Reg) -> Option<u8> {
    let base = match reg.file() {
        RegFile::P => 0,
        RegFile::UP => UNIFORM,
        _ => return None,
    };
    Some(base + reg.phys_index()? as u8)
}

/// The literal that a predicate operand is: None when it is constant, and whether that is false.
fn literal(reg: Reg, negated: bool) -> (Option<Literal>, bool) {
    match predicate(reg) {
        Some(reg) => (Some(Literal { reg, negated }), false),
        None => (None, negated),
    }
}

/// When an instruction is done: guard and predicate operands.
pub fn condition(inst: &Inst) -> Condition {
    let mut all = SmallVec::new();
    let mut never = false;
    let mut add = |reg: Reg, negated: bool| {
        let (found, constant) = literal(reg, negated);
        all.extend(found);
        never |= constant;
    };
    add(inst.guard.reg, inst.guard.negated);
    for operand in inst.sources() {
        if let Operand::Reg(r) = operand
            && r.reg.file().is_predicate()
        {
            add(r.reg, r.flags.has(RegFlags::NOT));
        }
    }
    if never {
        return Condition { all: SmallVec::new(), not: true };
    }
    all.sort();
    all.dedup();
    Condition { all, not: false }
}

/// The number of the convergence barrier that an instruction names.
pub fn barrier(inst: &Inst) -> Option<u8> {
    let found =
        inst.operands.iter().find_map(|o| o.as_reg().filter(|r| r.reg.file() == RegFile::B));
    found.and_then(|r| r.reg.phys_index()).map(|n| n as u8)
}

/// The place that an instruction names, as an index of instructions.
pub fn target(inst: &Inst) -> Option<u32> {
    inst.operands.iter().find_map(|o| match o {
        Operand::Addr(at) if at % WORD == 0 => u32::try_from(at / WORD).ok(),
        _ => None,
    })
}

/// A way from a node to another, and what is known there.
#[derive(Clone, Debug)]
pub struct Edge {
    /// The node that it leads to.
    pub to: u32,
    /// What holds on the way.
    pub known: Condition,
}

/// A run of instructions.
#[derive(Clone, Debug)]
pub struct Node {
    /// First instruction and the one behind the last, by index.
    pub first: u32,
    /// Behind its last instruction, by index.
    pub end: u32,
    /// Where it may go next.
    pub edges: SmallVec<[Edge; 2]>,
}

/// The code of a section.
pub struct Code {
    /// By index; None where no row explains the word.
    pub insts: Vec<Option<Inst>>,
    /// In order of place.
    pub nodes: Vec<Node>,
    /// The node of each instruction.
    pub node_of: Vec<u32>,
    /// Where functions begin: the kernel, then those that it calls.
    pub entries: Vec<u32>,
    /// Branches whose targets nothing tells.
    pub unknown: Vec<u32>,
    /// The section is a kernel's: what stands first in it is not called.
    pub kernel: bool,
    /// Instructions whose target a linker fills in.
    relocated: BTreeSet<u32>,
}

impl Code {
    /// Decodes a function's text and finds its nodes and edges.
    pub fn new(target: &Target, cubin: &Cubin<'_>, function: &Function<'_>) -> Code {
        let words = function.text.as_chunks::<16>().0.iter().enumerate();
        let insts: Vec<Option<Inst>> = words
            .map(|(i, word)| target.decode(u128::from_le_bytes(*word), WORD * i as u64).ok())
            .collect();
        let tables = tables(cubin, function, &insts);
        let mut code = Code {
            insts,
            nodes: Vec::new(),
            node_of: Vec::new(),
            entries: Vec::new(),
            unknown: Vec::new(),
            kernel: function.entry,
            relocated: cubin.sections[function.section]
                .relocations
                .iter()
                .map(|r| (r.offset / WORD) as u32)
                .collect(),
        };
        let count = code.insts.len() as u32;
        let mut entries = BTreeSet::new();
        entries.extend(function.inner.iter().map(|f| (f.range.start / WORD) as u32));
        entries.extend((0..count).filter_map(|at| code.callee(at)));
        entries.remove(&0);
        code.entries = std::iter::once(0).chain(entries).filter(|e| *e < count).collect();
        code.split(&tables);
        code
    }

    /// Makes the nodes.
    fn split(&mut self, tables: &BTreeMap<u32, Vec<u32>>) {
        let count = self.insts.len() as u32;
        let mut leaders: BTreeSet<u32> = self.entries.iter().copied().collect();
        for (at, inst) in (0..count).zip(&self.insts) {
            let Some(inst) = inst else { continue };
            let flows = inst.op.is_branch();
            if flows || stands_alone(inst) {
                leaders.insert(at + 1);
            }
            if stands_alone(inst) {
                leaders.insert(at);
            }
            if flows && inst.op != Opcode::CALL {
                leaders.extend(self::target(inst));
            }
        }
        leaders.extend(tables.values().flatten());
        leaders.retain(|l| *l < count);
        self.node_of = vec![0; count as usize];
        let ends: Vec<u32> = leaders.iter().copied().skip(1).chain([count]).collect();
        for (number, (first, end)) in leaders.iter().copied().zip(ends).enumerate() {
            (first..end).for_each(|i| self.node_of[i as usize] = number as u32);
            self.nodes.push(Node { first, end, edges: SmallVec::new() });
        }
        for node in 0..self.nodes.len() {
            let last = self.nodes[node].end - 1;
            let edges = self.edges(last, tables);
            let place = |(to, known): (u32, Condition)| {
                self.node_of.get(to as usize).map(|to| Edge { to: *to, known })
            };
            self.nodes[node].edges = edges.into_iter().filter_map(place).collect();
        }
    }

    /// Where control goes behind an instruction.
    fn edges(&mut self, at: u32, tables: &BTreeMap<u32, Vec<u32>>) -> Vec<(u32, Condition)> {
        let next = |known: Condition| (at + 1, known);
        let Some(inst) = &self.insts[at as usize] else { return vec![next(Condition::always())] };
        let when = condition(inst);
        // These look at the other threads too, or at no predicate.
        let vague = [Mod::DIV, Mod::CONV, Mod::ANY].iter().any(|m| inst.mods.has(*m));
        let mut edges = Vec::new();
        let passes = match inst.op {
            Opcode::BRA if vague => {
                edges.extend(self::target(inst).map(|to| (to, Condition::always())));
                return [edges, vec![next(Condition::always())]].concat();
            }
            Opcode::BRA | Opcode::JMP => {
                let to = self::target(inst).filter(|_| !when.is_never());
                edges.extend(to.map(|to| (to, when.clone())));
                true
            }
            Opcode::BRX | Opcode::BRXU | Opcode::JMX | Opcode::JMXU => {
                match tables.get(&at) {
                    Some(list) => edges.extend(list.iter().map(|to| (*to, when.clone()))),
                    None => self.unknown.push(at),
                }
                true
            }
            Opcode::EXIT | Opcode::RET | Opcode::KILL => true,
            _ => return vec![next(Condition::always())],
        };
        if passes && !when.is_always() {
            edges.push(next(when.opposite()));
        }
        edges
    }

    /// The first instruction of the function that a call enters, where that is in the section.
    pub fn callee(&self, at: u32) -> Option<u32> {
        let call = self.inst(at).filter(|i| i.op == Opcode::CALL && !i.mods.has(Mod::ABS))?;
        target(call).filter(|_| !self.relocated.contains(&at))
    }

    /// The instruction at an index; None where no row explains the word.
    pub fn inst(&self, at: u32) -> Option<&Inst> {
        self.insts[at as usize].as_ref()
    }

    /// The only node from which control comes to this one.
    pub fn entered_from(&self, node: u32) -> Option<u32> {
        let leads = |n: &Node| n.edges.iter().any(|e| e.to == node);
        let mut from = (0..).zip(&self.nodes).filter(|(_, n)| leads(n)).map(|(i, _)| i);
        from.next().filter(|_| from.next().is_none())
    }

    /// The nodes that a function's control comes to, its calls passed over.
    pub fn reached(&self, entry: u32) -> Vec<u32> {
        let mut seen = vec![false; self.nodes.len()];
        let mut found = Vec::new();
        let mut stack = vec![self.node_of[entry as usize]];
        while let Some(node) = stack.pop() {
            if !std::mem::replace(&mut seen[node as usize], true) {
                found.push(node);
                stack.extend(self.nodes[node as usize].edges.iter().map(|e| e.to));
            }
        }
        found
    }

    /// The only instruction of a node that has to do with convergence, if it is one.
    pub fn special(&self, node: u32) -> Option<&Inst> {
        self.inst(self.nodes[node as usize].first).filter(|i| stands_alone(i))
    }
}

fn stands_alone(inst: &Inst) -> bool {
    use Opcode::*;
    matches!(inst.op, BSSY | BSYNC | BREAK | BMOV | WARPSYNC | BAR | CALL | ENDCOLLECTIVE)
}

/// Where each indirect branch leads: as the kernel's attributes say it, or otherwise to all places
/// of its table in bank 2, which ends where the next one begins.
fn tables(
    cubin: &Cubin<'_>,
    function: &Function<'_>,
    insts: &[Option<Inst>],
) -> BTreeMap<u32, Vec<u32>> {
    let mut found = BTreeMap::new();
    for attribute in &function.attributes {
        if let Attribute::IndirectBranchTargets(_) = attribute {
            for (branch, targets) in attribute.indirect_branches() {
                let targets = targets.into_iter().map(|t| t / WORD as u32).collect();
                found.insert(branch / WORD as u32, targets);
            }
        }
    }
    let bank = function.constants.iter().find(|(bank, _)| *bank == 2);
    let Some(words) = bank.and_then(|(_, index)| cubin.sections.get(*index)) else { return found };
    let words: Vec<u32> =
        words.data.as_chunks::<4>().0.iter().map(|w| u32::from_le_bytes(*w)).collect();
    let base = |inst: &Inst| {
        inst.operands.iter().find_map(|o| match o {
            Operand::Const(c) if c.bank == 2 => usize::try_from(c.offset / 4).ok(),
            _ => None,
        })
    };
    let starts: BTreeSet<usize> = insts.iter().flatten().filter_map(base).collect();
    let mut table = None;
    for (at, inst) in insts.iter().enumerate() {
        let Some(inst) = inst else { continue };
        table = base(inst).or(table);
        let indirect = matches!(inst.op, Opcode::BRX | Opcode::BRXU);
        if let (true, Some(start)) = (indirect && !found.contains_key(&(at as u32)), table) {
            let end = starts.range(start + 1..).next().copied().unwrap_or(words.len());
            let places = words.get(start..end).unwrap_or_default();
            found.insert(at as u32, places.iter().map(|w| w / WORD as u32).collect());
        }
    }
    found
}
