//! Value numbering: what is computed again where it is known already becomes a copy.
//!
//! In SSA form an expression is known in its block, behind it, and in all blocks that its block
//! dominates; the walk goes down the dominator tree with a table of what is known on the way. Two
//! are the same if their operands are, where copies stand for what they copy: what a copy was made
//! of counts from there on, so that a whole chain is found in one walk. Loads are expressions too,
//! of what their space holds ([`places`]), and what is stored is known as what would be loaded.

use crate::analysis::Analyses;
use crate::analysis::liveness::CellMap;
use crate::build::plop3;
use crate::effects;
use crate::function::FunctionInfo;
use crate::memory::places::{self, Access, Numbers};
use crate::notes::Notes;
use crate::parallel;
use crate::params::{Read, Write};
use crate::ssa::{Fixed, is_value};
use bitvec::vec::BitVec;
use hashbrown::HashTable;
use orias_components::scratch;
use orias_components::scratch::Empty;
use orias_components::scratch::Scratch;
use orias_components::{
    BlockId, Body, Code, Guard, Inst, InstId, Loc, MemRef, Mod, ModsId, Opcode, Operand, Props,
    Reg, RegFile, RegFlags, RegUse, View,
};
use rustc_hash::FxBuildHasher;
use smallvec::{SmallVec, smallvec};
use std::hash::BuildHasher;
use std::sync::Arc;

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
    /// Where its operands begin and end among all.
    operands: (u32, u32),
    to: RegUse,
}

/// The expressions that are known, the latest last.
#[derive(Default)]
struct Table {
    /// Indices of `all`.
    places: HashTable<u32>,
    all: Vec<Known>,
    operands: Vec<Operand>,
}

impl Empty for Table {
    fn empty(&mut self) {
        self.places.clear();
        self.all.clear();
        self.operands.clear();
    }
    fn bytes(&self) -> usize {
        self.places.allocation_size() + self.all.bytes() + self.operands.bytes()
    }
}

impl Table {
    /// Makes room for those of so many instructions.
    fn expect(&mut self, insts: usize) {
        let Table { places, all, operands } = self;
        all.reserve(insts);
        places.reserve(insts, |i| all[*i as usize].hash);
        operands.reserve(3 * insts);
    }

    fn find(&self, hash: u64, key: Key, operands: &[Operand]) -> Option<(usize, RegUse)> {
        let same = |i: &u32| {
            let known = &self.all[*i as usize];
            let (start, end) = known.operands;
            known.key == key && self.operands[start as usize..end as usize] == *operands
        };
        // The latest: one from another block may be no use here, and is there again then. Which
        // comes first in the table follows from its size, which is of the functions before.
        let latest = self.places.iter_hash(hash).filter(|i| same(i)).max();
        latest.map(|i| (*i as usize, self.all[*i as usize].to))
    }

    fn insert(&mut self, hash: u64, key: Key, operands: &[Operand], to: RegUse) {
        let start = self.operands.len() as u32;
        self.operands.extend_from_slice(operands);
        let operands = (start, self.operands.len() as u32);
        let Table { places, all, .. } = self;
        places.insert_unique(hash, all.len() as u32, |i| all[*i as usize].hash);
        all.push(Known { key, hash, operands, to });
    }

    /// Forgets what came behind the first so many.
    fn forget(&mut self, left: usize) {
        for at in (left..self.all.len()).rev() {
            let known = &self.all[at];
            if let Ok(entry) = self.places.find_entry(known.hash, |i| *i as usize == at) {
                entry.remove();
            }
            self.operands.truncate(known.operands.0 as usize);
        }
        self.all.truncate(left);
    }
}

/// By cell of a value what stands for it: what it is a copy of.
struct Leaders {
    map: Arc<CellMap>,
    fixed: Fixed,
    of: Scratch<Vec<Option<(Reg, u8)>>>,
}

impl Leaders {
    fn of(body: &Body<'_>, map: Arc<CellMap>) -> Leaders {
        let of = scratch!(Vec<Option<(Reg, u8)>>; None; map.count());
        Leaders { fixed: Fixed::of(body), map, of }
    }

    fn is_value(&self, body: &Body<'_>, reg: Reg) -> bool {
        reg.is_zero() || reg.vreg().is_some_and(|v| is_value(body, &self.fixed, v))
    }

    /// What stands for a register as it is read.
    fn leader(&self, r: RegUse) -> RegUse {
        if r.reg.is_zero() {
            return r;
        }
        let mut cells = self.map.cells(r).map(|c| self.of[c as usize]);
        let Some(Some((reg, cell))) = cells.next() else { return r };
        let goes_on = |(i, next): (u8, Option<(Reg, u8)>)| next == Some((reg, cell + i));
        match (1..).zip(cells).all(goes_on) {
            true => RegUse { reg, cell, ..r },
            false => r,
        }
    }

    /// From now on `from` stands for `to`.
    fn lead(&mut self, to: RegUse, from: RegUse) {
        let from = self.leader(from);
        for (i, cell) in (0..).zip(self.map.cells(to)) {
            self.of[cell as usize] = Some((from.reg, from.cell + i));
        }
    }
}

/// Phase `GvnCse`: a value that is computed again becomes a copy of the first.
pub fn global_value_numbering(
    code: Code<'_>,
    info: Read<'_, FunctionInfo>,
    mut analyses: Write<'_, Analyses>,
    mut notes: Notes<'_>,
) {
    notes.count(number_values(&mut code.body(), &info, &mut analyses));
}

/// Instructions of a function for whose expressions there is room from the start: of longer ones
/// most are no expressions that are known at once.
const FEW: usize = 256;

/// How many values are copies now.
pub(super) fn number_values(
    body: &mut Body<'_>,
    info: &FunctionInfo,
    analyses: &mut Analyses,
) -> usize {
    let flow = analyses.flow(body);
    let map = analyses.cells(body);
    let meetings = places::meetings(body, &flow);
    let mut known = scratch!(Table);
    known.expect(body.inst_count().min(FEW));
    let mut walk = Walk {
        leaders: Leaders::of(body, map),
        known,
        insts: scratch!(Vec<InstId>),
        operands: scratch!(Vec<Operand>),
        again: scratch!(Vec<bool>),
        more: scratch!(Vec<(usize, Inst, Loc)>),
        looks_at_memory: meetings.is_some(),
        memory: Numbers::default(),
        last: 0,
        found: 0,
    };
    let below = flow.dominated();
    // Blocks to go into, how many expressions to keep before, and the numbers of memory.
    let mut work = scratch!(Vec<(u32, usize, Numbers)>);
    work.extend(body.layout().first().map(|entry| (entry.0, 0, Numbers::default())));
    while let Some((block, left, memory)) = work.pop() {
        walk.known.forget(left);
        walk.memory = memory;
        let changed = meetings.as_ref().map_or(0, |meetings| meetings[block as usize]);
        walk.memory.change(changed, &mut walk.last);
        walk.block(body, info, BlockId(block));
        let left = walk.known.all.len();
        work.extend(below.iter(block).map(|child| (child, left, walk.memory)));
    }
    walk.found
}

/// What the walk down the dominator tree holds.
struct Walk {
    leaders: Leaders,
    known: Scratch<Table>,
    insts: Scratch<Vec<InstId>>,
    operands: Scratch<Vec<Operand>>,
    again: Scratch<Vec<bool>>,
    /// What a block is to get before places of its own: copies behind the first of a wide value.
    more: Scratch<Vec<(usize, Inst, Loc)>>,
    looks_at_memory: bool,
    memory: Numbers,
    /// The last number that a space got.
    last: u32,
    found: usize,
}

impl Walk {
    fn block(&mut self, body: &mut Body<'_>, info: &FunctionInfo, block: BlockId) {
        let mut insts = std::mem::take(&mut self.insts);
        insts.clear();
        insts.extend_from_slice(body.block(block).insts());
        let is_long = insts.len() >= LONG_BLOCK;
        if is_long {
            find_again(body, &insts, &mut self.again);
        }
        let start = self.known.all.len();
        for (at, &id) in insts.iter().enumerate() {
            let inst = body.inst(id);
            if let Some(copy) = effects::as_copy(inst).filter(|_| inst.guard.is_always()) {
                let plain = copy.from.flags == RegFlags::NONE && copy.to.flags == RegFlags::NONE;
                let is_value = |r: RegUse| self.leaders.is_value(body, r.reg);
                if plain && is_value(copy.from) && is_value(copy.to) && !copy.to.reg.is_zero() {
                    self.leaders.lead(copy.to, copy.from);
                }
                continue;
            }
            if self.looks_at_memory && places::may_access(inst.op) {
                let changed = places::changes(body, &insts, at);
                if changed != 0 {
                    self.memory.change(changed, &mut self.last);
                }
                if let Some(access) = places::access(inst, info) {
                    self.access(body, id, at, access);
                    continue;
                }
            }
            if !is_long || self.again[at] {
                self.value(body, id, at, start);
            }
        }
        body.insert_all(block, self.more.drain(..));
        self.insts = insts;
    }

    /// Looks up what an instruction computes, `at` a place of its block, from where on so many
    /// expressions were known.
    fn value(&mut self, body: &mut Body<'_>, id: InstId, at: usize, start: usize) {
        let Walk { leaders, known, operands, found, more, .. } = self;
        operands.clear();
        let Some((key, to)) = expression(body.inst(id), operands) else { return };
        let mut are_values = leaders.is_value(body, to.reg);
        for operand in operands.iter_mut() {
            operand.for_each_reg(|r| are_values &= leaders.is_value(body, r.reg));
            operand.map_regs(|r| leaders.leader(r));
        }
        if !are_values {
            return;
        }
        let hash = hash_of(key, operands);
        // One that begins with constants alone is loaded again in other blocks: to keep it took
        // 2 % more registers of nvcc's modules, and a fifth more spill code.
        let is_first = key.op.has(Props::CONSTANT.with(Props::SPECIAL));
        // Predicates are few.
        let is_predicate = to.reg.file() == RegFile::P;
        let may_keep = |at: usize| at >= start || !is_first && !is_predicate;
        let same = known.find(hash, key, operands);
        match same.filter(|(at, from)| from.count == to.count && may_keep(*at)) {
            Some((_, from)) if is_predicate => {
                *found += 1;
                let [to, from] = [to, from].map(Operand::Reg);
                body.set_inst(id, &plop3(to, [from, Operand::PT, Operand::PT], 0x80));
            }
            Some((_, from)) => {
                *found += 1;
                let cells = (0..from.count).map(|i| RegUse::at(from.reg, from.cell + i, 1));
                become_copies(body, more, (id, at), to, cells);
            }
            None => return known.insert(hash, key, operands, to),
        }
        let Some((_, from)) = same else { return };
        leaders.lead(to, from);
    }

    /// Looks up what a load loads, and keeps what an access says of its place.
    fn access(&mut self, body: &mut Body<'_>, id: InstId, at: usize, access: Access) {
        let Walk { leaders, known, found, more, .. } = self;
        let Access { place, value, part, .. } = access;
        let all = [place.base, place.uniform, value];
        if !all.iter().all(|r| leaders.is_value(body, r.reg)) {
            return;
        }
        let place = MemRef {
            base: leaders.leader(place.base),
            uniform: leaders.leader(place.uniform),
            ..place
        };
        let key = Key { op: access.load, mods: ModsId::NONE, at: access.space as u8 };
        let number = self.memory.of(access.space);
        let word = |i: u8, part: u64| {
            let offset = place.offset.wrapping_add(4 * i32::from(i));
            let [number, how, part] = [number.into(), access.how, part].map(Operand::Imm);
            [Operand::Mem(MemRef { offset, ..place }), number, how, part]
        };
        let loaded = part.map_or(0, |part| part as u64);
        // What was stored is more than what is loaded, where that is a part of a word.
        let stored = loaded << 16;
        let cells = |r: RegUse| (0..r.count).map(move |i| RegUse::at(r.reg, r.cell + i, 1));
        if !access.is_load {
            for (i, cell) in (0..).zip(cells(value)) {
                let word = word(i, stored);
                let from = match value.reg.is_zero() {
                    true => RegUse::new(value.reg),
                    false => leaders.leader(cell),
                };
                known.insert(hash_of(key, &word), key, &word, from);
            }
            return;
        }
        let mut sources = SmallVec::<[Option<RegUse>; 4]>::new();
        for i in 0..value.count {
            let word = word(i, loaded);
            sources.push(known.find(hash_of(key, &word), key, &word).map(|(_, from)| from));
        }
        if sources.iter().all(Option::is_some) {
            *found += 1;
            let sources = sources.into_iter().flatten();
            for (to, from) in cells(value).zip(sources.clone()) {
                leaders.lead(to, from);
            }
            return become_copies(body, more, (id, at), value, sources);
        }
        for ((i, cell), source) in (0..).zip(cells(value)).zip(&sources) {
            if source.is_none() {
                let word = word(i, loaded);
                known.insert(hash_of(key, &word), key, &word, cell);
            }
        }
        let mask = match part {
            Some(Mod::U8) => 0xff,
            Some(Mod::U16) => 0xffff,
            _ => return,
        };
        let word = word(0, stored);
        if let Some((_, from)) = known.find(hash_of(key, &word), key, &word) {
            *found += 1;
            let new = masked(value, from, mask);
            body.set_inst(id, &new);
        }
    }
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
pub fn late_commoning(
    code: Code<'_>,
    info: Read<'_, FunctionInfo>,
    analyses: Write<'_, Analyses>,
    notes: Notes<'_>,
) {
    global_value_numbering(code, info, analyses, notes);
}

/// The instruction as an expression with one result, when it is one; adds its operands.
fn expression(inst: View<'_>, operands: &mut Vec<Operand>) -> Option<(Key, RegUse)> {
    // A copy is copy propagation's matter.
    let is_left = inst.op.has(Props::UNIFORM) || inst.op == Opcode::MOV;
    if !effects::is_pure(inst.op) || is_left {
        return None;
    }
    let mut results = (0..usize::from(inst.defs)).filter(|at| !inst.is_pt(*at) && !inst.is_rz(*at));
    let (Some(at), None) = (results.next(), results.next()) else { return None };
    let Operand::Reg(to) = inst.operand(at) else { return None };
    if to.reg.vreg().is_none() || to.flags != RegFlags::NONE {
        return None;
    }
    if !matches!(to.reg.file(), RegFile::R | RegFile::P) {
        return None;
    }
    if effects::reads_what_changes(inst) {
        return None;
    }
    operands.extend(inst.sources());
    if !inst.guard.is_always() {
        // Under a guard, it is one of two values.
        let Guard { reg, negated } = inst.guard;
        let flags = if negated { RegFlags::NOT } else { RegFlags::NONE };
        let before = operands.len() + 1;
        operands.push(Operand::Reg(RegUse { flags, ..RegUse::new(reg) }));
        operands.extend(inst.tied().map(Operand::Reg));
        if operands.len() == before {
            return None;
        }
    }
    Some((Key { op: inst.op, mods: inst.mods_id(), at: at as u8 }, to))
}

/// Makes an instruction, `at` a place of its block, copies of each cell.
fn become_copies(
    body: &mut Body<'_>,
    more: &mut Vec<(usize, Inst, Loc)>,
    (id, at): (InstId, usize),
    to: RegUse,
    from: impl Iterator<Item = RegUse>,
) {
    let loc = body.loc(id);
    for (i, from) in (0..).zip(from) {
        let to = RegUse::at(to.reg, to.cell + i, 1);
        let copy = Inst {
            operands: smallvec![Operand::Reg(to), Operand::Reg(from), Operand::Imm(0xf)],
            ..Inst::new(Opcode::MOV, &[] as &[Mod], 1, &[])
        };
        match i {
            0 => body.set_inst(id, &copy),
            _ => more.push((at + 1, copy, loc)),
        }
    }
}

/// Some bits of a word.
fn masked(to: RegUse, from: RegUse, mask: u64) -> Inst {
    // The truth table of `a & b`.
    const AND: u64 = 0xc0;
    let [to, from] = [to, from].map(Operand::Reg);
    let [mask, table] = [mask, AND].map(Operand::Imm);
    let operands = [Operand::PT, to, from, mask, Operand::RZ, table, Operand::NOT_PT];
    Inst::new(Opcode::LOP3, &[Mod::LUT], 2, &operands)
}
