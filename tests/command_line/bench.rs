//! `orias bench` as its users call it: what it measures, compares, saves and draws.

use super::{corpus, orias};
use crate::support::Scratch;
use orias_systems::pipeline::{PHASES, Status};
use serde_json::Value;

/// What it printed; fails with what it complained of.
fn bench(args: &[&str]) -> String {
    let output = orias(&[&["bench", "--turns=3"], args].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// The columns of a table's row.
fn row<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
    let line = text.lines().find(|line| line.starts_with(&format!("{name} ")));
    let line = line.unwrap_or_else(|| panic!("no row {name} in\n{text}"));
    line[name.len()..].split_whitespace().collect()
}

fn number(text: &str) -> f64 {
    text.trim_end_matches('%').parse().unwrap_or_else(|_| panic!("{text} is a number"))
}

#[test]
fn parts_and_phases_have_medians_between_their_quartiles() {
    let text = bench(&[&corpus("vecadd"), &corpus("branches/branches.ptx")]);
    assert!(text.contains("2 files"), "{text}");
    for part in ["whole compile, no clocks in it", "parse", "lower", "8-mercury", "elf"] {
        let [median, low, high, ..] = row(&text, part)[..] else { panic!("five columns") };
        assert!(number(low) <= number(median) && number(median) <= number(high), "{part}");
        assert!(number(median) > 0.0, "{part}");
    }
    assert_eq!(row(&text, "AllocateRegisters").len(), 8, "{text}");
    let shares: f64 =
        ["parse", "layout", "lower", "between phases", "link", "assemble", "elf"]
            .into_iter()
            .chain(text.lines().filter_map(|l| l.split_whitespace().next()).filter(|w| {
                w.split_once('-').is_some_and(|(number, _)| number.parse::<u8>().is_ok())
            }))
            .map(|part| number(row(&text, part)[3]))
            .sum();
    assert!((shares - 100.0).abs() < 2.0, "parts are {shares}% of the whole");
}

#[test]
fn a_phase_without_which_code_is_worse_is_seen_to_be_worth_it() {
    let text = bench(&["--versus", "--disable-phase=ConvertToUniformReg", &corpus("image_u8")]);
    let [with, without, ..] = row(&text, "registers")[..] else { panic!("{text}") };
    assert!(number(without) > number(with), "{text}");
    let [with, without, ..] = row(&text, "estimated cycles")[..] else { panic!("{text}") };
    assert!(number(without) > number(with), "{text}");
    // And it took no time where it did not run.
    assert_eq!(number(row(&text, "ConvertToUniformReg")[1]), 0.0, "{text}");
    assert_eq!(row(&text, "ConvertToUniformReg")[2], "-100.0%", "{text}");
}

#[test]
fn equal_settings_make_equal_code() {
    let text = bench(&["--versus", "-O3", &corpus("branches")]);
    for what in ["instructions", "registers", "executed warp instructions", "estimated cycles"] {
        let columns = row(&text, what);
        assert_eq!(columns[2..], ["+0.00%", "1.0000", "0"], "{what}: {text}");
    }
}

#[test]
fn a_run_is_saved_and_compared_with_later() {
    let scratch = Scratch::new();
    let (file, other) = (corpus("mandelbrot/mandelbrot.ptx"), corpus("crc32/crc32.ptx"));
    let saved = scratch.path("run.json");
    bench(&["--save", &saved, "-O0", &file]);
    let json: Value = serde_json::from_slice(&scratch.read("run.json")).expect("JSON");
    assert_eq!(json["files"][0]["total"].as_array().map(Vec::len), Some(3), "one sample a turn");
    let text = bench(&["--against", &saved, &file, &other]);
    assert!(text.contains("A: orias") && text.contains("--opt-level=0"), "{text}");
    assert!(text.contains("1 files"), "only what both have: {text}");
    let [zero, three, ..] = row(&text, "instructions")[..] else { panic!("{text}") };
    assert!(number(three) < number(zero), "{text}");
    let output = orias(&["bench", "--turns=1", "--against", &saved, &other]);
    assert_eq!(output.status.code(), Some(1), "no file in common");
}

#[test]
fn every_phase_that_exists_has_its_worth() {
    let scratch = Scratch::new();
    let html = scratch.path("report.html");
    let markdown = scratch.path("PHASES.md");
    let notes = scratch.write("notes.tsv", "registers::allocate_registers\tFewer registers.\n");
    let text = bench(&[
        "--phases",
        "--html",
        &html,
        "--markdown",
        &markdown,
        "--notes",
        &notes,
        &corpus("mandelbrot"),
    ]);
    let worth = text.split("Without each phase alone").nth(1).expect("a second table");
    let page = String::from_utf8(scratch.read("report.html")).expect("text");
    let document = String::from_utf8(scratch.read("PHASES.md")).expect("text");
    for phase in PHASES.iter().filter(|phase| phase.runs_at(3)) {
        let Status::Implemented(..) = phase.status else { continue };
        let columns = row(worth, phase.name);
        assert_eq!(columns.contains(&"needed:"), phase.is_needed(3), "{}", phase.name);
        assert!(page.contains(&format!("<td>{}</td>", phase.name)), "{}", phase.name);
        assert!(document.contains(&format!("\n| {} |", phase.name)), "{}", phase.name);
    }
    // Known to be worth something: without folding the loop is longer.
    let [.., cycles] = row(worth, "all 6 of fold::general_optimize")[..7] else {
        panic!("{worth}")
    };
    assert!(number(cycles) > 0.0, "{worth}");
    assert!(!worth.contains("WRONG"), "{worth}");
    // One file that needs no other.
    assert_eq!(page.matches("<svg ").count(), 4);
    assert!(page.contains("prefers-color-scheme:dark"));
    let links = page.replace("http://www.w3.org/2000/svg", "");
    assert!(!links.contains("http") && !links.contains("src=") && !links.contains("@import"));
    assert_eq!(document.lines().filter(|line| line.starts_with("1. **")).count(), 5);
}

#[test]
fn what_does_not_compile_is_named_and_the_others_are_measured() {
    let scratch = Scratch::new();
    let bad = scratch.write("bad.ptx", ".version 9.0\n.target sm_90a\nnonsense\n");
    let output = orias(&["bench", "--turns=1", &bad, &corpus("vecadd/vecadd.ptx")]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("bad.ptx"));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 files"));
}

#[test]
fn settings_that_mean_nothing_are_refused() {
    let file = corpus("vecadd/vecadd.ptx");
    for args in [
        &["--disable-phase=OriNoSuchPhase"][..],
        &["--disable-phase=AllocateRegisters"],
        &["--versus", "--no-such-option"],
        &["--versus", "other.ptx"],
        &["--against", "/no/such/file.json"],
    ] {
        let output = orias(&[&["bench", "--turns=1", &file], args].concat());
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert_ne!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
    }
}
