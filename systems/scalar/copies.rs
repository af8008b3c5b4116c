//! Copy and constant propagation, cell by cell.
//!
//! A cell (32 bits of a register) that an unguarded `MOV` writes (or a product with zero) holds
//! what its source holds, until one of them is written again; a cell loaded by `LDC` from a fixed
//! place of a constant bank holds that constant for good. Uses are replaced
//! * behind the copy in the same block, as long as neither side is written;
//! * in blocks that the copy's block dominates, when both sides have one definition in the
//!   function: then neither can change between the two (a second run of the source's definition
//!   would have to pass the copy again before the use).
//!
//! Immediates and constants go only where a row of the target takes them; a macro instruction takes
//! any immediate. A wide use is replaced when all its cells are copies of neighbours in one
//! register that keep its alignment.

use crate::analysis::liveness::{Cell, CellMap};
use crate::analysis::{Analyses, ControlFlow};
use crate::effects::copies_words;
use crate::function::Options;
use crate::notes::Notes;
use crate::params::{Read, Write};
use crate::scalar::algebra;
use crate::scalar::dead_code::Clean;
use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{
    BlockId, Body, Code, ConstRef, Inst, InstId, Mod, Opcode, Operand, Props, Reg, RegFile,
    RegFlags, RegUse, View,
};
use orias_targets::slots::{IMAD_WIDE as WIDE, LDC, LOP3_LUT as LOP3, MOV};
use orias_targets::{Form, SlotKind, Target};
use std::sync::Arc;

/// Rewrites of one instruction at a time.
const MOST_CHANGES: usize = 4;

/// What a cell is a copy of.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Source {
    /// One cell of a virtual register.
    Cell(RegUse),
    Imm(u32),
    /// A fixed place in a constant bank.
    Const(ConstRef),
    /// A uniform register, of one cell.
    Uniform(RegUse),
}

impl Source {
    /// The register that it is, if it is one.
    fn reg(self) -> Option<RegUse> {
        match self {
            Source::Cell(r) | Source::Uniform(r) => Some(r),
            Source::Imm(_) | Source::Const(_) => None,
        }
    }
}

/// Phase `OriCopyProp`.
pub fn copy_prop(
    code: Code<'_>,
    options: Read<'_, Options>,
    mut analyses: Write<'_, Analyses>,
    mut clean: Write<'_, Clean>,
    mut notes: Notes<'_>,
) {
    let mut body = code.body();
    // Nothing changed since nothing was found.
    if clean.copies == body.stamp() {
        return;
    }
    let mut news = News::all();
    let replaced = propagate(&mut body, &mut analyses, options.target, false, &mut news);
    if replaced == 0 {
        clean.propagated = body.stamp();
    }
    notes.count(replaced);
}

/// What rounds of propagation have to look at: the instructions that changed, and those that read
/// what these write. What becomes of all others depends on nothing that is another than in the
/// round before.
pub(super) struct News {
    /// The first round looks at everything.
    is_first: bool,
    /// Whether there is anything to look at.
    any: bool,
    /// By instruction, as far as there are any; by cell the same.
    insts: Scratch<Vec<bool>>,
    cells: Scratch<Vec<bool>>,
}

impl News {
    pub(super) fn all() -> News {
        News { is_first: true, any: true, ..News::none() }
    }

    fn none() -> News {
        News { is_first: false, any: false, insts: scratch!(Vec<bool>), cells: scratch!(Vec<bool>) }
    }

    pub(super) fn are_none(&self) -> bool {
        !self.any
    }

    fn concern(&self, map: &CellMap, id: InstId, inst: View<'_>) -> bool {
        let mut found = self.is_first || self.insts.get(id.0 as usize).is_some_and(|b| *b);
        if !found {
            let cells = &self.cells;
            let is_new = |cell: Cell| cells.get(cell as usize).is_some_and(|new| *new);
            inst.for_each_use(|r| found |= map.cells(r).any(is_new));
        }
        found
    }

    fn note(&mut self, map: &CellMap, id: InstId, inst: View<'_>) {
        if self.insts.len() <= id.0 as usize {
            self.insts.resize(id.0 as usize + 1, false);
        }
        if self.cells.len() < map.count() {
            self.cells.resize(map.count(), false);
        }
        self.insts[id.0 as usize] = true;
        inst.for_each_def(|r| map.cells(r).for_each(|cell| self.cells[cell as usize] = true));
    }
}

/// Replaces uses of copies, and folds on the way where asked for; the copies themselves stay for
/// dead code elimination. Returns how many changes it took.
pub(super) fn propagate(
    body: &mut Body<'_>,
    analyses: &mut Analyses,
    target: &Target,
    fold: bool,
    news: &mut News,
) -> usize {
    // An earlier round may have folded a branch.
    analyses.edges(body);
    let map = &*analyses.cells(body);
    let everywhere = Everywhere::new(body, map, analyses);
    let mut here = Here::new(map.count());
    let mut replaced = 0;
    // What changes behind an instruction that reads it, around a loop, is for the next round.
    let mut next = News::none();
    for at in 0..body.layout().len() {
        let block = body.layout()[at];
        here.enter();
        // What is not looked at is gone over when something behind it is.
        let mut gone_over = 0;
        for n in 0..body.block(block).insts().len() {
            let id = body.block(block).insts()[n];
            let inst = body.inst(id);
            if news.concern(map, id, inst) {
                for before in &body.block(block).insts()[gone_over..n] {
                    here.step(map, body.inst(*before));
                }
                gone_over = n;
                let find = |cell: Cell| here.at(map, cell).or_else(|| everywhere.at(cell, block));
                let changed = if inst.op == Opcode::MOVPHI {
                    rewrite_phi(body, map, id, &everywhere)
                } else {
                    let mut reads_copy = false;
                    inst.for_each_use(|r| {
                        let mut cells = map.cells(r);
                        reads_copy |= cells.any(|c| here.may_know(c) || everywhere.may_know(c));
                    });
                    let mut changed = 0;
                    if reads_copy {
                        // One operand in another's place makes room for a third.
                        for _ in 0..MOST_CHANGES {
                            let n = rewrite_uses(body, map, target, id, find);
                            changed += n;
                            if n == 0 {
                                break;
                            }
                        }
                    }
                    changed + usize::from(fold && algebra::fold_one(body, id))
                };
                if changed > 0 {
                    replaced += changed;
                    if !news.is_first {
                        news.note(map, id, body.inst(id));
                    }
                    // What reads anything else finds the same copies as before.
                    let now = body.inst(id);
                    let mut is_copy = now.op == Opcode::MOVPHI;
                    copies_of(map, now, |_, _| is_copy = true);
                    if is_copy {
                        next.note(map, id, now);
                        next.any = true;
                    }
                }
            }
        }
    }
    *news = next;
    replaced
}

/// What an instruction copies, by cell: an unguarded MOV or LDC.
fn copies_of(map: &CellMap, inst: View<'_>, mut found: impl FnMut(Cell, Source)) {
    if !inst.guard.is_always() {
        return;
    }
    if inst.op == Opcode::IMAD && inst.defs == 2 {
        return copies_of_product(map, inst, found);
    }
    if !matches!(inst.op, Opcode::MOV | Opcode::LDC) || inst.defs != 1 {
        return;
    }
    let from = if inst.op == Opcode::MOV { MOV::B } else { LDC::A };
    let (Some(Operand::Reg(to)), Some(from)) = (inst.dests().next(), inst.get(from)) else {
        return;
    };
    let is_fixed =
        |c: &ConstRef| c.base == Reg::RZ && !c.is_bindless() && c.flags == RegFlags::NONE;
    if to.reg.vreg().is_none() || to.reg.file() != RegFile::R {
        return;
    }
    let all_lanes = || inst.len() == MOV::COUNT && copies_words(inst);
    match (inst.op, from) {
        (Opcode::MOV, from) if to.count == 1 && all_lanes() => {
            let source = match from {
                Operand::Reg(r) if r.reg == Reg::RZ && r.flags == RegFlags::NONE => Source::Imm(0),
                Operand::Reg(r)
                    if r.reg.vreg().is_some()
                        && r.reg.file() == RegFile::R
                        && r.count == 1
                        && r.flags == RegFlags::NONE =>
                {
                    Source::Cell(r)
                }
                Operand::Reg(r)
                    if r.reg.vreg().is_some()
                        && r.reg.file() == RegFile::UR
                        && r.count == 1
                        && r.flags == RegFlags::NONE =>
                {
                    Source::Uniform(r)
                }
                Operand::Imm(v) => Source::Imm(v as u32),
                Operand::Const(c) if is_fixed(&c) => Source::Const(c),
                _ => return,
            };
            map.cells(to).for_each(|cell| found(cell, source));
        }
        (Opcode::LDC, Operand::Const(c))
            if is_fixed(&c) && (inst.mods().is_empty() || inst.mods().as_slice() == [Mod::_64]) =>
        {
            for (i, cell) in map.cells(to).enumerate() {
                found(cell, Source::Const(ConstRef { offset: c.offset + 4 * i as i32, ..c }));
            }
        }
        _ => {}
    }
}

/// A product of 64 bits with zero is a copy of what is added to it.
fn copies_of_product(map: &CellMap, inst: View<'_>, mut found: impl FnMut(Cell, Source)) {
    let is_zero = |at: usize| matches!(inst.get(at), Some(Operand::RZ | Operand::Imm(0)));
    let is_wide = matches!(inst.mods().as_slice(), [Mod::WIDE] | [Mod::WIDE, Mod::U32]);
    if !is_wide || inst.get(WIDE::P) != Some(Operand::PT) {
        return;
    }
    let (Some(Operand::Reg(to)), Some(Operand::Reg(from))) = (inst.get(WIDE::D), inst.get(WIDE::C))
    else {
        return;
    };
    let is_whole = |r: RegUse| {
        r.reg.vreg().is_some()
            && r.reg.file() == RegFile::R
            && r.count == 2
            && r.flags == RegFlags::NONE
    };
    let is_zero = is_zero(WIDE::A) || is_zero(WIDE::B);
    if !is_zero || !is_whole(to) || !(is_whole(from) || from.reg == Reg::RZ) {
        return;
    }
    for (i, cell) in map.cells(to).enumerate() {
        let source = match from.reg {
            Reg::RZ => Source::Imm(0),
            reg => Source::Cell(RegUse::at(reg, from.cell + i as u8, 1)),
        };
        found(cell, source);
    }
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
    flow: Option<Arc<ControlFlow>>,
}

impl Everywhere {
    fn new(body: &Body<'_>, map: &CellMap, analyses: &mut Analyses) -> Everywhere {
        let mut all = Everywhere {
            copy: scratch!(Vec<u32>),
            copies: scratch!(Vec<(Source, BlockId)>),
            flow: None,
        };
        if body.layout().len() < 2 {
            return all;
        }
        let mut definitions = scratch!(Vec<u8>; 0; map.count());
        let mut found = scratch!(Vec<(Cell, Source, BlockId)>);
        let first = body.layout().first();
        for block in body.layout() {
            for id in body.block(*block).insts() {
                let inst = body.inst(*id);
                inst.for_each_def(|r| {
                    // Uniform registers that live long are written at the start.
                    let is_short = r.reg.file() == RegFile::UR && Some(block) != first;
                    for cell in map.cells(r) {
                        let n = &mut definitions[cell as usize];
                        *n = n.saturating_add(if is_short { u8::MAX } else { 1 });
                    }
                });
                copies_of(map, inst, |c, s| found.push((c, s, *block)));
            }
        }
        let once = |cell: Cell| definitions[cell as usize] == 1;
        let fixed = |source: &Source| source.reg().is_none_or(|r| map.cells(r).all(once));
        found.retain(|(cell, source, _)| once(*cell) && fixed(source));
        if !found.is_empty() {
            all.copy.resize(map.count(), 0);
            all.flow = Some(analyses.flow(body));
        }
        all.copies.reserve(found.len());
        for &(cell, source, block) in &found {
            all.copies.push((source, block));
            all.copy[cell as usize] = all.copies.len() as u32;
        }
        all.shorten(map);
        all
    }

    /// Makes copies of copies copies of what those are: else each round would find one link of a
    /// chain.
    fn shorten(&mut self, map: &CellMap) {
        const LONGEST: usize = 64;
        for at in 0..self.copies.len() {
            for _ in 0..LONGEST {
                let Source::Cell(r) = self.copies[at].0 else { break };
                let next = map.cells(r).next().map_or(0, |cell| self.copy[cell as usize]);
                let Some(next) = next.checked_sub(1).filter(|n| *n as usize != at) else { break };
                match self.copies[next as usize].0 {
                    end @ Source::Cell(_) => self.copies[at].0 = end,
                    // Not every reader takes a constant: the register that has it comes first.
                    _ => break,
                }
            }
        }
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

/// Whether an operand is what a matrix product adds to and writes back: it stays where the result
/// goes.
fn is_accumulator(inst: &Inst, at: usize) -> bool {
    let register = |at: usize| inst.operands.get(at).and_then(|o| o.as_reg()).map(|r| r.reg);
    inst.defs > 0
        && inst.op.has(Props::CONVERGENT)
        && register(at).is_some_and(|r| !r.is_zero() && register(0) == Some(r))
}

fn rewrite_uses(
    body: &mut Body<'_>,
    map: &CellMap,
    target: &Target,
    id: InstId,
    find: impl Fn(Cell) -> Option<Source>,
) -> usize {
    let inst = body.inst(id);
    let takes_words = inst.op.has(Props::WORDS);
    // Most of what reads a constant can do nothing with it, and is not unpacked for that.
    let places = usize::from(inst.defs)..inst.len();
    let may_change = places.into_iter().any(|at| match inst.get(at) {
        Some(Operand::Reg(r)) => map.cells(r).any(|cell| match find(cell) {
            Some(Source::Cell(_)) => true,
            Some(Source::Imm(_)) => takes_words || inst.op.has(Props::MACRO) || r.count > 1,
            Some(source @ (Source::Const(_) | Source::Uniform(_))) => {
                let new = match source {
                    Source::Const(c) => Operand::Const(c),
                    source => source.reg().map_or(Operand::RZ, Operand::Reg),
                };
                let other = exchangeable(inst.op, usize::from(inst.defs), at);
                let takes = |at: usize| target.may_take(inst.op, at, &new);
                takes_words && (takes(at) || other.is_some_and(takes))
            }
            None => false,
        }),
        Some(operand) => {
            let mut reads_copy = false;
            operand.for_each_reg(|r| {
                let is_cell = |cell| matches!(find(cell), Some(Source::Cell(_)));
                reads_copy |= map.cells(r).any(is_cell);
            });
            reads_copy
        }
        None => false,
    });
    if !may_change {
        return 0;
    }
    let mut changed = inst.to_inst();
    let mut replaced = 0;
    for at in changed.defs as usize..changed.operands.len() {
        if is_accumulator(&changed, at) {
            continue;
        }
        let mut operand = changed.operands[at];
        operand.map_regs(|r| match copied_register(map, r, &find) {
            Some(from) => {
                replaced += 1;
                RegUse { flags: r.flags, ..from }
            }
            None => r,
        });
        changed.operands[at] = operand;
        let Operand::Reg(r) = operand else { continue };
        if changed.op.has(Props::MACRO) {
            if let Some(value) = constant(map, r, &find) {
                changed.operands[at] = Operand::Imm(value);
                replaced += 1;
            }
            continue;
        }
        if r.flags != RegFlags::NONE || r.reg.file() != RegFile::R {
            continue;
        }
        if r.count > 1 {
            let new = wide_constant(&changed, at, map, r, &find);
            if new.is_some_and(|new| takes_with(target, &mut changed, at, new)) {
                replaced += 1;
            }
            continue;
        }
        if !takes_words {
            continue;
        }
        let mut value = None;
        map.cells(r).for_each(|cell| value = find(cell));
        let new = match value {
            Some(Source::Imm(0)) => Operand::RZ,
            Some(Source::Imm(v)) => Operand::Imm(u64::from(v)),
            Some(Source::Const(c)) => Operand::Const(c),
            Some(Source::Uniform(r)) => Operand::Reg(r),
            _ => continue,
        };
        let other = exchangeable(changed.op, changed.defs as usize, at);
        let takes = |at: usize| target.may_take(changed.op, at, &new);
        if !takes(at) && !other.is_some_and(takes) || target.form(&changed).is_none() {
            continue;
        }
        if takes_with(target, &mut changed, at, new) {
            replaced += 1;
        } else if let Some(other) = other {
            // The second source takes constants where the others do not.
            exchange(&mut changed, at, other);
            if takes_with(target, &mut changed, other, new) {
                replaced += 1;
            } else {
                exchange(&mut changed, at, other);
            }
        }
    }
    // With every constant in place, whether a row takes that many or not, it may be something
    // simpler.
    let mut known = None;
    for at in changed.defs as usize..changed.operands.len() {
        if let Operand::Reg(r) = changed.operands[at]
            && r.count == 1
            && r.flags == RegFlags::NONE
            && r.reg.file() == RegFile::R
            && let Some(Source::Imm(v)) = map.cells(r).next().and_then(&find)
        {
            known.get_or_insert_with(|| changed.clone()).operands[at] = Operand::Imm(u64::from(v));
        }
    }
    if let Some(simpler) = known.and_then(|known| algebra::fold(&known)) {
        changed = simpler;
        replaced += 1;
    }
    if replaced > 0 {
        body.set_inst(id, &changed);
    }
    replaced
}

/// Puts an operand in its place where a row takes the instruction with it; whether it did.
fn takes_with(target: &Target, inst: &mut Inst, at: usize, new: Operand) -> bool {
    let old = std::mem::replace(&mut inst.operands[at], new);
    let takes = target.takes(inst).is_some_and(|form| fits(form, at, &new));
    if !takes {
        inst.operands[at] = old;
    }
    takes
}

/// Whether an immediate has no more bits than its slot: what says that a row takes an instruction
/// does not look at values.
fn fits(form: &Form, at: usize, operand: &Operand) -> bool {
    match (form.slots.get(at).map(|slot| &slot.kind), operand) {
        (Some(SlotKind::Imm { bits, signed: false, .. }), Operand::Imm(value)) => {
            bits.width() >= 32 || value >> bits.width() == 0
        }
        _ => true,
    }
}

/// The same for a phi: each of its values is read at the end of the block that it comes from.
fn rewrite_phi(body: &mut Body<'_>, map: &CellMap, id: InstId, everywhere: &Everywhere) -> usize {
    let inst = body.inst(id);
    let source = |at: usize| {
        let (value, from) = (inst.reg(at)?, inst.get(at + 1)?);
        let (cell, Operand::Block(from)) = (map.cells(value).next()?, from) else { return None };
        match everywhere.at_end(cell, from)? {
            Source::Cell(source) => Some(source),
            _ => None,
        }
    };
    let places = (usize::from(inst.defs)..inst.len()).step_by(2);
    let found = places.filter_map(|at| Some((at, source(at)?)));
    let found = scratch!(Vec<(usize, RegUse)>).with(found);
    for (at, source) in &found {
        body.set_operand(id, *at, Operand::Reg(*source));
    }
    found.len()
}

/// The number in a register of one cell or two, when it is one.
fn constant(map: &CellMap, r: RegUse, find: &impl Fn(Cell) -> Option<Source>) -> Option<u64> {
    if r.flags != RegFlags::NONE || r.reg.file() != RegFile::R {
        return None;
    }
    map.cells(r).enumerate().try_fold(0, |value, (i, cell)| match find(cell)? {
        Source::Imm(word) => Some(value | u64::from(word) << (32 * i)),
        _ => None,
    })
}

/// What stands for a constant of several words: RZ for zero, and for a double whose low word is
/// zero its high word. As ptxas 13.0.88 does it in doubles' arithmetic, in stores and in what
/// products add.
fn wide_constant(
    inst: &Inst,
    at: usize,
    map: &CellMap,
    r: RegUse,
    find: &impl Fn(Cell) -> Option<Source>,
) -> Option<Operand> {
    let mut words = map.cells(r).map(|cell| match find(cell) {
        Some(Source::Imm(word)) => Some(word),
        _ => None,
    });
    let op = inst.op;
    let is_double = matches!(op, Opcode::DADD | Opcode::DMUL | Opcode::DFMA | Opcode::DSETP);
    let is_store = matches!(op, Opcode::STG | Opcode::STS | Opcode::STL | Opcode::ST);
    let is_matrix = matches!(op, Opcode::HMMA | Opcode::IMMA | Opcode::DMMA);
    let is_added = is_matrix && at == usize::from(inst.defs) + 2;
    if !(is_double || is_store || is_added || op == Opcode::IMAD) {
        return None;
    }
    match words.next()?? {
        0 if is_double && r.count == 2 => match words.next()?? {
            0 => Some(Operand::RZ),
            high => Some(Operand::Imm(u64::from(high))),
        },
        0 => words.all(|word| word == Some(0)).then_some(Operand::RZ),
        _ => None,
    }
}

/// The second source, when operand `at` may change places with it. `first` is the first source.
pub fn exchangeable(op: Opcode, first: usize, at: usize) -> Option<usize> {
    let second = first + 1;
    let any_of = match op {
        Opcode::IADD3 | Opcode::LOP3 => first..first + 3,
        Opcode::IMAD | Opcode::FADD | Opcode::FMUL | Opcode::FFMA => first..first + 2,
        _ => return None,
    };
    (any_of.contains(&at) && at != second).then_some(second)
}

/// Gives two sources, which [`exchangeable`] says can, each other's place.
pub fn exchange(inst: &mut Inst, at: usize, other: usize) {
    inst.operands.swap(at, other);
    if inst.op != Opcode::LOP3 {
        return;
    }
    // The rows of the truth table, too: the first input is bit 2 of their number.
    let (at, other) = (LOP3::C - at, LOP3::C - other);
    if let Operand::Imm(table) = &mut inst.operands[LOP3::T] {
        let row = |row: u64| {
            let differ = (row >> at ^ row >> other) & 1;
            row ^ (differ << at | differ << other)
        };
        *table = (0..8).map(|n| (*table >> row(n) & 1) << n).sum();
    }
}

/// The register whose cells a use's cells are copies of.
fn copied_register(
    map: &CellMap,
    r: RegUse,
    find: &impl Fn(Cell) -> Option<Source>,
) -> Option<RegUse> {
    if r.reg.vreg().is_none() || r.reg.file() != RegFile::R {
        return None;
    }
    let mut first: Option<RegUse> = None;
    for (i, cell) in map.cells(r).enumerate() {
        let Some(Source::Cell(from)) = find(cell) else { return None };
        match first {
            None => first = Some(from),
            Some(f) if f.reg == from.reg && f.cell + i as u8 == from.cell => {}
            _ => return None,
        }
    }
    // A register's first cell has the register's alignment; a wide use must start at a multiple of
    // its width.
    let first = first?;
    let aligned = r.count == 1 || (r.count.is_power_of_two() && first.cell % r.count == 0);
    let whole = RegUse { count: r.count, flags: RegFlags::NONE, ..first };
    aligned.then_some(whole)
}
