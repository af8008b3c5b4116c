//! A test that ends early because an oracle tool is missing is counted as skipped and not as
//! passed, and fails where CI is set.
//!
//! `tests/count.sh`, by which `tests/run.sh` runs everything, runs one such test of this program.

use crate::support::Scratch;
use orias_runner::{oracle, skip};
use std::path::Path;
use std::process::Command;

/// Asks for two tools, as tests do, and ends early.
#[test]
fn a_test_that_needs_tools() {
    let (Some(_), Some(_)) = (oracle::tool("ptxas"), oracle::tool("nvdisasm")) else { return };
}

/// The exit code and the last lines of a run of that test with the oracle tools in a folder.
fn count(tools: &Path, ci: &str) -> (Option<i32>, Vec<String>) {
    let run = Command::new(oracle::workspace().join("tests/count.sh"))
        .arg(std::env::current_exe().expect("this binary"))
        .args(["--exact", "tools::skips::a_test_that_needs_tools"])
        .env("ORIAS_ORACLE", tools)
        .env("CI", ci)
        .env_remove(skip::FILE)
        .output()
        .expect("a shell");
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    let lines: Vec<String> = text.lines().map(str::to_string).collect();
    let last = lines[lines.len().saturating_sub(2)..].to_vec();
    (run.status.code(), last)
}

#[test]
fn what_lacks_its_oracle_is_skipped_and_not_passed() {
    let empty = Scratch::new();
    let (code, last) = count(empty.folder(), "");
    let ptxas = empty.path("ptxas");
    assert_eq!(code, Some(0), "{last:?}");
    let why = format!("1 skipped (reason: no ptxas: {} is missing, run", ptxas);
    assert!(last[0].starts_with(&why), "{last:?}");
    assert_eq!(last[1], "0 passed, 0 failed, 1 skipped", "once, whatever else it asked for");
}

#[test]
fn what_lacks_its_oracle_fails_where_ci_is_set() {
    let (code, last) = count(Scratch::new().folder(), "true");
    assert_ne!(code, Some(0), "{last:?}");
    assert_eq!(last[1], "0 passed, 1 failed, 0 skipped", "{last:?}");
}

#[test]
fn what_has_its_oracle_is_passed() {
    let tools = Scratch::new();
    for tool in ["ptxas", "nvdisasm"] {
        tools.write(tool, "");
    }
    let (code, last) = count(tools.folder(), "true");
    assert_eq!((code, last[1].as_str()), (Some(0), "1 passed, 0 failed, 0 skipped"));
}
