//! Bulk copies and reductions (`cp.async.bulk`, `cp.reduce.async.bulk`): UBLKCP, UBLKRED and
//! UBLKPF.
//!
//! All operands are uniform registers: pairs for a global address, and for a destination in shared
//! memory its address and that of the barrier; one register for a source in shared memory; sizes
//! count in 16 bytes, with the CTA mask in the upper half. Each instruction runs once for the warp,
//! PTX's once for each thread: it is done lane by lane.

use super::groups::{groups_to_keep, wait};
use crate::lower::common::access::address;
use crate::lower::common::lanes::{Lane, at, lane_by_lane, unguarded, value_by_value};
use crate::lower::common::modifiers::{memory, operation};
use crate::lower::common::policy::policy;
use crate::lower::context::cx::{Cx, Sel, operand, type_at};
use crate::ptx::program::{Instruction, Operand as Ptx};
use crate::ptx::types::{Space, Type};
use crate::ptx::words::Word;
use orias_components::{Mod, Opcode, Operand, RegUse};
use orias_systems::build::{imm, r};

/// `cp.async.bulk` and `cp.reduce.async.bulk`, their prefetch, and their groups.
pub fn cp(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    if inst.has(Word::CommitGroup) {
        return unguarded(cx, Opcode::UTMACMDFLUSH, &[], 0, &[]);
    }
    if inst.has(Word::WaitGroup) {
        let keep = groups_to_keep(inst)?;
        wait(cx, keep);
        if !inst.has(Word::Read) {
            // What the copies wrote must not come from the first-level cache.
            cx.e.put(Opcode::CCTL, &[Mod::IVALL], 0, &[]);
        }
        return Ok(());
    }
    if inst.has(Word::Prefetch) {
        return prefetch(cx, inst);
    }
    let spaces: Vec<Space> = inst.modifiers.iter().filter_map(|m| memory(*m)).take(2).collect();
    let [to_space, from_space] = spaces[..] else { return Err("state spaces".into()) };
    let to = address(cx, operand(inst, 0)?, to_space)?;
    let from = address(cx, operand(inst, 1)?, from_space)?;
    let mut next = 3;
    let mut operand_after = || {
        next += 1;
        inst.operands.get(next - 1).ok_or("an operand is missing")
    };
    let barrier = match to_space {
        Space::Shared => Some(address(cx, operand_after()?, Space::Shared)?[0]),
        _ => None,
    };
    let multicast = inst.has(Word::MulticastCluster);
    let ctas = match multicast {
        true => Some(cx.src(operand_after()?, Type::U16)?),
        false => None,
    };
    let size = size(cx, operand(inst, 2)?, ctas)?;
    let policy = policy(cx, inst)?;
    let place = |space| if space == Space::Shared { Mod::S } else { Mod::G };
    let mut mods = vec![place(to_space), place(from_space)];
    let reduces = inst.has(Word::Reduce);
    if reduces {
        mods.extend(reduction(inst)?);
    } else if multicast {
        mods.push(Mod::MULTICAST);
    }
    let put = |cx: &mut Cx<'_, '_>, lane: &Lane| {
        let to = match barrier {
            Some(barrier) => lane.all_to_uniform(cx, &[to[0], barrier]),
            None => lane.all_to_uniform(cx, &to),
        };
        let cells = if from_space == Space::Shared { 1 } else { 2 };
        let from = lane.all_to_uniform(cx, &from[..cells]);
        let size = lane.all_to_uniform(cx, &[size]);
        let mut operands = vec![at(to, 2), at(from, cells as u8), r(size)];
        if let Some(policy) = policy {
            operands.push(Operand::Desc(RegUse::wide(lane.all_to_uniform(cx, &policy), 2)));
        }
        let op = if reduces { Opcode::UBLKRED } else { Opcode::UBLKCP };
        cx.e.put(op, &mods, 0, &operands);
        Ok(())
    };
    // A copy that ends at a barrier counts there each time.
    match reduces || barrier.is_some() {
        true => lane_by_lane(cx, put),
        false => value_by_value(cx, put),
    }
}

/// `cp.async.bulk.prefetch.L2.global [address], size`
fn prefetch(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let from = address(cx, operand(inst, 0)?, Space::Global)?;
    let size = size(cx, operand(inst, 1)?, None)?;
    let policy = policy(cx, inst)?;
    value_by_value(cx, |cx, lane| {
        let from = lane.all_to_uniform(cx, &from);
        let size = lane.all_to_uniform(cx, &[size]);
        let mut operands = vec![at(from, 2), r(size)];
        if let Some(policy) = policy {
            operands.push(Operand::Desc(RegUse::wide(lane.all_to_uniform(cx, &policy), 2)));
        }
        cx.e.put(Opcode::UBLKPF, &[Mod::L2], 0, &operands);
        Ok(())
    })
}

/// The number of 16 bytes in the low half, the CTA mask in the high half.
fn size(cx: &mut Cx<'_, '_>, op: &Ptx, ctas: Option<Operand>) -> Sel<Operand> {
    let bytes = cx.src(op, Type::U32)?;
    let ctas = ctas.unwrap_or(Operand::RZ);
    if let (Operand::Imm(n), Operand::RZ) = (bytes, ctas) {
        return Ok(imm((n as u32 >> 4) & 0xffff));
    }
    let units = match bytes {
        Operand::Imm(n) => imm(n as u32 >> 4),
        bytes => {
            let units = cx.e.temp(1);
            cx.e.shr(r(units), bytes, imm(4), false);
            r(units)
        }
    };
    let (units, both) = (cx.in_reg(units), cx.e.temp(1));
    cx.e.prmt(r(both), units, imm(0x5410), ctas);
    Ok(r(both))
}

/// Words of a reduction: operation and type.
fn reduction(inst: &Instruction) -> Sel<Vec<Mod>> {
    let mut mods = vec![operation(inst)?];
    let op = mods[0];
    let ty = type_at(inst, 0)?;
    mods.extend_from_slice(match ty {
        Type::S32 => &[Mod::S32],
        Type::S64 if op == Mod::ADD => &[Mod::U64],
        Type::S64 => &[Mod::S64],
        Type::U64 | Type::B64 => &[Mod::U64],
        Type::F16 => &[Mod::F16, Mod::RN],
        Type::Bf16 => &[Mod::BF16, Mod::RN],
        Type::F32 => &[Mod::F32, Mod::RN],
        Type::F64 => &[Mod::F64, Mod::RN],
        _ => &[],
    });
    Ok(mods)
}
