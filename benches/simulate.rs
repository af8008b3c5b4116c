//! Speed of the simulator: thread instructions a second on one core, on corpus kernels that orias
//! itself compiled.
//!
//! The items of the throughput column are thread instructions: one for each lane that an
//! instruction ran for.

use divan::Bencher;
use divan::counter::ItemsCount;
use orias::driver::{CompileOptions, compile_source};
use orias::launch::Launch;
use orias::simulate::simulate;
use orias_runner::case::Suite;
use orias_runner::oracle::workspace;
use orias_targets::simulator::{Hazards, Limits};

const KERNELS: [&str; 6] = ["nbody", "gemm_reg4x4", "sha256", "crc32", "mandelbrot", "fft_radix2"];

fn main() {
    divan::main();
}

/// The folder's first case: cubin and launch.
fn load(name: &str) -> (Vec<u8>, Launch) {
    let suite = Suite::load(&workspace().join("tests/corpus").join(name)).expect("a corpus folder");
    let source = suite.source().expect("its PTX");
    let cubin = compile_source(&source, &CompileOptions::default()).expect("it compiles").cubin;
    let launch = suite.launch(&suite.cases[0]).expect("its inputs");
    (cubin, launch)
}

fn bench(bencher: Bencher<'_, '_>, name: &str, hazards: Hazards) {
    let (cubin, launch) = load(name);
    let run = || {
        let limits = Limits { hazards, ..Limits::default() };
        simulate(&cubin, &launch, limits).expect("it runs")
    };
    let count = run().thread_instructions;
    bencher.counter(ItemsCount::new(count)).bench_local(run);
}

#[divan::bench(args = KERNELS, sample_count = 20)]
fn hazards_off(bencher: Bencher<'_, '_>, name: &str) {
    bench(bencher, name, Hazards::Ignore);
}

#[divan::bench(args = KERNELS, sample_count = 20)]
fn hazards_on(bencher: Bencher<'_, '_>, name: &str) {
    bench(bencher, name, Hazards::Find);
}
