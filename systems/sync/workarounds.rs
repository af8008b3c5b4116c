//! Instructions that only stand there because the hardware wants them.

use crate::effects;
use crate::notes::Notes;
use orias_components::{Code, Guard, Inst, MemRef, Mod, Opcode, Operand, Reg, RegUse, View};

/// How many loads without effect ptxas puts before a copy to shared memory.
const LOADS: usize = 3;

/// Phase `ApplyPostRegAllocWars`: puts loads of shared memory that never run (`@!PT LDS RZ, [RZ]`)
/// before each LDGSTS that follows another access to shared memory, or comes first in its block.
///
/// Observed (ptxas 13.0.88, sm_90a, all levels): three, unless in the block nothing that may touch
/// shared memory and no CTA barrier stands between this LDGSTS and the one before.
pub fn apply_post_reg_alloc_wars(code: Code<'_>, mut notes: Notes<'_>) {
    let mut body = code.body();
    let mut added = 0;
    for &block in body.walk().iter() {
        let mut clean = false;
        body.rewrite(block, |body, out, id| {
            let inst = body.inst(id);
            if inst.op != Opcode::LDGSTS {
                clean &= !touches_shared(inst);
            } else if !std::mem::replace(&mut clean, true) {
                let loc = body.loc(id);
                for _ in 0..LOADS {
                    out.put(body, &idle_load(), loc);
                }
                added += LOADS;
            }
            out.keep(id);
        });
    }
    notes.count(added);
}

fn touches_shared(inst: View<'_>) -> bool {
    inst.op == Opcode::BAR || effects::may_touch_shared(inst.op)
}

fn idle_load() -> Inst {
    let address = MemRef {
        base: RegUse::new(Reg::RZ),
        uniform: RegUse::new(Reg::URZ),
        offset: 0,
        sel: Mod::NONE,
    };
    let mut load = Inst::new(Opcode::LDS, &[], 1, &[Operand::RZ, Operand::Mem(address)]);
    load.guard = Guard { negated: true, ..Guard::ALWAYS };
    load
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Report;
    use crate::testing;
    use orias_components::text;

    fn added(input: &str) -> usize {
        let mut function = testing::function();
        text::parse(input, &mut function.body()).expect("Ori");
        function.run(apply_post_reg_alloc_wars);
        function.world().resource::<Report>().rewrites as usize
    }

    const COPY: &str = "LDGSTS.E [R2], desc[UR4], [R4.64], PT\n";

    #[test]
    fn the_first_copy_of_a_block_and_one_after_another_shared_access_get_loads() {
        let group = format!("BB0:\n{COPY}LDGDEPBAR\n{COPY}EXIT PT");
        assert_eq!(added(&group), LOADS);
        let between = format!("BB0:\n{COPY}R6 = LDS [R2]\n{COPY}EXIT PT");
        assert_eq!(added(&between), 2 * LOADS);
    }

    #[test]
    fn a_block_without_copies_stays_as_it_is() {
        assert_eq!(added("BB0:\nR6 = LDS [R2]\nEXIT PT"), 0);
    }
}
