//! Bulk copies: `cp.async.bulk`, with a reduction or to several blocks of a cluster (PTX ISA 9.0,
//! "Data Movement and Conversion Instructions: Bulk copy"). Each lane that executes one copies; the
//! copy is done at once.

use super::access::{Stopped, read_at, resolve, write_at};
use super::env::Env;
use super::error::StepError;
use super::integer::mask;
use super::mbarrier;
use super::operand::RANK_SHIFT;
use super::operand::{Address, Src, Ternary};
use super::warp::{Warp, bits};

/// Size and alignment are multiples of this (bytes).
const UNIT: u64 = 16;

/// Does a bulk copy for some lanes.
///
/// # Errors
/// When an access fails, or a size is no multiple of 16 bytes.
pub fn execute(
    warp: &mut Warp,
    env: &mut Env<'_>,
    bulk: &Bulk,
    base: u32,
    lanes: u32,
) -> Result<(), Stopped> {
    let targets = warp.row(bulk.to.base, base);
    let origins = warp.row(bulk.from.base, base);
    let sizes = warp.row(bulk.bytes, base);
    let barriers = bulk.complete.map(|at| (at, warp.row(at.base, base)));
    let masks = bulk.multicast.map(|src| warp.row(src, base));
    for lane in bits(lanes) {
        let size = sizes[lane] & mask(32);
        if !size.is_multiple_of(UNIT) {
            return Err((lane, StepError::BulkSize(size)));
        }
        let target = targets[lane].wrapping_add_signed(bulk.to.offset);
        let origin = origins[lane].wrapping_add_signed(bulk.from.offset);
        let barrier =
            barriers.map(|(at, row)| (at.space, row[lane].wrapping_add_signed(at.offset)));
        for to in receivers(masks.map(|row| row[lane]), target) {
            copy(warp, env, lane, bulk, (to, origin, size))?;
        }
        if let Some((space, address)) = barrier {
            for at in receivers(masks.map(|row| row[lane]), address) {
                mbarrier::transferred(warp, env, space, lane, at, size)?;
            }
        }
    }
    Ok(())
}

/// The same place of each block that a multicast names; otherwise the place itself.
pub fn receivers(multicast: Option<u64>, address: u64) -> Vec<u64> {
    match multicast {
        None => vec![address],
        Some(ranks) => bits(ranks as u32 & 0xffff)
            .map(|rank| address & !(0xff << RANK_SHIFT) | (rank as u64) << RANK_SHIFT)
            .collect(),
    }
}

fn copy(
    warp: &mut Warp,
    env: &mut Env<'_>,
    lane: usize,
    bulk: &Bulk,
    (to, from, size): (u64, u64, u64),
) -> Result<(), Stopped> {
    for i in (0..size).step_by(UNIT as usize) {
        let mut bytes = [0u8; UNIT as usize];
        let source = resolve(bulk.from.space, from.wrapping_add(i), env.rank);
        read_at(warp, env, lane, source, &mut bytes)?;
        let target = resolve(bulk.to.space, to.wrapping_add(i), env.rank);
        if let Some((element, f)) = &bulk.reduce {
            let mut old = [0u8; UNIT as usize];
            read_at(warp, env, lane, target, &mut old)?;
            combine(&mut bytes, &old, *element as usize, f);
        }
        write_at(warp, env, lane, target, &bytes)?;
    }
    Ok(())
}

/// What a reduction makes of `old` and what comes, which it replaces.
pub fn combine(come: &mut [u8], old: &[u8], element: usize, f: &super::operand::Ternary) {
    for (come, old) in come.chunks_exact_mut(element).zip(old.chunks_exact(element)) {
        let number = |bytes: &[u8]| {
            let mut all = [0; 8];
            all[..element].copy_from_slice(bytes);
            u64::from_le_bytes(all)
        };
        let new = f(number(old), number(come), 0);
        come.copy_from_slice(&new.to_le_bytes()[..element]);
    }
}

/// `cp.async.bulk` and `cp.reduce.async.bulk`.
pub struct Bulk {
    /// Where the bytes go.
    pub to: Address,
    /// Where they come from.
    pub from: Address,
    /// A multiple of 16.
    pub bytes: Src,
    /// The mbarrier that gets the bytes as transactions.
    pub complete: Option<Address>,
    /// The blocks of the cluster that get a copy, one bit each.
    pub multicast: Option<Src>,
    /// Bytes of an element, and its new value of the old one and what comes.
    pub reduce: Option<(u32, Ternary)>,
}
