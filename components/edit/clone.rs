//! Clones of blocks and regions, as loop peeling, unrolling and tail duplication want them.
//!
//! In SSA form what a region defines has other names in its clone, and what is read behind the
//! region comes from either: control leaves both by the same exits, so phis join the names there,
//! and once more where ways from several exits meet. For a region with one exit nothing is walked:
//! its exit is on every way to such a reader. For others it is the blocks between exits and
//! readers.
//!
//! Outside SSA form registers keep their names, and so do those that are no values in SSA form
//! (uniform ones, convergence barriers, the tuples of warpgroups): each thread runs the same
//! instructions on the same registers as before, whichever of the two it is in, and a barrier that
//! is set in one may be waited for in the other.

use super::FlowEdit;
use super::flow::branch_to;
use crate::body::Body;
use crate::edges;
use crate::ids::{BlockId, InstId, VRegId};
use crate::inst::{Inst, Loc};
use crate::lists::Lists;
use crate::opcode::Opcode;
use crate::operand::{Operand, RegUse};
use crate::phis;
use crate::register::{Reg, RegFile};
use crate::work;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::ops::Range;

/// What to clone, and how control comes to the clone.
#[derive(Clone, Copy, Debug)]
pub struct Region<'a> {
    /// The entry first: edges from elsewhere lead to it alone. The others in any order. Some way
    /// from the function's entry comes here: nothing else is in SSA form.
    pub blocks: &'a [BlockId],
    /// The block of the layout that the clone stands behind.
    pub after: BlockId,
    /// Predecessors of the entry whose edges lead to the clone's entry from now on: of the region
    /// or not.
    pub from: &'a [BlockId],
    /// Where the clone's back edges lead.
    pub copies: Copies,
}

/// Where a clone's edges lead that in the region lead back to its entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Copies {
    /// To the clone's entry: a loop's clone is a loop.
    Whole,
    /// There are so many clones in a row: each one's edges lead to the next one's entry, those of
    /// the last to the region's. A loop's clones are so many rounds of it. Before the loop (`from`
    /// are the blocks that lead to it from outside) that peels rounds off; behind the loop's body
    /// (`from` are the latches) it unrolls the loop.
    Rounds(usize),
}

/// By what was cloned, its clone.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cloned {
    /// The clone of each block of the region.
    pub blocks: FxHashMap<BlockId, BlockId>,
    /// The clone of each instruction of the region.
    pub insts: FxHashMap<InstId, InstId>,
    /// Registers with new names, in SSA form: those that the region defines, or cells of them.
    pub regs: FxHashMap<VRegId, Reg>,
}

/// An instruction and its block.
type Place = (InstId, BlockId);

/// Clones, one after the other. It knows who reads each register, and keeps that current over its
/// own edits: other edits between two clones cost a walk over the function.
pub struct Cloner {
    /// In SSA form: the registers whose cells are no values, beside those whose file says it.
    fixed: Option<Vec<bool>>,
    /// By register the instructions that name it, with their blocks. Some may have changed since.
    places: Lists<Place>,
    /// The body's number when `places` was right.
    stamp: Option<u64>,
}

/// Cells of one register.
#[derive(Clone, Copy, Default)]
struct Cells([u64; 4]);

impl Cells {
    fn has(&self, cell: u8) -> bool {
        self.0[usize::from(cell / 64)] >> (cell % 64) & 1 != 0
    }

    /// Adds a cell; whether it was not there.
    fn add(&mut self, cell: u8) -> bool {
        let is_new = !self.has(cell);
        self.0[usize::from(cell / 64)] |= 1 << (cell % 64);
        is_new
    }
}

fn cells(r: RegUse) -> Range<u8> {
    r.cell..r.cell + r.count
}

/// One cell of a register.
fn cell(reg: Reg, cell: u8) -> RegUse {
    RegUse::at(reg, cell, 1)
}

/// Where a value behind the region is from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    Region,
    /// This one in the row.
    Clone(usize),
    /// The phis of this block.
    Phis(BlockId),
}

/// One clone in the making.
struct Copying<'a, 'b, 'w> {
    body: &'b mut Body<'w>,
    region: &'a Region<'a>,
    /// The clones in a row.
    made: Vec<Cloned>,
    /// [`Region::from`].
    from: FxHashSet<BlockId>,
    /// The region's blocks.
    inside: FxHashSet<BlockId>,
    /// By block of a clone which one that is.
    clones: FxHashMap<BlockId, usize>,
    /// Registers with cells that the region defines, in their order there.
    defined: Vec<VRegId>,
    masks: FxHashMap<VRegId, Cells>,
    /// The clones' registers.
    news: Range<u32>,
    /// Copies that make a tuple of parts with several names, before the instruction that wants it.
    gathered: Vec<(BlockId, InstId, Vec<InstId>)>,
}

impl Cloner {
    /// For a body outside SSA form: all registers keep their names.
    pub fn outside_ssa() -> Cloner {
        Cloner { fixed: None, places: Lists::new(0), stamp: None }
    }

    /// For a body in SSA form, with a bit for each register that is no value although it is of file
    /// R or P.
    pub fn in_ssa(fixed: Vec<bool>) -> Cloner {
        Cloner { fixed: Some(fixed), ..Cloner::outside_ssa() }
    }

    /// Clones a block.
    pub fn block(
        &mut self,
        body: &mut Body<'_>,
        edit: &mut FlowEdit,
        block: BlockId,
        (after, from): (BlockId, &[BlockId]),
    ) -> Cloned {
        let region = Region { blocks: &[block], after, from, copies: Copies::Rounds(1) };
        self.region(body, edit, &region).swap_remove(0)
    }

    /// Clones a region; its clones in a row. Edges are right afterwards where they were before, but
    /// for the order of predecessors; the layout hears of the new blocks at [`FlowEdit::finish`].
    ///
    /// Whether what the region does may stand in two places (what a warp does together may not, if
    /// its threads may be in both) is the caller's matter, as are those who know instructions by
    /// their numbers.
    ///
    /// # Panics
    /// Where a block of `from` does not lead to the region's entry, or there is to be no clone.
    pub fn region(
        &mut self,
        body: &mut Body<'_>,
        edit: &mut FlowEdit,
        region: &Region<'_>,
    ) -> Vec<Cloned> {
        edit.tell_phis(body);
        self.update(body);
        let mut copying = Copying {
            body,
            region,
            made: Vec::new(),
            from: region.from.iter().copied().collect(),
            inside: region.blocks.iter().copied().collect(),
            clones: FxHashMap::default(),
            defined: Vec::new(),
            masks: FxHashMap::default(),
            news: 0..0,
            gathered: Vec::new(),
        };
        copying.name(self);
        let falls = copying.place(edit);
        copying.fill();
        copying.put_gathered();
        copying.lead();
        for (block, to) in falls {
            if edit.order.next(block) != Some(to) {
                copying.body.push(block, branch_to(to), Loc::default());
            }
        }
        let named = copying.meet();
        if self.fixed.is_some() {
            self.places.grow(copying.body.vreg_count());
            for clone in copying.made.iter().flat_map(|m| region.blocks.iter().map(|b| m.blocks[b]))
            {
                for id in copying.body.block(clone).insts() {
                    self.note(copying.body, clone, *id);
                }
            }
            named.into_iter().for_each(|(v, place)| self.places.push(v.0, place));
            copying.join(self);
        }
        copying.put_gathered();
        self.stamp = Some(copying.body.stamp());
        copying.made
    }

    fn is_value(&self, body: &Body<'_>, v: VRegId) -> bool {
        let vreg = body.vreg(v);
        let named = |fixed: &Vec<bool>| !fixed.get(v.0 as usize).is_some_and(|fixed| *fixed);
        matches!(vreg.file, RegFile::R | RegFile::P)
            && vreg.assigned.is_none()
            && self.fixed.as_ref().is_some_and(named)
    }

    fn update(&mut self, body: &Body<'_>) {
        if self.fixed.is_none() || self.stamp == Some(body.stamp()) {
            return;
        }
        self.places = Lists::new(body.vreg_count());
        for block in body.layout() {
            for id in body.block(*block).insts() {
                self.note(body, *block, *id);
            }
        }
    }

    /// Notes who reads what.
    fn note(&mut self, body: &Body<'_>, block: BlockId, id: InstId) {
        body.inst(id).for_each_use(|r| {
            if let Some(v) = r.reg.vreg() {
                self.places.push(v.0, (id, block));
            }
        });
    }
}

impl Copying<'_, '_, '_> {
    fn entry(&self) -> BlockId {
        self.region.blocks[0]
    }

    fn is_inside(&self, block: BlockId) -> bool {
        self.inside.contains(&block)
    }

    /// Makes the blocks and the names of registers.
    fn name(&mut self, cloner: &Cloner) {
        let count = match self.region.copies {
            Copies::Whole => 1,
            Copies::Rounds(count) => count,
        };
        assert!(count > 0, "no clone of {}", self.entry());
        for n in 0..count {
            let mut made = Cloned::default();
            for block in self.region.blocks {
                let clone = self.body.new_detached_block();
                made.blocks.insert(*block, clone);
                self.clones.insert(clone, n);
            }
            self.made.push(made);
        }
        for block in self.region.blocks {
            for id in self.body.block(*block).insts() {
                self.body.inst(*id).for_each_def(|r| {
                    let value = r.reg.vreg().filter(|v| cloner.is_value(self.body, *v));
                    if let Some(v) = value {
                        let mask = self.masks.entry(v).or_insert_with(|| {
                            self.defined.push(v);
                            Cells::default()
                        });
                        cells(r).for_each(|cell| _ = mask.add(cell));
                    }
                });
            }
        }
        let first = self.body.vreg_count() as u32;
        for made in &mut self.made {
            for v in &self.defined {
                made.regs.insert(*v, like(self.body, *v));
            }
        }
        self.news = first..self.body.vreg_count() as u32;
    }

    /// Puts the blocks into the order. What control falls into at the ends of blocks, which may
    /// need a branch now.
    fn place(&mut self, edit: &mut FlowEdit) -> Vec<(BlockId, BlockId)> {
        let (entry, after) = (self.entry(), self.region.after);
        let next = |block: BlockId| {
            let falls = edges::falls_through(self.body, self.body.block(block));
            edit.order.next(block).filter(|_| falls)
        };
        let mut falls = Vec::new();
        for block in self.region.blocks {
            if let Some(to) = next(*block) {
                let clones = self.made.iter().enumerate();
                falls.extend(clones.map(|(n, made)| (made.blocks[block], self.target(n, to))));
            }
        }
        let into = |from: &&BlockId| next(**from) == Some(entry);
        let (from, first) = (self.region.from, self.first());
        falls.extend(from.iter().filter(into).map(|from| (*from, first)));
        if !(self.from.contains(&after) && next(after) == Some(entry)) {
            falls.extend(next(after).map(|to| (after, to)));
        }
        // Blocks that stand in a row do so again, the entry's row first.
        let is_inside = |block: &BlockId| self.inside.contains(block);
        let mut head = entry;
        while let Some(above) = edit.order.previous(head).filter(is_inside) {
            head = above;
        }
        let others = self.region.blocks.iter().copied();
        let starts =
            |b: &BlockId| *b != head && !edit.order.previous(*b).is_some_and(|b| is_inside(&b));
        let heads: Vec<BlockId> = [head].into_iter().chain(others.filter(starts)).collect();
        let mut rows = Vec::with_capacity(self.region.blocks.len());
        for head in heads {
            rows.extend(std::iter::successors(Some(head), |b| {
                edit.order.next(*b).filter(is_inside)
            }));
        }
        let mut at = after;
        for clone in self.made.iter().flat_map(|made| rows.iter().map(|b| made.blocks[b])) {
            edit.order.insert_after(at, clone);
            at = clone;
        }
        falls
    }

    /// The entry of the first clone.
    fn first(&self) -> BlockId {
        self.made.first().map_or(self.entry(), |made| made.blocks[&self.entry()])
    }

    /// Where an edge of the region leads in a clone.
    fn target(&self, clone: usize, to: BlockId) -> BlockId {
        let of = match self.region.copies {
            Copies::Rounds(_) if to == self.entry() => clone + 1,
            _ => clone,
        };
        self.made.get(of).and_then(|made| made.blocks.get(&to)).copied().unwrap_or(to)
    }

    /// The name of a value of one cell in a clone.
    fn renamed(&self, clone: usize, r: RegUse) -> RegUse {
        let inside = |v: &VRegId| self.masks.get(v).is_some_and(|mask| mask.has(r.cell));
        match r.reg.vreg().filter(inside) {
            Some(v) => RegUse { reg: self.made[clone].regs[&v], ..r },
            None => r,
        }
    }

    /// Fills the clones' blocks.
    fn fill(&mut self) {
        for n in 0..self.made.len() {
            for block in self.region.blocks {
                let clone = self.made[n].blocks[block];
                for at in 0..self.body.block(*block).insts().len() {
                    let id = self.body.block(*block).insts()[at];
                    let inst = self.body.inst(id).to_inst();
                    let loc = self.body.loc(id);
                    let mut gathers = Vec::new();
                    let inst = match inst.op {
                        Opcode::MOVPHI => self.copied_phi(n, inst, *block == self.entry()),
                        _ => self.copied(n, inst, loc, &mut gathers),
                    };
                    let new = self.body.new_inst(&inst, loc);
                    self.made[n].insts.insert(id, new);
                    self.body.append(clone, new);
                    if !gathers.is_empty() {
                        self.gathered.push((clone, new, gathers));
                    }
                }
            }
        }
    }

    /// A phi in the names of a clone, with the ways that lead to it there.
    fn copied_phi(&self, clone: usize, mut phi: Inst, at_entry: bool) -> Inst {
        phi.operands[0].map_regs(|r| self.renamed(clone, r));
        // The clone that the edges of the region's blocks come from.
        let of = match self.region.copies {
            Copies::Rounds(_) if at_entry => clone.checked_sub(1),
            _ => Some(clone),
        };
        self.with_pairs(&phi, |value, from, pairs| {
            if at_entry && clone == 0 && self.from.contains(&from) {
                pairs.push((value, from));
            }
            if let Some(of) = of
                && let Some(clone) = self.made[of].blocks.get(&from)
            {
                pairs.push((self.renamed(of, value), *clone));
            }
        })
    }

    /// An instruction in the names of a clone.
    fn copied(
        &mut self,
        clone: usize,
        mut inst: Inst,
        loc: Loc,
        gathers: &mut Vec<InstId>,
    ) -> Inst {
        let mut named: Vec<RegUse> = Vec::new();
        inst.for_each_use(|r| named.push(r));
        inst.for_each_def(|r| named.push(r));
        let renames = self.names(&named, loc, gathers, |this, r, cell| {
            this.renamed(clone, RegUse { cell, count: 1, ..r }).reg
        });
        inst.map_regs(|r| find(&renames, r));
        for operand in &mut inst.operands {
            if let Operand::Block(to) = operand {
                *to = self.target(clone, *to);
            }
        }
        inst
    }

    /// For each of these names that changes the new one: the register that each of its cells is in.
    /// Where that is not the same for all, a new tuple that copies fill.
    fn names(
        &mut self,
        named: &[RegUse],
        loc: Loc,
        gathers: &mut Vec<InstId>,
        mut new: impl FnMut(&mut Self, RegUse, u8) -> Reg,
    ) -> Vec<(RegUse, Reg)> {
        let mut renames: Vec<(RegUse, Reg)> = Vec::new();
        for r in named {
            let known = r.reg.vreg().filter(|v| self.masks.contains_key(v));
            let Some(v) = known.filter(|_| find(&renames, *r) == *r) else { continue };
            let regs: Vec<Reg> = cells(*r).map(|cell| new(self, *r, cell)).collect();
            let to = match regs.iter().all(|reg| *reg == regs[0]) {
                true => regs[0],
                false => {
                    let tuple = like(self.body, v);
                    for (at, reg) in cells(*r).zip(regs) {
                        let copy = [cell(tuple, at), cell(reg, at)].map(Operand::Reg);
                        let operands = [copy[0], copy[1], Operand::Imm(0xf)];
                        gathers.push(self.body.make(Opcode::MOV, &[], 1, &operands, loc));
                    }
                    tuple
                }
            };
            if to != r.reg {
                renames.push((*r, to));
            }
        }
        renames
    }

    /// A phi with other pairs: for each of its own those that stand in its place.
    fn with_pairs(
        &self,
        phi: &Inst,
        pairs: impl Fn(RegUse, BlockId, &mut SmallVec<[(RegUse, BlockId); 2]>),
    ) -> Inst {
        let mut new = phi.clone();
        new.operands.truncate(1);
        let mut made = SmallVec::new();
        for pair in phi.sources().chunks(2) {
            work::add(1);
            let [Operand::Reg(value), Operand::Block(from)] = *pair else { continue };
            pairs(value, from, &mut made);
            for (value, from) in made.drain(..) {
                new.operands.extend([Operand::Reg(value), Operand::Block(from)]);
            }
        }
        new
    }

    /// Leads edges to the clones and out of them.
    fn lead(&mut self) {
        let (entry, first) = (self.entry(), self.first());
        for n in 0..self.made.len() {
            for block in self.region.blocks {
                let clone = self.made[n].blocks[block];
                let succs = self.body.block(*block).succs();
                let succs: Vec<BlockId> = succs.iter().map(|to| self.target(n, *to)).collect();
                for to in &succs {
                    self.body.block_mut(*to).preds.push(clone);
                }
                self.body.block_mut(clone).succs = succs;
            }
        }
        for from in self.region.from {
            let succs = &mut self.body.block_mut(*from).succs;
            let edge = succs.iter_mut().find(|to| **to == entry);
            *edge.unwrap_or_else(|| panic!("{from} does not lead to {entry}")) = first;
            for at in edges::first_branch(self.body, *from)..self.body.block(*from).insts.len() {
                let branch = self.body.block(*from).insts[at];
                self.body.redirect(branch, entry, first);
            }
        }
        self.body.block_mut(entry).preds.retain(|p| !self.from.contains(p));
        self.body.block_mut(first).preds.extend(self.region.from);
    }

    /// Gives phis at the region's entry and behind its exits their values from the clones. Which
    /// new names they read.
    fn meet(&mut self) -> Vec<(VRegId, Place)> {
        let entry = self.entry();
        let mut ends = vec![entry];
        ends.extend(self.exits());
        let mut named = Vec::new();
        for block in &ends {
            let at_entry = *block == entry;
            // The clones whose edges lead here.
            let clones = match self.region.copies {
                Copies::Whole if at_entry => 0..0,
                Copies::Rounds(count) if at_entry => count - 1..count,
                _ => 0..self.made.len(),
            };
            for at in 0..phis::end(self.body, *block) {
                let id = self.body.block(*block).insts()[at];
                let phi = self.body.inst(id).to_inst();
                let new = self.with_pairs(&phi, |value, from, pairs| {
                    if !(at_entry && self.from.contains(&from)) {
                        pairs.push((value, from));
                    }
                    for n in clones.clone() {
                        let clone = self.made[n].blocks.get(&from);
                        pairs.extend(clone.map(|clone| (self.renamed(n, value), *clone)));
                    }
                });
                if new == phi {
                    continue;
                }
                self.body.set_inst(id, &new);
                for operand in new.sources() {
                    if let Operand::Reg(r) = operand
                        && let Some(v) = r.reg.vreg().filter(|v| self.news.contains(&v.0))
                    {
                        named.push((v, (id, *block)));
                    }
                }
            }
        }
        named
    }

    /// Blocks behind the region, each once.
    fn exits(&self) -> Vec<BlockId> {
        let mut seen = FxHashSet::default();
        let succs = self.region.blocks.iter().flat_map(|b| self.body.block(*b).succs());
        // The clone's entry is one where the region's own edges lead there.
        let outside = |b: &BlockId| !self.is_inside(*b) && !self.clones.contains_key(b);
        succs.copied().filter(|b| outside(b) && seen.insert(*b)).collect()
    }

    /// The source of what comes from a block of the region or a clone.
    fn inside(&self, block: BlockId) -> Option<Source> {
        match self.clones.get(&block) {
            Some(n) => Some(Source::Clone(*n)),
            None => self.is_inside(block).then_some(Source::Region),
        }
    }

    fn only_exit(&self) -> Option<BlockId> {
        let exits = self.exits();
        exits.first().copied().filter(|_| exits.len() == 1)
    }

    /// Gives the readers behind the region what control brings from either.
    fn join(&mut self, cloner: &mut Cloner) {
        let mut reads: Vec<(VRegId, InstId, BlockId)> = Vec::new();
        let mut at: Vec<BlockId> = Vec::new();
        for v in &self.defined {
            for (id, block) in cloner.places.iter(v.0) {
                let outside = |b: BlockId| !self.is_inside(b) && !self.clones.contains_key(&b);
                if !self.body.has_inst(id) {
                    continue;
                }
                let inst = self.body.inst(id);
                let before = at.len();
                if inst.op == Opcode::MOVPHI {
                    at.extend(self.brought(id, *v).map(|(_, from)| from).filter(|b| outside(*b)));
                } else if outside(block) {
                    let mut reads = false;
                    let mask = self.masks[v];
                    inst.for_each_use(|r| {
                        reads |= r.reg.vreg() == Some(*v) && cells(r).any(|cell| mask.has(cell));
                    });
                    at.extend(reads.then_some(block));
                }
                if at.len() > before {
                    reads.push((*v, id, block));
                }
            }
        }
        if reads.is_empty() {
            return;
        }
        let sources = self.sources(at);
        let only = self.only_exit().map(Source::Phis);
        let mut joins = Joins { sources, only, regs: FxHashMap::default(), left: Vec::new() };
        for (v, id, block) in reads {
            match self.body.op(id) {
                Opcode::MOVPHI => self.read_later(&mut joins, cloner, v, (id, block)),
                _ => self.read(&mut joins, cloner, v, (id, block)),
            }
        }
        self.fill_joins(joins, cloner);
    }

    /// The values of a register's cells that the region defines and a phi reads, and from where.
    fn brought(&self, phi: InstId, v: VRegId) -> impl Iterator<Item = (RegUse, BlockId)> {
        let mask = self.masks[&v];
        let sources: Vec<Operand> = self.body.inst(phi).sources().collect();
        let mut pairs = Vec::new();
        for pair in sources.chunks(2) {
            if let [Operand::Reg(r), Operand::Block(from)] = *pair
                && r.reg.vreg() == Some(v)
                && mask.has(r.cell)
            {
                pairs.push((r, from));
            }
        }
        pairs.into_iter()
    }

    /// A reader behind the region.
    fn read(&mut self, joins: &mut Joins, cloner: &mut Cloner, v: VRegId, (id, block): Place) {
        let Some(from) = joins.sources.get(&block).copied() else { return };
        let mut named: Vec<RegUse> = Vec::new();
        self.body.inst(id).for_each_use(|r| {
            if r.reg.vreg() == Some(v) {
                named.push(r);
            }
        });
        let (loc, mut gathers) = (self.body.loc(id), Vec::new());
        let renames = self.names(&named, loc, &mut gathers, |this, r, at| {
            this.value(joins, v, at, from).map_or(r.reg, |value| value.reg)
        });
        if renames.is_empty() {
            return;
        }
        self.body.map_regs(id, |r| find(&renames, r));
        cloner.places.grow(self.body.vreg_count());
        for reg in renames.iter().filter_map(|(_, reg)| reg.vreg()) {
            cloner.places.push(reg.0, (id, block));
        }
        gathers.iter().for_each(|copy| cloner.note(self.body, block, *copy));
        if !gathers.is_empty() {
            self.gathered.push((block, id, gathers));
        }
    }

    /// A phi that reads at the ends of blocks behind the region.
    fn read_later(
        &mut self,
        joins: &mut Joins,
        cloner: &mut Cloner,
        v: VRegId,
        (id, block): Place,
    ) {
        let mut phi = self.body.inst(id).to_inst();
        for pair in phi.operands[1..].chunks_mut(2) {
            let [Operand::Reg(r), Operand::Block(from)] = pair else { continue };
            let is_it = r.reg.vreg() == Some(v) && self.masks[&v].has(r.cell);
            // Pairs from the region and its clone are right, and such blocks have no source.
            let Some(from) = joins.sources.get(from).copied().filter(|_| is_it) else { continue };
            if let Some(value) = self.value(joins, v, r.cell, from) {
                *r = value;
                cloner.places.grow(self.body.vreg_count());
                value.reg.vreg().into_iter().for_each(|v| cloner.places.push(v.0, (id, block)));
            }
        }
        self.body.set_inst(id, &phi);
    }

    /// What control brings from the region to these blocks behind it, and to those between: of the
    /// same names as the block before where all ways bring those, else of phis.
    fn sources(&self, at: Vec<BlockId>) -> FxHashMap<BlockId, Source> {
        let exits = self.exits();
        let mut sources: FxHashMap<BlockId, Source> = FxHashMap::default();
        // Whatever is defined on every way to its reader passes the one exit since.
        if let Some(only) = self.only_exit() {
            sources.extend(at.into_iter().chain([only]).map(|b| (b, Source::Phis(only))));
            return sources;
        }
        // Blocks on the ways from the exits to the readers.
        let mut between: FxHashSet<BlockId> = FxHashSet::default();
        let mut left = at;
        while let Some(block) = left.pop() {
            if self.inside(block).is_none() && between.insert(block) {
                work::add(1);
                left.extend(self.body.block(block).preds());
            }
        }
        let order = self.order(&exits, &between);
        loop {
            let mut changed = false;
            for block in &order {
                work::add(1);
                let preds = self.body.block(*block).preds().iter();
                let known = |b: &BlockId| self.inside(*b).or_else(|| sources.get(b).copied());
                let mut all = preds.filter_map(known);
                let first = all.next();
                let same = first.filter(|first| all.all(|other| other == *first));
                let own = Source::Phis(*block);
                let old = sources.get(block).copied();
                let new = same.filter(|_| old != Some(own)).unwrap_or(own);
                changed |= sources.insert(*block, new) != Some(new);
            }
            if !changed {
                return sources;
            }
        }
    }

    /// Of these blocks those that exits lead to, in reverse postorder.
    fn order(&self, exits: &[BlockId], between: &FxHashSet<BlockId>) -> Vec<BlockId> {
        let mut seen: FxHashSet<BlockId> = FxHashSet::default();
        let mut order = Vec::new();
        for exit in exits.iter().filter(|b| between.contains(b)) {
            if !seen.insert(*exit) {
                continue;
            }
            let mut stack = vec![(*exit, 0)];
            while let Some((block, at)) = stack.last_mut() {
                work::add(1);
                match self.body.block(*block).succs().get(*at) {
                    Some(succ) => {
                        *at += 1;
                        if between.contains(succ) && seen.insert(*succ) {
                            stack.push((*succ, 0));
                        }
                    }
                    None => {
                        order.push(*block);
                        stack.pop();
                    }
                }
            }
        }
        order.reverse();
        order
    }

    /// The name of a value from there; None where there is none.
    fn value(&mut self, joins: &mut Joins, v: VRegId, at: u8, from: Source) -> Option<RegUse> {
        if !self.masks[&v].has(at) {
            return None;
        }
        let reg = match from {
            Source::Region => Reg::virt(self.body.vreg(v).file, v),
            Source::Clone(n) => self.made[n].regs[&v],
            Source::Phis(block) => {
                let (reg, has) = joins
                    .regs
                    .entry((v, block))
                    .or_insert_with(|| (like(self.body, v), Cells::default()));
                if has.add(at) {
                    joins.left.push((v, at, block, *reg));
                }
                *reg
            }
        };
        Some(cell(reg, at))
    }

    /// Makes the phis that values were named of, and those that these name.
    fn fill_joins(&mut self, mut joins: Joins, cloner: &mut Cloner) {
        let mut made: Vec<(BlockId, Vec<InstId>)> = Vec::new();
        let mut index: FxHashMap<BlockId, usize> = FxHashMap::default();
        while let Some((v, at, block, reg)) = joins.left.pop() {
            let preds = self.body.block(block).preds().to_vec();
            let mut pairs = Vec::with_capacity(preds.len());
            for pred in preds {
                work::add(1);
                // Behind the one exit there is nothing but what it gives.
                let behind = || joins.sources.get(&pred).copied().or(joins.only);
                let from = self.inside(pred).or_else(behind);
                let value = from.and_then(|from| self.value(&mut joins, v, at, from));
                pairs.push((value, pred));
            }
            let phi = phis::new(self.body, cell(reg, at), &pairs);
            cloner.places.grow(self.body.vreg_count());
            cloner.note(self.body, block, phi);
            let place = *index.entry(block).or_insert_with(|| {
                made.push((block, Vec::new()));
                made.len() - 1
            });
            made[place].1.push(phi);
        }
        for (block, phis) in made {
            self.body.replace(block, 0..0, phis);
        }
    }

    /// Puts the copies for tuples before those who want them.
    fn put_gathered(&mut self) {
        let mut blocks: FxHashMap<BlockId, FxHashMap<InstId, Vec<InstId>>> = FxHashMap::default();
        let mut order = Vec::new();
        for (block, id, copies) in std::mem::take(&mut self.gathered) {
            let of = blocks.entry(block).or_insert_with(|| {
                order.push(block);
                FxHashMap::default()
            });
            of.entry(id).or_default().extend(copies);
        }
        for block in order {
            let mut before = blocks.remove(&block).unwrap_or_default();
            self.body.rewrite(block, |_, out, id| {
                before.remove(&id).into_iter().flatten().for_each(|copy| out.keep(copy));
                out.keep(id);
            });
        }
    }
}

/// The phis that join names behind the region.
struct Joins {
    sources: FxHashMap<BlockId, Source>,
    /// The only one, where there is one exit.
    only: Option<Source>,
    /// By register and block the register that the block's phis write, and which of its cells they
    /// do.
    regs: FxHashMap<(VRegId, BlockId), (Reg, Cells)>,
    /// Phis to be made: the value, its block and its new name.
    left: Vec<(VRegId, u8, BlockId, Reg)>,
}

/// A new register of the shape of another one.
fn like(body: &mut Body<'_>, v: VRegId) -> Reg {
    let old = *body.vreg(v);
    body.new_vreg(old.file, old.cells, old.align)
}

/// The new name of what an operand names.
fn find(renames: &[(RegUse, Reg)], r: RegUse) -> RegUse {
    let same =
        |(old, _): &&(RegUse, Reg)| (old.reg, old.cell, old.count) == (r.reg, r.cell, r.count);
    renames.iter().find(same).map_or(r, |(_, reg)| RegUse { reg: *reg, ..r })
}
