//! Decoded matrix instructions.

use super::fragment::Fragment;
use super::group::Group;
use super::product::{Product, QuadPairs};
use crate::interpret::operand::{Address, Dst, Src};

/// All lanes of a warp: matrix instructions are `.aligned`.
pub const ALL: u64 = 0xffff_ffff;

/// A decoded matrix instruction.
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
