//! What grids that depend on each other say: `griddepcontrol`.

use crate::lower::context::cx::{Cx, Sel};
use crate::ptx::program::Instruction;
use crate::ptx::words::Word;
use orias_components::Opcode;

/// `griddepcontrol`: wait for the grids before, or let those after begin.
pub fn griddepcontrol(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let op = if inst.has(Word::Wait) { Opcode::ACQBULK } else { Opcode::PREEXIT };
    cx.e.put(op, &[], 0, &[]);
    Ok(())
}
