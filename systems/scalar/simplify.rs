//! Copies, constants, algebra and dead code in SSA form: one walk that meets each value before what
//! reads it.
//!
//! There a copy of a value ([`super::copies`]) is worth its source wherever it is read, and a phi
//! of one value is a copy of it. What readers no longer read goes at once, with what it alone read.

use super::algebra;
use super::copies::{Source, copies_of};
use super::numbers;
use super::replace;
use super::values::{Reads, Values};
use crate::analysis::liveness::{Cell, CellMap};
use crate::effects;
use crate::ssa::{Fixed, is_value};
use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{BlockId, Body, Opcode, Props, RegFile, VRegId, View, phis};
use orias_targets::Target;
use smallvec::SmallVec;

/// What a copy says: the cell, what it is a copy of, where, and the cell's register.
type Found = (Cell, Source, BlockId, VRegId);

/// The copies of a function in SSA form.
pub(super) struct Copies {
    /// By cell: 1 + the place in `all`; empty where there are none.
    place: Scratch<Vec<u32>>,
    /// What it is a copy of, and the only block in which that holds if it is one.
    all: Scratch<Vec<(Source, Option<BlockId>)>>,
    /// By cell, the copies that this walk has found: who reads them is to be looked at.
    fresh: Scratch<Vec<bool>>,
    /// What was seen, until all instructions are known.
    found: Scratch<Vec<Found>>,
}

impl Copies {
    pub fn none() -> Copies {
        Copies {
            place: scratch!(Vec<u32>),
            all: scratch!(Vec<(Source, Option<BlockId>)>),
            fresh: scratch!(Vec<bool>),
            found: scratch!(Vec<Found>),
        }
    }

    /// Takes note of what an instruction copies.
    pub fn see(&mut self, map: &CellMap, block: BlockId, inst: View<'_>) {
        each_copy(map, block, inst, |copy| self.found.push(copy));
    }

    /// Keeps what was seen and holds wherever it is read; whether that is all.
    pub fn settle(&mut self, body: &Body<'_>, values: &Values<'_>, fixed: &Fixed) -> bool {
        let found = std::mem::replace(&mut self.found, scratch!(Vec<Found>));
        let mut all = true;
        for found in found.iter() {
            all &= self.add(body, values, fixed, *found);
        }
        all
    }

    fn add(
        &mut self,
        body: &Body<'_>,
        values: &Values<'_>,
        fixed: &Fixed,
        (cell, source, block, v): Found,
    ) -> bool {
        let is_value = |v: VRegId| is_value(body, fixed, v);
        let holds = values.is_single(cell)
            && is_value(v)
            && source.reg().is_none_or(|r| {
                let is_uniform = r.reg.file() == RegFile::UR;
                values.map.cells(r).all(|cell| values.is_single(cell))
                    && r.reg.vreg().is_some_and(|v| is_uniform || is_value(v))
            });
        if !holds {
            return false;
        }
        // Uniform registers that live long are written at the start.
        let only = matches!(source, Source::Uniform(_)) && body.layout().first() != Some(&block);
        if self.place.is_empty() {
            self.place.resize(values.map.count(), 0);
            self.fresh.resize(values.map.count(), false);
        }
        self.all.push((source, only.then_some(block)));
        self.place[cell as usize] = self.all.len() as u32;
        true
    }

    #[inline]
    fn may_know(&self, cell: Cell) -> bool {
        self.place.get(cell as usize).is_some_and(|place| *place != 0)
    }

    /// Whether a cell that [`may_know`](Copies::may_know) tells of is a copy of another one.
    fn is_register(&self, cell: Cell) -> bool {
        let place = self.place[cell as usize] as usize;
        matches!(self.all[place - 1], (Source::Cell(_), _))
    }

    /// What a cell is a copy of for who reads it in a block.
    fn at(&self, cell: Cell, block: BlockId) -> Option<Source> {
        let place = self.place.get(cell as usize)?.checked_sub(1)?;
        let (source, only) = self.all[place as usize];
        only.is_none_or(|only| only == block).then_some(source)
    }

    fn freshen(&mut self, cell: Cell) {
        if let Some(fresh) = self.fresh.get_mut(cell as usize) {
            *fresh = true;
        }
    }

    fn is_fresh(&self, cell: Cell) -> bool {
        self.fresh.get(cell as usize).is_some_and(|fresh| *fresh)
    }
}

/// Looks at the news and at what reads them: how many changes it took. `order` has each block
/// behind those that dominate it.
pub(super) fn simplify(
    body: &mut Body<'_>,
    values: &mut Values<'_>,
    copies: &mut Copies,
    fixed: &Fixed,
    target: &Target,
    order: &[BlockId],
) -> usize {
    let map = values.map;
    let mut count = 0;
    // Whether phis, around a loop, may have been met before a copy that they take.
    let mut missed = false;
    for &block in order {
        for n in 0..body.block(block).insts().len() {
            let id = body.block(block).insts()[n];
            if values.is_dead(id) {
                continue;
            }
            let inst = body.inst(id);
            if values.is_unread(inst) && effects::is_removable(inst) {
                values.kill(body, id);
                count += 1;
                continue;
            }
            let (mut reads_copy, mut reads_news) = (false, values.news.has(id));
            let mut reads_constant = false;
            inst.for_each_use(|r| {
                for cell in map.cells(r) {
                    if copies.may_know(cell) {
                        reads_copy = true;
                        reads_constant |= !copies.is_register(cell);
                    }
                    reads_news |= copies.is_fresh(cell);
                }
            });
            if !reads_news {
                continue;
            }
            let mut changed = 0;
            if reads_copy || algebra::may_fold(inst) {
                let old = Reads::of(inst);
                let op = inst.op;
                let find = |cell: Cell| copies.at(cell, block);
                if op == Opcode::MOVPHI && reads_copy {
                    changed +=
                        replace::rewrite_phi(body, map, id, |cell, from| copies.at(cell, from));
                } else if reads_constant || reads_copy && op.has(Props::CONVERGENT) {
                    changed += replace::rewrite(body, map, target, id, find);
                } else if reads_copy {
                    changed += replace::rewrite_registers(body, map, id, find);
                }
                let is_settled = numbers::may_settle(op)
                    && numbers::settle(body, id, |r| {
                        match copies.at(map.cells(r).next()?, block)? {
                            Source::Imm(number) => Some(number),
                            _ => None,
                        }
                    });
                changed += usize::from(is_settled || algebra::fold_one(body, id));
                if changed > 0 {
                    values.changed(body, id, &old);
                }
            }
            count += changed;
            if changed > 0 || !values.news.are_all() || body.op(id) == Opcode::MOVPHI {
                let inst = body.inst(id);
                let mut new = SmallVec::<[Found; 2]>::new();
                each_copy(map, block, inst, |copy| new.push(copy));
                new.extend(one_value(map, copies, inst, block));
                for new in new.iter() {
                    if copies.add(body, values, fixed, *new) {
                        copies.freshen(new.0);
                        missed |= values.is_taken_by_phi(new.0);
                    }
                }
            }
        }
    }
    for &block in order.iter().filter(|_| missed) {
        for n in 0..phis::end(body, block) {
            let id = body.block(block).insts()[n];
            let mut reads_copy = false;
            body.inst(id).for_each_use(|r| reads_copy |= map.cells(r).any(|c| copies.may_know(c)));
            if reads_copy && !values.is_dead(id) {
                let old = Reads::of(body.inst(id));
                let changed =
                    replace::rewrite_phi(body, map, id, |cell, from| copies.at(cell, from));
                if changed > 0 {
                    count += changed;
                    values.changed(body, id, &old);
                }
            }
        }
    }
    count
}

/// What an instruction copies.
fn each_copy(map: &CellMap, block: BlockId, inst: View<'_>, mut found: impl FnMut(Found)) {
    copies_of(map, inst, |cell, source| {
        if let Some(v) = inst.reg(0).and_then(|r| r.reg.vreg()) {
            found((cell, source, block, v));
        }
    });
}

/// The one value that a phi has, wherever control comes from.
fn one_value(map: &CellMap, copies: &Copies, inst: View<'_>, block: BlockId) -> Option<Found> {
    if inst.op != Opcode::MOVPHI {
        return None;
    }
    let result = inst.reg(0).filter(|r| r.reg.file() == RegFile::R)?;
    let to = map.cells(result).next()?;
    let mut same = None;
    for at in (usize::from(inst.defs)..inst.len()).step_by(2) {
        let value = inst.reg(at)?;
        let cell = map.cells(value).next()?;
        if cell == to {
            continue;
        }
        let source = match copies.at(cell, block) {
            Some(constant @ (Source::Imm(_) | Source::Const(_))) => constant,
            _ => Source::Cell(value),
        };
        if *same.get_or_insert(source) != source {
            return None;
        }
    }
    Some((to, same?, block, result.reg.vreg()?))
}
