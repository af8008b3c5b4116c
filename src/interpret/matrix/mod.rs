//! Matrix instructions: `ldmatrix`, `stmatrix`, `movmatrix`, `mma`, `wmma` and `wgmma` (PTX ISA
//! 9.0, "Warp Level Matrix Multiply-Accumulate Instructions" and "Asynchronous Warpgroup Level
//! Matrix Instructions").

mod fragment;
mod group;
mod instruction;
mod product;
mod sparse;
mod tiles;

use super::access::Stopped;
use super::env::Env;
use super::warp::Warp;
pub use fragment::{Element, Fragment, Role};
pub use group::{Group, Input};
pub use instruction::{ALL, Matrix};
pub use product::{Product, QuadPairs};
pub use sparse::Sparse;

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
