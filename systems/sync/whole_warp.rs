//! Who runs a block: the warp together, or a part of it that is the only one to run. What such a
//! block writes once for the warp nobody else changes meanwhile.
//!
//! Behind `LateExpandSyncInstructions` the barriers say it. A warp begins a kernel together,
//! threads part at a branch on what may differ, and those that BSSY found together are so again
//! behind its BSYNC, if none leaves the region by BREAK. Where one of a branch's ways leads to
//! BSYNC or ends the thread at once, those who go it wait or are gone while the others run.

use super::joined::{gathers, parts};
use crate::analysis::Analyses;
use crate::analysis::divergence::Divergence;
use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{BlockId, Body, Mod, Opcode, RegFile, View};
use std::sync::Arc;

/// Walks over the blocks after which it counts as unknown: each comes of a region inside another.
const MOST_WALKS: usize = 24;

/// Who runs a block from its first instruction to its last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Runs {
    /// A part of the warp, while others may run elsewhere.
    Apart,
    /// A part of the warp, while no other one runs.
    Alone,
    /// All threads that have not ended.
    Together,
}

/// By number who runs a kernel's blocks; none where that is not known.
pub fn blocks(body: &Body<'_>, analyses: &mut Analyses) -> Option<Scratch<Vec<Runs>>> {
    let flow = analyses.flow(body);
    let mut divergence = analyses.divergence(body);
    if flow.irreducible().any() {
        divergence = Arc::new(Divergence::everywhere(body));
    }
    let may_part = |block: usize| divergence.branches.get(block).is_some_and(|parts| *parts);
    let order = analyses.order(body);
    // By barrier how those run who pass it.
    let mut joins = scratch!(Vec<Runs>; Runs::Together; body.vreg_count());
    let mut runs = scratch!(Vec<Runs>; Runs::Together; body.block_count());
    let lower = |of: &mut Runs, to: Runs| {
        let is_lower = to < *of;
        *of = (*of).min(to);
        is_lower
    };
    for _ in 0..MOST_WALKS {
        let mut changed = false;
        for &block in order.iter() {
            let number = block.0 as usize;
            let mut state = runs[number];
            let mut least = state;
            for id in body.block(block).insts() {
                let inst = body.inst(*id);
                match inst.op {
                    Opcode::BSSY | Opcode::BREAK => {
                        let to = if inst.op == Opcode::BSSY { state } else { Runs::Apart };
                        let of = barrier(inst).and_then(|v| joins.get_mut(v));
                        changed |= of.is_none_or(|of| lower(of, to));
                    }
                    Opcode::BSYNC => {
                        let of = barrier(inst).and_then(|v| joins.get(v));
                        state = of.copied().unwrap_or(Runs::Apart);
                    }
                    Opcode::WARPSYNC if inst.mods().has(Mod::COLLECTIVE) => return None,
                    _ if parts(inst) && !gathers(inst) => state = Runs::Apart,
                    _ => {}
                }
                least = least.min(state);
            }
            changed |= lower(&mut runs[number], least);
            let succs = body.block(block).succs();
            if may_part(number) {
                let waiting = succs.iter().filter(|s| ends_at_once(body, **s)).count();
                state =
                    state.min(if waiting + 1 >= succs.len() { Runs::Alone } else { Runs::Apart });
            }
            for &succ in succs {
                // Who does something there before waiting does so beside the others.
                let is_beside = may_part(number)
                    && body.block(succ).insts().len() > 1
                    && ends_at_once(body, succ);
                let state = if is_beside { Runs::Apart } else { state };
                changed |= lower(&mut runs[succ.0 as usize], state);
            }
        }
        if !changed {
            return Some(runs);
        }
    }
    None
}

/// The number of the barrier that an instruction names.
fn barrier(inst: View<'_>) -> Option<usize> {
    let at = if inst.op == Opcode::BREAK { 1 } else { 0 };
    inst.reg(at).and_then(|r| r.reg.vreg()).map(|v| v.0 as usize)
}

/// Whether who comes to a block waits at its end or ends there, and writes nothing before that the
/// warp has once.
fn ends_at_once(body: &Body<'_>, block: BlockId) -> bool {
    let insts = body.block(block).insts();
    let last = insts.last().map(|id| body.inst(*id));
    let ends = last.is_some_and(|inst| match inst.op {
        Opcode::BSYNC => true,
        Opcode::EXIT => inst.guard.is_always(),
        _ => false,
    });
    ends && insts.iter().all(|id| {
        let mut writes = false;
        body.inst(*id).for_each_def(|r| {
            writes |= matches!(r.reg.file(), RegFile::UR | RegFile::UP);
        });
        !writes
    })
}
