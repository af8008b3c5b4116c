//! How many variables a module may have.

use crate::ptx::diagnostics::{Diagnostic, Diagnostics};
use crate::ptx::types::{Space, Span};

/// Variables of memory, and functions, of a module at most. Each is a symbol with its name, a slot
/// for its address, a relocation: hundreds of bytes. A table of sections has room for fewer
/// kernels.
pub(super) const MOST_VARIABLES: usize = 1 << 17;

/// Bytes of text that each `.local` and `.param` variable of a function has behind as many as a
/// module may have: fewer than any compiler writes (`.param .b32 p;`), more than a list of short
/// names.
const TEXT_OF_VARIABLE: usize = 14;

/// `.local` and `.param` variables that the functions of a text may have.
pub(super) fn most_in_bodies(source: &str) -> usize {
    MOST_VARIABLES.max(source.len() / TEXT_OF_VARIABLE)
}

/// Counts a variable of the module; true where it has too many, which is said once.
pub(super) fn one_too_many(
    count: &mut usize,
    space: Space,
    span: Span,
    diagnostics: &mut Diagnostics,
) -> bool {
    *count += usize::from(matches!(space, Space::Global | Space::Const | Space::Shared));
    if *count == MOST_VARIABLES + 1 {
        let message = format!("Too many variables in the module ({MOST_VARIABLES} max)");
        diagnostics.push(Diagnostic::fatal(span, message));
    }
    *count > MOST_VARIABLES
}
