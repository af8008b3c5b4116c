//! The interpreter and the simulator, which share no semantics, beside each other: every kernel of the coverage set, and kernels
//! that exercise the language's corners (`tests/engines`, CUDA C compiled to PTX), from ptxas's cubins. All buffers must be
//! the same, and no hazard may be found.
//!
//! `ORIAS_SEED=S` gives other inputs.

use orias_isa::differ::{self, End, Setup, Verdict};
use orias_isa::sources;
use orias_runner::oracle;
use std::collections::{BTreeMap, BTreeSet};

/// What kernels of the coverage set may end with besides equal buffers: group, a part of the kernel's name, the ends, and why. The
/// inputs are the same for all, so that some addresses mean nothing; a kernel that no engine can run is held to nothing.
const EXCEPT: &[(&str, &str, &[&str], &str)] = &[
    ("mbarrier", "", &["simulator"], "the simulator wants a barrier that was initialised"),
    ("mbarrier", "init", &["differ"], "the object's bits are no matter of PTX"),
    ("tensor", "", &["simulator", "interpreter"], "random bits are no tensor map"),
    ("tensor", "tensormap_replace", &["differ"], "random bits are no tensor map"),
    ("wgmma", "", &["interpreter", "simulator"], "random bits are no descriptor of shared memory"),
    ("wmma", "strider", &["interpreter", "simulator"], "a random stride leads out of all memory"),
    (
        "wmma",
        "wmma_mma",
        &["differ", "near"],
        "random registers are no fragment: their places are no matter of PTX",
    ),
    ("warp", "", &["simulator"], "a random mask does not hold the thread itself"),
    ("ld", "ld_const", &["interpreter"], "past the variable, not past the bank"),
    ("addressing", "ld_local_abs", &["interpreter"], "the stack lies elsewhere"),
    (
        "addressing",
        "ld_shared_var_plain",
        &["differ"],
        "the lanes of a warp store to one place, in any order",
    ),
    ("mov", "addr_off_local", &["differ"], "the stack lies elsewhere"),
    ("mov", "addr_global", &["near", "differ"], "variables lie elsewhere"),
    ("cvt", "cvta_to_", &["differ"], "windows lie elsewhere"),
    ("cvt", "cvt_rp_ftz_sat_f16_f32", &["differ"], "ptxas leaves out .ftz"),
    ("cachectl", "createpolicy", &["differ"], "a policy's bits are no matter of PTX"),
    ("cp_async", "_src", &["differ"], "a source larger than the copy is undefined"),
    ("sreg", "clock", &["differ"], "time"),
    ("sreg", "globaltimer", &["differ"], "time"),
    ("int", "bfe_s64", &["differ"], "ptxas reads the whole register as position, PTX its low byte"),
    ("int", "bfi_b64", &["differ"], "ptxas reads the whole register as position, PTX its low byte"),
    ("lexical", "guard_shfl", &["differ"], "it reads lanes whose guard is false"),
    (
        "f32",
        "sin_approx_f32",
        &["differ"],
        "of a subnormal number: the error is far below the bound",
    ),
    (
        "video",
        "",
        &["differ", "near"],
        "ptxas saturates and compares otherwise than PTX says: sums of 33 bits",
    ),
];

/// Whether floats take part: those may be rounded differently, and NaNs have different bits.
fn has_floats(kernel: &str) -> bool {
    ["f16", "f32", "f64", "e4m3", "e5m2"].iter().any(|ty| kernel.contains(ty))
}

fn kind(end: &End) -> (&'static str, String) {
    match end {
        End::Same => ("same", String::new()),
        End::Near(text) => ("near", text.clone()),
        End::Differ(text) => ("differ", text.clone()),
        End::Interpreter(text) => ("interpreter", text.clone()),
        End::Simulator(text) => ("simulator", text.clone()),
        End::Both(a, b) => ("both", format!("{a}; simulator: {b}")),
        End::Unwritten(text) => ("unwritten", text.clone()),
    }
}

fn setup() -> Setup {
    let seed = std::env::var("ORIAS_SEED").ok().and_then(|s| s.parse().ok());
    Setup { seed: seed.unwrap_or(1), ..Setup::default() }
}

/// All kernels of some sources at a level of ptxas; none where the tool is missing.
fn verdicts(list: &[sources::Source], level: &str) -> Option<Vec<(String, Verdict)>> {
    let ptxas = oracle::tool("ptxas")?;
    let (built, refused) = sources::build(&ptxas, "sm_90a", list, &[level]);
    assert_eq!(refused, 0, "ptxas takes all of them");
    let of = |(source, built): (&sources::Source, &sources::Built)| {
        let all = differ::module(&source.text, &built.cubin, setup(), |_| true);
        let all = all.unwrap_or_else(|e| panic!("{}: {e}", source.name));
        all.into_iter().map(|v| (source.name.clone(), v)).collect::<Vec<_>>()
    };
    Some(list.iter().zip(&built).flat_map(of).collect())
}

#[test]
fn the_coverage_set_gives_the_same_in_both_engines() {
    let list = sources::one_instruction("sm_90a");
    let Some(all) = verdicts(&list, "-O3") else { return };
    assert!(all.len() > 6000, "{} kernels", all.len());
    let mut wrong = Vec::new();
    let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
    let mut used = BTreeSet::new();
    for (group, verdict) in &all {
        let name = &verdict.kernel;
        let (kind, text) = kind(&verdict.end);
        *ends.entry(kind).or_default() += 1;
        let group = group.rsplit('/').next().unwrap_or(group);
        let rows = EXCEPT.iter().enumerate().filter(|(_, (g, part, ends, _))| {
            *g == group && name.contains(part) && ends.contains(&kind)
        });
        let rows: Vec<usize> = rows.map(|(row, _)| row).collect();
        let excepted = !rows.is_empty();
        used.extend(rows);
        let unknown = text.contains("unsupported") && !group.starts_with("texture");
        let held = !matches!(kind, "same" | "both" | "unwritten");
        if unknown || held && !excepted && !(kind == "near" && has_floats(name)) {
            wrong.push(format!("{group} {name}: {kind}: {text}"));
        }
        wrong.extend(verdict.hazards.iter().map(|h| format!("{group} {name}: {h}")));
    }
    for (row, (group, part, _, why)) in EXCEPT.iter().enumerate() {
        if !used.contains(&row) && std::env::var_os("ORIAS_SEED").is_none() {
            wrong.push(format!("no kernel needs the exception {group} `{part}`: {why}"));
        }
    }
    println!("{ends:?}");
    // What both engines refuse are addresses that mean nothing, and textures.
    assert!(ends["same"] > 4900, "{ends:?}");
    assert!(wrong.is_empty(), "{} kernels\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn kernels_from_cuda_give_the_same_in_both_engines() {
    let list = sources::below("engines", "sm_90a");
    assert_eq!(list.len(), 5, "math and language with two sets of options, system");
    let mut wrong = Vec::new();
    for level in ["-O0", "-O1", "-O3"] {
        let Some(all) = verdicts(&list, level) else { return };
        for (file, verdict) in all {
            let (kind, text) = kind(&verdict.end);
            // The mathematical functions multiply and add: ptxas may contract what the interpreter rounds twice.
            let floats = file.contains("math");
            // The sine of a subnormal number: the machine's is zero, which is as good.
            let sine = kind == "differ" && verdict.kernel == "fmath" && file == "math";
            if kind != "same" && !(kind == "near" && floats) && !sine {
                wrong.push(format!("{file} {} {level}: {kind}: {text}", verdict.kernel));
            }
            let at = |h| format!("{file} {} {level}: {h}", verdict.kernel);
            wrong.extend(verdict.hazards.iter().map(at));
        }
    }
    assert!(wrong.is_empty(), "{} kernels\n{}", wrong.len(), wrong.join("\n"));
}
