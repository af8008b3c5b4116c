//! Kernels of the corpus whose loops are peeled or unrolled right after SSA form is made, whatever
//! that is worth, still give the expected buffers in the simulator: the editor's clones go the rest
//! of the way as all code does.

use orias::assemble::{self, Whole};
use orias::digest::Digest;
use orias::elf;
use orias::elf::model::Tool;
use orias::facts::CodeFacts;
use orias::link::{self, Code};
use orias::lower::{self, LowerOptions};
use orias::ptx;
use orias::ptx::program::FuncId;
use orias::simulate::simulate;
use orias_components::Body;
use orias_runner::case::Suite;
use orias_runner::oracle::workspace;
use orias_systems::analysis::Analyses;
use orias_systems::ssa::Form;
use orias_systems::testing::clones::{self, Way};
use orias_systems::{Options, Worker, pipeline};
use orias_targets::simulator::{Hazards, Limits};
use rayon::prelude::*;

/// Kernels without device functions: with loops inside loops, breaks, shuffles and barriers.
const KERNELS: [&str; 14] = [
    "reduce_tree",
    "reduce_warp",
    "scan_hillis",
    "gemm_tiled",
    "gemm_reg4x4",
    "gemv",
    "spmv_csr",
    "stencil2d",
    "bitonic_sort",
    "mandelbrot",
    "collatz",
    "nbody",
    "sha256",
    "tri_softmax",
];

/// A case runs at most about 3 million thread instructions of PTX: a loop that lost its end stops.
const STEPS: u64 = 50_000_000;

/// Clones all loops of a body in SSA form; how many there are.
fn clone_loops(body: &mut Body<'_>, way: Way) -> usize {
    let flow = Analyses::default().flow(body);
    let loops = clones::clone_loops(body, &flow, Form { is_ssa: true, ..Form::default() }, way);
    body.update_edges();
    loops
}

/// A cubin of a kernel whose loops were cloned, and how many there are.
fn compile(source: &str, way: Way) -> (Vec<u8>, usize) {
    let program = ptx::load(source).unwrap();
    let pipeline = Options { verify_each: true, ..Options::for_test() };
    let target = pipeline.target;
    let module =
        lower::module(&program, &LowerOptions { target, opt_level: 3, fmad: true }).unwrap();
    let mut worker = Worker::new(pipeline).unwrap();
    let behind = pipeline::find("GenerateMovPhi").unwrap().index as usize + 1;
    let (mut kernels, mut loops) = (Vec::new(), 0);
    for (i, function) in program.functions.iter().enumerate() {
        assert!(function.entry && function.defined, "{}", function.name);
        worker.reset();
        let id = FuncId(i as u32);
        let info = lower::function(&program, &module, (id, function), id, worker.body()).unwrap();
        worker.set_info(info);
        worker.run_through(behind).unwrap();
        loops += clone_loops(&mut worker.body(), way);
        let compiled = worker.run_from(behind).unwrap();
        let facts = CodeFacts::of(&Digest::of(function), &compiled);
        let code = (id, Code { compiled, facts, lines: Vec::new() });
        kernels.push(link::kernel(target, &module, code, &[]).unwrap());
    }
    let ids = (0..kernels.len() as u32).map(FuncId);
    let whole = Whole::of(&program, &module, ids, false);
    let [name, version, branch, arguments] = ["orias", "", "", ""].map(String::from);
    let tool = Tool { name, version, branch, arguments };
    let model = assemble::cubin(&program, &module, kernels, tool, &whole);
    (elf::image(&model).unwrap().file().unwrap(), loops)
}

#[test]
fn kernels_with_cloned_loops_give_the_expected_buffers() {
    let one = |(name, way): (&str, Way)| {
        let suite = Suite::load(&workspace().join("tests/corpus").join(name)).unwrap();
        let (cubin, loops) = compile(&suite.source().unwrap(), way);
        for case in &suite.cases {
            let launch = suite.launch(case).unwrap();
            let limits =
                Limits { warp_instructions: STEPS, hazards: Hazards::Find, ..Limits::default() };
            let what = format!("{way:?} {name}/{}", case.name);
            let outcome =
                simulate(&cubin, &launch, limits).unwrap_or_else(|e| panic!("{what}: {e}"));
            let mut wrong = suite.verify(case, &launch, &outcome.buffers).unwrap();
            wrong.extend(outcome.hazards.iter().map(|h| h.to_string()));
            assert!(wrong.is_empty(), "{what}: {}", wrong[0]);
        }
        loops
    };
    let all: Vec<(&str, Way)> =
        KERNELS.iter().flat_map(|name| [(*name, Way::Peel), (*name, Way::Unroll)]).collect();
    let loops: usize = all.into_par_iter().map(one).sum();
    assert!(loops > 30, "{loops}");
}
