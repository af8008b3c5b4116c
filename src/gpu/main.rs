//! `orias-gpu`: what `orias run` starts. It takes the same options, and the cubin from standard
//! input.

use clap::Parser;
use orias::cli::run::RunArgs;
use orias::input;
use orias_gpu::Gpu;
use std::process::ExitCode;

#[derive(Parser, Debug)]
#[command(name = "orias-gpu", version)]
struct Options {
    #[command(flatten)]
    run: RunArgs,
}

fn main() -> ExitCode {
    match run(&Options::parse().run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("orias: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &RunArgs) -> Result<(), Box<dyn std::error::Error>> {
    let cubin = input::stream(std::io::stdin().lock(), input::MAX_CODE)?;
    let launch = args.launch.launch()?;
    let gpu = Gpu::open()?;
    let ran = gpu.run(&cubin, &launch, args.time)?;
    args.launch.finish(&launch, &ran.outcome)?;
    if let Some(median) = ran.microseconds {
        let (entry, count, gpu) = (&launch.entry, args.time, gpu.name());
        eprintln!("{entry}: median of {count} launches: {median:.2} us on {gpu}");
    }
    Ok(())
}
