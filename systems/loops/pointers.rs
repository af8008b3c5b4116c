//! Pointers that a loop moves together: one pointer moves, and the others are products added to it.
//!
//! What holds behind it: of the pairs of words that a loop adds the same to in each round, and that
//! began as a product and the same base, no four are left ([`Shared`]). A pointer of its own takes
//! two registers and one or two instructions a round; the product takes the register of its factor
//! and one instruction, which also is the sum of what a round adds to all of them before it loads.
//! Numbers of 64 bits wrap around, so all sums are what they were.
//!
//! Triton's matrix products have up to 128 such pointers. ptxas 13.0.88 keeps them all. Where
//! elements are bytes they add each pointer's product in the loop, to a pointer that all share
//! already: these share the sum of the two bases ([`share_bases`]).

use crate::analysis::{Analyses, ControlFlow};
use crate::scalar::{Values, plain};
use crate::ssa::{Fixed, is_value};
use orias_components::{
    BlockId, Body, Inst, InstId, Loc, Mod, Opcode, Operand, Reg, RegFile, RegFlags, RegUse, View,
    phis, scratch,
};
use orias_targets::slots::{IADD3, IADD3_X, IMAD_WIDE};
use rustc_hash::{FxHashMap, FxHashSet};

/// Fewer are better off alone: the shared pointer takes registers as well.
const LEAST: usize = 4;

/// Each takes a walk over the loop's header.
const MOST_GROUPS: usize = 64;

/// A product of 64 bits: whether its factors have no sign, and they.
type Product = (bool, Operand, Operand);

/// What a loop adds in each round.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Step {
    Product(Product),
    Number(i32),
}

/// A pointer that goes around a loop.
struct Pointer {
    /// Its phis, of the low and the high word.
    phis: [InstId; 2],
    /// The pair that they make.
    pair: RegUse,
    /// What is added to the base to begin with.
    product: Product,
    /// The pair that the next round begins with, and what makes its words.
    next: RegUse,
    makers: [InstId; 2],
}

/// Pointers that begin with the same base and go on alike.
struct Shared {
    header: BlockId,
    /// Where control comes from: from before the loop, and around it.
    ways: [BlockId; 2],
    base: RegUse,
    step: Step,
    all: Vec<Pointer>,
}

/// Has pointers share one: how many do.
pub fn share_pointers(body: &mut Body<'_>, analyses: &mut Analyses) -> usize {
    if !has_pointers(body) {
        return 0;
    }
    let flow = analyses.flow(body);
    let map = analyses.cells(body);
    let mut home = scratch!(Vec<BlockId>; BlockId(u32::MAX); body.inst_count());
    let values = Values::of(body, &map, |block, id, _| home[id.0 as usize] = block);
    let found = {
        let fixed = Fixed::of(body);
        let look = Look { body, values: &values, fixed: &fixed, home: &home };
        look.all(&flow)
    };
    let mut count = 0;
    for (shared, readers) in found.iter().zip(readers(body, &found)) {
        count += shared.all.len();
        rewrite(body, &values, &home, (shared, &readers), &flow);
    }
    drop(values);
    if count > 0 {
        // Phis that are gone no longer name blocks.
        analyses.edges(body);
    }
    count
}

/// Whether some block begins with phis of enough pairs.
fn has_pointers(body: &Body<'_>) -> bool {
    body.layout().iter().any(|block| {
        let of = phis::of(body, *block).filter_map(|id| body.inst(id).reg(0));
        of.filter(|r| r.cell == 1).nth(LEAST - 1).is_some()
    })
}

struct Look<'a, 'w> {
    body: &'a Body<'w>,
    values: &'a Values<'a>,
    fixed: &'a Fixed,
    /// By instruction: its block.
    home: &'a [BlockId],
}

impl Look<'_, '_> {
    fn all(&self, flow: &ControlFlow) -> Vec<Shared> {
        let mut found = Vec::new();
        for of in flow.loops().all.iter() {
            let header = BlockId(of.header);
            let &[one, other] = self.body.block(header).preds() else { continue };
            let ways = match (of.blocks.contains(one.0), of.blocks.contains(other.0)) {
                (false, true) => [one, other],
                (true, false) => [other, one],
                _ => continue,
            };
            let is_outside = |id: InstId| !of.blocks.contains(self.home[id.0 as usize].0);
            let mut groups = scratch!(FxHashMap<(Reg, u8, Step), usize>);
            let first = found.len();
            for (phis, pair) in self.pairs(header) {
                let pointer = self.pointer(phis, pair, ways, &is_outside);
                let Some((pointer, base, step)) = pointer else { continue };
                let key = (base.reg, base.cell, step);
                let place = groups.get(&key).copied().unwrap_or(found.len());
                if place == first + MOST_GROUPS {
                    continue;
                }
                if place == found.len() {
                    groups.insert(key, place);
                    found.push(Shared { header, ways, base, step, all: Vec::new() });
                }
                found[place].all.push(pointer);
            }
            let mut at = first;
            while at < found.len() {
                match found[at].all.len() < LEAST {
                    true => drop(found.swap_remove(at)),
                    false => at += 1,
                }
            }
        }
        found
    }

    /// The phis of a block that make the words of a pair.
    fn pairs(&self, header: BlockId) -> Vec<([InstId; 2], RegUse)> {
        let mut lows = scratch!(FxHashMap<Reg, InstId>);
        let mut highs = scratch!(FxHashMap<Reg, InstId>);
        let mut order = Vec::new();
        for id in phis::of(self.body, header) {
            let Some(r) = self.body.inst(id).reg(0) else { continue };
            let is_pair = |v| {
                let of = self.body.vreg(v);
                (of.cells, of.file) == (2, RegFile::R) && is_value(self.body, self.fixed, v)
            };
            if r.reg.vreg().is_some_and(is_pair) {
                let words = if r.cell == 0 { &mut lows } else { &mut highs };
                words.insert(r.reg, id);
                if r.cell == 0 {
                    order.push(r.reg);
                }
            }
        }
        let pair = |reg: Reg| Some(([lows[&reg], *highs.get(&reg)?], RegUse::wide(reg, 2)));
        order.into_iter().filter_map(pair).collect()
    }

    /// What a pair is if it is a pointer that could share, with its base and its step.
    fn pointer(
        &self,
        phis: [InstId; 2],
        pair: RegUse,
        [before, around]: [BlockId; 2],
        is_outside: &dyn Fn(InstId) -> bool,
    ) -> Option<(Pointer, RegUse, Step)> {
        let brought = |from: BlockId| {
            let [low, high] = phis.map(|phi| {
                let inst = self.body.inst(phi);
                let at = inst.blocks().position(|block| block == from)?;
                inst.sources().nth(2 * at)?.as_reg().copied()
            });
            let (low, high) = (low?, high?);
            let is_pair =
                low.reg == high.reg && low.cell + 1 == high.cell && low.cell.is_multiple_of(2);
            is_pair.then_some(RegUse { count: 2, ..low })
        };
        let start = brought(before)?;
        let (product, base) = self.product(start).filter(|_| self.is_outside(start, is_outside))?;
        let is_base = base.reg.vreg().is_some_and(|v| is_value(self.body, self.fixed, v));
        let next = brought(around).filter(|_| is_base)?;
        let word = |cell: u8| RegUse { cell: next.cell + cell, count: 1, ..next };
        let makers = [self.values.writer(word(0))?, self.values.writer(word(1))?];
        let stays = |operand: Operand| match operand {
            Operand::Imm(_) => true,
            Operand::Reg(r) => self.values.writer(r).is_some_and(is_outside),
            _ => false,
        };
        let step = match self.product(next) {
            Some((step, of)) if of == pair && stays(step.1) && stays(step.2) => Step::Product(step),
            None => Step::Number(self.number(makers, pair)?),
            _ => return None,
        };
        Some((Pointer { phis, pair, product, next, makers }, base, step))
    }

    fn is_outside(&self, r: RegUse, is_outside: &dyn Fn(InstId) -> bool) -> bool {
        self.values.writer(r).is_some_and(is_outside)
    }

    /// The product and the pair whose sum a pair is.
    fn product(&self, pair: RegUse) -> Option<(Product, RegUse)> {
        let inst = self.body.inst(self.values.writer(RegUse { count: 1, ..pair })?);
        let (product, base) = product(inst)?;
        let are_values = [product.1, product.2].iter().all(|factor| match factor {
            Operand::Imm(_) => true,
            Operand::Reg(r) => {
                let is_word = r.count == 1 && r.flags == RegFlags::NONE;
                let is_value = |v| is_value(self.body, self.fixed, v);
                is_word && r.reg.file() == RegFile::R && r.reg.vreg().is_some_and(is_value)
            }
            _ => false,
        });
        (are_values && inst.operand(IMAD_WIDE::D) == Operand::Reg(pair)).then_some((product, base))
    }

    /// The number that is added to a pair, by a word with a carry each.
    fn number(&self, makers: [InstId; 2], pair: RegUse) -> Option<i32> {
        let [low, high] = makers.map(|id| self.body.inst(id));
        let is_sum = |inst: View<'_>| inst.op == Opcode::IADD3 && inst.guard.is_always();
        let carry = *low.get(IADD3::P).filter(|_| is_sum(low))?.as_reg()?;
        let is_whole = is_sum(high)
            && low.mods().is_empty()
            && low.operand(IADD3::Q) == Operand::PT
            && high.mods().as_slice() == [Mod::X]
            && high.operand(IADD3_X::P) == Operand::PT
            && high.operand(IADD3_X::Q) == Operand::PT
            && high.operand(IADD3_X::X) == Operand::Reg(carry)
            && high.operand(IADD3_X::Y) == Operand::NOT_PT;
        let added = |inst: View<'_>, word: RegUse| {
            let terms = [IADD3::A, IADD3::B, IADD3::C].map(|at| inst.operand(at));
            let words = terms.iter().filter(|term| **term == Operand::Reg(word)).count();
            let mut number = 0_u32;
            for term in terms {
                match term {
                    Operand::Imm(value) => number = number.wrapping_add(value as u32),
                    Operand::RZ => {}
                    Operand::Reg(r) if r == word => {}
                    _ => return None,
                }
            }
            (words == 1).then_some(number)
        };
        let word = |cell: u8| RegUse { cell: pair.cell + cell, count: 1, ..pair };
        let (by, sign) = (added(low, word(0)).filter(|_| is_whole)?, added(high, word(1))?);
        let extends = sign == if (by as i32) < 0 { u32::MAX } else { 0 };
        // Nobody else knows of the carry.
        (extends && by != 0 && self.values.reads(carry) == 1).then_some(by as i32)
    }
}

/// The product of 64 bits that an instruction adds, and to which pair.
fn product(inst: View<'_>) -> Option<(Product, RegUse)> {
    let is_product = inst.op == Opcode::IMAD
        && matches!(inst.mods().as_slice(), [Mod::WIDE] | [Mod::WIDE, Mod::U32])
        && inst.guard.is_always()
        && inst.operand(IMAD_WIDE::P) == Operand::PT;
    let Operand::Reg(base) = inst.get(IMAD_WIDE::C).filter(|_| is_product)? else { return None };
    let factors = [IMAD_WIDE::A, IMAD_WIDE::B].map(|at| inst.operand(at));
    let is_plain = base.count == 2 && base.flags == RegFlags::NONE && base.reg.vreg().is_some();
    let is_unsigned = inst.mods().has(Mod::U32);
    is_plain.then_some(((is_unsigned, factors[0], factors[1]), base))
}

/// Who reads which pointer, but to make the next one, and in which block: of each group.
type Readers = Vec<(usize, InstId, BlockId)>;

fn readers(body: &Body<'_>, found: &[Shared]) -> Vec<Readers> {
    let mut all: Vec<Readers> = found.iter().map(|_| Vec::new()).collect();
    let mut by_pair = scratch!(FxHashMap<Reg, (usize, usize)>);
    let mut makers = scratch!(FxHashSet<InstId>);
    for (group, shared) in found.iter().enumerate() {
        for (n, pointer) in shared.all.iter().enumerate() {
            by_pair.insert(pointer.pair.reg, (group, n));
            makers.extend(pointer.makers);
        }
    }
    for &block in body.layout().iter().filter(|_| !found.is_empty()) {
        for id in body.block(block).insts().iter().filter(|id| !makers.contains(id)) {
            body.inst(*id).for_each_use(|r| {
                if let Some((group, n)) = by_pair.get(&r.reg) {
                    all[*group].push((*n, *id, block));
                }
            });
        }
    }
    all
}

fn rewrite(
    body: &mut Body<'_>,
    values: &Values<'_>,
    home: &[BlockId],
    (shared, readers): (&Shared, &Readers),
    flow: &ControlFlow,
) {
    let [before, around] = shared.ways;
    let pair = |body: &mut Body<'_>| RegUse::wide(body.new_vreg(RegFile::R, 2, 2), 2);
    let (all, next) = (pair(body), pair(body));
    let word = |r: RegUse, cell: u8| RegUse { cell: r.cell + cell, count: 1, ..r };
    let makers: FxHashSet<InstId> = shared.all.iter().flat_map(|p| p.makers).collect();

    // What a round adds to several of them is added to the one that they share.
    let mut sums = scratch!(FxHashMap<Product, (usize, RegUse)>);
    let stays = |operand: Operand| match operand {
        Operand::Reg(r) => values.writer(r).is_some_and(|by| {
            let from = home[by.0 as usize];
            let is_before = flow.dominators().dominates(from.0, shared.header.0);
            from != shared.header && is_before && r.reg.file() == RegFile::R && r.count == 1
        }),
        operand => matches!(operand, Operand::Imm(_)),
    };
    let added = |body: &Body<'_>, n: usize, id: InstId| {
        let (sum, of) = product(body.inst(id))?;
        let is_sum = of == shared.all[n].pair && stays(sum.1) && stays(sum.2);
        is_sum.then_some(sum)
    };
    for (n, id, _) in readers.iter() {
        if let Some(sum) = added(body, *n, *id) {
            sums.entry(sum).or_insert((0, all)).0 += 1;
        }
    }
    sums.retain(|_, (count, _)| *count > 1);

    let mut start = Vec::new();
    let mut keys: Vec<Product> = sums.keys().copied().collect();
    // In the order of the code.
    keys.sort_by_key(|key| {
        readers.iter().position(|(n, id, _)| added(body, *n, *id) == Some(*key))
    });
    for key in keys {
        let sum = pair(body);
        start.push(sum_of(body, key, all, sum, Loc::default()));
        if let Some((_, of)) = sums.get_mut(&key) {
            *of = sum;
        }
    }
    let mut of_pointer: Vec<Vec<(InstId, BlockId)>> = shared.all.iter().map(|_| vec![]).collect();
    for &(n, id, block) in readers.iter() {
        match added(body, n, id).and_then(|sum| sums.get(&sum)) {
            Some(&(_, of)) => {
                let to = body.inst(id).operand(IMAD_WIDE::D);
                let new = wide(shared.all[n].product, of, to);
                body.set_inst(id, &new);
            }
            None => {
                of_pointer[n].push((id, block));
            }
        }
    }

    // The pointers that are still read, before the first reader of any of them.
    let mut by_block = scratch!(FxHashMap<BlockId, Vec<usize>>);
    for (n, by) in of_pointer.iter().enumerate() {
        let Some(&(_, first)) = by.first() else { continue };
        let one = by.iter().all(|(_, block)| *block == first);
        let is_phi = by.iter().any(|(id, _)| body.op(*id) == Opcode::MOVPHI);
        // Not again and again in a loop inside.
        let depth = |block: BlockId| flow.loops().depth(block.0);
        let is_there = one && !is_phi && depth(first) <= depth(shared.header);
        let block = if is_there { first } else { shared.header };
        by_block.entry(block).or_default().push(n);
    }
    let mut blocks: Vec<BlockId> = by_block.keys().copied().collect();
    blocks.sort_unstable();
    for block in blocks {
        let of = &by_block[&block];
        let here: FxHashSet<InstId> =
            of.iter().flat_map(|n| of_pointer[*n].iter().map(|(id, _)| *id)).collect();
        let is_reader = |id: &InstId| here.contains(id);
        let insts = body.block(block).insts();
        let behind = phis::end(body, block);
        let is_early = of.iter().any(|n| of_pointer[*n].iter().any(|(_, by)| *by != block));
        let at = match is_early {
            true => behind,
            false => insts.iter().position(is_reader).unwrap_or(behind).max(behind),
        };
        let made: Vec<InstId> = of
            .iter()
            .map(|n| {
                let pointer = &shared.all[*n];
                sum_of(body, pointer.product, all, pointer.pair, Loc::default())
            })
            .collect();
        body.replace(block, at..at, made);
    }

    // The next one, before the first of the others' next ones where these stand in one block.
    let first = home[shared.all[0].makers[0].0 as usize];
    let is_one = makers.iter().all(|id| home[id.0 as usize] == first);
    let at = match is_one {
        true => body.block(first).insts().iter().position(|id| makers.contains(id)),
        false => None,
    };
    let advance = step(body, shared.step, all, next);
    match at {
        Some(at) => body.replace(first, at..at, advance),
        None => start.extend(advance),
    }
    for pointer in &shared.all {
        let new = wide(pointer.product, next, Operand::Reg(pointer.next));
        body.set_inst(pointer.makers[0], &new);
    }
    let highs: Vec<InstId> =
        shared.all.iter().filter(|p| p.makers[0] != p.makers[1]).map(|p| p.makers[1]).collect();
    let gone: FxHashSet<InstId> = shared.all.iter().flat_map(|p| p.phis).chain(highs).collect();
    let mut homes: Vec<BlockId> = gone.iter().map(|id| home[id.0 as usize]).collect();
    homes.sort_unstable();
    homes.dedup();
    for block in homes {
        body.retain(block, |_, id| !gone.contains(&id));
    }
    let phis: Vec<InstId> = [1, 0]
        .map(|cell| {
            let ways = [(Some(word(shared.base, cell)), before), (Some(word(next, cell)), around)];
            phis::new(body, word(all, cell), &ways)
        })
        .to_vec();
    let behind = phis::end(body, shared.header);
    body.replace(shared.header, behind..behind, start);
    body.replace(shared.header, 0..0, phis);
}

/// A pair that is a product and another pair.
fn wide((is_unsigned, a, b): Product, base: RegUse, to: Operand) -> Inst {
    let mods: &[Mod] = if is_unsigned { &[Mod::WIDE, Mod::U32] } else { &[Mod::WIDE] };
    let operands = [to, Operand::PT, a, b, Operand::Reg(base)];
    Inst::new(Opcode::IMAD, mods, 2, &operands)
}

fn sum_of(body: &mut Body<'_>, of: Product, base: RegUse, to: RegUse, loc: Loc) -> InstId {
    let inst = wide(of, base, Operand::Reg(to));
    body.new_inst(&inst, loc)
}

/// What makes the next round's pair.
fn step(body: &mut Body<'_>, step: Step, from: RegUse, to: RegUse) -> Vec<InstId> {
    match step {
        Step::Product(product) => vec![sum_of(body, product, from, to, Loc::default())],
        Step::Number(by) => add(body, from, Added::Number(by), to).to_vec(),
    }
}

/// What is added to a pair.
#[derive(Clone, Copy)]
enum Added {
    Number(i32),
    Pair(RegUse),
}

/// A pair that is the sum of another one and something: by a word with a carry each.
fn add(body: &mut Body<'_>, from: RegUse, by: Added, to: RegUse) -> [InstId; 2] {
    let word = |r: RegUse, cell: u8| Operand::Reg(RegUse { cell: r.cell + cell, count: 1, ..r });
    let number = |n: u32| if n == 0 { Operand::RZ } else { Operand::Imm(u64::from(n)) };
    let [low, high] = match by {
        Added::Number(by) => [number(by as u32), number((by >> 31) as u32)],
        Added::Pair(r) => [word(r, 0), word(r, 1)],
    };
    let carry = Operand::reg(body.new_vreg(RegFile::P, 1, 1));
    let operands = [word(to, 0), carry, Operand::PT, word(from, 0), low, Operand::RZ];
    let first = Inst::new(Opcode::IADD3, &[], 3, &operands);
    let [result, upper] = [word(to, 1), word(from, 1)];
    let operands =
        [result, Operand::PT, Operand::PT, upper, high, Operand::RZ, carry, Operand::NOT_PT];
    let second = Inst::new(Opcode::IADD3, &[Mod::X], 3, &operands);
    [first, second].map(|inst| body.new_inst(&inst, Loc::default()))
}

/// A pair that is the sum of two, one of them a product and a base.
struct Sum {
    block: BlockId,
    /// What makes its words.
    makers: [InstId; 2],
    to: RegUse,
    other: RegUse,
    product: Product,
    base: RegUse,
}

/// Has sums of a pair and products with the same base add the base once: a loop then adds one
/// product to the sum for each of them, where it had two words with a carry, and the product's
/// factor takes one register where the pair took two. How many do.
pub fn share_bases(body: &mut Body<'_>, analyses: &mut Analyses) -> usize {
    if !body.facts().may_have(&[Opcode::IMAD]) {
        return 0;
    }
    let carries = |id: &InstId| {
        let inst = body.inst(*id);
        inst.op == Opcode::IADD3 && inst.mods().as_slice() == [Mod::X]
    };
    let mut all = body.layout().iter().flat_map(|b| body.block(*b).insts().iter());
    if all.by_ref().filter(|id| carries(id)).nth(LEAST - 1).is_none() {
        return 0;
    }
    let map = analyses.cells(body);
    let mut home = scratch!(Vec<BlockId>; BlockId(u32::MAX); body.inst_count());
    // By instruction, and where it stands in its block.
    let mut at = scratch!(Vec<u32>; 0; body.inst_count());
    let (mut last, mut next) = (BlockId(u32::MAX), 0);
    let values = Values::of(body, &map, |block, id, _| {
        next = if block == last { next + 1 } else { 0 };
        last = block;
        (home[id.0 as usize], at[id.0 as usize]) = (block, next);
    });
    let mut groups: Vec<Vec<Sum>> = Vec::new();
    let mut places = scratch!(FxHashMap<(BlockId, RegUse, RegUse), usize>);
    let fixed = Fixed::of(body);
    let look = Look { body, values: &values, fixed: &fixed, home: &home };
    for &block in body.layout() {
        for id in body.block(block).insts().iter().filter(|id| carries(id)) {
            let Some(sum) = look.sum(block, *id) else { continue };
            let place = *places.entry((block, sum.other, sum.base)).or_insert(groups.len());
            if place == groups.len() {
                groups.push(Vec::new());
            }
            groups[place].push(sum);
        }
    }
    drop(values);
    groups.retain(|group| group.len() >= LEAST);
    let mut count = 0;
    // What stands before an instruction now, and what is gone.
    let mut before = scratch!(FxHashMap<InstId, [InstId; 2]>);
    let mut gone = scratch!(FxHashSet<InstId>);
    let mut blocks = scratch!(Vec<BlockId>);
    for group in &groups {
        count += group.len();
        let of = &group[0];
        let to = RegUse::wide(body.new_vreg(RegFile::R, 2, 2), 2);
        let both = add(body, of.other, Added::Pair(of.base), to);
        let first = group.iter().map(|sum| sum.makers[0]).min_by_key(|id| at[id.0 as usize]);
        before.extend(first.map(|first| (first, both)));
        blocks.push(of.block);
        for sum in group {
            let new = wide(sum.product, to, Operand::Reg(sum.to));
            body.set_inst(sum.makers[0], &new);
            gone.insert(sum.makers[1]);
        }
    }
    blocks.sort_unstable();
    blocks.dedup();
    for &block in blocks.iter() {
        body.rewrite(block, |_, out, id| {
            before.get(&id).into_iter().flatten().for_each(|new| out.keep(*new));
            if !gone.contains(&id) {
                out.keep(id);
            }
        });
    }
    count
}

impl Look<'_, '_> {
    /// The sum whose high word an instruction makes.
    fn sum(&self, block: BlockId, id: InstId) -> Option<Sum> {
        let high = self.body.inst(id);
        let is_plain = high.guard.is_always()
            && high.operand(IADD3_X::P) == Operand::PT
            && high.operand(IADD3_X::Q) == Operand::PT
            && high.operand(IADD3_X::C) == Operand::RZ
            && high.operand(IADD3_X::Y) == Operand::NOT_PT;
        let carry = plain(&high.operand(IADD3_X::X)).filter(|_| is_plain)?;
        let by = self.values.writer(carry).filter(|by| self.home[by.0 as usize] == block)?;
        let low = self.body.inst(by);
        let is_low = low.op == Opcode::IADD3
            && low.guard.is_always()
            && low.mods().is_empty()
            && low.operand(IADD3::P) == Operand::Reg(carry)
            && low.operand(IADD3::Q) == Operand::PT
            && low.operand(IADD3::C) == Operand::RZ
            && self.values.reads(carry) == 1;
        let word = |inst: View<'_>, at: usize| plain(&inst.operand(at)).filter(|r| r.count == 1);
        let result = word(low, IADD3::D).filter(|_| is_low)?;
        let is_value = |r: RegUse| r.reg.vreg().is_some_and(|v| is_value(self.body, self.fixed, v));
        let pair = |low: RegUse, high: RegUse| {
            let align = low.reg.vreg().map_or(0, |v| self.body.vreg(v).align);
            let is_pair = low.reg == high.reg
                && low.cell + 1 == high.cell
                && low.cell.is_multiple_of(2)
                && align >= 2
                && is_value(low);
            is_pair.then_some(RegUse { count: 2, ..low })
        };
        let to = pair(result, word(high, IADD3_X::D)?)?;
        let [a, b] = [word(low, IADD3::A)?, word(low, IADD3::B)?];
        let [c, d] = [word(high, IADD3_X::A)?, word(high, IADD3_X::B)?];
        let both = pair(a, c).zip(pair(b, d)).or_else(|| pair(a, d).zip(pair(b, c)));
        let (one, two) = both?;
        let found = [(one, two), (two, one)].into_iter().find_map(|(other, product)| {
            // It is there for this alone.
            let alone = (0..2).all(|cell| {
                let word = RegUse { cell: product.cell + cell, count: 1, ..product };
                self.values.reads(word) == 1
            });
            let (of, base) = self.product(product).filter(|_| alone)?;
            let is_pair = is_value(base) && base.cell.is_multiple_of(2);
            is_pair.then_some((other, of, base))
        });
        let (other, product, base) = found?;
        Some(Sum { block, makers: [by, id], to, other, product, base })
    }
}
