//! `Vectorization`: accesses to places beside each other become one, where the address is known to
//! be aligned for it.
//!
//! What holds behind it: of the loads of a block from shared or local memory, by the same registers
//! and without a guard, between which nothing may change it, no two or four are left that stand in
//! one aligned piece of 8 or 16 bytes; nor of its stores whose values no other instruction reads.
//! But for loads that are far apart, and for values that already are to stand in a wide register: a
//! copy of each would cost what is won.
//!
//! ptxas 13.0.88 does the same: [`LDS`](Opcode::LDS) and [`LDL`](Opcode::LDL) of 64 and 128 bits in
//! place of words, where known bits of the address allow it; of global memory never, though a
//! parameter says that its pointer is aligned.

use super::alignment::{MOST, zeros};
use super::local::POINTER;
use crate::analysis::Analyses;
use crate::effects;
use crate::function::{FunctionInfo, Options};
use crate::knobs::Knob;
use crate::notes::Notes;
use crate::params::{Read, Write};
use crate::scalar::{Values, plain};
use crate::ssa::{Fixed, Form, copy, is_value};
use bitvec::vec::BitVec;
use orias_components::{
    BlockId, Body, Code, InstId, MemRef, Mod, Opcode, Operand, Props, Reg, RegFile, RegUse, VRegId,
    View, scratch, scratch::Scratch,
};
use orias_targets::slots::{LDL, LDS, STL, STS};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

/// So many runs are open at once, of so many accesses each: others are closed for them, so that a
/// block is walked in the time of its length.
const OPEN: usize = 8;
const LONG: usize = 64;

/// The widest access, in cells.
const WIDEST: u8 = 4;

/// What may become one.
pub const KNOWN: [Opcode; 4] = [Opcode::LDS, Opcode::STS, Opcode::LDL, Opcode::STL];

/// Phases 41 and 73: predication puts accesses of several blocks into one.
pub fn vectorize(
    code: Code<'_>,
    form: Read<'_, Form>,
    options: Read<'_, Options>,
    info: Read<'_, FunctionInfo>,
    mut analyses: Write<'_, Analyses>,
    mut notes: Notes<'_>,
) {
    // Volatile accesses stay as many as they are.
    if !form.is_ssa || info.has_strong {
        return;
    }
    let mut body = code.body();
    // What all of some loads load is live from the first of them on.
    let far = options.knobs.get(Knob::VectorizationDistance, options.target) as usize;
    let runs = find(&body, far);
    if runs.is_empty() {
        return;
    }
    let map = analyses.cells(&body);
    let values = Values::of(&body, &map, |_, _, _| {});
    let (fixed, wide) = (Fixed::of(&body), of_wide(&body));
    let joins = scratch!(Vec<Join>).with(runs.iter().flat_map(|run| {
        let known = zeros_of(&body, &values, run.place, info.local_align);
        join(run, known, |access| {
            let whole = whole(&body, access.value).filter(|v| is_value(&body, &fixed, *v));
            whole.is_some_and(|v| {
                let alone = loads(run.op) || values.reads(access.value) == 1;
                alone && !wide[v.0 as usize]
            })
        })
    }));
    drop(values);
    if joins.is_empty() {
        return;
    }
    let count = joins.iter().map(|join| join.accesses.len() - 1).sum();
    rewrite(&mut body, &joins);
    notes.count(count);
}

/// One access of a run.
#[derive(Clone, Copy, Debug)]
struct Access {
    id: InstId,
    /// Where it stands in its block.
    at: usize,
    offset: i32,
    /// What is loaded or stored.
    value: RegUse,
}

/// Accesses that may be done at once, as far as memory is concerned.
#[derive(Debug)]
struct Run {
    block: BlockId,
    op: Opcode,
    /// The place of one of them.
    place: MemRef,
    accesses: SmallVec<[Access; 16]>,
    /// Of loads, where something was stored by the same registers since the first: from and to.
    stored: SmallVec<[(i32, i32); 4]>,
}

/// Accesses that are to be one.
#[derive(Debug)]
struct Join {
    block: BlockId,
    op: Opcode,
    place: MemRef,
    /// In the order of their addresses.
    accesses: SmallVec<[Access; 4]>,
    cells: u8,
}

/// The access that an instruction is, if it is one of those that are looked at.
fn access(inst: View<'_>) -> Option<(MemRef, RegUse)> {
    let (place, value) = match inst.op {
        Opcode::LDS => (inst.get(LDS::A)?, inst.get(LDS::D)?),
        Opcode::STS => (inst.get(STS::A)?, inst.get(STS::B)?),
        Opcode::LDL => (inst.get(LDL::A)?, inst.get(LDL::D)?),
        Opcode::STL => (inst.get(STL::A)?, inst.get(STL::B)?),
        _ => return None,
    };
    let is_plain = matches!(inst.mods().as_slice(), [] | [Mod::_64]) && inst.guard.is_always();
    let Operand::Mem(place) = place else { return None };
    plain(&value).filter(|_| is_plain && place.sel == Mod::NONE).map(|value| (place, value))
}

/// Whether it loads.
fn loads(op: Opcode) -> bool {
    matches!(op, Opcode::LDS | Opcode::LDL)
}

/// Whether it is an access of local memory.
fn is_local(op: Opcode) -> bool {
    matches!(op, Opcode::LDL | Opcode::STL)
}

/// Whether it is an access that has nothing to do with shared memory.
fn is_elsewhere(inst: View<'_>) -> bool {
    let is_access = || inst.sources().any(|o| matches!(o, Operand::Mem(_)));
    let apart = inst.op.has(Props::ELSEWHERE) && is_access();
    inst.op.has(Props::CONSTANT) || apart && !effects::sees_other_threads(inst)
}

/// Whether it does nothing but read memory.
fn is_load(inst: View<'_>) -> bool {
    let changes = Props::STORE.with(Props::CONVERGENT).with(Props::BRANCH);
    inst.op.has(Props::LOAD) && !inst.op.has(changes) && !effects::sees_other_threads(inst)
}

/// The runs of more than one access.
fn find(body: &Body<'_>, far: usize) -> Scratch<Vec<Run>> {
    let mut runs = scratch!(Vec<Run>);
    for &block in body.layout() {
        let mut open: SmallVec<[Run; 8]> = SmallVec::new();
        let mut close = |open: &mut SmallVec<[Run; 8]>, op: &dyn Fn(&Run) -> bool| {
            for i in (0..open.len()).rev() {
                if op(&open[i]) {
                    let run = open.swap_remove(i);
                    if run.accesses.len() > 1 {
                        runs.push(run);
                    }
                }
            }
        };
        for (at, &id) in body.block(block).insts().iter().enumerate() {
            let inst = body.inst(id);
            if !effects::is_ordered(inst.op) && !inst.op.has(Props::EFFECT) {
                continue;
            }
            let found = access(inst);
            let by = |place: MemRef| (place.base, place.uniform);
            let is_near = |run: &Run| is_local(run.op) == is_local(inst.op);
            match found {
                Some((place, _)) if loads(inst.op) => close(&mut open, &|run| {
                    let is_far = by(run.place) == by(place) && at - run.accesses[0].at > far;
                    is_near(run) && (!loads(run.op) || is_far)
                }),
                // A store to another place by the same registers is no store to these.
                Some((place, value)) => {
                    let here = range(place.offset, value);
                    close(&mut open, &|run| {
                        let meets = |a: &Access| meet(range(a.offset, a.value), here);
                        let many = run.stored.len() >= LONG;
                        let may_meet = by(run.place) != by(place);
                        is_near(run) && (many || may_meet || run.accesses.iter().any(meets))
                    });
                    let others = open.iter_mut().filter(|run| loads(run.op) && is_near(run));
                    others.for_each(|run| run.stored.push(here));
                }
                None if is_local(inst.op) => {
                    close(&mut open, &|run| is_near(run) && !(loads(inst.op) && loads(run.op)));
                }
                None if is_elsewhere(inst) => {}
                None if is_load(inst) => close(&mut open, &|run| !loads(run.op)),
                None => close(&mut open, &|_| true),
            }
            let Some((place, value)) = found else { continue };
            // What was stored since is not there at the first load.
            let here = range(place.offset, value);
            close(&mut open, &|run| {
                let same = run.op == inst.op && by(run.place) == by(place);
                loads(inst.op) && same && run.stored.iter().any(|stored| meet(*stored, here))
            });
            let access = Access { id, at, offset: place.offset, value };
            let same = |run: &&mut Run| run.op == inst.op && by(run.place) == by(place);
            match open.iter_mut().find(same).filter(|run| run.accesses.len() < LONG) {
                Some(run) => run.accesses.push(access),
                None => {
                    close(&mut open, &|run| run.op == inst.op && by(run.place) == by(place));
                    if open.len() == OPEN {
                        let oldest = open[0].place;
                        close(&mut open, &|run| by(run.place) == by(oldest));
                    }
                    let accesses = smallvec![access];
                    let stored = SmallVec::new();
                    open.push(Run { block, op: inst.op, place, accesses, stored });
                }
            }
        }
        close(&mut open, &|_| true);
    }
    runs
}

/// The bytes of an access, from and to.
fn range(offset: i32, value: RegUse) -> (i32, i32) {
    (offset, offset.saturating_add(4 * i32::from(value.count)))
}

fn meet(a: (i32, i32), b: (i32, i32)) -> bool {
    a.0 < b.1 && b.0 < a.1
}

/// Registers of which something is copied into a wide one, or that a phi takes or makes: these are
/// to be in a certain place.
fn of_wide(body: &Body<'_>) -> Scratch<BitVec> {
    let mut wide = scratch!(BitVec).fill_with(false, body.vreg_count());
    for &block in body.layout() {
        for &id in body.block(block).insts() {
            let inst = body.inst(id);
            let is_phi = inst.op == Opcode::MOVPHI;
            let into_wide = |r: RegUse| r.reg.vreg().is_some_and(|v| body.vreg(v).cells > 1);
            if is_phi || effects::as_copy(inst).is_some_and(|copy| into_wide(copy.to)) {
                let mut note = |r: RegUse| {
                    if let Some(v) = r.reg.vreg() {
                        wide.set(v.0 as usize, true);
                    }
                };
                inst.for_each_use(&mut note);
                inst.for_each_def(&mut note);
            }
        }
    }
    wide
}

/// The register that a value is all of.
fn whole(body: &Body<'_>, value: RegUse) -> Option<VRegId> {
    let v = value.reg.vreg()?;
    (value.cell == 0 && body.vreg(v).cells == value.count).then_some(v)
}

/// Low bits of the sum of an access's registers that are zero.
fn zeros_of(body: &Body<'_>, values: &Values<'_>, place: MemRef, frame: u32) -> u32 {
    let of = |r: RegUse| match r.reg {
        reg if reg.is_zero() => MOST,
        // As the frame is.
        POINTER => frame.max(1).trailing_zeros().min(MOST),
        _ => zeros(body, values, r),
    };
    of(place.base).min(of(place.uniform))
}

/// Of a run the accesses that become one, with so many zeros in the registers of its address.
fn join(run: &Run, known: u32, takes: impl Fn(&Access) -> bool) -> SmallVec<[Join; 2]> {
    let mut sorted = run.accesses.clone();
    sorted.retain(|access| takes(access));
    sorted.sort_by_key(|access| access.offset);
    let mut joins = SmallVec::new();
    let mut from = 0;
    while from < sorted.len() {
        let first = sorted[from];
        let fits = |cells: u8| {
            let bytes = 4 * i32::from(cells);
            let aligned = first.offset % bytes == 0 && 1 << known >= bytes;
            let mut end = first.offset;
            let mut count = 0;
            for access in &sorted[from..] {
                if access.offset != end || end >= first.offset + bytes {
                    break;
                }
                end += 4 * i32::from(access.value.count);
                count += 1;
            }
            (aligned && end == first.offset + bytes && count > 1).then_some((cells, count))
        };
        let Some((cells, count)) = fits(WIDEST).or_else(|| fits(2)) else {
            from += 1;
            continue;
        };
        let accesses = SmallVec::from_slice(&sorted[from..from + count]);
        let place = MemRef { offset: first.offset, ..run.place };
        joins.push(Join { block: run.block, op: run.op, place, accesses, cells });
        from += count;
    }
    joins
}

/// What a block gets and loses, and which registers become parts of others.
struct Changes {
    /// Instead of an instruction.
    instead: Scratch<FxHashMap<InstId, SmallVec<[InstId; 5]>>>,
    gone: Scratch<FxHashSet<InstId>>,
    now: Scratch<FxHashMap<VRegId, (Reg, u8)>>,
}

fn rewrite(body: &mut Body<'_>, joins: &[Join]) {
    let mut changes = Changes {
        instead: scratch!(FxHashMap<InstId, SmallVec<[InstId; 5]>>),
        gone: scratch!(FxHashSet<InstId>),
        now: scratch!(FxHashMap<VRegId, (Reg, u8)>),
    };
    for join in joins {
        let wide = body.new_vreg(RegFile::R, join.cells, join.cells);
        let width = if join.cells == WIDEST { Mod::_128 } else { Mod::_64 };
        let all = Operand::Reg(RegUse::wide(wide, join.cells));
        let place = Operand::Mem(join.place);
        let mut insts = SmallVec::new();
        let cell = |access: &Access| ((access.offset - join.place.offset) / 4) as u8;
        // Loads come as early as the first, stores as late as the last.
        let at = |access: &&Access| access.at;
        let by = match loads(join.op) {
            true => {
                for access in &join.accesses {
                    let v = access.value.reg.vreg().expect("a value");
                    changes.now.insert(v, (wide, cell(access)));
                }
                join.accesses.iter().min_by_key(at)
            }
            false => join.accesses.iter().max_by_key(at),
        };
        let by = by.expect("some accesses").id;
        let loc = body.loc(by);
        if loads(join.op) {
            insts.push(body.make(join.op, &[width], 1, &[all, place], loc));
        } else {
            for access in &join.accesses {
                for k in 0..access.value.count {
                    let to = RegUse::at(wide, cell(access) + k, 1);
                    let from = RegUse { cell: access.value.cell + k, count: 1, ..access.value };
                    insts.push(copy(body, to, from, loc));
                }
            }
            insts.push(body.make(join.op, &[width], 0, &[place, all], loc));
        }
        changes.gone.extend(join.accesses.iter().map(|access| access.id));
        changes.instead.insert(by, insts);
    }
    let mut blocks = scratch!(Vec<BlockId>).with(joins.iter().map(|join| join.block));
    blocks.dedup();
    for &block in blocks.iter() {
        let old = body.unlink(block);
        for id in old {
            changes
                .instead
                .remove(&id)
                .into_iter()
                .flatten()
                .for_each(|new| body.append(block, new));
            match changes.gone.contains(&id) {
                true => body.discard(id),
                false => body.append(block, id),
            }
        }
    }
    rename(body, &changes.now);
}

/// Has every instruction read what it read as a part of the register that it is loaded to now.
fn rename(body: &mut Body<'_>, now: &FxHashMap<VRegId, (Reg, u8)>) {
    if now.is_empty() {
        return;
    }
    for &block in body.walk().iter() {
        for &id in body.walk_in(block).iter() {
            let mut names = false;
            let mut see = |r: RegUse| names |= r.reg.vreg().is_some_and(|v| now.contains_key(&v));
            body.inst(id).for_each_use(&mut see);
            if names {
                body.map_regs(id, |r| match r.reg.vreg().and_then(|v| now.get(&v)) {
                    Some((reg, first)) => RegUse { reg: *reg, cell: first + r.cell, ..r },
                    None => r,
                });
            }
        }
    }
}
