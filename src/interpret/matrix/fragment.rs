//! How a matrix is spread over the registers of a warp (PTX ISA 9.0, "Matrix Fragments for mma").
//! The fragments of `wmma`, which PTX leaves open, are those of the products that make them up
//! (observed: ptxas 13.0.88, sm_90a).

use crate::interpret::float::{Format, Small, from_f64, to_f64};
use crate::interpret::integer::{mask, sign_extend};
use crate::interpret::operand::{LANES, Row};
use rustc_apfloat::Round;

/// What an element of a matrix is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Element {
    Float(Format),
    /// An f32 whose low 13 bits do not count.
    Tf32,
    Small(Small),
    Int {
        bits: u32,
        signed: bool,
    },
}

impl Element {
    /// Bits of an element.
    pub fn bits(self) -> u32 {
        match self {
            Element::Float(format) => format.bits(),
            Element::Tf32 => 32,
            Element::Small(_) => 8,
            Element::Int { bits, .. } => bits,
        }
    }

    /// Elements of one register: those of f64 take 64 bits, all others share 32.
    pub fn packed(self) -> usize {
        (32 / self.bits()).max(1) as usize
    }

    /// The number that bits are.
    pub fn value(self, bits: u64) -> f64 {
        match self {
            Element::Float(format) => to_f64(format, bits),
            Element::Tf32 => to_f64(Format::F32, bits & !0x1fff),
            Element::Small(format) => format.value(bits),
            Element::Int { bits: width, signed: true } => sign_extend(bits, width) as f64,
            Element::Int { bits: width, signed: false } => (bits & mask(width)) as f64,
        }
    }

    /// The bits of a number, rounded or wrapped; `saturate` clamps integers.
    pub fn encode(self, value: f64, saturate: bool) -> u64 {
        match self {
            Element::Float(Format::F64) => value.to_bits(),
            Element::Float(format) => from_f64(format, value, Round::NearestTiesToEven),
            Element::Int { .. } if saturate => {
                value.clamp(i32::MIN.into(), i32::MAX.into()) as i64 as u64
            }
            Element::Int { .. } => value as i64 as u64,
            Element::Tf32 | Element::Small(_) => {
                from_f64(Format::F32, value, Round::NearestTiesToEven)
            }
        }
    }
}

/// Which matrix of a product a fragment is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    A,
    B,
    C,
}

/// A matrix in the registers of a warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fragment {
    /// Which matrix it is.
    pub role: Role,
    /// Rows of the matrix.
    pub rows: usize,
    /// Columns of the matrix.
    pub columns: usize,
    /// What its elements are.
    pub element: Element,
}

impl Fragment {
    /// The row and column of element `e` of register `r` of a lane. A fragment with more registers
    /// than it needs holds its elements again.
    fn place(&self, lane: usize, r: usize, e: usize) -> (usize, usize) {
        let packed = self.element.packed();
        let needed = (self.rows * self.columns / (LANES * packed)).max(1);
        let r = r % needed;
        let (group, thread) = (lane / 4, lane % 4);
        // Along the sum a register has `packed` elements of each of four threads.
        let (inner, step) = (thread * packed + e, 4 * packed);
        // Tiles of 16 rows (or columns) have their halves in turn, those of 8 are all of one step.
        let tall = |r: usize, depth: usize| {
            let steps = depth / step;
            (group + 8 * (r % 2) + r / (2 * steps) * 16, inner + r / 2 % steps * step)
        };
        let flat = |r: usize, depth: usize| {
            let steps = depth / step;
            (group + r / steps * 8, inner + r % steps * step)
        };
        match self.role {
            Role::A if self.rows == 8 => flat(r, self.columns),
            Role::A => tall(r, self.columns),
            Role::B => {
                let (column, row) =
                    if self.columns == 32 { tall(r, self.rows) } else { flat(r, self.rows) };
                (row, column)
            }
            Role::C => {
                let i = r * packed + e;
                let pair = thread * 2 + i % 2;
                match (self.rows, self.columns) {
                    (8, 8) => (group, pair),
                    // The product of the transposed matrices.
                    (8, _) => (pair, group + i / 2 * 8),
                    (32, _) => (group + i / 2 * 8, pair),
                    _ => (group + i / 2 % 2 * 8, i / 4 * 8 + pair),
                }
            }
        }
    }

    /// The matrix, row by row, of its registers.
    pub fn gather(&self, registers: &[Row]) -> Vec<f64> {
        let mut all = vec![0.0; self.rows * self.columns];
        let width = self.element.bits();
        self.each(registers.len(), |lane, r, e, at| {
            if let Some(to) = all.get_mut(at) {
                let element = registers[r][lane] >> (e as u32 * width) & mask(width);
                *to = self.element.value(element);
            }
        });
        all
    }

    /// The same as bits.
    pub fn gather_bits(&self, registers: &[Row]) -> Vec<u64> {
        let mut all = vec![0; self.rows * self.columns];
        let width = self.element.bits();
        self.each(registers.len(), |lane, r, e, at| {
            if let Some(to) = all.get_mut(at) {
                *to = registers[r][lane] >> (e as u32 * width) & mask(width);
            }
        });
        all
    }

    /// The registers of a matrix.
    pub fn scatter(&self, all: &[u64], registers: usize) -> Vec<Row> {
        let mut rows = vec![[0; LANES]; registers];
        let width = self.element.bits();
        self.each(registers, |lane, r, e, at| {
            let element = all.get(at).copied().unwrap_or(0) & mask(width);
            rows[r][lane] |= element << (e as u32 * width);
        });
        rows
    }

    fn each(&self, registers: usize, mut f: impl FnMut(usize, usize, usize, usize)) {
        for r in 0..registers {
            for lane in 0..LANES {
                for e in 0..self.element.packed() {
                    let (row, column) = self.place(lane, r, e);
                    f(lane, r, e, row * self.columns + column);
                }
            }
        }
    }
}

/// The first of some lanes.
pub fn first(lanes: u32) -> usize {
    lanes.trailing_zeros() as usize % LANES
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: Element = Element::Float(Format::F16);
    const WORD: Element = Element::Float(Format::F32);

    #[test]
    fn fragments_hold_each_element_of_a_matrix() {
        let byte = Element::Int { bits: 8, signed: true };
        let double = Element::Float(Format::F64);
        let bit = Element::Int { bits: 1, signed: false };
        let nibble = Element::Int { bits: 4, signed: true };
        for (role, rows, columns, element, registers) in [
            (Role::A, 16, 16, HALF, 4),
            (Role::B, 16, 8, HALF, 2),
            (Role::A, 16, 32, byte, 4),
            (Role::B, 32, 8, byte, 2),
            (Role::A, 16, 8, Element::Tf32, 4),
            (Role::C, 16, 8, WORD, 4),
            (Role::C, 16, 8, HALF, 2),
            (Role::C, 16, 32, WORD, 16),
            (Role::A, 8, 4, double, 1),
            (Role::A, 16, 16, double, 8),
            (Role::B, 16, 8, double, 4),
            (Role::C, 8, 8, double, 2),
            (Role::A, 16, 256, bit, 4),
            (Role::B, 256, 8, bit, 2),
            (Role::A, 8, 32, nibble, 1),
            // Those of wmma.
            (Role::A, 32, 16, HALF, 8),
            (Role::A, 8, 16, HALF, 2),
            (Role::B, 16, 16, HALF, 4),
            (Role::B, 16, 32, HALF, 8),
            (Role::B, 16, 32, byte, 4),
            (Role::B, 8, 16, Element::Tf32, 4),
            (Role::C, 32, 8, WORD, 8),
            (Role::C, 8, 32, WORD, 8),
            (Role::C, 8, 32, HALF, 4),
        ] {
            let fragment = Fragment { role, rows, columns, element };
            let mut seen = vec![0; rows * columns];
            fragment.each(registers, |_, _, _, at| seen[at] += 1);
            assert!(seen.iter().all(|n| *n == 1), "{fragment:?}");
        }
        let doubled = Fragment { role: Role::A, rows: 16, columns: 16, element: HALF };
        let mut seen = vec![0; 256];
        doubled.each(8, |_, _, _, at| seen[at] += 1);
        assert!(seen.iter().all(|n| *n == 2), "each element twice in 8 registers");
    }

    #[test]
    fn lanes_hold_what_the_isa_says() {
        // mma.m16n8k16 of f16: a4 and a5 of lane 5 are row 1, columns 10 and 11.
        let a = Fragment { role: Role::A, rows: 16, columns: 16, element: HALF };
        assert_eq!((a.place(5, 2, 0), a.place(5, 3, 1)), ((1, 10), (9, 11)));
        let b = Fragment { role: Role::B, rows: 16, columns: 8, element: HALF };
        assert_eq!((b.place(5, 0, 1), b.place(5, 1, 0)), ((3, 1), (10, 1)));
        let c = Fragment { role: Role::C, rows: 16, columns: 8, element: WORD };
        assert_eq!((c.place(5, 1, 0), c.place(5, 2, 0)), ((1, 3), (9, 2)));
    }
}
