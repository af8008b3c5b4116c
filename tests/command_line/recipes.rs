//! `--recipes`: knobs and phases by the names of kernels.

use super::{corpus, orias};
use crate::support::Scratch;
use std::fs;

/// The cubin of a kernel group with options, or what was complained of.
fn compile(scratch: &Scratch, options: &[&str]) -> Result<Vec<u8>, String> {
    let (file, cubin) = (corpus("branches/branches.ptx"), scratch.path("k.cubin"));
    let _ = fs::remove_file(&cubin);
    let output = orias(&[options, &[&file, "-o", &cubin]].concat());
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    match output.status.code() {
        Some(0) => Ok(fs::read(&cubin).expect("a cubin")),
        code => {
            assert_eq!(code, Some(255), "{complaint}");
            assert!(!fs::exists(&cubin).expect("a folder"), "no output of what failed");
            Err(complaint)
        }
    }
}

/// The same with this text as recipes.
fn with(scratch: &Scratch, text: &str) -> Result<Vec<u8>, String> {
    let file = scratch.path("recipes.jsonl");
    fs::write(&file, text).expect("written");
    compile(scratch, &["--recipes", &file])
}

#[test]
fn a_recipe_for_all_kernels_is_the_option() {
    let scratch = Scratch::new();
    let usual = compile(&scratch, &[]).expect("compiled");
    let option = compile(&scratch, &["--disable-phase=OriDoPredication", "--knob=UnrollTimes=0"]);
    let option = option.expect("compiled");
    let text = r#"{"kernel": "*", "disable": ["OriDoPredication"], "knobs": {"UnrollTimes": 0}}"#;
    assert_eq!(with(&scratch, text).expect("compiled"), option);
    assert_ne!(usual, option);
    let other = r#"{"kernel": "no_such_*", "disable": ["OriDoPredication"]}"#;
    assert_eq!(with(&scratch, other).expect("compiled"), usual);
    assert_eq!(with(&scratch, "").expect("compiled"), usual);
}

#[test]
fn a_recipe_is_for_the_kernels_that_it_names() {
    let scratch = Scratch::new();
    let one = r#"{"kernel": "loop_*", "disable": ["OriDoPredication", "OriLoopUnrolling"]}"#;
    let some = with(&scratch, one).expect("compiled");
    let all = with(&scratch, &one.replace("loop_*", "*")).expect("compiled");
    assert_ne!(some, all);
    assert_ne!(some, compile(&scratch, &[]).expect("compiled"));
}

#[test]
fn the_command_line_comes_before_a_recipe() {
    let scratch = Scratch::new();
    let file = scratch.path("recipes.jsonl");
    fs::write(&file, r#"{"kernel": "*", "knobs": {"PredicationAlone": 0}}"#).expect("written");
    let given = ["--knob=PredicationAlone=3", "--recipes", &file];
    let option = compile(&scratch, &given[..1]).expect("compiled");
    assert_eq!(compile(&scratch, &given).expect("compiled"), option);
    assert_ne!(compile(&scratch, &given[1..]).expect("compiled"), option);
}

#[test]
fn what_is_wrong_with_recipes_has_its_place() {
    let scratch = Scratch::new();
    let complaint = with(&scratch, "\n{\"kernel\": \"*\", \"disable\": [\"OriNoSuch\"]}\n");
    let complaint = complaint.expect_err("refused");
    for part in ["recipes.jsonl', line 2, column 30: no phase is named `OriNoSuch`", "^"] {
        assert!(complaint.contains(part), "{complaint}");
    }
    let none = compile(&scratch, &["--recipes", "/no/such/file"]).expect_err("refused");
    assert!(none.contains("cannot read '/no/such/file'"), "{none}");
}
