//! What each phase is worth: code without it beside code with it.
//!
//! Every phase that may be switched off is, alone, and all files are compiled once more; what is
//! another code then runs in the simulator, where there are launches, and must give what is
//! expected. Several phases may run the same system, and each finds done what another one did: such
//! are switched off together too.

use super::code::{self, Code, Run};
use super::inputs::Input;
use super::setting::Setting;
use super::spread::geomean;
use crate::driver::CompileOptions;
use orias_systems::pipeline::{PHASES, Phase, Status};
use rayon::prelude::*;

/// A phase, or several that run one system, and the code without them.
#[derive(Clone, Debug)]
pub struct Worth {
    /// Name of the phase, or of the system.
    pub name: String,
    /// What is switched off; nothing where correct code needs the phase.
    pub off: Vec<&'static str>,
    /// Files with other code.
    pub changed: usize,
    /// With it and without it, of all files together.
    pub instructions: [u64; 2],
    /// As [`Code::registers`].
    pub registers: [u64; 2],
    /// As [`Code::spill_bytes`].
    pub spill_bytes: [u64; 2],
    /// Warp instructions without it by those with it: geometric mean over files that are run.
    pub executed: f64,
    /// The same of estimated cycles.
    pub cycles: f64,
    /// The file whose cycles suffer most without it, and by how much.
    pub most: Option<(String, f64)>,
    /// What does not compile or is not right without it.
    pub wrong: Vec<String>,
}

impl Worth {
    /// Correct code needs the phase.
    pub fn is_needed(&self) -> bool {
        self.off.is_empty()
    }

    /// Hundredths of instructions more without it.
    pub fn more_instructions(&self) -> f64 {
        more(self.instructions)
    }
}

/// Hundredths by which the second is more.
pub fn more([with, without]: [u64; 2]) -> f64 {
    if with == 0 { 0.0 } else { 100.0 * (without as f64 / with as f64 - 1.0) }
}

/// A module as it is with all phases.
struct Base<'i> {
    input: &'i Input,
    code: Code,
    cubin: Vec<u8>,
}

/// The rows of all phases that exist and run at the setting's level, in order; then those of
/// systems that run as several phases, and one without all that may be switched off.
///
/// # Errors
/// A module that cannot be compiled or run with all phases.
pub fn worth(inputs: &[Input], setting: &Setting) -> Result<Vec<Worth>, String> {
    let base: Result<Vec<Base<'_>>, String> = inputs
        .par_iter()
        .map(|input| {
            let mut compiled = code::compile(input, &setting.options)?;
            if let Some(suite) = &input.suite {
                compiled.code.run = Some(code::run(suite, &compiled.cubin)?);
            }
            Ok(Base { input, code: compiled.code, cubin: compiled.cubin })
        })
        .collect();
    let base = base?;
    let level = setting.options.opt_level;
    let disabled = |phase: &Phase| setting.options.disabled.iter().any(|d| d == phase.name);
    let runs = |phase: &&Phase| phase.runs_at(level) && !disabled(phase);
    let mut rows = Vec::new();
    let (mut systems, mut all) = (Vec::<(&str, Vec<&'static str>)>::new(), Vec::new());
    for phase in PHASES.iter().filter(runs) {
        let Status::Implemented(_, system) = phase.status else { continue };
        if phase.is_needed(level) {
            rows.push(Worth::of(phase.name.to_string(), Vec::new(), &base, &setting.options));
            continue;
        }
        rows.push(Worth::of(
            phase.name.to_string(),
            vec![phase.name],
            &base,
            &setting.without(&[phase.name]),
        ));
        all.push(phase.name);
        match systems.iter_mut().find(|(name, _)| *name == system.name) {
            Some((_, phases)) => phases.push(phase.name),
            None => systems.push((system.name, vec![phase.name])),
        }
    }
    systems.retain(|(_, phases)| phases.len() > 1);
    for (name, off) in systems {
        let name = format!("all {} of {name}", off.len());
        let options = setting.without(&off);
        rows.push(Worth::of(name, off, &base, &options));
    }
    let options = setting.without(&all);
    rows.push(Worth::of("all that may be switched off".to_string(), all, &base, &options));
    Ok(rows)
}

/// What one file is without a phase.
enum Without {
    Same,
    Other(Code),
    Wrong(String),
}

impl Worth {
    fn of(
        name: String,
        off: Vec<&'static str>,
        base: &[Base<'_>],
        options: &CompileOptions,
    ) -> Worth {
        let without: Vec<Without> = base
            .par_iter()
            .map(|base| if off.is_empty() { Without::Same } else { other(base, options) })
            .collect();
        let mut worth = Worth {
            name,
            off,
            changed: 0,
            instructions: [0; 2],
            registers: [0; 2],
            spill_bytes: [0; 2],
            executed: 1.0,
            cycles: 1.0,
            most: None,
            wrong: Vec::new(),
        };
        let (mut executed, mut cycles) = (Vec::new(), Vec::new());
        for (base, without) in base.iter().zip(without) {
            let code = match without {
                Without::Same => base.code,
                Without::Other(code) => {
                    worth.changed += 1;
                    code
                }
                Without::Wrong(error) => {
                    worth.wrong.push(error);
                    continue;
                }
            };
            for (sum, code) in [(0, &base.code), (1, &code)] {
                worth.instructions[sum] += code.instructions;
                worth.registers[sum] += code.registers;
                worth.spill_bytes[sum] += code.spill_bytes;
            }
            let (Some(with), Some(without)) = (base.code.run, code.run) else { continue };
            let ratio = |of: fn(Run) -> u64| of(without) as f64 / (of(with) as f64).max(1.0);
            executed.push(ratio(|run| run.executed));
            let more = ratio(|run| run.cycles);
            cycles.push(more);
            if more > worth.most.as_ref().map_or(1.0, |(_, most)| *most) {
                worth.most = Some((base.input.name.clone(), more));
            }
        }
        worth.executed = geomean(executed.into_iter());
        worth.cycles = geomean(cycles.into_iter());
        worth
    }
}

fn other(base: &Base<'_>, options: &CompileOptions) -> Without {
    let mut compiled = match code::compile(base.input, options) {
        Ok(compiled) => compiled,
        Err(error) => return Without::Wrong(error),
    };
    if compiled.cubin == base.cubin {
        return Without::Same;
    }
    if let Some(suite) = &base.input.suite {
        match code::run(suite, &compiled.cubin) {
            Ok(run) => compiled.code.run = Some(run),
            Err(error) => return Without::Wrong(error),
        }
    }
    Without::Other(compiled.code)
}
