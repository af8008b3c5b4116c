//! Each rule proved: what its instructions compute, and what stands for them computes, on the
//! simulator, for random values and those at the edges. So is what instructions give of numbers.

use super::numbers;
use super::rules::{ENDS, RULES, Rule, Slot, Step};
use crate::testing::Random;
use orias_components::{Function, RegUse, text};
use orias_targets::Target;
use orias_targets::memory::{Memory, MemorySpace};
use orias_targets::simulator::{CODE_BASE, Image, Kernel, Launch, Limits, Text, run};

const LANES: usize = 32;
/// Words that a lane has in the buffer: inputs, what the rule's instructions give, what stands for
/// them gives.
const WORDS: usize = 16;
const INPUTS: usize = 8;
const RESULTS: usize = 3;

/// How operands that may be anything are written: as they are, or one of them with a minus, or all
/// inverted.
const SIGNS: [[&str; 3]; 5] =
    [["", "", ""], ["-", "", ""], ["", "-", ""], ["", "", "-"], ["", "", "~"]];

/// Registers that stand for those of a rule: its result's have the last number.
fn operand(slot: Slot, result: u32, signs: [&str; 3], number: u32) -> String {
    match slot {
        Slot::Cell(0, cell) => format!("R{}", result + u32::from(cell)),
        Slot::Pair(0) => format!("R{result}:2"),
        Slot::Cell(1, cell) => format!("R{}", 20 + cell),
        Slot::Pair(1) => "R20:2".into(),
        Slot::Cell(2, cell) => format!("R{}", 10 + cell),
        Slot::Pair(2) => "R10:2".into(),
        Slot::Cell(..) | Slot::Pair(_) => "P1".into(),
        Slot::Any(any @ 0..3) => format!("{}R{}", signs[usize::from(any)], 12 + any),
        // A carry that comes out of it, and one that goes in.
        Slot::Any(3) => "P2".into(),
        Slot::Any(_) => "P3".into(),
        Slot::Minus(1, cell) => format!("-R{}", 20 + cell),
        Slot::Minus(..) => unreachable!("rules subtract nothing else"),
        Slot::Number(_) | Slot::Word(_) => number.to_string(),
        Slot::Opposite(_) => number.wrapping_neg().to_string(),
        Slot::Exactly(number) => number.to_string(),
        Slot::Total(..) => number.wrapping_add(number).to_string(),
        Slot::Rest(_) => (32 - number).to_string(),
        Slot::Zero => "RZ".into(),
        Slot::True => "PT".into(),
        Slot::False => "!PT".into(),
    }
}

fn line(step: &Step, result: u32, signs: [&str; 3], number: u32) -> String {
    let names: Vec<String> =
        step.operands.iter().map(|slot| operand(*slot, result, signs, number)).collect();
    let (dests, sources) = names.split_at(usize::from(step.defs));
    let mods: String = step.mods.iter().map(|word| format!(".{word}")).collect();
    format!("    {} = {}{mods} {}\n", dests.join(", "), step.op, sources.join(", "))
}

/// Stores the result's cells and the carry that came out.
fn store(result: u32, at: usize) -> String {
    let words = "    R24 = SEL R25, RZ, P2\n    P2, PT = ISETP.NE.U32.AND RZ, RZ, PT\n";
    let to = |i: usize| 4 * (at + i);
    format!(
        "{words}    STG.E desc[UR4:2], [R4:2.64+{}], R{result}
    STG.E desc[UR4:2], [R4:2.64+{}], R{}
    STG.E desc[UR4:2], [R4:2.64+{}], R24\n",
        to(0),
        to(1),
        result + 1,
        to(2)
    )
}

/// A program that loads a lane's inputs and computes both; None where the machine has no such
/// instruction.
fn program(target: &Target, rule: &Rule, signs: [&str; 3], number: u32) -> Option<Vec<u8>> {
    let body: Vec<String> = rule
        .from
        .iter()
        .map(|step| line(step, 16, signs, number))
        .chain([store(16, INPUTS), line(&rule.to, 18, signs, number), store(18, INPUTS + RESULTS)])
        .collect();
    encoded(target, &(LOADS.to_owned() + &body.concat() + "    EXIT PT\n"))
}

/// A lane's inputs from its part of the buffer to R10 and the four behind it.
const LOADS: &str = "BB0:
    R2:2 = LDC.64 c[0x0][0x210]
    UR4:2 = ULDC.64 c[0x0][0x208]
    R0 = S2R SR33
    R4:2, PT = IMAD.WIDE.U32 R0, 64, R2:2
    R25 = MOV 1, 15
    P2, PT = ISETP.NE.U32.AND RZ, RZ, PT
    R16 = MOV RZ, 15
    R17 = MOV RZ, 15
    R18 = MOV RZ, 15
    R19 = MOV RZ, 15
    PT, R10 = LDG.E desc[UR4:2], [R4:2.64+0], PT
    PT, R11 = LDG.E desc[UR4:2], [R4:2.64+4], PT
    PT, R12 = LDG.E desc[UR4:2], [R4:2.64+8], PT
    PT, R13 = LDG.E desc[UR4:2], [R4:2.64+12], PT
    PT, R14 = LDG.E desc[UR4:2], [R4:2.64+16], PT
    PT, R26 = LOP3.LUT R14, 1, RZ, 192, !PT
    P3, PT = ISETP.NE.U32.AND R26, RZ, PT
";

/// The words of a program; None where the machine has no such instruction.
fn encoded(target: &Target, source: &str) -> Option<Vec<u8>> {
    let mut function = Function::default();
    let mut body = function.body();
    text::parse(source, &mut body).unwrap_or_else(|e| panic!("{e}\n{source}"));
    let block = body.layout()[0];
    let insts = body.block(block).insts().iter().enumerate();
    let words = insts.map(|(at, id)| {
        target.encode(&body.inst(*id).to_inst(), 16 * at as u64).ok().map(u128::to_le_bytes)
    });
    let words: Option<Vec<[u8; 16]>> = words.collect();
    Some(words?.concat())
}

fn run_on(target: &'static Target, code: Vec<u8>, inputs: &[u8]) -> Vec<u32> {
    let image = Image {
        target,
        texts: vec![Text { name: "k".into(), address: CODE_BASE, bytes: code }],
        kernels: vec![Kernel {
            name: "k".into(),
            text: 0,
            registers: 32,
            shared_bytes: 0,
            local_bytes: 0,
            param_base: 0x210,
            constants: Vec::new(),
        }],
        constants: Vec::new(),
        const_window: 0,
    };
    let mut memory = Memory::default();
    let base = memory.map("the buffer", MemorySpace::Global, inputs.to_vec(), true);
    let launch = Launch {
        grid: [1, 1, 1],
        block: [LANES as u32, 1, 1],
        cluster: None,
        dynamic_shared: 0,
        params: base.to_le_bytes().to_vec(),
    };
    run(&image, "k", &launch, &mut memory, Limits::default()).unwrap_or_else(|e| panic!("{e}"));
    let bytes = &memory.region(base).expect("it was mapped").bytes;
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// Words at the edges, as numbers and as floats.
const EDGES: [u32; 17] = [
    0,
    1,
    u32::MAX,
    0x8000_0000,
    0x7fff_ffff,
    0x5555_5555,
    0x3f80_0000,
    0xbf80_0000,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0x0080_0000,
    0x8080_0000,
    0x007f_ffff,
    0x7f7f_ffff,
    0x3400_0000,
    0x3f7f_ffff,
];

#[test]
fn what_an_instruction_gives_of_numbers_is_what_the_machine_computes() {
    const LINES: [&str; 16] = [
        "R16 = FADD R10, R11",
        "R16 = FADD -|R10|, R11",
        "R16 = FADD.FTZ R10, -R11",
        "R16 = FMUL R10, R11",
        "R16 = FMUL.FTZ -R10, R11",
        "R16 = FFMA R10, R11, R12",
        "R16 = FFMA R10, -R11, R12",
        "R16 = FFMA.FTZ R10, R11, -R12",
        "R16, PT, PT = IADD3 R10, R11, R12",
        "PT, R16 = LOP3.LUT R10, R11, R12, 0x96, !PT",
        "PT, R16 = LOP3.LUT R10, R11, R12, 0xca, !PT",
        "R16 = PRMT R10, 0x7c51, R11",
        "R16 = PRMT R10, 0x8b26, R11",
        "R16 = SHF.L.U32 R10, 0x7, RZ",
        "R16 = SHF.R.U32.HI RZ, 0x1f, R10",
        "R16 = SHF.R.S32.HI RZ, 0x5, R10",
    ];
    let target = orias_targets::target("sm_90a").expect("in the list of targets");
    let mut random = Random::new(11);
    for line in LINES {
        let source = format!("BB0:\n    {line}\n    EXIT PT\n");
        let mut function = Function::default();
        let mut body = function.body();
        text::parse(&source, &mut body).unwrap_or_else(|e| panic!("{e}\n{line}"));
        let inst = body.inst(body.block(body.layout()[0]).insts()[0]);
        let program = format!("{LOADS}    {line}\n{}    EXIT PT\n", store(16, INPUTS));
        let code = encoded(target, &program).unwrap_or_else(|| panic!("{line} has no words"));
        for _ in 0..8 {
            let mut word = |_| match random.below(3) {
                0 => EDGES[random.below(EDGES.len() as u64) as usize],
                _ => random.next() as u32,
            };
            let inputs: Vec<u32> = (0..LANES * WORDS).map(&mut word).collect();
            let bytes: Vec<u8> = inputs.iter().flat_map(|word| word.to_le_bytes()).collect();
            for lane in run_on(target, code.clone(), &bytes).chunks_exact(WORDS) {
                let known =
                    |r: RegUse| r.reg.phys_index()?.checked_sub(10).map(|at| lane[at as usize]);
                let value = numbers::value(inst, known);
                assert_eq!(value, Some(lane[INPUTS]), "{line} of {:x?}", &lane[..INPUTS]);
            }
        }
    }
}

#[test]
fn what_stands_for_a_rule_computes_what_it_did() {
    let target = orias_targets::target("sm_90a").expect("in the list of targets");
    let mut random = Random::new(7);
    for rule in RULES {
        let mut tried = 0;
        for signs in SIGNS {
            for number in [1, 2, 3, 8, 17, 31] {
                let Some(code) = program(target, rule, signs, number) else { continue };
                let mut word = |_| match random.below(3) {
                    0 => EDGES[random.below(EDGES.len() as u64) as usize],
                    1 => random.next() as u32 >> random.below(32),
                    _ => random.next() as u32,
                };
                let inputs: Vec<u32> = (0..LANES * WORDS).map(&mut word).collect();
                let bytes: Vec<u8> = inputs.iter().flat_map(|word| word.to_le_bytes()).collect();
                let results = run_on(target, code, &bytes);
                for lane in results.chunks_exact(WORDS) {
                    let (inputs, both) = lane.split_at(INPUTS);
                    let (first, second) = both[..2 * RESULTS].split_at(RESULTS);
                    assert_eq!(
                        first, second,
                        "{} with {signs:?} and {number} of {inputs:x?}",
                        rule.name
                    );
                }
                tried += 1;
            }
        }
        assert!(tried >= 6, "{}: no instruction of it can be encoded", rule.name);
    }
}

#[test]
fn a_rule_gives_no_more_instructions_than_it_takes() {
    for rule in RULES {
        let taken = rule.from.last().expect("a rule has steps");
        assert!(ENDS.contains(&taken.op), "{}: no one looks for its end", rule.name);
        let mut operands = rule.to.operands.iter();
        let known = |slot: &Slot| {
            let mut all = rule.from.iter().flat_map(|step| step.operands);
            matches!(
                slot,
                Slot::Zero
                    | Slot::True
                    | Slot::False
                    | Slot::Exactly(_)
                    | Slot::Rest(_)
                    | Slot::Opposite(_)
                    | Slot::Total(..)
            ) || all.any(|other| other == slot)
                || matches!(slot, Slot::Pair(name) if {
                    let has = |cell| rule.from.iter().any(|s| s.operands.contains(&Slot::Cell(*name, cell)));
                    has(0) && has(1)
                })
        };
        assert!(operands.all(known), "{}: its result names what it has not", rule.name);
    }
}
