//! WARPSYNC before an exchange of values that convergence barriers make idle: where the warp is
//! together in any case, as the plan of the barriers says.
//!
//! The warp is together
//! * at the start of a kernel;
//! * behind the WARPSYNC of an exchange of the whole warp that stands at one place only (no other
//!   one could meet it: those are [`Exchange`]s): all threads that have not exited come to it;
//! * behind the join of a region at whose start it was, where nobody leaves the region otherwise,
//!   and nothing in it lets threads go on without the others (YIELD, calls, WARPSYNC of a part).
//!
//! It is no longer behind a branch at which threads may diverge.
//!
//! Observed (ptxas 13.0.88, sm_90a, sixty modules of nvcc): no WARPSYNC for any of 1,128 shuffles
//! in rows of five behind reconverged branches.

use super::collective::Exchange;
use super::regions::Plan;
use crate::analysis::ControlFlow;
use bitvec::vec::BitVec;
use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{BlockId, Body, InstId, Mod, Opcode, Props, View};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// Whether a WARPSYNC, at this place in a block, is that of what stands behind it: an exchange of
/// values or a matrix product. One that PTX asks for is not: `bar.warp.sync`.
pub(crate) fn is_of_next(body: &Body<'_>, insts: &[InstId], at: usize) -> bool {
    let of = |at: usize| insts.get(at).map(|id| body.loc(*id).ptx_inst);
    let next = insts.get(at + 1).map(|id| body.op(*id));
    of(at) == of(at + 1) && next.is_some_and(|op| op.has(Props::CONVERGENT))
}

/// Whether it brings the whole warp together.
pub(super) fn gathers(inst: View<'_>) -> bool {
    inst.op == Opcode::WARPSYNC && inst.mods().has(Mod::ALL) && inst.guard.is_always()
}

/// Whether threads may go on without the others behind it: at what a part of them does, or in the
/// function that is called.
pub(super) fn parts(inst: View<'_>) -> bool {
    let apart = [Opcode::WARPSYNC, Opcode::PCALL, Opcode::ENDCOLLECTIVE, Opcode::YIELD];
    apart.contains(&inst.op) && !gathers(inst)
}

/// What a plan makes idle.
pub struct Idle {
    /// WARPSYNC before exchanges.
    pub meets: Scratch<FxHashSet<InstId>>,
    /// Barriers of the CTA to which the warp comes together.
    pub barriers: Scratch<FxHashSet<InstId>>,
}

/// Exchanges that are found to be none of others' as often: what is not clear then stays.
const ROUNDS: usize = 8;

/// Of a body whose flow and plan these are. `divergent` are the blocks whose branch may be
/// divergent; `exchanges` those that may meet others where the warp is not together.
pub fn idle(
    body: &Body<'_>,
    flow: &ControlFlow,
    plan: &Plan,
    divergent: &BitVec,
    exchanges: &[Exchange],
    is_kernel: bool,
) -> Idle {
    let mut found =
        Idle { meets: scratch!(FxHashSet<InstId>), barriers: scratch!(FxHashSet<InstId>) };
    let graph = flow.graph();
    let mut apart = scratch!(FxHashSet<InstId>);
    apart.extend(exchanges.iter().map(|e| e.meet));
    // Blocks that threads may leave without the others.
    let mut scattered = scratch!(BitVec).fill_with(false, graph.len());
    let mut any = false;
    for block in body.layout() {
        for id in body.block(*block).insts() {
            let inst = body.inst(*id);
            any |= gathers(inst) || inst.op == Opcode::BAR;
            if parts(inst) && !apart.contains(id) {
                scattered.set(block.0 as usize, true);
            }
        }
    }
    if !any {
        return found;
    }
    // At what threads do together from several places they part as they met: found out one behind
    // the other, from none.
    for round in 0.. {
        let start = at_starts(body, flow, plan, divergent, &scattered, (&apart, is_kernel));
        let mut more = false;
        for &block in body.layout() {
            walk(body, block, &apart, start[block.0 as usize], |id, together| {
                if !together && apart.contains(&id) {
                    more |= !scattered.replace(block.0 as usize, true);
                }
            });
        }
        if more && round < ROUNDS {
            continue;
        }
        for &block in body.layout().iter().filter(|_| !more) {
            walk(body, block, &apart, start[block.0 as usize], |id, together| {
                if together && body.op(id) == Opcode::BAR {
                    found.barriers.insert(id);
                } else if together {
                    found.meets.insert(id);
                }
            });
        }
        return found;
    }
    found
}

/// Whether the warp is together at the start of each block.
fn at_starts(
    body: &Body<'_>,
    flow: &ControlFlow,
    plan: &Plan,
    divergent: &BitVec,
    scattered: &BitVec,
    (apart, is_kernel): (&FxHashSet<InstId>, bool),
) -> Scratch<BitVec> {
    let graph = flow.graph();
    // Regions by their join, and the joins by the start: the warp is together behind one if it was
    // there.
    let mut joins = scratch!(FxHashMap<u32, SmallVec<[usize; 2]>>);
    let mut starts = scratch!(FxHashMap<u32, SmallVec<[u32; 2]>>);
    for (at, region) in plan.regions.iter().enumerate() {
        let is_whole = region.breaks.is_empty();
        if is_whole && !region.blocks.iter().any(|b| scattered[b as usize]) {
            joins.entry(region.join).or_default().push(at);
            starts.entry(region.start).or_default().push(region.join);
        }
    }
    // What is not known yet counts as together: what is found out takes that away.
    let mut start = scratch!(BitVec).fill_with(true, graph.len());
    let mut end = scratch!(BitVec).fill_with(true, graph.len());
    let entry = body.layout().first().copied();
    let mut queued = scratch!(BitVec).fill_with(true, graph.len());
    let mut work = scratch!(Vec<u32>);
    work.extend(body.layout().iter().rev().map(|b| b.0));
    while let Some(block) = work.pop() {
        let b = block as usize;
        queued.set(b, false);
        let comes = |pred: &u32| {
            let parts = divergent.get(*pred as usize).is_some_and(|d| *d);
            let joined = |at: &usize| {
                let region = &plan.regions[*at];
                region.blocks.contains(*pred) && end[region.start as usize]
            };
            (end[*pred as usize] && !parts)
                || joins.get(&block).is_some_and(|all| all.iter().any(joined))
        };
        let is_entry = entry.is_some_and(|e| e.0 == block);
        let together = (!is_entry || is_kernel) && graph.preds[b].iter().all(comes);
        start.set(b, together);
        let at_end = walk(body, BlockId(block), apart, together, |_, _| {});
        if end.replace(b, at_end) == at_end {
            continue;
        }
        let behind = starts.get(&block).into_iter().flatten();
        for next in graph.succs[b].iter().chain(behind) {
            if !queued.replace(*next as usize, true) {
                work.push(*next);
            }
        }
    }
    start
}

/// Whether the warp is together at the end of a block, given whether it is at its start. Shows the
/// WARPSYNC of exchanges and the barriers of the CTA, and whether it is there.
fn walk(
    body: &Body<'_>,
    block: BlockId,
    apart: &FxHashSet<InstId>,
    mut together: bool,
    mut show: impl FnMut(InstId, bool),
) -> bool {
    let insts = body.block(block).insts();
    for (n, id) in insts.iter().enumerate() {
        let inst = body.inst(*id);
        if inst.op == Opcode::BAR {
            show(*id, together);
        } else if apart.contains(id) {
            show(*id, together && gathers(inst));
            together &= gathers(inst);
        } else if gathers(inst) && is_of_next(body, insts, n) {
            show(*id, together);
            together = true;
        } else if parts(inst) {
            together = false;
        }
    }
    together
}
