//! Which registers are values in SSA form: see [`super`].

use crate::sync::collective;
use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{Body, Props, RegFile, VRegId};

/// Virtual registers whose cells are no values: see the head of [`super`]. Uniform registers and
/// barriers are not among them: their file says it.
pub struct Fixed(pub Scratch<Vec<bool>>);

impl Fixed {
    pub fn of(body: &Body<'_>) -> Fixed {
        let ids = 0..body.vreg_count() as u32;
        let mut fixed = scratch!(Vec<bool>);
        fixed.extend(ids.map(|v| body.vreg(VRegId(v)).assigned.is_some()));
        let products = body.facts().may_have_any(Props::GROUP);
        for block in body.layout().iter().filter(|_| products) {
            for id in body.block(*block).insts() {
                if body.op(*id).has(Props::GROUP) {
                    body.inst(*id).for_each_def(|r| {
                        if let Some(v) = r.reg.vreg() {
                            fixed[v.0 as usize] = true;
                        }
                    });
                }
            }
        }
        for v in &collective::shared_registers(body) {
            fixed[v.0 as usize] = true;
        }
        Fixed(fixed)
    }
}

/// Whether a register's cells are values; those that were made since are.
pub fn is_value(body: &Body<'_>, fixed: &Fixed, id: VRegId) -> bool {
    let is_fixed = fixed.0.get(id.0 as usize).is_some_and(|f| *f);
    matches!(body.vreg(id).file, RegFile::R | RegFile::P) && !is_fixed
}
