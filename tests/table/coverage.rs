//! The short form of `orias-isa report`: what ptxas makes of the one-instruction kernels and of a
//! selection of the generator's is explained by the table, word for word. The long form, all levels
//! and the corpus too, is in `tests/isa/REPORT.md`.

use orias_isa::coverage::{Coverage, Seen, measure};
use orias_isa::sources;
use orias_runner::oracle;
use orias_targets::target;

/// Measures the words of a target; none where the oracle tools are missing.
fn coverage(name: &str) -> Option<Coverage> {
    let (ptxas, nvdisasm) = (oracle::tool("ptxas")?, oracle::tool("nvdisasm")?);
    let (mut built, refused) =
        sources::build(&ptxas, name, &sources::one_instruction(name), &["-O3"]);
    assert_eq!(refused, 0, "ptxas takes the one-instruction kernels of {name}");
    let generated = sources::generated(&ptxas, name, true).into_iter();
    built.extend(generated.map(|a| sources::Built { name: a.module.name, cubin: a.cubin }));
    let mut seen = Seen::default();
    for cubin in &built {
        seen.add(&cubin.name, &cubin.cubin).expect("ptxas writes cubins");
    }
    Some(measure(target(name).expect("a target"), &nvdisasm, &seen))
}

/// The share of words, in percent, that must be identical and have the reference text.
fn holds(name: &str, identical: f64, text: f64) {
    let Some(c) = coverage(name) else { return };
    let missing: Vec<String> = c
        .by_mnemonic()
        .iter()
        .take(40)
        .map(|(fault, _, words, _, m)| {
            format!("{fault:?} ({words} words) {} | {}", m.reference, m.ours)
        })
        .collect();
    let at_least = |n: u64, percent: f64| n as f64 >= percent / 100.0 * c.words as f64;
    assert!(at_least(c.identical, identical), "{name}: {c}\n{}", missing.join("\n"));
    assert!(at_least(c.same_text, text), "{name}: {c}\n{}", missing.join("\n"));
}

#[test]
fn every_word_of_sm_90a_is_explained() {
    holds("sm_90a", 100.0, 99.9);
}

#[test]
fn the_words_of_sm_80_are_explained() {
    holds("sm_80", 99.5, 99.0);
}

#[test]
fn the_words_of_sm_89_are_explained() {
    holds("sm_89", 99.5, 99.0);
}
