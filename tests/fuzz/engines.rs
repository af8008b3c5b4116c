//! What runs a program: the interpreter, and the simulator on a cubin of ptxas or of ours.

use orias::driver::{CompileOptions, compile_source};
use orias::launch::Launch;
use orias::profiles::Profiles;
use orias_runner::gpu::{GpuError, GpuThread};
use orias_runner::{oracle, profile};
use orias_targets::simulator::{Hazards, Limits};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, ExitCode, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Warp instructions of a launch at most: programs of the generator need some thousands, deep
/// recursion more.
const MOST: u64 = 3_000_000;

/// Machine instructions for one of PTX, at most: at -O0, with calls and threads that run apart.
const SLOWER: u64 = 20;

/// How long ptxas may take for a module: a hundred times what it needs. Some programs keep it at
/// work for ever (`tests/fuzz/README.md`).
const PATIENCE: Duration = Duration::from_secs(40);

/// The content of the buffers after a launch.
pub type Buffers = Vec<Vec<u8>>;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Side {
    Interpreter,
    /// The simulator on ptxas's cubin of this level.
    Ptxas(u8),
    /// The simulator on our cubin of this level.
    Orias(u8),
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Side::Interpreter => write!(f, "interpreter"),
            Side::Ptxas(level) => write!(f, "ptxas -O{level}"),
            Side::Orias(level) => write!(f, "orias -O{level}"),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum What {
    /// Said to be not supported yet.
    Unsupported,
    /// The compiler or the loader does not take the program.
    Refused,
    /// The run ended with an error.
    Stopped,
    Panicked,
    /// The control bits do not protect a register: the machine might have given something else.
    Hazard,
    /// The outputs differ from the interpreter's.
    Differs,
}

/// Why there are no buffers, or wrong ones.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    pub what: What,
    pub text: String,
}

/// Runs `work`; a panic is a failure like others.
fn guarded<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|t| (*t).to_string()));
        Err(Failure { what: What::Panicked, text: text.unwrap_or_default() })
    })
}

fn failure(text: String, otherwise: What) -> Failure {
    let open = ["unsupported", "not supported", "cannot decode"].iter().any(|w| text.contains(w));
    Failure { what: if open { What::Unsupported } else { otherwise }, text }
}

pub fn interpret(source: &str, launch: &Launch) -> Result<Buffers, Failure> {
    guarded(|| {
        let program = orias::ptx::load(source)
            .map_err(|errors| failure(errors.render("program", source), What::Refused))?;
        interpret_loaded(&program, source, launch)
    })
}

/// Runs a kernel of a program that is loaded; `source` is its text.
pub fn interpret_loaded(
    program: &orias::ptx::program::Program<'_>,
    source: &str,
    launch: &Launch,
) -> Result<Buffers, Failure> {
    guarded(|| {
        let bounds = orias::interpret::Limits::default();
        let limits = orias::interpret::Limits { warp_instructions: MOST, ..bounds };
        orias::interpret::run_limited(program, source, launch, limits)
            .map(|outcome| outcome.buffers)
            .map_err(|error| failure(error.to_string(), What::Stopped))
    })
}

/// Whose cubin runs, and so what it is held to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Maker {
    /// Its hazards are failures where somebody asks. Regions that some leave without BREAK are let
    /// go.
    Ptxas {
        hazards: bool,
    },
    Orias,
}

static GPU: OnceLock<GpuThread> = OnceLock::new();

/// With `--gpu`: from now on cubins run on the machine's first GPU, not in the simulator, and its
/// name is printed.
///
/// # Errors
/// The exit status of a program that finds none, once it has said so.
pub fn choose_gpu(wanted: bool) -> Result<(), ExitCode> {
    if !wanted || GPU.get().is_some() {
        return Ok(());
    }
    let gpu = GpuThread::start().map_err(|error| {
        eprintln!("error: {error}");
        ExitCode::from(2)
    })?;
    println!("{}", gpu.name());
    // Somebody else's is as good.
    let _ = GPU.set(gpu);
    Ok(())
}

/// Ends a run that has lost the GPU, once it has said so of the program that faulted.
pub fn end_if_lost(stopped: bool) {
    if stopped && GPU.get().is_some_and(GpuThread::is_lost) {
        println!("the GPU is lost to this process");
        std::process::exit(3);
    }
}

/// Whether cubins run on the machine's GPU.
pub fn on_gpu() -> bool {
    GPU.get().is_some()
}

/// Runs a cubin: in the simulator, or on the GPU after [`choose_gpu`].
pub fn simulate(cubin: &[u8], launch: &Launch, maker: Maker) -> Result<Buffers, Failure> {
    if let Some(gpu) = GPU.get() {
        return gpu.run(cubin, launch).map(|outcome| outcome.buffers).map_err(|error| {
            let what = match error {
                // What comes after a fault says nothing.
                GpuError::Lost => What::Unsupported,
                _ => What::Stopped,
            };
            Failure { what, text: error.to_string() }
        });
    }
    // Groups of lanes change often in some runs: what one breaks for another shows.
    let slices = [256, 1, 7];
    let group_slice = slices[launch.block.iter().sum::<u32>() as usize % slices.len()];
    guarded(|| {
        let deny = maker != Maker::Ptxas { hazards: false };
        let hazards = if deny { Hazards::Find } else { Hazards::Ignore };
        let limits = Limits {
            warp_instructions: MOST * SLOWER,
            group_slice,
            hazards,
            strict_regions: maker == Maker::Orias,
            ..Limits::default()
        };
        let outcome = orias::simulate::simulate(cubin, launch, limits)
            .map_err(|error| failure(error.to_string(), What::Stopped))?;
        match outcome.hazards.first() {
            Some(hazard) => Err(Failure { what: What::Hazard, text: hazard.to_string() }),
            None => Ok(outcome.buffers),
        }
    })
}

/// Our cubin.
pub fn orias(source: &str, level: u8) -> Result<Vec<u8>, Failure> {
    guarded(|| {
        // Few registers: values are spilled and arguments crowd.
        let few = std::env::var("ORIAS_FUZZ_REGISTERS").ok();
        // By a profile that nobody has seen: blocks stand anywhere.
        let profiles = match std::env::var_os("ORIAS_FUZZ_PROFILE") {
            Some(_) => made_up(source),
            None => Profiles::default(),
        };
        let options = CompileOptions {
            opt_level: level,
            threads: 1,
            profiles,
            // The validator and the checkers of each phase, too.
            verify_each: std::env::var_os("ORIAS_FUZZ_VERIFY").is_some(),
            max_registers: few.and_then(|n| n.parse().ok()),
            knobs: knobs(),
            ..CompileOptions::default()
        };
        compile_source(source, &options)
            .map(|output| output.cubin)
            .map_err(|errors| failure(errors.render("program", source), What::Refused))
    })
}

/// What `ORIAS_FUZZ_KNOBS` sets: `NAME=VALUE,…`.
fn knobs() -> Vec<(String, String)> {
    let given = std::env::var("ORIAS_FUZZ_KNOBS").unwrap_or_default();
    let knobs = given.split(',').filter_map(|knob| knob.split_once('='));
    knobs.map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

fn made_up(source: &str) -> Profiles {
    let program = orias::ptx::load(source);
    program.map_or_else(|_| Profiles::default(), |p| profile::made_up(&p, source.len() as u64))
}

/// ptxas's cubin; `None` where there is no ptxas.
pub fn ptxas(source: &str, level: u8) -> Option<Result<Vec<u8>, Failure>> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let tool = oracle::tool("ptxas")?;
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("orias-fuzz-{}-{number}", std::process::id()));
    let run = || -> std::io::Result<Result<Vec<u8>, Failure>> {
        std::fs::create_dir_all(&folder)?;
        let (ptx, cubin, log) =
            (folder.join("p.ptx"), folder.join("p.cubin"), folder.join("p.log"));
        std::fs::write(&ptx, source)?;
        let mut child = Command::new(&tool)
            .args(["-arch=sm_90a", &format!("-O{level}"), "-suppress-stack-size-warning"])
            .arg(&ptx)
            .arg("-o")
            .arg(&cubin)
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log)?)
            .spawn()?;
        let started = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if started.elapsed() > PATIENCE {
                child.kill()?;
                child.wait()?;
                let text = format!("ptxas took more than {} seconds", PATIENCE.as_secs());
                // As little as a crash does this say of the program.
                return Ok(Err(Failure { what: What::Unsupported, text }));
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        if !status.success() {
            let log = std::fs::read(&log)?;
            let text = format!("{status}: {}", String::from_utf8_lossy(&log));
            // A crash says nothing about the program.
            let what = if status.code().is_none() { What::Unsupported } else { What::Refused };
            return Ok(Err(Failure { what, text }));
        }
        std::fs::read(&cubin).map(Ok)
    };
    let result = run().unwrap_or_else(|error| {
        Err(Failure { what: What::Refused, text: format!("{}: {error}", tool.display()) })
    });
    let _ = std::fs::remove_dir_all(&folder);
    Some(result)
}
