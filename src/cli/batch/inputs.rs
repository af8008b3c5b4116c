//! Which files a batch compiles: from names, folders, globs, lists and manifests.

use super::manifest::{self, Line};
use super::settings::{AllSettings, Settings};
use crate::input;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A list of names, or a manifest, at most (bytes).
const MAX_LIST: u64 = 1 << 30;

/// Folders inside each other at most: links may lead around in a circle.
const MAX_DEPTH: u32 = 64;

/// What the names of folders and lists have come to.
pub struct Found {
    /// The file, or what was found fault with.
    pub file: PathBuf,
    /// The output's place below the folder of outputs, where that is not said otherwise.
    pub relative: PathBuf,
    /// Where the output is to be, below the folder of outputs.
    pub output: Option<PathBuf>,
    /// Of which cycles are estimated; none where empty.
    pub launch: Vec<String>,
    /// How to compile it, or why it cannot be.
    pub settings: Result<Arc<Settings>, String>,
}

/// Collects inputs.
pub struct Inputs {
    all: AllSettings,
    settings: Arc<Settings>,
    /// In the order in which they were named; in folders and globs by name.
    pub found: Vec<Found>,
}

impl Inputs {
    /// With options, and a time budget, that all files have.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn new(options: &[String], budget: Option<Duration>) -> Result<Inputs, String> {
        let mut all = AllSettings::new(options, budget);
        let settings = all.get(Vec::new())?;
        Ok(Inputs { all, settings, found: Vec::new() })
    }

    /// A file, a folder, a glob, or `-`.
    pub fn add(&mut self, input: &Path) {
        if input.as_os_str() == "-" {
            match input::stream(io::stdin(), MAX_LIST) {
                Ok(list) => self.add_list(&list),
                Err(error) => self.problem(Path::new("<stdin>"), error.to_string()),
            }
        } else if input.is_dir() {
            self.folder(input, input, 0);
        } else if !input.exists() && is_glob(input) {
            self.glob(input);
        } else {
            self.file(input.to_path_buf(), mirrored(input));
        }
    }

    /// A name a line; empty lines are none.
    pub fn add_list(&mut self, list: &[u8]) {
        for line in list.split(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            match path(line) {
                _ if line.is_empty() => {}
                // It would be read for ever.
                Ok(path) if path.as_os_str() == "-" => {
                    self.problem(&path, "a list cannot name itself".to_string());
                }
                Ok(path) => self.add(&path),
                Err(shown) => self.problem(Path::new(&shown), "its name is not UTF-8".to_string()),
            }
        }
    }

    /// Files with options of their own.
    pub fn add_manifest(&mut self, path: &Path) {
        let bytes = match path.as_os_str() == "-" {
            true => input::stream(io::stdin(), MAX_LIST),
            false => input::read(path, MAX_LIST),
        };
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(error) => return self.problem(path, error.to_string()),
        };
        for (number, line) in manifest::lines(&bytes) {
            match line {
                Ok(line) => self.line(line),
                Err(error) => {
                    let place = format!("{}:{number}", path.display());
                    self.problem(Path::new(&place), error);
                }
            }
        }
    }

    fn line(&mut self, line: Line) {
        let Line { file, arch, options, output, launch } = line;
        let mut own = Vec::new();
        if let Some(arch) = arch {
            own.extend(["-arch".to_string(), arch]);
        }
        own.extend(options);
        let settings = self.all.get(own);
        self.found.push(Found { relative: mirrored(&file), file, output, launch, settings });
    }

    fn file(&mut self, file: PathBuf, relative: PathBuf) {
        let settings = Ok(self.settings.clone());
        self.found.push(Found { file, relative, output: None, launch: Vec::new(), settings });
    }

    fn problem(&mut self, place: &Path, message: String) {
        let (file, relative) = (place.to_path_buf(), place.to_path_buf());
        self.found.push(Found {
            file,
            relative,
            output: None,
            launch: Vec::new(),
            settings: Err(message),
        });
    }

    /// All PTX below a folder, which `root` is or is above.
    fn folder(&mut self, folder: &Path, root: &Path, depth: u32) {
        if depth > MAX_DEPTH {
            return self.problem(folder, "folders inside each other too deep".to_string());
        }
        let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let mut entries: Vec<PathBuf> = match entries {
            Ok(entries) => entries.into_iter().map(|entry| entry.path()).collect(),
            Err(error) => return self.problem(folder, error.to_string()),
        };
        entries.sort();
        for entry in entries {
            if entry.is_dir() {
                self.folder(&entry, root, depth + 1);
            } else if is_ptx(&entry) {
                let relative = entry.strip_prefix(root).unwrap_or(&entry).to_path_buf();
                self.file(entry, relative);
            }
        }
    }

    fn glob(&mut self, pattern: &Path) {
        let Some(text) = pattern.to_str() else {
            return self.problem(pattern, "a glob that is not UTF-8".to_string());
        };
        let found = match glob::glob(text) {
            Ok(found) => found,
            Err(error) => return self.problem(pattern, error.to_string()),
        };
        let before = self.found.len();
        for path in found {
            match path {
                Ok(path) if path.is_dir() => self.folder(&path, &path, 0),
                Ok(path) => self.file(path.clone(), mirrored(&path)),
                Err(error) => self.problem(error.path(), error.error().to_string()),
            }
        }
        if self.found.len() == before {
            self.problem(pattern, "no file has such a name".to_string());
        }
    }
}

fn is_ptx(path: &Path) -> bool {
    path.extension() == Some(OsStr::new("ptx"))
}

fn is_glob(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().iter().any(|byte| b"*?[".contains(byte))
}

/// The place of a file's output: its name as it was given, or the last part of that where it leads
/// out of the folder that it is taken from.
fn mirrored(file: &Path) -> PathBuf {
    let inside = |part: &Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    match file.components().all(|part| inside(&part)) {
        true => file.components().filter(|part| *part != Component::CurDir).collect(),
        false => file.file_name().map_or_else(PathBuf::new, PathBuf::from),
    }
}

#[cfg(unix)]
fn path(bytes: &[u8]) -> Result<PathBuf, String> {
    use std::os::unix::ffi::OsStrExt;
    Ok(PathBuf::from(OsStr::from_bytes(bytes)))
}

#[cfg(not(unix))]
fn path(bytes: &[u8]) -> Result<PathBuf, String> {
    let text = std::str::from_utf8(bytes);
    text.map(PathBuf::from).map_err(|_| String::from_utf8_lossy(bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outputs_place_is_the_inputs_name_as_far_as_that_stays_below() {
        for (file, place) in [
            ("a/b.ptx", "a/b.ptx"),
            ("./a/./b.ptx", "a/b.ptx"),
            ("/a/b.ptx", "b.ptx"),
            ("../a/b.ptx", "b.ptx"),
            ("a/../../b.ptx", "b.ptx"),
            ("..", ""),
        ] {
            assert_eq!(mirrored(Path::new(file)), Path::new(place), "{file}");
        }
    }

    #[test]
    fn a_list_has_names_by_line() {
        let mut inputs = Inputs::new(&[], None).unwrap();
        inputs.add_list(b"no such/a.ptx\r\n\n-\nno such/*.ptx\nlast");
        let found: Vec<(&str, Option<&str>)> = inputs
            .found
            .iter()
            .map(|f| (f.file.to_str().unwrap(), f.settings.as_ref().err().map(String::as_str)))
            .collect();
        let expected = [
            ("no such/a.ptx", None),
            ("-", Some("a list cannot name itself")),
            ("no such/*.ptx", Some("no file has such a name")),
            ("last", None),
        ];
        assert_eq!(found, expected);
    }
}
