//! Instructions across the lanes of a warp, special registers, and moves between the register
//! files.

use super::slots::unsupported;
use super::slots::{Kind, Slots};
use crate::memory::{SHARED_WINDOW, WINDOW_BYTES};
use crate::simulator::error::Cause;
use crate::simulator::op::{Op, ReduceKind, ShuffleMode, Special, VoteMode};
use crate::simulator::operand::{Part, PredDst, Src};
use orias_components::{Mod, Opcode, Operand, RegFile};

pub fn prepare(s: &Slots<'_>) -> Result<Op, Cause> {
    use Opcode::*;
    match s.inst.op {
        SHFL => {
            let modes = [
                (Mod::IDX, ShuffleMode::Index),
                (Mod::UP, ShuffleMode::Up),
                (Mod::DOWN, ShuffleMode::Down),
                (Mod::BFLY, ShuffleMode::Butterfly),
            ];
            let mode = modes.iter().find(|(m, _)| s.has(*m)).map(|(_, k)| *k);
            let mode = mode.ok_or_else(|| unsupported(s))?;
            let src = [s.src(2, Kind::Int)?, s.src(3, Kind::Int)?, s.src(4, Kind::Int)?];
            Ok(Op::Shuffle { mode, inside: s.pred_dst(0)?, dst: s.dst(1, 1)?, src })
        }
        VOTE | VOTEU => {
            let modes =
                [(Mod::ALL, VoteMode::All), (Mod::ANY, VoteMode::Any), (Mod::EQ, VoteMode::Equal)];
            let mode = modes.iter().find(|(m, _)| s.has(*m)).map(|(_, k)| *k);
            let mode = mode.ok_or_else(|| unsupported(s))?;
            Ok(Op::Vote { mode, dst: s.dst(0, 1)?, holds: s.pred_dst(1)?, pred: s.pred(2)? })
        }
        MATCH => {
            let all = s.has(Mod::ALL);
            let kind = if s.has(Mod::U64) { Kind::Int64 } else { Kind::Int };
            let holds = if all { s.pred_dst(0)? } else { PredDst::NOWHERE };
            let at = usize::from(all);
            Ok(Op::Match { all, dst: s.dst(at, 1)?, holds, src: s.src(at + 1, kind)? })
        }
        REDUX => {
            let signed = s.has(Mod::S32);
            let kind = if s.has(Mod::SUM) {
                ReduceKind::Add
            } else if s.has(Mod::MIN) {
                if signed { ReduceKind::MinSigned } else { ReduceKind::Min }
            } else if s.has(Mod::MAX) {
                if signed { ReduceKind::MaxSigned } else { ReduceKind::Max }
            } else if s.has(Mod::OR) {
                ReduceKind::Or
            } else if s.has(Mod::XOR) {
                ReduceKind::Xor
            } else {
                ReduceKind::And
            };
            Ok(Op::Reduce { kind, dst: s.dst(0, 1)?, src: s.src(1, Kind::Int)? })
        }
        B2R if s.has(Mod::RESULT) => {
            Ok(Op::BarrierResult { dst: s.dst(0, 1)?, holds: s.pred_dst(1)? })
        }
        ELECT if s.is_file(2, RegFile::P) && !s.has(Mod::IGNOREKILL) => {
            Ok(Op::Elect { holds: s.pred_dst(0)?, dst: s.dst(1, 1)?, pred: s.pred(2)? })
        }
        R2UR => {
            // `[Pd?, URd, A]`
            let at = usize::from(s.is_file(0, RegFile::P));
            let differs = if at == 1 { s.pred_dst(0)? } else { PredDst::NOWHERE };
            let (dst, src) = (s.dst(at, 1)?, s.src(at + 1, Kind::Int)?);
            Ok(Op::ToUniform { dst, src, differs, or: s.has(Mod::OR) })
        }
        P2R | UP2UR => {
            let src = [s.src(1, Kind::Int)?, s.src(2, Kind::Int)?];
            let uniform = s.inst.op == UP2UR;
            Ok(Op::PredToReg { uniform, dst: s.dst(0, 1)?, src, byte: byte(s) })
        }
        R2P | UR2UP => {
            let (a, byte) = byte_source(s)?;
            let uniform = s.inst.op == UR2UP;
            Ok(Op::RegToPred { uniform, src: [a, s.src(1, Kind::Int)?], byte })
        }
        RPCMOV if !s.has(Mod::_64) => rpcmov(s),
        S2R | CS2R | S2UR => {
            let Operand::Special(number) = *s.operand(1)? else { return Err(unsupported(s)) };
            let which =
                special(&s.context.target.special_name(number)).ok_or_else(|| unsupported(s))?;
            let wide = s.inst.op == Opcode::CS2R && !s.has(Mod::_32);
            Ok(Op::Special { which, dst: s.dst(0, if wide { 2 } else { 1 })?, wide })
        }
        _ => Err(unsupported(s)),
    }
}

/// `[Rd, Rpc.LO]` or `[Rpc.LO, A]`
fn rpcmov(s: &Slots<'_>) -> Result<Op, Cause> {
    let to_return = s.inst.defs == 0;
    let place = s.operand(usize::from(!to_return))?;
    let Operand::Special(word) = *place else { return Err(unsupported(s)) };
    let high = word != 0;
    Ok(match to_return {
        true => Op::ToReturn { high, src: s.src(1, Kind::Int)? },
        false => Op::FromReturn { high, dst: s.dst(0, 1)? },
    })
}

/// The source of R2P, whose byte is a modifier or a part of the register.
fn byte_source(s: &Slots<'_>) -> Result<(Src, u8), Cause> {
    let mut a = s.src(0, Kind::Int)?;
    let byte = match a.part {
        Part::Byte(at) => at / 8,
        _ => byte(s),
    };
    a.part = Part::Whole;
    Ok((a, byte))
}

fn byte(s: &Slots<'_>) -> u8 {
    let all = [Mod::B1, Mod::B2, Mod::B3];
    all.iter().position(|m| s.has(*m)).map_or(0, |i| i as u8 + 1)
}

/// What a special register gives.
fn special(name: &str) -> Option<Special> {
    Some(match name {
        "SRZ" => Special::Zero,
        "SR_LANEID" => Special::Lane,
        "SR_TID" => Special::ThreadPacked,
        "SR_TID.X" => Special::Thread(0),
        "SR_TID.Y" => Special::Thread(1),
        "SR_TID.Z" => Special::Thread(2),
        "SR_CTAID.X" => Special::Cta(0),
        "SR_CTAID.Y" => Special::Cta(1),
        "SR_CTAID.Z" => Special::Cta(2),
        "SR_EQMASK" => Special::EqMask,
        "SR_LTMASK" => Special::LtMask,
        "SR_LEMASK" => Special::LeMask,
        "SR_GTMASK" => Special::GtMask,
        "SR_GEMASK" => Special::GeMask,
        "SR_CLOCKLO" | "SR_CLOCK" => Special::Clock,
        "SR_CLOCKHI" => Special::ClockHigh,
        "SR_GLOBALTIMERLO" => Special::GlobalTimer,
        "SR_GLOBALTIMERHI" => Special::GlobalTimerHigh,
        "SR_CgaCtaId" => Special::ClusterRank,
        "SR_CgaSize" => Special::Constant(1),
        "SR_VIRTUALSMID" => Special::SmId,
        "SR_VIRTID" => Special::WarpId,
        "SR_SMEMSZ" => Special::SharedSize,
        "SR_VIRTCFG" => Special::VirtualConfig,
        // Performance counters: nobody counts.
        _ if name.starts_with("SR_PM") => Special::Zero,
        "SR_LMEMHIOFF" => Special::LocalBottom,
        // The high word of the shared and local windows' generic addresses.
        "SR_SWINHI" => Special::Constant((SHARED_WINDOW / WINDOW_BYTES) as u32),
        "SR_SWINLO" | "SR_LWINLO" => Special::Zero,
        _ => return None,
    })
}
