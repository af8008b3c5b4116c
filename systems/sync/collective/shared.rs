//! Registers that all copies of what a warp does together name.

use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{Body, Mod, Opcode, VRegId};

/// The registers that all copies of an exchange name: what one copy is given holds for all.
pub fn shared_registers(body: &Body<'_>) -> Scratch<Vec<VRegId>> {
    let mut found = scratch!(Vec<VRegId>);
    if !body.facts().may_have(&[Opcode::ENDCOLLECTIVE]) {
        return found;
    }
    let mut inside = false;
    for id in body.layout().iter().flat_map(|b| body.block(*b).insts()) {
        let inst = body.inst(*id);
        match inst.op {
            Opcode::WARPSYNC => inside = inst.mods().has(Mod::COLLECTIVE),
            Opcode::ENDCOLLECTIVE => inside = false,
            _ if inside => {
                inst.for_each_def(|r| found.extend(r.reg.vreg()));
                inst.for_each_use(|r| found.extend(r.reg.vreg()));
            }
            _ => {}
        }
    }
    found
}
