//! Branches whose condition has one outcome only, in SSA form: a part of each `GeneralOptimize`.
//!
//! What only the other way leads to goes with it, phis hear of one value less, and what is left of
//! both blocks is one.

use super::branches::merge_chains;
use super::forks::{bring_nothing, fork, settle_phis};
use crate::analysis::Analyses;
use orias_components::{BlockId, Body, Inst, Opcode, Operand, RegUse, edges, scratch};
use smallvec::SmallVec;

/// A block that leads to the first of two only.
type Decided = (BlockId, [BlockId; 2]);

/// The branches whose outcome is known.
pub(crate) fn decided(
    body: &Body<'_>,
    mut outcome: impl FnMut(RegUse) -> Option<bool>,
) -> SmallVec<[Decided; 4]> {
    let mut found = SmallVec::new();
    if !body.facts().may_have(&[Opcode::BRA]) {
        return found;
    }
    for &block in body.layout() {
        let Some(fork) = fork(body, block).filter(|fork| fork.to[0] != fork.to[1]) else {
            continue;
        };
        let [first, second] = fork.to;
        match outcome(RegUse::new(fork.when.reg)) {
            None => {}
            Some(holds) if holds != fork.when.negated => found.push((block, [first, second])),
            Some(_) => found.push((block, [second, first])),
        }
    }
    found
}

/// Takes the other ways away, and all that only they lead to.
pub(crate) fn remove_ways(body: &mut Body<'_>, analyses: &mut Analyses, decided: &[Decided]) {
    let mut lost_edges = scratch!(Vec<(BlockId, BlockId)>);
    for &(block, [to, lost]) in decided {
        let place = edges::first_branch(body, block);
        let loc = body.loc(body.block(block).insts()[place]);
        body.replace(block, place..body.block(block).insts().len(), []);
        let branch = Inst::new(Opcode::BRA, &[], 0, &[Operand::PT, Operand::Block(to)]);
        body.push(block, branch, loc);
        lost_edges.push((block, lost));
    }
    analyses.edges(body);
    let flow = analyses.flow(body);
    let mut keep = scratch!(Vec<bool>; false; body.block_count());
    flow.reverse_postorder().iter().for_each(|block| keep[*block as usize] = true);
    // Calls lead to subroutines, not edges.
    for block in body.layout() {
        let last = body.block(*block).insts().last();
        keep[block.0 as usize] |= last.is_some_and(|last| body.op(*last) == Opcode::SUBRET);
    }
    let gone = body.layout().iter().copied().filter(|block| !keep[block.0 as usize]);
    let gone = scratch!(Vec<BlockId>).with(gone);
    for block in gone.iter() {
        let next = body.block(*block).succs().iter().filter(|next| keep[next.0 as usize]);
        lost_edges.extend(next.map(|next| (*block, *next)));
    }
    bring_nothing(body, &mut lost_edges);
    body.remove_blocks(&gone);
    analyses.edges(body);
    for &block in body.walk().iter() {
        settle_phis(body, block);
    }
    merge_chains(body);
    analyses.edges(body);
}
