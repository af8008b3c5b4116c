//! Misuse that a machine does not stop at is found on demand, in the interpreter and in the
//! simulator: which instruction, which thread, which address. Kernels of the corpus are free of it.

use orias::driver::{CompileOptions, compile_source};
use orias::interpret;
use orias::launch::{Argument, Buffer, Launch};
use orias::simulate::simulate;
use orias_runner::case::Suite;
use orias_runner::folders;
use orias_runner::oracle::workspace;
use orias_targets::misuse::Checks;
use orias_targets::simulator;
use rayon::prelude::*;

const HEAD: &str = ".version 9.0\n.target sm_90a\n.address_size 64\n";

/// A kernel of one buffer, 8 bytes a thread.
fn kernel(variables: &str, body: &str) -> String {
    format!(
        "{HEAD}.visible .entry k(.param .u64 o)\n{{\n.reg .b64 %p, %q; .reg .b32 %t, %v, %w; .reg .pred %c;\n{variables}\n\
         ld.param.u64 %p, [o];\nmov.u32 %t, %tid.x;\nmad.wide.u32 %p, %t, 8, %p;\n{body}\nret;\n}}\n"
    )
}

fn launch(threads: u32) -> Launch {
    let buffer = Buffer { bytes: vec![0; 8 * threads as usize], writable: true, output: None };
    Launch {
        entry: "k".into(),
        grid: [2, 1, 1],
        block: [threads, 1, 1],
        args: vec![Argument::Buffer(buffer)],
        ..Launch::default()
    }
}

/// What the interpreter and, from our cubins at -O0 and -O3, the simulator report.
fn reports(source: &str, threads: u32, checks: Checks) -> [Vec<String>; 3] {
    let program = orias::ptx::load(source).unwrap_or_else(|e| panic!("{}", e.render("k", source)));
    let limits = interpret::Limits { checks, ..Default::default() };
    let interpreted = interpret::run_limited(&program, source, &launch(threads), limits);
    let interpreted = interpreted.unwrap_or_else(|e| panic!("{e}")).misuse;
    let simulated = [0, 3].map(|opt_level| {
        let options = CompileOptions { opt_level, threads: 1, ..Default::default() };
        let cubin = compile_source(source, &options).unwrap_or_else(|e| panic!("{e}")).cubin;
        let limits = simulator::Limits { checks, ..Default::default() };
        simulate(&cubin, &launch(threads), limits).unwrap_or_else(|e| panic!("{e}")).misuse
    });
    let [o0, o3] = simulated;
    [interpreted, o0, o3]
}

#[test]
fn a_read_of_shared_memory_that_nobody_wrote_is_reported_with_thread_and_address() {
    // Thread 3 of each block forgets its store.
    let source = kernel(
        ".shared .align 4 .b8 tile[256]; .reg .b32 %a;",
        "mov.u32 %a, tile;\nmad.lo.u32 %a, %t, 4, %a;\nsetp.ne.u32 %c, %t, 3;\n\
         @%c st.shared.u32 [%a], %t;\nbar.sync 0;\nld.shared.u32 %v, [%a];\nst.global.u32 [%p], %v;",
    );
    for (engine, report) in reports(&source, 64, Checks::ALL).iter().enumerate() {
        let [line] = &report[..] else { panic!("engine {engine}: {report:?}") };
        let start = "uninitialised read of 4 bytes at shared address 0x40c at ";
        assert!(line.starts_with(start), "{line}");
        assert!(line.contains("block (0, 0, 0), thread (3, 0, 0)"), "{line}");
        assert!(line.ends_with("(and 1 more there)"), "{line}");
        assert!(line.contains(if engine == 0 { "ld.shared.u32" } else { "LDS" }), "{line}");
    }
    assert_eq!(reports(&source, 64, Checks::default()), [const { Vec::<String>::new() }; 3]);
}

#[test]
fn a_read_of_local_memory_that_the_thread_did_not_write_is_reported() {
    // Element 2 of 4 is never stored; the index comes from a register, so that the array stays in
    // memory.
    let source = kernel(
        ".local .align 4 .b8 list[16]; .reg .b64 %l;",
        "mov.u64 %l, list;\nst.local.u32 [%l], %t;\nst.local.u32 [%l+4], %t;\nst.local.u32 [%l+12], %t;\n\
         and.b32 %v, %t, 3;\nmad.wide.u32 %l, %v, 4, %l;\nld.local.u32 %w, [%l];\nst.global.u32 [%p], %w;",
    );
    for (engine, report) in reports(&source, 32, Checks::ALL).iter().enumerate() {
        let [line] = &report[..] else { panic!("engine {engine}: {report:?}") };
        assert!(line.starts_with("uninitialised read of 4 bytes at local address 0x"), "{line}");
        assert!(line.contains("thread (2, 0, 0)"), "{line}");
        assert!(line.contains(if engine == 0 { "ld.local.u32" } else { "LDL" }), "{line}");
    }
}

/// A structure of a byte and a word, and one of a half and a double word, copied with their padding
/// as compilers do it.
#[test]
fn padding_may_be_copied_with_what_it_fills_up() {
    let copy = |stores: &str, width: &str| {
        let source = kernel(
            ".local .align 8 .b8 one[64]; .local .align 8 .b8 other[64]; .reg .b64 %l, %m, %x; .reg .b32 %x32;",
            &format!(
                "mov.u64 %l, one;\nmov.u64 %m, other;\nand.b32 %v, %t, 3;\nmad.wide.u32 %l, %v, 16, %l;\n\
                 mad.wide.u32 %m, %v, 16, %m;\n{stores}\n\
                 ld.local.{width} %x{w}, [%l];\nst.local.{width} [%m], %x{w};\n\
                 ld.local.{width} %x{w}, [%m];\nst.global.{width} [%p], %x{w};",
                w = if width == "b32" { "32" } else { "" },
            ),
        );
        reports(&source, 32, Checks::ALL)
    };
    let none = || [const { Vec::<String>::new() }; 3];
    assert_eq!(copy("st.local.u8 [%l], %t;", "b32"), none(), "three bytes fill up to a word");
    assert_eq!(copy("st.local.u16 [%l], %t;", "b64"), none(), "six bytes to a double word");
    for report in copy("st.local.u32 [%l+4], %t;", "b32") {
        assert_eq!(report.len(), 1, "the word before is no part of it: {report:?}");
    }
}

#[test]
fn an_aligned_barrier_that_a_part_of_a_warp_reaches_is_reported() {
    let branches = |barrier: &str| {
        kernel(
            "",
            &format!(
                "setp.lt.u32 %c, %t, 40;\n@%c bra A;\n{barrier} 0;\nst.global.u32 [%p], 5;\nbra B;\n\
                 A:\n{barrier} 0;\nst.global.u32 [%p+4], %t;\nB:"
            ),
        )
    };
    // Warp 1 is split: its threads 32 to 39 are at another barrier than the others. Which comes
    // first is not said.
    let [interpreted, o0, o3] = reports(&branches("bar.sync"), 64, Checks::ALL);
    assert_eq!(interpreted.len(), 2, "{interpreted:?}");
    assert!(interpreted.iter().all(|l| l.starts_with("divergent barrier 0: ")), "{interpreted:?}");
    assert!(interpreted.iter().any(|l| l.contains("8 of the warp's 32 threads are here")));
    for simulated in [o0, o3] {
        assert!(!simulated.is_empty() && simulated.iter().all(|l| l.contains("BAR.SYNC")));
    }
    // `barrier` without `.aligned` may be reached in parts.
    let source = branches("barrier.sync");
    let program = orias::ptx::load(&source).unwrap();
    let limits = interpret::Limits { checks: Checks::ALL, ..Default::default() };
    let outcome = interpret::run_limited(&program, &source, &launch(64), limits).unwrap();
    assert_eq!(outcome.misuse, [""; 0]);
}

#[test]
fn the_corpus_is_free_of_misuse_in_the_interpreter() {
    let wrong = |name: &String| {
        let suite = Suite::load(&workspace().join("tests/corpus").join(name)).unwrap();
        let source = suite.source().unwrap();
        let program = orias::ptx::load(&source).unwrap();
        let launch = suite.launch(&suite.cases[0]).unwrap();
        let limits = interpret::Limits { checks: Checks::ALL, ..Default::default() };
        let outcome = interpret::run_limited(&program, &source, &launch, limits).unwrap();
        outcome.misuse.into_iter().map(|line| format!("{name}: {line}")).collect::<Vec<_>>()
    };
    let all: Vec<String> = folders::all().par_iter().flat_map(wrong).collect();
    assert!(all.is_empty(), "{}", all.join("\n"));
}
