//! `OriDoRemat`: where more registers are live than there are, values are computed right before
//! what reads them first; predicates before that ([`sink`]).
//!
//! An address that is the sum of two registers which stay anyway takes a register (or two) only
//! while it is waited for. PTX computes the addresses of all loads of a round before the first of
//! them; a scheduler that knows no order of its own leaves them there, and the accumulators of a
//! product are spilled.
//!
//! What holds behind it, for blocks in which more is live than a function may have: what is pure,
//! unguarded and first read in its block stands before that reader, where it then takes fewer
//! registers than it would keep its operands alive for.

use super::sink;
use super::values::Values;
use crate::analysis::Analyses;
use crate::analysis::liveness::{Cell, CellMap, Liveness};
use crate::analysis::pressure;
use crate::effects;
use crate::function::{FunctionInfo, Options};
use crate::knobs::Knob;
use crate::notes::Notes;
use crate::params::{Read, Write};
use crate::ssa::{Fixed, Form, is_value};
use orias_components::{
    BlockId, Body, Code, InstId, Opcode, Reg, RegFile, RegUse, VRegId, View, phis, scratch,
    scratch::Scratch,
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// So many instructions that hand predicates on move together.
const CHAIN: usize = 4;

/// Readers for whom a register is kept though none is won by the first of them.
const MANY: u32 = 4;

/// For a register that is free meanwhile so many are kept that others have use for, too.
const MOST_SHARED: usize = 2;

/// So many of those places ahead.
const LEAD: usize = 3;

/// Phase 80.
pub fn do_remat(
    code: Code<'_>,
    (form, options, info): (Read<'_, Form>, Read<'_, Options>, Read<'_, FunctionInfo>),
    mut analyses: Write<'_, Analyses>,
    mut notes: Notes<'_>,
) {
    let mut body = code.body();
    if !form.is_ssa {
        return;
    }
    // What comparisons compare follows them.
    notes.count(sink::sink_comparisons(&mut body, &mut analyses));
    let room = options.knobs.get(Knob::RematRegisters, options.target);
    let room = room.min(info.max_registers.unwrap_or(room)) as usize;
    // No more is live at once than there is.
    let all = (0..body.vreg_count() as u32).map(|id| body.vreg(VRegId(id)));
    let all: usize = all.filter(|v| v.file == RegFile::R).map(|v| usize::from(v.cells)).sum();
    if all <= room || pressure::at_most(&body, &analyses.cells(&body), RegFile::R) <= room {
        return;
    }
    let liveness = analyses.liveness(&body);
    let mut live = liveness.cells();
    let crowded = body.layout().iter().copied();
    let crowded = crowded.filter(|block| {
        pressure::most_live(&body, (&liveness, &mut live), RegFile::R, *block) > room
    });
    let crowded = scratch!(Vec<BlockId>).with(crowded);
    if crowded.is_empty() {
        return;
    }
    let map = analyses.cells(&body);
    let (values, fixed) = (Values::of(&body, &map, |_, _, _| {}), Fixed::of(&body));
    let phis = phis_of(&body, &map);
    let once = written_once(&body);
    let look = Look {
        body: &body,
        map: &map,
        values: &values,
        fixed: &fixed,
        liveness: &liveness,
        phis: &phis,
        once: &once,
    };
    let orders = crowded.iter().filter_map(|block| {
        let crowds = pressure::crowds(&body, (&liveness, &mut live), (RegFile::R, room), *block);
        Some((*block, look.order(*block, &crowds)?))
    });
    let orders = scratch!(Vec<(BlockId, Moved)>).with(orders);
    drop(values);
    for (block, moved) in &orders {
        body.reorder(*block, &moved.order);
        notes.count(moved.count);
    }
}

/// A block's instructions in their new order, and how many have moved.
struct Moved {
    order: Scratch<Vec<InstId>>,
    count: usize,
}

struct Look<'a, 'w, 'm> {
    body: &'a Body<'w>,
    map: &'m CellMap,
    values: &'a Values<'m>,
    fixed: &'a Fixed,
    liveness: &'a Liveness,
    phis: &'a Phis,
    once: &'a [bool],
}

/// What phis take, by what they give.
type Phis = Scratch<FxHashMap<Cell, SmallVec<[Cell; 2]>>>;

/// Places in a block.
type Place = usize;

/// What is known of a block, from its end on.
struct Seen {
    places: Scratch<FxHashMap<InstId, Place>>,
    /// Where the first of the readers that have been seen stands, or will, and how many there are.
    readers: Scratch<FxHashMap<Cell, (Place, u32)>>,
    /// Where the last of all readers stands, or will.
    last: Scratch<FxHashMap<Cell, Place>>,
}

impl Seen {
    fn new() -> Seen {
        Seen {
            places: scratch!(FxHashMap<InstId, Place>),
            readers: scratch!(FxHashMap<Cell, (Place, u32)>),
            last: scratch!(FxHashMap<Cell, Place>),
        }
    }
}

impl Look<'_, '_, '_> {
    /// None where nothing moves.
    fn order(&self, block: BlockId, crowds: &[Option<Place>]) -> Option<Moved> {
        let insts = self.body.block(block).insts();
        let mut seen = Seen::new();
        for (at, id) in insts.iter().enumerate() {
            seen.places.insert(*id, at);
            self.body.inst(*id).for_each_use(|r| {
                seen.last.extend(self.map.cells(r).map(|cell| (cell, at)));
            });
        }
        // Where each goes, and where it was.
        let mut goes = scratch!(Vec<(Place, Place, InstId)>);
        let mut moved = scratch!(FxHashMap<InstId, Place>);
        for (at, id) in insts.iter().enumerate().rev() {
            if !moved.contains_key(id)
                && let Some(to) = self.target(*id, at, &seen)
                && crowds[to] > Some(at)
                && let Some(group) = self.group(*id, at, &seen.places, &moved)
                && group.iter().all(|id| self.is_read_from(*id, to, &group, &seen))
                && self.pays(&group, (at, to), &seen, block)
                && group.iter().all(|id| self.may_stand(*id, block, &insts[seen.places[id]..to]))
            {
                moved.extend(group.iter().map(|id| (*id, to)));
                goes.extend(group.iter().map(|id| (to, seen.places[id], *id)));
            }
            let now = moved.get(id).copied().unwrap_or(at);
            self.body.inst(*id).for_each_use(|r| {
                for cell in self.map.cells(r) {
                    let (first, reads) = seen.readers.entry(cell).or_insert((now, 0));
                    (*first, *reads) = ((*first).min(now), *reads + 1);
                    let last = seen.last.entry(cell).or_insert(now);
                    *last = (*last).max(now);
                }
            });
        }
        if moved.is_empty() {
            return None;
        }
        goes.sort_unstable();
        ahead(&mut goes);
        let mut order = scratch!(Vec<InstId>);
        let mut next = goes.iter().peekable();
        for (at, id) in insts.iter().enumerate() {
            while let Some((.., id)) = next.next_if(|(to, ..)| *to == at) {
                order.push(*id);
            }
            order.extend((!moved.contains_key(id)).then_some(*id));
        }
        Some(Moved { order, count: moved.len() })
    }

    /// Where the first of its readers is to stand, if it is one to move there.
    fn target(&self, id: InstId, at: Place, seen: &Seen) -> Option<Place> {
        let inst = self.body.inst(id);
        let mut to: Option<Place> = None;
        let mut all = self.may_move(inst);
        inst.for_each_def(|r| {
            all &= r.reg.file() == RegFile::R;
            for cell in self.map.cells(r) {
                if let Some((reader, _)) = seen.readers.get(&cell) {
                    to = Some(to.map_or(*reader, |to| to.min(*reader)));
                }
            }
        });
        to.filter(|to| all && *to > at + 1)
    }

    fn may_move(&self, inst: View<'_>) -> bool {
        let mut known = inst.op != Opcode::MOVPHI && inst.guard.is_always();
        known &= effects::is_pure(inst.op) && !effects::reads_what_changes(inst);
        let mut see = |r: RegUse| {
            known &= r.reg.vreg().is_some_and(|v| match r.reg.file() {
                RegFile::R | RegFile::P => is_value(self.body, self.fixed, v),
                // Written before this, it stays what it is.
                RegFile::UR => self.once[v.0 as usize],
                _ => false,
            });
        };
        inst.for_each_use(&mut see);
        inst.for_each_def(&mut see);
        known
    }

    /// An instruction, and those before it that give it the predicates which nobody else reads.
    fn group(
        &self,
        id: InstId,
        at: Place,
        places: &FxHashMap<InstId, Place>,
        moved: &FxHashMap<InstId, Place>,
    ) -> Option<SmallVec<[InstId; 4]>> {
        let mut group = SmallVec::<[InstId; 4]>::from_elem(id, 1);
        let mut next = 0;
        while let Some(id) = group.get(next).copied() {
            next += 1;
            let mut fits = group.len() <= CHAIN;
            self.body.inst(id).for_each_use(|r| {
                if r.reg.file() != RegFile::P || !fits {
                    return;
                }
                let writer = self.values.writer(r).filter(|w| {
                    let near = places.get(w).is_some_and(|place| *place < at);
                    near && !moved.contains_key(w) && self.may_move(self.body.inst(*w))
                });
                match writer.filter(|_| self.values.reads(r) == 1) {
                    // One may give two carries.
                    Some(writer) if group.contains(&writer) => {}
                    Some(writer) => group.push(writer),
                    None => fits = false,
                }
            });
            if !fits {
                return None;
            }
        }
        group.sort_unstable_by_key(|id| places[id]);
        Some(group)
    }

    /// Whether nothing but the group and what stands from this place on reads what an instruction
    /// gives.
    fn is_read_from(&self, id: InstId, to: Place, group: &[InstId], seen: &Seen) -> bool {
        let mut fits = true;
        self.body.inst(id).for_each_def(|r| {
            let whole = RegUse { count: 1, ..r };
            for (i, cell) in self.map.cells(r).enumerate() {
                let one = RegUse { cell: r.cell + i as u8, ..whole };
                let mut own = 0;
                for id in group {
                    self.body.inst(*id).for_each_use(|r| {
                        own += self.map.cells(r).filter(|c| *c == cell).count() as u32;
                    });
                }
                let (first, reads) = seen.readers.get(&cell).copied().unwrap_or((to, 0));
                fits &= first >= to
                    && self.values.reads(one) == reads + own
                    && !self.liveness.may_cross_blocks(cell);
            }
        });
        fits
    }

    /// Whether more registers are free meanwhile than operands live longer.
    fn pays(
        &self,
        group: &[InstId],
        (at, to): (Place, Place),
        seen: &Seen,
        block: BlockId,
    ) -> bool {
        let (mut results, mut kept) = (SmallVec::<[Cell; 8]>::new(), SmallVec::<[Cell; 8]>::new());
        for id in group {
            let inst = self.body.inst(*id);
            inst.for_each_def(|r| {
                results.extend(self.map.cells(r).filter(|_| r.reg.file() == RegFile::R));
            });
            inst.for_each_use(|r| {
                for cell in self.map.cells(r).filter(|_| r.reg.file() == RegFile::R) {
                    let ends = seen.last.get(&cell).is_none_or(|at| *at < to)
                        && !self.liveness.is_live_out(block, cell);
                    if ends && !kept.contains(&cell) {
                        kept.push(cell);
                    }
                }
            });
        }
        kept.retain(|cell| !results.contains(cell));
        if results.len() > kept.len() {
            return true;
        }
        // What many read is kept for them all.
        let many = |cell: &Cell| self.values.reads_of(*cell) >= MANY;
        let shared = |cell: &&Cell| many(cell) || self.may_follow(**cell, (at, to), seen);
        let shared = kept.iter().filter(shared).count();
        results.len() > kept.len() - shared && shared <= MOST_SHARED * results.len()
    }

    /// Whether what one of these reads, which stands here now, could be computed behind most of the
    /// way there too: a chain of sums, each of which is one address, moves link by link, the last
    /// one first, and no link by itself wins anything.
    fn may_follow(&self, cell: Cell, (at, to): (Place, Place), seen: &Seen) -> bool {
        let writer = self.map.vreg(cell).and_then(|(v, at)| {
            let reg = Reg::virt(self.body.vreg(v).file, v);
            self.values.writer(RegUse::at(reg, at, 1))
        });
        let (first, reads) = seen.readers.get(&cell).copied().unwrap_or((to, 0));
        to.saturating_sub(first) <= to.saturating_sub(at) / 2
            && self.values.reads_of(cell) == reads + 1
            && !self.liveness.may_cross_blocks(cell)
            && writer.is_some_and(|id| {
                seen.places.contains_key(&id) && self.may_move(self.body.inst(id))
            })
    }

    /// Whether it may stand behind these, of which it is the first: not where one of them gives a
    /// phi what is to have the register of what it reads.
    fn may_stand(&self, id: InstId, block: BlockId, over: &[InstId]) -> bool {
        let mut nexts = SmallVec::<[Cell; 8]>::new();
        self.body.inst(id).for_each_use(|r| {
            for cell in self.map.cells(r) {
                if !self.liveness.is_live_out(block, cell) {
                    nexts.extend(self.phis.get(&cell).into_iter().flatten().copied());
                }
            }
        });
        let mut stands = true;
        for id in over.iter().filter(|_| !nexts.is_empty()) {
            self.body.inst(*id).for_each_def(|r| {
                stands &= !self.map.cells(r).any(|cell| nexts.contains(&cell));
            });
        }
        stands
    }
}

/// What goes to a place goes some places of others ahead: to read it at once would be to wait for
/// it. Not over where it was, for behind that is what it reads.
fn ahead(goes: &mut [(Place, Place, InstId)]) {
    let mut places = scratch!(Vec<Place>).with(goes.iter().map(|(to, ..)| *to));
    places.dedup();
    let mut at = 0;
    for (to, was, _) in goes.iter_mut() {
        while places[at] < *to {
            at += 1;
        }
        *to = places[at.saturating_sub(LEAD)].max(*was + 1);
    }
    goes.sort_unstable();
}

/// Uniform registers that one instruction writes, none of whose block reads them before it does:
/// they hold what they do wherever in its block a reader stands.
fn written_once(body: &Body<'_>) -> Scratch<Vec<bool>> {
    let mut taken = scratch!(Vec<bool>; false; body.vreg_count());
    let mut once = scratch!(Vec<bool>; true; body.vreg_count());
    let uniform = |r: RegUse| r.reg.vreg().filter(|_| r.reg.file() == RegFile::UR);
    let mut read = scratch!(Vec<VRegId>);
    for block in body.layout() {
        for id in body.block(*block).insts() {
            let inst = body.inst(*id);
            inst.for_each_use(|r| {
                let first = uniform(r).filter(|v| !taken[v.0 as usize]);
                read.extend(first.inspect(|v| taken[v.0 as usize] = true));
            });
            inst.for_each_def(|r| {
                if let Some(v) =
                    uniform(r).filter(|v| std::mem::replace(&mut taken[v.0 as usize], true))
                {
                    once[v.0 as usize] = false;
                }
            });
        }
        // Read here, and written in another block yet.
        read.drain(..).for_each(|v| taken[v.0 as usize] = false);
    }
    once
}

/// What phis take, by what they give.
fn phis_of(body: &Body<'_>, map: &CellMap) -> Phis {
    let mut phis = scratch!(FxHashMap<Cell, SmallVec<[Cell; 2]>>);
    for block in body.layout() {
        for id in &body.block(*block).insts()[..phis::end(body, *block)] {
            let inst = body.inst(*id);
            inst.for_each_def(|to| {
                inst.for_each_use(|from| {
                    for (to, from) in map.cells(to).zip(map.cells(from)) {
                        phis.entry(to).or_default().push(from);
                    }
                });
            });
        }
    }
    phis
}
