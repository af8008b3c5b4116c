//! Matrix instructions of a warp and of a warpgroup.
//!
//! A machine product names tuples of consecutive registers where PTX names one register for each
//! word: the words are copied to a tuple before and from one after it, and coalescing makes the
//! copies disappear. The accumulator's tuple is the result's too.
//!
//! What holds: all threads of the warp are together at a product (`WARPSYNC.ALL` where control flow
//! may have made them diverge).

mod formats;
mod fragment;
mod group;
mod machine;
mod mma;
mod narrow;
mod product;
mod quads;
mod shuffles;
mod sparse_floats;
mod tiles;
mod transfer;
mod wmma;

pub use crate::lower::select::matrix::wmma::wmma;
pub use group::{setmaxnreg, wgmma};
pub use mma::mma;
pub use tiles::{ldmatrix, movmatrix, stmatrix};
