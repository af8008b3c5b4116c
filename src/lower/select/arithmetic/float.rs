//! Float arithmetic of 32 and 64 bits.
//!
//! The approximate functions scale their argument around the special function unit, which flushes
//! subnormal numbers, exactly as ptxas does (observed: ptxas 13.0.88, sm_90a); with `.ftz` they are
//! the bare unit.

use crate::lower::common::modifiers::rounding;
use crate::lower::context::cx::{Cx, Sel, operand, type_at};
use crate::lower::context::value::Value;
use crate::ptx::program::{Instruction, Operand as Ptx};
use crate::ptx::types::Type;
use crate::ptx::words::{Op, Word};
use orias_components::{Mod, Opcode, Operand, Reg, RegFlags, RegUse};
use orias_systems::build::{Emit, cell, fabs, fimm, fneg, imm, not, r, wide};

/// The smallest normal number.
const LEAST: f32 = f32::MIN_POSITIVE;
/// 2^126: reciprocals of larger numbers are subnormal.
const HUGE: f32 = 8.507_059e37;
/// 2^24
const UP: f32 = 16_777_216.0;

/// Modifier words of a float instruction, in SASS's order: flush, rounding, saturation.
fn words(inst: &Instruction) -> Vec<Mod> {
    let mut mods = Vec::new();
    if inst.has(Word::Ftz) {
        mods.push(Mod::FTZ);
    }
    mods.extend(rounding(inst));
    if inst.has(Word::Sat) {
        mods.push(Mod::SAT);
    }
    mods
}

/// A 64-bit float operand with a flag flipped.
fn flagged(op: Operand, flag: RegFlags) -> Operand {
    match op {
        Operand::Reg(u) => {
            let flags = if u.flags.has(flag) { u.flags.without(flag) } else { u.flags.with(flag) };
            Operand::Reg(RegUse { flags, ..u })
        }
        op => op,
    }
}

/// `add` and `sub` of 32 and 64 bits.
pub fn add(cx: &mut Cx<'_, '_>, inst: &Instruction, subtract: bool) -> Sel {
    let ty = type_at(inst, 0)?;
    let d = cx.dst(operand(inst, 0)?)?;
    if ty == Type::F64 {
        let a = cx.pair(operand(inst, 1)?, ty)?;
        let b = cx.pair(operand(inst, 2)?, ty)?;
        let b = if subtract { flagged(b, RegFlags::NEG) } else { b };
        let mods: Vec<Mod> = rounding(inst).into_iter().collect();
        cx.e.put(Opcode::DADD, &mods, 1, &[wide(d, 2), a, b]);
        return Ok(());
    }
    let a = cx.src(operand(inst, 1)?, ty)?;
    let b = cx.src(operand(inst, 2)?, ty)?;
    let b = if subtract { fneg(b) } else { b };
    let (a, b) = if matches!(a, Operand::Imm(_)) { (b, a) } else { (a, b) };
    cx.e.fadd(&words(inst), r(d), a, b);
    Ok(())
}

/// `mul` of 32 and 64 bits.
pub fn mul(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let d = cx.dst(operand(inst, 0)?)?;
    if ty == Type::F64 {
        let a = cx.pair(operand(inst, 1)?, ty)?;
        let b = cx.pair(operand(inst, 2)?, ty)?;
        let mods: Vec<Mod> = rounding(inst).into_iter().collect();
        cx.e.put(Opcode::DMUL, &mods, 1, &[wide(d, 2), a, b]);
        return Ok(());
    }
    let a = cx.src(operand(inst, 1)?, ty)?;
    let b = cx.src(operand(inst, 2)?, ty)?;
    let (a, b) = if matches!(a, Operand::Imm(_)) { (b, a) } else { (a, b) };
    cx.e.fmul(&words(inst), r(d), a, b);
    Ok(())
}

/// `fma` and `mad` of 32 and 64 bits.
pub fn fma(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let d = cx.dst(operand(inst, 0)?)?;
    match ty {
        Type::F64 => {
            let a = cx.pair(operand(inst, 1)?, ty)?;
            let b = cx.pair(operand(inst, 2)?, ty)?;
            let c = cx.pair(operand(inst, 3)?, ty)?;
            let mods: Vec<Mod> = rounding(inst).into_iter().collect();
            cx.e.put(Opcode::DFMA, &mods, 1, &[wide(d, 2), a, b, c]);
        }
        Type::F32 => {
            if inst.has(Word::Relu) {
                return Err("relu".into());
            }
            let a = cx.src(operand(inst, 1)?, ty)?;
            let b = cx.src(operand(inst, 2)?, ty)?;
            let c = cx.src(operand(inst, 3)?, ty)?;
            let (a, b) = if matches!(a, Operand::Imm(_)) { (b, a) } else { (a, b) };
            cx.e.ffma(&words(inst), r(d), a, b, c);
        }
        _ => return Err("type of this instruction".into()),
    }
    Ok(())
}

/// `a·b + c` for an addition or subtraction `add`, with the signs that it wants: (of the product,
/// of `c`).
pub fn fused(
    cx: &mut Cx<'_, '_>,
    [a, b, c]: [&Ptx; 3],
    add: &Instruction,
    (minus_product, minus_c): (bool, bool),
) -> Sel {
    let ty = type_at(add, 0)?;
    let d = cx.dst(operand(add, 0)?)?;
    if ty == Type::F64 {
        let (a, b, c) = (cx.pair(a, ty)?, cx.pair(b, ty)?, cx.pair(c, ty)?);
        let a = if minus_product { flagged(a, RegFlags::NEG) } else { a };
        let c = if minus_c { flagged(c, RegFlags::NEG) } else { c };
        cx.e.put(Opcode::DFMA, &[], 1, &[wide(d, 2), a, b, c]);
        return Ok(());
    }
    let (a, b, c) = (cx.src(a, ty)?, cx.src(b, ty)?, cx.src(c, ty)?);
    let a = if minus_product { fneg(a) } else { a };
    let c = if minus_c { fneg(c) } else { c };
    let (a, b) = if matches!(a, Operand::Imm(_)) { (b, a) } else { (a, b) };
    cx.e.ffma(&words(add), r(d), a, b, c);
    Ok(())
}

/// Negation and absolute value change the sign bit; with `.ftz` they flush too.
fn sign(cx: &mut Cx<'_, '_>, inst: &Instruction, lut: u8, mask: u32, flags: RegFlags) -> Sel {
    let ty = type_at(inst, 0)?;
    let d = cx.dst(operand(inst, 0)?)?;
    if ty == Type::F64 {
        let a = cx.value(operand(inst, 1)?, ty)?;
        cx.e.lop3(cell(d, 1), a.hi(), imm(mask), Operand::RZ, lut);
        cx.e.mov(cell(d, 0), a.lo());
        return Ok(());
    }
    let a = cx.src(operand(inst, 1)?, ty)?;
    if inst.has(Word::Ftz) {
        let a = cx.in_reg(a);
        cx.e.fadd(&[Mod::FTZ], r(d), flagged(a, flags), fneg(Operand::RZ));
    } else {
        cx.e.lop3(r(d), a, imm(mask), Operand::RZ, lut);
    }
    Ok(())
}

/// `neg`: the other sign.
pub fn neg(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    sign(cx, inst, 0x3c, 0x8000_0000, RegFlags::NEG)
}

/// `abs`: without sign.
pub fn abs(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    sign(cx, inst, 0xc0, 0x7fff_ffff, RegFlags::ABS)
}

/// `d = |b| with the sign of a` (PTX: the sign of the first source).
pub fn copysign(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.value(operand(inst, 1)?, ty)?;
    let b = cx.value(operand(inst, 2)?, ty)?;
    // b & ~mask | a & mask
    if ty == Type::F64 {
        let (b_lo, b_hi) = (b.lo(), b.hi());
        cx.e.lop3(cell(d, 1), a.hi(), imm(0x8000_0000), b_hi, 0xe2);
        cx.e.mov(cell(d, 0), b_lo);
    } else {
        cx.e.lop3(r(d), a.lo(), imm(0x8000_0000), b.lo(), 0xe2);
    }
    Ok(())
}

/// `min` and `max` of 32 and 64 bits.
pub fn minmax(cx: &mut Cx<'_, '_>, inst: &Instruction, max: bool) -> Sel {
    let ty = type_at(inst, 0)?;
    if inst.operands.len() != 3 {
        return Err("three sources".into());
    }
    let d = cx.dst(operand(inst, 0)?)?;
    if ty == Type::F64 {
        let a = cx.value(operand(inst, 1)?, ty)?;
        let b = cx.value(operand(inst, 2)?, ty)?;
        return minmax_f64(cx, d, a, b, max);
    }
    let a = cx.src(operand(inst, 1)?, ty)?;
    let b = cx.src(operand(inst, 2)?, ty)?;
    let (a, b) = if matches!(a, Operand::Imm(_)) { (b, a) } else { (a, b) };
    let mut mods = Vec::new();
    if inst.has(Word::Ftz) {
        mods.push(Mod::FTZ);
    }
    if inst.has(Word::NaN) {
        mods.push(Mod::NAN);
    }
    let (a, b) = if inst.has(Word::Xorsign) {
        mods.push(Mod::XORSIGN);
        let b = cx.in_reg(b);
        (fabs(a), fabs(b))
    } else {
        (a, b)
    };
    let p = if max { Operand::NOT_PT } else { Operand::PT };
    cx.e.put(Opcode::FMNMX, &mods, 1, &[r(d), a, b, p]);
    Ok(())
}

/// The number when one operand is NaN; -0 below +0.
fn minmax_f64(cx: &mut Cx<'_, '_>, d: Reg, a: Value, b: Value, max: bool) -> Sel {
    let (ra, rb) = (cx.pair_of(a), cx.pair_of(b));
    let and = Operand::PT;
    // a is chosen when it is less (greater), or b is NaN; equal values by their sign bits as
    // integers.
    let (less, nan, equal) = (cx.e.temp_pred(), cx.e.temp_pred(), cx.e.temp_pred());
    let cmp = if max { Mod::GT } else { Mod::LT };
    let pa = wide(ra, 2);
    let pb = wide(rb, 2);
    cx.e.put(Opcode::DSETP, &[cmp, Mod::AND], 2, &[r(less), Operand::PT, pa, pb, and]);
    cx.e.put(Opcode::DSETP, &[Mod::NAN, Mod::OR], 2, &[r(nan), Operand::PT, pb, pb, r(less)]);
    cx.e.put(Opcode::DSETP, &[Mod::EQ, Mod::AND], 2, &[r(equal), Operand::PT, pa, pb, and]);
    let tie = cx.e.temp_pred();
    cx.e.isetp(r(tie), cmp, true, [cell(ra, 1), cell(rb, 1)], Mod::AND, r(equal));
    let p = cx.e.temp_pred();
    cx.e.plop3(r(p), r(nan), r(tie), Operand::PT, 0xa8);
    let chosen = cx.e.temp(2);
    cx.e.sel(cell(chosen, 0), cell(ra, 0), cell(rb, 0), r(p));
    cx.e.sel(cell(chosen, 1), cell(ra, 1), cell(rb, 1), r(p));
    // Both NaN: the canonical one.
    let both = cx.e.temp_pred();
    let c = wide(chosen, 2);
    cx.e.put(Opcode::DSETP, &[Mod::NAN, Mod::AND], 2, &[r(both), Operand::PT, c, c, and]);
    cx.e.sel(cell(d, 0), cell(chosen, 0), imm(0), not(r(both)));
    cx.e.sel(cell(d, 1), cell(chosen, 1), imm(0x7ff8_0000), not(r(both)));
    Ok(())
}

/// `d` = `a` scaled: `a · factor` where `p` holds, else `a`.
fn scale_if(cx: &mut Cx<'_, '_>, a: Operand, factor: f32, p: Operand, mods: &[Mod]) -> Operand {
    let (scaled, d) = (cx.e.temp(1), cx.e.temp(1));
    cx.e.fmul(mods, r(scaled), a, fimm(factor));
    cx.e.put(Opcode::FSEL, &[], 1, &[r(d), r(scaled), a, p]);
    r(d)
}

/// `p = a cmp limit` on magnitudes.
fn magnitude(cx: &mut Cx<'_, '_>, a: Operand, cmp: Mod, limit: f32, ftz: bool) -> Operand {
    let p = cx.e.temp_pred();
    let and = (Mod::AND, Operand::PT);
    cx.e.fsetp(r(p), cmp, ftz, [fabs(a), fimm(limit)], and);
    r(p)
}

/// Source, destination and flush of a one-operand function.
fn unary(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel<(Operand, Operand, bool)> {
    let ty = type_at(inst, 0)?;
    if ty != Type::F32 {
        return Err("type of this instruction".into());
    }
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.src(operand(inst, 1)?, ty)?;
    let a = cx.in_reg(a);
    Ok((r(d), a, inst.has(Word::Ftz)))
}

/// A function of the unit whose argument is scaled up by 2^24 when subnormal and whose result is
/// scaled back by `back`.
fn scaled_function(cx: &mut Cx<'_, '_>, f: Mod, d: Operand, a: Operand, back: f32) {
    let normal = magnitude(cx, a, Mod::GEU, LEAST, false);
    let x = scale_if(cx, a, UP, not(normal), &[]);
    let y = cx.e.temp(1);
    cx.e.mufu(f, r(y), x);
    let scaled = cx.e.temp(1);
    cx.e.fmul(&[], r(scaled), r(y), fimm(back));
    cx.e.put(Opcode::FSEL, &[], 1, &[d, r(y), r(scaled), normal]);
}

/// `rsqrt`.
pub fn rsqrt(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    if type_at(inst, 0)? == Type::F64 {
        if inst.has(Word::Ftz) {
            return high_word(cx, inst, Mod::RSQ64H);
        }
        return rsqrt_f64(cx, inst);
    }
    let (d, a, ftz) = unary(cx, inst)?;
    if ftz {
        cx.e.mufu(Mod::RSQ, d, a);
    } else {
        scaled_function(cx, Mod::RSQ, d, a, 4096.0);
    }
    Ok(())
}

/// `rsqrt.approx.f64`: the unit's estimate and one step of third order, as ptxas has it; subnormal
/// arguments go up by 2^54.
fn rsqrt_f64(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.value(operand(inst, 1)?, Type::F64)?;
    let a = cx.pair_of(a);
    let e = &mut cx.e;
    let (magnitude, small) = (e.temp(1), e.temp_pred());
    e.and(r(magnitude), cell(a, 1), imm(0x7fff_ffff));
    e.icmp(r(small), Mod::LT, false, r(magnitude), imm(0x0010_0000));
    let high = |e: &mut Emit<'_>, word: u32| wide(e.join(Operand::RZ, imm(word)), 2);
    let fma = |e: &mut Emit<'_>, a: Operand, b: Operand, c: Operand| {
        let d = e.temp(2);
        e.put(Opcode::DFMA, &[], 1, &[wide(d, 2), a, b, c]);
        wide(d, 2)
    };
    let mul = |e: &mut Emit<'_>, a: Operand, b: Operand| {
        let d = e.temp(2);
        e.put(Opcode::DMUL, &[], 1, &[wide(d, 2), a, b]);
        wide(d, 2)
    };
    let (up, down, one) = (e.temp(2), e.temp(2), e.temp(1));
    e.mov(r(one), imm(0x3ff0_0000));
    for (pair, word) in [(up, 0x4350_0000), (down, 0x41a0_0000)] {
        e.mov(cell(pair, 0), Operand::RZ);
        e.sel(cell(pair, 1), r(one), imm(word), not(r(small)));
    }
    let x = mul(e, wide(a, 2), wide(up, 2));
    let estimate = e.temp(2);
    let x_reg = x.as_reg().ok_or("register")?.reg;
    e.mufu(Mod::RSQ64H, cell(estimate, 1), cell(x_reg, 1));
    e.mov(cell(estimate, 0), Operand::RZ);
    let y = wide(estimate, 2);
    let (one, half, three_eighths) =
        (high(e, 0x3ff0_0000), high(e, 0x3fe0_0000), high(e, 0x3fd8_0000));
    let square = mul(e, y, y);
    let error = fma(e, x, flagged(square, RegFlags::NEG), one);
    let slope = fma(e, error, three_eighths, half);
    let step = mul(e, y, error);
    let better = fma(e, slope, step, y);
    let result = mul(e, better, wide(down, 2));
    // Zeros, infinities, NaN and negative numbers: what the unit says.
    let (below, plain) = (e.temp(1), e.temp_pred());
    e.iadd3(r(below), cell(x_reg, 1), imm(0u32.wrapping_sub(0x0010_0000)), Operand::RZ);
    e.icmp(r(plain), Mod::LT, false, r(below), imm(0x7fe0_0000));
    let result = result.as_reg().ok_or("register")?.reg;
    for i in 0..2 {
        e.sel(cell(d, i), cell(result, i), cell(estimate, i), r(plain));
    }
    Ok(())
}

/// The double-precision approximations: the unit works on the high word, the low one is zero.
fn high_word(cx: &mut Cx<'_, '_>, inst: &Instruction, f: Mod) -> Sel {
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.value(operand(inst, 1)?, Type::F64)?;
    cx.e.mufu(f, cell(d, 1), a.hi());
    cx.e.mov(cell(d, 0), Operand::RZ);
    Ok(())
}

/// `sqrt`.
pub fn sqrt(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    if !inst.has(Word::Approx) {
        return ieee(cx, inst, Opcode::FSQRT, 1);
    }
    let (d, a, ftz) = unary(cx, inst)?;
    if ftz {
        cx.e.mufu(Mod::SQRT, d, a);
    } else {
        scaled_function(cx, Mod::SQRT, d, a, 1.0 / 4096.0);
    }
    Ok(())
}

/// `rcp`.
pub fn rcp(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    if !inst.has(Word::Approx) {
        return ieee(cx, inst, Opcode::FRCP, 1);
    }
    if type_at(inst, 0)? == Type::F64 {
        return high_word(cx, inst, Mod::RCP64H);
    }
    let (d, a, ftz) = unary(cx, inst)?;
    if ftz {
        cx.e.mufu(Mod::RCP, d, a);
        return Ok(());
    }
    // Subnormal arguments go up by 2^24, arguments with a subnormal result down by 4.
    let normal = magnitude(cx, a, Mod::GEU, LEAST, false);
    let huge = magnitude(cx, a, Mod::GT, HUGE, false);
    let up = cx.e.temp(1);
    cx.e.mov(r(up), fimm(UP));
    let (small, factor) = (cx.e.temp(1), cx.e.temp(1));
    cx.e.put(Opcode::FSEL, &[], 1, &[r(small), r(up), fimm(1.0), not(normal)]);
    cx.e.put(Opcode::FSEL, &[], 1, &[r(factor), r(small), fimm(0.25), not(huge)]);
    let (x, y) = (cx.e.temp(1), cx.e.temp(1));
    cx.e.fmul(&[], r(x), a, r(factor));
    cx.e.mufu(Mod::RCP, r(y), r(x));
    cx.e.fmul(&[], d, r(factor), r(y));
    Ok(())
}

/// `ex2.f32`.
pub fn ex2(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let (d, a, ftz) = unary(cx, inst)?;
    if ftz {
        cx.e.mufu(Mod::EX2, d, a);
        return Ok(());
    }
    // Below -126 the result is subnormal: half the exponent, then the square.
    let p = cx.e.temp_pred();
    cx.e.fsetp(r(p), Mod::GEU, false, [a, fimm(-126.0)], (Mod::AND, Operand::PT));
    let x = scale_if(cx, a, 0.5, not(r(p)), &[]);
    let (y, square) = (cx.e.temp(1), cx.e.temp(1));
    cx.e.mufu(Mod::EX2, r(y), x);
    cx.e.fmul(&[], r(square), r(y), r(y));
    cx.e.put(Opcode::FSEL, &[], 1, &[d, r(y), r(square), r(p)]);
    Ok(())
}

/// `lg2.f32`.
pub fn lg2(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let (d, a, ftz) = unary(cx, inst)?;
    if ftz {
        cx.e.mufu(Mod::LG2, d, a);
        return Ok(());
    }
    let normal = magnitude(cx, a, Mod::GEU, LEAST, false);
    let x = scale_if(cx, a, UP, not(normal), &[]);
    let (y, less) = (cx.e.temp(1), cx.e.temp(1));
    cx.e.mufu(Mod::LG2, r(y), x);
    cx.e.fadd(&[], r(less), r(y), fimm(-24.0));
    cx.e.put(Opcode::FSEL, &[], 1, &[d, r(y), r(less), normal]);
    Ok(())
}

/// The unit takes its angle in turns.
pub fn sin_cos(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let (d, a, ftz) = unary(cx, inst)?;
    let turns = cx.e.temp(1);
    let mods: &[Mod] = if ftz { &[Mod::FTZ, Mod::RZ] } else { &[Mod::RZ] };
    cx.e.fmul(mods, r(turns), a, imm(0x3e22_f983));
    let f = if inst.opcode == Op::Sin { Mod::SIN } else { Mod::COS };
    cx.e.mufu(f, d, r(turns));
    Ok(())
}

/// `tanh.f32`.
pub fn tanh(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let (d, a, _) = unary(cx, inst)?;
    cx.e.mufu(Mod::TANH, d, a);
    Ok(())
}

/// `div`: approximate, or the IEEE quotient as one macro instruction.
pub fn div(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let (approx, full) = (inst.has(Word::Approx), inst.has(Word::Full));
    if !approx && !full {
        return ieee(cx, inst, Opcode::FDIV, 2);
    }
    let d = cx.dst(operand(inst, 0)?)?;
    let (a, b) = factors(cx, inst)?;
    cx.e.fmul(flush(inst), r(d), a, b);
    Ok(())
}

/// An approximate quotient that an addition takes in, as it does a product (ptxas 13.0.88: of
/// `div.approx` and `div.full`).
pub fn fused_quotient(
    cx: &mut Cx<'_, '_>,
    (div, add): (&Instruction, &Instruction),
    c: &Ptx,
    (minus_quotient, minus_c): (bool, bool),
) -> Sel {
    let d = cx.dst(operand(add, 0)?)?;
    let (a, b) = factors(cx, div)?;
    let c = cx.src(c, Type::F32)?;
    let b = if minus_quotient { fneg(b) } else { b };
    let c = if minus_c { fneg(c) } else { c };
    cx.e.ffma(&words(add), r(d), a, b, c);
    Ok(())
}

fn flush(inst: &Instruction) -> &'static [Mod] {
    if inst.has(Word::Ftz) { &[Mod::FTZ] } else { &[] }
}

/// The reciprocal and the dividend whose product an approximate quotient is.
fn factors(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel<(Operand, Operand)> {
    let ftz = inst.has(Word::Ftz);
    let a = cx.src(operand(inst, 1)?, Type::F32)?;
    let b = cx.src(operand(inst, 2)?, Type::F32)?;
    let (mut a, mut b) = (cx.in_reg(a), cx.in_reg(b));
    let mods = flush(inst);
    let (divisor, y) = (b, cx.e.temp(1));
    if inst.has(Word::Full) {
        // The reciprocal of a huge divisor would flush: both sides down by 4.
        let huge = magnitude(cx, divisor, Mod::GT, HUGE, ftz);
        b = scale_if(cx, b, 0.25, huge, mods);
        a = scale_if(cx, a, 0.25, huge, mods);
    }
    if !ftz {
        let normal = magnitude(cx, divisor, Mod::GEU, LEAST, false);
        b = scale_if(cx, b, UP, not(normal), &[]);
        a = scale_if(cx, a, UP, not(normal), &[]);
    }
    cx.e.mufu(Mod::RCP, r(y), b);
    Ok((r(y), a))
}

/// The correctly rounded functions, as pseudo instructions that `OriCreateMacroInsts` expands.
fn ieee(cx: &mut Cx<'_, '_>, inst: &Instruction, op: Opcode, sources: usize) -> Sel {
    let ty = type_at(inst, 0)?;
    let d = cx.dst(operand(inst, 0)?)?;
    let mut mods = vec![if ty == Type::F64 { Mod::F64 } else { Mod::F32 }];
    mods.extend(words(inst));
    let mut operands = Vec::new();
    if ty == Type::F64 {
        operands.push(wide(d, 2));
        for i in 0..sources {
            operands.push(cx.pair(operand(inst, i + 1)?, ty)?);
        }
    } else {
        operands.push(r(d));
        for i in 0..sources {
            let a: &Ptx = operand(inst, i + 1)?;
            let a = cx.src(a, ty)?;
            operands.push(cx.in_reg(a));
        }
    }
    cx.e.put(op, &mods, 1, &operands);
    Ok(())
}
