//! Our compiler beside ptxas on the same PTX: who takes it, and how much code, registers, memory
//! and time each kernel costs.
//!
//! Where inputs lie beside a file (`inputs.rs`) it is also run: both cubins in the simulator, on
//! the same inputs.

mod changed;
mod compilers;
mod inputs;
mod measure;
mod table;
mod tsv;

use clap::Args as Arguments;
use compilers::{Made, Maker};
use inputs::Inputs;
use measure::{Code, Machine, Run};
use orias_runner::gpu::GpuThread;
use orias_runner::oracle;
use orias_targets::Target;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};

pub use table::summary;

#[derive(Arguments, Debug)]
pub struct Args {
    /// PTX files, and folders of them.
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,
    /// The level that both compilers work at.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(0..=3))]
    pub level: u8,
    /// Another binary of `orias`, in place of the compiler in this one.
    #[arg(long, value_name = "BINARY")]
    pub ours: Option<PathBuf>,
    /// Write a line for each kernel to this file.
    #[arg(long, value_name = "FILE")]
    pub tsv: Option<PathBuf>,
    /// A file that `--tsv` wrote: what our compiler made then stands beside what it makes now.
    #[arg(long, value_name = "FILE")]
    pub before: Option<PathBuf>,
    /// With `--before`: print only what our compiler made then and makes now, as Markdown.
    #[arg(long, requires = "before")]
    pub changed: bool,
    /// Print the totals and who refuses what, no line for each kernel.
    #[arg(long)]
    pub brief: bool,
    /// Only compile: no runs in the simulator.
    #[arg(long)]
    pub no_run: bool,
    /// Run on the first GPU too: results, and median times of kernels.
    #[arg(long, conflicts_with = "no_run")]
    pub gpu: bool,
    /// The most instructions of warps that a run may take; what takes more is left out.
    #[arg(long, default_value_t = 200_000_000)]
    pub max_steps: u64,
}

/// One compiler's kernel, or why there is none.
pub type Side = Result<Measured, String>;

/// What one compiler made of a kernel.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Measured {
    pub code: Code,
    /// Bytes that spills store and load (as the compiler says).
    pub spill_store_bytes: u64,
    pub spill_load_bytes: u64,
    /// Its launches in the simulator, summed; None where there are no inputs.
    pub run: Option<Run>,
    /// User CPU seconds: its share of the file's compilation; None where the system does not tell.
    pub seconds: Option<f64>,
}

/// A kernel with both sides. Where neither compiles the file it stands for the file, and `kernel`
/// is empty.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    pub file: String,
    pub kernel: String,
    pub ours: Side,
    pub theirs: Side,
    /// Warnings and remarks of one compiler that the other does not have.
    pub notices: [Vec<String>; 2],
}

/// Compares, and prints what was found.
///
/// # Errors
/// When a file cannot be read or written, or there is no ptxas.
pub fn run(target: &'static Target, args: &Args) -> Result<(), String> {
    let rows = rows(target, args)?;
    if let Some(file) = &args.tsv {
        tsv::write(file, &rows)?;
    }
    let before = args.before.as_deref().map(tsv::read).transpose()?;
    if let (true, Some(before)) = (args.changed, &before) {
        print!("{}", changed::changed(&rows, before));
        return Ok(());
    }
    if !args.brief {
        print!("{}", table::kernels(&rows));
    }
    print!("{} -O{}: {}", target.name, args.level, summary(&rows, before.as_ref()));
    Ok(())
}

/// All kernels of the files, by file.
///
/// # Errors
/// When a file cannot be read, or there is no ptxas.
pub fn rows(target: &'static Target, args: &Args) -> Result<Vec<Row>, String> {
    let ptxas = oracle::tool("ptxas").ok_or("the oracle tools are missing")?;
    let ours = args.ours.as_deref().map_or(Maker::Own, Maker::Binary);
    let makers = [ours, Maker::Ptxas(&ptxas)];
    // A panic of our compiler is what it says of the file.
    std::panic::set_hook(Box::new(|_| {}));
    let files = crate::coverage::files(&args.paths, "ptx");
    let gpu = args.gpu.then(GpuThread::start).transpose()?;
    let machine = Machine { target, max_steps: args.max_steps, gpu: gpu.as_ref() };
    let one = |file: &PathBuf| one_file(target, args, makers, machine, file);
    let all: Result<Vec<Vec<Row>>, String> = files.par_iter().map(one).collect();
    let _ = std::panic::take_hook();
    Ok(all?.into_iter().flatten().collect())
}

fn one_file(
    target: &'static Target,
    args: &Args,
    makers: [Maker<'_>; 2],
    machine: Machine<'_>,
    file: &Path,
) -> Result<Vec<Row>, String> {
    let source = std::fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let source = String::from_utf8_lossy(&source);
    let inputs = match args.no_run {
        true => None,
        false => Inputs::beside(file, &source, args.max_steps)?,
    };
    let [ours, theirs] = makers.map(|maker| {
        let made = maker.compile(target.name, file, &source, args.level)?;
        let measured = measured(target, &made, inputs.as_ref(), machine)?;
        Ok::<_, String>((made, measured))
    });
    let only = |a: &Made, b: &Made| {
        let new = |n: &&String| !b.notices.contains(n);
        a.notices.iter().filter(new).cloned().collect::<Vec<_>>()
    };
    let notices = match (&ours, &theirs) {
        (Ok(ours), Ok(theirs)) => [only(&ours.0, &theirs.0), only(&theirs.0, &ours.0)],
        _ => [Vec::new(), Vec::new()],
    };
    let mut names: Vec<String> = Vec::new();
    for (_, kernels) in [&ours, &theirs].into_iter().flatten() {
        names.extend(kernels.keys().cloned());
    }
    names.sort();
    names.dedup();
    if names.is_empty() {
        names.push(String::new());
    }
    let side = |of: &Result<(Made, FxHashMap<String, Measured>), String>, kernel: &str| match of {
        Ok((_, kernels)) => kernels.get(kernel).cloned().ok_or("no such kernel".to_string()),
        Err(message) => Err(message.clone()),
    };
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let row = |kernel: String| Row {
        file: name.to_string(),
        ours: side(&ours, &kernel),
        theirs: side(&theirs, &kernel),
        kernel,
        notices: notices.clone(),
    };
    Ok(names.into_iter().map(row).collect())
}

/// The kernels of a cubin, by name.
fn measured(
    target: &'static Target,
    made: &Made,
    inputs: Option<&Inputs>,
    machine: Machine<'_>,
) -> Result<FxHashMap<String, Measured>, String> {
    let mut runs = match inputs {
        Some(inputs) => measure::runs(&made.cubin, inputs, machine)?,
        None => FxHashMap::default(),
    };
    let codes = measure::codes(target, &made.cubin)?;
    let kernels = codes.len() as f64;
    let one = |(name, code): (String, Code)| {
        let (spill_store_bytes, spill_load_bytes) =
            made.spills.get(&name).copied().unwrap_or_default();
        let measured = Measured {
            code,
            spill_store_bytes,
            spill_load_bytes,
            run: runs.remove(&name),
            seconds: made.seconds.map(|seconds| seconds / kernels),
        };
        (name, measured)
    };
    Ok(codes.into_iter().map(one).collect())
}
