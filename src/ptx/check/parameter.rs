//! Parameters in `.param` space: those of the function itself, what it returns, and those of its
//! calls. Observed: ptxas 13.0.88.

use super::Checker;
use super::case::{Case, Misfit};
use crate::ptx::program::Variable;
use crate::ptx::types::Space;
use crate::ptx::words::Op;

impl<'s> Checker<'s> {
    /// What may be done with parameters: those of a kernel or function are read, results written,
    /// those of calls both, but not under a guard.
    pub(super) fn parameter_access(
        &self,
        var: &Variable,
        case: &Case<'_, 's>,
    ) -> Result<(), Misfit> {
        if var.space != Space::Param {
            return Ok(());
        }
        let stores = matches!(case.instruction.opcode, Op::St | Op::Atom | Op::Red);
        let input = self.is_parameter(var);
        if stores && input {
            return Err(Misfit {
                message: format!(
                    "Illegal to write to function input parameter '{}'",
                    self.program.name(var)
                ),
                note: "parameters are constant".to_string(),
            });
        }
        let result = self.is_result(var);
        if !stores && result {
            return Err(Misfit {
                message: format!(
                    "Illegal to read function return parameter '{}'",
                    self.program.name(var)
                ),
                note: "what a function returns is only written".to_string(),
            });
        }
        if case.instruction.guard.is_some() && !input && !result {
            return Err(Misfit {
                message: format!(
                    "Illegal to predicate instruction '{}.param' with operand '{}'",
                    case.instruction.opcode,
                    self.program.name(var)
                ),
                note: "a call's parameters are passed without a guard".to_string(),
            });
        }
        Ok(())
    }

    /// Parameters of calls have no address.
    pub(super) fn has_address(&self, var: &Variable) -> Result<(), Misfit> {
        if var.space != Space::Param || self.is_parameter(var) || self.is_result(var) {
            return Ok(());
        }
        Err(Misfit {
            message: format!("Illegal to take address of parameter '{}'", self.program.name(var)),
            note: "a call's parameter has no address".to_string(),
        })
    }

    /// Whether a variable is one of the current function's parameters.
    pub(super) fn is_parameter(&self, var: &Variable) -> bool {
        let function = &self.program.functions[self.function.0 as usize];
        function.params.iter().any(|param| self.program.vars[param.0 as usize].start == var.start)
    }

    /// The same of what it returns.
    pub(super) fn is_result(&self, var: &Variable) -> bool {
        let function = &self.program.functions[self.function.0 as usize];
        function
            .returns
            .iter()
            .any(|result| self.program.vars[result.0 as usize].start == var.start)
    }
}
