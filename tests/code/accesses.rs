//! Our kernels' accesses to memory say what those of ptxas say of space, scope, order, cache and
//! operation: no engine could tell. Over all of the generator's kernels `orias-isa accesses` does
//! it.

use orias::driver::CompileOptions;
use orias::launch::{Argument, Buffer, Launch};
use orias::simulate::simulate;
use orias_isa::accesses::Difference;
use orias_isa::exceptions::group;
use orias_isa::{accesses, ours, reference, sources};
use orias_runner::oracle;
use orias_targets::target;
use rayon::prelude::*;

/// The kernels where something is missing.
fn differences(text: &str, theirs: &[u8]) -> Vec<Difference> {
    let target = target("sm_90a").expect("a target");
    let options = CompileOptions { opt_level: 3, threads: 1, ..Default::default() };
    let made = ours::compile(text, &options).expect("PTX that ptxas takes");
    let hinted = accesses::hinted(text);
    let ours = made.cubin.expect("kernels that compile");
    let found = accesses::differences(target, theirs, &ours, |kernel| hinted.contains(kernel));
    found.expect("two cubins")
}

#[test]
fn no_access_of_the_coverage_set_lacks_a_word() {
    let Some(ptxas) = oracle::tool("ptxas") else { return };
    let one = |source: &sources::Source| {
        let theirs = reference::ptxas(&ptxas, "sm_90a", &source.text, &["-O3"]);
        differences(&source.text, &theirs.expect("ptxas takes the coverage set"))
    };
    let mut all = sources::one_instruction("sm_90a");
    all.retain(|s| !s.name.starts_with("tex") && !s.name.starts_with("su"));
    let found: Vec<_> = all.par_iter().map(one).collect();
    let (mut known, mut missing) = (accesses::known(), Vec::new());
    for (source, found) in all.iter().zip(found) {
        let unknown = |d: &Difference| d.why(&mut known, group(&source.name)).is_none();
        missing.extend(found.into_iter().filter(unknown));
    }
    assert!(missing.is_empty(), "{missing:#?}");
    let there = |row: &[&str]| {
        let kernel = format!(".entry {}(", row[1]);
        all.iter().any(|s| group(&s.name) == row[0] && s.text.contains(&kernel))
    };
    assert_eq!(known.unused(there), [""; 0]);
}

/// The words of policies with a share, as ptxas 13.0.88 makes them: sixteenths less one from bit 52
/// on.
#[test]
fn the_share_of_a_policy_is_read_from_every_literal() {
    let body: String = ["0.5", "0f3F000000", "1.0", "0d3FE0000000000000"]
        .iter()
        .enumerate()
        .map(|(i, share)| {
            let at = 8 * i;
            format!("createpolicy.fractional.L2::evict_last.b64 %d1, {share};\nst.global.b64 [%d0+{at}], %d1;\n")
        })
        .collect();
    let text = format!(
        ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 o)\n{{\n.reg .b64 %d<2>;\n\
         ld.param.u64 %d0, [o];\n{body}ret;\n}}\n"
    );
    for opt_level in [0, 3] {
        let options = CompileOptions { opt_level, threads: 1, ..Default::default() };
        let made = ours::compile(&text, &options).expect("PTX");
        let bytes = vec![0; 32];
        let launch = Launch {
            entry: "k".into(),
            grid: [1; 3],
            block: [1; 3],
            args: vec![Argument::Buffer(Buffer { bytes, writable: true, output: None })],
            ..Launch::default()
        };
        let cubin = made.cubin.expect("it compiles");
        let outcome = simulate(&cubin, &launch, Default::default()).expect("it runs");
        let words = outcome.buffers[0].as_chunks::<8>().0.iter().map(|w| u64::from_le_bytes(*w));
        assert_eq!(words.map(|w| w >> 52).collect::<Vec<_>>(), [0x147, 0x147, 0x14f, 0x147]);
    }
}
