//! `orias run`: a kernel on the GPU of this machine.

use super::launch::LaunchArgs;
use clap::Args;

#[derive(Args, Debug)]
pub struct RunArgs {
    #[command(flatten)]
    launch: LaunchArgs,
}

/// Runs a kernel of a cubin through the CUDA driver.
pub fn run(args: &RunArgs) -> Result<(), Box<dyn std::error::Error>> {
    let launch = args.launch.launch()?;
    Err(format!("{}: running on a GPU is not connected yet", launch.entry).into())
}
