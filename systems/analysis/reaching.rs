//! Reaching definitions: which instructions may have written what an operand reads, where registers
//! have several definitions.
//!
//! What holds:
//! * A definition reaches an operand when some path leads from it there on which nothing writes the
//!   cell without a guard. Under a guard the old value stays where the guard is false, so what
//!   reached the guarded definition reaches on beside it.
//! * The function's entry is a definition of each cell, which nothing but an unguarded definition
//!   ends: a register that it reaches may be read before it was written.
//! * Cells of a wide register are each for themselves.
//!
//! A set of definitions for each block, be it of bits or a list, is as large as blocks times
//! definitions where a register with many definitions is live through many blocks. So these are
//! factored use-def chains (Stoltz, Gerlek, Wolfe: Extended SSA with factored use-def chains): an
//! operand's cell knows the one definition or join that it sees, a guarded definition what stood
//! before it, and a join (at a block of the definitions' iterated dominance frontier where the cell
//! is live) what each way brings. The chains are as long as the code; a query follows them.

use crate::analysis::blocks::Marks;
use crate::analysis::control_flow::ControlFlow;
use crate::analysis::lists::Lists;
use crate::analysis::liveness::{Cell, CellMap, Liveness, kills};
use orias_components::{BlockId, Body, InstId, Opcode, RegUse, work};
use rustc_hash::FxHashSet;
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// What may have given a register its value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Definition {
    /// The function's entry: nothing wrote it, but for physical registers what the caller did.
    Entry,
    By(InstId),
}

/// What a cell holds at a point: a definition or a join, by number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Source {
    Entry,
    Definition(u32),
    Join(u32),
}

/// A cell that an instruction writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Written {
    by: InstId,
    /// What the cell held before, where it may still.
    before: Option<Source>,
}

/// By operand the definitions that reach it. In SSA form there is one for each value: see
/// [`Uses`](super::uses::Uses). What phis read at the ends of other blocks is not looked up.
#[derive(Clone, PartialEq, Debug)]
pub struct Reaching {
    map: Arc<CellMap>,
    definitions: Vec<Written>,
    /// By join what each way brings.
    joins: Lists<Source>,
    /// By instruction where its cells are in `reads`, and how many.
    first: Vec<(u32, u32)>,
    /// What each cell that an instruction reads holds there.
    reads: Vec<(Cell, Source)>,
}

impl Reaching {
    pub(super) fn new(body: &Body<'_>, flow: &ControlFlow, liveness: &Liveness) -> Reaching {
        let (joins, at) = place_joins(body, flow, liveness);
        let map = liveness.map.clone();
        let walk = Walk {
            body,
            flow,
            joined: &joins,
            at: &at,
            now: vec![Source::Entry; map.count()],
            undo: Vec::new(),
            made: Reaching {
                definitions: Vec::new(),
                joins: Lists::new(joins.len()),
                first: vec![(0, 0); body.inst_count()],
                reads: Vec::new(),
                map,
            },
        };
        walk.all()
    }

    /// The definitions that reach an operand of an instruction, each once: those of any of its
    /// cells. None where no way from the entry comes to the instruction.
    pub fn definitions(&self, inst: InstId, read: RegUse) -> Definitions<'_> {
        let (first, count) = self.first.get(inst.0 as usize).copied().unwrap_or_default();
        let all = &self.reads[first as usize..(first + count) as usize];
        let cells = self.map.cells(read);
        let of_it = all.iter().filter(|(cell, _)| cells.contains(cell));
        let mut found = Definitions { of: self, left: SmallVec::new(), seen: FxHashSet::default() };
        of_it.for_each(|(_, source)| found.left.push(*source));
        found
    }

    /// The only definition that reaches an operand.
    pub fn only(&self, inst: InstId, read: RegUse) -> Option<Definition> {
        let mut all = self.definitions(inst, read);
        let first = all.next();
        first.filter(|_| all.next().is_none())
    }

    /// Whether an operand may be read before anything wrote it.
    pub fn may_be_undefined(&self, inst: InstId, read: RegUse) -> bool {
        self.definitions(inst, read).any(|d| d == Definition::Entry)
    }
}

/// See [`Reaching::definitions`].
pub struct Definitions<'a> {
    of: &'a Reaching,
    left: SmallVec<[Source; 4]>,
    /// Joins, definitions and instructions that were there.
    seen: FxHashSet<(Source, Option<Definition>)>,
}

impl Iterator for Definitions<'_> {
    type Item = Definition;

    fn next(&mut self) -> Option<Definition> {
        while let Some(source) = self.left.pop() {
            work::add(1);
            if !self.seen.insert((source, None)) {
                continue;
            }
            let definition = match source {
                Source::Entry => Definition::Entry,
                Source::Join(join) => {
                    self.left.extend(self.of.joins.iter(join));
                    continue;
                }
                Source::Definition(number) => {
                    let written = self.of.definitions[number as usize];
                    self.left.extend(written.before);
                    Definition::By(written.by)
                }
            };
            // An instruction may write several cells of the operand.
            if self.seen.insert((Source::Entry, Some(definition))) {
                return Some(definition);
            }
        }
        None
    }
}

/// Where definitions of a cell meet: the cell of each join, and by block its joins.
fn place_joins(
    body: &Body<'_>,
    flow: &ControlFlow,
    liveness: &Liveness,
) -> (Vec<Cell>, Lists<u32>) {
    let map = &liveness.map;
    let mut written = Lists::new(map.count());
    for block in body.layout().iter().filter(|b| flow.dominators().is_reached(b.0)) {
        for id in body.block(*block).insts() {
            body.inst(*id).for_each_def(|r| {
                for cell in map.cells(r).filter(|cell| liveness.may_cross_blocks(*cell)) {
                    if written.iter(cell).next() != Some(block.0) {
                        written.push(cell, block.0);
                    }
                }
            });
        }
    }
    let entry = flow.graph().entry;
    let entry_joins = !body.layout().is_empty() && !flow.graph().preds[entry as usize].is_empty();
    let (mut joins, mut at) = (Vec::new(), Lists::new(body.block_count()));
    let mut marks = Marks::new(body.block_count());
    let mut left = Vec::new();
    for cell in 0..map.count() as Cell {
        left.extend(written.iter(cell));
        if left.is_empty() {
            continue;
        }
        marks.clear();
        let mut join = |block: u32| {
            let is_new = liveness.is_live_in(BlockId(block), cell) && marks.add(block);
            if is_new {
                at.push(block, joins.len() as u32);
                joins.push(cell);
            }
            is_new
        };
        // Control comes to the entry from outside too, by no edge.
        if entry_joins {
            join(entry);
        }
        while let Some(block) = left.pop() {
            left.extend(flow.frontiers().of(block).filter(|to| join(*to)));
        }
    }
    (joins, at)
}

/// The walk down the dominator tree that gives each operand what it sees.
struct Walk<'a, 'w> {
    body: &'a Body<'w>,
    flow: &'a ControlFlow,
    /// The cell of each join.
    joined: &'a [Cell],
    /// By block its joins.
    at: &'a Lists<u32>,
    /// What each cell holds.
    now: Vec<Source>,
    /// What cells held before the blocks that the walk is in.
    undo: Vec<(Cell, Source)>,
    made: Reaching,
}

impl Walk<'_, '_> {
    fn all(mut self) -> Reaching {
        enum Step {
            Enter(u32),
            Leave(usize),
        }
        let dominators = self.flow.dominators();
        let order = self.flow.reverse_postorder();
        let mut children: Lists<u32> = Lists::new(self.body.block_count());
        for block in order {
            if let Some(above) = dominators.idom(*block) {
                children.push(above, *block);
            }
        }
        let entry = order.first().copied().filter(|_| !self.body.layout().is_empty());
        let mut steps: Vec<Step> = entry.into_iter().map(Step::Enter).collect();
        while let Some(step) = steps.pop() {
            match step {
                Step::Enter(block) => {
                    steps.push(Step::Leave(self.undo.len()));
                    self.block(BlockId(block), Some(block) == entry);
                    steps.extend(children.iter(block).map(Step::Enter));
                }
                Step::Leave(length) => {
                    for (cell, source) in self.undo.drain(length..).rev() {
                        self.now[cell as usize] = source;
                    }
                }
            }
        }
        self.made
    }

    fn set(&mut self, cell: Cell, source: Source) {
        let old = std::mem::replace(&mut self.now[cell as usize], source);
        self.undo.push((cell, old));
    }

    fn block(&mut self, block: BlockId, is_entry: bool) {
        let (body, at, joined) = (self.body, self.at, self.joined);
        for join in at.iter(block.0) {
            if is_entry {
                self.made.joins.push(join, Source::Entry);
            }
            self.set(joined[join as usize], Source::Join(join));
        }
        let mut cells: SmallVec<[Cell; 8]> = smallvec![];
        for id in body.block(block).insts() {
            let inst = body.inst(*id);
            let first = self.made.reads.len();
            if inst.op != Opcode::MOVPHI {
                inst.for_each_use(|r| cells.extend(self.made.map.cells(r)));
            }
            cells.sort_unstable();
            cells.dedup();
            let read = cells.drain(..).map(|cell| (cell, self.now[cell as usize]));
            self.made.reads.extend(read);
            let count = self.made.reads.len() - first;
            self.made.first[id.0 as usize] = (first as u32, count as u32);
            inst.for_each_def(|r| cells.extend(self.made.map.cells(r)));
            let kills = kills(inst);
            for cell in cells.drain(..) {
                let before = (!kills).then_some(self.now[cell as usize]);
                let number = self.made.definitions.len() as u32;
                self.made.definitions.push(Written { by: *id, before });
                self.set(cell, Source::Definition(number));
            }
        }
        for succ in &self.flow.graph().succs[block.0 as usize] {
            for join in at.iter(*succ) {
                let source = self.now[joined[join as usize] as usize];
                self.made.joins.push(join, source);
            }
        }
    }
}

#[cfg(test)]
mod tests;
