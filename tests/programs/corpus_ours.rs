//! The whole line: every kernel of the corpus, compiled by orias at -O0 and -O3, gives the expected
//! buffers in the simulator, without a hazard.

use orias::driver::{self, CompileOptions};
use orias_runner::case::Suite;
use orias_runner::folders;
use orias_runner::oracle::workspace;
use orias_targets::simulator::{Hazards, Limits};

/// What is wrong with a folder, compiled so: empty when each of its cases gives the expected
/// buffers.
pub(super) fn failures(name: &str, options: &CompileOptions) -> Vec<String> {
    let folder = workspace().join("tests/corpus").join(name);
    let suite = Suite::load(&folder).expect("a case.json that can be read");
    let source = suite.source().expect("its PTX");
    let cubin = match driver::compile_source(&source, options) {
        Ok(out) => out.cubin,
        Err(error) => return vec![format!("{name}: {error}")],
    };
    let mut failures = Vec::new();
    for case in &suite.cases {
        let launch = suite.launch(case).expect("its inputs");
        let limits = Limits { hazards: Hazards::Find, ..Limits::default() };
        let wrong = match orias::simulate::simulate(&cubin, &launch, limits) {
            Ok(outcome) => {
                let mut wrong = suite.verify(case, &launch, &outcome.buffers).expect("its outputs");
                wrong.extend(outcome.hazards.iter().map(|h| h.to_string()));
                wrong
            }
            Err(error) => vec![error.to_string()],
        };
        failures.extend(wrong.into_iter().map(|text| format!("{name}/{}: {text}", case.name)));
    }
    failures
}

fn all_pass(opt_level: u8) {
    let names = folders::all();
    assert!(names.len() >= 60, "the corpus has {} folders", names.len());
    // One thread: the tests themselves run in parallel. Every phase is verified, the allocation is
    // checked.
    let options = CompileOptions { opt_level, verify_each: true, threads: 1, ..Default::default() };
    let failures: Vec<String> = names.iter().flat_map(|n| failures(n, &options)).collect();
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
