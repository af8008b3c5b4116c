//! Device memory as both engines see it: the PTX interpreter and the SASS simulator.
//!
//! Memory is a set of [`Region`]s with unmapped gaps between them. What holds: every access lies
//! inside one region and at a multiple of its size, or it is a [`Fault`]; addresses depend only on
//! the order and sizes of the `map` calls.

use crate::misuse::{Misuse, Written};
use std::cell::Cell;

pub use crate::space::MemorySpace;

/// Where the first region's middle lies. Regions are placed around multiples of 4 GiB, so that they
/// have different high words and most of them cross a carry from the low to the high word: a lost
/// carry in address arithmetic shows.
const FIRST_LINE: u64 = 0x7f20_0000_0000;

/// Distance between the lines: leaves a gap of more than 4 GiB around regions smaller than that.
const LINE_STEP: u64 = 0x3_0000_0000;

/// The alignment of every region (bytes).
pub const REGION_ALIGN: u64 = 256;

/// Generic addresses of the shared window: window + shared address. Windows are 4 GiB, and 4 GiB
/// aligned.
pub const SHARED_WINDOW: u64 = 0x7f01_0000_0000;

/// Generic addresses of a thread's local memory: window + local address.
pub const LOCAL_WINDOW: u64 = 0x7f03_0000_0000;

/// The size of both windows (bytes).
pub const WINDOW_BYTES: u64 = 1 << 32;

/// The part of shared memory that the system keeps on sm_90: user variables begin here (observed:
/// ptxas 13.0.88 adds 0x400).
pub const SHARED_RESERVED: u64 = 0x400;

/// What a byte of shared memory holds before it is written: a program that reads it shows it.
pub const UNWRITTEN: u8 = 0xa5;

/// Where a generic address points.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Generic {
    /// An address in global memory.
    Global(u64),
    /// Offset in the shared window.
    Shared(u64),
    /// Offset in the thread's local window.
    Local(u64),
}

/// Splits a generic address by window.
pub fn generic(address: u64) -> Generic {
    if address & !(WINDOW_BYTES - 1) == SHARED_WINDOW {
        Generic::Shared(address - SHARED_WINDOW)
    } else if address & !(WINDOW_BYTES - 1) == LOCAL_WINDOW {
        Generic::Local(address - LOCAL_WINDOW)
    } else {
        Generic::Global(address)
    }
}

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessKind {
    /// It reads.
    Read,
    /// It writes; so do atomics.
    Write,
}

/// An access that the device would not do.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Fault {
    /// It lies in no region, or past the end of one.
    #[error("out-of-bounds {} of {size} bytes at {space} address {address:#x}{near}", verb(*.access))]
    OutOfBounds {
        /// The memory that was meant.
        space: MemorySpace,
        /// Whether it reads or writes.
        access: AccessKind,
        /// The address in its space.
        address: u64,
        /// Bytes.
        size: u64,
        /// Where the nearest region is, for the message; may be empty.
        near: String,
    },
    /// Its address is no multiple of its size.
    #[error("misaligned {} of {size} bytes at {space} address {address:#x}", verb(*.access))]
    Misaligned {
        /// The memory that was meant.
        space: MemorySpace,
        /// Whether it reads or writes.
        access: AccessKind,
        /// The address in its space.
        address: u64,
        /// Bytes.
        size: u64,
    },
    /// It writes to a region that may only be read.
    #[error("write of {size} bytes to read-only {region} at {space} address {address:#x}")]
    ReadOnly {
        /// The memory that was meant.
        space: MemorySpace,
        /// The address in its space.
        address: u64,
        /// Bytes.
        size: u64,
        /// The region's name.
        region: String,
    },
}

fn verb(access: AccessKind) -> &'static str {
    match access {
        AccessKind::Read => "read",
        AccessKind::Write => "write",
    }
}

/// A run of mapped bytes.
#[derive(Clone, Debug)]
pub struct Region {
    /// What it is, for messages: `buffer 2`, `table`, `shared memory`.
    pub name: String,
    /// The memory that it is a part of.
    pub space: MemorySpace,
    /// The address of its first byte.
    pub base: u64,
    /// What it holds; its length is the region's.
    pub bytes: Vec<u8>,
    /// Whether the program may write to it.
    pub writable: bool,
    /// Where reads of what nobody has written are looked for.
    pub written: Option<Box<Written>>,
}

impl Region {
    /// A writable region.
    pub fn new(name: impl Into<String>, space: MemorySpace, base: u64, bytes: Vec<u8>) -> Region {
        Region { name: name.into(), space, base, bytes, writable: true, written: None }
    }

    /// Looks for reads of what nobody has written, from now on; so far nothing is.
    pub fn track_writes(&mut self) {
        self.written = Some(Box::new(Written::none(self.bytes.len())));
    }

    /// Says which lane does the reads that follow.
    #[inline]
    pub fn reads_as(&self, lane: usize) {
        if let Some(written) = &self.written {
            written.reads_as(lane);
        }
    }

    /// The first read of unwritten bytes since the last call, with its lane.
    pub fn take_unwritten(&self) -> Option<(usize, Misuse)> {
        let missed = self.written.as_ref()?.take()?;
        let address = self.base + missed.at as u64;
        let misuse = Misuse::Uninitialised { space: self.space, address, bytes: missed.bytes };
        Some((missed.reader, misuse))
    }

    /// Keeps the first `keep` bytes and makes the region `len` bytes long, the new ones zero and
    /// unwritten.
    pub fn resize(&mut self, keep: usize, len: usize) {
        self.bytes.truncate(keep);
        self.bytes.resize(len, 0);
        if let Some(written) = &mut self.written {
            written.cut(keep);
            written.grow(len);
        }
    }

    /// True when all of `address .. address + size` is here.
    #[inline]
    pub fn contains(&self, address: u64, size: u64) -> bool {
        match address.checked_sub(self.base) {
            Some(offset) => {
                let len = self.bytes.len() as u64;
                offset <= len && size <= len - offset
            }
            None => false,
        }
    }

    #[inline]
    fn check(&self, access: AccessKind, address: u64, size: u64) -> Result<usize, Fault> {
        if !self.contains(address, size) {
            return Err(self.outside(access, address, size));
        }
        if size.is_power_of_two() && address & (size - 1) != 0 {
            return Err(Fault::Misaligned { space: self.space, access, address, size });
        }
        self.check_range(access, address, size)?;
        Ok((address - self.base) as usize)
    }

    /// Whether an access of any alignment is possible.
    #[inline]
    pub fn check_range(&self, access: AccessKind, address: u64, size: u64) -> Result<(), Fault> {
        if !self.contains(address, size) {
            return Err(self.outside(access, address, size));
        }
        if access == AccessKind::Write && !self.writable {
            let region = self.name.clone();
            return Err(Fault::ReadOnly { space: self.space, address, size, region });
        }
        Ok(())
    }

    /// The bytes of one read of any alignment.
    pub fn read_range(&self, address: u64, size: usize) -> Result<&[u8], Fault> {
        self.check_range(AccessKind::Read, address, size as u64)?;
        let at = (address - self.base) as usize;
        if let Some(written) = &self.written {
            written.look(at, size);
        }
        Ok(&self.bytes[at..at + size])
    }

    /// The bytes of one write of any alignment.
    pub fn write_range(&mut self, address: u64, size: usize) -> Result<&mut [u8], Fault> {
        self.check_range(AccessKind::Write, address, size as u64)?;
        let at = (address - self.base) as usize;
        if let Some(written) = &mut self.written {
            written.mark(at, size);
        }
        Ok(&mut self.bytes[at..at + size])
    }

    #[cold]
    fn outside(&self, access: AccessKind, address: u64, size: u64) -> Fault {
        let near = describe(self, address);
        Fault::OutOfBounds { space: self.space, access, address, size, near }
    }

    /// The bytes of one naturally aligned read. A size that is not a power of two (the whole of a
    /// block copy) is not checked for alignment.
    #[inline]
    pub fn read(&self, address: u64, size: usize) -> Result<&[u8], Fault> {
        let at = self.check(AccessKind::Read, address, size as u64)?;
        if let Some(written) = &self.written {
            written.look(at, size);
        }
        Ok(&self.bytes[at..at + size])
    }

    /// The bytes of one naturally aligned write.
    #[inline]
    pub fn write(&mut self, address: u64, size: usize) -> Result<&mut [u8], Fault> {
        let at = self.check(AccessKind::Write, address, size as u64)?;
        if let Some(written) = &mut self.written {
            written.mark(at, size);
        }
        Ok(&mut self.bytes[at..at + size])
    }

    /// A little-endian value of 1, 2, 4 or 8 bytes, zero-extended.
    #[inline]
    pub fn load(&self, address: u64, size: usize) -> Result<u64, Fault> {
        Ok(little(self.read(address, size)?))
    }

    /// Stores the low `size` (1, 2, 4 or 8) bytes of a value.
    #[inline]
    pub fn store(&mut self, address: u64, size: usize, value: u64) -> Result<(), Fault> {
        let to = self.write(address, size)?;
        to.copy_from_slice(&value.to_le_bytes()[..size]);
        Ok(())
    }
}

#[inline]
fn little(bytes: &[u8]) -> u64 {
    match *bytes {
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_le_bytes([a, b])),
        [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
        _ => {
            let mut all = [0; 8];
            let len = bytes.len().min(8);
            all[..len].copy_from_slice(&bytes[..len]);
            u64::from_le_bytes(all)
        }
    }
}

fn describe(region: &Region, address: u64) -> String {
    let end = region.base + region.bytes.len() as u64;
    let (name, size) = (&region.name, region.bytes.len());
    if address < region.base {
        format!(" ({} bytes before {name} of {size} bytes)", region.base - address)
    } else if address < end {
        format!(" (crosses the end of {name} of {size} bytes, at offset {})", address - region.base)
    } else {
        format!(" ({} bytes past the end of {name} of {size} bytes)", address - end)
    }
}

/// Global memory: buffers, module globals and constants, each in its own region.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// In the order of the `map` calls, which is the order of addresses.
    regions: Vec<Region>,
    next_line: u64,
    /// The region of the last access: most accesses follow one to the same buffer.
    last: Cell<usize>,
}

impl Memory {
    /// Maps a new region behind all others, with a gap of more than 4 GiB, and returns its base:
    /// 256-byte aligned and dependent only on the sizes mapped before.
    pub fn map(
        &mut self,
        name: impl Into<String>,
        space: MemorySpace,
        bytes: Vec<u8>,
        writable: bool,
    ) -> u64 {
        let size = bytes.len() as u64;
        let half = (size / 2).next_multiple_of(REGION_ALIGN);
        let line = self.next_line.max(FIRST_LINE) + (half >> 32 << 32);
        let base = line - half;
        self.next_line = line + ((size - half.min(size)) >> 32 << 32) + LINE_STEP;
        self.regions.push(Region {
            name: name.into(),
            space,
            base,
            bytes,
            writable,
            written: None,
        });
        base
    }

    /// The region that starts at `base`.
    pub fn region(&self, base: u64) -> Option<&Region> {
        self.regions.iter().find(|r| r.base == base)
    }

    /// The same, for changes.
    pub fn region_mut(&mut self, base: u64) -> Option<&mut Region> {
        self.regions.iter_mut().find(|r| r.base == base)
    }

    #[inline]
    fn find(&self, access: AccessKind, address: u64, size: u64) -> Result<usize, Fault> {
        let last = self.last.get();
        if self.regions.get(last).is_some_and(|r| r.contains(address, size)) {
            return Ok(last);
        }
        let after = self.regions.partition_point(|r| r.base <= address);
        if let Some(at) = after.checked_sub(1)
            && self.regions[at].contains(address, size)
        {
            self.last.set(at);
            return Ok(at);
        }
        Err(self.unmapped(access, address, size))
    }

    #[cold]
    fn unmapped(&self, access: AccessKind, address: u64, size: u64) -> Fault {
        let distance = |r: &&Region| {
            let end = r.base + r.bytes.len() as u64;
            if address < r.base { r.base - address } else { address.saturating_sub(end) }
        };
        let near = self.regions.iter().min_by_key(distance);
        let near = match near {
            Some(r) if distance(&r) < WINDOW_BYTES => describe(r, address),
            _ => String::new(),
        };
        Fault::OutOfBounds { space: MemorySpace::Global, access, address, size, near }
    }

    /// See [`Region::read`].
    #[inline]
    pub fn read(&self, address: u64, size: usize) -> Result<&[u8], Fault> {
        let at = self.find(AccessKind::Read, address, size as u64)?;
        self.regions[at].read(address, size)
    }

    /// See [`Region::write`].
    #[inline]
    pub fn write(&mut self, address: u64, size: usize) -> Result<&mut [u8], Fault> {
        let at = self.find(AccessKind::Write, address, size as u64)?;
        self.regions[at].write(address, size)
    }

    /// See [`Region::check_range`].
    pub fn check(&self, access: AccessKind, address: u64, size: u64) -> Result<(), Fault> {
        let at = self.find(access, address, size)?;
        self.regions[at].check_range(access, address, size)
    }

    /// See [`Region::read_range`].
    pub fn read_range(&self, address: u64, size: usize) -> Result<&[u8], Fault> {
        let at = self.find(AccessKind::Read, address, size as u64)?;
        self.regions[at].read_range(address, size)
    }

    /// See [`Region::write_range`].
    pub fn write_range(&mut self, address: u64, size: usize) -> Result<&mut [u8], Fault> {
        let at = self.find(AccessKind::Write, address, size as u64)?;
        self.regions[at].write_range(address, size)
    }

    /// See [`Region::load`].
    #[inline]
    pub fn load(&self, address: u64, size: usize) -> Result<u64, Fault> {
        Ok(little(self.read(address, size)?))
    }

    /// See [`Region::store`].
    #[inline]
    pub fn store(&mut self, address: u64, size: usize, value: u64) -> Result<(), Fault> {
        let at = self.find(AccessKind::Write, address, size as u64)?;
        self.regions[at].store(address, size, value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> (Memory, u64, u64) {
        let mut memory = Memory::default();
        let a = memory.map("buffer 0", MemorySpace::Global, vec![7; 4096], true);
        let b = memory.map("buffer 1", MemorySpace::Global, vec![0; 20], false);
        (memory, a, b)
    }

    #[test]
    fn regions_are_aligned_far_apart_and_always_at_the_same_address() {
        let (_, a, b) = two();
        assert_eq!((a % REGION_ALIGN, b % REGION_ALIGN), (0, 0));
        assert!(b - (a + 4096) > WINDOW_BYTES);
        assert_eq!((a, b), (two().1, two().2));
        // The larger one crosses a multiple of 4 GiB.
        assert_ne!(a >> 32, (a + 4095) >> 32);
    }

    #[test]
    fn values_are_little_endian_and_zero_extended() {
        let (mut memory, a, _) = two();
        memory.store(a + 8, 8, 0x8877_6655_4433_2211).unwrap();
        assert_eq!(memory.load(a + 8, 4).unwrap(), 0x4433_2211);
        assert_eq!(memory.load(a + 15, 1).unwrap(), 0x88);
        assert_eq!(memory.load(a + 16, 2).unwrap(), 0x0707);
    }

    #[test]
    fn an_access_outside_is_a_fault_that_names_the_nearest_region() {
        let (memory, a, b) = two();
        let text = memory.load(a + 4096, 4).unwrap_err().to_string();
        assert_eq!(
            text,
            format!(
                "out-of-bounds read of 4 bytes at global address {:#x} (0 bytes past the end of buffer 0 of 4096 bytes)",
                a + 4096
            )
        );
        // The last byte of 20: a 4-byte read at 16 fits, a 8-byte read does not.
        assert!(memory.load(b + 16, 4).is_ok());
        assert!(memory.read(b + 16, 8).unwrap_err().to_string().contains("crosses the end"));
        assert!(memory.load(0, 4).unwrap_err().to_string().ends_with("address 0x0"));
        assert!(memory.load(u64::MAX, 1).is_err());
    }

    #[test]
    fn misaligned_and_read_only_accesses_are_faults() {
        let (mut memory, a, b) = two();
        assert!(matches!(memory.load(a + 2, 4), Err(Fault::Misaligned { size: 4, .. })));
        assert!(matches!(memory.store(b, 4, 1), Err(Fault::ReadOnly { .. })));
    }

    #[test]
    fn generic_addresses_split_by_window() {
        assert_eq!(generic(SHARED_WINDOW + 5), Generic::Shared(5));
        assert_eq!(generic(LOCAL_WINDOW + WINDOW_BYTES - 1), Generic::Local(WINDOW_BYTES - 1));
        assert_eq!(generic(FIRST_LINE), Generic::Global(FIRST_LINE));
    }
}
