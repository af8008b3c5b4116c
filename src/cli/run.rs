//! `orias run`: a kernel on the GPU of this machine.

use super::launch::LaunchArgs;
use crate::gpu::Gpu;
use clap::Args;

#[derive(Args, Debug)]
pub struct RunArgs {
    #[command(flatten)]
    launch: LaunchArgs,
}

/// Runs a kernel of a cubin through the CUDA driver.
pub fn run(args: &RunArgs) -> Result<(), Box<dyn std::error::Error>> {
    let file = &args.launch.file;
    let cubin = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let launch = args.launch.launch()?;
    let ran = Gpu::open()?.run(&cubin, &launch, 0)?;
    args.launch.finish(&launch, &ran.outcome)?;
    Ok(())
}
