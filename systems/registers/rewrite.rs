//! From virtual to physical operands, once every register has its place.

use super::coalesce::as_copy;
use orias_components::{Body, Guard, Inst, Reg, RegUse};

/// Replaces virtual registers by what they were assigned, and removes copies that have become `MOV R4, R4`.
///
/// Returns the number of copies removed. A register without an assignment is left as it is: the encoder refuses it.
pub fn to_physical(body: &mut Body<'_>) -> usize {
    let mut removed = 0;
    for block in body.layout().to_vec() {
        for id in body.block(block).insts.clone() {
            let mut inst = body.inst(id).clone();
            map_regs(&mut inst, |r| physical(body, r));
            *body.inst_mut(id) = inst;
        }
        removed += body.retain(block, |body, id| !is_identity(body.inst(id)));
    }
    removed
}

/// Applies `f` to every register that an instruction names, guard included.
pub fn map_regs(inst: &mut Inst, mut f: impl FnMut(RegUse) -> RegUse) {
    let guard = f(RegUse::new(inst.guard.reg)).reg;
    inst.guard = Guard { reg: guard, negated: inst.guard.negated };
    for operand in &mut inst.operands {
        operand.map_regs(&mut f);
    }
}

fn physical(body: &Body<'_>, r: RegUse) -> RegUse {
    let Some(id) = r.reg.vreg() else { return r };
    match body.vreg(id).assigned {
        Some(first) => {
            let reg = Reg::phys(r.reg.file(), u32::from(first) + u32::from(r.cell));
            RegUse { reg, cell: 0, ..r }
        }
        None => r,
    }
}

fn is_identity(inst: &Inst) -> bool {
    as_copy(inst).is_some_and(|c| c.to.reg.is_phys() && c.to.reg == c.from.reg)
}
