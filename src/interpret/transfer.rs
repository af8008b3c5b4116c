//! Memory instructions: each lane's access, and the objects in shared memory that make copies and barriers asynchronous.

use orias_targets::memory::{Fault, Generic, WINDOW_BYTES, generic};

use super::code::{Address, Dst, LANES, Mbarrier, Op, Space, Src};
use super::error::StepError;
use super::grid::Env;
use super::integer::{mask, sign_extend};
use super::warp::{Warp, bits};

/// The largest access of one instruction and thread: `.v8.b32` (bytes).
const MAX_ACCESS: usize = 32;

/// What stopped a lane.
type Stopped = (usize, StepError);

/// One memory instruction, by the lanes of `lanes`.
pub fn execute(
    warp: &mut Warp,
    env: &mut Env<'_>,
    op: &Op,
    base: u32,
    lanes: u32,
) -> Result<(), Stopped> {
    match op {
        Op::Load { at, bytes, signed, dst } => {
            let addresses = warp.row(at.base, base);
            let total = *bytes as usize * dst.len();
            let mut buffer = [0u8; MAX_ACCESS];
            for lane in bits(lanes) {
                let address = addresses[lane].wrapping_add_signed(at.offset);
                read(warp, env, at.space, lane, address, &mut buffer[..total.min(MAX_ACCESS)])?;
                for (element, dst) in buffer.chunks_exact(*bytes as usize).zip(dst) {
                    let value = value(element);
                    let value = if *signed { sign_extend(value, bytes * 8) as u64 } else { value };
                    warp.rows[(base + dst.slot.0) as usize][lane] = value & dst.mask;
                }
            }
        }
        Op::Store { at, bytes, src } => {
            let addresses = warp.row(at.base, base);
            let rows: Vec<_> = src.iter().map(|src| warp.row(*src, base)).collect();
            let mut buffer = [0u8; MAX_ACCESS];
            let total = (*bytes as usize * rows.len()).min(MAX_ACCESS);
            for lane in bits(lanes) {
                for (element, row) in buffer.chunks_exact_mut(*bytes as usize).zip(&rows) {
                    element.copy_from_slice(&row[lane].to_le_bytes()[..*bytes as usize]);
                }
                let address = addresses[lane].wrapping_add_signed(at.offset);
                write(warp, env, at.space, lane, address, &buffer[..total])?;
            }
        }
        Op::Atomic { at, bytes, f, dst, b, c } => {
            let addresses = warp.row(at.base, base);
            let rows: Vec<_> = b.iter().map(|src| warp.row(*src, base)).collect();
            let c = warp.row(*c, base);
            let size = *bytes as usize;
            let total = (size * rows.len()).min(MAX_ACCESS);
            let mut buffer = [0u8; MAX_ACCESS];
            for lane in bits(lanes) {
                let address = addresses[lane].wrapping_add_signed(at.offset);
                read(warp, env, at.space, lane, address, &mut buffer[..total])?;
                for (i, (element, row)) in buffer.chunks_exact_mut(size).zip(&rows).enumerate() {
                    let old = value(element);
                    let new = f(old, row[lane] & mask(bytes * 8), c[lane]);
                    element.copy_from_slice(&new.to_le_bytes()[..size]);
                    if let Some(dst) = dst.get(i) {
                        warp.rows[(base + dst.slot.0) as usize][lane] = old & dst.mask;
                    }
                }
                write(warp, env, at.space, lane, address, &buffer[..total])?;
            }
        }
        Op::CopyAsync { to, from, bytes, source, skip } => {
            let targets = warp.row(to.base, base);
            let origins = warp.row(from.base, base);
            let counts = source.map(|src| warp.row(src, base));
            let skips = warp.row(skip.unwrap_or(Src::ZERO), base);
            for lane in bits(lanes) {
                // Bytes beyond the source's size are zero, and the source is not read there.
                let count = counts
                    .map_or(u64::from(*bytes), |c| (c[lane] & mask(32)).min(u64::from(*bytes)));
                let count = if skips[lane] & 1 != 0 { 0 } else { count as usize };
                let mut buffer = [0u8; 16];
                let origin = origins[lane].wrapping_add_signed(from.offset);
                if count > 0 {
                    read(warp, env, from.space, lane, origin, &mut buffer[..count])?;
                }
                let target = targets[lane].wrapping_add_signed(to.offset);
                write(warp, env, to.space, lane, target, &buffer[..*bytes as usize])?;
            }
        }
        Op::CopyBulk { to, from, bytes, complete } => {
            let targets = warp.row(to.base, base);
            let origins = warp.row(from.base, base);
            let sizes = warp.row(*bytes, base);
            let barriers = complete.map(|at| (at, warp.row(at.base, base)));
            for lane in bits(lanes) {
                let size = sizes[lane] & mask(32);
                let target = targets[lane].wrapping_add_signed(to.offset);
                let origin = origins[lane].wrapping_add_signed(from.offset);
                for i in (0..size).step_by(16) {
                    let mut buffer = [0u8; 16];
                    read(warp, env, from.space, lane, origin.wrapping_add(i), &mut buffer)?;
                    write(warp, env, to.space, lane, target.wrapping_add(i), &buffer)?;
                }
                if let Some((at, row)) = &barriers {
                    let address = row[lane].wrapping_add_signed(at.offset);
                    let state = Phase::read(warp, env, at.space, lane, address)?;
                    state.transactions(-(size as i64)).write(warp, env, at.space, lane, address)?;
                }
            }
        }
        Op::Mbarrier { action, at, count, dst } => {
            mbarrier(warp, env, base, lanes, (*action, at, *count, *dst))?;
        }
        _ => {}
    }
    Ok(())
}

fn value(bytes: &[u8]) -> u64 {
    let mut all = [0; 8];
    let len = bytes.len().min(8);
    all[..len].copy_from_slice(&bytes[..len]);
    u64::from_le_bytes(all)
}

/// A space without generic addresses, and the address in it.
fn resolve(space: Space, address: u64) -> (Space, u64) {
    match space {
        Space::Param if address < WINDOW_BYTES => (Space::Local, address),
        Space::Param | Space::Generic => match generic(address) {
            Generic::Global(address) => (Space::Mapped, address),
            Generic::Shared(address) => (Space::Shared, address),
            Generic::Local(address) => (Space::Local, address),
        },
        space => (space, address),
    }
}

pub fn read(
    warp: &Warp,
    env: &Env<'_>,
    space: Space,
    lane: usize,
    address: u64,
    out: &mut [u8],
) -> Result<(), Stopped> {
    let (space, address) = resolve(space, address);
    let bytes = match space {
        Space::Shared => {
            env.shared.reads_as(lane);
            env.shared.read(address, out.len())
        }
        Space::Local => warp.lanes[lane].local.read(address, out.len()),
        _ => env.memory.read(address, out.len()),
    };
    out.copy_from_slice(bytes.map_err(|fault: Fault| (lane, fault.into()))?);
    Ok(())
}

pub fn write(
    warp: &mut Warp,
    env: &mut Env<'_>,
    space: Space,
    lane: usize,
    address: u64,
    bytes: &[u8],
) -> Result<(), Stopped> {
    let (space, address) = resolve(space, address);
    let to = match space {
        Space::Shared => env.shared.write(address, bytes.len()),
        Space::Local => warp.lanes[lane].local.write(address, bytes.len()),
        _ => env.memory.write(address, bytes.len()),
    };
    to.map_err(|fault: Fault| (lane, fault.into()))?.copy_from_slice(bytes);
    Ok(())
}

/// An mbarrier object: 64 bits that only mbarrier instructions read. Pending and expected arrivals have 20 bits each, the
/// transaction count 21 and its sign, the phase one.
#[derive(Clone, Copy, Debug)]
struct Phase {
    pending: u64,
    expected: u64,
    transactions: i64,
    parity: u64,
}

impl Phase {
    fn read(
        warp: &Warp,
        env: &Env<'_>,
        space: Space,
        lane: usize,
        address: u64,
    ) -> Result<Phase, Stopped> {
        let mut bytes = [0; 8];
        read(warp, env, space, lane, address, &mut bytes)?;
        let word = u64::from_le_bytes(bytes);
        Ok(Phase {
            pending: word & mask(20),
            expected: word >> 20 & mask(20),
            transactions: sign_extend(word >> 40, 22),
            parity: word >> 62 & 1,
        })
    }

    fn word(self) -> u64 {
        self.pending
            | self.expected << 20
            | (self.transactions as u64 & mask(22)) << 40
            | self.parity << 62
    }

    fn write(
        self,
        warp: &mut Warp,
        env: &mut Env<'_>,
        space: Space,
        lane: usize,
        address: u64,
    ) -> Result<(), Stopped> {
        write(warp, env, space, lane, address, &self.word().to_le_bytes())
    }

    /// Adds to the transaction count, and completes the phase when nothing is left.
    fn transactions(mut self, change: i64) -> Phase {
        self.transactions += change;
        self.complete()
    }

    fn arrive(mut self, count: u64) -> Phase {
        self.pending = self.pending.saturating_sub(count);
        self.complete()
    }

    fn complete(mut self) -> Phase {
        if self.pending == 0 && self.transactions == 0 {
            self.pending = self.expected;
            self.parity ^= 1;
        }
        self
    }
}

fn mbarrier(
    warp: &mut Warp,
    env: &mut Env<'_>,
    base: u32,
    lanes: u32,
    (action, at, count, dst): (Mbarrier, &Address, Src, Dst),
) -> Result<(), Stopped> {
    let addresses = warp.row(at.base, base);
    let counts = warp.row(count, base);
    let mut results = [0; LANES];
    for lane in bits(lanes) {
        let count = counts[lane];
        if action == Mbarrier::PendingCount {
            results[lane] = count & mask(20);
            continue;
        }
        let address = addresses[lane].wrapping_add_signed(at.offset);
        // What is there before the initialisation means nothing.
        let old = match action {
            Mbarrier::Init => Phase { pending: 0, expected: 0, transactions: 0, parity: 0 },
            _ => Phase::read(warp, env, at.space, lane, address)?,
        };
        let new = match action {
            Mbarrier::Init => {
                let count = count & mask(20);
                Phase { pending: count, expected: count, transactions: 0, parity: 0 }
            }
            Mbarrier::Inval => Phase { pending: 0, expected: 0, transactions: 0, parity: 0 },
            Mbarrier::Arrive { drop, expect } => {
                let mut phase = old;
                let count = if expect {
                    // The count is that of the bytes to expect.
                    phase.transactions += (count & mask(32)) as i64;
                    1
                } else {
                    count & mask(32)
                };
                if drop {
                    phase.expected = phase.expected.saturating_sub(count);
                }
                results[lane] = old.word();
                phase.arrive(count)
            }
            Mbarrier::ExpectTx => {
                Phase { transactions: old.transactions + (count & mask(32)) as i64, ..old }
            }
            Mbarrier::CompleteTx => old.transactions(-((count & mask(32)) as i64)),
            Mbarrier::TestParity => {
                // The phase of that parity is complete when the barrier is in the other one.
                results[lane] = u64::from(old.parity != count & 1);
                continue;
            }
            Mbarrier::TestState | Mbarrier::PendingCount => {
                results[lane] = u64::from(old.parity != count >> 62 & 1);
                continue;
            }
        };
        new.write(warp, env, at.space, lane, address)?;
    }
    warp.write(dst, base, lanes, &results);
    Ok(())
}
