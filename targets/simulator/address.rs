//! Addresses of instructions, and the part of the shared window that each CTA of a cluster has.

use super::operand::Src;

/// A rank's place in a shared address.
pub const RANK_SHIFT: u32 = 24;

/// Bytes of the shared window that a CTA has.
pub const RANK_BYTES: u64 = 1 << RANK_SHIFT;

/// Which memory an access means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Space {
    Global,
    Generic,
    Shared,
    Local,
}

/// `[base * scale + uniform + offset]`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address {
    pub space: Space,
    pub base: Src,
    pub scale: u8,
    pub uniform: Option<u8>,
    pub uniform_wide: bool,
    pub offset: i32,
    /// The uniform pair that must hold the memory descriptor.
    pub descriptor: Option<u8>,
}
