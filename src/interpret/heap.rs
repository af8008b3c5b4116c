//! The heap of device memory that `malloc` and `free` work on.

use orias_targets::memory::MemorySpace;

/// Bytes that `malloc` gives at most: the heap of a device unless its host asks for more (CUDA C++
/// Programming Guide, "Dynamic Global Memory Allocation").
pub const HEAP: u64 = 8 << 20;

/// Blocks of device memory that `malloc` gave, each a region of its own; those that were freed are
/// given again.
#[derive(Default)]
pub struct Heap {
    blocks: Vec<HeapBlock>,
    bytes: u64,
}

/// One block of the heap.
pub struct HeapBlock {
    /// In global memory.
    pub address: u64,
    /// Bytes, a power of two.
    pub size: u64,
    /// Freed: it may be given again.
    pub free: bool,
}

impl Heap {
    /// The address of `size` zero bytes; 0 when the heap has no more.
    pub fn allocate(&mut self, memory: &mut orias_targets::memory::Memory, size: u64) -> u64 {
        // Sizes in steps, so that a freed block fits again.
        let size = size.max(1).checked_next_power_of_two().unwrap_or(u64::MAX);
        if let Some(block) = self.blocks.iter_mut().find(|b| b.free && b.size == size) {
            block.free = false;
            return block.address;
        }
        if size > HEAP - self.bytes {
            return 0;
        }
        self.bytes += size;
        let bytes = vec![0; size as usize];
        let address = memory.map("a block of the heap", MemorySpace::Global, bytes, true);
        self.blocks.push(HeapBlock { address, size, free: false });
        address
    }

    /// False for an address that `malloc` did not give, or that was freed already.
    pub fn free(&mut self, address: u64) -> bool {
        let block = self.blocks.iter_mut().find(|b| !b.free && b.address == address);
        block.map(|block| block.free = true).is_some()
    }
}
