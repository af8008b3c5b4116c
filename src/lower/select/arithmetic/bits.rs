//! Logic, shifts, bit fields and counts.

use crate::lower::context::cx::{Cx, Sel, operand, type_at};
use crate::ptx::program::{Instruction, Operand as Ptx};
use crate::ptx::types::Type;
use crate::ptx::words::{Op, Word};
use orias_components::{Mod, Opcode, Operand, Reg};
use orias_systems::build::{cell, halves, imm, r};

/// `and`, `or`, `xor` of any width, predicates included.
pub fn logic(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    if ty == Type::Pred {
        let d = cx.dst_pred(operand(inst, 0)?)?;
        let a = cx.pred(operand(inst, 1)?)?;
        let b = cx.pred(operand(inst, 2)?)?;
        let lut = match inst.opcode {
            Op::And => 0x80,
            Op::Or => 0xa8,
            _ => 0x28,
        };
        cx.e.plop3(d, a, b, Operand::PT, lut);
        return Ok(());
    }
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.value(operand(inst, 1)?, ty)?;
    let b = cx.value(operand(inst, 2)?, ty)?;
    let lut = match inst.opcode {
        Op::And => 0xc0,
        Op::Or => 0xfc,
        _ => 0x3c,
    };
    let words = if ty.bytes() == 8 { 2 } else { 1 };
    for i in 0..words {
        let (x, y) = (a.halves()[i], b.halves()[i]);
        let (x, y) = if matches!(x, Operand::Imm(_)) { (y, x) } else { (x, y) };
        cx.e.lop3(cell(d, i as u8), x, y, Operand::RZ, lut);
    }
    Ok(())
}

/// `not`.
pub fn not(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    if ty == Type::Pred {
        let d = cx.dst_pred(operand(inst, 0)?)?;
        let a = cx.pred(operand(inst, 1)?)?;
        cx.e.mov_pred(d, orias_systems::build::not(a));
        return Ok(());
    }
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.value(operand(inst, 1)?, ty)?;
    for i in 0..if ty.bytes() == 8 { 2 } else { 1 } {
        // The complement of the middle source, as ptxas writes it.
        cx.e.lop3(cell(d, i as u8), Operand::RZ, a.halves()[i], Operand::RZ, 0x33);
    }
    Ok(())
}

/// `d = a == 0 ? 1 : 0`
pub fn cnot(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.value(operand(inst, 1)?, ty)?;
    let p = cx.e.temp_pred();
    let word = if ty.bytes() == 8 {
        let t = cx.e.temp(1);
        cx.e.or(r(t), a.lo(), a.hi());
        r(t)
    } else {
        let unsigned = if ty.bytes() == 2 { Type::U16 } else { Type::U32 };
        cx.extend(a, unsigned)
    };
    let word = cx.in_reg(word);
    cx.e.icmp(r(p), Mod::EQ, false, word, Operand::RZ);
    cx.e.sel(cell(d, 0), Operand::RZ, imm(1), orias_systems::build::not(r(p)));
    if ty.bytes() == 8 {
        cx.e.mov(cell(d, 1), Operand::RZ);
    }
    Ok(())
}

/// `lop3`: any function of three words.
pub fn lop3(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let (d, test) = match operand(inst, 0)? {
        Ptx::Pair(both) => (cx.dst(&both.0)?, Some(cx.dst_pred(&both.1)?)),
        d => (cx.dst(d)?, None),
    };
    let mut s = [Operand::RZ; 3];
    for (i, s) in s.iter_mut().enumerate() {
        *s = cx.src(operand(inst, i + 1)?, Type::B32)?;
    }
    let Some(lut) = operand(inst, 4)?.integer() else {
        return Err("the truth table must be a constant".into());
    };
    let Some(test) = test else {
        cx.e.lop3(r(d), s[0], s[1], s[2], lut as u8);
        return Ok(());
    };
    // Whether the result is not zero, together with another predicate.
    let other = cx.pred(operand(inst, 5)?)?;
    let mods: &[Mod] = if inst.has(Word::And) { &[Mod::LUT, Mod::PAND] } else { &[Mod::LUT] };
    let lut = imm(u32::from(lut as u8));
    cx.e.put(Opcode::LOP3, mods, 2, &[test, r(d), s[0], s[1], s[2], lut, other]);
    Ok(())
}

/// `shl`: 0 from the width on.
pub fn shl(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.value(operand(inst, 1)?, ty)?;
    let by = cx.src(operand(inst, 2)?, Type::U32)?;
    if ty.bytes() == 8 {
        // The high half first: the destination may be the source.
        let [lo, hi] = a.halves();
        cx.e.shf(&[Mod::L, Mod::U64, Mod::HI], cell(d, 1), lo, by, hi);
        cx.e.shl(cell(d, 0), lo, by);
        return Ok(());
    }
    cx.e.shl(r(d), a.lo(), by);
    Ok(())
}

/// `shr`: amounts from the width on as the width.
pub fn shr(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let signed = ty.is_signed();
    let d = cx.dst(operand(inst, 0)?)?;
    let by = cx.src(operand(inst, 2)?, Type::U32)?;
    if ty.bytes() == 8 {
        let words = cx.halves(operand(inst, 1)?, ty)?;
        shift_right_64(cx, d, words, by, signed);
        return Ok(());
    }
    // Bits types of 16 bits count as unsigned.
    let ty = if ty == Type::B16 { Type::U16 } else { ty };
    let a = cx.ext(operand(inst, 1)?, ty)?;
    cx.e.shr(r(d), a, by, signed);
    Ok(())
}

/// A 64-bit value shifted to the right.
pub fn shift_right_64(
    cx: &mut Cx<'_, '_>,
    d: Reg,
    [lo, hi]: [Operand; 2],
    by: Operand,
    signed: bool,
) {
    let kind = if signed { Mod::S64 } else { Mod::U64 };
    cx.e.shf(&[Mod::R, kind], cell(d, 0), lo, by, hi);
    cx.e.shr(cell(d, 1), hi, by, signed);
}

/// `shf`: a funnel shift of two words.
pub fn shf(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.src(operand(inst, 1)?, Type::B32)?;
    let b = cx.src(operand(inst, 2)?, Type::B32)?;
    let by = cx.src(operand(inst, 3)?, Type::U32)?;
    let left = inst.has(Word::L);
    let mut mods = vec![if left { Mod::L } else { Mod::R }];
    if inst.has(Word::Wrap) {
        mods.push(Mod::W);
    }
    mods.push(Mod::U32);
    if left {
        mods.push(Mod::HI);
    }
    cx.e.shf(&mods, r(d), a, by, b);
    Ok(())
}

/// `popc`: the number of set bits.
pub fn popc(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.value(operand(inst, 1)?, ty)?;
    if ty.bytes() == 8 {
        let (lo, hi) = (cx.e.temp(1), cx.e.temp(1));
        cx.e.put(Opcode::POPC, &[], 1, &[r(lo), a.lo()]);
        cx.e.put(Opcode::POPC, &[], 1, &[r(hi), a.hi()]);
        cx.e.iadd3(r(d), r(lo), r(hi), Operand::RZ);
    } else {
        cx.e.put(Opcode::POPC, &[], 1, &[r(d), a.lo()]);
    }
    Ok(())
}

fn flo(cx: &mut Cx<'_, '_>, mods: &[Mod], d: Operand, a: Operand) {
    cx.e.put(Opcode::FLO, mods, 2, &[d, Operand::PT, a]);
}

/// Position of the highest one of 64 bits, all ones when there is none.
fn find_64(cx: &mut Cx<'_, '_>, a: [Operand; 2]) -> Operand {
    let (lo, hi, high) = (cx.e.temp(1), cx.e.temp(1), cx.e.temp(1));
    flo(cx, &[Mod::U32], r(hi), a[1]);
    flo(cx, &[Mod::U32], r(lo), a[0]);
    let p = cx.e.temp_pred();
    cx.e.icmp(r(p), Mod::NE, false, r(hi), imm(u32::MAX));
    cx.e.iadd3(r(high), r(hi), imm(32), Operand::RZ);
    let d = cx.e.temp(1);
    cx.e.sel(r(d), r(high), r(lo), r(p));
    r(d)
}

/// `clz`: zeros before the highest set bit.
pub fn clz(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.value(operand(inst, 1)?, ty)?;
    // No one at all is position -1: 32 or 64 zeros.
    let (at, last) = if ty.bytes() == 8 {
        (find_64(cx, a.halves()), 63)
    } else {
        let t = cx.e.temp(1);
        flo(cx, &[Mod::U32], r(t), a.lo());
        (r(t), 31)
    };
    cx.e.iadd3(r(d), orias_systems::build::neg(at), imm(last), Operand::RZ);
    Ok(())
}

/// `bfind`: the place of the highest bit that is not the sign's, or how far it is to shift.
pub fn bfind(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let shift = inst.has(Word::Shiftamt);
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.value(operand(inst, 1)?, ty)?;
    if ty.bytes() == 4 {
        let mut mods = Vec::new();
        if !ty.is_signed() {
            mods.push(Mod::U32);
        }
        if shift {
            mods.push(Mod::SH);
        }
        flo(cx, &mods, r(d), a.lo());
        return Ok(());
    }
    let mut words = a.halves();
    if ty.is_signed() {
        // The highest bit that differs from the sign.
        let sign = cx.e.temp(1);
        cx.e.shr(r(sign), words[1], imm(31), true);
        for w in &mut words {
            let t = cx.e.temp(1);
            let x = cx.in_reg(*w);
            cx.e.xor(r(t), x, r(sign));
            *w = r(t);
        }
    }
    let at = find_64(cx, words);
    if !shift {
        cx.e.mov(r(d), at);
        return Ok(());
    }
    let p = cx.e.temp_pred();
    cx.e.icmp(r(p), Mod::NE, false, at, imm(u32::MAX));
    let amount = cx.e.temp(1);
    cx.e.iadd3(r(amount), orias_systems::build::neg(at), imm(63), Operand::RZ);
    cx.e.sel(r(d), r(amount), at, r(p));
    Ok(())
}

/// `brev`: bits in opposite order.
pub fn brev(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.value(operand(inst, 1)?, ty)?;
    if ty.bytes() == 8 {
        let built = cx.building(d, &[a.lo()]);
        cx.e.put(Opcode::BREV, &[], 1, &[cell(built, 0), a.hi()]);
        cx.e.put(Opcode::BREV, &[], 1, &[cell(built, 1), a.lo()]);
        cx.built(d, built);
    } else {
        cx.e.put(Opcode::BREV, &[], 1, &[r(d), a.lo()]);
    }
    Ok(())
}

/// The low byte of a bit position or length, as the bit field instructions read them.
fn byte(cx: &mut Cx<'_, '_>, v: Operand) -> Operand {
    match v {
        Operand::Imm(v) => imm(v as u32 & 0xff),
        v => {
            let t = cx.e.temp(1);
            cx.e.and(r(t), v, imm(0xff));
            r(t)
        }
    }
}

/// `bfe`: a field of bits, extended.
pub fn bfe(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let signed = ty.is_signed();
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.value(operand(inst, 1)?, ty)?;
    let pos = cx.src(operand(inst, 2)?, Type::U32)?;
    let len = cx.src(operand(inst, 3)?, Type::U32)?;
    let (pos, len) = (byte(cx, pos), byte(cx, len));
    if ty.bytes() == 4 {
        // Shifts clamp at 32, so a signed field beyond the end is all sign; SGXT clamps its width
        // at 32.
        let t = cx.e.temp(1);
        cx.e.shr(r(t), a.lo(), pos, signed);
        let mods: &[Mod] = if signed { &[] } else { &[Mod::U32] };
        cx.e.put(Opcode::SGXT, mods, 1, &[r(d), r(t), len]);
        return Ok(());
    }
    let field = cx.e.temp(2);
    shift_right_64(cx, field, a.halves(), pos, signed);
    if !signed {
        let mask = mask_64(cx, len);
        cx.e.and(cell(d, 0), cell(field, 0), cell(mask, 0));
        cx.e.and(cell(d, 1), cell(field, 1), cell(mask, 1));
        return Ok(());
    }
    // Left by 64 - len, then right again with the sign; a length from 64 on is the whole, 0 is
    // none.
    let clamped = cx.e.temp(1);
    let len = cx.in_reg(len);
    cx.e.minmax(r(clamped), len, imm(64), false, false);
    let up = cx.e.temp(1);
    cx.e.iadd3(r(up), orias_systems::build::neg(r(clamped)), imm(64), Operand::RZ);
    let high = cx.e.temp(2);
    cx.e.shf(&[Mod::L, Mod::U64, Mod::HI], cell(high, 1), cell(field, 0), r(up), cell(field, 1));
    cx.e.shl(cell(high, 0), cell(field, 0), r(up));
    // At length 0 the value is gone by now: zero shifted is zero.
    shift_right_64(cx, d, halves(high), r(up), true);
    Ok(())
}

/// `(1 << len) - 1` in 64 bits, all ones from 64 on.
fn mask_64(cx: &mut Cx<'_, '_>, len: Operand) -> Reg {
    let one = cx.e.temp(1);
    cx.e.mov(r(one), imm(1));
    let bit = cx.e.temp(2);
    cx.e.shf(&[Mod::L, Mod::U64, Mod::HI], cell(bit, 1), r(one), len, Operand::RZ);
    cx.e.shl(cell(bit, 0), r(one), len);
    let mask = cx.e.temp(2);
    cx.e.add64(mask, halves(bit), [imm(u32::MAX); 2]);
    mask
}

/// `bfi`: a field of bits put into a word.
pub fn bfi(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.value(operand(inst, 1)?, ty)?;
    let b = cx.value(operand(inst, 2)?, ty)?;
    let pos = cx.src(operand(inst, 3)?, Type::U32)?;
    let len = cx.src(operand(inst, 4)?, Type::U32)?;
    let (pos, len) = (byte(cx, pos), byte(cx, len));
    // d = (a << pos) & mask | b & ~mask
    if ty.bytes() == 4 {
        let mask = if let (Operand::Imm(p), Operand::Imm(l)) = (pos, len) {
            let ones = if l >= 32 { u64::from(u32::MAX) } else { (1u64 << l) - 1 };
            imm(if p >= 32 { 0 } else { (ones << p) as u32 })
        } else {
            let mask = cx.e.temp(1);
            cx.e.put(Opcode::BMSK, &[], 1, &[r(mask), pos, len]);
            r(mask)
        };
        let shifted = cx.e.temp(1);
        cx.e.shl(r(shifted), a.lo(), pos);
        cx.e.lop3(r(d), r(shifted), mask, b.lo(), 0xe2);
        return Ok(());
    }
    let ones = mask_64(cx, len);
    let (mask, field) = (cx.e.temp(2), cx.e.temp(2));
    for (to, from) in [(mask, halves(ones)), (field, a.halves())] {
        let from = [cx.in_reg(from[0]), cx.in_reg(from[1])];
        cx.e.shf(&[Mod::L, Mod::U64, Mod::HI], cell(to, 1), from[0], pos, from[1]);
        cx.e.shl(cell(to, 0), from[0], pos);
    }
    for i in 0..2 {
        cx.e.lop3(cell(d, i), cell(field, i), cell(mask, i), b.halves()[i as usize], 0xe2);
    }
    Ok(())
}

/// `bmsk`: a mask of so many bits from a place on.
pub fn bmsk(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let d = cx.dst(operand(inst, 0)?)?;
    let pos = cx.src(operand(inst, 1)?, Type::U32)?;
    let len = cx.src(operand(inst, 2)?, Type::U32)?;
    let mods: &[Mod] = if inst.has(Word::Wrap) { &[Mod::W] } else { &[] };
    cx.e.put(Opcode::BMSK, mods, 1, &[r(d), pos, len]);
    Ok(())
}

/// `szext`: the lowest bits, extended.
pub fn szext(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.src(operand(inst, 1)?, ty)?;
    let len = cx.src(operand(inst, 2)?, Type::U32)?;
    let mut mods = Vec::new();
    if inst.has(Word::Wrap) {
        mods.push(Mod::W);
    }
    if !ty.is_signed() {
        mods.push(Mod::U32);
    }
    cx.e.put(Opcode::SGXT, &mods, 1, &[r(d), a, len]);
    Ok(())
}

/// `prmt`: bytes of two words, as a selector says.
pub fn prmt(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.src(operand(inst, 1)?, Type::B32)?;
    let b = cx.src(operand(inst, 2)?, Type::B32)?;
    let selector = cx.src(operand(inst, 3)?, Type::B32)?;
    let mode = [
        (Word::F4e, Mod::F4E),
        (Word::B4e, Mod::B4E),
        (Word::Rc8, Mod::RC8),
        (Word::Ecl, Mod::ECL),
        (Word::Ecr, Mod::ECR),
        (Word::Rc16, Mod::RC16),
    ]
    .into_iter()
    .find(|(name, _)| inst.has(*name));
    let mods: &[Mod] = match &mode {
        Some((_, m)) => std::slice::from_ref(m),
        None => &[],
    };
    // There is room for one number.
    let [a, b] = [a, b].map(|o| if o == Operand::Imm(0) { Operand::RZ } else { o });
    let a = if let Operand::Imm(_) = a { cx.in_reg(a) } else { a };
    cx.e.put(Opcode::PRMT, mods, 1, &[r(d), a, selector, b]);
    Ok(())
}
