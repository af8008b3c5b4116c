//! `DoSwitchOptFirst` and `DoSwitchOptSecond`: a tree of branches that compare one register with
//! constants becomes one branch with many ways, `SWITCH`.
//!
//! A tree is blocks that each end with `P = ISETP selector, constant` and a branch by it; each but
//! the first does nothing else, and only one of the others leads to it. A chain of comparisons for
//! equality is a tree, and so is what nvcc makes of a `switch`: comparisons for order with a few
//! for equality at their ends.
//!
//! ```text
//! i = selector - least; i = min(i, values); SWITCH i, BB…, default
//! ```
//!
//! Numbers below all that is asked for are great ones as unsigned numbers, and lead where those
//! above do; where they are to lead elsewhere, the selector is first made at least the greatest of
//! them.
//!
//! Observed (ptxas 13.0.88, -O1 to -O3, chains of 2 to 150 comparisons with values 1 to 5000
//! apart): of a chain for equality the longest end becomes a table whose values are at most five
//! times as many as its cases; what comes before it stays a chain, however long it is, and so does
//! one that compares 16 or 64 bits, does something between, or goes on where a comparison holds.
//! There are no search trees, where the documents have them: nvcc makes trees of its own, and ptxas
//! a table of each of their ends, from two comparisons on. The density is ptxas's here. That order
//! counts, so that a `switch` is one table and not four, and that a table has at least four
//! comparisons (it is six instructions, they are two each) is what the counts of executed
//! instructions ask for.
//!
//! With a profile a tree stays one where threads were seen to come to so few of its comparisons
//! that a table costs them more: what never ran does not count (the guard that the documents have
//! for trees of which a profile is known).

use crate::analysis::Analyses;
use crate::analysis::trips::Comparison;
use crate::analysis::uses::Uses;
use crate::build::{Emit, imm, r};
use crate::function::{FunctionInfo, Options};
use crate::knobs::Knob;
use crate::notes::Notes;
use crate::params::{Read, Write};
use crate::profile::Profile;
use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{
    BlockId, Body, Code, FlowEdit, Guard, InstId, Mod, Opcode, Operand, Reg, RegFlags, RegUse,
    View, edges, phis,
};
use orias_targets::slots::ISETP;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// Phase 16: what the target's row says is to be done with chains. Other handlers, which the
/// documents have for machines of before convergence barriers, have no target here.
pub fn do_switch_opt_first(
    code: Code<'_>,
    analyses: Write<'_, Analyses>,
    options: Read<'_, Options>,
    info: Read<'_, FunctionInfo>,
    notes: Notes<'_>,
) {
    do_switch_opt(code, analyses, &options, &info.profile, notes);
}

/// Phase 34: once more, for trees that other phases have made or laid bare. A system of its own:
/// one that found nothing is not asked again.
pub fn do_switch_opt_second(
    code: Code<'_>,
    analyses: Write<'_, Analyses>,
    options: Read<'_, Options>,
    info: Read<'_, FunctionInfo>,
    notes: Notes<'_>,
) {
    do_switch_opt(code, analyses, &options, &info.profile, notes);
}

fn do_switch_opt(
    code: Code<'_>,
    mut analyses: Write<'_, Analyses>,
    options: &Options,
    profile: &Profile,
    mut notes: Notes<'_>,
) {
    let knob = |knob| options.knobs.get(knob, options.target);
    let limits = Limits {
        least: knob(Knob::SwitchOptComparisons),
        spread: knob(Knob::SwitchOptSpread),
        most: knob(Knob::SwitchOptBudget),
        extended: knob(Knob::SwitchOptExtendedPatternMatch) != 0,
    };
    let mut body = code.body();
    let mut tests = tests(&body, limits);
    if tests.len() < limits.least as usize {
        return;
    }
    let mut switches = switches(&body, &tests, limits, profile);
    if switches.is_empty() {
        return;
    }
    // Predicates that somebody else reads are written where they were.
    let uses = analyses.uses(&body);
    let mut known = scratch!(FxHashMap<Reg, bool>);
    let before = tests.len();
    tests.retain(|_, test| {
        let is_known = known.entry(test.predicate);
        *is_known.or_insert_with(|| is_read_by_tests(&body, &uses, test.predicate))
    });
    drop(uses);
    if tests.len() < before {
        switches = self::switches(&body, &tests, limits, profile);
    }
    if split_edges(&mut body, &switches) {
        analyses.edges(&mut body);
        for test in tests.iter_mut() {
            let known = self::test(&body, *test.0, limits);
            test.1.ways = known.map_or(test.1.ways, |known| known.ways);
        }
        switches = self::switches(&body, &tests, limits, profile);
        switches.retain(|s| !s.ways.iter().any(|(_, to)| phis::end(&body, *to) > 0));
    }
    if switches.is_empty() {
        return;
    }
    let count = switches.len();
    let mut e = Emit::edit(body);
    let mut next = switches.iter().peekable();
    for &block in e.body.walk().iter() {
        match next.next_if(|switch| switch.block == block) {
            Some(switch) => put(&mut e, switch),
            None => e.open(block),
        }
    }
    let mut body = e.finish();
    let gone = scratch!(Vec<BlockId>).with(switches.iter().flat_map(|s| s.passed.iter().copied()));
    body.remove_blocks(&gone);
    analyses.edges(&mut body);
    notes.count(count);
}

/// In SSA form values may come along the edges out of a tree: those that bring the same get a block
/// between. Whether there are any.
fn split_edges(body: &mut Body<'_>, switches: &[Switch]) -> bool {
    let mut edges = scratch!(FxHashMap<BlockId, SmallVec<[BlockId; 4]>>);
    let all = switches.iter().flat_map(|switch| switch.ways.iter().copied());
    for (from, to) in all.filter(|(_, to)| phis::end(body, *to) > 0) {
        let list = edges.entry(to).or_default();
        if !list.contains(&from) {
            list.push(from);
        }
    }
    if edges.is_empty() {
        return false;
    }
    let mut targets = scratch!(Vec<BlockId>).with(edges.keys().copied());
    targets.sort_unstable();
    let mut edit = FlowEdit::of(body);
    for to in targets.iter() {
        // By block what its edge brings.
        let mut brings = scratch!(FxHashMap<BlockId, SmallVec<[Operand; 4]>>);
        for phi in phis::of(body, *to) {
            let mut sources = body.inst(phi).sources();
            while let (Some(value), Some(Operand::Block(from))) = (sources.next(), sources.next()) {
                brings.entry(from).or_default().push(value);
            }
        }
        let mut number = scratch!(FxHashMap<SmallVec<[Operand; 4]>, usize>);
        let mut groups = scratch!(Vec<SmallVec<[BlockId; 4]>>);
        for from in edges.remove(to).unwrap_or_default() {
            let at =
                *number.entry(brings.remove(&from).unwrap_or_default()).or_insert(groups.len());
            if at == groups.len() {
                groups.push(SmallVec::new());
            }
            groups[at].push(from);
        }
        for group in groups.iter() {
            // Where nothing else leads there, the phi is none.
            if group.len() < body.block(*to).preds().len() {
                edit.lead_through(body, group, *to);
                edit.tell(body, *to);
            }
        }
    }
    edit.finish(body);
    true
}

/// Instructions of a test, and of a table, that each thread executes.
const COMPARISON: u64 = 2;
const TABLE: u64 = 6;

/// Which trees become tables.
#[derive(Clone, Copy)]
struct Limits {
    /// Fewest comparisons.
    least: u32,
    /// Most values for each comparison.
    spread: u32,
    /// Most values.
    most: u32,
    /// Comparisons for order are part of a tree, and those that go on where they hold.
    extended: bool,
}

/// The end of a block that compares a register with a constant and branches.
#[derive(Clone, Copy)]
struct Test {
    selector: RegUse,
    /// What holds of selector and value if control goes by the first way.
    is: Comparison,
    is_signed: bool,
    value: i32,
    predicate: Reg,
    ways: [BlockId; 2],
    /// Its instructions, at the end of the block.
    insts: usize,
    /// The block has no others.
    is_all: bool,
}

/// The tests of a function, by block.
fn tests(body: &Body<'_>, limits: Limits) -> Scratch<FxHashMap<BlockId, Test>> {
    let all = body.layout().iter().filter_map(|block| Some((*block, test(body, *block, limits)?)));
    let mut tests = scratch!(FxHashMap<BlockId, Test>);
    tests.extend(all);
    tests
}

fn test(body: &Body<'_>, block: BlockId, limits: Limits) -> Option<Test> {
    let insts = body.block(block).insts();
    let last = body.inst(*insts.last()?);
    let [a, b] = body.block(block).succs()[..] else { return None };
    // Behind the branch there may be one that goes on without a condition.
    let goes_on = last.op == Opcode::BRA && edges::is_unconditional(last);
    let branches = 1 + usize::from(goes_on);
    let at = insts.len().checked_sub(branches + 1)?;
    let [comparison, branch] = [body.inst(insts[at]), body.inst(insts[at + 1])];
    let is_plain = branch.op == Opcode::BRA
        && branch.mods().is_empty()
        && !branch.guard.is_always()
        && branch.sources().all(|o| matches!(o, Operand::Block(_)) || o == Operand::PT);
    if !is_plain || comparison.op != Opcode::ISETP || comparison.len() != ISETP::COUNT {
        return None;
    }
    let (word, is_signed) = match comparison.mods().as_slice() {
        [word, Mod::AND] => (*word, true),
        [word, Mod::U32, Mod::AND] => (*word, false),
        _ => return None,
    };
    let alone = comparison.guard.is_always()
        && comparison.operand(ISETP::P) == Operand::reg(branch.guard.reg)
        && comparison.operand(ISETP::Q) == Operand::PT
        && comparison.operand(ISETP::X) == Operand::PT;
    let (x, y) = (comparison.operand(ISETP::A), comparison.operand(ISETP::B));
    let (selector, value, is) = match (constant(x), constant(y)) {
        (None, Some(value)) => (x, value, Comparison::of(word)?),
        (Some(value), None) => (y, value, Comparison::of(word)?.mirrored()),
        _ => return None,
    };
    let is_plain =
        |r: &&RegUse| alone && r.reg.vreg().is_some() && r.count == 1 && r.flags == RegFlags::NONE;
    let selector = *selector.as_reg().filter(is_plain)?;
    let is = if branch.guard.negated { is.negated() } else { is };
    let taken = edges::targets(branch).next()?;
    let other = if taken == a { b } else { a };
    if !limits.extended && is != Comparison::Equal {
        return None;
    }
    let (predicate, ways) = (branch.guard.reg, [taken, other]);
    let (insts, is_all) = (branches + 1, at == 0);
    Some(Test { selector, is, is_signed, value, predicate, ways, insts, is_all })
}

/// The number that an operand is.
fn constant(operand: Operand) -> Option<i32> {
    match operand {
        Operand::Imm(value) => Some(value as i32),
        Operand::Reg(r) if r.reg.is_zero() => Some(0),
        _ => None,
    }
}

/// Whether a predicate is read by branches only that stand right behind what writes it.
fn is_read_by_tests(body: &Body<'_>, uses: &Uses, predicate: Reg) -> bool {
    let Some(register) = predicate.vreg() else { return false };
    let is_written_before = |(reader, of): (InstId, BlockId)| {
        let insts = body.block(of).insts();
        let branches = edges::first_branch(body, of);
        let Some(at) = insts[branches..].iter().position(|id| *id == reader) else { return false };
        let at = branches + at;
        let writes = |inst: View<'_>| {
            let mut found = false;
            inst.for_each_def(|def| found |= def.reg == predicate);
            found && inst.guard.is_always()
        };
        at > 0 && writes(body.inst(insts[at - 1]))
    };
    uses.readers(register).all(is_written_before)
}

/// What becomes of a tree of tests.
struct Switch {
    /// The block of the first test.
    block: BlockId,
    first: Test,
    /// The blocks of the others.
    passed: Scratch<Vec<BlockId>>,
    /// The edges that lead out.
    ways: Scratch<Vec<(BlockId, BlockId)>>,
    /// The least value that has an entry of its own, and where each from there on leads.
    least: i32,
    /// Those below lead where that one does.
    is_clamped: bool,
    entries: Vec<BlockId>,
    /// Where those above lead, and below.
    default: BlockId,
}

/// The tests below each in its tree, as far as they go.
#[derive(Clone, Copy)]
struct Below {
    tests: u32,
    /// The least and the greatest constant.
    least: i32,
    most: i32,
    /// Comparisons that threads were seen to come to, one for each thread.
    seen: Option<u64>,
}

/// Trees of tests: by block the test there, and the tests that it leads to.
struct Forest<'a, 'w> {
    body: &'a Body<'w>,
    tests: &'a FxHashMap<BlockId, Test>,
    below: Scratch<FxHashMap<BlockId, Below>>,
    limits: Limits,
    profile: &'a Profile,
}

/// All of a function, in the order of the layout.
fn switches(
    body: &Body<'_>,
    tests: &FxHashMap<BlockId, Test>,
    limits: Limits,
    profile: &Profile,
) -> Scratch<Vec<Switch>> {
    let below = scratch!(FxHashMap<BlockId, Below>);
    let mut forest = Forest { body, tests, below, limits, profile };
    let mut inner = scratch!(FxHashSet<BlockId>);
    inner.extend(tests.keys().flat_map(|block| forest.next(*block)));
    let roots = body.layout().iter().filter(|b| tests.contains_key(b) && !inner.contains(b));
    let mut found = scratch!(Vec<Switch>);
    let mut work = scratch!(Vec<BlockId>);
    for root in roots {
        forest.sum(*root);
        // The largest trees that are dense enough.
        work.push(*root);
        while let Some(block) = work.pop() {
            match forest.switch(block) {
                Some(switch) => found.push(switch),
                None => work.extend(forest.next(block)),
            }
        }
    }
    let mut place = scratch!(FxHashMap<BlockId, usize>);
    place.extend(body.layout().iter().enumerate().map(|(at, block)| (*block, at)));
    found.sort_unstable_by_key(|switch| place[&switch.block]);
    found
}

impl Forest<'_, '_> {
    /// The tests of the same register that a block's leads to, and nothing else does.
    fn next(&self, block: BlockId) -> impl Iterator<Item = BlockId> + use<> {
        let test = self.tests.get(&block);
        let goes_on = |way: &BlockId| {
            let next = self.tests.get(way);
            *way != block
                && self.body.block(*way).preds() == [block]
                && next.is_some_and(|n| n.is_all && test.is_some_and(|t| t.selector == n.selector))
        };
        let ways = test.map_or([block; 2], |test| test.ways);
        let found: SmallVec<[BlockId; 2]> = ways.into_iter().filter(goes_on).collect();
        found.into_iter()
    }

    /// Counts what is below each test of a tree.
    fn sum(&mut self, root: BlockId) {
        let mut order = scratch!(Vec<BlockId>; root; 1);
        let mut at = 0;
        while let Some(block) = order.get(at).copied() {
            order.extend(self.next(block));
            at += 1;
        }
        for block in order.iter().rev() {
            let Test { is, is_signed, value, .. } = self.tests[block];
            let seen = self.profile.of(self.body, *block);
            let mut sum = Below { tests: 1, least: value, most: value, seen };
            if !is_signed && !matches!(is, Comparison::Equal | Comparison::NotEqual) {
                // Unsigned, something changes between -1 and 0 too.
                (sum.least, sum.most) = (value.min(0), value.max(-1));
            }
            for next in self.next(*block) {
                let below = self.below[&next];
                sum.tests += below.tests;
                sum.seen = sum.seen.zip(below.seen).map(|(all, more)| all + more);
                sum.least = sum.least.min(below.least);
                sum.most = sum.most.max(below.most);
            }
            self.below.insert(*block, sum);
        }
    }

    /// The switch that does what a test does with those below it, if they are dense enough.
    fn switch(&self, block: BlockId) -> Option<Switch> {
        let Below { tests, least, most, seen } = self.below[&block];
        // What was never seen to run counts for nothing here.
        let come = self.profile.of(self.body, block);
        if come.zip(seen).is_some_and(|(come, seen)| seen * COMPARISON <= come * TABLE) {
            return None;
        }
        let values = i64::from(most) - i64::from(least) + 1;
        let is_dense = values <= i64::from(self.limits.spread) * i64::from(tests);
        if tests < self.limits.least || !is_dense || values >= i64::from(self.limits.most) {
            return None;
        }
        let ranges = self.ranges(block);
        let below = ranges.lead(i64::from(i32::MIN))?;
        let default = ranges.lead(i64::from(i32::MAX))?;
        // What comparisons for order lead elsewhere lies between their constants.
        let (from, to) = (i64::from(least) - 1, i64::from(most) + 1);
        let mut entries: Vec<BlockId> = Vec::with_capacity((values + 2) as usize);
        for value in from..=to {
            entries.push(ranges.lead(value).unwrap_or(default));
        }
        let mut first = entries.iter().position(|to| *to != below)?;
        let last = entries.iter().rposition(|to| *to != default)?;
        let is_clamped = below != default;
        if is_clamped {
            first = first.checked_sub(1)?;
        }
        if first > last {
            return None;
        }
        entries.truncate(last + 1);
        entries.drain(..first);
        let least = i32::try_from(from + first as i64).ok()?;
        let first = self.tests[&block];
        let Ranges { ways, passed, .. } = ranges;
        Some(Switch { block, first, passed, ways, least, is_clamped, entries, default })
    }

    /// Where a test and those below it lead.
    fn ranges(&self, root: BlockId) -> Ranges {
        let mut ranges = Ranges {
            leads: scratch!(Vec<(i64, i64, BlockId)>),
            passed: scratch!(Vec<BlockId>),
            ways: scratch!(Vec<(BlockId, BlockId)>),
            cases: BTreeMap::new(),
        };
        let all = (i64::from(i32::MIN), i64::from(i32::MAX));
        let mut work = scratch!(Vec<(BlockId, SmallVec<[(i64, i64); 2]>)>);
        work.push((root, SmallVec::from_slice(&[all])));
        while let Some((block, region)) = work.pop() {
            let test = self.tests[&block];
            if block != root {
                ranges.passed.push(block);
            }
            let next: SmallVec<[BlockId; 2]> = self.next(block).collect();
            for (way, is) in test.ways.into_iter().zip([test.is, test.is.negated()]) {
                let value = i64::from(test.value);
                let mut part = SmallVec::<[(i64, i64); 2]>::new();
                let goes_on = next.contains(&way);
                if !goes_on {
                    ranges.ways.push((block, way));
                }
                let equal = test.ways[usize::from(test.is == Comparison::NotEqual)];
                if is == Comparison::NotEqual && !next.contains(&equal) {
                    // All but one: that one has its case, which comes first.
                    part.extend(region.iter().copied());
                } else {
                    let kept = holds(is, test.is_signed, value);
                    let both = |a: &(i64, i64), b: &(i64, i64)| (a.0.max(b.0), a.1.min(b.1));
                    let parts = region.iter().flat_map(|a| kept.iter().map(move |b| both(a, b)));
                    part.extend(parts.filter(|(from, to)| from <= to));
                }
                if is == Comparison::Equal && !goes_on {
                    if !part.is_empty() {
                        ranges.cases.entry(test.value).or_insert(way);
                    }
                } else if goes_on {
                    work.push((way, part));
                } else {
                    ranges.leads.extend(part.iter().map(|(from, to)| (*from, *to, way)));
                }
            }
        }
        ranges
    }
}

/// Which numbers, as signed ones, a comparison holds of.
fn holds(is: Comparison, is_signed: bool, value: i64) -> SmallVec<[(i64, i64); 2]> {
    let (least, most) = (i64::from(i32::MIN), i64::from(i32::MAX));
    let (below, from) = ((least, value - 1), (value, most));
    let (up_to, above) = ((least, value), (value + 1, most));
    let all: &[(i64, i64)] = match is {
        Comparison::Equal => &[(value, value)],
        Comparison::NotEqual => &[below, above],
        Comparison::Less if is_signed => &[below],
        Comparison::LessEqual if is_signed => &[up_to],
        Comparison::GreaterEqual if is_signed => &[from],
        Comparison::Greater if is_signed => &[above],
        // Unsigned, those below zero are the greatest.
        Comparison::Less if value >= 0 => &[(0, value - 1)],
        Comparison::LessEqual if value >= 0 => &[(0, value)],
        Comparison::GreaterEqual if value >= 0 => &[(value, most), (least, -1)],
        Comparison::Greater if value >= 0 => &[(value + 1, most), (least, -1)],
        Comparison::Less => &[(0, most), below],
        Comparison::LessEqual => &[(0, most), up_to],
        Comparison::GreaterEqual => &[(value, -1)],
        Comparison::Greater => &[(value + 1, -1)],
    };
    all.iter().copied().filter(|(from, to)| from <= to).collect()
}

/// Where a tree leads.
struct Ranges {
    /// First and last number, and where they go; cases come before.
    leads: Scratch<Vec<(i64, i64, BlockId)>>,
    /// The blocks of the tests but the first.
    passed: Scratch<Vec<BlockId>>,
    /// The edges that lead out.
    ways: Scratch<Vec<(BlockId, BlockId)>>,
    /// Single numbers.
    cases: BTreeMap<i32, BlockId>,
}

impl Ranges {
    fn lead(&self, value: i64) -> Option<BlockId> {
        let case = i32::try_from(value).ok().and_then(|value| self.cases.get(&value));
        case.copied().or_else(|| {
            let mut leads = self.leads.iter();
            leads.find(|(from, to, _)| (*from..=*to).contains(&value)).map(|(.., to)| *to)
        })
    }
}

/// Puts a switch in place of the first test of its tree.
fn put(e: &mut Emit<'_>, switch: &Switch) {
    let insts: Vec<InstId> = e.reopen(switch.block).collect();
    let (kept, test) = insts.split_at(insts.len() - switch.first.insts);
    kept.iter().for_each(|id| e.keep(*id));
    e.start(e.body.loc(test[0]), Guard::ALWAYS);
    test.iter().for_each(|id| e.body.discard(*id));
    let mut index = Operand::Reg(switch.first.selector);
    if switch.is_clamped {
        let clamped = r(e.temp(1));
        e.minmax(clamped, index, imm(switch.least as u32), true, true);
        index = clamped;
    }
    if switch.least != 0 {
        let from_least = r(e.temp(1));
        e.iadd3(from_least, index, imm(switch.least.wrapping_neg() as u32), Operand::RZ);
        index = from_least;
    }
    let place = r(e.temp(1));
    e.minmax(place, index, imm(switch.entries.len() as u32), false, false);
    let ways = switch.entries.iter().chain([&switch.default]).map(|block| Operand::Block(*block));
    let operands: Vec<Operand> = [place].into_iter().chain(ways).collect();
    e.put(Opcode::SWITCH, &[], 0, &operands);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use orias_components::text;

    /// A chain of comparisons with these values, which begins in a block of its own, as it leaves
    /// the phase: the SWITCH of it, if any, and how many comparisons there are.
    fn optimized(values: &[i32]) -> (Option<String>, usize) {
        let mut text = "BB0:\n %R0 = S2R SR33\n".to_string();
        for (i, value) in values.iter().enumerate() {
            let (block, target) = (i + 1, i + 101);
            text += &format!("BB{block}:\n %P1, PT = ISETP.EQ.AND %R0, {value:#x}, PT\n");
            text += &format!(" @%P1 BRA PT, BB{target}\n");
        }
        text += &format!("BB{}:\n EXIT PT\n", values.len() + 1);
        for i in 0..values.len() {
            text += &format!("BB{}:\n STS [RZ+{:#x}], %R0\n EXIT PT\n", i + 101, 4 * i);
        }
        let mut function = testing::parse(&text);
        function.run(do_switch_opt_first);
        edges::check(&function.body()).expect("edges");
        let text = text::print(&function.body(), &text::Style::default());
        let switch =
            text.lines().find(|line| line.contains("SWITCH")).map(|l| l.trim().to_string());
        (switch, text.matches("ISETP").count())
    }

    #[test]
    fn values_are_at_most_five_times_as_many_as_cases() {
        assert_eq!(optimized(&[-3, 0, 7, 16]).1, 0);
        assert_eq!(optimized(&[-3, 0, 7, 17]).1, 4);
        assert_eq!(optimized(&[0, 1, 2]).1, 3);
    }

    #[test]
    fn what_is_between_the_cases_leads_to_the_end_of_the_chain() {
        let switch = optimized(&[7, 4, 9, 8]).0.expect("a switch");
        assert!(switch.ends_with(", BB102, BB5, BB5, BB101, BB104, BB103, BB5"), "{switch}");
    }

    #[test]
    fn of_a_case_that_comes_twice_the_first_counts() {
        let switch = optimized(&[1, 0, 1, 2]).0.expect("a switch");
        assert!(switch.ends_with(", BB102, BB101, BB104, BB5"), "{switch}");
    }

    #[test]
    fn only_the_dense_end_of_a_chain_is_a_table() {
        let (switch, comparisons) = optimized(&[5000, 1, 2, 3, 4]);
        assert_eq!(comparisons, 1);
        assert!(switch.expect("a switch").ends_with(", BB102, BB103, BB104, BB105, BB6"));
    }

    /// A tree of comparisons below a block, with its ends from block 1000 on.
    fn grow(numbers: &mut impl FnMut(u32) -> u32, depth: u32, text: &mut String, next: &mut u32) {
        let block = *next;
        let word = ["EQ", "NE", "LT", "LE", "GE", "GT"][numbers(6) as usize];
        let unsigned = if word != "EQ" && numbers(3) == 0 { ".U32" } else { "" };
        let value = numbers(16) as i32 - 4;
        let not = if numbers(2) == 0 { "!" } else { "" };
        let mut lines =
            format!("BB{block}:\n %P1, PT = ISETP.{word}{unsigned}.AND %R0, {value:#x}, PT\n");
        let mut rest = String::new();
        let mut ways = Vec::new();
        for _ in 0..2 {
            *next += 1;
            if depth > 0 && numbers(4) > 0 {
                ways.push(*next);
                grow(numbers, depth - 1, &mut rest, next);
            } else {
                ways.push(1000 + numbers(4));
            }
        }
        lines += &format!(" @{not}%P1 BRA PT, BB{}\n BRA PT, BB{}\n", ways[0], ways[1]);
        *text += &lines;
        *text += &rest;
    }

    #[test]
    fn a_table_leads_where_its_tree_does() {
        let mut seed = 1u32;
        let mut numbers = |below: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) % below
        };
        let limits = Limits { least: 2, spread: 1000, most: 1000, extended: true };
        let mut made = 0;
        for _ in 0..2000 {
            let mut text = "BB0:\n %R0 = S2R SR33\n".to_string();
            grow(&mut numbers, 4, &mut text, &mut 1);
            (1000..1004).for_each(|end| text += &format!("BB{end}:\n EXIT PT\n"));
            let mut function = testing::parse(&text);
            let body = function.body();
            let tests = body.layout().iter().filter_map(|b| Some((*b, test(&body, *b, limits)?)));
            let mut all = scratch!(FxHashMap<BlockId, Test>);
            all.extend(tests);
            for switch in switches(&body, &all, limits, &Profile::default()).iter() {
                made += 1;
                let values = (-30..30).chain([i32::MIN, i32::MIN + 1, i32::MAX, i32::MAX - 1]);
                for value in values {
                    let mut at = switch.block;
                    while at == switch.block || switch.passed.contains(&at) {
                        let test = all[&at];
                        let numbers = holds(test.is, test.is_signed, i64::from(test.value));
                        let is = numbers.iter().any(|(a, b)| (*a..=*b).contains(&value.into()));
                        at = test.ways[usize::from(!is)];
                    }
                    let clamped = if switch.is_clamped { value.max(switch.least) } else { value };
                    let place = usize::try_from(i64::from(clamped) - i64::from(switch.least));
                    let entry = place.ok().and_then(|place| switch.entries.get(place));
                    assert_eq!(*entry.unwrap_or(&switch.default), at, "{value}\n{text}");
                }
            }
        }
        assert!(made > 500, "{made}");
    }

    #[test]
    fn a_comparison_holds_of_the_numbers_that_it_says() {
        use Comparison::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
        let all = [i32::MIN, -3, -2, -1, 0, 1, 2, i32::MAX];
        for (a, b) in all.iter().flat_map(|a| all.iter().map(move |b| (*a, *b))) {
            for is_signed in [true, false] {
                let order = if is_signed { a.cmp(&b) } else { (a as u32).cmp(&(b as u32)) };
                for is in [Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual] {
                    let wanted = match is {
                        Equal => order.is_eq(),
                        NotEqual => order.is_ne(),
                        Less => order.is_lt(),
                        LessEqual => order.is_le(),
                        Greater => order.is_gt(),
                        GreaterEqual => order.is_ge(),
                    };
                    let ranges = holds(is, is_signed, b.into());
                    let got = ranges.iter().any(|(from, to)| (*from..=*to).contains(&a.into()));
                    assert_eq!(got, wanted, "{a} {is:?} {b} {is_signed}");
                }
            }
        }
    }

    #[test]
    fn the_ends_of_all_numbers_are_far_apart() {
        assert_eq!(optimized(&[i32::MIN, i32::MAX, -1, 0]).1, 4);
    }
}
