//! Moving, selecting and converting values: `mov`, `cvt`, `cvta`, `selp`, `slct`, `prmt`,
//! `isspacep`, `mapa`.

use orias_targets::memory::{Generic, LOCAL_WINDOW, SHARED_WINDOW, WINDOW_BYTES, generic};
use rustc_apfloat::Round;

use super::decoder::{Decoded, Decoder, only_type, rounding, space};
use crate::interpret::code::Op;
use crate::interpret::convert::{Conversion, conversion};
use crate::interpret::integer::{mask, permute, permute_selector};
use crate::interpret::operand::RANK_SHIFT;
use crate::interpret::operand::{Double, Dst, Dynamic, Space, Src, Ternary};
use crate::ptx::program::{Instruction, Operand};
use crate::ptx::types::Type;
use crate::ptx::words::{Op as Opcode, Word};

impl Decoder<'_, '_> {
    /// Decodes moves, selections and conversions of addresses; None for other instructions.
    pub(super) fn data(&self, inst: &Instruction) -> Decoded<Option<Op>> {
        match inst.opcode {
            Opcode::Mov => self.mov(inst),
            Opcode::Cvt => self.cvt(inst),
            Opcode::Cvta => self.cvta(inst),
            Opcode::Selp => {
                let ty = only_type(inst)?;
                let f: Ternary = Box::new(|a, b, p| if p != 0 { a } else { b });
                self.alu_typed(inst, &[ty, ty, Type::Pred], f)
            }
            Opcode::Slct => {
                let [ty, by] = inst.types[..] else { return Err("takes two types".to_string()) };
                let ftz = inst.has(Word::Ftz);
                let f: Ternary = match by {
                    // -0.0 is not less than zero and a NaN selects b.
                    Type::F32 => Box::new(move |a, b, c| {
                        let c = f32::from_bits(c as u32);
                        if c >= 0.0 || ftz && c.is_subnormal() { a } else { b }
                    }),
                    _ => Box::new(|a, b, c| if c as i32 >= 0 { a } else { b }),
                };
                self.alu_typed(inst, &[ty, ty, by], f)
            }
            Opcode::Prmt => {
                let mode =
                    inst.modifiers.iter().copied().find(|m| permute_selector(*m, 0).is_some());
                let f: Ternary =
                    match mode.map(|mode| [0, 1, 2, 3].map(|i| permute_selector(mode, i))) {
                        None => Box::new(permute),
                        Some(table) => Box::new(move |a, b, c| {
                            let selector = table[(c & 3) as usize].unwrap_or(0);
                            permute(a, b, selector)
                        }),
                    };
                self.alu(inst, 3, Type::B32, f)
            }
            Opcode::Isspacep => {
                let Some(&word) = inst.modifiers.first() else { return Ok(None) };
                let Some(f) = self.in_space(word) else { return Ok(None) };
                let src = [
                    self.source(inst, 1, Type::U64)?,
                    Src::Special(Dynamic::ClusterCtaRank),
                    Src::ZERO,
                ];
                Ok(Some(Op::Alu { f, dst: self.target(inst, 0)?, src, arity: 2 }))
            }
            // The same place of another block of the cluster, in the same kind of address.
            Opcode::Mapa => self.alu_typed(
                inst,
                &[only_type(inst)?, Type::U32],
                Box::new(|a, rank, _| a & !(0xff << RANK_SHIFT) | (rank & 0xff) << RANK_SHIFT),
            ),
            Opcode::Getctarank => {
                let ty = only_type(inst)?;
                self.alu(inst, 1, ty, Box::new(|a, _, _| a >> RANK_SHIFT & 0xff))
            }
            _ => Ok(None),
        }
    }

    /// Whether a generic address, the first operand, lies in a space, seen from the block whose
    /// rank is the second.
    fn in_space(&self, word: Word) -> Option<Ternary> {
        let in_any = |ranges: &[(u64, u64)], a: u64| {
            ranges.iter().any(|(base, size)| a.wrapping_sub(*base) < *size)
        };
        let constants = self.image.constants.clone();
        let parameters = self.image.parameters;
        Some(match word {
            Word::Shared | Word::SharedCta => Box::new(|a, rank, _| match generic(a) {
                Generic::Shared(offset) => u64::from(offset >> RANK_SHIFT == rank),
                _ => 0,
            }),
            Word::SharedCluster => {
                let blocks = u64::from(self.image.clusters.blocks());
                Box::new(move |a, _, _| match generic(a) {
                    Generic::Shared(offset) => u64::from(offset >> RANK_SHIFT < blocks),
                    _ => 0,
                })
            }
            Word::Local => Box::new(|a, _, _| u64::from(matches!(generic(a), Generic::Local(_)))),
            Word::Global => Box::new(move |a, _, _| {
                let other = in_any(&constants, a) || in_any(&[parameters], a);
                u64::from(matches!(generic(a), Generic::Global(_)) && !other)
            }),
            Word::Const => Box::new(move |a, _, _| u64::from(in_any(&constants, a))),
            Word::Param | Word::ParamEntry => {
                Box::new(move |a, _, _| u64::from(in_any(&[parameters], a)))
            }
            _ => return None,
        })
    }

    fn mov(&self, inst: &Instruction) -> Decoded<Option<Op>> {
        let ty = only_type(inst)?;
        let (to, from) = (self.operand(inst, 0)?, self.operand(inst, 1)?);
        match (to, from) {
            (Operand::Vector(parts), from)
                if ty.bits() <= 64 && !matches!(from, Operand::Vector(_)) =>
            {
                let bits = ty.bits() / parts.len().max(1) as u32;
                Ok(Some(Op::Unpack { dst: self.targets(to)?, src: self.src(from, ty)?, bits }))
            }
            (to, Operand::Vector(parts))
                if ty.bits() <= 64 && !matches!(to, Operand::Vector(_)) =>
            {
                let bits = ty.bits() / parts.len().max(1) as u32;
                // A constant element fills its share, whatever the instruction's type.
                let src = parts.iter().map(|part| match part {
                    Operand::Int(value) => Ok(Src::Imm(value.get() as u64 & mask(bits))),
                    other => self.src(other, ty),
                });
                Ok(Some(Op::Pack { dst: self.dst(to)?, src: src.collect::<Decoded<_>>()?, bits }))
            }
            _ => {
                let (dst, src) = (self.targets(to)?, self.sources(from, ty)?);
                if let Some(op) = quarters(&dst, &src) {
                    return Ok(Some(op));
                }
                if dst.len() > src.len() {
                    return Err("vectors of different sizes".to_string());
                }
                Ok(Some(match (&dst[..], &src[..]) {
                    ([dst], [src, ..]) => Op::Alu {
                        f: Box::new(|a, _, _| a),
                        dst: *dst,
                        src: [*src, Src::ZERO, Src::ZERO],
                        arity: 1,
                    },
                    _ => Op::Copy(dst.iter().copied().zip(src.iter().copied()).collect()),
                }))
            }
        }
    }

    fn cvt(&self, inst: &Instruction) -> Decoded<Option<Op>> {
        if inst.opcode == Opcode::Cvt && inst.has(Word::Pack) {
            return self.cvt_pack(inst);
        }
        let [to, from, ..] = inst.types[..] else { return Err("takes two types".to_string()) };
        let (round, integer) = rounding(inst).unwrap_or((Round::NearestTiesToEven, false));
        let conversion = conversion(Conversion {
            to,
            from,
            round,
            integer,
            ftz: inst.has(Word::Ftz),
            sat: inst.has(Word::Sat),
            relu: inst.has(Word::Relu),
            satfinite: inst.has(Word::Satfinite),
        });
        let Some(f) = conversion else { return Ok(None) };
        self.alu(inst, inst.operands.len().saturating_sub(1) as u8, from, f)
    }

    /// `cvt.pack.sat.u8.s32.b32 d, a, b, c`: two clamped integers above the low bits of c.
    fn cvt_pack(&self, inst: &Instruction) -> Decoded<Option<Op>> {
        // `.s2` and the like are no types: then the source's stands first.
        let Some(&to) = inst.types.first() else { return Err("has no type".to_string()) };
        if !inst.types.contains(&Type::S32) || !inst.has(Word::Sat) {
            return Ok(None);
        }
        let words =
            [(Word::S2, 2, true), (Word::U2, 2, false), (Word::S4, 4, true), (Word::U4, 4, false)];
        let (bits, signed) = words
            .iter()
            .find(|(word, ..)| inst.has(*word))
            .map_or((to.bits(), to.is_signed()), |(_, bits, signed)| (*bits, *signed));
        let clamp = move |x: u64| {
            let x = i64::from(x as u32 as i32);
            let clamped = if signed {
                x.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
            } else {
                x.clamp(0, (1 << bits) - 1)
            };
            clamped as u64 & mask(bits)
        };
        let arity = inst.operands.len().saturating_sub(1) as u8;
        self.alu(
            inst,
            arity,
            Type::B32,
            Box::new(move |a, b, c| (c << (2 * bits).min(63)) | clamp(a) << bits | clamp(b)),
        )
    }

    fn cvta(&self, inst: &Instruction) -> Decoded<Option<Op>> {
        let ty = only_type(inst)?;
        let to = inst.has(Word::To);
        let window = match space(inst)? {
            Space::Shared | Space::Cluster => SHARED_WINDOW,
            Space::Local => LOCAL_WINDOW,
            Space::Param if !to => {
                // Kernel parameters have generic addresses already.
                let f: Ternary =
                    Box::new(|a, _, _| if a < WINDOW_BYTES { LOCAL_WINDOW + a } else { a });
                return self.alu(inst, 1, ty, f);
            }
            _ => 0,
        };
        // Addresses of a window have 32 bits: an address from elsewhere loses the others.
        let f: Ternary = match (window, to) {
            (0, _) => Box::new(|a, _, _| a),
            (_, true) => Box::new(|a, _, _| a & mask(32)),
            (_, false) => Box::new(move |a, _, _| window | a & mask(32)),
        };
        self.alu(inst, 1, ty, f)
    }
}

/// A 128-bit register, two rows, from or to four 32-bit ones.
fn quarters(dst: &[Dst], src: &[Src]) -> Option<Op> {
    let half = mask(32);
    match (dst, src) {
        ([_, _], [a, b, c, d]) => {
            let f: Double = Box::new(move |[a, b, c, d]| (b << 32 | a & half, d << 32 | c & half));
            Some(Op::Alu2 { f, dst: [dst[0], dst[1]], src: [*a, *b, *c, *d] })
        }
        ([_, _, _, _], [low, high]) => Some(Op::Split { dst: dst.into(), src: [*low, *high] }),
        _ => None,
    }
}
