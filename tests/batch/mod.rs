//! Many modules: `orias batch`, the cache, and that nothing but text and options shows in a file.

mod cache;
mod determinism;
mod failures;
mod hermetic;
mod inputs;
mod interruption;

use crate::support::{self, Scratch};
use orias_runner::oracle::workspace;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Files by their names below a folder.
type Files = BTreeMap<PathBuf, Vec<u8>>;

fn corpus() -> PathBuf {
    workspace().join("tests").join("corpus")
}

/// A kernel of the corpus.
fn ptx(name: &str) -> PathBuf {
    corpus().join(name).join(format!("{name}.ptx"))
}

/// All files below a folder.
fn files(folder: &Path) -> Files {
    fn walk(folder: &Path, root: &Path, files: &mut Files) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                walk(&path, root, files);
            } else {
                let name = path.strip_prefix(root).expect("below").to_path_buf();
                files.insert(name, std::fs::read(&path).expect("a file"));
            }
        }
    }
    let mut files = Files::new();
    if folder.exists() {
        walk(folder, folder, &mut files);
    }
    files
}

/// `orias batch`, to be given more.
fn batch(output: &Path) -> Command {
    let mut command = support::orias();
    command.arg("batch").arg("--output-dir").arg(output);
    command
}

fn run(command: &mut Command) -> Output {
    command.output().expect("the program runs")
}

/// Runs a batch in which everything compiles.
fn succeed(command: &mut Command) -> Output {
    let output = run(command);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// The objects of `--json`, by file.
fn rows(output: &Output) -> BTreeMap<String, Value> {
    let text = String::from_utf8(output.stdout.clone()).expect("UTF-8");
    let row = |line: &str| {
        let row: Value = serde_json::from_str(line).expect("an object a line");
        (row["file"].as_str().expect("a name").to_string(), row)
    };
    text.lines().map(row).collect()
}

/// The cubins of the whole corpus, as the batch's folder of outputs is to be.
fn corpus_outputs() -> Files {
    let scratch = Scratch::new();
    succeed(batch(scratch.folder()).arg(corpus()));
    let files = files(scratch.folder());
    assert!(files.len() > 60, "{} files", files.len());
    files
}
