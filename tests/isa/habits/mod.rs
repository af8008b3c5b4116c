//! What code does with its control fields (scoreboards, waits, stalls, yield) by opcode: ptxas's
//! habits, which the scheduler follows, and those of ours that ptxas never had.

pub mod check;
pub mod mine;

use crate::{coverage, ours, reference, sources};
use mine::Mined;
use orias::driver::CompileOptions;
use orias_runner::oracle;
use orias_targets::Target;
use orias_targets::habits::rows::Rows;
use rayon::prelude::*;
use std::path::{Path, PathBuf};

/// The rows, from the root of the project.
pub const ROWS: &str = "targets/tables/habits/sm90.tsv";

/// What stands above the rows.
const HEAD: &str = "\
# What ptxas 13.0.88 does with the control fields of each opcode on sm_90a, in so many instructions: see ../README.md. Written by
# `orias-isa habits --write FOLDER...` from the corpus, the coverage set, the kernels for both engines and tests/isa/habits at
# four levels, and what `orias-isa generate` and tests/triton wrote to the folders. The `words` rows are by hand.
";

const LEVELS: [u8; 4] = [0, 1, 2, 3];

#[derive(clap::Args)]
pub struct Args {
    /// PTX or folders of it.
    paths: Vec<PathBuf>,
    /// Write the rows: of these and of the project's own PTX.
    #[arg(long)]
    write: bool,
    /// Compile the PTX (the project's own without paths) with our compiler at all levels, and print
    /// what it does that ptxas was never seen to do.
    #[arg(long)]
    check: bool,
}

/// Mines or checks, as the arguments say.
///
/// # Errors
/// When a tool is missing, a file cannot be read, or the check finds what has no reason.
pub fn run(target: &Target, args: &Args) -> Result<(), String> {
    let path = oracle::workspace().join(ROWS);
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let rows = Rows::parse(&text)?;
    if args.check {
        let files = if args.paths.is_empty() { own() } else { ptx(&args.paths) };
        let allowed = check::Allowed::read()?;
        let ours = of_ours(target, &rows, &files, &LEVELS);
        let report = check::check(&rows, &ours, &allowed);
        print!("{report}");
        return match report.unexplained().count() {
            0 => Ok(()),
            n => Err(format!("{n} habits that ptxas never has")),
        };
    }
    let mut paths = own();
    paths.extend(ptx(&args.paths));
    let mined = of_ptxas(target, &rows, &paths)?;
    let new = mined.rows(&rows.words);
    if !args.write {
        print!("{}", new.text());
        return Ok(());
    }
    std::fs::write(&path, format!("{HEAD}{}", new.text())).map_err(|e| e.to_string())
}

/// The project's own PTX: corpus, coverage set, kernels for both engines, and those that show a
/// habit.
pub fn own() -> Vec<PathBuf> {
    let tests = oracle::workspace().join("tests");
    let folders = ["corpus", "coverage/sm_90a", "engines/kernels", "isa/habits"];
    coverage::files(&folders.map(|f| tests.join(f)), "ptx")
}

fn ptx(paths: &[PathBuf]) -> Vec<PathBuf> {
    coverage::files(paths, "ptx")
}

fn label(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Counts over what ptxas makes of PTX files. What it refuses gives nothing. Cubins are not taken:
/// nobody could tell who made them.
///
/// # Errors
/// When there is no ptxas.
fn of_ptxas(target: &Target, rows: &Rows, files: &[PathBuf]) -> Result<Mined, String> {
    let tool = oracle::tool("ptxas").ok_or("the oracle tools are missing")?;
    let words = mine::words(rows);
    let made = files.par_iter().map(|file| {
        let mut mined = Mined::default();
        for source in sources::at(file, target.name) {
            for level in LEVELS {
                let option = format!("-O{level}");
                if let Ok(cubin) = reference::ptxas(&tool, target.name, &source.text, &[&option]) {
                    let label = format!("{} {option}", source.name);
                    let _ = mined.add(target, &words, &label, level, &cubin);
                }
            }
        }
        mined
    });
    Ok(made.reduce(Mined::default, both))
}

/// Counts over what our compiler makes of PTX files; kernels that it refuses are left out.
pub fn of_ours(target: &Target, rows: &Rows, files: &[PathBuf], levels: &[u8]) -> Mined {
    let words = mine::words(rows);
    let made = files.par_iter().map(|file| {
        let mut mined = Mined::default();
        let Ok(text) = std::fs::read_to_string(file) else { return mined };
        for level in levels {
            let options = CompileOptions { opt_level: *level, threads: 1, ..Default::default() };
            let made = ours::compile(&text, &options).ok().and_then(|made| made.cubin);
            if let Some(cubin) = made {
                let label = format!("{} -O{level}", label(file));
                let _ = mined.add(target, &words, &label, *level, &cubin);
            }
        }
        mined
    });
    made.reduce(Mined::default, both)
}

fn both(mut all: Mined, more: Mined) -> Mined {
    all.merge(more);
    all
}
