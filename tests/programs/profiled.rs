//! The corpus compiled by profiles: of the kernels' own runs, and of none that ever was. The
//! results are the same, and what never ran stands behind what did.

use super::corpus_ours::failures;
use orias::driver::CompileOptions;
use orias::interpret::{self, Limits};
use orias::profiles::Profiles;
use orias_runner::case::Suite;
use orias_runner::oracle::workspace;
use orias_runner::{folders, profile};
use rayon::prelude::*;

/// What is seen of a folder's cases, and what nobody has seen.
fn profiles(name: &str) -> [Profiles; 2] {
    let suite = Suite::load(&workspace().join("tests/corpus").join(name)).expect("a case.json");
    let source = suite.source().expect("its PTX");
    let program = orias::ptx::load(&source).unwrap_or_else(|e| panic!("{name}: {e}"));
    let mut seen = Profiles::default();
    for case in &suite.cases {
        let launch = suite.launch(case).expect("its inputs");
        let limits = Limits { counts: true, ..Limits::default() };
        let outcome = interpret::run_limited(&program, &source, &launch, limits);
        let outcome = outcome.unwrap_or_else(|e| panic!("{name}/{}: {e}", case.name));
        // Through the text, as a file has it.
        let text = Profiles::of(&program, &outcome.reached).to_text();
        seen.extend(Profiles::read(text.as_bytes()).expect("what we write"));
    }
    [seen, profile::made_up(&program, name.len() as u64)]
}

#[test]
fn every_case_gives_the_expected_buffers_by_a_profile() {
    let of = |name: &String| {
        let all = profiles(name).into_iter().map(|profiles| {
            let options =
                CompileOptions { profiles, threads: 1, verify_each: true, ..Default::default() };
            failures(name, &options)
        });
        all.flatten().collect::<Vec<_>>()
    };
    let failures: Vec<String> = folders::all().par_iter().flat_map(of).collect();
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}
