//! Latencies as ptxas relies on them: for each kind of producer and consumer the fewest cycles that
//! it ever leaves between them with nothing but stalls to hold the second back.

pub mod distances;
pub mod facts;
pub mod mined;
pub mod mutate;
pub mod observed;
pub mod report;
pub mod serial;
pub mod source;
pub mod walk;

use crate::reference;
use mined::Mined;
use orias_runner::oracle;
use orias_targets::Target;
use rayon::prelude::*;
use std::path::{Path, PathBuf};

/// Mines the corpus, the coverage set and `more`: prints what one SM shows, or (`write`) mines all,
/// with the instructions of `rows` where they are given, and writes latencies and report.
pub fn run(
    target: &'static Target,
    rows: Option<&Path>,
    more: &[PathBuf],
    write: bool,
    facts: bool,
) -> Result<(), String> {
    let ptxas = oracle::tool("ptxas").ok_or("the oracle tools are missing")?;
    let mine = |target: &'static Target| {
        let files = source::files(target, more);
        let mut mined = Mined::new(target);
        for text in source::texts(&ptxas, target.name, &[1, 3], &files) {
            mined.add(&text.name, &text.words);
        }
        let by_class = mined.by_class();
        (mined, by_class)
    };
    if facts {
        let mined = everything(target, &ptxas, more, 1);
        eprintln!(
            "{} kernels, {} words, {} not in the table",
            mined.kernels.len(),
            mined.words,
            mined.unknown
        );
        let path = format!("targets/tables/latency/facts{}.lat", target.sm);
        return std::fs::write(oracle::workspace().join(&path), facts::render(&facts::of(&mined)))
            .map_err(|e| format!("{path}: {e}"));
    }
    if !write {
        let (mined, by_class) = mine(target);
        print!("{}\n{}", report::one(&mined, &by_class), report::apart(&mined));
        return Ok(());
    }
    // One name for each table.
    let others = |t: &Target| Target::all().iter().any(|o| o.sm == t.sm && o.accelerated);
    let last = |t: &&Target| t.accelerated || !others(t);
    let with_rows = |t: &'static Target| rows.map_or(Ok(t), |folder| t.with_rows(folder));
    let all: Result<Vec<_>, String> =
        Target::all().iter().filter(last).map(|t| with_rows(t).map(mine)).collect();
    let all = all?;
    let root = oracle::workspace();
    let put = |path: &str, text: String| {
        let path = root.join(path);
        let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        folder
            .and_then(|()| std::fs::write(&path, text))
            .map_err(|e| format!("{}: {e}", path.display()))
    };
    put("targets/tables/latency/observed.lat", observed::render(&all))?;
    put("tests/isa/reports/latencies.md", report::all(&all))
}

/// Mines texts, in parallel.
pub fn mine_all(target: &'static Target, texts: &[source::Text]) -> Mined {
    let part = |texts: &[source::Text]| {
        let mut mined = Mined::new(target);
        texts.iter().for_each(|text| mined.add(&text.name, &text.words));
        mined
    };
    let join = |mut one: Mined, other: Mined| {
        one.merge(other);
        one
    };
    texts.par_chunks(500).map(part).reduce(|| Mined::new(target), join)
}

/// What the corpus, the coverage set, `more` and every so many of the serial pairs show of a
/// target.
pub fn everything(target: &'static Target, ptxas: &Path, more: &[PathBuf], every: usize) -> Mined {
    let files = source::files(target, more);
    let mut mined = mine_all(target, &source::texts(ptxas, target.name, &[0, 1, 3], &files));
    let serial = serial::modules(target.name, every);
    let each = serial.par_iter().enumerate().map(|(at, module)| {
        let cubin = reference::ptxas(ptxas, target.name, module, &["-O3"]);
        cubin.map_or(Vec::new(), |cubin| source::split(&format!("serial {at}"), &cubin))
    });
    let texts: Vec<source::Text> = each.flatten().collect();
    mined.merge(mine_all(target, &texts));
    mined
}
