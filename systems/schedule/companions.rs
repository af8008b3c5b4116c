//! NOPs that ptxas (13.0.88, sm_90a) always has beside an instruction, and nothing says what for:
//! behind ARRIVES, before USETMAXREG where no WARPSYNC stands there, and at -O0 behind NANOSLEEP.

use orias_components::{BlockId, Body, Inst, InstId, Loc, Mod, Opcode, Operand};

/// Puts them in; `optimized` from -O1 on.
pub fn add(body: &mut Body<'_>, layout: &[BlockId], optimized: bool) {
    let have_companions = [Opcode::ARRIVES, Opcode::USETMAXREG, Opcode::NANOSLEEP];
    if !body.facts().may_have(&have_companions) {
        return;
    }
    for block in layout {
        let insts: &[InstId] = body.block(*block).insts();
        let op = |at: usize| insts.get(at).map(|id| body.op(*id));
        let in_wait = |at: usize| body.inst(insts[at]).mods().has(Mod::SYNCS);
        let mut places = Vec::new();
        for at in 0..insts.len() {
            let before = at.checked_sub(1).and_then(op);
            match op(at) {
                Some(Opcode::ARRIVES) => places.push(at + 1),
                Some(Opcode::NANOSLEEP) if !optimized && !in_wait(at) => places.push(at + 1),
                Some(Opcode::USETMAXREG)
                    if !matches!(before, Some(Opcode::NOP | Opcode::WARPSYNC)) =>
                {
                    places.push(at);
                }
                _ => {}
            }
        }
        let nop = || Inst::new(Opcode::NOP, &[], 0, &[] as &[Operand]);
        body.insert_all(*block, places.into_iter().map(|at| (at, nop(), Loc::default())));
    }
}
