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

use crate::memory::{Memory, MemorySpace, REGION_ALIGN, UNWRITTEN};
use rustc_hash::FxHashMap;

/// Where the functions lie: below all texts, 16 bytes apart.
const BASE: u64 = 0x7f04_ffff_0000;

/// Bytes that `malloc` gives at most: the limit that a host does not change (CUDA C++ Programming
/// Guide, "Dynamic Global Memory Allocation").
const HEAP_BYTES: u64 = 8 << 20;

/// A function of the system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SystemCall {
    /// `vprintf(format, arguments)`: gives how many arguments it found.
    Printf,
    /// `malloc(size)`: an address in global memory, or 0.
    Malloc,
    /// `free(address)`
    Free,
    /// `__assertfail(…)`: ends the launch.
    AssertFail,
}

const ALL: [(SystemCall, &str); 4] = [
    (SystemCall::Printf, "vprintf"),
    (SystemCall::Malloc, "malloc"),
    (SystemCall::Free, "free"),
    (SystemCall::AssertFail, "__assertfail"),
];

impl SystemCall {
    /// The function that a cubin's symbol names.
    pub fn named(name: &str) -> Option<SystemCall> {
        ALL.iter().find(|(_, n)| *n == name).map(|(call, _)| *call)
    }

    /// Where a loader puts it: a code address below all texts.
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
    pub heap: Heap,
}

/// Blocks that `malloc` gave, each a region of its own, so that an access past one is found.
#[derive(Debug, Default)]
pub struct Heap {
    /// Sizes by address.
    live: FxHashMap<u64, u64>,
    /// Addresses of freed blocks by size: they are given again.
    free: FxHashMap<u64, Vec<u64>>,
    bytes: u64,
}

impl Heap {
    /// The address of a new block, or 0 where there is no room.
    pub fn allocate(&mut self, memory: &mut Memory, size: u64) -> u64 {
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
    pub fn release(&mut self, memory: &mut Memory, address: u64) -> bool {
        let Some(size) = self.live.remove(&address) else { return false };
        self.bytes -= size;
        if let Some(region) = memory.region_mut(address) {
            region.bytes = Vec::new();
        }
        self.free.entry(size).or_default().push(address);
        true
    }
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
