//! How good code is: what it is made of, and what it does when it runs.

use super::inputs::Input;
use crate::compiler::Compiler;
use crate::driver::{CompileOptions, Output};
use crate::launch::case::Suite;
use crate::simulate::simulate;
use orias_targets::simulator::{Hazards, Limits};
use serde::{Deserialize, Serialize};

/// Of a module.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Code {
    /// Machine instructions of all functions, once each, without padding.
    pub instructions: u64,
    /// Registers of a thread, summed over functions.
    pub registers: u64,
    /// Bytes that spill code stores and loads, once for each instruction that does so.
    pub spill_bytes: u64,
    /// What it did in the launches of its `case.json`; None without one.
    pub run: Option<Run>,
}

/// Of all launches of a module together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Run {
    /// Warp instructions.
    pub executed: u64,
    /// As the simulator estimates them.
    pub cycles: u64,
}

impl Code {
    /// Of a module that was compiled with statistics, before it is run.
    pub fn of(output: &Output) -> Code {
        let functions = &output.functions;
        Code {
            instructions: output.stats.last().map_or(0, |stat| stat.insts_after.into()),
            registers: functions.iter().map(|f| u64::from(f.registers)).sum(),
            spill_bytes: functions
                .iter()
                .map(|f| u64::from(f.spill_store_bytes) + u64::from(f.spill_load_bytes))
                .sum(),
            run: None,
        }
    }
}

/// A module's code and file.
pub struct Compiled {
    /// What it is made of; no run yet.
    pub code: Code,
    /// To be run.
    pub cubin: Vec<u8>,
}

/// Compiles a module once.
///
/// # Errors
/// What the compiler says.
pub fn compile(input: &Input, options: &CompileOptions) -> Result<Compiled, String> {
    let options = CompileOptions { statistics: true, threads: 1, ..options.clone() };
    let output = Compiler::new(options)
        .compile(&input.source)
        .map_err(|errors| errors.render(&input.name, &input.source))?;
    Ok(Compiled { code: Code::of(&output), cubin: output.cubin })
}

/// Runs every launch of a module in the simulator.
///
/// # Errors
/// A launch that fails, or gives something else than is expected.
pub fn run(suite: &Suite, cubin: &[u8]) -> Result<Run, String> {
    let mut sum = Run::default();
    for case in &suite.cases {
        let fail = |error: String| format!("{}/{}: {error}", suite.name, case.name);
        let launch = suite.launch(case).map_err(|error| error.to_string())?;
        let limits = Limits { hazards: Hazards::Ignore, ..Limits::default() };
        let outcome = simulate(cubin, &launch, limits).map_err(|error| fail(error.to_string()))?;
        let wrong = suite.verify(case, &launch, &outcome.buffers);
        if let Some(first) = wrong.map_err(|error| error.to_string())?.into_iter().next() {
            return Err(fail(first));
        }
        sum.executed += outcome.warp_instructions;
        sum.cycles += outcome.cycles.unwrap_or(0);
    }
    Ok(sum)
}
