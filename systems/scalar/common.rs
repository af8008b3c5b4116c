//! Common subexpressions within a block: local value numbering.
//!
//! Phase `GvnCse` in the reference works on the whole function; this one looks at one block at a
//! time, where registers with several definitions are no trouble: an expression is known as long as
//! neither its operands nor its result are written.

use crate::analysis::Analyses;
use crate::analysis::liveness::CellMap;
use crate::effects;
use crate::notes::Notes;
use crate::parallel;
use crate::params::Write;
use bitvec::vec::BitVec;
use hashbrown::HashTable;
use orias_components::scratch;
use orias_components::scratch::Empty;
use orias_components::{
    Body, Code, Inst, InstId, Mod, ModsId, Opcode, Operand, Props, RegFile, RegFlags, RegUse, View,
};
use rustc_hash::FxBuildHasher;
use smallvec::smallvec;
use std::hash::BuildHasher;

/// An expression, but for its operands: with the same of them it gives the same value.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    op: Opcode,
    mods: ModsId,
    /// Where the result stands among the destinations.
    at: u8,
}

/// An expression whose value is in a register.
struct Known {
    key: Key,
    hash: u64,
    /// The first instruction that computes it, which has its operands: those after it may become
    /// copies.
    by: InstId,
    to: RegUse,
    since: u32,
}

/// The expressions of a block. A block may have any number of them.
#[derive(Default)]
struct Table {
    /// Indices of `all`.
    places: HashTable<u32>,
    all: Vec<Known>,
}

impl Empty for Table {
    fn empty(&mut self) {
        self.places.clear();
        self.all.clear();
    }
    fn bytes(&self) -> usize {
        self.places.allocation_size() + self.all.bytes()
    }
}

impl Table {
    fn find(&self, body: &Body<'_>, hash: u64, key: Key, operands: &[Operand]) -> Option<u32> {
        let same = |i: &u32| {
            let known = &self.all[*i as usize];
            known.key == key && body.inst(known.by).sources().eq(operands.iter().copied())
        };
        self.places.find(hash, same).copied()
    }

    fn insert(&mut self, new: Known) {
        let Table { places, all } = self;
        places.insert_unique(new.hash, all.len() as u32, |i| all[*i as usize].hash);
        all.push(new);
    }
}

/// Phase `GvnCse`: a value that is computed again becomes a copy of the first.
pub fn local_value_numbering(
    code: Code<'_>,
    mut analyses: Write<'_, Analyses>,
    mut notes: Notes<'_>,
) {
    let mut body = code.body();
    let map = analyses.cells(&body);
    let mut found = 0;
    // When each cell was written last; what is known was true at a time, and is as long as nothing
    // was written since.
    let mut written = scratch!(Vec<u32>; 0; map.count());
    let mut now = 0;
    let mut insts = scratch!(Vec<InstId>);
    let mut known = scratch!(Table);
    let mut operands = scratch!(Vec<Operand>);
    let mut again = scratch!(Vec<bool>);
    for &block in body.walk().iter() {
        known.empty();
        insts.clear();
        insts.extend_from_slice(body.block(block).insts());
        let is_long = insts.len() >= LONG_BLOCK;
        if is_long {
            find_again(&body, &insts, &mut again);
        }
        for (at, &id) in insts.iter().enumerate() {
            now += 1;
            operands.clear();
            let may_be_known = !is_long || again[at];
            let expression =
                may_be_known.then(|| expression(body.inst(id), &mut operands)).flatten();
            let Some((key, to)) = expression else {
                let mut write = |r: RegUse| map.cells(r).for_each(|c| written[c as usize] = now);
                body.inst(id).for_each_def(&mut write);
                continue;
            };
            let hash = hash_of(key, &operands);
            let place = known.find(&body, hash, key, &operands);
            let entry = place.map(|i| &known.all[i as usize]).map(|e| (e.to, e.since));
            let entry = entry.filter(|e| holds(&map, &written, &operands, *e));
            if let Some((from, _)) = entry
                && to.count == from.count
                && (to.reg != from.reg || to.cell == from.cell)
            {
                found += 1;
                become_copy(&mut body, block, id, to, from);
            }
            let mut write = |r: RegUse| map.cells(r).for_each(|c| written[c as usize] = now);
            body.inst(id).for_each_def(&mut write);
            write(to);
            // An expression that overwrites its own operand is no longer known; one that is known
            // stays so.
            let mut own = false;
            for o in &operands {
                o.for_each_reg(|r| own |= map.cells(r).any(|c| written[c as usize] == now));
            }
            if !own && !entry.is_some_and(|e| holds(&map, &written, &operands, e)) {
                match place {
                    Some(i) => {
                        let known = &mut known.all[i as usize];
                        (known.to, known.since) = (to, now);
                    }
                    None => known.insert(Known { key, hash, by: id, to, since: now }),
                }
            }
        }
    }
    notes.count(found);
}

/// Instructions of a block in which most expressions are found to be there once before any of them
/// is kept: a table of all would be larger than the processor's cache.
const LONG_BLOCK: usize = 1 << 12;

fn hash_of(key: Key, operands: &[Operand]) -> u64 {
    FxBuildHasher.hash_one((key, operands))
}

/// Which of a long block's instructions are expressions that may be there more than once: of all
/// that are, and of few others, those whose hashes happen to be alike.
fn find_again(body: &Body<'_>, insts: &[InstId], again: &mut Vec<bool>) {
    // 0 for what is no expression.
    let mut hashes = scratch!(Vec<u32>; 0; insts.len());
    let fill = |start: usize, hashes: &mut [u32]| {
        let mut operands = scratch!(Vec<Operand>);
        for (hash, id) in hashes.iter_mut().zip(&insts[start..]) {
            operands.clear();
            if let Some((key, _)) = expression(body.inst(*id), &mut operands) {
                *hash = (hash_of(key, &operands) >> 32) as u32 | 1;
            }
        }
    };
    if parallel::has_help(insts.len()) {
        parallel::fill(&mut hashes, fill);
    } else {
        fill(0, &mut hashes);
    }
    // A bit for each of some hashes that are alike, and of these one for what came twice: few bits,
    // which stay in the cache.
    let bits = (insts.len() * 8).next_power_of_two();
    let mut once = scratch!(BitVec; false; bits);
    let mut twice = scratch!(BitVec; false; bits);
    let place = |hash: u32| (hash >> 1) as usize & (bits - 1);
    for hash in hashes.iter().filter(|hash| **hash != 0) {
        if once.replace(place(*hash), true) {
            twice.set(place(*hash), true);
        }
    }
    again.clear();
    again.extend(hashes.iter().map(|hash| *hash != 0 && twice[place(*hash)]));
}

/// Phase `LateOriCommoning`: the same for what came of macro instructions since. A system of its
/// own, for there is something new even where the first found nothing.
///
/// Functions without any are left alone. There it found 31 instructions in four kernels of the
/// corpus, 21 of them in one, which then took two registers more; and it took a hundredth of the
/// time.
pub fn late_commoning(code: Code<'_>, analyses: Write<'_, Analyses>, notes: Notes<'_>) {
    local_value_numbering(code, analyses, notes);
}

/// Whether nothing has written an expression's operands, or the register with its value, since it
/// was made.
fn holds(map: &CellMap, written: &[u32], operands: &[Operand], (to, since): (RegUse, u32)) -> bool {
    let is_old = |r: RegUse| map.cells(r).all(|c| written[c as usize] <= since);
    let mut all = is_old(to);
    for operand in operands {
        operand.for_each_reg(|r| all &= is_old(r));
    }
    all
}

/// The instruction as an expression with one result in file R, when it is one; adds its operands.
fn expression(inst: View<'_>, operands: &mut Vec<Operand>) -> Option<(Key, RegUse)> {
    // A copy is copy propagation's matter.
    let is_left = inst.op.has(Props::UNIFORM) || inst.op == Opcode::MOV;
    if !effects::is_pure(inst.op) || is_left || !inst.guard.is_always() {
        return None;
    }
    let mut results = inst.dests().filter(|o| *o != Operand::PT && *o != Operand::RZ);
    let (Some(Operand::Reg(to)), None) = (results.next(), results.next()) else { return None };
    if to.reg.vreg().is_none() || to.reg.file() != RegFile::R || to.flags != RegFlags::NONE {
        return None;
    }
    if effects::reads_what_changes(inst) {
        return None;
    }
    let at = inst.dests().position(|o| matches!(o, Operand::Reg(r) if r == to))?;
    operands.extend(inst.sources());
    Some((Key { op: inst.op, mods: inst.mods_id(), at: at as u8 }, to))
}

/// Replaces the instruction by copies of each cell.
fn become_copy(
    body: &mut Body<'_>,
    block: orias_components::BlockId,
    id: InstId,
    to: RegUse,
    from: RegUse,
) {
    let copy = |i: u8| {
        let cell = |r: RegUse| Operand::Reg(RegUse::at(r.reg, r.cell + i, 1));
        Inst {
            operands: smallvec![cell(to), cell(from), Operand::Imm(0xf)],
            ..Inst::new(Opcode::MOV, &[] as &[Mod], 1, &[])
        }
    };
    let loc = body.loc(id);
    body.set_inst(id, &copy(0));
    for i in 1..to.count {
        let at = body.block(block).insts().iter().position(|i| *i == id).unwrap_or(0);
        body.insert(block, at + i as usize, copy(i), loc);
    }
}
