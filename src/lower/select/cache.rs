//! Prefetches of tensor maps, and what grids that depend on each other say.

use super::bulk::{address, at};
use super::space;
use super::turns::one_by_one;
use crate::lower::source::{Cx, Sel, operand};
use crate::ptx::program::Instruction;
use crate::ptx::types::Space;
use crate::ptx::words::Word;
use orias_components::{Mod, Opcode};
use orias_systems::emit::halves;

pub fn prefetch(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    if !inst.has(Word::Tensormap) {
        return space::cache(cx, inst);
    }
    let mut map = address(cx, operand(inst, 0)?, Space::Generic)?;
    let window = [(Word::Const, space::CONST_WINDOW), (Word::Param, space::PARAM_WINDOW[0])]
        .into_iter()
        .find(|(name, _)| inst.has(*name));
    if let Some((_, at)) = window {
        // The machine has generic addresses alone.
        let (window, sum) = (space::driver_pair(cx, at), cx.e.temp(2));
        cx.e.add64(sum, halves(window), map);
        map = halves(sum);
    }
    one_by_one(cx, |cx, turn| {
        let map = turn.take_all(cx, &map);
        cx.e.put(Opcode::UTMACCTL, &[Mod::PF], 0, &[at(map, 2)]);
        Ok(())
    })
}

pub fn griddepcontrol(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let op = if inst.has(Word::Wait) { Opcode::ACQBULK } else { Opcode::PREEXIT };
    cx.e.put(op, &[], 0, &[]);
    Ok(())
}
