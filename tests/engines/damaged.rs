//! Programs that are damaged or absurd end in both engines: with a result or with one error, never
//! with a panic, a hang or memory without bound.
//!
//! The seed is fixed. `ORIAS_FUZZ=N` makes N times as many programs, `ORIAS_SEED=S` others.

use orias::driver::{CompileOptions, compile_source};
use orias::elf::read::Cubin;
use orias::interpret;
use orias::launch::{Argument, Buffer, Launch, Scalar};
use orias::simulate::simulate;
use orias_isa::setup::Random;
use orias_runner::case::Suite;
use orias_runner::oracle::workspace;
use orias_targets::misuse::Checks;
use orias_targets::simulator;
use rayon::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Warp instructions of a launch at most.
const STEPS: u64 = 5_000;

fn below(random: &mut Random, limit: usize) -> usize {
    (random.word() % limit.max(1) as u64) as usize
}

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(otherwise)
}

/// Kernels with control flow, shared memory, barriers, calls, atomics and tables.
const FOLDERS: &[&str] = &[
    "reduce_tree",
    "switch_sparse",
    "warp_votes",
    "histogram",
    "local_array",
    "tri_softmax",
    "intdiv64",
    "bitonic_sort",
    "crc32",
];

struct Program {
    name: &'static str,
    source: String,
    cubin: Vec<u8>,
    launch: Launch,
}

fn programs() -> Vec<Program> {
    let load = |name: &&'static str| {
        let suite = Suite::load(&workspace().join("tests/corpus").join(name)).unwrap();
        let source = suite.source().unwrap();
        let options = CompileOptions { threads: 1, ..Default::default() };
        let cubin =
            compile_source(&source, &options).unwrap_or_else(|e| panic!("{name}: {e}")).cubin;
        let mut launch = suite.launch(&suite.cases[0]).unwrap();
        launch.grid = launch.grid.map(|n| n.min(2));
        Program { name, source, cubin, launch }
    };
    FOLDERS.iter().map(load).collect()
}

/// Runs it where a panic is caught; what it ends with does not matter.
fn survives(what: &str, run: impl FnOnce()) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|_| what.to_string())
}

fn all_survive(results: Vec<Result<(), String>>) {
    let wrong: Vec<String> = results.into_iter().filter_map(Result::err).collect();
    assert!(wrong.is_empty(), "{} panics: {}", wrong.len(), wrong.join("; "));
}

/// Where a text of the file lies in its bytes.
fn texts(cubin: &[u8]) -> Vec<std::ops::Range<usize>> {
    let start = cubin.as_ptr() as usize;
    let read = Cubin::read(cubin).unwrap();
    let range = |text: &[u8]| {
        let from = text.as_ptr() as usize - start;
        from..from + text.len()
    };
    read.functions.iter().map(|f| range(f.text)).collect()
}

/// Damages a cubin: bits of instructions, an instruction of another kernel in place of one, bytes
/// anywhere.
fn damage(random: &mut Random, all: &[Program], at: usize) -> Vec<u8> {
    let mut bytes = all[at].cubin.clone();
    for _ in 0..1 + below(random, 4) {
        let ranges = texts(&all[at].cubin);
        let range = ranges[below(random, ranges.len())].clone();
        let word = range.start + 16 * below(random, range.len() / 16);
        match below(random, 8) {
            0..3 => bytes[word + below(random, 16)] ^= 1 << below(random, 8),
            3..6 => {
                let other = &all[below(random, all.len())];
                let ranges = texts(&other.cubin);
                let from = ranges[below(random, ranges.len())].clone();
                let from = from.start + 16 * below(random, from.len() / 16);
                bytes[word..word + 16].copy_from_slice(&other.cubin[from..from + 16]);
            }
            _ => {
                let place = below(random, bytes.len());
                bytes[place] = random.word() as u8;
            }
        }
    }
    bytes
}

#[test]
fn no_damaged_cubin_makes_the_simulator_panic() {
    let all = programs();
    let seed = setting("ORIAS_SEED", 1);
    let count = 3_000 * setting("ORIAS_FUZZ", 1);
    let one = |number: u64| {
        let mut random = Random(seed ^ number << 20);
        let at = below(&mut random, all.len());
        let bytes = damage(&mut random, &all, at);
        let checks = if number & 1 == 0 { Checks::ALL } else { Checks::default() };
        let limits =
            simulator::Limits { warp_instructions: STEPS, checks, ..simulator::Limits::default() };
        survives(&format!("{} number {number}", all[at].name), || {
            let _ = simulate(&bytes, &all[at].launch, limits);
        })
    };
    all_survive((0..count).into_par_iter().map(one).collect());
}

/// Changes some words of PTX into others of the same file: opcodes, registers, numbers, names.
fn shuffle(random: &mut Random, source: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '%' | '.');
    let mut pieces: Vec<&str> = source.split_inclusive(|c| !is_word(c)).collect();
    // The head stays: without it nothing is read.
    let body = pieces.iter().position(|p| p.contains('{')).unwrap_or(0) + 1;
    for _ in 0..1 + below(random, 3) {
        let place = body + below(random, pieces.len() - body);
        let old = pieces[place];
        // Another word of the same beginning, or one that stands anywhere.
        let kind = |p: &&str| p.chars().next() == old.chars().next() && p.len() > 1;
        let same: Vec<&str> = pieces[body..].iter().copied().filter(kind).collect();
        pieces[place] = match below(random, 4) {
            0 => pieces[body + below(random, pieces.len() - body)],
            1 => ["0 ", "4294967295 ", "-1 ", "0x7fffffffffffffff "][below(random, 4)],
            _ if !same.is_empty() => same[below(random, same.len())],
            _ => old,
        };
    }
    pieces.concat()
}

#[test]
fn no_shuffled_ptx_makes_the_interpreter_panic() {
    let all = programs();
    let seed = setting("ORIAS_SEED", 1);
    let count = 3_000 * setting("ORIAS_FUZZ", 1);
    let one = |number: u64| {
        let mut random = Random(seed ^ number << 20);
        let program = &all[below(&mut random, all.len())];
        let source = shuffle(&mut random, &program.source);
        survives(&format!("{} number {number}", program.name), || {
            let Ok(loaded) = orias::ptx::load(&source) else { return };
            let limits =
                interpret::Limits { warp_instructions: STEPS, checks: Checks::ALL, counts: false };
            let _ = interpret::run_limited(&loaded, &source, &program.launch, limits);
        })
    };
    all_survive((0..count).into_par_iter().map(one).collect());
}

const HEAD: &str = ".version 9.0\n.target sm_90a\n.address_size 64\n";

/// The error of a kernel `k` of one buffer in the interpreter, and of our cubin in the simulator.
fn errors(body: &str, grid: [u32; 3], block: [u32; 3]) -> [String; 2] {
    let source = format!("{HEAD}.visible .entry k(.param .u64 o)\n{{\n{body}\n}}\n");
    let buffer = Buffer { bytes: vec![0; 4096], writable: true, output: None };
    let args = vec![Argument::Buffer(buffer)];
    let launch = Launch { entry: "k".into(), grid, block, args, ..Launch::default() };
    let program =
        orias::ptx::load(&source).unwrap_or_else(|e| panic!("{}", e.render("k", &source)));
    let limits = interpret::Limits { warp_instructions: STEPS, ..Default::default() };
    let interpreted = interpret::run_limited(&program, &source, &launch, limits);
    let options = CompileOptions { threads: 1, ..Default::default() };
    let cubin = compile_source(&source, &options).unwrap_or_else(|e| panic!("{e}")).cubin;
    let limits = simulator::Limits { warp_instructions: STEPS, ..Default::default() };
    [
        interpreted.map(|_| ()).expect_err("the interpreter stops").to_string(),
        simulate(&cubin, &launch, limits).map(|_| ()).expect_err("the simulator stops").to_string(),
    ]
}

#[test]
fn an_endless_loop_ends_at_the_limit() {
    for text in errors("L:\nbra L;\nret;", [1; 3], [32, 1, 1]) {
        assert_eq!(text, "still running after 5000 warp instructions");
    }
    // Every thread waits for a value that no thread writes.
    let spin = ".reg .b64 %p; .reg .b32 %v; .reg .pred %c;\nld.param.u64 %p, [o];\n\
                L:\nld.volatile.global.u32 %v, [%p];\nsetp.eq.u32 %c, %v, 0;\n@%c bra L;\nret;";
    for text in errors(spin, [100_000, 1, 1], [1024, 1, 1]) {
        assert_eq!(text, "still running after 5000 warp instructions");
    }
}

#[test]
fn threads_that_wait_for_each_other_are_a_deadlock_in_both_engines() {
    // Warp 0 waits at barrier 1 for 64 threads, warp 1 at barrier 2.
    let body = ".reg .b32 %t; .reg .pred %c;\nmov.u32 %t, %tid.x;\nsetp.lt.u32 %c, %t, 32;\n\
                @%c bra A;\nbar.sync 2, 64;\nbra B;\nA:\nbar.sync 1, 64;\nB:\nret;";
    let [interpreted, simulated] = errors(body, [1; 3], [64, 1, 1]);
    assert!(interpreted.starts_with("deadlock: every thread of the launch waits"), "{interpreted}");
    assert!(interpreted.contains("bar.sync 1, 64") && interpreted.contains("bar.sync 2, 64"));
    assert!(simulated.starts_with("deadlock: no thread can go on"), "{simulated}");
    assert!(simulated.contains("BAR.SYNC"), "{simulated}");
}

#[test]
fn absurd_launches_are_refused() {
    let body = "ret;";
    for (grid, block) in [
        ([0, 1, 1], [32, 1, 1]),
        ([u32::MAX; 3], [32, 1, 1]),
        ([1, 65_536, 1], [32, 1, 1]),
        ([1; 3], [u32::MAX; 3]),
        ([1; 3], [1025, 1, 1]),
        ([1; 3], [1, 1, 65]),
    ] {
        for text in errors(body, grid, block) {
            assert!(
                text.contains("at least 1")
                    || text.contains("more than")
                    || text.contains("larger"),
                "{text}"
            );
        }
    }
}

#[test]
fn memory_that_no_device_has_is_refused() {
    let frame = ".local .align 4 .b8 x[600000];\n.reg .b64 %l; .reg .b32 %t, %v;\nmov.u32 %t, %tid.x;\n\
                 cvt.u64.u32 %l, %t;\nst.local.u32 [x], %t;\nret;";
    let [interpreted, _] = errors(frame, [1; 3], [32, 1, 1]);
    assert!(interpreted.contains("600000 bytes of local memory a thread"), "{interpreted}");
    let source = format!(
        "{HEAD}.global .align 4 .b8 g[100000000000];\n.visible .entry k() {{ st.global.u32 [g], 1; ret; }}\n"
    );
    let program = orias::ptx::load(&source).unwrap();
    let launch = Launch { entry: "k".into(), grid: [1; 3], block: [1; 3], ..Launch::default() };
    let text = interpret::run(&program, &source, &launch).unwrap_err().to_string();
    assert!(text.starts_with("the module's variables need more than"), "{text}");
    let text = orias::launch::parse_argument("out=99999999999999:f").unwrap_err().to_string();
    assert!(text.contains("is not in 0 ..="), "{text}");
    let wrong = Launch { args: vec![Argument::Scalar(Scalar::U32(1))], ..launch };
    assert!(interpret::run(&program, &source, &wrong).is_err());
}
