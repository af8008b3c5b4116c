//! Float to float: width, or rounding to an integral value.

use super::format::{finish, float_source, integer_rounding, saturate, target, whole, word};
use crate::lower::common::modifiers::rounding;
use crate::lower::common::words::move_to;
use crate::lower::context::cx::{Cx, Sel, cells_of};
use crate::lower::context::value::Value;
use crate::ptx::program::Instruction;
use crate::ptx::types::Type;
use crate::ptx::words::Word;
use orias_components::{Mod, Opcode, Operand, Reg};
use orias_systems::build::{Narrow, narrow_double};
use orias_systems::build::{fneg, imm, part, r};

/// From float to float.
pub fn float(
    cx: &mut Cx<'_, '_>,
    inst: &Instruction,
    d: Reg,
    a: Value,
    to: Type,
    from: Type,
) -> Sel {
    let a = match from {
        Type::F64 => cx.pair_of(a),
        _ => one_cell(cx, a),
    };
    if to == from {
        return same_format(cx, inst, d, a, to);
    }
    let flush = inst.has(Word::Ftz);
    match (to, from) {
        (Type::F16 | Type::Bf16, Type::F32) => narrow(cx, inst, d, a, to),
        (Type::F32, Type::F16) => {
            // Every half is a normal single.
            let t = target(cx, inst, to, d);
            let operands = [r(t), fneg(part(Operand::RZ, Mod::NONE)), part(r(a), Mod::H0_H0)];
            cx.e.put(Opcode::HADD2, &[Mod::F32], 1, &operands);
            finish(cx, inst, to, d, t);
            Ok(())
        }
        (Type::F32, Type::Bf16) if !flush => {
            let t = target(cx, inst, to, d);
            cx.e.shl(r(t), r(a), imm(16));
            finish(cx, inst, to, d, t);
            Ok(())
        }
        (Type::F32, Type::F64) => {
            let t = target(cx, inst, to, d);
            let narrow = Narrow { round: rounding(inst), ftz: flush };
            narrow_double(&mut cx.e, narrow, r(t), whole(from, a));
            finish(cx, inst, to, d, t);
            Ok(())
        }
        (Type::F64, Type::F32) if flush => {
            // Observed: the conversion to a double never flushes, a product by one before it does.
            let flushed = cx.e.temp(1);
            cx.e.fmul(&[Mod::FTZ], r(flushed), r(a), imm(1f32.to_bits()));
            let t = target(cx, inst, to, d);
            cx.e.put(Opcode::F2F, &[Mod::F64, Mod::F32], 1, &[whole(to, t), r(flushed)]);
            finish(cx, inst, to, d, t);
            Ok(())
        }
        _ => {
            let t = target(cx, inst, to, d);
            let mut mods = Vec::new();
            if flush {
                mods.push(Mod::FTZ);
            }
            mods.extend([word(to), word(from)]);
            mods.extend(rounding(inst));
            cx.e.put(Opcode::F2F, &mods, 1, &[whole(to, t), float_source(from, a)]);
            finish(cx, inst, to, d, t);
            Ok(())
        }
    }
}

/// A register of one cell with the value.
fn one_cell(cx: &mut Cx<'_, '_>, a: Value) -> Reg {
    match a {
        Value::Reg(reg, 1) => reg,
        a => {
            let t = cx.e.temp(1);
            cx.e.mov(r(t), a.lo());
            t
        }
    }
}

/// f32 to a half. The fast converter rounds to nearest or to zero, and does not flush; of f16
/// no result shows that, because a subnormal single is far below its least number. Where one is
/// rounded down or up it shows, and the other converter's `.FTZ` makes zeros of subnormal halves
/// (an H200 did; ptxas leaves it out, and what PTX asks for undone): a product by one flushes.
fn narrow(cx: &mut Cx<'_, '_>, inst: &Instruction, d: Reg, a: Reg, to: Type) -> Sel {
    let round = rounding(inst);
    let (relu, satfinite) = (inst.has(Word::Relu), inst.has(Word::Satfinite));
    let flush = inst.has(Word::Ftz);
    let t = target(cx, inst, to, d);
    if matches!(round, Some(Mod::RM | Mod::RP)) || flush && to == Type::Bf16 {
        if relu || satfinite {
            return Err("these modifiers together".into());
        }
        let (mut mods, mut source) = (Vec::new(), a);
        if flush && to == Type::F16 {
            source = cx.e.temp(1);
            cx.e.fmul(&[Mod::FTZ], r(source), r(a), imm(1f32.to_bits()));
        } else if flush {
            mods.push(Mod::FTZ);
        }
        mods.extend([word(to), Mod::F32]);
        mods.extend(round);
        cx.e.put(Opcode::F2F, &mods, 1, &[r(t), r(source)]);
    } else {
        let mut mods = Vec::new();
        if satfinite {
            mods.push(Mod::SATFINITE);
        }
        if relu {
            mods.push(Mod::RELU);
        }
        mods.extend([word(to), Mod::F32, Mod::PACK_AB]);
        mods.extend(round);
        cx.e.put(Opcode::F2FP, &mods, 1, &[r(t), Operand::RZ, r(a)]);
    }
    finish(cx, inst, to, d, t);
    Ok(())
}

/// A float of the same format: rounded to an integral value, clamped, flushed, or copied.
fn same_format(cx: &mut Cx<'_, '_>, inst: &Instruction, d: Reg, a: Reg, ty: Type) -> Sel {
    let (flush, clamp) = (inst.has(Word::Ftz), inst.has(Word::Sat));
    if [Word::Rni, Word::Rzi, Word::Rmi, Word::Rpi].iter().any(|m| inst.has(*m)) {
        let t = target(cx, inst, ty, d);
        let mut mods = Vec::new();
        if flush {
            mods.push(Mod::FTZ);
        }
        if ty != Type::F32 {
            mods.push(word(ty));
        }
        mods.extend(integer_rounding(inst));
        cx.e.put(Opcode::FRND, &mods, 1, &[whole(ty, t), float_source(ty, a)]);
        finish(cx, inst, ty, d, t);
    } else if clamp && !flush {
        saturate(cx, ty, d, a);
    } else if flush && ty == Type::F32 {
        // Adding -0 keeps every value; saturation makes -0 and NaN +0.
        let mut mods = vec![Mod::FTZ];
        if clamp {
            mods.push(Mod::SAT);
        }
        cx.e.fadd(&mods, r(d), r(a), fneg(Operand::RZ));
    } else {
        move_to(cx, d, cells_of(ty), Value::Reg(a, cells_of(ty)));
    }
    Ok(())
}
