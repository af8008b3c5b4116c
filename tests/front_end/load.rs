//! Every PTX file of the corpus and of the coverage set is accepted: no instruction of theirs is an
//! error.

use std::path::{Path, PathBuf};

fn ptx_files(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            ptx_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "ptx") {
            files.push(path);
        }
    }
}

fn loads(folder: &str, at_least: usize) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let mut files = Vec::new();
    ptx_files(&root, &mut files);
    assert!(files.len() >= at_least, "{} PTX files in {}", files.len(), root.display());
    let mut failures = String::new();
    for path in &files {
        let source = std::fs::read_to_string(path).unwrap();
        if let Err(errors) = orias::ptx::load(&source) {
            failures.push_str(&errors.render(&path.display().to_string(), &source));
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn the_corpus_loads() {
    loads("corpus", 60);
}

#[test]
fn the_coverage_set_loads() {
    loads("coverage", 200);
}
