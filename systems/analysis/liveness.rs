//! Liveness of register cells: which values may still be read, at the start and the end of each
//! block.
//!
//! What holds:
//! * A cell (32 bits of a register, or one predicate or barrier) is live at a point when some path
//!   from there reads it before an unguarded definition of it, *and* some path to there has defined
//!   it. The second half matters for guarded definitions, which do not end a value: without it the
//!   value under a guard would seem live back to the entry.
//! * A definition of some cells of a wide register ends only those cells.
//! * What a phi reads is live at the end of the block that its value comes from, and not in the
//!   phi's own.
//! * Physical registers count as cells too, defined at the entry, so that the analysis serves after
//!   allocation as before it.
//!
//! Only cells that some block reads before it defines them can be live between blocks ("globals");
//! the others get no bit. Sets are rows of one dense bit matrix. In functions with many blocks and
//! many globals, where most bits would be zero, only globals that many blocks name have bits there;
//! each of the others is followed through the blocks by itself, and blocks have lists of them (see
//! [`DENSE_LIMIT`] and [`sparse`]).

use crate::analysis::lists::Lists;
use bitvec::prelude::*;
use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{BlockId, Body, Opcode, Operand, RegUse, View, work};
use reads::for_each_read;
use rows::{NONE, Rows};
use sparse::Accesses;
use std::sync::Arc;

mod reads;
mod rows;
mod sparse;

pub use crate::analysis::cells::{Cell, CellMap};
pub use reads::kills;

/// Cells that phis read, by the block at whose end they do.
fn phi_reads(body: &Body<'_>, map: &CellMap) -> Option<Scratch<Lists<Cell>>> {
    let mut reads = None;
    for block in body.layout() {
        for id in body.block(*block).insts().iter().take_while(|i| body.op(**i) == Opcode::MOVPHI) {
            let all = reads.get_or_insert_with(|| scratch!(Lists<Cell>).of(body.block_count()));
            let mut value = None;
            for operand in body.inst(*id).sources() {
                match (operand, value) {
                    (Operand::Block(from), Some(r)) => {
                        map.cells(r).for_each(|cell| all.push(from.0, cell));
                    }
                    (operand, _) => value = operand.as_reg().copied(),
                }
            }
        }
    }
    reads
}

/// Whether some way from the entry comes to a reader of a cell of a virtual register before
/// anything has written the cell, guarded or not. Edges are current. One bit for each block and
/// cell that crosses blocks: for checks.
pub fn may_read_unwritten(body: &Body<'_>) -> bool {
    let map = CellMap::new(body);
    let phis = phi_reads(body, &map);
    let (globals, bit) = find_globals(body, &map, phis.as_deref(), |_, _, _| {});
    let mut flow = Flow::new(body.block_count(), globals.len());
    flow.fill(body, &map, &bit, |_| true);
    let (read, _) = flow.read_later(body, &bit, phis.as_deref());
    is_read_at_entry(body, &map, &globals, &read)
}

/// Words of dense rows (blocks x globals / 64) for each instruction, up to which the sets are
/// dense: a sweep over them then takes no longer than one over the instructions.
pub const DENSE_LIMIT: usize = 1;

/// Live cells at block boundaries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Liveness {
    /// Which number each cell of a register has.
    pub map: Arc<CellMap>,
    /// Cells that may be live between blocks, by bit number: those with dense bits first.
    globals: Scratch<Vec<Cell>>,
    /// Bit number by cell, [`NONE`] for the others.
    bit: Scratch<Vec<u32>>,
    live_in: Sets,
    live_out: Sets,
}

impl Liveness {
    /// Whether a cell may be live between blocks.
    pub fn is_global(&self, cell: Cell) -> bool {
        self.bit[cell as usize] != NONE
    }

    /// Computes it from the blocks' instructions and their `succs` and `preds`.
    pub(super) fn compute(body: &Body<'_>, map: Arc<CellMap>) -> Liveness {
        Liveness::split(body, map, None)
    }

    /// With dense bits for globals that so many blocks name, and at most for so many; of its own
    /// choice without.
    fn split(body: &Body<'_>, map: Arc<CellMap>, split: Option<(u32, usize)>) -> Liveness {
        let phis = phi_reads(body, &map);
        let phis = phis.as_deref();
        // Of one block little is worth noting, and it may be long.
        let notes = body.layout().len() > 1;
        let mut seen = scratch!(Vec<(Cell, BlockId, Access)>);
        let (mut globals, mut bit) = find_globals(body, &map, phis, |cell, block, access| {
            if notes {
                seen.push((cell, block, access));
            }
        });
        let rows = body.block_count();
        let most = DENSE_LIMIT.saturating_mul(body.inst_count()) / rows.max(1);
        let split = split.or((globals.len().div_ceil(64) > most).then_some((OFTEN, 64 * most)));
        let split = split.map(|(often, most)| {
            let accesses = Accesses::new(body, &map, globals.len(), &bit);
            let (dense, old) = by_use(&accesses, (&mut globals, &mut bit), often, most);
            (accesses, dense, old)
        });
        let dense = split.as_ref().map_or(globals.len(), |(_, dense, _)| *dense);
        let mut flow = Flow::new(rows, dense);
        match &split {
            Some((accesses, dense, old)) => flow.fill_from(accesses, &old[..*dense]),
            None if notes => flow.fill_with(&seen, &bit),
            None => flow.fill(body, &map, &bit, kills),
        }
        drop(seen);
        let (read_in, read_out) = flow.read_later(body, &bit, phis);
        let (mut live_in, mut live_out) =
            match is_read_at_entry(body, &map, &globals[..dense], &read_in) {
                // Wherever it may be read, something on the way has defined it.
                false => (read_in, read_out),
                true => flow.defined_before(body, (&map, &globals[..dense]), &read_in, &read_out),
            };
        if let Some((accesses, dense, old)) = split {
            (live_in.lists, live_out.lists) =
                sparse::solve(body, (&map, &globals), (&accesses, &old), (&bit, dense), phis);
        }
        Liveness { map, globals, bit, live_in, live_out }
    }

    /// Cells live at the start of a block, each once.
    pub fn live_in(&self, block: BlockId) -> impl Iterator<Item = Cell> + '_ {
        self.live_in.iter(block.0 as usize).map(|bit| self.globals[bit as usize])
    }

    /// Cells live at the end of a block, each once.
    pub fn live_out(&self, block: BlockId) -> impl Iterator<Item = Cell> + '_ {
        self.live_out.iter(block.0 as usize).map(|bit| self.globals[bit as usize])
    }

    /// Whether the cell is live where the block begins.
    pub fn is_live_in(&self, block: BlockId, cell: Cell) -> bool {
        self.bit(cell).is_some_and(|bit| self.live_in.get(block.0 as usize, bit))
    }

    /// Whether the cell is live where the block ends.
    pub fn is_live_out(&self, block: BlockId, cell: Cell) -> bool {
        self.bit(cell).is_some_and(|bit| self.live_out.get(block.0 as usize, bit))
    }

    /// Whether a cell is live at the start of any block at all; the others live and die within one
    /// block.
    pub fn may_cross_blocks(&self, cell: Cell) -> bool {
        self.bit(cell).is_some()
    }

    fn bit(&self, cell: Cell) -> Option<u32> {
        self.bit.get(cell as usize).copied().filter(|bit| *bit != NONE)
    }

    /// A set for walks through blocks, one after the other: see [`LiveCells::start`].
    pub fn cells(&self) -> LiveCells {
        work::add(self.map.count() / 64);
        let set = scratch!(BitVec<u64>).fill_with(false, self.map.count());
        LiveCells { set, known: scratch!(Vec<Cell>) }
    }
}

/// The live cells at one point of a block. A walk goes by reads alone: before a guarded definition
/// that is the first of its value this may hold cells that the block's `live_in` leaves out.
#[derive(Clone, Debug)]
pub struct LiveCells {
    set: Scratch<BitVec<u64>>,
    /// Cells that were in the set since the walk began: what the next one has to clear.
    known: Scratch<Vec<Cell>>,
}

impl LiveCells {
    /// Goes to the end of a block, for a walk backwards through it with [`LiveCells::step_back`].
    pub fn start(&mut self, liveness: &Liveness, block: BlockId) {
        for cell in self.known.drain(..) {
            self.set.set(cell as usize, false);
        }
        for cell in liveness.live_out(block) {
            work::add(1);
            self.set.set(cell as usize, true);
            self.known.push(cell);
        }
    }

    /// Whether the cell is live here.
    pub fn contains(&self, cell: Cell) -> bool {
        self.set.get(cell as usize).is_some_and(|b| *b)
    }

    /// Whether any cell of a use is live.
    pub fn any(&self, map: &CellMap, r: RegUse) -> bool {
        map.cells(r).any(|cell| self.contains(cell))
    }

    /// Whether an instruction defines something that is live now (after it).
    pub fn reads_result_of(&self, map: &CellMap, inst: View<'_>) -> bool {
        let mut live = false;
        inst.for_each_def(|r| live |= self.any(map, r));
        live
    }

    /// Goes from the point after `inst` to the point before it. `inst` counts as executed: leave
    /// dead ones out.
    pub fn step_back(&mut self, map: &CellMap, inst: View<'_>) {
        if kills(inst) {
            inst.for_each_def(|r| self.set_all(map, r, false));
        }
        for_each_read(inst, |r| self.set_all(map, r, true));
    }

    fn set_all(&mut self, map: &CellMap, r: RegUse, live: bool) {
        for cell in map.cells(r) {
            if !self.set.replace(cell as usize, live) && live {
                self.known.push(cell);
            }
        }
    }

    /// The cells that are live here.
    pub fn iter(&self) -> impl Iterator<Item = Cell> + '_ {
        self.set.iter_ones().map(|cell| cell as Cell)
    }
}

/// Whether the entry reads a virtual register before it defines it, or passes it on to who does.
fn is_read_at_entry(body: &Body<'_>, map: &CellMap, globals: &[Cell], read_in: &Sets) -> bool {
    let entry = body.layout().first().map(|b| b.0 as usize);
    let is_read = |(i, cell): (usize, &Cell)| {
        !map.is_phys(*cell) && entry.is_some_and(|b| read_in.get(b, i as u32))
    };
    globals.iter().enumerate().any(is_read)
}

/// What a block does with a cell that it has not defined for good yet.
#[derive(Clone, Copy)]
enum Access {
    Reads,
    /// Under a guard.
    MayDefine,
    Defines,
}

/// Cells that some block reads before it defines them, ascending, and their bit numbers by cell.
/// `note` hears of all accesses to cells before a block defines them for good.
fn find_globals(
    body: &Body<'_>,
    map: &CellMap,
    phis: Option<&Lists<Cell>>,
    mut note: impl FnMut(Cell, BlockId, Access),
) -> (Scratch<Vec<Cell>>, Scratch<Vec<u32>>) {
    let mut bit = scratch!(Vec<u32>; NONE; map.count());
    // In which block (number + 1) a cell was last defined without guard.
    let mut defined = scratch!(Vec<u32>; 0; map.count());
    for &block in body.layout() {
        for &id in body.block(block).insts() {
            let inst = body.inst(id);
            for_each_read(inst, |r| {
                for cell in map.cells(r) {
                    if defined[cell as usize] != block.0 + 1 {
                        bit[cell as usize] = 0;
                        note(cell, block, Access::Reads);
                    }
                }
            });
            let kills = kills(inst);
            inst.for_each_def(|r| {
                for cell in map.cells(r) {
                    if defined[cell as usize] == block.0 + 1 {
                        continue;
                    }
                    if kills {
                        defined[cell as usize] = block.0 + 1;
                    }
                    note(cell, block, if kills { Access::Defines } else { Access::MayDefine });
                }
            });
        }
    }
    if let Some(phis) = phis {
        for block in body.layout() {
            phis.iter(block.0).for_each(|cell| bit[cell as usize] = 0);
        }
    }
    let mut globals = scratch!(Vec<Cell>);
    for (cell, bit) in bit.iter_mut().enumerate() {
        if *bit == 0 {
            *bit = globals.len() as u32;
            globals.push(cell as Cell);
        }
    }
    (globals, bit)
}

/// Blocks that must name a global for it to have a bit in each row.
const OFTEN: u32 = 16;

/// Numbers globals anew: first those that `often` blocks name, at most `most` of them. Returns how
/// many those are, and the old number by the new one.
fn by_use(
    accesses: &Accesses,
    (globals, bit): (&mut [Cell], &mut [u32]),
    often: u32,
    most: usize,
) -> (usize, Vec<u32>) {
    let is_often = |old: &u32| accesses.of(*old).len() >= often as usize;
    let (mut old, mut others): (Vec<u32>, Vec<u32>) =
        (0..globals.len() as u32).partition(|old| is_often(old));
    let dense = old.len().min(most);
    others.extend(old.drain(dense..));
    others.sort_unstable();
    old.extend(others);
    let cells: Vec<Cell> = old.iter().map(|old| globals[*old as usize]).collect();
    globals.copy_from_slice(&cells);
    for (i, cell) in globals.iter().enumerate() {
        bit[*cell as usize] = i as u32;
    }
    (dense, old)
}

/// The facts of each block that the equations start from.
struct Flow {
    rows: usize,
    bits: usize,
    /// Read before any unguarded definition in the block.
    used: Sets,
    /// Defined without guard in the block.
    killed: Sets,
    /// Defined in the block, guarded or not.
    defined: Sets,
}

impl Flow {
    fn new(rows: usize, bits: usize) -> Flow {
        let sets = || Sets::new(rows, bits);
        Flow { rows, bits, used: sets(), killed: sets(), defined: sets() }
    }

    fn fill(
        &mut self,
        body: &Body<'_>,
        map: &CellMap,
        bit: &[u32],
        kills: impl Fn(View<'_>) -> bool,
    ) {
        let dense = self.bits as u32;
        for &block in body.layout() {
            let b = block.0 as usize;
            for &id in body.block(block).insts() {
                let inst = body.inst(id);
                for_each_read(inst, |r| {
                    for cell in map.cells(r) {
                        let bit = bit[cell as usize];
                        if bit < dense && !self.killed.get(b, bit) {
                            self.used.insert(b, bit);
                        }
                    }
                });
                inst.for_each_def(|r| {
                    for cell in map.cells(r) {
                        let bit = bit[cell as usize];
                        if bit < dense {
                            self.defined.insert(b, bit);
                            if kills(inst) {
                                self.killed.insert(b, bit);
                            }
                        }
                    }
                });
            }
        }
    }

    /// The same from what [`find_globals`] told.
    fn fill_with(&mut self, seen: &[(Cell, BlockId, Access)], bit: &[u32]) {
        for (cell, block, access) in seen {
            let (b, bit) = (block.0 as usize, bit[*cell as usize]);
            if bit >= self.bits as u32 {
                continue;
            }
            match access {
                Access::Reads => self.used.insert(b, bit),
                Access::MayDefine => self.defined.insert(b, bit),
                Access::Defines => {
                    self.defined.insert(b, bit);
                    self.killed.insert(b, bit);
                }
            }
        }
    }

    /// The same from the accesses of each bit, which has another number there.
    fn fill_from(&mut self, accesses: &Accesses, old: &[u32]) {
        for (bit, old) in old.iter().enumerate() {
            let bit = bit as u32;
            for access in accesses.of(*old) {
                let b = access.block as usize;
                if access.used {
                    self.used.insert(b, bit);
                }
                if access.killed {
                    self.killed.insert(b, bit);
                }
            }
            accesses.defined(*old).iter().for_each(|b| self.defined.insert(*b as usize, bit));
        }
    }

    /// What some path reads before it defines it, at start and end of each block: in = used |
    /// (out - killed), out = union of the successors' in, and what phis read there.
    fn read_later(&self, body: &Body<'_>, bit: &[u32], phis: Option<&Lists<Cell>>) -> (Sets, Sets) {
        let mut into = Sets::new(self.rows, self.bits);
        let mut out = Sets::new(self.rows, self.bits);
        for block in body.layout().iter().filter(|_| phis.is_some()) {
            for bit in phis.into_iter().flat_map(|p| p.iter(block.0)).map(|c| bit[c as usize]) {
                if (bit as usize) < self.bits {
                    out.insert(block.0 as usize, bit);
                }
            }
        }
        let mut work = Worklist::new(self.rows, body.layout().iter().rev().copied());
        while let Some(block) = work.pop() {
            let b = block.0 as usize;
            for succ in body.block(block).succs() {
                out.or(b, &into, succ.0 as usize);
            }
            if into.transfer(b, &self.used, &out, Keep::Without(&self.killed)) {
                body.block(block).preds().iter().for_each(|p| work.push(*p));
            }
        }
        (into, out)
    }

    /// What of that some path has defined: forward, in = union of the predecessors' out, out =
    /// defined | in, both within what is read later (from the last definition on a path to the
    /// read, all points are). Physical registers are defined at the entry.
    fn defined_before(
        &mut self,
        body: &Body<'_>,
        (map, globals): (&CellMap, &[Cell]),
        read_in: &Sets,
        read_out: &Sets,
    ) -> (Sets, Sets) {
        let mut into = Sets::new(self.rows, self.bits);
        let mut out = Sets::new(self.rows, self.bits);
        if let Some(entry) = body.layout().first() {
            for (bit, _) in globals.iter().enumerate().take_while(|(_, c)| map.is_phys(**c)) {
                into.insert(entry.0 as usize, bit as u32);
            }
        }
        for block in body.layout() {
            self.defined.and(block.0 as usize, read_out, block.0 as usize);
        }
        let mut work = Worklist::new(self.rows, body.layout().iter().copied());
        while let Some(block) = work.pop() {
            let b = block.0 as usize;
            for pred in body.block(block).preds() {
                into.or(b, &out, pred.0 as usize);
            }
            into.and(b, read_in, b);
            if out.transfer(b, &self.defined, &into, Keep::Within(read_out)) {
                body.block(block).succs().iter().for_each(|s| work.push(*s));
            }
        }
        (into, out)
    }
}

/// Blocks to look at (again), in sweeps along one order: a fact runs down the whole order in one
/// sweep, and once more for each edge against it.
struct Worklist {
    order: Scratch<Vec<BlockId>>,
    /// Place in the order by block number.
    place: Scratch<Vec<u32>>,
    /// By place.
    waiting: Scratch<BitVec<u64>>,
    next: usize,
}

impl Worklist {
    /// With all blocks waiting.
    fn new(rows: usize, order: impl Iterator<Item = BlockId>) -> Worklist {
        let order = scratch!(Vec<BlockId>).with(order);
        let mut place = scratch!(Vec<u32>; 0; rows);
        for (i, block) in order.iter().enumerate() {
            place[block.0 as usize] = i as u32;
        }
        let waiting = scratch!(BitVec<u64>).fill_with(true, order.len());
        Worklist { place, waiting, order, next: 0 }
    }

    fn push(&mut self, block: BlockId) {
        self.waiting.set(self.place[block.0 as usize] as usize, true);
    }

    fn pop(&mut self) -> Option<BlockId> {
        let at = match self.waiting[self.next..].first_one() {
            Some(ahead) => self.next + ahead,
            None => self.waiting.first_one()?,
        };
        self.waiting.set(at, false);
        self.next = at + 1;
        Some(self.order[at])
    }
}

/// One set of bit numbers for each block.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Sets {
    /// Words of a row, and the bits that have dense rows.
    words: usize,
    dense: u32,
    bits: Scratch<BitVec<u64>>,
    lists: Rows,
}

/// What passes through a block.
#[derive(Clone, Copy)]
enum Keep<'a> {
    Without(&'a Sets),
    Within(&'a Sets),
}

impl Sets {
    /// Empty, all bits dense.
    fn new(rows: usize, bits: usize) -> Sets {
        let words = bits.div_ceil(64);
        work::add(rows * words);
        let all = scratch!(BitVec<u64>).fill_with(false, rows * words * 64);
        Sets { words, dense: bits as u32, bits: all, lists: Rows::default() }
    }

    fn row(&self, row: usize) -> &[u64] {
        &self.bits.as_raw_slice()[row * self.words..(row + 1) * self.words]
    }

    fn row_mut(&mut self, row: usize) -> &mut [u64] {
        &mut self.bits.as_raw_mut_slice()[row * self.words..(row + 1) * self.words]
    }

    fn get(&self, row: usize, bit: u32) -> bool {
        if bit < self.dense {
            return self.row(row)[bit as usize / 64] >> (bit % 64) & 1 != 0;
        }
        self.lists.of(row).binary_search(&bit).is_ok()
    }

    fn insert(&mut self, row: usize, bit: u32) {
        self.row_mut(row)[bit as usize / 64] |= 1 << (bit % 64);
    }

    fn or(&mut self, row: usize, other: &Sets, from: usize) {
        let source = other.row(from);
        work::add(source.len());
        self.row_mut(row).iter_mut().zip(source).for_each(|(a, b)| *a |= b);
    }

    fn and(&mut self, row: usize, other: &Sets, from: usize) {
        let source = other.row(from);
        self.row_mut(row).iter_mut().zip(source).for_each(|(a, b)| *a &= b);
    }

    /// `self = made | (what is kept of from)` in one row; whether it changed.
    fn transfer(&mut self, row: usize, made: &Sets, from: &Sets, keep: Keep<'_>) -> bool {
        let (mask, flip) = match keep {
            Keep::Without(mask) => (mask.row(row), u64::MAX),
            Keep::Within(mask) => (mask.row(row), 0),
        };
        let (made, from) = (made.row(row), from.row(row));
        work::add(made.len());
        let mut changed = 0;
        for (i, word) in self.row_mut(row).iter_mut().enumerate() {
            let new = made[i] | (from[i] & (mask[i] ^ flip));
            changed |= new ^ *word;
            *word = new;
        }
        changed != 0
    }

    fn iter(&self, row: usize) -> impl Iterator<Item = u32> + '_ {
        let ones = self.row(row).iter().enumerate().flat_map(|(i, word)| {
            let rest = std::iter::successors(Some(*word), |w| Some(w & w.wrapping_sub(1)));
            rest.take_while(|w| *w != 0).map(move |w| 64 * i as u32 + w.trailing_zeros())
        });
        ones.chain(self.lists.of(row).iter().copied())
    }
}

#[cfg(test)]
mod tests;
