//! Where outputs stand: one place a file.

use super::inputs::Found;
use super::settings::Settings;
use rustc_hash::FxHashMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// A file to compile, and where to.
pub struct Task {
    pub file: PathBuf,
    /// How, and where to; or why not.
    pub work: Result<Work, String>,
    /// How long the text is: what it may take.
    pub bytes: u64,
}

/// What a task needs.
pub struct Work {
    pub output: PathBuf,
    pub settings: Arc<Settings>,
    /// Of which cycles are estimated; none where empty.
    pub launch: Vec<String>,
}

/// The places that are given away.
pub struct Taken<'a> {
    folder: Option<&'a Path>,
    /// By place: the file that is compiled there, and how.
    taken: FxHashMap<PathBuf, (PathBuf, Arc<Settings>)>,
}

impl<'a> Taken<'a> {
    /// Outputs stand below a folder, or beside their inputs.
    pub fn new(folder: Option<&'a Path>) -> Taken<'a> {
        Taken { folder, taken: FxHashMap::default() }
    }

    /// Gives each a place of its own. What is named twice is compiled once; where two would have
    /// the same place only the first has it.
    pub fn tasks(mut self, found: Vec<Found>) -> Vec<Task> {
        found.into_iter().filter_map(|found| self.task(found)).collect()
    }

    fn task(&mut self, found: Found) -> Option<Task> {
        let Found { file, relative, output, launch, settings } = found;
        let bytes = fs::metadata(&file).map_or(0, |about| about.len());
        let settings = match settings {
            Ok(settings) => settings,
            Err(error) => return Some(Task { file, work: Err(error), bytes }),
        };
        let output = output.unwrap_or_else(|| match self.folder {
            Some(_) => with_ending(&relative),
            None => with_ending(&file),
        });
        let output = self.folder.map_or(output.clone(), |folder| folder.join(&output));
        match self.taken.get(&output) {
            Some((first, how)) if is_same(first, &file) && Arc::ptr_eq(how, &settings) => None,
            Some((first, _)) => {
                let first = first.display();
                let error = format!("its output {} is that of {first} too", output.display());
                Some(Task { file, work: Err(error), bytes })
            }
            None => {
                self.taken.insert(output.clone(), (file.clone(), settings.clone()));
                Some(Task { file, work: Ok(Work { output, settings, launch }), bytes })
            }
        }
    }
}

/// `./a.ptx` is `a.ptx`.
fn is_same(a: &Path, b: &Path) -> bool {
    let parts = |path: &Path| {
        path.components().filter(|part| *part != Component::CurDir).collect::<PathBuf>()
    };
    parts(a) == parts(b)
}

/// `a.ptx` is `a.cubin`, and `a.b` is `a.b.cubin`.
fn with_ending(path: &Path) -> PathBuf {
    if path.extension().is_some_and(|kind| kind == "ptx") {
        return path.with_extension("cubin");
    }
    let mut name = OsString::from(path);
    name.push(".cubin");
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::super::inputs::Inputs;
    use super::*;

    /// Outputs or errors of what a list names.
    fn places(folder: Option<&str>, list: &str) -> Vec<Result<String, String>> {
        let mut inputs = Inputs::new(&[], None).unwrap();
        inputs.add_list(list.as_bytes());
        let tasks = Taken::new(folder.map(Path::new)).tasks(inputs.found);
        let show = |work: Work| work.output.display().to_string();
        tasks.into_iter().map(|task| task.work.map(show)).collect()
    }

    #[test]
    fn outputs_have_their_inputs_names() {
        let beside = places(None, "no such/a.ptx\nb.b.ptx\nc.txt");
        assert_eq!(beside, ["no such/a.cubin", "b.b.cubin", "c.txt.cubin"].map(|p| Ok(p.into())));
        let below = places(Some("out"), "no such/a.ptx\n/b.ptx");
        assert_eq!(below, ["out/no such/a.cubin", "out/b.cubin"].map(|p| Ok(p.into())));
    }

    #[test]
    fn a_place_is_given_once() {
        let error = "its output out/a.cubin is that of x/../a.ptx too".to_string();
        let places = places(Some("out"), "x/../a.ptx\na.ptx\nx/../a.ptx\n./x/../a.ptx");
        assert_eq!(places, [Ok("out/a.cubin".to_string()), Err(error)]);
    }
}
