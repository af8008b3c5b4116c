//! Bulk copies and reductions (`cp.async.bulk`, `cp.reduce.async.bulk`): UBLKCP, UBLKRED and
//! UBLKPF.
//!
//! All operands are uniform registers: pairs for a global address, and for a destination in shared
//! memory its address and that of the barrier; one register for a source in shared memory; sizes
//! count in 16 bytes, with the CTA mask in the upper half. Each instruction runs once for the warp,
//! PTX's once for each thread: the threads take turns.

use super::cp_async::{groups_to_keep, unguarded, wait};
use super::turns::one_by_one;
use crate::lower::source::{Cx, Sel, operand, type_at};
use crate::ptx::program::{Instruction, Operand as Ptx};
use crate::ptx::types::{Space, Type};
use crate::ptx::words::Word;
use orias_components::{MemRef, Mod, Opcode, Operand, Reg, RegUse};
use orias_systems::emit::{cell, imm, r};

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
    one_by_one(cx, |cx, turn| {
        let to = match barrier {
            Some(barrier) => turn.take_all(cx, &[to[0], barrier]),
            None => turn.take_all(cx, &to),
        };
        let cells = if from_space == Space::Shared { 1 } else { 2 };
        let from = turn.take_all(cx, &from[..cells]);
        let size = turn.take_all(cx, &[size]);
        let mut operands = vec![at(to, 2), at(from, cells as u8), r(size)];
        if let Some(policy) = policy {
            operands.push(Operand::Desc(RegUse::wide(turn.take_all(cx, &policy), 2)));
        }
        let op = if reduces { Opcode::UBLKRED } else { Opcode::UBLKCP };
        cx.e.put(op, &mods, 0, &operands);
        Ok(())
    })
}

/// `cp.async.bulk.prefetch.L2.global [address], size`
fn prefetch(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let from = address(cx, operand(inst, 0)?, Space::Global)?;
    let size = size(cx, operand(inst, 1)?, None)?;
    let policy = policy(cx, inst)?;
    one_by_one(cx, |cx, turn| {
        let from = turn.take_all(cx, &from);
        let size = turn.take_all(cx, &[size]);
        let mut operands = vec![at(from, 2), r(size)];
        if let Some(policy) = policy {
            operands.push(Operand::Desc(RegUse::wide(turn.take_all(cx, &policy), 2)));
        }
        cx.e.put(Opcode::UBLKPF, &[Mod::L2], 0, &operands);
        Ok(())
    })
}

/// The space of a modifier word.
pub fn memory(word: Word) -> Option<Space> {
    match word {
        Word::Global => Some(Space::Global),
        Word::SharedCluster | Word::SharedCta | Word::Shared => Some(Space::Shared),
        _ => None,
    }
}

/// An address as values: two halves of a global or generic one; of one in shared memory the first
/// counts.
pub fn address(cx: &mut Cx<'_, '_>, op: &Ptx, space: Space) -> Sel<[Operand; 2]> {
    let address = cx.address(op, space)?;
    if space != Space::Shared {
        let (base, offset) = (address.base, address.offset);
        if offset == 0 {
            return Ok([cell(base.reg, 0), cell(base.reg, 1)]);
        }
        let sum = cx.e.temp(2);
        let high = if offset < 0 { imm(u32::MAX) } else { Operand::RZ };
        cx.e.add64(sum, [cell(base.reg, 0), cell(base.reg, 1)], [imm(offset as u32), high]);
        return Ok([cell(sum, 0), cell(sum, 1)]);
    }
    let one = super::cp_async::in_one_register(cx, address, 24);
    if one.offset == 0 {
        return Ok([Operand::Reg(one.base), Operand::RZ]);
    }
    let sum = cx.e.temp(1);
    cx.e.iadd3(r(sum), Operand::Reg(one.base), imm(one.offset as u32), Operand::RZ);
    Ok([r(sum), Operand::RZ])
}

/// The operand of a cache policy, by halves.
pub fn policy(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel<Option<[Operand; 2]>> {
    if !inst.has(Word::L2CacheHint) {
        return Ok(None);
    }
    let op = inst.operands.last().ok_or("no cache policy")?;
    if let Ptx::Reg(id) = op
        && let Some(value) = cx.constants[id.0 as usize]
    {
        return Ok(Some([imm(value as u32), imm((value as u64 >> 32) as u32)]));
    }
    Ok(Some(cx.halves(op, Type::B64)?))
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

/// A run of uniform registers in an address slot.
pub fn at(run: Reg, cells: u8) -> Operand {
    Operand::Mem(MemRef {
        base: RegUse::new(Reg::RZ),
        uniform: RegUse::wide(run, cells),
        offset: 0,
        sel: Mod::NONE,
    })
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

/// The word of a reduction's operation.
pub fn operation(inst: &Instruction) -> Sel<Mod> {
    let words = [
        (Word::Add, Mod::ADD),
        (Word::Min, Mod::MIN),
        (Word::Max, Mod::MAX),
        (Word::Inc, Mod::INC),
        (Word::Dec, Mod::DEC),
        (Word::And, Mod::AND),
        (Word::Or, Mod::OR),
        (Word::Xor, Mod::XOR),
    ];
    let found = words.iter().find(|(name, _)| inst.has(*name));
    Ok(found.ok_or("no operation")?.1)
}
