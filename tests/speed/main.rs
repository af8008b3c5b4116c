//! `orias-speed`: what compiling costs, beside ptxas on the same files in turns.

/// Prints a line. Nothing is to be measured any more when nobody reads it.
macro_rules! say {
    ($($what:tt)*) => {
        crate::print(format_args!("{}\n", format_args!($($what)*)))
    };
}

mod cores;
mod inputs;
mod tables;

use clap::{Args, Parser, Subcommand};
use inputs::{Input, shape};
use orias_runner::oracle;
use orias_speed::order;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

#[derive(Parser)]
#[command(about = "What compiling costs: CPU time, memory and instructions of orias beside ptxas")]
struct Program {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Prints a generated module.
    Shape { name: String, size: usize },
    /// Compiles with both, in turns, and prints a table. Without files: the shapes at their usual
    /// sizes.
    Compare {
        #[command(flatten)]
        sides: Sides,
        /// The shape of a million instructions too, which takes ptxas minutes.
        #[arg(long)]
        large: bool,
        /// Each compiler runs at least so often on each file: once would say nothing of the
        /// machine's noise.
        #[arg(long, default_value_t = 3, value_parser = at_least_two)]
        turns: usize,
        /// And more often while both took less than so many seconds of CPU time together.
        #[arg(long, default_value_t = 1.0)]
        seconds: f64,
        /// Prints one row a file too, not only the last lines.
        #[arg(long)]
        rows: bool,
    },
    /// Compiles with one thread and with more, in turns: how much sooner all of it is done.
    Cores {
        /// PTX files, or folders of them, that are compiled as one batch [default: tests/corpus].
        files: Vec<PathBuf>,
        /// Shapes that are compiled alone, as NAME=SIZE [default: two huge kernels].
        #[arg(long)]
        shape: Vec<String>,
        /// The compiler; beside this program without it.
        #[arg(long)]
        orias: Option<PathBuf>,
        /// Threads.
        #[arg(long, default_value_t = 2, value_parser = at_least_two)]
        threads: usize,
        /// How often each runs.
        #[arg(long, default_value_t = 15, value_parser = at_least_two)]
        turns: usize,
    },
    /// Counts the instructions that both execute (valgrind's callgrind). Without files: a few
    /// shapes and a kernel.
    Callgrind {
        #[command(flatten)]
        sides: Sides,
    },
    /// Writes a linker script that puts what compiles touch of the program beside each other.
    Order {
        /// PTX files, or folders that are searched for them.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Shapes, as NAME=SIZE.
        #[arg(long)]
        shape: Vec<String>,
        /// Our compiler.
        #[arg(long)]
        orias: PathBuf,
        /// What its linker has written of it (`ORIAS_MAP` of `src/release.sh`).
        #[arg(long)]
        map: PathBuf,
        /// The script.
        #[arg(long)]
        to: PathBuf,
    },
}

/// What is compiled, and by whom.
#[derive(Args)]
struct Sides {
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
    /// Threads of each compiler (`--split-compile`); 0 is one for each core.
    #[arg(long, default_value_t = 1)]
    threads: usize,
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

/// One huge kernel each: a straight line, and many blocks.
const HUGE: &[(&str, usize)] = &[("straight", 100_000), ("diamonds", 16_667)];

/// What is added where large ones are asked for.
const LARGE: &[(&str, usize)] = &[("straight", 1_000_000)];

/// What is counted where nothing is asked for: fifty times slower than to run, so little of each
/// kind.
const COUNTED: &[(&str, usize)] =
    &[("kernels", 1), ("kernels", 20), ("straight", 2_000), ("diamonds", 1_000)];

/// The corpus's largest.
const COUNTED_KERNEL: &str = "tests/corpus/sha256/sha256.ptx";

/// A shape stands for many large kernels: what one of them alone touches comes before what few
/// small ones do.
const OF_A_SHAPE: usize = 4;

/// Of so many files, the smallest, it is seen which constants are read: they say it of all.
const TRACED: usize = 16;

fn main() -> ExitCode {
    match run(Program::parse().what) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("orias-speed: {message}");
            ExitCode::FAILURE
        }
    }
}

/// To the standard output.
///
/// # Errors
/// When nobody reads it, or it cannot be written.
fn print(what: std::fmt::Arguments<'_>) -> Result<(), String> {
    std::io::stdout().write_fmt(what).map_err(|error| format!("standard output: {error}"))
}

fn at_least_two(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| *n >= 2).ok_or("at least 2".to_string())
}

fn run(what: What) -> Result<(), String> {
    match what {
        What::Shape { name, size } => print(format_args!("{}", shape(&name, size)?)),
        What::Compare { sides, large, turns, seconds, rows } => {
            let mut inputs = sides.inputs()?;
            if inputs.is_empty() && !large {
                inputs.extend(inputs::shapes(USUAL));
            }
            if large {
                inputs.extend(inputs::shapes(LARGE));
            }
            sides
                .with(|both, folder| tables::compare(&inputs, both, folder, (turns, seconds), rows))
        }
        What::Cores { mut files, shape, orias, threads, turns } => {
            let mut inputs = inputs::named(&[], &shape)?;
            if files.is_empty() && inputs.is_empty() {
                inputs.extend(inputs::shapes(HUGE));
            }
            if files.is_empty() {
                files.push(oracle::workspace().join("tests/corpus"));
            }
            let orias = orias.map_or_else(beside, Ok)?;
            in_folder(|folder| {
                let orias = copy(&orias, folder, "orias")?;
                cores::compare(&orias, (&files, &inputs), folder, (threads, turns))
            })
        }
        What::Callgrind { sides } => {
            orias_speed::callgrind::ready()?;
            let mut inputs = sides.inputs()?;
            if inputs.is_empty() {
                inputs.extend(inputs::shapes(COUNTED));
                inputs.push(Input::File(oracle::workspace().join(COUNTED_KERNEL)));
            }
            sides.with(|both, folder| tables::callgrind(&inputs, both, folder))
        }
        What::Order { files, shape, orias, map, to } => {
            orias_speed::callgrind::ready()?;
            let folder = std::env::temp_dir().join(format!("orias-order-{}", std::process::id()));
            std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
            let pieces = order::Pieces::of(&map)?;
            let mut inputs = Vec::new();
            for input in inputs::named(&files, &shape)? {
                let weight = if matches!(input, Input::Shape(..)) { OF_A_SHAPE } else { 1 };
                let file = input.file(&folder)?.1;
                let size = std::fs::metadata(&file).map_err(|e| e.to_string())?.len();
                inputs.push((size, file, weight));
            }
            inputs.sort();
            let mut compiles = Vec::new();
            for (n, (_, file, weight)) in inputs.iter().enumerate() {
                let trace = if n < TRACED { order::Trace::Data } else { order::Trace::Code };
                let touched = order::touched(&orias, file, &folder, &pieces, &trace)?;
                compiles.push((*weight, touched));
            }
            std::fs::remove_dir_all(&folder).map_err(|error| error.to_string())?;
            std::fs::write(&to, order::script(&compiles, &pieces))
                .map_err(|error| format!("{}: {error}", to.display()))
        }
    }
}

/// The two compilers, and what both are told.
#[derive(Clone, Copy)]
struct Both<'a> {
    ours: &'a Path,
    theirs: &'a Path,
    options: &'a [String],
}

impl Sides {
    fn inputs(&self) -> Result<Vec<Input>, String> {
        inputs::named(&self.files, &self.shape)
    }

    /// Does something with both compilers and a folder that is gone afterwards.
    fn with(&self, act: impl Fn(Both<'_>, &Path) -> Result<(), String>) -> Result<(), String> {
        let ours = self.orias.clone().map_or_else(beside, Ok)?;
        let theirs = self.other.clone().or_else(|| oracle::tool("ptxas"));
        let theirs = theirs.ok_or("no ptxas: `tests/oracle.sh` installs it")?;
        let threads = format!("--split-compile={}", self.threads);
        let options = ["-arch=sm_90a", "-O3", &threads].map(str::to_string);
        in_folder(|folder| {
            let ours = copy(&ours, folder, "ours")?;
            let theirs = copy(&theirs, folder, "theirs")?;
            act(Both { ours: &ours, theirs: &theirs, options: &options }, folder)
        })
    }
}

/// Does something with a folder that is gone afterwards.
fn in_folder(act: impl Fn(&Path) -> Result<(), String>) -> Result<(), String> {
    let folder = std::env::temp_dir().join(format!("orias-speed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    let done = act(&folder);
    let _ = std::fs::remove_dir_all(&folder);
    done
}

/// A copy of a program, so that the files of both compilers came to memory in the same way. How a
/// file was written, and what was dropped from memory since, decides in how large parts it is
/// mapped: a tenth of a small compile's time. Both are written at once, as `src/release.sh` does:
/// Linux (ext4 from 6.16 on, XFS) keeps such a file in the largest pages that it can. Another
/// process does it: what this one has held at most would count for those that it starts.
fn copy(program: &Path, folder: &Path, whose: &str) -> Result<PathBuf, String> {
    let copy = folder.join(whose);
    let fail = |e| format!("{}: {e}", program.display());
    let rights = std::fs::metadata(program).map_err(fail)?.permissions();
    let operand = |name: &str, path: &Path| {
        let mut operand = OsString::from(name);
        operand.push(path);
        operand
    };
    let mut dd = Command::new("dd");
    dd.args([operand("if=", program), operand("of=", &copy)]).args(["bs=64M", "status=none"]);
    if !dd.status().map_err(fail)?.success() {
        return Err(format!("{}: dd could not copy it", program.display()));
    }
    std::fs::set_permissions(&copy, rights).map_err(fail)?;
    Ok(copy)
}

/// The compiler that was built with this program.
fn beside() -> Result<PathBuf, String> {
    let me = std::env::current_exe().map_err(|e| e.to_string())?;
    Ok(me.with_file_name("orias"))
}
