//! What `ConvertAllMovPhiToMov` leaves.

use super::*;
use crate::testing;
use orias_components::text;

fn expect(input: &str, output: &str) {
    let mut function = testing::parse(input);
    let body = function.body();
    let sound = crate::ssa::check(&body, &mut Analyses::default());
    sound.unwrap_or_else(|e| panic!("{e}\n{input}"));
    function.world().resource_mut::<Form>().is_ssa = true;
    function.run(convert_all_mov_phi_to_mov);
    let printed = text::print(&function.body(), &text::Style::default());
    let lines = printed.lines().map(|l| l.split("//").next().unwrap_or("").trim());
    let lines: Vec<&str> = lines.filter(|l| !l.is_empty() && !l.starts_with("vreg")).collect();
    let expected: Vec<&str> = output.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    assert_eq!(lines, expected, "from\n{input}");
}

#[test]
fn a_phi_that_lives_on_behind_its_loop_is_not_lost() {
    // The value of the last round but one is read behind the loop, where the new one is there
    // already.
    expect(
        "BB0:
            %R0 = MOV 0x1, 0xf
            BB1:
            %R1 = MOVPHI %R0, BB0, %R2, BB1
            %R2 = VIADD %R1, 0x1
            @%P3 BRA PT, BB1
            BB2:
            STS [RZ], %R1
            EXIT PT",
        "BB0:
            %R0 = MOV 0x1, 0xf
            BB1:
            %R1 = MOV %R0, 0xf
            %R0 = VIADD %R1, 0x1
            @%P3 BRA PT, BB1
            BB2:
            STS [RZ], %R1
            EXIT PT",
    );
}

#[test]
fn phis_that_exchange_their_values_do() {
    expect(
        "BB0:
            %R0 = MOV 0x1, 0xf
            %R1 = MOV 0x2, 0xf
            BB1:
            %R2 = MOVPHI %R0, BB0, %R3, BB1
            %R3 = MOVPHI %R1, BB0, %R2, BB1
            @%P4 BRA PT, BB1
            BB2:
            STS [RZ], %R2
            EXIT PT",
        "BB0:
            %R0 = MOV 0x1, 0xf
            %R1 = MOV 0x2, 0xf
            BB1:
            %R2 = MOV %R0, 0xf
            %R0 = MOV %R1, 0xf
            %R1 = MOV %R2, 0xf
            @%P4 BRA PT, BB1
            BB2:
            STS [RZ], %R2
            EXIT PT",
    );
}

#[test]
fn a_guarded_definition_works_where_it_keeps_its_old_value() {
    expect(
        "BB0:
            %R0 = MOV 0x1, 0xf
            @%P1 %R2 = VIADD %R0, 0x4 else %R0
            STS [RZ], %R2
            EXIT PT",
        "BB0:
            %R0 = MOV 0x1, 0xf
            @%P1 %R0 = VIADD %R0, 0x4
            STS [RZ], %R0
            EXIT PT",
    );
}

#[test]
fn what_a_guarded_definition_keeps_is_copied_where_something_else_reads_it() {
    expect(
        "BB0:
            %R0 = MOV 0x1, 0xf
            @%P1 %R2 = VIADD %R0, 0x4 else %R0
            STS [%R0], %R2
            EXIT PT",
        "BB0:
            %R0 = MOV 0x1, 0xf
            %R2 = MOV %R0, 0xf
            @%P1 %R2 = VIADD %R2, 0x4
            STS [%R0], %R2
            EXIT PT",
    );
}

#[test]
fn a_predicate_that_the_branch_reads_is_not_overwritten_before_it() {
    expect(
        "BB0:
            %P0 = PLOP3.LUT PT, PT, PT, 0x80, 0x0
            %P1 = PLOP3.LUT PT, PT, PT, 0x0, 0x0
            BB1:
            %P2 = MOVPHI %P0, BB0, %P1, BB1
            @%P2 BRA PT, BB1
            BB2:
            EXIT PT",
        "BB0:
            %P0 = PLOP3.LUT PT, PT, PT, 0x80, 0x0
            %P1 = PLOP3.LUT PT, PT, PT, 0x0, 0x0
            BB1:
            %P2, PT = PLOP3.LUT %P0, PT, PT, 0x80, 0x0
            %P0, PT = PLOP3.LUT %P1, PT, PT, 0x80, 0x0
            @%P2 BRA PT, BB1
            BB2:
            EXIT PT",
    );
}

#[test]
fn an_old_value_that_many_ways_keep_needs_no_copy_before_their_branches() {
    // R0 goes to the join from two blocks, and lives on behind each of their branches.
    expect(
        "BB0:
            %R0 = MOV 0x1, 0xf
            @%P4 BRA PT, BB3
            BB1:
            @%P5 BRA PT, BB3
            BB2:
            %R1 = VIADD %R0, 0x1
            BB3:
            %R2 = MOVPHI %R0, BB0, %R0, BB1, %R1, BB2
            STS [RZ], %R2
            EXIT PT",
        "BB0:
            %R0 = MOV 0x1, 0xf
            @%P4 BRA PT, BB3
            BB1:
            @%P5 BRA PT, BB3
            BB2:
            %R0 = VIADD %R0, 0x1
            BB3:
            STS [RZ], %R0
            EXIT PT",
    );
}

#[test]
fn nothing_stands_between_a_meeting_and_what_follows_it() {
    expect(
        "BB0:
            %R0 = MOV 0x1, 0xf
            %B6 = BSSY BB3
            @%P4 BRA PT, BB2
            BB1:
            %R1 = MOV 0x2, 0xf
            STS [RZ], %R1
            BB2:
            BSYNC %B6
            BB3:
            %R2 = MOVPHI %R0, BB2, %R3, BB3
            %R3 = VIADD %R2, 0x1
            STS [%R0], %R3
            @%P5 BRA PT, BB3
            BB4:
            EXIT PT",
        "BB0:
            %R0 = MOV 0x1, 0xf
            %B6 = BSSY BB3
            @%P4 BRA PT, BB2
            BB1:
            %R1 = MOV 0x2, 0xf
            STS [RZ], %R1
            BB2:
            %R2 = MOV %R0, 0xf
            BSYNC %B6
            BB3:
            %R2 = VIADD %R2, 0x1
            STS [%R0], %R2
            @%P5 BRA PT, BB3
            BB4:
            EXIT PT",
    );
}
