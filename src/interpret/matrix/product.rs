//! `mma.sync` and `wmma.mma`: `d = a * b + c` of a warp (PTX ISA 9.0, "Warp Level Matrix
//! Multiply-Accumulate Instructions").
//!
//! Integers are exact. A sum of floats is taken in double precision and rounded once: the device
//! rounds in between, in an order that is not published. One of f64 is a chain of fused operations
//! from the first column of a to the last.

use rustc_apfloat::Round;

use super::fragment::{Element, Fragment};
use super::sparse::Sparse;
use crate::interpret::float::{Arith, Format, Mode, arithmetic, to_f64};
use crate::interpret::operand::{Dst, LANES, Row, Src};
use crate::interpret::warp::Warp;

/// `d = a * b + c` by one warp.
pub struct Product {
    /// The left factor, and its registers.
    pub a: (Fragment, Box<[Src]>),
    /// The right factor, and its registers.
    pub b: (Fragment, Box<[Src]>),
    /// What is added, and its registers.
    pub c: (Fragment, Box<[Src]>),
    /// The result, and its registers.
    pub d: (Fragment, Box<[Dst]>),
    /// Where `a` holds half of its columns.
    pub sparse: Option<Sparse>,
    /// Of f64.
    pub round: Round,
    /// `.xor.popc` of bits.
    pub xor: bool,
    /// `.satfinite` of integers.
    pub saturate: bool,
}

/// Registers of all lanes.
pub fn fetch(warp: &Warp, base: u32, src: &[Src]) -> Vec<Row> {
    src.iter().map(|src| warp.row(*src, base)).collect()
}

impl Product {
    /// Does the product for the whole warp.
    pub fn execute(&self, warp: &mut Warp, base: u32, lanes: u32) {
        let a = self.a.0.gather(&fetch(warp, base, &self.a.1));
        let b = self.b.0.gather(&fetch(warp, base, &self.b.1));
        let c = self.c.0.gather(&fetch(warp, base, &self.c.1));
        let (k, n) = (self.b.0.rows, self.d.0.columns);
        let d = match (&self.sparse, self.d.0.element) {
            (Some(sparse), _) => {
                let metadata = warp.row(sparse.metadata, base);
                multiply_sparse(&sparse.columns(&a, k, self.a.0.element, &metadata), &b, c, n)
            }
            (None, Element::Float(Format::F64)) => doubles(&a, &b, c, (k, n), self.round),
            _ if self.xor => bits(&a, &b, c, (k, n)),
            _ => multiply(&a, &b, c, k, n),
        };
        put(warp, base, lanes, &self.d, self.saturate, &d);
    }
}

/// Writes a matrix to its registers.
pub fn put(
    warp: &mut Warp,
    base: u32,
    lanes: u32,
    (fragment, dst): &(Fragment, Box<[Dst]>),
    saturate: bool,
    values: &[f64],
) {
    let all: Vec<u64> = values.iter().map(|v| fragment.element.encode(*v, saturate)).collect();
    for (dst, row) in dst.iter().zip(&fragment.scatter(&all, dst.len())) {
        warp.write(*dst, base, lanes, row);
    }
}

/// `c + a * b` of matrices row by row; `a` has `k` columns and `b` has `n`.
pub fn multiply(a: &[f64], b: &[f64], mut c: Vec<f64>, k: usize, n: usize) -> Vec<f64> {
    for (row, c) in a.chunks_exact(k).zip(c.chunks_exact_mut(n)) {
        for (x, b) in row.iter().zip(b.chunks_exact(n)) {
            for (c, y) in c.iter_mut().zip(b) {
                *c = x.mul_add(*y, *c);
            }
        }
    }
    c
}

/// The same where of each row of `a` the elements with their columns are given. What is not there
/// is not multiplied, not even with an infinity.
pub fn multiply_sparse(a: &[Vec<(usize, f64)>], b: &[f64], mut c: Vec<f64>, n: usize) -> Vec<f64> {
    for (row, c) in a.iter().zip(c.chunks_exact_mut(n)) {
        for (k, x) in row {
            for (c, y) in c.iter_mut().zip(&b[k * n..(k + 1) * n]) {
                *c = x.mul_add(*y, *c);
            }
        }
    }
    c
}

fn doubles(a: &[f64], b: &[f64], c: Vec<f64>, (k, n): (usize, usize), round: Round) -> Vec<f64> {
    let fma = arithmetic(Arith::Fma, Format::F64, Mode { round, ..Mode::default() });
    let mut c = c;
    for (row, c) in a.chunks_exact(k).zip(c.chunks_exact_mut(n)) {
        for (x, b) in row.iter().zip(b.chunks_exact(n)) {
            for (c, y) in c.iter_mut().zip(b) {
                *c = to_f64(Format::F64, fma(x.to_bits(), y.to_bits(), c.to_bits()));
            }
        }
    }
    c
}

/// The number of different bits of each row of `a` and column of `b`.
fn bits(a: &[f64], b: &[f64], mut c: Vec<f64>, (k, n): (usize, usize)) -> Vec<f64> {
    for (row, c) in a.chunks_exact(k).zip(c.chunks_exact_mut(n)) {
        for (x, b) in row.iter().zip(b.chunks_exact(n)) {
            for (c, y) in c.iter_mut().zip(b) {
                *c += (x - y).abs();
            }
        }
    }
    c
}

/// `mma.m8n8k4` of f16: four products of 8 by 8 matrices, each by the lanes of two quads, 16 lanes
/// apart.
pub struct QuadPairs {
    /// Registers of the left factors.
    pub a: Box<[Src]>,
    /// Registers of the right factors.
    pub b: Box<[Src]>,
    /// What is added: elements and registers.
    pub c: (Element, Box<[Src]>),
    /// The result: elements and registers.
    pub d: (Element, Box<[Dst]>),
    /// `.col` of `a`.
    pub a_by_column: bool,
    /// `.row` of `b`.
    pub b_by_row: bool,
}

impl QuadPairs {
    /// Does the products for the whole warp.
    pub fn execute(&self, warp: &mut Warp, base: u32, lanes: u32) {
        let half = Element::Float(Format::F16);
        let [a, b] = [&self.a, &self.b].map(|src| fetch(warp, base, src));
        let c = fetch(warp, base, &self.c.1);
        let mut d = vec![[0; LANES]; self.d.1.len()];
        let element = |rows: &[Row], element: Element, lane: usize, i: usize| {
            let packed = element.packed();
            element.value(rows[i / packed][lane] >> (i % packed * element.bits() as usize))
        };
        // The lane of a quad pair that holds `index` of 8, and the same number inside its quad.
        let lane = |pair: usize, index: usize| pair * 4 + index % 4 + index / 4 * 16;
        for pair in 0..4 {
            let left = |row: usize, k: usize| match self.a_by_column {
                true => element(&a, half, lane(pair, k + row / 4 * 4), row % 4),
                false => element(&a, half, lane(pair, row), k),
            };
            let right = |k: usize, column: usize| match self.b_by_row {
                true => element(&b, half, lane(pair, k + column / 4 * 4), column % 4),
                false => element(&b, half, lane(pair, column), k),
            };
            for row in 0..8 {
                for column in 0..8 {
                    let (from, i) = accumulator(self.c.0, row, column);
                    let start = element(&c, self.c.0, lane(pair, from), i);
                    let sum =
                        (0..4).fold(start, |sum, k| left(row, k).mul_add(right(k, column), sum));
                    let (to, i) = accumulator(self.d.0, row, column);
                    let (packed, width) = (self.d.0.packed(), self.d.0.bits() as usize);
                    d[i / packed][lane(pair, to)] |=
                        self.d.0.encode(sum, false) << (i % packed * width);
                }
            }
        }
        for (dst, row) in self.d.1.iter().zip(&d) {
            warp.write(*dst, base, lanes, row);
        }
    }
}

/// Which of the eight lanes holds an element of c or d, and its number there.
fn accumulator(element: Element, row: usize, column: usize) -> (usize, usize) {
    if element.bits() == 16 {
        return (row, column);
    }
    // Of f32 a lane has two rows and two pairs of columns.
    (row / 4 * 4 + row % 2 + column / 2 % 2 * 2, column % 2 + row / 2 % 2 * 2 + column / 4 * 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_identity_multiplies_to_the_same() {
        let identity = [1.0, 0.0, 0.0, 1.0];
        assert_eq!(
            multiply(&identity, &[1.0, 2.0, 3.0, 4.0], vec![1.0; 4], 2, 2),
            [2.0, 3.0, 4.0, 5.0]
        );
        assert_eq!(
            bits(&identity, &[1.0, 1.0, 0.0, 1.0], vec![0.0; 4], (2, 2)),
            [0.0, 1.0, 2.0, 1.0]
        );
    }

    #[test]
    fn quad_pairs_hold_each_element_once() {
        for element in [Element::Float(Format::F16), Element::Float(Format::F32)] {
            let mut seen = [[0; 8]; 8];
            for row in 0..8 {
                for column in 0..8 {
                    let (lane, i) = accumulator(element, row, column);
                    seen[lane][i] += 1;
                }
            }
            assert!(seen.iter().flatten().all(|n| *n == 1), "{element:?}");
        }
    }
}
