//! Branches, convergence, barriers, and instructions without an effect here.

use super::context::WORD;
use super::slots::unsupported;
use super::slots::{Kind, Slots};
use crate::SlotKind;
use crate::simulator::error::Cause;
use crate::simulator::op::{BarrierKind, Indirect, Op, Threads};
use crate::simulator::operand::*;
use orias_components::{Mod, Opcode, Operand, RegFile, RegUse};

/// The first operand that is a jump target.
fn target(s: &Slots<'_>) -> Result<u32, Cause> {
    let at = s.inst.operands.iter().position(|o| matches!(o, Operand::Addr(_)));
    s.target(at.ok_or_else(|| unsupported(s))?)
}

/// The first operand that is a register of this file.
fn first(s: &Slots<'_>, file: RegFile) -> Option<usize> {
    (0..s.len()).find(|i| s.is_file(*i, file))
}

/// The predicate operand that is anded with the guard, or true.
fn pred(s: &Slots<'_>) -> Result<PredSrc, Cause> {
    first(s, RegFile::P).map_or(Ok(PredSrc::TRUE), |i| s.pred(i))
}

/// An instruction that is done only without a predicate operand.
fn unconditional(s: &Slots<'_>) -> Result<(), Cause> {
    if pred(s)? == PredSrc::TRUE { Ok(()) } else { Err(unsupported(s)) }
}

fn barrier(s: &Slots<'_>) -> Result<u8, Cause> {
    s.barrier(first(s, RegFile::B).ok_or_else(|| unsupported(s))?)
}

/// `[.., Ra pair, base]`: the sum of both.
fn indirect(s: &Slots<'_>) -> Result<Op, Cause> {
    let at = first(s, RegFile::R).or(first(s, RegFile::UR)).ok_or_else(|| unsupported(s))?;
    let Some(Operand::Reg(r)) = s.inst.operands.get(at) else { return Err(unsupported(s)) };
    let place = s.place(RegUse::wide(r.reg, 2), 2)?;
    let register = Src { place, wide: true, part: Part::Whole, adjust: Adjust::NONE };
    let found = s.inst.operands.iter().enumerate().find_map(|(i, o)| match o {
        Operand::Addr(offset) => Some((i, *offset)),
        _ => None,
    });
    let base = found.map(|(i, offset)| {
        // BRX shows its offset from the next instruction as it is; the others show the place that
        // it means.
        let slot = s.context.target.slot(s.inst, i).map(|slot| slot.kind);
        let counted = matches!(slot, Some(SlotKind::Target { relative: true, .. }));
        let from = if counted { 0 } else { s.pc + WORD };
        s.context.text.wrapping_add(from).wrapping_add(offset)
    });
    if s.has(Mod::ABS) {
        // The register holds all of the address, but for a distance that RET.ABS adds as it stands.
        let base = found.map_or(0, |(_, offset)| offset);
        return Ok(Op::Jump(Indirect { register, base, pred: pred(s)? }));
    }
    let base = base.ok_or_else(|| unsupported(s))?;
    Ok(Op::Jump(Indirect { register, base, pred: pred(s)? }))
}

/// The absolute address that a relocation filled in.
fn absolute(s: &Slots<'_>) -> Result<u64, Cause> {
    let found = s.inst.operands.iter().find_map(|o| match o {
        Operand::Addr(at) => Some(*at),
        _ => None,
    });
    found.ok_or_else(|| unsupported(s))
}

/// The first source that is a register or an immediate, as lane mask or number.
fn value(s: &Slots<'_>) -> Result<Src, Cause> {
    let at = s.inst.operands.iter().position(|o| match o {
        Operand::Imm(_) => true,
        o => matches!(o.file(), Some(RegFile::R | RegFile::UR)),
    });
    s.src(at.ok_or_else(|| unsupported(s))?, Kind::Int)
}

pub fn prepare(s: &Slots<'_>) -> Result<Op, Cause> {
    use Opcode::*;
    Ok(match s.inst.op {
        NOP | NANOSLEEP | PMTRIG | MEMBAR | FENCE | ERRBAR | CGAERRBAR | CCTL | CCTLL | PREEXIT
        | ACQBULK => {
            if s.inst.op == NANOSLEEP {
                Op::Yield { release: false }
            } else {
                Op::Nop
            }
        }
        // Branches that count.
        _ if s.has(Mod::INC) || s.has(Mod::DEC) => return Err(unsupported(s)),
        BRA if s.has(Mod::DIV) || s.has(Mod::CONV) => {
            unconditional(s)?;
            let (mask, target) = (value(s)?, target(s)?);
            match s.has(Mod::DIV) {
                true => Op::BranchDivergent { mask, target },
                false => Op::BranchConverged { mask, target },
            }
        }
        BRA if s.has(Mod::ANY) && first(s, RegFile::UP).is_none() => {
            Op::BranchAny { taken: pred(s)?, target: target(s)? }
        }
        BRA if s.has(Mod::ANY) || s.has(Mod::ALL) => return Err(unsupported(s)),
        BRA => {
            let uniform = first(s, RegFile::UP).map_or(Ok(PredSrc::TRUE), |i| s.pred(i))?;
            Op::Branch { taken: pred(s)?, uniform, target: target(s)? }
        }
        CALL if first(s, RegFile::R).or(first(s, RegFile::UR)).is_none() && s.has(Mod::ABS) => {
            // Through the same door as a jump to an address in a register: it may be a function of
            // the system.
            unconditional(s)?;
            Op::Jump(Indirect { register: Src::imm(absolute(s)?), base: 0, pred: pred(s)? })
        }
        CALL if first(s, RegFile::R).or(first(s, RegFile::UR)).is_none() => {
            Op::Branch { taken: pred(s)?, uniform: PredSrc::TRUE, target: target(s)? }
        }
        LEPC => {
            let found = s.inst.operands.iter().find_map(|o| match o {
                Operand::Addr(at) => Some(*at),
                _ => None,
            });
            let offset = found.unwrap_or(s.pc + WORD);
            Op::CodeAddress { dst: s.dst(0, 2)?, address: s.context.text.wrapping_add(offset) }
        }
        BRXU if !s.inst.mods.is_empty() => return Err(unsupported(s)),
        CALL | RET | BRX | BRXU => indirect(s)?,
        EXIT => Op::Exit { pred: pred(s)? },
        BSSY => Op::Bssy { barrier: barrier(s)?, pred: pred(s)?, end: target(s)? },
        BSYNC => Op::Bsync { barrier: barrier(s)?, pred: pred(s)? },
        BREAK => Op::Break { barrier: barrier(s)?, pred: pred(s)? },
        BMOV => bmov(s)?,
        WARPSYNC => {
            unconditional(s)?;
            match (s.has(Mod::COLLECTIVE), s.has(Mod::ALL), s.has(Mod::EXCLUSIVE)) {
                (true, true, _) => {
                    Op::Collective { mask: Src::imm(0xffff_ffff), resume: target(s)? }
                }
                (true, ..) => Op::Collective { mask: value(s)?, resume: target(s)? },
                (_, true, _) => Op::WarpSync { mask: Src::imm(0xffff_ffff) },
                (_, _, true) => Op::WarpSyncExclusive { mask: value(s)? },
                _ => Op::WarpSync { mask: value(s)? },
            }
        }
        ENDCOLLECTIVE => {
            unconditional(s)?;
            Op::EndCollective
        }
        YIELD => Op::Yield { release: true },
        UCGABAR_ARV => Op::ClusterBarrier { wait: false },
        UCGABAR_WAIT => Op::ClusterBarrier { wait: true },
        BAR => bar(s)?,
        BPT if s.has(Mod::TRAP) => Op::Trap,
        _ => return Err(unsupported(s)),
    })
}

fn bmov(s: &Slots<'_>) -> Result<Op, Cause> {
    if s.has(Mod::PQUAD) || s.is_file(0, RegFile::B) == s.is_file(1, RegFile::B) {
        return Err(unsupported(s));
    }
    if s.is_file(0, RegFile::B) {
        Ok(Op::SetBarrier { barrier: s.barrier(0)?, src: s.src(1, Kind::Int)? })
    } else {
        Ok(Op::GetBarrier { barrier: barrier(s)?, dst: s.dst(0, 1)?, clear: s.has(Mod::CLEAR) })
    }
}

/// `[barrier, (threads), (Pc)]`
fn bar(s: &Slots<'_>) -> Result<Op, Cause> {
    let kind = if s.has(Mod::SYNC) {
        BarrierKind::Sync
    } else if s.has(Mod::ARV) {
        BarrierKind::Arrive
    } else if s.has(Mod::POPC) {
        BarrierKind::Popc
    } else if s.has(Mod::AND) {
        BarrierKind::And
    } else if s.has(Mod::OR) {
        BarrierKind::Or
    } else {
        return Err(unsupported(s));
    };
    let mut numbers = Vec::new();
    for i in 0..s.len() {
        let number = match s.operand(i)? {
            Operand::Imm(_) => true,
            o => matches!(o.file(), Some(RegFile::R | RegFile::UR)),
        };
        if number {
            numbers.push(s.src(i, Kind::Int)?);
        }
    }
    let barrier = *numbers.first().ok_or_else(|| unsupported(s))?;
    let threads = match (numbers.get(1), barrier.place) {
        (Some(count), _) if count.is_constant_zero() => Threads::All,
        (Some(count), _) => Threads::Count(*count),
        (None, Place::Imm(_)) => Threads::All,
        // One register for both.
        (None, _) => Threads::Packed,
    };
    Ok(Op::Barrier { kind, barrier, threads, pred: pred(s)? })
}
