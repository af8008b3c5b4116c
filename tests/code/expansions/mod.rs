//! Division, remainder, reciprocal and square root, which the machine has not, from our cubins in
//! the simulator against exact results: on all pairs of edge values at -O0 and -O3, and with
//! `ORIAS_EXPANSION_INPUTS=N` on N random inputs of each instruction too, half of them at each
//! level (of each constant divisor on a thirtieth of that).
//!
//! Measured with N = 10 000 000 in release: 12 integer instructions, 24 of singles and 12 of
//! doubles, five million inputs of each at -O0 and at -O3, and 166 666 of a constant divisor at
//! each; none was wrong.
//!
//! Each on edge values twice: alone, and at three places of a kernel to which threads of a warp
//! come apart, where the places share what `systems/expand/shared.rs` makes subroutines.
//!
//! `ORIAS_EXPANSION_ONLY` names what the instruction's text must contain.

mod cases;
mod exact;
mod inputs;

use cases::{Case, all};
use orias::driver::{CompileOptions, compile_source};
use orias::launch::{Argument, Buffer, Launch};
use orias_targets::simulator::{Hazards, Limits};

/// Inputs of one launch.
const BATCH: usize = 1 << 18;

/// The instruction for every third thread at another place.
fn at_three_places(instruction: &str) -> String {
    format!(
        "rem.u32 %n, %t, 3; setp.eq.u32 %p, %n, 1; @%p bra B; setp.eq.u32 %p, %n, 2; @%p bra C;\n\
         {instruction}; bra E;\nB: {instruction}; bra E;\nC: {instruction};\nE: mov.u32 %n, 0"
    )
}

/// A kernel that applies one instruction to every element of two arrays. Elements are 8 bytes
/// apart.
fn kernel(instruction: &str, class: &str) -> String {
    format!(
        ".version 9.0\n.target sm_90a\n.address_size 64\n\
         .visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 po)\n{{\n\
         .reg .b32 %i, %n, %t; .reg .b64 %pa, %pb, %po, %off; .reg .pred %p; .reg .{class} %a, %b, %d;\n\
         mov.u32 %i, %ctaid.x; mov.u32 %n, %ntid.x; mov.u32 %t, %tid.x; mad.lo.s32 %i, %i, %n, %t;\n\
         mul.wide.u32 %off, %i, 8;\n\
         ld.param.u64 %pa, [pa]; ld.param.u64 %pb, [pb]; ld.param.u64 %po, [po];\n\
         add.s64 %pa, %pa, %off; add.s64 %pb, %pb, %off; add.s64 %po, %po, %off;\n\
         ld.global.{class} %a, [%pa]; ld.global.{class} %b, [%pb];\n\
         {instruction};\n\
         st.global.{class} [%po], %d;\nret;\n}}\n"
    )
}

fn bytes(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// What the instruction gives for each pair.
fn results(cubin: &[u8], a: &[u64], b: &[u64]) -> Vec<u64> {
    let (threads, block) = (a.len().next_multiple_of(128), 128);
    let padded = |list: &[u64]| {
        let mut list = list.to_vec();
        list.resize(threads, 1);
        Argument::Buffer(Buffer { bytes: bytes(&list), writable: false, output: None })
    };
    let output = Buffer { bytes: vec![0; 8 * threads], writable: true, output: None };
    let launch = Launch {
        entry: "k".into(),
        grid: [(threads / block) as u32, 1, 1],
        block: [block as u32, 1, 1],
        cluster: None,
        dynamic_shared: 0,
        args: vec![padded(a), padded(b), Argument::Buffer(output)],
    };
    let limits = Limits { hazards: Hazards::Find, ..Limits::default() };
    let outcome = orias::simulate::simulate(cubin, &launch, limits);
    let outcome = outcome.unwrap_or_else(|e| panic!("{e}"));
    assert!(outcome.hazards.is_empty(), "{}", outcome.hazards[0]);
    let words = outcome.buffers[2].chunks_exact(8);
    words.take(a.len()).map(|c| u64::from_le_bytes(c.try_into().expect("8 bytes"))).collect()
}

fn cubin(case: &Case, text: &str, opt_level: u8) -> Vec<u8> {
    let source = kernel(text, case.class());
    let options = CompileOptions { opt_level, threads: 1, ..CompileOptions::default() };
    compile_source(&source, &options).unwrap_or_else(|e| panic!("{}: {e}", case.text)).cubin
}

/// The first wrong result of a batch, in words.
fn wrong(case: &Case, opt_level: u8, cubin: &[u8], a: &[u64], b: &[u64]) -> Option<String> {
    let got = results(cubin, a, b);
    let at = (0..a.len()).find(|i| !case.right(a[*i], b[*i], got[*i]))?;
    Some(format!(
        "{} -O{opt_level} of {:#x}, {:#x} gives {:#x}, exactly {:#x}",
        case.text,
        a[at],
        b[at],
        got[at],
        case.exact(a[at], b[at])
    ))
}

/// All cases whose text begins with one of the names: on edge values, and on as many random ones as
/// the environment asks for.
fn check(names: &[&str]) {
    let only = std::env::var("ORIAS_EXPANSION_ONLY").unwrap_or_default();
    let random: usize = std::env::var("ORIAS_EXPANSION_INPUTS")
        .map_or(0, |n| n.parse().expect("a number of inputs"));
    let mut failures = Vec::new();
    let cases = all().into_iter().filter(|case| {
        names.iter().any(|name| case.text.starts_with(name)) && case.text.contains(&only)
    });
    for case in cases {
        for opt_level in [0, 3] {
            let (a, b) = inputs::edges(&case);
            let shared = cubin(&case, &at_three_places(&case.text), opt_level);
            failures.extend(wrong(&case, opt_level, &shared, &a, &b));
            let cubin = cubin(&case, &case.text, opt_level);
            failures.extend(wrong(&case, opt_level, &cubin, &a, &b));
            let mut seed = 0x1234_5678;
            let mut done = 0;
            let inputs = random / if case.has_constant() { 60 } else { 2 };
            while done < inputs && failures.is_empty() {
                let count = BATCH.min(inputs - done);
                let (a, b) = inputs::random(&case, count, &mut seed);
                failures.extend(wrong(&case, opt_level, &cubin, &a, &b));
                done += count;
            }
            if random > 0 {
                eprintln!("{} -O{opt_level}: {done} random inputs", case.text);
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn integer_division_and_remainder() {
    check(&["div.u", "div.s", "rem"]);
}

#[test]
fn single_division() {
    check(&[
        "div.rn.f32",
        "div.rz.f32",
        "div.rm.f32",
        "div.rp.f32",
        "div.rn.ftz",
        "div.rn.sat",
        "div.rz.ftz",
        "div.rm.ftz",
        "div.rp.ftz",
    ]);
}

#[test]
fn double_division() {
    check(&["div.rn.f64", "div.rz.f64", "div.rm.f64", "div.rp.f64"]);
}

#[test]
fn reciprocals() {
    check(&["rcp"]);
}

#[test]
fn square_roots() {
    check(&["sqrt"]);
}
