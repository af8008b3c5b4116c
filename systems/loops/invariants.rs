//! `OriHoistInvariants…`: what every round of a loop computes anew from what the loop leaves alone
//! is computed once, before the loop.
//!
//! What holds behind it: no loop has an instruction, in a block that each round runs through, that
//! only computes and reads nothing that the loop writes; and no load of what nothing in the loop
//! may write, where the first round is sure to come to it. But for
//! * what no register goes into: to compute a constant again is no more than to keep it;
//! * what there are not registers for ([`Knob::HoistRegisters`]), and predicates that anything in
//!   the loop reads: there are seven, and one that finds no place goes through a general register.
//!
//! A way that only some rounds take keeps what it has, as with ptxas 13.0.88, which hoists
//! divisions as a whole (they are one instruction in the first of these phases), but not the
//! reciprocal of a divisor that stays, which the second of ours finds once they are expanded.

use crate::analysis::liveness::{Cell, CellMap};
use crate::analysis::loops::{Loop, Loops};
use crate::analysis::{Analyses, ControlFlow, pressure};
use crate::effects;
use crate::function::{FunctionInfo, Options};
use crate::knobs::Knob;
use crate::memory::places::{self, Changes};
use crate::notes::Notes;
use crate::params::{Read, Write};
use crate::registers::pool;
use crate::ssa::{Fixed, Form, is_value};
use bitvec::vec::BitVec;
use orias_components::{
    BlockId, Body, Code, FlowEdit, InstId, Opcode, Props, RegFile, RegUse, View, edges, scratch,
    scratch::Scratch,
};
use smallvec::SmallVec;

/// Registers that are no value's, or that find no place beside others.
const OTHERS: usize = 8;

/// Phases 40 and 76.
pub fn hoist_invariants(
    code: Code<'_>,
    (form, options, info): (Read<'_, Form>, Read<'_, Options>, Read<'_, FunctionInfo>),
    mut analyses: Write<'_, Analyses>,
    mut notes: Notes<'_>,
) {
    if !form.is_ssa {
        return;
    }
    let mut body = code.body();
    let flow = analyses.flow(&body);
    if flow.loops().all.is_empty() {
        return;
    }
    let map = analyses.cells(&body);
    let mut found = Search::of(&body, &flow, &map, &info).all();
    if found.is_empty() {
        return;
    }
    let room = options.knobs.get(Knob::HoistRegisters, options.target) as usize;
    let room =
        Room { room, of_blocks: pool::registers_of_blocks(&body, info.max_registers), info: &info };
    let wanted = wanted(&body, &flow, &map, &found);
    let predicates = |of: &Invariant| {
        let mut any = false;
        body.inst(of.id).for_each_def(|r| any |= r.reg.file() == RegFile::P);
        any
    };
    stay(&mut found, |at, of| wanted[at] && predicates(of));
    let full = full(&body, &flow, &mut analyses, (&found, &wanted), &room);
    if !full.is_empty() {
        stay(&mut found, |_, of| full[of.of]);
    }
    found.retain(|of| !of.stays);
    if !found.is_empty() {
        hoist(&mut body, flow.loops(), &found);
        analyses.edges(&mut body);
        notes.count(found.len());
    }
}

/// Registers that may be live in a loop.
struct Room<'a> {
    room: usize,
    /// Where their number changes.
    of_blocks: Option<Vec<Option<u32>>>,
    info: &'a FunctionInfo,
}

impl Room<'_> {
    /// In all loops.
    fn least(&self) -> usize {
        if self.of_blocks.is_some() { 0 } else { self.of(None) }
    }

    /// In a loop with this header.
    fn of(&self, header: Option<u32>) -> usize {
        let here = self.of_blocks.as_ref().zip(header).and_then(|(all, at)| all[at as usize]);
        let there = here.or(self.info.max_registers).map(|n| n as usize - OTHERS.min(n as usize));
        self.room.min(there.unwrap_or(self.room))
    }
}

/// An instruction that a loop leaves alone.
struct Invariant {
    id: InstId,
    block: BlockId,
    /// The outermost loop that it may stand before: an index in [`Loops::all`].
    of: usize,
    /// Those of the list that it reads.
    reads: SmallVec<[u32; 4]>,
    /// It stays where it is.
    stays: bool,
}

struct Search<'a, 'w> {
    body: &'a Body<'w>,
    flow: &'a ControlFlow,
    loops: &'a Loops,
    map: &'a CellMap,
    info: &'a FunctionInfo,
    fixed: Fixed,
    /// By loop what of memory changes in it.
    changes: Scratch<Vec<Changes>>,
    /// By loop, whether a thread may end in it, or in what it calls: an edge that is none.
    ends: Scratch<Vec<bool>>,
    /// Cells of uniform registers that some loop writes.
    uniform: Scratch<BitVec>,
    /// By cell: 1 + the innermost loop that computes it, as far as that is known and once the
    /// instructions found are moved; 0 for what stands in none.
    home: Scratch<Vec<u32>>,
    /// By cell: 1 + the place in `found` of what computes it.
    by: Scratch<Vec<u32>>,
    found: Scratch<Vec<Invariant>>,
}

impl<'a, 'w> Search<'a, 'w> {
    fn of(
        body: &'a Body<'w>,
        flow: &'a ControlFlow,
        map: &'a CellMap,
        info: &'a FunctionInfo,
    ) -> Search<'a, 'w> {
        let loops = flow.loops();
        let mut changes = scratch!(Vec<Changes>; 0; loops.all.len());
        let mut ends = scratch!(Vec<bool>; false; loops.all.len());
        let mut uniform = scratch!(BitVec).fill_with(false, map.count());
        for block in body.layout() {
            let Some(at) = loops.innermost[block.0 as usize] else { continue };
            let insts = body.block(*block).insts();
            for (n, id) in insts.iter().enumerate() {
                changes[at] |= places::changes(body, insts, n);
                let inst = body.inst(*id);
                ends[at] |= may_end(inst);
                inst.for_each_def(|r| {
                    if matches!(r.reg.file(), RegFile::UR | RegFile::UP) {
                        map.cells(r).for_each(|cell| uniform.set(cell as usize, true));
                    }
                });
            }
        }
        for at in (0..loops.all.len()).rev() {
            if let Some(parent) = loops.all[at].parent {
                changes[parent] |= changes[at];
                ends[parent] |= ends[at];
            }
        }
        let fixed = Fixed::of(body);
        let home = scratch!(Vec<u32>; 0; map.count());
        let by = scratch!(Vec<u32>; 0; map.count());
        let found = scratch!(Vec<Invariant>);
        Search { body, flow, loops, map, info, fixed, changes, ends, uniform, home, by, found }
    }

    /// All of them, each behind those that it reads.
    fn all(mut self) -> Scratch<Vec<Invariant>> {
        for block in self.flow.reverse_postorder() {
            let Some(inner) = self.loops.innermost[*block as usize] else { continue };
            for id in self.body.block(BlockId(*block)).insts() {
                let inst = self.body.inst(*id);
                let of = self.before(inst, *block, inner);
                let home = match of {
                    Some(of) => self.loops.all[of].parent.map_or(0, |parent| parent as u32 + 1),
                    None => inner as u32 + 1,
                };
                let Search { map, home: homes, by, found, .. } = &mut self;
                if let Some(of) = of {
                    let mut reads = SmallVec::new();
                    inst.for_each_use(|r| {
                        reads.extend(map.cells(r).filter_map(|c| by[c as usize].checked_sub(1)));
                    });
                    let block = BlockId(*block);
                    found.push(Invariant { id: *id, block, of, reads, stays: false });
                }
                let place = if of.is_some() { found.len() as u32 } else { 0 };
                inst.for_each_def(|r| {
                    for cell in map.cells(r) {
                        homes[cell as usize] = home;
                        by[cell as usize] = place;
                    }
                });
            }
        }
        self.found
    }

    /// The outermost loop that an instruction of a block may stand before.
    fn before(&self, inst: View<'_>, block: u32, inner: usize) -> Option<usize> {
        if !may_move(inst) || !self.is_left_alone(inst, inner) || !self.writes_values(inst) {
            return None;
        }
        let load = match effects::reads_memory(inst.op) {
            true => Some(places::access(inst, self.info).filter(|access| access.is_load)?),
            false if is_worth_it(inst) => None,
            false => return None,
        };
        let dominators = self.flow.dominators();
        let (mut at, mut found, mut next) = (block, None, Some(inner));
        while let Some(of) = next {
            let around = &self.loops.all[of];
            let each_round = around.latches.iter().all(|l| dominators.dominates(at, *l));
            // What control enters a function by can have nothing before it.
            if !each_round
                || around.entries.is_empty()
                || of != inner && !self.is_left_alone(inst, of)
            {
                break;
            }
            if let Some(load) = load {
                let mut exits = around.exits.iter();
                if self.ends[of]
                    || places::changes_space(self.changes[of], load.space)
                    || !exits.all(|(from, _)| dominators.dominates(at, *from))
                {
                    break;
                }
            }
            (at, found, next) = (around.header, Some(of), around.parent);
        }
        found
    }

    fn writes_values(&self, inst: View<'_>) -> bool {
        let mut values = inst.defs > 0;
        inst.for_each_def(|r| values &= self.is_value(r));
        values
    }

    fn is_value(&self, r: RegUse) -> bool {
        r.reg.vreg().is_some_and(|v| is_value(self.body, &self.fixed, v))
    }

    /// Whether a loop writes nothing that an instruction reads.
    fn is_left_alone(&self, inst: View<'_>, of: usize) -> bool {
        let mut alone = true;
        inst.for_each_use(|r| {
            alone &= match r.reg.file() {
                RegFile::UR | RegFile::UP => {
                    r.reg.vreg().is_some()
                        && !self.map.cells(r).any(|cell| self.uniform[cell as usize])
                }
                _ => self.is_value(r) && !self.map.cells(r).any(|cell| self.is_inside(cell, of)),
            };
        });
        alone
    }

    /// Whether a value is computed in a loop, or in one of those in it.
    fn is_inside(&self, cell: Cell, of: usize) -> bool {
        let depth = self.loops.all[of].depth;
        let mut home = self.home[cell as usize].checked_sub(1).map(|home| home as usize);
        while let Some(at) = home.filter(|at| self.loops.all[*at].depth > depth) {
            home = self.loops.all[at].parent;
        }
        home == Some(of)
    }
}

/// Whether a thread may end there.
fn may_end(inst: View<'_>) -> bool {
    inst.op == Opcode::PCALL || inst.op.is_branch() && edges::targets(inst).next().is_none()
}

/// Whether an instruction only computes or loads, always.
fn may_move(inst: View<'_>) -> bool {
    let computes = effects::is_pure(inst.op) && effects::may_be_speculated(inst.op);
    (computes || effects::reads_memory(inst.op))
        && inst.guard.is_always()
        && !inst.op.has(Props::UNIFORM)
        && inst.op != Opcode::MOVPHI
}

/// Whether to keep a value is less than to compute it again: constants and copies are not.
fn is_worth_it(inst: View<'_>) -> bool {
    (!effects::may_be_repeated(inst) || inst.op.has(Props::SPECIAL))
        && effects::as_copy(inst).is_none()
        && !effects::reads_what_changes(inst)
}

/// By place in the list: whether something that stays where it is reads the result, or something
/// that goes less far.
fn wanted(
    body: &Body<'_>,
    flow: &ControlFlow,
    map: &CellMap,
    found: &[Invariant],
) -> Scratch<Vec<bool>> {
    let mut of = scratch!(Vec<u32>; 0; map.count());
    let mut goes = scratch!(Vec<u32>; 0; body.inst_count());
    for (place, invariant) in (1..).zip(found) {
        goes[invariant.id.0 as usize] = place;
        let inst = body.inst(invariant.id);
        inst.for_each_def(|r| map.cells(r).for_each(|cell| of[cell as usize] = place));
    }
    let depth = |place: u32| flow.loops().all[found[place as usize - 1].of].depth;
    let mut wanted = scratch!(Vec<bool>; false; found.len());
    for block in body.layout() {
        for id in body.block(*block).insts() {
            let reader = goes[id.0 as usize];
            body.inst(*id).for_each_use(|r| {
                for cell in map.cells(r) {
                    let place = of[cell as usize];
                    if place != 0 && (reader == 0 || depth(reader) > depth(place)) {
                        wanted[place as usize - 1] = true;
                    }
                }
            });
        }
    }
    wanted
}

/// The loops that have no room for what is to come before them; nothing where all have.
fn full(
    body: &Body<'_>,
    flow: &ControlFlow,
    analyses: &mut Analyses,
    (found, wanted): (&[Invariant], &[bool]),
    room: &Room<'_>,
) -> Scratch<Vec<bool>> {
    let file = RegFile::R;
    let loops = flow.loops();
    let cells = |of: &Invariant| {
        let mut cells = 0;
        body.inst(of.id).for_each_def(|r| {
            cells += if r.reg.file() == file { usize::from(r.count) } else { 0 };
        });
        cells
    };
    let mut more = scratch!(Vec<usize>; 0; loops.all.len());
    let mut all = 0;
    for (of, _) in found.iter().zip(wanted).filter(|(of, wanted)| **wanted && !of.stays) {
        more[of.of] += cells(of);
        all += cells(of);
    }
    let mut is_full = scratch!(Vec<bool>);
    if all == 0 || pressure::at_most(body, &analyses.cells(body), file) + all <= room.least() {
        return is_full;
    }
    let liveness = analyses.liveness(body);
    let mut cursor = liveness.cells();
    let mut most = scratch!(Vec<usize>; 0; loops.all.len());
    for block in body.layout() {
        if let Some(at) = loops.innermost[block.0 as usize] {
            let here = pressure::most_live(body, (&liveness, &mut cursor), file, *block);
            most[at] = most[at].max(here);
        }
    }
    // What comes before a loop is there in all that are in it.
    is_full.resize(loops.all.len(), false);
    for at in (0..loops.all.len()).rev() {
        if let Some(parent) = loops.all[at].parent {
            most[parent] = most[parent].max(most[at]);
        }
    }
    for at in 0..loops.all.len() {
        let around = loops.all[at].parent.map_or(0, |parent| more[parent]);
        more[at] += around;
        is_full[at] = most[at] + more[at] > room.of(Some(loops.all[at].header));
    }
    // A loop that is full fills those around it: what would come before them comes before it, too.
    for at in (0..loops.all.len()).rev() {
        if let Some(parent) = loops.all[at].parent.filter(|_| is_full[at]) {
            is_full[parent] = true;
        }
    }
    is_full
}

/// Some stay, and what reads them.
fn stay(found: &mut [Invariant], is_to: impl Fn(usize, &Invariant) -> bool) {
    for at in 0..found.len() {
        let of = &found[at];
        let reads = of.reads.iter().any(|read| found[*read as usize].stays);
        let stays = of.stays || reads || is_to(at, of);
        found[at].stays = stays;
    }
}

/// Moves them to the ends of the blocks before their loops, which are made where there are none.
fn hoist(body: &mut Body<'_>, loops: &Loops, found: &[Invariant]) {
    let mut goes = scratch!(Vec<bool>; false; body.inst_count());
    let mut blocks = scratch!(Vec<BlockId>);
    let mut first = scratch!(Vec<Option<BlockId>>; None; loops.all.len());
    let mut edit = FlowEdit::of(body);
    for of in found {
        goes[of.id.0 as usize] = true;
        if blocks.last() != Some(&of.block) {
            blocks.push(of.block);
        }
        if first[of.of].is_none() {
            first[of.of] = Some(preheader(body, &mut edit, &loops.all[of.of]));
        }
    }
    edit.finish(body);
    blocks.sort_unstable();
    blocks.dedup();
    for block in blocks.iter() {
        let insts = scratch!(Vec<InstId>).with(body.unlink(*block));
        insts.iter().filter(|id| !goes[id.0 as usize]).for_each(|id| body.append(*block, *id));
    }
    let mut order = scratch!(Vec<u32>).with(0..found.len() as u32);
    order.sort_by_key(|at| found[*at as usize].of);
    for same in order.chunk_by(|a, b| found[*a as usize].of == found[*b as usize].of) {
        let Some(to) = first[found[same[0] as usize].of] else { continue };
        let end = edges::first_branch(body, to);
        let mut insts = scratch!(Vec<InstId>).with(body.unlink(to));
        let behind = insts.split_off(end);
        insts.extend(same.iter().map(|at| found[*at as usize].id));
        insts.iter().chain(&behind).for_each(|id| body.append(to, *id));
    }
}

/// The block before a loop that leads only there.
fn preheader(body: &mut Body<'_>, edit: &mut FlowEdit, of: &Loop) -> BlockId {
    match of.preheader {
        Some(block) => BlockId(block),
        None => {
            let entries: SmallVec<[BlockId; 4]> =
                of.entries.iter().map(|entry| BlockId(*entry)).collect();
            edit.lead_through(body, &entries, BlockId(of.header))
        }
    }
}
