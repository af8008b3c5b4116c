//! Every case of the kernel corpus in the PTX reference interpreter gives the expected buffers.

use orias_runner::case::Suite;
use orias_runner::folders;
use orias_runner::oracle::workspace;

/// What is wrong with a folder: empty when each of its cases gives the expected buffers.
fn failures(name: &str) -> Vec<String> {
    let folder = workspace().join("tests/corpus").join(name);
    let suite = Suite::load(&folder).unwrap();
    let source = suite.source().unwrap();
    let program = match orias::ptx::load(&source) {
        Ok(program) => program,
        Err(error) => return vec![format!("{name}: {error:?}")],
    };
    let mut failures = Vec::new();
    for case in &suite.cases {
        let launch = suite.launch(case).unwrap();
        let wrong = match orias::interpret::run(&program, &source, &launch) {
            Ok(outcome) => suite.verify(case, &launch, &outcome.buffers).unwrap(),
            Err(error) => vec![error.to_string()],
        };
        failures.extend(wrong.into_iter().map(|text| format!("{name}/{}: {text}", case.name)));
    }
    failures
}

#[test]
fn every_case_gives_the_expected_buffers() {
    let names = folders::all();
    assert!(names.len() >= 60, "the corpus has {} folders", names.len());
    let failures: Vec<String> = names.iter().flat_map(|name| failures(name)).collect();
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}
