//! A function's body: what its tables hold by dense ids, and the edits that phases make.
//!
//! An id is a row of one of the world's tables ([`crate::world`]), each of which is one slice here.
//! Rows beyond the function's count wait for the next one; where they do not suffice, what is new
//! lies in [`Arena`] until it is spawned. A removed instruction or block leaves a tombstone.

use crate::block::Block;
use crate::facts::Facts;
use crate::ids::{BlockId, InstId, VRegId};
use crate::inst::{Inst, Loc, LocId, Row, View};
use crate::modifier::Mod;
use crate::modifier::Mods;
use crate::mods::ModsTable;
use crate::opcode::Opcode;
use crate::operand::{Operand, RegUse};
use crate::packed::{Kind, Packed, Side};
use crate::register::{Reg, RegFile, VReg};
use crate::scratch;
use crate::scratch::Scratch;
use crate::work;
use bevy_ecs::prelude::*;
use std::ops::{Deref, DerefMut};

/// Edits that are known one by one at least.
const LONGEST_LOG: usize = 64;

/// What a function has besides its entities: operands, and rows that are not spawned yet.
#[derive(Resource, Debug, Default)]
pub struct Arena {
    pub(crate) insts: usize,
    pub(crate) blocks: usize,
    pub(crate) vregs: usize,
    /// Grows with each change of the body, over functions too.
    edits: u64,
    /// The instructions that the last edits were of, one for each: [`NOT_AN_INST`] where it was of
    /// none. Empty where there were more than is worth to know.
    log: Vec<InstId>,
    /// The same of changes that may be changes of edges: of branches, and of the layout.
    pub(crate) flow: u64,
    /// The same of instructions, but for branches, that are made or changed.
    values: u64,
    /// The same of new registers.
    registers: u64,
    /// What [`Stamps::flow`] was when the blocks' edges were made.
    pub(crate) edges: u64,
    pub(crate) facts: Facts,
    pub(crate) operands: Vec<Packed>,
    pub(crate) side: Side,
    pub(crate) mods: ModsTable,
    pub(crate) layout: Vec<BlockId>,
    pub(crate) more_rows: Vec<Row>,
    pub(crate) more_locs: Vec<LocId>,
    locs: Vec<Loc>,
    pub(crate) more_blocks: Vec<Block>,
    pub(crate) more_vregs: Vec<VReg>,
}

/// Numbers that differ whenever what they are of does, over functions too: what was true at the
/// same number still is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamps {
    /// The body, but for control fields.
    pub edits: u64,
    /// Branches and the layout, from which edges follow.
    pub flow: u64,
    /// Instructions but for branches, and for those that were removed.
    pub values: u64,
    /// Which registers there are, and of how many cells.
    pub registers: u64,
}

/// An edit of no instruction: of a block's list, or of registers.
const NOT_AN_INST: InstId = InstId(u32::MAX);

impl Arena {
    /// Counts an edit of an instruction with an opcode.
    #[inline]
    fn edit_of(&mut self, id: InstId, op: Opcode) {
        self.values += u64::from(!op.is_branch());
        self.edit(id);
    }

    /// Counts an edit that makes or changes no value.
    #[inline]
    fn edit(&mut self, id: InstId) {
        self.edits += 1;
        // Where half of the function has changed, phases look at all of it.
        if self.log.len() >= LONGEST_LOG.max(self.insts / 2) {
            self.log.clear();
        } else {
            self.log.push(id);
        }
    }

    /// Counts an edit that is of no instruction.
    #[inline]
    pub(crate) fn edit_other(&mut self) {
        self.edit(NOT_AN_INST);
    }

    /// The numbers of the body; none is 0.
    pub fn stamps(&self) -> Stamps {
        // Physical registers have numbers of their own once any is named.
        let registers = 2 * self.registers + u64::from(self.side.names_physical()) + 1;
        Stamps { edits: self.edits + 1, flow: self.flow + 1, values: self.values + 1, registers }
    }

    /// See [`Body::facts`].
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// See [`Body::inst_count`].
    pub fn inst_count(&self) -> usize {
        self.insts
    }

    /// Whether nothing is left to be spawned ([`crate::world`]).
    pub(crate) fn is_settled(&self) -> bool {
        self.more_rows.is_empty() && self.more_blocks.is_empty() && self.more_vregs.is_empty()
    }

    /// See [`Body::edges_are_stale`].
    pub fn edges_are_stale(&self) -> bool {
        self.edges != self.stamps().flow
    }

    /// A function that is in no world: all of it lies here.
    pub fn alone(&mut self) -> Body<'_> {
        Body { rows: &mut [], locs: &mut [], blocks: &mut [], vregs: &mut [], arena: self }
    }

    /// Removes everything.
    pub(crate) fn clear(&mut self) {
        self.edit_other();
        self.log.clear();
        self.flow += 1;
        self.values += 1;
        self.registers += 1;
        (self.insts, self.blocks, self.vregs) = (0, 0, 0);
        self.facts = Facts::default();
        self.operands.clear();
        self.side.clear();
        self.layout.clear();
        self.more_rows.clear();
        self.more_locs.clear();
        self.locs.clear();
        self.more_blocks.clear();
        self.more_vregs.clear();
        // Only a text with made-up modifiers comes near the end of the numbers.
        if self.mods.len() > 1 << 15 {
            self.mods = ModsTable::default();
        }
    }
}

/// The function in a `World`, for reading and editing.
///
/// Ids come from this function's own lists, so a lookup fails only by a programming error: those
/// panic and name the id.
pub struct Body<'w> {
    pub(crate) rows: &'w mut [Row],
    pub(crate) locs: &'w mut [LocId],
    pub(crate) blocks: &'w mut [Block],
    pub(crate) vregs: &'w mut [VReg],
    pub(crate) arena: &'w mut Arena,
}

/// A row of a table, or of what is to follow it.
#[inline]
fn at<'a, T>(spawned: &'a [T], more: &'a [T], i: usize) -> Option<&'a T> {
    work::add(1);
    match spawned.get(i) {
        Some(found) => Some(found),
        None => more.get(i - spawned.len()),
    }
}

#[inline]
fn at_mut<'a, T>(spawned: &'a mut [T], more: &'a mut [T], i: usize) -> &'a mut T {
    work::add(1);
    let count = spawned.len();
    match spawned.get_mut(i) {
        Some(found) => found,
        None => &mut more[i - count],
    }
}

/// Fills the next row.
fn push<T>(spawned: &mut [T], more: &mut Vec<T>, i: usize, value: T) {
    match spawned.get_mut(i) {
        Some(free) => *free = value,
        None => more.push(value),
    }
}

/// An instruction by value, to be changed: written back when it goes out of scope.
pub struct InstMut<'b, 'w> {
    body: &'b mut Body<'w>,
    id: InstId,
    inst: Inst,
}

impl Deref for InstMut<'_, '_> {
    type Target = Inst;
    fn deref(&self) -> &Inst {
        &self.inst
    }
}

impl DerefMut for InstMut<'_, '_> {
    fn deref_mut(&mut self) -> &mut Inst {
        &mut self.inst
    }
}

impl Drop for InstMut<'_, '_> {
    fn drop(&mut self) {
        self.body.set_inst(self.id, &self.inst);
    }
}

impl<'w> Body<'w> {
    /// An instruction to change by value: it is written back when what this gives is dropped.
    pub fn inst_mut(&mut self, id: InstId) -> InstMut<'_, 'w> {
        let inst = self.inst(id).to_inst();
        InstMut { body: self, id, inst }
    }
}

impl Body<'_> {
    /// Removes everything, and makes room for what these functions have together, which are to
    /// stand here instead. Tables keep their rows; all other memory goes before there is more.
    pub fn replace_by<'a>(&mut self, others: impl Iterator<Item = &'a Arena> + Clone) {
        let arena = &mut *self.arena;
        arena.clear();
        let (side, locs, more_blocks) = Default::default();
        (arena.side, arena.locs, arena.more_blocks) = (side, locs, more_blocks);
        (arena.more_rows, arena.more_locs) = Default::default();
        (arena.operands, arena.more_vregs) = Default::default();
        // A sixteenth more: a list that is full would double with what comes next.
        let sum = |of: fn(&Arena) -> usize| others.clone().map(of).sum::<usize>() / 16 * 17;
        arena.operands.reserve_exact(sum(|other| other.operands.len()));
        let rows = sum(|other| other.insts).saturating_sub(self.rows.len());
        arena.more_rows.reserve_exact(rows);
        arena.more_locs.reserve_exact(rows);
        arena.more_vregs.reserve_exact(sum(|other| other.vregs).saturating_sub(self.vregs.len()));
    }

    #[inline]
    pub(crate) fn row(&self, id: InstId) -> &Row {
        let found = at(self.rows, &self.arena.more_rows, id.0 as usize);
        found.unwrap_or_else(|| panic!("no instruction {id:?}"))
    }

    #[inline]
    pub(crate) fn row_mut(&mut self, id: InstId) -> &mut Row {
        self.arena.edit_of(id, self.op(id));
        at_mut(self.rows, &mut self.arena.more_rows, id.0 as usize)
    }

    /// Takes an instruction out of the world.
    pub(crate) fn bury(&mut self, id: InstId) {
        self.arena.edit(id);
        at_mut(self.rows, &mut self.arena.more_rows, id.0 as usize).bury();
    }

    /// Notes that edges may be others, where the opcode is one that makes some.
    #[inline]
    pub(crate) fn touch_flow(&mut self, op: Opcode) {
        self.arena.flow += u64::from(op.is_branch());
    }

    /// Whether there is such an instruction, not removed.
    pub fn has_inst(&self, id: InstId) -> bool {
        (id.0 as usize) < self.arena.insts && !self.row(id).is_dead()
    }

    /// Whether there is such a block, not removed.
    pub fn has_block(&self, id: BlockId) -> bool {
        let i = id.0 as usize;
        let found = at(self.blocks, &self.arena.more_blocks, i);
        i < self.arena.blocks && found.is_some_and(|b| !b.dead)
    }

    /// The instruction, for reading. Panics where there is none: ids of removed ones are not used.
    #[inline]
    pub fn inst(&self, id: InstId) -> View<'_> {
        let row = self.row(id);
        debug_assert!(!row.is_dead(), "no instruction {id:?}");
        View::new(row, &self.arena.operands, &self.arena.side, &self.arena.mods)
    }

    /// The opcode: cheaper than [`Body::inst`] where nothing else is asked.
    #[inline]
    pub fn op(&self, id: InstId) -> Opcode {
        self.row(id).op
    }

    /// The guard: cheaper than [`Body::inst`] where nothing else is asked.
    #[inline]
    pub fn guard(&self, id: InstId) -> crate::Guard {
        self.row(id).guard()
    }

    /// Stall, yield and scoreboards: cheaper than [`Body::inst`] where nothing else is asked.
    #[inline]
    pub fn control(&self, id: InstId) -> crate::Control {
        self.row(id).control()
    }

    /// Replaces an instruction; it keeps its id, its place and its source place.
    pub fn set_inst(&mut self, id: InstId, inst: &Inst) {
        let (old, arena) = (*self.row(id), &mut *self.arena);
        let tied = inst.tied.iter().map(|r| Operand::Reg(*r));
        let count = inst.operands.len() + tied.len();
        let first = if count <= old.len as usize + old.tied() {
            let first = old.first as usize;
            let words = &mut arena.operands[first..first + count];
            for (word, operand) in words.iter_mut().zip(inst.operands.iter().copied().chain(tied)) {
                *word = Packed::pack_over(Some(*word), &operand, &mut arena.side);
            }
            old.first
        } else {
            let first = arena.operands.len() as u32;
            let side = &mut arena.side;
            let operands = inst.operands.iter().copied().chain(tied);
            arena.operands.extend(operands.map(|o| Packed::pack(&o, side)));
            first
        };
        // Most keep their words.
        let mods = match arena.mods.get(old.mods) == &inst.mods {
            true => old.mods,
            false => arena.mods.intern(&inst.mods),
        };
        let mut row = Row::new(inst.op, mods, inst.defs, (first, inst.operands.len() as u16));
        row.set_tied(inst.tied.len());
        row.set_guard(inst.guard);
        row.set_control(inst.control);
        self.arena.side.note(RegUse::new(inst.guard.reg));
        self.arena.facts.note(&row);
        self.touch_flow(old.op);
        self.touch_flow(inst.op);
        *self.row_mut(id) = row;
    }

    /// Replaces each register that the instruction names, guard included.
    pub fn map_regs(&mut self, id: InstId, mut f: impl FnMut(RegUse) -> RegUse) {
        self.touch_flow(self.op(id));
        let row = self.row_mut(id);
        let guard = row.guard();
        let new = f(RegUse::new(guard.reg));
        row.set_guard(crate::Guard { reg: new.reg, ..guard });
        let (first, len) = (row.first as usize, row.len as usize + row.tied());
        let arena = &mut *self.arena;
        arena.side.note(new);
        for word in &mut arena.operands[first..first + len] {
            word.map_regs(&mut arena.side, &mut f);
        }
    }

    /// Replaces each register that the instruction reads, guard included and tied ones left out, by
    /// another one of its file.
    pub fn map_sources(&mut self, id: InstId, mut f: impl FnMut(RegUse) -> RegUse) {
        self.touch_flow(self.op(id));
        let row = self.row_mut(id);
        let guard = row.guard();
        let new = f(RegUse::new(guard.reg));
        row.set_guard(crate::Guard { reg: new.reg, ..guard });
        let (first, defs, len) = (row.first as usize, row.defs() as usize, row.len as usize);
        let arena = &mut *self.arena;
        arena.side.note(new);
        for word in &mut arena.operands[first + defs..first + len] {
            word.map_regs(&mut arena.side, &mut f);
        }
    }

    /// Says what the destinations hold where the guard is false: see [`Inst::tied`].
    pub fn set_tied(&mut self, id: InstId, tied: &[RegUse]) {
        let row = *self.row(id);
        let arena = &mut *self.arena;
        tied.iter().for_each(|r| arena.side.note(*r));
        let words = tied.iter().map(|r| Packed::of_reg(Kind::Reg, *r));
        let end = row.first as usize + row.len as usize;
        let mut first = row.first;
        if tied.len() <= row.tied() {
            arena.operands[end..].iter_mut().zip(words).for_each(|(old, new)| *old = new);
        } else {
            // Words that name what lies in side arenas stay the only ones that do: the old ones are
            // out of use.
            first = arena.operands.len() as u32;
            arena.operands.extend_from_within(row.first as usize..end);
            arena.operands.extend(words);
        }
        let row = self.row_mut(id);
        row.first = first;
        row.set_tied(tied.len());
    }

    /// Replaces one operand. Panics where the instruction has none at that place.
    pub fn set_operand(&mut self, id: InstId, at: usize, operand: Operand) {
        let row = *self.row(id);
        assert!(at < row.len as usize, "{id:?} has no operand {at}");
        self.touch_flow(row.op);
        self.row_mut(id).form = 0;
        let arena = &mut *self.arena;
        let word = &mut arena.operands[row.first as usize + at];
        *word = Packed::pack_over(Some(*word), &operand, &mut arena.side);
    }

    /// The index of the target's form that takes the instruction as it is, where that is known: set
    /// by [`Body::set_form`], forgotten with every change but that of registers for others of their
    /// file.
    #[inline]
    pub fn form(&self, id: InstId) -> Option<u16> {
        self.row(id).form.checked_sub(1)
    }

    /// Notes which form takes the instruction as it is: see [`Body::form`]. It is no edit.
    pub fn set_form(&mut self, id: InstId, form: u16) {
        at_mut(self.rows, &mut self.arena.more_rows, id.0 as usize).form = form + 1;
    }

    /// Leads a branch that goes to one block to another one; whether it did go there.
    pub fn redirect(&mut self, id: InstId, from: BlockId, to: BlockId) -> bool {
        let row = *self.row(id);
        let arena = &mut *self.arena;
        arena.edit_of(id, row.op);
        let words = &mut arena.operands[row.first as usize..][..row.len as usize];
        let mut found = false;
        for word in words.iter_mut().filter(|w| w.as_block() == Some(from)) {
            *word = Packed::pack(&Operand::Block(to), &mut arena.side);
            found = true;
        }
        self.touch_flow(row.op);
        found
    }

    /// Replaces each block that an instruction names.
    pub fn map_blocks(&mut self, id: InstId, f: impl Fn(BlockId) -> BlockId) {
        let row = *self.row(id);
        self.touch_flow(row.op);
        let arena = &mut *self.arena;
        arena.edit_of(id, row.op);
        for word in &mut arena.operands[row.first as usize..][..row.len as usize] {
            work::add(1);
            if let Some(block) = word.as_block() {
                *word = Packed::pack(&Operand::Block(f(block)), &mut arena.side);
            }
        }
    }

    /// Sets stall, yield and scoreboards. It is no edit: what the instruction does stays.
    pub fn set_control(&mut self, id: InstId, control: crate::Control) {
        // Not an edit: what instructions do stays.
        at_mut(self.rows, &mut self.arena.more_rows, id.0 as usize).set_control(control);
    }

    /// Sets the predicate under which the instruction runs; its form is forgotten.
    pub fn set_guard(&mut self, id: InstId, guard: crate::Guard) {
        self.touch_flow(self.op(id));
        self.arena.side.note(RegUse::new(guard.reg));
        self.arena.facts.note_guard();
        let row = self.row_mut(id);
        row.set_guard(guard);
        row.form = 0;
    }

    /// Where it comes from in the source; [`Loc::default`] where nobody knows.
    pub fn loc(&self, id: InstId) -> Loc {
        let id = at(self.locs, &self.arena.more_locs, id.0 as usize);
        id.map_or(Loc::default(), |id| id.loc(&self.arena.locs))
    }

    /// The block, for reading. Panics where the function never had it.
    #[inline]
    pub fn block(&self, id: BlockId) -> &Block {
        let found = at(self.blocks, &self.arena.more_blocks, id.0 as usize);
        found.unwrap_or_else(|| panic!("no block {id}"))
    }

    #[inline]
    pub(crate) fn block_mut(&mut self, id: BlockId) -> &mut Block {
        self.arena.edit_other();
        at_mut(self.blocks, &mut self.arena.more_blocks, id.0 as usize)
    }

    /// A block for what is no edit by itself.
    pub(crate) fn quietly(&mut self, id: BlockId) -> &mut Block {
        at_mut(self.blocks, &mut self.arena.more_blocks, id.0 as usize)
    }

    /// What is known of a virtual register. Panics where there is none.
    #[inline]
    pub fn vreg(&self, id: VRegId) -> &VReg {
        let found = at(self.vregs, &self.arena.more_vregs, id.0 as usize);
        found.unwrap_or_else(|| panic!("no register {id:?}"))
    }

    /// The same, for changes.
    pub fn vreg_mut(&mut self, id: VRegId) -> &mut VReg {
        at_mut(self.vregs, &mut self.arena.more_vregs, id.0 as usize)
    }

    /// Blocks in layout order; the first is the entry.
    #[inline]
    pub fn layout(&self) -> &[BlockId] {
        &self.arena.layout
    }

    /// Whether an instruction names a physical register that is not a constant one, or did.
    pub fn names_physical(&self) -> bool {
        self.arena.side.names_physical()
    }

    /// A copy of the layout, for a walk that edits what it comes to.
    pub fn walk(&self) -> Scratch<Vec<BlockId>> {
        scratch!(Vec<BlockId>).with(self.layout().iter().copied())
    }

    /// The same of a block's instructions.
    pub fn walk_in(&self, block: BlockId) -> Scratch<Vec<InstId>> {
        scratch!(Vec<InstId>).with(self.block(block).insts().iter().copied())
    }

    /// One more than the largest instruction id so far: the size of a table by instruction.
    pub fn inst_count(&self) -> usize {
        self.arena.insts
    }

    /// One more than the largest block id so far: the size of a table by block.
    pub fn block_count(&self) -> usize {
        self.arena.blocks
    }

    /// One more than the largest register id so far: the size of a table by register.
    pub fn vreg_count(&self) -> usize {
        self.arena.vregs
    }

    /// A new virtual register; `align` in cells.
    pub fn new_vreg(&mut self, file: RegFile, cells: u8, align: u8) -> Reg {
        let n = self.arena.vregs;
        let id = VRegId(n as u32);
        let vreg = VReg { file, cells, align, assigned: None };
        push(self.vregs, &mut self.arena.more_vregs, n, vreg);
        self.arena.vregs += 1;
        self.arena.edit_other();
        self.arena.registers += 1;
        Reg::virt(file, id)
    }

    /// Makes room for so many new registers.
    pub fn expect_vregs(&mut self, count: usize) {
        let free = self.vregs.len().saturating_sub(self.arena.vregs);
        self.arena.more_vregs.reserve_exact(count.saturating_sub(free));
    }

    /// Numbers the registers that instructions name from 0 on, in their order, and forgets the
    /// others. Who knows registers by their numbers has to ask anew.
    pub fn renumber_vregs(&mut self) {
        const UNNAMED: u32 = u32::MAX;
        let mut number = scratch!(Vec<u32>; UNNAMED; self.arena.vregs);
        let mut name = |reg: Reg| {
            if let Some(v) = reg.vreg() {
                number[v.0 as usize] = 0;
            }
        };
        let Arena { more_rows, operands, side, insts, .. } = &*self.arena;
        let unspawned = insts.saturating_sub(self.rows.len());
        let spawned = self.rows.len().min(*insts);
        for row in self.rows[..spawned].iter().chain(&more_rows[..unspawned]) {
            if row.is_dead() {
                continue;
            }
            work::add(1);
            name(row.guard().reg);
            let (first, len) = (row.first as usize, row.len as usize + row.tied());
            for word in &operands[first..first + len] {
                word.for_each_reg(side, |r| name(r.reg));
            }
        }
        let mut count = 0usize;
        for (old, number) in number.iter_mut().enumerate().filter(|(_, n)| **n != UNNAMED) {
            *number = count as u32;
            let id = VRegId(count as u32);
            let vreg = *self.vreg(VRegId(old as u32));
            *self.vreg_mut(id) = vreg;
            count += 1;
        }
        let more = count.saturating_sub(self.vregs.len());
        self.arena.more_vregs.truncate(more);
        self.arena.vregs = count;
        self.arena.values += 1;
        self.arena.edit_other();
        self.arena.log.clear();
        self.arena.registers += 1;
        let renamed = |reg: Reg| match reg.vreg() {
            Some(v) => Reg::virt(reg.file(), VRegId(number[v.0 as usize])),
            None => reg,
        };
        let Arena { more_rows, operands, side, .. } = &mut *self.arena;
        for row in self.rows[..spawned].iter_mut().chain(&mut more_rows[..unspawned]) {
            if row.is_dead() {
                continue;
            }
            work::add(1);
            let guard = row.guard();
            row.set_guard(crate::Guard { reg: renamed(guard.reg), ..guard });
            let (first, len) = (row.first as usize, row.len as usize + row.tied());
            for word in &mut operands[first..first + len] {
                word.map_regs(side, |r| RegUse { reg: renamed(r.reg), ..r });
            }
        }
    }

    /// A new block that is in no layout yet.
    pub fn new_detached_block(&mut self) -> BlockId {
        let n = self.arena.blocks;
        let id = BlockId(n as u32);
        match self.blocks.get_mut(n) {
            Some(free) => {
                // Its lists keep their memory from an earlier function.
                free.insts.clear();
                free.succs.clear();
                free.preds.clear();
                (free.id, free.dead) = (id, false);
            }
            None => self.arena.more_blocks.push(Block { id, dead: false, ..Block::NONE }),
        }
        self.arena.blocks += 1;
        id
    }

    /// A number for a block that is not there: for texts that leave numbers out.
    pub(crate) fn skip_block(&mut self) {
        let id = self.new_detached_block();
        self.block_mut(id).dead = true;
    }

    /// A new instruction that is in no block yet.
    pub fn new_inst(&mut self, inst: &Inst, loc: Loc) -> InstId {
        let mods = self.arena.mods.intern(&inst.mods);
        let words = self.pack(&inst.operands);
        let mut row = Row::new(inst.op, mods, inst.defs, words);
        row.set_tied(inst.tied.len());
        self.arena.operands.extend(inst.tied.iter().map(|r| Packed::of_reg(Kind::Reg, *r)));
        inst.tied.iter().for_each(|r| self.arena.side.note(*r));
        self.arena.side.note(RegUse::new(inst.guard.reg));
        row.set_guard(inst.guard);
        row.set_control(inst.control);
        self.add(row, loc)
    }

    /// The same from its parts, without a guard.
    pub fn make(
        &mut self,
        op: Opcode,
        mods: &[Mod],
        defs: u8,
        operands: &[Operand],
        loc: Loc,
    ) -> InstId {
        let mods = self.arena.mods.intern(&Mods::new(mods));
        let words = self.pack(operands);
        self.add(Row::new(op, mods, defs, words), loc)
    }

    fn pack(&mut self, operands: &[Operand]) -> (u32, u16) {
        let first = self.arena.operands.len() as u32;
        let side = &mut self.arena.side;
        self.arena.operands.extend(operands.iter().map(|o| Packed::pack(o, side)));
        (first, operands.len() as u16)
    }

    pub(crate) fn add(&mut self, row: Row, loc: Loc) -> InstId {
        let n = self.arena.insts;
        self.arena.facts.note(&row);
        self.touch_flow(row.op);
        push(self.rows, &mut self.arena.more_rows, n, row);
        let loc = LocId::new(loc, &mut self.arena.locs);
        push(self.locs, &mut self.arena.more_locs, n, loc);
        self.arena.insts += 1;
        self.arena.edit_of(InstId(n as u32), row.op);
        InstId(n as u32)
    }

    /// Says that what was built so far is `done` of `all` parts: makes room for the rest, if that
    /// is like it. Lists that double would need half as much again while they move.
    pub fn expect(&mut self, done: usize, all: usize) {
        let rest = all.saturating_sub(done) as u64;
        // A sixteenth more, for the rest is never quite like it.
        let more = |now: usize| (now as u64 * rest / done.max(1) as u64 * 17 / 16) as usize;
        let arena = &mut *self.arena;
        let free = self.rows.len().saturating_sub(arena.insts);
        let rows = more(arena.insts).saturating_sub(free);
        arena.more_rows.reserve_exact(rows);
        arena.more_locs.reserve_exact(rows);
        arena.locs.reserve_exact(more(arena.locs.len()));
        arena.operands.reserve_exact(more(arena.operands.len()));
        arena.side.expect(more);
    }

    /// Makes room for so many new instructions of the usual kinds.
    pub fn expect_insts(&mut self, count: usize) {
        const OPERANDS: usize = 5;
        let arena = &mut *self.arena;
        let free = self.rows.len().saturating_sub(arena.insts);
        let rows = count.saturating_sub(free);
        arena.more_rows.reserve(rows);
        arena.more_locs.reserve(rows);
        arena.operands.reserve(OPERANDS * count);
    }

    /// Makes room for the instructions of another body that were not removed, and no more.
    pub fn expect_like(&mut self, other: &Body<'_>) {
        let (mut live, mut operands) = (0, 0);
        for row in (0..other.arena.insts).map(|i| other.row(InstId(i as u32))) {
            if !row.is_dead() {
                (live, operands) = (live + 1, operands + row.len as usize + row.tied());
            }
        }
        let rows = (live + self.arena.insts).saturating_sub(self.rows.len());
        let arena = &mut *self.arena;
        arena.more_rows.reserve_exact(rows.saturating_sub(arena.more_rows.len()));
        arena.more_locs.reserve_exact(rows.saturating_sub(arena.more_locs.len()));
        arena.operands.reserve_exact(operands);
    }

    /// What the function may have in it.
    #[inline]
    pub fn facts(&self) -> &Facts {
        &self.arena.facts
    }

    /// [`Stamps::edits`].
    pub fn stamp(&self) -> u64 {
        self.stamps().edits
    }

    /// The instructions that were changed, made or removed since the body had this number, some of
    /// them more than once; None where that is not known.
    pub fn changed_since(&self, stamp: u64) -> Option<impl Iterator<Item = InstId> + use<'_>> {
        let edits = self.stamp().checked_sub(stamp)? as usize;
        let first = self.arena.log.len().checked_sub(edits).filter(|_| stamp > 0)?;
        Some(self.arena.log[first..].iter().copied().filter(|id| *id != NOT_AN_INST))
    }

    /// What to know by whether the body, or a part of it, has changed.
    pub fn stamps(&self) -> Stamps {
        self.arena.stamps()
    }

    /// Instructions that are not removed: what `--stat=phase-wise` counts.
    pub fn live_inst_count(&self) -> usize {
        let n = self.arena.insts;
        let spawned = n.min(self.rows.len());
        let live = |rows: &[Row]| rows.iter().filter(|r| !r.is_dead()).count();
        live(&self.rows[..spawned]) + live(&self.arena.more_rows)
    }
}
