//! `MercConverter`: the function's final shape in text. After it every instruction has an address, every branch names one,
//! and the text is padded as ptxas pads it.

use bevy_ecs::prelude::*;
use orias_components::{BlockId, Body, Control, Inst, InstId, Loc, Opcode, Operand, Reg};
use orias_components::{RegUse, operand::RegFlags};

/// Bytes of a machine word.
pub const WORD: u64 = 16;
/// The text of a function is a multiple of this (observed: ptxas 13.0.88).
pub const ALIGN: u64 = 128;

/// The instructions in text order: the address of each is its place times [`WORD`].
#[derive(Resource, Clone, Debug, Default)]
pub struct Code(pub Vec<InstId>);

pub fn merc_converter(world: &mut World) {
    let mut body = Body::new(world);
    let layout = body.layout().to_vec();
    let mut start = vec![0u64; body.block_count()];
    let mut code: Vec<InstId> = Vec::new();
    for block in &layout {
        start[block.0 as usize] = code.len() as u64 * WORD;
        code.extend_from_slice(&body.block(*block).insts);
    }
    for id in &code {
        for operand in &mut body.inst_mut(*id).operands {
            if let Operand::Block(BlockId(block)) = *operand {
                *operand = Operand::Addr(start[block as usize]);
            }
        }
    }
    if let Some(last) = layout.last() {
        pad(&mut body, *last, &mut code);
    }
    world.insert_resource(Code(code));
}

/// Ends the text as ptxas does: a branch to itself, then NOPs.
fn pad(body: &mut Body<'_>, last: BlockId, code: &mut Vec<InstId>) {
    let idle = Control { stall: 0, yield_: false, ..Control::default() };
    let here = Operand::Addr(code.len() as u64 * WORD);
    let always = Operand::Reg(RegUse { flags: RegFlags::NONE, ..RegUse::new(Reg::PT) });
    let mut branch = Inst::new(Opcode::BRA, &[], 0, &[always, here]);
    branch.control = idle;
    code.push(body.push(last, branch, Loc::default()));
    while (code.len() as u64 * WORD) % ALIGN != 0 {
        let mut nop = Inst::new(Opcode::NOP, &[], 0, &[]);
        nop.control = idle;
        code.push(body.push(last, nop, Loc::default()));
    }
}
