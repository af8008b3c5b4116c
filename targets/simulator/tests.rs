//! Small programs in Ori's text form, encoded and run.

use super::*;
use crate::memory::{Memory, MemorySpace};
use orias_components::{Function, Inst, Operand, text};
use rustc_hash::FxHashMap;

/// The words of a program: blocks in order, branch targets resolved.
fn assemble(source: &str) -> Vec<u8> {
    let mut function = Function::default();
    let mut body = function.body();
    text::parse(source, &mut body).unwrap();
    let mut insts: Vec<Inst> = Vec::new();
    let mut starts = FxHashMap::default();
    for block in body.layout().to_vec() {
        starts.insert(block, 16 * insts.len() as u64);
        for id in body.block(block).insts() {
            insts.push(body.inst(*id).to_inst());
        }
    }
    let target = crate::target("sm_90a").unwrap();
    let encode = |(at, inst): (usize, &mut Inst)| {
        for operand in &mut inst.operands {
            if let Operand::Block(block) = operand {
                *operand = Operand::Addr(starts[block]);
            }
        }
        let word = target.encode(inst, 16 * at as u64);
        word.unwrap_or_else(|e| panic!("{inst:?}: {e}")).to_le_bytes()
    };
    insts.iter_mut().enumerate().flat_map(encode).collect()
}

/// A launch of a program that takes one buffer of 32-bit words.
pub(super) struct Run {
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    local: u32,
    words: usize,
    limit: u64,
    strict: bool,
}

impl Default for Run {
    fn default() -> Run {
        Run {
            grid: [1, 1, 1],
            block: [32, 1, 1],
            shared: 0,
            local: 0,
            words: 32,
            limit: 1_000_000,
            strict: true,
        }
    }
}

/// The same, with control bits that protect what comes after.
const PROLOGUE_IN_TIME: &str = "
BB0:
    [B------:R-:W0:-:S02] R2:2 = LDC.64 c[0x0][0x210]
    [B------:R-:W-:-:S02] UR4:2 = ULDC.64 c[0x0][0x208]
    [B------:R-:W0:-:S02] R0 = S2R SR33
    [B0-----:R-:W-:Y:S15] R4:2, PT = IMAD.WIDE.U32 R0, 4, R2:2
";

/// Where R2:R3 is the buffer's address, UR4 the memory descriptor, and R0 the thread's x.
const PROLOGUE: &str = "
BB0:
    R2:2 = LDC.64 c[0x0][0x210]
    UR4:2 = ULDC.64 c[0x0][0x208]
    R0 = S2R SR33
    R4:2, PT = IMAD.WIDE.U32 R0, 4, R2:2
";

impl Run {
    /// So many CTAs of so many threads.
    pub(super) fn of(ctas: u32, threads: u32) -> Run {
        Run { grid: [ctas, 1, 1], block: [threads, 1, 1], ..Run::default() }
    }

    fn image(&self, source: &str) -> Image {
        self.image_of(PROLOGUE, source)
    }

    fn image_of(&self, prologue: &str, source: &str) -> Image {
        let text = Text {
            name: "k".into(),
            address: CODE_BASE,
            bytes: assemble(&format!("{prologue}{source}")),
        };
        let kernel = Kernel {
            name: "k".into(),
            text: 0,
            registers: 32,
            shared_bytes: self.shared,
            local_bytes: self.local,
            param_base: 0x210,
            constants: Vec::new(),
        };
        let target = crate::target("sm_90a").unwrap();
        Image {
            target,
            texts: vec![text],
            kernels: vec![kernel],
            constants: Vec::new(),
            const_window: 0,
        }
    }

    /// What the control bits of a program forget, and its time.
    pub(super) fn timed(&self, source: &str) -> Finished {
        let mut memory = Memory::default();
        let base = memory.map("the buffer", MemorySpace::Global, vec![0; 4 * self.words], true);
        let launch = Launch {
            grid: self.grid,
            block: self.block,
            dynamic_shared: 4096,
            cluster: None,
            params: base.to_le_bytes().to_vec(),
        };
        let limits = Limits { hazards: Hazards::Find, ..Limits::default() };
        let image = self.image_of(PROLOGUE_IN_TIME, source);
        run(&image, "k", &launch, &mut memory, limits).unwrap_or_else(|e| panic!("{e}"))
    }

    fn go(&self, source: &str) -> Result<Vec<u32>, SimError> {
        let mut memory = Memory::default();
        let base = memory.map("the buffer", MemorySpace::Global, vec![0; 4 * self.words], true);
        let launch = Launch {
            grid: self.grid,
            block: self.block,
            cluster: None,
            dynamic_shared: 0,
            params: base.to_le_bytes().to_vec(),
        };
        let limits = Limits {
            warp_instructions: self.limit,
            strict_regions: self.strict,
            ..Limits::default()
        };
        run(&self.image(source), "k", &launch, &mut memory, limits)?;
        let bytes = &memory.region(base).unwrap().bytes;
        Ok(bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect())
    }
}

fn words(source: &str) -> Vec<u32> {
    Run::default().go(source).unwrap_or_else(|e| panic!("{e}"))
}

fn error(source: &str) -> String {
    Run::default().go(source).unwrap_err().to_string()
}

#[test]
fn every_thread_writes_its_number() {
    let run = Run { block: [8, 2, 3], words: 48, ..Run::default() };
    let got = run
        .go("
    R6 = S2R SR34
    R7 = S2R SR35
    R8 = IMAD R7, 2, R6
    R8 = IMAD R8, 8, R0
    R4:2, PT = IMAD.WIDE.U32 R8, 4, R2:2
    STG.E desc[UR4:2], [R4:2.64], R8
    EXIT PT")
        .unwrap();
    assert_eq!(got, (0..48).collect::<Vec<_>>());
}

#[test]
fn lanes_that_diverge_join_at_bsync() {
    // Odd lanes count in a loop as often as their number says; behind BSYNC all vote together.
    let got = words(
        "
    PT, R6 = LOP3.LUT R0, 1, RZ, 192, !PT
    P0, PT = ISETP.EQ.U32.AND R6, RZ, PT
    R7 = MOV RZ, 15
    B0 = BSSY BB3
    @P0 BRA PT, BB2
BB1:
    R7 = VIADD R7, 1
    P1, PT = ISETP.LT.U32.AND R7, R0, PT
    @P1 BRA PT, BB1
BB2:
    BSYNC B0
BB3:
    R8, PT = VOTE.ANY PT
    R9 = IMAD R8, 1, R7
    STG.E desc[UR4:2], [R4:2.64], R9
    EXIT PT",
    );
    for (lane, word) in got.iter().enumerate() {
        let steps = if lane % 2 == 1 { lane as u32 } else { 0 };
        assert_eq!(*word, u32::MAX.wrapping_add(steps), "lane {lane}");
    }
}

#[test]
fn who_spins_with_yield_lets_go_who_waits_for_him_at_bsync() {
    // Each lane goes round as often as its number says, and counts those that vote with it then.
    let program = |yields: &str| {
        format!(
            "
    R7 = MOV RZ, 15
    B0 = BSSY BB3
BB1:
    {yields}
    R7 = VIADD R7, 1
    P1, PT = ISETP.LT.U32.AND R7, R0, PT
    @P1 BRA PT, BB1
BB2:
    BSYNC B0
BB3:
    R8, PT = VOTE.ANY PT
    STG.E desc[UR4:2], [R4:2.64], R8
    EXIT PT"
        )
    };
    assert!(words(&program("NOP")).iter().all(|together| *together == u32::MAX));
    assert!(words(&program("YIELD")).iter().any(|together| *together != u32::MAX));
}

#[test]
fn who_is_let_go_while_others_have_put_the_barrier_away_is_not_waited_for_again() {
    // Even lanes wait at BSYNC while odd ones are in what a function does that keeps the barrier,
    // and yield there: they are let go, and wait for the odd ones at WARPSYNC. (Seed 940193 of
    // `orias-cuda`: the mask that was put back had all of them again.)
    let got = words(
        "
    R7 = MOV RZ, 15
    PT, R8 = LOP3.LUT R0, 1, RZ, 192, !PT
    P1, PT = ISETP.EQ.U32.AND R8, 0, PT
    B0 = BSSY BB4
    @P1 BRA PT, BB3
BB1:
    R9 = BMOV.32.CLEAR B0
BB2:
    YIELD
    R7 = VIADD R7, 1
    P2, PT = ISETP.LT.AND R7, 3, PT
    @P2 BRA PT, BB2
    B0 = BMOV.32 R9
BB3:
    BSYNC B0
BB4:
    WARPSYNC.ALL
    R8, PT = VOTE.ANY PT
    STG.E desc[UR4:2], [R4:2.64], R8
    EXIT PT",
    );
    assert!(got.iter().all(|together| *together == u32::MAX), "{got:x?}");
}

#[test]
fn a_region_that_lanes_enter_anew_is_waited_for() {
    // Each lane goes round as often as its number says, always through BSSY; those that are done
    // wait at BSYNC.
    let got = words(
        "
    R7 = MOV RZ, 15
BB1:
    B0 = BSSY BB3
    R7 = VIADD R7, 1
    P1, PT = ISETP.LT.U32.AND R7, R0, PT
    @P1 BRA PT, BB1
BB2:
    BSYNC B0
BB3:
    R8, PT = VOTE.ANY PT
    R9 = IMAD R8, 1, R7
    STG.E desc[UR4:2], [R4:2.64], R9
    EXIT PT",
    );
    let steps = |lane: u32| lane.max(1);
    assert_eq!(got, (0..32).map(|lane| u32::MAX.wrapping_add(steps(lane))).collect::<Vec<_>>());
}

#[test]
fn a_lane_may_spin_on_what_another_lane_of_its_warp_writes() {
    let got = words(
        "
    P0, PT = ISETP.EQ.U32.AND R0, RZ, PT
    @P0 BRA PT, BB2
BB1:
    PT, R6 = LDG.E desc[UR4:2], [R2:2.64], PT
    P1, PT = ISETP.EQ.U32.AND R6, RZ, PT
    @P1 BRA PT, BB1
    STG.E desc[UR4:2], [R4:2.64], R6
    EXIT PT
BB2:
    R6 = MOV 7, 15
    STG.E desc[UR4:2], [R2:2.64], R6
    EXIT PT",
    );
    assert_eq!(got, [7; 32]);
}

#[test]
fn a_block_may_spin_on_what_a_later_block_writes() {
    let run = Run { grid: [3, 1, 1], block: [1, 1, 1], words: 1, ..Run::default() };
    // Block n waits until the counter is 2 - n.
    let got = run
        .go("
    R6 = S2R SR37
    R7, PT, PT = IADD3 -R6, 2, RZ
BB1:
    PT, R8 = LDG.E desc[UR4:2], [R2:2.64], PT
    P0, PT = ISETP.NE.U32.AND R8, R7, PT
    @P0 BRA PT, BB1
    R8 = VIADD R8, 1
    STG.E desc[UR4:2], [R2:2.64], R8
    EXIT PT")
        .unwrap();
    assert_eq!(got, [3]);
}

#[test]
fn a_call_returns_to_the_address_in_its_register() {
    let got = words(
        "
    R6 = MOV 112, 15
    R7 = MOV RZ, 15
    CALL.REL.NOINC BB1
    STG.E desc[UR4:2], [R4:2.64], R8
    EXIT PT
BB1:
    R8 = VIADD R0, 100
    RET.REL.NODEC R6:2, BB0",
    );
    assert_eq!(got, (100..132).collect::<Vec<_>>());
}

#[test]
fn a_return_is_taken_under_its_guard_and_its_predicate() {
    let got = words(
        "
    PT, R9 = LOP3.LUT R0, 1, RZ, 192, !PT
    P0, PT = ISETP.EQ.U32.AND R9, RZ, PT
    PT, R9 = LOP3.LUT R0, 2, RZ, 192, !PT
    P1, PT = ISETP.EQ.U32.AND R9, RZ, PT
    R6 = MOV 176, 15
    R7 = MOV RZ, 15
    CALL.REL.NOINC BB1
    STG.E desc[UR4:2], [R4:2.64], R8
    EXIT PT
BB1:
    R8 = VIADD R0, 100
    @P0 RET.REL.NODEC P1, R6:2, BB0
    R8 = VIADD R8, 1000
    RET.REL.NODEC R6:2, BB0",
    );
    let late = |lane: u32| u32::from(lane & 3 != 0) * 1000;
    assert_eq!(got, (0..32).map(|lane| 100 + lane + late(lane)).collect::<Vec<_>>());
}

#[test]
fn a_shuffle_reads_other_lanes_inside_its_segment() {
    let got = words(
        "
    P0, R6 = SHFL.DOWN R0, 4, 0x181f
    STG.E desc[UR4:2], [R4:2.64], R6
    EXIT PT",
    );
    // Segments of 8: lanes 4..7 of each keep their own value.
    let want: Vec<u32> = (0..32).map(|lane| if lane % 8 < 4 { lane + 4 } else { lane }).collect();
    assert_eq!(got, want);
}

#[test]
fn threads_exchange_through_shared_memory_at_a_barrier() {
    let run = Run { block: [64, 1, 1], words: 64, shared: 256, ..Run::default() };
    let got = run
        .go("
    R6, PT, PT = IADD3 -R0, 63, RZ
    STS [R6.X4+0x400], R0
    BAR.SYNC 0
    R7 = LDS [R0.X4+0x400]
    STG.E desc[UR4:2], [R4:2.64], R7
    EXIT PT")
        .unwrap();
    assert_eq!(got, (0..64).rev().collect::<Vec<_>>());
}

#[test]
fn an_access_outside_a_buffer_names_the_instruction_and_the_thread() {
    let run = Run { words: 20, ..Run::default() };
    let text = run
        .go("
    STG.E desc[UR4:2], [R4:2.64], R0
    EXIT PT")
        .unwrap_err()
        .to_string();
    assert!(text.starts_with("out-of-bounds write of 4 bytes at global address 0x"), "{text}");
    assert!(text.contains("0 bytes past the end of the buffer of 80 bytes"), "{text}");
    assert!(text.contains("at 0x0040 of k: STG.E desc[UR4][R4.64], R0"), "{text}");
    assert!(text.contains("block (0, 0, 0), thread (20, 0, 0)"), "{text}");
}

#[test]
fn misaligned_shared_and_local_accesses_are_errors() {
    let text = error("\n    PT, R6 = LDG.E desc[UR4:2], [R4:2.64+0x2], PT\n    EXIT PT");
    assert!(text.starts_with("misaligned read of 4 bytes"), "{text}");
    let text = error("\n    R6 = LDS [RZ+0x400]\n    EXIT PT");
    assert!(text.starts_with("out-of-bounds read of 4 bytes at shared address 0x400"), "{text}");
    let text = error("\n    R1 = LDC c[0x0][0x28]\n    STL [R1-0x4], R0\n    EXIT PT");
    assert!(text.starts_with("out-of-bounds write of 4 bytes at local address"), "{text}");
}

#[test]
fn local_memory_belongs_to_its_thread() {
    let run = Run { local: 16, ..Run::default() };
    let got = run
        .go("
    R1 = LDC c[0x0][0x28]
    STL [R1-0x10], R0
    R6 = LDL [R1-0x10]
    STG.E desc[UR4:2], [R4:2.64], R6
    EXIT PT")
        .unwrap();
    assert_eq!(got, (0..32).collect::<Vec<_>>());
}

#[test]
fn a_load_without_the_descriptor_is_an_error() {
    let text = error("\n    PT, R6 = LDG.E desc[UR6:2], [R4:2.64], PT\n    EXIT PT");
    assert!(text.starts_with("the descriptor UR6 was never written"), "{text}");
}

#[test]
fn registers_past_the_kernels_count_are_errors() {
    let text = error("\n    R32 = MOV RZ, 15\n    EXIT PT");
    assert!(text.starts_with("R32 lies past the 32 registers of the kernel"), "{text}");
}

#[test]
fn what_cannot_run_is_an_error_only_when_reached() {
    assert_eq!(words("\n    EXIT PT\nBB1:\n    BPT.TRAP 1"), [0; 32]);
    let text = error("\n    BPT.TRAP 1");
    assert!(text.starts_with("trap at 0x0040 of k: BPT.TRAP 0x1"), "{text}");
    // Behind the last instruction.
    let text = error("\n    R6 = MOV RZ, 15");
    assert!(text.starts_with("no instruction here"), "{text}");
}

#[test]
fn threads_that_wait_for_each_other_are_a_deadlock() {
    // Lane 0 waits at a barrier of the CTA, the others for lane 0.
    let text = error(
        "
    P0, PT = ISETP.EQ.U32.AND R0, RZ, PT
    @P0 BRA PT, BB1
    WARPSYNC.ALL
    EXIT PT
BB1:
    BAR.SYNC 0
    EXIT PT",
    );
    assert!(text.starts_with("deadlock: no thread can go on; block (0, 0, 0) warp 0"), "{text}");
    assert!(text.contains("WARPSYNC.ALL") && text.contains("BAR.SYNC"), "{text}");
}

#[test]
fn who_left_a_region_without_break_is_waited_for_as_long_as_others_can_go_on() {
    // Lane 0 leaves the region for a meeting of the warp and a barrier of the CTA.
    let source = "
    BSSY B0, BB1
    P0, PT = ISETP.EQ.U32.AND R0, RZ, PT
    @P0 BRA PT, BB2
    BSYNC PT, B0
BB1:
    R0, PT, PT = IADD3 R0, 100, RZ
BB2:
    WARPSYNC.ALL
    BAR.SYNC 0
    STG.E desc[UR4:2], [R4:2.64], R0
    EXIT PT";
    assert!(error(source).starts_with("deadlock: no thread can go on"));
    let lenient = Run { strict: false, ..Run::default() };
    let words = lenient.go(source).unwrap_or_else(|e| panic!("{e}"));
    let expected: Vec<u32> = std::iter::once(0).chain(101..132).collect();
    assert_eq!(words, expected);
}

#[test]
fn an_endless_loop_hits_the_limit() {
    let text = error("\n    BRA PT, BB1\nBB1:\n    BRA PT, BB1");
    assert_eq!(text, "still running after 1000000 warp instructions");
}

#[test]
fn a_kernel_that_is_not_there_is_named() {
    let image = Run::default().image("\n    EXIT PT");
    let launch = Launch { grid: [1; 3], block: [1; 3], ..Launch::default() };
    let result = run(&image, "other", &launch, &mut Memory::default(), Limits::default());
    assert_eq!(result.unwrap_err(), SimError::NoKernel("other".into()));
}

#[test]
fn random_programs_end_without_a_panic() {
    let target = crate::target("sm_90a").unwrap();
    let mut seed = 0x0123_4567_89ab_cdef_u64;
    let mut random = move || {
        // splitmix64
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let mut ran = vec![0u32; target.table().len()];
    let exit = assemble("BB0:\n    EXIT PT");
    for program in 0..8000 {
        let mut bytes = Vec::new();
        // Short ones, because a wild address ends a program; each form comes again and again.
        for at in 0..[1, 1, 1, 3, 40][program % 5] {
            let index = (program + at * 7) % ran.len();
            let form = target.table().form(index as u16);
            let at = at as u64;
            // Of some forms few words are instructions: wide operands are aligned, fields have
            // values that mean nothing.
            let word = (0..200).find_map(|_| {
                let bits = u128::from(random()) << 64 | u128::from(random());
                // Mostly without a guard, so that most instructions run.
                let bits = if random() % 4 != 0 { bits & !0xf000 | 0x7000 } else { bits };
                let word = bits & !form.fixed_mask | form.fixed & form.fixed_mask;
                target.decode(word, 16 * at).is_ok().then_some(word)
            });
            if let Some(word) = word {
                ran[index] += 1;
                bytes.extend(word.to_le_bytes());
            }
        }
        bytes.extend(&exit);
        let kernel = Kernel {
            name: "k".into(),
            registers: 255,
            shared_bytes: 64,
            local_bytes: 64,
            param_base: 0x210,
            ..Kernel::default()
        };
        let text = Text { name: "k".into(), address: CODE_BASE, bytes };
        let constants = vec![(3, (0..=255).collect())];
        let image =
            Image { target, texts: vec![text], kernels: vec![kernel], constants, const_window: 0 };
        let launch =
            Launch { grid: [1 + program as u32 % 2, 1, 1], block: [40, 1, 1], ..Launch::default() };
        // Many end in an error: an address is wild.
        let _ = run(
            &image,
            "k",
            &launch,
            &mut Memory::default(),
            Limits {
                warp_instructions: 5000,
                strict_regions: program % 2 == 0,
                ..Limits::default()
            },
        );
    }
    let never = ran.iter().filter(|n| **n < 10).count();
    assert!(never * 20 < ran.len(), "{never} of {} forms ran less than ten times", ran.len());
}

/// What ptxas emits and the simulator does not run: an opcode, or one with modifiers. What it runs
/// must leave this list. Rows that only nvdisasm knows need not run.
const NOT_YET: &[(&str, &str)] = &[
    ("SULD", "surfaces"),
    ("SUQUERY", "surfaces"),
    ("SURED", "surfaces"),
    ("SUST", "surfaces"),
    ("TEX", "textures"),
    ("TLD", "textures"),
    ("TLD4", "textures"),
    ("TMML", "textures"),
    ("TXD", "textures"),
    ("TXQ", "textures"),
];

#[test]
fn every_row_of_the_table_runs() {
    let target = crate::target("sm_90a").unwrap();
    let mut seed = 7u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed >> 16
    };
    let constants = image::Constants::default();
    let context =
        prepare::Context { target, constants: &constants, registers: 255, text: CODE_BASE };
    let mut unsupported = Vec::new();
    // Constants whose bank a uniform register tells.
    let bindless = |form: &crate::Form| {
        let handle =
            |s: &crate::Slot| matches!(s.kind, crate::SlotKind::Const { handle: Some(_), .. });
        form.slots.iter().any(handle)
    };
    for form in target.table().forms().filter(|f| f.seen && !bindless(f)) {
        let mut example = None;
        let mut runs = false;
        for attempt in 0..4000 {
            let mut word =
                || u128::from(random()) << 80 | u128::from(random()) << 40 | u128::from(random());
            // Every other one has many zeros: wide operands are aligned and fields have values that
            // mean something.
            let bits = if attempt % 2 == 0 { word() } else { word() & word() & word() };
            let word = bits & !form.fixed_mask | form.fixed & form.fixed_mask;
            let Ok(inst) = target.decode(word, 0) else { continue };
            match prepare::prepare(&context, &inst, 0) {
                Err(Cause::Unsupported(_)) => example = Some(format!("{}{}", inst.op, inst.mods)),
                _ => runs = true,
            }
            if runs {
                break;
            }
        }
        if !runs {
            unsupported.push(example.unwrap_or_else(|| format!("{} (never decoded)", form.op)));
        }
    }
    let listed = |name: &str, row: &str| {
        name.strip_prefix(row).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', ' ']))
    };
    let not_listed = |name: &&String| !NOT_YET.iter().any(|(row, _)| listed(name, row));
    let missing: Vec<_> = unsupported.iter().filter(not_listed).collect();
    assert!(missing.is_empty(), "do not run: {missing:?}");
    for (row, _) in NOT_YET {
        assert!(unsupported.iter().any(|name| listed(name, row)), "{row} is listed and runs");
    }
}
