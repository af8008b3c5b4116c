//! The tables: one file a family of instructions.

mod atomics;
mod barrier;
mod bulk;
mod cache;
mod compare;
mod control;
mod convert;
mod float;
mod half;
mod integer;
mod logic;
mod matrix;
mod memory;
mod multimem;
mod registers;
mod tensor_memory;
mod texture;
mod video;
mod warp;
mod wgmma;

use super::Family;

/// Every family, in the order of the output.
pub const ALL: &[Family] = &[
    integer::ARITHMETIC,
    integer::CARRY,
    integer::BITS,
    logic::LOGIC,
    logic::SHIFT,
    compare::SETP,
    compare::SET,
    compare::SELECT,
    float::SINGLE,
    float::DOUBLE,
    half::HALF,
    convert::INTEGER,
    convert::FLOAT,
    convert::NARROW,
    registers::MOVE,
    registers::SPECIAL,
    memory::LOAD,
    memory::LOAD_ORDERED,
    memory::STORE,
    memory::STORE_ORDERED,
    atomics::ATOM,
    atomics::RED,
    atomics::VECTOR,
    atomics::REMOTE,
    multimem::MULTIMEM,
    cache::CACHE,
    barrier::BARRIER,
    barrier::MBARRIER,
    bulk::COPY,
    bulk::BULK,
    bulk::TENSOR,
    bulk::TENSOR_MAP,
    warp::WARP,
    matrix::MMA,
    matrix::SPARSE,
    matrix::BLOCK_SCALE,
    matrix::WMMA,
    matrix::MOVE,
    wgmma::WGMMA,
    wgmma::WGMMA_SPARSE,
    tensor_memory::TCGEN05,
    texture::TEXTURE,
    texture::SURFACE,
    texture::INDEPENDENT,
    video::VIDEO,
    video::VIDEO_SIMD,
    control::CONTROL,
    control::CALL,
    control::NO_ABI,
    control::IDIOM,
];
