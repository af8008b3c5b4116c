//! Tests that end early because something is missing say so where it is counted: the test runner
//! calls them passed and hides what they print.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::Write;

/// The environment variable that names the file to which `tests/count.sh` wants a line for each
/// skipped test.
pub const FILE: &str = "ORIAS_SKIPS";

/// Records that the running test ends early, or does less, and why: binary, test, reason. A test
/// that asks several times is counted once.
pub fn skip(why: &str) {
    eprintln!("skipped: {why}");
    let Some(file) = std::env::var_os(FILE).filter(|f| !f.is_empty()) else { return };
    let binary = std::env::current_exe().unwrap_or_default();
    let binary = binary.file_name().unwrap_or(OsStr::new("?")).to_string_lossy().into_owned();
    // The runner names a test's thread after the test.
    let thread = std::thread::current();
    let line = format!("{binary}\t{}\t{why}\n", thread.name().unwrap_or("?"));
    let opened = OpenOptions::new().create(true).append(true).open(&file);
    let written = opened.and_then(|mut file| file.write_all(line.as_bytes()));
    if let Err(error) = written {
        panic!("{}: {error}", file.display());
    }
}
