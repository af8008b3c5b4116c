//! What a convergence barrier must not come between: collectives of the whole warp, and the exit.
//!
//! A thread that waits at BSYNC cannot come to a `WARPSYNC.ALL` that the others wait at: a
//! deadlock. PTX allows both: a thread need not take part in what others do together
//! once it has exited, and where it does take part is its own matter.
//!
//! Observed (ptxas 13.0.88, sm_90a, two dozen kernels that vary one thing each):
//! * No barrier for a branch on which a collective of the whole warp depends directly (a vote,
//!   shuffle or `bar.warp.sync` of all threads; a barrier of the CTA): all threads that have not
//!   exited are to come to it, so none is to be held. Where all ways out of the branch have such a
//!   collective there is a barrier, and so for branches further out. At -O0 ptxas does so for
//!   `bar.sync` alone, and its code for the others never ends where a thread does stay away.
//! * The same in each round of a loop: none for a branch one way of which starts the next round and
//!   the other comes to such a collective (who goes around comes to it later).
//! * From such a branch on, behind a `WARPSYNC` of a part of the warp, behind YIELD (which lets
//!   threads leave BSYNC alone), behind a call (of a function that has YIELD, or that keeps a
//!   convergence barrier of its caller's: while it does, others leave the BSYNC of that), and in a
//!   function that is called, `WARPSYNC.ALL` stands before barriers of the CTA.
//! * A collective of some of the lanes changes nothing: which lanes it names is not known.
//! * No barrier where nothing is left to do but to exit, however many exits there are.

use crate::analysis::ControlFlow;
use crate::effects::is_removable;
use crate::sync::regions;
use bitvec::vec::BitVec;
use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{BlockId, Body, Inst, InstId, Mod, Opcode, View, edges};

/// Blocks from a join on that are looked at for what they do.
const FEW: u32 = 4;

/// Whether nothing happens from this block on but exits: threads need not reconverge for that.
pub fn only_exits(body: &Body<'_>, block: BlockId) -> bool {
    exits_within(body, block, FEW)
}

fn exits_within(body: &Body<'_>, block: BlockId, left: u32) -> bool {
    let idle = |id: &InstId| {
        let inst = body.inst(*id);
        match inst.op {
            Opcode::EXIT | Opcode::BRA | Opcode::ENDCOLLECTIVE | Opcode::NOP => true,
            _ => is_removable(inst),
        }
    };
    let block = body.block(block);
    let ends = || {
        let last = block.insts().last().map(|id| body.inst(*id));
        last.is_some_and(|i| i.op == Opcode::EXIT && edges::ends_flow(i))
    };
    left > 0
        && block.insts().iter().all(idle)
        && (ends() || !block.succs().is_empty())
        && block.succs().iter().all(|s| exits_within(body, *s, left - 1))
}

/// Whether all threads of the warp that have not exited are to come to this instruction.
fn is_meeting(inst: View<'_>) -> bool {
    match inst.op {
        Opcode::WARPSYNC => inst.mods().has(Mod::ALL),
        Opcode::BAR => true,
        _ => false,
    }
}

/// The blocks with a meeting of the whole warp.
pub fn meetings(body: &Body<'_>, flow: &ControlFlow) -> Scratch<BitVec> {
    let mut meets = scratch!(BitVec).fill_with(false, flow.graph().len());
    for block in body.layout() {
        let any = body.block(*block).insts().iter().any(|id| is_meeting(body.inst(*id)));
        meets.set(block.0 as usize, any);
    }
    meets
}

/// Of the blocks whose branch may be divergent, those that a meeting of the whole warp depends on
/// directly: some way out of the branch cannot but come to one, and some way can.
pub fn branches(flow: &ControlFlow, meets: &BitVec, divergent: &BitVec) -> Scratch<Vec<u32>> {
    if !meets.any() {
        return scratch!(Vec<u32>);
    }
    let (graph, post) = (flow.graph(), flow.post_dominators());
    let around = |b: &u32| regions::around(graph, post, |b| meets[b as usize], *b);
    scratch!(Vec<u32>).with(divergent.iter_ones().map(|b| b as u32).filter(around))
}

/// Puts `WARPSYNC.ALL` before each barrier of the CTA that threads may come to apart: behind a
/// branch that no convergence barrier joins again, behind what parts them without a branch, and in
/// a function that they may come to apart. None before those to which the warp comes `together`.
pub fn gather(
    body: &mut Body<'_>,
    flow: &ControlFlow,
    divergent: &BitVec,
    is_kernel: bool,
    together: impl Fn(InstId) -> bool,
) {
    let is_barrier = |body: &Body<'_>, id: &InstId| body.op(*id) == Opcode::BAR;
    let is_part = |body: &Body<'_>, id: &InstId| {
        let inst = body.inst(*id);
        let whole = inst.op != Opcode::WARPSYNC || inst.mods().has(Mod::ALL);
        matches!(inst.op, Opcode::YIELD | Opcode::PCALL) || !whole
    };
    if !body.facts().may_have(&[Opcode::BAR]) {
        return;
    }
    let graph = flow.graph();
    let mut all = scratch!(BitVec);
    all.extend_from_bitslice(divergent);
    all.resize(graph.len(), false);
    let divergent = all;
    let mut work = scratch!(Vec<u32>);
    for &branch in &branches(flow, &meetings(body, flow), &divergent) {
        let succs = &graph.succs[branch as usize];
        // Threads that only exit are waited for by no one.
        if !succs.iter().any(|s| only_exits(body, BlockId(*s))) {
            work.extend(succs);
        }
    }
    let parts = body
        .layout()
        .iter()
        .copied()
        .filter(|b| body.block(*b).insts().iter().any(|i| is_part(body, i)));
    let parts = scratch!(Vec<BlockId>).with(parts);
    work.extend(parts.iter().flat_map(|b| &graph.succs[b.0 as usize]));
    work.extend(body.layout().first().filter(|_| !is_kernel).map(|entry| entry.0));
    let mut apart = scratch!(BitVec).fill_with(false, graph.len());
    while let Some(block) = work.pop() {
        if !apart.replace(block as usize, true) {
            work.extend(&graph.succs[block as usize]);
        }
    }
    for &block in body.walk().iter() {
        let mut alone = apart[block.0 as usize];
        if !alone && !parts.contains(&block) {
            continue;
        }
        body.rewrite(block, |body, out, id| {
            alone |= is_part(body, &id);
            if is_barrier(body, &id) && alone && !together(id) {
                let guard = body.inst(id).guard;
                let meet = Inst { guard, ..Inst::new(Opcode::WARPSYNC, &[Mod::ALL], 0, &[]) };
                out.put(body, &meet, body.loc(id));
                alone = apart[block.0 as usize];
            }
            out.keep(id);
        });
    }
}
