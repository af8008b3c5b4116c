//! The comparison of both compilers, over a few files: `orias-isa compare` does it for any PTX.

use crate::support::Scratch;
use orias_isa::compare::{Args, Row, rows, summary};
use orias_runner::oracle;
use std::path::PathBuf;

fn args(paths: Vec<PathBuf>) -> Args {
    Args {
        paths,
        level: 3,
        ours: None,
        tsv: None,
        before: None,
        changed: false,
        brief: true,
        no_run: false,
        gpu: false,
        max_steps: 10_000_000,
    }
}

fn compared(paths: Vec<PathBuf>) -> Vec<Row> {
    let target = orias_targets::target("sm_90a").expect("a target");
    rows(target, &args(paths)).expect("files that can be read")
}

#[test]
fn kernels_of_the_corpus_are_measured_on_both_sides() {
    if oracle::tool("ptxas").is_none() {
        return;
    }
    let corpus = oracle::workspace().join("tests/corpus");
    let rows = compared(vec![corpus.join("tri_vecadd"), corpus.join("tri_softmax")]);
    assert_eq!(rows.len(), 2, "{rows:?}");
    for row in &rows {
        for side in [&row.ours, &row.theirs] {
            let side = side.as_ref().expect("a compiler that takes the corpus");
            // The smallest of both has 20 instructions that move data and an exit.
            assert!(side.code.instructions > 20, "{row:?}");
            assert!(side.code.registers >= 8 && side.code.constant_loads > 0, "{row:?}");
            assert_eq!((side.spill_store_bytes, side.spill_load_bytes), (0, 0), "{row:?}");
            let run = side.run.as_ref().expect("inputs lie beside");
            assert!(run.wrong.is_empty(), "{row:?}");
            // Each warp executes more than a handful, and an instruction takes a cycle or more.
            assert!(run.executed > 20 && run.cycles > 20, "{row:?}");
        }
    }
    let text = summary(&rows, None);
    assert!(text.contains("of 2 kernels both compile 2,"), "{text}");
}

/// Both compilers name the instruction that there is not; what is right is compiled beside it.
#[test]
fn a_refused_file_is_told_with_its_message() {
    if oracle::tool("ptxas").is_none() {
        return;
    }
    let scratch = Scratch::new();
    let head = ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k() {\n";
    let put = |name: &str, body: &str| {
        scratch.write(name, format!("{head}{body}\nret;\n}}\n"));
    };
    put("good.ptx", "");
    put("bad.ptx", ".reg .b32 %r<2>;\nfrob.u32 %r1, %r1;");
    let rows = compared(vec![scratch.folder().to_path_buf()]);
    let [bad, good] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!((bad.file.as_str(), good.file.as_str()), ("bad", "good"));
    assert!(good.ours.is_ok() && good.theirs.is_ok(), "{good:?}");
    for side in [&bad.ours, &bad.theirs] {
        let message = side.as_ref().expect_err("an unknown instruction");
        assert_eq!(message, "Not a name of any known instruction: 'frob'");
    }
    assert!(summary(&rows, None).contains("neither 1"), "{rows:?}");
}
