//! Broken PTX: every file of `tests/front_end/broken` gives exactly the messages in the text file
//! beside it, exit code 255, and no output file. `ORIAS_BLESS=1` writes the text files.

use crate::support::{Scratch, orias};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/front_end/broken")
}

fn compile(file: &str, output: &str) -> Output {
    orias()
        .current_dir(folder())
        .args(["-arch", "sm_90a", file, "-o", output])
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
fn every_broken_file_gets_its_messages() {
    let bless = std::env::var_os("ORIAS_BLESS").is_some();
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ptx"))
        .collect();
    files.sort();
    assert!(files.len() >= 20, "{} files", files.len());
    let scratch = Scratch::new();
    let mut wrong = String::new();
    for path in files {
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        let output = scratch.path(&name);
        let run = compile(&name, &output);
        let messages = String::from_utf8(run.stderr).unwrap();
        assert_eq!(run.status.code(), Some(255), "{name}: {messages}");
        assert!(!Path::new(&output).exists(), "{name}: an output file was written");
        assert!(messages.contains("ptxas fatal   : "), "{name}: {messages}");
        assert!(run.stdout.is_empty(), "{name}: something on standard output");
        let expected = path.with_extension("txt");
        if bless {
            std::fs::write(&expected, &messages).unwrap();
        } else if std::fs::read_to_string(&expected).unwrap_or_default() != messages {
            wrong.push_str(&format!("--- {name}, now:\n{messages}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}\n(ORIAS_BLESS=1 accepts these)");
}

#[test]
fn an_output_file_that_was_there_stays_as_it_was() {
    let scratch = Scratch::new();
    let run = compile("syntax.ptx", &scratch.write("old", "old"));
    assert_eq!((run.status.code(), scratch.read("old").as_slice()), (Some(255), b"old".as_slice()));
}

#[test]
fn a_missing_input_is_told() {
    let run = compile("no_such_file.ptx", &Scratch::new().path("missing"));
    let messages = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(255));
    assert!(
        messages.starts_with("ptxas fatal   : Input file 'no_such_file.ptx' could not be opened"),
        "{messages}"
    );
}

#[test]
fn an_unknown_target_is_told_in_the_words_that_clients_look_for() {
    let run = orias()
        .current_dir(folder())
        .args(["../../corpus/vecadd/vecadd.ptx", "-arch=sm_99", "-o"])
        .arg(Scratch::new().path("target"))
        .output()
        .unwrap();
    let messages = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(255));
    assert_eq!(messages, "ptxas fatal   : Value 'sm_99' is not defined for option 'gpu-name'\n");
}

#[test]
fn the_version_has_the_pattern_that_clients_look_for() {
    let run = orias().arg("--version").output().unwrap();
    let text = String::from_utf8(run.stdout).unwrap();
    assert_eq!(run.status.code(), Some(0));
    // Triton searches for `release X.Y`, XLA for `V` and three numbers.
    assert!(text.contains("release 13.0, V13.0.88"), "{text}");
    assert!(text.contains("orias") && text.contains(env!("CARGO_PKG_VERSION")), "{text}");
}
