//! The command line: compiling as ptxas does, and the subcommands `batch`, `bench`, `sim`, `run`,
//! `dis` and `phases`.

mod batch;
mod bench;
mod compile;
mod dis;
mod exit;
mod knobs;
pub mod launch;
pub mod options;
mod phases;
mod report;
pub mod run;
mod sim;
mod trace;

use crate::cli::exit::{FAILED, SUCCESS};
use crate::nursery;
use clap::{CommandFactory, Parser, Subcommand};
use std::ffi::OsString;

/// Where `--help` begins.
const ABOUT: &str = "\
orias compiles NVIDIA PTX to SASS machine code in a cubin: what ptxas does, with the same options.

  orias -arch sm_90a -O3 kernel.ptx -o kernel.cubin
  orias -arch sm_90a kernel.ptx -v                    (writes elf.o, prints registers, spills, time)
  orias sim kernel.cubin --entry add --grid 4 --block 256 --arg in=a.bin --arg out=4096:c.bin --arg u32=1024";

/// The subcommands, and all that `--help` tells. A compile's own options are read by
/// [`options::normalise`].
#[derive(Parser, Debug)]
#[command(
    name = "orias",
    about = ABOUT,
    disable_version_flag = true,
    disable_help_subcommand = true,
    args_conflicts_with_subcommands = true,
    override_usage = "orias [OPTIONS] FILE.ptx -o FILE.cubin\n       orias batch|bench|sim|run|dis|phases --help",
    max_term_width = 110
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    compile: compile::CompileArgs,
}

const SUBCOMMANDS: [&str; 7] = ["batch", "bench", "sim", "run", "dis", "phases", "knobs"];

#[derive(Subcommand, Debug)]
enum Command {
    /// Compile many files in parallel
    Batch(batch::BatchArgs),
    /// Run a kernel without a GPU: PTX in the reference interpreter, a cubin in the simulator
    Sim(sim::SimArgs),
    /// Run a kernel of a cubin on the GPU of this machine; the same command line as sim
    Run(run::RunArgs),
    /// Disassemble a cubin
    Dis(dis::DisArgs),
    /// List the phases of the pipeline
    Phases(phases::PhasesArgs),
    /// List the knobs: numbers that phases decide by, for --knob
    Knobs(knobs::KnobsArgs),
    /// Measure compiles: time by part and phase, settings compared, what phases are worth
    Bench(bench::BenchArgs),
}

/// Runs the program with these arguments, its own name not among them; its exit code.
pub fn main(given: impl Iterator<Item = OsString>) -> u8 {
    let mut args = Vec::new();
    for arg in given {
        match arg.into_string() {
            Ok(arg) => args.push(arg),
            Err(arg) => {
                eprintln!("ptxas fatal   : argument '{}' is not UTF-8", arg.to_string_lossy());
                return FAILED;
            }
        }
    }
    if args.first().is_some_and(|first| SUBCOMMANDS.contains(&first.as_str())) {
        nursery::close();
        let cli = Cli::parse_from(std::iter::once("orias").chain(args.iter().map(String::as_str)));
        return match cli.command {
            Some(Command::Batch(args)) => match batch::batch(&args) {
                Ok(code) => code,
                Err(error) => {
                    eprintln!("orias: {error}");
                    FAILED
                }
            },
            Some(Command::Sim(args)) => finish(sim::sim(&args)),
            Some(Command::Run(run)) => match run::run(&run, &args[1..]) {
                Ok(code) => code,
                Err(error) => finish(Err(error)),
            },
            Some(Command::Dis(args)) => finish(dis::dis(&args)),
            Some(Command::Phases(args)) => finish(phases::phases(&args)),
            Some(Command::Knobs(args)) => finish(knobs::knobs(&args)),
            Some(Command::Bench(args)) => finish(bench::bench(&args)),
            None => help(),
        };
    }
    compile_command(&args)
}

fn compile_command(args: &[String]) -> u8 {
    if args.is_empty() {
        return help();
    }
    let normalised = match options::normalise(args) {
        Ok(normalised) => normalised,
        Err(message) => {
            eprintln!("ptxas fatal   : {message}");
            return FAILED;
        }
    };
    if normalised.options.iter().any(|(name, _)| *name == "help") {
        return help();
    }
    match compile::CompileArgs::new(normalised.options, normalised.inputs) {
        Ok(args) => compile::compile(&args, &normalised.warnings),
        Err(message) => {
            eprintln!("ptxas fatal   : {message}");
            FAILED
        }
    }
}

/// `--help`, to standard output.
fn help() -> u8 {
    let after = format!(
        "Without -arch the target is the one that the PTX names, and comments may have any UTF-8: ptxas takes its default SM, and refuses the latter.\n\n\
         Options of ptxas that orias does not have:\n{}\nExit code: 0, or 255 when something is wrong; then no output file is written.",
        options::unsupported()
    );
    match Cli::command().after_help(after).print_help() {
        Ok(()) => SUCCESS,
        Err(_) => FAILED,
    }
}

/// Exit code of a subcommand; its error goes to standard error.
fn finish(result: Result<(), Box<dyn std::error::Error>>) -> u8 {
    match result {
        Ok(()) => SUCCESS,
        Err(error) => {
            let text = error.to_string();
            eprintln!("orias: {}", text.trim_end());
            if error.is::<sim::BadInput>() { FAILED } else { 1 }
        }
    }
}
