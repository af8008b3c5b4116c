//! Loads and stores, lane by lane.

use super::env::{Env, LaneFault, first};
use crate::memory::{
    AccessKind, Fault, Generic, MemorySpace, Region, UNWRITTEN, WINDOW_BYTES, generic,
};
use crate::simulator::address::{Address, RANK_BYTES, RANK_SHIFT, Space};
use crate::simulator::error::Cause;
use crate::simulator::image::STACK_TOP;
use crate::simulator::op::MemOp;
use crate::simulator::operand::*;
use crate::simulator::warp::Warp;

/// Where an access goes.
#[derive(Clone, Copy)]
pub(super) enum Place {
    Global(u64),
    /// Of the CTA itself, whatever the rank in the address.
    Own(u64),
    /// Of any CTA of the cluster.
    Shared(u64),
    Local(u64),
}

pub(super) fn addresses(warp: &Warp, address: &Address) -> [Place; LANES] {
    let mut base = [0; LANES];
    warp.read(&address.base, &mut base);
    let uniform = match address.uniform {
        Some(u) if address.uniform_wide => warp.ureg64(u),
        Some(u) => u64::from(warp.ureg(u, 0)),
        None => 0,
    };
    let offset = uniform.wrapping_add(i64::from(address.offset) as u64);
    base.map(|base| {
        let at = base.wrapping_mul(u64::from(address.scale)).wrapping_add(offset);
        match address.space {
            Space::Global => Place::Global(at),
            Space::Shared => Place::Own(at & (WINDOW_BYTES - 1)),
            Space::Local => Place::Local(at & (WINDOW_BYTES - 1)),
            Space::Generic => match generic(at) {
                Generic::Global(at) => Place::Global(at),
                Generic::Shared(at) => Place::Shared(at),
                Generic::Local(at) => Place::Local(at),
            },
        }
    })
}

/// Each lane's address, whatever the space: what it means is the caller's matter.
pub(super) fn shared_addresses(warp: &Warp, address: &Address) -> [u64; LANES] {
    addresses(warp, address).map(|place| match place {
        Place::Global(at) | Place::Own(at) | Place::Shared(at) | Place::Local(at) => at,
    })
}

/// The place of a thread's local bytes in its warp's memory.
fn local_offset(
    at: u64,
    bytes: usize,
    limit: u32,
    lane: usize,
    access: AccessKind,
) -> Result<usize, Fault> {
    let size = bytes as u64;
    let bottom = u64::from(STACK_TOP - limit.min(STACK_TOP));
    let space = MemorySpace::Local;
    if at < bottom || at + size > u64::from(STACK_TOP) {
        let near = format!(" (the thread's local memory is {bottom:#x} ..= {:#x})", STACK_TOP - 1);
        return Err(Fault::OutOfBounds { space, access, address: at, size, near });
    }
    if at & (size - 1) != 0 {
        return Err(Fault::Misaligned { space, access, address: at, size });
    }
    Ok(lane * limit as usize + (at - bottom) as usize)
}

impl Env<'_> {
    /// The shared address that an access of the CTA's own memory means: ptxas puts the rank into
    /// all addresses of variables, and a number that a program made up has none.
    #[inline]
    pub(super) fn own(&self, at: u64) -> u64 {
        if at < RANK_BYTES { at | u64::from(self.rank) << RANK_SHIFT } else { at }
    }

    /// The shared memory of the CTA whose rank an address holds; the CTA's own where there is none.
    pub(super) fn shared_at(&self, at: u64) -> &Region {
        match self.peers.get((at >> RANK_SHIFT) as usize) {
            Some(peer) if at >> RANK_SHIFT != u64::from(self.rank) => peer,
            _ => &self.shared,
        }
    }

    pub(super) fn shared_at_mut(&mut self, at: u64) -> &mut Region {
        match self.peers.get_mut((at >> RANK_SHIFT) as usize) {
            Some(peer) if at >> RANK_SHIFT != u64::from(self.rank) => peer,
            _ => &mut self.shared,
        }
    }

    /// Nothing in the word says whether the pair holds the descriptor or a cache policy of the
    /// program (`.L2::cache_hint`): both have the same form (observed: ptxas 13.0.88, sm_90a). A
    /// pair that nobody wrote is neither.
    pub(super) fn check_descriptor(
        &self,
        warp: &Warp,
        address: &Address,
        lane: usize,
    ) -> Result<(), LaneFault> {
        match address.descriptor {
            Some(u) if !warp.is_written(u, 2) => Err((Cause::Descriptor(format!("UR{u}")), lane)),
            _ => Ok(()),
        }
    }

    /// Bytes at a generic address, for a function of the system.
    pub(in crate::simulator) fn read_generic(
        &self,
        warp: &Warp,
        address: u64,
        lane: usize,
        out: &mut [u8],
    ) -> Result<(), LaneFault> {
        let place = match generic(address) {
            Generic::Global(at) => Place::Global(at),
            Generic::Shared(at) => Place::Shared(at),
            Generic::Local(at) => Place::Local(at),
        };
        self.fetch(warp, place, lane, out)
    }

    /// Copies from memory to up to sixteen bytes.
    pub(super) fn fetch(
        &self,
        warp: &Warp,
        place: Place,
        lane: usize,
        out: &mut [u8],
    ) -> Result<(), LaneFault> {
        let bytes = out.len();
        let fault = |f: Fault| (Cause::Memory(f), lane);
        match place {
            Place::Global(at) => {
                out.copy_from_slice(self.memory.read(at, bytes).map_err(fault)?);
            }
            Place::Own(at) => {
                self.shared.reads_as(lane);
                out.copy_from_slice(self.shared.read(self.own(at), bytes).map_err(fault)?);
            }
            Place::Shared(at) => {
                self.shared_at(at).reads_as(lane);
                out.copy_from_slice(self.shared_at(at).read(at, bytes).map_err(fault)?);
            }
            Place::Local(at) => {
                let from = local_offset(at, bytes, self.local_bytes, lane, AccessKind::Read)
                    .map_err(fault)?;
                out.copy_from_slice(&warp.local[from..from + bytes]);
                if let Some(written) = &warp.local_written {
                    written.look(from, bytes);
                }
            }
        }
        Ok(())
    }

    pub(super) fn put(
        &mut self,
        warp: &mut Warp,
        place: Place,
        lane: usize,
        data: &[u8],
    ) -> Result<(), LaneFault> {
        let bytes = data.len();
        let fault = |f: Fault| (Cause::Memory(f), lane);
        match place {
            Place::Global(at) => {
                self.memory.write(at, bytes).map_err(fault)?.copy_from_slice(data);
            }
            Place::Own(at) => {
                let at = self.own(at);
                self.shared.write(at, bytes).map_err(fault)?.copy_from_slice(data);
            }
            Place::Shared(at) => {
                self.shared_at_mut(at).write(at, bytes).map_err(fault)?.copy_from_slice(data);
            }
            Place::Local(at) => {
                let to = local_offset(at, bytes, self.local_bytes, lane, AccessKind::Write)
                    .map_err(fault)?;
                warp.local[to..to + bytes].copy_from_slice(data);
                if let Some(written) = &mut warp.local_written {
                    written.mark(to, bytes);
                }
            }
        }
        Ok(())
    }

    pub(super) fn load(
        &mut self,
        warp: &mut Warp,
        op: &MemOp,
        active: u32,
    ) -> Result<(), LaneFault> {
        let places = addresses(warp, &op.address);
        self.check_descriptor(warp, &op.address, first(active))?;
        let bytes = usize::from(op.bytes);
        let cells = bytes.div_ceil(4);
        let mut rest = active;
        while rest != 0 {
            let lane = first(rest);
            rest &= rest - 1;
            let mut data = [0; 16];
            self.fetch(warp, places[lane], lane, &mut data[..bytes])?;
            for cell in 0..cells {
                let from = &data[cell * 4..cell * 4 + 4];
                let mut value = from.iter().rev().fold(0, |x, b| x << 8 | u32::from(*b));
                if op.signed {
                    let shift = 32 - 8 * bytes as u32;
                    value = ((value << shift) as i32 >> shift) as u32;
                }
                if let Dst::Row(row) = op.dst {
                    warp.row_mut(row, cell as u16)[lane] = value;
                }
            }
        }
        Ok(())
    }

    pub(super) fn store(
        &mut self,
        warp: &mut Warp,
        op: &MemOp,
        active: u32,
    ) -> Result<(), LaneFault> {
        let places = addresses(warp, &op.address);
        self.check_descriptor(warp, &op.address, first(active))?;
        let bytes = usize::from(op.bytes);
        let mut rest = active;
        while rest != 0 {
            let lane = first(rest);
            rest &= rest - 1;
            let mut data = [0; 16];
            for (cell, word) in data.chunks_exact_mut(4).enumerate().take(bytes.div_ceil(4)) {
                word.copy_from_slice(&warp.row(op.data, cell as u16)[lane].to_le_bytes());
            }
            self.put(warp, places[lane], lane, &data[..bytes])?;
        }
        Ok(())
    }

    pub(super) fn load_const(
        &mut self,
        warp: &mut Warp,
        (bank, offset): (u8, i32),
        base: &Src,
        (bytes, signed): (u8, bool),
        dst: Dst,
        active: u32,
    ) -> Result<(), LaneFault> {
        let base = warp.read32(base);
        let mut values = [0; LANES];
        let mut failed = None;
        each_lane(active, |lane| {
            // The sum is an unsigned byte offset in the bank.
            let at = i64::from(base[lane].wrapping_add(offset as u32));
            match self.constants.load(bank, at, u32::from(bytes)) {
                Some(value) if at % i64::from(bytes) == 0 => {
                    values[lane] = crate::simulator::prepare::extend(value, bytes, signed);
                }
                _ => failed = failed.or(Some((lane, at))),
            }
        });
        if let Some((lane, offset)) = failed {
            return Err((Cause::Constant { bank, offset, size: u32::from(bytes) }, lane));
        }
        warp.write(dst, bytes == 8, active, &values);
        Ok(())
    }

    pub(super) fn query_space(
        &self,
        warp: &mut Warp,
        holds: PredDst,
        (address, offset): (&Src, i32),
        (space, own): (Space, bool),
        active: u32,
    ) {
        let ranks = self.peers.len().max(1) as u64;
        let mut base = [0; LANES];
        warp.read(address, &mut base);
        let mut inside = 0;
        each_lane(active, |lane| {
            let here = match generic(base[lane].wrapping_add(i64::from(offset) as u64)) {
                Generic::Global(_) => space == Space::Global,
                Generic::Local(_) => space == Space::Local,
                Generic::Shared(at) => {
                    let rank = at >> RANK_SHIFT;
                    let inside = if own { rank == u64::from(self.rank) } else { rank < ranks };
                    space == Space::Shared && inside
                }
            };
            inside |= u32::from(here) << lane;
        });
        warp.set_pred(holds, active, inside);
    }
}

/// A CTA's shared memory: what was never written is not zero.
pub fn shared_region(base: u64, bytes: usize) -> Region {
    Region::new("shared memory", MemorySpace::Shared, base, vec![UNWRITTEN; bytes])
}
