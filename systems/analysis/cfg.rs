//! The control flow graph: which block may follow which.
//!
//! Blocks hold their edges ([`orias_components::edges`] says what they are). The manager makes
//! stale ones new after each phase, and [`Analyses`] where a phase asks in between.
//!
//! [`Analyses`]: super::Analyses

use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{BlockId, Body, Code, work};
use smallvec::SmallVec;

/// Phase 3: computes the edges of every block.
pub fn analyze_control_flow(code: Code<'_>) {
    code.body().update_edges();
}

/// The edges as dense lists, by block number: what the graph algorithms walk.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Graph {
    /// Number of the entry block.
    pub entry: u32,
    /// By block: where control may go from its end, each once.
    pub succs: Scratch<Vec<SmallVec<[u32; 2]>>>,
    /// By block: the blocks that lead to it.
    pub preds: Scratch<Vec<SmallVec<[u32; 2]>>>,
}

impl Graph {
    /// A graph of `nodes` nodes whose entry is 0.
    pub fn new(nodes: usize, edges: &[(u32, u32)]) -> Graph {
        work::add(nodes);
        let mut graph = Graph {
            entry: 0,
            succs: scratch!(Vec<SmallVec<[u32; 2]>>; SmallVec::new(); nodes),
            preds: scratch!(Vec<SmallVec<[u32; 2]>>; SmallVec::new(); nodes),
        };
        for (from, to) in edges {
            graph.add(*from, *to);
        }
        graph
    }

    /// The function's graph, from the edges that its blocks hold. Blocks outside the layout have
    /// none.
    pub(super) fn of(body: &Body<'_>) -> Graph {
        let mut graph = Graph::new(body.block_count(), &[]);
        graph.entry = body.layout().first().map_or(0, |b| b.0);
        for id in body.layout() {
            for succ in body.block(*id).succs() {
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

    /// Blocks, those that the entry does not reach and removed ones included.
    pub fn len(&self) -> usize {
        self.succs.len()
    }

    /// Whether there is no block.
    pub fn is_empty(&self) -> bool {
        self.succs.is_empty()
    }

    /// Nodes that the entry reaches, each before its successors except along back edges.
    pub fn reverse_postorder(&self) -> Scratch<Vec<u32>> {
        let mut order = postorder(self.entry, &self.succs);
        order.reverse();
        order
    }
}

/// Nodes that `start` reaches along `next`, each after those first reached from it.
pub(super) fn postorder(start: u32, next: &[SmallVec<[u32; 2]>]) -> Scratch<Vec<u32>> {
    let mut order = scratch!(Vec<u32>).with_room(next.len());
    if start as usize >= next.len() {
        return order;
    }
    let mut seen = scratch!(Vec<bool>; false; next.len());
    seen[start as usize] = true;
    let mut stack = scratch!(Vec<(u32, usize)>; (start, 0); 1);
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

/// Blocks of the layout that control leaves for good, in the order in which
/// [`Dominators::post_by_exit`] asks for them: where most ways join first, and of those the last in
/// the text, where a function's common way leads.
///
/// [`Dominators::post_by_exit`]: super::dominators::Dominators::post_by_exit
pub fn exits(body: &Body<'_>) -> Scratch<Vec<u32>> {
    let leaves = |b: &&BlockId| body.block(**b).succs().is_empty();
    let all = body.layout().iter().rev().filter(leaves).map(|b| b.0);
    let mut exits = scratch!(Vec<u32>).with(all);
    exits.sort_by_key(|b| std::cmp::Reverse(body.block(BlockId(*b)).preds().len()));
    exits
}
