//! Copies that run by themselves: their issue, and their work when its time has come.

use super::atomic;
use super::env::{Env, Flow, LaneFault, first};
use super::memory::shared_addresses;
use crate::memory::{AccessKind, Fault, MemorySpace};
use crate::simulator::address::{RANK_BYTES, RANK_SHIFT};
use crate::simulator::error::Cause;
use crate::simulator::flight::{
    Completion, Issuer, Kind, Move, Reduction, Signal, Source, Target, Transfer, Wait,
};
use crate::simulator::op::{AsyncOp, TensorOp};
use crate::simulator::operand::*;
use crate::simulator::tensor::{self, Copied, Direction};
use crate::simulator::warp::Warp;
use crate::tensor_map::{self, TensorMap};

/// Bulk copies count in these (bytes).
const BULK_UNIT: u32 = 16;

/// Alignment of what a tensor map copies in shared memory (bytes; PTX ISA, "Tensors").
const TENSOR_ALIGN: u64 = 128;

pub(super) fn other(lane: usize, text: String) -> LaneFault {
    (Cause::Other(text), lane)
}

impl Env<'_> {
    /// One instruction of them.
    pub(super) fn asynchronous(
        &mut self,
        warp: &mut Warp,
        op: &AsyncOp,
        pc: u32,
        mask: u32,
        active: u32,
    ) -> Result<Flow, LaneFault> {
        let issuer = Issuer { rank: self.rank, warp: warp.index, lanes: active, pc };
        match op {
            AsyncOp::Exchange { dst, address, value } => {
                self.exchange(warp, *dst, address, value, active)?;
            }
            AsyncOp::Arrive { .. } => self.arrive(warp, op, active)?,
            AsyncOp::Check { holds, address, phase, blocks } => {
                return self.check_phase(warp, (*holds, address, phase, *blocks), pc, mask, active);
            }
            AsyncOp::Invalidate { address } => {
                let at = self.own_addresses(warp, address);
                for lane in lanes(active) {
                    self.barrier(at[lane], lane)?;
                }
                for lane in lanes(active) {
                    self.flight.barriers.remove(&at[lane]);
                }
            }
            AsyncOp::Lanes { to, from, bytes, zero_fill, copies } => {
                let copies = warp.pred(*copies);
                let [to, from] = [to, from].map(|a| shared_addresses(warp, a));
                let size = u64::from(*bytes);
                let mut moves = Vec::with_capacity(active.count_ones() as usize);
                for lane in lanes(active) {
                    let (to, from) = (self.own(to[lane]), from[lane]);
                    // With zero filling, the low bits of the address say how many bytes are not
                    // copied.
                    let left = match (copies >> lane & 1 != 0, *zero_fill) {
                        (false, _) => size,
                        (true, true) => from & (size - 1),
                        (true, false) => 0,
                    };
                    let mut part = |from, at: u64, bytes: u64| {
                        let to = Target::Shared(to + at);
                        let one = Move { from, to, bytes: bytes as u32, reduce: None };
                        if bytes > 0 {
                            moves.push((lane as u8, one));
                        }
                    };
                    let source = if left == 0 { from } else { from & !(size - 1) };
                    aligned(MemorySpace::Shared, AccessKind::Write, to, size, lane)?;
                    if left < size {
                        aligned(MemorySpace::Global, AccessKind::Read, source, size, lane)?;
                    }
                    part(Source::Global(source), 0, size - left);
                    part(Source::Value([0; 16], 1), size - left, left);
                }
                let wait = Wait::Open(Kind::Lanes);
                self.issue(Transfer { issuer, moves, signals: Vec::new(), wait })?;
            }
            AsyncOp::Commit(kind) => {
                if self.flight.commit(*kind, issuer) {
                    let all = self.flight.take_all();
                    self.finish(all)?;
                }
            }
            AsyncOp::Wait { keep } => {
                let done = self.flight.take_groups(issuer, usize::from(*keep));
                self.finish(done)?;
            }
            AsyncOp::ArriveAfter { address, byte } => {
                let at = self.own_addresses(warp, address);
                let signal = |lane: usize| {
                    let (arrivals, bytes) = if *byte { (0, 1) } else { (1, 0) };
                    (lane as u8, Signal { barrier: at[lane], arrivals, bytes })
                };
                let signals = lanes(active).map(signal).collect();
                self.issue(Transfer { issuer, moves: Vec::new(), signals, wait: Wait::After })?;
            }
            AsyncOp::Bulk { .. } => self.bulk(warp, op, issuer)?,
            AsyncOp::Tensor(op) => self.tensor(warp, op, issuer)?,
            AsyncOp::Remote { place, offset, data, bytes, reduce } => {
                self.remote(warp, (*place, *offset, *data), *bytes, *reduce, issuer)?;
            }
        }
        Ok(Flow::Next)
    }

    pub(super) fn finish_barrier(&mut self, at: u64) -> Result<(), LaneFault> {
        let done = self.flight.take_barrier(at);
        self.finish(done)
    }

    /// Does copies whose turn has come.
    pub fn finish(&mut self, copies: Vec<Transfer>) -> Result<(), LaneFault> {
        for copy in copies {
            self.perform(&copy)?;
        }
        Ok(())
    }

    /// Begins a copy: what it reaches is checked now.
    fn issue(&mut self, copy: Transfer) -> Result<(), LaneFault> {
        for (lane, one) in &copy.moves {
            self.check_move(one).map_err(|fault| (Cause::Memory(fault), usize::from(*lane)))?;
        }
        if self.completion == Completion::AtIssue {
            return self.perform(&copy);
        }
        if self.flight.is_full() {
            let all = self.flight.take_all();
            self.finish(all)?;
        }
        self.flight.push(copy);
        Ok(())
    }

    fn check_move(&mut self, one: &Move) -> Result<(), Fault> {
        let bytes = u64::from(one.bytes);
        match one.from {
            Source::Global(at) => self.memory.check(AccessKind::Read, at, bytes)?,
            Source::Shared(at) => self.shared_at(at).check_range(AccessKind::Read, at, bytes)?,
            Source::Value(..) => {}
        }
        match one.to {
            Target::Global(at) => self.memory.check(AccessKind::Write, at, bytes),
            Target::Shared(at) => self.shared_at(at).check_range(AccessKind::Write, at, bytes),
        }
    }

    fn perform(&mut self, copy: &Transfer) -> Result<(), LaneFault> {
        for (lane, one) in &copy.moves {
            self.transfer(one).map_err(|fault| (Cause::Memory(fault), usize::from(*lane)))?;
        }
        for (lane, signal) in &copy.signals {
            let lane = usize::from(*lane);
            let by = |(cause, lane): LaneFault| {
                let Issuer { rank, warp, .. } = copy.issuer;
                let (function, offset, text) = self.program.locate(copy.issuer.pc);
                let from =
                    format!("at {offset:#06x} of {function}: {text}, warp {warp} of rank {rank}");
                other(lane, format!("{cause} (for the copy {from})"))
            };
            let mut barrier = self.barrier(signal.barrier, lane).map_err(by)?;
            let counted = barrier.arrive(signal.arrivals, -i64::from(signal.bytes), false);
            let wrong =
                |trouble| other(lane, format!("the mbarrier at {:#x}: {trouble}", signal.barrier));
            counted.map_err(wrong).map_err(by)?;
            self.set_barrier(signal.barrier, barrier, lane)?;
        }
        Ok(())
    }

    fn transfer(&mut self, one: &Move) -> Result<(), Fault> {
        let size = one.bytes as usize;
        let mut data = match one.from {
            Source::Global(at) => self.memory.read_range(at, size)?.to_vec(),
            Source::Shared(at) => self.shared_at(at).read_range(at, size)?.to_vec(),
            Source::Value(bytes, length) => bytes[..usize::from(length.clamp(1, 16))]
                .iter()
                .copied()
                .cycle()
                .take(size)
                .collect(),
        };
        if let Some(reduction) = one.reduce {
            let old = match one.to {
                Target::Global(at) => self.memory.read_range(at, size)?,
                Target::Shared(at) => self.shared_at(at).read_range(at, size)?,
            };
            reduce(reduction, old, &mut data);
        }
        match one.to {
            Target::Global(at) => self.memory.write_range(at, size)?.copy_from_slice(&data),
            Target::Shared(at) => {
                self.shared_at_mut(at).write_range(at, size)?.copy_from_slice(&data);
            }
        }
        Ok(())
    }

    /// The shared addresses in the CTAs of a mask that correspond to one.
    fn everywhere(&self, at: u64, mask: u32, lane: usize) -> Result<Vec<u64>, LaneFault> {
        let size = self.peers.len().max(1);
        if mask == 0 || mask as usize >> size != 0 {
            let text = format!("a copy to the CTAs of mask {mask:#06x} in a cluster of {size}");
            return Err(other(lane, text));
        }
        let offset = at & (RANK_BYTES - 1);
        let ranks = lanes(mask).map(|rank| (rank as u64) << RANK_SHIFT | offset);
        Ok(ranks.collect())
    }

    fn bulk(&mut self, warp: &Warp, op: &AsyncOp, issuer: Issuer) -> Result<(), LaneFault> {
        let AsyncOp::Bulk { to, to_shared, from, from_shared, size, multicast, reduce } = *op
        else {
            return Ok(());
        };
        let lane = first(issuer.lanes);
        let count = warp.ureg(size, 0);
        let bytes = (count & 0xffff) * BULK_UNIT;
        let (from_space, source, at) = if from_shared {
            let at = self.own(u64::from(warp.ureg(from, 0)));
            (MemorySpace::Shared, Source::Shared(at), at)
        } else {
            let at = warp.ureg64(from);
            (MemorySpace::Global, Source::Global(at), at)
        };
        let unit = u64::from(BULK_UNIT);
        aligned(from_space, AccessKind::Read, at, unit, lane)?;
        let (targets, signals) = if to_shared {
            let (to, barrier) = (u64::from(warp.ureg(to, 0)), u64::from(warp.ureg(to, 1)));
            aligned(MemorySpace::Shared, AccessKind::Write, to, unit, lane)?;
            let (to, barriers) = if multicast {
                let mask = count >> 16;
                (self.everywhere(to, mask, lane)?, self.everywhere(barrier, mask, lane)?)
            } else {
                (vec![to], vec![barrier])
            };
            let signal = |barrier| (lane as u8, Signal { barrier, arrivals: 0, bytes });
            (
                to.into_iter().map(Target::Shared).collect(),
                barriers.into_iter().map(signal).collect(),
            )
        } else {
            let to = warp.ureg64(to);
            aligned(MemorySpace::Global, AccessKind::Write, to, unit, lane)?;
            (vec![Target::Global(to)], Vec::new())
        };
        let targets = if bytes == 0 { Vec::new() } else { targets };
        let one = |to| (lane as u8, Move { from: source, to, bytes, reduce });
        let wait = if to_shared { Wait::Barrier } else { Wait::Open(Kind::Bulk) };
        self.issue(Transfer {
            issuer,
            moves: targets.into_iter().map(one).collect(),
            signals,
            wait,
        })
    }

    fn tensor(&mut self, warp: &Warp, op: &TensorOp, issuer: Issuer) -> Result<(), LaneFault> {
        let lane = first(issuer.lanes);
        let memory = |fault| (Cause::Memory(fault), lane);
        let at = warp.ureg64(op.map);
        aligned(MemorySpace::Global, AccessKind::Read, at, tensor_map::ALIGN, lane)?;
        let bytes = self.memory.read_range(at, tensor_map::BYTES).map_err(memory)?;
        let mut raw = [0; tensor_map::BYTES];
        raw.copy_from_slice(bytes);
        let map = TensorMap::decode(&raw)
            .ok_or_else(|| other(lane, format!("there is no tensor map at {at:#x}")))?;
        if op.prefetch {
            return Ok(());
        }
        let loads = op.direction == Direction::Load;
        let shared = u64::from(warp.ureg(op.place, 0));
        let from = if loads { 2 } else { 1 };
        let coordinates: Vec<i32> =
            (0..op.rank).map(|i| warp.ureg(op.place, from + i) as i32).collect();
        let extra = op.extra.map_or(0, |u| warp.ureg(u, 0));
        let offsets = op.im2col.then(|| offsets(op.rank, extra & 0xffff));
        let space_access = if loads { AccessKind::Write } else { AccessKind::Read };
        aligned(MemorySpace::Shared, space_access, shared, TENSOR_ALIGN, lane)?;
        let (to, barriers) = if loads {
            let barrier = u64::from(warp.ureg(op.place, 1));
            if op.multicast {
                let mask = extra >> 16;
                (self.everywhere(shared, mask, lane)?, self.everywhere(barrier, mask, lane)?)
            } else {
                (vec![shared], vec![barrier])
            }
        } else {
            (vec![self.own(shared)], Vec::new())
        };
        let (mut moves, mut sum) = (Vec::new(), 0);
        for shared in to {
            let direction = op.direction;
            let copied =
                Copied { map: &map, shared, coordinates: &coordinates, offsets, direction };
            let wrong = |error: tensor::TensorError| other(lane, error.to_string());
            let (list, bytes) = tensor::moves(&copied).map_err(wrong)?;
            moves.extend(list.into_iter().map(|one| (lane as u8, one)));
            sum = bytes;
        }
        let signal = |barrier| (lane as u8, Signal { barrier, arrivals: 0, bytes: sum });
        let signals = barriers.into_iter().map(signal).collect();
        let wait = if loads { Wait::Barrier } else { Wait::Open(Kind::Bulk) };
        self.issue(Transfer { issuer, moves, signals, wait })
    }

    fn remote(
        &mut self,
        warp: &Warp,
        (place, offset, data): (u16, i32, u16),
        bytes: u8,
        reduce: Option<Reduction>,
        issuer: Issuer,
    ) -> Result<(), LaneFault> {
        let size = reduce.map_or(bytes, |r| r.bytes);
        let (mut moves, mut signals) = (Vec::new(), Vec::new());
        for lane in lanes(issuer.lanes) {
            let to = u64::from(warp.row(place, 0)[lane].wrapping_add(offset as u32));
            let barrier = u64::from(warp.row(place, 1)[lane]);
            aligned(MemorySpace::Shared, AccessKind::Write, to, u64::from(size), lane)?;
            let mut value = [0; 16];
            for (cell, word) in value.chunks_exact_mut(4).enumerate().take(usize::from(size / 4)) {
                word.copy_from_slice(&warp.row(data, cell as u16)[lane].to_le_bytes());
            }
            let from = Source::Value(value, size);
            let one = Move { from, to: Target::Shared(to), bytes: size.into(), reduce };
            moves.push((lane as u8, one));
            signals.push((lane as u8, Signal { barrier, arrivals: 0, bytes: size.into() }));
        }
        self.issue(Transfer { issuer, moves, signals, wait: Wait::Barrier })
    }
}

pub(super) fn lanes(mask: u32) -> impl Iterator<Item = usize> + Clone {
    (0..LANES).filter(move |lane| mask >> lane & 1 != 0)
}

fn aligned(
    space: MemorySpace,
    access: AccessKind,
    address: u64,
    size: u64,
    lane: usize,
) -> Result<(), LaneFault> {
    if address.is_multiple_of(size) {
        return Ok(());
    }
    Err((Cause::Memory(Fault::Misaligned { space, access, address, size }), lane))
}

/// The offsets of im2col in 16 bits, 16, 8 or 5 bits each (observed: ptxas packs them so).
fn offsets(rank: u8, packed: u32) -> [u32; 3] {
    match rank {
        0..=3 => [packed, 0, 0],
        4 => [packed & 0xff, packed >> 8, 0],
        _ => [packed & 0x1f, packed >> 5 & 0x1f, packed >> 10 & 0x1f],
    }
}

/// Combines the elements of `data` with those of `old`.
fn reduce(reduction: Reduction, old: &[u8], data: &mut [u8]) {
    let size = usize::from(reduction.bytes.clamp(1, 8));
    for (new, old) in data.chunks_exact_mut(size).zip(old.chunks_exact(size)) {
        let [old, given] = [old, &*new].map(|bytes| {
            let mut all = [0; 8];
            all[..size].copy_from_slice(bytes);
            u64::from_le_bytes(all)
        });
        let result = atomic::value(reduction.kind, reduction.ty, old, given, 0);
        new.copy_from_slice(&result.to_le_bytes()[..size]);
    }
}
