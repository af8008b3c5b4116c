//! Matrix instructions from cubins of ptxas and of orias in the simulator, against products
//! computed from their definition.
//!
//! Where the elements of a matrix are in the registers of a warp is written here as the PTX ISA
//! gives it, instruction by instruction. Floats are small integers, so that every sum is exact and
//! the order of additions does not show.

mod accumulators;
mod bench;
mod format;
mod group;
mod mma;
mod moves;
mod pool;
mod sparse;
mod wmma;
