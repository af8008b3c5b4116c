//! Comparisons stand before the one instruction that reads them, where more of them
//! wait for that than there are predicates.
//!
//! A predicate that finds no register goes through a general one: two instructions more for each
//! (ptxas 13.0.88 has its comparisons before their readers where there are many). What a comparison
//! reads is needed longer then; of general registers there are more.

use super::values::{Values, plain};
use crate::analysis::Analyses;
use crate::analysis::liveness::{Cell, CellMap, LiveCells, Liveness};
use crate::ssa::{Fixed, is_value};
use bitvec::vec::BitVec;
use orias_components::scratch::Scratch;
use orias_components::{
    BlockId, Body, InstId, Opcode, Operand, RegFile, RegUse, VRegId, View, scratch,
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Predicates of the machine, less one for what is made later.
const ROOM: usize = 6;

/// So many comparisons move together, each of which the next one reads.
const CHAIN: u8 = 8;

/// So many readers before its own a comparison stands: to read it at once would be to wait for it.
const LEAD: usize = 3;

/// What is to stand before an instruction, in the order of the code.
type Before = FxHashMap<InstId, SmallVec<[InstId; 4]>>;

/// How many comparisons have moved, of a body in SSA form.
pub(super) fn sink_comparisons(body: &mut Body<'_>, analyses: &mut Analyses) -> usize {
    let all = (0..body.vreg_count() as u32).map(VRegId);
    let predicates = all.filter(|id| body.vreg(*id).file == RegFile::P).count();
    if predicates <= ROOM || at_most(body, &analyses.cells(body), RegFile::P) <= ROOM {
        return 0;
    }
    let liveness = analyses.liveness(body);
    let mut live = liveness.cells();
    let crowded = body.layout().iter().copied();
    let crowded =
        crowded.filter(|block| most_live(body, (&liveness, &mut live), RegFile::P, *block) > ROOM);
    let crowded = scratch!(Vec<BlockId>).with(crowded);
    if crowded.is_empty() {
        return 0;
    }
    let map = analyses.cells(body);
    let (values, fixed) = (Values::of(body, &map, |_, _, _| {}), Fixed::of(body));
    let plans = scratch!(Vec<(BlockId, Before)>)
        .with(crowded.iter().map(|block| (*block, plan(body, &values, &fixed, *block))));
    let mut count = 0;
    for (block, before) in &plans {
        let mut sorted = scratch!(Vec<InstId>).with(before.values().flatten().copied());
        sorted.sort_unstable();
        let mut order = scratch!(Vec<InstId>);
        for id in body.block(*block).insts() {
            if sorted.binary_search(id).is_err() {
                put(before, &mut order, *id);
            }
        }
        body.reorder(*block, &order);
        count += sorted.len();
    }
    count
}

/// An instruction with what is to stand before it.
fn put(before: &Before, order: &mut Vec<InstId>, id: InstId) {
    before.get(&id).into_iter().flatten().for_each(|id| put(before, order, *id));
    order.push(id);
}

/// No more registers of a file than this are live anywhere: those that come from another block, and
/// the most of a block's own. One walk, where liveness takes many.
pub(super) fn at_most(body: &Body<'_>, map: &CellMap, file: RegFile) -> usize {
    let mut live = scratch!(BitVec).fill_with(false, map.count());
    let mut across = scratch!(BitVec).fill_with(false, map.count());
    let mut read = scratch!(Vec<usize>);
    let mut most = 0;
    for block in body.layout() {
        let mut now = 0_usize;
        for id in body.block(*block).insts().iter().rev() {
            let inst = body.inst(*id);
            let of_file = |r: RegUse| {
                let cells = (r.reg.file() == file).then(|| map.cells(r));
                cells.into_iter().flatten().map(|cell| cell as usize)
            };
            inst.for_each_def(|r| {
                of_file(r).for_each(|c| now -= usize::from(live.replace(c, false)));
            });
            inst.for_each_use(|r| {
                for cell in of_file(r) {
                    if !live.replace(cell, true) {
                        now += 1;
                        read.push(cell);
                    }
                }
            });
            most = most.max(now);
        }
        for cell in read.drain(..) {
            if live.replace(cell, false) {
                across.set(cell, true);
            }
        }
    }
    most + across.count_ones()
}

/// The most registers of a file that are live at once in a block.
pub(super) fn most_live(
    body: &Body<'_>,
    live: (&Liveness, &mut LiveCells),
    file: RegFile,
    block: BlockId,
) -> usize {
    let mut most = 0;
    each_live(body, live, file, block, |now| most = most.max(now));
    most
}

/// By place in a block, its end among them: the last place up to there before which more registers
/// of a file are live than there is room for.
pub(super) fn crowds(
    body: &Body<'_>,
    live: (&Liveness, &mut LiveCells),
    (file, room): (RegFile, usize),
    block: BlockId,
) -> Scratch<Vec<Option<usize>>> {
    let mut crowds = scratch!(Vec<Option<usize>>);
    let mut at = body.block(block).insts().len() + 1;
    each_live(body, live, file, block, |now| {
        at -= 1;
        crowds.push((now > room).then_some(at));
    });
    crowds.reverse();
    let mut last = None;
    for crowd in crowds.iter_mut() {
        *crowd = crowd.or(last);
        last = *crowd;
    }
    crowds
}

/// How many registers of a file are live at the end of a block and before each of its instructions,
/// from the last one to the first.
fn each_live(
    body: &Body<'_>,
    (liveness, live): (&Liveness, &mut LiveCells),
    file: RegFile,
    block: BlockId,
    mut see: impl FnMut(usize),
) {
    let map = &liveness.map;
    let is_of_file = |cell: &Cell| map.vreg(*cell).is_some_and(|(v, _)| body.vreg(v).file == file);
    live.start(liveness, block);
    let mut now = liveness.live_out(block).filter(is_of_file).count();
    see(now);
    for id in body.block(block).insts().iter().rev() {
        let inst = body.inst(*id);
        let (mut gone, mut came) = (SmallVec::<[Cell; 8]>::new(), SmallVec::<[Cell; 8]>::new());
        let cells = |r: RegUse| map.cells(r).filter(move |_| r.reg.file() == file);
        if inst.guard.is_always() {
            inst.for_each_def(|r| gone.extend(cells(r).filter(|c| live.contains(*c))));
        }
        inst.for_each_use(|r| {
            for cell in cells(r) {
                let is_new = !live.contains(cell) || gone.contains(&cell);
                came.extend((is_new && !came.contains(&cell)).then_some(cell));
            }
        });
        now = now + came.len() - gone.len();
        see(now);
        live.step_back(map, inst);
    }
}

/// Which comparisons are to stand before which instructions of a block.
fn plan(body: &Body<'_>, values: &Values<'_>, fixed: &Fixed, block: BlockId) -> Before {
    let insts = body.block(block).insts();
    let mut readers = scratch!(FxHashMap<RegUse, usize>);
    // The first place behind the one that is looked at which gives a phi something.
    let mut gives = insts.len();
    // What moves, with how many of those that read it do so.
    let (mut before, mut moved) = (Before::default(), scratch!(FxHashMap<InstId, u8>));
    for (at, id) in insts.iter().enumerate().rev() {
        let inst = body.inst(*id);
        let reader = comparison(inst).and_then(|r| readers.get(&r).copied().map(|at| (r, at)));
        if let Some((r, reader)) = reader
            && values.reads(r) == 1
            && let behind = moved.get(&insts[reader]).copied().unwrap_or(0)
            && (behind > 0 || reader > at + 1)
            && behind < CHAIN
            && reads_values(body, fixed, inst)
            && (gives >= reader || !values.reads_of_phi(inst))
        {
            before.entry(insts[reader]).or_default().insert(0, *id);
            moved.insert(*id, behind + 1);
        }
        if values.writes_of_phi(inst) {
            gives = at;
        }
        if inst.op != Opcode::MOVPHI {
            inst.for_each_use(|r| {
                if r.reg.file() == RegFile::P {
                    readers.insert(RegUse::at(r.reg, r.cell, r.count), at);
                }
            });
        }
    }
    ahead(insts, &moved, before)
}

/// Whether what an instruction reads is the same wherever it stands.
fn reads_values(body: &Body<'_>, fixed: &Fixed, inst: View<'_>) -> bool {
    let mut all = true;
    inst.for_each_use(|r| {
        all &= matches!(r.reg.file(), RegFile::R | RegFile::P)
            && r.reg.vreg().is_some_and(|v| is_value(body, fixed, v));
    });
    all
}

/// The same with each comparison some readers ahead of its own, as far as it may stand there.
fn ahead(insts: &[InstId], moved: &FxHashMap<InstId, u8>, mut before: Before) -> Before {
    let mut places = scratch!(FxHashMap<InstId, usize>);
    places.extend(insts.iter().enumerate().map(|(at, id)| (*id, at)));
    let is_reader = |id: &&InstId| before.contains_key(*id) && !moved.contains_key(*id);
    let readers = scratch!(Vec<InstId>).with(insts.iter().filter(is_reader).copied());
    for (at, reader) in readers.iter().enumerate().skip(1) {
        let own = before.remove(reader).unwrap_or_default();
        for id in own {
            let from = places[&id];
            let mut to = at.saturating_sub(LEAD);
            while places[&readers[to]] < from {
                to += 1;
            }
            before.entry(readers[to]).or_default().push(id);
        }
    }
    before
}

/// The predicate that is all that a comparison gives.
fn comparison(inst: View<'_>) -> Option<RegUse> {
    let is_comparison = matches!(
        inst.op,
        Opcode::ISETP | Opcode::FSETP | Opcode::DSETP | Opcode::HSETP2 | Opcode::PLOP3
    );
    if !is_comparison || !inst.guard.is_always() {
        return None;
    }
    let mut results = inst.dests().filter(|result| *result != Operand::PT);
    let (Some(result), None) = (results.next(), results.next()) else { return None };
    plain(&result).map(|r| RegUse::at(r.reg, r.cell, r.count))
}
