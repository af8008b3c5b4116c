//! The corpus with each optimization left out, and with each knob turned: other code, and the
//! expected buffers all the same.

use super::corpus_ours::failures;
use orias::driver::{self, CompileOptions};
use orias::profiles::Profiles;
use orias_runner::folders;
use orias_runner::oracle::workspace;
use orias_systems::knobs::KNOBS;
use orias_systems::pipeline::PHASES;
use rayon::prelude::*;

/// Each knob, what it is turned to, and a PTX file of the corpus whose code is another one then;
/// [`KNOWN`] for a loop of a known number of rounds, [`BESIDE`] for long ways beside loads, of
/// which the corpus has none.
const TURNED: &[(&str, &str, &str)] = &[
    ("BranchOptDisable", "1", "branches/branches"),
    ("BranchOptConvergence", "0", "branches/branches"),
    ("GeneralOptimization", "0", "vecadd/vecadd"),
    ("OptimizationBudget", "4", "vecadd/vecadd"),
    ("LinearReplacement", "0", "tri_matmul_f16/tri_matmul_f16"),
    ("NestedCondBranch", "0", "branches/branches"),
    ("PieceInstructions", "4", "branches/branches"),
    ("PredicationRegions", "0", "histogram/histogram"),
    ("PredicationExtraPasses", "3", "stencil2d/stencil2d"),
    ("PredicationAlone", "1", "branches/branches"),
    ("PredicationOverlapped", "1", "strsearch/strsearch"),
    ("PredicationBeside", "0", BESIDE),
    ("PredicationMoves", "0", "branches/branches"),
    ("PredicationWindow", "0", "strsearch/strsearch"),
    ("PredicationBehind", "100", BESIDE),
    ("ColdShare", "0", PROFILED),
    ("HoistRegisters", "0", "nbody/nbody"),
    ("InlineSmall", "0", "noinline_call/noinline_call"),
    ("InlineOnce", "0", "noinline_call/noinline_call"),
    ("RematRegisters", "8", "nbody/nbody"),
    ("RotateLoops", "0", KNOWN),
    ("SwitchOptBudget", "1", "vm_dense/vm_dense"),
    ("SwitchOptExtendedPatternMatch", "0", "vm_dense/vm_dense"),
    ("SwitchOptComparisons", "100", "vm_dense/vm_dense"),
    ("SwitchOptSpread", "0", "vm_dense/vm_dense"),
    ("UnrollMost", "1", "spmv_csr/spmv_csr"),
    ("UnrollWithoutLoads", "200", "rng_mc/rng_mc"),
    ("UnrollWhole", "1", KNOWN),
    ("UnrollTimes", "7", "spmv_csr/spmv_csr"),
    ("VectorizationDistance", "1", "gemm_tiled/gemm_tiled"),
    ("UnseenForms", "1", "vecadd/vecadd"),
];

const KNOWN: &str = "";
const KNOWN_PTX: &str = "
.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .u64 %rd<3>; .reg .u32 %r<4>; .reg .pred %p;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, 0;
    mov.u32 %r2, 0;
L:
    mad.lo.u32 %r2, %r2, %r2, %r1;
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p, %r1, 5;
    @%p bra L;
    ld.global.u32 %r3, [%rd1+4];
M:
    setp.ge.u32 %p, %r2, %r3;
    @%p bra N;
    mad.lo.u32 %r2, %r2, %r2, %r1;
    bra M;
N:
    st.global.u32 [%rd1], %r2;
    ret;
}
";

const BESIDE: &str = "beside";

/// A way of fourteen instructions that loads beside another one of nine, and one of nine before
/// eight others, while a load is under way.
fn beside() -> String {
    let [nine, more, behind] = [9, 12, 8].map(|n| "mad.lo.u32 %r2, %r2, %r2, %r1;\n".repeat(n));
    format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n\
         .visible .entry k(.param .u64 p)\n{{\n\
         .reg .u64 %rd<3>; .reg .u32 %r<9>; .reg .pred %p;\n\
         ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [%rd1]; ld.global.u32 %r2, [%rd1+4];\n\
         setp.lt.u32 %p, %r1, 5; @%p bra A;\n{nine}bra B;\nA:\n\
         ld.global.u32 %r3, [%rd1+8]; add.u32 %r2, %r2, %r3;\n{more}B:\n\
         ld.global.u32 %r4, [%rd1+12]; setp.lt.u32 %p, %r2, 5; @%p bra C;\n{nine}C:\n\
         {behind}add.u32 %r2, %r2, %r4; st.global.u32 [%rd1], %r2;\nret;\n}}\n"
    )
}

/// The same kernel, and a profile in which its second loop never runs.
const PROFILED: &str = "profiled";

fn profiled() -> Profiles {
    let program = orias::ptx::load(KNOWN_PTX).expect("it is right");
    let code = &program.functions[0].code;
    let count = |at: usize| if at < code.len() - 5 { 32 } else { 0 };
    let reached = code.iter().enumerate().map(|(at, inst)| (inst.span.start, count(at)));
    Profiles::of(&program, &reached.collect())
}

fn turned(name: &str, value: &str) -> CompileOptions {
    let knobs = vec![(name.to_string(), value.to_string())];
    CompileOptions { knobs, threads: 1, ..Default::default() }
}

/// What goes wrong over the corpus with each of these options.
fn wrong(settings: Vec<(String, CompileOptions)>) -> Vec<String> {
    let names = folders::all();
    let one = |(setting, options): &(String, CompileOptions)| {
        let of = |name: &String| failures(name, options);
        let all = names.iter().flat_map(of).map(|failure| format!("{setting}: {failure}"));
        all.collect::<Vec<_>>()
    };
    settings.par_iter().flat_map(one).collect()
}

#[test]
fn every_optimization_may_be_left_out() {
    let optional = PHASES.iter().filter(|phase| phase.is_optional());
    let settings: Vec<(String, CompileOptions)> = optional
        .map(|phase| {
            let disabled = vec![phase.name.to_string()];
            let options = CompileOptions { disabled, threads: 1, ..Default::default() };
            (phase.name.to_string(), options)
        })
        .collect();
    assert!(settings.len() > 10, "{} optimizations", settings.len());
    assert_eq!(wrong(settings), Vec::<String>::new());
}

#[test]
fn every_knob_may_be_turned() {
    let settings = TURNED.iter();
    let settings =
        settings.map(|(name, value, _)| (format!("{name}={value}"), turned(name, value)));
    assert_eq!(wrong(settings.collect()), Vec::<String>::new());
}

#[test]
fn every_knob_is_read() {
    let names: Vec<&str> = TURNED.iter().map(|(name, ..)| *name).collect();
    assert_eq!(names, KNOBS.iter().map(|row| row.name).collect::<Vec<_>>());
    for (name, value, file) in TURNED {
        let source = match *file {
            KNOWN | PROFILED => KNOWN_PTX.to_string(),
            BESIDE => beside(),
            file => {
                let path = workspace().join("tests/corpus").join(file).with_extension("ptx");
                std::fs::read_to_string(path).expect("a file of the corpus")
            }
        };
        let compile = |options: &CompileOptions| {
            driver::compile_source(&source, options).expect("it compiles").cubin
        };
        let profiles = if *file == PROFILED { profiled() } else { Profiles::default() };
        let options = CompileOptions { profiles: profiles.clone(), ..turned(name, value) };
        let usual = compile(&CompileOptions { threads: 1, profiles, ..Default::default() });
        assert_ne!(usual, compile(&options), "{name}={value} changes nothing");
    }
}

#[test]
fn a_knob_that_nothing_reads_is_an_error() {
    let made = driver::compile_source(KNOWN_PTX, &turned("NoSuchKnob", "1"));
    assert!(made.is_err_and(|e| e.to_string().contains("no knob is named 'NoSuchKnob'")));
}
