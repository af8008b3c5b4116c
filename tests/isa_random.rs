//! Random instructions of every row, taken from the table's own ranges (the last values included): what the encoder makes
//! of them decodes to the same instruction, and nvdisasm reads the word as the text that we print.

use orias_isa::random::{Random, instance};
use orias_isa::words::texts;
use orias_runner::oracle;
use orias_targets::target;
use orias_targets::text::{Numeric, instruction};

#[test]
fn random_instructions_of_every_row_read_the_same_in_nvdisasm() {
    let target = target("sm_90a").expect("sm_90a is a target");
    let rounds: usize =
        std::env::var("ORIAS_RANDOM_ROUNDS").ok().and_then(|v| v.parse().ok()).unwrap_or(8);
    let mut random =
        Random(std::env::var("ORIAS_SEED").ok().and_then(|v| v.parse().ok()).unwrap_or(1));
    let mut words = Vec::new();
    let mut insts = Vec::new();
    for _ in 0..rounds {
        for form in target.table().forms {
            let pc = 16 * words.len() as u64;
            let inst = instance(target, &mut random, form, pc);
            let word =
                target.encode(&inst, pc).unwrap_or_else(|e| panic!("{}: {e}: {inst:?}", form.row));
            let back =
                target.decode(word, pc).unwrap_or_else(|e| panic!("{}: {e}: {inst:?}", form.row));
            let again = target.encode(&back, pc).unwrap_or_else(|e| panic!("{}: {e}", form.row));
            assert_eq!(again, word, "{}: {inst:?} became {back:?}", form.row);
            words.push(word);
            insts.push((form.row, back));
        }
    }
    let Some(tool) = oracle::tool("nvdisasm") else { return };
    let mut wrong = Vec::new();
    for (i, theirs) in texts(&tool, "SM90", &words).into_iter().enumerate() {
        let (row, inst) = &insts[i];
        let ours = instruction(target, inst, &Numeric);
        if theirs.as_deref() != Some(ours.as_str()) {
            let theirs = theirs.unwrap_or_else(|| "refused".into());
            wrong.push(format!("{row} {:032x}\n  nvdisasm {theirs}\n  ours     {ours}", words[i]));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), words.len(), wrong.join("\n"));
}
