//! Video instructions: arithmetic on bytes, halves and words of mixed signs (PTX ISA 9.0, "Scalar
//! Video Instructions" and "SIMD Video Instructions").
//!
//! No machine instruction does them: parts are taken out by PRMT, and results are exact up to where
//! they are clamped. What a value may be decides how many words it needs.

use crate::lower::common::words::{add_chain, select_word};
use crate::lower::context::cx::{Cx, Sel, operand};
use crate::ptx::program::{Instruction, Operand as Ptx, Part};
use crate::ptx::types::Type;
use crate::ptx::words::{Op, Word};
use orias_components::{Mod, Opcode, Operand, Reg};
use orias_systems::build::{cell, halves, imm, not, r};

/// Which numbers a value may be, and where its bits from 32 on are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Range {
    /// Of less than 18 bits with its sign: sums do not leave 32 bits.
    Small,
    Signed,
    Unsigned,
    /// Two words, signed and unsigned.
    Wide(Operand),
    WideUnsigned(Operand),
}

#[derive(Clone, Copy)]
struct Number {
    low: Operand,
    range: Range,
}

impl Number {
    fn new(low: Operand, range: Range) -> Number {
        Number { low, range }
    }

    /// Both are numbers of one word and one kind, which is whether they are signed.
    fn common_sign(self, other: Number) -> Option<bool> {
        let signed = |n: Number| matches!(n.range, Range::Small | Range::Signed);
        match (signed(self), signed(other)) {
            (true, true) => Some(true),
            _ if self.range == Range::Unsigned && other.range == Range::Unsigned => Some(false),
            _ => None,
        }
    }

    fn words(self, cx: &mut Cx<'_, '_>) -> [Operand; 2] {
        let high = match self.range {
            Range::Small | Range::Signed => {
                let sign = cx.e.temp(1);
                cx.e.shr(r(sign), self.low, imm(31), true);
                r(sign)
            }
            Range::Unsigned => Operand::RZ,
            Range::Wide(high) | Range::WideUnsigned(high) => high,
        };
        [self.low, high]
    }

    fn pair(reg: Reg) -> Number {
        Number::new(cell(reg, 0), Range::Wide(cell(reg, 1)))
    }
}

/// The operation of a video instruction: that of one value, the number of lanes, `wrap` and
/// comparison.
struct Operation<'i> {
    op: Op,
    lanes: u8,
    inst: &'i Instruction<'i>,
}

fn bits(part: Part) -> u32 {
    if part.halves { 16 } else { 8 }
}

/// PRMT's selector for one byte or half of its first source, extended to a word.
fn selector(at: u8, bits: u32, signed: bool) -> u32 {
    let at = u32::from(at);
    match (bits, signed) {
        (8, false) => 0x4440 | at,
        (8, true) => at | ((at | 8) * 0x1110),
        (_, false) => 0x4400 | (2 * at) | ((2 * at + 1) << 4),
        (_, true) => (2 * at) | ((2 * at + 1) << 4) | (((2 * at + 1) | 8) * 0x1100),
    }
}

fn extract(cx: &mut Cx<'_, '_>, word: Operand, at: u8, bits: u32, signed: bool) -> Operand {
    let d = cx.e.temp(1);
    cx.e.prmt(r(d), word, imm(selector(at, bits, signed)), Operand::RZ);
    r(d)
}

/// A source without its minus, and whether it has one.
fn signless(op: &Ptx) -> (&Ptx, bool) {
    match op {
        Ptx::Neg(inner) => (inner, true),
        other => (other, false),
    }
}

/// The register of a source, in which parts are selected.
fn whole(cx: &mut Cx<'_, '_>, op: &Ptx) -> Sel<Operand> {
    match op {
        Ptx::Part(id, _) => Ok(r(cx.regs[id.0 as usize][0])),
        other => {
            let word = cx.src(other, Type::B32)?;
            Ok(cx.in_reg(word))
        }
    }
}

/// A source of a scalar instruction as the number that it is.
fn pick(cx: &mut Cx<'_, '_>, op: &Ptx, ty: Type) -> Sel<Number> {
    let (op, _) = signless(op);
    let word = whole(cx, op)?;
    Ok(match op {
        Ptx::Part(_, part) => {
            let low = extract(cx, word, part.lanes[0], bits(*part), ty.is_signed());
            Number::new(low, Range::Small)
        }
        _ => Number::new(word, if ty.is_signed() { Range::Signed } else { Range::Unsigned }),
    })
}

/// The destination register and the part of it that is written.
fn destination(cx: &mut Cx<'_, '_>, op: &Ptx) -> Sel<(Reg, Option<Part>)> {
    match op {
        Ptx::Part(id, part) => Ok((cx.regs[id.0 as usize][0], Some(*part))),
        other => Ok((cx.dst(other)?, None)),
    }
}

/// `v*`, `v*2`, `v*4`.
pub fn video(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let (op, lanes) = inst.opcode.video().ok_or("not a video instruction")?;
    // The types are those of the destination, which comparisons do not name, and of the sources.
    let types = match inst.types[..] {
        [d, a, b] => [d, a, b],
        [a, b] => [Type::U32, a, b],
        _ => return Err("types of a video instruction".into()),
    };
    let operation = Operation { op, lanes, inst };
    match (op, lanes) {
        (Op::Vmad, _) => multiply_add(cx, inst, types),
        (_, 1) => scalar(cx, &operation, types),
        _ => simd(cx, &operation, types),
    }
}

/// Whether the lanes, or the result and the third operand, are combined and how.
fn second(inst: &Instruction) -> Option<Word> {
    [Word::Add, Word::Min, Word::Max].into_iter().find(|w| inst.modifiers.last() == Some(w))
}

fn scalar(cx: &mut Cx<'_, '_>, op: &Operation<'_>, [dt, at, bt]: [Type; 3]) -> Sel {
    let inst = op.inst;
    let (d, part) = destination(cx, operand(inst, 0)?)?;
    let a = pick(cx, operand(inst, 1)?, at)?;
    let b = pick(cx, operand(inst, 2)?, bt)?;
    let sat = inst.has(Word::Sat);
    let mut result = first(cx, op, a, b, sat)?;
    if sat {
        let low = clamp(cx, result, part.map_or(32, bits), dt.is_signed());
        result = Number::new(low, Range::Signed);
    }
    match (part, second(inst)) {
        (Some(part), _) => {
            let c = whole(cx, operand(inst, 3)?)?;
            let at = u32::from(part.lanes[0]);
            // The bytes of c, and in their midst the lowest of the result.
            let (field, put) = if part.halves {
                (0xff << (8 * at), 0x10 << (8 * at))
            } else {
                (0xf << (4 * at), 0)
            };
            cx.e.prmt(r(d), result.low, imm(0x7654 & !field | put), c);
        }
        (None, None) => cx.e.mov(r(d), result.low),
        (None, Some(second)) => {
            let c = whole(cx, operand(inst, 3)?)?;
            match second {
                Word::Add => cx.e.iadd3(r(d), result.low, c, Operand::RZ),
                _ => cx.e.minmax(r(d), result.low, c, second == Word::Max, dt.is_signed()),
            }
        }
    }
    Ok(())
}

/// The first operation. Without `exact` only the low word has to be right.
fn first(
    cx: &mut Cx<'_, '_>,
    op: &Operation<'_>,
    a: Number,
    b: Number,
    exact: bool,
) -> Sel<Number> {
    let t = cx.e.temp(1);
    let small = a.range == Range::Small && b.range == Range::Small;
    Ok(match op.op {
        Op::Vadd | Op::Vsub if small || !exact => {
            let b = if op.op == Op::Vsub { orias_systems::build::neg(b.low) } else { b.low };
            cx.e.iadd3(r(t), a.low, b, Operand::RZ);
            Number::new(r(t), Range::Signed)
        }
        Op::Vadd | Op::Vsub => {
            let (a, b) = (a.words(cx), b.words(cx));
            let d = cx.e.temp(2);
            if op.op == Op::Vadd {
                cx.e.add64(d, a, b);
            } else {
                cx.e.sub64(d, a, b);
            }
            Number::pair(d)
        }
        Op::Vabsdiff => match a.common_sign(b) {
            Some(signed) => {
                let mods: &[Mod] = if signed { &[] } else { &[Mod::U32] };
                let operands = [r(t), Operand::PT, a.low, b.low, Operand::RZ];
                cx.e.put(Opcode::VABSDIFF, mods, 2, &operands);
                Number::new(r(t), if small { Range::Small } else { Range::Unsigned })
            }
            None => {
                let (a, b) = (a.words(cx), b.words(cx));
                let d = cx.e.temp(2);
                cx.e.sub64(d, a, b);
                Number::pair(cx.e.abs64(halves(d)).0)
            }
        },
        Op::Vmin | Op::Vmax => {
            let max = op.op == Op::Vmax;
            match a.common_sign(b) {
                Some(signed) => {
                    cx.e.minmax(r(t), a.low, b.low, max, signed);
                    let range = if signed { Range::Signed } else { Range::Unsigned };
                    Number::new(r(t), if small { Range::Small } else { range })
                }
                None => {
                    let p = compare(cx, if max { Mod::GT } else { Mod::LT }, a, b);
                    let (a, b) = (a.words(cx), b.words(cx));
                    let d = cx.e.temp(2);
                    for i in 0..2 {
                        select_word(cx, cell(d, i), a[usize::from(i)], b[usize::from(i)], p);
                    }
                    Number::pair(d)
                }
            }
        }
        Op::Vavrg2 => {
            // Halves are rounded away from zero: a negative sum gets no one before it is halved.
            let (sum, sign, up) = (cx.e.temp(1), cx.e.temp(1), cx.e.temp(1));
            cx.e.iadd3(r(sum), a.low, b.low, Operand::RZ);
            cx.e.shr(r(sign), r(sum), imm(31), true);
            cx.e.iadd3(r(up), r(sum), imm(1), r(sign));
            cx.e.shr(r(t), r(up), imm(1), true);
            Number::new(r(t), Range::Small)
        }
        Op::Vset => {
            let words = [
                (Word::Eq, Mod::EQ),
                (Word::Ne, Mod::NE),
                (Word::Lt, Mod::LT),
                (Word::Le, Mod::LE),
                (Word::Gt, Mod::GT),
                (Word::Ge, Mod::GE),
            ];
            let found = words.into_iter().find(|(word, _)| op.inst.has(*word));
            let p = compare(cx, found.ok_or("no comparison")?.1, a, b);
            select_word(cx, r(t), Operand::RZ, imm(1), not(p));
            Number::new(r(t), Range::Small)
        }
        Op::Vshl | Op::Vshr => {
            let amount = cx.e.temp(1);
            if op.inst.has(Word::Wrap) {
                cx.e.and(r(amount), b.low, imm(31));
            } else {
                cx.e.minmax(r(amount), b.low, imm(32), false, false);
            }
            if op.op == Op::Vshr {
                cx.e.shr(r(t), a.low, r(amount), a.range != Range::Unsigned);
                return Ok(Number::new(r(t), a.range));
            }
            cx.e.shl(r(t), a.low, r(amount));
            if !exact {
                return Ok(Number::new(r(t), Range::Signed));
            }
            let [low, high] = a.words(cx);
            let up = cx.e.temp(1);
            cx.e.shf(&[Mod::L, Mod::U64, Mod::HI], r(up), low, r(amount), high);
            let range = match a.range {
                Range::Unsigned => Range::WideUnsigned(r(up)),
                _ => Range::Wide(r(up)),
            };
            Number::new(r(t), range)
        }
        _ => return Err("this video operation".into()),
    })
}

/// A predicate: `a cmp b`.
fn compare(cx: &mut Cx<'_, '_>, cmp: Mod, a: Number, b: Number) -> Operand {
    let p = r(cx.e.temp_pred());
    match a.common_sign(b) {
        Some(signed) => cx.e.icmp(p, cmp, signed, a.low, b.low),
        None => {
            let (a, b) = (a.words(cx), b.words(cx));
            cx.e.isetp64(p, cmp, true, a, b, (Mod::AND, Operand::PT));
        }
    }
    p
}

/// The number of `bits` bits that is nearest.
fn clamp(cx: &mut Cx<'_, '_>, n: Number, bits: u32, signed: bool) -> Operand {
    let d = cx.e.temp(1);
    match n.range {
        Range::Wide(high) if !signed && bits == 32 => {
            let (over, under) = (cx.e.temp_pred(), cx.e.temp_pred());
            cx.e.icmp(r(over), Mod::GT, true, high, Operand::RZ);
            cx.e.icmp(r(under), Mod::LT, true, high, Operand::RZ);
            let most = cx.e.temp(1);
            select_word(cx, r(most), imm(u32::MAX), n.low, r(over));
            cx.e.sel(r(d), Operand::RZ, r(most), r(under));
            r(d)
        }
        Range::Wide(high) => {
            let (sign, limit) = (cx.e.temp(1), cx.e.temp(1));
            cx.e.shr(r(sign), n.low, imm(31), true);
            let fits = cx.e.temp_pred();
            cx.e.icmp(r(fits), Mod::EQ, true, high, r(sign));
            limit_of(cx, limit, high);
            cx.e.sel(r(d), n.low, r(limit), r(fits));
            clamp(cx, Number::new(r(d), Range::Signed), bits, signed)
        }
        Range::WideUnsigned(high) => {
            let over = cx.e.temp_pred();
            cx.e.icmp(r(over), Mod::NE, false, high, Operand::RZ);
            select_word(cx, r(d), imm(u32::MAX), n.low, r(over));
            clamp(cx, Number::new(r(d), Range::Unsigned), bits, signed)
        }
        Range::Unsigned => match (bits, signed) {
            (32, false) => n.low,
            _ => {
                cx.e.minmax(r(d), n.low, imm(largest(bits, signed)), false, false);
                r(d)
            }
        },
        Range::Small | Range::Signed => {
            if signed && bits == 32 {
                return n.low;
            }
            let least = if signed { largest(bits, true).wrapping_neg().wrapping_sub(1) } else { 0 };
            let from = if least == 0 { Operand::RZ } else { imm(least) };
            cx.e.minmax(r(d), n.low, from, true, true);
            if bits == 32 {
                return r(d);
            }
            let most = cx.e.temp(1);
            cx.e.minmax(r(most), r(d), imm(largest(bits, signed)), false, true);
            r(most)
        }
    }
}

fn largest(bits: u32, signed: bool) -> u32 {
    u32::MAX >> (32 - bits + u32::from(signed))
}

/// `d` = the number of 32 bits furthest from zero with the sign of `sign`.
fn limit_of(cx: &mut Cx<'_, '_>, d: Reg, sign: Operand) {
    let t = cx.e.temp(1);
    cx.e.shr(r(t), sign, imm(31), true);
    cx.e.xor(r(d), r(t), imm(0x7fff_ffff));
}

/// `vmad`: the product with or without a minus, plus or minus c, or plus one; shifted; clamped.
fn multiply_add(cx: &mut Cx<'_, '_>, inst: &Instruction, [_, at, bt]: [Type; 3]) -> Sel {
    let (d, _) = destination(cx, operand(inst, 0)?)?;
    let minus = |i: usize| operand(inst, i).map(|op| signless(op).1);
    let (minus_product, minus_c) = (minus(1)? ^ minus(2)?, minus(3)?);
    let signed = at.is_signed() || bt.is_signed() || minus_product || minus_c;
    let a = pick(cx, operand(inst, 1)?, at)?;
    let b = pick(cx, operand(inst, 2)?, bt)?;
    let c = whole(cx, signless(operand(inst, 3)?).0)?;
    let c = Number::new(c, if signed { Range::Signed } else { Range::Unsigned }).words(cx);
    let product = product(cx, a, b);
    // A product of unsigned words needs one more for its sign.
    let full = signed && matches!(product.range, Range::WideUnsigned(_));
    let words = if full { 3 } else { 2 };
    let [low, high] = product.words(cx);
    let mut sum = [low, high, Operand::RZ];
    if minus_product {
        sum = add(cx, [Operand::RZ; 3], sum, true, words);
    }
    sum = add(cx, sum, [c[0], c[1], c[1]], minus_c, words);
    if inst.has(Word::Po) {
        let zero = Operand::RZ;
        sum = add(cx, sum, [imm(1), zero, zero], false, words);
    }
    let shift = [(Word::Shr7, 7), (Word::Shr15, 15)].into_iter().find(|(word, _)| inst.has(*word));
    if let Some((_, by)) = shift {
        let kind = if signed { Mod::S64 } else { Mod::U64 };
        let mut shifted = [Operand::RZ; 3];
        for (i, place) in shifted.iter_mut().enumerate().take(words) {
            let t = cx.e.temp(1);
            if i + 1 < words {
                cx.e.shf(&[Mod::R, kind], r(t), sum[i], imm(by), sum[i + 1]);
            } else {
                cx.e.shr(r(t), sum[i], imm(by), signed);
            }
            *place = r(t);
        }
        sum = shifted;
    }
    let [low, mut high, top] = sum;
    if !inst.has(Word::Sat) {
        cx.e.mov(r(d), low);
        return Ok(());
    }
    if full {
        // What needs the third word is out of range by its sign alone.
        let (sign, limit, near) = (cx.e.temp(1), cx.e.temp(1), cx.e.temp(1));
        cx.e.shr(r(sign), high, imm(31), true);
        let fits = cx.e.temp_pred();
        cx.e.icmp(r(fits), Mod::EQ, true, top, r(sign));
        limit_of(cx, limit, top);
        cx.e.sel(r(near), high, r(limit), r(fits));
        high = r(near);
    }
    let range = if signed { Range::Wide(high) } else { Range::WideUnsigned(high) };
    let clamped = clamp(cx, Number::new(low, range), 32, signed);
    cx.e.mov(r(d), clamped);
    Ok(())
}

/// The product of two numbers of one word, in two.
fn product(cx: &mut Cx<'_, '_>, a: Number, b: Number) -> Number {
    let d = cx.e.temp(2);
    let Some(signed) = a.common_sign(b) else {
        // The bits of a negative factor count 2^32 too much.
        let (word, factor) = if a.range == Range::Unsigned { (a, b) } else { (b, a) };
        cx.e.imad_wide(d, a.low, b.low, Operand::RZ, false);
        let (sign, part, high) = (cx.e.temp(1), cx.e.temp(1), cx.e.temp(1));
        cx.e.shr(r(sign), factor.low, imm(31), true);
        cx.e.and(r(part), r(sign), word.low);
        cx.e.iadd3(r(high), cell(d, 1), orias_systems::build::neg(r(part)), Operand::RZ);
        return Number::new(cell(d, 0), Range::Wide(r(high)));
    };
    cx.e.imad_wide(d, a.low, b.low, Operand::RZ, signed);
    let high = cell(d, 1);
    Number::new(cell(d, 0), if signed { Range::Wide(high) } else { Range::WideUnsigned(high) })
}

/// `a + b` or `a - b` in this many words.
fn add(
    cx: &mut Cx<'_, '_>,
    a: [Operand; 3],
    b: [Operand; 3],
    subtract: bool,
    words: usize,
) -> [Operand; 3] {
    let d = cx.e.temp(if words == 3 { 4 } else { 2 });
    let (b, carry) = if subtract { (b.map(not), Some(Operand::PT)) } else { (b, None) };
    add_chain(cx, d, &a[..words], &b[..words], carry, Operand::PT);
    let mut sum = [Operand::RZ; 3];
    for (i, word) in sum.iter_mut().enumerate().take(words) {
        *word = cell(d, i as u8);
    }
    sum
}

fn simd(cx: &mut Cx<'_, '_>, op: &Operation<'_>, [dt, at, bt]: [Type; 3]) -> Sel {
    let inst = op.inst;
    let lanes = op.lanes;
    let width = 32 / u32::from(lanes);
    let (d, written) = destination(cx, operand(inst, 0)?)?;
    let sources = [operand(inst, 1)?, operand(inst, 2)?];
    let words = [whole(cx, sources[0])?, whole(cx, sources[1])?];
    let c = match inst.operands.get(3) {
        Some(c) => whole(cx, c)?,
        None => Operand::RZ,
    };
    // The lanes that are computed; the others are those of c, or count nothing in the sum.
    let computed =
        |lane: u8| written.is_none_or(|part| part.lanes[..usize::from(part.count)].contains(&lane));
    let mut results = [Operand::RZ; 4];
    for lane in (0..lanes).filter(|l| computed(*l)) {
        let mut element = |which: usize, ty: Type| {
            let index = match sources[which] {
                // The digits of a selector begin with the highest lane.
                Ptx::Part(_, part) => part.lanes[usize::from(part.count.max(lane + 1) - 1 - lane)],
                _ => lane + lanes * which as u8,
            };
            let word = words[usize::from(index >= lanes)];
            let low = extract(cx, word, index % lanes, width, ty.is_signed());
            Number::new(low, Range::Small)
        };
        let (a, b) = (element(0, at), element(1, bt));
        let result = first(cx, op, a, b, false)?;
        results[usize::from(lane)] = if inst.has(Word::Sat) {
            clamp(cx, Number::new(result.low, Range::Signed), width, dt.is_signed())
        } else {
            result.low
        };
    }
    if second(inst) == Some(Word::Add) {
        let mut sum = c;
        for pair in results.chunks(2).take(usize::from(lanes).div_ceil(2)) {
            let t = cx.e.temp(1);
            cx.e.iadd3(r(t), sum, pair[0], pair[1]);
            sum = r(t);
        }
        cx.e.mov(r(d), sum);
        return Ok(());
    }
    let merge = |cx: &mut Cx<'_, '_>, low: Operand, high: Operand, selector: u32| {
        let t = cx.e.temp(1);
        cx.e.prmt(r(t), low, imm(selector), high);
        r(t)
    };
    let [l0, l1, l2, l3] = results;
    let merged = if lanes == 2 {
        merge(cx, l0, l1, 0x5410)
    } else {
        let (low, high) = (merge(cx, l0, l1, 0x0040), merge(cx, l2, l3, 0x0040));
        merge(cx, low, high, 0x5410)
    };
    let mut selector = 0;
    for byte in 0..4 {
        let from = if computed(byte * lanes / 4) { byte } else { byte + 4 };
        selector |= u32::from(from) << (4 * byte);
    }
    cx.e.prmt(r(d), merged, imm(selector), c);
    Ok(())
}
