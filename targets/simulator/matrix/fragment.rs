//! How matrices are spread over the registers of a warp, and their product (PTX ISA 9.0, the
//! fragments of `mma`, `mma.sp` and `wgmma`; the machine's operands are those of PTX).
//!
//! One rule makes all fragments. Thread t is number t % 4 of the four that share row t / 4. A
//! register holds as many elements as fit, consecutive along k; the four threads' registers follow
//! each other along k. The next register of A is for the row eight further down, where A has 16
//! rows; the one after it for the next piece along k. B is spread in the same way by columns. A
//! thread has two consecutive columns of C, then those eight rows down, then the columns eight
//! further right.
//!
//! Of a sparse A half of the elements are there, in the places of a matrix half as wide. Two bits
//! for each say which of a group of four elements of 16 or 8 bits it is, four bits which of two
//! elements of TF32 (as two halves of 16 bits). Elements of 4 bits go in pairs. Metadata of a row
//! is one string of bits along k:
//! - of elements of 16 bits and TF32, a thread holds 16 bits of the row (low half) and of the row
//!   eight further down;
//! - of smaller elements, even threads hold 32 bits of the row and odd ones of the row eight
//!   further down;
//!
//! the threads of a group of four hold the pieces along k in their order, beginning with the one
//! that the selector says.

use super::number::{Accumulator, Element};
use super::product::{Place, Product, Sparse};
use super::shared::Descriptor;
use crate::memory::{Fault, Region};
use crate::simulator::float;
use crate::simulator::operand::LANES;
use crate::simulator::warp::Warp;

/// What sums are made of.
trait Number: Copy + Default {
    fn value(element: Element, raw: u64) -> Self;
    /// With the sign operations of an operand.
    fn signed(self, negated: bool, absolute: bool) -> Self;
}

impl Number for f64 {
    fn value(element: Element, raw: u64) -> f64 {
        element.float(raw)
    }

    fn signed(self, negated: bool, absolute: bool) -> f64 {
        let x = if absolute { self.abs() } else { self };
        if negated { -x } else { x }
    }
}

impl Number for i32 {
    fn value(element: Element, raw: u64) -> i32 {
        element.integer(raw)
    }

    fn signed(self, _: bool, _: bool) -> i32 {
        self
    }
}

/// The bits that a thread holds from a row of the register file on: of 64 when `registers` is two.
fn raw(warp: &Warp, row: u16, cell: u16, registers: u16, lane: usize) -> u64 {
    let low = u64::from(warp.row(row, cell)[lane]);
    if registers < 2 { low } else { low | u64::from(warp.row(row, cell + 1)[lane]) << 32 }
}

/// Calls `put` with row, step of k and bits of each element of A or, by columns, of B.
fn spread(
    warp: &Warp,
    first: u16,
    element: Element,
    (rows, depth): (usize, usize),
    mut put: impl FnMut(usize, usize, u64),
) {
    let (each, registers) = (element.per_register(), element.registers());
    let mut cell = 0;
    for piece in (0..depth).step_by(4 * each) {
        for half in (0..rows).step_by(8) {
            for lane in 0..LANES {
                let mut bits = raw(warp, first, cell, registers, lane);
                for i in 0..each {
                    put(half + lane / 4, piece + lane % 4 * each + i, bits);
                    bits >>= element.bits() % 64;
                }
            }
            cell += registers;
        }
    }
}

/// Calls `each` with row, column, register and shift of every element of C that a thread has.
fn accumulators(
    accumulator: Accumulator,
    (rows, columns): (usize, usize),
    lane: usize,
    mut each: impl FnMut(usize, usize, u16, u32),
) {
    let bits = accumulator.bits();
    let mut at = 0;
    for right in (0..columns).step_by(8) {
        for half in (0..rows).step_by(8) {
            for i in 0..2 {
                each(half + lane / 4, right + lane % 4 * 2 + i, (at / 32) as u16, at % 32);
                at += bits;
            }
        }
    }
}

/// The metadata of a row: its bits along k.
fn metadata(warp: &Warp, sparse: Sparse, element: Element, bits: usize, row: usize) -> u64 {
    let words = warp.row(sparse.metadata, 0);
    let (group, lower) = (row % 8 * 4, row / 8);
    // Threads that hold the metadata of both rows: one, two or four.
    let holders = bits / 16;
    let first = if holders < 4 { usize::from(sparse.selector) * holders % 4 } else { 0 };
    let wide = matches!(element, Element::F16 | Element::Bf16 | Element::Tf32);
    let mut all = 0;
    for piece in 0..holders {
        all |= if wide {
            let word = words[group + (first + piece) % 4];
            u64::from(word >> (16 * lower) & 0xffff) << (16 * piece)
        } else if piece % 2 == lower {
            u64::from(words[group + (first + piece) % 4]) << (32 * (piece / 2))
        } else {
            0
        };
    }
    all
}

/// The step of k of each element of a sparse A, by rows.
fn places(warp: &Warp, sparse: Sparse, element: Element, rows: usize, depth: usize) -> Vec<u16> {
    // Elements that one index of two bits is for, and how many bits of metadata a row has.
    let (pair, bits) = match element {
        Element::Tf32 => (1, depth * 2),
        Element::U4 | Element::S4 => (2, depth / 2),
        _ => (1, depth),
    };
    let mut all = Vec::with_capacity(rows * depth / 2);
    for row in 0..rows {
        let meta = metadata(warp, sparse, element, bits, row);
        let index = |at: usize| (meta >> (2 * at) & 3) as usize;
        for i in 0..depth / 2 {
            let k = if element == Element::Tf32 {
                2 * i + index(2 * i) / 2
            } else {
                let unit = i / pair;
                (unit / 2 * 4 + index(unit)) * pair + i % pair
            };
            all.push(k as u16);
        }
    }
    all
}

/// A, B and the places of A's elements along k where it is sparse.
struct Factors<T> {
    /// By rows.
    a: Vec<T>,
    /// Elements of a row of A that are there.
    depth: usize,
    /// By steps of k.
    b: Vec<T>,
    places: Option<Vec<u16>>,
}

impl<T: Number> Factors<T> {
    fn read(warp: &Warp, shared: &Region, p: &Product) -> Result<Factors<T>, Fault> {
        let (m, n, k) = (usize::from(p.m), usize::from(p.n), usize::from(p.k));
        let depth = if p.sparse.is_some() { k / 2 } else { k };
        let mut a = vec![T::default(); m * depth];
        let element = p.elements[0];
        let put = |row: usize, k: usize, raw: u64| {
            a[row * depth + k] = T::value(element, raw).signed(p.negated[0], p.absolute[0]);
        };
        match p.a {
            Place::Registers(first) => spread(warp, first, element, (m, depth), put),
            Place::Shared { uniform, transposed } => {
                let rows = (warp.index as usize % 4 * m, m, depth);
                let descriptor = Descriptor::new(warp.ureg64(uniform));
                descriptor.read(shared, element, rows, transposed, put)?;
            }
        }
        let mut b = vec![T::default(); k * n];
        let element = p.elements[1];
        let put = |column: usize, k: usize, raw: u64| {
            b[k * n + column] = T::value(element, raw).signed(p.negated[1], p.absolute[1]);
        };
        match p.b {
            Place::Registers(first) => spread(warp, first, element, (n, k), put),
            Place::Shared { uniform, transposed } => {
                let descriptor = Descriptor::new(warp.ureg64(uniform));
                descriptor.read(shared, element, (0, n, k), transposed, put)?;
            }
        }
        let places = p.sparse.map(|s| places(warp, s, p.elements[0], m, k));
        Ok(Factors { a, depth, b, places })
    }

    /// Adds the products to the sums, by rows of `n`.
    fn add<S: Copy>(&self, sums: &mut [S], n: usize, add: impl Fn(S, T, T) -> S) {
        for (row, sums) in sums.chunks_exact_mut(n).enumerate() {
            for i in 0..self.depth {
                let at = row * self.depth + i;
                let k = self.places.as_ref().map_or(i, |p| usize::from(p[at]));
                let a = self.a[at];
                for (sum, b) in sums.iter_mut().zip(&self.b[k * n..]) {
                    *sum = add(*sum, a, *b);
                }
            }
        }
    }
}

/// Computes a product for all threads of the warp.
///
/// # Errors
/// When a matrix is not all in shared memory.
pub fn multiply(warp: &mut Warp, shared: &Region, p: &Product, add_c: bool) -> Result<(), Fault> {
    let (m, n) = (usize::from(p.m), usize::from(p.n));
    let registers = (p.accumulator.bits() / 32).max(1) as u16;
    let raw_c = |warp: &Warp, put: &mut dyn FnMut(usize, u64)| {
        if !add_c {
            return;
        }
        for lane in 0..LANES {
            accumulators(p.accumulator, (m, n), lane, |row, column, register, shift| {
                put(row * n + column, raw(warp, p.c, register, registers, lane) >> shift);
            });
        }
    };
    let bits: Vec<u64> = if p.elements[0].is_float() {
        let factors = Factors::<f64>::read(warp, shared, p)?;
        let mut sums = vec![0.0; m * n];
        let of_c = match p.accumulator {
            Accumulator::F16 => Element::F16,
            Accumulator::F64(_) => Element::F64,
            _ => Element::F32,
        };
        raw_c(warp, &mut |at, raw| {
            sums[at] = of_c.float(raw).signed(p.negated[2], p.absolute[2]);
        });
        if let Accumulator::F64(round) = p.accumulator {
            let mode = float::Mode { round, ..Default::default() }.pack();
            factors.add(&mut sums, n, |c: f64, a, b| {
                f64::from_bits(float::fma64(mode, a.to_bits(), b.to_bits(), c.to_bits(), 0).0)
            });
        } else {
            factors.add(&mut sums, n, |c, a, b| c + a * b);
        }
        sums.into_iter().map(|x| p.accumulator.round(x)).collect()
    } else {
        let factors = Factors::<i32>::read(warp, shared, p)?;
        let mut products = vec![0i32; m * n];
        match p.accumulator {
            Accumulator::Count { xor: false } => {
                factors.add(&mut products, n, |c, a, b| c + (a & b).count_ones() as i32);
            }
            Accumulator::Count { xor: true } => {
                factors.add(&mut products, n, |c, a, b| c + (a ^ b).count_ones() as i32);
            }
            _ => factors.add(&mut products, n, |c, a, b| c + a * b),
        }
        let mut sums: Vec<i64> = products.into_iter().map(i64::from).collect();
        raw_c(warp, &mut |at, raw| sums[at] += i64::from(raw as u32 as i32));
        sums.into_iter().map(|x| p.accumulator.wrap(x)).collect()
    };
    for lane in 0..LANES {
        accumulators(p.accumulator, (m, n), lane, |row, column, register, shift| {
            let value = bits[row * n + column];
            let cell = &mut warp.row_mut(p.d, register)[lane];
            if shift == 0 {
                *cell = value as u32;
            } else {
                *cell |= (value << shift) as u32;
            }
            if registers == 2 {
                warp.row_mut(p.d, register + 1)[lane] = (value >> 32) as u32;
            }
        });
    }
    Ok(())
}

/// MOVM: each thread has two elements of a row of an 8x8 matrix of 16 bits, then of its
/// transpose's.
pub fn transpose(warp: &mut Warp, d: u16, a: u16) {
    let from = *warp.row(a, 0);
    let element =
        |row: usize, column: usize| from[row * 4 + column / 2] >> (column % 2 * 16) & 0xffff;
    for (lane, to) in warp.row_mut(d, 0).iter_mut().enumerate() {
        let (row, column) = (lane / 4, lane % 4 * 2);
        *to = element(column, row) | element(column + 1, row) << 16;
    }
}
