//! Cache policies of loads, stores, atomics and copies by thread.

use super::Rule;
use super::bulk::policy;
use super::turns::by_value;
use crate::lower::source::{Cx, Sel};
use crate::ptx::program::Instruction;
use orias_components::RegUse;

/// Lowers an access by its rule. A cache policy stands in the place of the descriptor, so threads
/// with different policies take turns.
pub fn lower(cx: &mut Cx<'_, '_>, inst: &Instruction, rule: Rule) -> Sel {
    let Some(policy) = policy(cx, inst)? else { return rule(cx, inst) };
    by_value(cx, &policy, |cx, run| {
        cx.policy = Some(RegUse::wide(run, 2));
        let result = rule(cx, inst);
        cx.policy = None;
        result
    })
}
