//! The checkers of machine code ([`orias::check`]): over our code nothing is wrong, over ptxas's
//! nothing in kernels that people write (of one-instruction kernels `orias-isa flow` lists what
//! has a known cause), and code that was damaged is flagged. `orias-isa order` is for everything.

use orias::check::Rule;
use orias::check::ptx_lines::one_a_line;
use orias::interpret;
use orias::launch::{Argument, Buffer, Launch, Scalar};
use orias::simulate::simulate;
use orias_fuzz::{generate, print};
use orias_isa::{flow, order, reference, sources};
use orias_runner::oracle;
use orias_targets::{Target, target};
use rayon::prelude::*;

fn hopper() -> &'static Target {
    target("sm_90a").expect("a target")
}

/// Kernels with much flow of control, and with many accesses.
fn modules() -> Vec<(String, String)> {
    let all =
        sources::below("engines/kernels", "sm_90a").into_iter().chain(sources::corpus("sm_90a"));
    all.map(|s| (s.name, s.text)).collect()
}

fn faults(sum: &flow::Sum) -> Vec<&String> {
    sum.found.iter().filter(|(rule, _)| rule.is_fault()).flat_map(|(_, lines)| lines).collect()
}

fn flow_of(list: &[(String, String)], make: impl Fn(&str) -> Option<Vec<u8>> + Sync) -> flow::Sum {
    let reports = |text: &str| flow::reports(hopper(), &make(text)?).ok();
    let made: Vec<_> = list.par_iter().map(|(_, text)| reports(text)).collect();
    let mut sum = flow::Sum::default();
    list.iter().zip(made).for_each(|((name, _), made)| sum.add(name, &made.unwrap_or_default()));
    sum
}

#[test]
fn threads_meet_where_they_are_meant_to_in_our_code() {
    let mut list = modules();
    list.extend((0..300).map(|seed| {
        let program = generate::program(seed, &generate::Wishes::default());
        (format!("seed {seed}"), print::module(&program))
    }));
    for level in [0, 3] {
        let sum = flow_of(&list, |text| flow::our_cubin(text, level));
        assert!(sum.regions > 1000, "{} regions", sum.regions);
        assert!(faults(&sum).is_empty(), "-O{level}: {:#?}", faults(&sum));
    }
}

/// In graphs that nobody would write ptxas has regions which lanes enter anew while others wait at
/// their end, and jump tables into regions; and at -O0 a barrier for a loop whose threads vote
/// together, which only they part that never do. Our code has no such.
const GRAPHS: [(&str, &[&str]); 3] = [
    (
        "-O0",
        &[
            "graphs tables_into_a_region at 0x08c0: B1",
            "graphs three_loops_with_side_exits at 0x0440: B0 with that of 0x0440",
            "graphs waiting_while_others_enter_anew at 0x0440: B0 with that of 0x0440",
            "collectives in_a_loop at 0x04d0: threads diverge here; by 0x0290 they wait for the whole warp, by the other way they wait at BSYNC B1 for those of 0x0280",
        ],
    ),
    ("-O1", &["graphs tables_into_a_region at 0x02f0: B1"]),
    ("-O3", &["graphs tables_into_a_region at 0x02f0: B1"]),
];

#[test]
fn nothing_is_flagged_in_code_of_ptxas_for_kernels_that_people_write() {
    let Some(ptxas) = oracle::tool("ptxas") else { return };
    for (level, known) in GRAPHS {
        let make = |text: &str| reference::ptxas(&ptxas, "sm_90a", text, &[level]).ok();
        let sum = flow_of(&modules(), make);
        assert!(sum.regions > 500, "{} regions", sum.regions);
        let found: Vec<_> = sum.found.values().flatten().map(String::as_str).collect();
        assert_eq!(found, known, "{level}");
    }
}

/// Each BSSY, BSYNC and BREAK deleted, moved, with another register or another place.
#[test]
fn damaged_regions_are_flagged() {
    let (mut made, mut flagged, mut missed) = (0, 0, Vec::new());
    for (_, text) in modules() {
        let Some(cubin) = flow::our_cubin(&text, 3) else { continue };
        let found = flow::mutants(hopper(), &cubin);
        let (all, some) = found.total();
        (made, flagged) = (made + all, flagged + some);
        missed.extend(found.missed);
    }
    assert!(made > 2000, "{made} changes");
    assert!(flagged * 100 >= made * 99, "{flagged} of {made}: {missed:#?}");
}

/// What the checker exists for: a branch's own barrier around a meeting of the whole warp.
#[test]
fn a_meeting_that_a_barrier_keeps_threads_from_is_flagged() {
    let Some(ptxas) = oracle::tool("ptxas") else { return };
    let text = std::fs::read_to_string(oracle::workspace().join("tests/code/convergence.ptx"))
        .expect("the kernels");
    // ptxas makes such code at -O0 alone.
    let cubin = reference::ptxas(&ptxas, "sm_90a", &text, &["-O0"]).expect("PTX");
    let reports = flow::reports(hopper(), &cubin).expect("a cubin");
    let flagged = |kernel: &str| {
        let report = reports.iter().find(|r| r.kernel == kernel).expect("the kernel");
        report.findings.iter().any(|f| f.rule == Rule::UnmetCollective)
    };
    assert!(flagged("loop_all") && flagged("vall_join") && flagged("cta_bar_join"));
    assert!(!flagged("exit_label") && !flagged("guard_store_ret"));
}

/// What a branch parts meets again where its barrier says, in these kernels too.
#[test]
fn barriers_enclose_what_parts() {
    let text = std::fs::read_to_string(oracle::workspace().join("tests/code/convergence.ptx"))
        .expect("the kernels");
    for level in 0..=3 {
        let cubin = flow::our_cubin(&text, level).expect("it compiles");
        for report in flow::reports(hopper(), &cubin).expect("a cubin") {
            let faults: Vec<_> = report.findings.iter().filter(|f| f.rule.is_fault()).collect();
            assert!(faults.is_empty(), "{} -O{level}: {faults:?}", report.kernel);
        }
    }
}

/// Threads that exit without coming to a meeting are waited for by nobody: PTX's engine and our
/// code agree at every level.
#[test]
fn who_exits_without_coming_is_waited_for_by_nobody() {
    let text = std::fs::read_to_string(oracle::workspace().join("tests/code/convergence.ptx"))
        .expect("the kernels");
    let program = orias::ptx::load(&text).expect("PTX");
    let kernels: Vec<String> = program.functions.iter().map(|f| f.name.to_string()).collect();
    assert!(kernels.len() > 10);
    let bytes = vec![0; 16384];
    for entry in kernels {
        let buffer = Buffer { bytes: bytes.clone(), writable: true, output: None };
        let launch = Launch {
            entry: entry.clone(),
            grid: [1; 3],
            block: [32, 1, 1],
            args: vec![Argument::Buffer(buffer), Argument::Scalar(Scalar::U32(7))],
            ..Launch::default()
        };
        let expected = interpret::run(&program, &text, &launch).expect("it ends");
        for level in 0..=3 {
            let cubin = flow::our_cubin(&text, level).expect("it compiles");
            let found = simulate(&cubin, &launch, Default::default());
            let found = found.unwrap_or_else(|e| panic!("{entry} -O{level}: {e}"));
            assert!(found.buffers == expected.buffers, "{entry} -O{level}");
        }
    }
}

fn one_a_line_each(list: Vec<(String, String)>) -> Vec<(String, String)> {
    list.into_iter().map(|(name, text)| (name, one_a_line(&text))).collect()
}

/// Lines without an instruction: the last product of a group has the group's scoreboard.
const COMMITS: &[&str] = &[
    "tri_matmul_f16 matmul line 345: wgmma.commit_group.sync.aligned",
    "wgmma_min wgmma_rs line 348: wgmma.commit_group.sync.aligned",
    "wgmma_min wgmma_ss line 261: wgmma.commit_group.sync.aligned",
];

/// Of ptxas's also those where the warp is together.
const WARPS: &[&str] = &[
    "graphs ways_out_to_a_meeting line 275: bar.warp.sync",
    "graphs tables_into_a_region line 208: bar.warp.sync",
    "language early line 1724: bar.warp.sync",
    "language_plain early line 1723: bar.warp.sync",
    "ldmatrix_mma mma_f16_trans line 215: bar.warp.sync",
    "ldmatrix_mma mma_f16_trans line 219: bar.warp.sync",
    "tri_matmul_small matmul_small line 280: bar.warp.sync",
    "wmma_tile wmma_f16_shared line 269: bar.warp.sync",
    "wmma_tile wmma_f16_shared line 282: bar.warp.sync",
];

fn lost(sum: &order::Sum) -> Vec<String> {
    let of = |(what, places): (&String, &Vec<String>)| {
        places.iter().map(|place| format!("{place}: {what}")).collect::<Vec<_>>()
    };
    sum.lost.iter().flat_map(of).collect()
}

#[test]
fn accesses_keep_their_order_in_our_code() {
    let mut list = modules();
    let kinds = ["atom", "mem", "ld", "st", "red", "bar", "fence", "mbar", "cp", "async"];
    let some = sources::one_instruction("sm_90a").into_iter();
    list.extend(
        some.filter(|s| kinds.iter().any(|k| s.name.starts_with(k))).map(|s| (s.name, s.text)),
    );
    let list = one_a_line_each(list);
    for level in [0, 3] {
        let sum = order::check_all(hopper(), &list, false, |text| order::our_cubin(text, level));
        assert!(sum.pairs > 20_000, "{} pairs", sum.pairs);
        assert!(sum.wrong.is_empty(), "-O{level}: {:#?}", sum.wrong);
        assert_eq!(lost(&sum), COMMITS, "-O{level}");
    }
}

#[test]
fn accesses_keep_their_order_in_code_of_ptxas() {
    let Some(ptxas) = oracle::tool("ptxas") else { return };
    let list = one_a_line_each(modules());
    let make = |text: &str| reference::ptxas(&ptxas, "sm_90a", text, &["-O3", "-lineinfo"]).ok();
    let sum = order::check_all(hopper(), &list, false, make);
    assert!(sum.pairs > 20_000, "{} pairs", sum.pairs);
    assert!(sum.wrong.is_empty(), "{:#?}", sum.wrong);
    assert_eq!(lost(&sum), [WARPS, COMMITS].concat());
}

#[test]
fn two_accesses_that_change_places_are_seen() {
    let list = one_a_line_each(modules());
    let sum = order::check_all(hopper(), &list, true, |text| order::our_cubin(text, 3));
    let (made, seen) = sum.mutants;
    assert!(made > 200, "{made} exchanges");
    assert_eq!(made, seen, "exchanges seen");
}

#[test]
fn a_line_of_ptx_says_what_it_orders() {
    let parse = |text: &str| orias::check::ptx_lines::line(text).expect("an instruction");
    let load = parse("$L1: @!%p ld.acquire.gpu.global.v2.u32 {%r1, %r2}, [%rd1+8];");
    assert_eq!(load.labels, ["$L1"]);
    assert!(load.guarded && load.effect.access && load.effect.strong && load.effect.acquire);
    assert!(!load.effect.release);
    assert_eq!((load.address, load.bytes), (Some(("%rd1".to_string(), 8)), 8));
    let private = parse("ld.param.u64 %rd1, [k_param_0];");
    assert!(!private.effect.access);
    let fence = parse("fence.proxy.async.shared::cta;").effect;
    assert!(fence.orders() && fence.meets(parse("st.shared.u32 [%r1], 0;").effect));
    assert!(!fence.meets(parse("st.global.u32 [%rd1], 0;").effect));
    let commit = parse("cp.async.commit_group;").effect;
    assert!(!commit.meets(parse("ld.global.u32 %r1, [%rd1];").effect));
    assert!(commit.meets(parse("cp.async.cg.shared.global [%r1], [%rd1], 16;").effect));
    assert_eq!(parse("bra.uni $L2;").targets, ["$L2"]);
    let text = "// a\n.version 8.5\n.entry k() { .reg .b32 r; /* b */ mov.u32 r,\n 1; ret; }\n";
    assert_eq!(
        one_a_line(text),
        ".version 8.5\n.entry k() { .reg .b32 r;\n   mov.u32 r,\n1;\n ret;\n }\n"
    );
}
