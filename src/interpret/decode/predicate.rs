//! Comparisons: `setp` and `set`.

use super::decoder::{Decoded, Decoder, is_int};
use crate::interpret::code::Op;
use crate::interpret::float::{Format, to_f64};
use crate::interpret::integer::{less, mask};
use crate::interpret::operand::{Double, Dst, Src, Ternary};
use crate::ptx::program::{Instruction, Operand};
use crate::ptx::types::Type;
use crate::ptx::words::{Op as Opcode, Word};

/// The result of comparing two values.
type Compare = Box<dyn Fn(u64, u64) -> bool + Send + Sync>;

#[derive(Clone, Copy)]
enum Combine {
    None,
    And,
    Or,
    Xor,
}

impl Combine {
    fn apply(self, test: bool, c: u64) -> u64 {
        let (test, c) = (u64::from(test), c & 1);
        match self {
            Combine::None => test,
            Combine::And => test & c,
            Combine::Or => test | c,
            Combine::Xor => test ^ c,
        }
    }
}

impl Decoder<'_, '_> {
    /// Decodes comparisons; None for other instructions.
    pub(super) fn predicate(&self, inst: &Instruction) -> Decoded<Option<Op>> {
        if !matches!(inst.opcode, Opcode::Setp | Opcode::Set) {
            return Ok(None);
        }
        let Some(&ty) = inst.types.last() else { return Ok(None) };
        let Some(word) = inst.modifiers.first().copied() else { return Ok(None) };
        let combine = match inst.modifiers.get(1).copied() {
            Some(Word::And) => Combine::And,
            Some(Word::Or) => Combine::Or,
            Some(Word::Xor) => Combine::Xor,
            _ => Combine::None,
        };
        let mut src = [self.source(inst, 1, ty)?, self.source(inst, 2, ty)?, Src::ZERO, Src::ZERO];
        if let Some(third) = inst.operands.get(3) {
            src[2] = self.src(third, Type::Pred)?;
        }
        let pair = matches!(ty, Type::F16x2 | Type::Bf16x2);
        let Some(test) = comparison(word, ty, inst.has(Word::Ftz)) else { return Ok(None) };
        if inst.opcode == Opcode::Set {
            return self.set(inst, test, combine, pair, src);
        }
        let f: Double = if pair {
            Box::new(move |[a, b, c, _]| {
                let low = test(a & mask(16), b & mask(16));
                (combine.apply(low, c), combine.apply(test(a >> 16, b >> 16), c))
            })
        } else {
            Box::new(move |[a, b, c, _]| {
                let test = test(a, b);
                (combine.apply(test, c), combine.apply(!test, c))
            })
        };
        let dst = match self.operand(inst, 0)? {
            Operand::Pair(both) => [self.dst(&both.0)?, self.dst(&both.1)?],
            p => [self.dst(p)?, Dst::SINK],
        };
        Ok(Some(Op::Alu2 { f, dst, src }))
    }

    /// All ones or 1.0 for true.
    fn set(
        &self,
        inst: &Instruction,
        test: Compare,
        combine: Combine,
        pair: bool,
        src: [Src; 4],
    ) -> Decoded<Option<Op>> {
        let Some(&to) = inst.types.first() else { return Ok(None) };
        let truth = Format::of(to).map_or(u64::MAX, Format::one);
        let f: Ternary = if pair {
            let truth = truth & mask(16);
            Box::new(move |a, b, c| {
                let low = combine.apply(test(a & mask(16), b & mask(16)), c) * truth;
                (combine.apply(test(a >> 16, b >> 16), c) * truth) << 16 | low
            })
        } else {
            Box::new(move |a, b, c| combine.apply(test(a, b), c) * truth)
        };
        let dst = self.target(inst, 0)?;
        Ok(Some(Op::Alu { f, dst, src: [src[0], src[1], src[2]], arity: 3 }))
    }
}

fn comparison(word: Word, ty: Type, ftz: bool) -> Option<Compare> {
    if is_int(ty) {
        return integers(word, ty);
    }
    if ty == Type::Pred {
        return None;
    }
    let format = Format::of(ty)?;
    let number = move |x: u64| to_f64(format, if ftz { format.flush(x) } else { x });
    // The unordered ones (…u) are true for a NaN.
    let test: fn(f64, f64) -> bool = match word {
        Word::Eq => |a, b| a == b,
        Word::Ne => |a, b| a != b && !unordered(a, b),
        Word::Lt => |a, b| a < b,
        Word::Le => |a, b| a <= b,
        Word::Gt => |a, b| a > b,
        Word::Ge => |a, b| a >= b,
        Word::Equ => |a, b| a == b || unordered(a, b),
        Word::Neu => |a, b| a != b,
        Word::Ltu => |a, b| a < b || unordered(a, b),
        Word::Leu => |a, b| a <= b || unordered(a, b),
        Word::Gtu => |a, b| a > b || unordered(a, b),
        Word::Geu => |a, b| a >= b || unordered(a, b),
        Word::Num => |a, b| !unordered(a, b),
        Word::Nan => |a, b| unordered(a, b),
        _ => return None,
    };
    Some(Box::new(move |a, b| test(number(a), number(b))))
}

fn unordered(a: f64, b: f64) -> bool {
    a.is_nan() || b.is_nan()
}

fn integers(word: Word, ty: Type) -> Option<Compare> {
    let bits = ty.bits();
    let signed = ty.is_signed();
    let all = mask(bits);
    Some(match word {
        Word::Eq => Box::new(move |a, b| a & all == b & all),
        Word::Ne => Box::new(move |a, b| a & all != b & all),
        Word::Lt | Word::Lo => Box::new(move |a, b| less(a, b, bits, signed)),
        Word::Le | Word::Ls => Box::new(move |a, b| !less(b, a, bits, signed)),
        Word::Gt | Word::Hi => Box::new(move |a, b| less(b, a, bits, signed)),
        Word::Ge | Word::Hs => Box::new(move |a, b| !less(a, b, bits, signed)),
        _ => return None,
    })
}
