//! What a batch is told, and what it tells.

use super::*;
use orias::{CompileOptions, Compiler};
use orias_runner::skip::skip;

fn names(folder: &Scratch) -> Vec<String> {
    files(folder.folder()).into_keys().map(|name| name.display().to_string()).collect()
}

/// A folder `in` with some kernels in it and below.
fn inputs() -> Scratch {
    let scratch = Scratch::new();
    std::fs::create_dir_all(scratch.folder().join("in/deep/er")).expect("a folder");
    for (name, kernel) in [("in/a", "vecadd"), ("in/deep/b", "crc32"), ("in/deep/er/a", "bitops")] {
        std::fs::copy(ptx(kernel), scratch.path(&format!("{name}.ptx"))).expect("a copy");
    }
    scratch.write("in/deep/notes.txt", "no PTX");
    scratch
}

#[test]
fn outputs_mirror_their_inputs_names() {
    let scratch = inputs();
    for (inputs, expected) in [
        (&["in"][..], &["a.cubin", "deep/b.cubin", "deep/er/a.cubin"][..]),
        (&["in/a.ptx", "in/deep"], &["b.cubin", "er/a.cubin", "in/a.cubin"]),
        (&["in/**/a.ptx"], &["in/a.cubin", "in/deep/er/a.cubin"]),
        (&["in/a.ptx", "./in/a.ptx", "in/[a-c].ptx"], &["in/a.cubin"]),
    ] {
        let output = Scratch::new();
        succeed(batch(output.folder()).current_dir(scratch.folder()).args(inputs));
        assert_eq!(names(&output), expected, "{inputs:?}");
    }
    // Without a folder for them they stand beside their inputs.
    succeed(support::orias().current_dir(scratch.folder()).args(["batch", "in/deep"]));
    assert!(scratch.folder().join("in/deep/er/a.cubin").exists());
}

#[test]
fn a_manifest_gives_files_options_of_their_own() {
    let (scratch, output) = (inputs(), Scratch::new());
    let lines = [
        r#"{"file": "in/a.ptx"}"#,
        r#"{"file": "in/a.ptx", "options": ["-O0"], "output": "low/a.bin"}"#,
        r#"{"file": "old.ptx", "arch": "sm_90", "options": ["-maxrregcount", "24"]}"#,
        r#"{"file": "in/deep/er/a.ptx", "options": ["-nonsense"]}"#,
        r#"{"file": 5}"#,
    ];
    let old = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }";
    scratch.write("old.ptx", old);
    scratch.write("m.jsonl", lines.join("\n"));
    let mut command = batch(output.folder());
    command.current_dir(scratch.folder()).args(["--json", "--manifest", "m.jsonl"]);
    let run = run(command.args(["--", "-O2", "-lineinfo"]));
    assert_eq!(run.status.code(), Some(255));
    assert_eq!(names(&output), ["in/a.cubin", "low/a.bin", "old.cubin"]);
    for (name, kernel, options) in [
        ("in/a.cubin", "in/a.ptx", &["-O2", "-lineinfo"][..]),
        ("low/a.bin", "in/a.ptx", &["-O0", "-lineinfo"]),
        ("old.cubin", "old.ptx", &["-O2", "-lineinfo", "-arch", "sm_90", "-maxrregcount", "24"]),
    ] {
        let alone = scratch.path("alone.cubin");
        let mut command = support::orias();
        command.current_dir(scratch.folder()).args(options).args([kernel, "-o", &alone]);
        succeed(&mut command);
        assert!(output.read(name) == scratch.read("alone.cubin"), "{name}");
    }
    let rows = rows(&run);
    let text = |file: &str| rows[file]["messages"][0]["text"].as_str().expect("a message");
    assert_eq!(text("in/deep/er/a.ptx"), "Unknown option 'nonsense'");
    assert!(text("m.jsonl:5").starts_with("not a manifest's line"), "{}", text("m.jsonl:5"));
}

#[test]
fn results_say_what_the_library_says() {
    let output = Scratch::new();
    let file = ptx("recursion");
    let source = std::fs::read_to_string(&file).expect("PTX");
    let made = Compiler::new(CompileOptions::default()).compile(&source).expect("it compiles");
    let run = succeed(batch(output.folder()).arg("--json").arg(&file));
    let row = &rows(&run)[file.to_str().expect("a name")];
    assert_eq!(row["output"], output.path("recursion.cubin"));
    assert_eq!(row["cubin_bytes"], made.cubin.len());
    assert_eq!((&row["arch"], &row["opt_level"]), (&made.target.name.into(), &3.into()));
    let functions = row["functions"].as_array().expect("a list");
    assert_eq!(functions.len(), made.functions.len());
    for (said, report) in functions.iter().zip(&made.functions) {
        assert_eq!(said["name"], report.name);
        assert_eq!(said["kernel"], report.entry);
        assert_eq!(said["registers"], report.registers);
        assert_eq!(said["stack_bytes"], report.stack_bytes);
        assert_eq!(said["instructions"], report.instructions);
    }
    let most = made.functions.iter().filter(|f| f.entry).map(|f| f.registers).max();
    assert_eq!(row["registers"].as_u64(), most.map(u64::from));
    assert!(
        row["milliseconds"].as_f64() > Some(0.0) && row["code_milliseconds"].as_f64() > Some(0.0)
    );
}

#[test]
fn cycles_are_known_where_the_manifest_has_a_launch() {
    let (scratch, output) = (inputs(), Scratch::new());
    let launch = ["--entry", "vecadd", "--grid", "2", "--block", "64"];
    let args = ["in=x", "in=x", "out=512:y", "u32=128"];
    scratch.write("x", [0; 512]);
    let args = args.iter().flat_map(|arg| ["--arg", arg]);
    let launch: Vec<&str> = launch.into_iter().chain(args).collect();
    let line = |launch: &[&str], output: &str| {
        serde_json::json!({"file": "in/a.ptx", "launch": launch, "output": output}).to_string()
    };
    scratch.write("m.jsonl", line(&launch, "a.cubin"));
    let mut command = batch(output.folder());
    command.current_dir(scratch.folder()).args(["--json", "--manifest", "m.jsonl"]);
    let row = rows(&succeed(&mut command)).into_values().next().expect("a result");
    let mut sim = support::orias();
    sim.current_dir(scratch.folder()).args(["sim", "--json"]).arg(output.path("a.cubin"));
    let said: Value = serde_json::from_slice(&succeed(sim.args(&launch)).stdout).expect("JSON");
    assert!(said["cycles"].as_u64() > Some(0));
    assert_eq!(row["cycles"], said["cycles"]);
    assert_eq!(row["executed_instructions"], said["instructions"]);
    // What cannot be run is compiled all the same.
    scratch.write("m.jsonl", line(&["--entry", "vecadd"], "b.cubin"));
    let row = rows(&succeed(&mut command)).into_values().next().expect("a result");
    assert_eq!((&row["status"], &row["cycles"]), (&"compiled".into(), &Value::Null));
    let text = row["messages"][0]["text"].as_str().expect("a message");
    assert!(text.starts_with("its cycles are not known: "), "{text}");
}

#[test]
fn a_time_budget_says_what_it_did() {
    let output = Scratch::new();
    let mut command = batch(output.folder());
    command.args(["--json", "--time-budget", "0"]).arg(ptx("crc32"));
    let row = rows(&succeed(&mut command)).into_values().next().expect("a result");
    assert_eq!((&row["opt_level"], &row["fell_back"]), (&0.into(), &true.into()));
    assert_eq!(row["messages"][0]["text"], "Compiled at -O0: the time for -O3 was over");
}

#[test]
fn what_makes_no_sense_for_many_is_refused_before_anything_is_made() {
    let output = Scratch::new();
    for (options, message) in [
        (&["x.ptx", "--", "-o", "a"][..], "Option 'output-file' is for one file alone"),
        (&["x.ptx", "--", "-nonsense"], "Unknown option 'nonsense'"),
        (&[], "no input"),
        (&["x.ptx", "--cache", "/dev/null/x"], "cache /dev/null/x: Not a directory"),
    ] {
        let run = run(batch(output.folder()).args(options));
        let text = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(run.status.code(), Some(255), "{text}");
        assert!(text.contains(message), "{text}");
    }
    assert!(names(&output).is_empty());
}

#[test]
fn a_terminal_sees_a_bar() {
    let output = Scratch::new();
    let program = env!("CARGO_BIN_EXE_orias");
    let (folder, corpus) = (output.folder().display(), corpus());
    let line = format!("'{program}' batch '{}' /no.ptx -o '{folder}'", corpus.display());
    let mut terminal = Command::new("script");
    terminal.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm");
    let Ok(run) = terminal.stdin(std::process::Stdio::null()).output() else {
        return skip("no `script` on this machine, which makes a terminal");
    };
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    for word in
        ["/69 ", "/s eta ", ", 1 failed", "/no.ptx: error: ", "orias: 68 compiled, 1 failed"]
    {
        assert!(text.contains(word), "{word}: {text}");
    }
}
