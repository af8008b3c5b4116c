//! Dominators and post-dominators, by semidominators and their nearest common ancestors
//! (Georgiadis, "Linear-Time Algorithms for Dominators and Related Problems": Semi-NCA).

use crate::analysis::cfg::Graph;
use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::work;
use smallvec::SmallVec;

const NONE: u32 = u32::MAX;

/// A dominator tree over the nodes of a graph: forward from the entry, or backward from a virtual
/// exit.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Dominators {
    /// Immediate dominator; the root's is itself, [`NONE`] for nodes that the root does not reach.
    idom: Scratch<Vec<u32>>,
    /// Place in a walk of the tree and the end of what the node dominates there; empty where it is
    /// not reached.
    span: Scratch<Vec<(u32, u32)>>,
    root: u32,
    /// The root is a node of the graph, not the virtual exit.
    real_root: bool,
}

impl Dominators {
    pub(super) fn new(graph: &Graph) -> Dominators {
        if graph.is_empty() {
            return Dominators { real_root: true, ..Dominators::default() };
        }
        Self::solve(graph.entry, &graph.succs, &graph.preds, true)
    }

    /// Post-dominators: the root is a virtual exit behind every block without successor.
    ///
    /// A region that never reaches an exit (an infinite loop) gets a pretended edge to the virtual
    /// exit from the last of its blocks in reverse postorder, which for a plain loop is its latch:
    /// blocks before the latch then have the post-dominators that they have in one round of the
    /// loop.
    pub(super) fn post(graph: &Graph) -> Dominators {
        let all = scratch!(Vec<u32>; 0; graph.len());
        Self::backward(graph, &all)
    }

    /// Post-dominators among blocks that share an exit: each block belongs to the first exit of the
    /// list that it reaches, and edges from a block to one of another exit do not count. Where
    /// threads of a warp part and some of them leave for an exit of their own, this is where the
    /// others meet: threads that exit are waited for by no one.
    pub(super) fn post_by_exit(graph: &Graph, exits: &[u32]) -> Dominators {
        let mut class = scratch!(Vec<u32>; NONE; graph.len());
        let mut stack = scratch!(Vec<u32>);
        for (i, exit) in exits.iter().enumerate() {
            stack.push(*exit);
            while let Some(node) = stack.pop() {
                if class[node as usize] == NONE {
                    class[node as usize] = i as u32;
                    stack.extend(&graph.preds[node as usize]);
                }
            }
        }
        Self::backward(graph, &class)
    }

    fn backward(graph: &Graph, class: &[u32]) -> Dominators {
        let exit = graph.len() as u32;
        let none = SmallVec::new();
        let mut backward = scratch!(Vec<SmallVec<[u32; 2]>>; none; graph.len() + 1);
        let mut forward = backward.clone();
        let same = |a: u32, b: &&u32| class[a as usize] == class[**b as usize];
        for node in 0..graph.len() as u32 {
            forward[node as usize]
                .extend(graph.succs[node as usize].iter().filter(|n| same(node, n)).copied());
            backward[node as usize]
                .extend(graph.preds[node as usize].iter().filter(|n| same(node, n)).copied());
        }
        let forward_order = graph.reverse_postorder();
        for node in &forward_order {
            if graph.succs[*node as usize].is_empty() {
                backward[exit as usize].push(*node);
                forward[*node as usize].push(exit);
            }
        }
        let mut reached = scratch!(Vec<bool>; false; graph.len() + 1);
        mark(exit, &backward, &mut reached);
        for node in forward_order.iter().rev() {
            if !reached[*node as usize] {
                backward[exit as usize].push(*node);
                forward[*node as usize].push(exit);
                mark(*node, &backward, &mut reached);
            }
        }
        Self::solve(exit, &backward, &forward, false)
    }

    /// `preds` are the neighbours on the root's side, `next` those on the other.
    fn solve(
        root: u32,
        next: &[SmallVec<[u32; 2]>],
        preds: &[SmallVec<[u32; 2]>],
        real_root: bool,
    ) -> Dominators {
        let [order, parent, rank] = preorder(root, next);
        // All by place in the order from here on.
        let mut semi = scratch!(Vec<u32>).with(0..order.len() as u32);
        let mut label = semi.clone();
        let mut above = parent.clone();
        let mut path = scratch!(Vec<u32>);
        for w in (1..order.len() as u32).rev() {
            let mut lowest = parent[w as usize];
            for pred in &preds[order[w as usize] as usize] {
                let v = rank[*pred as usize];
                if v != NONE {
                    lowest = lowest.min(semi[best(v, w, &semi, &mut label, &mut above, &mut path)]);
                }
            }
            semi[w as usize] = lowest;
        }
        let mut up = parent;
        for w in 1..order.len() {
            work::add(1);
            while up[w] > semi[w] {
                work::add(1);
                up[w] = up[up[w] as usize];
            }
        }
        let mut idom = scratch!(Vec<u32>; NONE; preds.len());
        for (w, node) in order.iter().enumerate() {
            idom[*node as usize] = order[up[w] as usize];
        }
        let span = spans(root, &order, &idom);
        Dominators { idom, span, root, real_root }
    }

    /// The immediate dominator; None for the root, for nodes whose only post-dominator is the
    /// virtual exit, and for nodes that are not reached.
    pub fn idom(&self, node: u32) -> Option<u32> {
        let idom = *self.idom.get(node as usize)?;
        (idom != NONE && node != self.root && (self.real_root || idom != self.root)).then_some(idom)
    }

    /// Whether there is a way from the root to the node.
    pub fn is_reached(&self, node: u32) -> bool {
        self.idom.get(node as usize).is_some_and(|d| *d != NONE)
    }

    /// Whether every path from the root to `b` passes `a` (so each node dominates itself). False
    /// where one is not reached.
    pub fn dominates(&self, a: u32, b: u32) -> bool {
        let place = |node: u32| self.span.get(node as usize).copied().unwrap_or_default();
        let ((first, end), (at, last)) = (place(a), place(b));
        at < last && (first..end).contains(&at)
    }

    /// The nearest node that dominates both; None when that is the virtual exit or one is not
    /// reached.
    pub fn common(&self, a: u32, b: u32) -> Option<u32> {
        if !self.is_reached(a) || !self.is_reached(b) {
            return None;
        }
        // The usual cases need no climb, which may be as long as there are blocks.
        let mut node = a;
        if self.dominates(b, a) {
            node = b;
        }
        while !self.dominates(node, b) {
            work::add(1);
            node = self.idom[node as usize];
        }
        (self.real_root || node != self.root).then_some(node)
    }
}

/// Where each node stands in a walk of the dominator tree, and where what it dominates ends: to ask
/// whether one dominates another must not climb the tree, which may be as deep as there are blocks.
fn spans(root: u32, order: &[u32], idom: &[u32]) -> Scratch<Vec<(u32, u32)>> {
    let mut size = scratch!(Vec<u32>; 0; idom.len());
    for node in order.iter().rev() {
        size[*node as usize] += 1;
        if *node != root {
            size[idom[*node as usize] as usize] += size[*node as usize];
        }
    }
    let mut span = scratch!(Vec<(u32, u32)>; (0, 0); idom.len());
    let mut free = scratch!(Vec<u32>; 0; idom.len());
    for node in order {
        let (node, above) = (*node as usize, idom[*node as usize] as usize);
        let first = free[above];
        free[above] += if node == above { 0 } else { size[node] };
        span[node] = (first, first + size[node]);
        free[node] = first + 1;
    }
    span
}

/// Nodes that the root reaches, parents before children of a walk into depth; the parent's place of
/// each, by place; and the place of each, by node.
fn preorder(root: u32, next: &[SmallVec<[u32; 2]>]) -> [Scratch<Vec<u32>>; 3] {
    let mut rank = scratch!(Vec<u32>; NONE; next.len());
    let mut order = scratch!(Vec<u32>).with_room(next.len());
    let mut parent = scratch!(Vec<u32>).with_room(next.len());
    order.push(root);
    parent.push(0);
    rank[root as usize] = 0;
    let mut stack = scratch!(Vec<(u32, usize)>);
    stack.push((root, 0));
    while let Some((node, at)) = stack.last_mut() {
        let Some(&succ) = next[*node as usize].get(*at) else {
            stack.pop();
            continue;
        };
        *at += 1;
        if rank[succ as usize] == NONE {
            rank[succ as usize] = order.len() as u32;
            parent.push(rank[*node as usize]);
            order.push(succ);
            stack.push((succ, 0));
        }
    }
    [order, parent, rank]
}

/// The node with the lowest semidominator on the way from `v` up to what was not looked at yet
/// (places below `w`), by places; shortens the way for the next.
fn best(
    v: u32,
    w: u32,
    semi: &[u32],
    label: &mut [u32],
    above: &mut [u32],
    path: &mut Vec<u32>,
) -> usize {
    if v <= w {
        return v as usize;
    }
    path.clear();
    let mut at = v;
    while above[at as usize] > w {
        work::add(1);
        path.push(at);
        at = above[at as usize];
    }
    while let Some(node) = path.pop() {
        let up = above[node as usize];
        if semi[label[up as usize] as usize] < semi[label[node as usize] as usize] {
            label[node as usize] = label[up as usize];
        }
        above[node as usize] = above[up as usize];
    }
    label[v as usize] as usize
}

fn mark(from: u32, next: &[SmallVec<[u32; 2]>], reached: &mut [bool]) {
    let mut stack = scratch!(Vec<u32>; from; 1);
    reached[from as usize] = true;
    while let Some(node) = stack.pop() {
        for n in &next[node as usize] {
            if !std::mem::replace(&mut reached[*n as usize], true) {
                stack.push(*n);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::testing::random_graph;

    /// By definition: `a` dominates `b` when `b` is not reached from the entry without `a`.
    fn reaches_without(graph: &Graph, from: u32, to: u32, without: u32) -> bool {
        let mut seen = vec![false; graph.len()];
        let mut stack = scratch!(Vec<u32>; from; 1);
        while let Some(n) = stack.pop() {
            if n == without || std::mem::replace(&mut seen[n as usize], true) {
                continue;
            }
            stack.extend(&graph.succs[n as usize]);
        }
        seen[to as usize]
    }

    #[test]
    fn dominance_is_what_the_definition_says() {
        for seed in 0..300 {
            let graph = random_graph(seed, 2 + (seed % 13) as usize);
            let dom = Dominators::new(&graph);
            for b in 0..graph.len() as u32 {
                let reached = reaches_without(&graph, graph.entry, b, NONE);
                assert_eq!(dom.is_reached(b), reached);
                for a in (0..graph.len() as u32).filter(|_| reached) {
                    let by_definition =
                        dom.is_reached(a) && !reaches_without(&graph, graph.entry, b, a);
                    assert_eq!(dom.dominates(a, b), by_definition, "seed {seed}: {a} over {b}");
                }
            }
        }
    }

    #[test]
    fn post_dominance_is_what_the_definition_says() {
        for seed in 0..300 {
            let graph = random_graph(seed, 2 + (seed % 13) as usize);
            let post = Dominators::post(&graph);
            let exits: Vec<u32> =
                (0..graph.len() as u32).filter(|n| graph.succs[*n as usize].is_empty()).collect();
            let leaves = |b, without| exits.iter().any(|e| reaches_without(&graph, b, *e, without));
            for &b in &graph.reverse_postorder() {
                // Where there is no way out, the pretended edges decide: only the exact part is
                // tested.
                if !graph.reverse_postorder().iter().all(|n| leaves(*n, NONE)) {
                    continue;
                }
                for &a in &graph.reverse_postorder() {
                    assert_eq!(post.dominates(a, b), !leaves(b, a), "seed {seed}: {a} after {b}");
                }
            }
        }
    }

    #[test]
    fn a_diamond_joins_at_its_post_dominator() {
        let graph = Graph::new(4, &[(0, 1), (0, 2), (1, 3), (2, 3)]);
        assert_eq!(Dominators::post(&graph).idom(0), Some(3));
        assert_eq!(Dominators::new(&graph).idom(3), Some(0));
    }

    #[test]
    fn two_exits_meet_at_the_virtual_one() {
        let graph = Graph::new(3, &[(0, 1), (0, 2)]);
        assert_eq!(Dominators::post(&graph).idom(0), None);
    }

    #[test]
    fn threads_that_leave_for_their_own_exit_are_not_waited_for() {
        // 0 -> {1, 2}; 1 -> {3 (an exit), 4}; 2 -> 4, the last exit.
        let graph = Graph::new(5, &[(0, 1), (0, 2), (1, 3), (1, 4), (2, 4)]);
        assert_eq!(Dominators::post(&graph).idom(0), None);
        assert_eq!(Dominators::post_by_exit(&graph, &[4, 3]).idom(0), Some(4));
        assert_eq!(Dominators::post_by_exit(&graph, &[4, 3]).idom(3), None);
    }

    #[test]
    fn a_branch_in_an_infinite_loop_joins_at_the_latch() {
        // 0 -> 1 -> {2, 3} -> 4 -> 1
        let graph = Graph::new(5, &[(0, 1), (1, 2), (1, 3), (2, 4), (3, 4), (4, 1)]);
        assert_eq!(Dominators::post(&graph).idom(1), Some(4));
    }
}
