//! Addresses and the windows that they lie in; cache policies and hints (observed: ptxas 13.0.88,
//! sm_90a).

use super::moves::select_word;
use super::swap::{lies_in, plain};
use crate::lower::source::{Cx, Sel, operand, type_at};
use crate::ptx::program::{Instruction, Operand as Ptx};
use crate::ptx::types::{Space, Type};
use crate::ptx::words::{Op, Word, WordSet};
use orias_components::{Mod, Opcode, Operand, Reg, RegUse};
use orias_systems::emit::{Address, Emit, cell, halves, imm, not, r, wide};

/// Where bank 0 tells of the windows of kernel parameters (its first and last byte) and of
/// constants (its first).
pub const PARAM_WINDOW: [i32; 2] = [0x198, 0x1a0];
pub const CONST_WINDOW: i32 = 0xd0;

/// Two words of bank 0 at a byte offset.
pub fn driver_pair(cx: &mut Cx<'_, '_>, offset: i32) -> Reg {
    let d = cx.e.temp(2);
    cx.e.ldc(&[Mod::_64], wide(d, 2), Operand::constant(0, offset));
    d
}

/// The generic address of the kernel's parameters.
pub fn param_window(cx: &mut Cx<'_, '_>) -> Reg {
    driver_pair(cx, PARAM_WINDOW[0])
}

/// A predicate: `first <= a`, and `a <= last` or, without `inclusive`, `a < last`.
fn between(
    e: &mut Emit<'_>,
    a: [Operand; 2],
    first: [Operand; 2],
    last: [Operand; 2],
    inclusive: bool,
) -> Operand {
    let (low, both) = (e.temp_pred(), e.temp_pred());
    e.isetp64(r(low), Mod::GE, false, a, first, (Mod::AND, Operand::PT));
    let end = if inclusive { Mod::LE } else { Mod::LT };
    e.isetp64(r(both), end, false, a, last, (Mod::AND, r(low)));
    r(both)
}

fn in_constants(cx: &mut Cx<'_, '_>, a: [Operand; 2]) -> Operand {
    let start = driver_pair(cx, CONST_WINDOW);
    let end = cx.e.temp(2);
    let size = imm(cx.module.constants.len() as u32);
    cx.e.add64(end, halves(start), [size, Operand::RZ]);
    between(&mut cx.e, a, halves(start), halves(end), false)
}

fn in_parameters(cx: &mut Cx<'_, '_>, a: [Operand; 2]) -> Operand {
    let [first, last] = PARAM_WINDOW.map(|offset| driver_pair(cx, offset));
    between(&mut cx.e, a, halves(first), halves(last), true)
}

/// `isspacep`: whether a generic address lies in a window; in none of them it is global.
pub fn isspacep(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let d = cx.dst_pred(operand(inst, 0)?)?;
    let a = cx.value(operand(inst, 1)?, Type::U64)?;
    let pair = cx.pair_of(a);
    let base = RegUse::wide(pair, 2);
    let address = Address { base, uniform: RegUse::new(Reg::URZ), offset: 0 };
    let word = inst.modifiers.first().copied().ok_or("no state space")?;
    let answer = match word {
        Word::Shared | Word::SharedCta => lies_in(&mut cx.e, Mod::S, address),
        Word::SharedCluster => lies_in(&mut cx.e, Mod::D, address),
        Word::Local => lies_in(&mut cx.e, Mod::L, address),
        Word::Const => in_constants(cx, halves(pair)),
        Word::Param | Word::ParamEntry => in_parameters(cx, halves(pair)),
        Word::Global => {
            let global = lies_in(&mut cx.e, Mod::G, address);
            let constant = in_constants(cx, halves(pair));
            let parameter = in_parameters(cx, halves(pair));
            let p = cx.e.temp_pred();
            cx.e.plop3(r(p), global, not(constant), not(parameter), 0x80);
            r(p)
        }
        _ => return Err("this state space".into()),
    };
    cx.e.mov_pred(d, answer);
    Ok(())
}

/// `mapa`: the same place of the CTA of another rank, which is byte 3 of a shared address.
pub fn mapa(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.value(operand(inst, 1)?, ty)?;
    let rank = cx.src(operand(inst, 2)?, Type::U32)?;
    let rank = cx.in_reg(rank);
    let high = a.hi();
    cx.e.prmt(cell(d, 0), rank, imm(0x0654), a.lo());
    if ty.bytes() == 8 {
        cx.e.mov(cell(d, 1), high);
    }
    Ok(())
}

/// `getctarank`: the rank in a shared address.
pub fn getctarank(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.value(operand(inst, 1)?, ty)?;
    cx.e.shr(r(d), a.lo(), imm(24), false);
    Ok(())
}

/// Those that a policy may have.
const PRIORITIES: WordSet = WordSet::of(&[
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
        super::moves::move_to(cx, d, 2, a);
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
fn fraction(cx: &mut Cx<'_, '_>, inst: &Instruction, code: u32) -> Sel<Operand> {
    let Some(fraction) = inst.operands.get(1) else { return Ok(imm((code | 15) << 20)) };
    let share = match fraction {
        // The instruction's type is `.b64`: a literal without a width of its own comes as the bits
        // of a double.
        Ptx::Int(bits) if bits >> 32 != 0 => {
            orias_systems::emit::fimm(f64::from_bits(*bits as u64) as f32)
        }
        other => cx.src(other, Type::F32)?,
    };
    let share = cx.in_reg(share);
    let (scaled, whole, field) = (cx.e.temp(1), cx.e.temp(1), cx.e.temp(1));
    cx.e.fmul(&[], r(scaled), share, orias_systems::emit::fimm(15.99));
    cx.e.put(Opcode::F2I, &[Mod::U32, Mod::TRUNC, Mod::NTZ], 1, &[r(whole), r(scaled)]);
    cx.e.lop3(r(field), r(whole), imm(15), imm(code), 0xea);
    let high = cx.e.temp(1);
    cx.e.shl(r(high), r(field), imm(20));
    Ok(r(high))
}

/// The primary priority holds for `primary` bytes from an address on: both in blocks of 2^n bytes,
/// 128 of which span all of the range.
fn range(cx: &mut Cx<'_, '_>, inst: &Instruction, code: u32) -> Sel<Operand> {
    let (space, address) = super::memory::place(cx, inst, operand(inst, 1)?)?;
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
    cx.e.iadd3(r(blocks), r(to), orias_systems::emit::neg(r(from)), Operand::RZ);
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

/// `prefetch`, `prefetchu`, `applypriority`, `discard`: one cache operation at an address. They
/// advise; a constant's line is left alone.
pub fn cache(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let at = operand(inst, 0)?;
    if inst.has(Word::Tensormap) || inst.has(Word::Const) || inst.has(Word::Param) {
        return Ok(());
    }
    let (space, address) = super::memory::place(cx, inst, at)?;
    let word = match inst.opcode {
        Op::Discard => Mod::RML2,
        Op::Applypriority => Mod::DML2,
        _ if inst.has(Word::L2EvictLast) => Mod::PML2,
        _ if inst.has(Word::L2) || inst.has(Word::L2EvictNormal) => Mod::PF2,
        _ => Mod::PF1,
    };
    match space {
        Space::Global | Space::Generic => {
            let at = super::atomic::plain_address(address);
            cx.e.put(Opcode::CCTL, &[Mod::E, word], 0, &[at]);
        }
        Space::Local => cx.e.put(Opcode::CCTLL, &[word], 0, &[address.operand()]),
        _ => {}
    }
    Ok(())
}
