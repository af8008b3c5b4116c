//! One CTA: its warps, its shared memory, its barriers.

use super::exec::{Arrival, Env, Failure, Stop};
use super::groups::State;
use super::op::BarrierKind;
use super::operand::GROUPS;
use super::operand::LANES;
use super::warp::Warp;
use crate::memory::Region;

/// Time slice of a warp, in instructions.
const WARP_SLICE: u64 = 2048;

/// Warps that do matrix products together.
const WARPGROUP: usize = 4;

/// Barriers of a CTA.
const BARRIERS: usize = 16;

#[derive(Clone, Copy, Debug, Default)]
struct Barrier {
    /// Threads that arrived without waiting.
    arrived: u32,
    /// Threads wanted, as those who did not wait said.
    threads: Option<u32>,
    kind: Option<BarrierKind>,
    /// Lanes counted, and those whose predicate holds.
    lanes: u32,
    holds: u32,
}

/// A block of threads.
#[derive(Clone, Debug)]
pub struct Cta {
    pub id: [u32; 3],
    pub warps: Vec<Warp>,
    /// When it started (estimated cycles).
    pub started: u64,
    /// Shared memory, between the CTA's turns.
    pub shared: Region,
    barriers: [Barrier; BARRIERS],
}

impl Cta {
    pub fn new(id: [u32; 3], started: u64, warps: Vec<Warp>, shared: Region) -> Cta {
        Cta { id, started, warps, shared, barriers: [Barrier::default(); BARRIERS] }
    }

    pub fn is_done(&self) -> bool {
        self.warps.iter().all(|w| w.groups.is_done())
    }

    /// Gives every warp its turn, round after round, until nothing moves or about `budget` warp
    /// instructions ran. Returns how many did; a failure comes with the number of its warp.
    pub fn run(&mut self, env: &mut Env<'_>, budget: u64) -> Result<u64, (u32, Failure)> {
        let mut total = 0;
        loop {
            let (mut round, mut busy) = (0, false);
            for at in 0..self.warps.len() {
                let warp = &mut self.warps[at];
                if warp.groups.is_done() {
                    continue;
                }
                let (ran, idle) =
                    run_warp(env, warp, &mut self.barriers).map_err(|f| (warp.index, f))?;
                round += ran;
                busy |= ran > 0 && !idle;
                if env.stop_at_hazard && !env.findings.is_empty() {
                    return Ok(total + round);
                }
                self.release();
                self.release_products();
            }
            total += round;
            // Warps that only look whether something has come leave the turn to others.
            if !busy || total >= budget {
                return Ok(total);
            }
        }
    }

    /// Opens the barriers at which all have arrived.
    fn release(&mut self) {
        for number in 0..BARRIERS as u8 {
            let barrier = &mut self.barriers[usize::from(number)];
            let (mut waiting, mut whole, mut live, mut latest) = (0, 0, 0, 0);
            let mut wanted = barrier.threads;
            for warp in &self.warps {
                live += warp.groups.live().count_ones();
                for group in warp.groups.list() {
                    if let State::Cta { barrier: b, threads } = group.state
                        && b == number
                    {
                        latest = latest.max(warp.clock.now);
                        waiting += group.mask.count_ones();
                        whole += counted(group.mask, warp.groups.live());
                        wanted = wanted.or(threads);
                    }
                }
            }
            let open = match wanted {
                Some(threads) => whole + barrier.arrived >= threads,
                None => waiting >= live,
            };
            if !open || waiting == 0 && barrier.arrived == 0 {
                continue;
            }
            let result = match barrier.kind {
                Some(BarrierKind::Popc) => barrier.holds,
                Some(BarrierKind::And) => u32::from(barrier.holds == barrier.lanes),
                _ => u32::from(barrier.holds != 0),
            };
            let reduces = barrier.kind.is_some();
            *barrier = Barrier::default();
            for warp in &mut self.warps {
                if reduces {
                    warp.reduction = result;
                }
                if warp.groups.release_cta(number) {
                    warp.clock.now = warp.clock.now.max(latest);
                }
            }
        }
    }

    /// Lets warps go on whose groups of matrix products all four warps have issued. Warps that
    /// ended wait for nothing.
    fn release_products(&mut self) {
        for four in self.warps.chunks_mut(WARPGROUP) {
            let mut issued = [u64::MAX; GROUPS];
            for warp in four.iter().filter(|w| !w.groups.is_done()) {
                for (all, own) in issued.iter_mut().zip(warp.products) {
                    *all = own.min(*all);
                }
            }
            for warp in four {
                warp.groups.release_products(&issued);
            }
        }
    }

    /// What the threads wait for, for a message.
    pub fn describe(&self) -> Vec<(u32, u32, State)> {
        self.warps
            .iter()
            .flat_map(|w| w.groups.list().iter().map(|g| (w.index, g.pc, g.state)))
            .collect()
    }
}

/// The threads that an arrival counts: all 32 when every lane that is left arrives, as the machine
/// counts warps.
fn counted(lanes: u32, live: u32) -> u32 {
    if lanes == live { LANES as u32 } else { lanes.count_ones() }
}

/// Runs a warp; says how many instructions, and whether it ended looking for something that has not
/// come.
fn run_warp(
    env: &mut Env<'_>,
    warp: &mut Warp,
    barriers: &mut [Barrier; BARRIERS],
) -> Result<(u64, bool), Failure> {
    let mut steps = 0;
    if warp.groups.wait_for_memory() {
        env.wake(warp)?;
    }
    while steps < WARP_SLICE {
        let Some(group) = warp.groups.ready() else {
            let give_up = !env.strict_regions && warp.groups.is_locked();
            if give_up && warp.groups.give_up(&mut warp.barriers, &mut warp.saved) {
                continue;
            }
            break;
        };
        let slice =
            if warp.groups.has_other_ready() { env.group_slice } else { WARP_SLICE - steps };
        let (stop, ran) = env.run_group(warp, group.pc, group.mask, slice)?;
        steps += ran;
        match stop {
            Stop::Changed | Stop::Barrier(None) => {}
            Stop::Hazard => break,
            Stop::Slice => warp.groups.rotate(),
            Stop::Idle => {
                warp.groups.rotate();
                if !warp.groups.has_other_ready() {
                    return Ok((steps, true));
                }
            }
            Stop::Barrier(Some(Arrival::Arrived { barrier, lanes, threads })) => {
                let b = &mut barriers[usize::from(barrier)];
                b.arrived += counted(lanes, warp.groups.live());
                b.threads = b.threads.or(threads);
            }
            Stop::Barrier(Some(Arrival::Predicate { barrier, kind, lanes, holds })) => {
                let b = &mut barriers[usize::from(barrier)];
                b.kind = Some(kind);
                b.lanes += lanes.count_ones();
                b.holds += holds.count_ones();
            }
        }
    }
    Ok((steps, false))
}
