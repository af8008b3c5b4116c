//! Instructions that stand apart whatever registers they name (`gap` in `tables/latency`): in the
//! code of ptxas, which the rows were taken from, and in ours.

use orias::driver::{CompileOptions, compile_source};
use orias_components::Opcode;
use orias_isa::coverage;
use orias_isa::latency::source::{self, Text};
use orias_runner::oracle::{tool, workspace};
use orias_targets::Target;
use std::path::PathBuf;

/// An instruction that stands too near another one, and how many pairs there were.
fn too_near(target: &Target, texts: &[Text]) -> (Vec<String>, usize) {
    let latencies = target.latencies();
    let (mut wrong, mut pairs) = (Vec::new(), 0);
    for text in texts {
        let (mut now, mut marks) = (0, Vec::<(Opcode, u32)>::new());
        for (at, word) in text.words.as_chunks::<16>().0.iter().enumerate() {
            let at = 16 * at as u64;
            let inst = target.decode(u128::from_le_bytes(*word), at).expect("a word of theirs");
            marks.retain(|(_, when)| now - when < 16);
            for (first, when) in &marks {
                let gap = u32::from(latencies.gap(*first, inst.op));
                pairs += usize::from(gap > 1);
                if now - when < gap {
                    let name = &text.name;
                    wrong.push(format!("{name} {at:#x}: {} behind {first:?}", now - when));
                }
            }
            // What a branch leads to is not what follows it.
            if inst.op.is_branch() {
                marks.clear();
            } else if latencies.begins_gap(inst.op) {
                marks.push((inst.op, now));
            }
            let stall = u32::from(inst.control.stall);
            now += if stall == 0 { 16 } else { stall };
        }
    }
    (wrong, pairs)
}

fn files() -> Vec<PathBuf> {
    let tests = workspace().join("tests");
    let folders = ["corpus", "coverage/sm_90a", "engines/kernels"].map(|name| tests.join(name));
    coverage::files(&folders, "ptx")
}

#[test]
fn ptxas_keeps_the_distances_that_the_rows_say() {
    let (Some(ptxas), Some(target)) = (tool("ptxas"), orias_targets::target("sm_90a")) else {
        return;
    };
    let (wrong, pairs) = too_near(target, &source::texts(&ptxas, target.name, &[1, 3], &files()));
    assert!(pairs > 500, "only {pairs} pairs");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn our_code_keeps_them() {
    let target = orias_targets::target("sm_90a").expect("a target");
    let mut texts = Vec::new();
    for file in files() {
        let source = std::fs::read_to_string(&file).expect("a text file");
        for opt_level in 0..=3 {
            let options = CompileOptions {
                target: Some(target.name.to_string()),
                opt_level,
                ..CompileOptions::default()
            };
            // What is refused is other tests' matter.
            if let Ok(made) = compile_source(&source, &options) {
                let label = format!("{} -O{opt_level}", file.display());
                texts.extend(source::split(&label, &made.cubin));
            }
        }
    }
    let (wrong, pairs) = too_near(target, &texts);
    assert!(pairs > 1000, "only {pairs} pairs");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
