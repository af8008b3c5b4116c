//! Blocks: their warps, shared memory and barriers, and the turns that they take.

use std::collections::VecDeque;
use std::fmt::Write;

use orias_targets::memory::{Memory, Region};

use super::Limits;
use super::code::{BarrierKind, Code, LANES};
use super::error::{InterpretError, Stopped, Thread, describe};
use super::image::Image;
use super::warp::{State, Warp, bits};
use crate::launch::{Launch, Outcome};
use crate::ptx::program::Program;
use orias_targets::misuse::{Checks, Misuses};

/// Warp instructions of a warp's turn.
const WARP_TURN: u32 = 512;

/// Warp instructions of a block's turn.
const BLOCK_TURN: u64 = 200_000;

/// Threads in flight at most: those of an H100, 132 SMs with 2048 each.
const MAX_RESIDENT: u64 = 132 * 2048;

/// Barriers of a block, and that of its cluster.
pub const BARRIERS: usize = 17;

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
    pub code: &'a Code,
    pub memory: &'a mut Memory,
    pub shared: &'a mut Region,
    pub barriers: &'a mut [BarrierState; BARRIERS],
    pub thread_instructions: &'a mut u64,
    pub warp_instructions: &'a mut u64,
    pub misuse: &'a mut Misuses,
    /// Set when a barrier may have become complete.
    pub arrivals: bool,
}

struct Block {
    shared: Region,
    barriers: [BarrierState; BARRIERS],
    warps: Vec<Warp>,
}

enum Turn {
    Done,
    Unfinished,
    /// Every thread of the block waits for others.
    Stuck,
}

/// What the blocks of a launch add to.
struct Run {
    outcome: Outcome,
    misuse: Misuses,
    /// Warp instructions at most.
    most: u64,
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
    let mut run = Run {
        outcome: Outcome::default(),
        misuse: Misuses::new(limits.checks),
        most: limits.warp_instructions,
    };
    let total = launch.blocks();
    let most = (MAX_RESIDENT / u64::from(launch.threads().max(1))).max(1) as usize;
    let mut next = 0u64;
    let mut resident: VecDeque<Block> = VecDeque::new();
    let mut old_first = false;
    loop {
        // New blocks and old ones take turns, so that a block may wait for a later one.
        let admit = next < total && resident.len() < most && (resident.is_empty() || !old_first);
        old_first = !old_first;
        let mut block = if admit {
            next += 1;
            Block::new(next - 1, launch, &image, code, limits.checks)
        } else {
            match resident.pop_front() {
                Some(block) => block,
                None if next >= total => break,
                None => continue,
            }
        };
        match block.run(program, source, code, &mut image.memory, &mut run)? {
            Turn::Done => {}
            Turn::Unfinished => resident.push_back(block),
            Turn::Stuck => return Err(block.deadlock(program, source, code)),
        }
        if run.outcome.warp_instructions > limits.warp_instructions {
            return Err(InterpretError::TooLong(limits.warp_instructions));
        }
    }
    run.outcome.buffers = image.placed.collect(&mut image.memory);
    run.outcome.misuse = run.misuse.lines(|found| {
        let place = code.places[code.insts[found.instruction as usize].place as usize];
        let (instruction, line, function) = describe(program, source, place);
        let thread = Thread { block: found.block, thread: found.thread };
        format!("at `{instruction}`, line {line}, in `{function}`, {thread}")
    });
    Ok(run.outcome)
}

impl Block {
    fn new(index: u64, launch: &Launch, image: &Image, code: &Code, checks: Checks) -> Block {
        let [gx, gy, _] = launch.grid.map(u64::from);
        let id = [(index % gx) as u32, (index / gx % gy) as u32, (index / (gx * gy)) as u32];
        let [x, y, _] = launch.block;
        let thread = |t: u32| [t % x, t / x % y, t / (x * y)];
        let body = &code.bodies[image.entry.0 as usize];
        let threads = launch.threads();
        let warps = (0..threads.div_ceil(LANES as u32)).map(|warp| {
            let first = warp * LANES as u32;
            let threads = (first..threads.min(first + LANES as u32)).map(thread).collect();
            let entry = body.entry.unwrap_or(0);
            let mut warp = Warp::new(warp, id, threads, entry, body.rows, body.frame);
            if checks.uninitialised {
                warp.lanes.iter_mut().for_each(|lane| lane.local.track_writes());
            }
            warp
        });
        let mut shared = image.shared_region();
        if checks.uninitialised {
            shared.track_writes();
        }
        Block { shared, barriers: [BarrierState::default(); BARRIERS], warps: warps.collect() }
    }

    fn run(
        &mut self,
        program: &Program<'_>,
        source: &str,
        code: &Code,
        memory: &mut Memory,
        run: &mut Run,
    ) -> Result<Turn, InterpretError> {
        let Run { outcome, misuse, most } = run;
        let limit = most.saturating_sub(outcome.warp_instructions) + 1;
        let end = outcome.warp_instructions + BLOCK_TURN.min(limit);
        while outcome.warp_instructions < end {
            let before = outcome.warp_instructions;
            let mut released = false;
            for index in 0..self.warps.len() {
                let mut env = Env {
                    code,
                    memory,
                    shared: &mut self.shared,
                    barriers: &mut self.barriers,
                    thread_instructions: &mut outcome.thread_instructions,
                    warp_instructions: &mut outcome.warp_instructions,
                    misuse,
                    arrivals: false,
                };
                let warp = &mut self.warps[index];
                let result = warp.run(&mut env, WARP_TURN);
                let arrivals = env.arrivals;
                if let Err((pc, lane, error)) = result {
                    let thread = warp.lanes.get(lane).map_or([0; 3], |l| l.thread);
                    let place = code.places[code.insts[pc as usize].place as usize];
                    let (instruction, line, function) = describe(program, source, place);
                    let thread = Thread { block: warp.block, thread };
                    let stopped = Stopped { error, instruction, line, function, thread };
                    return Err(InterpretError::Stopped(Box::new(stopped)));
                }
                released |= arrivals && self.release();
            }
            if self.warps.iter().all(|warp| warp.live == 0) {
                return Ok(Turn::Done);
            }
            if outcome.warp_instructions == before && !released {
                return Ok(Turn::Stuck);
            }
        }
        Ok(Turn::Unfinished)
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

    fn deadlock(&self, program: &Program<'_>, source: &str, code: &Code) -> InterpretError {
        let mut waiting = String::new();
        for group in self.warps.iter().flat_map(|w| w.groups.iter().map(move |g| (w, g))) {
            let (warp, group) = group;
            let at_barrier = matches!(group.state, State::Barrier { .. });
            let pc = group.pc as usize - usize::from(at_barrier);
            let Some(inst) = code.insts.get(pc) else { continue };
            let (text, line, function) =
                describe(program, source, code.places[inst.place as usize]);
            let lane = bits(group.mask).next().unwrap_or(0);
            let thread = warp.lanes.get(lane).map_or([0; 3], |l| l.thread);
            let lanes = group.mask.count_ones();
            let first = Thread { block: warp.block, thread };
            let _ = writeln!(
                waiting,
                "  {lanes} threads from {first} on at `{text}`, line {line}, in `{function}`"
            );
        }
        InterpretError::Deadlock { waiting: waiting.trim_end().to_string() }
    }
}
