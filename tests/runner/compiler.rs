//! The compilers that are compared: orias, in this process, and the oracle's ptxas.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use orias::driver::{CompileOptions, UNSEEN_FORMS, compile_source};

use super::oracle;

/// The target of the whole corpus.
pub const TARGET: &str = "sm_90a";

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, clap::ValueEnum)]
pub enum Compiler {
    Orias,
    /// Orias with all that the instruction table has, ptxas seen to emit it or not: what a GPU says
    /// of those instructions.
    Widened,
    Ptxas,
}

impl Compiler {
    pub fn name(self) -> &'static str {
        match self {
            Compiler::Orias => "orias",
            Compiler::Widened => "widened",
            Compiler::Ptxas => "ptxas",
        }
    }

    /// The cubin of a PTX file for the corpus's target, at level `opt`; `Err` holds the compiler's
    /// messages.
    ///
    /// # Panics
    /// As [`oracle::tool`], when ptxas is missing in CI.
    pub fn compile(self, ptx: &Path, opt: u8) -> Result<Vec<u8>, String> {
        match self {
            Compiler::Orias | Compiler::Widened => {
                let knobs = match self {
                    Compiler::Widened => vec![(UNSEEN_FORMS.to_string(), "1".to_string())],
                    _ => Vec::new(),
                };
                let source = std::fs::read_to_string(ptx)
                    .map_err(|error| format!("{}: {error}", ptx.display()))?;
                let options = CompileOptions {
                    target: Some(TARGET.to_string()),
                    opt_level: opt,
                    knobs,
                    ..CompileOptions::default()
                };
                compile_source(&source, &options)
                    .map(|output| output.cubin)
                    .map_err(|errors| errors.render(&ptx.display().to_string(), &source))
            }
            Compiler::Ptxas => ptxas(ptx, opt),
        }
    }
}

fn ptxas(ptx: &Path, opt: u8) -> Result<Vec<u8>, String> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let tool = oracle::tool("ptxas").ok_or("ptxas is missing: run tests/oracle.sh")?;
    let name =
        format!("orias-{}-{}.cubin", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let output = std::env::temp_dir().join(name);
    let result = Command::new(&tool)
        .arg(format!("-arch={TARGET}"))
        .arg(format!("-O{opt}"))
        .arg(ptx)
        .arg("-o")
        .arg(&output)
        .output()
        .map_err(|error| format!("{}: {error}", tool.display()))?;
    let cubin = std::fs::read(&output);
    // Nothing to do when it was not written.
    let _ = std::fs::remove_file(&output);
    if !result.status.success() {
        return Err(String::from_utf8_lossy(&result.stderr).into_owned());
    }
    cubin.map_err(|error| format!("{}: {error}", output.display()))
}
