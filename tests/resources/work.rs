//! What each phase does for an instruction, and how often it asks for memory: not more than
//! `work.tsv` and `allocations.tsv` say, and a tenth. Counted, not timed, so that it says the same
//! on every machine; `ORIAS_BLESS=1` writes both tables anew.
//!
//! Work is steps (`orias_components::work`) for each instruction that the phase finds; allocations
//! are those of a worker that has compiled the same module before, of all functions together.

use orias::Compiler;
use orias::driver::CompileOptions;
use orias_components::{heap, scratch, work};
use orias_runner::oracle::workspace;
use orias_speed::shapes;
use orias_systems::pipeline::PHASES;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

/// Generated shapes (`orias-speed shape NAME SIZE`): no larger than workers are kept for.
const SHAPES: &[(&str, usize)] = &[
    ("straight", 1000),
    ("diamonds", 300),
    ("loops", 60),
    ("chain", 200),
    ("switch", 60),
    ("pressure", 300),
    ("kernels", 20),
];

/// Kernels of the corpus.
const CORPUS: &[&str] =
    &["vecadd", "branches", "gemm_reg4x4", "intdiv64", "recursion", "sha256", "tri_softmax"];

/// A phase may do so much more than its table says before the test fails.
const TOLERANCE: f64 = 1.1;

/// And so much in any case, which is next to nothing: steps for an instruction, and allocations.
const LITTLE: f64 = 1.0;

/// By phase, in order, then by module: a number.
type Table = BTreeMap<(usize, &'static str), BTreeMap<String, f64>>;

fn inputs() -> Vec<(String, String)> {
    let shape = |(name, size): &(&str, usize)| {
        let text = shapes::find(name).expect("a shape of the list").text(*size);
        (format!("{name}={size}"), text)
    };
    let kernel = |name: &&str| {
        let path = workspace().join(format!("tests/corpus/{name}/{name}.ptx"));
        (name.to_string(), std::fs::read_to_string(path).expect("a file of the corpus"))
    };
    SHAPES.iter().map(shape).chain(CORPUS.iter().map(kernel)).collect()
}

/// Work for an instruction, and allocations, as they are now.
fn counted() -> (Table, Table) {
    let (mut steps, mut allocations) = (Table::new(), Table::new());
    let _watch = heap::watch();
    for (name, source) in inputs() {
        let options = CompileOptions { statistics: true, threads: 1, ..CompileOptions::default() };
        let compiler = Compiler::new(options);
        let compile = || compiler.compile(&source).unwrap_or_else(|e| panic!("{name}: {e:?}"));
        // Until all that grows has grown: a thread keeps nothing of its first functions.
        (0..2 * scratch::OFTEN).for_each(|_| drop(compile()));
        let output = compile();
        for (phase, stat) in PHASES.iter().zip(&output.stats) {
            if stat.work == 0 && stat.heap.allocations == 0 {
                continue;
            }
            let row = (usize::from(phase.index), phase.name);
            let each = stat.work as f64 / f64::from(stat.insts_before.max(1));
            steps.entry(row).or_default().insert(name.clone(), (each * 100.0).round() / 100.0);
            let count = stat.heap.allocations as f64;
            allocations.entry(row).or_default().insert(name.clone(), count);
        }
    }
    (steps, allocations)
}

/// A line a phase, a column a module.
fn print(table: &Table) -> String {
    let names: Vec<String> = inputs().into_iter().map(|(name, _)| name).collect();
    let mut text = format!("phase\t{}\n", names.join("\t"));
    for ((_, phase), row) in table {
        let _ = write!(text, "{phase}");
        for name in &names {
            let _ = write!(text, "\t{}", row.get(name).copied().unwrap_or(0.0));
        }
        text.push('\n');
    }
    text
}

/// What a table on file allows: (phase, module) to number.
fn parse(text: &str) -> BTreeMap<(String, String), f64> {
    let mut lines = text.lines().map(|line| line.split('\t').collect::<Vec<&str>>());
    let head = lines.next().unwrap_or_default();
    let mut allowed = BTreeMap::new();
    for line in lines {
        for (name, number) in head.iter().zip(&line).skip(1) {
            let number = number.parse().expect("a number");
            allowed.insert((line[0].to_string(), name.to_string()), number);
        }
    }
    allowed
}

/// What there is too much of, one line each.
fn excess(now: &Table, allowed: &BTreeMap<(String, String), f64>, unit: &str) -> String {
    let mut text = String::new();
    for ((_, phase), row) in now {
        for (name, number) in row {
            let known = allowed.get(&(phase.to_string(), name.clone())).copied().unwrap_or(0.0);
            if *number > known * TOLERANCE + LITTLE {
                let _ = writeln!(text, "{phase}, {name}: {number} {unit}, the table has {known}");
            }
        }
    }
    text
}

fn file(name: &str) -> PathBuf {
    workspace().join("tests/resources").join(name)
}

#[test]
fn no_phase_does_more_for_an_instruction_than_its_table_says() {
    // Without debug assertions nothing is counted, and nothing would be tested.
    let before = work::done();
    work::add(1);
    assert_eq!(work::done(), before + 1, "run this test in a build that counts");
    assert!(heap::is_counted(), "this program's allocator counts");
    let (steps, allocations) = counted();
    assert!(steps.len() > 30, "only {} phases did something", steps.len());
    let tables = [
        ("work.tsv", &steps, "steps an instruction"),
        ("allocations.tsv", &allocations, "allocations"),
    ];
    let mut wrong = String::new();
    for (name, table, unit) in tables {
        if std::env::var_os("ORIAS_BLESS").is_some() {
            std::fs::write(file(name), print(table)).expect("the table can be written");
        }
        let text = std::fs::read_to_string(file(name)).expect("the table is there");
        wrong.push_str(&excess(table, &parse(&text), unit));
    }
    assert!(wrong.is_empty(), "{wrong}(ORIAS_BLESS=1 accepts these)");
}

#[test]
fn a_tenth_more_is_let_through_and_a_fifth_more_is_not() {
    let row = |number: f64| BTreeMap::from([("vecadd".to_string(), number)]);
    let table = |number| Table::from([((122, "AllocateRegisters"), row(number))]);
    let allowed = parse("phase\tvecadd\nAllocateRegisters\t200\n");
    assert_eq!(excess(&table(220.0), &allowed, "steps"), "");
    let said = excess(&table(240.0), &allowed, "steps");
    assert_eq!(said, "AllocateRegisters, vecadd: 240 steps, the table has 200\n");
    // What is in no table was never looked at.
    let other = Table::from([((56, "GvnCse"), row(5.0))]);
    assert!(excess(&other, &allowed, "steps").contains("the table has 0"));
    assert_eq!(print(&table(200.0)).lines().count(), 2);
}
