//! Function bodies: scopes, labels, and the flat list of instructions.

use super::Checker;
use super::declaration::Place;
use super::scope::{Entity, Range, RegShape};
use crate::ptx::ast::{Ident, Statement};
use crate::ptx::program::{FuncId, Instruction, LabelId, VarId};
use crate::ptx::types::{Space, Span, Type};

/// Labels of a `.branchtargets` at most. Each is a way of control through the function, which costs
/// some kilobytes and a tenth of a millisecond; ptxas 13.0.88 takes minutes for half as many.
const MOST_TARGETS: usize = 1 << 17;

impl<'s> Checker<'s> {
    /// The statements of a function, in the scope that holds its parameters.
    pub(super) fn body(&mut self, statements: &[Statement<'s>]) {
        self.loc = (0, 0, 0);
        self.statements(statements);
    }

    /// The depth of this recursion is that of the parser's blocks.
    fn statements(&mut self, statements: &[Statement<'s>]) {
        self.declare_labels(statements);
        for (i, statement) in statements.iter().enumerate() {
            match statement {
                Statement::Variable(variable) if variable.space == Space::Reg => {
                    self.registers(variable);
                }
                Statement::Variable(variable) => self.local_variable(variable),
                Statement::Label(name) => {
                    if let Some(Entity::Label(label)) = self.scopes.here(name.text) {
                        let at = self.current().code.len();
                        self.current().labels[label.0 as usize].0 = at;
                    }
                }
                Statement::Instruction(instruction) => self.instruction(instruction),
                Statement::Block(inner, _) => {
                    self.scopes.enter();
                    self.statements(inner);
                    self.scopes.leave();
                }
                Statement::Loc { file, line, column, inlined } => {
                    self.loc = (*file, *line, *column);
                    if let Some(inlined) = inlined {
                        self.inline_gate(inlined.function_name.span);
                    }
                }
                Statement::Pragma { values, span } => {
                    self.pragma_gates(values, *span);
                    self.current().pragmas.extend(values.iter().cloned());
                }
                Statement::BranchTargets(names, span) => {
                    self.needs_label(statements, i, *span, ".branchtargets");
                    if names.len() > MOST_TARGETS {
                        let message = format!(
                            "Too many branch targets ({}, {MOST_TARGETS} max)",
                            names.len()
                        );
                        self.diagnostics.error(*span, message);
                        continue;
                    }
                    let targets: Vec<LabelId> =
                        names.iter().filter_map(|name| self.label(*name)).collect();
                    if let Some(Entity::BranchTargets(list)) = self.list_entity(statements, i) {
                        self.current().branch_targets[list as usize] = targets;
                    }
                }
                Statement::CallTargets(names, span) => {
                    self.needs_label(statements, i, *span, ".calltargets");
                    let targets: Vec<FuncId> =
                        names.iter().filter_map(|name| self.function_named(*name)).collect();
                    if let Some(Entity::CallTargets(list)) = self.list_entity(statements, i) {
                        self.current().call_targets[list as usize] = targets;
                    }
                }
                Statement::CallPrototype(prototype) => {
                    self.needs_label(statements, i, prototype.span, ".callprototype");
                    self.directive_gates(prototype);
                    let owner = self.function;
                    // Its parameters' names are no one's: they live in a scope of their own.
                    self.scopes.enter();
                    let mut regs = Vec::new();
                    let returns = self.parameters(
                        &prototype.returns,
                        owner,
                        &mut regs,
                        Place::Prototype,
                        false,
                    );
                    let params = self.parameters(
                        &prototype.params,
                        owner,
                        &mut regs,
                        Place::Prototype,
                        false,
                    );
                    self.scopes.leave();
                    if let Some(Entity::Prototype(list)) = self.list_entity(statements, i) {
                        self.current().prototypes[list as usize] = (returns, params);
                    }
                }
            }
        }
    }

    /// Labels are known in their whole block, before the instruction that they stand at too.
    fn declare_labels(&mut self, statements: &[Statement<'s>]) {
        for (i, statement) in statements.iter().enumerate() {
            let Statement::Label(name) = statement else { continue };
            let function = self.current();
            let entity = match statements.get(i + 1) {
                Some(Statement::BranchTargets(..)) => {
                    function.branch_targets.push(Vec::new());
                    Entity::BranchTargets(function.branch_targets.len() as u32 - 1)
                }
                Some(Statement::CallTargets(..)) => {
                    function.call_targets.push(Vec::new());
                    Entity::CallTargets(function.call_targets.len() as u32 - 1)
                }
                Some(Statement::CallPrototype(_)) => {
                    function.prototypes.push((Vec::new(), Vec::new()));
                    Entity::Prototype(function.prototypes.len() as u32 - 1)
                }
                _ => {
                    function.labels.push((0, name.text));
                    Entity::Label(LabelId(function.labels.len() as u32 - 1))
                }
            };
            if self.scopes.define(name.text, entity).is_some() {
                let message = format!("Duplicate definition of label '{}'", name.text);
                self.diagnostics.error(name.span, message);
            }
        }
    }

    /// The list that the label before statement `i` names.
    fn list_entity(&self, statements: &[Statement<'s>], i: usize) -> Option<Entity> {
        match statements.get(i.checked_sub(1)?)? {
            Statement::Label(name) => self.scopes.here(name.text),
            _ => None,
        }
    }

    fn needs_label(&mut self, statements: &[Statement<'s>], i: usize, span: Span, what: &str) {
        if !matches!(i.checked_sub(1).and_then(|i| statements.get(i)), Some(Statement::Label(_))) {
            self.diagnostics.error(span, format!("A label is required for the {what} directive"));
        }
    }

    fn label(&mut self, name: Ident<'s>) -> Option<LabelId> {
        match self.lookup(name.text) {
            Some(Entity::Label(label)) => Some(label),
            Some(_) => {
                self.diagnostics.error(name.span, format!("'{}' is not a label", name.text));
                None
            }
            None => {
                self.unknown(name);
                None
            }
        }
    }

    fn function_named(&mut self, name: Ident<'s>) -> Option<FuncId> {
        match self.lookup(name.text) {
            Some(Entity::Func(function)) => Some(function),
            Some(_) => {
                self.diagnostics.error(name.span, format!("'{}' is not a function", name.text));
                None
            }
            None => {
                self.unknown(name);
                None
            }
        }
    }

    /// `.reg .b32 %r<8>;` or `.reg .pred p;`
    fn registers(&mut self, variable: &crate::ptx::ast::Variable<'s>) {
        let name = variable.name;
        if !variable.dims.is_empty() {
            let message = format!("Array variable '{}' is not allowed in .reg space", name.text);
            self.diagnostics.error(variable.span, message);
            return;
        }
        if variable.init.is_some() {
            let message =
                format!("No initial value is allowed for '{}' in this state space", name.text);
            self.diagnostics.error(variable.span, message);
            return;
        }
        if let Some(message) = self.misplaced(variable, Place::Body) {
            self.diagnostics.error(variable.span, message);
            return;
        }
        if variable.count.is_some_and(|count| i32::try_from(count).is_err()) {
            self.diagnostics.error(variable.span, "Memory allocation failure");
            return;
        }
        self.type_gate(variable.ty, variable.span);
        let shape = RegShape { ty: variable.ty, vector: variable.vector };
        let known = match variable.count {
            Some(count) => self.scopes.define_range(name.text, Range::Reg(shape), count),
            None => {
                let new = self.scopes.define_variable(name.text, Entity::Unused(shape));
                (!new).then(|| name.text.to_string())
            }
        };
        if let Some(known) = known {
            self.duplicate_variable(&known, name.span);
        }
    }

    /// A `.param`, `.local`, `.shared`, `.global` or `.const` variable inside a body.
    fn local_variable(&mut self, variable: &crate::ptx::ast::Variable<'s>) {
        let owner = self.function;
        let Some(new) = self.variable(variable, Some(owner), Place::Body) else { return };
        if let Some(count) = variable.count {
            self.variable_range(new, count);
            return;
        }
        let id = VarId(self.program.vars.len() as u32);
        self.program.vars.push(new);
        if !self.scopes.define_variable(variable.name.text, Entity::Var(id)) {
            self.duplicate_variable(variable.name.text, variable.name.span);
        }
    }

    fn instruction(&mut self, instruction: &crate::ptx::ast::Instruction<'s>) {
        self.sums.clear();
        let mut guard = None;
        if let Some((name, negated)) = instruction.guard {
            match self.lookup(name.text) {
                Some(Entity::Reg(reg)) => {
                    if self.current().regs[reg.0 as usize].ty != Type::Pred {
                        let message =
                            format!("Predicate register expected; '{}' is none", name.text);
                        self.diagnostics.error(name.span, message);
                    }
                    guard = Some((reg, negated));
                }
                Some(_) => {
                    let message = format!("Predicate register expected; '{}' is none", name.text);
                    self.diagnostics.error(name.span, message);
                }
                None => self.unknown(name),
            }
        }
        let modifiers: Vec<&'s str> = instruction.modifiers.iter().map(|word| word.text).collect();
        let types: Vec<Type> = modifiers.iter().filter_map(|word| Type::parse(word)).collect();
        let mut operands = Vec::with_capacity(instruction.operands.len());
        for operand in &instruction.operands {
            if let Some(operand) = self.operand(operand, instruction.opcode.text, &types) {
                operands.push(operand);
            }
        }
        let resolved = operands.len() == instruction.operands.len();
        let mut checked = Instruction {
            guard,
            opcode: instruction.opcode.text,
            modifiers,
            types,
            operands,
            span: instruction.span,
            loc: self.loc,
        };
        if resolved {
            self.check_instruction(&mut checked, instruction);
        }
        self.current().code.push(checked);
    }
}
