//! The interpreter knows every instruction of the coverage PTX for sm_90a, but those that need a
//! texture or surface unit.
//!
//! `ORIAS_INTERPRET_FILES=FILE:FILE…` lists the unknown instructions of other files, with how often
//! each form stands there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Unknown forms of a file, each with how often it stands there and one example; the file's own
/// error under its name.
fn unknown(path: &Path, forms: &mut BTreeMap<String, (usize, String)>) {
    let source =
        std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let file = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut add = |form: String, example: &str| {
        let entry = forms.entry(form).or_default();
        entry.0 += 1;
        if entry.1.is_empty() {
            entry.1 =
                format!("{file}: {}", example.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    };
    let program = match orias::ptx::load(&source) {
        Ok(program) => program,
        Err(error) => return add(format!("does not load: {}", error.render(&file, &source)), ""),
    };
    for kernel in program.functions.iter().filter(|f| f.entry && f.defined) {
        match orias::interpret::unsupported(&program, kernel.name) {
            Ok(list) => list.into_iter().for_each(|(form, at)| add(form, &source[at])),
            Err(error) => add(format!("does not launch: {error}"), kernel.name),
        }
    }
}

fn report(forms: &BTreeMap<String, (usize, String)>) -> String {
    forms
        .iter()
        .map(|(form, (count, example))| format!("{count:6} {form}\n         {example}\n"))
        .collect()
}

/// Instructions that need a texture unit.
fn needs_texture(form: &str) -> bool {
    ["tex", "tld4", "txq", "istypep", "sured", "suld", "sust", "suq", "ld.tex"]
        .iter()
        .any(|p| form.starts_with(p))
}

#[test]
fn every_instruction_of_the_coverage_ptx_is_known() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/coverage/sm_90a");
    let mut forms = BTreeMap::new();
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("coverage").map(|e| e.expect("entry").path()).collect();
    files.sort();
    for file in files
        .iter()
        .filter(|f| !f.file_stem().is_some_and(|s| s.to_string_lossy().starts_with("texture")))
    {
        unknown(file, &mut forms);
    }
    forms.retain(|form, _| !needs_texture(form));
    assert!(forms.is_empty(), "{} forms\n{}", forms.len(), report(&forms));
}

#[test]
fn instructions_of_other_files() {
    let Ok(list) = std::env::var("ORIAS_INTERPRET_FILES") else {
        return orias_runner::skip::skip("on demand: ORIAS_INTERPRET_FILES names no files");
    };
    let mut forms = BTreeMap::new();
    std::env::split_paths(&list).for_each(|file| unknown(&file, &mut forms));
    forms.retain(|form, _| !needs_texture(form));
    println!("{} forms\n{}", forms.len(), report(&forms));
}
