//! Estimated cycles of a launch that a manifest describes.

use crate::cli::launch::LaunchArgs;
use crate::simulate::simulate;
use clap::Parser;
use orias_targets::simulator::{Hazards, Limits};
use serde::Serialize;

/// The options of `orias sim`.
#[derive(Parser)]
struct Line {
    #[command(flatten)]
    launch: LaunchArgs,
}

/// What the simulator says of a launch.
#[derive(Clone, Copy, Serialize, Debug, PartialEq, Eq)]
pub struct Cycles {
    /// Estimated.
    pub cycles: Option<u64>,
    /// Instructions that warps have executed.
    pub executed_instructions: u64,
}

/// Runs a cubin in the simulator with these options; files that they name for what it computes are
/// not written.
///
/// # Errors
/// What is wrong with the options or the run.
pub fn of(cubin: &[u8], options: &[String]) -> Result<Cycles, String> {
    let words = ["launch", "the cubin"].into_iter().chain(options.iter().map(String::as_str));
    let first_line = |error: clap::Error| {
        let text = error.to_string();
        text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_string()
    };
    let Line { launch } = Line::try_parse_from(words).map_err(first_line)?;
    let launch = launch.launch().map_err(|error| error.to_string())?;
    let limits = Limits { hazards: Hazards::Ignore, ..Limits::default() };
    let outcome = simulate(cubin, &launch, limits).map_err(|error| error.to_string())?;
    Ok(Cycles { cycles: outcome.cycles, executed_instructions: outcome.warp_instructions })
}
