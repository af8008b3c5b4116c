//! `orias sim`: a kernel without a GPU.

use super::launch::LaunchArgs;
use crate::interpret;
use crate::launch::{Launch, Outcome};
use clap::Args;
use orias_targets::simulator::Limits;
use std::io::Write;

#[derive(Args, Debug)]
pub struct SimArgs {
    #[command(flatten)]
    launch: LaunchArgs,
    /// Stop with an error after so many instructions of warps
    #[arg(long, value_name = "COUNT")]
    max_steps: Option<u64>,
}

/// Runs PTX in the interpreter and a cubin (an ELF file) in the simulator.
pub fn sim(args: &SimArgs) -> Result<(), Box<dyn std::error::Error>> {
    let file = &args.launch.file;
    let bytes = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let launch = args.launch.launch()?;
    let outcome = if bytes.starts_with(b"\x7fELF") {
        if args.launch.hazards != "off" {
            return Err(format!(
                "--hazards={}: hazard checking is not built yet; use --hazards=off",
                args.launch.hazards
            )
            .into());
        }
        simulate(&bytes, &launch, args.max_steps)?
    } else {
        let source = String::from_utf8_lossy(&bytes);
        interpreted(&file.display().to_string(), &source, &launch, args.max_steps)?
    };
    std::io::stdout().write_all(&outcome.printed)?;
    args.launch.finish(&launch, &outcome)?;
    Ok(())
}

fn interpreted(
    name: &str,
    source: &str,
    launch: &Launch,
    max_steps: Option<u64>,
) -> Result<Outcome, Box<dyn std::error::Error>> {
    let program = crate::ptx::load(source).map_err(|errors| errors.render(name, source))?;
    let mut limits = interpret::Limits::default();
    limits.warp_instructions = max_steps.unwrap_or(limits.warp_instructions);
    Ok(interpret::run_limited(&program, source, launch, limits)?)
}

fn simulate(
    cubin: &[u8],
    launch: &Launch,
    max_steps: Option<u64>,
) -> Result<Outcome, Box<dyn std::error::Error>> {
    let mut limits = Limits::default();
    limits.warp_instructions = max_steps.unwrap_or(limits.warp_instructions);
    Ok(crate::simulate::simulate(cubin, launch, limits)?)
}
