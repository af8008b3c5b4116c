//! Prefetches of tensor maps, and what grids that depend on each other say.

use super::bulk::{address, at};
use super::turns::one_by_one;
use crate::lower::source::{Cx, Sel, operand};
use crate::ptx::program::Instruction;
use crate::ptx::types::Space;
use orias_components::{Mod, Opcode};

pub fn prefetch<'a>(cx: &mut Cx<'a, '_>, inst: &Instruction<'a>) -> Sel {
    if !inst.has("tensormap") {
        return super::space::cache(cx, inst);
    }
    if inst.has("const") || inst.has("param") {
        // An advice about a map in a window that the machine reads by generic addresses alone.
        return Ok(());
    }
    let map = address(cx, operand(inst, 0)?, Space::Generic)?;
    one_by_one(cx, |cx, turn| {
        let map = turn.take_all(cx, &map);
        cx.e.put(Opcode::UTMACCTL, &[Mod::PF], 0, &[at(map, 2)]);
        Ok(())
    })
}

pub fn griddepcontrol<'a>(cx: &mut Cx<'a, '_>, inst: &Instruction<'a>) -> Sel {
    let op = if inst.has("wait") { Opcode::ACQBULK } else { Opcode::PREEXIT };
    cx.e.put(op, &[], 0, &[]);
    Ok(())
}
