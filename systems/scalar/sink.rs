//! Comparisons stand before the one instruction that reads them, where more of them
//! wait for that than there are predicates.
//!
//! A predicate that finds no register goes through a general one: two instructions more for each
//! (ptxas 13.0.88 has its comparisons before their readers where there are many). What a comparison
//! reads is needed longer then; of general registers there are more.

use super::values::{Values, plain};
use crate::analysis::Analyses;
use crate::analysis::pressure::{at_most, most_live};
use crate::ssa::{Fixed, is_value};
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
