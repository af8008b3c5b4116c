//! Matrix instructions: D = A x B + C over the threads of a warp (HMMA, IMMA, BMMA, DMMA) or of
//! four warps (the GMMAs), and the moves of 8x8 matrices between shared memory and registers.
//!
//! **Arithmetic.** PTX leaves the order of additions and their rounding open. Here products are
//! exact and sums are
//! - of halves, bfloat16, TF32 and 8-bit floats: in double precision, C first, then the products in
//!   the order of k, rounded once to the accumulator's format (to nearest, ties to even). Subnormal
//!   numbers count. TF32 is the upper 19 bits of a word;
//! - of doubles: a chain of fused multiplications and additions in the order of k, beginning with
//!   C, in the rounding mode of the instruction;
//! - of integers and single bits: exact, then wrapped to 32 bits, or clamped with `.SAT`.
//!
//! A result that is not a number is the machine's canonical NaN.
//!
//! **Groups of four warps.** Each warp computes its 16 rows when it issues the instruction: B, and
//! A of 16 rows, are read from shared memory at once, whatever other warps do. What another thread
//! learns from a wait is true all the same, because WARPGROUP.DEPBAR lets no warp go on before all
//! four have issued the products it waits for: a buffer may be filled again after one warp's wait.
//! That accumulators are read before the wait does not show here.

mod fragment;
mod number;
mod shared;
#[cfg(test)]
mod tests;

pub use fragment::{multiply, transpose};
pub use number::{Accumulator, Element};
pub use shared::Descriptor;

use super::op::Address;
use super::operand::PredSrc;

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

/// Group scoreboards of a warp.
pub const GROUPS: usize = 8;
