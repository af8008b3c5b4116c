//! Small programs with control bits, and the hazards in them.

use super::super::tests::Run;
use super::Problem;
use crate::latency;
use crate::simulator::Hazard;

/// The hazards of a program behind the prologue, whose own results are waited for: R2:R3 is the
/// buffer's address, UR4 the descriptor, R0 the thread's x, R4:R5 the address of its word.
fn hazards(source: &str) -> Vec<Hazard> {
    Run::default().timed(source).hazards
}

/// What is missing, in the order of the code.
fn problems(source: &str) -> Vec<Problem> {
    hazards(source).into_iter().map(|h| h.problem).collect()
}

#[test]
fn a_result_of_fixed_latency_is_read_after_its_cycles() {
    let program = |stall: &str| {
        format!(
            "
    [B------:R-:W-:-:S{stall}] R6 = IMAD R0, R0, RZ
    [B------:R-:W-:-:S01] PT, R7 = LOP3.LUT R6, R0, RZ, 192, !PT
    [B------:R-:W-:-:S05] EXIT PT"
        )
    };
    assert_eq!(problems(&program("05")), []);
    assert_eq!(problems(&program("04")), [Problem::TooEarly { cycles: 4, needed: 5 }]);
}

#[test]
fn a_hazard_names_both_instructions_and_the_register() {
    let all = hazards(
        "
    [B------:R-:W-:-:S02] R6 = IMAD R0, R0, RZ
    [B------:R-:W-:-:S01] PT, R7 = LOP3.LUT R6, R0, RZ, 192, !PT
    [B------:R-:W-:-:S05] EXIT PT",
    );
    let [hazard] = &all[..] else { panic!("{all:?}") };
    assert_eq!((hazard.kind, &*hazard.register), (latency::Hazard::ReadAfterWrite, "R6"));
    let text = hazard.to_string();
    for part in ["IMAD R6", "LOP3.LUT R7", "reads R6", "2 cycles between them, 3 missing"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn no_time_is_long_enough_for_a_result_that_nothing_waits_for() {
    let program = |wait: &str| {
        format!(
            "
    [B------:R-:W3:Y:S15] PT, R6 = LDG.E desc[UR4:2], [R4:2.64], PT
    [B------:R-:W-:Y:S15] NOP
    [B------:R-:W-:Y:S15] NOP
    [B{wait}:R-:W-:-:S05] R7 = VIADD R6, 1
    [B------:R-:W-:-:S05] EXIT PT"
        )
    };
    assert_eq!(problems(&program("---3--")), []);
    assert_eq!(problems(&program("------")), [Problem::NotAwaited { scoreboard: 3 }]);
    assert_eq!(problems(&program("--2---")), [Problem::NotAwaited { scoreboard: 3 }]);
}

#[test]
fn a_wait_in_the_next_cycle_does_not_see_the_scoreboard() {
    let program = |control: &str| {
        format!(
            "
    [B------:R-:W3:{control}] PT, R6 = LDG.E desc[UR4:2], [R4:2.64], PT
    [B---3--:R-:W-:-:S05] R7 = VIADD R6, 1
    [B------:R-:W-:-:S05] EXIT PT"
        )
    };
    assert_eq!(problems(&program("-:S02")), []);
    assert_eq!(problems(&program("Y:S01")), []);
    assert_eq!(problems(&program("-:S01")), [Problem::NotYetVisible { scoreboard: 3 }]);
}

#[test]
fn a_later_load_tells_of_an_earlier_one() {
    let program = |second: &str| {
        format!(
            "
    [B------:R-:W-:-:S05] R9 = MOV 1024, 15
    [B------:R-:W-:-:S02] R6 = LDS [R9]
    [B------:R-:W{second}:-:S02] R7 = LDS [R9]
    [B0-----:R-:W-:-:S05] R8 = VIADD R6, 1
    [B------:R-:W-:-:S05] EXIT PT"
        )
    };
    assert_eq!(problems(&program("0")), []);
    assert_eq!(problems(&program("-")), [Problem::NoScoreboard]);
}

#[test]
fn a_source_that_is_read_late_is_not_overwritten() {
    let program = |wait: &str| {
        format!(
            "
    [B------:R1:W-:-:S02] STG.E desc[UR4:2], [R4:2.64], R0
    [B{wait}:R-:W-:-:S05] R0 = MOV RZ, 15
    [B------:R-:W-:-:S05] EXIT PT"
        )
    };
    assert_eq!(problems(&program("-1----")), []);
    let all = hazards(&program("------"));
    assert_eq!(all[0].kind, latency::Hazard::WriteAfterRead);
    assert_eq!(all[0].problem, Problem::NotAwaited { scoreboard: 1 });
}

#[test]
fn depbar_waits_for_the_oldest() {
    let program = |left: u32| {
        format!(
            "
    [B------:R-:W-:-:S05] R9 = MOV 1024, 15
    [B------:R-:W0:-:S02] R6 = LDS [R9]
    [B------:R-:W0:-:S02] R7 = LDS [R9]
    [B------:R-:W-:-:S04] DEPBAR.LE 0, {left}
    [B------:R-:W-:-:S05] R8 = VIADD R6, 1
    [B------:R-:W-:-:S05] EXIT PT"
        )
    };
    assert_eq!(problems(&program(0)), []);
    assert_eq!(problems(&program(1)), []);
    assert_eq!(problems(&program(2)), [Problem::NotAwaited { scoreboard: 0 }]);
}

#[test]
fn lanes_that_wait_for_others_do_not_get_older() {
    // Odd lanes compare right before BSYNC, even lanes have spent 30 cycles: what the odd ones did
    // is still young.
    let program = |stall: &str| {
        format!(
            "
    [B------:R-:W-:-:S05] PT, R7 = LOP3.LUT R0, 1, RZ, 192, !PT
    [B------:R-:W-:Y:S13] P0, PT = ISETP.EQ.U32.AND R7, RZ, PT
    [B------:R-:W-:-:S05] B0 = BSSY BB4
    [B------:R-:W-:-:S05] @P0 BRA PT, BB2
BB1:
    [B------:R-:W-:-:S{stall}] P1, PT = ISETP.EQ.U32.AND R7, RZ, PT
    [B------:R-:W-:-:S05] BRA PT, BB3
BB2:
    [B------:R-:W-:Y:S15] NOP
    [B------:R-:W-:Y:S15] NOP
BB3:
    [B------:R-:W-:-:S05] BSYNC B0
BB4:
    [B------:R-:W-:-:S05] @P1 R8 = VIADD R0, 1
    [B------:R-:W-:-:S05] EXIT PT"
        )
    };
    assert_eq!(problems(&program("03")), []);
    assert_eq!(problems(&program("02")), [Problem::TooEarly { cycles: 12, needed: 13 }]);
}

#[test]
fn a_scoreboard_that_was_set_long_ago_is_seen_whatever_the_lanes_did_since() {
    // Lanes loop as often as their number says, and leave one by one.
    let source = "
    [B------:R-:W3:-:S02] PT, R6 = LDG.E desc[UR4:2], [R4:2.64], PT
    [B------:R-:W-:-:S05] R8 = MOV RZ, 15
    [B------:R-:W-:-:S05] B0 = BSSY BB3
BB1:
    [B------:R-:W-:-:S05] R8 = VIADD R8, 1
    [B------:R-:W-:Y:S13] P1, PT = ISETP.LT.U32.AND R8, R0, PT
    [B------:R-:W-:-:S05] @P1 BRA PT, BB1
BB2:
    [B------:R-:W-:-:S05] BSYNC B0
BB3:
    [B---3--:R-:W-:-:S05] R7 = VIADD R6, 1
    [B------:R-:W-:-:S05] EXIT PT";
    assert_eq!(problems(source), []);
}

#[test]
fn a_wait_protects_the_lanes_that_waited() {
    // Even lanes jump past the wait.
    let program = |target: &str| {
        format!(
            "
    [B------:R-:W2:-:S02] PT, R6 = LDG.E desc[UR4:2], [R4:2.64], PT
    [B------:R-:W-:-:S05] PT, R7 = LOP3.LUT R0, 1, RZ, 192, !PT
    [B------:R-:W-:Y:S13] P0, PT = ISETP.EQ.U32.AND R7, RZ, PT
    [B------:R-:W-:-:S05] @P0 BRA PT, {target}
BB1:
    [B--2---:R-:W-:-:S05] NOP
BB2:
    [B------:R-:W-:-:S05] R8 = VIADD R6, 1
    [B------:R-:W-:-:S05] EXIT PT"
        )
    };
    assert_eq!(problems(&program("BB1")), []);
    assert_eq!(problems(&program("BB2")), [Problem::NotAwaited { scoreboard: 2 }]);
}

/// The estimate for one warp, or for more.
fn cycles(run: &Run, source: &str) -> u64 {
    run.timed(source).counts.cycles
}

#[test]
fn a_warp_takes_its_stalls_and_what_it_waits_for() {
    let program = |wait: &str, stall: &str| {
        format!(
            "
    [B------:R-:W3:-:S02] PT, R6 = LDG.E desc[UR4:2], [R4:2.64], PT
    [B{wait}:R-:W-:Y:S{stall}] NOP
    [B------:R-:W-:-:S05] EXIT PT"
        )
    };
    let warp = Run::default();
    let base = cycles(&warp, &program("------", "12"));
    assert_eq!(cycles(&warp, &program("------", "15")), base + 3);
    let waited = cycles(&warp, &program("---3--", "12"));
    assert!((400..500).contains(&(waited - base)), "a load from memory: {}", waited - base);
}

#[test]
fn warps_of_a_sub_core_share_its_issue() {
    // Instructions that could issue every cycle: warps 0 and 4 are on one sub-core.
    let nops = "[B------:R-:W-:-:S01] NOP\n".repeat(2000);
    let source = format!("{nops}[B------:R-:W-:-:S05] EXIT PT");
    let of = |warps: u32| cycles(&Run::of(1, 32 * warps), &source);
    assert_eq!(of(1), of(4), "one warp on each");
    assert!(of(8) > 19 * of(4) / 10);
}

#[test]
fn ctas_beyond_what_fits_wait_for_others() {
    let source = "[B------:R-:W-:Y:S15] NOP\n".repeat(100) + "[B------:R-:W-:-:S05] EXIT PT";
    let of = |ctas: u32| cycles(&Run::of(ctas, 32), &source);
    // 32 CTAs fit on each of 132 SMs, eight warps on each sub-core.
    assert_eq!(of(1), of(132 * 32));
    assert_eq!(2 * of(1), of(132 * 32 + 1));
}

#[test]
fn a_barrier_opens_when_the_last_warp_comes() {
    // Warp 1 takes its time before the barrier, warp 0 after it.
    let program = |barrier: &str| {
        let slow = "[B------:R-:W-:Y:S15] NOP\n".repeat(100);
        format!(
            "
    [B------:R-:W-:Y:S15] P0, PT = ISETP.GE.U32.AND R0, 32, PT
    [B------:R-:W-:-:S05] @!P0 BRA PT, BB2
BB1:
    {slow}
BB2:
    [B------:R-:W-:-:S06] {barrier}
    [B------:R-:W-:-:S05] @P0 EXIT PT
    {slow}
    [B------:R-:W-:-:S05] EXIT PT"
        )
    };
    let warps = Run::of(1, 64);
    let apart = cycles(&warps, &program("NOP"));
    let together = cycles(&warps, &program("BAR.SYNC.DEFER_BLOCKING 0"));
    assert!(together > apart + 1000, "{apart} and {together}");
}

#[test]
fn what_has_its_result_has_read_its_sources() {
    let program = |wait: &str| {
        format!(
            "
    [B------:R0:W3:-:S02] PT, R6 = ATOMG.E.AND.STRONG.GPU desc[UR4:2], [R4:2.64], R8
    [B{wait}:R-:W-:-:S05] NOP
    [B------:R-:W-:-:S05] R8 = VIADD R0, 1
    [B---3--:R-:W-:-:S05] EXIT PT"
        )
    };
    assert_eq!(problems(&program("---3--")), []);
    assert_eq!(problems(&program("0-----")), []);
    assert_eq!(problems(&program("------")), [Problem::NotAwaited { scoreboard: 0 }]);
}

#[test]
fn a_uniform_source_is_overwritten_at_once_only_once_it_is_read() {
    let program = |stall: u32| {
        format!(
            "
    [B------:R-:W-:-:S02] UR10 = UMOV 1024
    [B------:R-:W-:Y:S12] UR11 = UMOV 3
    [B------:R-:W-:-:S01] UR12, UPT = ULEA UR11, UR10, 24
    [B------:R-:W-:-:S0{stall}] NOP
    [B------:R-:W-:Y:S12] UR10 = UMOV 5
    [B------:R-:W-:-:S05] EXIT PT"
        )
    };
    assert_eq!(problems(&program(2)), []);
    assert_eq!(problems(&program(1)), [Problem::TooEarly { cycles: 2, needed: 3 }]);
}
