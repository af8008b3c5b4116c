//! The interpreter and the simulator, which share no semantics, beside each other: every kernel of
//! the coverage set, and kernels that exercise the language's corners (`tests/engines`, CUDA C
//! compiled to PTX), from ptxas's cubins. All buffers must be the same, and no hazard may be found.
//! Kernels that end otherwise are listed one by one, with their causes.
//!
//! `ORIAS_SEED=S` gives other inputs.

use super::except::{Exceptions, judge_cuda, kind};
use orias_isa::differ::{self, End, Verdict};
use orias_isa::setup::Setup;
use orias_isa::{prepare, sources};
use orias_runner::oracle;
use std::collections::BTreeMap;

fn setup() -> Setup {
    let seed = std::env::var("ORIAS_SEED").ok().and_then(|s| s.parse().ok());
    Setup { seed: seed.unwrap_or(1), strict_regions: false, ..Setup::default() }
}

/// For one-instruction kernels, whose operands are prepared.
fn prepared() -> Setup {
    Setup { meaningful: true, prepared: true, ..setup() }
}

/// All kernels of some sources at a level of ptxas; none where the tool is missing.
fn verdicts(list: &[sources::Source], level: &str, setup: Setup) -> Option<Vec<(String, Verdict)>> {
    let ptxas = oracle::tool("ptxas")?;
    let (built, refused) = sources::build(&ptxas, "sm_90a", list, &[level]);
    assert_eq!(refused, 0, "ptxas takes all of them");
    let of = |(source, built): (&sources::Source, &sources::Built)| {
        let all = differ::module(&source.text, &built.cubin, setup, |_| true);
        let all = all.unwrap_or_else(|e| panic!("{}: {e}", source.name));
        all.into_iter().map(|v| (source.name.clone(), v)).collect::<Vec<_>>()
    };
    Some(list.iter().zip(&built).flat_map(of).collect())
}

#[test]
fn the_coverage_set_gives_the_same_in_both_engines() {
    let mut list = sources::one_instruction("sm_90a");
    list.iter_mut().for_each(|source| source.text = prepare::module(&source.text));
    let Some(all) = verdicts(&list, "-O3", prepared()) else { return };
    assert!(all.len() > 6000, "{} kernels", all.len());
    let mut wrong = Vec::new();
    let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
    let mut exceptions = Exceptions::of("ptxas");
    for (group, verdict) in &all {
        let name = &verdict.kernel;
        *ends.entry(kind(&verdict.end).0).or_default() += 1;
        let group = group.rsplit('/').next().unwrap_or(group);
        wrong.extend(exceptions.judge(group, verdict));
        wrong.extend(verdict.hazards.iter().map(|h| format!("{group} {name}: {h}")));
    }
    if std::env::var_os("ORIAS_SEED").is_none() {
        wrong.extend(exceptions.unused());
    }
    println!("{ends:?}");
    assert!(ends["same"] > 5700, "{ends:?}");
    assert!(wrong.is_empty(), "{} kernels\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn kernels_from_cuda_give_the_same_in_both_engines() {
    let list = sources::below("engines/kernels", "sm_90a");
    assert_eq!(
        list.len(),
        11,
        "math and language with two sets of options, library, system, data, calls, collectives, functions, graphs"
    );
    let levels = ["-O0", "-O1", "-O3"];
    let mut all = Vec::new();
    for level in levels {
        let Some(ends) = verdicts(&list, level, setup()) else { return };
        all.extend(ends);
    }
    let wrong = judge_cuda("ptxas", levels.len(), &all);
    assert!(wrong.is_empty(), "{} kernels\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn an_exception_counts_for_its_kernel_its_end_and_its_cubins_and_must_be_needed() {
    let verdict =
        |kernel: &str, end: End| Verdict { kernel: kernel.to_string(), end, hazards: Vec::new() };
    let differ = || End::Differ("buffer 0".to_string());
    let (listed, other) = ("vset_u32_u32_lt_d", "vset_u32_u32_lt");
    let mut ptxas = Exceptions::of("ptxas");
    assert_eq!(ptxas.judge("video", &verdict(listed, differ())), None);
    assert!(ptxas.judge("video", &verdict(other, differ())).is_some(), "its neighbour's");
    assert!(ptxas.judge("video", &verdict(listed, End::Near(String::new()))).is_some());
    assert!(ptxas.judge("video_simd", &verdict(listed, differ())).is_some());
    assert!(!ptxas.unused().iter().any(|line| line.contains("vset_u32_u32_lt_d")));
    let mut ours = Exceptions::of("O3");
    assert!(ours.judge("video", &verdict(listed, differ())).is_some(), "ptxas's mistake");
    let mut needless = Exceptions::of("ptxas");
    assert_eq!(needless.judge("video", &verdict(listed, End::Same)), None);
    assert!(needless.unused().iter().any(|line| line.contains("vset_u32_u32_lt_d")));
}
