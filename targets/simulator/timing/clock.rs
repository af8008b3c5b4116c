//! About how long it takes: an estimate to compare two cubins of one kernel by, from the same
//! control bits as the hazards.
//!
//! A warp's time goes on by the stall of each instruction that it issues; a wait lasts until the
//! scoreboard is released, at the nominal time of `tables/latency/estimates.lat`. Groups of a warp
//! take turns on that one time. A barrier of the CTA opens at the time of the last to arrive. A
//! sub-core issues one instruction a cycle and each of its pipes takes its time, so a CTA takes as
//! long as its slowest warp or its busiest pipe. CTAs start on the 132 SMs as others end, as many
//! at once as fit. Not in it: caches, bank conflicts, coalescing, bandwidth, instruction fetch,
//! clocks.

use super::facts::{Counted, GROUP, PIPES, SCOREBOARDS, Timing};
use crate::simulator::image::{Kernel, Launch};
use crate::simulator::operand::LANES;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// SMs of an H100 SXM (NVIDIA H100 whitepaper).
const SMS: usize = 132;

/// Sub-cores of an SM, which warps are on in turn (Huerta et al. 2025: warp n on n % 4).
const SUB_CORES: usize = 4;

/// What fits on an SM of compute capability 9.0 (CUDA C++ Programming Guide, "Compute
/// Capabilities"): CTAs, warps, registers and bytes of shared memory, of which a CTA's system part
/// takes 1 KiB.
const MAX_CTAS: u32 = 32;
const MAX_WARPS: u32 = 64;
const REGISTERS: u32 = 64 << 10;
const SHARED: u32 = 228 << 10;
const SHARED_SYSTEM: u32 = 1 << 10;

/// How many of the youngest increments of a scoreboard have times of their own.
const REMEMBERED: usize = 8;

/// Cycles that each pipe of a sub-core is busy; the pipe of no class is the issue itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Work {
    busy: [[u64; PIPES]; SUB_CORES],
}

impl Default for Work {
    fn default() -> Work {
        Work { busy: [[0; PIPES]; SUB_CORES] }
    }
}

impl Work {
    /// Adds a CTA's work, its first warp on the sub-core `first`.
    fn add(&mut self, other: &Work, first: usize) {
        for (at, theirs) in other.busy.iter().enumerate() {
            let mine = &mut self.busy[(at + first) % SUB_CORES];
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
        }
    }

    /// The cycles that the busiest pipe needs.
    fn cycles(&self) -> u64 {
        self.busy.iter().flatten().copied().max().unwrap_or(0)
    }
}

/// One warp's time.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    /// Cycles since its CTA started.
    pub now: u64,
    /// By scoreboard: when all increments but the youngest 0, 1, 2 … are done.
    released: [[u64; REMEMBERED]; SCOREBOARDS + 1],
    busy: [u64; PIPES],
}

impl Clock {
    /// An instruction issues.
    #[inline]
    pub fn issue(&mut self, timing: &Timing) {
        let mut wait = timing.wait;
        while wait != 0 {
            let scoreboard = wait.trailing_zeros() as usize;
            wait &= wait - 1;
            self.now = self.now.max(self.released[scoreboard][0]);
        }
        if let Some(Counted { scoreboard, left }) = timing.counted {
            let left = usize::from(left).min(REMEMBERED - 1);
            let released = self.released[usize::from(scoreboard).min(SCOREBOARDS)][left];
            self.now = self.now.max(released);
        }
        if timing.write_sb <= GROUP {
            self.set(timing.write_sb, timing.result_cycles);
        }
        if timing.read_sb <= GROUP {
            self.set(timing.read_sb, timing.read_cycles);
        }
        self.busy[0] += 1;
        self.busy[usize::from(timing.pipe)] += u64::from(timing.pipe_cycles);
        self.now += u64::from(timing.stall);
    }

    fn set(&mut self, scoreboard: u8, cycles: u16) {
        let times = &mut self.released[usize::from(scoreboard)];
        let done = times[0].max(self.now + u64::from(cycles));
        times.copy_within(..REMEMBERED - 1, 1);
        times[0] = done;
    }
}

/// The time and work of a CTA's warps.
pub fn of_cta<'c>(clocks: impl Iterator<Item = (u32, &'c Clock)>) -> (u64, Work) {
    let (mut slowest, mut work) = (0, Work::default());
    for (warp, clock) in clocks {
        slowest = slowest.max(clock.now);
        let sub_core = &mut work.busy[warp as usize % SUB_CORES];
        sub_core.iter_mut().zip(clock.busy).for_each(|(sum, busy)| *sum += busy);
    }
    (slowest.max(work.cycles()), work)
}

/// CTAs that an SM holds at once; at least one.
fn resident(kernel: &Kernel, launch: &Launch) -> u32 {
    let threads: u32 = launch.block.iter().product();
    let warps = threads.div_ceil(LANES as u32).max(1);
    // Registers are given to warps in units of 256, which is 8 a thread.
    let registers = kernel.registers.max(1).next_multiple_of(8) * LANES as u32 * warps;
    let shared = kernel.shared_bytes.saturating_add(launch.dynamic_shared);
    let shared = shared.saturating_add(SHARED_SYSTEM);
    let fits = [MAX_CTAS, MAX_WARPS / warps, REGISTERS / registers.max(1), SHARED / shared];
    fits.into_iter().min().unwrap_or(1).max(1)
}

/// Where CTAs run, and when they end.
#[derive(Clone, Debug)]
pub struct Placement {
    /// When each place on an SM is free again.
    free: BinaryHeap<Reverse<(u64, usize)>>,
    /// By SM.
    work: Vec<Work>,
    /// CTAs that an SM has had.
    ctas: Vec<usize>,
    /// Warps of a CTA.
    warps: usize,
    end: u64,
}

impl Placement {
    pub fn new(kernel: &Kernel, launch: &Launch) -> Placement {
        let places = (0..resident(kernel, launch)).flat_map(|_| 0..SMS);
        Placement {
            free: places.map(|sm| Reverse((0, sm))).collect(),
            work: vec![Work::default(); SMS],
            ctas: vec![0; SMS],
            warps: launch.block.iter().product::<u32>().div_ceil(LANES as u32) as usize,
            end: 0,
        }
    }

    /// When the next CTA starts.
    pub fn start(&self) -> u64 {
        self.free.peek().map_or(0, |Reverse((time, _))| *time)
    }

    /// A CTA of so many cycles has run where a place was free first.
    pub fn add(&mut self, (cycles, work): (u64, Work)) {
        let Some(Reverse((start, sm))) = self.free.pop() else { return };
        self.free.push(Reverse((start + cycles, sm)));
        self.end = self.end.max(start + cycles);
        // The next CTA's warps go on where the last one's ended.
        self.work[sm].add(&work, self.ctas[sm] * self.warps % SUB_CORES);
        self.ctas[sm] += 1;
    }

    /// The kernel's cycles: until the last CTA has ended, or the busiest pipe of an SM has done its
    /// work.
    pub fn cycles(&self) -> u64 {
        let busiest = self.work.iter().map(Work::cycles).max().unwrap_or(0);
        self.end.max(busiest)
    }
}
