//! The whole line: every kernel of the corpus, compiled by orias at -O0 and -O3, gives the expected
//! buffers in the simulator, without a hazard.

use orias::driver::{self, CompileOptions};
use orias_runner::case::Suite;
use orias_runner::folders;
use orias_runner::oracle::workspace;
use orias_targets::simulator::{Hazards, Limits};

fn compile(source: &str, opt_level: u8) -> Result<Vec<u8>, String> {
    // One thread: the tests themselves run in parallel. Every phase is verified, the allocation is
    // checked.
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
        let limits = Limits { hazards: Hazards::Find, ..Limits::default() };
        let wrong = match orias::simulate::simulate(&cubin, &launch, limits) {
            Ok(outcome) => {
                let mut wrong = suite.verify(case, &launch, &outcome.buffers).expect("its outputs");
                wrong.extend(outcome.hazards.iter().map(|h| h.to_string()));
                wrong
            }
            Err(error) => vec![error.to_string()],
        };
        let at = format!("{name}/{} -O{opt_level}", case.name);
        failures.extend(wrong.into_iter().map(|text| format!("{at}: {text}")));
    }
    failures
}

fn all_pass(opt_level: u8) {
    let names = folders::all();
    assert!(names.len() >= 60, "the corpus has {} folders", names.len());
    let failures: Vec<String> = names.iter().flat_map(|n| failures(n, opt_level)).collect();
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
