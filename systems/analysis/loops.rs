//! Natural loops: for each header (a block that dominates the source of an edge to it) the blocks
//! that reach such an edge without passing the header. Cycles with several entries (irreducible
//! flow) have no header that dominates them and are no natural loops: [`irreducible`] finds those.

use crate::analysis::blocks::{BlockSet, Marks};
use crate::analysis::cfg::Graph;
use crate::analysis::dominators::Dominators;
use bitvec::vec::BitVec;
use orias_components::scratch;
use orias_components::scratch::Scratch;

/// A natural loop; loops with the same header are one.
#[derive(Clone, PartialEq, Debug)]
pub struct Loop {
    /// The one block by which control enters.
    pub header: u32,
    /// Sources of the back edges, in reverse postorder.
    pub latches: Scratch<Vec<u32>>,
    /// Members, header included.
    pub blocks: BlockSet,
    /// Blocks outside that lead to the header.
    pub entries: Scratch<Vec<u32>>,
    /// The only entry, where that leads only to the header. A loop at the function's entry has
    /// none.
    pub preheader: Option<u32>,
    /// Edges that leave it, from the blocks in their order.
    pub exits: Scratch<Vec<(u32, u32)>>,
    /// The next loop outwards: an index in [`Loops::all`].
    pub parent: Option<usize>,
    /// 1 for an outermost loop.
    pub depth: u32,
}

/// All natural loops of a function, outer before inner.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Loops {
    /// All loops of the function.
    pub all: Scratch<Vec<Loop>>,
    /// The innermost loop of each block: an index in `all`.
    pub innermost: Scratch<Vec<Option<usize>>>,
}

impl Loops {
    /// Of a graph whose reverse postorder is `order`; of one without cycles nobody needs to know
    /// what dominates what.
    pub(super) fn new<'d>(
        graph: &Graph,
        order: &[u32],
        dom: impl FnOnce() -> &'d Dominators,
    ) -> Loops {
        let innermost = scratch!(Vec<Option<usize>>; None; graph.len());
        let mut loops = Loops { all: scratch!(Vec<Loop>), innermost };
        let mut rank = scratch!(Vec<usize>; 0; graph.len());
        for (i, n) in order.iter().enumerate() {
            rank[*n as usize] = i;
        }
        let goes_back = |n: &u32| {
            graph.succs[*n as usize].iter().any(|to| rank[*to as usize] <= rank[*n as usize])
        };
        if !order.iter().any(goes_back) {
            return loops;
        }
        let dom = dom();
        let mut marks = Marks::new(graph.len());
        // Headers in reverse postorder: an outer header dominates an inner one, so it comes first.
        for header in order {
            let preds = graph.preds[*header as usize].iter().copied();
            let latches = preds.filter(|n| dom.dominates(*header, *n));
            let mut latches = scratch!(Vec<u32>).with(latches);
            latches.sort_unstable_by_key(|n| rank[*n as usize]);
            latches.dedup();
            if latches.is_empty() {
                continue;
            }
            let blocks = members(graph, dom, *header, &latches, &mut marks);
            // The marks are those of its members.
            let is_outside = |block: &u32| !marks.has(*block);
            let preds = graph.preds[*header as usize].iter().copied();
            let entries = scratch!(Vec<u32>).with(preds.filter(is_outside));
            let leads_only_here = |entry: &u32| graph.succs[*entry as usize].len() == 1;
            let preheader = match entries[..] {
                [one] if *header != graph.entry => Some(one).filter(leads_only_here),
                _ => None,
            };
            let leaving = |from: u32| {
                let succs = graph.succs[from as usize].iter().copied();
                succs.filter(is_outside).map(move |to| (from, to))
            };
            let exits = scratch!(Vec<(u32, u32)>).with(blocks.iter().flat_map(leaving));
            let parent = loops.innermost[*header as usize];
            let depth = parent.map_or(1, |p| loops.all[p].depth + 1);
            let index = loops.all.len();
            for block in blocks.iter() {
                loops.innermost[block as usize] = Some(index);
            }
            let header = *header;
            let of = Loop { header, latches, blocks, entries, preheader, exits, parent, depth };
            loops.all.push(of);
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
    let mut blocks = scratch!(Vec<u32>; header; 1);
    let mut stack = scratch!(Vec<u32>).with(latches.iter().copied());
    while let Some(node) = stack.pop() {
        if marks.add(node) {
            blocks.push(node);
            let preds = graph.preds[node as usize].iter().copied();
            stack.extend(preds.filter(|p| dom.is_reached(*p)));
        }
    }
    blocks.iter().copied().collect()
}

/// Blocks of cycles that are no natural loops: of each strongly connected part with an edge against
/// the reverse postorder to a block that does not dominate its source.
pub(super) fn irreducible(graph: &Graph, dom: &Dominators) -> Scratch<BitVec> {
    let order = graph.reverse_postorder();
    let mut rank = scratch!(Vec<u32>; u32::MAX; graph.len());
    order.iter().zip(0..).for_each(|(n, i)| rank[*n as usize] = i);
    let is_bad = |n: u32, to: u32| rank[to as usize] <= rank[n as usize] && !dom.dominates(to, n);
    let has_bad = |n: &u32| graph.succs[*n as usize].iter().any(|to| is_bad(*n, *to));
    let bad = scratch!(Vec<u32>).with(order.iter().copied().filter(has_bad));
    let mut found = scratch!(BitVec).fill_with(false, graph.len());
    if bad.is_empty() {
        return found;
    }
    // Kosaraju: against the edges from each block in reverse postorder, what is reached and not
    // taken is its part.
    let mut part = scratch!(Vec<u32>; u32::MAX; graph.len());
    let mut stack = scratch!(Vec<u32>);
    for root in &order {
        stack.push(*root);
        while let Some(node) = stack.pop() {
            if part[node as usize] == u32::MAX && rank[node as usize] != u32::MAX {
                part[node as usize] = *root;
                stack.extend(&graph.preds[node as usize]);
            }
        }
    }
    let mut bad_part = scratch!(BitVec).fill_with(false, graph.len());
    bad.iter().for_each(|n| bad_part.set(part[*n as usize] as usize, true));
    for &n in &order {
        found.set(n as usize, bad_part[part[n as usize] as usize]);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loops(graph: &Graph) -> Loops {
        let dom = Dominators::new(graph);
        Loops::new(graph, &graph.reverse_postorder(), || &dom)
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
    fn a_loop_knows_its_entries_and_exits() {
        // 1 is entered from 0 alone, which leads to 5 too; 3 has a preheader, 2, and leads back to
        // 1 and out to 4.
        let edges = [(0, 1), (0, 5), (1, 2), (2, 3), (3, 3), (3, 1), (3, 4)];
        let loops = loops(&Graph::new(6, &edges));
        let [outer, inner] = &loops.all[..] else { panic!("two loops") };
        assert_eq!((&outer.entries[..], outer.preheader), (&[0][..], None));
        assert_eq!((&inner.entries[..], inner.preheader), (&[2][..], Some(2)));
        assert_eq!(*outer.exits, [(3, 4)]);
        assert_eq!(*inner.exits, [(3, 1), (3, 4)]);
        let at_entry = self::loops(&Graph::new(2, &[(0, 0), (0, 1)]));
        assert_eq!(at_entry.all[0].preheader, None, "the function's call enters it");
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
        let blocks = |graph: &Graph| -> Vec<usize> {
            irreducible(graph, &Dominators::new(graph)).iter_ones().collect()
        };
        assert_eq!(blocks(&graph), [1, 2]);
        let natural = Graph::new(3, &[(0, 1), (1, 1), (1, 2)]);
        assert_eq!(blocks(&natural), []);
        // 4 is a natural loop in a part with two entries, 5 one behind it.
        let edges = [(0, 1), (0, 2), (1, 2), (2, 4), (4, 4), (4, 1), (2, 5), (5, 5), (5, 3)];
        assert_eq!(blocks(&Graph::new(6, &edges)), [1, 2, 4]);
    }
}
