//! Blocks whose end is one conditional branch of a thread, and what is to be done where one of
//! its ways goes.

use crate::build::plop3;
use orias_components::{
    BlockId, Body, Guard, Inst, InstId, Opcode, Operand, RegFile, RegFlags, RegUse, View, edges,
    phis,
};
use smallvec::SmallVec;

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

/// Some blocks do not lead to others any more: what they brought to the phis there goes. Pairs of
/// from where and to where, which are sorted then.
pub(crate) fn bring_nothing(body: &mut Body<'_>, edges: &mut [(BlockId, BlockId)]) {
    edges.sort_unstable_by_key(|(from, to)| (*to, *from));
    for same in edges.chunk_by(|a, b| a.1 == b.1) {
        let is_gone = |operand: &Operand| match operand {
            Operand::Block(block) => same.binary_search_by_key(block, |edge| edge.0).is_ok(),
            _ => false,
        };
        for id in phis::of(body, same[0].1).collect::<SmallVec<[InstId; 4]>>() {
            let mut phi = body.inst(id).to_inst();
            let kept = phi.sources().chunks_exact(2).filter(|pair| !is_gone(&pair[1])).flatten();
            phi.operands = phi.dests().iter().chain(kept).copied().collect();
            body.set_inst(id, &phi);
        }
    }
}

/// Phis of a block that one other leads to are copies.
pub(crate) fn settle_phis(body: &mut Body<'_>, block: BlockId) {
    if body.block(block).preds().len() != 1 {
        return;
    }
    for id in phis::of(body, block).collect::<SmallVec<[InstId; 4]>>() {
        let inst = body.inst(id);
        let (Some(to), Some(Operand::Reg(from))) = (inst.reg(0), inst.get(1)) else { continue };
        if to.reg.file() == RegFile::P {
            let [to, from] = [to, from].map(Operand::Reg);
            body.set_inst(id, &plop3(to, [from, Operand::PT, Operand::PT], 0x80));
        } else {
            let operands = [Operand::Reg(to), Operand::Reg(from), Operand::Imm(0xf)];
            body.set_inst(id, &Inst::new(Opcode::MOV, &[], 1, &operands));
        }
    }
}
