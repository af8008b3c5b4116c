//! Matrix instructions as they are prepared: what they multiply and move, and where it stands.

use super::number::{Accumulator, Element};
use crate::simulator::address::Address;
use crate::simulator::operand::PredSrc;

/// Where a matrix stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// First row of the register file.
    Registers(u16),
    /// In shared memory, as the descriptor in a pair of uniform registers says. The rows of A, or
    /// the columns of B, are contiguous where `transposed` is set.
    Shared { uniform: u8, transposed: bool },
}

/// Which elements of A are there, of each group of four (or two of TF32): half of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sparse {
    /// Row of the register file that says it.
    pub metadata: u16,
    /// The threads of each four that hold it: one of four, or one of two pairs.
    pub selector: u8,
}

/// D = A x B + C. A has `m` rows, B `n` columns; both are `k` elements deep. The matrix of a group
/// of warps has 16 rows a warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Product {
    pub m: u16,
    pub n: u16,
    /// Of single bits: words of 32.
    pub k: u16,
    pub a: Place,
    pub b: Place,
    /// Elements of A and B.
    pub elements: [Element; 2],
    pub accumulator: Accumulator,
    /// First rows of the register file.
    pub d: u16,
    pub c: u16,
    /// Of A, B and C.
    pub negated: [bool; 3],
    pub absolute: [bool; 3],
    /// Without it C counts as zero.
    pub add: PredSrc,
    pub sparse: Option<Sparse>,
    /// The group scoreboard that the product of four warps ends a group of products for.
    pub group: Option<u8>,
}

/// LDSM, STSM: one, two or four 8x8 matrices of 16 bits. Thread i holds the address of row i % 8 of
/// matrix i / 8.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Move {
    pub address: Address,
    pub count: u8,
    pub transposed: bool,
    /// First row of the register file.
    pub register: u16,
    pub store: bool,
}

/// One matrix instruction.
#[derive(Clone, Debug)]
pub enum MatrixOp {
    Product(Product),
    Move(Move),
    /// MOVM: the transposed matrix.
    Transpose {
        d: u16,
        a: u16,
    },
    /// WARPGROUP.DEPBAR: waits until no more than so many of the groups of this scoreboard are
    /// under way.
    Wait {
        group: u8,
        left: u8,
    },
}
