//! `MergeEquivalentConditionalFlow`: a branch whose outcome another one has decided goes; where a
//! block only asks again, who comes there goes on at once to where its answer leads.
//!
//! Two branches ask alike where they read one predicate, or compare the same two values. What is
//! known then is how these stand to each other: less, equal, greater or, for numbers of floating
//! point, none of them. A branch on `a > b` decides one on `a <= b`, and where it held one on
//! `a >= b`. Known is what a branch says on its way to a block that only this way leads to, in all
//! that this block dominates. A register counts that one instruction writes, before the first of
//! the branches: in what comes behind it has one value, in loops too.
//!
//! ```text
//! if (c) A; if (c) B;     becomes     if (c) { A; B }
//! ```
//!
//! Observed (ptxas 13.0.88, `-O1` to `-O3`): this, with nothing between the two but the comparison;
//! of three in a row two, and nothing for the opposite of a condition. Blocks that do the same are
//! never merged there, nor ends of blocks, of whatever length, and so neither here. What one
//! condition implies of another NVVM finds, and `ptxas` does for the one predicate alone.

use super::forks::{Fork, fork};
use crate::analysis::uses::Uses;
use crate::analysis::{Analyses, ControlFlow};
use crate::build::plop3;
use crate::notes::Notes;
use crate::params::Write;
use orias_components::scratch;
use orias_components::{
    BlockId, Body, Code, Guard, Inst, InstId, Mod, Opcode, Operand, Reg, RegFile, RegUse, View,
    edges,
};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::sync::Arc;

/// A comparison stands among so many instructions before its branch.
const LOOK_BACK: usize = 4;

/// So many blocks are passed at once: each that stays passes on by itself.
const MOST_PASSED: usize = 16;

/// Phase 15.
pub fn merge_equivalent_conditional_flow(
    code: Code<'_>,
    mut analyses: Write<'_, Analyses>,
    mut notes: Notes<'_>,
) {
    let mut body = code.body();
    let Some(all) = Questions::of(&body, &mut analyses) else { return };
    let found = all.answers(&body);
    let count = found.decided.len() + found.detours.len() + found.idle.len();
    if count == 0 {
        return;
    }
    found.apply(&mut body, &all.uses);
    analyses.edges(&mut body);
    notes.count(count);
}

/// How two values may stand to each other: a set.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Relations(u8);

impl Relations {
    const LESS: u8 = 1;
    const EQUAL: u8 = 2;
    const GREATER: u8 = 4;
    const UNORDERED: u8 = 8;
    const ALL: Relations = Relations(15);

    /// Those for which a comparison holds.
    fn of(word: Mod, is_float: bool) -> Option<Relations> {
        let (less, equal, unordered) = (Self::LESS, Self::EQUAL, Self::UNORDERED);
        // Integers are always in some order: what is none of it goes with one of the others.
        let greater = if is_float { Self::GREATER } else { Self::GREATER | unordered };
        Some(Relations(match word {
            Mod::LT => less,
            Mod::EQ => equal,
            Mod::LE => less | equal,
            Mod::GT => greater,
            Mod::NE => less | greater,
            Mod::GE => greater | equal,
            Mod::NUM => less | equal | greater,
            Mod::NAN => unordered,
            Mod::LTU => less | unordered,
            Mod::EQU => equal | unordered,
            Mod::LEU => less | equal | unordered,
            Mod::GTU => greater | unordered,
            Mod::NEU => less | greater | unordered,
            Mod::GEU => greater | equal | unordered,
            _ => return None,
        }))
    }

    fn and(self, other: Relations) -> Relations {
        Relations(self.0 & other.0)
    }

    fn none_of(self) -> Relations {
        Relations(Relations::ALL.0 & !self.0)
    }
}

/// What a branch asks about.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Subject {
    Predicate(Reg),
    /// The comparison but for what it asks of the two.
    Pair(Opcode, SmallVec<[Mod; 2]>, Operand, Operand),
}

/// A block that ends with a question.
struct Question {
    fork: Fork,
    /// Number of what it asks about.
    about: u32,
    /// The answers for which control goes to the fork's first block.
    first: Relations,
    /// Nothing else happens here that anybody else sees, and no loop begins: who knows the answer
    /// may pass.
    may_be_passed: bool,
}

/// The questions that may be asked again, by block, with what is known of the graph.
struct Questions {
    by_block: FxHashMap<BlockId, Question>,
    subjects: usize,
    /// Those that are predicates.
    predicates: FxHashMap<Reg, u32>,
    flow: Arc<ControlFlow>,
    uses: Arc<Uses>,
}

impl Questions {
    /// None where no two branches ask about the same.
    fn of(body: &Body<'_>, analyses: &mut Analyses) -> Option<Questions> {
        let mut forks = body.layout().iter().filter(|b| body.block(**b).succs().len() == 2);
        // Of one, nobody asks again.
        forks.nth(1)?;
        let mut numbers: FxHashMap<Subject, (u32, u32)> = FxHashMap::default();
        let mut asked = scratch!(Vec<(BlockId, Asked)>);
        let mut alike = false;
        for &block in body.layout() {
            let Some(question) = asked_by(body, block) else { continue };
            let new = numbers.len() as u32;
            let (_, count) = numbers.entry(question.subject.clone()).or_insert((new, 0));
            *count += 1;
            alike |= *count > 1;
            asked.push((block, question));
        }
        if !alike {
            return None;
        }
        let (flow, uses) = (analyses.flow(body), analyses.uses(body));
        let mut by_block = FxHashMap::default();
        let mut predicates = FxHashMap::default();
        for (block, question) in asked.drain(..) {
            let (about, count) = numbers[&question.subject];
            let Asked { fork, subject, first, comparison } = question;
            if count < 2 || !is_settled(body, &flow, &uses, block, &subject, comparison) {
                continue;
            }
            let others = body.block(block).insts()[..edges::first_branch(body, block)].iter();
            let private = comparison.filter(|_| {
                let readers = fork.when.reg.vreg().map(|v| uses.readers(v));
                readers.is_some_and(|mut readers| readers.all(|(_, at)| at == block))
            });
            let may_be_passed = others.eq(private.iter()) && !begins_loop(&flow, block);
            by_block.insert(block, Question { fork, about, first, may_be_passed });
            if let Subject::Predicate(reg) = subject {
                predicates.insert(reg, about);
            }
        }
        Some(Questions { by_block, subjects: numbers.len(), predicates, flow, uses })
    }

    fn get(&self, block: u32) -> Option<&Question> {
        self.by_block.get(&BlockId(block))
    }

    /// Walks down the dominator tree with what is known.
    fn answers(&self, body: &Body<'_>) -> Answers {
        let mut found = Answers::default();
        let below = self.flow.dominated();
        let mut known = scratch!(Vec<Relations>; Relations::ALL; self.subjects);
        // What was known before a block said more, and blocks to go into with how much of that
        // there was.
        let mut before = scratch!(Vec<(u32, Relations)>);
        let mut work = scratch!(Vec<(u32, usize)>);
        work.extend(body.layout().first().map(|entry| (entry.0, 0)));
        while let Some((block, depth)) = work.pop() {
            for (about, was) in before.drain(depth..).rev() {
                known[about as usize] = was;
            }
            if let [above] = body.block(BlockId(block)).preds()[..]
                && let Some((about, answer)) = self.says(above, BlockId(block))
            {
                before.push((about, known[about as usize]));
                known[about as usize] = known[about as usize].and(answer);
            }
            let depth = before.len();
            work.extend(below.iter(block).map(|child| (child, depth)));
            let this = BlockId(block);
            if depth > 0 {
                let never = |id: &&InstId| self.is_never_done(body.inst(**id), &known);
                let idle = body.block(this).insts().iter().filter(never);
                found.idle.extend(idle.map(|id| (this, *id)));
            }
            if let Some(question) = self.get(block)
                && let Some(to) = question.decided(known[question.about as usize])
            {
                found.decided.push((this, to));
            }
            for &next in body.block(this).succs() {
                let to = self.behind(body, &known, this, next);
                if to != next {
                    found.detours.push((this, next, to));
                }
            }
        }
        found
    }

    /// Whether an instruction's guard is known not to hold: what it reads may be written on a way
    /// that goes.
    fn is_never_done(&self, inst: View<'_>, known: &[Relations]) -> bool {
        let about = self.predicates.get(&inst.guard.reg).filter(|_| !inst.op.is_branch());
        about.is_some_and(|about| {
            let holds = Relations(Relations::EQUAL);
            let done = if inst.guard.negated { holds.none_of() } else { holds };
            let known = known[*about as usize];
            known.0 != 0 && known.and(done).0 == 0
        })
    }

    /// What a branch says of its subject where its block leads to another.
    fn says(&self, from: BlockId, to: BlockId) -> Option<(u32, Relations)> {
        let Question { fork, about, first, .. } = self.by_block.get(&from)?;
        let answer = if fork.to[0] == to { *first } else { first.none_of() };
        Some((*about, answer))
    }

    /// Where control comes that leaves one block for another, past those that only ask what is
    /// known by then.
    fn behind(&self, body: &Body<'_>, known: &[Relations], from: BlockId, to: BlockId) -> BlockId {
        let said = self.says(from, to);
        let mut at = to;
        let mut passed = 0;
        while let Some(question) = self.by_block.get(&at)
            && question.may_be_passed
            && passed < MOST_PASSED
            // Who alone leads there has decided it already.
            && (at != to || body.block(at).preds().len() > 1)
        {
            let more = said.filter(|(about, _)| *about == question.about);
            let known = known[question.about as usize];
            let known = more.map_or(known, |(_, answer)| known.and(answer));
            let Some(next) = question.decided(known) else { break };
            at = next;
            passed += 1;
        }
        at
    }
}

/// Whether a block is the first of a loop, or in a cycle that has no first one.
fn begins_loop(flow: &ControlFlow, block: BlockId) -> bool {
    let mut preds = flow.graph().preds[block.0 as usize].iter();
    preds.any(|pred| flow.dominators().dominates(block.0, *pred))
        || flow.irreducible()[block.0 as usize]
}

impl Question {
    /// Where control goes, where what is known leaves no choice.
    fn decided(&self, known: Relations) -> Option<BlockId> {
        let yes = known.and(self.first);
        match () {
            // Nothing leads here.
            () if known.0 == 0 => None,
            () if yes == known => Some(self.fork.to[0]),
            () if yes.0 == 0 => Some(self.fork.to[1]),
            () => None,
        }
    }
}

/// A question as it stands in its block.
struct Asked {
    fork: Fork,
    subject: Subject,
    first: Relations,
    /// What computes the predicate in the block, if that is a comparison.
    comparison: Option<InstId>,
}

fn asked_by(body: &Body<'_>, block: BlockId) -> Option<Asked> {
    let fork = fork(body, block).filter(|fork| fork.to[0] != fork.to[1])?;
    let before = &body.block(block).insts()[..edges::first_branch(body, block)];
    let Guard { reg, negated } = fork.when;
    let writes = |id: &&InstId| {
        let mut found = false;
        body.inst(**id).for_each_def(|def| found |= def.reg == reg);
        found
    };
    let writer = before.iter().rev().take(LOOK_BACK).find(writes).copied();
    let compared = writer.and_then(|id| Some((id, comparison(body.inst(id), reg)?)));
    let (subject, holds, comparison) = match compared {
        Some((id, (subject, holds))) => (subject, holds, Some(id)),
        None => (Subject::Predicate(reg), Relations(Relations::EQUAL), None),
    };
    let first = if negated { holds.none_of() } else { holds };
    Some(Asked { fork, subject, first, comparison })
}

/// What a comparison is about, and when it holds.
fn comparison(inst: View<'_>, to: Reg) -> Option<(Subject, Relations)> {
    let is_float = match inst.op {
        Opcode::ISETP => false,
        Opcode::FSETP | Opcode::DSETP => true,
        _ => return None,
    };
    let mut dests = inst.dests();
    let is_plain = inst.guard.is_always()
        && dests.next() == Some(Operand::reg(to))
        && dests.all(|dest| dest == Operand::PT)
        && inst.mods().has(Mod::AND)
        && !inst.mods().has(Mod::EX);
    let mut sources = inst.sources();
    let (Some(a), Some(b), Some(Operand::PT), None) =
        (sources.next(), sources.next(), sources.next(), sources.next())
    else {
        return None;
    };
    let is_value = |operand: Operand| match operand {
        Operand::Imm(_) => true,
        Operand::Reg(r) => r.reg.is_zero() || r.reg.vreg().is_some(),
        _ => false,
    };
    if !is_plain || !is_value(a) || !is_value(b) {
        return None;
    }
    let mut holds = None;
    let mut words = SmallVec::new();
    for &word in inst.mods().as_slice() {
        match Relations::of(word, is_float) {
            Some(relations) => holds = Some(relations),
            None => words.push(word),
        }
    }
    // An order without a sign is not the one with it, even where both ask for what is equal.
    Some((Subject::Pair(inst.op, words, a, b), holds?))
}

/// Whether what a block asks about is written once, before the block comes to its question.
fn is_settled(
    body: &Body<'_>,
    flow: &ControlFlow,
    uses: &Uses,
    block: BlockId,
    subject: &Subject,
    comparison: Option<InstId>,
) -> bool {
    let insts = body.block(block).insts();
    let asks = comparison.and_then(|id| insts.iter().rposition(|inst| *inst == id));
    let asks = asks.unwrap_or(insts.len());
    let is_settled = |r: RegUse| {
        let Some(v) = r.reg.vreg() else { return r.reg.is_zero() };
        let Some((by, at)) = uses.only_writer(v) else { return false };
        match at == block {
            true => insts[..asks].contains(&by),
            false => flow.dominators().dominates(at.0, block.0),
        }
    };
    match subject {
        Subject::Predicate(reg) => is_settled(RegUse::new(*reg)),
        Subject::Pair(_, _, a, b) => {
            [a, b].iter().all(|operand| operand.as_reg().is_none_or(|r| is_settled(*r)))
        }
    }
}

/// What follows.
#[derive(Default)]
struct Answers {
    /// Branches that lead to one place alone.
    decided: Vec<(BlockId, BlockId)>,
    /// Edges with where they lead at once.
    detours: Vec<(BlockId, BlockId, BlockId)>,
    /// Instructions that are never done.
    idle: Vec<(BlockId, InstId)>,
}

impl Answers {
    /// Takes away what is never done. A register that nothing else writes holds what it will, and
    /// somebody may read it: zero.
    fn remove_idle(&self, body: &mut Body<'_>, uses: &Uses) {
        let idle: FxHashSet<InstId> = self.idle.iter().map(|(_, id)| *id).collect();
        let mut replaced: FxHashMap<InstId, SmallVec<[Inst; 4]>> = FxHashMap::default();
        let mut blocks: Vec<BlockId> = Vec::new();
        for &(block, id) in &self.idle {
            let mut zeros: SmallVec<[Inst; 4]> = SmallVec::new();
            let mut may_go = true;
            body.inst(id).for_each_def(|r| {
                let Some(v) = r.reg.vreg() else {
                    may_go = false;
                    return;
                };
                let covers = |(by, _): (InstId, BlockId)| {
                    let mut covers = false;
                    body.inst(by).for_each_def(|d| {
                        let ends = d.cell + d.count >= r.cell + r.count;
                        covers |= d.reg == r.reg && d.cell <= r.cell && ends;
                    });
                    covers && !idle.contains(&by)
                };
                if uses.writers(v).any(covers) {
                    return;
                }
                may_go &= uses.only_writer(v).is_some();
                match r.reg.file() {
                    RegFile::R => zeros.extend((r.cell..r.cell + r.count).map(|cell| {
                        let to = Operand::Reg(RegUse::at(r.reg, cell, 1));
                        Inst::new(Opcode::MOV, &[], 1, &[to, Operand::RZ, Operand::Imm(0xf)])
                    })),
                    RegFile::P => zeros.push(plop3(Operand::Reg(r), [Operand::PT; 3], 0)),
                    _ => may_go = false,
                }
            });
            if may_go {
                replaced.insert(id, zeros);
                if blocks.last() != Some(&block) {
                    blocks.push(block);
                }
            }
        }
        for block in blocks {
            let insts = scratch!(Vec<InstId>).with(body.unlink(block));
            for &id in insts.iter() {
                let Some(zeros) = replaced.get(&id) else {
                    body.append(block, id);
                    continue;
                };
                for zero in zeros {
                    let zero = body.new_inst(zero, body.loc(id));
                    body.append(block, zero);
                }
                body.discard(id);
            }
        }
    }

    fn apply(&self, body: &mut Body<'_>, uses: &Uses) {
        let branch = |to| Inst::new(Opcode::BRA, &[], 0, &[Operand::PT, Operand::Block(to)]);
        self.remove_idle(body, uses);
        for (block, to) in &self.decided {
            let place = edges::first_branch(body, *block);
            let loc = body.loc(body.block(*block).insts()[place]);
            body.replace(*block, place..body.block(*block).insts().len(), []);
            body.push(*block, branch(*to), loc);
        }
        let layout = body.walk();
        let mut behind = scratch!(Vec<Option<BlockId>>; None; body.block_count());
        for [block, next] in layout.array_windows() {
            behind[block.0 as usize] = Some(*next);
        }
        for &(from, to, end) in &self.detours {
            let place = edges::first_branch(body, from);
            let branches: SmallVec<[InstId; 2]> =
                body.block(from).insts()[place..].iter().copied().collect();
            for id in branches {
                body.redirect(id, to, end);
            }
            let falls =
                behind[from.0 as usize] == Some(to) && edges::falls_through(body, body.block(from));
            if falls {
                body.push(from, branch(end), Default::default());
            }
        }
    }
}
