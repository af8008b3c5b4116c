//! The functions that a driver gives to every kernel: `vprintf`, `malloc`, `free` and
//! `__assertfail`.
//!
//! A cubin names them as symbols that it does not define; the loader takes [`SystemCall::address`]
//! for theirs. A jump there runs the function for each lane and goes on at the lane's return
//! address.
//!
//! The ABI, from what ptxas 13.0.88 makes of calls on sm_90a: arguments begin at R4, those of 64
//! bits at even registers; the result is in R4 (and R5); the return address is in R20 and R21. R1,
//! R2, R16 and all behind it, B6 and UR36 and theirs stay. R0, R4 to R15 and the predicates do not:
//! they are overwritten here, so that code that counts on them fails.

use super::error::Cause;
use super::exec::{Env, LaneFault};
use super::operand::{FIRST_ROW, PRED_TRUE, PredDst};
use super::warp::{Warp, poison};
use crate::memory::{Memory, MemorySpace, REGION_ALIGN, UNWRITTEN};
use crate::printf::{Arguments, format};
use rustc_hash::FxHashMap;

/// Where the functions lie: below all texts, 16 bytes apart.
const BASE: u64 = 0x7f04_ffff_0000;

/// Bytes that `malloc` gives at most: the limit that a host does not change (CUDA C++ Programming
/// Guide, "Dynamic Global Memory Allocation").
const HEAP_BYTES: u64 = 8 << 20;

/// Characters of a string at most.
const MAX_STRING: u64 = 1 << 16;

/// Text of a launch at most (bytes); what follows is lost, as it is when a device's buffer is full.
const MAX_PRINTED: usize = 64 << 20;

/// Registers that a call may change.
const SCRATCH: [u16; 13] = [0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// The first register of the return address.
const RETURN: u16 = 20;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SystemCall {
    Printf,
    Malloc,
    Free,
    AssertFail,
}

const ALL: [(SystemCall, &str); 4] = [
    (SystemCall::Printf, "vprintf"),
    (SystemCall::Malloc, "malloc"),
    (SystemCall::Free, "free"),
    (SystemCall::AssertFail, "__assertfail"),
];

impl SystemCall {
    pub fn named(name: &str) -> Option<SystemCall> {
        ALL.iter().find(|(_, n)| *n == name).map(|(call, _)| *call)
    }

    pub fn address(self) -> u64 {
        BASE + 16 * self as u64
    }

    /// The function at a code address.
    pub fn at(address: u64) -> Option<SystemCall> {
        ALL.iter().map(|(call, _)| *call).find(|call| call.address() == address)
    }
}

/// What the functions keep during a launch.
#[derive(Debug, Default)]
pub struct System {
    pub printed: Vec<u8>,
    heap: Heap,
}

/// Blocks that `malloc` gave, each a region of its own, so that an access past one is found.
#[derive(Debug, Default)]
struct Heap {
    /// Sizes by address.
    live: FxHashMap<u64, u64>,
    /// Addresses of freed blocks by size: they are given again.
    free: FxHashMap<u64, Vec<u64>>,
    bytes: u64,
}

impl Heap {
    /// The address of a new block, or 0 where there is no room.
    fn allocate(&mut self, memory: &mut Memory, size: u64) -> u64 {
        let Some(size) = size.max(1).checked_next_multiple_of(REGION_ALIGN) else { return 0 };
        if size > HEAP_BYTES - self.bytes {
            return 0;
        }
        self.bytes += size;
        let bytes = vec![UNWRITTEN; size as usize];
        let address = match self.free.get_mut(&size).and_then(Vec::pop) {
            Some(address) => {
                if let Some(region) = memory.region_mut(address) {
                    region.bytes = bytes;
                }
                address
            }
            None => memory.map("a block of the heap", MemorySpace::Global, bytes, true),
        };
        self.live.insert(address, size);
        address
    }

    /// Takes a block back; whoever uses it still finds no memory. False for an address that is no
    /// block's.
    fn release(&mut self, memory: &mut Memory, address: u64) -> bool {
        let Some(size) = self.live.remove(&address) else { return false };
        self.bytes -= size;
        if let Some(region) = memory.region_mut(address) {
            region.bytes = Vec::new();
        }
        self.free.entry(size).or_default().push(address);
        true
    }
}

fn register(warp: &Warp, index: u16, lane: usize) -> u64 {
    warp.row(FIRST_ROW + index, 0)[lane].into()
}

fn pair(warp: &Warp, index: u16, lane: usize) -> u64 {
    register(warp, index, lane) | register(warp, index + 1, lane) << 32
}

/// Runs a function for a lane and gives the address where it goes on.
pub fn call(
    env: &mut Env<'_>,
    warp: &mut Warp,
    call: SystemCall,
    registers: u32,
    lane: usize,
) -> Result<u64, LaneFault> {
    if registers < u32::from(RETURN) + 2 {
        let why = format!("a call of {call:?} with {registers} registers");
        return Err((Cause::Other(why), lane));
    }
    let result = match call {
        SystemCall::Printf => print(env, warp, lane)?,
        SystemCall::Malloc => {
            let size = pair(warp, 4, lane);
            env.system.heap.allocate(env.memory, size)
        }
        SystemCall::Free => {
            let address = pair(warp, 4, lane);
            if address != 0 && !env.system.heap.release(env.memory, address) {
                let why = format!("free of {address:#x}, which malloc did not give");
                return Err((Cause::Other(why), lane));
            }
            0
        }
        SystemCall::AssertFail => return Err((assertion(env, warp, lane)?, lane)),
    };
    let cells = match call {
        SystemCall::Malloc => 2,
        SystemCall::Printf => 1,
        _ => 0,
    };
    for index in SCRATCH {
        let kept = (4..4 + cells).contains(&index);
        let part = (result >> (32 * u64::from(index.saturating_sub(4).min(1)))) as u32;
        let value = if kept { part } else { poison(index.into()) };
        warp.row_mut(FIRST_ROW + index, 0)[lane] = value;
    }
    for index in 0..PRED_TRUE {
        // An odd pattern: neither all true nor all false.
        let bits = if index % 2 == 0 { !0 } else { 0 };
        warp.set_pred(PredDst { uniform: false, index }, 1 << lane, bits);
    }
    Ok(pair(warp, RETURN, lane))
}

/// `vprintf(format, arguments)`: how many arguments it found.
fn print(env: &mut Env<'_>, warp: &Warp, lane: usize) -> Result<u64, LaneFault> {
    let text = string(env, warp, lane, pair(warp, 4, lane))?;
    let mut arguments = Arguments::new(pair(warp, 6, lane));
    let printed = {
        let env = &*env;
        format(
            &text,
            &mut |bytes| {
                let mut all = [0; 8];
                let at = arguments.place(bytes);
                env.read_generic(warp, at, lane, &mut all[..bytes as usize])?;
                Ok(u64::from_le_bytes(all))
            },
            &mut |address| string(env, warp, lane, address),
        )?
    };
    let room = MAX_PRINTED.saturating_sub(env.system.printed.len());
    let text = &printed.text[..printed.text.len().min(room)];
    env.system.printed.extend_from_slice(text);
    Ok(printed.arguments.into())
}

/// `__assertfail(message, file, line, function, character size)`
fn assertion(env: &Env<'_>, warp: &Warp, lane: usize) -> Result<Cause, LaneFault> {
    let text = |index: u16| -> Result<String, LaneFault> {
        let bytes = string(env, warp, lane, pair(warp, index, lane))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let (message, file, function) = (text(4)?, text(6)?, text(10)?);
    let line = register(warp, 8, lane);
    Ok(Cause::Other(format!("{file}:{line}: {function}: Assertion `{message}` failed")))
}

/// The bytes at a generic address before the first zero.
fn string(env: &Env<'_>, warp: &Warp, lane: usize, address: u64) -> Result<Vec<u8>, LaneFault> {
    let mut text = Vec::new();
    for at in 0..MAX_STRING {
        let mut byte = [0];
        env.read_generic(warp, address.wrapping_add(at), lane, &mut byte)?;
        if byte[0] == 0 {
            break;
        }
        text.push(byte[0]);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_belongs_to_its_owner_until_it_is_freed() {
        let (mut memory, mut heap) = (Memory::default(), Heap::default());
        let block = heap.allocate(&mut memory, 100);
        assert!(memory.store(block + 96, 4, 1).is_ok());
        assert!(heap.release(&mut memory, block));
        assert!(!heap.release(&mut memory, block));
        assert!(memory.load(block, 4).is_err());
        assert_eq!(heap.allocate(&mut memory, 100), block);
        assert!(memory.load(block, 4).is_ok());
    }

    #[test]
    fn the_heap_ends_at_its_limit() {
        let (mut memory, mut heap) = (Memory::default(), Heap::default());
        assert_eq!(heap.allocate(&mut memory, u64::MAX), 0);
        assert_eq!(heap.allocate(&mut memory, HEAP_BYTES + 1), 0);
        assert_ne!(heap.allocate(&mut memory, HEAP_BYTES), 0);
        assert_eq!(heap.allocate(&mut memory, 1), 0);
    }

    #[test]
    fn functions_have_addresses_of_their_own() {
        for (call, name) in ALL {
            assert_eq!(SystemCall::named(name), Some(call));
            assert_eq!(SystemCall::at(call.address()), Some(call));
        }
        assert_eq!(SystemCall::named("memcpy"), None);
        assert_eq!(SystemCall::at(BASE + 8), None);
    }
}
