//! What follows from a function's edges: orders, dominators, loops, frontiers.

use crate::analysis::cfg::{self, Graph};
use crate::analysis::dominators::Dominators;
use crate::analysis::frontiers::Frontiers;
use crate::analysis::loops::{self, Loops};
use bitvec::vec::BitVec;
use orias_components::Body;
use orias_components::lists::Lists;
use orias_components::scratch;
use orias_components::scratch::Scratch;
use std::sync::OnceLock;

/// What follows from a function's edges alone. Each part is computed when it is asked for first.
#[derive(Debug, Default)]
pub struct ControlFlow {
    graph: Graph,
    exits: Scratch<Vec<u32>>,
    order: OnceLock<Scratch<Vec<u32>>>,
    dominators: OnceLock<Dominators>,
    post_dominators: OnceLock<Dominators>,
    post_dominators_by_exit: OnceLock<Dominators>,
    loops: OnceLock<Loops>,
    irreducible: OnceLock<Scratch<BitVec>>,
    frontiers: OnceLock<Frontiers>,
}

impl ControlFlow {
    /// Of a graph, with the exits that [`Dominators::post_by_exit`] asks for.
    pub fn new(graph: Graph, exits: Scratch<Vec<u32>>) -> ControlFlow {
        ControlFlow { graph, exits, ..ControlFlow::default() }
    }

    /// Of a body whose edges are current.
    pub fn of(body: &Body<'_>) -> ControlFlow {
        ControlFlow::new(Graph::of(body), cfg::exits(body))
    }

    /// The edges themselves.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Blocks that the entry reaches, each before its successors except along back edges.
    pub fn reverse_postorder(&self) -> &[u32] {
        self.order.get_or_init(|| self.graph.reverse_postorder())
    }

    /// Which blocks control has come through, from the entry on.
    pub fn dominators(&self) -> &Dominators {
        self.dominators.get_or_init(|| Dominators::new(&self.graph))
    }

    /// By block those that it dominates at once.
    pub fn dominated(&self) -> Scratch<Lists<u32>> {
        let mut below = scratch!(Lists<u32>).of(self.graph.len());
        for block in self.reverse_postorder() {
            if let Some(above) = self.dominators().idom(*block) {
                below.push(above, *block);
            }
        }
        below
    }

    /// See [`Dominators::post`].
    pub fn post_dominators(&self) -> &Dominators {
        self.post_dominators.get_or_init(|| Dominators::post(&self.graph))
    }

    /// See [`Dominators::post_by_exit`], of all exits.
    pub fn post_dominators_by_exit(&self) -> &Dominators {
        let new = || Dominators::post_by_exit(&self.graph, &self.exits);
        self.post_dominators_by_exit.get_or_init(new)
    }

    /// Natural loops and how they lie in each other.
    pub fn loops(&self) -> &Loops {
        let new = || Loops::new(&self.graph, self.reverse_postorder(), || self.dominators());
        self.loops.get_or_init(new)
    }

    /// How often a block runs, when the function runs once: an estimate from its text alone, eight
    /// rounds a loop.
    pub fn frequency(&self, block: u32) -> u64 {
        const MOST_LOOPS: u32 = 6;
        8u64.pow(self.loops().depth(block).min(MOST_LOOPS))
    }

    /// Blocks of cycles that are no natural loops.
    pub fn irreducible(&self) -> &Scratch<BitVec> {
        self.irreducible.get_or_init(|| loops::irreducible(&self.graph, self.dominators()))
    }

    /// Where what a block dominates ends.
    pub fn frontiers(&self) -> &Frontiers {
        self.frontiers.get_or_init(|| Frontiers::new(&self.graph, self.dominators()))
    }

    /// Whether the parts that are there are those of the other one's graph.
    pub(super) fn agrees(&self, new: &ControlFlow) -> Result<(), &'static str> {
        fn is<'a, T: PartialEq + 'a>(kept: &OnceLock<T>, new: impl FnOnce() -> &'a T) -> bool {
            kept.get().is_none_or(|kept| kept == new())
        }
        let all = [
            ("the graph", self.graph == new.graph && self.exits == new.exits),
            ("dominators", is(&self.dominators, || new.dominators())),
            ("post-dominators", is(&self.post_dominators, || new.post_dominators())),
            (
                "post-dominators by exit",
                is(&self.post_dominators_by_exit, || new.post_dominators_by_exit()),
            ),
            ("loops", is(&self.loops, || new.loops())),
            ("irreducible blocks", is(&self.irreducible, || new.irreducible())),
            ("dominance frontiers", is(&self.frontiers, || new.frontiers())),
        ];
        all.iter().find(|(_, same)| !same).map_or(Ok(()), |(name, _)| Err(name))
    }
}
