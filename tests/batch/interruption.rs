//! A batch that is ended at any moment leaves whole files, and the same command makes the others.

use super::*;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// What stands in a folder of outputs is whole, or clearly no output.
fn all_whole(folder: &Path, expected: &Files) -> usize {
    let is_part = |name: &Path| name.extension().is_some_and(|kind| kind == "part");
    let found = files(folder);
    let outputs = found.iter().filter(|(name, _)| !is_part(name));
    for (name, bytes) in outputs.clone() {
        assert!(expected.get(name) == Some(bytes), "{} is not whole", name.display());
    }
    outputs.count()
}

/// Kills batches later and later until one ends before that.
fn kill_and_go_on(cache: bool) {
    let expected = corpus_outputs();
    let (output, kept) = (Scratch::new(), Scratch::new());
    let command = || {
        let mut command = batch(output.folder());
        command.args(["-j", "2", "--quiet"]).arg(corpus());
        if cache {
            command.arg("--cache").arg(kept.folder());
        }
        command
    };
    let started = Instant::now();
    succeed(&mut command());
    let whole = started.elapsed();
    let mut interrupted = 0;
    for round in 1..=12 {
        std::fs::remove_dir_all(output.folder()).expect("a folder");
        if cache {
            std::fs::remove_dir_all(kept.folder()).expect("a folder");
        }
        // Twice, so that the second one begins with what the first one left.
        for part in [whole * round / 13, whole * (13 - round) / 26] {
            let mut child = command().spawn().expect("the program runs");
            std::thread::sleep(part);
            child.kill().expect("it is there");
            child.wait().expect("it has ended");
            let made = all_whole(output.folder(), &expected);
            interrupted += u32::from(made > 0 && made < expected.len());
        }
        succeed(&mut command());
        let found = files(output.folder());
        assert!(found == expected, "round {round}: {:?}", found.keys().collect::<Vec<_>>());
    }
    assert!(interrupted > 0, "no round was interrupted in the middle");
}

#[test]
fn a_killed_batch_that_is_run_again_makes_what_an_uninterrupted_one_makes() {
    kill_and_go_on(false);
}

#[test]
fn the_same_holds_with_a_cache() {
    kill_and_go_on(true);
}

#[cfg(unix)]
#[test]
fn a_request_to_end_is_answered_between_files_and_phases() {
    let expected = corpus_outputs();
    for signal in ["INT", "TERM"] {
        let output = Scratch::new();
        let mut command = batch(output.folder());
        command.args(["-j", "2", "--json"]).arg(corpus());
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let first = lines.next().expect("a file is done").expect("UTF-8");
        let id = child.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &id]).status().expect("kill runs");
        assert!(sent.success());
        let asked = Instant::now();
        let rows: Vec<String> =
            std::iter::once(first).chain(lines.map(|line| line.expect("UTF-8"))).collect();
        let rest = child.wait_with_output().expect("it ends");
        assert!(asked.elapsed() < Duration::from_secs(20), "soon");
        assert_eq!(rest.status.code(), Some(130));
        assert_eq!(rows.len(), expected.len(), "each file has its result");
        let of = |status: &str| {
            let word = format!("\"status\":\"{status}\"");
            rows.iter().filter(|row| row.contains(&word)).count()
        };
        assert!(of("cancelled") > 0 && of("failed") == 0);
        assert_eq!(all_whole(output.folder(), &expected), of("compiled"));
        assert_eq!(files(output.folder()).len(), of("compiled"), "nothing else is left");
        let text = String::from_utf8_lossy(&rest.stderr).into_owned();
        assert!(text.contains(&format!("interrupted before {} others", of("cancelled"))), "{text}");
    }
}
