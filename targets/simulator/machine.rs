//! A launch: clusters of CTAs in turn until all threads have ended.

use super::address::RANK_SHIFT;
use super::cluster::Cluster;
use super::cta::Cta;
use super::error::{SimError, Site};
use super::exec::{Counts, Env, Failure, shared_region};
use super::flight::{Completion, Flight, Issuer};
use super::image::{Constants, Image, Kernel, Launch, STACK_TOP};
use super::operand::LANES;
use super::prepare::Program;
use super::system::System;
use super::timing::{Findings, Hazard, Placement, Ran, Watch, of_cta};
use super::warp::Warp;
use crate::latency::Latencies;
use crate::memory::{Memory, MemorySpace, REGION_ALIGN};
use crate::misuse::{Checks, Misuses, Written};
use std::collections::VecDeque;

/// CTAs that run at the same time: as many as the 132 SMs of an H100 hold at most. Those beyond
/// start when others end.
const RESIDENT: usize = 132 * 32;

/// Memory of these CTAs at most, where there are two clusters or more (bytes): registers, local and
/// shared memory.
const STATE: u64 = 2 << 30;

/// Warp instructions that a CTA runs before the next has its turn; of a cluster with several CTAs,
/// and one alone.
const CTA_SLICE: [u64; 2] = [1 << 12, 1 << 16];

/// Turns of a cluster after which its copies are done, waited for or not.
const PATIENCE: u64 = 1000;

/// How often in a row all waits at barriers in shared memory are cut off before it is a deadlock.
const MAX_EXPIRATIONS: u32 = 100;

/// What is done about registers that the control bits do not protect.
#[derive(Clone, Copy, Debug)]
pub enum Hazards {
    /// Nobody looks.
    Ignore,
    /// All are reported, by the target's latencies.
    Find,
    /// The same by other latencies; where `stop` says so, the first ends the run, with nothing said
    /// of memory.
    By {
        /// Cycles that results need.
        latencies: &'static Latencies,
        /// The first ends the run.
        stop: bool,
    },
}

/// Bounds on a launch, and how its threads take turns.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Warp instructions after which the run ends with [`SimError::TooLong`].
    pub warp_instructions: u64,
    /// Instructions that a group of lanes runs, with others of its warp ready, before the next has
    /// its turn; groups change only where a branch is taken. A program may not depend on it: 1
    /// finds what a group breaks for others of its warp.
    pub group_slice: u64,
    /// When copies that run by themselves are done. A program may not depend on it.
    pub completion: Completion,
    /// Misuse to look for; what is found is in [`Finished::misuse`].
    pub checks: Checks,
    /// Whether hazards are looked for.
    pub hazards: Hazards,
    /// A lane that waits at BSYNC waits for all lanes of its region, without end where they do not
    /// come: what our code is held to. Otherwise some are let go when no lane of the warp could go
    /// on, as ptxas's code seems to count on.
    pub strict_regions: bool,
}

impl Default for Limits {
    /// Some hours, and strict.
    fn default() -> Limits {
        Limits {
            warp_instructions: 100_000_000_000,
            group_slice: 256,
            checks: Checks::default(),
            hazards: Hazards::Ignore,
            completion: Completion::default(),
            strict_regions: true,
        }
    }
}

/// What a launch that ran to its end gave.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Finished {
    /// What the launch cost.
    pub counts: Counts,
    /// One line for each instruction that misused memory or a barrier.
    pub misuse: Vec<String>,
    /// In the order of the code.
    pub hazards: Vec<Hazard>,
    /// What ran, where hazards were looked for.
    pub ran: Vec<Ran>,
    /// Of what ran, what ptxas was never seen to emit on this SM: one line for each instruction.
    pub unseen: Vec<String>,
    /// What threads printed, in the order of their calls.
    pub printed: Vec<u8>,
}

/// Runs a kernel to its end. Memory holds the buffers and the module's globals, and is changed in
/// place.
pub fn run(
    image: &Image,
    kernel: &str,
    launch: &Launch,
    memory: &mut Memory,
    limits: Limits,
) -> Result<Finished, SimError> {
    let found = image.kernels.iter().find(|k| k.name == kernel);
    let kernel = found.ok_or_else(|| SimError::NoKernel(kernel.to_string()))?;
    // A parameter is aligned in memory as in the bank, in which the compiler has placed it.
    let lead = u64::from(kernel.param_base) % REGION_ALIGN;
    let bytes = [vec![0; lead as usize], launch.params.clone()].concat();
    let params = memory.map("parameters", MemorySpace::Param, bytes, false) + lead;
    let constants = Constants::new(image, kernel, launch, params);
    let program = Program::new(image, kernel, &constants);
    let misuse = Misuses::new(limits.checks);
    let latencies = match limits.hazards {
        Hazards::By { latencies, .. } => latencies,
        Hazards::Ignore | Hazards::Find => image.target.latencies(),
    };
    let mut machine = Machine {
        program: &program,
        constants: &constants,
        kernel,
        launch,
        memory,
        limits,
        misuse,
        latencies,
        findings: Findings::default(),
        cells: program.cells(),
        placement: Placement::new(kernel, launch),
        expirations: 0,
        system: System::default(),
    };
    let mut counts = machine.run()?;
    counts.cycles = machine.placement.cycles();
    let misuse = machine
        .misuse
        .lines(|found| machine.site(found.instruction, found.block, found.thread).to_string());
    let (hazards, ran) =
        (machine.findings.report(&program), machine.findings.all_that_ran(&program));
    let worked = ran.iter().filter(|r| r.lanes != 0);
    let unseen = worked.filter_map(|r| program.unseen(&r.function, r.offset)).collect();
    Ok(Finished { counts, misuse, hazards, ran, unseen, printed: machine.system.printed })
}

struct Machine<'a> {
    program: &'a Program,
    constants: &'a Constants,
    kernel: &'a Kernel,
    launch: &'a Launch,
    memory: &'a mut Memory,
    limits: Limits,
    misuse: Misuses,
    latencies: &'a Latencies,
    findings: Findings,
    /// Register cells of a warp.
    cells: usize,
    placement: Placement,
    /// How often in a row waits were cut off.
    expirations: u32,
    system: System,
}

impl Machine<'_> {
    fn run(&mut self) -> Result<Counts, SimError> {
        let mut counts = Counts::default();
        let mut started = 0;
        let mut running: VecDeque<Cluster> = VecDeque::new();
        let (size, grid) = (self.cluster_size(), self.clusters());
        let (total, resident): (u64, _) = (grid.iter().product(), (self.resident() / size).max(1));
        // Clusters in a row that could not move.
        let mut stuck = 0;
        loop {
            // A new cluster starts when the others have had their turns: most end in their first
            // one.
            if started < total && running.len() < resident && (running.is_empty() || stuck > 0) {
                running.push_back(self.start(started));
                started += 1;
            }
            let Some(mut cluster) = running.pop_front() else { return Ok(counts) };
            let ran = self.turn(&mut cluster, &mut counts)?;
            if counts.warp_instructions > self.limits.warp_instructions {
                return Err(SimError::TooLong(self.limits.warp_instructions));
            }
            if self.stops_at_hazard() && !self.findings.is_empty() {
                return Ok(counts);
            }
            if cluster.is_done() {
                for cta in &cluster.ctas {
                    self.placement.add(of_cta(cta.warps.iter().map(|w| (w.index, &w.clock))));
                }
                (stuck, self.expirations) = (0, 0);
                continue;
            }
            stuck = if ran == 0 { stuck + 1 } else { 0 };
            running.push_back(cluster);
            let full = started == total || running.len() >= resident;
            if stuck > running.len() && full {
                if !self.rescue(&mut running, &mut counts)? {
                    return Err(SimError::Deadlock(self.describe(&running)));
                }
                stuck = 0;
            }
            if ran > 0 && !full {
                running.push_back(self.start(started));
                started += 1;
            }
        }
    }

    fn stops_at_hazard(&self) -> bool {
        matches!(self.limits.hazards, Hazards::By { stop: true, .. })
    }

    /// CTAs that run at the same time, as far as their memory goes.
    fn resident(&self) -> usize {
        let threads: u64 = self.launch.block.iter().map(|n| u64::from(*n)).product();
        let thread = 4 * u64::from(self.kernel.registers) + u64::from(self.kernel.local_bytes);
        let shared = u64::from(self.kernel.shared_bytes) + u64::from(self.launch.dynamic_shared);
        let cta = threads.next_multiple_of(LANES as u64) * thread + shared;
        RESIDENT.min((STATE / cta.max(1)) as usize)
    }

    /// CTAs of a cluster.
    fn cluster_size(&self) -> usize {
        self.launch.cluster.unwrap_or([1; 3]).iter().product::<u32>().max(1) as usize
    }

    /// Clusters of the grid.
    fn clusters(&self) -> [u64; 3] {
        let shape = self.launch.cluster.unwrap_or([1; 3]);
        std::array::from_fn(|i| u64::from(self.launch.grid[i] / shape[i].max(1)))
    }

    /// Gives every CTA of a cluster its turn; instructions that ran, or one where the cluster's
    /// barrier opened.
    fn turn(&mut self, cluster: &mut Cluster, counts: &mut Counts) -> Result<u64, SimError> {
        let alone = cluster.ctas.len() == 1;
        let mut ran = 0;
        for rank in 0..cluster.ctas.len() {
            let result = self.with(cluster, rank, counts, |cta, env| {
                cta.run(env, CTA_SLICE[usize::from(alone)])
            });
            let cta = cluster.ctas[rank].id;
            ran += result.map_err(|(warp, failure)| self.locate(cta, warp, failure))?;
        }
        cluster.flight.turns = if cluster.flight.is_empty() { 0 } else { cluster.flight.turns + 1 };
        if cluster.flight.turns > PATIENCE || cluster.is_done() {
            self.land(cluster, counts)?;
        }
        if std::mem::take(&mut cluster.flight.woken) {
            self.expirations = 0;
        }
        Ok(ran.max(u64::from(cluster.release())))
    }

    /// Does all that a cluster has under way; says whether there was something.
    fn land(&mut self, cluster: &mut Cluster, counts: &mut Counts) -> Result<bool, SimError> {
        let all = cluster.flight.take_all();
        cluster.flight.turns = 0;
        let any = !all.is_empty();
        for transfer in all {
            let Issuer { rank, warp, pc, .. } = transfer.issuer;
            let rank = rank as usize;
            let done = self.with(cluster, rank, counts, |_, env| env.finish(vec![transfer]));
            let cta = cluster.ctas[rank].id;
            done.map_err(|(cause, lane)| self.locate(cta, warp, Failure { cause, lane, pc }))?;
        }
        Ok(any)
    }

    /// When nothing can go on: does what is under way, or cuts off the waits at barriers in shared
    /// memory, which may end at any time, or lets lanes of one warp go that wait at BSYNC. Says
    /// whether something can go on then.
    fn rescue(
        &mut self,
        running: &mut VecDeque<Cluster>,
        counts: &mut Counts,
    ) -> Result<bool, SimError> {
        let mut any = false;
        for cluster in running.iter_mut() {
            any |= self.land(cluster, counts)?;
        }
        if any {
            return Ok(true);
        }
        self.expirations += 1;
        if self.expirations <= MAX_EXPIRATIONS {
            for cluster in running.iter_mut() {
                any |= cluster.expire();
            }
        }
        if !any && !self.limits.strict_regions {
            any = running.iter_mut().any(Cluster::give_up);
            self.expirations = 0;
        }
        Ok(any)
    }

    /// Does something as a CTA of a cluster.
    fn with<R>(
        &mut self,
        cluster: &mut Cluster,
        rank: usize,
        counts: &mut Counts,
        work: impl FnOnce(&mut Cta, &mut Env<'_>) -> R,
    ) -> R {
        let alone = cluster.ctas.len() == 1;
        let nothing = || shared_region(0, 0);
        let take = |cta: &mut Cta| std::mem::replace(&mut cta.shared, nothing());
        let mut peers: Vec<_> =
            if alone { Vec::new() } else { cluster.ctas.iter_mut().map(take).collect() };
        let cta = &mut cluster.ctas[rank];
        let shared = match peers.get_mut(rank) {
            Some(own) => std::mem::replace(own, nothing()),
            None => take(cta),
        };
        let stop_at_hazard = self.stops_at_hazard();
        let mut env = Env {
            program: self.program,
            memory: self.memory,
            shared,
            constants: self.constants,
            block: self.launch.block,
            cta: cta.id,
            rank: rank as u32,
            peers,
            flight: &mut cluster.flight,
            completion: self.limits.completion,
            local_bytes: self.kernel.local_bytes,
            group_slice: self.limits.group_slice,
            strict_regions: self.limits.strict_regions,
            started: cta.started,
            counts,
            system: &mut self.system,
            misuse: &mut self.misuse,
            latencies: self.latencies,
            findings: &mut self.findings,
            stop_at_hazard,
        };
        let result = work(cta, &mut env);
        let (shared, peers) = (env.shared, env.peers);
        for (cta, shared) in cluster.ctas.iter_mut().zip(peers) {
            cta.shared = shared;
        }
        cluster.ctas[rank].shared = shared;
        result
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

    fn start(&self, index: u64) -> Cluster {
        let [nx, ny, _] = self.clusters();
        let [x, y, z] = [index % nx, index / nx % ny, index / (nx * ny)].map(|n| n as u32);
        let [sx, sy, sz] = self.launch.cluster.unwrap_or([1; 3]);
        let ctas = (0..self.cluster_size() as u32).map(|rank| {
            let place = [rank % sx, rank / sx % sy, rank / (sx * sy)];
            self.start_cta([x * sx + place[0], y * sy + place[1], z * sz + place[2]], rank)
        });
        Cluster { ctas: ctas.collect(), flight: Flight::default() }
    }

    fn start_cta(&self, id: [u32; 3], rank: u32) -> Cta {
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
                if !matches!(self.limits.hazards, Hazards::Ignore) {
                    warp.watch = Some(Box::new(Watch::new(self.cells)));
                }
                warp
            })
            .collect();
        let bytes = self.kernel.shared_bytes.saturating_add(self.launch.dynamic_shared);
        let base = (u64::from(rank) << RANK_SHIFT) + self.program.shared_reserved();
        let mut shared = shared_region(base, bytes as usize);
        if self.limits.checks.uninitialised {
            shared.track_writes();
        }
        Cta::new(id, self.placement.start(), warps, shared)
    }

    /// Where the first threads wait.
    fn describe(&self, running: &VecDeque<Cluster>) -> String {
        let mut lines = Vec::new();
        for cta in running.iter().flat_map(|cluster| &cluster.ctas) {
            for (warp, pc, state) in cta.describe() {
                let (function, offset, text) = self.program.locate(pc);
                let [x, y, z] = cta.id;
                let what = Cluster::describe(cta, state);
                lines.push(format!(
                    "block ({x}, {y}, {z}) warp {warp} waits at {offset:#06x} of {function}: {text} ({what})"
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
