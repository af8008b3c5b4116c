//! `OriPropagateVarying`: what is done for one group of a warp's lanes after another is done once,
//! where the analysis knows of one group alone.
//!
//! The machine takes some operands once for the warp, and PTX gives each thread its own: lowering
//! goes around until no lane waits (`src/lower/common/lanes.rs`). There is one round where a group
//! is of those who have the same values and the values are the same for all; and where each lane
//! has a round and there is one: who comes there was elected.
//!
//! ptxas 13.0.88 has no such loop in CUTLASS's and Triton's kernels, and one around a copy that
//! thread 0 alone comes to: it follows ELECT's predicate through logic, comparisons and branches,
//! and knows nothing of thread numbers here; so do we.

use crate::analysis::{Analyses, ControlFlow};
use crate::build::plop3;
use crate::control_flow::branches;
use crate::control_flow::forks::settle_phis;
use crate::notes::Notes;
use crate::params::{Read, Write};
use crate::scalar::Values;
use crate::ssa::Form;
use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{
    BlockId, Body, Code, Guard, InstId, Mod, Opcode, Operand, Reg, RegFile, RegFlags, RegUse,
    VRegId, View, phis,
};
use orias_targets::slots::{ISETP, PLOP3_LUT as PLOP3, R2UR};
use smallvec::SmallVec;

/// Instructions that a predicate is followed through.
const MOST_STEPS: u32 = 8;

/// Phase 61.
pub fn propagate_varying(
    code: Code<'_>,
    form: Read<'_, Form>,
    mut analyses: Write<'_, Analyses>,
    mut notes: Notes<'_>,
) {
    if !form.is_ssa {
        return;
    }
    let mut body = code.body();
    let mut loops = scratch!(Vec<BlockId>);
    loops.extend(body.layout().iter().filter(|block| back(&body, **block).is_some()));
    if loops.is_empty() {
        return;
    }
    let flow = analyses.flow(&body);
    let divergence = analyses.divergence(&body);
    let map = analyses.cells(&body);
    let values = Values::of(&body, &map, |_, _, _| {});
    let mut single = Single {
        flow: &flow,
        values: &values,
        known: scratch!(Vec<Option<bool>>; None; body.block_count()),
    };
    loops.retain(|block| {
        let insts = body.block(*block).insts();
        let is_elected = insts.iter().any(|id| body.op(*id) == Opcode::ELECT);
        let is_same = |id: &InstId| {
            let group = group(body.inst(*id));
            group.is_none_or(|(_, value)| !divergence.is_divergent(value.reg))
        };
        match is_elected {
            true => single.comes_to(&body, *block),
            false => insts.iter().all(is_same),
        }
    });
    // Where all wait at first, which is nearly everywhere.
    let is_true = |inst: View<'_>| {
        let all = plop3(inst.operand(PLOP3::P), [Operand::PT; 3], 0x80);
        inst.to_inst() == all
    };
    let mut waiting = scratch!(Vec<Option<VRegId>>);
    waiting.extend(loops.iter().map(|block| {
        let id = back(&body, *block)?;
        let next = body.inst(id).guard.reg;
        phis::of(&body, *block).map(|id| body.inst(id)).find_map(|phi| {
            let pairs = || phi.sources().step_by(2).zip(phi.sources().skip(1).step_by(2));
            let is_pending = pairs().any(|(value, _)| value == Operand::reg(next));
            let first = |(value, from): (Operand, Operand)| {
                let is_one = from == Operand::Block(*block) || value == Operand::PT;
                let written = || values.writer(*value.as_reg()?).map(|id| body.inst(id));
                is_one || written().is_some_and(is_true)
            };
            let is_all = is_pending && pairs().all(first);
            phi.reg(0).filter(|_| is_all).and_then(|r| r.reg.vreg())
        })
    }));
    drop(values);
    for (&block, waiting) in loops.iter().zip(waiting.iter()) {
        unroll(&mut body, block, *waiting);
    }
    if loops.is_empty() {
        return;
    }
    analyses.edges(&mut body);
    for &block in body.walk().iter() {
        settle_phis(&mut body, block);
    }
    branches::merge_chains(&mut body);
    analyses.edges(&mut body);
    notes.count(loops.len());
}

/// The branch with which a block goes around for the lanes that still wait.
fn back(body: &Body<'_>, block: BlockId) -> Option<InstId> {
    let last = body.block(block).insts().last().copied()?;
    let inst = body.inst(last);
    let is_back = inst.op == Opcode::BRA
        && inst.mods().has(Mod::U)
        && inst.mods().has(Mod::ANY)
        && inst.blocks().any(|to| to == block);
    is_back.then_some(last)
}

/// Of an instruction that takes the value of the first lane that waits: the predicate that tells
/// whether a lane has another one, and the value.
fn group(inst: View<'_>) -> Option<(RegUse, RegUse)> {
    let differs =
        inst.reg(R2UR::P).filter(|_| inst.op == Opcode::R2UR && inst.len() == R2UR::COUNT)?;
    differs.reg.vreg()?;
    inst.reg(R2UR::A).map(|value| (differs, value))
}

/// What of a block's loop is left where there is one round; all lanes wait in it, where it says by
/// which predicate.
fn unroll(body: &mut Body<'_>, block: BlockId, waiting: Option<VRegId>) {
    let Some(back) = back(body, block) else { return };
    body.remove(block, back);
    let mut more = SmallVec::<[(usize, orias_components::Inst, orias_components::Loc); 4]>::new();
    for (at, &id) in body.walk_in(block).iter().enumerate() {
        if waiting.is_some() && body.inst(id).guard.reg.vreg() == waiting {
            let mut always = body.inst(id).to_inst();
            always.guard = Guard::ALWAYS;
            always.tied.clear();
            body.set_inst(id, &always);
        }
        let inst = body.inst(id);
        let constant = |to: RegUse, table: u8| {
            plop3(Operand::Reg(to), [Operand::PT, Operand::PT, Operand::PT], table)
        };
        if inst.op == Opcode::MOVPHI {
            let mut phi = inst.to_inst();
            let kept: SmallVec<[Operand; 8]> = phi.operands[1..]
                .chunks_exact(2)
                .filter(|pair| pair[1] != Operand::Block(block))
                .flatten()
                .copied()
                .collect();
            phi.operands.truncate(1);
            phi.operands.extend(kept);
            body.set_inst(id, &phi);
        } else if inst.op == Opcode::ELECT {
            // The one that waits is the one that is elected.
            let Some(elected) = inst.reg(0) else { continue };
            body.set_inst(id, &constant(elected, 0x80));
        } else if let Some((differs, _)) = group(inst) {
            let mut new = inst.to_inst();
            new.operands[R2UR::P] = Operand::PT;
            new.tied.clear();
            let loc = body.loc(id);
            body.set_inst(id, &new);
            more.push((at, constant(differs, 0), loc));
        }
    }
    body.insert_all(block, more);
}

/// Where at most one thread comes to.
struct Single<'a> {
    flow: &'a ControlFlow,
    values: &'a Values<'a>,
    known: Scratch<Vec<Option<bool>>>,
}

impl Single<'_> {
    /// Whether at most one thread of those that elected it comes to a block.
    fn comes_to(&mut self, body: &Body<'_>, block: BlockId) -> bool {
        let mut path = SmallVec::<[BlockId; 16]>::new();
        let mut at = Some(block);
        let mut found = false;
        while let Some(block) = at {
            if let Some(known) = self.known[block.0 as usize] {
                found = known;
                break;
            }
            path.push(block);
            if self.is_entered_by_one(body, block) {
                found = true;
                break;
            }
            at = self.flow.dominators().idom(block.0).map(BlockId);
        }
        path.iter().for_each(|block| self.known[block.0 as usize] = Some(found));
        found
    }

    /// Whether a block is entered by a branch alone that one thread takes.
    fn is_entered_by_one(&self, body: &Body<'_>, block: BlockId) -> bool {
        let [pred] = body.block(block).preds()[..] else { return false };
        let ends = body.block(pred).insts().iter().rev().take(2);
        let Some(branch) = ends.map(|id| body.inst(*id)).find(|inst| !inst.guard.is_always())
        else {
            return false;
        };
        if branch.op != Opcode::BRA || body.block(pred).succs().len() != 2 {
            return false;
        }
        let Guard { reg, negated } = branch.guard;
        let is_target = branch.blocks().any(|to| to == block);
        reg.vreg().is_some_and(|v| self.is_one(body, v, is_target != negated, MOST_STEPS))
    }

    /// Whether a predicate has this value in one thread at most.
    fn is_one(&self, body: &Body<'_>, predicate: VRegId, is_true: bool, steps: u32) -> bool {
        let of = RegUse::new(Reg::virt(RegFile::P, predicate));
        let Some(inst) = self.values.writer(of).map(|id| body.inst(id)) else { return false };
        if steps == 0 || inst.reg(0).is_none_or(|r| r.reg != of.reg) {
            return false;
        }
        let input = |operand: Operand, is_true: bool| {
            let Operand::Reg(r) = operand else { return false };
            let is_true = is_true != r.flags.has(RegFlags::NOT);
            r.reg.vreg().is_some_and(|v| self.is_one(body, v, is_true, steps - 1))
        };
        match inst.op {
            Opcode::ELECT => is_true,
            Opcode::PLOP3 if inst.guard.is_always() && inst.len() == PLOP3::COUNT => {
                let inputs = [PLOP3::X, PLOP3::Y, PLOP3::Z].map(|at| inst.operand(at));
                let Operand::Imm(table) = inst.operand(PLOP3::T) else { return false };
                // Rows of the table with this result, but for those that constants rule out.
                let may_be = |row: usize| {
                    let is_possible = inputs.iter().enumerate().all(|(n, input)| {
                        let bit = row >> (2 - n) & 1 != 0;
                        match *input {
                            Operand::PT => bit,
                            Operand::NOT_PT => !bit,
                            _ => true,
                        }
                    });
                    is_possible && (table >> row & 1 != 0) == is_true
                };
                (0..3).any(|n| {
                    let has = |value: bool| {
                        (0..8).any(|row| may_be(row) && (row >> (2 - n) & 1 != 0) == value)
                    };
                    match (has(true), has(false)) {
                        (true, false) => input(inputs[n], true),
                        (false, true) => input(inputs[n], false),
                        _ => false,
                    }
                })
            }
            Opcode::ISETP if inst.guard.is_always() => {
                let composed = if is_true { Mod::AND } else { Mod::OR };
                inst.mods().has(composed) && input(inst.operand(ISETP::X), is_true)
            }
            _ => false,
        }
    }
}
