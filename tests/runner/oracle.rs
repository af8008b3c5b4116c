//! The oracle: NVIDIA's `ptxas`, `nvdisasm` and `cuobjdump`, used by tests as black boxes and never
//! shipped.

use std::path::{Path, PathBuf};

/// The workspace's root folder, where this crate was built.
pub fn workspace() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}

/// The path of an oracle tool (`ptxas`, `nvdisasm`, `cuobjdump`): `$ORIAS_ORACLE/NAME`, else
/// `.oracle/bin/NAME` at the workspace root.
///
/// `None` is for the caller to skip its test, or what of it needs the tool: the test is recorded as
/// skipped here ([`crate::skip`]). Where `CI` is set a missing tool is a failure.
///
/// # Panics
/// When the tool is missing and the environment variable `CI` is set (to anything but nothing, `0`
/// or `false`).
pub fn tool(name: &str) -> Option<PathBuf> {
    let folder = match std::env::var_os("ORIAS_ORACLE") {
        Some(folder) if !folder.is_empty() => PathBuf::from(folder),
        _ => workspace().join(".oracle").join("bin"),
    };
    let path = folder.join(name);
    if path.is_file() {
        return Some(path);
    }
    let ci = std::env::var("CI").is_ok_and(|v| !matches!(v.as_str(), "" | "0" | "false"));
    assert!(!ci, "{} is missing: run tests/oracle.sh", path.display());
    crate::skip::skip(&format!("no {name}: {} is missing, run tests/oracle.sh", path.display()));
    None
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_workspace_root_holds_the_corpus() {
        assert!(super::workspace().join("tests/corpus/vecadd/case.json").is_file());
    }
}
