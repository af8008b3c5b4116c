//! The interpreter and the simulator, which share no semantics, beside each other: every kernel of the coverage set, and kernels
//! that exercise the language's corners (`tests/engines`, CUDA C compiled to PTX), from ptxas's cubins. All buffers must be
//! the same, and no hazard may be found.
//!
//! `ORIAS_SEED=S` gives other inputs.

#[path = "engines/except.rs"]
mod except;

use except::{EXCEPT, has_floats, kind};
use orias_isa::differ::{self, Setup, Verdict};
use orias_isa::sources;
use orias_runner::oracle;
use std::collections::{BTreeMap, BTreeSet};

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
    assert_eq!(
        list.len(),
        10,
        "math and language with two sets of options, library, system, data, calls, functions, graphs"
    );
    let mut wrong = Vec::new();
    for level in ["-O0", "-O1", "-O3"] {
        let Some(all) = verdicts(&list, level) else { return };
        for (file, verdict) in all {
            let (kind, text) = kind(&verdict.end);
            // The mathematical functions multiply and add: ptxas may contract what the interpreter rounds twice.
            let floats = file.contains("math");
            // The sine of a subnormal number: the machine's is zero, which is as good.
            let sine = kind == "differ" && verdict.kernel == "fmath" && file == "math";
            // ptxas 13.0.88 loses the upper half of a b128 that a function gives back.
            let wide = kind == "differ" && verdict.kernel == "wide_values";
            let right = kind == "same" || kind == "near" && floats;
            if !(right || sine || wide) {
                wrong.push(format!("{file} {} {level}: {kind}: {text}", verdict.kernel));
            }
            let at = |h| format!("{file} {} {level}: {h}", verdict.kernel);
            wrong.extend(verdict.hazards.iter().map(at));
        }
    }
    assert!(wrong.is_empty(), "{} kernels\n{}", wrong.len(), wrong.join("\n"));
}
