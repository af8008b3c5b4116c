use bevy_ecs::system::IntoSystem;
use orias_components::{Control, text};

use super::{advanced_scoreboards_and_opexes, process_o0_waits_and_sbs};
use crate::analysis::cfg;
use crate::function::Options;
use crate::testing;

/// Runs a phase over text and returns the control of every instruction in layout order.
fn control<M>(text: &str, phase: impl IntoSystem<(), (), M>) -> Vec<Control> {
    let mut function = testing::function();
    text::parse(text, &mut function.body()).unwrap_or_else(|e| panic!("{e}"));
    function.world().insert_resource(Options { opt_level: 1, ..Options::for_test() });
    function.run(cfg::analyze_control_flow);
    function.run(phase);
    let body = function.body();
    let all = body.layout().iter().flat_map(|b| body.block(*b).insts());
    all.map(|id| body.inst(*id).control()).collect()
}

#[test]
fn a_load_is_awaited_by_its_reader_and_not_before() {
    let c = control(
        "BB0:
            R2 = LDC c[0x0][0x210]
            R3, PT, PT = IADD3 R4, R5, RZ
            R6, PT, PT = IADD3 R2, R3, RZ
            EXIT PT
        ",
        advanced_scoreboards_and_opexes,
    );
    let sb = c[0].write_sb;
    assert!(sb < 6, "the load counts on a scoreboard");
    assert_eq!(c[1].wait, 0, "who does not need it does not wait");
    assert_eq!(c[2].wait, 1 << sb);
    assert!(c[1].stall >= 4, "an ALU result needs four cycles");
}

#[test]
fn the_next_instruction_sees_a_scoreboard_only_after_two_cycles() {
    let c = control(
        "BB0:
            R2 = LDC c[0x0][0x210]
            R6, PT, PT = IADD3 R2, R3, RZ
            EXIT PT
        ",
        advanced_scoreboards_and_opexes,
    );
    assert!(c[0].stall >= 2);
}

#[test]
fn overwriting_the_source_of_a_store_waits_for_its_read() {
    let c = control(
        "BB0:
            STS [R2], R3
            R3, PT, PT = IADD3 R4, R5, RZ
            EXIT PT
        ",
        advanced_scoreboards_and_opexes,
    );
    assert!(c[0].read_sb < 6);
    assert_eq!(c[1].wait, 1 << c[0].read_sb);
}

#[test]
fn a_uniform_source_of_a_store_may_be_overwritten_at_once() {
    let c = control(
        "BB0:
            STS [R2+UR4], R3
            UR4 = UMOV 0x1
            EXIT PT
        ",
        advanced_scoreboards_and_opexes,
    );
    assert_eq!(c[1].wait, 0, "it was read at issue");
}

#[test]
fn a_load_does_not_overwrite_a_source_in_the_next_cycle() {
    let c = control(
        "BB0:
            R3 = FADD R4, R5
            R4 = LDC c[0x0][0x210]
            EXIT PT
        ",
        advanced_scoreboards_and_opexes,
    );
    assert_eq!(c[0].stall, 2);
}

#[test]
fn the_low_half_of_a_wide_product_is_awaited_for_a_shorter_time() {
    let stall = |reader: &str| {
        let text = format!(
            "BB0:
                R2:2, PT = IMAD.WIDE R4, R5, R6:2
                R8 = {reader}
                EXIT PT
            "
        );
        control(&text, advanced_scoreboards_and_opexes)[0].stall
    };
    assert_eq!((stall("MOV R2, 0xf"), stall("MOV R3, 0xf")), (3, 5));
}

#[test]
fn a_guard_waits_thirteen_cycles_for_its_comparison() {
    let c = control(
        "BB0:
            P0, PT = ISETP.LT.AND R2, R3, PT
            @P0 BRA PT, BB2
        BB1:
            EXIT PT
        BB2:
            EXIT PT
        ",
        advanced_scoreboards_and_opexes,
    );
    assert_eq!(c[0].stall, 13);
}

#[test]
fn what_a_block_leaves_on_its_way_its_successor_waits_for() {
    let c = control(
        "BB0:
            R2 = LDC c[0x0][0x210]
            R3 = FADD R4, R5
            @P0 BRA PT, BB2
        BB1:
            EXIT PT
        BB2:
            R6 = FADD R2, R3
            EXIT PT
        ",
        advanced_scoreboards_and_opexes,
    );
    let reader = c[4];
    assert_eq!(reader.wait, 1 << c[0].write_sb);
    let cycles = c[1].stall + c[2].stall;
    assert!(cycles >= 4, "FADD to FADD takes four cycles, {cycles} go by");
}

#[test]
fn a_result_of_the_last_iteration_is_awaited_at_the_head_of_the_loop() {
    let c = control(
        "BB0:
            R7 = LDC c[0x0][0x210]
        BB1:
            R6 = FADD R7, R3
            R3 = LDS [R6]
            @P0 BRA PT, BB1
        BB2:
            EXIT PT
        ",
        advanced_scoreboards_and_opexes,
    );
    let load = 1 << c[2].write_sb;
    assert_eq!(c[1].wait & load, load, "R3 comes from the load of the iteration before");
}

#[test]
fn at_o0_everything_waits_for_everything() {
    let c = control(
        "BB0:
            R2 = LDC c[0x0][0x210]
            R6, PT, PT = IADD3 R2, R3, RZ
            EXIT PT
        ",
        process_o0_waits_and_sbs,
    );
    assert!(c.iter().all(|c| c.stall == 15 && c.wait == 0b11));
    assert_eq!((c[0].write_sb, c[0].read_sb), (0, 1));
    assert_eq!((c[1].write_sb, c[1].read_sb), (7, 7));
}

#[test]
fn an_arrival_waits_for_what_the_products_after_it_read() {
    let c = control(
        "BB0:
            PT, R24:4 = LDG.E.128 desc[UR4:2], [R2:2.64], PT
            R40 = LDS [R5]
            R28 = MOV RZ, 0xf
            WARPGROUP.ARRIVE
            R24:4 = HGMMA.64x8x16.F32 R28:4, desc[UR8:4], R24:4, UPT, 0x0
            WARPGROUP.DEPBAR.LE 0x0, 0x0
            STS [R5], R40
            EXIT PT
        ",
        advanced_scoreboards_and_opexes,
    );
    let (load, other) = (c[0].write_sb, c[1].write_sb);
    assert_eq!(c[3].wait, 1 << load, "the sums, and nothing else");
    assert_ne!(load, other);
    assert!(c[2].stall >= 4, "the factor too: {}", c[2].stall);
    assert_eq!(c[4].wait, 0);
    assert_eq!(c[6].wait, 1 << other);
}

#[test]
fn the_warp_does_not_end_before_a_copy_has_read_its_uniform_registers() {
    let c = control(
        "BB0:
            UBLKCP.G.S [UR4:2], [UR6], UR7
            STS [R2], R3
            EXIT PT
        ",
        advanced_scoreboards_and_opexes,
    );
    assert!(c[0].read_sb < 6 && c[1].read_sb < 6);
    assert_eq!(c[2].wait, 1 << c[0].read_sb, "and not for general registers");
}

#[test]
fn what_never_waits_does_not_wait_for_a_fence() {
    let c = control(
        "BB0:
            FENCE.VIEW.ASYNC.S
            WARPGROUP.DEPBAR.LE 0x0, 0x0
            EXIT PT
        ",
        advanced_scoreboards_and_opexes,
    );
    assert_eq!(c.len(), 3);
    assert_eq!(c[1].wait, 0, "no WARPGROUP has a wait");
}

#[test]
fn control_flow_yields_with_its_least_stall() {
    let c = control(
        "BB0:
            B0 = BSSY BB1
            BSYNC B0
        BB1:
            R6 = FADD R2, R3
            R7 = FADD R6, R3
            EXIT PT
        ",
        advanced_scoreboards_and_opexes,
    );
    assert_eq!((c[1].stall, c[1].yield_), (5, true));
    assert_eq!((c[2].stall, c[2].yield_), (4, false), "the fixed pipes do not");
    assert_eq!((c[4].stall, c[4].yield_), (5, true));
}

#[test]
fn an_error_barrier_takes_the_longest_stall() {
    let c = control(
        "BB0:
            MEMBAR.SC.GPU
            ERRBAR
            CGAERRBAR
            EXIT PT
        ",
        advanced_scoreboards_and_opexes,
    );
    assert_eq!((c[1].stall, c[1].yield_), (0, false));
    assert_eq!((c[0].write_sb, c[0].read_sb), (7, 7));
    assert_eq!(c.len(), 4, "and no NOP behind it");
}

#[test]
fn a_move_to_a_barrier_has_a_read_scoreboard_whatever_follows() {
    let c = control(
        "BB0:
            B0 = BMOV.32 R2
            EXIT PT
        ",
        advanced_scoreboards_and_opexes,
    );
    assert!(c[0].read_sb < 6);
}

#[test]
fn at_o0_each_opcode_has_the_scoreboards_that_ptxas_gives_it() {
    let c = control(
        "BB0:
            R2 = S2R SR33
            PT, RZ = ATOMG.E.ADD.STRONG.GPU desc[UR4:2], [R2:2.64], R3
            LDGDEPBAR
            CCTL.IVALL
            ERRBAR
            NANOSLEEP 0x28
            EXIT PT
        ",
        process_o0_waits_and_sbs,
    );
    let sbs: Vec<_> = c[..4].iter().map(|c| (c.write_sb, c.read_sb)).collect();
    assert_eq!(sbs, [(0, 1), (0, 1), (0, 1), (7, 7)]);
    assert_eq!(c[4].stall, 0);
    assert_eq!(c.len(), 8, "a NOP stands behind NANOSLEEP");
    assert!(c.iter().all(|c| c.wait == 0b11 && !c.yield_));
}

/// An H200 gave ULEA the word that ULDC loads, two cycles behind it.
#[test]
fn a_uniform_source_is_read_before_a_word_that_is_there_at_once_comes() {
    let c = control(
        "BB0:
            UR6 = S2UR 137
            UR7 = UMOV 1024
            UR6, UPT = ULEA UR6, UR7, 24
            R0 = LDC c[0x0][0x22c]
            UR7 = ULDC c[0x0][0x228]
            R4, PT, PT = IADD3 R0, UR7, RZ
            EXIT PT
        ",
        advanced_scoreboards_and_opexes,
    );
    assert_eq!(c[2].stall + c[3].stall, 3);
}

/// An H200 read sums before they were there where the wait stood two cycles behind the group.
#[test]
fn a_wait_for_products_stands_three_cycles_behind_them() {
    let c = control(
        "BB0:
            WARPGROUP.ARRIVE
            R24:4 = HGMMA.64x8x16.F32 UR8:4, R24:4, UPT, 0
            WARPGROUP.DEPBAR.LE 0, 0
            EXIT PT
        ",
        advanced_scoreboards_and_opexes,
    );
    assert!(c[1].stall >= 3);
}

/// Which copy of a vote threads go on at is not known: whatever one reads has to be there before.
#[test]
fn everything_has_arrived_before_threads_gather_at_a_copy_of_a_vote() {
    let c = control(
        "BB0:
            R5 = LDC c[0x0][0x210]
            P0, PT = ISETP.LT.AND R2, R3, PT
            WARPSYNC.COLLECTIVE R4, BB1
            R6, PT = VOTE.ANY P0
            ENDCOLLECTIVE
        BB1:
            R7, PT, PT = IADD3 R5, R6, RZ
            EXIT PT
        ",
        advanced_scoreboards_and_opexes,
    );
    assert!(c[1].stall >= 13, "the predicate is there: {}", c[1].stall);
    assert_eq!(c[2].wait, 1 << c[0].write_sb, "and what was loaded");
}

/// Observed (ptxas 13.0.88): six cycles at least; an H200 gave products of what was in registers
/// before their loads where the product stood right behind ARRIVE.
#[test]
fn products_stand_six_cycles_behind_their_arrival() {
    let c = control(
        "BB0:
            WARPGROUP.ARRIVE
            R2 = MOV RZ, 15
            R24:4 = HGMMA.64x8x16.F32 UR8:4, R24:4, UPT, 0
            EXIT PT
        ",
        advanced_scoreboards_and_opexes,
    );
    assert_eq!(c[0].stall + c[1].stall, 6);
}

/// Who comes last to BSYNC goes on with the others at once.
#[test]
fn results_have_arrived_where_threads_join() {
    let c = control(
        "BB0:
            B0 = BSSY BB3
            @P0 BRA PT, BB2
        BB1:
            R6 = FADD R2, R3
            P1, PT = ISETP.LT.AND R2, R3, PT
        BB2:
            BSYNC B0
        BB3:
            @P1 R7 = FADD R6, R3
            EXIT PT
        ",
        advanced_scoreboards_and_opexes,
    );
    assert_eq!(c[0].stall, 4, "a region has begun before threads part: {c:?}");
    assert_eq!((c[2].stall, c[3].stall), (1, 13), "{c:?}");
}
