//! Measured of compiles in one process, by part of the way, by stage of the pipeline and by phase.
//!
//! Files are compiled in turns: each turn compiles every file under every setting, so that what
//! slows the machine for a while slows all of them. Each file is compiled once without clocks in
//! it, for the whole time, and once with them; small ones more often, and the quickest compile
//! counts. One thread, and workers that are used again, as in a batch.

use super::code::{self, Code};
use super::inputs::Input;
use super::setting::Setting;
use crate::compiler::Compiler;
use crate::driver::{CompileOptions, Output};
use crate::times::Part;
use orias_components::heap::{self, Used};
use orias_systems::pipeline::{PHASES, Stage};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A file is compiled again within a turn until it has taken so long, or [`MOST`] times.
const ENOUGH: Duration = Duration::from_millis(2);
const MOST: u32 = 50;

/// What is left of the functions' time: what the manager does before and after each phase, clocks
/// and counts of these statistics among it.
pub const BETWEEN: &str = "between phases";

/// The stages of the pipeline, in order.
pub const STAGES: [Stage; 10] = [
    Stage::Setup,
    Stage::Early,
    Stage::Mid,
    Stage::Late,
    Stage::Legal,
    Stage::Sched,
    Stage::Post,
    Stage::Mercury,
    Stage::Final,
    Stage::Terminal,
];

/// The rows that a compile's time is made of, in order.
pub fn parts() -> Vec<&'static str> {
    let front = [Part::Parse.name(), Part::Layout.name(), "lower"];
    let back = [BETWEEN, Part::Link.name(), Part::Assemble.name(), Part::Elf.name()];
    front.into_iter().chain(STAGES.map(Stage::name)).chain(back).collect()
}

/// Samples by name of a part or a phase: nanoseconds, one a turn.
pub type Series = BTreeMap<String, Vec<f64>>;

/// One file under one setting.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FileRun {
    /// As it was named.
    pub name: String,
    /// Bytes of PTX.
    pub ptx_bytes: u64,
    /// What became of it.
    pub code: Code,
    /// Nanoseconds of the whole compile, one a turn.
    pub total: Vec<f64>,
    /// By part: see [`parts`].
    pub parts: Series,
    /// By phase that runs.
    pub phases: Series,
    /// What phases did to it: the same in every turn.
    pub did: BTreeMap<String, Did>,
    /// Each function: instructions of its code, and nanoseconds (the least of some turns).
    pub functions: Vec<(u64, f64)>,
}

/// What a phase did to a module.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Did {
    /// Instructions when it began.
    pub insts_in: u64,
    /// Instructions when it ended.
    pub insts_out: u64,
    /// Rewrites that it reports.
    pub rewrites: u64,
    /// Allocations, by workers that have compiled the module before.
    pub allocations: u64,
    /// Bytes of these.
    pub allocated_bytes: u64,
    /// Bytes held at once at most, of one function.
    pub peak_bytes: u64,
}

/// All files under one setting.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// Version of orias.
    pub orias: String,
    /// Options.
    pub setting: String,
    /// In the order of the command line.
    pub files: Vec<FileRun>,
}

impl Run {
    /// Whole time of each file, one sample a turn.
    pub fn total(&self) -> Vec<&[f64]> {
        self.files.iter().map(|file| file.total.as_slice()).collect()
    }

    /// The time of a part of each file.
    pub fn part(&self, name: &str) -> Vec<&[f64]> {
        self.files.iter().map(|file| samples(&file.parts, name)).collect()
    }

    /// The time of a phase of each file.
    pub fn phase(&self, name: &str) -> Vec<&[f64]> {
        self.files.iter().map(|file| samples(&file.phases, name)).collect()
    }

    /// How often each file was compiled.
    pub fn turns(&self) -> usize {
        self.files.iter().map(|file| file.total.len()).max().unwrap_or(0)
    }

    /// Names of the phases that ran, in order.
    pub fn phases(&self) -> Vec<&'static str> {
        let ran = |name: &str| self.files.iter().any(|file| file.phases.contains_key(name));
        PHASES.iter().map(|phase| phase.name).filter(|name| ran(name)).collect()
    }

    /// What a phase did to all files.
    pub fn did(&self, phase: &str) -> Did {
        let mut sum = Did::default();
        for did in self.files.iter().filter_map(|file| file.did.get(phase)) {
            sum.insts_in += did.insts_in;
            sum.insts_out += did.insts_out;
            sum.rewrites += did.rewrites;
            sum.allocations += did.allocations;
            sum.allocated_bytes += did.allocated_bytes;
            sum.peak_bytes = sum.peak_bytes.max(did.peak_bytes);
        }
        sum
    }
}

fn samples<'s>(series: &'s Series, name: &str) -> &'s [f64] {
    series.get(name).map_or(&[], Vec::as_slice)
}

/// One setting at work.
struct Side {
    plain: Compiler,
    clocked: Compiler,
    files: Vec<FileRun>,
}

impl Side {
    fn new(setting: &Setting) -> Side {
        let options = CompileOptions { threads: 1, ..setting.options.clone() };
        let plain = CompileOptions { statistics: false, trace: false, ..options.clone() };
        let clocked = CompileOptions { statistics: true, trace: false, ..options };
        let [plain, clocked] = [plain, clocked].map(Compiler::new);
        Side { plain, clocked, files: Vec::new() }
    }

    /// Compiles a file for the first time, and asks what does not vary.
    fn begin(&mut self, input: &Input) -> Result<(), String> {
        let said = |errors: crate::driver::CompileError| errors.render(&input.name, &input.source);
        self.clocked.compile(&input.source).map_err(said)?;
        let watch = heap::watch();
        let output = self.clocked.compile(&input.source).map_err(said)?;
        drop(watch);
        let mut file = FileRun {
            name: input.name.clone(),
            ptx_bytes: input.source.len() as u64,
            code: Code::of(&output),
            ..FileRun::default()
        };
        if let Some(suite) = &input.suite {
            file.code.run = Some(code::run(suite, &output.cubin)?);
        }
        for (phase, stat) in PHASES.iter().zip(&output.stats) {
            let Used { allocations, bytes, peak } = stat.heap;
            if stat.began.is_some() || stat.nanoseconds > 0 {
                file.did.insert(
                    phase.name.to_string(),
                    Did {
                        insts_in: stat.insts_before.into(),
                        insts_out: stat.insts_after.into(),
                        rewrites: stat.rewrites.into(),
                        allocations,
                        allocated_bytes: bytes,
                        peak_bytes: peak,
                    },
                );
            }
        }
        let options = CompileOptions { trace: true, ..self.clocked.options().clone() };
        let traced = Compiler::new(options);
        for _ in 0..3 {
            let output = traced.compile(&input.source).map_err(said)?;
            for (i, function) in output.measured.functions.iter().enumerate() {
                let instructions = function.phases.last().map_or(0, |stat| stat.insts_after.into());
                let time = function.time.as_nanos() as f64;
                match file.functions.get_mut(i) {
                    Some((_, least)) => *least = least.min(time),
                    None => file.functions.push((instructions, time)),
                }
            }
        }
        self.files.push(file);
        Ok(())
    }

    /// A turn of one file.
    fn turn(&mut self, at: usize, input: &Input) -> Result<(), String> {
        let said = |errors: crate::driver::CompileError| errors.render(&input.name, &input.source);
        let timed = |compiler: &Compiler| {
            let began = Instant::now();
            let output = compiler.compile(&input.source).map_err(said)?;
            Ok::<_, String>((began.elapsed().as_nanos() as f64, output))
        };
        let started = Instant::now();
        let (mut times, mut least) = (0, f64::INFINITY);
        while times == 0 || (times < MOST && started.elapsed() < ENOUGH) {
            least = least.min(timed(&self.plain)?.0);
            times += 1;
        }
        let (mut best, mut parts, mut phases) = (f64::INFINITY, Samples::new(), Samples::new());
        for _ in 0..times {
            let (time, output) = timed(&self.clocked)?;
            if time < best {
                best = time;
                (parts, phases) = clocks(&output);
            }
        }
        let file = &mut self.files[at];
        file.total.push(least);
        for (all, turn) in [(&mut file.parts, parts), (&mut file.phases, phases)] {
            for (name, time) in turn {
                all.entry(name.to_string()).or_default().push(time);
            }
        }
        Ok(())
    }
}

/// Nanoseconds by name.
type Samples = BTreeMap<&'static str, f64>;

/// The times of a compile: of its parts, and of its phases.
fn clocks(output: &Output) -> (Samples, Samples) {
    let (mut parts, mut phases) = (Samples::new(), Samples::new());
    let times = &output.measured;
    let mut add = |name: &'static str, time: f64| *parts.entry(name).or_default() += time;
    for part in [Part::Parse, Part::Layout, Part::Link, Part::Assemble, Part::Elf] {
        add(part.name(), times.of(part).as_nanos() as f64);
    }
    let lower = times.lowering.as_nanos() as f64;
    add("lower", lower);
    STAGES.iter().for_each(|stage| add(stage.name(), 0.0));
    let mut in_phases = 0.0;
    for (phase, stat) in PHASES.iter().zip(&output.stats) {
        let time = stat.nanoseconds as f64;
        add(phase.stage.name(), time);
        in_phases += time;
        if phase.runs_at(3) || stat.nanoseconds > 0 {
            *phases.entry(phase.name).or_default() += time;
        }
    }
    let functions = times.of(Part::Functions).as_nanos() as f64;
    add(BETWEEN, (functions - lower - in_phases).max(0.0));
    (parts, phases)
}

/// Measures all files under all settings, in turns. Who fails under one of them is left out, and
/// named in the second result.
pub fn measure(inputs: &[Input], settings: &[Setting], turns: usize) -> (Vec<Run>, Vec<String>) {
    let mut sides: Vec<Side> = settings.iter().map(Side::new).collect();
    let (mut whole, mut failed) = (Vec::new(), Vec::new());
    for input in inputs {
        let counts: Vec<usize> = sides.iter().map(|side| side.files.len()).collect();
        match sides.iter_mut().try_for_each(|side| side.begin(input)) {
            Ok(()) => whole.push(input),
            Err(error) => {
                failed.push(error);
                for (side, count) in sides.iter_mut().zip(counts) {
                    side.files.truncate(count);
                }
            }
        }
    }
    for turn in 0..turns {
        for (at, input) in whole.iter().enumerate() {
            // Who comes second finds the text in the processor's cache: each does in turn.
            let count = sides.len();
            for i in 0..count {
                let side = if turn % 2 == 0 { i } else { count - 1 - i };
                if let Err(error) = sides[side].turn(at, input) {
                    failed.push(error);
                }
            }
        }
    }
    let runs = sides.into_iter().zip(settings).map(|(side, setting)| Run {
        orias: env!("CARGO_PKG_VERSION").to_string(),
        setting: setting.name.clone(),
        files: side.files,
    });
    (runs.collect(), failed)
}
