//! `call`: the callee, and that arguments match its parameters.

use super::Checker;
use super::case::Case;
use crate::ptx::ast;
use crate::ptx::constant::Const;
use crate::ptx::diagnostics::Diagnostic;
use crate::ptx::program::{Function, Operand, VarId, Variable};
use crate::ptx::types::{Space, Type, TypeKind};

impl<'s> Checker<'s> {
    /// `call (returns), callee, (arguments), prototype;` with everything but the callee optional.
    pub(super) fn check_call(&mut self, case: &Case<'_, 's>) {
        let (call, source) = (&*case.instruction, case.source);
        let mut operands = call.operands.iter().peekable();
        let results = list(operands.next_if(|operand| matches!(operand, Operand::List(_))));
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
            let name = self.program.name(&self.program.vars[var.0 as usize]);
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
                Some((&*callee.returns, &*callee.params))
            }
            (Some(Operand::Reg(_)), Some(Operand::Prototype(index))) => {
                let found = self.body.prototypes.get(*index as usize);
                found.map(|(returns, params)| (returns.as_slice(), params.as_slice()))
            }
            (Some(Operand::Reg(_)), Some(Operand::CallTargets(index))) => {
                // All targets of a list have one signature.
                let first =
                    self.body.call_targets.get(*index as usize).and_then(|list| list.first());
                first.map(|target| {
                    let target: &Function<'_> = &self.program.functions[target.0 as usize];
                    (&*target.returns, &*target.params)
                })
            }
            (Some(Operand::Reg(reg)), None) => {
                let name = self.register(*reg).name;
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
        let any = self.takes_any_number(wanted);
        if matches!(callee, Some(Operand::Func(_))) {
            for (vars, what) in [(wanted, "passing"), (wanted_returns, "returning")] {
                if vars.iter().any(|var| too_narrow(&self.program.vars[var.0 as usize])) {
                    let message = format!(
                        "In ABI compilation, {what} predicate, 8-bit and 16-bit values is not supported"
                    );
                    self.narrow_calls.push(
                        Diagnostic::error(source.span, message)
                            .note("a .b8, .b16 or .f16 is, and an array"),
                    );
                }
            }
        }
        let message = if results.len() != wanted_returns.len() {
            format!("return values: {} expected, {} given", wanted_returns.len(), results.len())
        } else if arguments.len() != wanted.len() && !any {
            format!("arguments: {} expected, {} given", wanted.len(), arguments.len())
        } else {
            let fixed = wanted.len() - usize::from(any);
            let results = wanted_returns.iter().zip(results).zip(written(case, 0));
            let arguments = wanted[..fixed].iter().zip(arguments).zip(written(case, 1));
            let wrong: Vec<Diagnostic> = results
                .map(|pair| (pair, true))
                .chain(arguments.map(|pair| (pair, false)))
                .filter_map(|(((formal, actual), written), result)| {
                    let formal = &self.program.vars[formal.0 as usize];
                    let message = self.misfit(formal, actual, written, result)?;
                    Some(Diagnostic::error(case.tree.span(written), message).note(format!(
                        "'{}' is declared as {} of {} bytes, aligned to {}",
                        self.program.name(formal),
                        formal.ty,
                        formal.size,
                        formal.align()
                    )))
                })
                .collect();
            wrong.into_iter().for_each(|diagnostic| self.diagnostics.push(diagnostic));
            return;
        };
        self.diagnostics.push(
            Diagnostic::error(source.span, "Call has wrong number of parameters").note(message),
        );
    }

    /// Why an argument, or the place of a result, does not fit a parameter. Observed: ptxas
    /// 13.0.88.
    fn misfit(
        &self,
        formal: &Variable,
        actual: &Operand,
        written: &ast::Operand,
        result: bool,
    ) -> Option<String> {
        let name = self.program.name(formal);
        let wrong_type = || format!("Type of argument does not match formal parameter '{name}'");
        if let ast::Operand::Const(value, _) = written {
            let kind = formal.ty.kind();
            let fits = match value {
                Const::Int { .. } => kind != TypeKind::Float,
                _ => matches!(kind, TypeKind::Float | TypeKind::Bits),
            };
            return (formal.array || !fits).then(wrong_type);
        }
        let (space, ty, align, array, size) = match actual {
            Operand::Sink if result => return None,
            Operand::Sink => {
                return Some(format!("Illegal argument for formal parameter '{name}'"));
            }
            Operand::Reg(reg) => {
                let ty = self.register(*reg).ty;
                let size = u64::from(ty.bytes());
                (Space::Reg, ty, size, false, size)
            }
            Operand::Var(var, _) => {
                let var = &self.program.vars[var.0 as usize];
                let Variable { space, ty, array, size, .. } = var;
                if *space != Space::Param {
                    let name = self.program.name(var);
                    return Some(format!("Call argument '{name}' has illegal state space"));
                }
                (*space, *ty, var.align(), *array, *size)
            }
            // Observed: all that counts of a whole vector register is its size.
            Operand::Vector(_) => {
                let fits = match written {
                    ast::Operand::Name(..) => self.vector_bytes(actual) == Some(formal.size),
                    _ => false,
                };
                return match (fits, formal.array) {
                    (_, true) => Some(format!("Inconsistent state space for parameter '{name}'")),
                    (false, _) => Some(wrong_type()),
                    (true, _) => None,
                };
            }
            Operand::Element(reg, _) => {
                let ty = self.register(*reg).ty;
                (Space::Reg, ty, u64::from(ty.bytes()), false, u64::from(ty.bytes()))
            }
            // Whatever else there is the lowering refuses.
            _ => return None,
        };
        let half_pair = |a: Type, b: Type| a == Type::F16x2 && b.bits() == 32;
        let fits = match (array, formal.array) {
            (true, true) => size == formal.size,
            // Observed: a vector parameter takes whatever has as many bits.
            (false, false) if formal.size != u64::from(formal.ty.bytes()) => size == formal.size,
            (false, false) => {
                super::slots::fits(formal.ty, ty, false)
                    || half_pair(ty, formal.ty)
                    || half_pair(formal.ty, ty)
            }
            _ => false,
        };
        if !fits {
            let spaces =
                array != formal.array && (space == Space::Reg || formal.space == Space::Reg);
            return Some(match spaces {
                true => format!("Inconsistent state space for parameter '{name}'"),
                false => wrong_type(),
            });
        }
        (align != formal.align())
            .then(|| format!("Alignment of argument does not match formal parameter '{name}'"))
    }

    /// Bytes of a vector register; None of what else may stand in a vector.
    fn vector_bytes(&self, operand: &Operand) -> Option<u64> {
        let Operand::Vector(list) = operand else { return None };
        let Some(Operand::Element(reg, _)) = list.first() else { return None };
        Some(u64::from(self.register(*reg).ty.bytes()) * list.len() as u64)
    }

    /// Whether the last parameter is `.param .b8 rest[]`: variable arguments.
    fn takes_any_number(&self, params: &[VarId]) -> bool {
        params.last().is_some_and(|last| self.program.vars[last.0 as usize].size == 0)
    }
}

/// Types that ptxas does not pass between functions.
fn too_narrow(var: &Variable) -> bool {
    use Type::{Pred, S8, S16, U8, U16};
    !var.array && matches!(var.ty, Pred | S8 | S16 | U8 | U16)
}

fn list(operand: Option<&Operand>) -> &[Operand] {
    match operand {
        Some(Operand::List(items)) => items,
        _ => &[],
    }
}

/// How the results (0) or arguments (1) are written.
fn written<'a, 's>(case: &'a Case<'_, 's>, which: usize) -> &'a [ast::Operand] {
    let mut operands = case.operands();
    let list = |operands: &mut &'a [ast::Operand]| match operands.split_first() {
        Some((ast::Operand::List(items, _), rest)) => {
            *operands = rest;
            case.tree.operands(*items)
        }
        _ => &[],
    };
    let results = list(&mut operands);
    operands = operands.get(1..).unwrap_or(&[]);
    if which == 0 { results } else { list(&mut operands) }
}
