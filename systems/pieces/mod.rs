//! A huge function in pieces, which are optimized apart.
//!
//! What phases in SSA form do goes through the code in order, and what they do at one place follows
//! from what they have done before it: no two threads can share a walk. So a function of [`LEAST`]
//! times [`Knob::PieceInstructions`](crate::knobs::Knob) instructions or more is cut where all ways
//! lead through one place ([`cut`]), the pieces go through the phases from `GenerateMovPhi` on
//! ([`PHASES`]) as functions of their own ([`build`]), each by whichever thread is free, and what
//! became of them is put together again ([`join`]), still in SSA form, for the phases that follow.
//! Where the cuts are follows from the code alone, so it is the same code for any number of
//! threads. And a piece stays in the processor's cache, which a huge function does not: one thread
//! alone is not slower.
//!
//! ```text
//! piece 1                            piece 2
//!     ...                                %R7 = LIVEIN            defined before the piece
//!     %R3 = IADD3 %R1, %R2, RZ           %R9 = MOV 0x5, 0xf
//!     LIVEOUT %R3                        ...
//!     PIECEEND
//! ```
//!
//! What a piece leaves to those behind it LIVEOUT reads, what it finds LIVEIN writes ([`cross`]); a
//! piece knows nothing of such a value. Constants it makes again, as phases know them then. When
//! the pieces are put together, the second name stands for the first; where that cannot be, a copy
//! stands between them. Of uniform registers there are no copies: those that are written once cross
//! by their name alone. Where another one is in use, a barrier or accumulators of a warpgroup,
//! nothing is cut.
//!
//! Pieces lose what an optimization would have found between two of them: equal values, copies of
//! what is no constant. Functions that name physical registers (they have a frame, or call others),
//! or have a profile, stay whole.

mod build;
mod cross;
mod cut;
mod join;

pub use build::{Builder, Parcel};
pub use cross::Plan;
pub use join::join;

use std::ops::Range;

/// A function of so many pieces is cut.
pub const LEAST: usize = 8;

/// The phases (places in the table) that pieces go through: from `GenerateMovPhi` to the one before
/// `OriDoRemat`, which wants to know how many registers the whole function needs.
pub const PHASES: Range<usize> = 26..80;

#[cfg(test)]
mod tests;
