//! Branches with many ways: `SWITCH index, first, BB0, BB1, …` goes to the block of number `index -
//! first` in its list, and to the last one for numbers beyond it. Lowering makes one of `brx.idx`;
//! one branch it stays until phase 94, `ExpandJmxComputation`, makes it a search among its targets
//! by halves.

use crate::analysis::Analyses;
use crate::build::{Emit, imm, not, r};
use crate::control_flow::branches::destination;
use crate::function::Marked;
use crate::notes::Notes;
use crate::params::Write;
use orias_components::pseudo::switch;
use orias_components::{BlockId, Body, Code, FlowEdit, InstId, Mod, Opcode, Operand, edges};
use rustc_hash::{FxHashMap, FxHashSet};

/// Phase 94.
pub fn expand_jmx_computation(
    code: Code<'_>,
    mut analyses: Write<'_, Analyses>,
    mut marked: Write<'_, Marked>,
    mut notes: Notes<'_>,
) {
    let mut body = code.body();
    let blocks = blocks_with_switch(&body);
    if blocks.is_empty() {
        return;
    }
    let mut passed = Vec::new();
    for (_, id) in &blocks {
        lead_past_empty_blocks(&mut body, *id, &mut passed);
    }
    let switches: FxHashSet<BlockId> = blocks.iter().map(|(block, _)| *block).collect();
    let mut free = free_targets(&body, &switches);
    let mut e = Emit::edit(body);
    for &block in e.body.walk().iter() {
        match free.get_mut(&block) {
            Some(is_placed) if *is_placed => continue,
            Some(is_placed) => *is_placed = true,
            None => {}
        }
        if !switches.contains(&block) {
            e.open(block);
            continue;
        }
        let mut insts = e.reopen(block);
        let Some(id) = insts.next_back() else { continue };
        insts.for_each(|id| e.keep(id));
        search(&mut e, id, &mut free, &mut marked);
    }
    let mut body = e.finish();
    analyses.edges(&mut body);
    passed.retain(|b| body.block(*b).preds().is_empty());
    passed.sort_unstable();
    passed.dedup();
    body.remove_blocks(&passed);
    notes.count(blocks.len());
}

/// The blocks that end in a SWITCH, with it.
fn blocks_with_switch(body: &Body<'_>) -> Vec<(BlockId, InstId)> {
    let last = |b: &BlockId| body.block(*b).insts().last().map(|id| (*b, *id));
    let all = body.layout().iter().filter_map(last);
    all.filter(|(_, id)| body.op(*id) == Opcode::SWITCH).collect()
}

/// Edges that a phi did not need after all lead through blocks that only branch on.
fn lead_past_empty_blocks(body: &mut Body<'_>, id: InstId, passed: &mut Vec<BlockId>) {
    let targets: FxHashSet<BlockId> = edges::targets(body.inst(id)).collect();
    let ends = targets.into_iter().map(|t| (t, destination(body, t)));
    let moved: Vec<(BlockId, BlockId)> = ends.filter(|(t, end)| t != end).collect();
    let led = |block| moved.iter().find(|(t, _)| *t == block).map_or(block, |(_, end)| *end);
    body.map_blocks(id, led);
    passed.extend(moved.iter().map(|(t, _)| *t));
}

/// Blocks that may stand anywhere, so behind the comparison that leads to them: one SWITCH alone
/// does, and nothing falls into them or out of them. Each with whether it has its place yet.
fn free_targets(body: &Body<'_>, switches: &FxHashSet<BlockId>) -> FxHashMap<BlockId, bool> {
    let falls = |b: BlockId| edges::falls_through(body, body.block(b));
    let pairs = body.layout().windows(2).filter(|pair| !falls(pair[0]) && !falls(pair[1]));
    let is_free = |b: &BlockId| match body.block(*b).preds()[..] {
        [only] => switches.contains(&only) && !switches.contains(b),
        _ => false,
    };
    pairs.map(|pair| pair[1]).filter(is_free).map(|b| (b, false)).collect()
}

/// Puts the search for the target in place of a SWITCH. Neighbours in the list with the same target
/// are one range.
fn search(e: &mut Emit<'_>, id: InstId, free: &mut FxHashMap<BlockId, bool>, marked: &mut Marked) {
    let inst = e.body.inst(id).to_inst();
    let index = inst.operands[switch::INDEX];
    let Operand::Imm(first) = inst.operands[switch::FIRST] else { return };
    let mut ranges: Vec<(u32, BlockId)> = Vec::new();
    for (i, target) in edges::targets(e.body.inst(id)).enumerate() {
        if ranges.last().is_none_or(|(_, last)| *last != target) {
            ranges.push((first as u32 + i as u32, target));
        }
    }
    let is_divergent = marked.divergent.remove(&id);
    e.start(e.body.loc(id), inst.guard);
    e.body.discard(id);
    // Ranges still to search, each with the block where its search starts.
    let mut work = vec![(e.block, 0, ranges.len())];
    while let Some((block, from, to)) = work.pop() {
        if block != e.block {
            e.open(block);
        }
        let (lower, middle) = (ranges[from].1, from + (to - from) / 2);
        if middle == from {
            finish(e, lower, free);
            continue;
        }
        let (p, two) = (e.temp_pred(), to - from == 2);
        e.icmp(r(p), Mod::GE, false, index, imm(ranges[middle].0));
        let upper = if to - middle == 1 { ranges[middle].1 } else { e.label() };
        // Of the last two, control goes on to the one that may stand here.
        let is_free = |b: BlockId| free.get(&b) == Some(&false);
        let (condition, away, next) = match two && is_free(upper) && !is_free(lower) {
            true => (not(r(p)), lower, upper),
            false => (r(p), upper, lower),
        };
        e.branch_if(condition, away);
        let branch = e.body.block(e.block).insts().last().copied();
        marked.divergent.extend(branch.filter(|_| is_divergent));
        if to - middle > 1 {
            work.push((upper, middle, to));
        }
        if middle - from == 1 {
            finish(e, next, free);
        } else {
            let rest = e.label();
            work.push((rest, from, middle));
        }
    }
}

/// Goes on to a target: it follows here when it is free, or is branched to.
fn finish(e: &mut Emit<'_>, target: BlockId, free: &mut FxHashMap<BlockId, bool>) {
    match free.get_mut(&target) {
        Some(is_placed) if !*is_placed => {
            *is_placed = true;
            e.open(target);
        }
        _ => e.branch(target),
    }
}

/// Gives each edge from a SWITCH to a block that others lead to as well a block of its own: what a
/// phi there takes along by one way need not be written for all.
pub fn split_edges(body: &mut Body<'_>) {
    let blocks = blocks_with_switch(body);
    if blocks.is_empty() {
        return;
    }
    let mut edit = FlowEdit::of(body);
    for (block, id) in blocks {
        for to in body.block(block).succs().to_vec() {
            if body.block(to).preds().len() > 1 {
                edit.lead_around(body, (block, id), to);
            }
        }
    }
    edit.finish(body);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use orias_components::{Function, text};

    const START: &str = "BB0:\n %R0 = S2R SR33\n";

    fn printed(function: &mut Function) -> String {
        text::print(&function.body(), &text::Style::default())
    }

    /// How often a word stands in the text of a switch over these targets, once it is expanded.
    fn expanded(targets: &str, word: &str) -> usize {
        let mut function = testing::parse(&format!(
            "{START} SWITCH %R0, 0x0, {targets}\nBB1:\n EXIT PT\nBB2:\n STS [RZ], %R0\n EXIT PT\nBB3:\n BRA PT, BB2\n"
        ));
        function.run(expand_jmx_computation);
        edges::check(&function.body()).expect("edges");
        let text = printed(&mut function);
        text.split(|c: char| !c.is_alphanumeric()).filter(|w| *w == word).count()
    }

    #[test]
    fn a_search_compares_once_less_than_there_are_ranges() {
        assert_eq!(expanded("BB1, BB2, BB1, BB2", "ISETP"), 3);
        assert_eq!(expanded("BB1, BB1, BB2, BB2", "ISETP"), 1);
        assert_eq!(expanded("BB1, BB1", "ISETP"), 0);
    }

    #[test]
    fn an_empty_block_on_the_way_is_passed_and_gone() {
        assert_eq!(expanded("BB1, BB3, BB2", "BB3"), 0);
        assert_eq!(expanded("BB1, BB3, BB2", "ISETP"), 1);
    }

    #[test]
    fn an_edge_to_where_other_ways_lead_too_is_split() {
        let mut function = testing::parse(&format!(
            "{START} SWITCH %R0, 0x0, BB1, BB2, BB2\nBB1:\n NOP\nBB2:\n STS [RZ], %R0\n EXIT PT\n"
        ));
        split_edges(&mut function.body());
        function.body().update_edges();
        edges::check(&function.body()).expect("edges");
        let text = printed(&mut function);
        assert!(text.contains("SWITCH %R0, 0x0, BB1, BB3, BB3"), "{text}");
    }
}
