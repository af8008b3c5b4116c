//! Linear forms: a value that integer sums and products by numbers make is a number of each of some
//! other values, and a number.
//!
//! * `OriLinearReplacement`: what differs from a value of the same block by a number alone is the
//!   sum of that value and the number, where that leaves an instruction without readers. Addresses
//!   take such a number as their offset.
//! * `OriReassociateAndCommon`: what has the form of a value that is known already is a copy of it,
//!   in whatever order its terms were added.
//!
//! Forms are found once each, on the way down the dominator tree, and kept by value. ptxas 13.0.88
//! was not seen to do either where its terms are added in another order.

use super::values::{Values, plain};
use crate::analysis::Analyses;
use crate::analysis::liveness::{Cell, CellMap};
use crate::control_flow::predication;
use crate::function::Options;
use crate::knobs::Knob;
use crate::loops::pointers::{share_bases, share_pointers};
use crate::notes::Notes;
use crate::params::{Read, Write};
use crate::ssa::{Fixed, Form, is_value};
use hashbrown::HashTable;
use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{
    BlockId, Body, Code, Inst, InstId, Mod, Opcode, Operand, RegFile, RegFlags, RegUse, View,
};
use orias_targets::slots::{IADD3, IMAD, LEA, SHF};
use rustc_hash::{FxBuildHasher, FxHashSet};
use smallvec::SmallVec;
use std::hash::BuildHasher;
use std::sync::Arc;

/// What makes sums.
pub const SUMS: [Opcode; 3] = [Opcode::IADD3, Opcode::IMAD, Opcode::LEA];

/// What phase 35 looks at: branches, too.
pub const REPLACED: [Opcode; 4] = [Opcode::IADD3, Opcode::IMAD, Opcode::LEA, Opcode::BRA];

/// A form of more terms is a value of its own.
const MOST_TERMS: usize = 5;

/// Which of two phases this is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// Values that differ by a number.
    Apart,
    /// Values that are the same.
    Same,
}

/// Phase 35.
pub fn linear_replacement(
    code: Code<'_>,
    form: Read<'_, Form>,
    options: Read<'_, Options>,
    mut analyses: Write<'_, Analyses>,
    mut notes: Notes<'_>,
) {
    if form.is_ssa && options.knobs.get(Knob::LinearReplacement, options.target) != 0 {
        let mut body = code.body();
        if body.facts().may_have(&[Opcode::BRA]) {
            notes.count(predication::select_copies(&mut body, &mut analyses, &options));
            analyses.edges(&mut body);
        }
        notes.count(share_pointers(&mut body, &mut analyses));
        notes.count(share_bases(&mut body, &mut analyses));
        notes.count(replace(&mut body, &mut analyses, &options, Wanted::Apart));
    }
}

/// Phase 58.
pub fn reassociate_and_common(
    code: Code<'_>,
    form: Read<'_, Form>,
    options: Read<'_, Options>,
    mut analyses: Write<'_, Analyses>,
    mut notes: Notes<'_>,
) {
    if form.is_ssa {
        notes.count(replace(&mut code.body(), &mut analyses, &options, Wanted::Same));
    }
}

/// So many of each value, ascending, and a number.
type Terms = SmallVec<[(Cell, u32); MOST_TERMS]>;

/// A value whose form is known.
struct Known {
    hash: u64,
    value: RegUse,
    cell: Cell,
}

/// What is known of values so far.
struct Forms {
    map: Arc<CellMap>,
    fixed: Fixed,
    /// By cell: where its terms begin in `terms`, how many they are, and its number; no terms for
    /// what is a value of its own.
    of: Scratch<Vec<(u32, u32, u32)>>,
    terms: Scratch<Vec<(Cell, u32)>>,
}

struct Walk<'m> {
    values: Values<'m>,
    forms: Forms,
    places: HashTable<u32>,
    known: Vec<Known>,
    count: usize,
}

fn replace(
    body: &mut Body<'_>,
    analyses: &mut Analyses,
    options: &Options,
    wanted: Wanted,
) -> usize {
    let is_wanted = |id: &InstId| is_wanted(body.inst(*id));
    let blocks = body.layout().iter();
    let mut sums = blocks.flat_map(|b| body.block(*b).insts().iter().copied()).filter(is_wanted);
    if sums.nth(1).is_none() {
        return 0;
    }
    let map = analyses.cells(body);
    if !may_be_any(body, &map) {
        return 0;
    }
    let flow = analyses.flow(body);
    let mut walk = Walk {
        forms: Forms::of(body, map.clone()),
        values: Values::of(body, &map, |_, _, _| {}),
        places: HashTable::new(),
        known: Vec::new(),
        count: 0,
    };
    let below = flow.dominated();
    let mut work = scratch!(Vec<(u32, usize)>);
    work.extend(body.layout().first().map(|entry| (entry.0, 0)));
    while let Some((block, left)) = work.pop() {
        walk.forget(left);
        walk.block(body, BlockId(block), options, wanted);
        let left = walk.known.len();
        work.extend(below.iter(block).map(|child| (child, left)));
    }
    walk.values.sweep(body);
    walk.count
}

/// Whether two sums have the same terms, wherever they stand: in most functions none do, and this
/// is all that the phases cost there. What is read before it is met counts as a value of its own.
fn may_be_any(body: &Body<'_>, map: &Arc<CellMap>) -> bool {
    let mut forms = Forms::of(body, map.clone());
    let mut hashes = scratch!(FxHashSet<u64>);
    for &block in body.layout() {
        for &id in body.block(block).insts() {
            let inst = body.inst(id);
            let Some((_, terms, _)) = forms.note(body, inst) else { continue };
            if is_wanted(inst) && !terms.is_empty() && !hashes.insert(hash_of(&terms)) {
                return true;
            }
        }
    }
    false
}

fn hash_of(terms: &[(Cell, u32)]) -> u64 {
    FxBuildHasher.hash_one(terms)
}

/// Whether it may become something that is better: a sum of a value and a number is none that
/// could.
fn is_wanted(inst: View<'_>) -> bool {
    let is_register = |at: &usize| matches!(inst.operand(*at), Operand::Reg(r) if !r.reg.is_zero());
    match inst.op {
        Opcode::IADD3 if inst.mods().is_empty() && inst.len() == IADD3::COUNT => {
            [IADD3::A, IADD3::B, IADD3::C].iter().filter(|at| is_register(at)).count() > 1
        }
        Opcode::IMAD | Opcode::LEA => inst.mods().is_empty(),
        _ => false,
    }
}

impl Walk<'_> {
    fn forget(&mut self, left: usize) {
        for at in (left..self.known.len()).rev() {
            if let Ok(entry) = self.places.find_entry(self.known[at].hash, |i| *i as usize == at) {
                entry.remove();
            }
        }
        self.known.truncate(left);
    }

    fn block(&mut self, body: &mut Body<'_>, block: BlockId, options: &Options, wanted: Wanted) {
        let start = self.known.len();
        for &id in body.walk_in(block).iter() {
            let inst = body.inst(id);
            let Some((to, terms, number)) = self.forms.note(body, inst) else { continue };
            if terms.is_empty() || !SUMS.contains(&inst.op) {
                continue;
            }
            let hash = hash_of(&terms);
            let same = |at: &u32| *self.forms.terms(self.known[*at as usize].cell) == *terms;
            let Some(place) = self.places.find(hash, same).copied() else {
                let at = self.known.len() as u32;
                let cell = self.forms.cell(to);
                self.known.push(Known { hash, value: to, cell });
                let known = &self.known;
                self.places.insert_unique(hash, at, |i| known[*i as usize].hash);
                continue;
            };
            let other = &self.known[place as usize];
            let by = number.wrapping_sub(self.forms.of[other.cell as usize].2);
            let is_near = place as usize >= start;
            let writer = self.values.writer(other.value);
            if self.values.is_dead(id) || writer.is_none_or(|by| self.values.is_dead(by)) {
                continue;
            }
            let from = Operand::Reg(other.value);
            let new = match (by, wanted) {
                (0, Wanted::Same) => {
                    let operands = [Operand::Reg(to), from, Operand::Imm(0xf)];
                    Inst::new(Opcode::MOV, &[], 1, &operands)
                }
                (1.., Wanted::Apart) if is_near && is_wanted(inst) && self.saves(body, inst) => {
                    let by = Operand::Imm(u64::from(by));
                    let operands =
                        [Operand::Reg(to), Operand::PT, Operand::PT, from, by, Operand::RZ];
                    Inst::new(Opcode::IADD3, &[], 3, &operands)
                }
                _ => continue,
            };
            if options.target.takes(&new).is_some() {
                self.values.replace(body, id, &new);
                self.count += 1;
            }
        }
    }

    /// Whether something that an instruction reads is there for it alone, and is a sum itself.
    fn saves(&self, body: &Body<'_>, inst: View<'_>) -> bool {
        let mut saves = false;
        inst.for_each_use(|r| {
            let sum = self.values.writer(r).filter(|_| self.values.reads(r) == 1);
            saves |= sum.is_some_and(|sum| self.forms.form(body, body.inst(sum)).is_some());
        });
        saves
    }
}

impl Forms {
    fn of(body: &Body<'_>, map: Arc<CellMap>) -> Forms {
        let of = scratch!(Vec<(u32, u32, u32)>; (0, 0, 0); map.count());
        Forms { fixed: Fixed::of(body), map, of, terms: scratch!(Vec<(Cell, u32)>) }
    }

    fn cell(&self, r: RegUse) -> Cell {
        self.map.cells(r).next().expect("a register of a cell")
    }

    fn terms(&self, cell: Cell) -> &[(Cell, u32)] {
        let (first, count, _) = self.of[cell as usize];
        &self.terms[first as usize..(first + count) as usize]
    }

    /// Notes and returns the form of what an instruction gives, and where it is.
    fn note(&mut self, body: &Body<'_>, inst: View<'_>) -> Option<(RegUse, Terms, u32)> {
        let (terms, number) = self.form(body, inst)?;
        let to = plain(&inst.operand(0))?;
        let (cell, first) = (self.cell(to), self.terms.len() as u32);
        self.terms.extend_from_slice(&terms);
        self.of[cell as usize] = (first, terms.len() as u32, number);
        Some((to, terms, number))
    }

    /// The form of what an instruction gives.
    fn form(&self, body: &Body<'_>, inst: View<'_>) -> Option<(Terms, u32)> {
        let has_result = |at: usize| {
            inst.get(at).and_then(|o| plain(&o)).is_some_and(|r| {
                r.reg.file() == RegFile::R
                    && r.count == 1
                    && r.reg.vreg().is_some_and(|v| is_value(body, &self.fixed, v))
            })
        };
        let is_known = SUMS.contains(&inst.op) || inst.op == Opcode::SHF;
        if !is_known || !inst.guard.is_always() || !has_result(0) {
            return None;
        }
        let mut sum = (Terms::new(), 0_u32);
        let mut add = |operand: Operand, times: u32| self.add(body, &mut sum, operand, times);
        let number = |at: usize| match inst.operand(at) {
            Operand::Imm(value) => Some(value as u32),
            _ => None,
        };
        match (inst.op, inst.mods().as_slice()) {
            (Opcode::IADD3, []) if inst.len() == IADD3::COUNT => {
                let carries = [IADD3::P, IADD3::Q].map(|at| inst.operand(at));
                (carries == [Operand::PT; 2]).then_some(())?;
                add(inst.operand(IADD3::A), 1)?;
                add(inst.operand(IADD3::B), 1)?;
                add(inst.operand(IADD3::C), 1)?;
            }
            (Opcode::IMAD, []) if inst.len() == IMAD::COUNT => {
                let (value, times) = match (number(IMAD::A), number(IMAD::B)) {
                    (None, Some(times)) => (IMAD::A, times),
                    (Some(times), None) => (IMAD::B, times),
                    _ => return None,
                };
                add(inst.operand(value), times)?;
                add(inst.operand(IMAD::C), 1)?;
            }
            (Opcode::SHF, [Mod::L, Mod::U32]) if inst.len() == SHF::COUNT => {
                let by = number(SHF::B).filter(|by| *by < 32)?;
                (inst.operand(SHF::C) == Operand::RZ).then_some(())?;
                add(inst.operand(SHF::A), 1 << by)?;
            }
            (Opcode::LEA, []) if inst.len() == LEA::COUNT => {
                let by = number(LEA::N).filter(|by| *by < 32)?;
                (inst.operand(LEA::P) == Operand::PT).then_some(())?;
                add(inst.operand(LEA::A), 1 << by)?;
                add(inst.operand(LEA::B), 1)?;
            }
            _ => return None,
        }
        sum.0.retain(|(_, times)| *times != 0);
        Some(sum)
    }

    /// Adds so many of an operand.
    fn add(
        &self,
        body: &Body<'_>,
        (terms, number): &mut (Terms, u32),
        operand: Operand,
        times: u32,
    ) -> Option<()> {
        let r = match operand {
            Operand::Imm(value) => {
                *number = number.wrapping_add((value as u32).wrapping_mul(times));
                return Some(());
            }
            Operand::RZ => return Some(()),
            Operand::Reg(r) => r,
            _ => return None,
        };
        let times = match r.flags.without(RegFlags::REUSE) {
            RegFlags::NONE => times,
            RegFlags::NEG => times.wrapping_neg(),
            _ => return None,
        };
        let is_known = r.count == 1
            && r.reg.file() == RegFile::R
            && r.reg.vreg().is_some_and(|v| is_value(body, &self.fixed, v));
        let cell = self.map.cells(r).next().filter(|_| is_known)?;
        let mut put = |cell: Cell, times: u32| {
            match terms.binary_search_by_key(&cell, |(cell, _)| *cell) {
                Ok(at) => terms[at].1 = terms[at].1.wrapping_add(times),
                Err(at) if terms.len() < MOST_TERMS => terms.insert(at, (cell, times)),
                Err(_) => return None,
            }
            Some(())
        };
        let (_, count, own) = self.of[cell as usize];
        if count == 0 {
            return put(cell, times);
        }
        *number = number.wrapping_add(own.wrapping_mul(times));
        self.terms(cell).iter().try_for_each(|(cell, each)| put(*cell, each.wrapping_mul(times)))
    }
}
