//! What a warp may touch besides itself: memory, barriers, counters.

use super::heap::Heap;
use orias_targets::memory::{Memory, Region};
use orias_targets::misuse::Misuses;

/// Barriers of a block.
pub const BARRIERS: usize = 16;

/// One barrier of a block.
#[derive(Clone, Copy, Default, Debug)]
pub struct BarrierState {
    /// Threads that have arrived.
    pub arrived: u32,
    /// Threads to wait for, where an instruction said it.
    pub expected: Option<u32>,
    /// Of the predicates of a reduction: how many were true, and how many came.
    pub trues: u32,
    pub votes: u32,
}

/// What a warp may touch besides itself.
pub struct Env<'a> {
    pub memory: &'a mut Memory,
    pub heap: &'a mut Heap,
    /// Of each block of the cluster, by rank.
    pub shared: &'a mut [Region],
    /// Of the warp's block in its cluster.
    pub rank: usize,
    pub barriers: &'a mut [BarrierState; BARRIERS],
    /// Phases of the cluster's barrier that are complete.
    pub cluster_phase: u64,
    pub printed: &'a mut Vec<u8>,
    pub thread_instructions: &'a mut u64,
    pub warp_instructions: &'a mut u64,
    pub misuse: &'a mut Misuses,
    /// Set when a barrier may have become complete.
    pub arrivals: bool,
}
