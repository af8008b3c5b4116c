//! Video instructions.

use super::{Decoded, Decoder};
use crate::interpret::code::{Op, Src, Ternary};
use crate::interpret::video::{
    Comparison, MultiplyAdd, Scalar, Second, Simd, Video, multiply_add, scalar, simd,
};
use crate::ptx::program::{Instruction, Operand, Part};
use crate::ptx::types::Type;

/// A source of a video instruction.
struct Source {
    src: Src,
    part: Option<Part>,
    negated: bool,
}

impl<'s> Decoder<'_, 's> {
    pub(super) fn video(&self, inst: &Instruction<'s>) -> Decoded<Option<Op>> {
        let Some(name) = inst.opcode.strip_prefix('v') else { return Ok(None) };
        if matches!(inst.opcode, "vote" | "vprintf") {
            return Ok(None);
        }
        let (name, lanes) = match name.as_bytes().last() {
            Some(b'2') => (&name[..name.len() - 1], 2),
            Some(b'4') => (&name[..name.len() - 1], 4),
            _ => (name, 1),
        };
        let mut sources = Vec::new();
        for operand in inst.operands.iter().skip(1) {
            sources.push(self.video_source(operand)?);
        }
        let zero = Source { src: Src::ZERO, part: None, negated: false };
        sources.resize_with(3.max(sources.len()), || Source { ..zero });
        let [a, b, c, ..] = &sources[..] else { return Ok(None) };
        // A comparison has no destination type: its result is unsigned.
        let signed = match inst.types.iter().map(|ty| ty.is_signed()).collect::<Vec<_>>()[..] {
            [d, a, b] => [a, b, d],
            [a, b] => [a, b, false],
            _ => return Ok(None),
        };
        let (dst, d) = match self.operand(inst, 0)? {
            Operand::Part(reg, part) => (self.dst(&Operand::Reg(*reg))?, Some(*part)),
            other => (self.dst(other)?, None),
        };
        let f: Ternary = if name == "mad" {
            let shift = if inst.has("shr7") {
                7
            } else if inst.has("shr15") {
                15
            } else {
                0
            };
            multiply_add(MultiplyAdd {
                signed: [signed[0], signed[1]],
                a: a.part,
                b: b.part,
                negate: [a.negated ^ b.negated, c.negated],
                plus_one: inst.has("po"),
                shift,
                sat: inst.has("sat"),
            })
        } else {
            let Some(op) = operation(name, inst) else { return Ok(None) };
            let sat = inst.has("sat");
            if lanes == 1 {
                scalar(Scalar { op, signed, a: a.part, b: b.part, d, sat, second: second(inst) })
            } else {
                simd(Simd {
                    op,
                    signed,
                    width: 32 / lanes,
                    a: selection(a.part, 0),
                    b: selection(b.part, lanes as u8),
                    mask: written(d),
                    sat,
                    accumulate: second(inst) == Second::Add,
                })
            }
        };
        Ok(Some(Op::Alu { f, dst, src: [a.src, b.src, c.src], arity: 3 }))
    }

    fn video_source(&self, operand: &Operand) -> Decoded<Source> {
        Ok(match operand {
            Operand::Neg(inner) => Source { negated: true, ..self.video_source(inner)? },
            Operand::Part(reg, part) => Source {
                src: self.src(&Operand::Reg(*reg), Type::B32)?,
                part: Some(*part),
                negated: false,
            },
            other => Source { src: self.src(other, Type::B32)?, part: None, negated: false },
        })
    }
}

fn operation(name: &str, inst: &Instruction<'_>) -> Option<Video> {
    let wrap = inst.has("wrap");
    Some(match name {
        "add" => Video::Add,
        "sub" => Video::Sub,
        "absdiff" => Video::AbsDiff,
        "min" => Video::Min,
        "max" => Video::Max,
        "avrg" => Video::Average,
        "shl" => Video::ShiftLeft { wrap },
        "shr" => Video::ShiftRight { wrap },
        "set" => Video::Compare(inst.modifiers.iter().find_map(|m| comparison(m))?),
        _ => return None,
    })
}

fn comparison(word: &str) -> Option<Comparison> {
    Some(match word {
        "eq" => Comparison::Eq,
        "ne" => Comparison::Ne,
        "lt" => Comparison::Lt,
        "le" => Comparison::Le,
        "gt" => Comparison::Gt,
        "ge" => Comparison::Ge,
        _ => return None,
    })
}

fn second(inst: &Instruction<'_>) -> Second {
    match inst.modifiers.last().copied() {
        Some("add") => Second::Add,
        Some("min") => Second::Min,
        Some("max") => Second::Max,
        _ => Second::Merge,
    }
}

/// The elements that a selector picks, from the lowest lane; `first` and up without one. Its digits
/// begin with the highest.
fn selection(part: Option<Part>, first: u8) -> [u8; 4] {
    let mut lanes = [first, first + 1, first + 2, first + 3];
    if let Some(part) = part {
        let count = usize::from(part.count);
        for (lane, digit) in lanes.iter_mut().zip(part.lanes[..count].iter().rev()) {
            *lane = *digit;
        }
    }
    lanes
}

fn written(part: Option<Part>) -> [bool; 4] {
    let Some(part) = part else { return [true; 4] };
    let mut mask = [false; 4];
    for lane in &part.lanes[..usize::from(part.count)] {
        mask[usize::from(*lane) % 4] = true;
    }
    mask
}
