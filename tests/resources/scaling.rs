//! Work grows as the program does: ten times the instructions or blocks make at most eleven times
//! the work of a phase, thirteen times where its job is not linear. Counted, not timed
//! (`orias_components::work`), over the shapes of `tests/speed`.

use orias::driver::{CompileOptions, compile_source};
use orias_components::work;
use orias_speed::shapes;
use orias_systems::pipeline::{PHASES, Status};
use std::collections::BTreeMap;

/// Shapes and the smaller of their two sizes. Large enough that what is done once for each function
/// is little.
const SIZES: &[(&str, usize)] = &[
    ("straight", 4000),
    ("diamonds", 4000),
    ("loops", 300),
    // More than 16,000 ways into one block make another program of it: such a function is not in
    // SSA form.
    ("chain", 1500),
    ("switch", 100),
    ("pressure", 16),
    ("calls", 60),
    ("labels", 32_000),
    ("kernels", 20),
];

/// Systems whose job is not linear, and why.
const NOT_LINEAR: &[(&str, &str)] = &[
    ("registers::allocate::allocate_registers", "a range is looked up in a tree of its points"),
    (
        "convergence::late_expand_sync_instructions",
        "who meets where is asked of the dominator tree",
    ),
    ("fold::general_optimize", "goes on until nothing changes, at most four rounds"),
    ("dead_code::perform_live_dead", "goes on until nothing is dead, at most eight rounds"),
    ("ssa::generate_mov_phi", "live cells are bits in small functions, lists in large ones"),
    ("branches::branch_opt", "goes on until nothing changes"),
];

/// Work below this is the same for every function.
const LITTLE: u64 = 20_000;

/// By phase, with the system that it runs.
fn work_of(shape: &str, size: usize) -> BTreeMap<&'static str, (&'static str, u64)> {
    let source = shapes::find(shape).expect("a shape of the list").text(size);
    let options = CompileOptions { statistics: true, threads: 1, ..CompileOptions::default() };
    let output = compile_source(&source, &options).unwrap_or_else(|e| panic!("{shape}: {e:?}"));
    let mut work = BTreeMap::new();
    for (phase, stat) in PHASES.iter().zip(&output.stats) {
        if let Status::Implemented(_, system) = phase.status {
            work.insert(phase.name, (system.name, stat.work));
        }
    }
    work
}

#[test]
fn ten_times_the_program_is_at_most_eleven_times_the_work() {
    // Without debug assertions nothing is counted, and nothing would be tested.
    let before = work::done();
    work::add(1);
    assert_eq!(work::done(), before + 1, "run this test in a build that counts");
    let mut wrong = Vec::new();
    for (shape, size) in SIZES {
        let (small, large) = (work_of(shape, *size), work_of(shape, 10 * size));
        // By system: one may run as several phases, and finds little left to do in some of them.
        let mut both: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for (phase, (system, small)) in &small {
            let (_, large) = large[phase];
            // Where it found nothing at all it is not run again, which may be at one size alone.
            if *small > 0 && large > 0 {
                let (smalls, larges) = both.entry(system).or_default();
                (*smalls, *larges) = (*smalls + small, *larges + large);
            }
        }
        for (name, (small, large)) in both {
            let linear = NOT_LINEAR.iter().all(|(known, _)| *known != name);
            let most = if linear { 11 } else { 13 };
            if large > LITTLE && large > most * small {
                let times = large as f64 / small.max(1) as f64;
                wrong.push(format!("{shape} {name}: {small} -> {large} ({times:.1})"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
