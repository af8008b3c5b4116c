//! Natural loops: for each header (a block that dominates the source of an edge to it) the blocks that reach such an edge
//! without passing the header. Cycles with several entries (irreducible flow) have no header that dominates them and are no
//! natural loops: [`is_reducible`] tells whether there are any.

use crate::analysis::blocks::{BlockSet, Marks};
use crate::analysis::cfg::Graph;
use crate::analysis::dominators::Dominators;

/// A natural loop; loops with the same header are one.
#[derive(Clone, Debug)]
pub struct Loop {
    pub header: u32,
    /// Sources of the back edges, in reverse postorder.
    pub latches: Vec<u32>,
    /// Members, header included.
    pub blocks: BlockSet,
    /// The next loop outwards: an index in [`Loops::all`].
    pub parent: Option<usize>,
    /// 1 for an outermost loop.
    pub depth: u32,
}

/// All natural loops of a function, outer before inner.
#[derive(Clone, Debug, Default)]
pub struct Loops {
    pub all: Vec<Loop>,
    /// The innermost loop of each block: an index in `all`.
    pub innermost: Vec<Option<usize>>,
}

impl Loops {
    pub fn new(graph: &Graph, dom: &Dominators) -> Loops {
        let order = graph.reverse_postorder();
        let mut loops = Loops { all: Vec::new(), innermost: vec![None; graph.len()] };
        let mut rank = vec![0; graph.len()];
        for (i, n) in order.iter().enumerate() {
            rank[*n as usize] = i;
        }
        let mut marks = Marks::new(graph.len());
        // Headers in reverse postorder: an outer header dominates an inner one, so it comes first.
        for header in &order {
            let preds = graph.preds[*header as usize].iter().copied();
            let mut latches: Vec<u32> = preds.filter(|n| dom.dominates(*header, *n)).collect();
            latches.sort_unstable_by_key(|n| rank[*n as usize]);
            latches.dedup();
            if latches.is_empty() {
                continue;
            }
            let blocks = members(graph, dom, *header, &latches, &mut marks);
            let parent = loops.innermost[*header as usize];
            let depth = parent.map_or(1, |p| loops.all[p].depth + 1);
            let index = loops.all.len();
            for block in blocks.iter() {
                loops.innermost[block as usize] = Some(index);
            }
            loops.all.push(Loop { header: *header, latches, blocks, parent, depth });
        }
        loops
    }

    /// How many loops the block is in.
    pub fn depth(&self, block: u32) -> u32 {
        self.innermost[block as usize].map_or(0, |l| self.all[l].depth)
    }

    /// The loops that the block is in, innermost first.
    pub fn around(&self, block: u32) -> impl Iterator<Item = &Loop> {
        let first = self.innermost[block as usize];
        std::iter::successors(first, |l| self.all[*l].parent).map(|l| &self.all[l])
    }
}

fn members(
    graph: &Graph,
    dom: &Dominators,
    header: u32,
    latches: &[u32],
    marks: &mut Marks,
) -> BlockSet {
    marks.clear();
    marks.add(header);
    let mut blocks = vec![header];
    let mut stack = latches.to_vec();
    while let Some(node) = stack.pop() {
        if marks.add(node) {
            blocks.push(node);
            let preds = graph.preds[node as usize].iter().copied();
            stack.extend(preds.filter(|p| dom.is_reached(*p)));
        }
    }
    blocks.into_iter().collect()
}

/// Whether every cycle is a natural loop: an edge against the reverse postorder goes to a block that dominates its source.
pub fn is_reducible(graph: &Graph, dom: &Dominators) -> bool {
    let order = graph.reverse_postorder();
    let mut rank = vec![0; graph.len()];
    for (i, n) in order.iter().enumerate() {
        rank[*n as usize] = i;
    }
    order.iter().all(|n| {
        let back = |s: &&u32| rank[**s as usize] <= rank[*n as usize];
        graph.succs[*n as usize].iter().filter(back).all(|s| dom.dominates(*s, *n))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loops(graph: &Graph) -> Loops {
        Loops::new(graph, &Dominators::new(graph))
    }

    #[test]
    fn nested_loops_know_their_parent() {
        // 1 is the outer header, 2 the inner: 0 -> 1 -> 2 -> 2, 2 -> 3 -> 1, 3 -> 4
        let graph = Graph::new(5, &[(0, 1), (1, 2), (2, 2), (2, 3), (3, 1), (3, 4)]);
        let loops = loops(&graph);
        let headers: Vec<(u32, u32)> = loops.all.iter().map(|l| (l.header, l.depth)).collect();
        assert_eq!(headers, [(1, 1), (2, 2)]);
        assert_eq!((0..5).map(|b| loops.depth(b)).collect::<Vec<_>>(), [0, 1, 2, 1, 0]);
        assert_eq!(loops.around(2).map(|l| l.header).collect::<Vec<_>>(), [2, 1]);
    }

    #[test]
    fn two_back_edges_to_a_header_are_one_loop() {
        let graph = Graph::new(5, &[(0, 1), (1, 2), (1, 3), (2, 1), (3, 1), (3, 4)]);
        let loops = loops(&graph);
        assert_eq!(loops.all.len(), 1);
        assert_eq!(loops.all[0].latches.len(), 2);
    }

    #[test]
    fn a_cycle_with_two_entries_is_no_natural_loop() {
        let graph = Graph::new(4, &[(0, 1), (0, 2), (1, 2), (2, 1), (2, 3)]);
        assert!(loops(&graph).all.is_empty());
        assert!(!is_reducible(&graph, &Dominators::new(&graph)));
        let natural = Graph::new(3, &[(0, 1), (1, 1), (1, 2)]);
        assert!(is_reducible(&natural, &Dominators::new(&natural)));
    }
}
