//! `orias.Options`, checked.

use orias::CompileOptions;
use orias::overrides::Overrides;
use orias::profiles::Profiles;
use orias::recipes::Recipes;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::time::Duration;

/// Registers of a thread that may be asked for: those that the ABI needs, and those that an
/// instruction can name (observed: ptxas 13.0.88, sm_90a, `--maxrregcount`).
const REGISTERS: std::ops::RangeInclusive<u32> = 24..=255;

/// The attributes of an `orias.Options`.
#[derive(FromPyObject)]
pub struct Options {
    arch: Option<String>,
    opt_level: u8,
    fmad: bool,
    max_registers: Option<u32>,
    line_info: bool,
    entries: Vec<String>,
    disabled: Vec<String>,
    knobs: Vec<(String, String)>,
    budget: Option<f64>,
    recipes: String,
    use_profile: String,
}

impl Options {
    /// What the compiler takes.
    ///
    /// # Errors
    /// ValueError for what means nothing; of names of kernels, phases and knobs the compiler
    /// complains itself.
    pub fn checked(self) -> PyResult<CompileOptions> {
        let wrong = |text: String| Err(PyValueError::new_err(text));
        if self.opt_level > 3 {
            return wrong(format!("opt_level {}: it is 0, 1, 2 or 3", self.opt_level));
        }
        let compiles_for = |name: &str| orias_targets::target(name).is_some_and(|t| t.codegen);
        if let Some(name) = self.arch.as_deref().filter(|name| !compiles_for(name)) {
            return wrong(format!("arch '{name}': orias does not compile for it"));
        }
        if let Some(most) = self.max_registers.filter(|most| !REGISTERS.contains(most)) {
            let (least, last) = (REGISTERS.start(), REGISTERS.end());
            return wrong(format!("max_registers {most}: it is {least} to {last}"));
        }
        let budget = match self.budget.map(Duration::try_from_secs_f64) {
            None => None,
            Some(Ok(budget)) => Some(budget),
            Some(Err(error)) => return wrong(format!("budget: {error}")),
        };
        let recipes = match Recipes::read(self.recipes.as_bytes()) {
            Ok(recipes) => recipes,
            Err(error) => return wrong(format!("recipes, {error}")),
        };
        let profiles = match Profiles::read(self.use_profile.as_bytes()) {
            Ok(profiles) => profiles,
            Err(error) => return wrong(format!("use_profile, {error}")),
        };
        Ok(CompileOptions {
            target: self.arch,
            opt_level: self.opt_level,
            fmad: self.fmad,
            max_registers: self.max_registers,
            disabled: self.disabled,
            knobs: self.knobs,
            recipes,
            profiles,
            budget,
            line_info: self.line_info,
            overrides: Overrides { entries: self.entries, ..Overrides::default() },
            ..CompileOptions::default()
        })
    }
}
