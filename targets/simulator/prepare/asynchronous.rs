//! Copies that run by themselves, and the barriers in shared memory that count them.

use super::memory::address_at;
use super::slots::unsupported;
use super::slots::{Kind, Slots};
use crate::simulator::address::Space;
use crate::simulator::error::Cause;
use crate::simulator::flight::{Kind as Group, Reduction};
use crate::simulator::kinds::{AtomicKind, AtomicType};
use crate::simulator::op::{Amount, AsyncOp, Op, TensorOp};
use crate::simulator::operand::*;
use crate::simulator::tensor::Direction;
use orias_components::{Mod, Opcode, Operand, RegFile, RegUse};

pub fn prepare(s: &Slots<'_>) -> Result<Op, Cause> {
    use Opcode::*;
    let op = match s.inst.op {
        SYNCS => syncs(s)?,
        LDGSTS => lanes(s)?,
        LDGDEPBAR => AsyncOp::Commit(Group::Lanes),
        UTMACMDFLUSH => AsyncOp::Commit(Group::Bulk),
        DEPBAR => AsyncOp::Wait { keep: keep(s)? },
        ARRIVES => {
            let byte = s.has(Mod::TRANSCNT);
            // On sm_80 the word stands without either, and is the arrival.
            AsyncOp::ArriveAfter { address: address_at(s, 0, Space::Shared)?, byte }
        }
        UBLKCP | UBLKRED => bulk(s)?,
        UTMALDG | UTMASTG | UTMAREDG | UTMAPF => AsyncOp::Tensor(tensor(s)?),
        STAS | REDAS => remote(s)?,
        // Nothing that a program sees: memory is always consistent here, and there are no caches.
        UBLKPF | UTMACCTL => return Ok(Op::Nop),
        _ => return Err(unsupported(s)),
    };
    Ok(Op::Async(Box::new(op)))
}

fn syncs(s: &Slots<'_>) -> Result<AsyncOp, Cause> {
    if s.has(Mod::EXCH) {
        let address = address_at(s, 1, Space::Shared)?;
        return Ok(AsyncOp::Exchange { dst: s.dst(0, 2)?, address, value: s.src(2, Kind::Int64)? });
    }
    if s.has(Mod::ARRIVE) {
        // What is added to the arrivals (A) and to the transactions (T): nothing, one, or the
        // source.
        let counts = [
            (Mod::A1T0, Amount::Known(1), Amount::Known(0)),
            (Mod::A0T1, Amount::Known(0), Amount::Known(1)),
            (Mod::A0TR, Amount::Known(0), Amount::Given),
            (Mod::A0TX, Amount::Known(0), Amount::Given),
            (Mod::ART0, Amount::Given, Amount::Known(0)),
        ];
        let found = counts.iter().find(|(m, ..)| s.has(*m));
        let (arrivals, transactions) =
            found.map_or((Amount::Known(1), Amount::Given), |(_, a, t)| (*a, *t));
        return Ok(AsyncOp::Arrive {
            dst: s.dst(0, 2)?,
            address: address_at(s, 1, Space::Shared)?,
            count: s.src(2, Kind::Int)?,
            arrivals,
            transactions,
            comes: s.has(Mod::A0TX),
            drop: s.has(Mod::OPTOUT),
            mask: s.has(Mod::TMASK),
            remote: s.has(Mod::RED),
        });
    }
    if s.has(Mod::PHASECHK) {
        return Ok(AsyncOp::Check {
            holds: s.pred_dst(0)?,
            address: address_at(s, 1, Space::Shared)?,
            phase: s.src(2, Kind::Int)?,
            blocks: s.has(Mod::TRYWAIT),
        });
    }
    if s.has(Mod::CCTL) && s.has(Mod::IV) {
        return Ok(AsyncOp::Invalidate { address: address_at(s, 0, Space::Shared)? });
    }
    Err(unsupported(s))
}

/// Indices of the address operands.
fn addresses(s: &Slots<'_>) -> Vec<usize> {
    let is_address = |i: &usize| matches!(s.inst.operands.get(*i), Some(Operand::Mem(_)));
    (0..s.len()).filter(is_address).collect()
}

/// `[shared], desc, [global], Pc`
fn lanes(s: &Slots<'_>) -> Result<AsyncOp, Cause> {
    let [to, from] = addresses(s)[..] else { return Err(unsupported(s)) };
    let copies = s.len() - 1;
    let bytes = match (s.has(Mod::_64), s.has(Mod::_128)) {
        (_, true) => 16,
        (true, _) => 8,
        _ => 4,
    };
    // The descriptor may be a cache policy, in any two registers.
    Ok(AsyncOp::Lanes {
        to: address_at(s, to, Space::Shared)?,
        from: address_at(s, from, Space::Global)?,
        bytes,
        zero_fill: s.has(Mod::ZFILL),
        copies: if s.is_file(copies, RegFile::P) { s.pred(copies)? } else { PredSrc::TRUE },
    })
}

/// `DEPBAR.LE SB, n` and `DEPBAR {…}`: ptxas puts all groups on scoreboard 0, and the list names
/// it.
fn keep(s: &Slots<'_>) -> Result<u8, Cause> {
    if !s.has(Mod::LE) {
        return Ok(0);
    }
    match s.operand(1)? {
        Operand::Imm(n) => Ok((*n).min(255) as u8),
        _ => Err(unsupported(s)),
    }
}

/// A run of uniform registers as address: the first.
fn uniforms(s: &Slots<'_>, index: usize, cells: u8) -> Result<u8, Cause> {
    let Operand::Mem(m) = *s.operand(index)? else { return Err(unsupported(s)) };
    if m.offset != 0 || !m.base.reg.is_zero() {
        return Err(unsupported(s));
    }
    register(s, m.uniform, cells)
}

fn register(s: &Slots<'_>, reg: RegUse, cells: u8) -> Result<u8, Cause> {
    if reg.reg.file() != RegFile::UR {
        return Err(unsupported(s));
    }
    Ok(uniform(RegUse { flags: Default::default(), ..reg }, cells)?.unwrap_or(UREG_ZERO))
}

/// The operand behind the addresses.
fn extra(s: &Slots<'_>, after: usize) -> Result<Option<u8>, Cause> {
    match s.inst.operands.get(after + 1) {
        Some(Operand::Reg(r)) => Ok(Some(register(s, *r, 1)?)),
        _ => Ok(None),
    }
}

fn kind(s: &Slots<'_>) -> Option<AtomicKind> {
    let kinds = [
        (Mod::ADD, AtomicKind::Add),
        (Mod::MIN, AtomicKind::Min),
        (Mod::MAX, AtomicKind::Max),
        (Mod::INC, AtomicKind::Inc),
        (Mod::DEC, AtomicKind::Dec),
        (Mod::AND, AtomicKind::And),
        (Mod::OR, AtomicKind::Or),
        (Mod::XOR, AtomicKind::Xor),
    ];
    kinds.iter().find(|(m, _)| s.has(*m)).map(|(_, k)| *k)
}

fn reduction(s: &Slots<'_>) -> Result<Reduction, Cause> {
    let types = [
        (Mod::S32, AtomicType::S32, 4),
        (Mod::U64, AtomicType::U64, 8),
        (Mod::_64, AtomicType::U64, 8),
        (Mod::S64, AtomicType::S64, 8),
        (Mod::F16, AtomicType::F16x2, 2),
        (Mod::BF16, AtomicType::Bf16x2, 2),
        (Mod::F32, AtomicType::F32 { ftz: s.has(Mod::FTZ) }, 4),
        (Mod::F64, AtomicType::F64, 8),
    ];
    let found = types.iter().find(|(m, ..)| s.has(*m));
    let (ty, bytes) = found.map_or((AtomicType::U32, 4), |(_, ty, bytes)| (*ty, *bytes));
    Ok(Reduction { kind: kind(s).ok_or_else(|| unsupported(s))?, ty, bytes })
}

/// `[UR to], [UR from], UR size`. The first letter is the space written, the second the space read.
fn bulk(s: &Slots<'_>) -> Result<AsyncOp, Cause> {
    let [to, from] = addresses(s)[..] else { return Err(unsupported(s)) };
    let mut spaces = s.inst.mods.iter().filter(|m| matches!(m, Mod::G | Mod::S));
    let (Some(first), Some(second)) = (spaces.next(), spaces.next()) else {
        return Err(unsupported(s));
    };
    let reduces = s.inst.op == Opcode::UBLKRED;
    Ok(AsyncOp::Bulk {
        to: uniforms(s, to, 2)?,
        to_shared: first == Mod::S,
        from: uniforms(s, from, if second == Mod::S { 1 } else { 2 })?,
        from_shared: second == Mod::S,
        size: extra(s, from)?.ok_or_else(|| unsupported(s))?,
        multicast: s.has(Mod::MULTICAST),
        reduce: if reduces { Some(reduction(s)?) } else { None },
    })
}

fn tensor(s: &Slots<'_>) -> Result<TensorOp, Cause> {
    let [place, map] = addresses(s)[..] else { return Err(unsupported(s)) };
    let ranks = [Mod::_1D, Mod::_2D, Mod::_3D, Mod::_4D, Mod::_5D];
    let rank = ranks.iter().position(|m| s.has(*m)).ok_or_else(|| unsupported(s))?;
    let rank = rank as u8 + 1;
    let before = match s.inst.op {
        Opcode::UTMALDG => 2,
        Opcode::UTMAPF => 0,
        _ => 1,
    };
    let direction = match s.inst.op {
        Opcode::UTMASTG => Direction::Store,
        Opcode::UTMAREDG => Direction::Reduce(kind(s).ok_or_else(|| unsupported(s))?),
        _ => Direction::Load,
    };
    Ok(TensorOp {
        direction,
        prefetch: s.inst.op == Opcode::UTMAPF,
        rank,
        place: uniforms(s, place, before + rank)?,
        map: uniforms(s, map, 2)?,
        im2col: s.has(Mod::IM2COL),
        extra: extra(s, map)?,
        multicast: s.has(Mod::MULTICAST),
    })
}

/// `[R pair + offset], R data`: the low register is the address, the high one the barrier.
fn remote(s: &Slots<'_>) -> Result<AsyncOp, Cause> {
    let [at] = addresses(s)[..] else { return Err(unsupported(s)) };
    let Operand::Mem(m) = *s.operand(at)? else { return Err(unsupported(s)) };
    if m.base.count != 2 || m.base.reg.file() != RegFile::R || !m.uniform.reg.is_zero() {
        return Err(unsupported(s));
    }
    let place = general(RegUse { flags: Default::default(), ..m.base }, 2, s.context.registers)?;
    let bytes = match (s.has(Mod::_64), s.has(Mod::_128)) {
        (_, true) => 16,
        (true, _) => 8,
        _ => 4,
    };
    let reduce = if s.inst.op == Opcode::REDAS { Some(reduction(s)?) } else { None };
    Ok(AsyncOp::Remote {
        place: place.unwrap_or(ROW_ZERO),
        offset: m.offset,
        data: s.data(at + 1, bytes / 4)?,
        bytes,
        reduce,
    })
}
