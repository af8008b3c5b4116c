//! Random programs and small ones that once differed: the interpreter, the simulator on ptxas's
//! cubin and the simulator on our cubin must agree.
//!
//! `ORIAS_FUZZ_SEED` adds `ORIAS_FUZZ_COUNT` programs (1000) from that seed on. `orias-fuzz` makes
//! what differs small.

use orias_fuzz::batch::{self, Case, Levels};
use orias_fuzz::found;
use orias_fuzz::generate::{Wishes, program};
use orias_fuzz::report::Summary;
use orias_runner::oracle;

/// Programs of one module for ptxas.
const BATCH: u64 = 64;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|v| v.parse().ok())
}

/// Runs the programs of these seeds; panics with those that differ.
fn check(seed: u64, count: u64, wishes: &Wishes) -> Summary {
    let levels = Levels { with_ptxas: oracle::tool("ptxas").is_some(), ..Levels::default() };
    let mut summary = Summary::default();
    let mut wrong = Vec::new();
    for from in (0..count).step_by(BATCH as usize) {
        let to = count.min(from + BATCH);
        let programs: Vec<_> = (from..to).map(|n| program(seed + n, wishes)).collect();
        let cases: Vec<Case> = programs.iter().map(Case::of).collect();
        let verdicts = batch::run(&cases, levels.of(seed + from), levels.hazards);
        for (program, verdict) in programs.iter().zip(verdicts) {
            summary.add(program, &verdict);
            for (side, failure) in verdict.mistakes() {
                wrong.push(format!("seed {}: {side}: {}", program.seed, failure.text));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} programs differ (orias-fuzz --seed S --count 1 makes one small):\n{}",
        wrong.len(),
        wrong[..wrong.len().min(10)].join("\n")
    );
    summary
}

#[test]
fn programs_of_the_first_seeds_agree() {
    check(0, 1000, &Wishes::default());
}

#[test]
fn programs_of_other_seeds_agree() {
    check(1_000_000, 1000, &Wishes::default());
}

/// Products of matrices by warps and by warpgroups, and much alive at once, beside what a seed has:
/// what no other program has.
#[test]
fn programs_of_the_families_that_are_asked_for_agree() {
    for (only, also, seed, count) in [
        (Some("matrix"), None, 0, 64),
        (Some("warpgroup"), None, 0, 64),
        (None, Some("pressure"), 0, 64),
        (None, Some("matrix,pressure"), 0, 64),
        (Some("graphs"), None, 0, 128),
    ] {
        let [only, also] = [only, also].map(|name: Option<&str>| name.map(str::to_string));
        check(seed, count, &Wishes { only, also, ..Wishes::default() });
    }
}

#[test]
fn programs_of_a_seed_on_demand_agree() {
    if let Some(seed) = number("ORIAS_FUZZ_SEED") {
        let count = number("ORIAS_FUZZ_COUNT").unwrap_or(1000);
        println!("{}", check(seed, count, &Wishes::default()).text());
    }
}

/// Engines that do not take a file yet say so; they must not be wrong.
#[test]
fn programs_that_once_differed_agree() {
    let folder = oracle::workspace().join("tests/fuzz/found");
    let levels = Levels { with_ptxas: oracle::tool("ptxas").is_some(), ..Levels::default() };
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .expect("the folder of programs that once differed")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "ptx"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    let mut wrong = Vec::new();
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("a text file");
        let (case, own) = found::read(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let with_ptxas = levels.with_ptxas && own.with_ptxas;
        let verdict = batch::run_alone(&case, Levels { with_ptxas, ..levels });
        for (side, failure) in verdict.mistakes() {
            wrong.push(format!("{name}: {side}: {}", failure.text));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
