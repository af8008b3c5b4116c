//! Where the values of registers are wanted that copies might join, in SSA form: from the definition to all uses.
//!
//! A block has a slot for its phis, one for each other instruction, and one for what its edges take along. A slot reads at an even
//! point and writes at the next one, as in `registers/ranges.rs`.

use super::Wanted;
use crate::analysis::blocks::Marks;
use crate::analysis::lists::Lists;
use crate::analysis::liveness::{Cell, CellMap};
use crate::registers::ranges::{Ranges, Segment};
use bitvec::vec::BitVec;
use orias_components::{BlockId, Body, Opcode, Operand, RegUse, work};

/// Ranges of the registers that copies name; the others have none.
pub struct Found {
    pub ranges: Ranges,
    /// By block: the point at which its edges read.
    pub ends: Vec<u32>,
    starts: Vec<u32>,
    /// By cell: block and slot of the definition.
    home: Vec<(u32, u32)>,
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
    let mut named: BitVec = BitVec::repeat(false, body.vreg_count());
    for wanted in copies {
        for v in [wanted.copy.to, wanted.copy.from].into_iter().filter_map(|r| r.reg.vreg()) {
            named.set(v.0 as usize, true);
        }
    }
    let is_named = |r: RegUse| r.reg.vreg().is_some_and(|v| named[v.0 as usize]);
    let mut home: Vec<(u32, u32)> = vec![(NONE, 0); map.count()];
    let mut uses: Lists<(u32, u32)> = Lists::new(map.count());
    let mut starts = vec![0; body.block_count()];
    let mut ends = vec![0; body.block_count()];
    let mut cells: Vec<Cell> = Vec::new();
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
                let sources: Vec<Operand> = inst.sources().collect();
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
    let mut found: Vec<(Cell, Segment)> = Vec::new();
    let mut seen = Marks::new(body.block_count());
    let mut stack: Vec<BlockId> = Vec::new();
    for cell in cells {
        let (block, slot) = home[cell as usize];
        let (start, end) = (|b: u32| starts[b as usize], |b: u32| ends[b as usize] + 2);
        let written = start(block) + 2 * slot + 1;
        seen.clear();
        // What is written takes its register even if nothing reads it.
        let mut until = written + 1;
        for (at, place) in uses.iter(cell) {
            let read = match place {
                EDGE => ends[at as usize],
                BRANCH => ends[at as usize] + 1,
                slot => start(at) + 2 * slot,
            };
            if at == block && read > written {
                until = until.max(read + 1);
                continue;
            }
            found.push((cell, Segment { start: start(at), end: read + 1 }));
            stack.extend(body.block(BlockId(at)).preds());
            while let Some(pred) = stack.pop() {
                if !seen.add(pred.0) {
                    continue;
                }
                work::add(1);
                if pred.0 == block {
                    until = end(block);
                } else {
                    found.push((cell, Segment { start: start(pred.0), end: end(pred.0) }));
                    stack.extend(body.block(pred).preds());
                }
            }
        }
        found.push((cell, Segment { start: written, end: until }));
    }
    Found { ranges: Ranges::of_segments(map.count(), points, found), ends, starts, home }
}
