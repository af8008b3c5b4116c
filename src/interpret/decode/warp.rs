//! What the lanes of a warp do together: shuffles, votes, matches, reductions.

use super::{Decoded, Decoder, only_type};
use crate::interpret::code::{Dst, Op, Reduction, ReductionKind, Shuffle, Vote};
use crate::ptx::program::{Instruction, Operand};
use crate::ptx::types::Type;

impl<'s> Decoder<'_, 's> {
    pub(super) fn warp(&self, inst: &Instruction<'s>) -> Decoded<Option<Op>> {
        if inst.opcode == "activemask" {
            return Ok(Some(Op::ActiveMask(self.target(inst, 0)?)));
        }
        // The forms without .sync are not part of sm_70 and later.
        if !inst.has("sync") {
            return Ok(None);
        }
        let mask = |index| self.source(inst, index, Type::B32);
        match inst.opcode {
            "shfl" => {
                let mode = match inst.modifiers.iter().find_map(|m| shuffle_mode(m)) {
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
            "vote" => {
                let mode = match () {
                    () if inst.has("all") => Vote::All,
                    () if inst.has("any") => Vote::Any,
                    () if inst.has("uni") => Vote::Uniform,
                    () if inst.has("ballot") => Vote::Ballot,
                    () => return Ok(None),
                };
                let a = self.source(inst, 1, Type::Pred)?;
                Ok(Some(Op::Vote { mode, dst: self.target(inst, 0)?, a, mask: mask(2)? }))
            }
            "match" => {
                let (dst, valid) = self.pair(inst)?;
                let (ty, all) = (only_type(inst)?, inst.has("all"));
                let a = self.source(inst, 1, ty)?;
                Ok(Some(Op::Match { all, wide: ty.bytes() == 8, dst, valid, a, mask: mask(2)? }))
            }
            "redux" => {
                let ty = only_type(inst)?;
                let Some(f) = reduction(inst, ty) else { return Ok(None) };
                let a = self.source(inst, 1, ty)?;
                Ok(Some(Op::Reduce { f, dst: self.target(inst, 0)?, a, mask: mask(2)? }))
            }
            "elect" => {
                let (dst, valid) = self.pair(inst)?;
                Ok(Some(Op::Elect { dst, valid, mask: mask(1)? }))
            }
            _ => Ok(None),
        }
    }

    /// `d|p` or `d`.
    fn pair(&self, inst: &Instruction<'s>) -> Decoded<(Dst, Dst)> {
        Ok(match self.operand(inst, 0)? {
            Operand::Pair(d, p) => (self.dst(d)?, self.dst(p)?),
            d => (self.dst(d)?, Dst::SINK),
        })
    }
}

fn shuffle_mode(word: &str) -> Option<Shuffle> {
    Some(match word {
        "up" => Shuffle::Up,
        "down" => Shuffle::Down,
        "bfly" => Shuffle::Bfly,
        "idx" => Shuffle::Idx,
        _ => return None,
    })
}

fn reduction(inst: &Instruction<'_>, ty: Type) -> Option<Reduction> {
    if !matches!(ty, Type::U32 | Type::S32 | Type::B32) {
        return None;
    }
    let kind = |word: &&str| {
        Some(match *word {
            "add" => ReductionKind::Add,
            "min" => ReductionKind::Min,
            "max" => ReductionKind::Max,
            "and" => ReductionKind::And,
            "or" => ReductionKind::Or,
            "xor" => ReductionKind::Xor,
            _ => return None,
        })
    };
    let kind = inst.modifiers.iter().find_map(kind)?;
    Some(Reduction { kind, signed: ty.is_signed() })
}
