//! Phase 9, OriCreateMacroInsts: expands the pseudo instructions of lowering in line.
//!
//! What holds afterwards: there is no IDIV, IREM, FDIV, FRCP or FSQRT. An expansion may end the block and open new ones; edges are
//! right again. Sources are read before the destination is written, so a destination may be one of them.

use super::{divide, float};
use crate::analysis::cfg;
use crate::emit::Emit;
use crate::manager::{count_rewrites, fail};
use bevy_ecs::world::World;
use orias_components::{Body, Inst, Mod, Opcode};

/// Phase 9.
pub fn create_macro_insts(world: &mut World) {
    let body = Body::new(world);
    let has_macros = |body: &Body<'_>| {
        let blocks = body.layout().iter();
        let mut insts = blocks.flat_map(|b| body.block(*b).insts.iter());
        insts.any(|id| is_macro(body.inst(*id).op))
    };
    if !has_macros(&body) {
        return;
    }
    let layout = body.layout().to_vec();
    let mut errors = Vec::new();
    let mut expanded = 0;
    let mut e = Emit::edit(body);
    for block in layout {
        for id in e.reopen(block) {
            let inst = e.body.inst(id).clone();
            if !is_macro(inst.op) {
                e.keep(id);
                continue;
            }
            let loc = e.body.loc(id);
            e.start(loc, inst.guard);
            if let Err(message) = expand(&mut e, &inst) {
                errors.push((message, loc));
            }
            e.body.discard(id);
            expanded += 1;
        }
    }
    let mut body = e.finish();
    cfg::update(&mut body);
    for (message, loc) in errors {
        fail(world, message, loc);
    }
    count_rewrites(world, expanded);
}

fn is_macro(op: Opcode) -> bool {
    matches!(op, Opcode::IDIV | Opcode::IREM | Opcode::FDIV | Opcode::FRCP | Opcode::FSQRT)
}

fn expand(e: &mut Emit<'_>, inst: &Inst) -> Result<(), String> {
    let double = inst.mods.has(Mod::F64);
    match inst.op {
        Opcode::IDIV | Opcode::IREM => divide::expand(e, inst),
        _ if double => return Err(format!("{}{} has no expansion yet", inst.op, inst.mods)),
        Opcode::FDIV => float::divide(e, inst),
        Opcode::FRCP => float::reciprocal(e, inst),
        _ => float::square_root(e, inst),
    }
    Ok(())
}
