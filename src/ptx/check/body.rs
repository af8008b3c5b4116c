//! Function bodies: scopes, labels, and the flat list of instructions.

use super::Checker;
use super::declaration::Place;
use super::rules::{Checked, unknown_opcode};
use super::scope::{self, Entity, RegShape};
use crate::list::List;
use crate::ptx::ast::{self, Body, Ident, Statement};
use crate::ptx::diagnostics::Diagnostic;
use crate::ptx::lexer;
use crate::ptx::program::{FuncId, Instruction, LabelId, VarId};
use crate::ptx::types::{Space, Span, Type};
use std::ops::Range;

/// Labels of a `.branchtargets` at most. Each is a way of control through the function, which costs
/// some kilobytes and a tenth of a millisecond; ptxas 13.0.88 takes minutes for half as many.
const MOST_TARGETS: usize = 1 << 17;

/// Labels of a function at most, and as many more for each of its instructions.
const MOST_LABELS: usize = 1 << 12;
const LABELS_OF_INSTRUCTION: usize = 8;

/// The labels of places in the code, not those of lists.
fn labels(statements: &List<Statement>) -> impl Iterator<Item = u32> {
    let behind = statements.iter().skip(1).map(Some).chain([None]);
    statements.iter().zip(behind).filter_map(|(statement, next)| match (statement, next) {
        (_, Some(Statement::BranchTargets(_) | Statement::CallTargets(_))) => None,
        (_, Some(Statement::CallPrototype(_))) => None,
        (Statement::Label(at), _) => Some(*at),
        _ => None,
    })
}

impl<'s> Checker<'s> {
    /// The statements of a function, in the scope that holds its parameters. Each instruction goes
    /// as soon as it is checked.
    pub(super) fn body(&mut self, body: Body<'s>) {
        self.loc = (0, 0, 0);
        let most = MOST_LABELS + LABELS_OF_INSTRUCTION * body.count;
        if body.statements.len() > most
            && let Some(at) = labels(&body.statements).nth(most)
        {
            let message =
                format!("Too many labels in a function of so few instructions ({most} max)");
            self.diagnostics.push(Diagnostic::fatal(self.word_at(at), message));
            return;
        }
        self.current().code.reserve_exact(body.count);
        let all = 0..body.statements.len();
        let Body { statements, locs, instructions, .. } = body;
        self.statements((&statements, &locs), all, &mut instructions.into_iter());
    }

    /// The depth of this recursion is that of the parser's blocks.
    fn statements(
        &mut self,
        (statements, locs): (&List<Statement>, &List<(u32, u32, u32)>),
        range: Range<usize>,
        instructions: &mut std::vec::IntoIter<ast::Instruction<'s>>,
    ) {
        self.declare_labels(statements, range.clone());
        let again = self.again;
        // Of the statement before, where that is a label.
        let mut label = None;
        let mut inside = 0;
        for i in range {
            // The inner call has seen it.
            if inside > 0 {
                inside -= 1;
                continue;
            }
            let before = label.take();
            match statements[i] {
                Statement::Declaration(at) => again.declaration(at, |variable| {
                    if variable.space == Space::Reg {
                        self.registers(&variable);
                    } else {
                        self.local_variable(&variable);
                    }
                }),
                Statement::Label(name) => {
                    label = Some(self.word_at(name));
                    if let Some(Entity::Label(label)) = self.list_named(label) {
                        let at = self.current().code.len();
                        self.current().labels[label.0 as usize].0 = at;
                    }
                }
                Statement::Instruction(at) => {
                    if let Some(instruction) = instructions.next().or_else(|| again.instruction(at))
                    {
                        self.instruction(&instruction);
                    }
                }
                Statement::Block(length) => {
                    inside = length as usize;
                    self.scopes.enter();
                    self.statements((statements, locs), i + 1..i + 1 + inside, instructions);
                    self.leave_scope();
                }
                Statement::Loc(number) => self.loc = locs[number as usize],
                Statement::Inlined(name) => self.inline_gate(self.word_at(name)),
                Statement::Pragma(at) => self.pragma_gates(at),
                Statement::BranchTargets(at) => {
                    let at = self.word_at(at);
                    self.needs_label(before, at, ".branchtargets");
                    self.branch_targets(at, self.list_named(before));
                }
                Statement::CallTargets(at) => {
                    let at = self.word_at(at);
                    self.needs_label(before, at, ".calltargets");
                    let mut targets = Vec::new();
                    again.names(at.start, |name| targets.extend(self.function_named(name)));
                    if let Some(Entity::CallTargets(list)) = self.list_named(before) {
                        self.current().call_targets[list as usize] = targets;
                    }
                }
                Statement::CallPrototype(at) => {
                    let Some(prototype) = again.prototype(at) else { continue };
                    self.needs_label(before, prototype.span, ".callprototype");
                    self.directive_gates(&prototype);
                    let lists = self.prototype(&prototype);
                    if let Some(Entity::Prototype(list)) = self.list_named(before) {
                        self.current().prototypes[list as usize] = lists;
                    }
                }
            }
        }
    }

    /// The lists of a `.callprototype`. Its parameters' names are no one's: they live in a scope of
    /// their own.
    fn prototype(&mut self, prototype: &ast::Function<'s>) -> (Vec<VarId>, Vec<VarId>) {
        let owner = self.function;
        let mut regs = Vec::new();
        self.scopes.enter();
        let mut list =
            |variables| self.parameters(variables, owner, &mut regs, Place::Prototype, false);
        let lists = (list(&prototype.returns), list(&prototype.params));
        self.leave_scope();
        lists
    }

    /// A `.branchtargets`, for the list that its label names.
    fn branch_targets(&mut self, at: Span, list: Option<Entity>) {
        let again = self.again;
        let mut count = 0;
        again.names(at.start, |_| count += 1);
        if count > MOST_TARGETS {
            let message = format!("Too many branch targets ({count}, {MOST_TARGETS} max)");
            self.diagnostics.error(at, message);
            return;
        }
        let mut targets = Vec::with_capacity(count);
        again.names(at.start, |name| targets.extend(self.label(name)));
        if let Some(Entity::BranchTargets(list)) = list {
            self.current().branch_targets[list as usize] = targets;
        }
    }

    /// The name or the directive that begins there.
    fn word_at(&self, start: u32) -> Span {
        let start = start as usize;
        Span::new(start, lexer::end_of_name(self.source, start))
    }

    fn text(&self, name: Span) -> &'s str {
        self.source.get(name.start as usize..name.end as usize).unwrap_or("")
    }

    /// Labels are known in their whole block, before the instruction that they stand at too.
    fn declare_labels(&mut self, statements: &List<Statement>, range: Range<usize>) {
        let mut inside = 0;
        let end = range.end;
        for i in range {
            if inside > 0 {
                inside -= 1;
                continue;
            }
            let name = match statements[i] {
                Statement::Label(at) => {
                    let span = self.word_at(at);
                    Ident { text: self.text(span), span }
                }
                Statement::Block(length) => {
                    inside = length;
                    continue;
                }
                _ => continue,
            };
            let function = self.current();
            let entity = match statements.get(i + 1).filter(|_| i + 1 < end) {
                Some(Statement::BranchTargets(_)) => {
                    function.branch_targets.push(Vec::new());
                    Entity::BranchTargets(function.branch_targets.len() as u32 - 1)
                }
                Some(Statement::CallTargets(_)) => {
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
            if self.scopes.define(name, entity).is_some() {
                let message = format!("Duplicate definition of label '{}'", name.text);
                self.diagnostics.error(name.span, message);
            }
        }
    }

    /// What a label names: a place, or the list behind it.
    fn list_named(&self, label: Option<Span>) -> Option<Entity> {
        label.and_then(|name| self.scopes.here(self.text(name)))
    }

    fn needs_label(&mut self, label: Option<Span>, span: Span, what: &str) {
        if label.is_none() {
            self.diagnostics.error(span, format!("A label is required for the {what} directive"));
        }
    }

    fn label(&mut self, name: Ident<'s>) -> Option<LabelId> {
        match self.lookup(name) {
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
        match self.lookup(name) {
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
    fn registers(&mut self, variable: &ast::Variable<'s>) {
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
        let shape = RegShape { ty: variable.ty, vector: variable.vector as u8 };
        let known = match variable.count {
            Some(count) => self.scopes.define_range(name, scope::Range::Reg(shape), count),
            None => {
                let new = self.scopes.define_variable(name, Entity::Unused(shape));
                (!new).then(|| name.text.to_string())
            }
        };
        if let Some(known) = known {
            self.duplicate_variable(&known, name.span);
        }
    }

    /// A `.param`, `.local`, `.shared`, `.global` or `.const` variable inside a body.
    fn local_variable(&mut self, variable: &ast::Variable<'s>) {
        let owner = self.function;
        let Some(new) = self.variable(variable, Some(owner), Place::Body) else { return };
        if let Some(count) = variable.count {
            self.variable_range(new, variable.name, count);
            return;
        }
        if self.one_too_many(new.space, variable.name.span) {
            return;
        }
        let id = VarId(self.program.vars.len() as u32);
        self.program.vars.push(new);
        if !self.scopes.define_variable(variable.name, Entity::Var(id)) {
            self.duplicate_variable(variable.name.text, variable.name.span);
        }
    }

    fn instruction(&mut self, instruction: &ast::Instruction<'s>) {
        self.sums.clear();
        let mut guard = None;
        if let Some((name, negated)) = instruction.guard {
            match self.lookup(name) {
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
        // Behind an error none is read by anybody: there may be as many as the text likes.
        let keep = !self.diagnostics.has_errors();
        let spelling = self.forms.number(self.source, instruction, keep);
        let words = self.forms.words(spelling);
        let mut operands = std::mem::take(&mut self.operands);
        operands.clear();
        let opcode = words.as_ref().map(|words| words.opcode);
        let types = words.as_ref().map_or(&[][..], |words| &*words.types);
        for operand in &instruction.operands {
            if let Some(operand) = self.operand(operand, opcode, types) {
                operands.push(operand);
            }
        }
        let resolved = operands.len() == instruction.operands.len();
        let Some(words) = words else {
            self.operands = operands;
            if resolved {
                self.diagnostics.push(unknown_opcode(instruction.opcode));
            }
            return;
        };
        let mut checked = Checked { guard, words, operands };
        if resolved {
            self.check_instruction(&mut checked, instruction, spelling);
        }
        let Checked { guard, words, operands } = checked;
        self.operands = operands;
        // Behind an error nobody reads it.
        if !self.diagnostics.has_errors() {
            let operands = self.shared.add(&mut self.operands);
            let (span, loc) = (instruction.span, self.loc);
            self.current().code.push(Instruction { guard, words, operands, span, loc });
        }
    }
}
