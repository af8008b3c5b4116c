//! `MercConverter`: the function's final shape in text. After it every instruction and every block
//! has an address. Branches still name blocks, so that the body stays what the validator knows; the
//! encoder puts the addresses in.

use crate::params::Write;
use bevy_ecs::prelude::*;
use orias_components::{InstId, Reader};

/// Bytes of a machine word.
pub const WORD: u64 = 16;

/// Where a block is that has no place in the text.
pub const NOWHERE: u64 = u64::MAX;

/// The function in text order.
#[derive(Resource, Clone, Debug, Default)]
pub struct CodeList {
    /// The address of each is its place times [`WORD`].
    pub insts: Vec<InstId>,
    /// By block id: the address of its first instruction, or [`NOWHERE`].
    pub starts: Vec<u64>,
}

impl CodeList {
    /// Forgets the function, keeps allocations.
    pub fn clear(&mut self) {
        self.insts.clear();
        self.starts.clear();
    }
}

/// Phase `MercConverter`: lists the instructions in text order, with addresses in place of blocks.
pub fn merc_converter(code: Reader<'_>, mut list: Write<'_, CodeList>) {
    let body = code.body();
    list.clear();
    list.starts.resize(body.block_count(), NOWHERE);
    for block in body.layout() {
        list.starts[block.0 as usize] = list.insts.len() as u64 * WORD;
        list.insts.extend_from_slice(body.block(*block).insts());
    }
}
