//! Random graphs for the tests of this folder and of what is built on it.

use crate::analysis::cfg::Graph;

/// A small deterministic generator (splitmix64): the same numbers on every machine.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// 0..n
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

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
