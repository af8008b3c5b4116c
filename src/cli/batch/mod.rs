//! `orias batch`: many files.
//!
//! Each output is there whole or not at all, whatever ends the batch: what was finished stays, and
//! the same command makes the rest. One file that cannot be read, compiled or written stops no
//! other one.

mod cycles;
mod inputs;
mod manifest;
mod one;
mod outputs;
mod progress;
mod row;
mod settings;

use self::inputs::Inputs;
use self::outputs::Taken;
use self::progress::Progress;
use self::row::Status;
use super::exit::{FAILED, SUCCESS};
use crate::cache::Cache;
use crate::compiler::Compiler;
use crate::driver::CompileOptions;
use clap::Args;
use orias_systems::Cancel;
use signal_hook::consts::{SIGINT, SIGPIPE, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use std::cmp::Reverse;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Exit code of a batch that was interrupted: as a shell gives it for Ctrl-C.
const INTERRUPTED: u8 = 130;

/// What `orias batch` is told.
#[derive(Args, Debug)]
pub struct BatchArgs {
    /// Files, folders (all `.ptx` below them), globs, or `-`: a list of those on standard input,
    /// one a line
    #[arg(value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Folder for the outputs: below it they have the names of their inputs, with `.cubin`;
    /// relative to a folder that was given, and for absolute names the last part alone [default:
    /// beside the inputs]
    #[arg(short, long, value_name = "FOLDER")]
    output_dir: Option<PathBuf>,
    /// Files with options of their own: a JSON object a line, {"file": …, "arch": "sm_90a",
    /// "options": ["-O1", …], "output": …, "launch": [options of sim, to estimate cycles]}, all but
    /// the file optional; `-` is standard input
    #[arg(long, value_name = "FILE")]
    manifest: Vec<PathBuf>,
    /// Threads; 0 is one for each core
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    jobs: usize,
    /// Print a JSON object for each file on standard output, as it is done
    #[arg(long)]
    json: bool,
    /// Keep results in this folder, and take from it what was compiled before
    #[arg(long, value_name = "FOLDER")]
    cache: Option<PathBuf>,
    /// MiB that the cache may have; what was used longest ago goes first
    #[arg(long, value_name = "MIB", default_value_t = 1024)]
    cache_size: u64,
    /// Seconds that the code of a file may take at its level: a file that takes longer is compiled
    /// at -O1, or at last at -O0, with a warning, and not kept in the cache
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    time_budget: Option<Duration>,
    /// No progress bar, no summary
    #[arg(short, long)]
    quiet: bool,
    /// Options of each compile, as without `batch`; those of the manifest come after them
    #[arg(last = true, value_name = "OPTION")]
    options: Vec<String>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

/// Compiles all of them; the exit code.
///
/// # Errors
/// What no file can be compiled with: wrong options, a cache that cannot be made, no input.
pub fn batch(args: &BatchArgs) -> Result<u8, Box<dyn std::error::Error>> {
    let started = Instant::now();
    let cancel = interruptible()?;
    let mut inputs = Inputs::new(&args.options, args.time_budget)?;
    for input in &args.inputs {
        inputs.add(input);
    }
    for manifest in &args.manifest {
        inputs.add_manifest(manifest);
    }
    let mut tasks = Taken::new(args.output_dir.as_deref()).tasks(inputs.found);
    if tasks.is_empty() {
        return Err("no input: give files, folders, globs or a manifest".into());
    }
    // A long one that comes last would leave all threads but its own without work.
    tasks.sort_by_key(|task| Reverse(task.bytes));
    let options = CompileOptions { threads: args.jobs, ..CompileOptions::default() };
    let mut compiler = Compiler::new(options);
    if let Some(folder) = &args.cache {
        let cache = Cache::open(folder, args.cache_size.saturating_mul(1 << 20));
        let cache = cache.map_err(|error| format!("cache {}: {error}", folder.display()))?;
        compiler = compiler.cached(cache);
    }
    let progress = Progress::new(tasks.len() as u64, args.json, args.quiet);
    compiler.side_by_side(tasks.len(), |at| {
        let (row, text) = one::compile(&tasks[at], &compiler, &cancel);
        // Who reads the results has gone: nothing more is wanted.
        if progress.done(&row, &text).is_err() {
            cancel.cancel();
        }
    })?;
    if let Some(cache) = compiler.cache() {
        cache.trim();
        if let Some(trouble) = cache.trouble() {
            progress.say(&format!("orias: the cache is not complete: {trouble}\n"));
        }
    }
    let count = progress.finish(started.elapsed());
    Ok(match () {
        () if count.of(Status::Cancelled) > 0 => INTERRUPTED,
        () if count.of(Status::Failed) > 0 => FAILED,
        () => SUCCESS,
    })
}

/// What Ctrl-C and a request to end call off. Asked a second time, the process ends at once. A pipe
/// without a reader and a file that may not grow any more are errors of whoever writes there, not
/// the end of the process.
fn interruptible() -> std::io::Result<Cancel> {
    let asked = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // Registered first, it sees what the one behind it has not set yet.
        flag::register_conditional_shutdown(signal, INTERRUPTED.into(), asked.clone())?;
        flag::register(signal, asked.clone())?;
    }
    for signal in [SIGPIPE, SIGXFSZ] {
        flag::register(signal, Arc::default())?;
    }
    Ok(Cancel::from(asked))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        batch: BatchArgs,
    }

    #[test]
    fn options_of_compiles_stand_behind_two_dashes() {
        let args = Cli::parse_from("batch -j2 a b -o out -- -arch sm_90a -O1".split(' ')).batch;
        assert_eq!((args.jobs, args.inputs.len()), (2, 2));
        assert_eq!(args.options, ["-arch", "sm_90a", "-O1"]);
    }
}
