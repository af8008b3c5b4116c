//! Where convergence barriers are in force.
//!
//! Liveness alone is not enough for them. Threads on a path that never comes to the `BSYNC` (it ends in `EXIT`) do not read
//! the barrier, yet others wait at it meanwhile: a nested `BSSY` on that path must not take the same register. Observed:
//! ptxas 13.0.88, sm_90a numbers barriers by nesting there too, and gives regions beside each other the same number.
//!
//! So a barrier is in force from its `BSSY` on all paths to a `BSYNC`; past a block with a `BREAK` of it, only where a `BSYNC`
//! can still come.

use crate::analysis::liveness::{Cell, Liveness};
use bitvec::prelude::*;
use orias_components::{BlockId, Body, Opcode, RegFile, VRegId};

/// Barriers in force at the borders of blocks, beyond what liveness says.
#[derive(Clone, Debug, Default)]
pub struct InForce {
    /// Cells of barriers.
    cells: Vec<Cell>,
    /// By block: bits by place in `cells`.
    start: Vec<BitVec>,
    end: Vec<BitVec>,
}

impl InForce {
    pub fn compute(body: &Body<'_>, liveness: &Liveness) -> InForce {
        let cells: Vec<Cell> = (0..body.vreg_count() as u32)
            .map(VRegId)
            .filter(|id| body.vreg(*id).file == RegFile::B)
            .map(|id| liveness.map.first(id))
            .collect();
        if cells.is_empty() {
            return InForce::default();
        }
        let empty = || vec![bitvec![0; cells.len()]; body.block_count()];
        let mut all = InForce { start: empty(), end: empty(), cells };
        let mut work: Vec<BlockId> = body.layout().iter().rev().copied().collect();
        let mut first_time = bitvec![1; body.block_count()];
        while let Some(block) = work.pop() {
            let b = block.0 as usize;
            let (end, broken) = all.through(body, liveness, block);
            let known = !first_time.replace(b, false) && end == all.end[b];
            if known {
                continue;
            }
            for succ in &body.block(block).succs {
                let start = &mut all.start[succ.0 as usize];
                let before = start.clone();
                for bit in end.iter_ones() {
                    if !broken[bit] || liveness.is_live_in(*succ, all.cells[bit]) {
                        start.set(bit, true);
                    }
                }
                if *start != before {
                    work.push(*succ);
                }
            }
            all.end[b] = end;
        }
        all
    }

    /// What is in force at the end of a block, and what it breaks out of.
    fn through(&self, body: &Body<'_>, liveness: &Liveness, block: BlockId) -> (BitVec, BitVec) {
        let mut now = self.start[block.0 as usize].clone();
        let mut broken = bitvec![0; self.cells.len()];
        for &id in &body.block(block).insts {
            let inst = body.inst(id);
            let bits = |reg| {
                liveness.map.cells(reg).filter_map(|cell| self.cells.binary_search(&cell).ok())
            };
            inst.for_each_def(|r| bits(r).for_each(|bit| now.set(bit, true)));
            inst.for_each_use(|r| match inst.op {
                Opcode::BSYNC if inst.guard.is_always() => {
                    bits(r).for_each(|bit| now.set(bit, false));
                }
                Opcode::BREAK => bits(r).for_each(|bit| broken.set(bit, true)),
                _ => {}
            });
        }
        (now, broken)
    }

    pub fn at_start(&self, block: BlockId, cell: Cell) -> bool {
        self.has(&self.start, block, cell)
    }

    /// Cells of the barriers in force at the end of a block.
    pub fn at_end(&self, block: BlockId) -> impl Iterator<Item = Cell> + '_ {
        let bits = self.end.get(block.0 as usize).into_iter().flat_map(|bits| bits.iter_ones());
        bits.map(|bit| self.cells[bit])
    }

    fn has(&self, sets: &[BitVec], block: BlockId, cell: Cell) -> bool {
        let bit = self.cells.binary_search(&cell).ok();
        bit.is_some_and(|bit| sets.get(block.0 as usize).is_some_and(|bits| bits[bit]))
    }
}

#[cfg(test)]
mod tests {
    use crate::analysis::cfg;
    use crate::registers::allocate::allocate;
    use crate::registers::limits::Limits;
    use crate::testing;
    use orias_components::{RegFile, VRegId, text};

    /// The barrier register of each virtual one, after allocation.
    fn barriers(input: &str) -> Vec<u8> {
        let mut function = testing::function();
        text::parse(input, &mut function.body()).expect("Ori");
        function.run(cfg::analyze_control_flow);
        let mut body = function.body();
        allocate(&mut body, &Limits::new(None), 0).expect("few barriers");
        let vregs = (0..body.vreg_count() as u32).map(|id| *body.vreg(VRegId(id)));
        vregs.filter(|v| v.file == RegFile::B).filter_map(|v| v.assigned).collect()
    }

    #[test]
    fn regions_beside_each_other_share_a_barrier_and_nested_ones_do_not() {
        let found = barriers(
            "BB0:
                %B0 = BSSY BB6
                @%P9 BRA PT, BB3
            BB1:
                %B1 = BSSY BB2
                @%P9 BRA PT, BB2
                NOP
            BB2:
                BSYNC %B1
                BRA PT, BB6
            BB3:
                %B2 = BSSY BB5
                @%P9 BRA PT, BB5
            BB4:
                NOP
            BB5:
                BSYNC %B2
            BB6:
                BSYNC %B0
                EXIT PT",
        );
        assert_eq!(found, [0, 1, 1]);
    }

    #[test]
    fn a_path_that_ends_inside_a_region_leaves_its_barrier_alone() {
        let found = barriers(
            "BB0:
                %B0 = BSSY BB4
                @%P9 BRA PT, BB4
            BB1:
                %B1 = BSSY BB3
                @%P9 BRA PT, BB3
            BB2:
                NOP
            BB3:
                BSYNC %B1
                EXIT PT
            BB4:
                BSYNC %B0
                EXIT PT",
        );
        assert_eq!(found, [0, 1]);
    }

    #[test]
    fn who_breaks_out_of_a_region_needs_its_barrier_no_more() {
        let found = barriers(
            "BB0:
                %B0 = BSSY BB3
            BB1:
                @%P9 BREAK PT, %B0
                @%P9 BRA PT, BB4
            BB2:
                @%P8 BRA PT, BB1
            BB3:
                BSYNC %B0
            BB4:
                %B1 = BSSY BB6
                @%P9 BRA PT, BB6
            BB5:
                NOP
            BB6:
                BSYNC %B1
                EXIT PT",
        );
        assert_eq!(found, [0, 0]);
    }
}
