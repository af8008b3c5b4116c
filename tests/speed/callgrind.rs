//! Instructions that a compiler executes: a count that neither a noisy machine nor the compiler's
//! own counters can bend.
//!
//! `valgrind --tool=callgrind` counts them in user mode, of all that the process runs, from its
//! first instruction to its last.

use std::path::Path;
use std::process::Command;

/// Whether valgrind can be run at all.
///
/// # Errors
/// In words that say what to install.
pub fn ready() -> Result<(), String> {
    let missing = "no valgrind: this needs it (package `valgrind` of most systems)";
    let found = Command::new("valgrind").arg("--version").output();
    found.is_ok_and(|o| o.status.success()).then_some(()).ok_or(missing.to_string())
}

/// Compiles a file once under callgrind; the instructions executed.
///
/// # Errors
/// In words, when valgrind or the compiler fails.
pub fn instructions(
    program: &Path,
    options: &[String],
    input: &Path,
    out: &Path,
) -> Result<u64, String> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program);
    command.args(options).arg(input).arg("-o").arg(out);
    let fail = |why: &str| format!("{} {}: {why}", program.display(), input.display());
    let done = command.output().map_err(|e| fail(&e.to_string()))?;
    let said = String::from_utf8_lossy(&done.stderr);
    if !done.status.success() {
        return Err(fail(&format!("{} under callgrind", done.status)));
    }
    collected(&said).ok_or_else(|| fail("callgrind says no total"))
}

/// `==123== Collected : 4567`: of one process, the last if it says so more than once.
fn collected(said: &str) -> Option<u64> {
    let (_, total) = said.lines().rev().find_map(|line| line.split_once("Collected : "))?;
    total.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_total_is_read() {
        let said =
            "==7== Events    : Ir\n==7== Collected : 2966615\n==7== \n==7== I   refs: 2,966,615\n";
        assert_eq!(super::collected(said), Some(2_966_615));
        assert_eq!(super::collected("valgrind: no such file\n"), None);
    }
}
