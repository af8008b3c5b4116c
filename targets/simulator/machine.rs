//! A launch: CTAs in turn until all threads have ended.

use super::cta::Cta;
use super::error::{SimError, Site};
use super::exec::{Counts, Env, Failure, shared_region};
use super::image::{Constants, Image, Kernel, Launch, STACK_TOP};
use super::operand::LANES;
use super::prepare::Program;
use super::warp::Warp;
use crate::memory::{Memory, SHARED_RESERVED};
use crate::misuse::{Checks, Misuses, Written};
use std::collections::VecDeque;

/// CTAs that run at the same time: as many as the 132 SMs of an H100 hold at most. CTAs beyond start when others end.
const RESIDENT: usize = 132 * 32;

/// Warp instructions that a CTA runs before the next has its turn.
const CTA_SLICE: u64 = 1 << 16;

/// Bounds on a launch, and how its threads take turns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    pub warp_instructions: u64,
    /// Instructions that a group of lanes runs, with others of its warp ready, before the next has its turn; groups change only
    /// where a branch is taken. A program may not depend on it: 1 finds what a group breaks for others of its warp.
    pub group_slice: u64,
    /// Misuse to look for; what is found is in [`Finished::misuse`].
    pub checks: Checks,
}

impl Default for Limits {
    /// Some hours.
    fn default() -> Limits {
        Limits { warp_instructions: 100_000_000_000, group_slice: 256, checks: Checks::default() }
    }
}

/// What a launch that ran to its end gave.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Finished {
    pub counts: Counts,
    /// One line for each instruction that misused memory or a barrier.
    pub misuse: Vec<String>,
}

/// Runs a kernel to its end. Memory holds the buffers and the module's globals, and is changed in place.
pub fn run(
    image: &Image,
    kernel: &str,
    launch: &Launch,
    memory: &mut Memory,
    limits: Limits,
) -> Result<Finished, SimError> {
    let found = image.kernels.iter().find(|k| k.name == kernel);
    let kernel = found.ok_or_else(|| SimError::NoKernel(kernel.to_string()))?;
    let constants = Constants::new(image, kernel, launch);
    let program = Program::new(image, kernel, &constants);
    let misuse = Misuses::new(limits.checks);
    let machine = Machine {
        program: &program,
        constants: &constants,
        kernel,
        launch,
        memory,
        limits,
        misuse,
    };
    machine.run()
}

struct Machine<'a> {
    program: &'a Program,
    constants: &'a Constants,
    kernel: &'a Kernel,
    launch: &'a Launch,
    memory: &'a mut Memory,
    limits: Limits,
    misuse: Misuses,
}

impl Machine<'_> {
    fn run(mut self) -> Result<Finished, SimError> {
        let mut counts = Counts::default();
        let grid = self.launch.grid;
        let total: u64 = grid.iter().map(|n| u64::from(*n)).product();
        let mut started = 0;
        let mut running: VecDeque<Cta> = VecDeque::new();
        // CTAs in a row that could not move.
        let mut stuck = 0;
        loop {
            // A new CTA starts when the others have had their turns: most end in their first one.
            if started < total && running.len() < RESIDENT && (running.is_empty() || stuck > 0) {
                running.push_back(self.start(started));
                started += 1;
            }
            let Some(mut cta) = running.pop_front() else {
                let misuse = self.misuse.lines(|found| {
                    self.site(found.instruction, found.block, found.thread).to_string()
                });
                return Ok(Finished { counts, misuse });
            };
            let ran = self.turn(&mut cta, &mut counts)?;
            if counts.warp_instructions > self.limits.warp_instructions {
                return Err(SimError::TooLong(self.limits.warp_instructions));
            }
            if cta.is_done() {
                stuck = 0;
                continue;
            }
            stuck = if ran == 0 { stuck + 1 } else { 0 };
            running.push_back(cta);
            let full = started == total || running.len() >= RESIDENT;
            if stuck > running.len() && full {
                return Err(SimError::Deadlock(self.describe(&running)));
            }
            if ran > 0 && !full {
                running.push_back(self.start(started));
                started += 1;
            }
        }
    }

    fn turn(&mut self, cta: &mut Cta, counts: &mut Counts) -> Result<u64, SimError> {
        let mut env = Env {
            program: self.program,
            memory: self.memory,
            shared: std::mem::replace(&mut cta.shared, shared_region(SHARED_RESERVED, 0)),
            constants: self.constants,
            block: self.launch.block,
            cta: cta.id,
            local_bytes: self.kernel.local_bytes,
            group_slice: self.limits.group_slice,
            counts,
            misuse: &mut self.misuse,
        };
        let result = cta.run(&mut env, CTA_SLICE);
        cta.shared = env.shared;
        result.map_err(|(warp, failure)| self.locate(cta.id, warp, failure))
    }

    fn locate(&self, cta: [u32; 3], warp: u32, failure: Failure) -> SimError {
        let [x, y, _] = self.launch.block;
        let flat = warp * LANES as u32 + failure.lane as u32;
        let thread = [flat % x.max(1), flat / x.max(1) % y.max(1), flat / (x * y).max(1)];
        let site = Box::new(self.site(failure.pc, cta, thread));
        SimError::At { cause: failure.cause, site }
    }

    fn site(&self, pc: u32, cta: [u32; 3], thread: [u32; 3]) -> Site {
        let (function, offset, text) = self.program.locate(pc);
        Site { function, offset, text, cta, thread }
    }

    fn start(&self, index: u64) -> Cta {
        let [gx, gy, _] = self.launch.grid.map(u64::from);
        let id = [index % gx, index / gx % gy, index / (gx * gy)].map(|n| n as u32);
        let threads: u32 = self.launch.block.iter().product();
        let registers = self.program.registers;
        let local = self.kernel.local_bytes.min(STACK_TOP) as usize;
        let warps = (0..threads.div_ceil(LANES as u32))
            .map(|w| {
                let lanes = (threads - w * LANES as u32).min(LANES as u32);
                let mask = u32::MAX >> (LANES as u32 - lanes);
                let mut warp = Warp::new(w, registers, local, self.program.entry, mask);
                if self.limits.checks.uninitialised {
                    warp.local_written = Some(Box::new(Written::none(warp.local.len())));
                }
                warp
            })
            .collect();
        let bytes = self.kernel.shared_bytes.saturating_add(self.launch.dynamic_shared);
        let mut shared = shared_region(SHARED_RESERVED, bytes as usize);
        if self.limits.checks.uninitialised {
            shared.track_writes();
        }
        Cta::new(id, warps, shared)
    }

    /// Where the first threads wait.
    fn describe(&self, running: &VecDeque<Cta>) -> String {
        let mut lines = Vec::new();
        for cta in running {
            for (warp, pc, state) in cta.describe() {
                let (function, offset, text) = self.program.locate(pc);
                let [x, y, z] = cta.id;
                lines.push(format!(
                    "block ({x}, {y}, {z}) warp {warp} waits at {offset:#06x} of {function}: {text} ({state:?})"
                ));
            }
        }
        let more = lines.len().saturating_sub(4);
        lines.truncate(4);
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        lines.join("; ")
    }
}
