//! What the compiler of reference makes of the project's PTX for an SM: the cubins that the table must explain.

use crate::generate::{self, accept::accept};
use orias_runner::oracle;
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

/// PTX to compile, and where it is from.
pub struct Source {
    pub name: String,
    pub text: String,
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
    let root = oracle::workspace().join("tests").join(folder);
    let read = |path: &PathBuf| {
        let name = path.file_stem()?.to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path).ok()?;
        Some(Source { name, text: retarget(&text, target) })
    };
    crate::coverage::files(&[root], "ptx").iter().filter_map(read).collect()
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

/// The cubin of a module, or ptxas's messages.
///
/// # Panics
/// When no temporary file can be written.
pub fn ptxas(tool: &Path, target: &str, text: &str, arguments: &[&str]) -> Result<Vec<u8>, String> {
    static FILES: AtomicU64 = AtomicU64::new(0);
    let serial = FILES.fetch_add(1, Ordering::Relaxed);
    let file = |extension: &str| {
        let name = format!("orias-isa-{}-{serial}.{extension}", std::process::id());
        std::env::temp_dir().join(name)
    };
    let (input, output) = (file("ptx"), file("cubin"));
    std::fs::write(&input, text).expect("a temporary file");
    let result = Command::new(tool)
        .args(["-arch", target])
        .args(arguments)
        .arg(&input)
        .arg("-o")
        .arg(&output)
        .output()
        .map_err(|e| e.to_string());
    let cubin = std::fs::read(&output);
    let _ = std::fs::remove_file(&input);
    let _ = std::fs::remove_file(&output);
    let result = result?;
    if !result.status.success() {
        return Err(String::from_utf8_lossy(&result.stderr).into_owned());
    }
    cubin.map_err(|e| e.to_string())
}

/// All that ptxas makes of the sources, each at every level; what it refuses is left out (a corpus kernel may need what the
/// SM lacks) and counted.
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
            let cubin = ptxas(tool, target, &source.text, &[level]).ok()?;
            Some(Built { name: format!("{} {level}", source.name), cubin })
        })
        .collect();
    let refused = built.iter().filter(|b| b.is_none()).count();
    (built.into_iter().flatten().collect(), refused)
}

/// What ptxas makes of the generator's kernels: all of them, in several ways, or a selection in one.
pub fn generated(tool: &Path, target: &str, short: bool) -> Vec<Built> {
    let modules = if short { generate::short_modules(target) } else { generate::modules(target) };
    let accepted = modules.into_par_iter().flat_map_iter(|module| accept(tool, module));
    accepted
        .filter(|a| !a.cubin.is_empty())
        .map(|a| Built { name: a.module.name, cubin: a.cubin })
        .collect()
}
