//! Integer and logic instructions.

use super::slots::unsupported;
use super::slots::{Kind, Lane, Slots};
use crate::simulator::error::Cause;
use crate::simulator::integer as lane;
use crate::simulator::kinds::Combine;
use crate::simulator::op::{Bits, LaneFn, Op, Truth};
use crate::simulator::operand::{Adjust, PRED_NOWHERE, Part, Src};
use crate::simulator::pack;
use crate::simulator::video;
use orias_components::{Mod, Opcode, Operand, RegFlags, RegUse};

/// How a comparison combines.
pub fn combine(s: &Slots<'_>) -> Result<Combine, Cause> {
    [(Mod::AND, Combine::And), (Mod::OR, Combine::Or), (Mod::XOR, Combine::Xor)]
        .into_iter()
        .find(|(m, _)| s.has(*m))
        .map(|(_, c)| c)
        .ok_or_else(|| unsupported(s))
}

/// Bits 0.. say which of the operands from `first` on are negated.
fn negations(s: &Slots<'_>, first: usize, count: usize) -> u32 {
    (0..count).fold(0, |p, i| p | u32::from(s.is_negated(first + i)) << i)
}

/// A source whose negation is an exact two's complement: for operations without carries.
fn src(s: &Slots<'_>, index: usize) -> Result<Src, Cause> {
    let mut src = s.src(index, Kind::Int)?;
    if s.is_negated(index) {
        src.adjust = Adjust { and: !0, xor: !0, add: 1 };
    }
    Ok(src)
}

fn unsigned(s: &Slots<'_>) -> u32 {
    u32::from(s.has(Mod::U32))
}

/// `[Rd, A, …]` with `count` sources.
fn plain(s: &Slots<'_>, f: LaneFn, param: u32, count: usize) -> Result<Op, Cause> {
    let mut all = [Src::ZERO; 3];
    for (i, slot) in all.iter_mut().enumerate().take(count) {
        *slot = src(s, 1 + i)?;
    }
    Lane::new(f, param).dst(s.dst(0, 1)?).src(&all).op()
}

pub fn prepare(s: &Slots<'_>) -> Result<Op, Cause> {
    use Opcode::*;
    match s.inst.op {
        // Carries out, three sources, carries in with .X. Of 64 bits only the sum is done.
        UIADD3 if s.has(Mod::_64) => {
            let carries =
                s.pred_dst(1)?.index != PRED_NOWHERE || s.pred_dst(2)?.index != PRED_NOWHERE;
            if carries || s.has(Mod::X) {
                return Err(unsupported(s));
            }
            let mut all = [Src::ZERO; 3];
            for (i, slot) in all.iter_mut().enumerate() {
                *slot = s.src(3 + i, Kind::Int64)?;
                if s.is_negated(3 + i) {
                    slot.adjust = Adjust { and: !0, xor: !0, add: 1 };
                }
            }
            Lane::new(lane::add64, 0).dst(s.dst(0, 2)?).wide(true).src(&all).op()
        }
        IADD3 | UIADD3 => {
            let sources = [s.src(3, Kind::Int)?, s.src(4, Kind::Int)?, s.src(5, Kind::Int)?];
            let op = Lane::new(lane::add3, negations(s, 3, 3))
                .dst(s.dst(0, 1)?)
                .pout(&[s.pred_dst(1)?, s.pred_dst(2)?])
                .src(&sources);
            if s.has(Mod::X) { op.pin(&[s.pred(6)?, s.pred(7)?]).op() } else { op.op() }
        }
        VIADD if s.has(Mod::_16x2) => {
            let sources = [s.src(1, Kind::Int)?, s.src(2, Kind::Int)?];
            Lane::new(video::add16x2, negations(s, 1, 2)).dst(s.dst(0, 1)?).src(&sources).op()
        }
        VIADD => {
            let sources = [s.src(1, Kind::Int)?, s.src(2, Kind::Int)?];
            Lane::new(lane::add3, negations(s, 1, 2)).dst(s.dst(0, 1)?).src(&sources).op()
        }
        IMAD | UIMAD if s.has(Mod::WIDE) || s.has(Mod::HI) => {
            let high = s.has(Mod::HI);
            let f: LaneFn = if high { lane::mad_high } else { lane::mad_wide };
            let param = unsigned(s) | u32::from(s.is_negated(4)) << 1;
            let op = Lane::new(f, param)
                .dst(s.dst(0, if high { 1 } else { 2 })?)
                .wide(!high)
                .pout(&[s.pred_dst(1)?])
                .src(&[src(s, 2)?, src(s, 3)?, s.src(4, Kind::Int64)?]);
            if s.has(Mod::X) { op.pin(&[s.pred(5)?]).op() } else { op.op() }
        }
        IMAD | UIMAD => {
            let op = Lane::new(lane::mad32, 0).dst(s.dst(0, 1)?).src(&[
                src(s, 1)?,
                src(s, 2)?,
                src(s, 3)?,
            ]);
            if s.has(Mod::X) { op.pin(&[s.pred(4)?]).op() } else { op.op() }
        }
        LEA | ULEA => lea(s),
        LOP3 | ULOP3 => {
            let param = s.imm(5)? as u32 & 0xff | u32::from(s.has(Mod::PAND)) << 8;
            Lane::new(lane::lop3, param)
                .pout(&[s.pred_dst(0)?])
                .dst(s.dst(1, 1)?)
                .src(&[src(s, 2)?, src(s, 3)?, src(s, 4)?])
                .pin(&[s.pred(6)?])
                .op()
        }
        PLOP3 | UPLOP3 => plop3(s),
        SHF | USHF => {
            let funnel = lane::Funnel {
                right: s.has(Mod::R),
                wrap: s.has(Mod::W),
                signed: s.has(Mod::S32) || s.has(Mod::S64),
                wide: s.has(Mod::U64) || s.has(Mod::S64),
                high: s.has(Mod::HI),
            };
            plain(s, lane::funnel, funnel.pack(), 3)
        }
        PRMT | UPRMT => {
            let modes = [Mod::F4E, Mod::B4E, Mod::RC8, Mod::ECL, Mod::ECR, Mod::RC16];
            let mode = modes.iter().position(|m| s.has(*m)).map_or(0, |i| i as u32 + 1);
            plain(s, lane::permute, mode, 3)
        }
        SEL | USEL => picked(s, lane::select, 0, 2),
        VIMNMX | IMNMX | VIMNMX3 | VIADDMNMX => {
            let param =
                u32::from(s.has(Mod::U32) || s.has(Mod::U16x2)) | u32::from(s.has(Mod::RELU)) << 1;
            let halves = s.has(Mod::U16x2) || s.has(Mod::S16x2);
            match (s.inst.op, halves) {
                (VIADDMNMX, false) => picked(s, lane::add_minmax32, param, 3),
                (VIADDMNMX, true) => {
                    let param = param | negations(s, 1, 2) << 8;
                    let sources = [s.src(1, Kind::Int)?, s.src(2, Kind::Int)?, src(s, 3)?];
                    Lane::new(video::add_minmax16x2, param)
                        .dst(s.dst(0, 1)?)
                        .src(&sources)
                        .pin(&[s.pred(4)?])
                        .op()
                }
                (VIMNMX3, false) => picked(s, video::minmax3, param, 3),
                (VIMNMX3, true) => picked(s, video::minmax3_16x2, param, 3),
                (_, true) => picked(s, lane::minmax16x2, param, 2),
                (_, false) => picked(s, lane::minmax32, param, 2),
            }
        }
        ISETP | UISETP => isetp(s),
        MOV | UMOV => plain(s, lane::copy, 0, 1),
        IABS => plain(s, lane::abs, 0, 1),
        POPC | UPOPC => plain(s, lane::popc, 0, 1),
        BREV | UBREV => plain(s, lane::brev, 0, 1),
        VABSDIFF => {
            let op = Lane::new(lane::absdiff, unsigned(s));
            op.dst(s.dst(0, 1)?).src(&[src(s, 2)?, src(s, 3)?, src(s, 4)?]).op()
        }
        VABSDIFF4 => {
            let param = u32::from(s.has(Mod::U8)) | u32::from(s.has(Mod::ACC)) << 1;
            let op = Lane::new(video::absdiff4, param);
            op.dst(s.dst(0, 1)?).src(&[src(s, 2)?, src(s, 3)?, src(s, 4)?]).op()
        }
        SGXT | USGXT => plain(s, lane::sgxt, unsigned(s) | u32::from(s.has(Mod::W)) << 1, 2),
        BMSK | UBMSK => plain(s, lane::bmsk, u32::from(s.has(Mod::W)) << 1, 2),
        FLO | UFLO => {
            let param = unsigned(s) | u32::from(s.has(Mod::SH)) << 1;
            Lane::new(lane::flo, param)
                .dst(s.dst(0, 1)?)
                .pout(&[s.pred_dst(1)?])
                .src(&[src(s, 2)?])
                .op()
        }
        IDP => idp(s),
        I2I => i2i(s),
        I2IP => i2ip(s),
        _ => Err(unsupported(s)),
    }
}

/// `[Rd, A, B, (C), Pc]`
fn picked(s: &Slots<'_>, f: LaneFn, param: u32, count: usize) -> Result<Op, Cause> {
    let mut all = [Src::ZERO; 3];
    for (i, slot) in all.iter_mut().enumerate().take(count) {
        *slot = src(s, 1 + i)?;
    }
    Lane::new(f, param).dst(s.dst(0, 1)?).src(&all).pin(&[s.pred(1 + count)?]).op()
}

fn lea(s: &Slots<'_>) -> Result<Op, Cause> {
    let (high, signed) = (s.has(Mod::HI), s.has(Mod::SX32));
    let with_c = high && !signed;
    let at = if with_c { 5 } else { 4 };
    let param = s.imm(at)? as u32 & 31 | negations(s, 2, 2) << 8 | u32::from(high && signed) << 10;
    let f: LaneFn = if high { lane::lea_high } else { lane::lea };
    let c = if with_c { s.src(4, Kind::Int)? } else { Src::ZERO };
    let op = Lane::new(f, param).dst(s.dst(0, 1)?).pout(&[s.pred_dst(1)?]).src(&[
        s.src(2, Kind::Int)?,
        s.src(3, Kind::Int)?,
        c,
    ]);
    if s.has(Mod::X) { op.pin(&[s.pred(at + 1)?]).op() } else { op.op() }
}

/// `[Pd1, Pd2, A, B, Pc, (Pex)]`
fn isetp(s: &Slots<'_>) -> Result<Op, Cause> {
    let comparisons = [
        (Mod::F, 0),
        (Mod::LT, 1),
        (Mod::EQ, 2),
        (Mod::LE, 3),
        (Mod::GT, 4),
        (Mod::NE, 5),
        (Mod::GE, 6),
        (Mod::T, 7),
    ];
    let codes = comparisons.iter().find(|(m, _)| s.has(*m)).map(|(_, c)| *c);
    let codes = codes.ok_or_else(|| unsupported(s))?;
    let extended = s.has(Mod::EX);
    let param = codes | unsigned(s) << 3 | u32::from(extended) << 4;
    let op = Lane::new(lane::compare, param)
        .pout(&[s.pred_dst(0)?, s.pred_dst(1)?])
        .src(&[src(s, 2)?, src(s, 3)?])
        .bits(Bits::Compare(combine(s)?, s.pred(4)?));
    if extended { op.pin(&[s.pred(5)?]).op() } else { op.op() }
}

/// `[Pd1, Pd2, Pa, Pb, Pc, lut1, lut2]`
fn plop3(s: &Slots<'_>) -> Result<Op, Cause> {
    Ok(Op::PredLogic {
        dst: [s.pred_dst(0)?, s.pred_dst(1)?],
        src: [truth(s, 2)?, truth(s, 3)?, truth(s, 4)?],
        tables: [s.imm(5)? as u8, s.imm(6)? as u8],
    })
}

/// A predicate, or a register's sign (`R5.SIGN`).
fn truth(s: &Slots<'_>, index: usize) -> Result<Truth, Cause> {
    match *s.operand(index)? {
        Operand::Part(reg, Mod::SIGN) => {
            let place = s.place(RegUse::new(reg.reg), 1)?;
            let adjust = Adjust::integer(reg.flags.without(RegFlags::NEG));
            Ok(Truth::Sign(Src { place, wide: false, part: Part::Whole, adjust }))
        }
        Operand::Imm(value) => Ok(Truth::Sign(Src::imm(value))),
        Operand::Const(c) if c.part == Mod::SIGN && c.base.is_zero() && !c.is_bindless() => {
            let value = s.constant(c.bank, c.offset, 4)?;
            Ok(Truth::Sign(Src { adjust: Adjust::integer(c.flags), ..Src::imm(value) }))
        }
        _ => Ok(Truth::Pred(s.pred(index)?)),
    }
}

/// `I2IP.U8.S32.SAT Rd, A, B, C`: of C the part stays that the others leave free (`.24`, `.28`).
fn i2ip(s: &Slots<'_>) -> Result<Op, Cause> {
    let types = [
        (Mod::U8, 8, false),
        (Mod::S8, 8, true),
        (Mod::U16, 16, false),
        (Mod::S16, 16, true),
        (Mod::U4, 4, false),
        (Mod::S4, 4, true),
        (Mod::U2, 2, false),
        (Mod::S2, 2, true),
    ];
    let to = types.iter().find(|t| s.has(t.0)).ok_or_else(|| unsupported(s))?;
    let Operand::Part(c, part) = *s.operand(3)? else { return Err(unsupported(s)) };
    if !s.has(Mod::SAT) || part == Mod::H1 {
        return Err(unsupported(s));
    }
    let place = s.place(RegUse::new(c.reg), 1)?;
    let c = Src { place, wide: false, part: Part::Whole, adjust: Adjust::NONE };
    let param = to.1 | u32::from(to.2) << 8;
    let sources = [src(s, 1)?, src(s, 2)?, c];
    Lane::new(pack::integers, param).dst(s.dst(0, 1)?).src(&sources).op()
}

fn idp(s: &Slots<'_>) -> Result<Op, Cause> {
    // The first of the two type words is of a, the second of b.
    let types: Vec<bool> = s
        .inst
        .mods
        .iter()
        .filter_map(|m| match m {
            Mod::S8 | Mod::S16 => Some(true),
            Mod::U8 | Mod::U16 => Some(false),
            _ => None,
        })
        .collect();
    let [a, b] = types[..] else { return Err(unsupported(s)) };
    let param = u32::from(a) | u32::from(b) << 1 | u32::from(s.has(Mod::HI)) << 2;
    plain(s, if s.has(Mod::_4A) { lane::dot4 } else { lane::dot2 }, param, 3)
}

/// `I2I.U8.S32.SAT`: target and source type.
fn i2i(s: &Slots<'_>) -> Result<Op, Cause> {
    let types: Vec<(u32, bool)> = s
        .inst
        .mods
        .iter()
        .filter_map(|m| match m {
            Mod::U8 => Some((8, false)),
            Mod::S8 => Some((8, true)),
            Mod::U16 => Some((16, false)),
            Mod::S16 => Some((16, true)),
            Mod::U32 => Some((32, false)),
            Mod::S32 => Some((32, true)),
            _ => None,
        })
        .collect();
    let (bits, to_signed) = *types.first().ok_or_else(|| unsupported(s))?;
    let from_signed = types.get(1).is_none_or(|t| t.1);
    if !s.has(Mod::SAT) {
        return Err(unsupported(s));
    }
    let param = bits | u32::from(to_signed) << 8 | u32::from(from_signed) << 9;
    plain(s, lane::saturate, param, 1)
}
