//! Work grows as the program does: ten times the instructions or blocks make at most eleven times
//! the work of a phase, thirteen times where its job is not linear. Counted, not timed
//! (`orias_components::work`), over the shapes of `tests/speed`.

use orias::driver::{CompileOptions, compile_source};
use orias::lower::{self, LowerOptions};
use orias::ptx;
use orias::ptx::program::FuncId;
use orias_components::{Body, work};
use orias_speed::shapes;
use orias_systems::analysis::Analyses;
use orias_systems::pipeline::{self, PHASES, Status};
use orias_systems::ssa::Form;
use orias_systems::testing::clones;
use orias_systems::{Options, Worker};
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
    // With some hundred blocks liveness goes from bits to lists: both sizes are beyond that.
    ("calls", 200),
    ("labels", 32_000),
    ("kernels", 20),
];

/// Systems whose job is not linear, and why.
const NOT_LINEAR: &[(&str, &str)] = &[
    (
        "convergence::late_expand_sync_instructions",
        "who meets where is asked of the dominator tree",
    ),
    (
        "common::global_value_numbering",
        "asks for dominators anew where ways have gone, at one size alone",
    ),
    ("fold::general_optimize", "goes on until nothing changes, at most four rounds"),
    ("dead_code::perform_last_live_dead", "goes on until nothing is dead, at most eight rounds"),
    ("ssa::generate_mov_phi", "live cells are bits in small functions, lists in large ones"),
    (
        "ssa::convert_all_mov_phi_to_mov",
        "live cells are bits in small functions, lists in large ones",
    ),
    ("branches::branch_opt", "goes on until nothing changes"),
];

/// Systems that look whether there is anything to find, and go over all that there is only then:
/// which of two sizes has something is chance, so theirs is held to so much for each instruction
/// and each time that it runs.
const LOOK_FIRST: [(&str, u64); 5] = [
    ("linear::linear_replacement", 16),
    ("linear::reassociate_and_common", 16),
    ("phis::replace_equivalent", 16),
    // Where registers might not suffice it asks for live cells, block by block.
    ("near::do_remat", 120),
    ("invariants::hoist_invariants", 60),
];

/// Work below this is the same for every function.
const LITTLE: u64 = 20_000;

/// By phase, with the system that it runs and the instructions that it finds.
fn work_of(shape: &str, size: usize) -> BTreeMap<&'static str, (&'static str, u64, u64)> {
    let source = shapes::find(shape).expect("a shape of the list").text(size);
    let options = CompileOptions { statistics: true, threads: 1, ..CompileOptions::default() };
    let output = compile_source(&source, &options).unwrap_or_else(|e| panic!("{shape}: {e:?}"));
    let mut work = BTreeMap::new();
    for (phase, stat) in PHASES.iter().zip(&output.stats) {
        if let Status::Implemented(_, system) = phase.status {
            work.insert(phase.name, (system.name, stat.work, stat.insts_before.into()));
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
        for (phase, (system, small, _)) in &small {
            let (_, large, insts) = large[phase];
            if let Some((_, most)) = LOOK_FIRST.iter().find(|(name, _)| name == system) {
                if large > most * insts {
                    wrong.push(format!("{shape} {phase}: {large} for {insts} instructions"));
                }
                continue;
            }
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

/// The work of what no phase asks for yet, in the order of [`ASKED`], without that of the analyses
/// that it rests on.
fn work_asked_for(shape: &str, size: usize) -> [u64; ASKED.len()] {
    let source = shapes::find(shape).expect("a shape of the list").text(size);
    let program = ptx::load(&source).unwrap_or_else(|e| panic!("{shape}: {e:?}"));
    let pipeline = Options::for_test();
    let options = LowerOptions { target: pipeline.target, opt_level: 3, fmad: true };
    let module = lower::module(&program, &options).unwrap_or_else(|e| panic!("{shape}: {e:?}"));
    let mut worker = Worker::new(pipeline).expect("no names");
    let mut work = [0; ASKED.len()];
    for (i, function) in program.functions.iter().enumerate().filter(|(_, f)| f.defined) {
        for ((_, last, ask), work) in ASKED.iter().zip(&mut work) {
            worker.reset();
            let id = FuncId(i as u32);
            let info = lower::function(&program, &module, (id, function), id, worker.body());
            worker.set_info(info.unwrap_or_else(|e| panic!("{shape}: {e:?}")));
            let last = pipeline::find(last).expect("a phase").index as usize;
            worker.run_through(last + 1).unwrap_or_else(|e| panic!("{shape}: {e}"));
            let (mut body, mut analyses) = (worker.body(), Analyses::default());
            let flow = analyses.flow(&body);
            flow.reverse_postorder();
            flow.loops();
            flow.frontiers();
            analyses.liveness(&body);
            analyses.uses(&body);
            let before = work::done();
            ask(&mut analyses, &mut body);
            *work += work::done() - before;
        }
    }
    work
}

type Ask = fn(&mut Analyses, &mut Body<'_>);

/// What that is, and the phase behind which it is asked for.
const ASKED: [(&str, &str, Ask); 3] = [
    ("trip counts", "GenerateMovPhi", |analyses, body| _ = analyses.trips(body)),
    ("reaching definitions", "OriCopyProp", |analyses, body| _ = analyses.reaching(body)),
    ("peeling", "GenerateMovPhi", peel),
];

/// Peels a round off each loop.
fn peel(analyses: &mut Analyses, body: &mut Body<'_>) {
    let flow = analyses.flow(body);
    clones::clone_loops(body, &flow, Form { is_ssa: true, ..Form::default() }, clones::Way::Peel);
}

#[test]
fn what_no_phase_asks_for_yet_grows_as_the_program_does() {
    let mut wrong = Vec::new();
    for (shape, size) in SIZES {
        let (small, large) = (work_asked_for(shape, *size), work_asked_for(shape, 10 * size));
        for (((name, ..), small), large) in ASKED.iter().zip(small).zip(large) {
            println!("{shape} {name}: {small} -> {large}");
            if large > LITTLE && large > 11 * small {
                wrong.push(format!("{shape} {name}: {small} -> {large}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
