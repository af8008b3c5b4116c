//! Every file in `ir/` is a phase's test: its head names the phase, whether the function is in
//! SSA form, and a knob if one is not as it is by itself (`NAME in SSA form with KNOB=VALUE`).
//! Lines `// frame: BYTES`, `// threads: X Y Z` and `// profile: COUNT …` (the threads that came
//! to each PTX instruction) say what else lowering would, `// cold: BB…` which blocks phases have
//! marked. Then come the IR before the phase and, behind a line of dashes, the IR after it.
//! `ORIAS_BLESS=1` writes what the phases do into the files: read the diff.

use orias_components::text;
use orias_components::validate::{definitions, validate};
use orias_components::{BlockId, Function, edges};
use orias_systems::Options;
use orias_systems::knobs::Knobs;
use orias_systems::pipeline::{self, Status};
use orias_systems::states::Resources;
use std::path::{Path, PathBuf};

const DASHES: &str = "----------------\n";

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ir");
    let entries = std::fs::read_dir(folder).expect("the folder of tests");
    let mut files: Vec<PathBuf> = entries.map(|e| e.expect("a file").path()).collect();
    files.sort();
    files
}

/// What the phase makes of the text.
fn run(phase: &str, input: &str) -> Result<String, String> {
    let (phase, knob) = match phase.split_once(" with ") {
        Some((phase, knob)) => (phase, knob.split_once('=')),
        None => (phase, None),
    };
    let (phase, is_ssa) = match phase.strip_suffix(" in SSA form") {
        Some(phase) => (phase, true),
        None => (phase, false),
    };
    let phase = pipeline::find(phase).ok_or_else(|| format!("no phase is named {phase}"))?;
    let Status::Implemented(_, system) = phase.status else {
        return Err(format!("{} is {}", phase.name, phase.status.name()));
    };
    let mut function = Function::default();
    let mut body = function.body();
    text::parse(input, &mut body).map_err(|e| e.to_string())?;
    validate(&body)
        .and_then(|()| definitions(&body, |_| true))
        .map_err(|e| format!("before: {e}"))?;
    body.update_edges();
    let given: Vec<_> = knob.into_iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
    let knobs = Knobs::read(&given)?;
    let mut resources = Resources::new(Options { knobs, ..Options::for_test() });
    resources.form.is_ssa = is_ssa;
    for line in input.lines() {
        if let Some(bytes) = line.strip_prefix("// frame: ") {
            resources.info.local_bytes = bytes.parse().map_err(|_| "a frame of how much?")?;
            resources.info.local_align = 16;
        } else if let Some(threads) = line.strip_prefix("// threads: ") {
            let each: Vec<u32> = threads.split(' ').filter_map(|n| n.parse().ok()).collect();
            let each = <[u32; 3]>::try_from(each).map_err(|_| "three numbers of threads")?;
            resources.info.required_threads = Some(each);
            resources.info.entry = true;
        } else if let Some(counts) = line.strip_prefix("// profile: ") {
            resources.info.profile = counts.split(' ').map(|n| n.parse().ok()).collect();
        } else if let Some(blocks) = line.strip_prefix("// nounroll: BB") {
            resources.info.rolled.extend(blocks.parse().map(BlockId));
        } else if let Some(blocks) = line.strip_prefix("// cold: ") {
            let numbers =
                blocks.split(" BB").filter_map(|n| n.trim_start_matches("BB").parse().ok());
            resources.marked.cold.extend(numbers.map(BlockId));
        }
    }
    let before = resources.marked.cold.clone();
    (system.run)(&mut resources.find(&mut function));
    if let Some(error) = resources.report.errors.first() {
        return Err(error.message.clone());
    }
    let body = function.body();
    validate(&body)
        .and_then(|()| definitions(&body, |_| true))
        .map_err(|e| format!("after: {e}"))?;
    edges::check(&body)?;
    let mut text = text::print(&body, &text::Style::default());
    if resources.marked.cold != before {
        let mut cold: Vec<u32> = resources.marked.cold.iter().map(|block| block.0).collect();
        cold.sort_unstable();
        let cold: Vec<String> = cold.iter().map(|n| format!(" BB{n}")).collect();
        text += &format!("// cold:{}\n", cold.concat());
    }
    Ok(text)
}

#[test]
fn each_phase_does_what_its_files_say() {
    let bless = std::env::var_os("ORIAS_BLESS").is_some();
    let mut wrong = Vec::new();
    for path in files() {
        let file = std::fs::read_to_string(&path).expect("readable");
        let (head, rest) = file.split_once('\n').expect("a first line");
        let phase = head.strip_prefix("// phase: ").expect("`// phase: NAME` first");
        let (input, expected) = rest.split_once(DASHES).unwrap_or((rest, ""));
        match run(phase, input) {
            Ok(output) if output == expected => {}
            Ok(output) if bless => {
                let text = format!("{head}\n{input}{DASHES}{output}");
                std::fs::write(&path, text).expect("writable");
            }
            Ok(output) => {
                wrong.push(format!("{}\nexpected\n{expected}\ngot\n{output}", path.display()))
            }
            Err(error) => wrong.push(format!("{}: {error}", path.display())),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// `FIRST_CHANGE.md` is followed by people who know nothing else of this code.
#[test]
fn the_page_of_a_first_change_names_what_is_there() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect(name);
    let page = read("FIRST_CHANGE.md");
    let code = read("control_flow/branches.rs");
    let (_, rest) = page.split_once("```rust\n").expect("a line to change");
    let (line, _) = rest.split_once("```").expect("its end");
    assert_eq!(code.matches(line).count(), 1, "the line to change is in the phase once:\n{line}");
    assert!(page.contains("`destination`") && code.contains("fn destination("));
    assert!(page.contains("branches::branch_opt") && code.contains("fn branch_opt("));
    let phase = pipeline::find("OriBranchOpt").expect("the phase");
    assert!(page.contains(&format!("{}  {}", phase.index, phase.name)), "its number");
    let (_, expected) = page.split_once("    expected\n").expect("what the test prints");
    let (expected, _) = expected.split_once("    …").expect("its end");
    let expected: String = expected.lines().map(|l| format!("{}\n", l.trim_start())).collect();
    let file: String = read("tests/ir/branch_thread.ir")
        .lines()
        .map(|l| format!("{}\n", l.trim_start()))
        .collect();
    assert!(file.contains(&expected), "the file of IR has what the page shows:\n{expected}");
    let kernels = ["vecadd/vecadd.ptx", "bitonic_sort/bitonic_sort.ptx"];
    for kernel in kernels {
        assert!(page.contains(kernel) && folder.join("../tests/corpus").join(kernel).exists());
    }
}
