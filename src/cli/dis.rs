//! `orias dis`: a cubin as text.

use crate::dis::{Check, Code, DisOptions};
use crate::{dis, input};
use clap::Args;
use std::io::Write;
use std::path::PathBuf;

/// What `orias dis` is told.
#[derive(Args, Debug)]
pub struct DisArgs {
    /// The cubin
    file: PathBuf,
    /// Print labels for branch targets, as `nvdisasm -c` does; without it numbers, as `cuobjdump
    /// -sass`
    #[arg(long)]
    labels: bool,
    /// Print each instruction's word (always on without --labels)
    #[arg(long)]
    hex: bool,
    /// Print scoreboards, yield and stall before each instruction
    #[arg(long)]
    control: bool,
    /// The file is bare instruction words, not a cubin
    #[arg(long)]
    raw: bool,
    /// Target of the words of --raw
    #[arg(long, default_value = "sm_90a", value_name = "SM")]
    arch: String,
    /// Only this function; may stand several times
    #[arg(long, value_name = "NAME")]
    function: Vec<String>,
    /// Print everything that is known of each instruction as JSON (the schema is in
    /// `src/dis/json.rs`)
    #[arg(long, conflicts_with_all = ["labels", "hex", "control", "cfg", "check"])]
    json: bool,
    /// Print the control flow of each function as a Graphviz graph
    #[arg(long, conflicts_with_all = ["labels", "hex", "control", "check"])]
    cfg: bool,
    /// Decode and encode every word, and print how many came back bit for bit
    #[arg(long)]
    check: bool,
}

/// Failures that `--check` prints.
const SHOWN: usize = 20;

/// Prints what is asked for of a file.
///
/// # Errors
/// What is wrong with the file or with the options.
pub fn dis(args: &DisArgs) -> Result<(), Box<dyn std::error::Error>> {
    let name = args.file.display();
    let bytes = input::read(&args.file, input::MAX_CODE).map_err(|e| format!("{name}: {e}"))?;
    let options = DisOptions { labels: args.labels, hex: args.hex, control: args.control };
    let arch = || {
        orias_targets::target(&args.arch)
            .ok_or_else(|| format!("--arch {}: unknown target", args.arch))
    };
    let fail = |e: crate::dis::DisError| format!("{name}: {e}");
    let code = if args.raw { Code::raw(arch()?, &bytes) } else { Code::cubin(&bytes) };
    let mut code = code.map_err(fail)?;
    code.only(&args.function).map_err(fail)?;
    if args.check {
        let check = Check::code(&code);
        for (function, pc, what) in check.failures.iter().take(SHOWN) {
            eprintln!("{function}+{pc:#x}: {what}");
        }
        let Check { words, decoded, identical, .. } = check;
        let line = format!("{words} words, {decoded} decoded, {identical} bit-identical");
        if !check.passed() {
            return Err(format!("{name}: {line}").into());
        }
        println!("{line}");
        return Ok(());
    }
    if args.json {
        return quiet(dis::json(&code, std::io::stdout().lock()));
    }
    let (text, undecoded) = match args.cfg {
        true => (dis::graphs(&code).map_err(fail)?, Vec::new()),
        false => code.listing(options).map_err(fail)?,
    };
    if let Some(first) = undecoded.first() {
        let (count, place) = (undecoded.len(), &first.function);
        let error = &first.error;
        eprintln!("orias: {name}: {count} words cannot be decoded; the first: {place}: {error}");
    }
    quiet(std::io::stdout().lock().write_all(text.as_bytes()))
}

/// A reader that has seen enough (`head`) is no failure.
fn quiet(result: std::io::Result<()>) -> Result<(), Box<dyn std::error::Error>> {
    match result {
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}
