//! Why there is no file.

use crate::ptx::diagnostics::{Diagnostic, Diagnostics};
use orias_systems::Stopped;

/// Why a compile gives no cubin.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CompileError {
    /// What is wrong with the PTX or the options, or what this compiler cannot do, with places in
    /// the text.
    #[error(transparent)]
    Rejected(#[from] Diagnostics),
    /// Its [`Cancel`](orias_systems::Cancel) was used.
    #[error("the compile was cancelled")]
    Cancelled,
}

impl CompileError {
    /// What is wrong with the text; None where it was called off.
    pub fn diagnostics(&self) -> Option<&Diagnostics> {
        match self {
            CompileError::Rejected(diagnostics) => Some(diagnostics),
            CompileError::Cancelled => None,
        }
    }

    /// The text for standard error: messages with lines, columns and carets. `file` is the name to
    /// show, `source` what was compiled.
    pub fn render(&self, file: &str, source: &str) -> String {
        match self {
            CompileError::Rejected(diagnostics) => diagnostics.render(file, source),
            CompileError::Cancelled => {
                Diagnostics::from(Diagnostic::global(self.to_string())).render(file, source)
            }
        }
    }
}

/// Why a module has no code at the level that was tried.
#[derive(Debug)]
pub(crate) enum Failure {
    Rejected(Diagnostics),
    Stopped(Stopped),
}

impl From<Diagnostics> for Failure {
    fn from(diagnostics: Diagnostics) -> Failure {
        Failure::Rejected(diagnostics)
    }
}

impl From<Diagnostic> for Failure {
    fn from(diagnostic: Diagnostic) -> Failure {
        Failure::Rejected(diagnostic.into())
    }
}

impl From<Stopped> for Failure {
    fn from(stopped: Stopped) -> Failure {
        Failure::Stopped(stopped)
    }
}

impl From<Failure> for CompileError {
    fn from(failure: Failure) -> CompileError {
        match failure {
            Failure::Rejected(diagnostics) => CompileError::Rejected(diagnostics),
            // Where time is limited a lower level is tried.
            Failure::Stopped(_) => CompileError::Cancelled,
        }
    }
}
