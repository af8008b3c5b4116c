//! Video instructions.

use super::decoder::{Decoded, Decoder};
use crate::interpret::code::Op;
use crate::interpret::operand::{Src, Ternary};
use crate::interpret::video::{
    Comparison, MultiplyAdd, Scalar, Second, Simd, Video, multiply_add, scalar, simd,
};
use crate::ptx::program::{Instruction, Operand, Part};
use crate::ptx::types::Type;
use crate::ptx::words::{Op as Opcode, Word};

/// A source of a video instruction.
struct Source {
    src: Src,
    part: Option<Part>,
    negated: bool,
}

impl Decoder<'_, '_> {
    /// Decodes video instructions; None for others.
    pub(super) fn video(&self, inst: &Instruction) -> Decoded<Option<Op>> {
        let Some((name, lanes)) = inst.opcode.video() else { return Ok(None) };
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
        let f: Ternary = if name == Opcode::Vmad {
            let shift = if inst.has(Word::Shr7) {
                7
            } else if inst.has(Word::Shr15) {
                15
            } else {
                0
            };
            multiply_add(MultiplyAdd {
                signed: [signed[0], signed[1]],
                a: a.part,
                b: b.part,
                negate: [a.negated ^ b.negated, c.negated],
                plus_one: inst.has(Word::Po),
                shift,
                sat: inst.has(Word::Sat),
            })
        } else {
            let Some(op) = operation(name, inst) else { return Ok(None) };
            let sat = inst.has(Word::Sat);
            if lanes == 1 {
                scalar(Scalar { op, signed, a: a.part, b: b.part, d, sat, second: second(inst) })
            } else {
                simd(Simd {
                    op,
                    signed,
                    width: 32 / u32::from(lanes),
                    a: selection(a.part, 0),
                    b: selection(b.part, lanes),
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

fn operation(name: Opcode, inst: &Instruction) -> Option<Video> {
    let wrap = inst.has(Word::Wrap);
    Some(match name {
        Opcode::Vadd => Video::Add,
        Opcode::Vsub => Video::Sub,
        Opcode::Vabsdiff => Video::AbsDiff,
        Opcode::Vmin => Video::Min,
        Opcode::Vmax => Video::Max,
        Opcode::Vavrg2 => Video::Average,
        Opcode::Vshl => Video::ShiftLeft { wrap },
        Opcode::Vshr => Video::ShiftRight { wrap },
        Opcode::Vset => Video::Compare(inst.modifiers.iter().find_map(|m| comparison(*m))?),
        _ => return None,
    })
}

fn comparison(word: Word) -> Option<Comparison> {
    Some(match word {
        Word::Eq => Comparison::Eq,
        Word::Ne => Comparison::Ne,
        Word::Lt => Comparison::Lt,
        Word::Le => Comparison::Le,
        Word::Gt => Comparison::Gt,
        Word::Ge => Comparison::Ge,
        _ => return None,
    })
}

fn second(inst: &Instruction) -> Second {
    match inst.modifiers.last().copied() {
        Some(Word::Add) => Second::Add,
        Some(Word::Min) => Second::Min,
        Some(Word::Max) => Second::Max,
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
