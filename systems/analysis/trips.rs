//! Trip counts of loops, from their induction variables (Aho, Lam, Sethi, Ullman: Compilers): how
//! often a loop iterates, as far as an exit compares a counter with what the loop leaves alone.
//!
//! In SSA form a counter is a phi at the loop's header that every back edge brings the same sum of
//! itself and a constant. An exit that every round comes to, on such a comparison, then leaves in a
//! round that follows from start, step and bound. Outside SSA form headers have no phis, and
//! nothing is known. Numbers have 32 bits in one word, or 64 in two that a carry joins; they wrap
//! around as the machine's do.

use crate::analysis::control_flow::ControlFlow;
use crate::analysis::loops::Loop;
use crate::analysis::uses::Uses;
use crate::effects;
use orias_components::{
    BlockId, Body, ConstRef, InstId, Mod, Opcode, Operand, Props, Reg, RegFile, RegFlags, RegUse,
    View, edges,
};
use orias_targets::slots::{BRA, EXIT, IADD3, IADD3_X, IMAD, ISETP, ISETP_EX, MOV, VIADD};
use smallvec::{SmallVec, smallvec};
use std::cmp::Ordering;

/// Copies and additions between a counter's phi and where it is named, at most: what stands before
/// that is looked at by no two exits for nothing.
const MOST_LINKS: usize = 8;

/// How often a loop's header runs each time control enters the loop: once more than back edges are
/// taken. A loop that tests at its end runs all of its blocks so often, one that tests at its start
/// once less those behind the test. What the loop calls comes back, and what it waits for comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TripCount {
    /// So often, whatever happens.
    Known(u64),
    /// No more often than that: there are exits that are not understood.
    AtMost(u64),
    /// As often as [`Counter::trips`] of the only counter says for its start and bound.
    Symbolic,
    /// Nothing is known, or the loop has no end.
    Unknown,
}

/// What is known of a loop's rounds.
#[derive(Clone, PartialEq, Debug)]
pub struct Trip {
    /// How often the back edges are taken.
    pub count: TripCount,
    /// Of the exits that are understood, in the order of their blocks' numbers. Where the count is
    /// [`TripCount::Symbolic`] there is one, and no other exit.
    pub counters: Vec<Counter>,
}

/// The words of a number, the low one first: two where it has 64 bits. A word is an immediate, one
/// cell of a register that is written outside the loop, or a word of constant memory.
pub type Number = SmallVec<[Operand; 2]>;

/// The value of a number whose words are all immediates.
pub fn known(number: &[Operand]) -> Option<u64> {
    let mut value = 0;
    for (at, word) in number.iter().enumerate() {
        let Operand::Imm(bits) = word else { return None };
        value |= u64::from(*bits as u32) << (32 * at);
    }
    Some(value)
}

/// A comparison of two integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `>=`
    GreaterEqual,
    /// `>`
    Greater,
}

impl Comparison {
    /// What an ISETP's word asks for.
    pub fn of(word: Mod) -> Option<Comparison> {
        Some(match word {
            Mod::LT => Comparison::Less,
            Mod::LE => Comparison::LessEqual,
            Mod::EQ => Comparison::Equal,
            Mod::NE => Comparison::NotEqual,
            Mod::GE => Comparison::GreaterEqual,
            Mod::GT => Comparison::Greater,
            _ => return None,
        })
    }

    /// The word for it.
    pub fn word(self) -> Mod {
        match self {
            Comparison::Less => Mod::LT,
            Comparison::LessEqual => Mod::LE,
            Comparison::Equal => Mod::EQ,
            Comparison::NotEqual => Mod::NE,
            Comparison::GreaterEqual => Mod::GE,
            Comparison::Greater => Mod::GT,
        }
    }

    /// Whether it holds for two that are in this order.
    pub fn holds(self, order: Ordering) -> bool {
        match self {
            Comparison::Less => order.is_lt(),
            Comparison::LessEqual => order.is_le(),
            Comparison::Equal => order.is_eq(),
            Comparison::NotEqual => order.is_ne(),
            Comparison::GreaterEqual => order.is_ge(),
            Comparison::Greater => order.is_gt(),
        }
    }

    /// What holds where this one does not.
    pub fn negated(self) -> Comparison {
        match self {
            Comparison::Less => Comparison::GreaterEqual,
            Comparison::LessEqual => Comparison::Greater,
            Comparison::Equal => Comparison::NotEqual,
            Comparison::NotEqual => Comparison::Equal,
            Comparison::GreaterEqual => Comparison::Less,
            Comparison::Greater => Comparison::LessEqual,
        }
    }

    /// The same with its sides swapped.
    pub fn mirrored(self) -> Comparison {
        match self {
            Comparison::Less => Comparison::Greater,
            Comparison::LessEqual => Comparison::GreaterEqual,
            Comparison::GreaterEqual => Comparison::LessEqual,
            Comparison::Greater => Comparison::Less,
            same => same,
        }
    }
}

/// An induction variable, and the exit that it decides: the loop goes on from there while
/// `counter + offset` compares so with `bound`.
#[derive(Clone, PartialEq, Debug)]
pub struct Counter {
    /// The phis at the header, one for each word.
    pub phis: SmallVec<[InstId; 2]>,
    /// What the counter is in the first round.
    pub start: Number,
    /// What it grows by from round to round, modulo 2^[`Counter::bits`].
    pub step: u64,
    /// What the back edges bring: the counter of the next round.
    pub next: SmallVec<[RegUse; 2]>,
    /// What the test adds to the phi: 0 where it looks at the phi itself, the step where it looks
    /// at the next round's value.
    pub offset: u64,
    /// How the counter stands to the bound while the loop goes on.
    pub comparison: Comparison,
    /// Equal and not equal are the same either way.
    pub is_signed: bool,
    /// What it is compared with.
    pub bound: Number,
    /// The comparison, of the high words where there are two.
    pub test: InstId,
    /// The block that control leaves by this exit, and where it goes: nowhere by an EXIT.
    pub exit: (BlockId, Option<BlockId>),
}

impl Counter {
    /// Bits of the numbers: 32 or 64.
    pub fn bits(&self) -> u32 {
        32 * self.start.len() as u32
    }

    /// What it grows by, as a signed number.
    pub fn signed_step(&self) -> i64 {
        match self.bits() {
            32 => i64::from(self.step as u32 as i32),
            _ => self.step as i64,
        }
    }

    /// How often the header runs until this exit is taken, for a start and a bound of these values.
    /// None: it never is, or one time too often for the number.
    pub fn trips(&self, start: u64, bound: u64) -> Option<u64> {
        let modulus = 1 << self.bits();
        let first = (u128::from(start) + u128::from(self.offset)) % modulus;
        let how = (self.comparison, self.is_signed);
        let rounds = rounds(modulus, (first, self.step.into()), how, bound.into())?;
        u64::try_from(rounds + 1).ok()
    }

    /// Whether the counter may pass the bound without meeting the test, and go on from the other
    /// end of its numbers, for some start and bound. Where it does not, the rounds are the distance
    /// divided by the step, rounded up or down as the comparison asks.
    pub fn may_wrap(&self) -> bool {
        let (up, down) = match self.signed_step() {
            1 => (true, false),
            -1 => (false, true),
            _ => return true,
        };
        // By ones it meets every number; but there may be none behind the bound.
        match self.comparison {
            Comparison::Less => !up,
            Comparison::Greater => !down,
            Comparison::LessEqual | Comparison::GreaterEqual => true,
            Comparison::Equal | Comparison::NotEqual => false,
        }
    }
}

/// How often a test holds for `first`, `first + step` …, modulo `modulus`, before it does not.
/// None where it always does.
pub fn rounds(
    modulus: u128,
    (first, step): (u128, u128),
    (comparison, is_signed): (Comparison, bool),
    bound: u128,
) -> Option<u128> {
    // Signed numbers are in order once half of all is added.
    let bias = if is_signed { modulus / 2 } else { 0 };
    let first = (first + bias) % modulus;
    let bound = (bound + bias) % modulus;
    // The numbers for which it holds: so many from the lowest on, around the end too.
    let (lowest, count) = match comparison {
        Comparison::Less => (0, bound),
        Comparison::LessEqual => (0, bound + 1),
        Comparison::Equal => (bound, 1),
        Comparison::NotEqual => (bound + 1, modulus - 1),
        Comparison::GreaterEqual => (bound, modulus - bound),
        Comparison::Greater => (bound + 1, modulus - 1 - bound),
    };
    let inside = (first + modulus - lowest) % modulus;
    if inside >= count {
        return Some(0);
    }
    if count == modulus {
        return None;
    }
    first_multiple(step % modulus, modulus, count - inside, modulus - 1 - inside)
}

/// The least n for which n * step modulo the modulus is in a range, which does not begin with 0;
/// None where there is none. As Euclid's algorithm: each step asks the same of a modulus of at most
/// half the size.
fn first_multiple(step: u128, modulus: u128, low: u128, high: u128) -> Option<u128> {
    if step == 0 {
        return None;
    }
    if 2 * step > modulus {
        return first_multiple(modulus - step, modulus, modulus - high, modulus - low);
    }
    let n = low.div_ceil(step);
    if n * step <= high {
        return Some(n);
    }
    // No multiple lies in the range in the first lap. In lap l the range begins l * modulus later:
    // the first lap in which one lies there has a multiple of the modulus in a range modulo the
    // step.
    let back = (step - modulus % step) % step;
    let laps = first_multiple(back, step, low % step, high % step)?;
    Some((low + laps * modulus).div_ceil(step))
}

/// What is known of all loops' rounds.
#[derive(Clone, PartialEq, Debug)]
pub struct Trips {
    all: Vec<Trip>,
}

impl Trips {
    pub(super) fn new(body: &Body<'_>, flow: &ControlFlow, uses: &Uses) -> Trips {
        let find = |of| Find { body, flow, uses, of }.trip();
        Trips { all: flow.loops().all.iter().map(find).collect() }
    }

    /// Of a loop by its index in [`Loops::all`](super::loops::Loops::all).
    pub fn of(&self, index: usize) -> &Trip {
        &self.all[index]
    }
}

/// One way out of a loop.
struct Leaving {
    from: BlockId,
    to: Option<BlockId>,
    /// The predicate on which the loop goes on, and whether it does where that is false; None where
    /// it is not so simple.
    test: Option<(RegUse, bool)>,
}

/// A comparison with its numbers, as an instruction or two make it.
struct Test {
    at: InstId,
    comparison: Comparison,
    is_signed: bool,
    sides: [Number; 2],
}

/// The search of one loop's counters.
struct Find<'a, 'w> {
    body: &'a Body<'w>,
    flow: &'a ControlFlow,
    uses: &'a Uses,
    of: &'a Loop,
}

impl Find<'_, '_> {
    fn trip(&self) -> Trip {
        let dominators = self.flow.dominators();
        let common = |a, b: &u32| dominators.common(a, *b);
        let first = self.of.latches[0];
        let latest = self.of.latches[1..].iter().try_fold(first, common);
        let mut counters = Vec::new();
        let (mut least, mut exits, mut all_known) = (None, 0, true);
        for block in self.of.blocks.iter() {
            for leaving in self.leaving(BlockId(block)) {
                exits += 1;
                // A test that a round may pass by says nothing of that round.
                let each_round = latest.is_some_and(|l| dominators.dominates(block, l));
                let counter = if each_round { self.counter(&leaving) } else { None };
                let Some(counter) = counter else {
                    all_known = false;
                    continue;
                };
                match (known(&counter.start), known(&counter.bound)) {
                    (Some(start), Some(bound)) => {
                        // An exit that is never taken is none.
                        let trips = counter.trips(start, bound);
                        least = least.into_iter().chain(trips).min();
                    }
                    _ => all_known = false,
                }
                counters.push(counter);
            }
        }
        let count = match least {
            Some(least) if all_known => TripCount::Known(least),
            Some(least) => TripCount::AtMost(least),
            None if exits == 1 && counters.len() == 1 && !all_known => TripCount::Symbolic,
            None => TripCount::Unknown,
        };
        Trip { count, counters }
    }

    fn is_inside(&self, block: BlockId) -> bool {
        self.of.blocks.contains(block.0)
    }

    /// How control may leave the loop at a block's end.
    fn leaving(&self, block: BlockId) -> SmallVec<[Leaving; 1]> {
        let insts = self.body.block(block).insts();
        let branches = &insts[edges::first_branch(self.body, block)..];
        let succs = self.body.block(block).succs();
        let outside = succs.iter().copied().filter(|s| !self.is_inside(*s));
        let mut all: SmallVec<[Leaving; 1]> =
            outside.map(|s| Leaving { from: block, to: Some(s), test: None }).collect();
        // A branch to no block ends the thread, or leads where nobody knows.
        let leads_nowhere = |i: &&InstId| {
            let inst = self.body.inst(**i);
            !inst.op.has(Props::RETURNS) && edges::targets(inst).next().is_none()
        };
        let ends = branches.iter().filter(leads_nowhere);
        all.extend(ends.map(|_| Leaving { from: block, to: None, test: None }));
        if let [only] = &mut all[..] {
            only.test = self.goes_on(branches, succs);
        }
        all
    }

    /// On what the loop goes on behind these branches at a block's end, of two ways of which one
    /// leaves it.
    fn goes_on(&self, branches: &[InstId], succs: &[BlockId]) -> Option<(RegUse, bool)> {
        let (first, rest) = branches.split_first()?;
        let goes = |id: &InstId| self.body.op(*id) == Opcode::BRA;
        if !rest.iter().all(|id| goes(id) && edges::is_unconditional(self.body.inst(*id))) {
            return None;
        }
        let inst = self.body.inst(*first);
        let (place, to) = match inst.op {
            Opcode::BRA => (BRA::X, edges::targets(inst).next()),
            Opcode::EXIT => (EXIT::X, None),
            _ => return None,
        };
        if succs.len() != 1 + usize::from(to.is_some()) || !inst.mods().is_empty() {
            return None;
        }
        let condition = inst.get(place)?;
        let (reg, negated) = match (inst.guard.is_always(), condition) {
            (false, Operand::PT) => (RegUse::new(inst.guard.reg), inst.guard.negated),
            (true, Operand::Reg(r)) => (r, r.flags.has(RegFlags::NOT)),
            _ => return None,
        };
        let taken_stays = to.is_some_and(|to| self.is_inside(to));
        let plain = RegUse { flags: RegFlags::NONE, ..reg };
        Some((plain, negated == taken_stays))
    }

    /// The counter that decides an exit.
    fn counter(&self, leaving: &Leaving) -> Option<Counter> {
        let (predicate, if_false) = leaving.test?;
        let test = self.test(predicate)?;
        let comparison = if if_false { test.comparison.negated() } else { test.comparison };
        let [a, b] = &test.sides;
        self.compared(leaving, &test, comparison, (a, b))
            .or_else(|| self.compared(leaving, &test, comparison.mirrored(), (b, a)))
    }

    fn compared(
        &self,
        leaving: &Leaving,
        test: &Test,
        comparison: Comparison,
        (counted, bound): (&Number, &Number),
    ) -> Option<Counter> {
        if !bound.iter().all(|word| self.is_invariant(word)) {
            return None;
        }
        let (phis, offset) = self.trace(counted.clone())?;
        let words: Option<SmallVec<[_; 2]>> = phis.iter().map(|id| self.brought(*id)).collect();
        let (start, next): (Number, Number) = words?.into_iter().unzip();
        // What comes in was there before the loop.
        if !start.iter().all(|word| self.is_invariant(word)) {
            return None;
        }
        let named = |word: &Operand| word.as_reg().copied();
        let next_words: Option<SmallVec<[RegUse; 2]>> = next.iter().map(named).collect();
        let (same, step) = self.trace(next)?;
        (same == phis).then_some(Counter {
            phis,
            start,
            step,
            next: next_words?,
            offset,
            comparison,
            is_signed: test.is_signed,
            bound: bound.clone(),
            test: test.at,
            exit: (leaving.from, leaving.to),
        })
    }

    /// What a phi of the header brings from outside, and around the loop: one value each.
    fn brought(&self, phi: InstId) -> Option<(Operand, Operand)> {
        let (mut start, mut next, mut value) = (None, None, None);
        for operand in self.body.inst(phi).sources() {
            let Operand::Block(from) = operand else {
                value = Some(self.word(operand)?);
                continue;
            };
            let way = if self.is_inside(from) { &mut next } else { &mut start };
            let word = value.take()?;
            if way.replace(word).is_some_and(|other| other != word) {
                return None;
            }
        }
        Some((start?, next?))
    }

    /// What makes a value, where one instruction does: in SSA form always.
    fn definition(&self, r: RegUse) -> Option<(InstId, BlockId)> {
        let v = r.reg.vreg()?;
        if !matches!(r.reg.file(), RegFile::R | RegFile::P) {
            return None;
        }
        // Each cell has a writer of its own at most.
        let most = usize::from(self.body.vreg(v).cells);
        let mut found = None;
        for (at, place) in self.uses.writers(v).enumerate() {
            let mut writes = false;
            let inst = self.body.inst(place.0);
            inst.for_each_def(|d| {
                writes |= d.reg == r.reg && (d.cell..d.cell + d.count).contains(&r.cell);
            });
            let again = writes && found.replace(place).is_some();
            // A product of a warpgroup goes on writing behind itself.
            if at == most || again || inst.op.has(Props::GROUP) {
                return None;
            }
        }
        found
    }

    /// What an operand of one word is, behind copies: an immediate, a register or a constant.
    fn word(&self, operand: Operand) -> Option<Operand> {
        let mut word = plain(operand)?;
        for _ in 0..MOST_LINKS {
            let Operand::Reg(r) = word else { break };
            let Some((id, _)) = self.definition(r) else { break };
            let inst = self.body.inst(id);
            if !inst.guard.is_always() || !effects::copies_words(inst) {
                break;
            }
            match inst.get(MOV::B).and_then(plain) {
                Some(Operand::Reg(from)) if self.definition(from).is_none() => break,
                Some(from) => word = from,
                None => break,
            }
        }
        Some(word)
    }

    /// Whether a word is the same in all rounds: it is written outside the loop, if at all.
    fn is_invariant(&self, word: &Operand) -> bool {
        match word {
            Operand::Reg(r) => self.definition(*r).is_some_and(|(_, b)| !self.is_inside(b)),
            _ => true,
        }
    }

    /// The phis at the header that a number comes from by additions of constants, and their sum.
    fn trace(&self, mut number: Number) -> Option<(SmallVec<[InstId; 2]>, u64)> {
        let header = BlockId(self.of.header);
        let mut sum = 0u64;
        for _ in 0..MOST_LINKS {
            let regs: Option<SmallVec<[RegUse; 2]>> =
                number.iter().map(|word| word.as_reg().copied()).collect();
            let regs = regs?;
            let made: Option<SmallVec<[_; 2]>> = regs.iter().map(|r| self.definition(*r)).collect();
            let made = made?;
            let is_phi =
                |(id, at): &(InstId, BlockId)| self.body.op(*id) == Opcode::MOVPHI && *at == header;
            if made.iter().all(is_phi) {
                return Some((made.into_iter().map(|(id, _)| id).collect(), sum));
            }
            let (terms, more) = match (&regs[..], &made[..]) {
                ([r], [(id, _)]) => {
                    let (term, more) = self.addition(*r, self.body.inst(*id))?;
                    (smallvec![term], more)
                }
                ([low, high], [(l, _), (h, _)]) => {
                    let [l, h] = [l, h].map(|id| self.body.inst(*id));
                    self.long_addition((*low, l), (*high, h))?
                }
                _ => return None,
            };
            number = terms;
            sum = sum.wrapping_add(more);
            if number.len() == 1 {
                sum = u64::from(sum as u32);
            }
        }
        None
    }

    /// An instruction that gives the sum of a value and a constant.
    fn addition(&self, to: RegUse, inst: View<'_>) -> Option<(Operand, u64)> {
        let is_one = |at: usize| inst.get(at).and_then(|o| self.word(o)) == Some(Operand::Imm(1));
        let terms: SmallVec<[usize; 3]> = match inst.op {
            Opcode::IADD3 => smallvec![IADD3::A, IADD3::B, IADD3::C],
            Opcode::VIADD => smallvec![VIADD::A, VIADD::B],
            Opcode::IMAD if is_one(IMAD::B) => smallvec![IMAD::A, IMAD::C],
            Opcode::IMAD if is_one(IMAD::A) => smallvec![IMAD::B, IMAD::C],
            _ => return None,
        };
        let makes = inst.reg(0) == Some(to) && inst.mods().is_empty();
        if !makes || !inst.guard.is_always() {
            return None;
        }
        self.sum(inst, &terms).map(|(term, sum, _)| (term, u64::from(sum)))
    }

    /// The same of 64 bits: the low words give a carry to the high ones.
    fn long_addition(
        &self,
        (low, l): (RegUse, View<'_>),
        (high, h): (RegUse, View<'_>),
    ) -> Option<(Number, u64)> {
        let has_length = l.len() == IADD3::COUNT && h.len() == IADD3_X::COUNT;
        let adds = [l, h].iter().all(|i| i.op == Opcode::IADD3 && i.guard.is_always());
        let joined = l.mods().is_empty() && h.mods().as_slice() == [Mod::X];
        let makes = l.reg(IADD3::D) == Some(low) && h.reg(IADD3_X::D) == Some(high);
        if !has_length || !adds || !joined || !makes {
            return None;
        }
        let carry = h.operand(IADD3_X::X);
        let carries = carry == l.operand(IADD3::P)
            && carry.as_reg().is_some_and(|r| !r.reg.is_zero())
            && h.operand(IADD3_X::Y) == Operand::NOT_PT;
        let (low, more, simple) = self.sum(l, &[IADD3::A, IADD3::B, IADD3::C])?;
        let (high, above, also) = self.sum(h, &[IADD3_X::A, IADD3_X::B, IADD3_X::C])?;
        let sum = u64::from(above) << 32 | u64::from(more);
        (carries && simple && also).then(|| (smallvec![low, high], sum))
    }

    /// Of these operands the one that is no constant, the sum of the others, and whether that is
    /// one number at most, and no operand is negated: then there is one carry.
    fn sum(&self, inst: View<'_>, terms: &[usize]) -> Option<(Operand, u32, bool)> {
        let (mut value, mut sum, mut simple) = (None, 0u32, true);
        for at in terms {
            let operand = inst.get(*at)?;
            let (operand, negated) = match operand {
                Operand::Reg(r) if r.flags.has(RegFlags::NEG) => {
                    let flags = r.flags.without(RegFlags::NEG);
                    (Operand::Reg(RegUse { flags, ..r }), true)
                }
                other => (other, false),
            };
            match self.word(operand)? {
                Operand::Imm(bits) => {
                    let bits = bits as u32;
                    simple &= !negated && (bits == 0 || sum == 0);
                    sum = sum.wrapping_add(if negated { bits.wrapping_neg() } else { bits });
                }
                _ if negated => return None,
                word if value.replace(word).is_none() => {}
                _ => return None,
            }
        }
        Some((value?, sum, simple))
    }

    /// The comparison that a predicate says the result of, behind copies.
    fn test(&self, mut predicate: RegUse) -> Option<Test> {
        for _ in 0..MOST_LINKS {
            let inst = self.body.inst(self.definition(predicate)?.0);
            match effects::as_copy(inst).filter(|_| inst.guard.is_always()) {
                Some(copy) => predicate = RegUse { flags: RegFlags::NONE, ..copy.from },
                None => break,
            }
        }
        let (high, ex) = self.comparison(predicate)?;
        let Some(low) = ex else { return Some(high) };
        // Where the high words are equal the low ones decide, without a sign.
        let (low, None) = self.comparison(low)? else { return None };
        let ordered = !matches!(low.comparison, Comparison::Equal | Comparison::NotEqual);
        if low.comparison != high.comparison || ordered && low.is_signed {
            return None;
        }
        let [[a, b], [c, d]] = [low.sides, high.sides];
        Some(Test { sides: [[a, c].concat().into(), [b, d].concat().into()], ..high })
    }

    /// The comparison of one word that makes a predicate, and where it is one of high words the
    /// predicate that speaks for the low ones.
    fn comparison(&self, predicate: RegUse) -> Option<(Test, Option<RegUse>)> {
        let at = self.definition(predicate)?.0;
        let inst = self.body.inst(at);
        if inst.op != Opcode::ISETP || !inst.guard.is_always() {
            return None;
        }
        let (mut comparison, mut is_signed, mut joins, mut ex) = (None, true, false, false);
        for word in inst.mods().as_slice() {
            match *word {
                Mod::U32 => is_signed = false,
                Mod::AND => joins = true,
                Mod::EX => ex = true,
                other => comparison = Some(Comparison::of(other)?),
            }
        }
        if !joins || inst.get(ISETP::X) != Some(Operand::PT) {
            return None;
        }
        let mut comparison = comparison?;
        if inst.reg(ISETP::P) != Some(predicate) {
            // The second result is that of the opposite comparison.
            comparison = comparison.negated();
        }
        let low = match (ex, inst.get(ISETP_EX::Y)) {
            (false, _) => None,
            // The opposite of both is not one of each.
            (true, Some(Operand::Reg(r)))
                if r.flags == RegFlags::NONE && inst.reg(ISETP::P) == Some(predicate) =>
            {
                Some(r)
            }
            (true, _) => return None,
        };
        let side = |at: usize| Some(smallvec![self.word(inst.get(at)?)?]);
        let sides = [side(ISETP::A)?, side(ISETP::B)?];
        Some((Test { at, comparison, is_signed, sides }, low))
    }
}

/// An operand of one word as it stands: an immediate, one cell of a register without a sign, a word
/// of constant memory at a fixed place.
fn plain(operand: Operand) -> Option<Operand> {
    match operand {
        Operand::Imm(bits) => Some(Operand::Imm(u64::from(bits as u32))),
        Operand::Reg(r) if r.flags.without(RegFlags::REUSE) != RegFlags::NONE => None,
        Operand::Reg(r) if r.reg == Reg::RZ => Some(Operand::Imm(0)),
        Operand::Reg(r) if r.count == 1 => {
            Some(Operand::Reg(RegUse { flags: RegFlags::NONE, ..r }))
        }
        Operand::Const(c) => {
            let fixed = ConstRef { bank: c.bank, offset: c.offset, ..FIXED };
            (c == fixed).then_some(operand)
        }
        _ => None,
    }
}

/// A word of constant memory at a fixed place.
const FIXED: ConstRef = match Operand::constant(0, 0) {
    Operand::Const(fixed) => fixed,
    _ => unreachable!(),
};

#[cfg(test)]
mod tests;
