//! The uniform datapath: what is the same for all threads of a warp is kept once for the warp.

pub mod constants;
pub mod dimensions;
pub mod lanes;
mod quads;
mod webs;
