//! What the editor promises.

use crate::body::Body;
use crate::ids::{BlockId, InstId};
use crate::inst::{Inst, Loc};
use crate::{
    Cloner, Copies, FlowEdit, Function, Opcode, Operand, RegFile, RegUse, Region, VRegId, edges,
    phis, text, validate,
};

const DIAMOND: &str = "
    BB0:
      %R0 = S2R SR33
      @P0 BRA PT, BB2
    BB1:
      %R1 = MOV %R0, 0xf
      BRA PT, BB3
    BB2:
      %R2 = MOV %R0, 0xf
    BB3:
      %R3 = MOVPHI %R1, BB1, %R2, BB2
      EXIT PT";

/// Does an edit of the diamond, and gives the opcodes of each block of the layout, with its number.
/// What it leaves is valid, and the edges that it kept are those that follow from the instructions.
fn edited(edit: impl FnOnce(&mut Body<'_>)) -> String {
    let mut function = Function::default();
    let mut body = function.body();
    text::parse(DIAMOND, &mut body).expect("Ori");
    body.update_edges();
    edit(&mut body);
    validate::validate(&body).expect("a valid body");
    let succs = |body: &Body<'_>| -> Vec<Vec<BlockId>> {
        body.layout().iter().map(|b| body.block(*b).succs().to_vec()).collect()
    };
    let kept = succs(&body);
    body.update_edges();
    assert_eq!(kept, succs(&body), "the editor keeps edges");
    edges::check(&body).expect("edges");
    let op = |id: &InstId| body.op(*id).name();
    let block = |b: &BlockId| {
        let ops: Vec<&str> = body.block(*b).insts().iter().map(op).collect();
        format!("{}: {}", b.0, ops.join(" "))
    };
    body.layout().iter().map(block).collect::<Vec<_>>().join(", ")
}

fn nop() -> Inst {
    Inst::new(Opcode::NOP, &[], 0, &[])
}

/// The blocks that a phi takes values from.
fn ways(body: &Body<'_>, id: InstId) -> Vec<u32> {
    body.inst(id).blocks().map(|b| b.0).collect()
}

#[test]
fn instructions_come_before_the_places_that_the_block_had() {
    let places = [0, 1, 1].map(|at| (at, nop(), Loc::default()));
    let text = edited(|body| body.insert_all(BlockId(0), places));
    assert!(text.starts_with("0: NOP S2R NOP NOP BRA, "), "{text}");
}

#[test]
fn registers_that_nothing_names_lose_their_numbers() {
    let mut function = Function::default();
    let mut body = function.body();
    let code = "
    BB0:
      %R2 = S2R SR33
      @%P6 %R9 = MOV %R2, 0xf
      %R7:2 = LDS.64 [%R9]
      STS [%R9], %R2
      EXIT PT";
    text::parse(code, &mut body).expect("Ori");
    let load = body.block(BlockId(0)).insts()[2];
    body.remove(BlockId(0), load);
    let before = body.stamps();
    body.renumber_vregs();
    let text = text::print(&body, &text::Style::default());
    assert!(text.contains("%R0 = S2R") && text.contains("@%P1 %R2 = MOV %R0, 0xf"), "{text}");
    assert!(text.contains("STS [%R2], %R0"), "{text}");
    let files: Vec<RegFile> =
        (0..body.vreg_count() as u32).map(|v| body.vreg(VRegId(v)).file).collect();
    assert_eq!(files, [RegFile::R, RegFile::P, RegFile::R]);
    assert_eq!(before.flow, body.stamps().flow, "edges are what they were");
    assert_ne!(before.registers, body.stamps().registers);
    validate::validate(&body).expect("a valid body");
}

#[test]
fn what_is_replaced_is_removed() {
    let text = edited(|body| {
        let new = [1, 2].map(|_| body.new_inst(&nop(), Loc::default()));
        body.replace(BlockId(2), 0..1, new.to_vec());
        assert!(!body.has_inst(InstId(4)));
    });
    assert!(text.contains("2: NOP NOP, "), "{text}");
}

#[test]
fn an_instruction_moves_within_its_block() {
    let text = edited(|body| {
        body.insert_all(BlockId(0), [(0, nop(), Loc::default())]);
        body.shift(BlockId(0), 0, 1);
    });
    assert!(text.starts_with("0: S2R NOP BRA, "), "{text}");
}

#[test]
fn a_walk_that_keeps_all_is_no_edit() {
    edited(|body| {
        let stamps = body.stamps();
        body.rewrite_all(|_, out, id| out.keep(id));
        assert_eq!(body.stamps(), stamps);
    });
}

#[test]
fn a_walk_says_what_stands_before_behind_and_in_place_of_each() {
    let text = edited(|body| {
        body.rewrite(BlockId(1), |body, out, id| {
            out.put(body, &nop(), Loc::default());
            match body.op(id) {
                Opcode::MOV => {
                    let inst = Inst { op: Opcode::IABS, ..body.inst(id).to_inst() };
                    out.put(body, &inst, Loc::default());
                }
                _ => out.keep(id),
            }
        });
        assert!(!body.has_inst(InstId(2)), "what the walk does not keep is removed");
        assert!(body.has_inst(InstId(3)));
    });
    assert!(text.contains("1: NOP IABS NOP BRA, "), "{text}");
}

#[test]
fn the_end_of_a_list_goes_without_a_new_one() {
    let text = edited(|body| {
        body.insert_all(BlockId(2), [(1, nop(), Loc::default())]);
        body.rewrite(BlockId(2), |body, out, id| {
            if body.op(id) != Opcode::NOP {
                out.keep(id);
            }
        });
    });
    assert!(text.contains("2: MOV, "), "{text}");
}

#[test]
fn a_block_that_is_split_leads_to_its_second_part_and_phis_know_that() {
    let text = edited(|body| {
        body.rewrite_all(|body, out, id| {
            if body.op(id) == Opcode::BRA {
                out.split(body);
            }
            out.keep(id);
        });
        let phi = phis::of(body, BlockId(3)).next().expect("it stays");
        assert_eq!(ways(body, phi), [5, 2], "BB1 ends in BB5 now");
    });
    assert_eq!(text, "0: S2R, 4: BRA, 1: MOV, 5: BRA, 2: MOV, 3: MOVPHI EXIT");
}

#[test]
fn an_edge_leads_through_a_new_block() {
    let text = edited(|body| {
        let mut edit = FlowEdit::of(body);
        edit.lead_through(body, &[BlockId(0)], BlockId(2));
        edit.finish(body);
    });
    assert_eq!(text, "0: S2R BRA, 1: MOV BRA, 4: , 2: MOV, 3: MOVPHI EXIT");
}

#[test]
fn values_that_come_by_all_edges_of_a_new_block_meet_there() {
    let text = edited(|body| {
        let mut edit = FlowEdit::of(body);
        edit.lead_through(body, &[BlockId(1), BlockId(2)], BlockId(3));
        edit.finish(body);
    });
    assert_eq!(text, "0: S2R BRA, 1: MOV BRA, 2: MOV, 4: MOVPHI, 3: EXIT");
}

#[test]
fn one_of_several_edges_brings_its_value_by_the_new_block() {
    let text = edited(|body| {
        let mut edit = FlowEdit::of(body);
        edit.lead_through(body, &[BlockId(1)], BlockId(3));
        edit.finish(body);
        let phi = phis::of(body, BlockId(3)).next().expect("it stays");
        assert_eq!(ways(body, phi), [4, 2]);
    });
    assert_eq!(text, "0: S2R BRA, 1: MOV BRA, 2: MOV, 3: MOVPHI EXIT, 4: BRA", "BB2 falls in");
}

#[test]
fn an_edge_leads_around_by_the_end_of_the_layout() {
    let text = edited(|body| {
        let mut edit = FlowEdit::of(body);
        edit.lead_around(body, (BlockId(0), InstId(1)), BlockId(2));
        edit.finish(body);
    });
    assert_eq!(text, "0: S2R BRA, 1: MOV BRA, 2: MOV, 3: MOVPHI EXIT, 4: BRA");
}

#[test]
fn a_block_ends_with_what_its_only_successor_does() {
    let text = edited(|body| {
        body.rewrite_all(|body, out, id| {
            out.keep(id);
            if id == InstId(0) {
                out.split(body);
            }
        });
        let mut edit = FlowEdit::of(body);
        assert_eq!(edit.order().next(BlockId(0)), Some(BlockId(4)));
        edit.merge(body, BlockId(0), BlockId(4));
        edit.finish(body);
    });
    assert_eq!(text, "0: S2R BRA, 1: MOV BRA, 2: MOV, 3: MOVPHI EXIT");
}

#[test]
fn a_block_is_cloned_for_one_of_its_ways() {
    let text = edited(|body| {
        let mut edit = FlowEdit::of(body);
        let from = [BlockId(1)];
        let mut cloner = Cloner::in_ssa(Default::default());
        let made = cloner.block(body, &mut edit, BlockId(3), (BlockId(1), &from));
        edit.finish(body);
        let [old, new] = [BlockId(3), made.blocks[&BlockId(3)]];
        let phi = |block| phis::of(body, block).next().expect("it stays");
        assert_eq!((ways(body, phi(old)), ways(body, phi(new))), (vec![2], vec![1]));
        assert_eq!(made.insts[&phi(old)], phi(new));
        let name = |block| body.inst(phi(block)).reg(0).expect("a register").reg;
        assert_eq!(name(new), made.regs[&name(old).vreg().expect("no physical one")]);
        assert_ne!(name(old), name(new));
    });
    assert_eq!(text, "0: S2R BRA, 1: MOV BRA, 4: MOVPHI EXIT, 2: MOV, 3: MOVPHI EXIT");
}

#[test]
fn a_region_outside_ssa_form_keeps_its_names_and_falls_where_it_did() {
    let text = edited(|body| {
        let phi = body.block(BlockId(3)).insts()[0];
        body.remove(BlockId(3), phi);
        let mut edit = FlowEdit::of(body);
        let region = Region {
            blocks: &[BlockId(2)],
            after: BlockId(0),
            from: &[BlockId(0)],
            copies: Copies::Whole,
        };
        let made = Cloner::outside_ssa().region(body, &mut edit, &region);
        edit.finish(body);
        assert!(made[0].regs.is_empty());
        let moves = [BlockId(2), made[0].blocks[&BlockId(2)]].map(|b| body.block(b).insts()[0]);
        assert_eq!(body.inst(moves[0]).reg(0), body.inst(moves[1]).reg(0));
    });
    assert_eq!(text, "0: S2R BRA BRA, 4: MOV BRA, 1: MOV BRA, 2: MOV, 3: EXIT");
}

#[test]
fn a_new_phi_has_a_pair_for_each_way() {
    edited(|body| {
        let to = RegUse::new(body.new_vreg(RegFile::R, 1, 1));
        let old = body.block(BlockId(3)).insts()[0];
        let value = body.inst(old).reg(1);
        let phi = phis::new(body, to, &[(value, BlockId(1)), (None, BlockId(2))]);
        assert_eq!(body.inst(phi).operand(3), Operand::RZ, "a way that brings nothing");
        body.replace(BlockId(3), 1..1, vec![phi]);
        assert_eq!(phis::end(body, BlockId(3)), 2);
    });
}

#[test]
fn a_body_says_which_instructions_have_changed_since_a_number() {
    let mut function = Function::default();
    let mut body = function.body();
    text::parse(DIAMOND, &mut body).expect("Ori");
    let changed = |body: &Body<'_>, stamp| -> Option<Vec<u32>> {
        body.changed_since(stamp).map(|ids| ids.map(|id| id.0).collect())
    };
    let start = body.stamp();
    assert_eq!(changed(&body, start), Some(vec![]));
    body.set_operand(InstId(0), 1, Operand::Special(0x22));
    let later = body.stamp();
    body.remove(BlockId(1), InstId(2));
    assert_eq!(changed(&body, start), Some(vec![0, 2]));
    assert_eq!(changed(&body, later), Some(vec![2]));
    // Nothing is known of a number that no body had yet, and of more edits than are worth it.
    assert_eq!(changed(&body, 0), None);
    (0..100).for_each(|_| body.set_operand(InstId(0), 1, Operand::Special(0x21)));
    assert_eq!(changed(&body, start), None);
    let now = body.stamp();
    body.arena.clear();
    assert_eq!(changed(&body, now), None, "the next function is another one");
}
