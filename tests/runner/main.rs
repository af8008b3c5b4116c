//! `orias-corpus`: runs the kernel corpus. See tests/gpu/README.md for running it on a machine with
//! a GPU.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use orias_runner::bundle;
use orias_runner::case::Suite;
use orias_runner::compiler::Compiler;
use orias_runner::load;
use orias_runner::oracle::workspace;
use orias_runner::run::{Cubins, Engine, Variant, run};

/// Runs corpus cases and compares every buffer with what is expected; exits 1 when one is wrong.
#[derive(Parser, Debug)]
#[command(name = "orias-corpus", version)]
struct Options {
    /// case.json files, corpus folders, or folders of them [default: the whole corpus]
    paths: Vec<PathBuf>,
    /// Compilers, comma-separated; times are shown as those of the first over those of the second
    #[arg(long, value_delimiter = ',', default_value = "orias")]
    compiler: Vec<Compiler>,
    /// Optimization levels, comma-separated
    #[arg(long, value_delimiter = ',', default_value = "3", value_parser = clap::value_parser!(u8).range(0..=3))]
    opt: Vec<u8>,
    #[arg(long, default_value = "simulator")]
    engine: Engine,
    /// Write a folder that runs on a machine without Rust: this program, the cases, and the cubins
    /// of both compilers (and of `widened`, if asked for) at the levels of --opt; run nothing
    #[arg(long, value_name = "DIR", conflicts_with = "cubins")]
    build: Option<PathBuf>,
    /// Run the cases and cubins of a folder that --build wrote
    #[arg(long, value_name = "DIR")]
    cubins: Option<PathBuf>,
    /// Only have the driver load each .cubin below a folder, and say what it takes the kernels to
    /// be: name, registers, bytes of shared and of local memory
    #[arg(long, value_name = "DIR", conflicts_with_all = ["cubins", "build"])]
    load: Option<PathBuf>,
}

fn main() -> ExitCode {
    match work(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

fn work(options: &Options) -> Result<bool, String> {
    if let Some(folder) = &options.load {
        return load::load(folder);
    }
    let corpus = match &options.cubins {
        Some(folder) => folder.join("corpus"),
        None => workspace().join("tests").join("corpus"),
    };
    let paths = if options.paths.is_empty() { vec![corpus.clone()] } else { options.paths.clone() };
    let mut suites = Vec::new();
    for path in &paths {
        find(path, &corpus, &mut suites)?;
    }
    if let Some(to) = &options.build {
        let mut compilers = vec![Compiler::Orias, Compiler::Ptxas];
        compilers.extend(options.compiler.iter().filter(|c| **c == Compiler::Widened));
        let variants = variants(&compilers, &options.opt);
        let missing = bundle::build(to, &suites, &variants)?;
        missing.iter().for_each(|line| eprintln!("{line}"));
        println!("{}: {} folders of cases", to.display(), suites.len());
        return Ok(missing.is_empty());
    }
    let cubins = match &options.cubins {
        Some(folder) => Cubins::Folder(folder.join("cubins")),
        None => Cubins::Compile,
    };
    let table = run(&suites, options.engine, &variants(&options.compiler, &options.opt), &cubins)?;
    print!("{table}");
    Ok(table.failures() == 0)
}

/// Levels vary slowest, so that the compilers stand side by side.
fn variants(compilers: &[Compiler], levels: &[u8]) -> Vec<Variant> {
    let of = |opt: &u8| {
        let opt = *opt;
        compilers.iter().map(move |compiler| Variant { compiler: *compiler, opt })
    };
    levels.iter().flat_map(of).collect()
}

/// The suites at a path: a case.json, its folder, a folder of such folders, or the name of a folder
/// of the corpus.
fn find(path: &Path, corpus: &Path, suites: &mut Vec<Suite>) -> Result<(), String> {
    let named = corpus.join(path);
    let path = if path.exists() { path } else { &named };
    let load = |path: &Path| Suite::load(path).map_err(|error| error.to_string());
    if path.is_file() || path.join("case.json").is_file() {
        suites.push(load(path)?);
        return Ok(());
    }
    let entries =
        std::fs::read_dir(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut folders: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|folder| folder.join("case.json").is_file())
        .collect();
    folders.sort();
    if folders.is_empty() {
        return Err(format!("{}: no case.json in it or in its folders", path.display()));
    }
    for folder in folders {
        suites.push(load(&folder)?);
    }
    Ok(())
}
