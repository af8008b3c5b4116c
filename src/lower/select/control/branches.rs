//! Branches and exits.

use crate::lower::common::lanes::under_guard;
use crate::lower::context::cx::{Cx, Sel, operand};
use crate::ptx::program::{Instruction, Operand as Ptx};
use crate::ptx::types::Type;
use crate::ptx::words::{Op, Word};
use orias_components::{Mod, Opcode, Operand};
use orias_systems::build::{imm, r};

/// `bra`: the block ends.
pub fn bra(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let Ptx::Label(label) = operand(inst, 0)? else {
        return Err("target".into());
    };
    let target = cx.labels[label.0 as usize];
    cx.e.put(Opcode::BRA, &[], 0, &[Operand::PT, Operand::Block(target)]);
    cx.e.open_after_branch();
    Ok(())
}

/// Most targets of one SWITCH: what looks at each edge of a block beside the others stays cheap.
const MOST_TARGETS: usize = 256;

/// `brx.idx`: one branch, or for long lists a search by halves for one of several. What an index
/// beyond the list does is not defined.
pub fn brx(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let index = cx.src(operand(inst, 0)?, Type::U32)?;
    let index = cx.in_reg(index);
    let Ptx::BranchTargets(list) = operand(inst, 1)? else {
        return Err("list of targets".into());
    };
    let function = cx.function;
    let targets = function.branch_targets.get(*list as usize).ok_or("list of targets")?;
    let blocks: Vec<_> = targets.iter().map(|l| cx.labels[l.0 as usize]).collect();
    if blocks.is_empty() {
        return Err("an empty list of targets".into());
    }
    under_guard(cx, |cx| {
        let e = &mut cx.e;
        // Ranges still to search, each with the block where its search starts.
        let mut work = vec![(e.block, 0, blocks.len())];
        while let Some((block, from, to)) = work.pop() {
            if block != e.block {
                e.open(block);
            }
            let range = &blocks[from..to];
            if range.iter().all(|b| *b == range[0]) {
                e.branch(range[0]);
            } else if range.len() <= MOST_TARGETS {
                let place = match from {
                    0 => index,
                    _ => {
                        let place = r(e.temp(1));
                        e.iadd3(place, index, imm((from as u32).wrapping_neg()), Operand::RZ);
                        place
                    }
                };
                let mut operands = vec![place];
                operands.extend(range.iter().map(|b| Operand::Block(*b)));
                e.put(Opcode::SWITCH, &[], 0, &operands);
            } else {
                let middle = from + range.len() / 2;
                let p = e.temp_pred();
                e.icmp(r(p), Mod::GE, false, index, imm(middle as u32));
                let upper = e.label();
                e.branch_if(r(p), upper);
                let lower = e.label();
                work.push((upper, middle, to));
                work.push((lower, from, middle));
            }
        }
        Ok(())
    })?;
    cx.e.open_after_branch();
    Ok(())
}

/// The end of a kernel's thread.
pub fn exit(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    if inst.opcode == Op::Ret && !cx.function.entry {
        return self::ret(cx);
    }
    cx.e.put(Opcode::EXIT, &[], 0, &[Operand::PT]);
    cx.e.open_after_branch();
    Ok(())
}

/// `trap`, and `brkpt`, which is the same instruction; a guard jumps over it. Nobody goes on behind
/// a `trap`, and so nobody waits there for who came to it. (Observed: ptxas 13.0.88, which has no
/// BSSY around a `trap` and has one around a `brkpt`; where we have EXIT, it has nothing.)
pub fn trap(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ends = inst.opcode == Op::Trap;
    under_guard(cx, |cx| {
        let e = &mut cx.e;
        e.put(Opcode::BPT, &[Mod::TRAP], 0, &[imm(1)]);
        if ends {
            e.put(Opcode::EXIT, &[], 0, &[Operand::PT]);
        }
        Ok(())
    })?;
    if ends && inst.guard.is_none() {
        cx.e.open_after_branch();
    }
    Ok(())
}

/// `pmevent`: the events as a mask.
pub fn pmevent(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let Some(event) = operand(inst, 0)?.integer() else {
        return Err("the event must be a constant".into());
    };
    let mask = if inst.has(Word::Mask) { event as u32 } else { 1 << (event as u32 & 15) };
    cx.e.put(Opcode::PMTRIG, &[], 0, &[imm(mask & 0xffff)]);
    Ok(())
}

/// `ret` of a device function: all its ways out join in one block.
pub fn ret(cx: &mut Cx<'_, '_>) -> Sel {
    let end = match cx.epilogue {
        Some(block) => block,
        None => *cx.epilogue.insert(cx.e.label()),
    };
    cx.e.put(Opcode::BRA, &[], 0, &[Operand::PT, Operand::Block(end)]);
    cx.e.open_after_branch();
    Ok(())
}
