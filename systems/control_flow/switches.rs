//! Branches with many ways: `SWITCH index, BB0, BB1, …` goes to the block of this number in its
//! list. Lowering makes one of `brx.idx`; one branch it stays until phase 94,
//! `ExpandJmxComputation`, makes it a jump through a table of constant bank 2.

use crate::analysis::Analyses;
use crate::build::{Emit, cell, imm, r, wide};
use crate::control_flow::branches::destination;
use crate::function::Marked;
use crate::notes::Notes;
use crate::params::Write;
use orias_components::pseudo::{brx, switch};
use orias_components::{
    BlockId, Body, Code, FlowEdit, Guard, InstId, Opcode, Operand, RegUse, View, edges,
};
use rustc_hash::FxHashSet;

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
    let mut e = Emit::edit(body);
    let (mut switches, mut table) = (blocks.iter().peekable(), 0);
    for &block in e.body.walk().iter() {
        if switches.next_if(|(of, _)| *of == block).is_none() {
            e.open(block);
            continue;
        }
        let mut insts = e.reopen(block);
        let Some(id) = insts.next_back() else { continue };
        insts.for_each(|id| e.keep(id));
        table += jump(&mut e, id, table, &mut marked);
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

/// The constant bank with tables.
const BANK: u8 = 2;

/// Bytes of an entry of a table.
const ENTRY: u32 = 4;

/// Puts a jump through a table in place of a SWITCH, as ptxas 13.0.88 has it at every level: the
/// table holds offsets from the start of the section and begins where the function's tables are in
/// bank 2; BRX adds the offset, as 64 bits with its sign, to its own place, which is taken off
/// again by the number in its word. Gives the bytes of the table.
fn jump(e: &mut Emit<'_>, id: InstId, table: u32, marked: &mut Marked) -> u32 {
    let mut operands = vec![Operand::RZ, imm(table)];
    operands.extend(edges::targets(e.body.inst(id)).map(Operand::Block));
    let bytes = ENTRY * (operands.len() - brx::TABLE - 1) as u32;
    let index = e.body.inst(id).to_inst().operands[switch::INDEX];
    let is_divergent = marked.divergent.remove(&id);
    e.start(e.body.loc(id), Guard::ALWAYS);
    e.body.discard(id);
    let (place, offset) = (e.temp(1), e.temp(2));
    e.shl(r(place), index, imm(ENTRY.trailing_zeros()));
    let mut entry = Operand::constant(BANK, table as i32);
    entry.map_regs(|_| RegUse::new(place));
    e.ldc(&[], cell(offset, 0), entry);
    e.shr(cell(offset, 1), cell(offset, 0), imm(31), true);
    operands[brx::OFFSET] = wide(offset, 2);
    e.put(Opcode::BRX, &[], 0, &operands);
    let branch = e.body.block(e.block).insts().last().copied();
    marked.divergent.extend(branch.filter(|_| is_divergent));
    bytes
}

/// Whether an instruction loads an entry of a table. (What [`crate::calls`] loads from the same
/// bank is the address of a function, and as wide.)
pub fn is_entry_load(inst: View<'_>) -> bool {
    let is_of_bank =
        |o: Operand| matches!(o, Operand::Const(c) if c.bank == BANK && !c.is_bindless());
    inst.op == Opcode::LDC && inst.mods().is_empty() && inst.sources().any(is_of_bank)
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

    /// The text of a switch over these targets, once it is expanded.
    fn expanded(targets: &str) -> String {
        let mut function = testing::parse(&format!(
            "{START} SWITCH %R0, {targets}\nBB1:\n EXIT PT\nBB2:\n STS [RZ], %R0\n EXIT PT\nBB3:\n BRA PT, BB2\n"
        ));
        function.run(expand_jmx_computation);
        edges::check(&function.body()).expect("edges");
        printed(&mut function)
    }

    #[test]
    fn a_switch_is_a_jump_through_a_table() {
        let text = expanded("BB1, BB2, BB1, BB2");
        let jump = [
            "%R1 = SHF.L.U32 %R0, 0x2, RZ",
            "%R2 = LDC c[0x2][%R1]",
            "%R2[1] = SHF.R.S32.HI RZ, 0x1f, %R2",
            "BRX %R2:2, 0x0, BB1, BB2, BB1, BB2",
        ];
        assert!(jump.iter().all(|line| text.contains(line)), "{text}");
    }

    #[test]
    fn the_table_of_the_second_switch_begins_where_that_of_the_first_ends() {
        let mut function = testing::parse(&format!(
            "{START} SWITCH %R0, BB1, BB2, BB2\nBB1:\n SWITCH %R0, BB2, BB3\nBB2:\n EXIT PT\nBB3:\n EXIT PT\n"
        ));
        function.run(expand_jmx_computation);
        let text = printed(&mut function);
        assert!(text.contains("0x0, BB1, BB2, BB2") && text.contains("0xc, BB2, BB3"), "{text}");
    }

    #[test]
    fn an_empty_block_on_the_way_is_passed_and_gone() {
        assert!(!expanded("BB1, BB3, BB2").contains("BB3"));
    }

    #[test]
    fn an_edge_to_where_other_ways_lead_too_is_split() {
        let mut function = testing::parse(&format!(
            "{START} SWITCH %R0, BB1, BB2, BB2\nBB1:\n NOP\nBB2:\n STS [RZ], %R0\n EXIT PT\n"
        ));
        split_edges(&mut function.body());
        function.body().update_edges();
        edges::check(&function.body()).expect("edges");
        let text = printed(&mut function);
        assert!(text.contains("SWITCH %R0, BB1, BB3, BB3"), "{text}");
    }
}
