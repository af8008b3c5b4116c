//! The kernels that are mined: PTX through ptxas for one SM at several levels, and cubins as they are.

use crate::{coverage, sources};
use orias::elf::Cubin;
use orias_runner::oracle;
use orias_targets::Target;
use rayon::prelude::*;
use std::path::{Path, PathBuf};

/// A text section.
pub struct Text {
    /// `file kernel -O3`
    pub name: String,
    pub words: Vec<u8>,
}

/// The corpus, the kernels for both engines, the coverage set of the SM or of the next older one, and `more`: PTX files and cubins, or folders of them.
pub fn files(target: &Target, more: &[PathBuf]) -> Vec<PathBuf> {
    let tests = oracle::workspace().join("tests");
    let coverage = tests.join("coverage");
    let exact = coverage.join(target.name);
    let mut folders = vec![tests.join("corpus"), tests.join("engines")];
    if exact.is_dir() {
        folders.push(exact);
    } else {
        let older = Target::all().iter().filter(|t| t.sm <= target.sm).rev();
        folders.extend(older.map(|t| coverage.join(t.name)).find(|f| f.is_dir()));
    }
    folders.extend(more.iter().cloned());
    let mut files = coverage::files(&folders, "ptx");
    files.extend(coverage::files(more, "cubin"));
    files
}

/// The text sections of PTX files and cubins. What ptxas does not compile for `arch`, and what is no cubin, gives none.
///
/// `levels` are for the PTX. A file's own `.target` is replaced by `arch`.
pub fn texts(ptxas: &Path, arch: &str, levels: &[u8], files: &[PathBuf]) -> Vec<Text> {
    let each = files.par_iter().map(|file| {
        let label = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if file.extension().is_some_and(|e| e == "cubin") {
            return std::fs::read(file).map_or(Vec::new(), |bytes| split(&label, &bytes));
        }
        let made = levels.iter().filter_map(|level| {
            let cubin = compile(ptxas, arch, *level, file)?;
            Some(split(&format!("{label} -O{level}"), &cubin))
        });
        made.flatten().collect()
    });
    each.flatten().collect()
}

/// The kernels of a cubin.
pub fn split(label: &str, cubin: &[u8]) -> Vec<Text> {
    let Ok(cubin) = Cubin::read(cubin) else { return Vec::new() };
    let text = |k: &orias::elf::read::Function<'_>| Text {
        name: format!("{label} {}", k.name),
        words: k.text.to_vec(),
    };
    cubin.kernels().map(text).collect()
}

fn compile(ptxas: &Path, arch: &str, level: u8, file: &Path) -> Option<Vec<u8>> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = |l: &str| {
        if l.trim_start().starts_with(".target") {
            format!(".target {arch}")
        } else {
            l.to_string()
        }
    };
    let text: Vec<String> = text.lines().map(line).collect();
    sources::ptxas(ptxas, arch, &text.join("\n"), &[&format!("-O{level}")]).ok()
}
