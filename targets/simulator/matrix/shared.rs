//! Matrices in shared memory, as the descriptors of warpgroup products say (PTX ISA 9.0, "Matrix
//! descriptor format" and "Strides").

use super::number::Element;
use crate::memory::{Fault, Region, SHARED_RESERVED};
use crate::simulator::address::RANK_BYTES;

/// Bytes that stand together whatever the layout is.
const UNIT: usize = 16;

/// Bytes of shared memory that a descriptor can name.
const REACH: u64 = 1 << 18;

/// What the part of shared memory that the system keeps gives. ptxas -O0 emits products of the
/// matrices at address 0, whose result nothing uses, for groups of products that are empty.
const SYSTEM: [u8; UNIT] = [0xa5; UNIT];

/// A 64-bit matrix descriptor.
///
/// Rows of a matrix (columns of B) that are contiguous along k are in groups of eight, `stride`
/// apart; `leading` apart are pieces along k as wide as the swizzle, or 16 bytes without one.
/// Matrices that are contiguous along the other dimension (transposed) are in the same pieces:
/// eight steps of k are one group, and groups along k are `stride` apart and pieces along the rows
/// `leading`, but without swizzle it is the other way round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Descriptor {
    start: u64,
    leading: u64,
    stride: u64,
    /// Of the swizzle's pattern: the 128-byte line in its 1024 bytes that it begins at.
    base: u64,
    /// Bytes of a row in the pattern: 16 without swizzle, 32, 64 or 128.
    width: usize,
}

impl Descriptor {
    pub fn new(bits: u64) -> Descriptor {
        // 14 bits that count 16 bytes.
        let field = |at: u32| (bits >> at & 0x3fff) << 4;
        Descriptor {
            start: field(0),
            leading: field(16),
            stride: field(32),
            base: bits >> 49 & 7,
            width: [16, 128, 64, 32][(bits >> 62) as usize],
        }
    }

    /// The address of the 16 bytes number `unit` along the contiguous dimension, in line `line` of
    /// the other.
    fn address(&self, line: usize, unit: usize, transposed: bool) -> u64 {
        let units = self.width / UNIT;
        let (piece, inside) = ((unit / units) as u64, (unit % units * UNIT) as u64);
        let (group, row) = ((line / 8) as u64, (line % 8 * self.width) as u64);
        let far = if transposed && units == 1 {
            piece * self.stride + group * self.leading
        } else {
            piece * self.leading + group * self.stride
        };
        let linear = (self.start + far + row + inside) % REACH;
        // The 16 bytes of each line of the pattern are exchanged by the line's number.
        let line = (linear >> 7).wrapping_sub(self.base) & (units as u64 - 1);
        linear ^ line << 4
    }

    /// Calls `put` with row (or column of B), step of k and bits of each element of `rows` by
    /// `depth` ones.
    ///
    /// # Errors
    /// When the matrix is not all in shared memory.
    pub fn read(
        &self,
        memory: &Region,
        element: Element,
        (first, rows, depth): (usize, usize, usize),
        transposed: bool,
        mut put: impl FnMut(usize, usize, u64),
    ) -> Result<(), Fault> {
        let bytes = element.bits() as usize / 8;
        let per_unit = UNIT / bytes;
        let (lines, units) = if transposed {
            (0..depth, first / per_unit..(first + rows) / per_unit)
        } else {
            (first..first + rows, 0..depth / per_unit)
        };
        for line in lines {
            for unit in units.clone() {
                let address = self.address(line, unit, transposed);
                // A descriptor names the CTA's own memory, whatever its place in the window of the
                // cluster.
                let address = memory.base & !(RANK_BYTES - 1) | address;
                let reserved =
                    address < memory.base && address & (RANK_BYTES - 1) < SHARED_RESERVED;
                let from = if reserved { &SYSTEM[..] } else { memory.read(address, UNIT)? };
                for (i, raw) in from.chunks_exact(bytes).enumerate() {
                    let raw = raw.iter().rev().fold(0, |x, b| x << 8 | u64::from(*b));
                    let at = unit * per_unit + i;
                    let (row, k) = if transposed { (at, line) } else { (line, at) };
                    put(row - first, k, raw);
                }
            }
        }
        Ok(())
    }
}
