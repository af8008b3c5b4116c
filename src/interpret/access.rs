//! Where an address points, and reading and writing there.

use super::env::Env;
use super::error::StepError;
use super::operand::{OFFSET, RANK_SHIFT, Space};
use super::warp::Warp;
use orias_targets::memory::{Fault, Generic, WINDOW_BYTES, generic};

/// What stopped a lane.
pub type Stopped = (usize, StepError);

/// The memory that an access goes to, and the address in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    Mapped(u64),
    /// Of the block with this rank in the cluster.
    Shared(usize, u64),
    Local(u64),
}

/// The memory behind an address of a space, for a block of this rank.
pub fn resolve(space: Space, address: u64, rank: usize) -> Target {
    match space {
        Space::Mapped => Target::Mapped(address),
        Space::Local => Target::Local(address),
        // An address without a rank, or with the block's own; any other one is outside.
        Space::Shared if address >> RANK_SHIFT == rank as u64 => {
            Target::Shared(rank, address & OFFSET)
        }
        Space::Shared => Target::Shared(rank, address),
        Space::Cluster => cluster(address),
        Space::Param if address < WINDOW_BYTES => Target::Local(address),
        Space::Param | Space::Generic => match generic(address) {
            Generic::Global(address) => Target::Mapped(address),
            Generic::Shared(address) => cluster(address),
            Generic::Local(address) => Target::Local(address),
        },
    }
}

fn cluster(address: u64) -> Target {
    Target::Shared((address >> RANK_SHIFT) as usize, address & OFFSET)
}

/// Reads what stands at an address of a space, for a lane.
///
/// # Errors
/// When no memory is there, or not aligned.
pub fn read(
    warp: &Warp,
    env: &Env<'_>,
    space: Space,
    lane: usize,
    address: u64,
    out: &mut [u8],
) -> Result<(), Stopped> {
    read_at(warp, env, lane, resolve(space, address, env.rank), out)
}

/// Writes at an address of a space, for a lane.
///
/// # Errors
/// When no memory is there, not aligned, or not writable.
pub fn write(
    warp: &mut Warp,
    env: &mut Env<'_>,
    space: Space,
    lane: usize,
    address: u64,
    bytes: &[u8],
) -> Result<(), Stopped> {
    write_at(warp, env, lane, resolve(space, address, env.rank), bytes)
}

/// [`read`] where the address leads.
///
/// # Errors
/// As [`read`].
pub fn read_at(
    warp: &Warp,
    env: &Env<'_>,
    lane: usize,
    target: Target,
    out: &mut [u8],
) -> Result<(), Stopped> {
    let bytes = match target {
        Target::Mapped(address) => env.memory.read(address, out.len()),
        Target::Local(address) => warp.lanes[lane].local.read(address, out.len()),
        Target::Shared(rank, address) => match env.shared.get(rank) {
            Some(shared) => {
                shared.reads_as(lane);
                shared.read(address, out.len())
            }
            None => return Err((lane, StepError::Rank(rank))),
        },
    };
    out.copy_from_slice(bytes.map_err(|fault: Fault| (lane, fault.into()))?);
    Ok(())
}

/// [`write`] where the address leads.
///
/// # Errors
/// As [`write`].
pub fn write_at(
    warp: &mut Warp,
    env: &mut Env<'_>,
    lane: usize,
    target: Target,
    bytes: &[u8],
) -> Result<(), Stopped> {
    let to = match target {
        Target::Mapped(address) => env.memory.write(address, bytes.len()),
        Target::Local(address) => warp.lanes[lane].local.write(address, bytes.len()),
        Target::Shared(rank, address) => match env.shared.get_mut(rank) {
            Some(shared) => shared.write(address, bytes.len()),
            None => return Err((lane, StepError::Rank(rank))),
        },
    };
    to.map_err(|fault: Fault| (lane, fault.into()))?.copy_from_slice(bytes);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use orias_targets::memory::{LOCAL_WINDOW, SHARED_WINDOW};

    #[test]
    fn shared_addresses_carry_the_rank_of_their_block() {
        assert_eq!(resolve(Space::Shared, 0x400, 2), Target::Shared(2, 0x400));
        assert_eq!(resolve(Space::Shared, 0x200_0400, 2), Target::Shared(2, 0x400));
        assert_eq!(resolve(Space::Shared, 0x100_0400, 2), Target::Shared(2, 0x100_0400));
        assert_eq!(resolve(Space::Cluster, 0x100_0400, 2), Target::Shared(1, 0x400));
        assert_eq!(resolve(Space::Cluster, 0x400, 2), Target::Shared(0, 0x400));
        let generic = SHARED_WINDOW + 0x100_0400;
        assert_eq!(resolve(Space::Generic, generic, 2), Target::Shared(1, 0x400));
        assert_eq!(resolve(Space::Param, 8, 0), Target::Local(8));
        assert_eq!(resolve(Space::Generic, LOCAL_WINDOW + 8, 0), Target::Local(8));
    }
}
