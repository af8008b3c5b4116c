//! `--build`: one folder with everything that a machine without Rust needs to run the corpus.
//!
//! It holds this program (`orias-corpus`), `corpus/FOLDER/` with each case and its files, and
//! `cubins/VARIANT/FOLDER.cubin`.

use std::path::Path;

use super::case::Suite;
use super::run::{Cubins, Variant};

fn at<T>(path: &Path, result: std::io::Result<T>) -> Result<T, String> {
    result.map_err(|error| format!("{}: {error}", path.display()))
}

fn folder(path: &Path) -> Result<(), String> {
    at(path, std::fs::create_dir_all(path))
}

/// Writes the folder. Cubins that a compiler does not give are left out: each is a line of the
/// result.
pub fn build(to: &Path, suites: &[Suite], variants: &[Variant]) -> Result<Vec<String>, String> {
    folder(to)?;
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let copy = to.join("orias-corpus");
    at(&copy, std::fs::copy(&program, &copy))?;
    let mut missing = Vec::new();
    for suite in suites {
        let cases = to.join("corpus").join(&suite.name);
        folder(&cases)?;
        for entry in at(&suite.folder, std::fs::read_dir(&suite.folder))? {
            let path = at(&suite.folder, entry)?.path();
            let wanted = path.extension().is_some_and(|e| e == "json" || e == "bin" || e == "ptx");
            if wanted && let Some(name) = path.file_name() {
                at(&path, std::fs::copy(&path, cases.join(name)))?;
            }
        }
    }
    for variant in variants {
        let cubins = to.join("cubins").join(variant.folder());
        folder(&cubins)?;
        for suite in suites {
            match Cubins::Compile.cubin(suite, *variant) {
                Ok(bytes) => {
                    let path = cubins.join(format!("{}.cubin", suite.name));
                    at(&path, std::fs::write(&path, bytes))?;
                }
                Err(error) => {
                    missing.push(format!(
                        "{} {}: {}",
                        variant.folder(),
                        suite.name,
                        error.trim_end()
                    ));
                }
            }
        }
    }
    Ok(missing)
}
