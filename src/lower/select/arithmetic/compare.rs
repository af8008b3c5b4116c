//! `setp`, `set` and `testp`.

use crate::lower::common::half_operands as half;
use crate::lower::context::cx::{Cx, Sel, operand, type_at};
use crate::ptx::program::{Instruction, Operand as Ptx};
use crate::ptx::types::{Type, TypeKind};
use crate::ptx::words::Word;
use orias_components::{Mod, Opcode, Operand};
use orias_systems::build::{cell, imm, not, r};

/// The comparison word of an instruction.
fn comparison(inst: &Instruction, float: bool) -> Sel<Mod> {
    let word = inst.modifiers.first().copied().ok_or("no comparison")?;
    Ok(match word {
        Word::Eq => Mod::EQ,
        Word::Ne => Mod::NE,
        Word::Lt | Word::Lo => Mod::LT,
        Word::Le | Word::Ls => Mod::LE,
        Word::Gt | Word::Hi => Mod::GT,
        Word::Ge | Word::Hs => Mod::GE,
        Word::Equ if float => Mod::EQU,
        Word::Neu if float => Mod::NEU,
        Word::Ltu if float => Mod::LTU,
        Word::Leu if float => Mod::LEU,
        Word::Gtu if float => Mod::GTU,
        Word::Geu if float => Mod::GEU,
        Word::Num if float => Mod::NUM,
        Word::Nan if float => Mod::NAN,
        other => return Err(format!("comparison `{other}`")),
    })
}

/// The word that combines with a third predicate.
fn combination(inst: &Instruction) -> Mod {
    match inst.modifiers.get(1) {
        Some(&Word::Or) => Mod::OR,
        Some(&Word::Xor) => Mod::XOR,
        _ => Mod::AND,
    }
}

/// `[d, d2] = (a cmp b) comb c`, with the complement of the comparison in the second.
fn compare(
    cx: &mut Cx<'_, '_>,
    inst: &Instruction,
    ty: Type,
    d: [Operand; 2],
    (comb, c): (Mod, Operand),
) -> Sel {
    let (a_op, b_op) = (operand(inst, 1)?, operand(inst, 2)?);
    let float = ty.kind() == TypeKind::Float;
    let cmp = comparison(inst, float)?;
    match ty {
        Type::F32 => {
            let a = cx.src(a_op, ty)?;
            let b = cx.src(b_op, ty)?;
            let (cmp, a, b) = swap_immediate(cmp, a, b);
            let mut mods = vec![cmp];
            if inst.has(Word::Ftz) {
                mods.push(Mod::FTZ);
            }
            mods.push(comb);
            cx.e.put(Opcode::FSETP, &mods, 2, &[d[0], d[1], a, b, c]);
        }
        Type::F64 => {
            let a = cx.pair(a_op, ty)?;
            let b = cx.pair(b_op, ty)?;
            cx.e.put(Opcode::DSETP, &[cmp, comb], 2, &[d[0], d[1], a, b, c]);
        }
        _ if half::is_half(ty) => {
            let a = half::source(cx, a_op, ty)?;
            let b = half::source(cx, b_op, ty)?;
            let mut mods: Vec<Mod> = half::format(ty).into_iter().collect();
            mods.push(cmp);
            if inst.has(Word::Ftz) {
                mods.push(Mod::FTZ);
            }
            mods.push(comb);
            // Of pairs the second predicate is that of the high halves.
            cx.e.put(Opcode::HSETP2, &mods, 2, &[d[0], d[1], a, b, c]);
        }
        _ if float => return Err("comparison of this type".into()),
        _ if ty.bytes() == 8 => {
            let a = cx.halves(a_op, ty)?;
            let b = cx.halves(b_op, ty)?;
            let (cmp, a, b) =
                if matches!(a[0], Operand::Imm(_)) { (mirrored(cmp), b, a) } else { (cmp, a, b) };
            let low = cx.e.temp_pred();
            cx.e.icmp(r(low), cmp, false, a[0], b[0]);
            let mut mods = vec![cmp];
            if !ty.is_signed() {
                mods.push(Mod::U32);
            }
            mods.extend([comb, Mod::EX]);
            cx.e.put(Opcode::ISETP, &mods, 2, &[d[0], d[1], a[1], b[1], c, r(low)]);
        }
        _ => {
            // Bits types compare for equality only: any extension does.
            let ty = if ty == Type::B16 { Type::U16 } else { ty };
            let a = cx.ext(a_op, ty)?;
            let b = cx.ext(b_op, ty)?;
            let (cmp, a, b) = swap_immediate(cmp, a, b);
            let mut mods = vec![cmp];
            if !ty.is_signed() {
                mods.push(Mod::U32);
            }
            mods.push(comb);
            cx.e.put(Opcode::ISETP, &mods, 2, &[d[0], d[1], a, b, c]);
        }
    }
    Ok(())
}

fn mirrored(cmp: Mod) -> Mod {
    match cmp {
        Mod::LT => Mod::GT,
        Mod::LE => Mod::GE,
        Mod::GT => Mod::LT,
        Mod::GE => Mod::LE,
        Mod::LTU => Mod::GTU,
        Mod::LEU => Mod::GEU,
        Mod::GTU => Mod::LTU,
        Mod::GEU => Mod::LEU,
        other => other,
    }
}

/// An immediate goes to the second source.
fn swap_immediate(cmp: Mod, a: Operand, b: Operand) -> (Mod, Operand, Operand) {
    if matches!(a, Operand::Imm(_)) && !matches!(b, Operand::Imm(_)) {
        (mirrored(cmp), b, a)
    } else {
        (cmp, a, b)
    }
}

/// The third source predicate and its combination.
fn third(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel<(Mod, Operand)> {
    match inst.operands.get(3) {
        Some(p) => Ok((combination(inst), cx.pred(p)?)),
        None => Ok((Mod::AND, Operand::PT)),
    }
}

/// `setp`: one predicate, or it and its opposite.
pub fn setp(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let d = match operand(inst, 0)? {
        Ptx::Pair(both) => [cx.dst_pred(&both.0)?, cx.dst_pred(&both.1)?],
        p => [cx.dst_pred(p)?, Operand::PT],
    };
    let third = third(cx, inst)?;
    compare(cx, inst, ty, d, third)
}

/// `set` of halves: one instruction, which gives ones or 1.0 in each half.
fn set_half(cx: &mut Cx<'_, '_>, inst: &Instruction, to: Type, from: Type) -> Sel {
    let (comb, c) = third(cx, inst)?;
    let a = half::source(cx, operand(inst, 1)?, from)?;
    let b = half::source(cx, operand(inst, 2)?, from)?;
    let d = cx.dst(operand(inst, 0)?)?;
    let mut mods: Vec<Mod> = half::format(from).into_iter().collect();
    if half::is_half(to) {
        mods.push(Mod::BF);
    }
    mods.push(comparison(inst, true)?);
    if inst.has(Word::Ftz) {
        mods.push(Mod::FTZ);
    }
    mods.push(comb);
    cx.e.put(Opcode::HSET2, &mods, 1, &[r(d), a, b, c]);
    Ok(())
}

/// `set`: all ones or 1.0 where the comparison holds.
pub fn set(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let (to, from) = (type_at(inst, 0)?, type_at(inst, 1)?);
    if half::is_half(from) && (half::format(to) == half::format(from) || !half::is_half(to)) {
        return set_half(cx, inst, to, from);
    }
    let p = cx.e.temp_pred();
    let third = third(cx, inst)?;
    compare(cx, inst, from, [r(p), Operand::PT], third)?;
    let d = cx.dst(operand(inst, 0)?)?;
    let truth = match to {
        Type::F32 => 0x3f80_0000,
        Type::F16 => 0x3c00,
        Type::Bf16 => 0x3f80,
        Type::U16 | Type::S16 => 0xffff,
        Type::U32 | Type::S32 | Type::B32 => u32::MAX,
        _ => return Err("result of this type".into()),
    };
    cx.e.sel(r(d), Operand::RZ, imm(truth), not(r(p)));
    Ok(())
}

/// `testp`: the class of a float.
pub fn testp(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let d = cx.dst_pred(operand(inst, 0)?)?;
    let kind = inst.modifiers.first().copied().ok_or("no test")?;
    if ty == Type::F64 {
        let a = cx.pair(operand(inst, 1)?, ty)?;
        return testp_f64(cx, d, kind, a);
    }
    let a = cx.src(operand(inst, 1)?, ty)?;
    let a = cx.in_reg(a);
    let magnitude = cx.e.temp(1);
    cx.e.and(r(magnitude), a, imm(0x7fff_ffff));
    let (inf, least) = (imm(0x7f80_0000), imm(0x0080_0000));
    let m = r(magnitude);
    match kind {
        Word::Finite => cx.e.icmp(d, Mod::LT, false, m, inf),
        Word::Infinite => cx.e.icmp(d, Mod::EQ, false, m, inf),
        Word::Number => cx.e.icmp(d, Mod::LE, false, m, inf),
        Word::Notanumber => cx.e.icmp(d, Mod::GT, false, m, inf),
        Word::Normal | Word::Subnormal => {
            let p = cx.e.temp_pred();
            if kind == Word::Normal {
                // Zeros count as normal (PTX ISA 9.0, testp).
                cx.e.icmp(r(p), Mod::EQ, false, m, Operand::RZ);
                let some = cx.e.temp_pred();
                cx.e.isetp(r(some), Mod::GE, false, [m, least], Mod::OR, r(p));
                cx.e.isetp(d, Mod::LT, false, [m, inf], Mod::AND, r(some));
                return Ok(());
            }
            cx.e.icmp(r(p), Mod::LT, false, m, least);
            cx.e.isetp(d, Mod::NE, false, [m, Operand::RZ], Mod::AND, r(p));
        }
        other => return Err(format!("test `{other}`")),
    }
    Ok(())
}

fn testp_f64(cx: &mut Cx<'_, '_>, d: Operand, kind: Word, a: Operand) -> Sel {
    let Operand::Reg(u) = a else { return Err("operand".into()) };
    let high = cx.e.temp(1);
    cx.e.and(r(high), cell(u.reg, 1), imm(0x7fff_ffff));
    let words = [cell(u.reg, 0), r(high)];
    let inf = [Operand::RZ, imm(0x7ff0_0000)];
    let least = [Operand::RZ, imm(0x0010_0000)];
    let and = (Mod::AND, Operand::PT);
    match kind {
        Word::Finite => cx.e.isetp64(d, Mod::LT, false, words, inf, and),
        Word::Infinite => cx.e.isetp64(d, Mod::EQ, false, words, inf, and),
        Word::Number => cx.e.isetp64(d, Mod::LE, false, words, inf, and),
        Word::Notanumber => cx.e.isetp64(d, Mod::GT, false, words, inf, and),
        Word::Normal => {
            let (zero, some) = (cx.e.temp_pred(), cx.e.temp_pred());
            cx.e.isetp64(r(zero), Mod::EQ, false, words, [Operand::RZ; 2], and);
            cx.e.isetp64(r(some), Mod::GE, false, words, least, (Mod::OR, r(zero)));
            cx.e.isetp64(d, Mod::LT, false, words, inf, (Mod::AND, r(some)));
        }
        Word::Subnormal => {
            let p = cx.e.temp_pred();
            cx.e.isetp64(r(p), Mod::LT, false, words, least, and);
            cx.e.isetp64(d, Mod::NE, false, words, [Operand::RZ; 2], (Mod::AND, r(p)));
        }
        other => return Err(format!("test `{other}`")),
    }
    Ok(())
}
