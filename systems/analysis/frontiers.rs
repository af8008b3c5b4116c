//! Dominance frontiers: where what a block says of a value meets what other ways say of it.

use crate::analysis::cfg::Graph;
use crate::analysis::dominators::Dominators;
use orias_components::lists::Lists;
use orias_components::scratch;
use orias_components::scratch::Scratch;

/// For each block those that it does not dominate itself, but one of whose predecessors it does
/// (Cooper, Harvey, Kennedy).
#[derive(Clone, PartialEq, Debug)]
pub struct Frontiers(Scratch<Lists<u32>>);

impl Frontiers {
    pub(super) fn new(graph: &Graph, dom: &Dominators) -> Frontiers {
        let mut lists = scratch!(Lists<u32>).of(graph.len());
        // What a block was added to last: its predecessors' ways up the tree join.
        let mut added = scratch!(Vec<u32>; u32::MAX; graph.len());
        for block in 0..graph.len() as u32 {
            let preds = &graph.preds[block as usize];
            if preds.len() < 2 || !dom.is_reached(block) {
                continue;
            }
            let end = dom.idom(block);
            for pred in preds.iter().filter(|p| dom.is_reached(**p)) {
                let mut at = Some(*pred);
                while let Some(node) = at.filter(|n| Some(*n) != end) {
                    if std::mem::replace(&mut added[node as usize], block) == block {
                        break;
                    }
                    lists.push(node, block);
                    at = dom.idom(node);
                }
            }
        }
        Frontiers(lists)
    }

    /// The blocks of a block's frontier.
    pub fn of(&self, block: u32) -> impl Iterator<Item = u32> + '_ {
        self.0.iter(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::testing::random_graph;

    #[test]
    fn a_frontier_is_what_its_definition_says() {
        for seed in 0..200 {
            let graph = random_graph(seed, 12);
            let dom = Dominators::new(&graph);
            let frontiers = Frontiers::new(&graph, &dom);
            for block in 0..graph.len() as u32 {
                let mut found: Vec<u32> = frontiers.of(block).collect();
                found.sort_unstable();
                let meets = |to: &u32| {
                    let preds = &graph.preds[*to as usize];
                    let strictly = dom.dominates(block, *to) && block != *to;
                    // With fewer than two ways in nothing meets, but for an entry that is come back
                    // to.
                    preds.len() > 1 && !strictly && preds.iter().any(|p| dom.dominates(block, *p))
                };
                let expected: Vec<u32> = (0..graph.len() as u32).filter(meets).collect();
                assert_eq!(found, expected, "of {block} in graph {seed}");
            }
        }
    }
}
