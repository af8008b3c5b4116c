//! What `GenerateMovPhi` makes of small bodies.

use super::*;
use crate::ssa::{check, convert_all_mov_phi_to_mov};
use crate::testing;
use orias_components::text;

/// The lines of a body in SSA form.
fn ssa(input: &str) -> Vec<String> {
    let mut function = testing::parse(input);
    function.run(generate_mov_phi);
    let body = function.body();
    let printed = text::print(&body, &text::Style::default());
    check(&body, &mut Analyses::default()).unwrap_or_else(|e| panic!("{e}\n{printed}"));
    let lines = printed.lines().map(|l| l.split("//").next().unwrap_or("").trim().to_string());
    lines.filter(|l| !l.is_empty() && !l.starts_with("vreg")).collect()
}

fn expect(input: &str, output: &str) {
    let expected: Vec<&str> = output.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    assert_eq!(ssa(input), expected, "from\n{input}");
    // And back again: what is left is as valid as before.
    let mut function = testing::parse(input);
    function.run(generate_mov_phi);
    function.run(convert_all_mov_phi_to_mov);
    orias_components::validate::validate(&function.body()).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn what_is_written_once_before_its_readers_stays_as_it_is() {
    let text = "BB0:
            %R0 = MOV 0x1, 0xf
            @%P1 BRA PT, BB2
            BB1:
            STS [RZ], %R0
            BB2:
            EXIT PT";
    expect(text, text);
}

#[test]
fn a_register_written_again_has_a_name_for_each_value() {
    expect(
        "BB0:
            %R0 = MOV 0x1, 0xf
            %R0 = VIADD %R0, 0x1
            STS [RZ], %R0
            EXIT PT",
        "BB0:
            %R0 = MOV 0x1, 0xf
            %R1 = VIADD %R0, 0x1
            STS [RZ], %R1
            EXIT PT",
    );
}

#[test]
fn ways_that_bring_different_values_meet_in_a_phi() {
    expect(
        "BB0:
            %R0 = MOV 0x1, 0xf
            @%P1 BRA PT, BB2
            BB1:
            %R0 = MOV 0x2, 0xf
            BB2:
            STS [RZ], %R0
            EXIT PT",
        "BB0:
            %R0 = MOV 0x1, 0xf
            @%P1 BRA PT, BB2
            BB1:
            %R2 = MOV 0x2, 0xf
            BB2:
            %R3 = MOVPHI %R0, BB0, %R2, BB1
            STS [RZ], %R3
            EXIT PT",
    );
}

#[test]
fn where_nothing_reads_it_again_there_is_no_phi() {
    expect(
        "BB0:
            %R0 = MOV 0x1, 0xf
            @%P1 BRA PT, BB2
            BB1:
            %R0 = MOV 0x2, 0xf
            STS [RZ], %R0
            BB2:
            EXIT PT",
        "BB0:
            %R0 = MOV 0x1, 0xf
            @%P1 BRA PT, BB2
            BB1:
            %R2 = MOV 0x2, 0xf
            STS [RZ], %R2
            BB2:
            EXIT PT",
    );
}

#[test]
fn a_pair_that_a_loop_advances_stays_a_pair() {
    expect(
        "BB0:
            %R0 = MOV 0x1, 0xf
            %R0[1] = MOV RZ, 0xf
            BB1:
            STG.E [%R0:2.64], RZ
            %R0 = VIADD %R0, 0x4
            %R0[1] = VIADD %R0[1], 0x1
            @%P1 BRA PT, BB1
            BB2:
            EXIT PT",
        "BB0:
            %R0 = MOV 0x1, 0xf
            %R0[1] = MOV RZ, 0xf
            BB1:
            %R2 = MOVPHI %R0, BB0, %R3, BB1
            %R2[1] = MOVPHI %R0[1], BB0, %R3[1], BB1
            STG.E [%R2:2.64], RZ
            %R3 = VIADD %R2, 0x4
            %R3[1] = VIADD %R2[1], 0x1
            @%P1 BRA PT, BB1
            BB2:
            EXIT PT",
    );
}

#[test]
fn a_half_that_stays_while_the_other_changes_is_copied_for_one_of_the_pairs() {
    expect(
        "BB0:
            %R0 = MOV 0x1, 0xf
            %R0[1] = MOV RZ, 0xf
            STG.E [%R0:2.64], RZ
            %R0 = VIADD %R0, 0x4
            STG.E [%R0:2.64], RZ
            EXIT PT",
        "BB0:
            %R0 = MOV 0x1, 0xf
            %R0[1] = MOV RZ, 0xf
            STG.E [%R0:2.64], RZ
            %R1 = VIADD %R0, 0x4
            %R2 = MOV %R1, 0xf
            %R2[1] = MOV %R0[1], 0xf
            STG.E [%R2:2.64], RZ
            EXIT PT",
    );
}

#[test]
fn a_guarded_definition_names_what_it_keeps() {
    expect(
        "BB0:
            %R0 = MOV 0x1, 0xf
            @%P1 %R0 = VIADD %R0, 0x4
            STS [RZ], %R0
            EXIT PT",
        "BB0:
            %R0 = MOV 0x1, 0xf
            @%P1 %R2 = VIADD %R0, 0x4 else %R0
            STS [RZ], %R2
            EXIT PT",
    );
    let first = "BB0:
            @%P1 %R0 = MOV 0x1, 0xf
            @%P1 STS [RZ], %R0
            EXIT PT";
    expect(first, first);
}

#[test]
fn a_guarded_definition_in_a_loop_keeps_the_value_of_the_round_before() {
    expect(
        "BB0:
            NOP
            BB1:
            @%P1 %R0 = MOV 0x1, 0xf
            STS [RZ], %R0
            @%P2 BRA PT, BB1
            BB2:
            EXIT PT",
        "BB0:
            NOP
            BB1:
            %R3 = MOVPHI RZ, BB0, %R0, BB1
            @%P1 %R0 = MOV 0x1, 0xf else %R3
            STS [RZ], %R0
            @%P2 BRA PT, BB1
            BB2:
            EXIT PT",
    );
}

#[test]
fn accumulators_of_warpgroups_are_no_values() {
    let text = "BB0:
            %R0:4 = LDS.128 [RZ]
            %R0:4 = HGMMA.64x8x16.F32 %R1:4, desc[UR8:4], %R0:4, UPT, 0x0
            STS [RZ], %R0
            EXIT PT";
    expect(text, text);
}

#[test]
fn an_entry_that_is_come_back_to_gets_one_before_it() {
    expect(
        "BB0:
            %R0 = VIADD %R0, 0x1
            STS [RZ], %R0
            @%P1 BRA PT, BB0
            BB1:
            EXIT PT",
        "BB2:
            BB0:
            %R2 = MOVPHI RZ, BB2, %R0, BB0
            %R0 = VIADD %R2, 0x1
            STS [RZ], %R0
            @%P1 BRA PT, BB0
            BB1:
            EXIT PT",
    );
}
