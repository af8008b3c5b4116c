//! The compilers: ours in this process or as another binary, and ptxas; what each says beside the
//! cubin.

use crate::reference;
use orias::driver::{CompileOptions, compile_source};
use orias::ptx::diagnostics::Severity;
use rustc_hash::FxHashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

/// What compiles.
#[derive(Clone, Copy)]
pub enum Maker<'a> {
    Own,
    /// A binary of `orias`.
    Binary(&'a Path),
    Ptxas(&'a Path),
}

/// A compiled file.
pub struct Made {
    pub cubin: Vec<u8>,
    /// By function: bytes that spills store, and load.
    pub spills: FxHashMap<String, (u64, u64)>,
    /// Warnings and remarks (`ptxas info : (C7510) …`), without places.
    pub notices: Vec<String>,
    /// User CPU seconds; None where the system does not tell.
    pub seconds: Option<f64>,
}

impl Maker<'_> {
    /// The file's cubin, or the compiler's first message.
    pub fn compile(self, arch: &str, file: &Path, source: &str, level: u8) -> Result<Made, String> {
        match self {
            Maker::Own => own(arch, file, source, level),
            Maker::Binary(tool) | Maker::Ptxas(tool) => {
                let kept = reference::kept(tool, arch, source, &[&format!("-O{level}"), "-v"]);
                process(tool, arch, file, level, kept.as_deref())
            }
        }
    }
}

fn own(arch: &str, file: &Path, source: &str, level: u8) -> Result<Made, String> {
    let options = CompileOptions {
        target: Some(arch.to_string()),
        opt_level: level,
        threads: 1,
        ..CompileOptions::default()
    };
    let before = thread_seconds();
    let done = catch_unwind(AssertUnwindSafe(|| compile_source(source, &options)));
    let seconds = before.zip(thread_seconds()).map(|(before, after)| after - before);
    let output = match done {
        Ok(Ok(output)) => output,
        Ok(Err(errors)) => {
            return Err(first_error(&errors.render(&file.display().to_string(), source)));
        }
        Err(_) => return Err("PANIC".to_string()),
    };
    let spills = output.functions.iter().map(|f| {
        let bytes = (u64::from(f.spill_store_bytes), u64::from(f.spill_load_bytes));
        (f.name.clone(), bytes)
    });
    let warnings = output.warnings.iter().filter(|w| w.severity == Severity::Warning);
    Ok(Made {
        spills: spills.collect(),
        notices: warnings.map(|w| w.message.clone()).collect(),
        cubin: output.cubin,
        seconds,
    })
}

/// CPU seconds of this thread (Linux).
fn thread_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split_whitespace().next()?.parse::<f64>().ok()? * 1e-9)
}

/// Runs a compiler. What it made and said is kept at `kept` (of which the cubin's name is made) for
/// the next time.
fn process(
    tool: &Path,
    arch: &str,
    file: &Path,
    level: u8,
    kept: Option<&Path>,
) -> Result<Made, String> {
    static FILES: AtomicU64 = AtomicU64::new(0);
    let said = kept.map(|k| k.with_extension("said"));
    // A compiler that is built anew has the same place: only ptxas is a fact.
    let keep = tool.file_name().is_some_and(|n| n == "ptxas");
    if let (true, Some(cubin), Some(said)) = (keep, kept, &said)
        && let (Ok(cubin), Ok(text)) = (std::fs::read(cubin), std::fs::read_to_string(said))
    {
        return Ok(made(cubin, &text));
    }
    let serial = FILES.fetch_add(1, Ordering::Relaxed);
    let output =
        std::env::temp_dir().join(format!("orias-compare-{}-{serial}.cubin", std::process::id()));
    // `times` of bash (milliseconds; those of other shells are coarser) prints the user and system
    // time of the shell, then of what it ran.
    let done = Command::new("bash")
        .args(["-c", "\"$@\"; status=$?; times; exit $status", "bash"])
        .arg(tool)
        .args(["-arch", arch, &format!("-O{level}"), "-v"])
        .arg(file)
        .arg("-o")
        .arg(&output)
        .output()
        .map_err(|e| format!("{}: {e}", tool.display()))?;
    let cubin = std::fs::read(&output);
    let _ = std::fs::remove_file(&output);
    let messages = String::from_utf8_lossy(&done.stderr);
    if !done.status.success() {
        return Err(first_error(&messages));
    }
    let cubin = cubin.map_err(|e| format!("{}: {e}", output.display()))?;
    let times = String::from_utf8_lossy(&done.stdout);
    let text = format!("{messages}\n{}\n", times.lines().last().unwrap_or_default());
    if let (true, Some(place), Some(said)) = (keep, kept, &said) {
        // What is not kept is made again; each file comes whole or not at all.
        let part = place.with_extension(format!("{}-{serial}", std::process::id()));
        let put = |bytes: &[u8], to: &Path| {
            std::fs::write(&part, bytes).and_then(|()| std::fs::rename(&part, to))
        };
        let _ = put(&cubin, place).and_then(|()| put(text.as_bytes(), said));
    }
    Ok(made(cubin, &text))
}

/// Reads what a compiler said under `-v`, and the line of `times` at the end.
fn made(cubin: Vec<u8>, said: &str) -> Made {
    let mut spills = FxHashMap::default();
    let mut notices = Vec::new();
    let mut function = None;
    for line in said.lines() {
        if let Some((_, name)) = line.split_once("Function properties for ") {
            function = Some(name.trim().to_string());
        } else if let (true, Some(name)) = (line.contains(" bytes spill stores"), &function) {
            let number = |what: &str| {
                let (before, _) = line.split_once(what)?;
                before.split_whitespace().last()?.parse().ok()
            };
            let stores = number(" bytes spill stores").unwrap_or(0);
            spills.insert(name.clone(), (stores, number(" bytes spill loads").unwrap_or(0)));
        } else if let Some(notice) = notice(line) {
            notices.push(notice);
        }
    }
    Made { cubin, spills, notices, seconds: said.trim_end().lines().last().and_then(user_seconds) }
}

/// `ptxas warning : …`, `ptxas FILE, line N; warning : …` and `ptxas info : (C7510) …`
fn notice(line: &str) -> Option<String> {
    let (head, text) = line.strip_prefix("ptxas ")?.split_once(": ")?;
    let kind = head.trim_end().rsplit(' ').next()?;
    let remark = kind == "info" && text.starts_with("(C");
    (kind == "warning" || remark).then(|| text.trim().to_string())
}

/// `0m0.540s 0m0.020s`: the first.
fn user_seconds(line: &str) -> Option<f64> {
    let (minutes, seconds) = line.split_whitespace().next()?.split_once('m')?;
    Some(60.0 * minutes.parse::<f64>().ok()? + seconds.strip_suffix('s')?.parse::<f64>().ok()?)
}

/// The first line that says what is wrong, without the file's name.
fn first_error(messages: &str) -> String {
    let wrong = |line: &&str| line.contains("error") || line.contains("fatal");
    let line = messages.lines().find(wrong).or(messages.lines().next()).unwrap_or("no message");
    match line.split_once(": ") {
        Some((_, text)) if line.starts_with("ptxas ") => text.trim().to_string(),
        _ => line.trim().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_compiler_says_is_read() {
        let said = "ptxas info    : (C7510) Potential Performance Loss\n\
                    ptxas a b.ptx, line 3; warning : too bad\n\
                    ptxas info    : Function properties for k\n    \
                    8 bytes stack frame, 16 bytes spill stores, 12 bytes spill loads\n\
                    ptxas info    : Used 24 registers\n\n1m2.500s 0m0.1s\n";
        let made = made(Vec::new(), said);
        assert_eq!(made.spills["k"], (16, 12));
        assert_eq!(made.notices, ["(C7510) Potential Performance Loss", "too bad"]);
        assert_eq!(made.seconds, Some(62.5));
    }

    #[test]
    fn the_first_error_is_told_without_its_place() {
        let text = "ptxas info    : 0 bytes gmem\nptxas k.ptx, line 9; error   : no such thing\n";
        assert_eq!(first_error(text), "no such thing");
    }
}
