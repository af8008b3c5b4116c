//! `orias sim`: a kernel without a GPU.

use super::launch::LaunchArgs;
use crate::launch::{Launch, Outcome};
use crate::profiles::Profiles;
use crate::simulate::SimulateError;
use crate::{input, interpret};
use clap::Args;
use orias_targets::misuse::Checks;
use orias_targets::simulator::{Hazards, Limits};
use std::io::Write;
use std::path::PathBuf;

/// What `orias sim` is told.
#[derive(Args, Debug)]
pub struct SimArgs {
    #[command(flatten)]
    launch: LaunchArgs,
    /// Stop with an error after so many instructions of warps
    #[arg(long, value_name = "COUNT")]
    max_steps: Option<u64>,
    /// Misuse to look for: uninit (reads of shared and local memory that nothing has written;
    /// padding may be read with what it fills up, in at most 8 bytes), barriers (that a warp
    /// reaches in parts), or all. What is found is listed, and is an error
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = ["uninit", "barriers", "all"])]
    check: Vec<String>,
    /// Threads at BSYNC wait for all threads of their region, for ever where those do not come;
    /// otherwise they are let go when no thread of their warp could go on
    #[arg(long)]
    strict_regions: bool,
    /// Write how often threads came to the kernel's instructions, for `--use-profile`; of PTX only
    #[arg(long, value_name = "FILE")]
    write_profile: Option<PathBuf>,
}

impl SimArgs {
    fn checks(&self) -> Checks {
        let asks = |what: &str| self.check.iter().any(|c| c == what || c == "all");
        Checks { uninitialised: asks("uninit"), barriers: asks("barriers") }
    }
}

/// Input that cannot be read as what it should be: the same exit status as of a failed compile.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadInput(pub String);

/// Runs PTX in the interpreter and a cubin (an ELF file) in the simulator.
pub fn sim(args: &SimArgs) -> Result<(), Box<dyn std::error::Error>> {
    let file = &args.launch.file;
    let bytes = input::read(file, input::MAX_CODE)
        .map_err(|error| BadInput(format!("{}: {error}", file.display())))?;
    let launch = args.launch.launch()?;
    let outcome = if bytes.starts_with(b"\x7fELF") {
        if args.write_profile.is_some() {
            let message = "--write-profile: a profile is of PTX, and this is a cubin";
            return Err(BadInput(message.to_string()).into());
        }
        simulate(&bytes, &launch, args)?
    } else {
        let source = String::from_utf8_lossy(&bytes);
        interpreted(&file.display().to_string(), &source, &launch, args)?
    };
    for hazard in &outcome.hazards {
        eprintln!("hazard: {hazard}");
    }
    if args.launch.hazards == "deny" && !outcome.hazards.is_empty() {
        return Err(format!("--hazards=deny: {} hazards", outcome.hazards.len()).into());
    }
    for line in &outcome.unseen {
        eprintln!("unseen: {line}");
    }
    if args.launch.hazards == "deny" && !outcome.unseen.is_empty() {
        let count = outcome.unseen.len();
        let what = "instructions that ptxas was never seen to emit on this SM";
        return Err(format!("--hazards=deny: {count} {what}").into());
    }
    std::io::stdout().write_all(&outcome.printed)?;
    for line in &outcome.misuse {
        eprintln!("{line}");
    }
    args.launch.finish(&launch, &outcome)?;
    match outcome.misuse.len() {
        0 => Ok(()),
        count => Err(format!("misuse at {count} instructions").into()),
    }
}

fn interpreted(
    name: &str,
    source: &str,
    launch: &Launch,
    args: &SimArgs,
) -> Result<Outcome, Box<dyn std::error::Error>> {
    let program =
        crate::ptx::load(source).map_err(|errors| BadInput(errors.render(name, source)))?;
    let mut limits = crate::interpret::Limits { checks: args.checks(), ..Default::default() };
    limits.warp_instructions = args.max_steps.unwrap_or(limits.warp_instructions);
    limits.counts = args.write_profile.is_some();
    let outcome = interpret::run_limited(&program, source, launch, limits)?;
    if let Some(file) = &args.write_profile {
        let text = Profiles::of(&program, &outcome.reached).to_text();
        std::fs::write(file, text).map_err(|e| format!("{}: {e}", file.display()))?;
    }
    Ok(outcome)
}

fn simulate(
    cubin: &[u8],
    launch: &Launch,
    args: &SimArgs,
) -> Result<Outcome, Box<dyn std::error::Error>> {
    let hazards = if args.launch.hazards == "off" { Hazards::Ignore } else { Hazards::Find };
    let mut limits = Limits {
        checks: args.checks(),
        hazards,
        strict_regions: args.strict_regions,
        ..Default::default()
    };
    limits.warp_instructions = args.max_steps.unwrap_or(limits.warp_instructions);
    crate::simulate::simulate(cubin, launch, limits).map_err(|error| match error {
        SimulateError::Read(error) => BadInput(error.to_string()).into(),
        error => error.into(),
    })
}
