//! `wgmma.mma_async`: a warp's part of the product of a warpgroup (PTX ISA 9.0, "Asynchronous
//! Warpgroup Level Matrix Instructions"). It is done at once, with sums as in [`super::product`].

use super::fragment::first;
use super::fragment::{Element, Fragment, Role};
use super::product::{fetch, multiply, multiply_sparse, put};
use super::sparse::Sparse;
use crate::interpret::access::{Stopped, read};
use crate::interpret::env::Env;
use crate::interpret::integer::mask;
use crate::interpret::operand::{Dst, Row, Space, Src};
use crate::interpret::warp::Warp;

/// A matrix of `wgmma`: in registers, or in shared memory behind a descriptor.
pub enum Input {
    Registers(Box<[Src]>),
    /// `transposed`: the dimension that is not summed over is contiguous.
    Shared {
        descriptor: Src,
        transposed: bool,
    },
}

/// A warp's 16 of 64 rows of `d = a * b + d`.
pub struct Group {
    /// Columns of `d`.
    pub n: usize,
    /// Columns of `a`.
    pub k: usize,
    /// What the elements of `a` are, and where they are.
    pub a: (Element, Input),
    /// What the elements of `b` are, and where they are.
    pub b: (Element, Input),
    /// What the elements of `d` are, and its registers.
    pub d: (Element, Box<[Dst]>),
    /// False: `d` counts as zero.
    pub accumulate: Src,
    /// What products of `a` and of `b` are multiplied by: 1 or -1.
    pub scale: (f64, f64),
    /// Where `a` holds half of its columns.
    pub sparse: Option<Sparse>,
    /// Integers are clamped.
    pub saturate: bool,
}

impl Group {
    /// Does the warp's part of the product.
    ///
    /// # Errors
    /// When a matrix is not in memory.
    pub fn execute(
        &self,
        warp: &mut Warp,
        env: &mut Env<'_>,
        base: u32,
        lanes: u32,
    ) -> Result<(), Stopped> {
        let fragment = |role, rows, columns, element| Fragment { role, rows, columns, element };
        // A warp of the group has 16 of the 64 rows.
        let first_row = warp.index as usize % 4 * 16;
        let stored = if self.sparse.is_some() { self.k / 2 } else { self.k };
        let mut a: Vec<f64> = match &self.a.1 {
            Input::Registers(src) => {
                fragment(Role::A, 16, stored, self.a.0).gather(&fetch(warp, base, src))
            }
            Input::Shared { descriptor, transposed } => {
                let at = Tile::new(warp.row(*descriptor, base)[first(lanes)], *transposed);
                let mut all = Vec::with_capacity(16 * stored);
                for row in 0..16 {
                    for k in 0..stored {
                        all.push(at.element(warp, env, self.a.0, first_row + row, k, lanes)?);
                    }
                }
                all
            }
        };
        a.iter_mut().for_each(|x| *x *= self.scale.0);
        let Input::Shared { descriptor, transposed } = &self.b.1 else { return Ok(()) };
        let at = Tile::new(warp.row(*descriptor, base)[first(lanes)], *transposed);
        let mut b = Vec::with_capacity(self.k * self.n);
        for k in 0..self.k {
            for column in 0..self.n {
                b.push(self.scale.1 * at.element(warp, env, self.b.0, column, k, lanes)?);
            }
        }
        let target = fragment(Role::C, 16, self.n, self.d.0);
        let registers: Vec<Row> =
            self.d.1.iter().map(|dst| warp.row(Src::Slot(dst.slot), base)).collect();
        let accumulate = warp.row(self.accumulate, base)[first(lanes)] & 1 != 0;
        let c = if accumulate { target.gather(&registers) } else { vec![0.0; 16 * self.n] };
        let d = match &self.sparse {
            Some(sparse) => {
                let metadata = warp.row(sparse.metadata, base);
                multiply_sparse(&sparse.columns(&a, self.k, self.a.0, &metadata), &b, c, self.n)
            }
            None => multiply(&a, &b, c, self.k, self.n),
        };
        let to = (target, self.d.1.clone());
        put(warp, base, lanes, &to, self.saturate, &d);
        Ok(())
    }
}

/// A matrix in shared memory as a descriptor says (PTX ISA 9.0, "Matrix Descriptor Format" and
/// "Strides").
struct Tile {
    start: u64,
    leading: u64,
    stride: u64,
    /// Bytes of a row inside the swizzled pattern: 16 without one.
    width: u64,
    transposed: bool,
    /// The row of the swizzled pattern that the matrix begins with.
    first_row: u64,
}

impl Tile {
    fn new(descriptor: u64, transposed: bool) -> Tile {
        Tile {
            start: (descriptor & mask(14)) << 4,
            leading: (descriptor >> 16 & mask(14)) << 4,
            stride: (descriptor >> 32 & mask(14)) << 4,
            width: [16, 128, 64, 32][(descriptor >> 62) as usize & 3],
            first_row: descriptor >> 49 & 7,
            transposed,
        }
    }

    /// The element at `index` (row of A, column of B) and `k`.
    fn element(
        &self,
        warp: &Warp,
        env: &Env<'_>,
        element: Element,
        index: usize,
        k: usize,
        lanes: u32,
    ) -> Result<f64, Stopped> {
        let bits = u64::from(element.bits());
        let (index, k) = (index as u64, k as u64);
        let plain = self.width == 16;
        // Rows of `width` bytes, eight of them one pattern.
        let (across, down) = if self.transposed { (index, k) } else { (k, index) };
        let byte = across * bits / 8;
        let (chunk, inside) = (byte / self.width, byte % self.width);
        let (chunks, rows) = match (self.transposed, plain) {
            (true, true) => (self.stride, self.leading),
            // Along K a swizzled pattern is all there is: further steps move the start address.
            (false, false) => (self.width, self.stride),
            _ => (self.leading, self.stride),
        };
        let mut address =
            self.start + chunk * chunks + down / 8 * rows + down % 8 * self.width + inside;
        // The swizzle: bits 4 and up are combined with the row's number in the pattern, as many as
        // the width has 16-byte units.
        let row = (address >> 7).wrapping_sub(self.first_row);
        address ^= row << 4 & (self.width - 16);
        let mut bytes = [0; 8];
        let size = bits.div_ceil(8) as usize;
        read(warp, env, Space::Shared, first(lanes), address, &mut bytes[..size])?;
        Ok(element.value(u64::from_le_bytes(bytes) >> (across * bits % 8)))
    }
}
