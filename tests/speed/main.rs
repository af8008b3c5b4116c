//! `orias-speed`: what compiling costs, beside ptxas on the same files in turns.

use clap::{Parser, Subcommand};
use orias_runner::oracle;
use orias_speed::shapes::{self, SHAPES};
use orias_speed::turns::{Pair, compare, geomean};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Parser)]
#[command(about = "CPU time and memory of orias beside ptxas, in turns")]
struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Prints a generated module.
    Shape { name: String, size: usize },
    /// Compiles with both, in turns, and prints a table. Without files: the shapes at their usual sizes.
    Compare {
        /// PTX files, or folders that are searched for them.
        files: Vec<PathBuf>,
        /// Shapes, as NAME=SIZE.
        #[arg(long)]
        shape: Vec<String>,
        /// Our compiler; beside this program without it.
        #[arg(long)]
        orias: Option<PathBuf>,
        /// The other compiler: ptxas, or another build of ours.
        #[arg(long)]
        other: Option<PathBuf>,
        /// Each compiler runs at least so often on each file.
        #[arg(long, default_value_t = 3)]
        turns: usize,
        /// And more often while both took less than so many seconds of CPU time together.
        #[arg(long, default_value_t = 1.0)]
        seconds: f64,
        /// Prints one row a file too, not only the last line.
        #[arg(long)]
        rows: bool,
    },
}

/// What is compared where nothing is asked for.
const USUAL: &[(&str, usize)] = &[
    ("kernels", 1),
    ("kernels", 1000),
    ("straight", 10_000),
    ("straight", 100_000),
    ("diamonds", 10_000),
    ("diamonds", 50_000),
    ("loops", 3_000),
    ("chain", 5_000),
    ("switch", 1_000),
    ("pressure", 400),
    ("calls", 300),
    ("labels", 20_000),
];

fn main() -> ExitCode {
    match run(Args::parse().what) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("orias-speed: {message}");
            ExitCode::FAILURE
        }
    }
}

fn shape(name: &str, size: usize) -> Result<String, String> {
    let known = || SHAPES.iter().map(|s| s.name).collect::<Vec<_>>().join(", ");
    let shape = shapes::find(name).ok_or_else(|| format!("no shape `{name}`: {}", known()))?;
    Ok(shape.text(size))
}

fn run(what: What) -> Result<(), String> {
    match what {
        What::Shape { name, size } => {
            print!("{}", shape(&name, size)?);
            Ok(())
        }
        What::Compare { files, shape: named, orias, other, turns, seconds, rows } => {
            let ours = orias.map_or_else(beside, Ok)?;
            let theirs = other.or_else(|| oracle::tool("ptxas"));
            let theirs = theirs.ok_or("no ptxas: `tests/oracle.sh` installs it")?;
            let inputs = inputs(&files, &named)?;
            let folder = std::env::temp_dir().join(format!("orias-speed-{}", std::process::id()));
            std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
            let done = table(&inputs, (&ours, &theirs), &folder, (turns, seconds), rows);
            let _ = std::fs::remove_dir_all(&folder);
            done
        }
    }
}

/// The compiler that was built with this program.
fn beside() -> Result<PathBuf, String> {
    let me = std::env::current_exe().map_err(|e| e.to_string())?;
    Ok(me.with_file_name("orias"))
}

enum Input {
    File(PathBuf),
    Shape(String, usize),
}

fn inputs(files: &[PathBuf], named: &[String]) -> Result<Vec<Input>, String> {
    let mut all = Vec::new();
    for text in named {
        let (name, size) = text.split_once('=').ok_or_else(|| format!("`{text}`: NAME=SIZE"))?;
        let size = size.parse().map_err(|_| format!("`{text}`: the size is no number"))?;
        all.push(Input::Shape(name.to_string(), size));
    }
    for path in files {
        find_ptx(path, &mut all)?;
    }
    if all.is_empty() {
        all.extend(USUAL.iter().map(|(name, size)| Input::Shape(name.to_string(), *size)));
    }
    Ok(all)
}

fn find_ptx(path: &Path, all: &mut Vec<Input>) -> Result<(), String> {
    if !path.is_dir() {
        all.push(Input::File(path.to_path_buf()));
        return Ok(());
    }
    let entries = std::fs::read_dir(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() || path.extension().is_some_and(|e| e == "ptx") {
            find_ptx(&path, all)?;
        }
    }
    Ok(())
}

fn table(
    inputs: &[Input],
    compilers: (&Path, &Path),
    folder: &Path,
    effort: (usize, f64),
    rows: bool,
) -> Result<(), String> {
    let options = ["-arch=sm_90a", "-O3"].map(str::to_string).to_vec();
    let out = folder.join("out.cubin");
    let mut pairs: Vec<(String, Pair)> = Vec::new();
    println!(
        "{:<36} {:>9} {:>9} {:>7} {:>8} {:>8}",
        "input", "ours s", "other s", "ratio", "MB", "MB"
    );
    for input in inputs {
        let (name, path) = match input {
            Input::File(path) => (path.display().to_string(), path.clone()),
            Input::Shape(name, size) => {
                let path = folder.join(format!("{name}-{size}.ptx"));
                std::fs::write(&path, shape(name, *size)?).map_err(|e| e.to_string())?;
                (format!("{name} {size}"), path)
            }
        };
        match compare(compilers, (&options, &options), &path, &out, effort) {
            Ok(pair) => {
                if rows || matches!(input, Input::Shape(..)) {
                    print_row(&name, &pair);
                }
                pairs.push((name, pair));
            }
            Err(message) => println!("{name}: {message}"),
        }
    }
    let Some((worst, pair)) = pairs.iter().min_by(|a, b| a.1.ratio().total_cmp(&b.1.ratio()))
    else {
        return Err("nothing was compared".to_string());
    };
    let total = |f: fn(&Pair) -> f64| pairs.iter().map(|(_, p)| f(p)).sum::<f64>();
    println!(
        "{} inputs: geomean {:.2}, in all {:.2}, least {:.2} ({worst})",
        pairs.len(),
        geomean(pairs.iter().map(|(_, p)| p.ratio())),
        total(|p| p.theirs.seconds) / total(|p| p.ours.seconds),
        pair.ratio(),
    );
    Ok(())
}

fn print_row(name: &str, pair: &Pair) {
    println!(
        "{name:<36} {:>9.4} {:>9.4} {:>7.2} {:>8.1} {:>8.1}",
        pair.ours.seconds,
        pair.theirs.seconds,
        pair.ratio(),
        pair.ours.memory as f64 / 1e6,
        pair.theirs.memory as f64 / 1e6,
    );
}
