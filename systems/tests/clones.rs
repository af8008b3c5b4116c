//! Clones of blocks and loops, in SSA form and outside: what they leave is valid, in SSA form where
//! it was, and does what it did before.

use orias_components::validate::validate;
use orias_components::{
    BlockId, Body, Cloned, Copies, FlowEdit, Function, Opcode, Region, edges, text,
};
use orias_systems::analysis::Analyses;
use orias_systems::ssa::{self, Form};
use orias_systems::testing::{self, Random, clones, run};

/// A body of a few blocks whose branches go anywhere, by what they computed. Each block burns fuel,
/// so that it ends; pairs are written in halves and as a whole.
fn program(random: &mut Random) -> String {
    let blocks = 2 + random.below(6);
    let fuel = 5 + random.below(20);
    let mut text = format!(
        "vreg %R0:2 align 2\nvreg %R2:2 align 2\nvreg %R3:1 align 1\nvreg %R4:1 align 1\n\
         vreg %P5:1 align 1\nvreg %P6:1 align 1\nvreg %R7:1 align 1\nvreg %P8:1 align 1\n\
         BB0:\n%R7 = MOV {fuel:#x}, 0xf\n%R0:2 = LDC.64 c[0x0][0x10]\n%R2:2 = LDC.64 c[0x0][0x20]\n\
         %R3 = MOV 0x3, 0xf\n%R4 = MOV 0x5, 0xf\n%P5, %P6 = ISETP.LT.AND %R0, %R2, PT\n"
    );
    for block in 1..=blocks {
        text += &format!(
            "BB{block}:\n%R7 = VIADD %R7, 0xffffffff\n%P8, PT = ISETP.EQ.AND %R7, RZ, PT\n\
             @%P8 BRA PT, BB99\nBB{}:\n",
            block + 20
        );
        for _ in 0..random.below(5) {
            let guard = random.of(&["", "", "", "@%P5 ", "@!%P6 "]);
            let line = random.of(&[
                "%R0 = VIADD %R3, 0x1",
                "%R0[1] = MOV %R4, 0xf",
                "%R2[1], PT, PT = IADD3 %R2, %R0, RZ",
                "%R2:2 = LDC.64 c[0x0][0x30]",
                "%R3, PT, PT = IADD3 %R3, %R0[1], RZ",
                "%R4 = VIADD %R4, 0x7",
                "%R4 = MOV %R3, 0xf",
                "%P5, PT = ISETP.LT.AND %R4, %R2[1], PT",
                "%P6, %P5 = ISETP.GE.U32.AND %R3, %R7, PT",
                "STS.64 [RZ+0x10], %R0:2",
                "STS.64 [RZ], %R2:2",
                "STS [RZ+0x20], %R4",
            ]);
            text += &format!("{guard}{line}\n");
        }
        let condition = random.of(&["", "@%P5 ", "@!%P5 ", "@%P6 "]);
        let to = 1 + random.below(blocks);
        text += &format!("{condition}BRA PT, BB{to}\n");
        if random.below(4) == 0 && !condition.is_empty() {
            text += &format!("BRA PT, BB{}\n", 1 + random.below(blocks));
        }
    }
    text += "BB98:\nSTS [RZ+0x30], %R3\nBB99:\nSTS [RZ], %R3\nSTS.64 [RZ+0x10], %R0:2\n";
    text + "STS.64 [RZ], %R2:2\nSTS [RZ+0x20], %R4\nEXIT PT"
}

fn ran(body: &Body<'_>, what: &str) -> run::Ran {
    let constant = |offset: i32| offset as u32 & 0x14;
    run::run(body, constant, 400).unwrap_or_else(|| panic!("{what} does not end"))
}

/// Holds a body to what it was, and gives what it does.
fn checked(function: &mut Function, is_ssa: bool, what: &str) -> run::Ran {
    let mut body = function.body();
    let printed = text::print(&body, &text::Style::default());
    let fail = |error: String| -> ! { panic!("{what}: {error}\n{printed}") };
    validate(&body).unwrap_or_else(|e| fail(e.to_string()));
    let kept: Vec<Vec<BlockId>> =
        body.layout().iter().map(|b| body.block(*b).succs().to_vec()).collect();
    body.update_edges();
    let made: Vec<Vec<BlockId>> =
        body.layout().iter().map(|b| body.block(*b).succs().to_vec()).collect();
    let sorted = |all: Vec<Vec<BlockId>>| -> Vec<Vec<BlockId>> {
        all.into_iter()
            .map(|mut one| {
                one.sort_unstable();
                one
            })
            .collect()
    };
    if sorted(kept) != sorted(made) {
        fail("the editor does not keep edges".to_string());
    }
    edges::check(&body).unwrap_or_else(|e| fail(e));
    if is_ssa {
        ssa::check(&body, &mut Analyses::default()).unwrap_or_else(|e| fail(e));
    }
    ran(&body, &format!("{what}\n{printed}"))
}

fn parsed(text: &str, is_ssa: bool) -> Function {
    let mut function = testing::parse(text);
    if is_ssa {
        function.run(ssa::generate_mov_phi);
        assert!(function.world().resource::<Form>().is_ssa);
    }
    function
}

/// One way to clone a loop.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Way {
    Peel,
    Unroll,
    Copy,
}

/// Clones a loop so often; the clones, and the loop's header.
fn clone_loop(
    function: &mut Function,
    at: usize,
    way: Way,
    times: usize,
) -> (Vec<Cloned>, BlockId) {
    let form = *function.world().resource::<Form>();
    let mut body = function.body();
    let flow = Analyses::default().flow(&body);
    let of = &flow.loops().all[at];
    let header = BlockId(of.header);
    let mut blocks = vec![header];
    blocks.extend(of.blocks.iter().map(BlockId).filter(|b| *b != header));
    let mut cloner = ssa::cloner(&body, form);
    let mut edit = FlowEdit::of(&body);
    let latches: Vec<BlockId> = of.latches.iter().copied().map(BlockId).collect();
    let entries: Vec<BlockId> = of.entries.iter().copied().map(BlockId).collect();
    let (after, from, copies) = match way {
        Way::Peel => (entries[0], &entries[..], Copies::Rounds(times)),
        Way::Unroll => (latches[0], &latches[..], Copies::Rounds(times)),
        Way::Copy => (entries[0], &entries[..1], Copies::Whole),
    };
    let region = Region { blocks: &blocks, after, from, copies };
    let cloned = cloner.region(&mut body, &mut edit, &region);
    edit.finish(&mut body);
    (cloned, header)
}

#[test]
fn loops_that_are_peeled_unrolled_and_copied_do_what_they_did() {
    let (mut loops, mut rounds) = (0, 0);
    for seed in 0..250 {
        let text = program(&mut Random(seed));
        for is_ssa in [true, false] {
            let mut before = parsed(&text, is_ssa);
            let expected = checked(&mut before, is_ssa, "before");
            let count = Analyses::default().flow(&before.body()).loops().all.len();
            for at in 0..count {
                for (way, times) in [
                    (Way::Peel, 1),
                    (Way::Peel, 2),
                    (Way::Unroll, 1),
                    (Way::Unroll, 3),
                    (Way::Copy, 1),
                ] {
                    let mut function = parsed(&text, is_ssa);
                    let (cloned, header) = clone_loop(&mut function, at, way, times);
                    let what = format!("{way:?} {times} of {at} in {seed}, SSA: {is_ssa}");
                    let ran = checked(&mut function, is_ssa, &what);
                    assert_eq!(ran.stores, expected.stores, "{what}\n{text}");
                    let runs = |of: &run::Ran, b: BlockId| of.runs.get(&b).copied().unwrap_or(0);
                    let of_clones: Vec<u64> =
                        cloned.iter().map(|made| runs(&ran, made.blocks[&header])).collect();
                    let sum: u64 = of_clones.iter().sum();
                    assert_eq!(sum + runs(&ran, header), runs(&expected, header), "{what}");
                    if way == Way::Unroll {
                        // Of so many rounds in a row each clone has its part.
                        assert!(of_clones.is_sorted_by(|a, b| a >= b), "{what}: {of_clones:?}");
                    }
                    loops += 1;
                    rounds += sum;
                }
            }
        }
    }
    assert!(loops > 1000 && rounds > 2000, "{loops} loops, {rounds} rounds of clones");
}

#[test]
fn all_loops_are_peeled_by_one_cloner() {
    for seed in 300..600 {
        let text = program(&mut Random(seed));
        for is_ssa in [true, false] {
            let expected = checked(&mut parsed(&text, is_ssa), is_ssa, "before");
            let mut function = parsed(&text, is_ssa);
            let form = *function.world().resource::<Form>();
            let mut body = function.body();
            let flow = Analyses::default().flow(&body);
            clones::clone_loops(&mut body, &flow, form, clones::Way::Peel);
            let what = format!("all loops of {seed}, SSA: {is_ssa}");
            assert_eq!(checked(&mut function, is_ssa, &what).stores, expected.stores, "{what}");
        }
    }
}

#[test]
fn each_block_with_a_clone_for_some_of_its_ways_does_what_it_did() {
    let (mut clones, mut runs) = (0, 0);
    for seed in 1000..1150 {
        let text = program(&mut Random(seed));
        for is_ssa in [true, false] {
            let expected = checked(&mut parsed(&text, is_ssa), is_ssa, "before");
            let layout = parsed(&text, is_ssa).body().layout().to_vec();
            for block in layout {
                let mut function = parsed(&text, is_ssa);
                let form = *function.world().resource::<Form>();
                let mut body = function.body();
                let preds = body.block(block).preds().to_vec();
                // What nothing comes to is not in SSA form.
                let flow = Analyses::default().flow(&body);
                if preds.is_empty() || !flow.dominators().is_reached(block.0) {
                    continue;
                }
                let mut random = Random(seed * 100 + u64::from(block.0));
                let some: Vec<BlockId> =
                    preds.iter().copied().filter(|_| random.below(2) == 0).collect();
                let after = body.layout()[random.below(body.layout().len() as u64) as usize];
                let mut edit = FlowEdit::of(&body);
                let mut cloner = ssa::cloner(&body, form);
                let cloned = cloner.block(&mut body, &mut edit, block, (after, &some));
                // And the clone once more, for all its ways.
                let clone = cloned.blocks[&block];
                let all = body.block(clone).preds().to_vec();
                let again = cloner.block(&mut body, &mut edit, clone, (clone, &all));
                edit.finish(&mut body);
                let what = format!("{block} of {seed} for {some:?} behind {after}, SSA: {is_ssa}");
                let ran = checked(&mut function, is_ssa, &what);
                assert_eq!(ran.stores, expected.stores, "{what}\n{text}");
                clones += 1;
                runs += ran.runs.get(&again.blocks[&clone]).copied().unwrap_or(0);
            }
        }
    }
    assert!(clones > 1000 && runs > 500, "{clones} clones, {runs} runs");
}

#[test]
fn a_clone_has_the_control_and_the_places_of_what_it_is_one_of() {
    let text = "
        BB0:
          %R0 = MOV 0x4, 0xf
        BB1:
          %R1 = MOVPHI %R0, BB0, %R2, BB1
          %B5 = BSSY BB3
          %R2 = VIADD %R1, 0xffffffff
          %P3, PT = ISETP.NE.AND %R2, RZ, PT
          BSYNC %B5
          @%P3 BRA PT, BB1
        BB2:
          STS [RZ], %R2
        BB3:
          EXIT PT";
    let mut function = testing::parse(text);
    let mut body = function.body();
    let mut edit = FlowEdit::of(&body);
    let mut cloner = ssa::cloner(&body, Form { is_ssa: true, ..Form::default() });
    let from = [BlockId(0)];
    let stamps = body.stamps();
    let cloned = cloner.block(&mut body, &mut edit, BlockId(1), (BlockId(0), &from));
    edit.finish(&mut body);
    assert_ne!((stamps.edits, stamps.flow, stamps.registers), {
        let now = body.stamps();
        (now.edits, now.flow, now.registers)
    });
    assert_eq!(body.layout(), [0, 4, 1, 2, 3].map(BlockId));
    assert_eq!((cloned.insts.len(), cloned.regs.len(), cloned.blocks.len()), (6, 3, 1));
    let clone = |op: Opcode| {
        let insts = body.block(BlockId(4)).insts();
        insts.iter().map(|id| body.inst(*id)).find(|i| i.op == op).expect("it is cloned")
    };
    assert_eq!(clone(Opcode::BSSY).blocks().collect::<Vec<_>>(), [BlockId(3)]);
    let barrier = body.inst(body.block(BlockId(1)).insts()[1]).reg(0);
    assert_eq!(clone(Opcode::BSSY).reg(0), barrier, "a barrier is no value");
    assert_eq!(clone(Opcode::BRA).blocks().collect::<Vec<_>>(), [BlockId(1)]);
    assert_eq!(clone(Opcode::MOVPHI).blocks().collect::<Vec<_>>(), [BlockId(0)]);
    for (old, new) in &cloned.insts {
        assert_eq!(body.loc(*old), body.loc(*new));
        assert_eq!(body.inst(*old).control(), body.inst(*new).control());
    }
    body.update_edges();
    ssa::check(&body, &mut Analyses::default()).expect("SSA form");
}
