//! What the threads of a warp do together.
//!
//! A `.sync` instruction first converges the threads of its mask. With the whole warp that is
//! `WARPSYNC.ALL`; with another mask, all threads that happen to run together take part and each
//! takes from the result what belongs to its own mask.
//!
//! Under PTX's guard all of it is branched around, as ptxas does: most of these instructions take
//! no guard, and the reconvergence must stay beside what is done together.

use crate::lower::common::lanes::{for_each_value, under_guard, uniform};
use crate::lower::context::cx::{Cx, Sel, operand, type_at};
use crate::ptx::program::{Instruction, Operand as Ptx};
use crate::ptx::types::Type;
use crate::ptx::words::Word;
use orias_components::{Mod, Opcode, Operand};
use orias_systems::build::{imm, not, r};

/// A member mask; a register that only ever holds a constant is that constant.
fn member_mask(cx: &mut Cx<'_, '_>, mask: &Ptx) -> Sel<Operand> {
    if let Ptx::Reg(id) = mask
        && let Some(value) = cx.constants.get(id).copied()
    {
        return Ok(imm(value as u32));
    }
    cx.src(mask, Type::U32)
}

/// Converges the threads of a member mask; None when it is the whole warp.
fn converge(cx: &mut Cx<'_, '_>, mask: &Ptx) -> Sel<Option<Operand>> {
    let mask = member_mask(cx, mask)?;
    if mask == Operand::Imm(u64::from(u32::MAX)) {
        cx.e.put(Opcode::WARPSYNC, &[Mod::ALL], 0, &[]);
        return Ok(None);
    }
    let mask = cx.in_reg(mask);
    cx.e.put(Opcode::WARPSYNC, &[], 0, &[mask]);
    Ok(Some(mask))
}

/// Where what the threads of a mask do together ends. Masks may differ between threads: then
/// `WARPSYNC` has made those diverge that came together, and they reconverge here
/// (`LateExpandSyncInstructions` makes a convergence barrier of the two, or drops this mark).
fn done(cx: &mut Cx<'_, '_>, mask: Option<Operand>) {
    if mask.is_some() {
        cx.e.put_if(Operand::PT, Opcode::ENDCOLLECTIVE, &[], 0, &[]);
    }
}

/// `bar.warp.sync`: the threads of the mask reconverge, and go on as they are.
pub fn bar_warp(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    under_guard(cx, |cx| converge_mask(cx, inst))
}

fn converge_mask(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    converge(cx, operand(inst, 0)?)?;
    Ok(())
}

/// `shfl.sync`.
pub fn shfl(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    under_guard(cx, |cx| shuffle(cx, inst))
}

fn shuffle(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    if !inst.has(Word::Sync) {
        return Err("shuffles without .sync".into());
    }
    let (d, p) = match operand(inst, 0)? {
        Ptx::Pair(both) => (cx.dst(&both.0)?, cx.dst_pred(&both.1)?),
        d => (cx.dst(d)?, Operand::PT),
    };
    let mask = converge(cx, operand(inst, 4)?)?;
    let a = cx.src(operand(inst, 1)?, Type::B32)?;
    let a = cx.in_reg(a);
    let b = cx.src(operand(inst, 2)?, Type::B32)?;
    let c = cx.src(operand(inst, 3)?, Type::B32)?;
    let mode = if inst.has(Word::Up) {
        Mod::UP
    } else if inst.has(Word::Down) {
        Mod::DOWN
    } else if inst.has(Word::Bfly) {
        Mod::BFLY
    } else {
        Mod::IDX
    };
    let low = |op: Operand, bits: u32| match op {
        Operand::Imm(v) => imm(v as u32 & bits),
        op => op,
    };
    let c = low(c, 0x1f1f);
    let b = low(b, 0x1f);
    cx.e.put(Opcode::SHFL, &[mode], 2, &[p, r(d), a, b, c]);
    done(cx, mask);
    Ok(())
}

/// `vote.sync`.
pub fn vote(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    under_guard(cx, |cx| ballots(cx, inst))
}

fn ballots(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    if !inst.has(Word::Sync) {
        return Err("votes without .sync".into());
    }
    let p = cx.pred(operand(inst, 1)?)?;
    let mask = converge(cx, operand(inst, 2)?)?;
    if inst.has(Word::Ballot) {
        let d = cx.dst(operand(inst, 0)?)?;
        match mask {
            None => cx.e.put(Opcode::VOTE, &[Mod::ANY], 2, &[r(d), Operand::PT, p]),
            Some(mask) => {
                let t = cx.e.temp(1);
                cx.e.put(Opcode::VOTE, &[Mod::ANY], 2, &[r(t), Operand::PT, p]);
                cx.e.and(r(d), r(t), mask);
            }
        }
        done(cx, mask);
        return Ok(());
    }
    let d = cx.dst_pred(operand(inst, 0)?)?;
    let Some(mask) = mask else {
        let kind = if inst.has(Word::Any) {
            Mod::ANY
        } else if inst.has(Word::All) {
            Mod::ALL
        } else {
            Mod::EQ
        };
        cx.e.put(Opcode::VOTE, &[kind], 2, &[Operand::RZ, d, p]);
        return Ok(());
    };
    let ballot = |cx: &mut Cx<'_, '_>, p: Operand| {
        let (all, mine) = (cx.e.temp(1), cx.e.temp(1));
        cx.e.put(Opcode::VOTE, &[Mod::ANY], 2, &[r(all), Operand::PT, p]);
        cx.e.and(r(mine), r(all), mask);
        done(cx, Some(mask));
        r(mine)
    };
    if inst.has(Word::Any) {
        let yes = ballot(cx, p);
        cx.e.icmp(d, Mod::NE, false, yes, Operand::RZ);
    } else if inst.has(Word::All) {
        let no = ballot(cx, not(p));
        cx.e.icmp(d, Mod::EQ, false, no, Operand::RZ);
    } else {
        let yes = ballot(cx, p);
        let some = cx.e.temp_pred();
        cx.e.icmp(r(some), Mod::EQ, false, yes, Operand::RZ);
        cx.e.isetp(d, Mod::EQ, false, [yes, mask], Mod::OR, r(some));
    }
    Ok(())
}

/// `activemask`: the lanes that run together.
pub fn activemask(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let d = cx.dst(operand(inst, 0)?)?;
    cx.e.put(Opcode::VOTE, &[Mod::ANY], 2, &[r(d), Operand::PT, Operand::PT]);
    Ok(())
}

/// `match.sync`.
pub fn matching(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    under_guard(cx, |cx| equals(cx, inst))
}

fn equals(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let wide_type = type_at(inst, 0)?.bytes() == 8;
    let all = inst.has(Word::All);
    let (d, p) = match operand(inst, 0)? {
        Ptx::Pair(both) => (cx.dst(&both.0)?, cx.dst_pred(&both.1)?),
        d => (cx.dst(d)?, Operand::PT),
    };
    let a = if wide_type {
        cx.pair(operand(inst, 1)?, Type::B64)?
    } else {
        let a = cx.src(operand(inst, 1)?, Type::B32)?;
        cx.in_reg(a)
    };
    let mask = converge(cx, operand(inst, 2)?)?;
    let mut mods = vec![if all && mask.is_none() { Mod::ALL } else { Mod::ANY }];
    if wide_type {
        mods.push(Mod::U64);
    }
    match (mask, all) {
        (None, true) => cx.e.put(Opcode::MATCH, &mods, 2, &[p, r(d), a]),
        (None, false) => cx.e.put(Opcode::MATCH, &mods, 1, &[r(d), a]),
        (Some(mask), _) => {
            let (any, mine) = (cx.e.temp(1), cx.e.temp(1));
            cx.e.put(Opcode::MATCH, &mods, 1, &[r(any), a]);
            if !all {
                cx.e.and(r(d), r(any), mask);
                done(cx, Some(mask));
                return Ok(());
            }
            cx.e.and(r(mine), r(any), mask);
            done(cx, Some(mask));
            let same = cx.e.temp_pred();
            cx.e.icmp(r(same), Mod::EQ, false, r(mine), mask);
            cx.e.sel(r(d), mask, Operand::RZ, r(same));
            cx.e.mov_pred(p, r(same));
        }
    }
    Ok(())
}

/// `redux.sync`.
pub fn redux(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    under_guard(cx, |cx| reduction(cx, inst))
}

fn reduction<'a>(cx: &mut Cx<'a, '_>, inst: &Instruction) -> Sel {
    let ty = type_at(inst, 0)?;
    if ty == Type::F32 {
        return Err("redux of f32".into());
    }
    let d = cx.dst(operand(inst, 0)?)?;
    let a = cx.src(operand(inst, 1)?, ty)?;
    let a = cx.in_reg(a);
    let mask = converge(cx, operand(inst, 2)?)?;
    let mut mods: Vec<Mod> = Vec::new();
    if inst.has(Word::Add) {
        mods.push(Mod::SUM);
    } else if inst.has(Word::Min) {
        mods.push(Mod::MIN);
    } else if inst.has(Word::Max) {
        mods.push(Mod::MAX);
    } else if inst.has(Word::Or) {
        mods.push(Mod::OR);
    } else if inst.has(Word::Xor) {
        mods.push(Mod::XOR);
    }
    if ty.is_signed() {
        mods.push(Mod::S32);
    }
    let reduce = |cx: &mut Cx<'a, '_>| {
        let result = uniform(cx, 1);
        cx.e.put(Opcode::REDUX, &mods, 1, &[r(result), a]);
        cx.e.mov(r(d), r(result));
        Ok(())
    };
    let Some(members) = mask else { return reduce(cx) };
    // The machine reduces over all threads that run together: those of one mask at a time.
    for_each_value(cx, &[members], |cx, _| under_guard(cx, reduce))?;
    done(cx, mask);
    Ok(())
}

/// `elect.sync`: the lowest thread of the mask.
pub fn elect(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    under_guard(cx, |cx| lowest(cx, inst))
}

fn lowest(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let (d, p) = match operand(inst, 0)? {
        Ptx::Pair(both) => (cx.dst(&both.0)?, cx.dst_pred(&both.1)?),
        _ => return Err("destination".into()),
    };
    if member_mask(cx, operand(inst, 1)?)? == Operand::Imm(u64::from(u32::MAX)) {
        cx.e.put(Opcode::WARPSYNC, &[Mod::ALL], 0, &[]);
        let lane = uniform(cx, 1);
        cx.e.put(Opcode::ELECT, &[], 2, &[p, r(lane), Operand::PT]);
        cx.e.mov(r(d), r(lane));
        return Ok(());
    }
    // (ptxas 13.0.88 asks whoever runs behind WARPSYNC.EXCLUSIVE.)
    let mask = cx.src(operand(inst, 1)?, Type::U32)?;
    let mask = cx.in_reg(mask);
    let members = converge(cx, operand(inst, 1)?)?;
    done(cx, members);
    // The lowest one of the mask: the highest of its reverse.
    let (reversed, at, lane) = (cx.e.temp(1), cx.e.temp(1), cx.e.temp(1));
    cx.e.put(Opcode::BREV, &[], 1, &[r(reversed), mask]);
    cx.e.put(Opcode::FLO, &[Mod::U32, Mod::SH], 2, &[r(at), Operand::PT, r(reversed)]);
    let source = cx.special_operand("SR_LANEID")?;
    cx.e.put(Opcode::S2R, &[], 1, &[r(lane), source]);
    cx.e.icmp(p, Mod::EQ, false, r(lane), r(at));
    cx.e.mov(r(d), r(at));
    Ok(())
}

/// `nanosleep`.
pub fn nanosleep(cx: &mut Cx<'_, '_>, inst: &Instruction) -> Sel {
    let time = cx.src(operand(inst, 0)?, Type::U32)?;
    cx.e.put(Opcode::NANOSLEEP, &[], 0, &[time]);
    Ok(())
}
