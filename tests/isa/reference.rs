//! Asks the compiler of reference, ptxas.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

/// The cubin of a module, or ptxas's messages.
///
/// Where the environment names a folder in `ORIAS_ORACLE_CACHE`, cubins are kept there by what they
/// were made of, and taken from there the next time: commands that ask for the same thousands of
/// cubins then wait for ptxas once.
///
/// # Panics
/// When no temporary file can be written.
pub fn ptxas(tool: &Path, target: &str, text: &str, arguments: &[&str]) -> Result<Vec<u8>, String> {
    static FILES: AtomicU64 = AtomicU64::new(0);
    let kept = kept(tool, target, text, arguments);
    if let Some(cubin) = kept.as_ref().and_then(|path| std::fs::read(path).ok()) {
        return Ok(cubin);
    }
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
    if let (Ok(true), Some(kept)) = (result.as_ref().map(|r| r.status.success()), kept) {
        // Whole or not at all, whoever else writes it; where that fails, it is made again the next
        // time.
        let part = kept.with_extension(format!("{}-{serial}", std::process::id()));
        let _ = std::fs::copy(&output, &part).and_then(|_| std::fs::rename(&part, &kept));
    }
    let _ = std::fs::remove_file(&output);
    let result = result?;
    if !result.status.success() {
        return Err(String::from_utf8_lossy(&result.stderr).into_owned());
    }
    cubin.map_err(|e| e.to_string())
}

/// Where a cubin is kept, if any is: its name is a hash of the tool's place and of all that goes
/// in.
pub(crate) fn kept(tool: &Path, target: &str, text: &str, arguments: &[&str]) -> Option<PathBuf> {
    let folder = std::env::var_os("ORIAS_ORACLE_CACHE").filter(|f| !f.is_empty())?;
    let half = |seed: u8| {
        let mut hasher = DefaultHasher::new();
        (seed, tool, target, text, arguments).hash(&mut hasher);
        hasher.finish()
    };
    let name = format!("{:016x}{:016x}.cubin", half(0), half(1));
    let folder = PathBuf::from(folder);
    std::fs::create_dir_all(&folder).ok()?;
    Some(folder.join(name))
}
