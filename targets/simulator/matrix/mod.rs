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
mod product;
mod shared;
#[cfg(test)]
mod tests;

pub use fragment::{multiply, transpose};
pub use number::{Accumulator, Element};
pub use product::{MatrixOp, Move, Place, Product, Sparse};
