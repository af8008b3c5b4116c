//! How a file of a batch is compiled.

use crate::cli::compile::{self, CompileArgs, Warnings};
use crate::cli::options;
use crate::driver::CompileOptions;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::time::Duration;

/// The options of a compile, read once for all files that have the same.
pub struct Settings {
    /// As they were given, for what is warned of.
    pub args: CompileArgs,
    /// As the compiler takes them.
    pub options: CompileOptions,
    /// What was found fault with in them, for each file.
    pub warnings: Vec<String>,
}

/// Settings by the words of their options.
pub struct AllSettings {
    /// What all have.
    base: Vec<String>,
    budget: Option<Duration>,
    known: FxHashMap<Vec<String>, Result<Arc<Settings>, String>>,
}

impl AllSettings {
    pub fn new(base: &[String], budget: Option<Duration>) -> AllSettings {
        AllSettings { base: base.to_vec(), budget, known: FxHashMap::default() }
    }

    /// Those with these options of a file's own, which come after what all have.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn get(&mut self, own: Vec<String>) -> Result<Arc<Settings>, String> {
        if let Some(known) = self.known.get(&own) {
            return known.clone();
        }
        let read = read(&self.base, &own).map(|mut settings| {
            settings.options.budget = self.budget;
            Arc::new(settings)
        });
        self.known.insert(own, read.clone());
        read
    }
}

fn read(base: &[String], own: &[String]) -> Result<Settings, String> {
    let (base, own) = (options::normalise(base)?, options::normalise(own)?);
    let all = base.options.into_iter().chain(own.options).collect();
    let inputs = base.inputs.into_iter().chain(own.inputs).collect();
    let args = CompileArgs::new(all, inputs)?;
    if let Some(option) = args.of_one_file() {
        return Err(format!("Option '{option}' is for one file alone, not for a batch"));
    }
    let mut warnings = Warnings::kept(&args);
    for warning in base.warnings.iter().chain(&own.warnings) {
        warnings.give(warning);
    }
    let options = compile::compile_options(&args, &mut warnings).map_err(|text| plain(&text))?;
    Ok(Settings { args, options, warnings: warnings.kept.unwrap_or_default() })
}

/// An error's message without what stands before it on standard error.
fn plain(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.split_once(" : ")
        .or(line.split_once(": "))
        .map_or(line, |(_, message)| message)
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_string).collect()
    }

    #[test]
    fn a_files_own_options_come_last_without_a_warning() {
        let mut all = AllSettings::new(&words("-arch sm_90a -O3 -lineinfo"), None);
        let own = all.get(words("-O1")).unwrap();
        assert_eq!((own.options.opt_level, own.options.line_info), (1, true));
        assert!(own.warnings.is_empty());
        assert_eq!(all.get(Vec::new()).unwrap().options.opt_level, 3);
        assert!(Arc::ptr_eq(&own, &all.get(words("-O1")).unwrap()));
    }

    #[test]
    fn what_is_wrong_or_for_one_file_is_said() {
        let error = |own: &str| AllSettings::new(&[], None).get(words(own)).err().expect(own);
        assert_eq!(error("-arch sm_1"), "Value 'sm_1' is not defined for option 'gpu-name'");
        assert_eq!(error("-o a"), "Option 'output-file' is for one file alone, not for a batch");
        assert_eq!(error("a.ptx"), "Option 'FILE.ptx' is for one file alone, not for a batch");
        assert_eq!(error("-nonsense"), "Unknown option 'nonsense'");
    }
}
