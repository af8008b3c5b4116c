//! Floating-point arithmetic.

use orias_targets::approx::{Approx, angle, flush, rcp64h, rsq64h};
use rustc_apfloat::Round;

use super::decoder::{Decoded, Decoder, rounding};
use crate::interpret::code::Op;
use crate::interpret::float::{Arith, Format, Mode, arithmetic, from_f64, packed, to_f64};
use crate::interpret::operand::Ternary;
use crate::ptx::program::Instruction;
use crate::ptx::types::Type;
use crate::ptx::words::{Op as Opcode, Word};

impl Decoder<'_, '_> {
    /// Decodes float arithmetic and conversions; None for other instructions.
    pub(super) fn float(&self, inst: &Instruction) -> Decoded<Option<Op>> {
        let Some(&ty) = inst.types.first() else { return Ok(None) };
        let Some(format) = Format::of(ty) else { return Ok(None) };
        if inst.types.len() > 1 && matches!(inst.opcode, Opcode::Add | Opcode::Sub | Opcode::Fma) {
            return Err("mixed precision".to_string());
        }
        let mode = Mode {
            round: rounding(inst).map_or(Round::NearestTiesToEven, |(round, _)| round),
            ftz: inst.has(Word::Ftz),
            sat: inst.has(Word::Sat),
            relu: inst.has(Word::Relu),
            nan: inst.has(Word::NaN),
            xorsign: inst.has(Word::Xorsign),
        };
        let (op, arity) = match inst.opcode {
            Opcode::Add => (Arith::Add, 2),
            Opcode::Sub => (Arith::Sub, 2),
            Opcode::Mul => (Arith::Mul, 2),
            Opcode::Fma | Opcode::Mad => (Arith::Fma, 3),
            Opcode::Min if inst.operands.len() == 3 => (Arith::Min, 2),
            Opcode::Max if inst.operands.len() == 3 => (Arith::Max, 2),
            Opcode::Abs => (Arith::Abs, 1),
            Opcode::Neg => (Arith::Neg, 1),
            Opcode::Div if inst.has(Word::Approx) => {
                return self.alu(inst, 2, ty, approximate_quotient(mode));
            }
            Opcode::Div => (Arith::Div, 2),
            Opcode::Rcp
            | Opcode::Sqrt
            | Opcode::Rsqrt
            | Opcode::Sin
            | Opcode::Cos
            | Opcode::Lg2
            | Opcode::Ex2
            | Opcode::Tanh
                if inst.has(Word::Approx) =>
            {
                return self.approximate(inst, ty, format, mode);
            }
            Opcode::Rcp => (Arith::Rcp, 1),
            Opcode::Sqrt => (Arith::Sqrt, 1),
            Opcode::Copysign => {
                let sign = format.sign();
                return self.alu(inst, 2, ty, Box::new(move |a, b, _| a & sign | b & !sign));
            }
            Opcode::Testp => return self.testp(inst, ty, format),
            _ => return Ok(None),
        };
        let f = arithmetic(op, format, mode);
        let f: Ternary = if inst.has(Word::Oob) {
            // An operand with the bits that fill a tensor where it has no elements.
            let outside = format.nan();
            Box::new(move |a, b, c| if [a, b, c].contains(&outside) { 0 } else { f(a, b, c) })
        } else {
            f
        };
        let f = match ty {
            Type::F16x2 | Type::Bf16x2 => packed(f, 16),
            Type::F32x2 => packed_words(f),
            _ => f,
        };
        self.alu(inst, arity, ty, f)
    }

    fn approximate(
        &self,
        inst: &Instruction,
        ty: Type,
        format: Format,
        mode: Mode,
    ) -> Decoded<Option<Op>> {
        if format == Format::F64 {
            let f: Ternary = match (inst.opcode, mode.ftz) {
                (Opcode::Rcp, _) => Box::new(|a, _, _| u64::from(rcp64h((a >> 32) as u32)) << 32),
                (Opcode::Rsqrt, true) => {
                    Box::new(|a, _, _| u64::from(rsq64h((a >> 32) as u32)) << 32)
                }
                (Opcode::Rsqrt, false) => {
                    Box::new(|a, _, _| (1.0 / f64::from_bits(a).sqrt()).to_bits())
                }
                _ => return Ok(None),
            };
            return self.alu(inst, 1, ty, f);
        }
        let function: fn(f32) -> f32 = match inst.opcode {
            Opcode::Rcp => |x| Approx::Rcp.eval(x),
            Opcode::Sqrt => |x| Approx::Sqrt.eval(x),
            Opcode::Rsqrt => |x| Approx::Rsq.eval(x),
            Opcode::Sin => |x| angle(Approx::Sin, x),
            Opcode::Cos => |x| angle(Approx::Cos, x),
            Opcode::Lg2 => |x| Approx::Lg2.eval(x),
            Opcode::Ex2 => |x| Approx::Ex2.eval(x),
            _ => |x| Approx::Tanh.eval(x),
        };
        let ftz = mode.ftz;
        let f: Ternary = match format {
            Format::F32 if ftz => Box::new(move |a, _, _| {
                flush(function(flush(f32::from_bits(a as u32)))).to_bits().into()
            }),
            Format::F32 => {
                Box::new(move |a, _, _| function(f32::from_bits(a as u32)).to_bits().into())
            }
            // The halves go through f32: exact operands, one more rounding inside the allowed
            // error.
            _ => Box::new(move |a, _, _| {
                let a = if ftz { format.flush(a) } else { a };
                let y = f64::from(function(to_f64(format, a) as f32));
                let r = from_f64(format, y, Round::NearestTiesToEven);
                if ftz { format.flush(r) } else { r }
            }),
        };
        let f = if matches!(ty, Type::F16x2 | Type::Bf16x2) { packed(f, 16) } else { f };
        self.alu(inst, 1, ty, f)
    }

    fn testp(&self, inst: &Instruction, ty: Type, format: Format) -> Decoded<Option<Op>> {
        let infinity = format.infinity();
        let magnitude = format.magnitude();
        let f: Ternary = match inst.modifiers.first().copied() {
            Some(Word::Finite) => Box::new(move |a, _, _| (a & magnitude < infinity).into()),
            Some(Word::Infinite) => Box::new(move |a, _, _| (a & magnitude == infinity).into()),
            Some(Word::Number) => Box::new(move |a, _, _| (!format.is_nan(a)).into()),
            Some(Word::Notanumber) => Box::new(move |a, _, _| format.is_nan(a).into()),
            // Zeros count as normal (PTX ISA 9.0, "testp").
            Some(Word::Normal) => Box::new(move |a, _, _| {
                (a & infinity != infinity && !format.is_subnormal(a)).into()
            }),
            Some(Word::Subnormal) => Box::new(move |a, _, _| format.is_subnormal(a).into()),
            _ => return Ok(None),
        };
        self.alu(inst, 1, ty, f)
    }
}

/// `div.approx.f32`: a divisor beyond 2^126 gives zero, or NaN for an infinite dividend (PTX ISA
/// 9.0, "div").
fn approximate_quotient(mode: Mode) -> Ternary {
    let exact = arithmetic(Arith::Div, Format::F32, mode);
    let product = arithmetic(Arith::Mul, Format::F32, mode);
    let limit = f32::to_bits(2f32.powi(126));
    Box::new(move |a, b, c| {
        let magnitude = (b & Format::F32.magnitude()) as u32;
        if magnitude > limit && u64::from(magnitude) < Format::F32.infinity() {
            product(a, b & Format::F32.sign(), c)
        } else {
            exact(a, b, c)
        }
    })
}

/// Two f32 in a 64-bit register.
fn packed_words(f: Ternary) -> Ternary {
    Box::new(move |a, b, c| {
        let low = u64::from(u32::MAX);
        f(a >> 32, b >> 32, c >> 32) << 32 | f(a & low, b & low, c & low) & low
    })
}
