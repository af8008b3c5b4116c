//! `orias-isa`: the instruction table beside the oracle tools.

use clap::{Parser, Subcommand};
use orias::elf::read::Cubin;
use orias_isa::{
    accesses, attributes, compare, coverage, differ, exceptions, flow, forms, generate, habits,
    latency, order, ours, probe, proof, ptx_table, report, seen, words,
};
use orias_runner::oracle;
use orias_targets::Target;
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Parser)]
#[command(about = "The instruction table beside the oracle tools")]
struct Args {
    /// The SM.
    #[arg(long, global = true, default_value = "sm_90a")]
    arch: String,
    /// Read the rows from this folder (targets/tables) instead of using those that were built in.
    #[arg(long, global = true)]
    rows: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// What nvdisasm and we say of words given in hex (32 digits, high word first).
    Text {
        words: Vec<String>,
    },
    /// How much of the words of cubins (files, or all below folders) the table explains.
    Coverage {
        paths: Vec<PathBuf>,
        /// Show only forms whose name has one of these parts.
        #[arg(long)]
        only: Vec<String>,
        /// Show every distinct word, not one for each form.
        #[arg(long)]
        all: bool,
    },
    /// What nvdisasm accepts beside the rows: bits and field values that they do not have.
    Probe {
        /// Opcodes (`HADD2`) or rows (`half.isa:3`); all without any.
        forms: Vec<String>,
    },
    /// Random instructions of all rows: those that nvdisasm does not read as we do.
    Random {
        #[arg(long, default_value_t = 100_000)]
        count: usize,
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Show only those of rows whose place begins so (`half.isa`).
        #[arg(long, default_value = "")]
        only: String,
    },
    /// Learns from ptxas which forms of instructions there are, and writes them to the table that
    /// the front end checks by.
    ///
    /// Takes seconds for most names and half an hour for all (`'*'`). The table is written after
    /// each name: interrupted, give the names that are left.
    Forms {
        /// Names as the table has them (`add`, `wgmma.mma_async`), new ones, or beginnings:
        /// `'mbarrier*'`.
        #[arg(required = true)]
        names: Vec<String>,
        /// Candidates in one round.
        #[arg(long, default_value_t = 40_000)]
        limit: usize,
        /// Rounds of looking for neighbours; 0 asks only for what is known and what PTX of the
        /// project has.
        #[arg(long, default_value_t = 3)]
        rounds: usize,
        /// The table; the project's own without.
        #[arg(long)]
        table: Option<PathBuf>,
    },
    /// Writes the report on all SMs (or one): `tests/isa/REPORT.md`.
    Report {
        /// Only these SMs.
        #[arg(long)]
        only: Vec<String>,
        /// Where to write it; standard output without one.
        #[arg(long)]
        out: Option<PathBuf>,
        /// With all of the generator's kernels: takes some minutes for each SM.
        #[arg(long)]
        whole: bool,
        /// Random instructions of each SM.
        #[arg(long, default_value_t = 100_000)]
        random: usize,
    },
    /// PTX that covers the instructions of an SM as ptxas accepts them: FOLDER/NAME.ptx and
    /// NAME.cubin.
    Generate {
        /// The folder to write to.
        #[arg(long)]
        out: PathBuf,
        /// A tenth of the kernels, with the default options only.
        #[arg(long)]
        short: bool,
        /// Only families whose name begins so.
        #[arg(long, default_value = "")]
        only: String,
        /// Print what was accepted: family, kernel, instruction.
        #[arg(long)]
        accepted: bool,
        /// Print what was rejected, with ptxas's message.
        #[arg(long)]
        rejected: bool,
    },
    /// Launches every kernel of PTX files (or all below folders) in the interpreter and, from
    /// ptxas's cubin, in the simulator.
    Run {
        paths: Vec<PathBuf>,
        /// The level that the compiler works at.
        #[arg(long, default_value = "3")]
        opt: String,
        /// Take FILE.cubin beside FILE.ptx where there is one; with `--ours` hold what differs
        /// against ptxas's cubin in the simulator.
        #[arg(long)]
        beside: bool,
        /// Take the cubin of our compiler.
        #[arg(long)]
        ours: bool,
        /// Only kernels whose name has one of these parts.
        #[arg(long)]
        only: Vec<String>,
        #[arg(long, default_value_t = 1)]
        seed: u64,
        #[arg(long, default_value_t = 32)]
        threads: u32,
        /// Print every kernel that is not the same, not three of each kind.
        #[arg(long)]
        all: bool,
    },
    /// Holds the accesses to memory of our compiler's kernels beside those of ptxas's: what ptxas
    /// says of scope, order and cache that we do not.
    Accesses {
        /// PTX files, or folders of them; without any the corpus, the coverage set and the engines'
        /// kernels.
        paths: Vec<PathBuf>,
        /// Take FILE.cubin beside FILE.ptx where there is one.
        #[arg(long)]
        beside: bool,
        /// Print every kernel, not one of each kind, and those whose difference has a known reason.
        #[arg(long)]
        all: bool,
    },
    /// Holds our cubins beside ptxas's by all that a loader, a debugger or a sanitizer reads:
    /// header, sections, symbols, attributes.
    Attributes(attributes::run::Attributes),
    /// Writes the table of PTX, `tests/isa/PTX.tsv`: what of the generator's kernels is read,
    /// compiled and runs.
    Table {
        /// The file to write instead.
        #[arg(long)]
        out: Option<PathBuf>,
        /// Kernels of a line, at most.
        #[arg(long, default_value_t = 3)]
        most: usize,
    },
    /// Our compiler beside ptxas: what each takes, code, registers, spills, and instructions and
    /// cycles of runs.
    Compare(compare::Args),
    Seen(seen::MineArgs),
    Unseen(seen::CheckArgs),
    /// Checks that threads meet where they are meant to: our cubins, and ptxas's.
    Flow(flow::Args),
    /// Checks that accesses to memory stand in the order that the PTX's memory model asks for.
    Order(order::Args),
    /// What ptxas does with the control fields of each opcode, or what our code does with them that
    /// ptxas never does.
    Habits(habits::Args),
    /// Opcode numbers that nvdisasm accepts and no row has.
    Opcodes,
    /// The fewest cycles that ptxas leaves between instructions that share a register.
    Latencies {
        /// PTX files and folders of them, beside the corpus and the coverage set.
        more: Vec<PathBuf>,
        /// Mine every SM, and write `targets/tables/latency/observed.lat` and
        /// `tests/isa/reports/latencies.md`.
        #[arg(long)]
        write: bool,
        /// Mine by instruction and operand slot, serial pairs too, and write
        /// `targets/tables/latency/factsNN.lat`.
        #[arg(long)]
        facts: bool,
    },
    /// Pairs of instructions of our compiler's code that stand nearer than ptxas ever leaves them.
    Distances(latency::distances::Args),
}

fn main() -> ExitCode {
    match run(Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("orias-isa: {message}");
            ExitCode::FAILURE
        }
    }
}

fn target(args: &Args) -> Result<&'static Target, String> {
    let target = orias_targets::target(&args.arch).ok_or(format!("no target {}", args.arch))?;
    match &args.rows {
        Some(folder) => target.with_rows(folder),
        None => Ok(target),
    }
}

fn run(args: Args) -> Result<(), String> {
    if let Command::Generate { out, short, only, accepted, rejected } = &args.command {
        return generate(&args.arch, out, *short, only, (*accepted, *rejected));
    }
    if let Command::Run { paths, opt, beside, ours, only, seed, threads, all } = &args.command {
        let setup = orias_isa::setup::Setup {
            seed: *seed,
            threads: *threads,
            steps: 20_000,
            meaningful: true,
            prepared: false,
            strict_regions: *ours,
        };
        let maker = match (ours, beside) {
            (true, _) => Maker::Ours(opt.parse().map_err(|e| format!("--opt {opt}: {e}"))?),
            (_, beside) => Maker::Ptxas { opt, beside: *beside },
        };
        return launch_all(&args.arch, paths, (maker, *beside), setup, only, *all);
    }
    if let Command::Forms { names, limit, rounds, table } = &args.command {
        return learn_forms(names, *limit, *rounds, table.as_deref());
    }
    if let Command::Habits(habits) = &args.command {
        return habits::run(target(&args)?, habits);
    }
    if let Command::Table { out, most } = &args.command {
        return write_table(&args.arch, out.as_deref(), *most);
    }
    if let Command::Compare(what) = &args.command {
        return compare::run(target(&args)?, what);
    }
    if let Command::Seen(mine) = &args.command {
        return seen::mine(target(&args)?, mine);
    }
    if let Command::Unseen(check) = &args.command {
        return seen::run_check(target(&args)?, check);
    }
    if let Command::Attributes(attributes) = &args.command {
        return attributes::run::run(target(&args)?, attributes);
    }
    if let Command::Accesses { paths, beside, all } = &args.command {
        return compare_accesses(target(&args)?, paths, *beside, *all);
    }
    if let Command::Flow(flow) = &args.command {
        return flow::run(target(&args)?, flow);
    }
    if let Command::Order(order) = &args.command {
        return order::run(target(&args)?, order);
    }
    let nvdisasm = oracle::tool("nvdisasm").ok_or("the oracle tools are missing")?;
    let target = target(&args)?;
    match args.command {
        Command::Text { words: hex } => {
            let parse = |h: &String| u128::from_str_radix(h.trim_start_matches("0x"), 16);
            let list: Result<Vec<u128>, _> = hex.iter().map(parse).collect();
            let list = list.map_err(|e| format!("not a word: {e}"))?;
            let texts = words::texts(&nvdisasm, &words::machine(target.name), &list);
            for (i, (word, text)) in list.iter().zip(texts).enumerate() {
                println!("{word:032x}\n  nvdisasm {}", text.as_deref().unwrap_or("refused"));
                match target.decode(*word, 16 * i as u64) {
                    Ok(inst) => {
                        let text = orias_targets::text::instruction(
                            target,
                            &inst,
                            &orias_targets::text::Numeric,
                        );
                        println!("  ours     {text}");
                    }
                    Err(e) => println!("  ours     {e}"),
                }
            }
        }
        Command::Coverage { paths, only, all } => {
            let mut seen = coverage::Seen::default();
            for file in coverage::files(&paths, "cubin") {
                let bytes = std::fs::read(&file).map_err(|e| format!("{}: {e}", file.display()))?;
                let name = file.file_stem().unwrap_or_default().to_string_lossy();
                seen.add(&name, &bytes)?;
            }
            let coverage = coverage::measure(target, &nvdisasm, &seen);
            println!("{}: {coverage}", target.name);
            let wanted = |name: &str| only.is_empty() || only.iter().any(|o| name.contains(o));
            for (fault, name, count, distinct, m) in coverage.by_mnemonic() {
                if !wanted(name) {
                    continue;
                }
                println!("{fault:?} {name}: {count} words, {distinct} distinct");
                let shown: Vec<_> = if all {
                    let same = |x: &&coverage::Missing| x.fault == fault && x.mnemonic() == name;
                    coverage.missing.iter().filter(same).collect()
                } else {
                    vec![m]
                };
                for m in shown {
                    println!("  {:032x} {}", m.word, m.place);
                    println!("    nvdisasm {}\n    ours     {}", m.reference, m.ours);
                }
            }
        }
        Command::Probe { forms } => {
            let wanted =
                |row: &str, op: &str| forms.is_empty() || forms.iter().any(|f| f == op || f == row);
            let table = target.table().forms();
            let list: Vec<_> = table.filter(|f| wanted(f.row, f.op.name())).collect();
            let (findings, lost) = probe::probe(target, &nvdisasm, &list);
            let mut last = "";
            for f in &findings {
                if f.row != last {
                    println!("{} {}", f.row, f.base);
                    last = f.row;
                }
                println!("  {:032x} {}: {}", f.word, f.what, f.reference);
            }
            println!("{} findings in {} forms", findings.len(), list.len());
            for row in lost {
                println!("no instance is accepted: {row}");
            }
        }
        Command::Random { count, seed, only } => {
            let wrong = proof::wrong(target, Some(&nvdisasm), count, seed);
            for text in wrong.iter().filter(|w| w.contains(&format!(" {only}"))) {
                println!("{text}");
            }
            println!("{}: {} of at least {count} differ", target.name, wrong.len());
        }
        Command::Report { only, out, whole, random } => {
            let ptxas = oracle::tool("ptxas").ok_or("the oracle tools are missing")?;
            let tools = report::Tools { ptxas: &ptxas, nvdisasm: &nvdisasm };
            let wanted = |name: &&str| only.is_empty() || only.iter().any(|o| o == name);
            let mut sections = Vec::new();
            for name in report::REPORTED.into_iter().filter(wanted) {
                let target = orias_targets::target(name).ok_or(format!("no target {name}"))?;
                let section = report::section(&tools, target, random, whole);
                eprintln!("{name}: {}", section.coverage);
                sections.push(section);
            }
            let text = report::markdown(&sections, whole);
            match out {
                Some(file) => {
                    std::fs::write(&file, text).map_err(|e| format!("{}: {e}", file.display()))?
                }
                None => print!("{text}"),
            }
        }
        Command::Opcodes => {
            for (number, word, text) in probe::opcodes(target, &nvdisasm) {
                println!("{number:03x} {word:032x} {text}");
            }
        }
        Command::Generate { .. } | Command::Run { .. } | Command::Compare(_) => {}
        Command::Seen(_) | Command::Unseen(_) => {}
        Command::Flow(_) | Command::Order(_) => {}
        Command::Accesses { .. } | Command::Table { .. } | Command::Forms { .. } => {}
        Command::Attributes(_) => {}
        Command::Habits(_) => {}
        Command::Latencies { more, write, facts } => {
            latency::run(target, args.rows.as_deref(), &more, write, facts)?
        }
        Command::Distances(args) => latency::distances::run(target, &args)?,
    }
    Ok(())
}

/// Learns the forms of instructions from the generator's kernels, the coverage set and the corpus.
fn learn_forms(
    names: &[String],
    limit: usize,
    rounds: usize,
    table: Option<&Path>,
) -> Result<(), String> {
    let ptxas = oracle::tool("ptxas").ok_or("the oracle tools are missing")?;
    let own = oracle::workspace().join(forms::TABLE);
    let mut sources: Vec<String> = generate::kernels().into_iter().map(|k| k.ptx).collect();
    sources.extend(orias_isa::sources::one_instruction("sm_90a").into_iter().map(|s| s.text));
    sources.extend(orias_isa::sources::corpus("sm_90a").into_iter().map(|s| s.text));
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get());
    let table = table.unwrap_or(&own);
    forms::learn(&forms::Task { ptxas: &ptxas, table, names, limit, rounds, threads }, &sources)
}

/// Where the cubins come from.
#[derive(Clone, Copy)]
enum Maker<'a> {
    /// At this level.
    Ours(u8),
    Ptxas {
        opt: &'a str,
        beside: bool,
    },
}

impl Maker<'_> {
    /// The cubin, if any kernel compiles, and what our compiler refuses.
    fn cubin(self, arch: &str, file: &Path, source: &str) -> Result<ours::Compiled, String> {
        let (opt, beside) = match self {
            Maker::Ours(opt_level) => {
                let level =
                    orias::driver::CompileOptions { opt_level, threads: 1, ..Default::default() };
                return ours::compile(source, &level);
            }
            Maker::Ptxas { opt, beside } => (opt, beside),
        };
        let all = |cubin| ours::Compiled { cubin: Some(cubin), refused: Vec::new() };
        let read =
            |file: &Path| std::fs::read(file).map_err(|e| format!("{}: {e}", file.display()));
        let there = file.with_extension("cubin");
        if beside && there.is_file() {
            return read(&there).map(all);
        }
        let ptxas = oracle::tool("ptxas").ok_or("the oracle tools are missing")?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let output = std::env::temp_dir().join(format!("orias-run-{}-{name}", std::process::id()));
        let mut command = std::process::Command::new(ptxas);
        command.args(["-arch", arch, &format!("-O{opt}"), "-o"]).arg(&output).arg(file);
        let done = command.output().map_err(|e| e.to_string())?;
        let bytes = read(&output);
        let _ = std::fs::remove_file(&output);
        if done.status.success() {
            bytes.map(all)
        } else {
            Err(String::from_utf8_lossy(&done.stderr).into())
        }
    }
}

/// Launches all kernels, and says how many agree and what the others do.
fn launch_all(
    arch: &str,
    paths: &[PathBuf],
    (maker, beside): (Maker<'_>, bool),
    setup: orias_isa::setup::Setup,
    only: &[String],
    all: bool,
) -> Result<(), String> {
    // A panic is reported as the end of its kernel.
    std::panic::set_hook(Box::new(|_| {}));
    let mut kinds: std::collections::BTreeMap<String, Vec<String>> = Default::default();
    let (mut total, mut same) = (0, 0);
    let theirs = Maker::Ptxas { opt: "3", beside: true };
    for file in coverage::files(paths, "ptx") {
        let source =
            std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let wanted = |name: &str| only.is_empty() || only.iter().any(|o| name.contains(o));
        let verdicts = maker.cubin(arch, &file, &source).and_then(|made| {
            let there = |name: &str| wanted(name) && !made.refused.iter().any(|(n, _)| n == name);
            let reference = match maker {
                Maker::Ours(_) if beside => Some(theirs.cubin(arch, &file, &source)?.cubin),
                _ => None,
            };
            let reference = reference.flatten();
            let run = |cubin: &Vec<u8>| {
                differ::module_beside(&source, cubin, reference.as_deref(), setup, there)
            };
            Ok((made.cubin.as_ref().map_or(Ok(Vec::new()), run)?, made.refused))
        });
        let verdicts = match verdicts {
            Ok((verdicts, refused)) => {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                let refused: Vec<_> = refused.into_iter().filter(|(k, _)| wanted(k)).collect();
                total += refused.len();
                for (kernel, text) in refused {
                    let line = format!("{name} {kernel}: {}", one_line(&text));
                    kinds.entry(format!("refused: {}", refusal(&text))).or_default().push(line);
                }
                verdicts
            }
            Err(error) => {
                kinds
                    .entry("file".into())
                    .or_default()
                    .push(format!("{}: {error}", file.display()));
                continue;
            }
        };
        total += verdicts.len();
        for v in verdicts {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            for hazard in &v.hazards {
                let line = format!("{name} {hazard}");
                kinds.entry("HAZARD".into()).or_default().push(line);
            }
            let (kind, text) = match v.end {
                differ::End::Same => {
                    same += 1;
                    continue;
                }
                differ::End::Near(t) => ("near".to_string(), t),
                differ::End::Unwritten(t) => ("unwritten memory".to_string(), t),
                differ::End::Differ(t) => ("DIFFER".to_string(), t),
                differ::End::Order(t) => ("order".to_string(), t),
                differ::End::AsReference(t) => ("as ptxas".to_string(), t),
                differ::End::Interpreter(t) => (format!("interpreter: {}", head(&t)), t),
                differ::End::Simulator(t) => (format!("simulator: {}", head(&t)), t),
                differ::End::Both(a, b) => {
                    (format!("both: {}", head(&a)), format!("{a}; simulator: {b}"))
                }
            };
            kinds.entry(kind).or_default().push(format!(
                "{name} {}: {}",
                v.kernel,
                one_line(&text)
            ));
        }
    }
    let mut kinds: Vec<_> = kinds.iter().collect();
    kinds.sort_by_key(|(_, list)| list.len());
    for (kind, list) in kinds {
        println!("{kind}: {}", list.len());
        for line in list.iter().take(if all { usize::MAX } else { 3 }) {
            println!("    {line}");
        }
    }
    println!("{same} of {total} kernels give the same buffers");
    Ok(())
}

/// Prints where the accesses of our kernels lack what those of ptxas say.
fn compare_accesses(
    target: &Target,
    paths: &[PathBuf],
    beside: bool,
    all: bool,
) -> Result<(), String> {
    let (mut known, mut kinds) = (accesses::known(), std::collections::BTreeMap::new());
    let (mut there, mut wrong) = (std::collections::BTreeSet::new(), 0);
    let tests = oracle::workspace().join("tests");
    let own = ["corpus", "coverage/sm_90a", "engines/kernels"].map(|f| tests.join(f));
    for file in coverage::files(if paths.is_empty() { &own } else { paths }, "ptx") {
        let source =
            std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let theirs = Maker::Ptxas { opt: "3", beside }.cubin(target.name, &file, &source)?;
        let ours = match Maker::Ours(3).cubin(target.name, &file, &source) {
            Ok(ours) => ours,
            Err(error) => {
                println!("left out: {}: {}", file.display(), one_line(&error));
                continue;
            }
        };
        let (Some(theirs), Some(cubin)) = (theirs.cubin, ours.cubin) else { continue };
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let group = exceptions::group(&name);
        let made = |kernel: &str| !ours.refused.iter().any(|(name, _)| name == kernel);
        let kernels = Cubin::read(&theirs).map_err(|e| e.to_string())?;
        there.extend(kernels.kernels().map(|k| (group.to_string(), k.name.to_string())));
        let hinted = accesses::hinted(&source);
        for d in accesses::differences(target, &theirs, &cubin, |k| hinted.contains(k))? {
            let why = d.why(&mut known, group);
            if !made(&d.kernel) || why.is_some() && !all {
                continue;
            }
            wrong += usize::from(why.is_none());
            let why = why.map_or(String::new(), |why| format!(" ({why})"));
            let kind = format!("{} | {}{why}", d.lacking.join(" "), d.more.join(" "));
            let list: &mut Vec<String> = kinds.entry(kind).or_default();
            list.push(format!("{name} {}", d.kernel));
        }
    }
    for (kind, list) in &kinds {
        println!("{}: {kind}", list.len());
        list.iter().take(if all { usize::MAX } else { 1 }).for_each(|line| println!("    {line}"));
    }
    let is_there = |row: &[&str]| there.contains(&(row[0].to_string(), row[1].to_string()));
    let unused = known.unused(is_there);
    unused.iter().for_each(|line| println!("{line}"));
    match wrong + unused.len() {
        0 => Ok(()),
        count => Err(format!("{count} kernels without a row, or rows without need")),
    }
}

/// Measures the generator's kernels and writes the table of PTX.
fn write_table(arch: &str, out: Option<&Path>, most: usize) -> Result<(), String> {
    // A panic is reported as the end of its kernel.
    std::panic::set_hook(Box::new(|_| {}));
    let ptxas = oracle::tool("ptxas").ok_or("the oracle tools are missing")?;
    let lines = ptx_table::measure(&ptxas, arch, most);
    let file = out.map_or_else(|| oracle::workspace().join(ptx_table::FILE), Path::to_path_buf);
    std::fs::write(&file, ptx_table::text(&lines))
        .map_err(|e| format!("{}: {e}", file.display()))?;
    let sum = |count: fn(&ptx_table::Line) -> usize| lines.values().map(count).sum::<usize>();
    println!(
        "{} lines, {} kernels: {} parsed, {} checked, {} compiled at -O0, {} at -O3",
        lines.len(),
        sum(|l| l.kernels),
        sum(|l| l.parsed),
        sum(|l| l.checked),
        sum(|l| l.compiled[0]),
        sum(|l| l.compiled[1]),
    );
    for (i, (name, meaning)) in ptx_table::ENDS.iter().enumerate() {
        println!("{:6} {name}: {meaning}", lines.values().map(|l| l.ends[i]).sum::<usize>());
    }
    Ok(())
}

/// Of a refused instruction its mnemonic and the reason; of another error its first words.
fn refusal(text: &str) -> String {
    match text.split('`').collect::<Vec<_>>()[..] {
        ["unsupported: ", spelling, why] => {
            format!("{}{}", spelling.split('.').next().unwrap_or(spelling), one_line(why))
        }
        _ => head(text),
    }
}

/// The first words of an error, for counting: numbers left out, of an unsupported instruction its
/// mnemonic.
fn head(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().take(4).collect();
    let text: String = words.join(" ");
    if text.starts_with("unsupported") {
        return text.split('.').take(3).collect::<Vec<_>>().join(".");
    }
    text.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// Writes what ptxas accepts of the generator's modules; `print` says whether to list what is
/// accepted and what is not.
///
/// The SM need not be one that we have a table for.
fn generate(
    arch: &str,
    out: &Path,
    short: bool,
    only: &str,
    print: (bool, bool),
) -> Result<(), String> {
    let ptxas = oracle::tool("ptxas").ok_or("the oracle tools are missing")?;
    std::fs::create_dir_all(out).map_err(|e| format!("{}: {e}", out.display()))?;
    let mut modules = if short { generate::short_modules(arch) } else { generate::modules(arch) };
    modules.retain(|m| m.name.starts_with(only));
    let done: Vec<_> =
        modules.into_par_iter().flat_map(|m| generate::accept::accept(&ptxas, m)).collect();
    let (mut kept, mut dropped) = (0, 0);
    for part in &done {
        for (extension, bytes) in
            [("ptx", part.module.text().0.as_bytes()), ("cubin", &part.cubin[..])]
        {
            let file = out.join(format!("{}.{extension}", part.module.name));
            if part.module.kernels.is_empty() {
                continue;
            }
            std::fs::write(&file, bytes).map_err(|e| format!("{}: {e}", file.display()))?;
        }
        kept += part.module.kernels.len();
        dropped += part.rejected.len();
        for k in part.module.kernels.iter().filter(|_| print.0) {
            println!("{}\t{}\t{}", part.module.name, k.name, one_line(&k.instruction));
        }
        for r in part.rejected.iter().filter(|_| print.1) {
            let instruction = one_line(&r.instruction);
            println!("{}\t{}\t{instruction}\t{}", part.module.name, r.name, r.message);
        }
    }
    eprintln!("{arch}: {kept} kernels accepted, {dropped} rejected, {} modules", done.len());
    Ok(())
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
