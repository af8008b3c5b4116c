//! `ForwardProgress`: loops in which threads wait for what others do.
//!
//! Threads of a warp that wait at a convergence barrier hold on to it until the others come. A
//! thread that spins until another one of its warp, which already waits, releases a lock would spin
//! without end. YIELD lets the waiting threads go on. Observed (ptxas 13.0.88, sm_90a, -O0 and
//! -O3): a loop whose exit depends on an atomic operation or a volatile load that it makes itself
//! starts with YIELD; other loops do not. Nor do those which the threads of a warp leave all at
//! once, as they do where they wait for one word or one mbarrier; nor those that the compiler makes
//! of one PTX instruction, in which a thread tries again only because another one has succeeded.
//!
//! Whom YIELD lets go on leaves BSYNC without the others (an H200 did so in every loop of a
//! compare-and-swap on shared memory): behind such a loop the warp is apart until a WARPSYNC.

use crate::analysis::Analyses;
use crate::analysis::loops::Loop;
use crate::effects::sees_other_threads;
use crate::notes::Notes;
use crate::params::Write;
use orias_components::scratch;
use orias_components::{BlockId, Body, Code, Inst, Opcode, phis};
use roaring::RoaringBitmap;
use smallvec::SmallVec;

/// Phase 49: puts YIELD first in the header of each such loop.
pub fn forward_progress(code: Code<'_>, mut analyses: Write<'_, Analyses>, mut notes: Notes<'_>) {
    let mut body = code.body();
    if body.layout().len() < 2 {
        return;
    }
    let flow = analyses.flow(&body);
    let waits =
        flow.loops().all.iter().filter_map(|l| Some((l.header, waits_for_others(&body, l)?)));
    let waits = scratch!(Vec<(u32, Exits)>).with(waits);
    if waits.is_empty() {
        return;
    }
    // Who leaves with all others waits for none of them.
    let divergence = analyses.divergence(&body);
    let parts = |exits: &Exits| exits.iter().any(|b| divergence.branches[*b as usize]);
    let headers = waits.iter().filter(|(_, exits)| parts(exits)).map(|(header, _)| *header);
    let headers = scratch!(Vec<u32>).with(headers);
    for header in &headers {
        let block = BlockId(*header);
        let loc = body.block(block).insts().first().map(|i| body.loc(*i)).unwrap_or_default();
        let at = phis::end(&body, block);
        body.insert(block, at, Inst::new(Opcode::YIELD, &[], 0, &[]), loc);
    }
    notes.count(headers.len());
}

/// The PTX instruction that the branches back to the header are of: what else is of it, the
/// compiler has made a loop of.
fn made_of(body: &Body<'_>, l: &Loop) -> Option<u32> {
    let last = body.block(BlockId(*l.latches.first()?)).insts().last()?;
    Some(body.loc(*last).ptx_inst).filter(|inst| *inst != 0)
}

/// Blocks at whose ends a loop is left.
type Exits = SmallVec<[u32; 2]>;

/// Where the loop is left by what memory holds that other threads change meanwhile, if anywhere.
fn waits_for_others(body: &Body<'_>, l: &Loop) -> Option<Exits> {
    let blocks = l.blocks.as_slice();
    let own = made_of(body, l);
    let mut shared = RoaringBitmap::new();
    // Values flow around the loop: until no more are found.
    loop {
        let before = shared.len();
        for block in blocks {
            for id in body.block(BlockId(*block)).insts() {
                let inst = body.inst(*id);
                let mut depends = sees_other_threads(inst) && own != Some(body.loc(*id).ptx_inst);
                inst.for_each_use(|r| {
                    depends |= r.reg.vreg().is_some_and(|v| shared.contains(v.0))
                });
                if depends {
                    inst.for_each_def(|r| shared.extend(r.reg.vreg().map(|v| v.0)));
                }
            }
        }
        if shared.len() == before {
            break;
        }
    }
    let depends = |block: &u32| {
        body.block(BlockId(*block)).insts().iter().map(|i| body.inst(*i)).any(|inst| {
            let mut depends = false;
            inst.for_each_use(|r| depends |= r.reg.vreg().is_some_and(|v| shared.contains(v.0)));
            depends && inst.op.is_branch()
        })
    };
    let exits = l.exits.chunk_by(|a, b| a.0 == b.0).map(|edges| edges[0].0);
    let exits: Exits = exits.filter(depends).collect();
    (!exits.is_empty()).then_some(exits)
}
