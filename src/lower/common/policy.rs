//! Cache policies of loads, stores, atomics and copies.

use super::lanes::for_each_value;
use crate::lower::context::cx::{Cx, Rule, Sel};
use crate::ptx::program::{Instruction, Operand as Ptx};
use crate::ptx::types::Type;
use crate::ptx::words::Word;
use orias_components::{Operand, RegUse};
use orias_systems::build::imm;

/// The operand of a cache policy, by halves.
pub fn policy(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel<Option<[Operand; 2]>> {
    if !inst.has(Word::L2CacheHint) {
        return Ok(None);
    }
    let op = inst.operands.last().ok_or("no cache policy")?;
    if let Ptx::Reg(id) = op
        && let Some(value) = cx.constants.get(id).copied()
    {
        return Ok(Some([imm(value as u32), imm((value as u64 >> 32) as u32)]));
    }
    Ok(Some(cx.halves(op, Type::B64)?))
}

/// Lowers an access by its rule. A cache policy stands in the place of the descriptor, so threads
/// with different policies go one after the other.
pub fn with_policy(cx: &mut Cx<'_, '_>, inst: &Instruction, rule: Rule) -> Sel {
    let Some(policy) = policy(cx, inst)? else { return rule(cx, inst) };
    for_each_value(cx, &policy, |cx, run| {
        cx.policy = Some(RegUse::wide(run, 2));
        let result = rule(cx, inst);
        cx.policy = None;
        result
    })
}
