//! What the compiler of reference makes of the project's PTX for an SM: the cubins that the table
//! must explain.

use crate::generate::{
    self,
    accept::{Accepted, accept},
};
use crate::reference;
use orias_runner::oracle;
use rayon::prelude::*;
use std::path::{Path, PathBuf};

/// PTX to compile, and where it is from.
pub struct Source {
    pub name: String,
    pub text: String,
}

/// What a command looks at that checks machine code: modules, levels, and who compiles.
#[derive(clap::Args, Clone, Debug)]
pub struct Checked {
    /// PTX files, or folders of them; without any the corpus, the coverage set and the engines'
    /// kernels. `flow` takes cubins too.
    pub paths: Vec<PathBuf>,
    /// Our levels.
    #[arg(long, value_delimiter = ',', default_values_t = [0, 1, 2, 3])]
    pub level: Vec<u8>,
    /// What ptxas makes of the PTX too, at the same levels.
    #[arg(long)]
    pub ptxas: bool,
    /// Show everything, not three of a kind.
    #[arg(long)]
    pub all: bool,
}

impl Checked {
    /// The modules' names and PTX; those of the project, where the command line names no files and
    /// they are wanted.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn modules(&self, own: bool) -> Result<Vec<(String, String)>, String> {
        let mut list = Vec::new();
        for file in crate::coverage::files(&self.paths, "ptx") {
            let text = std::fs::read_to_string(&file);
            let text = text.map_err(|e| format!("{}: {e}", file.display()))?;
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            list.push((name, text));
        }
        if self.paths.is_empty() && own {
            list.extend(project("sm_90a").into_iter().map(|s| (s.name, s.text)));
        }
        Ok(list)
    }
}

/// The project's own PTX: the corpus, the coverage set and the engines' kernels.
pub fn project(target: &str) -> Vec<Source> {
    let all = [corpus(target), one_instruction(target), below("engines/kernels", target)];
    all.into_iter().flatten().collect()
}

/// A cubin that ptxas made.
pub struct Built {
    /// `vecadd -O3`
    pub name: String,
    pub cubin: Vec<u8>,
}

/// The one-instruction kernels of the SM that is nearest.
pub fn one_instruction(target: &str) -> Vec<Source> {
    let nearest = match target {
        "sm_75" => "sm_75",
        "sm_90" | "sm_90a" => "sm_90a",
        "sm_100a" | "sm_100" => "sm_100a",
        "sm_120a" | "sm_120" => "sm_120a",
        _ => "sm_80",
    };
    below(&format!("coverage/{nearest}"), target)
}

/// The kernel corpus.
pub fn corpus(target: &str) -> Vec<Source> {
    below("corpus", target)
}

/// The PTX below a folder of `tests`, for a target.
pub fn below(folder: &str, target: &str) -> Vec<Source> {
    at(&oracle::workspace().join("tests").join(folder), target)
}

/// A PTX file, or those below a folder, for a target.
pub fn at(path: &Path, target: &str) -> Vec<Source> {
    let read = |path: &PathBuf| {
        let name = path.file_stem()?.to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path).ok()?;
        Some(Source { name, text: retarget(&text, target) })
    };
    crate::coverage::files(&[path.to_path_buf()], "ptx").iter().filter_map(read).collect()
}

/// The module for another SM; what else its `.target` says stays.
fn retarget(text: &str, target: &str) -> String {
    let lines = text.lines().map(|line| match line.trim_start().strip_prefix(".target") {
        Some(rest) => {
            let options = rest.split_once(',').map_or(String::new(), |(_, o)| format!(",{o}"));
            format!(".target {target}{options}")
        }
        None => line.into(),
    });
    lines.collect::<Vec<String>>().join("\n") + "\n"
}

/// All that ptxas makes of the sources, each at every level; what it refuses is left out (a corpus
/// kernel may need what the SM lacks) and counted.
pub fn build(
    tool: &Path,
    target: &str,
    sources: &[Source],
    levels: &[&str],
) -> (Vec<Built>, usize) {
    let all: Vec<(&Source, &str)> =
        sources.iter().flat_map(|s| levels.iter().map(move |level| (s, *level))).collect();
    let built: Vec<Option<Built>> = all
        .par_iter()
        .map(|(source, level)| {
            let cubin = reference::ptxas(tool, target, &source.text, &[level]).ok()?;
            Some(Built { name: format!("{} {level}", source.name), cubin })
        })
        .collect();
    let refused = built.iter().filter(|b| b.is_none()).count();
    (built.into_iter().flatten().collect(), refused)
}

/// The generator's modules as ptxas takes them, with its cubins: all of them, in several ways, or a
/// selection in one.
pub fn generated(tool: &Path, target: &str, short: bool) -> Vec<Accepted> {
    let modules = if short { generate::short_modules(target) } else { generate::modules(target) };
    let accepted = modules.into_par_iter().flat_map_iter(|module| accept(tool, module));
    accepted.filter(|a| !a.cubin.is_empty()).collect()
}
