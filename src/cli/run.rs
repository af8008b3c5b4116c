//! `orias run`: a kernel on the GPU of this machine.

use super::launch::LaunchArgs;
use crate::driver::{self, CompileOptions};
use crate::gpu::Gpu;
use crate::input;
use clap::Args;

#[derive(Args, Debug)]
pub struct RunArgs {
    #[command(flatten)]
    launch: LaunchArgs,
    /// Also launch it so many times more and print the median time on standard error
    #[arg(long, value_name = "N", default_value_t = 0)]
    time: usize,
}

/// Runs a kernel of a cubin through the CUDA driver; PTX is compiled first, at -O3.
pub fn run(args: &RunArgs) -> Result<(), Box<dyn std::error::Error>> {
    let file = &args.launch.file;
    let bytes = input::read(file, input::MAX_CODE);
    let mut bytes = bytes.map_err(|error| format!("{}: {error}", file.display()))?;
    if args.launch.hazards != "off" {
        return Err(format!(
            "--hazards={}: a GPU does not report hazards; use orias sim",
            args.launch.hazards
        )
        .into());
    }
    let launch = args.launch.launch()?;
    if !bytes.starts_with(b"\x7fELF") {
        let source = String::from_utf8_lossy(&bytes).into_owned();
        let output = driver::compile_source(&source, &CompileOptions::default())
            .map_err(|errors| errors.render(&file.display().to_string(), &source))?;
        bytes = output.cubin;
    }
    let gpu = Gpu::open()?;
    let ran = gpu.run(&bytes, &launch, args.time)?;
    args.launch.finish(&launch, &ran.outcome)?;
    if let Some(median) = ran.microseconds {
        let (entry, count, gpu) = (&launch.entry, args.time, gpu.name());
        eprintln!("{entry}: median of {count} launches: {median:.2} us on {gpu}");
    }
    Ok(())
}
