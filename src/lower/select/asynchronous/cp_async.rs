//! `cp.async`: copies of 4, 8 or 16 bytes a thread from global to shared memory (LDGSTS), their
//! groups, and the barriers that count them.
//!
//! Observed (ptxas 13.0.88, sm_90a): a group ends with LDGDEPBAR, which counts on scoreboard 0, and
//! DEPBAR.LE waits until no more than so many are left. With fewer source bytes than the copy has,
//! the missing ones are added to the global address, whose low bits LDGSTS.ZFILL reads as their
//! number; with none, the predicate operand is false, and zeros are written.

use super::groups::{groups_to_keep, wait};
use crate::lower::common::access::{in_one_register, within};
use crate::lower::common::lanes::for_each_value;
use crate::lower::common::modifiers::prefetch_size;
use crate::lower::common::policy::with_policy;
use crate::lower::context::cx::{Cx, Sel, operand};
use crate::ptx::program::{Instruction, Operand as Ptx};
use crate::ptx::types::{Space, Type};
use crate::ptx::words::Word;
use orias_components::{Mod, Opcode, Operand, Reg, RegUse};
use orias_systems::build::{Address, cell, imm, neg, not, r};

/// `cp.async`, of the words that are neither bulk nor tensor copies.
pub fn cp(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    if inst.has(Word::CommitGroup) {
        cx.e.put(Opcode::LDGDEPBAR, &[], 0, &[]);
        return Ok(());
    }
    if inst.has(Word::WaitAll) {
        cx.e.put(Opcode::LDGDEPBAR, &[], 0, &[]);
        wait(cx, 0);
        return Ok(());
    }
    if inst.has(Word::WaitGroup) {
        let keep = groups_to_keep(inst)?;
        wait(cx, keep);
        return Ok(());
    }
    if inst.has(Word::Mbarrier) {
        return arrive(cx, inst);
    }
    with_policy(cx, inst, copy)
}

/// `cp.async.mbarrier.arrive`: the barrier hears of it when this thread's copies so far are done.
/// Without `.noinc` the phase first waits for one event more.
fn arrive(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let address = cx.address(operand(inst, 0)?, Space::Shared)?;
    let mut kind = Mod::ARVCNT;
    if !inst.has(Word::Noinc) {
        kind = Mod::TRANSCNT;
        let mods = [Mod::ARRIVE, Mod::TRANS64, Mod::RED, Mod::A0T1];
        cx.e.put(Opcode::SYNCS, &mods, 1, &[Operand::RZ, address.operand(), Operand::RZ]);
    }
    let arrive = |cx: &mut Cx<'_, '_>, at: Address| {
        let mods = [Mod::LDGSTSBAR, Mod::_64, kind];
        cx.e.put(Opcode::ARRIVES, &mods, 0, &[at.operand()]);
        Ok(())
    };
    if address.base.reg.is_zero() && !address.uniform.reg.is_zero() {
        return arrive(cx, address);
    }
    // The machine takes the barrier's place from a uniform register alone.
    let address = in_one_register(cx, address, 24);
    let base = match address.base.reg.is_zero() {
        true => Operand::Imm(0),
        false => Operand::Reg(address.base),
    };
    for_each_value(cx, &[base], |cx, run| {
        let (base, uniform) = (RegUse::new(Reg::RZ), RegUse::new(run));
        arrive(cx, Address { base, uniform, ..address })
    })
}

/// One copy: LDGSTS.
pub fn copy(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let Some(size) = operand(inst, 2)?.integer() else {
        return Err("the size must be a constant".into());
    };
    let size = size as u32;
    let to = cx.address(operand(inst, 0)?, Space::Shared)?;
    let to = in_one_register(cx, to, 20);
    let mut from = cx.address(operand(inst, 1)?, Space::Global)?;
    let mut fill = false;
    let mut copies = Operand::PT;
    let last = inst.operands.len() - usize::from(inst.has(Word::L2CacheHint));
    match inst.operands[..last].get(3) {
        None => {}
        Some(Ptx::Int(n)) => {
            // A number beyond the size is no valid program.
            let missing = size.saturating_sub(u32::try_from(n.get()).unwrap_or(size));
            if missing == size {
                copies = Operand::NOT_PT;
            } else if missing != 0 {
                fill = true;
                from.offset += missing as i32;
            }
        }
        Some(op) if is_predicate(cx, op) => copies = not(cx.pred(op)?),
        Some(op) => {
            fill = true;
            let n = cx.src(op, Type::U32)?;
            let n = cx.in_reg(n);
            let (left, missing) = (cx.e.temp(1), cx.e.temp(1));
            cx.e.iadd3(r(left), neg(n), imm(size), Operand::RZ);
            cx.e.and(r(missing), r(left), imm(size - 1));
            let some = cx.e.temp_pred();
            cx.e.icmp(r(some), Mod::NE, false, n, Operand::RZ);
            copies = r(some);
            let sum = cx.e.temp(2);
            let base = [cell(from.base.reg, 0), cell(from.base.reg, 1)];
            cx.e.add64(sum, base, [r(missing), Operand::RZ]);
            from.base = RegUse::wide(sum, 2);
        }
    }
    let from = within(cx, from, 12);
    let mut mods = vec![Mod::E];
    if inst.has(Word::Cg) {
        mods.push(Mod::BYPASS);
    }
    mods.extend(prefetch_size(inst));
    match size {
        8 => mods.push(Mod::_64),
        16 => mods.push(Mod::_128),
        _ => {}
    }
    if fill {
        mods.push(Mod::ZFILL);
    }
    let descriptor = Operand::Desc(cx.descriptor());
    let operands = [to.operand(), descriptor, from.operand(), copies];
    cx.e.put(Opcode::LDGSTS, &mods, 0, &operands);
    Ok(())
}

fn is_predicate(cx: &Cx<'_, '_>, op: &Ptx) -> bool {
    matches!(op, Ptx::NotReg(_)) || matches!(op, Ptx::Reg(id) if cx.reg_type(*id) == Type::Pred)
}
