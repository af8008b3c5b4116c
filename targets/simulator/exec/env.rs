//! What is around a warp while it runs, and why it stops.

use crate::latency::Latencies;
use crate::memory::{Memory, Region};
use crate::misuse::Misuses;
use crate::simulator::error::Cause;
use crate::simulator::flight::{Completion, Flight};
use crate::simulator::image::Constants;
use crate::simulator::op::BarrierKind;
use crate::simulator::operand::LANES;
use crate::simulator::prepare::Program;
use crate::simulator::system::System;
use crate::simulator::timing::Findings;

/// A failed instruction and the lane that it failed for.
#[derive(Clone, Debug)]
pub struct Failure {
    pub cause: Cause,
    pub lane: usize,
    /// Index of the instruction.
    pub pc: u32,
}

/// A cause and its lane, before the place is known.
pub type LaneFault = (Cause, usize);

/// What is around a warp while it runs.
pub struct Env<'a> {
    pub program: &'a Program,
    pub memory: &'a mut Memory,
    pub shared: Region,
    pub constants: &'a Constants,
    pub block: [u32; 3],
    pub cta: [u32; 3],
    /// The CTA's number in its cluster.
    pub rank: u32,
    /// Shared memory of the cluster's CTAs by rank; of the CTA that runs it is in `shared`. Empty
    /// where it is alone.
    pub peers: Vec<Region>,
    /// What the cluster has under way, and when it is done.
    pub flight: &'a mut Flight,
    pub completion: Completion,
    /// Local memory of a thread (bytes).
    pub local_bytes: u32,
    /// See `Limits`.
    pub group_slice: u64,
    pub strict_regions: bool,
    /// When the CTA started (estimated cycles), for clock registers.
    pub started: u64,
    pub counts: &'a mut Counts,
    pub system: &'a mut System,
    pub misuse: &'a mut Misuses,
    pub latencies: &'a Latencies,
    pub findings: &'a mut Findings,
    /// The first hazard ends the run.
    pub stop_at_hazard: bool,
}

/// What a launch cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Instructions issued, each once a warp's group of lanes.
    pub warp_instructions: u64,
    /// Instructions times the lanes whose guard was true.
    pub thread_instructions: u64,
    /// Estimate of the kernel's time.
    pub cycles: u64,
}

/// Arrivals without waiting (BAR.ARV) and reduction operands, for the CTA to count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    Arrived { barrier: u8, lanes: u32, threads: Option<u32> },
    Predicate { barrier: u8, kind: BarrierKind, lanes: u32, holds: u32 },
}

/// Why a group stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// It waits, ended or split: look at the groups again.
    Changed,
    /// A hazard was found, and the run is to end.
    Hazard,
    /// Its time slice is over.
    Slice,
    /// What it looked for has not come: others are to go on, also those of other warps.
    Idle,
    Barrier(Option<Arrival>),
}

/// What follows an instruction.
pub(super) enum Flow {
    Next,
    Jump(u32),
    Stop(Stop),
}

pub(super) fn first(mask: u32) -> usize {
    mask.trailing_zeros() as usize % LANES
}
