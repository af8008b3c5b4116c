//! `OptimizeSyncInstructions`: a WARPSYNC of the whole warp before an exchange of values, where its
//! threads are together in any case.
//!
//! A warp begins a kernel together, and stays so until a branch at which its threads may part. What
//! joins them again is not asked: they are together behind the first WARPSYNC that all of them come
//! to. (Of an exchange on both ways of a branch each has its own, and they meet in neither.)
//! Observed (ptxas 13.0.88, sm_90a): where no such branch stands before shuffles, votes and their
//! like, no WARPSYNC does; those of `bar.warp.sync` stay, and are left here, too.

use super::joined::{gathers, is_of_next, parts};
use super::regions::MAX_DEPTH;
use crate::analysis::Analyses;
use crate::analysis::divergence::Divergence;
use crate::function::FunctionInfo;
use crate::notes::Notes;
use crate::params::{Read, Write};
use bitvec::vec::BitVec;
use orias_components::scratch;
use orias_components::{Body, Code, InstId, Opcode, View};
use std::sync::Arc;

/// Phase 82.
pub fn optimize_sync_instructions(
    code: Code<'_>,
    info: Read<'_, FunctionInfo>,
    mut analyses: Write<'_, Analyses>,
    mut notes: Notes<'_>,
) {
    let mut body = code.body();
    let flow = analyses.flow(&body);
    let mut divergence = analyses.divergence(&body);
    // It takes threads to reconverge at every join. Where some region may have no barrier for that,
    // they may part wherever a value may differ.
    let may_stay_apart = flow.irreducible().any()
        || divergence.branches.count_ones() >= MAX_DEPTH - 1
        || body.facts().may_have(&[Opcode::PCALL]);
    if may_stay_apart {
        divergence = Arc::new(Divergence::everywhere(&body));
    }
    let may_part = |block: usize| divergence.branches.get(block).is_some_and(|parts| *parts);
    let graph = flow.graph();
    // Blocks that all threads come to which do not exit before.
    let mut passed = scratch!(BitVec).fill_with(false, graph.len());
    let mut at = body.layout().first().map(|entry| entry.0);
    while let Some(block) = at.filter(|block| (*block as usize) < graph.len()) {
        passed.set(block as usize, true);
        at = flow.post_dominators().idom(block);
    }
    let after = |block: usize, inst: View<'_>, state: bool| after(inst, state, passed[block]);
    // What is not known yet counts as together: what is found out takes that away.
    let mut together = scratch!(BitVec).fill_with(true, graph.len());
    if let Some(entry) = body.layout().first() {
        together.set(entry.0 as usize, info.entry);
    }
    let mut work = scratch!(Vec<u32>);
    work.extend(body.layout().iter().rev().map(|block| block.0));
    while let Some(block) = work.pop() {
        let block = block as usize;
        let mut state = together[block];
        let insts = body.block(orias_components::BlockId(block as u32)).insts();
        insts.iter().for_each(|id| state = after(block, body.inst(*id), state));
        if state && !may_part(block) {
            continue;
        }
        for succ in &graph.succs[block] {
            if together.replace(*succ as usize, false) {
                work.push(*succ);
            }
        }
    }
    let mut removed = 0;
    for &block in body.walk().iter() {
        let mut state = together[block.0 as usize];
        let mut idle = scratch!(Vec<InstId>);
        let insts = body.block(block).insts();
        for (n, id) in insts.iter().enumerate() {
            let inst = body.inst(*id);
            if state && gathers(inst) && is_of_next(&body, insts, n) {
                idle.push(*id);
            }
            state = after(block.0 as usize, inst, state);
        }
        if !idle.is_empty() {
            removed += body.retain(block, |_: &Body<'_>, id| !idle.contains(&id));
        }
    }
    notes.count(removed);
}

/// Whether the warp is together behind an instruction, given whether it was before, and whether all
/// threads come to its block.
fn after(inst: View<'_>, together: bool, passed: bool) -> bool {
    match inst.op {
        Opcode::WARPSYNC if gathers(inst) => together || passed,
        _ => together && !parts(inst),
    }
}
