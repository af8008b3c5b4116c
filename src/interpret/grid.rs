//! Clusters of blocks: their warps, shared memory and barriers, and the slices of time in which
//! they run.

use super::code::Code;
use super::env::{BARRIERS, BarrierState, Env};
use super::error::{InterpretError, Stopped, Thread, describe};
use super::heap::Heap;
use super::image::Image;
use super::limits::Limits;
use super::operand::{BarrierKind, LANES};
use super::warp::{BlockPlace, State, Warp, bits};
use crate::launch::{Launch, Outcome};
use crate::ptx::program::Program;
use orias_targets::memory::{Memory, Region};
use orias_targets::misuse::{Checks, Misuses};
use std::collections::VecDeque;
use std::fmt::Write;

/// Warp instructions of a warp's time slice.
const WARP_SLICE: u32 = 512;

/// Warp instructions of a cluster's time slice.
const CLUSTER_SLICE: u64 = 200_000;

/// Threads in flight at most: those of an H100, 132 SMs with 2048 each.
const MAX_RESIDENT: u64 = 132 * 2048;

/// Memory of the blocks in flight at most, where there are two clusters or more (bytes): registers,
/// local and shared memory.
const MAX_STATE: u64 = 2 << 30;

/// Blocks that run together.
struct Cluster {
    /// By rank.
    shared: Vec<Region>,
    blocks: Vec<Block>,
    /// Phases of its barrier that are complete.
    phase: u64,
}

struct Block {
    barriers: [BarrierState; BARRIERS],
    warps: Vec<Warp>,
}

enum Progress {
    Done,
    Unfinished,
    /// Every thread of the cluster waits for others.
    Stuck,
}

/// What all clusters share.
struct Device<'a> {
    limits: Limits,
    misuse: Misuses,
    program: &'a Program<'a>,
    source: &'a str,
    code: &'a Code,
    memory: Memory,
    heap: Heap,
    outcome: Outcome,
    /// Threads by instruction, where they are counted.
    reached: Vec<u64>,
}

/// Runs all blocks of a launch.
pub fn run(
    program: &Program<'_>,
    source: &str,
    launch: &Launch,
    mut image: Image,
    code: &Code,
    limits: Limits,
) -> Result<Outcome, InterpretError> {
    let memory = std::mem::take(&mut image.memory);
    let (heap, outcome) = (Heap::default(), Outcome::default());
    let misuse = Misuses::new(limits.checks);
    let reached = vec![0; if limits.counts { code.insts.len() } else { 0 }];
    let mut device =
        Device { program, source, code, memory, heap, outcome, misuse, limits, reached };
    let of_cluster = u64::from(image.clusters.blocks());
    let total = image.clusters.grid.iter().map(|n| u64::from(*n)).product::<u64>() / of_cluster;
    let threads = u64::from(launch.threads().max(1)) * of_cluster;
    let body = &code.bodies[image.entry.0 as usize];
    let thread = u64::from(body.rows) * 8 + body.frame;
    let cluster = (threads * thread + of_cluster * image.shared).max(1);
    let most = (MAX_RESIDENT / threads).min(MAX_STATE / cluster).max(1) as usize;
    let mut next = 0u64;
    let mut resident: VecDeque<Cluster> = VecDeque::new();
    let mut old_first = false;
    loop {
        // New clusters and old ones run in slices, so that a block may wait for a later one.
        let admit = next < total && resident.len() < most && (resident.is_empty() || !old_first);
        old_first = !old_first;
        let mut cluster = if admit {
            next += 1;
            Cluster::new(next - 1, launch, &image, code, limits.checks)
        } else {
            match resident.pop_front() {
                Some(cluster) => cluster,
                None if next >= total => break,
                None => continue,
            }
        };
        match cluster.run(&mut device)? {
            Progress::Done => {}
            Progress::Unfinished => resident.push_back(cluster),
            Progress::Stuck => return Err(cluster.deadlock(&device)),
        }
        if device.outcome.warp_instructions > limits.warp_instructions {
            return Err(InterpretError::TooLong(limits.warp_instructions));
        }
    }
    let mut outcome = device.outcome;
    outcome.buffers = image.placed.collect(&mut device.memory);
    for (inst, count) in code.insts.iter().zip(&device.reached) {
        let of_place = outcome.reached.entry(code.places[inst.place as usize].start).or_default();
        *of_place = (*of_place).max(*count);
    }
    outcome.misuse = device.misuse.lines(|found| {
        let place = code.places[code.insts[found.instruction as usize].place as usize];
        let (instruction, line, function) = describe(program, source, place);
        let thread = Thread { block: found.block, thread: found.thread };
        format!("at `{instruction}`, line {line}, in `{function}`, {thread}")
    });
    Ok(outcome)
}

/// The place of number `index` in a box of this size, x first.
fn unroll(index: u64, [x, y, _]: [u32; 3]) -> [u32; 3] {
    let [x, y] = [x, y].map(u64::from);
    [(index % x) as u32, (index / x % y) as u32, (index / (x * y)) as u32]
}

impl Cluster {
    fn new(index: u64, launch: &Launch, image: &Image, code: &Code, checks: Checks) -> Cluster {
        let shape = image.clusters.shape;
        let of_each = |axis: usize| image.clusters.grid[axis] / shape[axis];
        let cluster = unroll(index, [of_each(0), of_each(1), of_each(2)]);
        let blocks = (0..image.clusters.blocks()).map(|rank| {
            let in_cluster = unroll(rank.into(), shape);
            let id = [0, 1, 2].map(|axis| cluster[axis] * shape[axis] + in_cluster[axis]);
            Block::new(BlockPlace { id, cluster, in_cluster, rank }, launch, image, code, checks)
        });
        let blocks: Vec<Block> = blocks.collect();
        let shared = blocks.iter().map(|_| {
            let mut shared = image.shared_region();
            if checks.uninitialised {
                shared.track_writes();
            }
            shared
        });
        Cluster { shared: shared.collect(), blocks, phase: 0 }
    }

    fn run(&mut self, device: &mut Device<'_>) -> Result<Progress, InterpretError> {
        let done = device.outcome.warp_instructions;
        let limit = device.limits.warp_instructions.saturating_sub(done) + 1;
        let end = done + CLUSTER_SLICE.min(limit);
        while device.outcome.warp_instructions < end {
            let before = device.outcome.warp_instructions;
            let mut released = false;
            for rank in 0..self.blocks.len() {
                released |= self.round(device, rank)?;
            }
            if self.blocks.iter().all(|block| block.warps.iter().all(|warp| warp.live == 0)) {
                return Ok(Progress::Done);
            }
            if device.outcome.warp_instructions == before && !released {
                return Ok(Progress::Stuck);
            }
        }
        Ok(Progress::Unfinished)
    }

    /// A time slice for each warp of a block; true if a barrier became complete.
    fn round(&mut self, device: &mut Device<'_>, rank: usize) -> Result<bool, InterpretError> {
        let mut released = false;
        for index in 0..self.blocks[rank].warps.len() {
            let Block { barriers, warps } = &mut self.blocks[rank];
            let mut env = Env {
                memory: &mut device.memory,
                heap: &mut device.heap,
                shared: &mut self.shared,
                rank,
                barriers,
                cluster_phase: self.phase,
                printed: &mut device.outcome.printed,
                thread_instructions: &mut device.outcome.thread_instructions,
                warp_instructions: &mut device.outcome.warp_instructions,
                reached: &mut device.reached,
                misuse: &mut device.misuse,
                arrivals: false,
            };
            let warp = &mut warps[index];
            let result = warp.run(device.code, &mut env, WARP_SLICE);
            let arrivals = env.arrivals;
            if let Err((pc, lane, error)) = result {
                let thread = warp.lanes.get(lane).map_or([0; 3], |l| l.thread);
                let place = device.code.places[device.code.insts[pc as usize].place as usize];
                let (instruction, line, function) = describe(device.program, device.source, place);
                let thread = Thread { block: warp.block.id, thread };
                let stopped = Stopped { error, instruction, line, function, thread };
                return Err(InterpretError::Stopped(Box::new(stopped)));
            }
            if arrivals {
                released |= self.blocks[rank].release();
                released |= self.blocks[rank].release_products();
                released |= self.release();
            }
        }
        Ok(released)
    }

    /// Ends the phase of the cluster's barrier when all threads that have not exited have arrived.
    fn release(&mut self) -> bool {
        let mut warps = self.blocks.iter().flat_map(|block| &block.warps);
        let any = warps.clone().any(|warp| warp.cluster_arrived != 0);
        if !any || !warps.all(|warp| warp.live & !warp.cluster_arrived == 0) {
            return false;
        }
        self.phase += 1;
        for warp in self.blocks.iter_mut().flat_map(|block| &mut block.warps) {
            warp.cluster_arrived = 0;
            for group in &mut warp.groups {
                if matches!(group.state, State::Cluster) {
                    group.state = State::Ready;
                }
            }
        }
        true
    }

    fn deadlock(&self, device: &Device<'_>) -> InterpretError {
        let mut waiting = String::new();
        let warps = self.blocks.iter().flat_map(|block| &block.warps);
        for (warp, group) in warps.flat_map(|w| w.groups.iter().map(move |g| (w, g))) {
            let behind =
                matches!(group.state, State::Barrier { .. } | State::Cluster | State::Products(_));
            let pc = group.pc as usize - usize::from(behind);
            let Some(inst) = device.code.insts.get(pc) else { continue };
            let place = device.code.places[inst.place as usize];
            let (text, line, function) = describe(device.program, device.source, place);
            let lane = bits(group.mask).next().unwrap_or(0);
            let thread = warp.lanes.get(lane).map_or([0; 3], |l| l.thread);
            let lanes = group.mask.count_ones();
            let first = Thread { block: warp.block.id, thread };
            let _ = writeln!(
                waiting,
                "  {lanes} threads from {first} on at `{text}`, line {line}, in `{function}`"
            );
        }
        InterpretError::Deadlock { waiting: waiting.trim_end().to_string() }
    }
}

impl Block {
    fn new(
        place: BlockPlace,
        launch: &Launch,
        image: &Image,
        code: &Code,
        checks: Checks,
    ) -> Block {
        let thread = |t: u32| unroll(t.into(), launch.block);
        let body = &code.bodies[image.entry.0 as usize];
        let threads = launch.threads();
        let warps = (0..threads.div_ceil(LANES as u32)).map(|warp| {
            let first = warp * LANES as u32;
            let threads = (first..threads.min(first + LANES as u32)).map(thread).collect();
            let entry = body.entry.unwrap_or(0);
            let mut warp = Warp::new(warp, place, threads, entry, body.rows, body.frame);
            if checks.uninitialised {
                warp.lanes.iter_mut().for_each(|lane| lane.local.track_writes());
            }
            warp
        });
        Block { barriers: [BarrierState::default(); BARRIERS], warps: warps.collect() }
    }

    /// Lets go the warps whose groups of four have done all of the products that they wait for:
    /// what the warp does next, such as filling the matrices' memory again, must not change the
    /// others' results.
    fn release_products(&mut self) -> bool {
        let mut any = false;
        for four in self.warps.chunks_mut(4) {
            let done = four.iter().filter(|w| w.live != 0).map(|w| w.products.done).min();
            for group in four.iter_mut().flat_map(|warp| &mut warp.groups) {
                if let State::Products(needed) = group.state
                    && done.is_none_or(|done| done >= needed)
                {
                    group.state = State::Ready;
                    any = true;
                }
            }
        }
        any
    }

    /// Lets go who waits at complete barriers; true if there was one.
    fn release(&mut self) -> bool {
        let live: u32 = self.warps.iter().map(|warp| warp.live.count_ones()).sum();
        let mut any = false;
        for (id, barrier) in self.barriers.iter_mut().enumerate() {
            if barrier.arrived == 0 || barrier.arrived < barrier.expected.unwrap_or(live) {
                continue;
            }
            any = true;
            let state = std::mem::take(barrier);
            for warp in &mut self.warps {
                for g in 0..warp.groups.len() {
                    let group = warp.groups[g];
                    let State::Barrier { id: at, kind, dst } = group.state else { continue };
                    if at != id {
                        continue;
                    }
                    let value = match kind {
                        BarrierKind::Popc => state.trues.into(),
                        BarrierKind::And => u64::from(state.trues == state.votes),
                        BarrierKind::Or => u64::from(state.trues != 0),
                        BarrierKind::Sync | BarrierKind::Arrive => 0,
                    };
                    if !matches!(kind, BarrierKind::Sync) {
                        warp.write(dst, group.base, group.mask, &[value; LANES]);
                    }
                    warp.groups[g].state = State::Ready;
                }
            }
        }
        any
    }
}
