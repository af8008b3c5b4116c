//! Integer arithmetic, logic and shifts.

use super::decoder::{Decoded, Decoder, is_int};
use crate::interpret::code::Op;
use crate::interpret::float::packed;
use crate::interpret::integer as int;
use crate::interpret::integer::{less, mask, sign_extend};
use crate::interpret::operand::{Double, Dst, Src, Ternary};
use crate::ptx::program::{Instruction, Operand};
use crate::ptx::types::Type;
use crate::ptx::words::{Op as Opcode, Word};

impl Decoder<'_, '_> {
    /// Decodes integer arithmetic, logic and bits; None for other instructions.
    pub(super) fn integer(&self, inst: &Instruction) -> Decoded<Option<Op>> {
        // Instructions whose name says enough; their type decides what is left.
        let Some(&ty) = inst.types.last() else { return Ok(None) };
        if matches!(ty, Type::U16x2 | Type::S16x2) {
            return self.integer_pair(inst, ty);
        }
        if !(is_int(ty) || ty == Type::Pred) {
            return Ok(None);
        }
        let (bits, signed) = (ty.bits(), ty.is_signed());
        let carry_in = matches!(inst.opcode, Opcode::Addc | Opcode::Subc | Opcode::Madc);
        if carry_in || inst.has(Word::Cc) {
            return self.carry(inst, ty);
        }
        let half = half(inst);
        let sat = inst.has(Word::Sat);
        match inst.opcode {
            Opcode::Add if sat => self.alu(inst, 2, ty, saturating(|a, b| a + b)),
            Opcode::Sub if sat => self.alu(inst, 2, ty, saturating(|a, b| a - b)),
            Opcode::Add => self.alu(inst, 2, ty, Box::new(|a, b, _| a.wrapping_add(b))),
            Opcode::Sub => self.alu(inst, 2, ty, Box::new(|a, b, _| a.wrapping_sub(b))),
            Opcode::Mul | Opcode::Mul24 => {
                let f = product(inst, half, bits, signed)?;
                self.alu(inst, 2, ty, Box::new(move |a, b, _| f(a, b, 0)))
            }
            Opcode::Mad | Opcode::Mad24 => {
                let f = product(inst, half, bits, signed)?;
                let wide = match (half, ty) {
                    (Half::Wide, Type::U16) => Type::U32,
                    (Half::Wide, Type::S16) => Type::S32,
                    (Half::Wide, Type::U32) => Type::U64,
                    (Half::Wide, Type::S32) => Type::S64,
                    _ => ty,
                };
                if sat {
                    return self.alu(
                        inst,
                        3,
                        ty,
                        Box::new(move |a, b, c| {
                            let sum = sign_extend(f(a, b, 0), 32) + sign_extend(c, 32);
                            sum.clamp(i32::MIN.into(), i32::MAX.into()) as u64
                        }),
                    );
                }
                let f: Ternary = Box::new(move |a, b, c| f(a, b, 0).wrapping_add(c));
                self.alu_typed(inst, &[ty, ty, wide], f)
            }
            Opcode::Sad => self.alu(
                inst,
                3,
                ty,
                Box::new(move |a, b, c| {
                    let (low, high) = if less(a, b, bits, signed) { (a, b) } else { (b, a) };
                    c.wrapping_add(high.wrapping_sub(low))
                }),
            ),
            Opcode::Div => {
                self.alu(inst, 2, ty, Box::new(move |a, b, _| int::divide(a, b, bits, signed)))
            }
            Opcode::Rem => {
                self.alu(inst, 2, ty, Box::new(move |a, b, _| int::remainder(a, b, bits, signed)))
            }
            Opcode::Abs => self.alu(
                inst,
                1,
                ty,
                Box::new(move |a, _, _| sign_extend(a, bits).wrapping_abs() as u64),
            ),
            Opcode::Neg => self.alu(inst, 1, ty, Box::new(|a, _, _| a.wrapping_neg())),
            Opcode::Min | Opcode::Max => {
                let (min, relu) = (inst.opcode == Opcode::Min, inst.has(Word::Relu));
                self.alu(inst, 2, ty, Box::new(move |a, b, _| pick(a, b, bits, signed, min, relu)))
            }
            Opcode::Popc => self.alu(inst, 1, ty, Box::new(|a, _, _| a.count_ones().into())),
            Opcode::Clz => self.alu(
                inst,
                1,
                ty,
                Box::new(move |a, _, _| (a.leading_zeros() + bits - 64).into()),
            ),
            Opcode::Brev => {
                self.alu(inst, 1, ty, Box::new(move |a, _, _| a.reverse_bits() >> (64 - bits)))
            }
            Opcode::Bfind => {
                let shift = inst.has(Word::Shiftamt);
                self.alu(
                    inst,
                    1,
                    ty,
                    Box::new(move |a, _, _| int::find_bit(a, bits, signed, shift)),
                )
            }
            Opcode::Fns => self.alu_typed(
                inst,
                &[Type::B32, Type::B32, Type::S32],
                Box::new(int::find_nth_set),
            ),
            Opcode::Bfe => self.alu_typed(
                inst,
                &[ty, Type::U32, Type::U32],
                Box::new(move |a, b, c| int::extract(a, b, c, bits, signed)),
            ),
            Opcode::Bfi => {
                let mut src = [Src::ZERO; 4];
                for (i, ty) in [ty, ty, Type::U32, Type::U32].into_iter().enumerate() {
                    src[i] = self.source(inst, i + 1, ty)?;
                }
                let f: Double = Box::new(move |[a, b, c, d]| (int::insert(a, b, c, d, bits), 0));
                let dst = [self.target(inst, 0)?, Dst::SINK];
                Ok(Some(Op::Alu2 { f, dst, src }))
            }
            Opcode::Bmsk => {
                let clamp = inst.has(Word::Clamp);
                self.alu(
                    inst,
                    2,
                    Type::B32,
                    Box::new(move |a, b, _| {
                        let (a, b) = if clamp { (a, b) } else { (a & 31, b & 31) };
                        let ones = mask(b.min(64) as u32);
                        if a >= 32 { 0 } else { ones << a }
                    }),
                )
            }
            Opcode::Szext => {
                let clamp = inst.has(Word::Clamp);
                self.alu_typed(
                    inst,
                    &[ty, Type::U32],
                    Box::new(move |a, n, _| {
                        let n = if clamp { n.min(32) } else { n & 31 } as u32;
                        match (n, signed) {
                            (0, _) => 0,
                            (n, true) => sign_extend(a, n) as u64,
                            (n, false) => a & mask(n),
                        }
                    }),
                )
            }
            Opcode::And => self.alu(inst, 2, ty, Box::new(|a, b, _| a & b)),
            Opcode::Or => self.alu(inst, 2, ty, Box::new(|a, b, _| a | b)),
            Opcode::Xor => self.alu(inst, 2, ty, Box::new(|a, b, _| a ^ b)),
            // The destination's mask cuts a predicate to its one bit.
            Opcode::Not => self.alu(inst, 1, ty, Box::new(|a, _, _| !a)),
            Opcode::Cnot => self.alu(inst, 1, ty, Box::new(|a, _, _| u64::from(a == 0))),
            Opcode::Lop3 => self.lop3(inst, ty),
            Opcode::Shl => self.alu_typed(
                inst,
                &[ty, Type::U32],
                Box::new(move |a, b, _| int::shift_left(a, b, bits)),
            ),
            Opcode::Shr => self.alu_typed(
                inst,
                &[ty, Type::U32],
                Box::new(move |a, b, _| int::shift_right(a, b, bits, signed)),
            ),
            Opcode::Shf => {
                let (left, wrap) = (inst.has(Word::L), inst.has(Word::Wrap));
                self.alu(
                    inst,
                    3,
                    Type::B32,
                    Box::new(move |a, b, c| int::funnel(a, b, c, left, wrap)),
                )
            }
            Opcode::Dp4a | Opcode::Dp2a => {
                let [a_type, b_type, ..] = inst.types[..] else {
                    return Err("takes two types".to_string());
                };
                let signed = (a_type.is_signed(), b_type.is_signed());
                let bits = if inst.opcode == Opcode::Dp4a { 8 } else { 16 };
                let first = if inst.has(Word::Hi) { 2 } else { 0 };
                self.alu(
                    inst,
                    3,
                    Type::B32,
                    Box::new(move |a, b, c| int::dot(a, b, c, bits, first, signed)),
                )
            }
            _ => Ok(None),
        }
    }

    fn lop3(&self, inst: &Instruction, ty: Type) -> Decoded<Option<Op>> {
        let operands: Vec<_> =
            [1, 2, 3, 4].iter().map(|i| self.source(inst, *i, ty)).collect::<Decoded<Vec<_>>>()?;
        let src = [operands[0], operands[1], operands[2], operands[3]];
        if let Some(Operand::Pair(both)) = inst.operands.first() {
            let (d, p) = &**both;
            // d|p = lop3.BoolOp a, b, c, lut, q: p = (d != 0) BoolOp q.
            let Src::Imm(table) = src[3] else {
                return Err("the table is not a constant".to_string());
            };
            let q = self.source(inst, 5, Type::Pred)?;
            let and = inst.has(Word::And);
            let f: Double = Box::new(move |[a, b, c, q]| {
                let d = int::lookup(a, b, c, table) & mask(32);
                let any = u64::from(d != 0);
                (d, if and { any & q } else { any | q })
            });
            let dst = [self.dst(d)?, self.dst(p)?];
            return Ok(Some(Op::Alu2 { f, dst, src: [src[0], src[1], src[2], q] }));
        }
        let f: Double = Box::new(|[a, b, c, table]| (int::lookup(a, b, c, table), 0));
        let dst = [self.target(inst, 0)?, Dst::SINK];
        Ok(Some(Op::Alu2 { f, dst, src }))
    }

    /// `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc`, `madc`. A difference is a sum, `a + !b + 1`,
    /// and the carry flag is that sum's: one where nothing was borrowed. The document calls it the
    /// borrow, which is the same until `addc` or `madc` follows `sub.cc`, or `subc` follows
    /// `add.cc`: ptxas 13.0.88 has it thus at every level, and what nvcc makes of a 128-bit
    /// division counts on it.
    fn carry(&self, inst: &Instruction, ty: Type) -> Decoded<Option<Op>> {
        let (bits, signed) = (ty.bits(), ty.is_signed());
        let with_carry = matches!(inst.opcode, Opcode::Addc | Opcode::Subc | Opcode::Madc);
        let add = move |a: u64, b: u64, carry: u64| {
            let sum = u128::from(a & mask(bits)) + u128::from(b & mask(bits)) + u128::from(carry);
            (sum as u64, (sum >> bits) as u64 & 1)
        };
        let (arity, f): (usize, Double) = match inst.opcode {
            Opcode::Add | Opcode::Addc => {
                (2, Box::new(move |[a, b, _, c]| add(a, b, if with_carry { c } else { 0 })))
            }
            Opcode::Sub | Opcode::Subc => {
                (2, Box::new(move |[a, b, _, c]| add(a, !b, if with_carry { c } else { 1 })))
            }
            Opcode::Mad | Opcode::Madc => {
                let product = product(inst, half(inst), bits, signed)?;
                (
                    3,
                    Box::new(move |[a, b, c, carry]| {
                        add(product(a, b, 0), c, if with_carry { carry } else { 0 })
                    }),
                )
            }
            _ => return Ok(None),
        };
        self.with_carry(inst, arity, ty, inst.has(Word::Cc), f)
    }

    /// Two 16-bit numbers in a register.
    fn integer_pair(&self, inst: &Instruction, ty: Type) -> Decoded<Option<Op>> {
        let signed = ty == Type::S16x2;
        let f: Ternary = match inst.opcode {
            Opcode::Add => Box::new(|a, b, _| a.wrapping_add(b)),
            Opcode::Sub => Box::new(|a, b, _| a.wrapping_sub(b)),
            Opcode::Neg => Box::new(|a, _, _| a.wrapping_neg()),
            Opcode::Min | Opcode::Max => {
                let (min, relu) = (inst.opcode == Opcode::Min, inst.has(Word::Relu));
                Box::new(move |a, b, _| pick(a, b, 16, signed, min, relu))
            }
            _ => return Ok(None),
        };
        let arity = inst.operands.len().saturating_sub(1).min(2) as u8;
        self.alu(inst, arity, ty, packed(f, 16))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    Low,
    High,
    Wide,
}

fn half(inst: &Instruction) -> Half {
    if inst.has(Word::Wide) {
        Half::Wide
    } else if inst.has(Word::Hi) {
        Half::High
    } else {
        Half::Low
    }
}

fn product(inst: &Instruction, half: Half, bits: u32, signed: bool) -> Decoded<Ternary> {
    if matches!(inst.opcode, Opcode::Mul24 | Opcode::Mad24) {
        // The 48-bit product of 24-bit numbers: its low 32 bits, or those from bit 16 on.
        let shift = if half == Half::High { 16 } else { 0 };
        return Ok(Box::new(move |a, b, _| int::mul_wide(a, b, 24, signed) >> shift));
    }
    Ok(match half {
        Half::Low => Box::new(|a, b, _| a.wrapping_mul(b)),
        Half::High => Box::new(move |a, b, _| int::mul_high(a, b, bits, signed)),
        Half::Wide => Box::new(move |a, b, _| int::mul_wide(a, b, bits, signed)),
    })
}

/// `.sat` of s32.
fn saturating(f: fn(i64, i64) -> i64) -> Ternary {
    Box::new(move |a, b, _| {
        f(sign_extend(a, 32), sign_extend(b, 32)).clamp(i32::MIN.into(), i32::MAX.into()) as u64
    })
}

fn pick(a: u64, b: u64, bits: u32, signed: bool, min: bool, relu: bool) -> u64 {
    let picked = if less(a, b, bits, signed) == min { a } else { b };
    if relu && sign_extend(picked, bits) < 0 { 0 } else { picked }
}
