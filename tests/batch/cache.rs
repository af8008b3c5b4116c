//! What was compiled before is not compiled again, and never shows in what is made.

use super::*;
use orias::{Cache, CompileOptions, Compiler, Job};
use std::time::Duration;

fn cached(output: &Output) -> usize {
    rows(output).values().filter(|row| row["cached"] == true).count()
}

fn with_cache(output: &Scratch, cache: &Scratch) -> Command {
    let mut command = batch(output.folder());
    command.args(["-j", "2", "--json", "--cache"]).arg(cache.folder()).arg(corpus());
    command
}

#[test]
fn the_second_time_everything_is_found() {
    let (expected, cache) = (corpus_outputs(), Scratch::new());
    for found in [0, expected.len()] {
        let output = Scratch::new();
        let run = succeed(&mut with_cache(&output, &cache));
        assert_eq!(cached(&run), found);
        assert!(files(output.folder()) == expected);
    }
    // What the results say is the same, but for times.
    let output = Scratch::new();
    let (again, fresh) = (rows(&succeed(&mut with_cache(&output, &cache))), Scratch::new());
    let fresh = rows(&succeed(batch(fresh.folder()).arg("--json").arg(corpus())));
    for (file, row) in fresh {
        for field in ["registers", "instructions", "functions", "messages", "arch", "cubin_bytes"] {
            assert_eq!(again[&file][field], row[field], "{file}: {field}");
        }
    }
}

#[test]
fn two_processes_share_one() {
    let (expected, cache) = (corpus_outputs(), Scratch::new());
    let outputs = [Scratch::new(), Scratch::new()];
    let children: Vec<_> = outputs
        .iter()
        .map(|output| {
            let mut command = with_cache(output, &cache);
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
            command.spawn().expect("the program runs")
        })
        .collect();
    for (mut child, output) in children.into_iter().zip(&outputs) {
        assert!(child.wait().expect("it ends").success());
        assert!(files(output.folder()) == expected);
    }
    let output = Scratch::new();
    assert_eq!(cached(&succeed(&mut with_cache(&output, &cache))), expected.len());
}

#[test]
fn damaged_entries_are_made_again() {
    let (expected, cache) = (corpus_outputs(), Scratch::new());
    let output = Scratch::new();
    succeed(&mut with_cache(&output, &cache));
    let mut damaged = 0;
    for (at, (name, mut bytes)) in files(cache.folder()).into_iter().enumerate() {
        if name.ends_with("lock") {
            continue;
        }
        match at % 3 {
            0 => bytes.truncate(bytes.len() / 2),
            1 => bytes.clear(),
            _ => {
                let last = bytes.len() - 1;
                bytes[last] ^= 1;
            }
        }
        std::fs::write(cache.folder().join(name), bytes).expect("an entry");
        damaged += 1;
    }
    assert!(damaged > 60, "{damaged} entries");
    for found in [0, expected.len()] {
        let output = Scratch::new();
        assert_eq!(cached(&succeed(&mut with_cache(&output, &cache))), found);
        assert!(files(output.folder()) == expected);
    }
}

#[test]
fn options_that_show_in_the_file_are_part_of_the_name() {
    let cache = Scratch::new();
    let run = |options: &[&str]| {
        let output = Scratch::new();
        let mut command = batch(output.folder());
        command.arg("--json").arg("--cache").arg(cache.folder()).arg(ptx("crc32"));
        let found = cached(&succeed(command.arg("--").args(options)));
        (found, files(output.folder()))
    };
    let plain = run(&[]);
    assert_eq!(plain.0, 0);
    for options in [&["-O1"][..], &["-lineinfo"], &["-maxrregcount", "32"]] {
        let first = run(options);
        assert_eq!(first.0, 0, "{options:?}");
        assert_eq!(run(options), (1, first.1), "{options:?}");
    }
    assert_eq!(run(&["--split-compile", "1"]), (1, plain.1), "threads do not show");
}

#[test]
fn what_a_fall_back_made_is_not_kept() {
    let cache = Scratch::new();
    let open = || Cache::open(cache.folder(), 1 << 20).expect("a folder");
    let compiler = Compiler::new(CompileOptions::default()).cached(open());
    let source = std::fs::read_to_string(ptx("crc32")).expect("PTX");
    let hurried = CompileOptions { budget: Some(Duration::ZERO), ..Default::default() };
    for _ in 0..2 {
        let output = compiler.compile(Job::new(&source).options(&hurried)).expect("it compiles");
        assert!(output.fell_back && !output.cached);
    }
    assert!(files(cache.folder()).is_empty());
    let whole = compiler.compile(&source).expect("it compiles");
    let found = compiler.compile(Job::new(&source).options(&hurried)).expect("it compiles");
    assert!(found.cached && !found.fell_back && found.cubin == whole.cubin, "no time is needed");
}

#[test]
fn its_size_is_bounded_and_what_was_used_last_stays() {
    const MOST: u64 = 100_000;
    let folder = Scratch::new();
    let cache = Cache::open(folder.folder(), MOST).expect("a folder");
    let compiler = Compiler::new(CompileOptions { threads: 1, ..Default::default() }).cached(cache);
    let size = || files(folder.folder()).values().map(|bytes| bytes.len() as u64).sum::<u64>();
    let favourite = std::fs::read_to_string(ptx("vecadd")).expect("PTX");
    compiler.compile(&favourite).expect("it compiles");
    let mut least = u64::MAX;
    for (at, name) in corpus_outputs().into_keys().enumerate() {
        let source = std::fs::read_to_string(corpus().join(name).with_extension("ptx"));
        compiler.compile(&source.expect("PTX")).expect("it compiles");
        assert!(size() <= MOST + MOST / 8, "{} bytes", size());
        if at > 30 {
            least = least.min(size());
        }
        assert!(compiler.compile(&favourite).expect("it compiles").cached, "{at}");
    }
    assert!(least > MOST / 2, "it is made use of: {least} bytes");
    drop(compiler);
    assert!(size() <= MOST);
    // Another process's limit may be lower.
    Cache::open(folder.folder(), MOST / 4).expect("a folder").trim();
    assert!(size() <= MOST / 4 && size() > 0);
}
