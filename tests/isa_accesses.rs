//! Our kernels' accesses to memory say what those of ptxas say of space, scope, order, cache and operation: no engine could tell.
//! Over all of the generator's kernels `orias-isa accesses` does it.

use orias::driver::CompileOptions;
use orias_isa::{accesses, ours, sources};
use orias_runner::oracle;
use orias_targets::target;
use rayon::prelude::*;

/// Kernels where something is missing without a known reason.
fn wrong(text: &str, theirs: &[u8]) -> Vec<String> {
    let target = target("sm_90a").expect("a target");
    let options = CompileOptions { opt_level: 3, threads: 1, ..Default::default() };
    let made = ours::compile(text, &options).expect("PTX that ptxas takes");
    let hinted = accesses::hinted(text);
    let ours = made.cubin.expect("kernels that compile");
    let found = accesses::differences(target, theirs, &ours, |kernel| hinted.contains(kernel));
    let unexplained = found.expect("two cubins").into_iter().filter(|d| d.why.is_none());
    unexplained
        .map(|d| format!("{}: {:?} is missing, beside {:?}", d.kernel, d.lacking, d.more))
        .collect()
}

#[test]
fn no_access_of_the_coverage_set_lacks_a_word() {
    let Some(ptxas) = oracle::tool("ptxas") else { return };
    let one = |source: sources::Source| {
        let theirs = sources::ptxas(&ptxas, "sm_90a", &source.text, &["-O3"]);
        wrong(&source.text, &theirs.expect("ptxas takes the coverage set"))
    };
    let mut all = sources::one_instruction("sm_90a");
    all.retain(|s| !s.name.starts_with("tex") && !s.name.starts_with("su"));
    let missing: Vec<String> = all.into_par_iter().flat_map_iter(one).collect();
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}
