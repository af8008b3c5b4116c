//! Memory instructions: each lane's loads, stores, atomics and small asynchronous copies.
//! Asynchronous ones are done at once.

use super::access::{Stopped, Target, read, read_at, resolve, write, write_at};
use super::code::{Atomic, Op};
use super::env::Env;
use super::integer::{mask, sign_extend};
use super::mbarrier;
use super::operand::{Address, Row, Src};
use super::warp::{Warp, bits};

/// The largest access of one instruction and thread: `.v8.b32` (bytes).
const MAX_ACCESS: usize = 32;

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
        Op::Store { at, bytes, src, complete } => {
            let addresses = warp.row(at.base, base);
            let rows: Vec<_> = src.iter().map(|src| warp.row(*src, base)).collect();
            let barriers = complete.map(|at| (at, warp.row(at.base, base)));
            let mut buffer = [0u8; MAX_ACCESS];
            let total = (*bytes as usize * rows.len()).min(MAX_ACCESS);
            for lane in bits(lanes) {
                for (element, row) in buffer.chunks_exact_mut(*bytes as usize).zip(&rows) {
                    element.copy_from_slice(&row[lane].to_le_bytes()[..*bytes as usize]);
                }
                let address = addresses[lane].wrapping_add_signed(at.offset);
                write(warp, env, at.space, lane, address, &buffer[..total])?;
                complete_lane(warp, env, lane, barriers.as_ref(), total as u64)?;
            }
        }
        Op::Atomic(atomic) => atomics(warp, env, atomic, base, lanes)?,
        Op::Atomic128 { at, dst, compare, new } => {
            let addresses = warp.row(at.base, base);
            let new = new.map(|src| warp.row(src, base));
            let compare = compare.map(|pair| pair.map(|src| warp.row(src, base)));
            for lane in bits(lanes) {
                let address = addresses[lane].wrapping_add_signed(at.offset);
                let mut old = [0u8; 16];
                read(warp, env, at.space, lane, address, &mut old)?;
                let words = [value(&old[..8]), value(&old[8..])];
                if compare.as_ref().is_none_or(|pair| pair.each_ref().map(|row| row[lane]) == words)
                {
                    let mut bytes = [0u8; 16];
                    bytes[..8].copy_from_slice(&new[0][lane].to_le_bytes());
                    bytes[8..].copy_from_slice(&new[1][lane].to_le_bytes());
                    write(warp, env, at.space, lane, address, &bytes)?;
                }
                for (dst, word) in dst.iter().zip(words) {
                    warp.rows[(base + dst.slot.0) as usize][lane] = word & dst.mask;
                }
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
        Op::Mbarrier { action, at, count, dst } => {
            mbarrier::execute(warp, env, base, lanes, (*action, at, *count, *dst))?;
        }
        _ => {}
    }
    Ok(())
}

fn atomics(
    warp: &mut Warp,
    env: &mut Env<'_>,
    atomic: &Atomic,
    base: u32,
    lanes: u32,
) -> Result<(), Stopped> {
    let Atomic { at, bytes, f, in_shared, dst, b, c, complete } = atomic;
    let addresses = warp.row(at.base, base);
    let rows: Vec<_> = b.iter().map(|src| warp.row(*src, base)).collect();
    let c = warp.row(*c, base);
    let barriers = complete.map(|at| (at, warp.row(at.base, base)));
    let size = *bytes as usize;
    let total = (size * rows.len()).min(MAX_ACCESS);
    let mut buffer = [0u8; MAX_ACCESS];
    for lane in bits(lanes) {
        let address = addresses[lane].wrapping_add_signed(at.offset);
        let target = resolve(at.space, address, env.rank);
        let f = match (target, in_shared) {
            (Target::Shared(..), Some(f)) => f,
            _ => f,
        };
        read_at(warp, env, lane, target, &mut buffer[..total])?;
        for (i, (element, row)) in buffer.chunks_exact_mut(size).zip(&rows).enumerate() {
            let old = value(element);
            let new = f(old, row[lane] & mask(bytes * 8), c[lane]);
            element.copy_from_slice(&new.to_le_bytes()[..size]);
            if let Some(dst) = dst.get(i) {
                warp.rows[(base + dst.slot.0) as usize][lane] = old & dst.mask;
            }
        }
        write_at(warp, env, lane, target, &buffer[..total])?;
        complete_lane(warp, env, lane, barriers.as_ref(), total as u64)?;
    }
    Ok(())
}

/// Tells a lane's mbarrier, if there is one, that bytes have come.
fn complete_lane(
    warp: &mut Warp,
    env: &mut Env<'_>,
    lane: usize,
    barriers: Option<&(Address, Row)>,
    bytes: u64,
) -> Result<(), Stopped> {
    let Some((at, row)) = barriers else { return Ok(()) };
    let address = row[lane].wrapping_add_signed(at.offset);
    mbarrier::transferred(warp, env, at.space, lane, address, bytes)
}

fn value(bytes: &[u8]) -> u64 {
    let mut all = [0; 8];
    let len = bytes.len().min(8);
    all[..len].copy_from_slice(&bytes[..len]);
    u64::from_le_bytes(all)
}
