//! Several instructions become one, in SSA form: by the rules of [`super::rules`], and logic of up
//! to three inputs by its truth table ([`super::logic`]).
//!
//! A rule's last instruction is met first; the others are found from what it reads, each as the one
//! writer of a cell. What they read has in SSA form the same value at the last one's place.

use super::address;
use super::algebra;
use super::bits;
use super::bounds;
use super::ends::Ends;
use super::halves;
use super::logic;
use super::packs;
use super::predicate;
use super::products;
use super::rules::{ENDS, RULES, Rule, Slot, Step, swapped};
use super::signs;
use super::sums;
use super::uniform;
use super::values::{Reads, Values, plain};
use super::zero;
use crate::ssa::{Fixed, is_value};
use orias_components::{
    BlockId, Body, Inst, InstId, Mod, Opcode, Operand, Props, Reg, RegFile, RegFlags, RegUse, View,
};
use orias_targets::Target;
use orias_targets::slots::PRMT;
use smallvec::SmallVec;

/// How far before the last instruction of a rule one may stand that writes a part of the result:
/// most stand beside each other.
const NEAR: usize = 16;

/// How often one instruction becomes another at most: of a long chain of sums each one would go
/// over all before it.
const MOST_STEPS: usize = 8;

/// What a rule's names stand for, as far as it is known.
#[derive(Clone, Default)]
struct Match {
    /// Registers, with the cell that counts as their first.
    regs: [Option<(Reg, u8)>; 4],
    any: [Option<Operand>; 6],
    /// By step of the rule.
    insts: [Option<InstId>; 4],
}

impl Match {
    fn bind_reg(&mut self, name: u8, cell: u8, operand: &Operand, count: u8) -> bool {
        let Some(r) = plain(operand).filter(|r| r.count == count && r.cell >= cell) else {
            return false;
        };
        let new = (r.reg, r.cell - cell);
        *self.regs[usize::from(name)].get_or_insert(new) == new
    }

    fn bind(&mut self, slot: Slot, operand: &Operand) -> bool {
        match slot {
            Slot::Cell(name, cell) => self.bind_reg(name, cell, operand, 1),
            Slot::Pair(name) => self.bind_reg(name, 0, operand, 2),
            Slot::Any(name) => *self.any[usize::from(name)].get_or_insert(*operand) == *operand,
            Slot::Number(name) => {
                matches!(operand, Operand::Imm(1..32))
                    && *self.any[usize::from(name)].get_or_insert(*operand) == *operand
            }
            Slot::Minus(name, cell) => match operand {
                Operand::Reg(r) if r.flags == RegFlags::NEG => {
                    let plain = Operand::Reg(RegUse { flags: RegFlags::NONE, ..*r });
                    self.bind_reg(name, cell, &plain, 1)
                }
                _ => false,
            },
            Slot::Word(name) => {
                matches!(operand, Operand::Imm(_))
                    && *self.any[usize::from(name)].get_or_insert(*operand) == *operand
            }
            Slot::Rest(_) | Slot::Opposite(_) | Slot::Total(..) => false,
            Slot::Exactly(number) => *operand == Operand::Imm(u64::from(number)),
            Slot::Zero => *operand == Operand::RZ,
            Slot::True => *operand == Operand::PT,
            Slot::False => *operand == Operand::NOT_PT,
        }
    }

    /// The register use that a slot names.
    fn register(&self, slot: Slot) -> Option<RegUse> {
        let (name, cell, count) = match slot {
            Slot::Cell(name, cell) => (name, cell, 1),
            Slot::Pair(name) => (name, 0, 2),
            _ => return None,
        };
        let (reg, first) = self.regs[usize::from(name)]?;
        Some(RegUse { count, ..RegUse::at(reg, first + cell, 1) })
    }

    fn operand(&self, slot: Slot) -> Option<Operand> {
        match slot {
            Slot::Cell(..) | Slot::Pair(_) => self.register(slot).map(Operand::Reg),
            Slot::Minus(..) => None,
            Slot::Any(name) | Slot::Number(name) | Slot::Word(name) => self.any[usize::from(name)],
            Slot::Opposite(name) => match self.any[usize::from(name)]? {
                Operand::Imm(word) => Some(Operand::Imm(u64::from((word as u32).wrapping_neg()))),
                _ => None,
            },
            Slot::Total(a, b) => match (self.any[usize::from(a)]?, self.any[usize::from(b)]?) {
                (Operand::Imm(a), Operand::Imm(b)) => {
                    Some(Operand::Imm(u64::from((a as u32).wrapping_add(b as u32))))
                }
                _ => None,
            },
            Slot::Rest(name) => match self.any[usize::from(name)]? {
                Operand::Imm(number @ 1..32) => Some(Operand::Imm(32 - number)),
                _ => None,
            },
            Slot::Exactly(number) => Some(Operand::Imm(u64::from(number))),
            Slot::Zero => Some(Operand::RZ),
            Slot::True => Some(Operand::PT),
            Slot::False => Some(Operand::NOT_PT),
        }
    }
}

/// What looks for rules.
struct Combiner<'a, 'm> {
    values: &'a mut Values<'m>,
    fixed: &'a Fixed,
    target: &'a Target,
    ends: Ends,
    /// What stands before was changed in a way that makes it worth to look at it again.
    again: bool,
}

/// What was made of what.
#[derive(Default)]
pub(super) struct Found {
    /// How often.
    pub count: usize,
    /// There are copies now that readers do not know of, or what was met before has changed.
    pub again: bool,
}

/// What a rule ends with, beside loads and stores.
const LAST: [Opcode; 30] = [
    Opcode::IADD3,
    Opcode::LEA,
    Opcode::VIMNMX,
    Opcode::PRMT,
    Opcode::R2UR,
    Opcode::LOP3,
    Opcode::PLOP3,
    Opcode::SEL,
    Opcode::FSEL,
    Opcode::ISETP,
    Opcode::BRA,
    Opcode::EXIT,
    Opcode::SHF,
    // Of floats.
    Opcode::FADD,
    Opcode::FMUL,
    Opcode::FFMA,
    Opcode::FSETP,
    Opcode::FMNMX,
    Opcode::MUFU,
    Opcode::DADD,
    Opcode::DMUL,
    Opcode::DFMA,
    Opcode::DSETP,
    // Of halves.
    Opcode::HADD2,
    Opcode::HMUL2,
    Opcode::HFMA2,
    Opcode::HMNMX2,
    Opcode::HSETP2,
    Opcode::HSET2,
    Opcode::F2FP,
];

/// Whether the function has anything of which fewer instructions may be made.
pub(super) fn applies(body: &Body<'_>) -> bool {
    body.facts().may_have(&LAST) || body.facts().may_have(&[Opcode::IMAD])
}

/// Makes fewer instructions of more: of the news, and of what reads them.
pub(super) fn combine(
    body: &mut Body<'_>,
    values: &mut Values<'_>,
    fixed: &Fixed,
    target: &Target,
    order: &[BlockId],
) -> Found {
    let mut found = Found::default();
    let mut combiner = Combiner { values, fixed, target, ends: Ends::none(), again: false };
    for &block in order {
        for n in 0..body.block(block).insts().len() {
            let id = body.block(block).insts()[n];
            let inst = body.inst(id);
            if !(may_be_last(inst.op) || inst.defs > 1) || !combiner.concerns(body, id) {
                continue;
            }
            if combiner.drop_unread(body, id) {
                found.count += 1;
                // A sum without a carry may be simpler.
                let old = Reads::of(body.inst(id));
                if algebra::fold_one(body, id) {
                    combiner.values.changed(body, id, &old);
                    found.again |= body.op(id) == Opcode::MOV;
                }
            }
            if let Some(new) = products::low_half(body, combiner.values, id) {
                combiner.values.replace(body, id, &new);
                let old = Reads::of(body.inst(id));
                if algebra::fold_one(body, id) {
                    combiner.values.changed(body, id, &old);
                }
                found.count += 1;
                found.again |= body.op(id) == Opcode::MOV;
            }
            // What became something else may be a part of the next.
            for _ in 0..MOST_STEPS {
                if !combiner.one(body, (block, n), id) {
                    break;
                }
                found.count += 1;
                found.again |= body.op(id) == Opcode::MOV;
            }
        }
    }
    found.again |= combiner.again;
    found
}

/// Whether a rule may end with it.
fn may_be_last(op: Opcode) -> bool {
    op.has(Props::LOAD.with(Props::STORE)) || LAST.contains(&op)
}

impl Combiner<'_, '_> {
    /// Whether it is among the news, or reads some.
    fn concerns(&self, body: &Body<'_>, id: InstId) -> bool {
        let mut found = self.values.news.has(id);
        if !found {
            body.inst(id).for_each_use(|r| {
                let one = |cell| RegUse { cell: r.cell + cell, count: 1, ..r };
                let mut writers = (0..r.count).filter_map(|cell| self.values.writer(one(cell)));
                found |= writers.any(|writer| self.values.news.has(writer));
            });
        }
        found && !self.values.is_dead(id)
    }

    /// Takes away a predicate beside a result, where nobody reads it: more forms take constants.
    fn drop_unread(&mut self, body: &mut Body<'_>, id: InstId) -> bool {
        let inst = body.inst(id);
        if inst.defs < 2 || !inst.guard.is_always() {
            return false;
        }
        let unread = |operand: Operand| {
            plain(&operand).is_some_and(|r| r.reg.file() == RegFile::P && !self.values.is_read(r))
        };
        let Some(at) = (0..usize::from(inst.defs)).find(|at| unread(inst.operand(*at))) else {
            return false;
        };
        let read =
            inst.dests().any(|operand| plain(&operand).is_some_and(|r| self.values.is_read(r)));
        if read {
            body.set_operand(id, at, Operand::PT);
        }
        read
    }

    fn one(&mut self, body: &mut Body<'_>, (block, n): (BlockId, usize), id: InstId) -> bool {
        if self.values.is_dead(id) {
            return false;
        }
        let inst = body.inst(id);
        let asks = zero::may_ask_opposite(inst);
        let has_carry = inst.op == Opcode::IADD3 && inst.mods().has(Mod::X);
        if asks && self.ask_opposite(body, (block, n), id)
            || has_carry && self.drop_carry(body, id)
            || has_carry && self.add_numbers(body, (block, n), id)
            || has_carry && self.add_three(body, (block, n), id)
        {
            return true;
        }
        let inst = body.inst(id);
        if inst.op.has(Props::LOAD) || inst.op.has(Props::STORE) {
            if inst.address().is_none() {
                return false;
            }
            let insts = body.block(block).insts();
            let before = &insts[n.saturating_sub(NEAR)..n];
            let new = address::with_offset(body, self.values, self.target, (id, before));
            let Some((new, _)) = new.filter(|(_, base)| self.is_value(body, *base)) else {
                return false;
            };
            self.values.replace(body, id, &new);
            return true;
        }
        if (!inst.guard.is_always() || matches!(inst.op, Opcode::FSEL | Opcode::SEL))
            && let Some(new) = bounds::settled(body, self.values, id)
            && self.are_values(body, &new, id)
        {
            self.values.replace(body, id, &new);
            return true;
        }
        if signs::may_fold(inst.op) {
            let new = signs::fold(body, self.values, self.target, id);
            let Some(new) = new.filter(|new| self.are_new_values(body, new, id)) else {
                return false;
            };
            self.values.replace(body, id, &new);
            return true;
        }
        if halves::READERS.contains(&inst.op) {
            let new = halves::direct(body, self.values, self.target, id);
            let Some(new) = new.filter(|new| self.are_new_values(body, new, id)) else {
                return false;
            };
            self.values.replace(body, id, &new);
            return true;
        }
        if !inst.guard.is_always() {
            return false;
        }
        match inst.op {
            op if ENDS.contains(&op) => {
                let writers = self.writers(inst);
                for rule in RULES.iter().filter(|rule| may_begin(body, rule, inst, &writers)) {
                    let mut found = Match::default();
                    if !self.find(body, rule, rule.from.len() - 1, id, &mut found) {
                        continue;
                    }
                    let insts = body.block(block).insts();
                    let before = &insts[n.saturating_sub(NEAR)..n];
                    if let Some(new) = self.allowed(body, rule, &found, before) {
                        self.apply(body, rule, &found, id, &new);
                        return true;
                    }
                }
                false
            }
            Opcode::PRMT if inst.len() == PRMT::COUNT && inst.mods().is_empty() => {
                match bits::idle_extension(body, self.values, id) {
                    Some(new) if self.are_values(body, &new, id) => {
                        self.values.replace(body, id, &new);
                        true
                    }
                    _ => self.pack(body, block, id),
                }
            }
            Opcode::R2UR => {
                let before = &body.block(block).insts()[..n];
                let new = uniform::direct(body, self.values, self.target, (id, before));
                let Some(new) = new else { return false };
                self.values.replace(body, id, &new);
                true
            }
            Opcode::SHF => {
                let new = bits::nothing(body, self.values, id);
                let new = new.or_else(|| bits::masked(body, self.values, id));
                let Some(new) = new.filter(|new| self.are_values(body, new, id)) else {
                    return false;
                };
                self.values.replace(body, id, &new);
                true
            }
            Opcode::ISETP => {
                if let Some(new) = zero::of_high_words(body, self.values, id)
                    && self.target.takes(&new).is_some()
                    && self.are_values(body, &new, id)
                {
                    self.values.replace(body, id, &new);
                    return true;
                }
                let insts = body.block(block).insts();
                let before = &insts[n.saturating_sub(NEAR)..n];
                let new = predicate::asked_again(body, self.values, (id, before));
                if let Some(new) = new.filter(|new| self.are_values(body, new, id)) {
                    self.values.replace(body, id, &new);
                    return true;
                }
                let insts = body.block(block).insts();
                let before = &insts[n.saturating_sub(NEAR)..n];
                let found = zero::answer(body, self.values, self.target, (id, before), Mod::NE);
                let Some(found) = found.filter(|found| self.may_answer(body, found, id)) else {
                    return false;
                };
                found.apply(body, self.values, id);
                true
            }
            op @ (Opcode::LOP3 | Opcode::PLOP3 | Opcode::SEL | Opcode::FSEL) => {
                let insts = body.block(block).insts();
                let before = &insts[n.saturating_sub(NEAR)..n];
                let (values, target) = (&*self.values, self.target);
                let new = match op {
                    Opcode::LOP3 => logic::fuse(body, values, target, (id, before)),
                    Opcode::PLOP3 => predicate::compose(body, values, target, (id, before)),
                    _ => predicate::guard(body, values, target, (id, before), |kept| {
                        let cell = values.map.cells(kept).next();
                        cell.is_some_and(|cell| self.ends.is_last(body, values, (block, id), cell))
                    }),
                };
                let Some(new) = new.filter(|new| self.are_values(body, new, id)) else {
                    return false;
                };
                self.values.replace(body, id, &new);
                true
            }
            _ => false,
        }
    }

    /// Lets logic answer whether its result is zero by saying the opposite to the one instruction
    /// that asks.
    fn ask_opposite(
        &mut self,
        body: &mut Body<'_>,
        (block, n): (BlockId, usize),
        id: InstId,
    ) -> bool {
        let Some((comparison, new)) = zero::opposite(body, self.values, id) else { return false };
        let insts = body.block(block).insts();
        let before = &insts[n.saturating_sub(NEAR)..n];
        let Some(at) = before.iter().position(|before| *before == comparison) else { return false };
        let asked = (comparison, &before[..at]);
        let found = zero::answer(body, self.values, self.target, asked, Mod::EQ);
        let Some(found) = found.filter(|found| {
            self.target.takes(&new).is_some() && self.may_answer(body, found, comparison)
        }) else {
            return false;
        };
        self.values.replace(body, id, &new);
        found.apply(body, self.values, comparison);
        true
    }

    /// Makes a sum with a carry that is never there one without.
    fn drop_carry(&mut self, body: &mut Body<'_>, id: InstId) -> bool {
        let Some(mut new) = sums::without_carry(body, self.values, id) else { return false };
        new = algebra::fold(&new).unwrap_or(new);
        if self.target.takes(&new).is_none() || !self.are_values(body, &new, id) {
            return false;
        }
        self.values.replace(body, id, &new);
        true
    }

    /// Makes a sum of 64 bits of what such a sum was added to a number.
    fn add_numbers(
        &mut self,
        body: &mut Body<'_>,
        (block, n): (BlockId, usize),
        id: InstId,
    ) -> bool {
        let insts = body.block(block).insts();
        let before = &insts[n.saturating_sub(NEAR)..n];
        let found = sums::numbers(body, self.values, self.target, (id, before));
        let Some(((low, new_low), high)) = found else { return false };
        if !self.are_values(body, &new_low, low) || !self.are_values(body, &high, id) {
            return false;
        }
        self.values.replace(body, low, &new_low);
        self.values.replace(body, id, &high);
        true
    }

    /// Makes two sums of 64 bits one of three values.
    fn add_three(&mut self, body: &mut Body<'_>, (block, n): (BlockId, usize), id: InstId) -> bool {
        let insts = body.block(block).insts();
        let before = &insts[n.saturating_sub(NEAR)..n];
        let found = sums::three(body, self.values, self.target, (id, before));
        let Some(sums::Sum { low: (low, new_low), high, first }) = found else { return false };
        let [low_too, high_too] = [first[0].0, first[1].0];
        if !self.are_values_of(body, &new_low, &[low, low_too])
            || !self.are_values_of(body, &high, &[id, high_too])
        {
            return false;
        }
        // Without results they are dead code.
        let gone = first.iter().filter(|(_, new)| new.is_none());
        gone.for_each(|(id, _)| without_results(body, *id));
        let [_, (sign_by, sign)] = first;
        let mut news = SmallVec::<[(InstId, Inst); 3]>::new();
        news.push((low, new_low));
        news.push((id, high));
        news.extend(sign.map(|sign| (sign_by, sign)));
        self.values.replace_all(body, &news);
        true
    }

    /// Makes two computations with halves one of both.
    fn pack(&mut self, body: &mut Body<'_>, block: BlockId, id: InstId) -> bool {
        let (values, target) = (&*self.values, self.target);
        let found = packs::pack(body, values, target, id, |r| {
            let cell = values.map.cells(r).next()?;
            self.ends.written(body, values, block, cell)
        });
        let Some(packs::Packed(news)) = found else { return false };
        if !news.iter().all(|(_, new)| self.are_values(body, new, id)) {
            return false;
        }
        self.again |= news.len() > 1;
        self.values.replace_all(body, &news);
        true
    }

    fn may_answer(&mut self, body: &Body<'_>, answer: &zero::Answer, comparison: InstId) -> bool {
        // What stays where it is reads what it did.
        !answer.is_moved || self.are_values(body, &answer.inst, comparison)
    }

    /// What writes the values that an instruction reads.
    fn writers(&self, inst: View<'_>) -> SmallVec<[InstId; 4]> {
        let mut found = SmallVec::new();
        inst.for_each_use(|r| {
            let one = RegUse { count: 1, ..r };
            if let Some(writer) = self.values.writer(one) {
                found.push(writer);
            }
        });
        found
    }

    /// Whether the step may be this instruction, and those before it what it reads: adds with what
    /// to `found`, which is of no use where they may not.
    fn find(&self, body: &Body<'_>, rule: &Rule, at: usize, id: InstId, found: &mut Match) -> bool {
        let (inst, step) = (body.inst(id), &rule.from[at]);
        if !is_step(inst, step) || !inst.guard.is_always() {
            return false;
        }
        found.insts[at] = Some(id);
        let Some([a, b]) = swapped(step.op) else {
            return self.find_with(body, rule, (at, inst), |i| i, found);
        };
        let known = found.clone();
        if self.find_with(body, rule, (at, inst), |i| i, found) {
            return true;
        }
        *found = known;
        let other = |i| {
            if i == a {
                b
            } else if i == b {
                a
            } else {
                i
            }
        };
        self.find_with(body, rule, (at, inst), other, found)
    }

    /// The same of an instruction that is spelled as the step, its operands at these places.
    fn find_with(
        &self,
        body: &Body<'_>,
        rule: &Rule,
        (at, inst): (usize, View<'_>),
        place: impl Fn(usize) -> usize,
        found: &mut Match,
    ) -> bool {
        let mut slots = rule.from[at].operands.iter().enumerate();
        if !slots.all(|(i, slot)| found.bind(*slot, &inst.operand(place(i)))) {
            return false;
        }
        let Some(next) = at.checked_sub(1) else { return true };
        let step = &rule.from[next];
        let dests = &step.operands[..usize::from(step.defs)];
        let dest = dests.iter().find_map(|slot| found.register(*slot));
        let writer = dest.and_then(|dest| self.values.writer(dest));
        writer.is_some_and(|writer| self.find(body, rule, next, writer, found))
    }

    /// The new instruction, if it may stand for what was found. `before` is what stands near before
    /// the last.
    fn allowed(
        &mut self,
        body: &Body<'_>,
        rule: &Rule,
        found: &Match,
        before: &[InstId],
    ) -> Option<Inst> {
        let operands: Option<SmallVec<[Operand; 8]>> =
            rule.to.operands.iter().map(|slot| found.operand(*slot)).collect();
        let mut new =
            Inst { operands: operands?, ..Inst::new(rule.to.op, rule.to.mods, rule.to.defs, &[]) };
        if self.target.takes(&new).is_none() {
            // There may be room for one immediate, and a word of zeros is a register.
            let zeros = new.operands.iter_mut().filter(|o| **o == Operand::Imm(0));
            zeros.for_each(|zero| *zero = Operand::RZ);
        }
        // Pairs are pairs for the machine, too.
        let is_aligned = |operand: &Operand| match operand {
            Operand::Reg(r) if r.count == 2 => {
                let align = r.reg.vreg().map_or(2, |v| body.vreg(v).align);
                r.cell % 2 == 0 && align >= 2
            }
            _ => true,
        };
        // More than one sign was never seen.
        let signs = new
            .sources()
            .iter()
            .filter(|o| matches!(o, Operand::Reg(r) if r.flags.has(RegFlags::NEG)));
        if !new.operands.iter().all(is_aligned)
            || signs.count() > 1
            || self.target.takes(&new).is_none()
            || !found.insts[rule.from.len() - 1].is_some_and(|id| self.are_values(body, &new, id))
        {
            return None;
        }
        // All but the last are as good as moved to its place.
        let earlier = found.insts.iter().take(rule.from.len() - 1).flatten();
        if !earlier.copied().all(|id| self.values.may_move(body, id, before)) {
            return None;
        }
        let reads_here = |r: RegUse| {
            let mut count = 0;
            for id in found.insts.iter().flatten() {
                body.inst(*id).for_each_use(|u| {
                    count +=
                        u32::from(u.reg == r.reg && (u.cell..u.cell + u.count).contains(&r.cell));
                });
            }
            count
        };
        let only_here = |r: RegUse| self.values.reads(r) == reads_here(r);
        let written = written(&rule.to);
        for (step, id) in rule.from.iter().zip(found.insts).rev().skip(1) {
            let dests = &step.operands[..usize::from(step.defs)];
            let goes = dests.iter().any(|slot| written.contains(&name(*slot)));
            for slot in dests {
                let Some(r) = found.register(*slot) else { continue };
                let one = |cell| RegUse::at(r.reg, r.cell + cell, 1);
                let mut cells = (0..r.count).map(one);
                let once = name(*slot).is_some_and(|name| rule.once.contains(&name));
                // What is not written any more nobody else may read.
                let lost = goes && !written.contains(&name(*slot));
                if (once || lost) && !cells.all(only_here) {
                    return None;
                }
                // What is written later now nobody may read before.
                if goes && !lost {
                    let from = before.iter().position(|before| Some(*before) == id)?;
                    let mut reads = false;
                    for between in &before[from + 1..] {
                        body.inst(*between).for_each_use(|u| reads |= u.reg == r.reg);
                    }
                    if reads {
                        return None;
                    }
                }
            }
        }
        Some(new)
    }

    /// Whether all that it names has one value wherever it is read, or is a uniform register that
    /// the instruction reads already in whose place it is to stand.
    fn are_values(&mut self, body: &Body<'_>, inst: &Inst, id: InstId) -> bool {
        self.are_values_of(body, inst, &[id])
    }

    /// The same where uniform registers may be those of any of several instructions, from the first
    /// of which on they hold what they do.
    fn are_values_of(&mut self, body: &Body<'_>, inst: &Inst, ids: &[InstId]) -> bool {
        let guard = [Operand::reg(inst.guard.reg)];
        let tied = inst.tied.iter().map(|r| Operand::Reg(*r));
        let mut all = inst.operands.iter().copied().chain(guard).chain(tied);
        all.all(|operand| self.is_value_of(body, operand, ids))
    }

    /// Whether what it names in other places than the instruction has, in whose place it is to
    /// stand, has one value wherever it is read: what stays (sums of a warpgroup's product, which
    /// are no values) is read where it was.
    fn are_new_values(&mut self, body: &Body<'_>, inst: &Inst, id: InstId) -> bool {
        let old = body.inst(id);
        let stays = old.guard == inst.guard
            && old.len() == inst.operands.len()
            && old.tied().eq(inst.tied.iter().copied());
        let without_signs = |operand: Operand| match operand {
            Operand::Reg(r) => Operand::Reg(RegUse { flags: RegFlags::NONE, ..r }),
            other => other,
        };
        let mut pairs = inst.operands.iter().zip(old.operands());
        stays
            && pairs.all(|(new, old)| {
                without_signs(*new) == without_signs(old) || self.is_value_of(body, *new, &[id])
            })
    }

    fn is_value_of(&mut self, body: &Body<'_>, operand: Operand, ids: &[InstId]) -> bool {
        match operand {
            Operand::Imm(_) => true,
            Operand::Reg(r) if r.reg.file() == RegFile::UR => {
                ids.iter().any(|id| body.inst(*id).operands().any(|other| other == operand))
            }
            Operand::Reg(r) | Operand::Part(r, _) => r.reg.is_zero() || self.is_value(body, r),
            Operand::Const(c) => c.base == Reg::RZ && !c.is_bindless(),
            _ => false,
        }
    }

    /// Whether a register has one value wherever it is read.
    fn is_value(&mut self, body: &Body<'_>, r: RegUse) -> bool {
        let fixed = self.fixed;
        r.reg.vreg().is_some_and(|v| {
            matches!(r.reg.file(), RegFile::R | RegFile::P) && is_value(body, fixed, v)
        })
    }

    fn apply(&mut self, body: &mut Body<'_>, rule: &Rule, found: &Match, id: InstId, new: &Inst) {
        let written = written(&rule.to);
        for (step, gone) in rule.from.iter().zip(found.insts).rev().skip(1) {
            let dests = &step.operands[..usize::from(step.defs)];
            let (Some(gone), true) =
                (gone, dests.iter().any(|slot| written.contains(&name(*slot))))
            else {
                continue;
            };
            // Without a result it is dead code.
            without_results(body, gone);
        }
        self.values.replace(body, id, new);
    }
}

fn without_results(body: &mut Body<'_>, id: InstId) {
    for at in 0..usize::from(body.inst(id).defs) {
        let Operand::Reg(r) = body.inst(id).operand(at) else { continue };
        let none = if r.reg.file() == RegFile::P { Operand::PT } else { Operand::RZ };
        body.set_operand(id, at, none);
    }
}

/// Whether an instruction may be a rule's last one, by its spelling and that of what writes what it
/// reads: most are not, and are not matched operand by operand for that.
fn may_begin(body: &Body<'_>, rule: &Rule, inst: View<'_>, writers: &[InstId]) -> bool {
    let Some((last, earlier)) = rule.from.split_last() else { return false };
    is_step(inst, last)
        && earlier.iter().all(|step| body.facts().may_have(&[step.op]))
        && earlier.last().is_none_or(|step| writers.iter().any(|by| is_step(body.inst(*by), step)))
}

fn is_step(inst: View<'_>, step: &Step) -> bool {
    inst.op == step.op
        && inst.defs == step.defs
        && inst.len() == step.operands.len()
        && inst.mods().are(step.mods)
}

/// The register that a slot names.
fn name(slot: Slot) -> Option<u8> {
    match slot {
        Slot::Cell(name, _) | Slot::Pair(name) => Some(name),
        _ => None,
    }
}

/// The registers that a step writes.
fn written(step: &Step) -> SmallVec<[Option<u8>; 3]> {
    let dests = &step.operands[..usize::from(step.defs)];
    dests.iter().map(|slot| name(*slot)).filter(Option::is_some).collect()
}
