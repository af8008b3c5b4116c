//! PTX: text to syntax tree to checked program.

pub mod ast;
pub mod calls;
pub mod check;
pub mod code;
pub mod constant;
mod cursor;
pub mod diagnostics;
pub mod inline;
pub mod lexer;
pub mod link;
mod number;
pub mod operand;
pub mod parser;
pub mod program;
pub mod target;
pub mod types;
pub mod words;

use diagnostics::{Diagnostic, Diagnostics};
use program::Program;

/// Parses and checks a module.
///
/// # Errors
/// Every error that was found; warnings of a module without errors are in [`Program::warnings`].
pub fn load(source: &str) -> Result<Program<'_>, Diagnostics> {
    if u32::try_from(source.len()).is_err() {
        return Err(Diagnostic::global("The input is larger than 4 GiB").into());
    }
    let mut checker = check::Checker::new(source);
    let diagnostics = parser::parse(source, &mut checker);
    if diagnostics.has_errors() {
        return Err(diagnostics);
    }
    checker.finish()
}

/// The same program, whose functions' bodies the threads of the pool that this runs in share. None
/// where it is for [`load`] to read the module: it has an error, or few bodies, or what is rare.
pub fn load_apart(source: &str) -> Option<Program<'_>> {
    check::load_apart(source)
}

/// Whether a text is so long that threads may take less time for it than one.
pub(crate) fn is_large(source: &str) -> bool {
    source.len() >= LARGE
}

/// Bytes that one thread reads in about the time in which others are woken, several times.
const LARGE: usize = 1 << 18;
