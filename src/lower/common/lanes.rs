//! Operations done lane by lane: what the machine does once for a warp, with operands in uniform
//! registers, and PTX does for each thread with operands of its own.
//!
//! Both loops are those of ptxas (observed: 13.0.88, sm_90a): `pending` tells which lanes still
//! wait, R2UR takes the value of the first of them, and `BRA.U.ANY` takes all lanes back while
//! one is pending, so that they never diverge.

use crate::lower::context::cx::{Cx, Sel};
use orias_components::{Guard, MemRef, Mod, Opcode, Operand, Reg, RegFile, RegFlags, RegUse};
use orias_systems::build::{cell, not, r};
use smallvec::SmallVec;
use std::cell::RefCell;

/// Lowers what may be several blocks, or takes no guard word by word, under the PTX guard: by a
/// branch around it.
pub fn under_guard<'a, 'w>(cx: &mut Cx<'a, 'w>, f: impl FnOnce(&mut Cx<'a, 'w>) -> Sel) -> Sel {
    let Some(after) = cx.e.enter_guard() else { return f(cx) };
    let result = f(cx);
    cx.e.leave_guard(after);
    result
}

/// A new run of uniform registers that starts at a multiple of its size, rounded up to a power of
/// two.
pub fn uniform(cx: &mut Cx<'_, '_>, cells: u8) -> Reg {
    cx.e.body.new_vreg(RegFile::UR, cells, cells.next_power_of_two())
}

/// The lane that runs the loop now, the first of those that still wait, or the group of those that
/// have its values.
pub struct Lane {
    pending: Operand,
    /// Of a group: predicates that tell whether a lane has other values.
    others: Option<RefCell<SmallVec<[Reg; 8]>>>,
}

impl Lane {
    /// Brings a 32-bit operand of this lane to a uniform register.
    pub fn to_uniform(&self, cx: &mut Cx<'_, '_>, to: Operand, from: Operand) {
        match from {
            Operand::Imm(_) => cx.e.put(Opcode::UMOV, &[], 1, &[to, from]),
            Operand::Reg(u) if u.reg.file() == RegFile::UR && u.flags == RegFlags::NONE => {
                cx.e.put(Opcode::UMOV, &[], 1, &[to, from]);
            }
            _ => {
                let from = cx.in_reg(from);
                let differs = match &self.others {
                    Some(others) => {
                        let differs = cx.e.temp_pred();
                        others.borrow_mut().push(differs);
                        r(differs)
                    }
                    None => Operand::PT,
                };
                cx.e.put_if(self.pending, Opcode::R2UR, &[], 2, &[differs, to, from]);
            }
        }
    }

    /// Several operands, to the cells of one run in this order.
    pub fn all_to_uniform(&self, cx: &mut Cx<'_, '_>, from: &[Operand]) -> Reg {
        let run = uniform(cx, from.len() as u8);
        for (i, from) in from.iter().enumerate() {
            self.to_uniform(cx, cell(run, i as u8), *from);
        }
        run
    }
}

/// Lets each active lane run `f` alone, where what an instruction does must be done as often as
/// there are lanes.
///
/// `f` gets its operands by [`Lane::to_uniform`], and everything that it emits runs once a lane.
pub fn lane_by_lane<'a, 'w>(
    cx: &mut Cx<'a, 'w>,
    f: impl FnOnce(&mut Cx<'a, 'w>, &Lane) -> Sel,
) -> Sel {
    under_guard(cx, |cx| {
        let (pending, elected) = (cx.e.temp_pred(), cx.e.temp_pred());
        cx.e.mov_pred(r(pending), Operand::PT);
        let head = cx.e.open_new();
        let lane = Lane { pending: r(pending), others: None };
        cx.e.put_if(r(pending), Opcode::ELECT, &[], 2, &[r(elected), Operand::URZ, Operand::PT]);
        f(cx, &lane)?;
        // The old `elected` of threads that are done means nothing.
        cx.e.plop3(r(pending), r(pending), not(r(elected)), Operand::PT, 0x80);
        copy_last(cx);
        back_while(cx, r(pending), head);
        Ok(())
    })
}

/// Lets the lanes run `f` in groups that have the same values, where what an instruction does is
/// the same done twice: copies from shared memory, and what concerns caches. `f` is as that of
/// [`lane_by_lane`]. (Observed: ptxas 13.0.88 goes by values or by lanes so.)
pub fn value_by_value<'a, 'w>(
    cx: &mut Cx<'a, 'w>,
    f: impl FnOnce(&mut Cx<'a, 'w>, &Lane) -> Sel,
) -> Sel {
    under_guard(cx, |cx| {
        let (pending, now) = (cx.e.temp_pred(), cx.e.temp_pred());
        cx.e.mov_pred(r(pending), Operand::PT);
        let head = cx.e.open_new();
        let lane = Lane { pending: r(pending), others: Some(RefCell::default()) };
        f(cx, &lane)?;
        let others = lane.others.map(RefCell::into_inner).unwrap_or_default();
        if others.is_empty() {
            return Ok(());
        }
        let mut group = r(pending);
        for differs in others {
            cx.e.plop3(r(now), group, not(r(differs)), Operand::PT, 0x80);
            copy_last(cx);
            group = r(now);
        }
        cx.e.plop3(r(pending), r(pending), not(r(now)), Operand::PT, 0x80);
        copy_last(cx);
        back_while(cx, r(pending), head);
        Ok(())
    })
}

/// Puts a copy that stands right before the block's last instruction behind it: in ptxas's loops
/// (13.0.88) the branch back follows the copy, and the time that the predicate takes goes by before
/// it. Not at -O0.
pub fn copy_last(cx: &mut Cx<'_, '_>) {
    if cx.module.options.opt_level == 0 {
        return;
    }
    let block = cx.e.block;
    let [.., copy, _] = cx.e.body.block(block).insts()[..] else { return };
    let copies = matches!(
        cx.e.body.inst(copy).op,
        Opcode::UBLKCP
            | Opcode::UBLKPF
            | Opcode::UBLKRED
            | Opcode::UTMALDG
            | Opcode::UTMAPF
            | Opcode::UTMAREDG
            | Opcode::UTMASTG
            | Opcode::UTMACCTL
    );
    if copies && cx.e.body.inst(copy).guard.is_always() {
        let last = cx.e.body.block(block).insts().len() - 1;
        cx.e.body.shift(block, last - 1, last);
    }
}

/// Lets the threads run `f` in groups that have the same `values`: `f` runs under a guard that
/// holds for such a group, with the values in the cells of a uniform run. Where all values are
/// constants there is one group and no loop.
pub fn for_each_value<'a, 'w>(
    cx: &mut Cx<'a, 'w>,
    values: &[Operand],
    f: impl FnOnce(&mut Cx<'a, 'w>, Reg) -> Sel,
) -> Sel {
    let run = uniform(cx, values.len() as u8);
    let is_constant = |v: &Operand| matches!(v, Operand::Imm(_));
    if values.iter().all(is_constant) {
        for (i, value) in values.iter().enumerate() {
            cx.e.put(Opcode::UMOV, &[], 1, &[cell(run, i as u8), *value]);
        }
        return f(cx, run);
    }
    let guard = cx.e.guard;
    let values: Vec<Operand> =
        values.iter().map(|v| if is_constant(v) { *v } else { cx.in_reg(*v) }).collect();
    let (pending, now) = (cx.e.temp_pred(), cx.e.temp_pred());
    let flags = if guard.negated { RegFlags::NOT } else { RegFlags::NONE };
    cx.e.mov_pred(r(pending), Operand::Reg(RegUse { flags, ..RegUse::new(guard.reg) }));
    cx.e.guard = Guard::ALWAYS;
    let head = cx.e.open_new();
    let mut group = r(pending);
    for (i, value) in values.iter().enumerate() {
        let to = cell(run, i as u8);
        if is_constant(value) {
            cx.e.put(Opcode::UMOV, &[], 1, &[to, *value]);
            continue;
        }
        let differs = cx.e.temp_pred();
        cx.e.put_if(r(pending), Opcode::R2UR, &[], 2, &[r(differs), to, *value]);
        cx.e.plop3(r(now), group, not(r(differs)), Operand::PT, 0x80);
        group = r(now);
    }
    cx.e.plop3(r(pending), r(pending), not(r(now)), Operand::PT, 0x80);
    cx.e.guard = Guard { reg: now, negated: false };
    f(cx, run)?;
    cx.e.guard = Guard::ALWAYS;
    back_while(cx, r(pending), head);
    cx.e.guard = guard;
    Ok(())
}

/// Takes all threads back to `head` while the predicate holds for any.
pub fn back_while(cx: &mut Cx<'_, '_>, pending: Operand, head: orias_components::BlockId) {
    let target = [Operand::PT, Operand::Block(head)];
    cx.e.put_if(pending, Opcode::BRA, &[Mod::U, Mod::ANY], 0, &target);
    cx.e.open_new();
}

/// Emits an instruction that takes no thread's guard.
pub fn unguarded(
    cx: &mut Cx<'_, '_>,
    op: Opcode,
    mods: &[Mod],
    defs: u8,
    operands: &[Operand],
) -> Sel {
    under_guard(cx, |cx| {
        cx.e.put(op, mods, defs, operands);
        Ok(())
    })
}

/// A run of uniform registers in an address slot.
pub fn at(run: Reg, cells: u8) -> Operand {
    Operand::Mem(MemRef {
        base: RegUse::new(Reg::RZ),
        uniform: RegUse::wide(run, cells),
        offset: 0,
        sel: Mod::NONE,
    })
}
