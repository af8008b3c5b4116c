//! `--stat=phase-wise` as a table and as JSON, and `--trace`: what each phase took, made and asked
//! memory for.

use super::{corpus, orias};
use crate::support::Scratch;
use orias_systems::pipeline::PHASES;
use serde_json::Value;

/// Compiles a corpus kernel with options; what it printed.
fn compile(scratch: &Scratch, file: &str, options: &[&str]) -> String {
    let (file, cubin) = (corpus(file), scratch.path("k.cubin"));
    let args = [options, &[&file, "-o", &cubin]].concat();
    let output = orias(&args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is a whole number"))
}

#[test]
fn the_table_has_a_row_for_every_phase_and_their_sum() {
    let scratch = Scratch::new();
    let table = compile(&scratch, "vecadd/vecadd.ptx", &["--stat=phase-wise"]);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 1 + PHASES.len() + 1, "{table}");
    for (line, phase) in lines[1..].iter().zip(&PHASES) {
        assert!(line.contains(phase.name), "{line}");
    }
    let allocate = lines.iter().find(|line| line.contains(" AllocateRegisters "));
    let columns: Vec<&str> = allocate.expect("a row").split_whitespace().collect();
    let [_, _, status, _, share, before, after, _, allocations, bytes, peak] = columns[..] else {
        panic!("eleven columns: {columns:?}");
    };
    assert_eq!(status, "implemented");
    assert!(share.ends_with('%'));
    assert!(before.parse::<u32>().expect("instructions") > 10);
    assert!(after.parse::<u32>().expect("instructions") > 10);
    for count in [allocations, bytes, peak] {
        assert!(count.parse::<u64>().expect("the program counts") > 0, "{columns:?}");
    }
    assert!(lines.last().is_some_and(|line| line.trim().starts_with("total")));
}

#[test]
fn the_same_as_json_adds_up() {
    let scratch = Scratch::new();
    let options = ["--stat=phase-wise", "--stat-format=json"];
    let text = compile(&scratch, "recursion/recursion.ptx", &options);
    let json: Value = serde_json::from_str(&text).expect("one JSON value");
    let phases = json["phases"].as_array().expect("rows");
    assert_eq!(phases.len(), PHASES.len());
    let sum = |key: &str| phases.iter().map(|phase| number(&phase[key])).sum::<u64>();
    for key in ["time_ns", "rewrites", "allocations", "allocated_bytes"] {
        assert_eq!(sum(key), number(&json["total"][key]), "{key}");
        assert!(sum(key) > 0, "{key}");
    }
    let shares: f64 = phases.iter().map(|phase| phase["share"].as_f64().expect("share")).sum();
    assert!((shares - 1.0).abs() < 1e-9);
    // What a phase leaves the next one finds.
    let (mut before, mut most) = (number(&phases[0]["instructions_in"]), 0);
    for phase in phases {
        assert_eq!(number(&phase["instructions_in"]), before, "{}", phase["phase"]);
        before = number(&phase["instructions_out"]);
        most = most.max(number(&phase["peak_bytes"]));
    }
    assert_eq!(most, number(&json["total"]["peak_bytes"]));
    for part in ["parse", "layout", "functions", "link", "assemble", "elf", "lower"] {
        assert!(number(&json["parts_ns"][part]) > 0, "{part}");
    }
}

#[test]
fn a_format_without_statistics_or_of_another_name_is_refused() {
    let file = corpus("vecadd/vecadd.ptx");
    for options in [&["--stat-format=json"][..], &["--stat=phase-wise", "--stat-format=xml"]] {
        let output = orias(&[options, &[&file, "-o", "/dev/null"]].concat());
        assert_eq!(output.status.code(), Some(255));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.starts_with("ptxas fatal") && said.contains("stat"), "{said}");
    }
}

/// Start and end, in nanoseconds: the file has thousandths of microseconds.
fn times(event: &Value) -> (i64, i64) {
    let of = |key: &str| (event[key].as_f64().expect("microseconds") * 1e3).round() as i64;
    (of("ts"), of("ts") + of("dur"))
}

#[test]
fn a_trace_has_phases_in_functions_in_threads() {
    let scratch = Scratch::new();
    let trace = format!("--trace={}", scratch.path("trace.json"));
    let printed = compile(&scratch, "multi_module/multi_module.ptx", &[&trace]);
    assert_eq!(printed, "", "a trace alone prints no table");
    let with = scratch.read("k.cubin");
    compile(&scratch, "multi_module/multi_module.ptx", &[]);
    assert_eq!(with, scratch.read("k.cubin"), "looking changes nothing");

    let json: Value = serde_json::from_slice(&scratch.read("trace.json")).expect("JSON");
    let events = json["traceEvents"].as_array().expect("events");
    let of = |category: &str| {
        let category = category.to_string();
        events.iter().filter(move |event| event["cat"] == category.as_str())
    };
    assert_eq!(of("module").count(), 1);
    assert!(of("function").count() > 1, "the module has several kernels");
    for function in of("function") {
        let (began, ended) = times(function);
        let own: Vec<&Value> = events
            .iter()
            .filter(|e| e["ph"] == "X" && e["tid"] == function["tid"] && !e["args"].is_null())
            .filter(|e| e["args"]["stage"].is_string())
            .filter(|e| times(e).0 >= began && times(e).0 <= ended)
            .collect();
        assert!(own.iter().any(|e| e["name"] == "AllocateRegisters"), "{}", function["name"]);
        // Inside the function, one after the other.
        let mut last = began;
        for phase in own {
            let (from, to) = times(phase);
            assert!(from >= last && to <= ended, "{phase} in {function}");
            last = to;
        }
    }
    let threads: Vec<&Value> = events.iter().filter(|e| e["name"] == "thread_name").collect();
    for event in of("function").chain(of("module")) {
        assert!(threads.iter().any(|thread| thread["tid"] == event["tid"]));
    }
}

#[test]
fn a_trace_has_the_pieces_of_a_function_with_the_threads_that_had_them() {
    let scratch = Scratch::new();
    let trace = format!("--trace={}", scratch.path("trace.json"));
    let knob = "--knob=PieceInstructions=16";
    compile(&scratch, "sha256/sha256.ptx", &[&trace, knob]);
    let json: Value = serde_json::from_slice(&scratch.read("trace.json")).expect("JSON");
    let events = json["traceEvents"].as_array().expect("events");
    let pieces: Vec<&Value> = events.iter().filter(|event| event["cat"] == "piece").collect();
    assert!(pieces.len() > 1, "{} pieces", pieces.len());
    for piece in pieces {
        let (began, ended) = times(piece);
        let is_inside =
            |e: &&Value| e["tid"] == piece["tid"] && times(e).0 >= began && times(e).1 <= ended;
        let phases = events.iter().filter(|e| e["args"]["stage"].is_string()).filter(is_inside);
        let names: Vec<&str> = phases.filter_map(|e| e["name"].as_str()).collect();
        assert!(names.contains(&"GenerateMovPhi") && names.contains(&"GvnCse"), "{names:?}");
    }
    // Phases behind them have the whole function.
    let whole = events.iter().filter(|event| event["name"] == "AllocateRegisters");
    assert_eq!(whole.count(), events.iter().filter(|event| event["cat"] == "function").count());
}
