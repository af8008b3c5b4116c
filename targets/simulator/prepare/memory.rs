//! Loads, stores and atomics.

use super::slots::unsupported;
use super::slots::{Kind, Lane, Slots};
use crate::simulator::address::{Address, Space};
use crate::simulator::error::Cause;
use crate::simulator::integer::copy;
use crate::simulator::kinds::{AtomicKind, AtomicType};
use crate::simulator::op::{AtomicOp, MemOp, Op};
use crate::simulator::operand::*;
use orias_components::{Mod, Opcode, Operand, RegFile, RegUse};

/// Bytes of an access, and whether it sign-extends.
fn width(s: &Slots<'_>) -> (u8, bool) {
    let all = [
        (Mod::U8, 1, false),
        (Mod::S8, 1, true),
        (Mod::U16, 2, false),
        (Mod::S16, 2, true),
        (Mod::_64, 8, false),
        (Mod::_128, 16, false),
    ];
    let found = all.iter().find(|(m, ..)| s.has(*m));
    found.map_or((4, false), |(_, bytes, signed)| (*bytes, *signed))
}

fn cells(bytes: u8) -> u8 {
    bytes.div_ceil(4)
}

fn space(op: Opcode) -> Space {
    match op {
        Opcode::LD | Opcode::ST | Opcode::ATOM | Opcode::RED => Space::Generic,
        Opcode::LDS | Opcode::STS | Opcode::ATOMS | Opcode::LDSM | Opcode::STSM => Space::Shared,
        Opcode::LDL | Opcode::STL => Space::Local,
        _ => Space::Global,
    }
}

/// The first address operand, and its index.
pub(super) fn address(s: &Slots<'_>) -> Result<(Address, usize), Cause> {
    let index = s.inst.operands.iter().position(|o| matches!(o, Operand::Mem(_)));
    let index = index.ok_or_else(|| unsupported(s))?;
    let address = address_at(s, index, space(s.inst.op))?;
    let descriptor = match index.checked_sub(1).and_then(|i| s.inst.operands.get(i)) {
        // URZ is the cache policy zero.
        Some(Operand::Desc(r)) => uniform(*r, 2)?,
        _ => None,
    };
    Ok((Address { descriptor, ..address }, index))
}

/// The address operand of this index, without the descriptor before it.
pub(super) fn address_at(s: &Slots<'_>, index: usize, space: Space) -> Result<Address, Cause> {
    let Operand::Mem(m) = *s.operand(index)? else { return Err(unsupported(s)) };
    let wide = m.base.count > 1;
    let base = Src {
        place: s.place(RegUse { flags: Default::default(), ..m.base }, m.base.count)?,
        wide,
        part: Part::Whole,
        adjust: Adjust::NONE,
    };
    let scale = match m.sel {
        Mod::X4 => 4,
        Mod::X8 => 8,
        Mod::X16 => 16,
        _ => 1,
    };
    // Addresses of global memory have 64 bits, so an added uniform register is a pair there.
    let uniform_wide = matches!(space, Space::Global | Space::Generic);
    let uniform = uniform(m.uniform, if uniform_wide { 2 } else { 1 })?;
    let (offset, descriptor) = (m.offset, None);
    Ok(Address { space, base, scale, uniform, uniform_wide, offset, descriptor })
}

/// The first operand that is a general register destination.
fn result(s: &Slots<'_>, cells: u8) -> Result<Dst, Cause> {
    let defs = usize::from(s.inst.defs).min(s.len());
    match (0..defs).find(|i| s.is_file(*i, RegFile::R)) {
        Some(i) => s.dst(i, cells),
        None => Ok(Dst::NOWHERE),
    }
}

/// A predicate behind the address is not modelled: ptxas leaves it true.
fn check_tail(s: &Slots<'_>, from: usize) -> Result<(), Cause> {
    for i in from..s.len() {
        if s.is_file(i, RegFile::P) && s.pred(i)? != PredSrc::TRUE {
            return Err(unsupported(s));
        }
    }
    Ok(())
}

pub fn prepare(s: &Slots<'_>) -> Result<Op, Cause> {
    use Opcode::*;
    match s.inst.op {
        LDC | ULDC => load_const(s),
        LD | LDG | LDS | LDL => {
            let (address, index) = address(s)?;
            check_tail(s, index)?;
            let (bytes, signed) = width(s);
            let dst = result(s, cells(bytes))?;
            Ok(Op::Load(MemOp { address, bytes, signed, dst, data: ROW_ZERO }))
        }
        // One device: what is there is the sum, and the smallest and largest, of all copies.
        LDGMC => {
            let (address, index) = address(s)?;
            check_tail(s, index)?;
            let Operand::Reg(to) = *s.operand(0)? else { return Err(unsupported(s)) };
            let bytes = 4 * to.count.clamp(1, 4);
            let dst = result(s, cells(bytes))?;
            Ok(Op::Load(MemOp { address, bytes, signed: false, dst, data: ROW_ZERO }))
        }
        ST | STG | STS | STL => {
            let (address, index) = address(s)?;
            check_tail(s, index)?;
            let (bytes, signed) = width(s);
            let data = s.data(index + 1, cells(bytes))?;
            Ok(Op::Store(MemOp { address, bytes, signed, dst: Dst::NOWHERE, data }))
        }
        ATOM | ATOMG | ATOMS | RED | REDG => atomic(s),
        QSPC => query_space(s),
        _ => Err(unsupported(s)),
    }
}

/// `[Rd, c[bank][R + offset]]`: without a register the value is known already.
fn load_const(s: &Slots<'_>) -> Result<Op, Cause> {
    let (bytes, signed) = width(s);
    let Operand::Const(c) = *s.operand(1)? else { return Err(unsupported(s)) };
    if c.is_bindless() || s.has(Mod::IL) || s.has(Mod::IS) || s.has(Mod::ISL) {
        return Err(unsupported(s));
    }
    let dst = s.dst(0, cells(bytes))?;
    if !c.base.is_zero() {
        let place = s.place(RegUse::new(c.base), 1)?;
        let base = Src { place, wide: false, part: Part::Whole, adjust: Adjust::NONE };
        return Ok(Op::LoadConst { bank: c.bank, base, offset: c.offset, bytes, signed, dst });
    }
    let value = extend(s.constant(c.bank, c.offset, u32::from(bytes))?, bytes, signed);
    Lane::new(copy, 0).dst(dst).wide(bytes == 8).src(&[Src::imm(value)]).op()
}

/// `QSPC.E.S Pd, RZ, [R]`: S is the CTA's own shared memory, D that of the whole cluster.
fn query_space(s: &Slots<'_>) -> Result<Op, Cause> {
    let (address, _) = address(s)?;
    let space = if s.has(Mod::S) || s.has(Mod::D) {
        Space::Shared
    } else if s.has(Mod::L) {
        Space::Local
    } else if s.has(Mod::G) {
        Space::Global
    } else {
        return Err(unsupported(s));
    };
    if s.dst(1, 1)? != Dst::NOWHERE {
        return Err(unsupported(s));
    }
    let holds = s.pred_dst(0)?;
    let own = s.has(Mod::S);
    Ok(Op::QuerySpace { holds, address: address.base, offset: address.offset, space, own })
}

/// A loaded value, extended to 32 bits.
pub fn extend(value: u64, bytes: u8, signed: bool) -> u64 {
    match (bytes, signed) {
        (1, true) => u64::from(value as u8 as i8 as u32),
        (2, true) => u64::from(value as u16 as i16 as u32),
        _ => value,
    }
}

fn atomic(s: &Slots<'_>) -> Result<Op, Cause> {
    let (address, index) = address(s)?;
    let kinds = [
        (Mod::ADD, AtomicKind::Add),
        (Mod::MIN, AtomicKind::Min),
        (Mod::MAX, AtomicKind::Max),
        (Mod::INC, AtomicKind::Inc),
        (Mod::DEC, AtomicKind::Dec),
        (Mod::AND, AtomicKind::And),
        (Mod::OR, AtomicKind::Or),
        (Mod::XOR, AtomicKind::Xor),
        (Mod::EXCH, AtomicKind::Exchange),
        (Mod::CAS, AtomicKind::CompareSwap),
        (Mod::CAST, AtomicKind::CompareStore),
    ];
    let kind = kinds.iter().find(|(m, _)| s.has(*m)).map(|(_, k)| *k);
    let kind = match kind {
        Some(AtomicKind::Inc) if s.has(Mod::POPC) => AtomicKind::PopcInc,
        Some(kind) => kind,
        None => return Err(unsupported(s)),
    };
    let single = AtomicType::F32 { ftz: s.has(Mod::FTZ) };
    let types = [
        (Mod::F16x4, AtomicType::F16x2, 2),
        (Mod::F16x8, AtomicType::F16x2, 4),
        (Mod::BF16x4, AtomicType::Bf16x2, 2),
        (Mod::BF16x8, AtomicType::Bf16x2, 4),
        (Mod::F32x2, single, 2),
        (Mod::F32x4, single, 4),
        (Mod::F64, AtomicType::F64, 1),
        (Mod::F32, single, 1),
        (Mod::F16x2, AtomicType::F16x2, 1),
        (Mod::BF16_V2, AtomicType::Bf16x2, 1),
        (Mod::BF16x2, AtomicType::Bf16x2, 1),
        (Mod::S64, AtomicType::S64, 1),
        (Mod::_64, AtomicType::U64, 1),
        (Mod::U64, AtomicType::U64, 1),
        (Mod::S32, AtomicType::S32, 1),
        (Mod::_128, AtomicType::B128, 1),
    ];
    let found = types.iter().find(|t| s.has(t.0));
    let (ty, elements) = found.map_or((AtomicType::U32, 1), |t| (t.1, t.2));
    let cells = (ty.bytes() / 4) as u8 * elements;
    if ty == AtomicType::B128 && !matches!(kind, AtomicKind::Exchange | AtomicKind::CompareSwap) {
        return Err(unsupported(s));
    }
    let sources = match kind {
        AtomicKind::PopcInc => 0,
        AtomicKind::CompareSwap | AtomicKind::CompareStore => 2,
        _ => 1,
    };
    let mut src = [Src::ZERO; 2];
    for (i, slot) in src.iter_mut().enumerate().take(sources) {
        let at = index + 1 + i;
        *slot = match cells {
            4 => {
                let place = Place::Row(s.data(at, 4)?);
                Src { place, wide: true, part: Part::Whole, adjust: Adjust::NONE }
            }
            2 => s.src(at, Kind::Int64)?,
            _ => s.src(at, Kind::Int)?,
        };
    }
    check_tail(s, index + 1 + sources)?;
    let done =
        if s.inst.defs > 0 && s.is_file(0, RegFile::P) { s.pred_dst(0)? } else { PredDst::NOWHERE };
    let dst = result(s, cells)?;
    Ok(Op::Atomic(Box::new(AtomicOp { address, kind, ty, elements, dst, src, done })))
}
