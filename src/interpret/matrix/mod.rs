//! Matrix instructions: `ldmatrix`, `stmatrix`, `movmatrix`, `mma`, `wmma` and `wgmma` (PTX ISA
//! 9.0, "Warp Level Matrix Multiply-Accumulate Instructions" and "Asynchronous Warpgroup Level
//! Matrix Instructions").

mod fragment;
mod group;
mod product;
mod sparse;
mod tiles;

pub use fragment::{Element, Fragment, Role};
pub use group::{Group, Input};
pub use product::{Product, QuadPairs};
pub use sparse::Sparse;

use super::access::Stopped;
use super::code::{Address, Dst, Src};
use super::grid::Env;
use super::warp::Warp;

/// All lanes of a warp: matrix instructions are `.aligned`.
pub const ALL: u64 = 0xffff_ffff;

pub enum Matrix {
    Product(Product),
    QuadPairs(QuadPairs),
    Group(Group),
    /// 8 by 8 matrices of 16-bit elements, one register each; the addresses of their rows come from
    /// the lanes in order.
    Load8 {
        at: Address,
        transposed: bool,
        dst: Box<[Dst]>,
    },
    Store8 {
        at: Address,
        transposed: bool,
        src: Box<[Src]>,
    },
    /// Transposes an 8 by 8 matrix.
    Move8 {
        dst: Dst,
        src: Src,
    },
    /// `wmma.load`; the stride is in elements.
    Load {
        at: Address,
        stride: Src,
        by_column: bool,
        fragment: Fragment,
        dst: Box<[Dst]>,
    },
    Store {
        at: Address,
        stride: Src,
        by_column: bool,
        fragment: Fragment,
        src: Box<[Src]>,
    },
}

/// Executes a matrix instruction for a whole warp.
pub fn execute(
    warp: &mut Warp,
    env: &mut Env<'_>,
    op: &Matrix,
    base: u32,
    lanes: u32,
) -> Result<(), Stopped> {
    match op {
        Matrix::Product(product) => product.execute(warp, base, lanes),
        Matrix::QuadPairs(product) => product.execute(warp, base, lanes),
        Matrix::Group(group) => {
            group.execute(warp, env, base, lanes)?;
            warp.products.done += 1;
            env.arrivals = true;
        }
        _ => tiles::execute(warp, env, op, base, lanes)?,
    }
    Ok(())
}
