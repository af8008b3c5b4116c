//! What the lanes of a warp do together: shuffles, votes, matches, reductions.

use super::decoder::{Decoded, Decoder, only_type};
use crate::interpret::code::{Op, Reduction, ReductionKind, Shuffle, Vote};
use crate::interpret::operand::Dst;
use crate::ptx::program::{Instruction, Operand};
use crate::ptx::types::Type;
use crate::ptx::words::{Op as Opcode, Word};

impl Decoder<'_, '_> {
    /// Decodes what the lanes of a warp do together; None for other instructions.
    pub(super) fn warp(&self, inst: &Instruction) -> Decoded<Option<Op>> {
        if inst.opcode == Opcode::Activemask {
            return Ok(Some(Op::ActiveMask(self.target(inst, 0)?)));
        }
        // The forms without .sync are not part of sm_70 and later.
        if !inst.has(Word::Sync) {
            return Ok(None);
        }
        let mask = |index| self.source(inst, index, Type::B32);
        match inst.opcode {
            Opcode::Shfl => {
                let mode = match inst.modifiers.iter().find_map(|m| shuffle_mode(*m)) {
                    Some(mode) => mode,
                    None => return Ok(None),
                };
                let (dst, valid) = self.pair(inst)?;
                Ok(Some(Op::Shuffle {
                    mode,
                    dst,
                    valid,
                    a: self.source(inst, 1, Type::B32)?,
                    b: self.source(inst, 2, Type::B32)?,
                    c: self.source(inst, 3, Type::B32)?,
                    mask: mask(4)?,
                }))
            }
            Opcode::Vote => {
                let mode = match () {
                    () if inst.has(Word::All) => Vote::All,
                    () if inst.has(Word::Any) => Vote::Any,
                    () if inst.has(Word::Uni) => Vote::Uniform,
                    () if inst.has(Word::Ballot) => Vote::Ballot,
                    () => return Ok(None),
                };
                let a = self.source(inst, 1, Type::Pred)?;
                Ok(Some(Op::Vote { mode, dst: self.target(inst, 0)?, a, mask: mask(2)? }))
            }
            Opcode::Match => {
                let (dst, valid) = self.pair(inst)?;
                let (ty, all) = (only_type(inst)?, inst.has(Word::All));
                let a = self.source(inst, 1, ty)?;
                Ok(Some(Op::Match { all, wide: ty.bytes() == 8, dst, valid, a, mask: mask(2)? }))
            }
            Opcode::Redux => {
                let ty = only_type(inst)?;
                let Some(f) = reduction(inst, ty) else { return Ok(None) };
                let a = self.source(inst, 1, ty)?;
                Ok(Some(Op::Reduce { f, dst: self.target(inst, 0)?, a, mask: mask(2)? }))
            }
            Opcode::Elect => {
                let (dst, valid) = self.pair(inst)?;
                Ok(Some(Op::Elect { dst, valid, mask: mask(1)? }))
            }
            _ => Ok(None),
        }
    }

    /// `d|p` or `d`.
    fn pair(&self, inst: &Instruction) -> Decoded<(Dst, Dst)> {
        Ok(match self.operand(inst, 0)? {
            Operand::Pair(both) => (self.dst(&both.0)?, self.dst(&both.1)?),
            d => (self.dst(d)?, Dst::SINK),
        })
    }
}

fn shuffle_mode(word: Word) -> Option<Shuffle> {
    Some(match word {
        Word::Up => Shuffle::Up,
        Word::Down => Shuffle::Down,
        Word::Bfly => Shuffle::Bfly,
        Word::Idx => Shuffle::Idx,
        _ => return None,
    })
}

fn reduction(inst: &Instruction, ty: Type) -> Option<Reduction> {
    if !matches!(ty, Type::U32 | Type::S32 | Type::B32) {
        return None;
    }
    let kind = |word: &Word| {
        Some(match *word {
            Word::Add => ReductionKind::Add,
            Word::Min => ReductionKind::Min,
            Word::Max => ReductionKind::Max,
            Word::And => ReductionKind::And,
            Word::Or => ReductionKind::Or,
            Word::Xor => ReductionKind::Xor,
            _ => return None,
        })
    };
    let kind = inst.modifiers.iter().find_map(kind)?;
    Some(Reduction { kind, signed: ty.is_signed() })
}
