//! `call`: the callee, and that arguments match its parameters.

use super::Checker;
use crate::ptx::ast;
use crate::ptx::diagnostics::Diagnostic;
use crate::ptx::program::{Function, Instruction, Operand, VarId};

impl<'s> Checker<'s> {
    /// `call (returns), callee, (arguments), prototype;` with everything but the callee optional.
    pub(super) fn check_call(&mut self, call: &Instruction<'s>, source: &ast::Instruction<'s>) {
        let mut operands = call.operands.iter().peekable();
        let returns = list(operands.next_if(|operand| matches!(operand, Operand::List(_))));
        let callee = operands.next();
        let arguments = list(operands.next_if(|operand| matches!(operand, Operand::List(_))));
        let prototype = operands.next();
        let mismatch = |why: &str| {
            Diagnostic::error(source.span, "Arguments mismatch for instruction 'call'").note(why)
        };
        if operands.next().is_some() {
            self.diagnostics
                .push(mismatch("expected: call (returns), callee, (arguments), prototype"));
            return;
        }
        let function = &self.program.functions[self.function.0 as usize];
        // Observed: ptxas 13.0.88, in kernels and functions.
        let formal = |operand: &Operand| match operand {
            Operand::Var(var, _) if function.params.contains(var) => Some(*var),
            Operand::Var(var, _) if function.returns.contains(var) => Some(*var),
            _ => None,
        };
        let lists = call.operands.iter().filter_map(|operand| match operand {
            Operand::List(items) => Some(items),
            _ => None,
        });
        if let Some(var) = lists.flatten().find_map(formal) {
            let name = self.program.vars[var.0 as usize].name;
            let message = format!(
                "Formal parameter '{name}' declared in .param space cannot be used as argument to call"
            );
            self.diagnostics.push(Diagnostic::error(source.span, message));
            return;
        }
        let signature = match (callee, prototype) {
            (Some(Operand::Func(callee)), _) => {
                let callee = &self.program.functions[callee.0 as usize];
                if callee.entry {
                    self.diagnostics.push(mismatch("a kernel cannot be called"));
                    return;
                }
                Some((callee.returns.as_slice(), callee.params.as_slice()))
            }
            (Some(Operand::Reg(_)), Some(Operand::Prototype(index))) => {
                let found = function.prototypes.get(*index as usize);
                found.map(|(returns, params)| (returns.as_slice(), params.as_slice()))
            }
            (Some(Operand::Reg(_)), Some(Operand::CallTargets(index))) => {
                // All targets of a list have one signature.
                let first =
                    function.call_targets.get(*index as usize).and_then(|list| list.first());
                first.map(|target| {
                    let target: &Function<'_> = &self.program.functions[target.0 as usize];
                    (target.returns.as_slice(), target.params.as_slice())
                })
            }
            (Some(Operand::Reg(reg)), None) => {
                let name = function.regs[reg.0 as usize].name;
                let message = format!("Call to '{name}' requires call prototype");
                self.diagnostics.push(
                    Diagnostic::error(source.span, message)
                        .note("name a .callprototype or .calltargets as the last operand"),
                );
                return;
            }
            _ => {
                self.diagnostics
                    .push(mismatch("a function or a register with its address is expected"));
                return;
            }
        };
        let Some((wanted_returns, wanted)) = signature else { return };
        let message = if returns != wanted_returns.len() {
            format!("return values: {} expected, {returns} given", wanted_returns.len())
        } else if arguments != wanted.len() && !self.takes_any_number(wanted) {
            format!("arguments: {} expected, {arguments} given", wanted.len())
        } else {
            return;
        };
        self.diagnostics.push(
            Diagnostic::error(source.span, "Call has wrong number of parameters").note(message),
        );
    }

    /// Whether the last parameter is `.param .b8 rest[]`: variable arguments.
    fn takes_any_number(&self, params: &[VarId]) -> bool {
        params.last().is_some_and(|last| self.program.vars[last.0 as usize].size == 0)
    }
}

fn list(operand: Option<&Operand>) -> usize {
    match operand {
        Some(Operand::List(items)) => items.len(),
        _ => 0,
    }
}
