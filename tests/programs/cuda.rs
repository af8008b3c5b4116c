//! Random CUDA C and small kernels that once differed: what nvcc makes of them, all engines must
//! run as the reference says.
//!
//! `ORIAS_CUDA_SEED` adds `ORIAS_CUDA_COUNT` kernels (320) from that seed on. `orias-cuda` makes
//! what differs small.

use orias_cuda::batch::{self, Engines};
use orias_cuda::evaluate;
use orias_cuda::found;
use orias_cuda::generate::program;
use orias_cuda::input::Inputs;
use orias_cuda::nvcc::Flavour;
use orias_cuda::print;
use orias_runner::oracle;

/// Kernels of one file.
const BATCH: u64 = 16;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|v| v.parse().ok())
}

/// Runs the kernels of these seeds, ptxas in one batch of `every`; panics with those that differ.
fn check(seed: u64, count: u64, every: u64) {
    if oracle::tool("nvcc").is_none() {
        return;
    }
    let mut wrong = Vec::new();
    for from in (0..count).step_by(BATCH as usize) {
        let programs: Vec<_> = (from..count.min(from + BATCH)).map(|n| program(seed + n)).collect();
        let with_ptxas = oracle::tool("ptxas").is_some() && (from / BATCH).is_multiple_of(every);
        let engines = Engines::all(Flavour::of(seed + from), with_ptxas);
        for (program, verdict) in programs.iter().zip(batch::run(&programs, &engines)) {
            for (side, failure) in verdict.mistakes() {
                wrong.push(format!("seed {}: {side}: {}", program.seed, failure.text));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differences (orias-cuda --seed S --count 1 makes one small):\n{}",
        wrong.len(),
        wrong[..wrong.len().min(10)].join("\n")
    );
}

#[test]
fn kernels_of_fixed_seeds_give_what_the_reference_gives() {
    check(10_768, 80, 5);
}

#[test]
fn kernels_of_a_seed_on_demand_give_what_the_reference_gives() {
    if let Some(seed) = number("ORIAS_CUDA_SEED") {
        check(seed, number("ORIAS_CUDA_COUNT").unwrap_or(320), 4);
    }
}

/// Without any tool: the generator keeps to what has a meaning, and gives the same for the same
/// seed.
#[test]
fn the_reference_takes_all_programs_of_the_generator() {
    for seed in 0..1000 {
        let one = program(seed);
        let inputs = Inputs::of(&one);
        let outcome = evaluate::run(&one, &inputs).unwrap_or_else(|why| panic!("{seed}: {why}"));
        assert!(!outcome.outputs.is_empty(), "seed {seed} has no output");
        if seed % 100 == 0 {
            assert_eq!(print::print(&one), print::print(&program(seed)), "seed {seed}");
        }
    }
}

#[test]
fn kernels_that_once_differed_give_what_the_reference_gave() {
    let folder = oracle::workspace().join("tests/cuda/found");
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .expect("the folder of kernels that once differed")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "cu"))
        .collect();
    files.sort();
    let mut wrong = Vec::new();
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("a text file");
        let verdict = found::run(&text, oracle::tool("ptxas").is_some())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        for (side, failure) in verdict.iter().flat_map(|verdict| verdict.mistakes()) {
            wrong.push(format!("{name}: {side}: {}", failure.text));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
