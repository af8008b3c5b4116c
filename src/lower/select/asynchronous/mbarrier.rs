//! Barriers in shared memory: SYNCS.
//!
//! Observed (ptxas 13.0.88, sm_90a): a barrier holds, less 2^20, the arrivals still to come from
//! bit 43 on and those of a phase from bit 1 on; a state is that word as an arrival found it, of
//! which only the high half counts. Orders within the CTA take no instruction of their own.

use crate::lower::common::access::in_one_register;
use crate::lower::common::lanes::{under_guard, value_by_value};
use crate::lower::common::modifiers::space;
use crate::lower::context::cx::{Cx, Sel, operand};
use crate::ptx::program::{AddressBase, Instruction, Operand as Ptx};
use crate::ptx::types::{Space, Type};
use crate::ptx::words::Word;
use orias_components::{Guard, Mod, Opcode, Operand, Reg, RegUse};
use orias_systems::build::{Address, cell, imm, neg, r, wide};

/// `mbarrier` in all its forms.
pub fn mbarrier(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    match inst.modifiers.first().copied().ok_or("mbarrier")? {
        Word::Init => init(cx, inst),
        Word::Inval => {
            let address = place(cx, inst, 0)?;
            cx.e.put(Opcode::SYNCS, &[Mod::CCTL, Mod::IV], 0, &[address]);
            Ok(())
        }
        Word::Arrive => arrive(cx, inst, false),
        Word::ArriveDrop => arrive(cx, inst, true),
        Word::ExpectTx => transactions(cx, inst, Mod::A0TR),
        Word::CompleteTx => transactions(cx, inst, Mod::A0TX),
        Word::TestWait => test(cx, inst, false),
        Word::TryWait => test(cx, inst, true),
        Word::PendingCount => pending_count(cx, inst),
        other => Err(format!("mbarrier.{other}")),
    }
}

/// The barrier's address; of a generic one the low half, which is the address in the shared window
/// of the cluster.
fn place(cx: &mut Cx<'_, '_>, inst: &Instruction, index: usize) -> Sel<Operand> {
    Ok(cx.address(operand(inst, index)?, Space::Shared)?.operand())
}

/// `mbarrier.init`: writes the barrier's word. What was in the place before must be done with.
fn init(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let address_op = operand(inst, 0)?;
    let count = cx.src(operand(inst, 1)?, Type::U32)?;
    let address = cx.address(address_op, Space::Shared)?;
    let word: [Operand; 2] = match count {
        Operand::Imm(n) => {
            let left = 0x10_0000u32.wrapping_sub(n as u32);
            [imm(left << 1), imm(left << 11)]
        }
        count => {
            let (left, lo, hi) = (cx.e.temp(1), cx.e.temp(1), cx.e.temp(1));
            cx.e.iadd3(r(left), neg(count), imm(0x10_0000), Operand::RZ);
            cx.e.shl(r(lo), r(left), imm(1));
            cx.e.shl(r(hi), r(left), imm(11));
            [r(lo), r(hi)]
        }
    };
    let is_same = matches!(address_op, Ptx::Address { base: AddressBase::Var(_), .. })
        && matches!(count, Operand::Imm(_));
    if is_same {
        return under_guard(cx, |cx| {
            let value = crate::lower::common::lanes::uniform(cx, 2);
            for (i, half) in word.iter().enumerate() {
                cx.e.put(Opcode::UMOV, &[], 1, &[cell(value, i as u8), *half]);
            }
            exchange(cx, address, value);
            Ok(())
        });
    }
    let address = in_one_register(cx, address, 24);
    value_by_value(cx, |cx, lane| {
        let value = lane.all_to_uniform(cx, &word);
        let base = lane.all_to_uniform(cx, &[Operand::Reg(address.base)]);
        exchange(
            cx,
            Address { uniform: RegUse::new(base), base: RegUse::new(Reg::RZ), ..address },
            value,
        );
        Ok(())
    })
}

fn exchange(cx: &mut Cx<'_, '_>, address: Address, value: Reg) {
    cx.e.put(Opcode::FENCE, &[Mod::VIEW, Mod::ASYNC, Mod::S], 0, &[]);
    let operands = [Operand::URZ, address.operand(), wide(value, 2)];
    cx.e.put(Opcode::SYNCS, &[Mod::EXCH, Mod::_64], 1, &operands);
}

fn transactions(cx: &mut Cx<'_, '_>, inst: &Instruction, kind: Mod) -> Sel {
    let address = place(cx, inst, 0)?;
    let count = cx.src(operand(inst, 1)?, Type::U32)?;
    let count = cx.in_reg(count);
    let mods = [Mod::ARRIVE, Mod::TRANS64, Mod::RED, kind];
    cx.e.put(Opcode::SYNCS, &mods, 1, &[Operand::RZ, address, count]);
    Ok(())
}

/// `mbarrier.arrive` and `.arrive_drop`: `state, [barrier]{, count}`; with `.expect_tx` the count
/// is that of bytes.
fn arrive(cx: &mut Cx<'_, '_>, inst: &Instruction, drop: bool) -> Sel {
    let at = inst.operands.iter().position(|o| matches!(o, Ptx::Address { .. }));
    let at = at.ok_or("no address")?;
    let state_op = inst.operands[..at].first();
    let state = state_op.map_or(Ok(Reg::RZ), |op| cx.dst(op))?;
    // A generic address may lead to another CTA's barrier where no state is asked for.
    let sunk = matches!(state_op, Some(Ptx::Sink));
    let remote = inst.has(Word::SharedCluster) || sunk && space(inst) == Space::Generic;
    let address = place(cx, inst, at)?;
    let count = match inst.operands.get(at + 1) {
        Some(op) => Some(cx.src(op, Type::U32)?),
        None => None,
    };
    if inst.has(Word::Release) && inst.has(Word::Cluster) {
        cx.e.put(Opcode::MEMBAR, &[Mod::ALL, Mod::CTA], 0, &[]);
        crate::lower::common::order::membar(cx, Mod::ALL, Mod::GPU);
    }
    let mut mods = vec![Mod::ARRIVE, Mod::TRANS64];
    if inst.has(Word::NoComplete) {
        let count = count.ok_or("no count")?;
        return arrive_together(cx, state, address, count, drop);
    }
    if remote {
        mods.push(Mod::RED);
    }
    if drop {
        mods.push(Mod::OPTOUT);
    }
    let count = match (inst.has(Word::ExpectTx), count) {
        (true, Some(bytes)) => cx.in_reg(bytes),
        (false, Some(count)) if count != Operand::Imm(1) => {
            mods.push(Mod::ART0);
            cx.in_reg(count)
        }
        _ => {
            mods.push(Mod::A1T0);
            Operand::RZ
        }
    };
    let result = if state.is_zero() { Operand::RZ } else { wide(state, 2) };
    cx.e.put(Opcode::SYNCS, &mods, 1, &[result, address, count]);
    Ok(())
}

/// `.noComplete`: threads that arrive together all get the word as it was before the first, and the
/// mask of these threads in place of the low half. Each adds what those before it have taken away;
/// for that their counts must be the same.
fn arrive_together(
    cx: &mut Cx<'_, '_>,
    state: Reg,
    address: Operand,
    count: Operand,
    drop: bool,
) -> Sel {
    crate::lower::common::lanes::for_each_value(cx, &[count], |cx, _| {
        let mut mods = vec![Mod::ARRIVE, Mod::TRANS64, Mod::TMASK];
        if drop {
            mods.push(Mod::OPTOUT);
        }
        mods.push(Mod::ART0);
        let count = cx.in_reg(count);
        let found = cx.e.temp(2);
        cx.e.put(Opcode::SYNCS, &mods, 1, &[wide(found, 2), address, count]);
        if state.is_zero() {
            return Ok(());
        }
        let (lower, before, threads, field) =
            (cx.e.temp(1), cx.e.temp(1), cx.e.temp(1), cx.e.temp(1));
        let source = cx.special_operand("SR_LTMASK")?;
        cx.e.put(Opcode::S2R, &[], 1, &[r(lower), source]);
        cx.e.and(r(before), cell(found, 0), r(lower));
        cx.e.put(Opcode::POPC, &[], 1, &[r(threads), r(before)]);
        cx.e.shl(r(field), r(threads), imm(11));
        cx.e.mov(cell(state, 0), cell(found, 0));
        cx.e.imad(cell(state, 1), r(field), count, cell(found, 1));
        Ok(())
    })
}

/// `test_wait` and `try_wait`: `p, [barrier], state or parity{, time}`.
fn test(cx: &mut Cx<'_, '_>, inst: &Instruction, may_wait: bool) -> Sel {
    let done = cx.dst_pred(operand(inst, 0)?)?;
    let address = place(cx, inst, 1)?;
    let phase = operand(inst, 2)?;
    let phase = if inst.has(Word::Parity) {
        let parity = cx.src(phase, Type::U32)?;
        let bit = cx.e.temp(1);
        match parity {
            Operand::Imm(n) => cx.e.mov(r(bit), imm((n as u32) << 31)),
            parity => cx.e.shl(r(bit), parity, imm(31)),
        }
        r(bit)
    } else {
        let high = cx.value(phase, Type::B64)?.hi();
        cx.in_reg(high)
    };
    let time = match inst.operands.get(3) {
        Some(op) => Some(cx.src(op, Type::U32)?),
        None => None,
    };
    let mods = [Mod::PHASECHK, Mod::TRANS64, Mod::TRYWAIT];
    let acquires = inst.has(Word::Cluster) && !inst.has(Word::Relaxed);
    if time.is_none() && !acquires {
        let mods = if may_wait { &mods[..] } else { &mods[..2] };
        cx.e.put(Opcode::SYNCS, mods, 1, &[done, address, phase]);
        return Ok(());
    }
    under_guard(cx, |cx| {
        let holds = cx.e.temp_pred();
        let operands = [r(holds), address, phase];
        let first = if may_wait { &mods[..] } else { &mods[..2] };
        cx.e.put(Opcode::SYNCS, first, 1, &operands);
        if let Some(time) = time {
            cx.e.guard = Guard { reg: holds, negated: true };
            cx.e.put(Opcode::NANOSLEEP, &[Mod::SYNCS], 0, &[Operand::PT, time]);
            cx.e.put(Opcode::SYNCS, &mods[..2], 1, &operands);
            cx.e.guard = Guard::ALWAYS;
        }
        if acquires {
            cx.e.put_if(r(holds), Opcode::CCTL, &[Mod::IVALL], 0, &[]);
        }
        cx.e.mov_pred(done, r(holds));
        Ok(())
    })
}

/// `mbarrier.pending_count`: the arrivals still to come, out of a state.
fn pending_count(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let d = cx.dst(operand(inst, 0)?)?;
    let high = cx.value(operand(inst, 1)?, Type::B64)?.hi();
    let (field, left) = (cx.e.temp(1), cx.e.temp(1));
    cx.e.shr(r(field), high, imm(11), false);
    cx.e.and(r(left), r(field), imm(0xf_ffff));
    cx.e.iadd3(r(d), neg(r(left)), imm(0x10_0000), Operand::RZ);
    Ok(())
}
