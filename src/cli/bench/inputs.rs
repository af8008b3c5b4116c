//! What `orias bench` compiles: PTX files, and folders of the corpus whose kernels can be run.

use crate::input;
use crate::launch::case::Suite;
use std::path::{Path, PathBuf};

/// One module.
pub struct Input {
    /// The file as it was named or found.
    pub name: String,
    /// PTX.
    pub source: String,
    /// Launches with expected results, where a `case.json` beside the file has some.
    pub suite: Option<Suite>,
}

/// Reads files, and all in folders. A folder with a `case.json` is the one module that this names;
/// of others every `.ptx` file counts, and every folder in them, by name.
///
/// # Errors
/// A file or folder that cannot be read, or a folder without PTX.
pub fn read(paths: &[PathBuf]) -> Result<Vec<Input>, String> {
    let mut inputs = Vec::new();
    for path in paths {
        let before = inputs.len();
        if path.is_dir() {
            folder(path, &mut inputs)?;
        } else {
            inputs.push(file(path)?);
        }
        if inputs.len() == before {
            return Err(format!("{}: no PTX in this folder", path.display()));
        }
    }
    Ok(inputs)
}

fn file(path: &Path) -> Result<Input, String> {
    let bytes = input::read(path, input::MAX_CODE)
        .map_err(|error| format!("{}: {error}", path.display()))?;
    let beside = path.parent().map(|folder| folder.join("case.json")).filter(|case| case.is_file());
    let suite = beside.and_then(|case| Suite::load(&case).ok());
    Ok(Input {
        name: path.display().to_string(),
        source: String::from_utf8_lossy(&bytes).into_owned(),
        suite: suite.filter(|suite| suite.ptx.file_name() == path.file_name()),
    })
}

fn folder(folder: &Path, inputs: &mut Vec<Input>) -> Result<(), String> {
    let fail = |error: std::io::Error| format!("{}: {error}", folder.display());
    if folder.join("case.json").is_file() {
        let suite = Suite::load(folder).map_err(|error| error.to_string())?;
        inputs.push(file(&suite.ptx)?);
        return Ok(());
    }
    let entries = std::fs::read_dir(folder).map_err(fail)?;
    let paths: Result<Vec<PathBuf>, _> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths.map_err(fail)?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            self::folder(&path, inputs)?;
        } else if path.extension().is_some_and(|extension| extension == "ptx") {
            inputs.push(file(&path)?);
        }
    }
    Ok(())
}
