//! Random graphs for the tests of this folder and of what is built on it.

use crate::analysis::cfg::Graph;

pub use crate::testing::Random;

/// A graph with up to two successors a node; edges go anywhere, so it may be irreducible and have
/// unreachable nodes.
pub fn random_graph(seed: u64, nodes: usize) -> Graph {
    let mut random = Random::new(seed);
    let mut edges = Vec::new();
    for from in 0..nodes as u64 {
        for _ in 0..random.below(3) {
            edges.push((from as u32, random.below(nodes as u64) as u32));
        }
    }
    Graph::new(nodes, &edges)
}
