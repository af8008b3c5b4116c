//! What atomics and reductions in memory make of the old value.

use super::float::{Arith, Format, Mode, arithmetic, packed};
use super::integer::{less, mask};
use super::operand::Ternary;
use crate::ptx::types::Type;
use crate::ptx::words::Word;
use rustc_apfloat::Round;

/// The new value of the old one, b and c. `flushes`: additions of f32 flush subnormal numbers, as
/// they do in global memory but not in shared (PTX ISA 9.0, "atom").
pub fn atomic_function(word: Word, ty: Type, flushes: bool) -> Option<Ternary> {
    let (bits, signed) = (ty.bits(), ty.is_signed());
    let all = mask(bits);
    if let Some(format) = Format::of(ty) {
        let op = match word {
            Word::Add => Arith::Add,
            Word::Min => Arith::Min,
            Word::Max => Arith::Max,
            Word::Exch => return Some(Box::new(|_, b, _| b)),
            _ => return None,
        };
        let ftz = ty == Type::F32 && flushes;
        let mode = Mode { round: Round::NearestTiesToEven, ftz, ..Mode::default() };
        let f = arithmetic(op, format, mode);
        return Some(if matches!(ty, Type::F16x2 | Type::Bf16x2) { packed(f, 16) } else { f });
    }
    Some(match word {
        Word::And => Box::new(|a, b, _| a & b),
        Word::Or => Box::new(|a, b, _| a | b),
        Word::Xor => Box::new(|a, b, _| a ^ b),
        Word::Exch => Box::new(|_, b, _| b),
        Word::Cas => Box::new(move |a, b, c| if a & all == b & all { c } else { a }),
        Word::Add => Box::new(|a, b, _| a.wrapping_add(b)),
        Word::Inc => Box::new(|a, b, _| if a >= b { 0 } else { a + 1 }),
        Word::Dec => Box::new(|a, b, _| if a == 0 || a > b { b } else { a - 1 }),
        Word::Min => Box::new(move |a, b, _| if less(b, a, bits, signed) { b } else { a }),
        Word::Max => Box::new(move |a, b, _| if less(a, b, bits, signed) { b } else { a }),
        _ => return None,
    })
}
