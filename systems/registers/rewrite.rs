//! From virtual to physical operands, once every register has its place.

use crate::effects::{as_copy, may_copy};
use orias_components::scratch;
use orias_components::{Body, Reg, RegUse, VRegId, View};

/// Replaces virtual registers by what they were assigned, and removes copies that have become `MOV
/// R4, R4`.
///
/// Returns the number of copies removed. A register without an assignment is left as it is: the
/// encoder refuses it.
pub fn to_physical(body: &mut Body<'_>) -> usize {
    let all = (0..body.vreg_count() as u32).map(|id| body.vreg(VRegId(id)).assigned);
    let assigned = scratch!(Vec<Option<u8>>).with(all);
    let mut removed = 0;
    for &block in body.walk().iter() {
        let mut identities = 0;
        for at in 0..body.block(block).insts().len() {
            let id = body.block(block).insts()[at];
            body.map_regs(id, |r| physical(&assigned, r));
            identities += usize::from(may_copy(body.op(id)) && is_identity(body.inst(id)));
        }
        if identities > 0 {
            removed += body.retain(block, |body, id| !is_identity(body.inst(id)));
        }
    }
    removed
}

fn physical(assigned: &[Option<u8>], r: RegUse) -> RegUse {
    let Some(id) = r.reg.vreg() else { return r };
    match assigned[id.0 as usize] {
        Some(first) => {
            let reg = Reg::phys(r.reg.file(), u32::from(first) + u32::from(r.cell));
            RegUse { reg, cell: 0, ..r }
        }
        None => r,
    }
}

fn is_identity(inst: View<'_>) -> bool {
    as_copy(inst).is_some_and(|c| c.to.reg.is_phys() && c.to.reg == c.from.reg)
}
