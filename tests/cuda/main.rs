//! `orias-cuda`: random CUDA C through all engines.

use clap::Parser;
use orias_cuda::batch::{self, Engines, Side, Verdict};
use orias_cuda::generate::program;
use orias_cuda::nvcc::{self, Flavour};
use orias_cuda::program::Program;
use orias_cuda::report::Summary;
use orias_cuda::{found, print, shrink};
use orias_fuzz::engines::{self, Failure, What};
use orias_fuzz::rounds::Rounds;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;

/// Programs of one file.
const BATCH: u64 = 16;

#[derive(Parser)]
#[command(about = "Random CUDA C: all engines must give what a reference on the CPU gives")]
struct Args {
    /// Seed of the first program; the others have those that follow.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[arg(long, default_value_t = 320)]
    count: u64,
    /// Goes on for so many seconds, whatever the count.
    #[arg(long)]
    time: Option<u64>,
    /// What nvcc does (full, little, none, debug); by the seed without it.
    #[arg(long)]
    nvcc: Option<String>,
    /// ptxas takes part in one batch of so many; 0: in none.
    #[arg(long, default_value_t = 1)]
    ptxas_every: u64,
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// Runs cubins on the first GPU, not in the simulator.
    #[arg(long)]
    gpu: bool,
    /// Prints the program of a seed.
    #[arg(long)]
    show: Option<u64>,
    /// With `--show`: prints nvcc's PTX.
    #[arg(long)]
    ptx: bool,
    /// Runs files of `tests/cuda/found`, or others with such a head.
    #[arg(long, num_args = 1..)]
    file: Vec<PathBuf>,
    /// Stops after so many programs that differ.
    #[arg(long, default_value_t = 10)]
    most: usize,
    /// Writes the shrunk programs to this folder.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Shows what differs as it is.
    #[arg(long)]
    no_shrink: bool,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let chosen = args.nvcc.as_deref().and_then(Flavour::named);
    if let Some(seed) = args.show {
        return show(seed, chosen.unwrap_or(Flavour::Full), args.ptx);
    }
    // Panics of the engines are results; their messages stand in the report.
    std::panic::set_hook(Box::new(|_| {}));
    if let Err(code) = engines::choose_gpu(args.gpu) {
        return code;
    }
    if !args.file.is_empty() {
        return files(&args.file, args.ptxas_every > 0);
    }
    let rounds = Rounds {
        batch: BATCH,
        from: 0,
        count: args.count,
        time: args.time,
        jobs: args.jobs,
        most: args.most,
    };
    let summary = Mutex::new(Summary::default());
    let (took, _) = rounds.run(|seeds, progress| {
        let from = seeds.start;
        let programs: Vec<Program> = seeds.map(|n| program(args.seed + n)).collect();
        let every = args.ptxas_every;
        let with_ptxas = every > 0 && (from / BATCH).is_multiple_of(every);
        let flavour = chosen.unwrap_or_else(|| Flavour::of(args.seed + from));
        let engines = Engines::all(flavour, with_ptxas);
        let mut part = Summary::default();
        for (program, verdict) in programs.iter().zip(batch::run(&programs, &engines)) {
            part.add(flavour.name(), &verdict);
            if verdict.first().is_none() || progress.is_over() {
                continue;
            }
            report(program, &verdict, flavour, &args);
            progress.differs(&rounds);
        }
        if let Ok(mut summary) = summary.lock() {
            summary.join(part);
            // So often that a run of hours says where it is.
            if summary.programs % (16 * BATCH as usize) < BATCH as usize {
                eprintln!("{} programs, {} mistakes", summary.programs, summary.mistakes);
            }
        }
    });
    let summary = summary.into_inner().unwrap_or_default();
    println!("{}", summary.text());
    println!("seed {}, {:.1} s", args.seed, took.as_secs_f64());
    if summary.mistakes == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn show(seed: u64, flavour: Flavour, ptx: bool) -> ExitCode {
    let source = print::file([&program(seed)]);
    if !ptx {
        println!("{source}");
        return ExitCode::SUCCESS;
    }
    match nvcc::compile(&source, flavour) {
        Some(Ok(ptx)) => println!("{ptx}"),
        Some(Err(error)) => println!("{error}"),
        None => return ExitCode::FAILURE,
    }
    ExitCode::SUCCESS
}

/// Prints what differs, made small.
fn report(program: &Program, verdict: &Verdict, flavour: Flavour, args: &Args) {
    let lines = |failures: &[(Side, Failure)]| -> String {
        let line = |(side, failure): &(Side, Failure)| {
            format!("{side}: {:?}: {}\n", failure.what, failure.text)
        };
        failures.iter().map(line).collect()
    };
    let agree: Vec<String> = verdict.agree.iter().map(Side::to_string).collect();
    println!("seed {} ({}): {}", program.seed, flavour.name(), lines(&verdict.failures));
    println!("agree: {}", agree.join(", "));
    let Some(kind) = verdict.first() else { return };
    engines::end_if_lost(kind.1 == What::Stopped && engines::on_gpu());
    if args.no_shrink || kind.0 == Side::Reference {
        return;
    }
    let engines = Engines::only(kind.0, flavour);
    let small = shrink::shrink(program, &mut |programs| {
        batch::run(programs, &engines).iter().map(|v| v.first() == Some(kind)).collect()
    });
    let last = batch::run(std::slice::from_ref(&small), &Engines::all(flavour, true));
    let failures: String = last.iter().map(|v| lines(&v.failures)).collect();
    let what = format!("seed {}\n{failures}", program.seed);
    match found::write(&small, flavour, &what) {
        Ok(file) => {
            let folder = args.out.clone().unwrap_or_else(std::env::temp_dir);
            let path = folder.join(format!("{}.cu", program.seed));
            let written =
                std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, &file));
            match written {
                Ok(()) => println!("{failures}small: {}\n", path.display()),
                Err(error) => println!("{file}\n{}: {error}", path.display()),
            }
        }
        Err(error) => println!("the small program has no meaning: {error}"),
    }
}

/// Runs programs that are kept as files.
fn files(paths: &[PathBuf], with_ptxas: bool) -> ExitCode {
    let mut good = true;
    for path in paths {
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string());
        let verdict = text.and_then(|text| found::run(&text, with_ptxas));
        match verdict {
            Ok(Some(verdict)) => {
                for (side, failure) in verdict.failures {
                    println!("{}: {side}: {:?}: {}", path.display(), failure.what, failure.text);
                    good &= failure.what == What::Unsupported;
                }
            }
            Ok(None) => {}
            Err(error) => {
                println!("{}: {error}", path.display());
                good = false;
            }
        }
    }
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
