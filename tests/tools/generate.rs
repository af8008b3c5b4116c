//! The PTX generator against the stored coverage set and against ptxas.

use orias_isa::generate::{self, accept, mnemonics};
use orias_runner::oracle;
use rayon::prelude::*;
use std::collections::BTreeSet;

/// The stored set's instructions of an SM, without operands.
fn stored(target: &str) -> BTreeSet<String> {
    let file = oracle::workspace().join("tests/coverage/forms.tsv");
    let text = std::fs::read_to_string(&file).expect("the stored set's forms");
    // Entries about declarations and directives describe themselves in words and end in no
    // semicolon.
    let instruction = |line: &str| {
        let columns: Vec<&str> = line.split('\t').collect();
        let fits = columns[0] == target && !NOT_INSTRUCTIONS.contains(&columns[1]);
        (fits && columns[3].ends_with(';')).then(|| columns[3].to_string())
    };
    let instructions = text.lines().filter_map(instruction);
    instructions.flat_map(|i| mnemonics(&i)).filter(|m| m.contains('.')).collect()
}

/// Groups of the stored set whose entries are about directives, spelling and declarations, not
/// about an instruction.
const NOT_INSTRUCTIONS: [&str; 4] = ["directive", "globals", "lexical", "control"];

#[test]
fn every_instruction_of_the_stored_set_is_generated() {
    let all: BTreeSet<String> =
        generate::kernels().iter().flat_map(|k| mnemonics(&k.instruction)).collect();
    for target in ["sm_75", "sm_80", "sm_90a", "sm_100a", "sm_120a"] {
        let missing: Vec<String> = stored(target).difference(&all).cloned().collect();
        assert!(missing.is_empty(), "{target}: {} missing: {missing:#?}", missing.len());
    }
}

#[test]
fn what_is_accepted_compiles_as_it_stands() {
    let Some(ptxas) = oracle::tool("ptxas") else { return };
    let parts: Vec<_> = generate::short_modules("sm_90a")
        .into_par_iter()
        .flat_map(|m| accept::accept(&ptxas, m))
        .collect();
    let kept: usize = parts.iter().map(|p| p.module.kernels.len()).sum();
    let dropped: usize = parts.iter().map(|p| p.rejected.len()).sum();
    assert!(kept > 4 * dropped, "{kept} kept, {dropped} dropped");
    // ptxas takes the first and the last module that is left once more, and nothing is dropped from
    // them.
    let left: Vec<_> = parts.iter().filter(|p| !p.module.kernels.is_empty()).collect();
    for part in [left[0], left[left.len() - 1]] {
        let again = accept::accept(&ptxas, part.module.clone());
        assert_eq!(again.len(), 1);
        assert_eq!((&again[0].cubin, again[0].rejected.len()), (&part.cubin, 0));
    }
}
