//! Every case of the line's corpus folders, compiled at -O0 and -O3 by orias and by ptxas, gives the expected buffers in the
//! SASS simulator.

use std::path::Path;

use orias_runner::case::Suite;
use orias_runner::compiler::Compiler;
use orias_runner::oracle::{tool, workspace};
use orias_runner::run::{Cubins, Engine, Variant, run};

/// The folders whose kernels must compile and run.
const FOLDERS: [&str; 30] = [
    "vecadd",
    "copy_vec4",
    "gather_strided",
    "image_u8",
    "reduce_tree",
    "reduce_warp",
    "reduce_atomic",
    "scan_hillis",
    "histogram",
    "transpose_pad",
    "gemm_tiled",
    "gemm_reg4x4",
    "gemv",
    "spmv_csr",
    "stencil2d",
    "conv1d_const",
    "bitonic_sort",
    "mandelbrot",
    "collatz",
    "branches",
    "bitops",
    "crc32",
    "intdiv32",
    "local_array",
    "nbody",
    "dyn_shared",
    "sha256",
    "warp_votes",
    "tri_vecadd",
    "tri_softmax",
];

/// Folders that orias does not compile to right code yet.
const NOT_YET: &[&str] = &[
    "reduce_warp",
    "reduce_atomic",
    "gemv",
    "spmv_csr",
    "local_array",
    "warp_votes",
    "tri_softmax",
];

fn suites(without: &[&str]) -> Vec<Suite> {
    let corpus = workspace().join("tests/corpus");
    let wanted = FOLDERS.iter().filter(|name| !without.contains(name));
    wanted.map(|name| Suite::load(&corpus.join(Path::new(name))).unwrap()).collect()
}

fn all_pass(compiler: Compiler, without: &[&str]) {
    let variants = [0, 3].map(|opt| Variant { compiler, opt });
    let suites = suites(without);
    assert!(!suites.is_empty());
    let table = run(&suites, Engine::Simulator, &variants, &Cubins::Compile).unwrap();
    assert_eq!(table.failures(), 0, "\n{table}");
}

#[test]
fn cubins_of_orias_give_the_expected_buffers() {
    all_pass(Compiler::Orias, NOT_YET);
}

#[test]
fn cubins_of_ptxas_give_the_expected_buffers() {
    if tool("ptxas").is_some() {
        all_pass(Compiler::Ptxas, &[]);
    }
}
