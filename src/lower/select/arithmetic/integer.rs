//! Integer arithmetic of 16, 32 and 64 bits.

use crate::lower::common::words::add_chain;
use crate::lower::context::cx::{Cx, Sel, operand, type_at};
use crate::lower::context::value::Value;
use crate::ptx::program::Instruction;
use crate::ptx::types::Type;
use crate::ptx::words::Word;
use orias_components::{Mod, Opcode, Operand, Reg};
use orias_systems::build::{cell, imm, neg as negated, not, r, wide};

fn packed(ty: Type) -> bool {
    matches!(ty, Type::U16x2 | Type::S16x2)
}

/// The operands of a two-source instruction in 64 bits.
struct Wide {
    d: Reg,
    a: [Operand; 2],
    b: [Operand; 2],
    built: Reg,
}

fn wide_operands(cx: &mut Cx<'_, '_>, inst: &Instruction, ty: Type) -> Sel<Wide> {
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.halves(operand(inst, 1)?, ty)?;
    let b = cx.halves(operand(inst, 2)?, ty)?;
    let built = cx.building(d, &[a[1], b[1]]);
    Ok(Wide { d, a, b, built })
}

/// The predicate that holds the carry of `add.cc` and its kind, PTX's CC.CF: what the adder makes
/// and takes, of `sub.cc` too (one where nothing was borrowed).
fn carry_flag(cx: &mut Cx<'_, '_>) -> Operand {
    let reg = match cx.carry {
        Some(reg) => reg,
        None => *cx.carry.insert(cx.e.body.new_vreg(orias_components::RegFile::P, 1, 1)),
    };
    r(reg)
}

/// `add` of 16, 32 and 64 bits, with `.sat` and `.cc`.
pub fn add(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    if packed(ty) {
        return add_halves(cx, inst, false);
    }
    if inst.has(Word::Sat) {
        return saturating(cx, inst, false);
    }
    if inst.has(Word::Cc) {
        return carrying(cx, inst, false, false, true);
    }
    if ty.bytes() == 8 {
        let w = wide_operands(cx, inst, ty)?;
        cx.e.add64(w.built, w.a, w.b);
        cx.built(w.d, w.built);
        return Ok(());
    }
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.src(operand(inst, 1)?, ty)?;
    let b = cx.src(operand(inst, 2)?, ty)?;
    cx.e.iadd3(r(d), a, b, Operand::RZ);
    Ok(())
}

/// `sub`, likewise.
pub fn sub(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    if packed(ty) {
        return add_halves(cx, inst, true);
    }
    if inst.has(Word::Sat) {
        return saturating(cx, inst, true);
    }
    if inst.has(Word::Cc) {
        return carrying(cx, inst, true, false, true);
    }
    if ty.bytes() == 8 {
        let w = wide_operands(cx, inst, ty)?;
        cx.e.sub64(w.built, w.a, w.b);
        cx.built(w.d, w.built);
        return Ok(());
    }
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.src(operand(inst, 1)?, ty)?;
    let b = cx.src(operand(inst, 2)?, ty)?;
    cx.e.iadd3(r(d), a, negated(b), Operand::RZ);
    Ok(())
}

/// `addc`: with the carry of the `.cc` before it.
pub fn addc(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    carrying(cx, inst, false, true, inst.has(Word::Cc))
}

/// `subc`: with the borrow of the `.cc` before it.
pub fn subc(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    carrying(cx, inst, true, true, inst.has(Word::Cc))
}

/// `add.cc`, `addc`, `sub.cc`, `subc` with or without `.cc`.
fn carrying(
    cx: &mut Cx<'_, '_>,
    inst: &Instruction,
    subtract: bool,
    takes: bool,
    gives: bool,
) -> Sel {
    let ty = type_at(inst, 0)?;
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.halves(operand(inst, 1)?, ty)?;
    let b = cx.halves(operand(inst, 2)?, ty)?;
    let words = if ty.bytes() == 8 { 2 } else { 1 };
    let flag = carry_flag(cx);
    let built = if words == 2 { cx.building(d, &[a[1], b[1]]) } else { d };
    let out = if gives { flag } else { Operand::PT };
    // a - b = a + ~b + 1
    let (b, first) = if subtract { (b.map(not), Some(Operand::PT)) } else { (b, None) };
    let carry = if takes { Some(flag) } else { first };
    add_chain(cx, built, &a[..words], &b[..words], carry, out);
    if words == 2 {
        cx.built(d, built);
    }
    Ok(())
}

/// `add.u16x2` and the like: no carry from one half to the other.
fn add_halves(cx: &mut Cx<'_, '_>, inst: &Instruction, subtract: bool) -> Sel {
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.src(operand(inst, 1)?, Type::B32)?;
    let b = cx.src(operand(inst, 2)?, Type::B32)?;
    let (a, b) = (cx.in_reg(a), cx.in_reg(b));
    let b = if subtract { negated(b) } else { b };
    cx.e.put(Opcode::VIADD, &[Mod::_16x2], 1, &[r(d), a, b]);
    Ok(())
}

/// `add.sat.s32`, `sub.sat.s32`.
fn saturating(cx: &mut Cx<'_, '_>, inst: &Instruction, subtract: bool) -> Sel {
    if type_at(inst, 0)? != Type::S32 {
        return Err("saturation of this type".into());
    }
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.src(operand(inst, 1)?, Type::S32)?;
    let b = cx.src(operand(inst, 2)?, Type::S32)?;
    add_clamped(cx, r(d), a, b, subtract);
    Ok(())
}

/// `d = a + b` or `a - b`; beyond the 32 signed bits the nearest number.
fn add_clamped(cx: &mut Cx<'_, '_>, d: Operand, a: Operand, b: Operand, subtract: bool) {
    let a = cx.in_reg(a);
    let sum = cx.e.temp(1);
    cx.e.iadd3(r(sum), a, if subtract { negated(b) } else { b }, Operand::RZ);
    // Overflow: the sum's sign differs from a's, and b (or its complement) has a's sign.
    let over = cx.e.temp(1);
    let b = cx.in_reg(b);
    // bits a, b, sum: (a ^ sum) & ~(a ^ b), for differences (a ^ sum) & (a ^ b)
    cx.e.lop3(r(over), a, b, r(sum), if subtract { 0x18 } else { 0x42 });
    let p = cx.e.temp_pred();
    cx.e.icmp(r(p), Mod::LT, true, r(over), Operand::RZ);
    // INT_MAX when a is not negative, INT_MIN otherwise.
    let limit = cx.e.temp(1);
    cx.e.shr(r(limit), a, imm(31), true);
    let flipped = cx.e.temp(1);
    cx.e.xor(r(flipped), r(limit), imm(0x7fff_ffff));
    cx.e.sel(d, r(flipped), r(sum), r(p));
}

/// `mul`: low half, high half, or the whole product.
pub fn mul(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let d = cx.dst(operand(inst, 0)?)?;
    if inst.has(Word::Wide) {
        return multiply_wide(cx, inst, d, None);
    }
    if inst.has(Word::Hi) {
        return multiply_high(cx, inst, d, None);
    }
    if ty.bytes() == 8 {
        let a = cx.halves(operand(inst, 1)?, ty)?;
        let b = cx.halves(operand(inst, 2)?, ty)?;
        cx.e.mul64(d, a, b, [Operand::RZ; 2]);
        return Ok(());
    }
    let a = cx.src(operand(inst, 1)?, ty)?;
    let b = cx.src(operand(inst, 2)?, ty)?;
    multiply(cx, r(d), a, b, Operand::RZ);
    Ok(())
}

/// `d = a·b + c`; a shift where a power of two asks for it.
fn multiply(cx: &mut Cx<'_, '_>, d: Operand, a: Operand, b: Operand, c: Operand) {
    let (a, b) = if matches!(a, Operand::Imm(_)) { (b, a) } else { (a, b) };
    match b {
        Operand::Imm(v) if (v as u32).is_power_of_two() && c == Operand::RZ => {
            cx.e.shl(d, a, imm((v as u32).trailing_zeros()));
        }
        _ => cx.e.imad(d, a, b, c),
    }
}

fn multiply_wide(cx: &mut Cx<'_, '_>, inst: &Instruction, d: Reg, c: Option<Operand>) -> Sel {
    let ty = type_at(inst, 0)?;
    match ty.bytes() {
        4 => {
            let a = cx.src(operand(inst, 1)?, ty)?;
            let b = cx.src(operand(inst, 2)?, ty)?;
            let (a, b) = if matches!(a, Operand::Imm(_)) { (b, a) } else { (a, b) };
            cx.e.imad_wide(d, a, b, c.unwrap_or(Operand::RZ), ty.is_signed());
            Ok(())
        }
        2 => {
            let a = cx.ext(operand(inst, 1)?, ty)?;
            let b = cx.ext(operand(inst, 2)?, ty)?;
            multiply(cx, r(d), a, b, c.unwrap_or(Operand::RZ));
            Ok(())
        }
        _ => Err("wide products of this type".into()),
    }
}

fn multiply_high(cx: &mut Cx<'_, '_>, inst: &Instruction, d: Reg, c: Option<Value>) -> Sel {
    let ty = type_at(inst, 0)?;
    let signed = ty.is_signed();
    match ty.bytes() {
        4 => {
            let a = cx.src(operand(inst, 1)?, ty)?;
            let b = cx.src(operand(inst, 2)?, ty)?;
            let (a, b) = if matches!(a, Operand::Imm(_)) { (b, a) } else { (a, b) };
            match c {
                None => cx.e.imad_hi(r(d), a, b, Operand::RZ, signed),
                Some(c) => {
                    let t = cx.e.temp(1);
                    cx.e.imad_hi(r(t), a, b, Operand::RZ, signed);
                    cx.e.iadd3(r(d), r(t), c.lo(), Operand::RZ);
                }
            }
        }
        2 => {
            let a = cx.ext(operand(inst, 1)?, ty)?;
            let b = cx.ext(operand(inst, 2)?, ty)?;
            let t = cx.e.temp(1);
            multiply(cx, r(t), a, b, Operand::RZ);
            let high = cx.e.temp(1);
            cx.e.shr(r(high), r(t), imm(16), signed);
            let c = c.map_or(Operand::RZ, |c| c.lo());
            cx.e.iadd3(r(d), r(high), c, Operand::RZ);
        }
        8 => {
            let a = cx.halves(operand(inst, 1)?, ty)?;
            let b = cx.halves(operand(inst, 2)?, ty)?;
            let high = super::product64::mul_hi(cx, a, b, signed);
            match c {
                None => cx.built(d, high),
                Some(c) => {
                    let built = cx.building(d, &c.halves());
                    cx.e.add64(built, [cell(high, 0), cell(high, 1)], c.halves());
                    cx.built(d, built);
                }
            }
        }
        _ => return Err("high products of this type".into()),
    }
    Ok(())
}

/// `mad`: the same with a summand.
pub fn mad(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    if inst.has(Word::Cc) {
        return mad_carry(cx, inst, false);
    }
    let ty = type_at(inst, 0)?;
    let d = cx.dst(operand(inst, 0)?)?;
    if inst.has(Word::Sat) {
        if ty != Type::S32 || !inst.has(Word::Hi) {
            return Err("saturation of this type".into());
        }
        let high = cx.e.temp(1);
        multiply_high(cx, inst, high, None)?;
        let c = cx.src(operand(inst, 3)?, ty)?;
        add_clamped(cx, r(d), r(high), c, false);
        return Ok(());
    }
    if inst.has(Word::Wide) {
        let c = if ty.bytes() == 4 {
            cx.pair(operand(inst, 3)?, Type::U64)?
        } else {
            cx.src(operand(inst, 3)?, Type::U32)?
        };
        return multiply_wide(cx, inst, d, Some(c));
    }
    if inst.has(Word::Hi) {
        let c = cx.value(operand(inst, 3)?, ty)?;
        return multiply_high(cx, inst, d, Some(c));
    }
    if ty.bytes() == 8 {
        let a = cx.halves(operand(inst, 1)?, ty)?;
        let b = cx.halves(operand(inst, 2)?, ty)?;
        let c = cx.halves(operand(inst, 3)?, ty)?;
        cx.e.mul64(d, a, b, c);
        return Ok(());
    }
    let a = cx.src(operand(inst, 1)?, ty)?;
    let b = cx.src(operand(inst, 2)?, ty)?;
    let c = cx.src(operand(inst, 3)?, ty)?;
    let (a, b) = if matches!(a, Operand::Imm(_)) { (b, a) } else { (a, b) };
    cx.e.imad(r(d), a, b, c);
    Ok(())
}

/// `madc`: the same with the carry of the `.cc` before it.
pub fn madc(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    mad_carry(cx, inst, true)
}

/// `mad.{lo,hi}.cc` and `madc`: the product first, then the sum with carries.
fn mad_carry(cx: &mut Cx<'_, '_>, inst: &Instruction, takes: bool) -> Sel {
    let ty = type_at(inst, 0)?;
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.halves(operand(inst, 1)?, ty)?;
    let b = cx.halves(operand(inst, 2)?, ty)?;
    let c = cx.halves(operand(inst, 3)?, ty)?;
    let flag = carry_flag(cx);
    let words = if ty.bytes() == 8 { 2 } else { 1 };
    let product = if words == 2 {
        if inst.has(Word::Hi) {
            super::product64::mul_hi(cx, a, b, ty.is_signed())
        } else {
            let t = cx.e.temp(2);
            cx.e.mul64(t, a, b, [Operand::RZ; 2]);
            t
        }
    } else {
        let t = cx.e.temp(1);
        if inst.has(Word::Hi) {
            cx.e.imad_hi(r(t), a[0], b[0], Operand::RZ, ty.is_signed());
        } else {
            multiply(cx, r(t), a[0], b[0], Operand::RZ);
        }
        t
    };
    let out = if inst.has(Word::Cc) { flag } else { Operand::PT };
    let built = if words == 2 { cx.building(d, &[c[1]]) } else { d };
    let p = [cell(product, 0), if words == 2 { cell(product, 1) } else { Operand::RZ }];
    add_chain(cx, built, &p[..words], &c[..words], takes.then_some(flag), out);
    if words == 2 {
        cx.built(d, built);
    }
    Ok(())
}

/// The 24 low bits of both operands, extended.
fn factors24(cx: &mut Cx<'_, '_>, inst: &Instruction, ty: Type) -> Sel<[Operand; 2]> {
    let mut factors = [Operand::RZ; 2];
    for (i, factor) in factors.iter_mut().enumerate() {
        let v = cx.src(operand(inst, i + 1)?, ty)?;
        let v = cx.in_reg(v);
        let shifted = cx.e.temp(1);
        cx.e.shl(r(shifted), v, imm(8));
        let t = cx.e.temp(1);
        cx.e.shr(r(t), r(shifted), imm(8), ty.is_signed());
        *factor = r(t);
    }
    Ok(factors)
}

fn product24(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel<Reg> {
    let ty = type_at(inst, 0)?;
    let [a, b] = factors24(cx, inst, ty)?;
    let full = cx.e.temp(2);
    cx.e.imad_wide(full, a, b, Operand::RZ, ty.is_signed());
    if inst.has(Word::Hi) {
        // Bits 16 to 47 of the 48.
        let t = cx.e.temp(1);
        cx.e.shf(&[Mod::R, Mod::W, Mod::U32], r(t), cell(full, 0), imm(16), cell(full, 1));
        return Ok(t);
    }
    Ok(full)
}

/// `mul24`: of the low 24 bits.
pub fn mul24(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let d = cx.dst(operand(inst, 0)?)?;
    let product = product24(cx, inst)?;
    cx.e.mov(r(d), cell(product, 0));
    Ok(())
}

/// `mad24`: the same with a summand.
pub fn mad24(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let d = cx.dst(operand(inst, 0)?)?;
    let c = cx.src(operand(inst, 3)?, type_at(inst, 0)?)?;
    let product = product24(cx, inst)?;
    if inst.has(Word::Sat) {
        if type_at(inst, 0)? != Type::S32 {
            return Err("saturation of this type".into());
        }
        add_clamped(cx, r(d), cell(product, 0), c, false);
        return Ok(());
    }
    cx.e.iadd3(r(d), cell(product, 0), c, Operand::RZ);
    Ok(())
}

/// `neg` of 16, 32 and 64 bits.
pub fn neg(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let d = cx.dst(operand(inst, 0)?)?;
    if ty.bytes() == 8 {
        let a = cx.halves(operand(inst, 1)?, ty)?;
        let built = cx.building(d, &[a[1]]);
        cx.e.sub64(built, [Operand::RZ; 2], a);
        cx.built(d, built);
        return Ok(());
    }
    let a = cx.src(operand(inst, 1)?, ty)?;
    cx.e.iadd3(r(d), negated(a), Operand::RZ, Operand::RZ);
    Ok(())
}

/// `abs` of 16, 32 and 64 bits.
pub fn abs(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let d = cx.dst(operand(inst, 0)?)?;
    if ty.bytes() == 8 {
        let a = cx.halves(operand(inst, 1)?, ty)?;
        let value = cx.e.abs64(a).0;
        cx.built(d, value);
        return Ok(());
    }
    let a = cx.ext(operand(inst, 1)?, ty)?;
    cx.e.put(Opcode::IABS, &[], 1, &[r(d), a]);
    Ok(())
}

/// `min` and `max` of 16, 32 and 64 bits.
pub fn minmax(cx: &mut Cx<'_, '_>, inst: &Instruction, max: bool) -> Sel {
    let ty = type_at(inst, 0)?;
    if packed(ty) {
        let d = cx.dst(operand(inst, 0)?)?;
        let a = cx.src(operand(inst, 1)?, Type::B32)?;
        let b = cx.src(operand(inst, 2)?, Type::B32)?;
        let (a, b) = (cx.in_reg(a), cx.in_reg(b));
        let mut mods = vec![if ty.is_signed() { Mod::S16x2 } else { Mod::U16x2 }];
        if inst.has(Word::Relu) {
            mods.push(Mod::RELU);
        }
        let which = if max { Operand::NOT_PT } else { Operand::PT };
        cx.e.put(Opcode::VIMNMX, &mods, 1, &[r(d), a, b, which]);
        return Ok(());
    }
    if ty.bytes() == 8 {
        let d = cx.dst(operand(inst, 0)?)?;
        let a = cx.value(operand(inst, 1)?, ty)?;
        let b = cx.value(operand(inst, 2)?, ty)?;
        let p = cx.e.temp_pred();
        let cmp = if max { Mod::GT } else { Mod::LT };
        let and = (Mod::AND, Operand::PT);
        cx.e.isetp64(r(p), cmp, ty.is_signed(), a.halves(), b.halves(), and);
        crate::lower::common::words::select(cx, d, ty, a, b, r(p));
        return Ok(());
    }
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.ext(operand(inst, 1)?, ty)?;
    let b = cx.ext(operand(inst, 2)?, ty)?;
    let (a, b) = if matches!(a, Operand::Imm(_)) { (b, a) } else { (a, b) };
    if inst.has(Word::Relu) {
        let t = cx.e.temp(1);
        cx.e.minmax(r(t), a, b, max, true);
        cx.e.minmax(r(d), r(t), Operand::RZ, true, true);
    } else {
        cx.e.minmax(r(d), a, b, max, ty.is_signed());
    }
    Ok(())
}

/// `div`: a macro instruction.
pub fn div(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    divide(cx, inst, Opcode::IDIV)
}

/// `rem`: a macro instruction.
pub fn rem(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    divide(cx, inst, Opcode::IREM)
}

/// Division and remainder as pseudo instructions: `OriCreateMacroInsts` expands them.
fn divide(cx: &mut Cx<'_, '_>, inst: &Instruction, op: Opcode) -> Sel {
    let ty = type_at(inst, 0)?;
    let d = cx.dst(operand(inst, 0)?)?;
    if ty.bytes() == 8 {
        let a = cx.pair(operand(inst, 1)?, ty)?;
        // A constant divisor stays one: it has an expansion of its own.
        let b = match cx.value(operand(inst, 2)?, ty)? {
            Value::Imm(divisor) => Operand::Imm(divisor),
            b => wide(cx.pair_of(b), 2),
        };
        let kind = if ty.is_signed() { Mod::S64 } else { Mod::U64 };
        cx.e.put(op, &[kind], 1, &[wide(d, 2), a, b]);
        return Ok(());
    }
    let a = cx.ext(operand(inst, 1)?, ty)?;
    let b = cx.ext(operand(inst, 2)?, ty)?;
    let kind = if ty.is_signed() { Mod::S32 } else { Mod::U32 };
    cx.e.put(op, &[kind], 1, &[r(d), a, b]);
    Ok(())
}

/// `d = c + |a - b|`
pub fn sad(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    let d = cx.dst(operand(inst, 0)?)?;
    if ty.bytes() == 8 {
        let a = cx.value(operand(inst, 1)?, ty)?;
        let b = cx.value(operand(inst, 2)?, ty)?;
        let c = cx.halves(operand(inst, 3)?, ty)?;
        let p = cx.e.temp_pred();
        let and = (Mod::AND, Operand::PT);
        cx.e.isetp64(r(p), Mod::GE, ty.is_signed(), a.halves(), b.halves(), and);
        let (ab, ba, chosen) = (cx.e.temp(2), cx.e.temp(2), cx.e.temp(2));
        cx.e.sub64(ab, a.halves(), b.halves());
        cx.e.sub64(ba, b.halves(), a.halves());
        crate::lower::common::words::select(
            cx,
            chosen,
            ty,
            Value::Reg(ab, 2),
            Value::Reg(ba, 2),
            r(p),
        );
        let built = cx.building(d, &c);
        cx.e.add64(built, [cell(chosen, 0), cell(chosen, 1)], c);
        cx.built(d, built);
        return Ok(());
    }
    let a = cx.ext(operand(inst, 1)?, ty)?;
    let b = cx.ext(operand(inst, 2)?, ty)?;
    let c = cx.src(operand(inst, 3)?, ty)?;
    let mods: &[Mod] = if ty.is_signed() { &[] } else { &[Mod::U32] };
    cx.e.put(Opcode::VABSDIFF, mods, 2, &[r(d), Operand::PT, a, b, c]);
    Ok(())
}

/// `dp4a`: four products of bytes, and a sum.
pub fn dp4a(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let kind = |ty: Type| if ty.is_signed() { Mod::S8 } else { Mod::U8 };
    let mods = [Mod::_4A, kind(type_at(inst, 0)?), kind(type_at(inst, 1)?)];
    dot(cx, inst, &mods)
}

/// `dp2a`: two products of a half and a byte, and a sum.
pub fn dp2a(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let half = if inst.has(Word::Hi) { Mod::HI } else { Mod::LO };
    let a = if type_at(inst, 0)?.is_signed() { Mod::S16 } else { Mod::U16 };
    let b = if type_at(inst, 1)?.is_signed() { Mod::S8 } else { Mod::U8 };
    dot(cx, inst, &[Mod::_2A, half, a, b])
}

fn dot(cx: &mut Cx<'_, '_>, inst: &Instruction, mods: &[Mod]) -> Sel {
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.src(operand(inst, 1)?, Type::B32)?;
    let b = cx.src(operand(inst, 2)?, Type::B32)?;
    let c = cx.src(operand(inst, 3)?, Type::B32)?;
    cx.e.put(Opcode::IDP, mods, 1, &[r(d), a, b, c]);
    Ok(())
}
