//! Analyses that are kept: a phase asks for one, and gets what an earlier one asked for where
//! nothing has changed since.
//!
//! A body counts its edits, and those of branches and layout for themselves ([`Stamps`]); what was
//! computed at another number is stale. Phases call no constructor of an analysis: they ask here.
//! `--verify-each` compares what is kept with what a computation gives ([`Analyses::check`]).

use crate::analysis::control_flow::ControlFlow;
use crate::analysis::divergence::Divergence;
use crate::analysis::liveness::{CellMap, Liveness};
use crate::analysis::reaching::Reaching;
use crate::analysis::trips::Trips;
use crate::analysis::uses::Uses;
use bevy_ecs::prelude::*;
use bitvec::vec::BitVec;
use orias_components::body::Stamps;
use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{BlockId, Body};
use std::sync::Arc;

/// An analysis, and the number that the body had: 0 where it is stale. A stale one lies there for
/// its memory, which the next one takes.
#[derive(Debug)]
struct Kept<T> {
    at: u64,
    found: Option<Arc<T>>,
}

impl<T> Default for Kept<T> {
    fn default() -> Kept<T> {
        Kept { at: 0, found: None }
    }
}

impl<T> Kept<T> {
    fn at(&self, stamp: u64) -> Option<&Arc<T>> {
        self.found.as_ref().filter(|_| self.at == stamp)
    }

    fn keep(&mut self, stamp: u64, new: T) -> Arc<T> {
        self.at = stamp;
        if let Some(found) = &mut self.found
            && let Some(place) = Arc::get_mut(found)
        {
            *place = new;
            return found.clone();
        }
        self.found.insert(Arc::new(new)).clone()
    }

    fn get(&mut self, stamp: u64, new: impl FnOnce() -> T) -> Arc<T> {
        match self.at(stamp) {
            Some(found) => found.clone(),
            None => self.keep(stamp, new()),
        }
    }

    fn sweep(&mut self, stamp: u64, keeps_memory: bool) {
        if self.at != stamp {
            self.at = 0;
            if !keeps_memory {
                self.found = None;
            }
        }
    }
}

/// Instructions of a function whose stale analyses are kept for their memory.
const FEW: usize = 1 << 12;

/// What is known of the function in the world.
#[derive(Resource, Debug, Default)]
pub struct Analyses {
    flow: Kept<ControlFlow>,
    cells: Kept<CellMap>,
    liveness: Kept<Liveness>,
    uses: Kept<Uses>,
    divergence: Kept<Divergence>,
    trips: Kept<Trips>,
    reaching: Kept<Reaching>,
    /// What stale live cells name in place of their numbers.
    no_cells: Arc<CellMap>,
}

impl Analyses {
    /// The graph and what follows from it. The blocks' edges are current when a phase begins; one
    /// that has changed branches or the layout asks for [`Analyses::flow_after`].
    ///
    /// # Panics
    /// Where the blocks' edges are stale.
    pub fn flow(&mut self, body: &Body<'_>) -> Arc<ControlFlow> {
        assert!(!body.edges_are_stale(), "a phase asks for the graph and has changed it");
        self.flow.get(body.stamps().flow, || ControlFlow::of(body))
    }

    /// The same with edges that may be stale: they are made new.
    pub fn flow_after(&mut self, body: &mut Body<'_>) -> Arc<ControlFlow> {
        self.edges(body);
        self.flow(body)
    }

    /// All blocks, each before its successors except along back edges, those last that the entry
    /// does not reach (shared subroutines). See [`Analyses::flow`].
    pub fn order(&mut self, body: &Body<'_>) -> Scratch<Vec<BlockId>> {
        if body.layout().len() < 2 {
            return body.walk();
        }
        let flow = self.flow(body);
        let reached = flow.reverse_postorder();
        let mut order = scratch!(Vec<BlockId>).with(reached.iter().copied().map(BlockId));
        if reached.len() < body.layout().len() {
            let mut is_there = scratch!(BitVec).fill_with(false, body.block_count());
            reached.iter().for_each(|block| is_there.set(*block as usize, true));
            order.extend(body.layout().iter().filter(|block| !is_there[block.0 as usize]));
        }
        order
    }

    /// The edges that blocks hold, for a phase that reads them after it has changed branches or the
    /// layout: stale ones are made new.
    pub fn edges(&mut self, body: &mut Body<'_>) {
        body.update_edges();
    }

    /// The numbers of registers' cells.
    pub fn cells(&mut self, body: &Body<'_>) -> Arc<CellMap> {
        let stamp = body.stamps().registers;
        let liveness = self.liveness.found.as_mut().filter(|_| self.cells.at != stamp);
        if let Some(stale) = liveness.and_then(Arc::get_mut) {
            stale.map = self.no_cells.clone();
            self.liveness.at = 0;
        }
        self.cells.get(stamp, || CellMap::new(body))
    }

    /// Of a body whose blocks' edges are current, as for [`Analyses::flow`].
    ///
    /// # Panics
    /// Where they are stale.
    pub fn liveness(&mut self, body: &Body<'_>) -> Arc<Liveness> {
        assert!(!body.edges_are_stale(), "a phase asks what is live and has changed the graph");
        let cells = self.cells(body);
        self.liveness.get(body.stamp(), || Liveness::compute(body, cells))
    }

    /// The same with edges that may be stale: they are made new.
    pub fn liveness_after(&mut self, body: &mut Body<'_>) -> Arc<Liveness> {
        self.edges(body);
        self.liveness(body)
    }

    /// See [`Analyses::liveness`].
    pub fn divergence(&mut self, body: &Body<'_>) -> Arc<Divergence> {
        let stamp = body.stamp();
        if let Some(found) = self.divergence.at(stamp) {
            return found.clone();
        }
        let (flow, uses) = (self.flow(body), self.uses(body));
        // What is live is asked for where threads part, and in many functions they never do.
        let new = Divergence::new(body, &flow, &uses, || self.liveness(body));
        self.divergence.keep(stamp, new)
    }

    /// Who reads and writes each register.
    pub fn uses(&mut self, body: &Body<'_>) -> Arc<Uses> {
        self.uses.get(body.stamp(), || Uses::new(body))
    }

    /// Says that nobody asks for [`Analyses::uses`] any more: a large function's go now, for what
    /// comes needs their memory.
    pub fn need_no_uses(&mut self, body: &Body<'_>) {
        if body.inst_count() > FEW {
            self.uses = Kept::default();
        }
    }

    /// How often each loop iterates, in SSA form. See [`Analyses::flow`].
    pub fn trips(&mut self, body: &Body<'_>) -> Arc<Trips> {
        let (flow, uses) = (self.flow(body), self.uses(body));
        self.trips.get(body.stamp(), || Trips::new(body, &flow, &uses))
    }

    /// Which definitions reach each operand, out of SSA form. See [`Analyses::liveness`].
    pub fn reaching(&mut self, body: &Body<'_>) -> Arc<Reaching> {
        let (flow, liveness) = (self.flow(body), self.liveness(body));
        self.reaching.get(body.stamp(), || Reaching::new(body, &flow, &liveness))
    }

    /// Lets go what is stale, of a function with so many instructions.
    pub fn sweep(&mut self, stamps: Stamps, insts: usize) {
        let few = insts <= FEW && scratch::keeps();
        self.flow.sweep(stamps.flow, few);
        self.cells.sweep(stamps.registers, few);
        self.liveness.sweep(stamps.edits, few);
        self.uses.sweep(stamps.edits, few);
        self.divergence.sweep(stamps.edits, few);
        self.trips.sweep(stamps.edits, few);
        self.reaching.sweep(stamps.edits, few);
    }

    /// Whether what is kept is what a computation gives.
    ///
    /// # Errors
    /// The first analysis that is another one.
    pub fn check(&self, body: &Body<'_>) -> Result<(), String> {
        fn at<T>(kept: &Kept<T>, stamp: u64) -> Option<&T> {
            kept.at(stamp).map(|found| &**found)
        }
        let stale = |name: &str| Err(format!("{name} are kept that are not those of the body"));
        if let Some(kept) = at(&self.flow, body.stamps().flow)
            && let Err(name) = kept.agrees(&ControlFlow::of(body))
        {
            return stale(name);
        }
        if at(&self.cells, body.stamps().registers).is_some_and(|kept| *kept != CellMap::new(body))
        {
            return stale("numbers of cells");
        }
        let liveness = || Liveness::compute(body, Arc::new(CellMap::new(body)));
        if at(&self.liveness, body.stamp()).is_some_and(|kept| *kept != liveness()) {
            return stale("live cells");
        }
        if at(&self.uses, body.stamp()).is_some_and(|kept| *kept != Uses::new(body)) {
            return stale("uses of registers");
        }
        let uses = || Uses::new(body);
        let live = || Arc::new(liveness());
        let divergence = || Divergence::new(body, &ControlFlow::of(body), &uses(), live);
        if at(&self.divergence, body.stamp()).is_some_and(|kept| *kept != divergence()) {
            return stale("divergent values");
        }
        let trips = || Trips::new(body, &ControlFlow::of(body), &uses());
        if at(&self.trips, body.stamp()).is_some_and(|kept| *kept != trips()) {
            return stale("trip counts");
        }
        let reaching = || Reaching::new(body, &ControlFlow::of(body), &liveness());
        if at(&self.reaching, body.stamp()).is_some_and(|kept| *kept != reaching()) {
            return stale("reaching definitions");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use orias_components::{BlockId, Inst, InstId, Loc, Opcode, Operand, edges};

    const LOOP: &str = "
        BB0:
          %R1 = S2R SR33
        BB1:
          %R1 = VIADD %R1, 0x1
          %P2 = ISETP.NE.AND PT, %R1, RZ, PT
          @%P2 BRA PT, BB1
        BB2:
          EXIT PT";

    #[test]
    fn what_an_edit_does_not_touch_is_kept() {
        let mut function = testing::parse(LOOP);
        let mut body = function.body();
        let mut analyses = Analyses::default();
        let (flow, live) = (analyses.flow(&body), analyses.liveness(&body));
        assert!(Arc::ptr_eq(&flow, &analyses.flow(&body)));
        assert!(Arc::ptr_eq(&live, &analyses.liveness(&body)));
        body.set_operand(InstId(1), 2, Operand::Imm(2));
        assert!(Arc::ptr_eq(&flow, &analyses.flow(&body)), "no branch has changed");
        assert!(!Arc::ptr_eq(&live, &analyses.liveness(&body)));
    }

    #[test]
    fn branches_and_the_layout_make_edges_stale() {
        let edits: [fn(&mut Body<'_>); 4] = [
            |body| {
                body.redirect(InstId(3), BlockId(1), BlockId(2));
            },
            |body| body.remove(BlockId(1), InstId(3)),
            |body| body.set_layout(&[BlockId(0), BlockId(2), BlockId(1)]),
            |body| {
                body.push(
                    BlockId(0),
                    Inst::new(Opcode::EXIT, &[], 0, &[Operand::PT]),
                    Loc::default(),
                );
            },
        ];
        for edit in edits {
            let mut function = testing::parse(LOOP);
            let mut body = function.body();
            let mut analyses = Analyses::default();
            let loops =
                |a: &mut Analyses, body: &mut Body<'_>| a.flow_after(body).loops().all.len();
            assert_eq!(loops(&mut analyses, &mut body), 1);
            edit(&mut body);
            assert!(body.edges_are_stale());
            assert_eq!(loops(&mut analyses, &mut body), 0);
            assert_eq!(edges::check(&body), Ok(()));
        }
    }

    #[test]
    fn an_analysis_that_an_edit_went_around_is_found() {
        let mut function = testing::parse(LOOP);
        let mut body = function.body();
        let mut analyses = Analyses::default();
        analyses.flow(&body).dominators();
        assert_eq!(analyses.check(&body), Ok(()));
        let stamp = body.stamps();
        body.add_edge(BlockId(0), BlockId(2));
        assert_eq!(body.stamps().flow, stamp.flow, "edges are not the editor's");
        let error = analyses.check(&body).expect_err("no instruction leads from BB0 to BB2");
        assert!(error.starts_with("the graph"), "{error}");
    }
}
