//! Divergence: which registers may hold different values in the threads of a warp that run
//! together, and which branches may therefore diverge.
//!
//! A value diverges
//! * at its source: the thread's own numbers, loads whose address differs or whose memory is the
//!   thread's own, atomics, shuffles;
//! * by its operands, or the predicate under which it is written;
//! * where threads that a divergent branch has split reconverge, with a register that was written
//!   on the way. The threads inside one arm run together still, so a loop counter does not diverge
//!   inside a loop that threads leave one by one, but does behind it.
//!
//! Threads are assumed to reconverge where `systems/sync/convergence.rs` makes them: nowhere else
//! do diverged threads run together. A load through an address that is the same for all is one
//! access for all (ptxas relies on it too: it emits no barrier around a loop that spins on such a
//! load).

use crate::analysis::blocks::Marks;
use crate::analysis::cfg::Graph;
use crate::analysis::control_flow::ControlFlow;
use crate::analysis::dominators::Dominators;
use crate::analysis::liveness::Liveness;
use crate::analysis::loops::{Loop, Loops};
use crate::analysis::uses::Uses;
use crate::effects::{differs_by_thread, gives_all_the_same, lane_for_all};
use bitvec::vec::BitVec;
use orias_components::lists::Lists;
use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{BlockId, Body, InstId, Mod, Operand, Reg, RegFile, VRegId, View, phis};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// What may differ between the threads of a warp.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Divergence {
    /// Virtual registers, by id.
    pub registers: Scratch<BitVec>,
    /// Blocks at whose end threads may part, by number.
    pub branches: Scratch<BitVec>,
}

impl Divergence {
    /// Analyses a body whose edges are current.
    pub(super) fn new(
        body: &Body<'_>,
        flow: &ControlFlow,
        uses: &Uses,
        mut liveness: impl FnMut() -> Arc<Liveness>,
    ) -> Divergence {
        let mut solver = Solver::new(body, flow, uses, &mut liveness);
        solver.run();
        Divergence { registers: solver.registers, branches: solver.branches }
    }

    /// Every branch that depends on anything but uniform registers: what holds whatever the values
    /// are.
    pub fn everywhere(body: &Body<'_>) -> Divergence {
        let mut branches = scratch!(BitVec).fill_with(false, body.block_count());
        for id in body.layout() {
            let conditional =
                body.block(*id).insts().iter().any(|i| depends_on_thread(body.inst(*i), |_| true));
            branches.set(id.0 as usize, conditional && body.block(*id).succs().len() > 1);
        }
        let registers = scratch!(BitVec).fill_with(true, body.vreg_count());
        Divergence { registers, branches }
    }

    /// Whether threads of a warp may have different values in the register.
    pub fn is_divergent(&self, reg: Reg) -> bool {
        // A register that was made since is of what makes threads reconverge, and as they are.
        diverges(reg, |v| self.registers.get(v.0 as usize).is_some_and(|d| *d))
    }
}

/// Whether a register may differ, given which virtual ones do. Physical registers are not followed.
fn diverges(reg: Reg, virt: impl Fn(VRegId) -> bool) -> bool {
    let uniform = matches!(reg.file(), RegFile::UR | RegFile::UP) || reg.is_zero();
    !uniform && reg.vreg().is_none_or(virt)
}

/// Whether an instruction is a branch whose way depends on a register that differs.
fn depends_on_thread(inst: View<'_>, virt: impl Fn(VRegId) -> bool) -> bool {
    let mut found = false;
    // `BRA.U.ANY` takes all threads or none.
    let together = inst.mods().has(Mod::U) && inst.mods().has(Mod::ANY);
    if inst.op.is_branch() && !together {
        inst.for_each_use(|r| found |= r.reg.file() != RegFile::B && diverges(r.reg, &virt));
    }
    found
}

struct Solver<'a, 'w> {
    body: &'a Body<'w>,
    graph: &'a Graph,
    post: &'a Dominators,
    loops: &'a Loops,
    /// What is live, when it is asked for.
    liveness: &'a mut dyn FnMut() -> Arc<Liveness>,
    uses: &'a Uses,
    /// Registers that each block writes.
    writes: Scratch<Lists<VRegId>>,
    registers: Scratch<BitVec>,
    branches: Scratch<BitVec>,
    /// Registers whose readers are to be looked at.
    work: Scratch<Vec<VRegId>>,
    /// Divergent branches whose join is to be looked at, by their place in the layout.
    parted: Scratch<BinaryHeap<Reverse<(u32, u32)>>>,
    place: Scratch<Vec<u32>>,
    /// Joins, each with the blocks between divergent branches and it.
    covered: Scratch<FxHashSet<(u32, u32)>>,
    /// Scratch: blocks of a search; registers written between a branch and its join.
    marks: Marks,
    written: Marks,
}

/// Blocks by the successor of a branch that they lie behind.
type Arms = Scratch<Vec<Scratch<Vec<u32>>>>;

impl<'a, 'w> Solver<'a, 'w> {
    fn new(
        body: &'a Body<'w>,
        flow: &'a ControlFlow,
        uses: &'a Uses,
        liveness: &'a mut dyn FnMut() -> Arc<Liveness>,
    ) -> Self {
        let graph = flow.graph();
        let mut writes = scratch!(Lists<VRegId>).of(body.block_count());
        for block in body.layout() {
            for id in body.block(*block).insts() {
                body.inst(*id).for_each_def(|r| {
                    if let Some(v) = r.reg.vreg() {
                        writes.push(block.0, v);
                    }
                });
            }
        }
        let mut place = scratch!(Vec<u32>; 0; body.block_count());
        for (i, block) in body.layout().iter().enumerate() {
            place[block.0 as usize] = i as u32;
        }
        Solver {
            body,
            graph,
            post: flow.post_dominators_by_exit(),
            loops: flow.loops(),
            liveness,
            uses,
            writes,
            registers: scratch!(BitVec).fill_with(false, body.vreg_count()),
            branches: scratch!(BitVec).fill_with(false, graph.len()),
            work: scratch!(Vec<VRegId>),
            parted: scratch!(BinaryHeap<Reverse<(u32, u32)>>),
            place,
            covered: scratch!(FxHashSet<(u32, u32)>),
            marks: Marks::new(graph.len()),
            written: Marks::new(body.vreg_count()),
        }
    }

    fn run(&mut self) {
        for block in self.body.layout() {
            for id in self.body.block(*block).insts() {
                let inst = self.body.inst(*id);
                let mut from_outside = differs_by_thread(inst);
                inst.for_each_use(|r| {
                    let physical = r.reg.phys_index().is_some();
                    from_outside |= physical && diverges(r.reg, |_| false);
                });
                if from_outside {
                    self.reached(*id, *block);
                }
            }
        }
        loop {
            self.spread();
            // Branches in the layout's order: what lies behind one of them is then known when it is
            // looked at.
            match self.parted.pop() {
                Some(Reverse((_, branch))) => self.part(branch),
                None => break,
            }
        }
    }

    /// Looks at all readers of what differs.
    fn spread(&mut self) {
        while let Some(v) = self.work.pop() {
            let mut at = self.uses.first_reader(v);
            while let Some(((inst, block), next)) = self.uses.reader(at) {
                self.reached(inst, block);
                at = next;
            }
        }
    }

    /// An operand of the instruction differs between threads, or its result does by itself.
    fn reached(&mut self, inst: InstId, block: BlockId) {
        let inst = self.body.inst(inst);
        if inst.op.is_branch() {
            let registers = &self.registers;
            let parts = self.graph.succs[block.0 as usize].len() > 1
                && depends_on_thread(inst, |v| registers[v.0 as usize]);
            if parts && !self.branches.replace(block.0 as usize, true) {
                self.parted.push(Reverse((self.place[block.0 as usize], block.0)));
            }
        }
        let is_same = |lane: Operand| {
            let mut is_same = true;
            lane.for_each_reg(|r| is_same &= !self.differs(r.reg));
            is_same
        };
        let uniform_result = gives_all_the_same(inst.op) || lane_for_all(inst).is_some_and(is_same);
        // A guard that differs leaves the old value in some threads, whatever the instruction
        // computes.
        if uniform_result && (inst.guard.is_always() || !self.differs(inst.guard.reg)) {
            return;
        }
        let mut results: SmallVec<[VRegId; 4]> = SmallVec::new();
        inst.for_each_def(|r| results.extend(r.reg.vreg().filter(|_| diverges(r.reg, |_| true))));
        results.into_iter().for_each(|v| self.mark(v));
    }

    fn differs(&self, reg: Reg) -> bool {
        diverges(reg, |v| self.registers[v.0 as usize])
    }

    fn mark(&mut self, v: VRegId) {
        if !self.registers.replace(v.0 as usize, true) {
            self.work.push(v);
        }
    }

    /// Threads diverge at the end of `branch`: what is written before they reconverge differs where
    /// they reconverge.
    fn part(&mut self, branch: u32) {
        let mut join = self.post.idom(branch);
        if self.is_covered(branch, join) {
            return;
        }
        let mut arms = self.arms(branch, join);
        // Threads that go around a loop reconverge with the others at its header, in each round,
        // and not at a block of the loop that they would come to in a later round.
        while let Some(j) = join {
            let goes_round =
                |l: &Loop| l.blocks.contains(j) && arms.iter().any(|a| a.contains(&l.header));
            if !self.loops.around(branch).any(goes_round) {
                break;
            }
            join = self.post.idom(j);
            arms = self.arms(branch, join);
        }
        self.marks.clear();
        let mut met = scratch!(Vec<u32>);
        let mut passed = scratch!(Vec<u32>);
        for &node in arms.iter().flatten() {
            if self.marks.add(node) { passed.push(node) } else { met.push(node) }
        }
        if let Some(join) = join {
            met.push(join);
            passed.retain(|b| *b != join);
        }
        self.written.clear();
        for block in &passed {
            self.writes.iter(*block).for_each(|v| _ = self.written.add(v.0));
        }
        met.sort_unstable();
        met.dedup();
        let mut found = scratch!(Vec<VRegId>);
        let liveness = (self.liveness)();
        for &node in &met {
            // Threads that come by different ways bring different values.
            for id in phis::of(self.body, BlockId(node)) {
                self.body.inst(id).for_each_def(|r| found.extend(r.reg.vreg()));
            }
            for cell in liveness.live_in(BlockId(node)) {
                if let Some((v, _)) = liveness.map.vreg(cell)
                    && self.written.has(v.0)
                {
                    found.push(v);
                }
            }
        }
        for &v in &found {
            if matches!(self.body.vreg(v).file, RegFile::R | RegFile::P) {
                self.mark(v);
            }
        }
        if let Some(join) = join {
            self.covered.extend(passed.iter().map(|block| (join, *block)));
        }
    }

    /// Whether a branch straight to its join lies between another branch and the same join: threads
    /// that leave here meet there what those that left before did.
    fn is_covered(&self, branch: u32, join: Option<u32>) -> bool {
        let Some(join) = join else { return false };
        let straight = self.graph.succs[branch as usize].contains(&join);
        straight && self.covered.contains(&(join, branch))
    }

    /// For each successor of a branch, the blocks that threads may pass from there up to the join.
    fn arms(&mut self, branch: u32, join: Option<u32>) -> Arms {
        let mut arms = scratch!(Vec<Scratch<Vec<u32>>>);
        let mut stack = scratch!(Vec<u32>);
        for succ in &self.graph.succs[branch as usize] {
            self.marks.clear();
            let mut arm = scratch!(Vec<u32>);
            stack.push(*succ);
            while let Some(node) = stack.pop() {
                if self.marks.add(node) {
                    arm.push(node);
                    if Some(node) != join {
                        stack.extend(&self.graph.succs[node as usize]);
                    }
                }
            }
            arms.push(arm);
        }
        arms
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Analyses;
    use crate::testing;
    use orias_components::text;

    /// Names of divergent registers and blocks with a divergent branch.
    fn analyze_text(text: &str) -> String {
        let mut function = testing::function();
        let mut body = function.body();
        text::parse(text, &mut body).expect("the test's text is Ori");
        body.update_edges();
        let found = Analyses::default().divergence(&body);
        let mut names: Vec<String> = found
            .registers
            .iter_ones()
            .map(|v| VRegId(v as u32))
            .map(|v| Reg::virt(body.vreg(v).file, v).to_string())
            .collect();
        names.extend(found.branches.iter_ones().map(|b| format!("BB{b}")));
        names.join(" ")
    }

    #[test]
    fn values_of_the_thread_spread_to_what_is_computed_from_them() {
        let text = "
            BB0:
              %R0 = S2R SR33
              %R1 = S2R SR37
              %R2 = IADD3 %R1, 0x1, RZ
              %R3 = IADD3 %R0, %R2, RZ
              %P4, PT = ISETP.LT.AND %R2, 0x5, PT
              %P5, PT = ISETP.LT.AND %R3, 0x5, PT
              @%P4 BRA PT, BB2
            BB1:
              @%P5 BRA PT, BB2
            BB3:
              EXIT PT
            BB2:
              EXIT PT";
        assert_eq!(analyze_text(text), "%R0 %R3 %P5 BB1");
    }

    #[test]
    fn a_phi_differs_where_parted_threads_meet_and_not_where_a_loop_begins() {
        let text = "
            BB0:
              %R0 = S2R SR33
              %R1 = MOV 0x1, 0xf
              %P2, PT = ISETP.LT.AND %R0, 0x5, PT
              @%P2 BRA PT, BB2
            BB1:
              %R3 = MOV 0x2, 0xf
            BB2:
              %R4 = MOVPHI %R1, BB0, %R3, BB1
            BB3:
              %R5 = MOVPHI %R1, BB2, %R6, BB3
              %R6 = VIADD %R5, 0x1
              %P7, PT = ISETP.LT.AND %R6, %R0, PT
              @%P7 BRA PT, BB3
            BB4:
              %R8 = MOVPHI %R6, BB3
              EXIT PT";
        // The counter runs with those that still iterate; what comes out of the loop is of
        // different rounds.
        assert_eq!(analyze_text(text), "%R0 %P2 %R4 %P7 %R8 BB0 BB3");
    }

    #[test]
    fn a_register_written_in_one_arm_differs_behind_the_join() {
        let text = "
            BB0:
              %R0 = S2R SR33
              %R1 = MOV 0x0, 0xf
              %P2, PT = ISETP.LT.AND %R0, 0x5, PT
              @%P2 BRA PT, BB2
            BB1:
              %R1 = MOV 0x1, 0xf
              %R3 = MOV 0x2, 0xf
              %R4 = IADD3 %R3, 0x1, RZ
            BB2:
              %R5 = MOV %R1, 0xf
              EXIT PT";
        assert_eq!(analyze_text(text), "%R0 %R1 %P2 %R5 BB0");
    }

    #[test]
    fn a_counter_differs_only_behind_the_loop_that_threads_leave_one_by_one() {
        let text = "
            BB0:
              %R0 = S2R SR33
              %R1 = MOV 0x0, 0xf
            BB1:
              %R1 = IADD3 %R1, 0x1, RZ
              %R6 = LOP3.LUT %R1, 0x1, RZ
              %P2, PT = ISETP.EQ.AND %R6, RZ, PT
              @%P2 BRA PT, BB3
            BB2:
              %R7 = MOV 0x5, 0xf
            BB3:
              %P3, PT = ISETP.LT.AND %R7, %R0, PT
              @%P3 BRA PT, BB1
            BB4:
              EXIT PT";
        assert_eq!(analyze_text(text), "%R0 %P3 BB3", "the counter is not read behind the loop");
        let read = text.replace("EXIT PT", "%R8 = MOV %R1, 0xf\n EXIT PT");
        assert_eq!(analyze_text(&read), "%R0 %R1 %P2 %P3 %R6 %R7 %R8 BB1 BB3");
    }

    #[test]
    fn threads_that_continue_meet_the_others_at_the_header() {
        // The block behind BB2 is where the ways from BB1 meet in the end, but threads that
        // continue meet those that do not at the header before that, with different %R1.
        let text = "
            BB0:
              %R0 = S2R SR33
              %R1 = MOV 0x0, 0xf
            BB1:
              %P2, PT = ISETP.LT.AND %R0, 0x5, PT
              @%P2 BRA PT, BB1
            BB2:
              %R1 = IADD3 %R1, 0x1, RZ
              %P3, PT = ISETP.LT.AND %R1, 0x5, PT
              @%P3 BRA PT, BB1
            BB3:
              EXIT PT";
        assert_eq!(analyze_text(text), "%R0 %R1 %P2 %P3 BB1 BB2");
    }

    #[test]
    fn a_guard_that_differs_makes_the_result_differ() {
        let text = "
            BB0:
              %R0 = S2R SR33
              %R1 = MOV 0x0, 0xf
              %P2, PT = ISETP.LT.AND %R0, 0x5, PT
              @%P2 %R1 = MOV 0x1, 0xf
              %R3, PT = VOTE.ANY %P2
              EXIT PT";
        assert_eq!(analyze_text(text), "%R0 %R1 %P2");
    }

    #[test]
    fn a_load_differs_by_its_address_or_because_its_memory_is_private() {
        let text = "
            BB0:
              %R0 = S2R SR33
              %R1 = LDS [RZ+0x10]
              %R2 = LDS [%R0+0x10]
              %R3 = LDL [RZ+0x10]
              %R4 = ATOMS.ADD [RZ], 0x1
              EXIT PT";
        assert_eq!(analyze_text(text), "%R0 %R2 %R3 %R4");
    }
}
