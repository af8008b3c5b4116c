//! Every case of the kernel corpus in the PTX reference interpreter gives the expected buffers.

use orias_runner::case::Suite;
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

fn folders() -> Vec<String> {
    let entries = std::fs::read_dir(workspace().join("tests/corpus")).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("case.json").is_file())
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn every_case_gives_the_expected_buffers() {
    let names = folders();
    assert!(names.len() >= 60, "the corpus has {} folders", names.len());
    let failures: Vec<String> = names.iter().flat_map(|name| failures(name)).collect();
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}
