//! Which instruction a value comes from, and how often it is read.

use crate::analysis::liveness::{Cell, CellMap};
use bitvec::vec::BitVec;
use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{Body, InstId, Opcode, Operand, RegFlags, RegUse, View};

/// What writes each cell of a value, and how often it is read.
pub(super) struct Values<'m> {
    map: &'m CellMap,
    /// By cell: 1 + the instruction; 0 where there is none, or more than one.
    writers: Scratch<Vec<u32>>,
    reads: Scratch<Vec<u32>>,
    /// By cell, whether a phi makes or takes it: what it becomes wants its register.
    of_phi: Scratch<BitVec>,
}

impl<'m> Values<'m> {
    /// Of all instructions, each of which is shown to `see`.
    pub fn of(body: &Body<'_>, map: &'m CellMap, mut see: impl FnMut(View<'_>)) -> Values<'m> {
        let mut writers = scratch!(Vec<u32>; 0; map.count());
        let mut reads = scratch!(Vec<u32>; 0; map.count());
        let mut again = scratch!(Vec<Cell>);
        let mut of_phi = scratch!(BitVec).fill_with(false, map.count());
        for block in body.layout() {
            for id in body.block(*block).insts() {
                let inst = body.inst(*id);
                see(inst);
                inst.for_each_def(|r| {
                    for cell in map.cells(r) {
                        let writer = &mut writers[cell as usize];
                        if *writer != 0 {
                            again.push(cell);
                        }
                        *writer = id.0 + 1;
                    }
                });
                inst.for_each_use(|r| map.cells(r).for_each(|cell| reads[cell as usize] += 1));
                if inst.op == Opcode::MOVPHI {
                    let mut mark =
                        |r| map.cells(r).for_each(|cell| of_phi.set(cell as usize, true));
                    inst.for_each_def(&mut mark);
                    inst.for_each_use(&mut mark);
                }
            }
        }
        again.iter().for_each(|cell| writers[*cell as usize] = 0);
        Values { map, writers, reads, of_phi }
    }

    fn cell(&self, r: RegUse) -> Option<usize> {
        self.map.cells(r).next().map(|cell| cell as usize)
    }

    /// The one instruction that writes a cell.
    pub fn writer(&self, r: RegUse) -> Option<InstId> {
        self.writers[self.cell(r)?].checked_sub(1).map(InstId)
    }

    /// Whether any cell is read.
    pub fn is_read(&self, r: RegUse) -> bool {
        self.map.cells(r).any(|cell| self.reads[cell as usize] > 0)
    }

    fn is_of_phi(&self, r: RegUse) -> bool {
        self.map.cells(r).any(|cell| self.of_phi[cell as usize])
    }

    /// Whether what an instruction reads may be read behind it, by one before which `before` stands
    /// in the block: what a phi makes and what it takes share a register as long as they are not
    /// needed at once, and copies cost more than is won.
    pub fn may_move(&self, body: &Body<'_>, id: InstId, before: &[InstId]) -> bool {
        let inst = body.inst(id);
        let mut related = false;
        inst.for_each_use(|r| related |= self.is_of_phi(r));
        if !related {
            return true;
        }
        let Some(from) = before.iter().position(|before| *before == id) else { return false };
        let mut meets = false;
        for between in &before[from + 1..] {
            body.inst(*between).for_each_def(|r| meets |= self.is_of_phi(r));
        }
        !meets
    }

    /// How often a cell is read.
    pub fn reads(&self, r: RegUse) -> u32 {
        self.cell(r).map_or(0, |cell| self.reads[cell])
    }

    /// An instruction is another one now, which writes what it did and maybe more.
    pub fn rewritten(&mut self, inst: View<'_>, id: InstId) {
        let Values { map, writers, .. } = self;
        inst.for_each_def(|r| {
            map.cells(r).for_each(|cell| writers[cell as usize] = id.0 + 1);
        });
    }

    /// An instruction came, or went.
    pub fn count(&mut self, inst: View<'_>, came: bool) {
        let Values { map, reads, .. } = self;
        inst.for_each_use(|r| {
            for cell in map.cells(r) {
                let reads = &mut reads[cell as usize];
                *reads = if came { *reads + 1 } else { reads.saturating_sub(1) };
            }
        });
    }
}

/// Whether it is one cell of a virtual register, without sign changes or a part.
pub(super) fn plain(operand: &Operand) -> Option<RegUse> {
    match operand {
        Operand::Reg(r) if r.reg.vreg().is_some() && r.flags == RegFlags::NONE => Some(*r),
        _ => None,
    }
}
