//! What is compiled: files, and shapes that become files.

use orias_speed::shapes::{self, SHAPES};
use std::path::{Path, PathBuf};

pub enum Input {
    File(PathBuf),
    Shape(String, usize),
}

impl Input {
    /// Its name in tables, and its file, which is written to the folder where it is a shape.
    ///
    /// # Errors
    /// In words, when there is no such shape or the file cannot be written.
    pub fn file(&self, folder: &Path) -> Result<(String, PathBuf), String> {
        match self {
            Input::File(path) => {
                // The folder of a file is often what tells it from others.
                let parent = path.parent().and_then(Path::file_name).unwrap_or_default();
                let name = Path::new(parent).join(path.file_name().unwrap_or_default());
                Ok((name.display().to_string(), path.clone()))
            }
            Input::Shape(name, size) => {
                let path = folder.join(format!("{name}-{size}.ptx"));
                std::fs::write(&path, shape(name, *size)?).map_err(|e| e.to_string())?;
                Ok((format!("{name} {size}"), path))
            }
        }
    }
}

/// A shape's text.
///
/// # Errors
/// When there is none of that name.
pub fn shape(name: &str, size: usize) -> Result<String, String> {
    let known = || SHAPES.iter().map(|s| s.name).collect::<Vec<_>>().join(", ");
    let shape = shapes::find(name).ok_or_else(|| format!("no shape `{name}`: {}", known()))?;
    Ok(shape.text(size))
}

pub fn shapes(list: &[(&str, usize)]) -> impl Iterator<Item = Input> {
    list.iter().map(|(name, size)| Input::Shape(name.to_string(), *size))
}

/// What the command line names: shapes as NAME=SIZE, files, all PTX of folders.
///
/// # Errors
/// When a shape is not named so, or a folder cannot be read.
pub fn named(files: &[PathBuf], named: &[String]) -> Result<Vec<Input>, String> {
    let mut all = Vec::new();
    for text in named {
        let (name, size) = text.split_once('=').ok_or_else(|| format!("`{text}`: NAME=SIZE"))?;
        let size = size.parse().map_err(|_| format!("`{text}`: the size is no number"))?;
        all.push(Input::Shape(name.to_string(), size));
    }
    for path in files {
        find_ptx(path, &mut all)?;
    }
    Ok(all)
}

fn find_ptx(path: &Path, all: &mut Vec<Input>) -> Result<(), String> {
    if !path.is_dir() {
        all.push(Input::File(path.to_path_buf()));
        return Ok(());
    }
    let entries = std::fs::read_dir(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() || path.extension().is_some_and(|e| e == "ptx") {
            find_ptx(&path, all)?;
        }
    }
    Ok(())
}
