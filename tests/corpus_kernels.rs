//! The whole line: every kernel of the corpus, compiled by orias at -O0 and -O3, gives the expected buffers in the simulator,
//! and nvdisasm reads each of the cubins.

use orias::driver::{self, CompileOptions};
use orias_runner::case::Suite;
use orias_runner::oracle::{tool, workspace};
use orias_targets::simulator::Limits;
use std::process::Command;

/// Folders that orias does not compile and run yet, and why. A folder that starts to pass must leave this list.
const NOT_YET: &[(&str, &str)] = &[
    ("bf16_arith", "arithmetic on bf16"),
    ("bulk_mbarrier", "mbarrier and bulk copies"),
    ("convert", "conversions of half precision"),
    ("cp_async", "cp.async"),
    ("fnptr_table", "calls"),
    ("fp64", "calls"),
    ("half_arith", "arithmetic on f16"),
    ("ldmatrix_mma", "ldmatrix and mma"),
    ("noinline_call", "calls"),
    ("ptx_hand", "calls"),
    ("recursion", "calls"),
    ("redux_sync", "redux.sync under a partial mask"),
    ("tri_attention", "cp.async, ldmatrix and mma"),
    ("tri_layernorm", "conversions of half precision"),
    ("tri_matmul_f16", "wgmma"),
    ("tri_matmul_f32", "cp.async"),
    ("tri_matmul_small", "ldmatrix and mma"),
    ("wgmma_min", "wgmma"),
    ("wmma_tile", "wmma"),
];

fn folders() -> Vec<String> {
    let entries = std::fs::read_dir(workspace().join("tests/corpus")).expect("the corpus is there");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("a readable entry").path())
        .filter(|path| path.join("case.json").is_file())
        .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .collect();
    names.sort();
    names
}

fn compile(source: &str, opt_level: u8) -> Result<Vec<u8>, String> {
    // One thread: the tests themselves run in parallel. Every phase is verified, the allocation is checked.
    let options = CompileOptions { opt_level, verify_each: true, threads: 1, ..Default::default() };
    driver::compile_source(source, &options).map(|out| out.cubin).map_err(|e| e.to_string())
}

/// What is wrong with a folder at a level: empty when each of its cases gives the expected buffers.
fn failures(name: &str, opt_level: u8) -> Vec<String> {
    let folder = workspace().join("tests/corpus").join(name);
    let suite = Suite::load(&folder).expect("a case.json that can be read");
    let source = suite.source().expect("its PTX");
    let cubin = match compile(&source, opt_level) {
        Ok(cubin) => cubin,
        Err(error) => return vec![format!("{name} -O{opt_level}: {error}")],
    };
    let mut failures = Vec::new();
    for case in &suite.cases {
        let launch = suite.launch(case).expect("its inputs");
        let wrong = match orias::simulate::simulate(&cubin, &launch, Limits::default()) {
            Ok(outcome) => suite.verify(case, &launch, &outcome.buffers).expect("its outputs"),
            Err(error) => vec![error.to_string()],
        };
        let at = format!("{name}/{} -O{opt_level}", case.name);
        failures.extend(wrong.into_iter().map(|text| format!("{at}: {text}")));
    }
    failures
}

fn all_pass(opt_level: u8) {
    let names = folders();
    assert!(names.len() >= 60, "the corpus has {} folders", names.len());
    let waits = |name: &String| NOT_YET.iter().any(|(n, _)| n == name);
    let failures: Vec<String> =
        names.iter().filter(|n| !waits(n)).flat_map(|n| failures(n, opt_level)).collect();
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn every_case_gives_the_expected_buffers_at_o0() {
    all_pass(0);
}

#[test]
fn every_case_gives_the_expected_buffers_at_o3() {
    all_pass(3);
}

#[test]
fn the_list_of_folders_that_do_not_run_yet_is_exact() {
    for (name, why) in NOT_YET {
        assert!(!failures(name, 0).is_empty(), "{name} runs at -O0; the list says: {why}");
        assert!(!failures(name, 3).is_empty(), "{name} runs at -O3; the list says: {why}");
    }
}

#[test]
fn nvdisasm_reads_every_cubin() {
    let Some(nvdisasm) = tool("nvdisasm") else { return };
    let file = std::env::temp_dir().join(format!("orias_kernels_{}.cubin", std::process::id()));
    for name in folders().iter().filter(|name| !NOT_YET.iter().any(|(n, _)| n == name)) {
        let suite = Suite::load(&workspace().join("tests/corpus").join(name)).expect("a suite");
        let source = suite.source().expect("its PTX");
        for opt_level in [0, 3] {
            let cubin = compile(&source, opt_level).unwrap_or_else(|e| panic!("{name}: {e}"));
            std::fs::write(&file, cubin).expect("a writable temporary folder");
            let out = Command::new(&nvdisasm).arg("-c").arg(&file).output().expect("it starts");
            let errors = String::from_utf8_lossy(&out.stderr);
            assert!(out.status.success() && errors.is_empty(), "{name} -O{opt_level}: {errors}");
        }
    }
    let _ = std::fs::remove_file(file);
}
