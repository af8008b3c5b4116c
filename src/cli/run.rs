//! `orias run`: a kernel on the GPU of this machine.
//!
//! The CUDA driver is a library that is loaded at run time, which a program without the dynamic
//! linker cannot do, and orias is one where it can be: starting that linker is a tenth of a small
//! compile. So another program, `orias-gpu`, talks to the driver.

use super::launch::LaunchArgs;
use crate::driver::{self, CompileOptions};
use crate::input;
use clap::Args;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// The program that runs cubins, in the folder of this one.
const RUNNER: &str = "orias-gpu";

/// What `orias run` is told.
#[derive(Args, Debug)]
pub struct RunArgs {
    /// The launch, as `orias sim` takes it.
    #[command(flatten)]
    pub launch: LaunchArgs,
    /// Also launch it so many times more and print the median time on standard error
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub time: usize,
}

/// Runs a kernel of a cubin through the CUDA driver; PTX is compiled first, at -O3. `options` are
/// what `args` was read from. Returns the exit code.
///
/// # Errors
/// What is wrong with the file or the options, or that there is no program to run it. What is wrong
/// with the launch that program says itself.
pub fn run(args: &RunArgs, options: &[String]) -> Result<u8, Box<dyn std::error::Error>> {
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
    args.launch.launch()?;
    if !bytes.starts_with(b"\x7fELF") {
        let source = String::from_utf8_lossy(&bytes).into_owned();
        let output = driver::compile_source(&source, &CompileOptions::default())
            .map_err(|errors| errors.render(&file.display().to_string(), &source))?;
        bytes = output.cubin;
    }
    start(&std::env::current_exe()?.with_file_name(RUNNER), options, &bytes)
}

fn start(
    runner: &Path,
    options: &[String],
    cubin: &[u8],
) -> Result<u8, Box<dyn std::error::Error>> {
    let mut child =
        Command::new(runner).args(options).stdin(Stdio::piped()).spawn().map_err(|error| {
            format!("{}: {error} (`src/release.sh --gpu` puts it there)", runner.display())
        })?;
    if let Some(mut stdin) = child.stdin.take() {
        // Without a GPU it may have ended before it read anything.
        match stdin.write_all(cubin) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => return Err(error.into()),
            _ => {}
        }
    }
    let code = child.wait()?.code();
    Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_runner_gets_options_and_cubin_and_its_exit_code_comes_back() {
        let script = "test \"$(cat)\" = 'a cubin' && exit 7";
        let options = ["-c".to_string(), script.to_string()];
        assert_eq!(start(Path::new("/bin/sh"), &options, b"a cubin").unwrap(), 7);
    }

    #[test]
    fn a_runner_that_ends_before_it_reads_is_no_error_of_the_pipe() {
        let options = ["-c".to_string(), "exit 1".to_string()];
        assert_eq!(start(Path::new("/bin/sh"), &options, &vec![0; 1 << 20]).unwrap(), 1);
    }

    #[test]
    fn without_the_runner_the_error_says_how_to_make_it() {
        let error = start(Path::new("/nowhere/orias-gpu"), &[], b"").unwrap_err().to_string();
        assert!(error.starts_with("/nowhere/orias-gpu: "), "{error}");
        assert!(error.contains("src/release.sh --gpu"), "{error}");
    }
}
