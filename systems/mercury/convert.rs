//! `MercConverter`: the function's final shape in text. After it every instruction and every block has an address. Branches
//! still name blocks, so that the body stays what the validator knows; the encoder puts the addresses in.

use bevy_ecs::prelude::*;
use orias_components::{Body, InstId};

/// Bytes of a machine word.
pub const WORD: u64 = 16;

/// The function in text order.
#[derive(Resource, Clone, Debug, Default)]
pub struct Code {
    /// The address of each is its place times [`WORD`].
    pub insts: Vec<InstId>,
    /// By block id: the address of its first instruction.
    pub starts: Vec<u64>,
}

pub fn merc_converter(world: &mut World) {
    let body = Body::new(world);
    let mut code = Code { insts: Vec::new(), starts: vec![0; body.block_count()] };
    for block in body.layout() {
        code.starts[block.0 as usize] = code.insts.len() as u64 * WORD;
        code.insts.extend_from_slice(&body.block(*block).insts);
    }
    world.insert_resource(code);
}
