//! The barrier of a cluster.
//!
//! Constant bank 0 tells of clusters from 0x140 on; a launch without clusters has no barrier of
//! theirs, and threads wait at CTA barrier 0 in its place (observed: ptxas 13.0.88, sm_90a).

use crate::lower::common::lanes::under_guard;
use crate::lower::context::cx::{Cx, Sel};
use crate::ptx::program::Instruction;
use crate::ptx::words::Word;
use orias_components::{Mod, Opcode, Operand};
use orias_systems::build::{imm, not, r};

/// Word of constant bank 0 that is 1 where the launch has clusters.
pub const HAS_CLUSTERS: i32 = 0x140;

/// `barrier.cluster.arrive` and `.wait`.
pub fn barrier(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let arrive = inst.has(Word::Arrive);
    if !arrive {
        cx.barriers = cx.barriers.max(1);
    }
    under_guard(cx, |cx| {
        let (clusters, has) = (cx.e.temp(1), cx.e.temp_pred());
        cx.e.ldc(&[], r(clusters), Operand::constant(0, HAS_CLUSTERS));
        cx.e.icmp(r(has), Mod::EQ, false, r(clusters), imm(1));
        let after = cx.e.label();
        let alone = if arrive { after } else { cx.e.label() };
        cx.e.branch_if(not(r(has)), alone);
        cx.e.open_new();
        if arrive {
            if !inst.has(Word::Relaxed) {
                crate::lower::common::order::membar(cx, Mod::ALL, Mod::GPU);
            } else {
                crate::lower::common::order::converge(cx, inst);
            }
            cx.e.put(Opcode::UCGABAR_ARV, &[], 0, &[]);
        } else {
            crate::lower::common::order::converge(cx, inst);
            cx.e.put(Opcode::UCGABAR_WAIT, &[], 0, &[]);
            cx.e.put(Opcode::CCTL, &[Mod::IVALL], 0, &[]);
            cx.e.branch(after);
            cx.e.open(alone);
            crate::lower::common::order::converge(cx, inst);
            cx.e.put(Opcode::BAR, &[Mod::SYNC, Mod::DEFER_BLOCKING], 0, &[imm(0)]);
        }
        cx.e.open(after);
        Ok(())
    })
}
