//! ptxas's own cubins of the kernel corpus give the expected buffers in the SASS simulator, at -O0,
//! -O1 and -O3, without a hazard.
//!
//! A wrong buffer here is a mistake of the simulator (or of the instruction table), never of ptxas;
//! a hazard is one of its model of time or of the latencies.

use orias::simulate::simulate;
use orias_isa::reference;
use orias_runner::case::{Case, Suite};
use orias_runner::folders;
use orias_runner::oracle::{tool, workspace};
use orias_targets::simulator::{Hazards, Limits};
use rayon::prelude::*;
use std::path::Path;

/// A case runs at most about 3 million thread instructions of PTX.
const STEPS: u64 = 50_000_000;

fn ptxas(ptxas: &Path, ptx: &Path, level: u8) -> Vec<u8> {
    let text = std::fs::read_to_string(ptx).unwrap();
    let cubin = reference::ptxas(ptxas, "sm_90a", &text, &[&format!("-O{level}")]);
    cubin.unwrap_or_else(|e| panic!("{}: {e}", ptx.display()))
}

fn run_folder(suite: &Suite, cubin: &[u8], level: u8) -> Vec<(String, String)> {
    // Once as always, once with the groups of a warp changing at every taken branch.
    let jobs: Vec<(&Case, u64)> = suite
        .cases
        .iter()
        .flat_map(|case| [(case, Limits::default().group_slice), (case, 1)])
        .collect();
    let run = |(case, group_slice): &(&Case, u64)| {
        let launch = suite.launch(case).unwrap();
        let limits = Limits {
            warp_instructions: STEPS,
            group_slice: *group_slice,
            hazards: Hazards::Find,
            ..Limits::default()
        };
        let end = match simulate(cubin, &launch, limits) {
            Ok(outcome) => {
                let mut wrong = suite.verify(case, &launch, &outcome.buffers).unwrap();
                wrong.extend(outcome.hazards.iter().map(|h| h.to_string()));
                wrong.join("; ")
            }
            Err(error) => error.to_string(),
        };
        (format!("{}/{} -O{level}, turns of {group_slice}", suite.name, case.name), end)
    };
    jobs.par_iter().map(run).collect()
}

#[test]
fn cubins_of_ptxas_give_the_expected_buffers() {
    let Some(tool) = tool("ptxas") else { return };
    let corpus = workspace().join("tests/corpus");
    let suites: Vec<Suite> =
        folders::all().iter().map(|name| Suite::load(&corpus.join(name)).unwrap()).collect();
    assert!(suites.len() >= 60, "the corpus has {} folders", suites.len());
    let jobs: Vec<(&Suite, u8)> = suites.iter().flat_map(|s| [(s, 0), (s, 1), (s, 3)]).collect();
    let ends: Vec<(String, String)> = jobs
        .par_iter()
        .flat_map(|(suite, level)| {
            let cubin = ptxas(&tool, &suite.ptx, *level);
            let all = run_folder(suite, &cubin, *level).into_iter();
            all.collect::<Vec<_>>()
        })
        .collect();

    let failures: Vec<String> = ends
        .iter()
        .filter(|(_, wrong)| !wrong.is_empty())
        .map(|(case, wrong)| format!("{case}: {wrong}"))
        .collect();
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}
