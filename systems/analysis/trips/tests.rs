//! Trip counts of loops that are run to count them.

use super::*;
use crate::analysis::testing::Random;
use crate::analysis::{Analyses, ControlFlow};
use crate::testing::{self, run::run};
use std::sync::Arc;

#[test]
fn rounds_are_what_counting_gives() {
    use Comparison::*;
    const ALL: [Comparison; 6] = [Less, LessEqual, Equal, NotEqual, GreaterEqual, Greater];
    const M: u128 = 32;
    let signed = |x: u128| (x + M / 2) % M;
    let holds = |how, a: u128, b: u128| match how {
        Less => a < b,
        LessEqual => a <= b,
        Equal => a == b,
        NotEqual => a != b,
        GreaterEqual => a >= b,
        Greater => a > b,
    };
    for first in 0..M {
        for step in 0..M {
            for bound in 0..M {
                for (how, is_signed) in ALL.into_iter().flat_map(|c| [(c, false), (c, true)]) {
                    let order = |x| if is_signed { signed(x) } else { x };
                    let goes_on = |n: &u128| {
                        let at = (first + n * step) % M;
                        holds(how, order(at), order(bound))
                    };
                    // After that it has been everywhere.
                    let counted = (0..=M).find(|n| !goes_on(n));
                    let found = rounds(M, (first, step), (how, is_signed), bound);
                    assert_eq!(found, counted, "{first} + {step}n {how:?} {is_signed} {bound}");
                    assert_eq!(holds(how, bound, first), holds(how.mirrored(), first, bound));
                    assert_ne!(holds(how, bound, first), holds(how.negated(), bound, first));
                }
            }
        }
    }
}

#[test]
fn a_counter_that_cannot_wrap_ends_for_every_start_and_bound() {
    let counter = |step: u64, comparison| Counter {
        phis: smallvec![InstId(0)],
        start: smallvec![Operand::RZ],
        step,
        next: SmallVec::new(),
        offset: 0,
        comparison,
        is_signed: false,
        bound: smallvec![Operand::RZ],
        test: InstId(0),
        exit: (BlockId(0), None),
    };
    use Comparison::*;
    let (up, down) = (1, 0xffff_ffff);
    let safe = [(up, Less), (down, Greater), (up, NotEqual), (down, NotEqual), (up, Equal)];
    for (step, how) in safe {
        assert!(!counter(step, how).may_wrap());
    }
    let wrapping = [(up, LessEqual), (down, Less), (up, Greater), (2, Less), (2, NotEqual)];
    for (step, how) in wrapping {
        assert!(counter(step, how).may_wrap());
    }
    let last = u64::from(u32::MAX);
    assert_eq!(counter(up, LessEqual).trips(0, last), None, "it has no end");
    assert_eq!(counter(up, Less).trips(0, last), Some(1 << 32));
    assert_eq!(counter(2, NotEqual).trips(1, 0), None);
    assert_eq!(counter(3, NotEqual).trips(0, 1), Some(2_863_311_532), "around the end");
}

/// The counts of all loops, outer before inner.
fn counts(text: &str) -> Vec<TripCount> {
    let trips = Analyses::default().trips(&testing::parse(text).body());
    trips.all.iter().map(|trip| trip.count).collect()
}

#[test]
fn loops_with_known_counts() {
    let bottom = "
        BB0:
          %R0 = MOV 0x0, 0xf
        BB1:
          %R1 = MOVPHI %R0, BB0, %R2, BB1
          %R2, PT, PT = IADD3 %R1, 0x3, RZ
          %P3, PT = ISETP.LT.AND %R2, 0xa, PT
          @%P3 BRA PT, BB1
        BB2:
          EXIT PT";
    assert_eq!(counts(bottom), [TripCount::Known(4)]);
    let other = bottom.replace("@%P3", "@!%P3").replace("LT", "GE");
    assert_eq!(counts(&other), [TripCount::Known(4)]);
    let phi = bottom.replace("AND %R2", "AND %R1");
    assert_eq!(counts(&phi), [TripCount::Known(5)], "the test is of this round's value");
    assert_eq!(counts(&bottom.replace("LT", "NE")), [TripCount::Known(2_863_311_534)]);
    assert_eq!(counts(&bottom.replace("LT", "GE")), [TripCount::Known(1)]);
    let swapped = bottom.replace("LT.AND %R2, 0xa", "GT.AND %R9, %R2");
    let swapped = swapped.replace("BB0:", "BB0:\n %R9 = MOV 0xa, 0xf");
    assert_eq!(counts(&swapped), [TripCount::Known(4)]);
    let guarded = bottom.replace("%R2, PT, PT", "@%P9 %R2, PT, PT");
    assert_eq!(counts(&guarded), [TripCount::Unknown]);
    let scaled = bottom.replace("IADD3 %R1, 0x3, RZ", "IADD3 %R1, %R1, RZ");
    assert_eq!(counts(&scaled), [TripCount::Unknown]);
    let in_steps = bottom.replace(
        "%R2, PT, PT = IADD3 %R1, 0x3, RZ",
        "%R5 = VIADD %R1, 0x5\n %R6 = MOV %R5, 0xf\n %R2, PT, PT = IADD3 %R6, -%R7, RZ",
    );
    let in_steps = in_steps.replace("BB0:", "BB0:\n %R7 = MOV 0x2, 0xf");
    assert_eq!(counts(&in_steps), [TripCount::Known(4)]);
    let second = bottom.replace("%P3, PT = ISETP.LT", "PT, %P3 = ISETP.GE");
    assert_eq!(counts(&second), [TripCount::Known(4)], "the second result is the opposite");
    let joined = bottom.replace("0xa, PT", "0xa, %P8");
    assert_eq!(counts(&joined), [TripCount::Unknown]);
}

#[test]
fn an_exit_that_rounds_may_pass_by_says_nothing() {
    let text = "
        BB0:
          %R0 = MOV 0x0, 0xf
        BB1:
          %R1 = MOVPHI %R0, BB0, %R2, BB4
          @%P9 BRA PT, BB3
        BB2:
          %P3, PT = ISETP.LT.AND %R1, 0xa, PT
          @!%P3 BRA PT, BB5
        BB3:
          %P4, PT = ISETP.LT.AND %R1, 0x14, PT
          @!%P4 EXIT PT
        BB4:
          %R2, PT, PT = IADD3 %R1, 0x1, RZ
          BRA PT, BB1
        BB5:
          EXIT PT";
    assert_eq!(counts(text), [TripCount::AtMost(21)]);
    let each = text.replace("@%P9 BRA PT, BB3", "NOP");
    assert_eq!(counts(&each), [TripCount::Known(11)], "the first of two");
    let one = each.replace("@!%P4 EXIT PT", "NOP");
    assert_eq!(counts(&one), [TripCount::Known(11)]);
    let other = one.replace("AND %R1, 0xa", "AND %R8, 0xa").replace("NOP", "@!%P4 EXIT PT");
    assert!(matches!(counts(&other)[..], [TripCount::Unknown | TripCount::AtMost(21)]));
}

#[test]
fn an_exit_from_an_inner_loop_counts_the_outer_one_s_rounds() {
    let text = "
        BB0:
          %R0 = MOV 0x0, 0xf
        BB1:
          %R1 = MOVPHI %R0, BB0, %R2, BB4
        BB2:
          %R5 = MOVPHI %R0, BB1, %R6, BB3
          %P3, PT = ISETP.LT.AND %R1, 0xa, PT
          @!%P3 BRA PT, BB5
        BB3:
          %R6, PT, PT = IADD3 %R5, 0x1, RZ
          %P4, PT = ISETP.NE.AND %R6, 0x4, PT
          @%P4 BRA PT, BB2
        BB4:
          %R2, PT, PT = IADD3 %R1, 0x1, RZ
          BRA PT, BB1
        BB5:
          EXIT PT";
    assert_eq!(counts(text), [TripCount::Known(11), TripCount::AtMost(4)]);
}

#[test]
fn what_is_known_is_kept_until_an_edit() {
    let text = "
        BB0:
          %R0 = LDC c[0x0][0x210]
        BB1:
          %R1 = MOVPHI %R0, BB0, %R2, BB1
          %R2 = VIADD %R1, 0xffffffff
          %P3, PT = ISETP.GT.U32.AND %R1, c[0x0][0x214], PT
          @%P3 BRA PT, BB1
        BB2:
          EXIT PT";
    let mut function = testing::parse(text);
    let mut body = function.body();
    let mut analyses = Analyses::default();
    let trips = analyses.trips(&body);
    assert!(Arc::ptr_eq(&trips, &analyses.trips(&body)));
    let trip = trips.of(0);
    assert_eq!(trip.count, TripCount::Symbolic);
    let counter = &trip.counters[0];
    assert_eq!((counter.comparison, counter.is_signed), (Comparison::Greater, false));
    assert_eq!((counter.signed_step(), counter.offset, counter.bits()), (-1, 0, 32));
    assert_eq!(
        counter.start[..],
        [Operand::reg(Reg::virt(RegFile::R, orias_components::VRegId(0)))]
    );
    assert_eq!(counter.bound[..], [Operand::constant(0, 0x214)]);
    assert_eq!((counter.test, counter.exit.1), (InstId(3), Some(BlockId(2))));
    assert!(!counter.may_wrap());
    body.set_operand(counter.test, ISETP::B, Operand::Imm(7));
    assert_eq!(analyses.check(&body), Ok(()), "what is stale is not asked for");
    assert_eq!(analyses.trips(&body).of(0).counters[0].bound[..], [Operand::Imm(7)]);
}

/// A loop with a counter of one or two words, and the words of its start and bound: immediates, or
/// loaded from constant memory.
fn random_loop(random: &mut Random) -> (String, [u32; 4]) {
    let wide = random.below(2) == 0;
    let mut chosen = |all: &[&str]| all[random.below(all.len() as u64) as usize].to_string();
    let how = chosen(&["LT", "LE", "EQ", "NE", "GE", "GT"]);
    let unsigned = chosen(&["", ".U32"]);
    let from = chosen(&["MOV", "LDC"]);
    let sense = chosen(&["", "!"]);
    let tested = chosen(&["1", "3"]);
    let top = random.below(2) == 0;
    let swapped = random.below(2) == 0;
    // Near the ends of numbers, and near each other.
    let edges = [0, 1 << 31, 1 << 32, 1 << 63, 5000];
    let near =
        |random: &mut Random| edges[random.below(5) as usize] + random.below(80) as i128 - 40;
    let start = near(random) as u64;
    let bound = if random.below(2) == 0 {
        near(random) as u64
    } else {
        start.wrapping_add(random.below(60))
    };
    let step = random.below(16) as i64 - 8;
    let (low, high) = (step as u32, (step >> 32) as u32);
    let words = [start as u32, (start >> 32) as u32, bound as u32, (bound >> 32) as u32];
    let word = |at: usize| match &from[..] {
        "MOV" => format!("MOV {:#x}, 0xf", words[at]),
        _ => format!("LDC c[0x0][{:#x}]", 4 * at),
    };
    let sides = |cell: &str| match swapped {
        false => format!("%R{tested}{cell}, %R2{cell}"),
        true => format!("%R2{cell}, %R{tested}{cell}"),
    };
    let test = match wide {
        false => format!("%P9, PT = ISETP.{how}{unsigned}.AND {}, PT", sides("")),
        true => format!(
            "%P8, PT = ISETP.{how}.U32.AND {}, PT
             %P9, PT = ISETP.{how}{unsigned}.AND.EX {}, PT, %P8",
            sides(""),
            sides("[1]"),
        ),
    };
    let add = match wide {
        false => format!("%R3, PT, PT = IADD3 %R1, {low:#x}, RZ"),
        true => format!(
            "%R3, %P7, PT = IADD3 {low:#x}, %R1, RZ
             %R3[1], PT, PT = IADD3.X %R1[1], {high:#x}, RZ, %P7, !PT"
        ),
    };
    let phi = |latch| {
        let high = format!("%R1[1] = MOVPHI %R0[1], BB0, %R3[1], {latch}");
        let low = format!("%R1 = MOVPHI %R0, BB0, %R3, {latch}");
        if wide { format!("{low}\n{high}") } else { low }
    };
    let [s0, s1, b0, b1] = [0, 1, 2, 3].map(word);
    let head = format!("BB0:\n%R0 = {s0}\n%R0[1] = {s1}\n%R2 = {b0}\n%R2[1] = {b1}\nBB1:");
    let other = if sense == "!" { "" } else { "!" };
    let text = match top {
        false => {
            format!("{head}\n{}\n{add}\n{test}\n@{sense}%P9 BRA PT, BB1\nBB2:\nEXIT PT", phi("BB1"))
        }
        true => format!(
            "{head}\n{}\n{add}\n{test}\n@{other}%P9 BRA PT, BB3
             BB2:\nNOP\nBRA PT, BB1\nBB3:\nEXIT PT",
            phi("BB2")
        ),
    };
    (text, words)
}

#[test]
fn loops_that_are_run_go_round_as_often_as_was_said() {
    const MOST: u64 = 3000;
    let (mut known_counts, mut symbolic) = (0, 0);
    for seed in 0..4000 {
        let (text, words) = random_loop(&mut Random::new(seed));
        let mut function = testing::parse(&text);
        let body = function.body();
        let trips = Analyses::default().trips(&body);
        let ran = run(&body, |offset| words[offset as usize / 4], 2 * MOST);
        let runs = ran.map(|ran| ran.runs[&BlockId(1)]);
        let trip = trips.of(0);
        let said = match trip.count {
            TripCount::Known(trips) => {
                known_counts += 1;
                Some(trips)
            }
            TripCount::Symbolic => {
                symbolic += 1;
                let counter = &trip.counters[0];
                let value = |number: &Number| {
                    let parts = number.iter().zip([0, 32]);
                    parts.fold(0, |value, (word, shift)| {
                        let Operand::Reg(r) = word else { panic!("{word} is loaded") };
                        let (id, _) = find_writer(&body, *r);
                        let Operand::Const(c) = body.inst(id).operand(1) else { panic!("a load") };
                        value | u64::from(words[c.offset as usize / 4]) << shift
                    })
                };
                counter.trips(value(&counter.start), value(&counter.bound))
            }
            // Of one known word the other may still be loaded: never here.
            TripCount::AtMost(_) => panic!("there is one exit\n{text}"),
            TripCount::Unknown => {
                assert_eq!(trip.counters.len(), 1, "{text}");
                None
            }
        };
        match runs {
            Some(runs) => assert_eq!(said, Some(runs), "{text}"),
            None => assert!(said.is_none_or(|said| said > MOST / 2), "{said:?}\n{text}"),
        }
    }
    assert!(known_counts > 500 && symbolic > 500, "{known_counts} {symbolic}");
}

fn find_writer(body: &Body<'_>, r: RegUse) -> (InstId, BlockId) {
    let flow = ControlFlow::of(body);
    let uses = Analyses::default().uses(body);
    let of = &flow.loops().all[0];
    Find { body, flow: &flow, uses: &uses, of }.definition(r).expect("one writer")
}
