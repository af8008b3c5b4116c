//! Atomics and reductions, lane by lane.

use super::env::{Env, LaneFault};
use super::memory::{self, addresses};
use crate::simulator::address::RANK_SHIFT;
use crate::simulator::kinds::{AtomicKind, AtomicType};
use crate::simulator::op::AtomicOp;
use crate::simulator::operand::*;
use crate::simulator::warp::Warp;
use crate::simulator::{float, half};

/// The operand of each lane, up to four cells wide.
fn operand(warp: &Warp, src: &Src, bytes: usize) -> [u128; LANES] {
    if let (16, Place::Row(row)) = (bytes, src.place) {
        let cell = |at: u16, lane: usize| u128::from(warp.row(row, at)[lane]) << (32 * at);
        return std::array::from_fn(|lane| (0..4).map(|at| cell(at, lane)).sum());
    }
    let mut values = [0; LANES];
    warp.read(src, &mut values);
    values.map(u128::from)
}

impl Env<'_> {
    /// Whether the machine does an atomic with a predicate there.
    fn is_native(&self, op: &AtomicOp, place: memory::Place) -> bool {
        let float =
            !matches!(op.ty, AtomicType::U32 | AtomicType::S32 | AtomicType::U64 | AtomicType::S64);
        let swaps = matches!(op.kind, AtomicKind::Exchange | AtomicKind::CompareSwap);
        match place {
            memory::Place::Global(_) => true,
            memory::Place::Local(_) => false,
            memory::Place::Own(_) => swaps,
            memory::Place::Shared(at) => {
                let own = at >> RANK_SHIFT == u64::from(self.rank);
                swaps || !own && !float
            }
        }
    }

    /// Lanes in order, lowest first: one of the orders that the machine may take.
    ///
    /// An atomic with a predicate is one that the machine does not do everywhere: elsewhere it does
    /// nothing and the predicate is false, and ptxas's code goes on with a loop of
    /// compare-and-swaps. What follows shows where (observed: ptxas 13.0.88, sm_90a): after an
    /// exchange, or a swap of 64 bits, only what local memory needs, after a sum of floats loops
    /// for the CTA's shared memory and for another CTA's, after the other operations one for the
    /// CTA's own.
    pub(super) fn atomic(
        &mut self,
        warp: &mut Warp,
        op: &AtomicOp,
        active: u32,
    ) -> Result<(), LaneFault> {
        let places = addresses(warp, &op.address);
        self.check_descriptor(warp, &op.address, super::env::first(active))?;
        let bytes = op.bytes();
        let [a, b] = [operand(warp, &op.src[0], bytes), operand(warp, &op.src[1], bytes)];
        let (mut rest, mut done) = (active, active);
        let mut old = [0; LANES];
        while rest != 0 {
            let lane = super::env::first(rest);
            rest &= rest - 1;
            if op.done != PredDst::NOWHERE && !self.is_native(op, places[lane]) {
                done &= !(1 << lane);
                continue;
            }
            let mut data = [0; 16];
            self.fetch(warp, places[lane], lane, &mut data[..bytes])?;
            old[lane] = u128::from_le_bytes(data);
            let new = vector_value(op, old[lane], a[lane], b[lane]);
            self.put(warp, places[lane], lane, &new.to_le_bytes()[..bytes])?;
            if op.kind == AtomicKind::CompareStore {
                old[lane] = u128::from(old[lane] == a[lane]);
            }
        }
        if let (16, Dst::Row(row)) = (bytes, op.dst) {
            for cell in 0..4 {
                let out = warp.row_mut(row, cell);
                let lanes = (0..LANES).filter(|lane| done >> lane & 1 != 0);
                lanes.for_each(|lane| out[lane] = (old[lane] >> (32 * cell)) as u32);
            }
        } else {
            warp.write(op.dst, bytes == 8, done, &old.map(|x| x as u64));
        }
        warp.set_pred(op.done, active, done);
        Ok(())
    }
}

/// The value that an atomic leaves: element by element where it is a vector.
fn vector_value(op: &AtomicOp, old: u128, a: u128, b: u128) -> u128 {
    if op.ty == AtomicType::B128 {
        return match op.kind {
            AtomicKind::CompareSwap if old != a => old,
            AtomicKind::CompareSwap => b,
            _ => a,
        };
    }
    let bits = 8 * op.ty.bytes() as u32;
    let part = |x: u128, at: u32| (x >> at) as u64 & (u64::MAX >> (64 - bits));
    (0..u32::from(op.elements)).map(|i| i * bits).fold(0, |all, at| {
        let new = value(op.kind, op.ty, part(old, at), part(a, at), part(b, at));
        all | u128::from(new & (u64::MAX >> (64 - bits))) << at
    })
}

/// The value that one element gets.
pub(super) fn value(kind: AtomicKind, ty: AtomicType, old: u64, a: u64, b: u64) -> u64 {
    use AtomicKind::*;
    let mode = |ftz| float::Mode { ftz, ..float::Mode::default() };
    let narrow = |x: u64| x as u32;
    match (kind, ty) {
        (Add, AtomicType::F32 { ftz }) => float::add32(mode(ftz).pack(), old, a, 0, 0).0,
        (Add, AtomicType::F64) => float::add64(0, old, a, 0, 0).0,
        (Add, AtomicType::F16x2) => half::add16x2(0, old, a, 0, 0).0,
        (Add, AtomicType::Bf16x2) => {
            half::add16x2(float::Mode { extra: half::BF16, ..mode(false) }.pack(), old, a, 0, 0).0
        }
        (Min | Max, AtomicType::F16x2 | AtomicType::Bf16x2) => {
            let extra = if ty == AtomicType::Bf16x2 { half::BF16 } else { 0 };
            let mode = float::Mode { extra, ..mode(false) };
            half::minmax16x2(mode.pack(), old, a, 0, u32::from(kind == Min)).0
        }
        (Add, _) => old.wrapping_add(a),
        (Min, AtomicType::S32) => u64::from((old as i32).min(a as i32) as u32),
        (Max, AtomicType::S32) => u64::from((old as i32).max(a as i32) as u32),
        (Min, AtomicType::S64) => (old as i64).min(a as i64) as u64,
        (Max, AtomicType::S64) => (old as i64).max(a as i64) as u64,
        (Min, _) => old.min(a),
        (Max, _) => old.max(a),
        (Inc, _) => u64::from(if narrow(old) >= narrow(a) { 0 } else { narrow(old) + 1 }),
        (Dec, _) => {
            let out = narrow(old) == 0 || narrow(old) > narrow(a);
            u64::from(if out { narrow(a) } else { narrow(old) - 1 })
        }
        (And, _) => old & a,
        (Or, _) => old | a,
        (Xor, _) => old ^ a,
        (Exchange, _) => a,
        (CompareSwap | CompareStore, _) if old == a => b,
        (CompareSwap | CompareStore, _) => old,
        // Each lane adds one.
        (PopcInc, _) => old.wrapping_add(1),
    }
}
