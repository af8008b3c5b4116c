//! Phase 5, `ConvertUnsupportedOps`: instructions that ptxas was never seen to guard are jumped
//! over instead.
//!
//! What holds afterwards: a guard stands only at instructions of groups that were seen with one,
//! where the target is bound to what was seen (observed, for one: ptxas 13.0.88 has no guarded SHFL
//! or VOTE; it branches around them). Edges are right.

use crate::build::Emit;
use crate::function::Options;
use crate::notes::Notes;
use crate::params::Read;
use orias_components::{Code, Guard, InstId, View};
use orias_targets::Target;

/// Phase `ConvertUnsupportedOps`: branches around what the target never guards.
pub fn convert_unsupported_ops(code: Code<'_>, options: Read<'_, Options>, mut notes: Notes<'_>) {
    let target = options.target;
    let body = code.body();
    let mut insts = body.layout().iter().flat_map(|b| body.block(*b).insts());
    let has_guard = |id: &InstId| !body.guard(*id).is_always();
    if !insts.any(|id| has_guard(id) && is_never_guarded(target, body.inst(*id))) {
        return;
    }
    let layout = body.layout().to_vec();
    let mut changed = 0;
    let mut e = Emit::edit(body);
    for block in layout {
        for id in e.reopen(block) {
            let inst = e.body.inst(id);
            if !is_never_guarded(target, inst) {
                e.keep(id);
                continue;
            }
            let (loc, guard) = (e.body.loc(id), inst.guard);
            e.start(loc, guard);
            let left = e.enter_guard();
            e.body.set_guard(id, Guard::ALWAYS);
            e.keep(id);
            if let Some(left) = left {
                e.leave_guard(left);
            }
            changed += 1;
        }
    }
    e.finish();
    notes.count(changed);
}

/// Whether an instruction has a guard that its group was never seen with.
fn is_never_guarded(target: &Target, inst: View<'_>) -> bool {
    !inst.guard.is_always() && !inst.op.is_pseudo() && !target.takes_guard(&inst.to_inst())
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::testing;
    use orias_components::text;
    use orias_components::validate::validate;

    fn after(input: &str) -> String {
        let mut function = testing::function();
        text::parse(input, &mut function.body()).expect("Ori");
        function.run(crate::analysis::cfg::analyze_control_flow);
        function.run(convert_unsupported_ops);
        let body = function.body();
        validate(&body).unwrap_or_else(|e| panic!("{e}"));
        text::print(&body, &text::Style::default())
    }

    #[test]
    fn a_shuffle_is_jumped_over() {
        let text = after(
            "BB0:
                @%P1 PT, %R2 = SHFL.IDX %R3, 0x1, 0x1f
                EXIT PT",
        );
        assert!(!text.contains("@%P1 PT"), "{text}");
        assert!(text.contains("@!%P1 BRA"), "{text}");
    }

    #[test]
    fn an_addition_keeps_its_guard() {
        let text = after(
            "BB0:
                @%P1 %R2, PT, PT = IADD3 %R3, 0x1, RZ
                EXIT PT",
        );
        assert!(text.contains("@%P1"), "{text}");
        assert!(!text.contains("BRA"), "{text}");
    }
}
