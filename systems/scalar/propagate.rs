//! Copy and constant propagation, cell by cell, where a cell may be written more than once.
//!
//! What reads a copy ([`super::copies`]) reads its source instead
//! * behind the copy in the same block, as long as neither side is written;
//! * in blocks that the copy's block dominates, when both sides have one definition in the
//!   function: then neither can change between the two (a second run of the source's definition
//!   would have to pass the copy again before the use).

use super::algebra;
use super::copies::{Source, copies_of};
use super::dead_code::Clean;
use super::replace;
use crate::analysis::liveness::{Cell, CellMap};
use crate::analysis::{Analyses, ControlFlow};
use crate::function::Options;
use crate::notes::Notes;
use crate::params::{Read, Write};
use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{BlockId, Body, Code, Opcode, RegFile, View};
use orias_targets::Target;
use std::sync::Arc;

/// Phase `OriCopyProp`.
pub fn copy_prop(
    code: Code<'_>,
    options: Read<'_, Options>,
    mut analyses: Write<'_, Analyses>,
    mut clean: Write<'_, Clean>,
    mut notes: Notes<'_>,
) {
    let mut body = code.body();
    // Since nothing was found, code has gone and branches have changed: what that gives, phases in
    // SSA form find too.
    if clean.propagated == body.stamps().values {
        return;
    }
    notes.count(propagate(&mut body, &mut analyses, options.target, false));
    clean.propagated = body.stamps().values;
}

/// Replaces uses of copies, and folds on the way where asked for; the copies themselves stay for
/// dead code elimination. Returns how many changes it took.
///
/// One walk, in which each block comes behind those that dominate it: what becomes a copy is known
/// to all that it reaches.
pub(super) fn propagate(
    body: &mut Body<'_>,
    analyses: &mut Analyses,
    target: &Target,
    fold: bool,
) -> usize {
    // What ran before may have folded a branch.
    analyses.edges(body);
    let map = &*analyses.cells(body);
    let order = analyses.order(body);
    let mut everywhere = Everywhere::new(body, map, analyses);
    let mut here = Here::new(map.count());
    let mut replaced = 0;
    for &block in order.iter() {
        here.enter();
        for n in 0..body.block(block).insts().len() {
            let id = body.block(block).insts()[n];
            let inst = body.inst(id);
            let changed = if inst.op == Opcode::MOVPHI {
                replace::rewrite_phi(body, map, id, |cell, from| everywhere.at_end(cell, from))
            } else {
                let mut reads_copy = false;
                inst.for_each_use(|r| {
                    let mut cells = map.cells(r);
                    reads_copy |= cells.any(|c| here.may_know(c) || everywhere.may_know(c));
                });
                let find = |cell: Cell| here.at(map, cell).or_else(|| everywhere.at(cell, block));
                let changed =
                    if reads_copy { replace::rewrite(body, map, target, id, find) } else { 0 };
                changed + usize::from(fold && algebra::fold_one(body, id))
            };
            replaced += changed;
            let now = body.inst(id);
            if changed > 0 {
                copies_of(map, now, |cell, source| everywhere.add(map, cell, source, block));
            }
            here.step(map, now);
        }
    }
    replaced
}

/// Copies that hold at one place of a block, by the times of writes: a copy holds as long as its
/// cell was written by it last, and its source not since.
struct Here {
    /// When the walk is: grows with each instruction.
    now: u32,
    /// When it came to the block.
    entered: u32,
    /// When each cell was written last.
    written: Scratch<Vec<u32>>,
    /// The copy to each cell: its place in `copies`, where it was written by one.
    copy: Scratch<Vec<u32>>,
    copies: Scratch<Vec<Source>>,
}

impl Here {
    fn new(cells: usize) -> Here {
        let written = scratch!(Vec<u32>; 0; cells);
        let copy = scratch!(Vec<u32>; 0; cells);
        Here { now: 0, entered: 0, written, copy, copies: scratch!(Vec<Source>) }
    }

    fn enter(&mut self) {
        self.now += 1;
        self.entered = self.now;
        self.copies.clear();
    }

    /// Whether the cell was written last by a copy, of this block or of another one.
    fn may_know(&self, cell: Cell) -> bool {
        self.copy[cell as usize] != 0
    }

    fn at(&self, map: &CellMap, cell: Cell) -> Option<Source> {
        let time = self.written[cell as usize];
        // Copies of this block only, and the last write was one: the place of another block's is
        // out of date.
        if time < self.entered {
            return None;
        }
        let place = self.copy[cell as usize].checked_sub(1)?;
        let source = self.copies[place as usize];
        match source.reg() {
            Some(from) if map.cells(from).any(|c| self.written[c as usize] > time) => None,
            _ => Some(source),
        }
    }

    /// Goes over one instruction.
    fn step(&mut self, map: &CellMap, inst: View<'_>) {
        self.now += 1;
        let Here { now, written, copy, copies, .. } = self;
        inst.for_each_def(|r| {
            for cell in map.cells(r) {
                written[cell as usize] = *now;
                copy[cell as usize] = 0;
            }
        });
        copies_of(map, inst, |cell, source| {
            let to_itself = match source {
                Source::Cell(from) => map.cells(from).any(|c| c == cell),
                _ => false,
            };
            if !to_itself {
                copies.push(source);
                copy[cell as usize] = copies.len() as u32;
            }
        });
    }
}

/// Copies between cells that have one definition each, and where.
struct Everywhere {
    /// By cell: 1 + the place in `copies`; empty where there are none.
    copy: Scratch<Vec<u32>>,
    copies: Scratch<Vec<(Source, BlockId)>>,
    /// By cell; empty in a function of one block.
    definitions: Scratch<Vec<u8>>,
    flow: Option<Arc<ControlFlow>>,
}

impl Everywhere {
    fn new(body: &Body<'_>, map: &CellMap, analyses: &mut Analyses) -> Everywhere {
        let mut all = Everywhere {
            copy: scratch!(Vec<u32>),
            copies: scratch!(Vec<(Source, BlockId)>),
            definitions: scratch!(Vec<u8>),
            flow: None,
        };
        if body.layout().len() < 2 {
            return all;
        }
        all.definitions.resize(map.count(), 0);
        let mut found = scratch!(Vec<(Cell, Source, BlockId)>);
        let first = body.layout().first();
        for block in body.layout() {
            for id in body.block(*block).insts() {
                let inst = body.inst(*id);
                inst.for_each_def(|r| {
                    // Uniform registers that live long are written at the start.
                    let is_short = r.reg.file() == RegFile::UR && Some(block) != first;
                    for cell in map.cells(r) {
                        let n = &mut all.definitions[cell as usize];
                        *n = n.saturating_add(if is_short { u8::MAX } else { 1 });
                    }
                });
                copies_of(map, inst, |c, s| found.push((c, s, *block)));
            }
        }
        all.flow = Some(analyses.flow(body));
        for &(cell, source, block) in &found {
            all.add(map, cell, source, block);
        }
        all
    }

    /// Notes a copy, or that it is one of something else now.
    fn add(&mut self, map: &CellMap, cell: Cell, source: Source, block: BlockId) {
        let once = |cell: Cell| self.definitions.get(cell as usize) == Some(&1);
        if !once(cell) || !source.reg().is_none_or(|r| map.cells(r).all(once)) {
            return;
        }
        if self.copy.is_empty() {
            self.copy.resize(map.count(), 0);
        }
        self.copies.push((source, block));
        self.copy[cell as usize] = self.copies.len() as u32;
    }

    /// Whether it is one of these copies.
    fn may_know(&self, cell: Cell) -> bool {
        self.copy.get(cell as usize).is_some_and(|place| *place != 0)
    }

    /// What the cell is a copy of in another block. (In its own block, [`Here`] knows.)
    fn at(&self, cell: Cell, block: BlockId) -> Option<Source> {
        self.at_end(cell, block).filter(|_| self.home(cell) != Some(block))
    }

    /// What the cell is a copy of at the end of a block, its own or another one.
    fn at_end(&self, cell: Cell, block: BlockId) -> Option<Source> {
        let place = self.copy.get(cell as usize)?.checked_sub(1)?;
        let (source, home) = self.copies[place as usize];
        let reaches = |flow: &Arc<ControlFlow>| flow.dominators().dominates(home.0, block.0);
        self.flow.as_ref().is_some_and(reaches).then_some(source)
    }

    fn home(&self, cell: Cell) -> Option<BlockId> {
        let place = self.copy.get(cell as usize)?.checked_sub(1)?;
        Some(self.copies[place as usize].1)
    }
}
