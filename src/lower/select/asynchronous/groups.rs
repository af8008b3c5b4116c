//! Groups of asynchronous copies, and waiting for them.

use crate::lower::context::cx::{Cx, Sel, operand};
use crate::ptx::program::{Instruction, Operand as Ptx};
use orias_components::{Mod, Opcode};
use orias_systems::build::imm;

/// The scoreboard on which groups of copies count.
pub const GROUPS: u32 = 0;

/// The largest number of groups that DEPBAR can leave.
pub const MOST_GROUPS: u32 = 63;

/// How many groups a wait leaves under way.
///
/// # Errors
/// When the number is no constant.
pub fn groups_to_keep(inst: &Instruction) -> Sel<u32> {
    match operand(inst, 0)? {
        // Waiting for more groups than asked is waiting longer, not wrongly.
        Ptx::Int(n) => Ok(n.get().clamp(0, i128::from(MOST_GROUPS)) as u32),
        _ => Err("the number of groups must be a constant".into()),
    }
}

/// Waits until no more than `keep` groups are under way.
pub fn wait(cx: &mut Cx<'_, '_>, keep: u32) {
    cx.e.put(Opcode::DEPBAR, &[Mod::LE], 0, &[imm(GROUPS), imm(keep)]);
}
