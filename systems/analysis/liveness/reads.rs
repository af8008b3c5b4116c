//! What an instruction reads in its block, and whether it ends the old values of what it writes.

use orias_components::{Opcode, RegUse, View};

/// Whether an instruction's definitions end the old values.
///
/// A guarded definition keeps the old value in the threads where the guard is false; in SSA form it
/// reads it. R2UR takes its value from a thread where the guard holds: without one the
/// result is not read.
pub fn kills(inst: View<'_>) -> bool {
    inst.guard.is_always() || inst.op == Opcode::R2UR || inst.tied().len() > 0
}

/// Calls `f` on the registers that an instruction reads in its block: phis read at the ends of
/// others.
pub fn for_each_read(inst: View<'_>, f: impl FnMut(RegUse)) {
    if inst.op != Opcode::MOVPHI {
        inst.for_each_use(f);
    }
}
