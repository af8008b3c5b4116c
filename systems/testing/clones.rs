//! Clones of all loops of a body, whatever they are worth.

use crate::analysis::ControlFlow;
use crate::ssa::{self, Form};
use orias_components::{BlockId, Body, Copies, FlowEdit, Region};

/// Which edges lead to a loop's clone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Those that lead to the loop from outside: the clone is its first round.
    Peel,
    /// The back edges: the clone is every second round.
    Unroll,
}

/// Clones all loops by one cloner, outer before inner: inner loops stay where they are while those
/// around them are cloned. How many there are.
pub fn clone_loops(body: &mut Body<'_>, flow: &ControlFlow, form: Form, way: Way) -> usize {
    let mut cloner = ssa::cloner(body, form);
    let mut edit = FlowEdit::of(body);
    for of in &flow.loops().all {
        let header = BlockId(of.header);
        let mut blocks = vec![header];
        blocks.extend(of.blocks.iter().map(BlockId).filter(|b| *b != header));
        let preds = body.block(header).preds().iter().copied();
        let is_latch = |b: &BlockId| of.blocks.contains(b.0);
        let from: Vec<BlockId> = preds.filter(|b| is_latch(b) == (way == Way::Unroll)).collect();
        let copies = Copies::Rounds(1);
        let region = Region { blocks: &blocks, after: from[0], from: &from, copies };
        cloner.region(body, &mut edit, &region);
    }
    edit.finish(body);
    flow.loops().all.len()
}
