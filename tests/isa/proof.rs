//! The promise of the rows: every instruction that they allow has an encoding, decodes to itself,
//! and reads the same in the disassembler of reference.

use crate::random::{Random, draw};
use crate::words::{NOP, machine, texts};
use orias_targets::Target;
use orias_targets::text::{Numeric, instruction};
use std::path::Path;

/// What is wrong with at least `count` random instructions of a target, one text each: what does
/// not encode, does not decode to the same word, or is not read as we read it. Without the
/// disassembler of reference the last is not asked.
pub fn wrong(
    target: &'static Target,
    nvdisasm: Option<&Path>,
    count: usize,
    seed: u64,
) -> Vec<String> {
    let mut random = Random(seed);
    let (mut words, mut insts, mut wrong) = (Vec::new(), Vec::new(), Vec::new());
    for (i, (form, inst)) in draw(target, &mut random, count).into_iter().enumerate() {
        let pc = 16 * i as u64;
        let word = match target.encode(&inst, pc) {
            Ok(word) => word,
            Err(e) => {
                wrong.push(format!("{} {}: {e}", target.name, form.row));
                NOP
            }
        };
        let back = match target.decode(word, pc) {
            Ok(back) if target.encode(&back, pc) == Ok(word) => back,
            other => {
                wrong.push(format!("{} {} {word:032x}: {other:?}", target.name, form.row));
                inst
            }
        };
        words.push(word);
        insts.push((form.row, back));
    }
    let Some(tool) = nvdisasm else { return wrong };
    for (i, theirs) in texts(tool, &machine(target.name), &words).into_iter().enumerate() {
        let (row, inst) = &insts[i];
        let ours = instruction(target, inst, &Numeric);
        if theirs.as_deref() != Some(ours.as_str()) {
            let theirs = theirs.unwrap_or_else(|| "refused".into());
            let (name, word) = (target.name, words[i]);
            wrong.push(format!("{name} {row} {word:032x}\n  nvdisasm {theirs}\n  ours     {ours}"));
        }
    }
    wrong
}
