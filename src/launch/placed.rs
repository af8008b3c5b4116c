//! Where the buffers of a launch are in device memory.

use orias_targets::memory::Memory;

/// The addresses of a launch's buffers in device memory.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Placed {
    /// For each argument its buffer's address.
    addresses: Vec<Option<u64>>,
}

impl Placed {
    /// Buffers at these addresses: for each argument that of its buffer.
    pub fn new(addresses: Vec<Option<u64>>) -> Placed {
        Placed { addresses }
    }

    /// The address that argument `index` passes, if it is a buffer.
    pub fn address(&self, index: usize) -> Option<u64> {
        self.addresses.get(index).copied().flatten()
    }

    /// Takes the buffers' contents out of device memory, in argument order.
    pub fn collect(&self, memory: &mut Memory) -> Vec<Vec<u8>> {
        let bases = self.addresses.iter().flatten();
        bases
            .map(|base| memory.region_mut(*base).map(|r| std::mem::take(&mut r.bytes)))
            .map(Option::unwrap_or_default)
            .collect()
    }
}
