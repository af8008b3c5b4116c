//! Runs every kernel of a PTX file in the interpreter and, from a compiler's cubin, in the
//! simulator, and compares all buffers.
//!
//! What a kernel gets depends only on its parameters: each `.u64` one points to a buffer of 256
//! bytes a thread, or is a number, each other one has bytes of its own. The contents are edge
//! values of integers and floats, made from a seed. Two programs of different authors give the same
//! results on them, or one of the two is wrong. A kernel that no engine can run on them, because it
//! takes a number for an address, may get inputs that mean more.

use crate::setup::{BYTES, Random, Setup};
use crate::{inputs, prepare};
use orias::elf::read::Cubin;
use orias::interpret::{self, InterpretError};
use orias::launch::{Argument, Buffer, Launch, Outcome, Scalar};
use orias::ptx::program::{Function, Program};
use orias::ptx::types::Type;
use orias::simulate::{SimulateError, simulate_read};
use orias_targets::misuse::Checks;
use orias_targets::simulator::{self, Hazard};
use rayon::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// After so many launches that do not end no more are tried.
const MOST_LONG: usize = 1;

/// How the two engines agree on a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// All bytes of all buffers are equal.
    Same,
    /// They differ, but only as floats do that were rounded differently, or in the bits of a NaN.
    Near(String),
    Differ(String),
    /// Not as the interpreter, but as the simulator does with the cubin of reference too: PTX
    /// leaves it open, or the reference leaves PTX.
    AsReference(String),
    /// Threads meet in one place in another order: one thread alone gives the same.
    Order(String),
    /// Only the interpreter stops with an error.
    Interpreter(String),
    /// Only the simulator does.
    Simulator(String),
    /// Both do.
    Both(String, String),
    /// They differ, and the kernel reads memory that nothing has written.
    Unwritten(String),
}

impl End {
    /// Both engines gave up waiting for the launch to end.
    fn runs_on(&self) -> bool {
        matches!(self, End::Both(a, b) if [a, b].iter().all(|t| t.contains("still running")))
    }

    /// Neither engine ran to its end, or the kernel reads what is not there.
    pub fn says_nothing(&self) -> bool {
        self.rank() == 0
    }

    /// The worse of two has the higher number. A launch that no engine can run says nothing where
    /// another one runs.
    fn rank(&self) -> u32 {
        match self {
            End::Both(..) | End::Unwritten(_) => 0,
            End::Same => 1,
            End::Near(_) => 2,
            End::AsReference(_) | End::Order(_) => 3,
            End::Simulator(_) => 4,
            End::Interpreter(_) => 5,
            End::Differ(_) => 6,
        }
    }
}

/// One kernel's end: the worst over its launches.
#[derive(Clone, Debug)]
pub struct Verdict {
    pub kernel: String,
    pub end: End,
    /// Hazards of the simulator's launches that ran to their end, each once.
    pub hazards: Vec<Hazard>,
}

/// Launches the kernels of a module whose names `wanted` accepts, in the order of the source.
///
/// # Errors
/// When the PTX or the cubin cannot be read.
pub fn module(
    source: &str,
    cubin: &[u8],
    setup: Setup,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<Verdict>, String> {
    module_beside(source, cubin, None, setup, wanted)
}

/// The same, with a cubin of reference: what it gives in the simulator counts where the interpreter
/// gives something else.
///
/// # Errors
/// When the PTX or a cubin cannot be read.
pub fn module_beside(
    source: &str,
    cubin: &[u8],
    reference: Option<&[u8]>,
    setup: Setup,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<Verdict>, String> {
    let program = orias::ptx::load(source).map_err(|e| e.render("PTX", source))?;
    let cubin = Cubin::read(cubin).map_err(|e| e.to_string())?;
    let reference = reference.map(Cubin::read).transpose().map_err(|e| e.to_string())?;
    let kernels: Vec<&Function<'_>> =
        program.functions.iter().filter(|f| f.entry && f.defined && wanted(f.name)).collect();
    let verdict = |kernel: &&Function<'_>| {
        let text = text_of(source, kernel);
        let threads = match setup.prepared {
            true => prepare::threads(text, setup.threads),
            false => setup.threads,
        };
        let setup = Setup { threads, ..setup };
        let mut launches = launches(&program, kernel, setup);
        if setup.prepared {
            for launch in &mut launches {
                prepare::values(launch, text, &mut Random(setup.seed));
            }
        }
        let mut hazards: Vec<Hazard> = Vec::new();
        let mut compare = |launch: &Launch| {
            let cubins = [Some(&cubin), reference.as_ref()];
            let (end, found) = compare(&program, source, cubins, launch, setup);
            for hazard in found {
                let same = |h: &Hazard| (&h.first, &h.second) == (&hazard.first, &hazard.second);
                if !hazards.iter().any(same) {
                    hazards.push(hazard);
                }
            }
            end
        };
        let mut end = launches.iter().map(&mut compare).max_by_key(End::rank).unwrap_or(End::Same);
        if setup.meaningful && end.says_nothing() {
            let mut long = 0;
            for launch in inputs::meaningful(&program, kernel, setup) {
                let found = compare(&launch);
                long += usize::from(found.runs_on());
                if !found.says_nothing() || long > MOST_LONG {
                    end = if found.says_nothing() { end } else { found };
                    break;
                }
            }
        }
        let meets = text.contains("atom.");
        if let (true, true, End::Differ(text)) = (setup.meaningful, meets, &end) {
            let alone = self::launches(&program, kernel, Setup { threads: 1, ..setup });
            let same = |launch| matches!(compare(launch), End::Same | End::Near(_));
            if alone.iter().all(same) {
                end = End::Order(text.clone());
            }
        }
        Verdict { kernel: kernel.name.to_string(), end, hazards }
    };
    Ok(kernels.par_iter().map(verdict).collect())
}

/// A kernel's text, to the next kernel's.
fn text_of<'a>(source: &'a str, kernel: &Function<'_>) -> &'a str {
    let own = source.get(kernel.span.start as usize..).unwrap_or_default();
    let rest = own.split_once(".entry").map_or(own, |(_, rest)| rest);
    rest.split_once("\n.visible .entry").map_or(rest, |(text, _)| text)
}

/// The launches of a kernel: parameters after the second as pointers, and as numbers.
pub fn launches(program: &Program<'_>, kernel: &Function<'_>, setup: Setup) -> Vec<Launch> {
    let pointers = if kernel.params.len() > 2 { &[true, false][..] } else { &[true] };
    let launch = |pointers: &bool| Launch {
        entry: kernel.name.to_string(),
        grid: [1; 3],
        block: [setup.threads, 1, 1],
        args: kernel
            .params
            .iter()
            .enumerate()
            .map(|(index, id)| {
                let var = &program.vars[id.0 as usize];
                let mut random = Random(setup.seed.wrapping_add(index as u64 * 0x1000));
                let wide = matches!(var.ty, Type::U64 | Type::B64 | Type::S64) && var.size == 8;
                if wide && (index < 2 || *pointers) {
                    let words = setup.threads as usize * BYTES / 8;
                    let bytes = (0..words).flat_map(|_| random.value().to_le_bytes()).collect();
                    Argument::Buffer(Buffer { bytes, writable: true, output: None })
                } else if wide {
                    Argument::Scalar(Scalar::U64(random.value()))
                } else {
                    let words = var.size.div_ceil(8);
                    let bytes = (0..words).flat_map(|_| random.value().to_le_bytes());
                    Argument::Bytes(bytes.take(var.size as usize).collect())
                }
            })
            .collect(),
        ..Launch::default()
    };
    pointers.iter().map(launch).collect()
}

/// What one engine gave: an error's text and whether it is one of the kernel (a fault, a trap), not
/// of the engine.
fn guarded<E: std::fmt::Display>(
    run: impl FnOnce() -> Result<Outcome, E>,
) -> Result<Outcome, String> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(result) => result.map_err(|e| e.to_string()),
        Err(_) => Err("PANIC".to_string()),
    }
}

fn compare(
    program: &Program<'_>,
    source: &str,
    [cubin, reference]: [Option<&Cubin<'_>>; 2],
    launch: &Launch,
    setup: Setup,
) -> (End, Vec<Hazard>) {
    let interpreted = guarded::<InterpretError>(|| {
        let checks = Checks { uninitialised: true, barriers: false };
        let limits = interpret::Limits { warp_instructions: setup.steps, checks, counts: false };
        interpret::run_limited(program, source, launch, limits)
    });
    let simulated = |cubin: &Cubin<'_>, strict_regions: bool| {
        guarded::<SimulateError>(|| {
            let limits = simulator::Limits {
                warp_instructions: setup.steps,
                hazards: simulator::Hazards::Find,
                strict_regions,
                ..simulator::Limits::default()
            };
            simulate_read(cubin, launch, limits)
        })
    };
    let run =
        cubin.map_or(Err("no cubin".to_string()), |cubin| simulated(cubin, setup.strict_regions));
    let hazards = run.as_ref().map_or(Vec::new(), |outcome| outcome.hazards.clone());
    let end = match (&interpreted, &run) {
        (Ok(a), Ok(b)) => compare_buffers(a, b),
        (Err(a), Err(b)) => End::Both(a.clone(), b.clone()),
        (Err(a), Ok(_)) => End::Interpreter(a.clone()),
        (Ok(_), Err(b)) => End::Simulator(b.clone()),
    };
    let text = match &end {
        End::Differ(t) | End::Simulator(t) | End::Interpreter(t) => t.clone(),
        _ => return (end, hazards),
    };
    let same = match (&run, reference.map(|cubin| simulated(cubin, false))) {
        (Ok(a), Some(Ok(b))) => matches!(compare_buffers(a, &b), End::Same | End::Near(_)),
        (Err(_), Some(Err(_))) => true,
        _ => false,
    };
    (if same { End::AsReference(text) } else { end }, hazards)
}

fn compare_buffers(ours: &Outcome, theirs: &Outcome) -> End {
    let mut near = None;
    for (index, (a, b)) in ours.buffers.iter().zip(&theirs.buffers).enumerate() {
        for (word, (x, y)) in a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0).enumerate() {
            let (x, y) = (u64::from_le_bytes(*x), u64::from_le_bytes(*y));
            if x == y {
                continue;
            }
            let [thread, offset] = [word * 8 / BYTES, word * 8 % BYTES];
            let text = format!(
                "buffer {index}, thread {thread}, byte {offset}: interpreter {x:016x}, simulator {y:016x}"
            );
            match ours.misuse.first() {
                _ if is_near(x, y) => {}
                Some(unwritten) => return End::Unwritten(unwritten.clone()),
                None => return End::Differ(text),
            }
            near.get_or_insert(text);
        }
    }
    near.map_or(End::Same, End::Near)
}

/// Whether two double words are close as floats of one of the formats.
fn is_near(x: u64, y: u64) -> bool {
    let close = |x: f64, y: f64, digits: i32| {
        (x.is_nan() && y.is_nan()) || (x - y).abs() <= x.abs().max(y.abs()) * 2f64.powi(-digits)
    };
    let double = f64::from_bits(x);
    if close(double, f64::from_bits(y), 40) && (double.is_nan() || double.abs() > 1e-300) {
        return true;
    }
    let single = |x: u32, y: u32| {
        let (a, b) = (f32::from_bits(x), f32::from_bits(y));
        x == y || (close(a.into(), b.into(), 17) && (a.is_normal() || a.is_nan()))
    };
    let halves = |x: u32, y: u32| {
        [0, 16].iter().all(|at| {
            let (a, b) = ((x >> at) as u16, (y >> at) as u16);
            a == b || half_near(a, b)
        })
    };
    let words = |x: u64| [x as u32, (x >> 32) as u32];
    words(x).iter().zip(words(y)).all(|(a, b)| single(*a, b) || halves(*a, b))
}

/// Neighbours, or both NaN, as f16 or bf16.
fn half_near(a: u16, b: u16) -> bool {
    let nan = |h: u16, infinity: u16| h & 0x7fff > infinity;
    let step = a.abs_diff(b) <= 2 && a & 0x7c00 != 0;
    step || [0x7c00, 0x7f80].iter().any(|i| nan(a, *i) && nan(b, *i))
}
