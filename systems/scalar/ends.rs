//! Where in a block values are written, and where those are read last that it alone has.

use super::values::Values;
use crate::analysis::liveness::Cell;
use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{BlockId, Body, InstId, Opcode};

/// What is known of one block, as it was when something was asked about it first. What writes a
/// value stays where it is; edits since may have moved a reader, so only cost may depend on those.
pub(super) struct Ends {
    block: Option<BlockId>,
    /// By cell, where there is anything at all.
    cells: Scratch<Vec<End>>,
}

#[derive(Clone, Copy, Default)]
struct End {
    /// 1 + the block that this is about.
    block: u32,
    /// 1 + the place that writes it, 0 for none.
    written: u32,
    reads: u32,
    last: u32,
}

impl Ends {
    pub fn none() -> Ends {
        Ends { block: None, cells: scratch!(Vec<End>) }
    }

    /// Whether what the cell holds is written in the block, and this is the last that reads it.
    pub fn is_last(
        &mut self,
        body: &Body<'_>,
        values: &Values<'_>,
        (block, id): (BlockId, InstId),
        cell: Cell,
    ) -> bool {
        let end = self.of(body, values, block, cell);
        end.written != 0 && end.last == id.0 && end.reads == values.reads_of(cell)
    }

    /// The place in the block that writes the cell, if it is written there.
    pub fn written(
        &mut self,
        body: &Body<'_>,
        values: &Values<'_>,
        block: BlockId,
        cell: Cell,
    ) -> Option<u32> {
        self.of(body, values, block, cell).written.checked_sub(1)
    }

    fn of(&mut self, body: &Body<'_>, values: &Values<'_>, block: BlockId, cell: Cell) -> End {
        if self.block != Some(block) {
            self.look(body, values, block);
        }
        let end = self.cells[cell as usize];
        if end.block == block.0 + 1 { end } else { End::default() }
    }

    fn look(&mut self, body: &Body<'_>, values: &Values<'_>, block: BlockId) {
        self.block = Some(block);
        if self.cells.is_empty() {
            self.cells.resize(values.map.count(), End::default());
        }
        let map = values.map;
        let cells = &mut self.cells;
        for (place, id) in body.block(block).insts().iter().enumerate() {
            if values.is_dead(*id) {
                continue;
            }
            let inst = body.inst(*id);
            // What a phi takes is read on the way here.
            if inst.op != Opcode::MOVPHI {
                inst.for_each_use(|r| {
                    for cell in map.cells(r) {
                        let end = of_block(&mut cells[cell as usize], block);
                        (end.reads, end.last) = (end.reads + 1, id.0);
                    }
                });
            }
            inst.for_each_def(|r| {
                for cell in map.cells(r) {
                    of_block(&mut cells[cell as usize], block).written = place as u32 + 1;
                }
            });
        }
    }
}

fn of_block(end: &mut End, block: BlockId) -> &mut End {
    if end.block != block.0 + 1 {
        *end = End { block: block.0 + 1, ..End::default() };
    }
    end
}
