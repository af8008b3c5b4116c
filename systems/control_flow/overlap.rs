//! What takes its time anyhow around the ways of a branch, so that longer ones may be done under a
//! condition.
//!
//! Observed (ptxas 13.0.88, sm_90a -O3, ways of 1 to 24 instructions between 0 to 40 of each kind):
//! a load from global memory among the 20 instructions before the branch counts if the condition
//! does not wait for it; not one that is volatile or strong, from shared or local memory, LDGSTS or
//! LDSM, and none behind which global memory is written, threads meet or wait, or a line of a cache
//! is asked for. Behind the ways a load from global memory counts (strong ones and LDGSTS too), or
//! six instructions of whatever kind, in the block where they meet; EXIT and what leads on do not.
//! Around a way that loads nothing but a load there counts, from an address that no way brings.

use crate::effects;
use orias_components::{BlockId, Body, Guard, InstId, Opcode, Reg, edges};
use smallvec::{SmallVec, smallvec};

/// So far is looked into the block where ways meet (60 instructions before its load are none too
/// many for ptxas).
const MOST: usize = 64;

/// What nobody loads over, as far as this is concerned.
const ENDS: [Opcode; 10] = [
    Opcode::ATOM,
    Opcode::ATOMG,
    Opcode::BAR,
    Opcode::CCTL,
    Opcode::MEMBAR,
    Opcode::NANOSLEEP,
    Opcode::RED,
    Opcode::REDG,
    Opcode::ST,
    Opcode::STG,
];

/// Whether a load is under way where these instructions end with a branch under a condition.
pub(super) fn is_load_under_way(
    body: &Body<'_>,
    insts: &[InstId],
    when: Guard,
    window: u32,
) -> bool {
    let mut awaited: SmallVec<[Reg; 8]> = smallvec![when.reg];
    for &id in insts.iter().rev().take(window as usize) {
        let inst = body.inst(id);
        if ENDS.contains(&inst.op) {
            return false;
        }
        let mut is_awaited = false;
        inst.for_each_def(|r| is_awaited |= awaited.contains(&r.reg));
        if is_awaited {
            inst.for_each_use(|r| awaited.push(r.reg));
        } else if matches!(inst.op, Opcode::LD | Opcode::LDG) && !effects::sees_other_threads(inst)
        {
            return true;
        }
    }
    false
}

/// What is done where ways meet.
#[derive(Clone, Copy, Default)]
pub(super) struct Behind {
    /// Something is loaded.
    pub loads: bool,
    /// Something is loaded from where does not depend on the way that was gone.
    pub loads_anyhow: bool,
    /// As many instructions as are as good as a load.
    pub is_long: bool,
}

impl Behind {
    /// What a block does; so many instructions are long.
    pub(super) fn of(body: &Body<'_>, block: BlockId, long: u32) -> Behind {
        let mut depends: SmallVec<[Reg; 8]> = SmallVec::new();
        let mut behind = Behind::default();
        let mut count = 0;
        for &id in body.block(block).insts().iter().take(MOST) {
            let inst = body.inst(id);
            let mut is_dependent = inst.op == Opcode::MOVPHI;
            inst.for_each_use(|r| is_dependent |= depends.contains(&r.reg));
            if is_dependent {
                inst.for_each_def(|r| depends.push(r.reg));
            }
            match inst.op {
                Opcode::MOVPHI | Opcode::NOP => continue,
                Opcode::BRA | Opcode::EXIT if edges::is_unconditional(inst) => continue,
                Opcode::LD | Opcode::LDG | Opcode::LDGSTS => {
                    behind.loads = true;
                    behind.loads_anyhow |= !is_dependent;
                }
                _ => {}
            }
            count += 1;
            behind.is_long = count >= long;
            if behind.loads_anyhow {
                break;
            }
        }
        behind
    }
}
