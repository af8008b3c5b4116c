//! `OptimizeNestedCondBranches`: a branch on a way of another one that leads where the other way
//! leads is one branch with it, on both conditions.
//!
//! What holds behind it: no conditional branch of a thread has a way of at most so many
//! instructions ([`Knob::NestedCondBranch`]) that only computes a condition, for a branch of which
//! one way goes where the first one's other way goes, with the same values. What the way computes
//! is computed in any case then. `a && b` and `a || b` as branches are of this shape; comparisons
//! take in the logic of both later, and where one stays what it was, PLOP3 has it.
//!
//! Observed (ptxas 13.0.88): innermost first, so that four conditions in a row become one, and of
//! six the last four and the first two; nothing with a load, a store or a division on the way, nor
//! where something else reads what the way computes, nor for two exits.

use super::forks::{Fork, bring_nothing, fork, operand};
use crate::analysis::Analyses;
use crate::analysis::uses::Uses;
use crate::build::plop3;
use crate::effects;
use crate::function::Options;
use crate::knobs::Knob;
use crate::notes::Notes;
use crate::params::{Read, Write};
use crate::ssa::{Fixed, Form, is_value};
use orias_components::{
    BlockId, Body, Code, FlowEdit, Guard, Inst, InstId, Opcode, Operand, Props, RegFile, View,
    edges, phis, scratch, scratch::Scratch,
};
use std::sync::Arc;

/// Truth tables of two predicates and PT.
const AND: u8 = 0x80;
const OR: u8 = 0xfc;

/// Blocks that more ways come to are left alone.
const MOST_WAYS: usize = 64;

/// Phase 44.
pub fn optimize_nested_cond_branches(
    code: Code<'_>,
    form: Read<'_, Form>,
    options: Read<'_, Options>,
    mut analyses: Write<'_, Analyses>,
    mut notes: Notes<'_>,
) {
    let most = options.knobs.get(Knob::NestedCondBranch, options.target) as usize;
    if !form.is_ssa || most == 0 {
        return;
    }
    let mut body = code.body();
    let order = analyses.order(&body);
    let mut all = Nested { most, edit: FlowEdit::of(&body), seen: None };
    let mut count = 0;
    // What a way leads to comes before the way.
    for &head in order.iter().rev() {
        while body.has_block(head) && all.join(&mut body, &mut analyses, head) {
            count += 1;
        }
    }
    if count > 0 {
        all.edit.finish(&mut body);
        analyses.edges(&mut body);
        notes.count(count);
    }
}

/// A branch and the one on its way.
struct Pair {
    way: BlockId,
    /// When control goes to the way, and on from there.
    first: Guard,
    second: Guard,
    /// Where it goes then, and where otherwise.
    to: BlockId,
    other: BlockId,
}

struct Nested {
    most: usize,
    edit: FlowEdit,
    /// Made for the first way that may go.
    seen: Option<Seen>,
}

/// What is known of the body before any edit.
struct Seen {
    uses: Arc<Uses>,
    fixed: Fixed,
    /// Registers that there were.
    registers: usize,
    /// By block, the one that it has become a part of; itself while it is none.
    part: Scratch<Vec<BlockId>>,
}

impl Seen {
    fn of(body: &Body<'_>, analyses: &mut Analyses) -> Seen {
        let all = (0..body.block_count() as u32).map(BlockId);
        let part = scratch!(Vec<BlockId>).with(all);
        let registers = body.vreg_count();
        Seen { uses: analyses.uses(body), fixed: Fixed::of(body), registers, part }
    }

    /// Whether nothing but its block reads what an instruction computes.
    fn is_local(&self, body: &Body<'_>, id: InstId, block: BlockId) -> bool {
        let mut local = true;
        body.inst(id).for_each_def(|r| {
            let Some(v) = r.reg.vreg() else {
                local = false;
                return;
            };
            // What came since is a condition, for the branch of its block.
            if (v.0 as usize) < self.registers {
                let mut readers = self.uses.readers(v);
                local &=
                    is_value(body, &self.fixed, v) && readers.all(|(_, at)| self.now(at) == block);
            }
        });
        local
    }

    /// The block that a block's instructions are in now.
    fn now(&self, mut block: BlockId) -> BlockId {
        while self.part[block.0 as usize] != block {
            block = self.part[block.0 as usize];
        }
        block
    }
}

impl Nested {
    /// Makes a block's branch and one on its way the same, if there is such a one.
    fn join(&mut self, body: &mut Body<'_>, analyses: &mut Analyses, head: BlockId) -> bool {
        let Some(fork) = fork(body, head) else { return false };
        let not = |guard: Guard| Guard { negated: !guard.negated, ..guard };
        let ways = [(fork.to, fork.when), ([fork.to[1], fork.to[0]], not(fork.when))];
        for ([way, other], first) in ways {
            if way == other || way == head || body.block(way).preds() != [head] {
                continue;
            }
            let Some(next) = fork_of(body, way) else { continue };
            let (to, second) = match next.to {
                [to, at] if at == other => (to, next.when),
                [at, to] if at == other => (to, not(next.when)),
                _ => continue,
            };
            if to == other || to == way || !self.is_short(body, analyses, way) {
                continue;
            }
            // Each edge there is looked at for each branch that goes.
            if [to, other].iter().any(|block| body.block(*block).preds().len() > MOST_WAYS) {
                continue;
            }
            let pair = Pair { way, first, second, to, other };
            if self.meet_the_same(body, head, &pair) {
                self.replace(body, head, &pair);
                return true;
            }
        }
        false
    }

    /// Whether all that a way does is to compute the condition at its end.
    fn is_short(&mut self, body: &Body<'_>, analyses: &mut Analyses, way: BlockId) -> bool {
        let insts = &body.block(way).insts()[..edges::first_branch(body, way)];
        if insts.len() > self.most || !insts.iter().all(|id| may_be_done(body.inst(*id))) {
            return false;
        }
        let seen = self.seen.get_or_insert_with(|| Seen::of(body, analyses));
        insts.iter().all(|id| seen.is_local(body, *id, way))
    }

    /// Whether both branches bring the same to where one of each leads.
    fn meet_the_same(&mut self, body: &mut Body<'_>, head: BlockId, pair: &Pair) -> bool {
        self.edit.tell(body, pair.other);
        let brought = |phi: View<'_>, from: BlockId| {
            let mut pairs = phi.sources().step_by(2).zip(phi.blocks());
            pairs.find(|(_, block)| *block == from).map(|(value, _)| value)
        };
        phis::of(body, pair.other).all(|id| {
            let phi = body.inst(id);
            brought(phi, head) == brought(phi, pair.way)
        })
    }

    fn replace(&mut self, body: &mut Body<'_>, head: BlockId, pair: &Pair) {
        let Pair { way, to, other, .. } = *pair;
        let place = edges::first_branch(body, head);
        let loc = body.loc(body.block(head).insts()[place]);
        body.replace(head, place..body.block(head).insts().len(), []);
        let end = edges::first_branch(body, way);
        body.replace(way, end..body.block(way).insts().len(), []);
        bring_nothing(body, &mut [(way, other)]);
        self.edit.tell(body, to);
        let all = scratch!(Vec<InstId>).with(phis::of(body, to));
        all.iter().for_each(|id| body.map_blocks(*id, |b| if b == way { head } else { b }));
        self.edit.absorb(body, head, way);
        if let Some(seen) = &mut self.seen {
            seen.part[way.0 as usize] = head;
        }
        let both = body.new_vreg(RegFile::P, 1, 1);
        // Not the one and not the other is neither: comparisons take that in as it is.
        let neither = pair.first.negated && pair.second.negated;
        let (conditions, table) = match neither {
            true => ([pair.first, pair.second].map(|guard| Operand::reg(guard.reg)), OR),
            false => ([pair.first, pair.second].map(operand), AND),
        };
        let [first, second] = conditions;
        body.push(head, plop3(Operand::reg(both), [first, second, Operand::PT], table), loc);
        let branch = |to| Inst::new(Opcode::BRA, &[], 0, &[Operand::PT, Operand::Block(to)]);
        let next = self.edit.order().next(head);
        if next == Some(to) {
            body.push(head, branch(other).guarded(both, !neither), loc);
            return;
        }
        body.push(head, branch(to).guarded(both, neither), loc);
        if next != Some(other) {
            body.push(head, branch(other), loc);
        }
    }
}

/// Whether an instruction may be done where nobody asked for it, and is no more than one.
fn may_be_done(inst: View<'_>) -> bool {
    let others = Props::UNIFORM.with(Props::PSEUDO);
    inst.guard.is_always()
        && !inst.op.has(others)
        && effects::is_pure(inst.op)
        && effects::may_be_speculated(inst.op)
        && !effects::reads_what_changes(inst)
}

/// The fork at the end of a way, which has no phis.
fn fork_of(body: &Body<'_>, way: BlockId) -> Option<Fork> {
    fork(body, way).filter(|_| phis::end(body, way) == 0)
}
