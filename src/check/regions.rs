//! Each region as the part of the graph where a thread is in it, and how threads leave it.

use super::barriers::Flow;
use super::graph::{Code, barrier};
use super::report::{Report, Rule};
use orias_components::Opcode;
use std::collections::{BTreeMap, BTreeSet};

/// A BSSY, and where a thread that passed it may be before it has left the region.
pub struct Region {
    /// Its BSSY, by instruction.
    pub start: u32,
    /// The number of its B register.
    pub barrier: u8,
    /// Nodes at whose beginning the thread may be in it.
    pub nodes: BTreeSet<u32>,
    /// Ways within it, from node to node, those out of BSSY's own node included.
    pub edges: BTreeMap<u32, Vec<u32>>,
    /// Nodes that are BSYNC of it.
    pub ends: BTreeSet<u32>,
    /// Regions that were open at BSSY.
    pub around: Vec<u32>,
}

impl Region {
    /// Nodes from which one of `goals` is reached within the region, themselves included, without
    /// passing `not` on the way.
    pub fn leading_to(&self, goals: &BTreeSet<u32>, not: impl Fn(u32) -> bool) -> BTreeSet<u32> {
        let mut back: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (from, to) in &self.edges {
            to.iter().for_each(|to| back.entry(*to).or_default().push(*from));
        }
        let mut found = goals.clone();
        let mut work: Vec<u32> = goals.iter().copied().collect();
        while let Some(node) = work.pop() {
            for from in back.get(&node).into_iter().flatten() {
                if !not(*from) && found.insert(*from) {
                    work.push(*from);
                }
            }
        }
        found
    }
}

/// The regions of a function.
pub fn regions(code: &Code, flow: &Flow) -> Vec<Region> {
    let mut all: BTreeMap<u32, Region> = BTreeMap::new();
    for (start, around) in &flow.around {
        let Some(barrier) = code.inst(*start).and_then(barrier) else { continue };
        let (nodes, ends) = (BTreeSet::new(), BTreeSet::new());
        let edges = BTreeMap::new();
        let around = around.clone();
        let region = Region { start: *start, barrier, nodes, edges, ends, around };
        all.insert(*start, region);
    }
    for node in &flow.nodes {
        let Some(state) = &flow.before[*node as usize] else { continue };
        let special = code.special(*node);
        let ends = special.filter(|i| i.op == Opcode::BSYNC).and_then(barrier);
        for at in state.regions() {
            if let Some(region) = all.get_mut(&at) {
                region.nodes.insert(*node);
                if ends == Some(region.barrier) {
                    region.ends.insert(*node);
                }
            }
        }
    }
    for region in all.values_mut() {
        let first = code.node_of[region.start as usize];
        for node in region.nodes.iter().copied().chain([first]) {
            if region.ends.contains(&node) {
                continue;
            }
            let edges = code.nodes[node as usize].edges.iter().map(|e| e.to);
            let stays = |to: &u32| {
                region.nodes.contains(to)
                    && flow.before[*to as usize]
                        .as_ref()
                        .is_some_and(|s| s.holds(region.barrier, region.start))
            };
            region.edges.insert(node, edges.filter(stays).collect());
        }
    }
    all.into_values().collect()
}

/// Threads that come where no BSYNC of their region is ahead must exit, without a loop and without
/// waiting on the way: the barrier forgets who exits, and no other thread.
pub fn leaving(code: &Code, region: &Region, report: &mut Report) {
    let ahead = region.leading_to(&region.ends, |_| false);
    let outside: BTreeSet<u32> = region.nodes.difference(&ahead).copied().collect();
    for node in &outside {
        let at = code.nodes[*node as usize].first;
        if let Some(why) = waits(code, region, *node) {
            let what = format!("that of {:#06x}, and waits: {why}", u64::from(region.start) * 16);
            report.add(Rule::Leaves, at, what);
        }
    }
    if let Some(node) = in_cycle(region, &outside) {
        let at = code.nodes[node as usize].first;
        let what = format!("that of {:#06x}, and goes around", u64::from(region.start) * 16);
        report.add(Rule::Leaves, at, what);
    }
}

/// What a thread may wait for at this node.
fn waits(code: &Code, region: &Region, node: u32) -> Option<&'static str> {
    let inst = code.special(node)?;
    match inst.op {
        Opcode::WARPSYNC => Some("WARPSYNC"),
        Opcode::BAR => Some("BAR"),
        Opcode::CALL => Some("CALL"),
        Opcode::BSYNC => {
            let b = barrier(inst);
            let outer = region.around.iter().any(|r| code.inst(*r).and_then(barrier) == b);
            outer.then_some("BSYNC of a region around it")
        }
        _ => None,
    }
}

/// A node of a cycle among these, if there is one.
fn in_cycle(region: &Region, nodes: &BTreeSet<u32>) -> Option<u32> {
    let mut left = nodes.clone();
    loop {
        let ends = |n: &u32| {
            let to = region.edges.get(n);
            !to.into_iter().flatten().any(|to| left.contains(to))
        };
        let done: Vec<u32> = left.iter().copied().filter(ends).collect();
        if done.is_empty() {
            return left.first().copied();
        }
        done.iter().for_each(|n| {
            left.remove(n);
        });
    }
}
