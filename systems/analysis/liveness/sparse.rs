//! Liveness of each global by itself: from its reads back to where it is defined, and from its
//! definitions on.
//!
//! The work is the number of blocks through which values live, whatever the number of blocks times
//! that of values is. (Sets of compressed bits took 50 times as long for 10 times the blocks:
//! nearly all of them are empty, but each is looked at.)

use super::reads::{for_each_read, kills};
use super::rows::{NONE, Rows};
use crate::analysis::cells::{Cell, CellMap};
use crate::analysis::lists::Lists;
use orias_components::{Block, BlockId, Body, work};

/// What a block does to a global.
#[derive(Clone, Copy, Default)]
pub(super) struct Access {
    pub block: u32,
    /// Read before any unguarded definition.
    pub used: bool,
    /// Defined without guard.
    pub killed: bool,
}

/// Live globals at the start and the end of each block: those with bit numbers from `from` on.
pub(super) fn solve(
    body: &Body<'_>,
    (map, globals): (&CellMap, &[Cell]),
    (accesses, old): (&Accesses, &[u32]),
    (bit, from): (&[u32], usize),
    phis: Option<&Lists<Cell>>,
) -> (Rows, Rows) {
    let blocks = body.block_count();
    let entry = body.layout().first().map(|b| b.0);
    let mut marks = Marks::new(blocks);
    let (mut live_in, mut live_out) = (Found::new(from), Found::new(from));
    let preds = Edges::new(body, Block::preds);
    let succs = Edges::new(body, Block::succs);
    // By bit: blocks at whose end a phi reads it.
    let ends = phis.map(|phis| {
        let mut ends = Lists::new(globals.len());
        for block in body.layout() {
            let bits = phis.iter(block.0).map(|cell| bit[cell as usize]);
            bits.filter(|b| *b as usize >= from).for_each(|bit| ends.push(bit, block.0));
        }
        ends
    });
    let (mut work, mut reads, mut outs) = (Vec::new(), Vec::new(), Vec::new());
    for (bit, &cell) in globals.iter().enumerate().skip(from) {
        let bit = bit as u32;
        marks.clear();
        live_in.begin();
        live_out.begin();
        let of = accesses.of(old[bit as usize]);
        for access in of {
            if access.killed {
                marks.add(KILLED, access.block);
            }
            if access.used && marks.add(READ_IN, access.block) {
                reads.push(access.block);
                work.push(access.block);
            }
        }
        for block in ends.as_ref().into_iter().flat_map(|e| e.iter(bit)) {
            if marks.add(READ_OUT, block) {
                outs.push(block);
                if !marks.has(KILLED, block) && marks.add(READ_IN, block) {
                    reads.push(block);
                    work.push(block);
                }
            }
        }
        // Back from the reads: who reads it later.
        while let Some(block) = work.pop() {
            for &pred in preds.of(block) {
                if marks.add(READ_OUT, pred) {
                    outs.push(pred);
                    if !marks.has(KILLED, pred) && marks.add(READ_IN, pred) {
                        reads.push(pred);
                        work.push(pred);
                    }
                }
            }
        }
        // Nothing reads it that has not been defined, whatever the way: it is live wherever it is
        // read later.
        if !map.is_phys(cell) && entry.is_none_or(|entry| !marks.has(READ_IN, entry)) {
            live_in.blocks.take(&mut reads);
            live_out.blocks.take(&mut outs);
            continue;
        }
        reads.clear();
        outs.clear();
        // On from the definitions, as far as it is read later. Physical registers are defined at
        // the entry.
        let goes_on =
            |marks: &mut Marks, block: u32| marks.has(READ_OUT, block) && marks.add(OUT, block);
        if let Some(entry) = entry.filter(|_| map.is_phys(cell)) {
            marks.add(INTO, entry);
            if marks.has(READ_IN, entry) {
                live_in.blocks.push(entry);
                if goes_on(&mut marks, entry) {
                    work.push(entry);
                }
            }
        }
        for access in accesses.defined(old[bit as usize]) {
            if goes_on(&mut marks, *access) {
                work.push(*access);
            }
        }
        while let Some(block) = work.pop() {
            live_out.blocks.push(block);
            for &succ in succs.of(block) {
                if marks.has(READ_IN, succ) && marks.add(INTO, succ) {
                    live_in.blocks.push(succ);
                    if goes_on(&mut marks, succ) {
                        work.push(succ);
                    }
                }
            }
        }
    }
    (live_in.rows(blocks), live_out.rows(blocks))
}

/// What is known of a global at a block.
const KILLED: u8 = 1;
const READ_IN: u8 = 2;
const READ_OUT: u8 = 4;
const INTO: u8 = 8;
const OUT: u8 = 16;

/// Marks of several kinds, beside each other: a look at a block for one global is a look at one
/// place in memory.
struct Marks {
    /// By block: the global that marked it last, and the kinds.
    by: Vec<(u32, u8)>,
    now: u32,
}

impl Marks {
    fn new(blocks: usize) -> Marks {
        work::add(blocks);
        Marks { by: vec![(0, 0); blocks], now: 0 }
    }

    /// Takes all marks back. There are less globals than numbers.
    fn clear(&mut self) {
        self.now += 1;
    }

    fn has(&self, kind: u8, block: u32) -> bool {
        let (by, kinds) = self.by[block as usize];
        by == self.now && kinds & kind != 0
    }

    /// Whether it is news.
    fn add(&mut self, kind: u8, block: u32) -> bool {
        work::add(1);
        let place = &mut self.by[block as usize];
        let kinds = if place.0 == self.now { place.1 } else { 0 };
        *place = (self.now, kinds | kind);
        kinds & kind == 0
    }
}

/// A list that only grows, in pieces: what is there is not copied when it grows, and the memory
/// that a longer vector would leave behind is not touched. Fresh memory costs more than the walks.
#[derive(Default)]
struct Pieces {
    full: Vec<Vec<u32>>,
    last: Vec<u32>,
}

impl Pieces {
    /// 128 KB.
    const PIECE: usize = 32 << 10;

    fn len(&self) -> usize {
        self.full.len() * Pieces::PIECE + self.last.len()
    }

    fn push(&mut self, value: u32) {
        if self.last.len() == Pieces::PIECE {
            let next = Vec::with_capacity(Pieces::PIECE);
            self.full.push(std::mem::replace(&mut self.last, next));
        }
        self.last.push(value);
    }

    /// Takes all of a list.
    fn take(&mut self, values: &mut Vec<u32>) {
        if self.last.len() + values.len() <= Pieces::PIECE {
            self.last.append(values);
        } else {
            values.drain(..).for_each(|value| self.push(value));
        }
    }

    fn iter(&self) -> impl Iterator<Item = u32> {
        self.full.iter().chain([&self.last]).flatten().copied()
    }
}

/// Blocks, each once, of one global after the other.
struct Found {
    /// The number of the first global.
    from: usize,
    /// Where each one's begin.
    first: Vec<usize>,
    blocks: Pieces,
}

impl Found {
    fn new(from: usize) -> Found {
        Found { from, first: Vec::new(), blocks: Pieces::default() }
    }

    /// What comes is of the next global.
    fn begin(&mut self) {
        self.first.push(self.blocks.len());
    }

    /// By block: its globals.
    fn rows(mut self, rows: usize) -> Rows {
        let mut first = vec![0u32; rows + 1];
        self.blocks.iter().for_each(|block| first[block as usize + 1] += 1);
        for row in 0..rows {
            first[row + 1] += first[row];
        }
        let mut next = first.clone();
        let mut bits = vec![0; self.blocks.len()];
        self.begin();
        let mut blocks = self.blocks.iter();
        for (bit, ends) in (self.from as u32..).zip(self.first.windows(2)) {
            for block in blocks.by_ref().take(ends[1] - ends[0]) {
                let at = &mut next[block as usize];
                bits[*at as usize] = bit;
                *at += 1;
            }
        }
        Rows { first, bits }
    }
}

/// Neighbours of blocks, beside each other: the walks read little else.
struct Edges {
    first: Vec<u32>,
    to: Vec<u32>,
}

impl Edges {
    fn new(body: &Body<'_>, of: impl Fn(&Block) -> &[BlockId]) -> Edges {
        let mut edges = Edges { first: vec![0], to: Vec::new() };
        for block in 0..body.block_count() as u32 {
            if body.has_block(BlockId(block)) {
                edges.to.extend(of(body.block(BlockId(block))).iter().map(|b| b.0));
            }
            edges.first.push(edges.to.len() as u32);
        }
        edges
    }

    fn of(&self, block: u32) -> &[u32] {
        &self.to[self.first[block as usize] as usize..self.first[block as usize + 1] as usize]
    }
}

/// Accesses of all globals, by bit number.
pub(super) struct Accesses {
    first: Vec<u32>,
    all: Vec<Access>,
    /// Blocks that define each, guarded or not.
    first_def: Vec<u32>,
    defs: Vec<u32>,
}

impl Accesses {
    pub fn of(&self, bit: u32) -> &[Access] {
        let bit = bit as usize;
        &self.all[self.first[bit] as usize..self.first[bit + 1] as usize]
    }

    pub fn defined(&self, bit: u32) -> &[u32] {
        let bit = bit as usize;
        &self.defs[self.first_def[bit] as usize..self.first_def[bit + 1] as usize]
    }

    pub fn new(body: &Body<'_>, map: &CellMap, bits: usize, bit: &[u32]) -> Accesses {
        accesses(body, map, bits, bit)
    }
}

fn accesses(body: &Body<'_>, map: &CellMap, bits: usize, bit: &[u32]) -> Accesses {
    // By bit: the block that was looked at last, + 1, and what it does.
    let mut here = vec![(0u32, Access::default(), false); bits];
    // Most are defined in one block, and read in another one.
    let (mut found, mut defs) = (Vec::with_capacity(2 * bits), Vec::with_capacity(bits));
    let mut touched = Vec::new();
    for &block in body.layout() {
        let number = block.0;
        for &id in body.block(block).insts() {
            let inst = body.inst(id);
            let mut touch = |cell: Cell, f: &mut dyn FnMut(&mut Access, &mut bool)| {
                let bit = bit[cell as usize];
                if bit == NONE {
                    return;
                }
                let (at, access, defined) = &mut here[bit as usize];
                if *at != number + 1 {
                    (*at, *defined) = (number + 1, false);
                    *access = Access { block: number, ..Access::default() };
                    touched.push(bit);
                }
                f(access, defined);
            };
            for_each_read(inst, |r| {
                map.cells(r).for_each(|c| touch(c, &mut |a, _| a.used |= !a.killed));
            });
            let kill = kills(inst);
            inst.for_each_def(|r| {
                map.cells(r).for_each(|c| {
                    touch(c, &mut |a, defined| {
                        a.killed |= kill;
                        *defined = true;
                    });
                });
            });
        }
        for bit in touched.drain(..) {
            let (_, access, defined) = here[bit as usize];
            found.push((bit, access));
            if defined {
                defs.push((bit, number));
            }
        }
    }
    let (first, all) = by_key(found, bits);
    let (first_def, defs) = by_key(defs, bits);
    Accesses { first, all, first_def, defs }
}

/// Puts entries together by their key, in the order in which they came: where each key's begin, and
/// the entries.
fn by_key<T: Copy + Default>(entries: Vec<(u32, T)>, keys: usize) -> (Vec<u32>, Vec<T>) {
    let mut first = vec![0u32; keys + 1];
    for (key, _) in &entries {
        first[*key as usize + 1] += 1;
    }
    for key in 0..keys {
        first[key + 1] += first[key];
    }
    let mut next = first.clone();
    let mut all = vec![T::default(); entries.len()];
    for (key, entry) in entries {
        let at = &mut next[key as usize];
        all[*at as usize] = entry;
        *at += 1;
    }
    (first, all)
}
