//! Runs prepared instructions for the lanes of one group.

mod asynchronous;
mod atomic;
mod barriers;
mod env;
mod matrix;
mod memory;
mod system;
mod warp;

pub use env::{Arrival, Counts, Env, Failure, LaneFault, Stop};
pub use memory::shared_region;

use super::error::Cause;
use super::groups::State;
use super::image::{CODE_BASE, STACK_TOP};
use super::kinds::Combine;
use super::op::{BarrierKind, Bits, LaneOp, Micro, Op, Special, Threads, Truth};
use super::operand::*;
use super::prepare::WORD;
use super::system::SystemCall;
use super::timing::{Check, Watch};
use super::warp::Warp;
use crate::memory::MemorySpace;
use crate::misuse::{Missed, Misuse};
use env::{Flow, first};

/// Warps that an SM of sm_90 holds (CUDA C++ Programming Guide, "Compute Capabilities").
const MAX_WARPS: u64 = 64;

impl Env<'_> {
    /// Runs the warp's current group, about `slice` instructions (it stops at the next taken
    /// branch), and says why it stopped.
    pub fn run_group(
        &mut self,
        warp: &mut Warp,
        pc: u32,
        mask: u32,
        slice: u64,
    ) -> Result<(Stop, u64), Failure> {
        let Some(mut watch) = warp.watch.take() else {
            return self.run_lanes(warp, pc, mask, slice, None);
        };
        watch.enter(mask, u64::from(self.latencies.longest()));
        let result = self.run_lanes(warp, pc, mask, slice, Some(&mut watch));
        watch.leave(mask);
        warp.watch = Some(watch);
        result
    }

    fn run_lanes(
        &mut self,
        warp: &mut Warp,
        mut pc: u32,
        mask: u32,
        slice: u64,
        mut watch: Option<&mut Watch>,
    ) -> Result<(Stop, u64), Failure> {
        let program = self.program;
        let mut steps = 0;
        loop {
            let Some(micro) = program.code.get(pc as usize) else {
                let cause = Cause::Jump(CODE_BASE.wrapping_add(u64::from(pc) * WORD));
                return Err(Failure { cause, lane: first(mask), pc });
            };
            let active = mask & warp.pred(micro.guard);
            steps += 1;
            self.counts.warp_instructions += 1;
            self.counts.thread_instructions += u64::from(active.count_ones());
            self.shared.reads_as(first(active));
            if let Some(watch) = &mut watch {
                let findings = &mut *self.findings;
                let mut check =
                    Check { code: &program.timing, latencies: self.latencies, findings };
                watch.issue(&mut check, pc, mask, active);
                if self.stop_at_hazard && !self.findings.is_empty() {
                    return Ok((Stop::Hazard, steps));
                }
            }
            // As long as `code`.
            warp.clock.issue(&program.timing[pc as usize]);
            let flow = self.step(warp, micro, pc, mask, active);
            let flow = flow.map_err(|(cause, lane)| Failure { cause, lane, pc })?;
            if self.misuse.checks.uninitialised {
                self.note_unwritten(warp, pc);
            }
            match flow {
                Flow::Next => pc += 1,
                Flow::Jump(target) => {
                    pc = target;
                    if steps >= slice {
                        warp.groups.set_pc(pc);
                        return Ok((Stop::Slice, steps));
                    }
                }
                Flow::Stop(stop) => return Ok((stop, steps)),
            }
        }
    }

    /// Reports the reads of unwritten memory that an instruction did.
    #[cold]
    fn note_unwritten(&mut self, warp: &Warp, pc: u32) {
        let regions = std::iter::once(&self.shared).chain(&self.peers);
        for (lane, misuse) in regions.filter_map(|r| r.take_unwritten()) {
            self.misuse.add(pc, misuse, self.cta, self.thread(warp.index, lane));
        }
        let local = warp.local_written.as_ref().and_then(|w| w.take());
        if let Some(Missed { at, bytes, .. }) = local.filter(|_| self.local_bytes > 0) {
            let size = self.local_bytes as usize;
            let address = (u64::from(STACK_TOP) - size as u64) + (at % size) as u64;
            let misuse = Misuse::Uninitialised { space: MemorySpace::Local, address, bytes };
            self.misuse.add(pc, misuse, self.cta, self.thread(warp.index, at / size));
        }
    }

    /// One instruction. Where it stops the group, the group's place is set already.
    fn step(
        &mut self,
        warp: &mut Warp,
        micro: &Micro,
        pc: u32,
        mask: u32,
        active: u32,
    ) -> Result<Flow, LaneFault> {
        if active == 0 {
            return Ok(Flow::Next);
        }
        match &micro.op {
            Op::Lane(op) => {
                let lanes = if micro.uniform { active & active.wrapping_neg() } else { active };
                lane_op(warp, op, lanes);
            }
            Op::Nop => {}
            Op::Load(op) => self.load(warp, op, active)?,
            Op::Store(op) => self.store(warp, op, active)?,
            Op::Atomic(op) => self.atomic(warp, op, active)?,
            Op::LoadConst { bank, base, offset, bytes, signed, dst } => {
                self.load_const(warp, (*bank, *offset), base, (*bytes, *signed), *dst, active)?;
            }
            Op::Special { which, dst, wide } => self.special(warp, *which, *dst, *wide, active),
            Op::PredLogic { dst, src, tables } => pred_logic(warp, dst, src, tables, active),
            Op::Shuffle { mode, dst, inside, src } => {
                warp::shuffle(warp, *mode, *dst, *inside, src, active);
            }
            Op::Vote { mode, dst, holds, pred } => {
                warp::vote(warp, *mode, *dst, *holds, *pred, active);
            }
            Op::Match { all, dst, holds, src } => {
                warp::matching(warp, *all, *dst, *holds, src, active);
            }
            Op::BarrierResult { dst, holds } => {
                warp.write(*dst, false, active, &[u64::from(warp.reduction); LANES]);
                warp.set_pred(*holds, active, if warp.reduction != 0 { !0 } else { 0 });
            }
            Op::Elect { holds, dst, pred } => {
                let lanes = active & warp.pred(*pred);
                let leader = lanes & lanes.wrapping_neg();
                warp.write(*dst, false, active, &[first(lanes) as u64; LANES]);
                warp.set_pred(*holds, active, leader);
            }
            Op::QuerySpace { holds, address, offset, space, own } => {
                self.query_space(warp, *holds, (address, *offset), (*space, *own), active);
            }
            Op::Reduce { kind, dst, src } => warp::reduce(warp, *kind, *dst, src, active),
            Op::PredToReg { uniform, dst, src, byte } => {
                warp::pred_to_reg(warp, *uniform, *dst, src, *byte, active);
            }
            Op::RegToPred { uniform, src, byte } => {
                warp::reg_to_pred(warp, *uniform, src, *byte, active);
            }
            Op::ToUniform { dst, src, differs, or } => {
                warp::to_uniform(warp, *dst, src, (*differs, *or), active);
            }
            Op::ToReturn { high, src } => {
                let values = warp.read32(src);
                each_lane(active, |lane| warp.returns[usize::from(*high)][lane] = values[lane]);
            }
            Op::FromReturn { high, dst } => {
                let values = warp.returns[usize::from(*high)].map(u64::from);
                warp.write(*dst, false, active, &values);
            }
            Op::CodeAddress { dst, address } => {
                warp.write(*dst, true, active, &[*address; LANES]);
            }
            Op::GetBarrier { barrier, dst, clear } => {
                let b = usize::from(*barrier);
                let values = warp.barriers[b].map(u64::from);
                warp.write(*dst, false, active, &values);
                if *clear {
                    warp.saved.save(*barrier, active, &warp.barriers[b]);
                    each_lane(active, |lane| warp.barriers[b][lane] = 0);
                }
            }
            Op::SetBarrier { barrier, src } => {
                let values = warp.read32(src);
                let b = usize::from(*barrier);
                each_lane(active, |lane| {
                    warp.barriers[b][lane] = warp.saved.restore(*barrier, lane, values[lane]);
                });
            }
            Op::Bssy { barrier, pred, end } => {
                let lanes = active & warp.pred(*pred);
                let masks = &mut warp.barriers[usize::from(*barrier)];
                warp.groups.enter(*barrier, lanes, *end, masks);
                warp.groups.settle(&mut warp.barriers);
                // What settled may be another group: this one goes on.
                warp.groups.select(mask);
            }
            Op::Break { barrier, pred } => {
                let lanes = active & warp.pred(*pred);
                warp.saved.leave(*barrier, lanes, &mut warp.barriers);
                warp.groups.settle(&mut warp.barriers);
                // What settled may be another group: this one goes on.
                warp.groups.select(mask);
            }
            Op::Trap => return Err((Cause::Trap, first(active))),
            Op::Invalid(cause) => return Err(((**cause).clone(), first(active))),
            _ => return self.control(warp, micro, pc, mask, active),
        }
        Ok(Flow::Next)
    }

    fn control(
        &mut self,
        warp: &mut Warp,
        micro: &Micro,
        pc: u32,
        mask: u32,
        active: u32,
    ) -> Result<Flow, LaneFault> {
        let next = pc + 1;
        match &micro.op {
            Op::Branch { taken, uniform, target } => {
                let taken = active & warp.pred(*taken) & warp.pred(*uniform);
                Ok(branch(warp, taken, mask, *target, next))
            }
            Op::BranchAny { taken, target } => {
                let any = active & warp.pred(*taken) != 0;
                Ok(if any { Flow::Jump(*target) } else { Flow::Next })
            }
            Op::BranchDivergent { mask: want, target }
            | Op::BranchConverged { mask: want, target } => {
                let want = warp.read32(want)[first(active)] & warp.groups.live();
                let diverged = want != active;
                let taken = diverged == matches!(micro.op, Op::BranchDivergent { .. });
                // All lanes go: ptxas has `@!P1 BRA.DIV`, P1 where the lane's mask is not the first
                // lane's, before a vote of one mask.
                Ok(branch(warp, if taken { mask } else { 0 }, mask, *target, next))
            }
            Op::Jump(jump) => {
                let active = active & warp.pred(jump.pred);
                if active == 0 {
                    return Ok(Flow::Next);
                }
                let mut values = [0; LANES];
                warp.read(&jump.register, &mut values);
                let mut targets = [0; LANES];
                for lane in 0..LANES {
                    if active >> lane & 1 != 0 {
                        let address = jump.base.wrapping_add(values[lane]);
                        let address = match SystemCall::at(address) {
                            Some(call) => {
                                let registers = self.program.registers;
                                system::call(self, warp, call, registers, lane)?
                            }
                            None => address,
                        };
                        targets[lane] = self.code_index(address, lane)?;
                    }
                }
                let target = targets[first(active)];
                let mut together = active == mask;
                each_lane(active, |lane| together &= targets[lane] == target);
                if together {
                    return Ok(Flow::Jump(target));
                }
                warp.groups.branch_each(active, &targets, next);
                Ok(Flow::Stop(Stop::Changed))
            }
            Op::Exit { pred } => {
                let lanes = active & warp.pred(*pred);
                if lanes == 0 {
                    return Ok(Flow::Next);
                }
                warp.groups.exit(lanes, next, &mut warp.barriers);
                Ok(Flow::Stop(Stop::Changed))
            }
            Op::Bsync { barrier, pred } => {
                let lanes = active & warp.pred(*pred);
                Ok(self.wait(warp, lanes, pc, State::Sync(*barrier)))
            }
            Op::WarpSync { mask: want } => {
                let want = warp.read32(want);
                each_lane(active, |lane| warp.groups.want(lane, want[lane], 0));
                Ok(self.wait(warp, active, pc, State::WarpSync))
            }
            Op::WarpSyncExclusive { mask: want } => {
                let want = warp.read32(want);
                each_lane(active, |lane| warp.groups.want(lane, want[lane], pc + 1));
                Ok(self.wait(warp, active, pc, State::Collective))
            }
            Op::Collective { mask: want, resume } => {
                let want = warp.read32(want);
                each_lane(active, |lane| warp.groups.want(lane, want[lane], *resume));
                Ok(self.wait(warp, active, pc, State::Collective))
            }
            Op::EndCollective => {
                warp.groups.set_pc(pc);
                warp.groups.end_collective();
                Ok(Flow::Stop(Stop::Changed))
            }
            Op::Yield { release } => {
                warp.groups.set_pc(next);
                if *release {
                    warp.groups.let_go(active, &mut warp.barriers, &mut warp.saved);
                }
                Ok(Flow::Stop(Stop::Idle))
            }
            Op::Async(op) => self.asynchronous(warp, op, pc, mask, active),
            Op::ClusterBarrier { wait } => cluster_barrier(warp, pc, active, *wait),
            Op::Barrier { kind, barrier, threads, pred } => {
                self.cta_barrier(warp, pc, active, (*kind, barrier, *threads, *pred))
            }
            Op::Matrix(op) => self.matrix(warp, op, pc, active),
            _ => Err((Cause::Other("an instruction without meaning".into()), first(active))),
        }
    }

    /// Lanes begin to wait, and perhaps end it for themselves and others.
    fn wait(&mut self, warp: &mut Warp, lanes: u32, pc: u32, state: State) -> Flow {
        if lanes == 0 {
            return Flow::Next;
        }
        warp.groups.wait(lanes, pc, pc + 1, state);
        warp.groups.settle(&mut warp.barriers);
        Flow::Stop(Stop::Changed)
    }

    fn cta_barrier(
        &mut self,
        warp: &mut Warp,
        pc: u32,
        active: u32,
        (kind, barrier, threads, pred): (BarrierKind, &Src, Threads, PredSrc),
    ) -> Result<Flow, LaneFault> {
        let lane = first(active);
        let value = warp.read32(barrier)[lane];
        let (barrier, threads) = match threads {
            Threads::All => (value, None),
            Threads::Count(count) => (value, Some(warp.read32(&count)[lane])),
            // Zero is all threads.
            Threads::Packed => (value & 15, Some(value >> 16).filter(|n| *n != 0)),
        };
        let barrier = u8::try_from(barrier).ok().filter(|b| *b < 16);
        let barrier =
            barrier.ok_or_else(|| (Cause::Other("barrier number above 15".into()), lane))?;
        let live = warp.groups.live();
        if self.misuse.checks.barriers && active != live {
            let misuse =
                Misuse::DivergentBarrier { barrier: u32::from(barrier), lanes: active, live };
            self.misuse.add(pc, misuse, self.cta, self.thread(warp.index, lane));
        }
        // Of a whole warp all 32 threads count, as the machine counts warps.
        let arrived = Arrival::Arrived { barrier, lanes: active, threads };
        if kind == BarrierKind::Arrive {
            warp.groups.set_pc(pc + 1);
            return Ok(Flow::Stop(Stop::Barrier(Some(arrived))));
        }
        let holds = active & warp.pred(pred);
        warp.groups.wait(active, pc, pc + 1, State::Cta { barrier, threads });
        let arrival = match kind {
            BarrierKind::Sync | BarrierKind::Arrive => None,
            kind => Some(Arrival::Predicate { barrier, kind, lanes: active, holds }),
        };
        Ok(Flow::Stop(Stop::Barrier(arrival)))
    }

    /// The index of the instruction at a code address.
    fn code_index(&self, address: u64, lane: usize) -> Result<u32, LaneFault> {
        let offset = address.wrapping_sub(CODE_BASE);
        let count = self.program.code.len() as u64;
        if !offset.is_multiple_of(WORD) || offset / WORD >= count {
            return Err((Cause::Jump(address), lane));
        }
        Ok((offset / WORD) as u32)
    }

    /// The place of a thread in its CTA.
    pub fn thread(&self, warp: u32, lane: usize) -> [u32; 3] {
        let [x, y, _] = self.block;
        let flat = warp * LANES as u32 + lane as u32;
        [flat % x.max(1), flat / x.max(1) % y.max(1), flat / (x * y).max(1)]
    }

    fn special(&self, warp: &mut Warp, which: Special, dst: Dst, wide: bool, active: u32) {
        let clock = self.started + warp.clock.now;
        let mut values = [0; LANES];
        for (lane, value) in values.iter_mut().enumerate() {
            let bit = 1u32 << lane;
            let thread = |axis: u8| u64::from(self.thread(warp.index, lane)[usize::from(axis)]);
            *value = match which {
                Special::Zero => 0,
                Special::Lane => lane as u64,
                Special::Thread(axis) => thread(axis),
                Special::ThreadPacked => thread(0) | thread(1) << 16 | thread(2) << 26,
                Special::Cta(axis) => u64::from(self.cta[usize::from(axis)]),
                Special::EqMask => u64::from(bit),
                Special::LtMask => u64::from(bit - 1),
                Special::LeMask => u64::from(bit | (bit - 1)),
                Special::GtMask => u64::from(!(bit | (bit - 1))),
                Special::GeMask => u64::from(!(bit - 1)),
                Special::Clock | Special::GlobalTimer if wide => clock,
                Special::Clock | Special::GlobalTimer => clock & 0xffff_ffff,
                Special::ClockHigh | Special::GlobalTimerHigh => clock >> 32,
                Special::Constant(value) => u64::from(value),
                Special::WarpId => u64::from(warp.index) << 8,
                Special::SmId => 0,
                Special::ClusterRank => u64::from(self.rank),
                Special::SharedSize => {
                    self.program.shared_reserved() + self.shared.bytes.len() as u64
                }
                Special::VirtualConfig => MAX_WARPS << 8,
                Special::LocalBottom => u64::from(STACK_TOP - self.local_bytes.min(STACK_TOP)),
            };
        }
        warp.write(dst, wide, active, &values);
    }
}

fn branch(warp: &mut Warp, taken: u32, mask: u32, target: u32, next: u32) -> Flow {
    if taken == 0 {
        Flow::Next
    } else if taken == mask {
        Flow::Jump(target)
    } else {
        warp.groups.branch(taken, target, next);
        Flow::Stop(Stop::Changed)
    }
}

fn cluster_barrier(warp: &mut Warp, pc: u32, active: u32, wait: bool) -> Result<Flow, LaneFault> {
    let at = &mut warp.cluster;
    let wrong = if wait { active & !at.owed } else { active & at.owed };
    if wrong != 0 {
        let what = if wait {
            "waits at the cluster's barrier without having arrived"
        } else {
            "arrives at the cluster's barrier twice without waiting"
        };
        return Err((Cause::Other(what.into()), first(wrong)));
    }
    if !wait {
        at.arrived |= active;
        at.owed |= active;
        return Ok(Flow::Next);
    }
    at.owed &= !active;
    let waits = active & at.arrived;
    if waits == 0 {
        return Ok(Flow::Next);
    }
    warp.groups.wait(waits, pc, pc + 1, State::Cluster);
    Ok(Flow::Stop(Stop::Changed))
}

/// The inner loop of nearly all instructions.
fn lane_op(warp: &mut Warp, op: &LaneOp, active: u32) {
    let mut values = [[0; LANES]; 3];
    for (src, out) in op.src.iter().zip(&mut values) {
        if !src.is_constant_zero() {
            warp.read(src, out);
        }
    }
    let [a, b, c] = &values;
    let pin = op.pin.map(|p| warp.pred(p));
    let mut out = [0; LANES];
    let mut bits = [0u32; 2];
    each_lane(active, |lane| {
        let p = pin[0] >> lane & 1 | (pin[1] >> lane & 1) << 1;
        let (value, flags) = (op.f)(op.param, a[lane], b[lane], c[lane], p);
        out[lane] = value;
        bits[0] |= (flags & 1) << lane;
        bits[1] |= (flags >> 1 & 1) << lane;
    });
    warp.write(op.dst, op.wide, active, &out);
    let combined = |kind, p, bits: u32| match kind {
        Combine::And => bits & p,
        Combine::Or => bits | p,
        Combine::Xor => bits ^ p,
    };
    match op.bits {
        Bits::Plain => {}
        Bits::Compare(kind, p) => {
            let p = warp.pred(p);
            bits = [combined(kind, p, bits[0]), combined(kind, p, !bits[0])];
        }
        Bits::CompareHalves(kind, p) => {
            let p = warp.pred(p);
            bits = bits.map(|b| combined(kind, p, b));
        }
    }
    for (dst, bits) in op.pout.iter().zip(bits) {
        warp.set_pred(*dst, active, bits);
    }
}

fn pred_logic(
    warp: &mut Warp,
    dst: &[PredDst; 2],
    src: &[Truth; 3],
    tables: &[u8; 2],
    active: u32,
) {
    let [a, b, c] = src.map(|truth| match truth {
        Truth::Pred(p) => u64::from(warp.pred(p)),
        Truth::Sign(src) => {
            let signs = warp.read32(&src).iter().rev().fold(0, |bits, x| bits << 1 | x >> 31);
            u64::from(signs)
        }
    });
    for (dst, table) in dst.iter().zip(tables) {
        let (bits, _) = super::integer::lop3(u32::from(*table), a, b, c, 0);
        warp.set_pred(*dst, active, bits as u32);
    }
}
