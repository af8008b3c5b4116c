//! Options under which files are compiled, by the words of the command line.

use crate::cli::compile;
use crate::driver::CompileOptions;

/// A way to compile.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The words, for tables.
    pub name: String,
    /// What they mean.
    pub options: CompileOptions,
}

impl Setting {
    /// Reads options as a compile does: `--disable-phase=GvnCse -O2`.
    ///
    /// # Errors
    /// An option that there is not, or a word that is none.
    pub fn parse(words: &[String]) -> Result<Setting, String> {
        let name = if words.is_empty() { "no options".to_string() } else { words.join(" ") };
        Ok(Setting { name, options: compile::options_of(words)? })
    }

    /// The same without some phases.
    pub fn without(&self, phases: &[&str]) -> CompileOptions {
        let mut options = self.options.clone();
        options.disabled.extend(phases.iter().map(|phase| phase.to_string()));
        options
    }
}
