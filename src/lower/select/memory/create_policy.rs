//! `createpolicy`: cache policies as values (observed: ptxas 13.0.88, sm_90a).

use crate::lower::common::access::plain;
use crate::lower::common::words::select_word;
use crate::lower::context::cx::{Cx, Sel, operand};
use crate::ptx::program::{Instruction, Operand as Ptx};
use crate::ptx::types::{Space, Type};
use crate::ptx::words::{Word, WordSet};
use orias_components::{Mod, Opcode, Operand};
use orias_systems::build::{cell, halves, imm, r};

/// Those that a policy may have.
pub const PRIORITIES: WordSet = WordSet::of(&[
    Word::L2EvictFirst,
    Word::L2EvictLast,
    Word::L2EvictNormal,
    Word::L2EvictUnchanged,
]);

/// `createpolicy`: the upper word of a policy has priorities in bits 20 and on, and what they hold
/// for below.
pub fn createpolicy(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let d = cx.dst(operand(inst, 0)?)?;
    if inst.has(Word::Cvt) {
        let a = cx.value(operand(inst, 1)?, Type::B64)?;
        crate::lower::common::words::move_to(cx, d, 2, a);
        return Ok(());
    }
    let mut priorities = inst.modifiers.iter().filter(|m| PRIORITIES.has(**m));
    let primary = match priorities.next() {
        Some(Word::L2EvictLast) => 0x140,
        Some(Word::L2EvictNormal) => 0x160,
        Some(Word::L2EvictFirst) => 0x120,
        _ => 0x100,
    };
    let secondary = if priorities.next() == Some(&Word::L2EvictFirst) { 0x10 } else { 0 };
    let code = primary | secondary;
    let high = if inst.has(Word::Range) {
        range(cx, inst, code | 0x80)?
    } else {
        fraction(cx, inst, code)?
    };
    cx.e.mov(cell(d, 0), Operand::RZ);
    cx.e.mov(cell(d, 1), high);
    Ok(())
}

/// The primary priority holds for so many sixteenths, rounded down, of the accesses: one less in
/// the low four bits.
pub fn fraction(cx: &mut Cx<'_, '_>, inst: &Instruction, code: u32) -> Sel<Operand> {
    let Some(fraction) = inst.operands.get(1) else { return Ok(imm((code | 15) << 20)) };
    let share = match fraction {
        // The instruction's type is `.b64`: a literal without a width of its own comes as the bits
        // of a double.
        Ptx::Int(bits) if bits.get() >> 32 != 0 => {
            orias_systems::build::fimm(f64::from_bits(bits.get() as u64) as f32)
        }
        other => cx.src(other, Type::F32)?,
    };
    let share = cx.in_reg(share);
    let (scaled, whole, field) = (cx.e.temp(1), cx.e.temp(1), cx.e.temp(1));
    cx.e.fmul(&[], r(scaled), share, orias_systems::build::fimm(15.99));
    cx.e.put(Opcode::F2I, &[Mod::U32, Mod::TRUNC, Mod::NTZ], 1, &[r(whole), r(scaled)]);
    cx.e.lop3(r(field), r(whole), imm(15), imm(code), 0xea);
    let high = cx.e.temp(1);
    cx.e.shl(r(high), r(field), imm(20));
    Ok(r(high))
}

/// The primary priority holds for `primary` bytes from an address on: both in blocks of 2^n bytes,
/// 128 of which span all of the range.
pub fn range(cx: &mut Cx<'_, '_>, inst: &Instruction, code: u32) -> Sel<Operand> {
    let (space, address) = crate::lower::common::access::place(cx, inst, operand(inst, 1)?)?;
    if !matches!(space, Space::Global | Space::Generic) {
        return Err("a policy for this space".into());
    }
    let address = plain(cx, address);
    let base = address.base.reg;
    let start = cx.e.temp(2);
    let offset = address.offset;
    let sign = if offset < 0 { imm(u32::MAX) } else { Operand::RZ };
    cx.e.add64(start, [cell(base, 0), cell(base, 1)], [imm(offset as u32), sign]);
    let primary = cx.src(operand(inst, 2)?, Type::U32)?;
    let total = cx.src(operand(inst, 3)?, Type::U32)?;
    // n: the logarithm of the total size, rounded up, less 7, and at least 12.
    let (less, log, n) = (cx.e.temp(1), cx.e.temp(1), cx.e.temp(1));
    cx.e.iadd3(r(less), total, imm(u32::MAX), Operand::RZ);
    cx.e.put(Opcode::FLO, &[Mod::U32], 2, &[r(log), Operand::PT, r(less)]);
    let shifted = cx.e.temp(1);
    cx.e.iadd3(r(shifted), r(log), imm(6u32.wrapping_neg()), Operand::RZ);
    cx.e.minmax(r(n), r(shifted), imm(12), true, true);
    let (one, block, extra) = (cx.e.temp(1), cx.e.temp(1), cx.e.temp(1));
    cx.e.mov(r(one), imm(1));
    cx.e.shl(r(block), r(one), r(n));
    cx.e.iadd3(r(extra), primary, imm(u32::MAX), r(block));
    let end = cx.e.temp(2);
    cx.e.add64(end, halves(start), [r(extra), Operand::RZ]);
    // Blocks before the start and before the end, of which only the difference counts: at most 127.
    let (from, to, count) = (cx.e.temp(1), cx.e.temp(1), cx.e.temp(1));
    for (d, x) in [(from, start), (to, end)] {
        cx.e.shf(&[Mod::R, Mod::U64], r(d), cell(x, 0), r(n), cell(x, 1));
    }
    let blocks = cx.e.temp(1);
    cx.e.iadd3(r(blocks), r(to), orias_systems::build::neg(r(from)), Operand::RZ);
    cx.e.minmax(r(count), r(blocks), imm(0x7f), false, false);
    let mut word = Operand::Imm(u64::from(code));
    for (field, bits) in [(n, 4), (from, 7), (count, 7)] {
        let value = if field == n {
            let t = cx.e.temp(1);
            cx.e.iadd3(r(t), r(n), imm(12u32.wrapping_neg()), Operand::RZ);
            r(t)
        } else {
            r(field)
        };
        let next = cx.e.temp(1);
        cx.e.lop3(r(next), value, imm((1 << bits) - 1), word, 0xea);
        let up = cx.e.temp(1);
        let by = match (field == n, field == from) {
            (true, _) => 8,
            (_, true) => 7,
            _ => 5,
        };
        cx.e.shl(r(up), r(next), imm(by));
        word = r(up);
    }
    // Nothing at all has one block of the least size.
    let (some, high) = (cx.e.temp_pred(), cx.e.temp(1));
    cx.e.icmp(r(some), Mod::NE, false, r(less), imm(u32::MAX));
    select_word(cx, r(high), word, imm(code << 20), r(some));
    Ok(r(high))
}
