//! Where convergence barriers are in force.
//!
//! Liveness alone is not enough for them. Threads on a path that never comes to the `BSYNC` (it
//! ends in `EXIT`) do not read the barrier, yet others wait at it meanwhile: a nested `BSSY` on
//! that path must not take the same register. Observed: ptxas 13.0.88, sm_90a numbers barriers by
//! nesting there too, and gives regions beside each other the same number.
//!
//! So a barrier is in force from its `BSSY` on all paths to a `BSYNC`; past a block with a `BREAK`
//! of it, only where a `BSYNC` can still come.

use crate::analysis::liveness::{Cell, Liveness};
use bitvec::prelude::*;
use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{BlockId, Body, Opcode, RegFile, RegUse, VRegId};
use smallvec::SmallVec;

/// Cells of barriers, ascending: at most as many as regions nest.
type Set = SmallVec<[Cell; 4]>;

fn add(set: &mut Set, cell: Cell) -> bool {
    match set.binary_search(&cell) {
        Ok(_) => false,
        Err(at) => {
            set.insert(at, cell);
            true
        }
    }
}

/// Barriers in force at the borders of blocks, beyond what liveness says; by block.
#[derive(Clone, Debug, Default)]
pub struct InForce {
    start: Scratch<Vec<Set>>,
    end: Scratch<Vec<Set>>,
}

impl InForce {
    /// Follows convergence barriers from BSSY to BSYNC and BREAK.
    pub fn compute(body: &Body<'_>, liveness: &Liveness) -> InForce {
        let mut vregs = (0..body.vreg_count() as u32).map(VRegId);
        if !vregs.any(|id| body.vreg(id).file == RegFile::B) {
            return InForce::default();
        }
        let empty = || scratch!(Vec<Set>; Set::new(); body.block_count());
        let mut all = InForce { start: empty(), end: empty() };
        let mut work = scratch!(Vec<BlockId>).with(body.layout().iter().rev().copied());
        let mut first_time = scratch!(BitVec).fill_with(true, body.block_count());
        while let Some(block) = work.pop() {
            let b = block.0 as usize;
            let (end, broken) = all.through(body, liveness, block);
            let known = !first_time.replace(b, false) && end == all.end[b];
            if known {
                continue;
            }
            for succ in body.block(block).succs() {
                let start = &mut all.start[succ.0 as usize];
                let mut news = false;
                for cell in &end {
                    if !broken.contains(cell) || liveness.is_live_in(*succ, *cell) {
                        news |= add(start, *cell);
                    }
                }
                if news {
                    work.push(*succ);
                }
            }
            all.end[b] = end;
        }
        all
    }

    /// What is in force at the end of a block, and what it breaks out of.
    fn through(&self, body: &Body<'_>, liveness: &Liveness, block: BlockId) -> (Set, Set) {
        let mut now = self.start[block.0 as usize].clone();
        let mut broken = Set::new();
        for &id in body.block(block).insts() {
            let inst = body.inst(id);
            let is_barrier = |r: &RegUse| r.reg.file() == RegFile::B && r.reg.vreg().is_some();
            inst.for_each_def(|r| {
                if is_barrier(&r) {
                    liveness.map.cells(r).for_each(|cell| {
                        add(&mut now, cell);
                    });
                }
            });
            if !matches!(inst.op, Opcode::BSYNC | Opcode::BREAK) {
                continue;
            }
            inst.for_each_use(|r| {
                if !is_barrier(&r) {
                    return;
                }
                for cell in liveness.map.cells(r) {
                    match inst.op {
                        Opcode::BSYNC if inst.guard.is_always() => now.retain(|c| *c != cell),
                        Opcode::BREAK => {
                            add(&mut broken, cell);
                        }
                        _ => {}
                    }
                }
            });
        }
        (now, broken)
    }

    /// Whether the barrier is in force where the block begins.
    pub fn at_start(&self, block: BlockId, cell: Cell) -> bool {
        self.start.get(block.0 as usize).is_some_and(|set| set.binary_search(&cell).is_ok())
    }

    /// Cells of the barriers in force at the end of a block.
    pub fn at_end(&self, block: BlockId) -> impl Iterator<Item = Cell> + '_ {
        self.end.get(block.0 as usize).into_iter().flatten().copied()
    }
}

#[cfg(test)]
mod tests {
    use crate::analysis::Analyses;
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
        allocate(&mut body, &mut Analyses::default(), &Limits::new(None), 0, None)
            .expect("few barriers");
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
