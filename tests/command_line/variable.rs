//! `ORIAS_DISABLE_PHASES`: phases that the environment leaves out.

use super::corpus;
use crate::support::{self, Scratch};
use std::fs;
use std::process::Output;

fn run(variable: Option<&str>, arguments: &[&str]) -> Output {
    let mut command = support::orias();
    command.args(arguments).env_remove("ORIAS_DISABLE_PHASES");
    command.envs(variable.map(|names| ("ORIAS_DISABLE_PHASES", names)));
    command.output().expect("orias runs")
}

/// The cubin of a kernel group with the variable and an option, or what was complained of.
fn compile(scratch: &Scratch, variable: Option<&str>, option: &[&str]) -> Result<Vec<u8>, String> {
    let (file, cubin) = (corpus("branches/branches.ptx"), scratch.path("k.cubin"));
    let _ = fs::remove_file(&cubin);
    let output = run(variable, &[option, &[&file, "-o", &cubin]].concat());
    if output.status.success() {
        return Ok(fs::read(&cubin).expect("a cubin"));
    }
    assert_eq!(output.status.code(), Some(255));
    assert!(!fs::exists(&cubin).expect("a folder"), "no output of what failed");
    Err(String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn the_variable_leaves_out_what_the_option_does() {
    let scratch = Scratch::new();
    let usual = compile(&scratch, None, &[]).expect("compiled");
    let one = compile(&scratch, None, &["--disable-phase=OriDoPredication"]).expect("compiled");
    assert!(usual != one, "one phase makes a difference");
    assert!(compile(&scratch, Some("OriDoPredication"), &[]).expect("compiled") == one);
    assert!(compile(&scratch, Some(""), &[]).expect("compiled") == usual);
    // Both together are all that either names.
    let both = ["--disable-phase=OriDoPredication,OriHoistInvariantsEarly,OriBranchOpt"];
    let both = compile(&scratch, None, &both).expect("compiled");
    assert!(one != both, "one phase makes a difference");
    let added = compile(
        &scratch,
        Some(" OriHoistInvariantsEarly, OriBranchOpt,"),
        &["--disable-phase=OriDoPredication"],
    );
    assert!(added.expect("compiled") == both);
}

#[test]
fn a_wrong_name_is_an_error_that_says_where_it_stands() {
    let scratch = Scratch::new();
    let complaint = compile(&scratch, Some("GvnCse,OriNoSuch"), &[]).expect_err("no such phase");
    let named = "ORIAS_DISABLE_PHASES: no phase is named `OriNoSuch`";
    assert!(complaint.contains(named), "{complaint}");
    let complaint = compile(&scratch, Some("AllocateRegisters"), &[]).expect_err("needed");
    let needed = "ORIAS_DISABLE_PHASES: there is no correct code without phase AllocateRegisters";
    assert!(complaint.contains(needed), "{complaint}");
}

#[test]
fn a_batch_keeps_what_was_compiled_without_a_phase_apart() {
    let scratch = Scratch::new();
    let (file, cache) = (corpus("branches/branches.ptx"), scratch.path("cache"));
    let batch = |variable| {
        let folder = scratch.path("out");
        let words = ["batch", "-q", "--cache", &cache, "-o", &folder, &file];
        let output = run(variable, &words);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        fs::read(scratch.path("out/branches.cubin")).expect("a cubin")
    };
    let usual = batch(None);
    let without = batch(Some("OriDoPredication"));
    assert!(usual != without, "one phase makes a difference");
    assert!(batch(None) == usual);
    assert!(batch(Some("OriDoPredication")) == without);
}
