//! Where the values of registers are wanted that copies might join, in SSA form: from the
//! definition to all uses.
//!
//! A block has a slot for its phis, one for each other instruction, and one for what its edges take
//! along. A slot reads at an even point and writes at the next one, as in `registers/ranges.rs`.

use super::wanted::Wanted;
use crate::analysis::lists::Lists;
use crate::analysis::liveness::{Cell, CellMap};
use crate::registers::ranges::{Ranges, Segment};
use bitvec::vec::BitVec;
use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{Body, Opcode, Operand, RegUse, work};

/// Ranges of the registers that copies name; the others have none.
pub struct Found {
    pub ranges: Ranges,
    /// By block: the point at which its edges read.
    pub ends: Scratch<Vec<u32>>,
    starts: Scratch<Vec<u32>>,
    /// By cell: block and slot of the definition.
    home: Scratch<Vec<(u32, u32)>>,
}

const NONE: u32 = u32::MAX;

/// In place of a slot: read by an edge; or by a branch, which stands behind what edges write.
const EDGE: u32 = u32::MAX;
const BRANCH: u32 = u32::MAX - 1;

impl Found {
    /// The block where a cell is defined.
    pub fn block_of(&self, r: RegUse, map: &CellMap) -> Option<u32> {
        let cell = map.cells(r).next()?;
        self.home.get(cell as usize).map(|h| h.0).filter(|b| *b != NONE)
    }

    /// The point at which the instruction reads that defines a cell.
    pub fn reads_at(&self, r: RegUse, map: &CellMap) -> Option<u32> {
        let (block, slot) = *self.home.get(map.cells(r).next()? as usize)?;
        (block != NONE).then(|| self.starts[block as usize] + 2 * slot)
    }
}

pub fn compute(body: &Body<'_>, map: &CellMap, copies: &[Wanted]) -> Found {
    let mut named = scratch!(BitVec).fill_with(false, body.vreg_count());
    for wanted in copies {
        for v in [wanted.copy.to, wanted.copy.from].into_iter().filter_map(|r| r.reg.vreg()) {
            named.set(v.0 as usize, true);
        }
    }
    let is_named = |r: RegUse| r.reg.vreg().is_some_and(|v| named[v.0 as usize]);
    let mut home = scratch!(Vec<(u32, u32)>; (NONE, 0); map.count());
    let mut uses = scratch!(Lists<(u32, u32)>).of(map.count());
    let mut starts = scratch!(Vec<u32>; 0; body.block_count());
    let mut ends = scratch!(Vec<u32>; 0; body.block_count());
    let mut cells = scratch!(Vec<Cell>);
    let mut sources = scratch!(Vec<Operand>);
    let mut points = 0;
    for block in body.layout() {
        let insts = body.block(*block).insts();
        starts[block.0 as usize] = points;
        let phis = insts.iter().take_while(|id| body.op(**id) == Opcode::MOVPHI).count();
        let slots = (insts.len() - phis + 2) as u32;
        ends[block.0 as usize] = points + 2 * (slots - 1);
        points += 2 * slots;
        for (at, id) in insts.iter().enumerate() {
            let slot = (at + 1).saturating_sub(phis) as u32;
            let inst = body.inst(*id);
            inst.for_each_def(|r| {
                if is_named(r) {
                    for cell in map.cells(r) {
                        home[cell as usize] = (block.0, slot);
                        cells.push(cell);
                    }
                }
            });
            if at < phis {
                sources.clear();
                sources.extend(inst.sources());
                for pair in sources.chunks_exact(2) {
                    if let [Operand::Reg(value), Operand::Block(pred)] = *pair
                        && is_named(value)
                    {
                        map.cells(value).for_each(|c| uses.push(c, (pred.0, EDGE)));
                    }
                }
                continue;
            }
            let place = if inst.op.is_branch() { BRANCH } else { slot };
            inst.for_each_use(|r| {
                if is_named(r) {
                    map.cells(r).for_each(|cell| uses.push(cell, (block.0, place)));
                }
            });
        }
    }
    let ways = Ways::new(body);
    let mut found = scratch!(Vec<(Cell, Segment)>);
    let mut through = Runs::new(ways.place.len());
    let mut of_cell = scratch!(Vec<Segment>);
    let mut stack = scratch!(Vec<u32>);
    for &cell in &cells {
        let (block, slot) = home[cell as usize];
        let start = |b: u32| starts[b as usize];
        let written = start(block) + 2 * slot + 1;
        let place = ways.place[block as usize];
        // What is written takes its register even if nothing reads it.
        let mut until = written + 1;
        for (at, slot) in uses.iter(cell) {
            let read = match slot {
                EDGE => ends[at as usize],
                BRANCH => ends[at as usize] + 1,
                slot => start(at) + 2 * slot,
            };
            if at == block && read > written {
                until = until.max(read + 1);
                continue;
            }
            of_cell.push(Segment { start: start(at), end: read + 1 });
            stack.extend(ways.preds(ways.place[at as usize]));
            while let Some(pred) = stack.pop() {
                if pred == place {
                    until = ends[block as usize] + 2;
                } else if through.add(pred) {
                    work::add(1);
                    stack.extend(ways.preds(pred));
                }
            }
        }
        of_cell.push(Segment { start: written, end: until });
        // Blocks beside each other have points beside each other.
        through.take(|first, last| {
            let (first, last) = (ways.blocks[first as usize], ways.blocks[last as usize]);
            of_cell.push(Segment { start: start(first), end: ends[last as usize] + 2 });
        });
        found.extend(of_cell.drain(..).map(|segment| (cell, segment)));
    }
    Found { ranges: Ranges::of_segments(map.count(), points, found), ends, starts, home }
}

/// The predecessors of blocks, all by their place in the layout: a walk through a hundred thousand
/// blocks looks at little else.
struct Ways {
    /// By block, and by place.
    place: Scratch<Vec<u32>>,
    blocks: Scratch<Vec<u32>>,
    first: Scratch<Vec<u32>>,
    preds: Scratch<Vec<u32>>,
}

impl Ways {
    fn new(body: &Body<'_>) -> Ways {
        let blocks = scratch!(Vec<u32>).with(body.layout().iter().map(|b| b.0));
        let mut place = scratch!(Vec<u32>; NONE; body.block_count());
        blocks.iter().zip(0..).for_each(|(block, at)| place[*block as usize] = at);
        let (mut first, mut preds) = (scratch!(Vec<u32>; 0; 1), scratch!(Vec<u32>));
        for block in body.layout() {
            preds.extend(body.block(*block).preds().iter().map(|b| place[b.0 as usize]));
            first.push(preds.len() as u32);
        }
        Ways { place, blocks, first, preds }
    }

    /// None of a block that is in no layout.
    fn preds(&self, place: u32) -> impl Iterator<Item = u32> + '_ {
        let at = |n: u32| self.first.get(n as usize).map_or(self.preds.len(), |at| *at as usize);
        self.preds[at(place)..at(place.saturating_add(1))].iter().copied()
    }
}

/// Numbers, as runs of such that follow each other.
struct Runs {
    bits: Scratch<Vec<u64>>,
    all: Scratch<Vec<u32>>,
}

impl Runs {
    fn new(count: usize) -> Runs {
        work::add(count / 64);
        Runs { bits: scratch!(Vec<u64>; 0; count.div_ceil(64)), all: scratch!(Vec<u32>) }
    }

    /// Whether it is news.
    fn add(&mut self, n: u32) -> bool {
        let (word, bit) = (&mut self.bits[n as usize / 64], 1 << (n % 64));
        let is_news = *word & bit == 0;
        if is_news {
            *word |= bit;
            self.all.push(n);
        }
        is_news
    }

    /// Empties it: gives the first and the last of each run.
    fn take(&mut self, mut run: impl FnMut(u32, u32)) {
        let (bits, all) = (&mut self.bits, &mut self.all);
        let has = |bits: &[u64], n: u32| {
            bits.get(n as usize / 64).is_some_and(|w| w >> (n % 64) & 1 != 0)
        };
        for &first in &*all {
            if first > 0 && has(bits, first - 1) {
                continue;
            }
            let mut last = first;
            while has(bits, last + 1) {
                last += 1;
            }
            run(first, last);
        }
        all.drain(..).for_each(|n| bits[n as usize / 64] = 0);
    }
}
