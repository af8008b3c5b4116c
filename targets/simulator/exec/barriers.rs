//! Barriers in shared memory: arrivals, and waits for the end of a phase.

use super::asynchronous::{lanes, other};
use super::env::{Env, Flow, LaneFault, Stop, first};
use super::memory::shared_addresses;
use crate::simulator::address::Address;
use crate::simulator::error::Cause;
use crate::simulator::groups::State;
use crate::simulator::mbarrier::{Barrier, Trouble};
use crate::simulator::op::{Amount, AsyncOp};
use crate::simulator::operand::*;
use crate::simulator::warp::Warp;

impl Env<'_> {
    /// Addresses in the CTA's own shared memory, with its rank.
    pub(super) fn own_addresses(&self, warp: &Warp, address: &Address) -> [u64; LANES] {
        shared_addresses(warp, address).map(|at| self.own(at))
    }

    /// A barrier in shared memory, that somebody must have initialised.
    pub(super) fn barrier(&self, at: u64, lane: usize) -> Result<Barrier, LaneFault> {
        let memory = |fault| (Cause::Memory(fault), lane);
        let word = self.shared_at(at).load(at, 8).map_err(memory)?;
        match self.flight.barriers.get(&at) {
            Some(known) if *known == word => Ok(Barrier::new(word)),
            Some(_) => Err(other(lane, format!("the mbarrier at {at:#x} was overwritten"))),
            None => {
                Err(other(lane, format!("there is no mbarrier at {at:#x}: none was initialised")))
            }
        }
    }

    pub(super) fn set_barrier(
        &mut self,
        at: u64,
        barrier: Barrier,
        lane: usize,
    ) -> Result<(), LaneFault> {
        let word = barrier.word();
        let stored = self.shared_at_mut(at).store(at, 8, word);
        stored.map_err(|fault| (Cause::Memory(fault), lane))?;
        self.flight.barriers.insert(at, word);
        Ok(())
    }

    pub(super) fn exchange(
        &mut self,
        warp: &mut Warp,
        dst: Dst,
        address: &Address,
        value: &Src,
        active: u32,
    ) -> Result<(), LaneFault> {
        let lane = first(active);
        let at = self.own_addresses(warp, address)[lane];
        let mut values = [0; LANES];
        warp.read(value, &mut values);
        let old = self.shared.load(at, 8).map_err(|fault| (Cause::Memory(fault), lane))?;
        let barrier = Barrier::new(values[lane]);
        let wrong = |trouble| other(lane, format!("the mbarrier at {at:#x}: {trouble}"));
        barrier.check_initial().map_err(wrong)?;
        self.set_barrier(at, barrier, lane)?;
        warp.write(dst, true, active, &[old; LANES]);
        Ok(())
    }

    /// Lanes in order, lowest first: one of the orders that the machine may take.
    pub(super) fn arrive(
        &mut self,
        warp: &mut Warp,
        op: &AsyncOp,
        active: u32,
    ) -> Result<(), LaneFault> {
        let AsyncOp::Arrive {
            dst,
            address,
            count,
            arrivals,
            transactions,
            comes,
            drop,
            mask,
            remote,
        } = op
        else {
            return Ok(());
        };
        let at = match remote {
            true => shared_addresses(warp, address),
            false => self.own_addresses(warp, address),
        };
        let counts = warp.read32(count);
        let mut old = [0; LANES];
        for lane in lanes(active) {
            let amount = |amount: &Amount| match amount {
                Amount::Known(n) => *n,
                Amount::Given => counts[lane],
            };
            let bytes = i64::from(amount(transactions));
            let bytes = if *comes { -bytes } else { bytes };
            let mut barrier = self.barrier(at[lane], lane)?;
            let before = barrier;
            let wrong =
                |trouble| other(lane, format!("the mbarrier at {:#x}: {trouble}", at[lane]));
            barrier.arrive(amount(arrivals), bytes, *drop).map_err(wrong)?;
            if *mask && barrier.phase != before.phase {
                return Err(wrong(Trouble::Completes));
            }
            self.set_barrier(at[lane], barrier, lane)?;
            old[lane] = before.word();
        }
        if *mask {
            // The state is that before all lanes of the same barrier, and the low word says which
            // they are.
            for lane in lanes(active) {
                let mut same = 0;
                each_lane(active, |l| same |= u32::from(at[l] == at[lane]) << l);
                old[lane] = old[first(same)] >> 32 << 32 | u64::from(same);
            }
        }
        warp.write(*dst, true, active, &old);
        Ok(())
    }

    pub(super) fn check_phase(
        &mut self,
        warp: &mut Warp,
        (holds, address, phase, blocks): (PredDst, &Address, &Src, bool),
        pc: u32,
        mask: u32,
        active: u32,
    ) -> Result<Flow, LaneFault> {
        let at = self.own_addresses(warp, address);
        let parity = warp.read32(phase).map(|word| word >> 31 != 0);
        let mut done = 0;
        for lane in lanes(active) {
            let mut barrier = self.barrier(at[lane], lane)?;
            if barrier.phase == parity[lane] && !self.flight.is_empty() {
                self.finish_barrier(at[lane])?;
                barrier = self.barrier(at[lane], lane)?;
            }
            done |= u32::from(barrier.phase != parity[lane]) << lane;
        }
        let one = first(active);
        let alike = lanes(active).all(|l| (at[l], parity[l]) == (at[one], parity[one]));
        let expired = warp.expired & active != 0;
        warp.expired &= !active;
        if blocks && done == 0 && alike && active == mask && !expired {
            let state = State::Mbarrier { address: at[one] as u32, phase: parity[one] };
            warp.groups.wait(active, pc, pc + 1, state);
            return Ok(Flow::Stop(Stop::Changed));
        }
        warp.set_pred(holds, active, done);
        if done == active {
            return Ok(Flow::Next);
        }
        warp.groups.set_pc(pc + 1);
        Ok(Flow::Stop(Stop::Idle))
    }

    /// Lets the groups of a warp go on whose barriers in shared memory have completed their phases.
    pub fn wake(&mut self, warp: &mut Warp) -> Result<(), super::Failure> {
        let waiting: smallvec::SmallVec<[_; 4]> = warp
            .groups
            .list()
            .iter()
            .filter(|g| matches!(g.state, State::Mbarrier { .. }))
            .copied()
            .collect();
        for group in waiting {
            let State::Mbarrier { address, phase } = group.state else { continue };
            let lane = first(group.mask);
            let failure = |(cause, lane)| super::Failure { cause, lane, pc: group.pc };
            let at = u64::from(address);
            let mut barrier = self.barrier(at, lane).map_err(failure)?;
            if barrier.phase == phase && !self.flight.is_empty() {
                self.finish_barrier(at).map_err(failure)?;
                barrier = self.barrier(at, lane).map_err(failure)?;
            }
            if barrier.phase != phase {
                warp.groups.wake(|state| state == group.state);
                self.flight.woken = true;
            }
        }
        Ok(())
    }
}
