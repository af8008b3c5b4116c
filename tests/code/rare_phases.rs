//! Phases that find next to nothing in what NVVM and Triton write, and something in PTX by hand.

use orias::driver::{CompileOptions, compile_source};
use orias_isa::differ::{self, End};
use orias_isa::setup::Setup;
use orias_systems::pipeline::PHASES;

const KERNEL: &str = include_str!("rare_phases.ptx");

const RARE: [&str; 8] = [
    "ReplaceUniformsWithImm",
    "OriLoopSimplification",
    "SinkRemat",
    "PlaceBlocksInSourceOrder",
    "OptimizeNaNOrZero",
    "OriReassociateAndCommon",
    "OriReplaceEquivMultiDefMov",
    "LateVectorization",
];

#[test]
fn each_finds_something_and_nothing_changes_what_the_kernel_does() {
    let options = CompileOptions { statistics: true, verify_each: true, ..Default::default() };
    let output = compile_source(KERNEL, &options).unwrap_or_else(|e| panic!("{e}"));
    for name in RARE {
        let at = PHASES.iter().position(|phase| phase.name == name).expect("a phase");
        assert!(output.stats[at].rewrites > 0, "{name} finds nothing");
    }
    let setup = Setup { steps: 2_000_000, threads: 64, ..Setup::default() };
    let verdicts = differ::module(KERNEL, &output.cubin, setup, |_| true);
    for verdict in &verdicts.expect("PTX and cubin are read") {
        assert_eq!(verdict.end, End::Same, "{}", verdict.kernel);
        assert!(verdict.hazards.is_empty(), "{}", verdict.kernel);
    }
}
