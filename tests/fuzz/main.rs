//! `orias-fuzz`: random PTX programs through all engines.

use clap::Parser;
use orias_fuzz::batch::{self, Case, Levels, Verdict};
use orias_fuzz::engines::{self, Side, What};
use orias_fuzz::generate::{Wishes, program};
use orias_fuzz::program::Program;
use orias_fuzz::report::{Summary, title};
use orias_fuzz::rounds::Rounds;
use orias_fuzz::{found, print, shrink};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;

/// Programs of one module.
const BATCH: u64 = 64;

#[derive(Parser)]
#[command(
    about = "Random PTX programs: interpreter, simulator on ptxas's cubin and on ours must agree"
)]
struct Args {
    /// Seed of the first program; the others have those that follow.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[arg(long, default_value_t = 1000)]
    count: u64,
    /// Starts with this program of the run: goes on with one that was stopped.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Goes on for so many seconds, whatever the count.
    #[arg(long)]
    time: Option<u64>,
    /// ptxas's level; by the seed without it.
    #[arg(long)]
    ptxas_opt: Option<u8>,
    /// Our level; by the seed without it.
    #[arg(long)]
    opt: Option<u8>,
    /// Only the families of instructions whose names begin so.
    #[arg(long)]
    only: Option<String>,
    /// Besides a seed's families also those whose names begin so (several with commas between): no
    /// other program has `matrix`, `warpgroup` and `pressure`.
    #[arg(long)]
    also: Option<String>,
    /// Where ptxas does not take part, instructions may have constants alone for operands: ptxas
    /// folds many of them wrongly.
    #[arg(long)]
    constants: bool,
    /// ptxas takes part in one batch of so many.
    #[arg(long, default_value_t = 1)]
    ptxas_every: u64,
    /// Hazards in ptxas's cubins are mistakes too; in ours they always are.
    #[arg(long)]
    hazards: bool,
    /// Runs cubins on the first GPU, not in the simulator.
    #[arg(long)]
    gpu: bool,
    #[arg(long)]
    no_ptxas: bool,
    #[arg(long)]
    no_orias: bool,
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// Prints the program of a seed.
    #[arg(long)]
    show: Option<u64>,
    /// Runs files of `tests/fuzz/found`, or others with such a head.
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
    let wishes =
        Wishes { only: args.only.clone(), also: args.also.clone(), constants: args.constants };
    if let Some(seed) = args.show {
        println!("{}", print::module(&program(seed, &wishes)));
        return ExitCode::SUCCESS;
    }
    // Panics of the engines are results; their messages stand in the report.
    std::panic::set_hook(Box::new(|_| {}));
    let levels = Levels {
        ptxas: args.ptxas_opt,
        orias: args.opt,
        with_ptxas: !args.no_ptxas,
        with_orias: !args.no_orias,
        hazards: args.hazards,
    };
    if let Err(code) = engines::choose_gpu(args.gpu) {
        return code;
    }
    if !args.file.is_empty() {
        return files(&args, levels);
    }
    let rounds = Rounds {
        batch: BATCH,
        from: args.from,
        count: args.count,
        time: args.time,
        jobs: args.jobs,
        most: args.most,
    };
    let summary = Mutex::new(Summary::default());
    let (took, next) = rounds.run(|seeds, progress| {
        let from = seeds.start;
        let with_ptxas =
            levels.with_ptxas && (from / BATCH).is_multiple_of(args.ptxas_every.max(1));
        let wishes = Wishes { constants: args.constants && !with_ptxas, ..wishes.clone() };
        let programs: Vec<Program> = seeds.map(|n| program(args.seed + n, &wishes)).collect();
        let levels = Levels { with_ptxas, ..levels }.of(args.seed + from);
        let cases: Vec<Case> = programs.iter().map(Case::of).collect();
        let mut part = Summary::default();
        for (program, verdict) in programs.iter().zip(batch::run(&cases, levels, args.hazards)) {
            part.add(program, &verdict);
            if verdict.mistakes().next().is_none() || progress.is_over() {
                continue;
            }
            report(program, &verdict, levels, &args);
            progress.differs(&rounds);
        }
        if let Ok(mut summary) = summary.lock() {
            summary.join(part);
            // So often that a run of hours says where it is.
            if summary.programs % (100 * BATCH as usize) < BATCH as usize {
                eprintln!("{} programs, {} mistakes", summary.programs, summary.mistakes);
            }
        }
    });
    let summary = summary.into_inner().unwrap_or_default();
    println!("{}", summary.text());
    println!(
        "seed {} from {}, next --from {}, {:.1} s",
        args.seed,
        args.from,
        next,
        took.as_secs_f64()
    );
    if summary.mistakes == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints what differs, made small.
fn report(program: &Program, verdict: &Verdict, levels: (Option<u8>, Option<u8>), args: &Args) {
    let Some(kind) = title(verdict) else { return };
    let faulted = engines::on_gpu() && kind.1 == What::Stopped;
    let text = |verdict: &Verdict| {
        let lines = verdict.mistakes().map(|(side, f)| format!("{side}: {:?}: {}", f.what, f.text));
        lines.collect::<Vec<_>>().join("\n")
    };
    if args.no_shrink || faulted {
        println!("seed {}: {:?}\n{}\n", program.seed, kind, text(verdict));
        engines::end_if_lost(faulted);
        return;
    }
    let needed = needed(kind, levels);
    let small = shrink::shrink(program, &mut |programs| {
        let named: Vec<Program> = programs.to_vec();
        let cases: Vec<Case> =
            named.iter().enumerate().map(|(i, p)| renamed(&Case::of(p), p.seed, i)).collect();
        batch::run(&cases, needed, args.hazards).iter().map(|v| title(v) == Some(kind)).collect()
    });
    let last = batch::run(&[Case::of(&small)], levels, args.hazards);
    let what = last.first().map(text).unwrap_or_default();
    let levels = format!("levels {levels:?}");
    let file =
        found::write(&small, &format!("seed {}: {:?}\n{what}\n{levels}", program.seed, kind));
    println!("{file}\n");
    if let Some(folder) = &args.out {
        let path = folder.join(format!("{}.ptx", program.seed));
        if let Err(error) =
            std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, &file))
        {
            println!("{}: {error}", path.display());
        }
    }
}

/// The engines that a mistake needs to show.
fn needed(kind: (Side, What), levels: (Option<u8>, Option<u8>)) -> (Option<u8>, Option<u8>) {
    match kind.0 {
        Side::Interpreter => (None, None),
        Side::Ptxas(_) => (levels.0, None),
        Side::Orias(_) => (None, levels.1),
    }
}

/// The same program under another name, so that a module can hold several versions of it.
fn renamed(case: &Case, seed: u64, number: usize) -> Case {
    let mut case = case.clone();
    for (old, new) in [
        (format!("k{seed}("), format!("k{seed}v{number}(")),
        (format!("f{seed}_"), format!("f{seed}v{number}_")),
    ] {
        case.entry = case.entry.replace(&old, &new);
        case.module = case.module.replace(&old, &new);
    }
    case.shape.entry = format!("k{seed}v{number}");
    case
}

fn files(args: &Args, levels: Levels) -> ExitCode {
    let mut good = true;
    for path in &args.file {
        let case = std::fs::read_to_string(path)
            .map_err(|error| error.to_string())
            .and_then(|text| found::read(&text));
        let verdicts = match case {
            Ok((case, own)) => {
                let with_ptxas = levels.with_ptxas && own.with_ptxas;
                batch::run_alone(&case, Levels { with_ptxas, ..levels })
            }
            Err(error) => {
                println!("{}: {error}", path.display());
                good = false;
                continue;
            }
        };
        for (side, failure) in verdicts.failures {
            println!("{}: {side}: {:?}: {}", path.display(), failure.what, failure.text);
            good &= failure.what == What::Unsupported;
        }
    }
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
