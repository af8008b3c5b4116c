//! The control flow graph: which block may follow which.
//!
//! Edges follow from the instructions at a block's end and from layout order (a block that does not end in an unguarded
//! branch falls through to the next one). `AnalyzeControlFlow` and every phase that edits control flow bring `succs` and
//! `preds` up to date with [`update`].

use orias_components::{Block, BlockId, Body, Code, InstId, Opcode, Operand, View, work};
use smallvec::SmallVec;

/// Phase 3: computes the edges of every block.
pub fn analyze_control_flow(code: Code<'_, '_>) {
    update(&mut code.body());
}

/// Whether the branch is taken by every thread that reaches it: no guard, and no predicate operand but PT.
pub fn is_unconditional(inst: View<'_>) -> bool {
    inst.guard.is_always()
        && inst.sources().all(|o| match o {
            Operand::Reg(r) if r.reg.file().is_predicate() => {
                r.reg.is_zero() && !r.flags.has(orias_components::RegFlags::NOT)
            }
            _ => true,
        })
}

/// Whether control never goes past this instruction: an unconditional branch that does not come back (as CALL does).
pub fn ends_flow(inst: View<'_>) -> bool {
    inst.op.is_branch()
        && !matches!(inst.op, Opcode::CALL | Opcode::RPCMOV | Opcode::RTT)
        && is_unconditional(inst)
}

/// The blocks that a branch may go to. BSSY names a block too, but does not go there.
pub fn targets(inst: View<'_>) -> impl Iterator<Item = BlockId> + '_ {
    let is_branch = inst.op.is_branch();
    inst.blocks().filter(move |_| is_branch)
}

/// Whether control may go on from the block's end to the next block of the layout.
pub fn falls_through(body: &Body<'_>, block: &Block) -> bool {
    block.insts.last().is_none_or(|last| !ends_flow(body.inst(*last)))
}

/// The blocks that may follow the block at a place in the layout, each once: targets first, in text order, then the block
/// that control falls through to.
pub fn successors(body: &Body<'_>, at: usize) -> SmallVec<[BlockId; 4]> {
    let layout = body.layout();
    let block = body.block(layout[at]);
    let mut succs: SmallVec<[BlockId; 4]> = SmallVec::new();
    // Branches stand at the end only: the walk stops at the first instruction that is none.
    let is_branch = |i: &&InstId| body.op(**i).is_branch();
    let count = block.insts.iter().rev().take_while(is_branch).count();
    for inst in &block.insts[block.insts.len() - count..] {
        for target in targets(body.inst(*inst)) {
            if !succs.contains(&target) {
                succs.push(target);
            }
        }
    }
    if falls_through(body, block)
        && let Some(next) = layout.get(at + 1)
        && !succs.contains(next)
    {
        succs.push(*next);
    }
    succs
}

/// Whether the edges that the blocks hold are those that follow from their instructions.
///
/// # Errors
/// The first block whose edges are stale, in words.
pub fn check(body: &Body<'_>) -> Result<(), String> {
    let mut preds = vec![Vec::new(); body.block_count()];
    for (at, id) in body.layout().iter().enumerate() {
        let succs = successors(body, at);
        let held = &body.block(*id).succs;
        if **held != *succs {
            return Err(format!("{id}: its successors are {succs:?}, it holds {held:?}"));
        }
        succs.iter().for_each(|s| preds[s.0 as usize].push(*id));
    }
    for id in body.layout() {
        let (held, preds) = (&body.block(*id).preds, &preds[id.0 as usize]);
        if held != preds {
            return Err(format!("{id}: its predecessors are {preds:?}, it holds {held:?}"));
        }
    }
    Ok(())
}

/// Makes `succs` and `preds` of the blocks in the layout new, where they may be stale.
pub fn update(body: &mut Body<'_>) {
    if !body.edges_are_stale() {
        return;
    }
    for at in 0..body.layout().len() {
        let succs = successors(body, at);
        body.set_succs(body.layout()[at], &succs);
    }
    body.update_preds();
    body.edges_are_made();
}

/// The edges as dense lists, by block number: what the graph algorithms walk.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Graph {
    /// Number of the entry block.
    pub entry: u32,
    pub succs: Vec<SmallVec<[u32; 2]>>,
    pub preds: Vec<SmallVec<[u32; 2]>>,
}

impl Graph {
    /// A graph of `nodes` nodes whose entry is 0.
    pub fn new(nodes: usize, edges: &[(u32, u32)]) -> Graph {
        work::add(nodes);
        let mut graph = Graph {
            entry: 0,
            succs: vec![SmallVec::new(); nodes],
            preds: vec![SmallVec::new(); nodes],
        };
        for (from, to) in edges {
            graph.add(*from, *to);
        }
        graph
    }

    /// The function's graph, from the edges that its blocks hold. Blocks outside the layout have none.
    pub(super) fn of(body: &Body<'_>) -> Graph {
        let mut graph = Graph::new(body.block_count(), &[]);
        graph.entry = body.layout().first().map_or(0, |b| b.0);
        for id in body.layout() {
            for succ in &body.block(*id).succs {
                graph.add(id.0, succ.0);
            }
        }
        graph
    }

    fn add(&mut self, from: u32, to: u32) {
        work::add(1);
        if !self.succs[from as usize].contains(&to) {
            self.succs[from as usize].push(to);
            self.preds[to as usize].push(from);
        }
    }

    pub fn len(&self) -> usize {
        self.succs.len()
    }

    pub fn is_empty(&self) -> bool {
        self.succs.is_empty()
    }

    /// Nodes that the entry reaches, each before its successors except along back edges.
    pub fn reverse_postorder(&self) -> Vec<u32> {
        let mut order = postorder(self.entry, &self.succs);
        order.reverse();
        order
    }
}

/// Nodes that `start` reaches along `next`, each after those first reached from it.
pub(super) fn postorder(start: u32, next: &[SmallVec<[u32; 2]>]) -> Vec<u32> {
    let mut order = Vec::with_capacity(next.len());
    if start as usize >= next.len() {
        return order;
    }
    let mut seen = vec![false; next.len()];
    seen[start as usize] = true;
    let mut stack = vec![(start, 0)];
    while let Some((node, at)) = stack.last_mut() {
        match next[*node as usize].get(*at) {
            Some(succ) => {
                *at += 1;
                if !std::mem::replace(&mut seen[*succ as usize], true) {
                    stack.push((*succ, 0));
                }
            }
            None => {
                order.push(*node);
                stack.pop();
            }
        }
    }
    order
}

/// Blocks of the layout that control leaves for good, in the order in which [`Dominators::post_by_exit`] asks for them: where
/// most ways meet first, and of those the last in the text, where a function's common way leads.
///
/// [`Dominators::post_by_exit`]: super::dominators::Dominators::post_by_exit
pub fn exits(body: &Body<'_>) -> Vec<u32> {
    let leaves = |b: &&BlockId| body.block(**b).succs.is_empty();
    let mut exits: Vec<u32> = body.layout().iter().filter(leaves).map(|b| b.0).collect();
    exits.reverse();
    exits.sort_by_key(|b| std::cmp::Reverse(body.block(BlockId(*b)).preds.len()));
    exits
}
