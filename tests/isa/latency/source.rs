//! The kernels that are mined: PTX through ptxas for one SM at several levels. Cubins are not
//! taken: nobody could tell who made them.

use crate::{coverage, reference, sources};
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

/// The corpus, the kernels for both engines, the coverage set of the SM or of the next older one,
/// and `more`: PTX files, or folders of them.
pub fn files(target: &Target, more: &[PathBuf]) -> Vec<PathBuf> {
    let tests = oracle::workspace().join("tests");
    let coverage = tests.join("coverage");
    let exact = coverage.join(target.name);
    let mut folders = vec![tests.join("corpus"), tests.join("engines/kernels")];
    if exact.is_dir() {
        folders.push(exact);
    } else {
        let older = Target::all().iter().filter(|t| t.sm <= target.sm).rev();
        folders.extend(older.map(|t| coverage.join(t.name)).find(|f| f.is_dir()));
    }
    folders.extend(more.iter().cloned());
    coverage::files(&folders, "ptx")
}

/// The text sections of PTX files. What ptxas does not compile for `arch` gives none.
///
/// A file's own `.target` is replaced by `arch`.
pub fn texts(ptxas: &Path, arch: &str, levels: &[u8], files: &[PathBuf]) -> Vec<Text> {
    let each = files.par_iter().map(|file| {
        let sources = sources::at(file, arch);
        let each = sources.iter().flat_map(|source| levels.iter().map(move |l| (source, l)));
        let made = each.filter_map(|(source, level)| {
            let cubin =
                reference::ptxas(ptxas, arch, &source.text, &[&format!("-O{level}")]).ok()?;
            Some(split(&format!("{} -O{level}", source.name), &cubin))
        });
        made.flatten().collect::<Vec<Text>>()
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
