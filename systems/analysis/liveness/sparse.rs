//! Liveness of each global by itself: from its reads back to where it is defined, and from its definitions on.
//!
//! The work is the number of blocks through which values live, whatever the number of blocks times that of values is. (Sets
//! of compressed bits took 50 times as long for 10 times the blocks: nearly all of them are empty, but each is looked at.)

use super::{Cell, CellMap, NONE, Rows, for_each_read, kills};
use crate::analysis::blocks::Marks;
use crate::analysis::lists::Lists;
use orias_components::{Block, BlockId, Body};

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
    globals: &[Cell],
    (accesses, old): (&Accesses, &[u32]),
    (bit, from): (&[u32], usize),
    phis: Option<&Lists<Cell>>,
) -> (Rows, Rows) {
    let blocks = body.block_count();
    let entry = body.layout().first().map(|b| b.0);
    let [mut killed, mut read_in, mut read_out, mut into, mut out] =
        [(); 5].map(|()| Marks::new(blocks));
    let (mut live_in, mut live_out) = (Vec::new(), Vec::new());
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
        for marks in [&mut killed, &mut read_in, &mut read_out, &mut into, &mut out] {
            marks.clear();
        }
        let of = accesses.of(old[bit as usize]);
        for access in of {
            if access.killed {
                killed.add(access.block);
            }
            if access.used && read_in.add(access.block) {
                reads.push(access.block);
                work.push(access.block);
            }
        }
        for block in ends.as_ref().into_iter().flat_map(|e| e.iter(bit)) {
            if read_out.add(block) {
                outs.push(block);
                if !killed.has(block) && read_in.add(block) {
                    reads.push(block);
                    work.push(block);
                }
            }
        }
        // Back from the reads: who reads it later.
        while let Some(block) = work.pop() {
            for &pred in preds.of(block) {
                if read_out.add(pred) {
                    outs.push(pred);
                    if !killed.has(pred) && read_in.add(pred) {
                        reads.push(pred);
                        work.push(pred);
                    }
                }
            }
        }
        // Nothing reads it that has not been defined, whatever the way: it is live wherever it is read later.
        if !CellMap::is_phys(cell) && entry.is_none_or(|entry| !read_in.has(entry)) {
            live_in.extend(reads.drain(..).map(|block| (block, bit)));
            live_out.extend(outs.drain(..).map(|block| (block, bit)));
            continue;
        }
        reads.clear();
        outs.clear();
        // On from the definitions, as far as it is read later. Physical registers are defined at the entry.
        let enter = |block: u32, into: &mut Marks, out: &mut Marks, work: &mut Vec<u32>| {
            if read_in.has(block) && into.add(block) && read_out.has(block) && out.add(block) {
                work.push(block);
            }
        };
        if let Some(entry) = entry.filter(|_| CellMap::is_phys(cell)) {
            into.add(entry);
            if read_in.has(entry) && read_out.has(entry) && out.add(entry) {
                work.push(entry);
            }
            live_in.extend(read_in.has(entry).then_some((entry, bit)));
        }
        for access in accesses.defined(old[bit as usize]) {
            if read_out.has(*access) && out.add(*access) {
                work.push(*access);
            }
        }
        while let Some(block) = work.pop() {
            live_out.push((block, bit));
            for &succ in succs.of(block) {
                let before = into.has(succ);
                enter(succ, &mut into, &mut out, &mut work);
                if !before && into.has(succ) {
                    live_in.push((succ, bit));
                }
            }
        }
    }
    (lists(live_in, blocks), lists(live_out, blocks))
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
    let (mut found, mut defs) = (Vec::new(), Vec::new());
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

/// Puts entries together by their key, in the order in which they came: where each key's begin, and the entries.
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

fn lists(entries: Vec<(u32, u32)>, rows: usize) -> Rows {
    let (first, bits) = by_key(entries, rows);
    Rows { first, bits }
}
