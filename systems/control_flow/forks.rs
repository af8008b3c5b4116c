//! Blocks whose end is one conditional branch of a thread.

use orias_components::{
    BlockId, Body, Guard, Opcode, Operand, RegFile, RegFlags, RegUse, View, edges,
};

/// A block that ends with one conditional branch.
#[derive(Clone, Copy)]
pub(crate) struct Fork {
    /// When control goes to the first of these, and to the second where not.
    pub when: Guard,
    pub to: [BlockId; 2],
}

/// The one conditional branch at a block's end, with where it leads.
pub(crate) fn fork(body: &Body<'_>, block: BlockId) -> Option<Fork> {
    let [one, two] = body.block(block).succs()[..] else { return None };
    let insts = &body.block(block).insts()[edges::first_branch(body, block)..];
    let branch = body.inst(*insts.first()?);
    let is_alone = match insts {
        [_] => true,
        [_, second] => {
            let second = body.inst(*second);
            second.op == Opcode::BRA && edges::is_unconditional(second)
        }
        _ => false,
    };
    if branch.op != Opcode::BRA || !is_alone {
        return None;
    }
    let taken = edges::targets(branch).next()?;
    let other = if taken == one { two } else { one };
    Some(Fork { when: condition(branch)?, to: [taken, other] })
}

/// The one condition of a branch, if a thread has it.
fn condition(branch: View<'_>) -> Option<Guard> {
    if !branch.mods().is_empty() {
        return None;
    }
    let mut found = (!branch.guard.is_always()).then_some(branch.guard);
    for operand in branch.sources() {
        let Operand::Reg(r) = operand else { continue };
        let negated = r.flags.has(RegFlags::NOT);
        if r.reg.is_zero() && !negated {
            continue;
        }
        if found.is_some() {
            return None;
        }
        found = Some(Guard { reg: r.reg, negated });
    }
    found.filter(|guard| guard.reg.file() == RegFile::P && guard.reg.vreg().is_some())
}

/// A condition as an operand.
pub(super) fn operand(guard: Guard) -> Operand {
    let flags = if guard.negated { RegFlags::NOT } else { RegFlags::NONE };
    Operand::Reg(RegUse { flags, ..RegUse::new(guard.reg) })
}
