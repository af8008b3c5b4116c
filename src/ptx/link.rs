//! What a whole program must have besides being right: every function and variable that it counts
//! on.

use super::diagnostics::{Diagnostic, Diagnostics};
use super::program::Program;
use super::types::{Linkage, Space};

/// Functions that every system has.
const SYSTEM: [&str; 4] = ["vprintf", "malloc", "free", "__assertfail"];

/// Functions that are declared without `.extern` and have no body, and external arrays of no size:
/// no other module can bring them. What is `.extern` may be a function of the system, which calls
/// look up. Observed: ptxas 13.0.88 without `-c`.
pub fn unresolved(program: &Program<'_>) -> Diagnostics {
    let mut all = Diagnostics::default();
    for function in &program.functions {
        let known = function.linkage == Linkage::Extern
            || SYSTEM.contains(&function.name)
            || program.aliases.iter().any(|(alias, _)| *alias == function.name);
        if !function.defined && !known {
            let message = format!("Unresolved extern function '{}'", function.name);
            all.push(Diagnostic::fatal(function.span, message));
        }
    }
    for variable in &program.vars {
        let memory = matches!(variable.space, Space::Global | Space::Const);
        if variable.linkage == Linkage::Extern && memory && variable.size == 0 {
            let message = format!("Unresolved extern variable '{}'", program.name(variable));
            all.push(Diagnostic::fatal(program.span(variable), message));
        }
    }
    all
}
