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
    /// Predicates that came.
    pub votes: u32,
}

/// What a warp may touch besides itself.
pub struct Env<'a> {
    /// Device memory.
    pub memory: &'a mut Memory,
    /// What `malloc` gives of it.
    pub heap: &'a mut Heap,
    /// Of each block of the cluster, by rank.
    pub shared: &'a mut [Region],
    /// Of the warp's block in its cluster.
    pub rank: usize,
    /// Of the warp's block.
    pub barriers: &'a mut [BarrierState; BARRIERS],
    /// Phases of the cluster's barrier that are complete.
    pub cluster_phase: u64,
    /// What the threads print.
    pub printed: &'a mut Vec<u8>,
    /// Counts each lane that executes an instruction.
    pub thread_instructions: &'a mut u64,
    /// Counts each instruction that a group of lanes executes.
    pub warp_instructions: &'a mut u64,
    /// By instruction, the threads that came to it; empty where nobody asks.
    pub reached: &'a mut [u64],
    /// What is looked for and found.
    pub misuse: &'a mut Misuses,
    /// Set when a barrier may have become complete.
    pub arrivals: bool,
}
