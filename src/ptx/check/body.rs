//! Function bodies: scopes, labels, and the flat list of instructions.

use super::Checker;
use super::case::Checked;
use super::declaration::Place;
use super::labels::Names;
use super::literal::literal;
use super::operand::Of;
use super::rules::unknown_opcode;
use super::scope::{self, Entity, RegShape};
use super::shape::Shape;
use super::sum::Sum;
use crate::ptx::ast::{self, Ident, Statement, Tree};
use crate::ptx::program::{AddressBase, FuncId, LabelId, Operand, RegId, VarId};
use crate::ptx::types::{Space, Span, Type};

/// Labels of a `.branchtargets` at most. Each is a way of control through the function, which costs
/// some kilobytes and a tenth of a millisecond; ptxas 13.0.88 takes minutes for half as many.
const MOST_TARGETS: usize = 1 << 17;

impl<'s> Checker<'s> {
    /// The next statement of the function, in the scope that holds its parameters.
    pub(super) fn check_statement(&mut self, statement: Statement<'_, 's>, tree: &Tree<'s>) {
        let again = self.again;
        let label = self.label.take();
        match statement {
            Statement::Instruction(instruction) => self.instruction(instruction, tree),
            Statement::Declaration(variable) if variable.space == Space::Reg => {
                self.registers(variable);
            }
            Statement::Declaration(variable) => self.local_variable(variable),
            Statement::Label(name) => {
                if let Some(Entity::Label(label)) = self.scopes.here(name.text) {
                    self.body.labels[label.0 as usize].0 = self.body.code.len();
                    self.last_label = Some(label);
                }
                self.label = Some(name.span);
            }
            Statement::Open(block) => {
                self.scopes.enter();
                self.declare_labels(block);
            }
            Statement::Close => self.leave_scope(),
            Statement::Loc(file, line, column) => self.loc = (file, line, column),
            Statement::Inlined(name) => self.inline_gate(name),
            Statement::Pragma(at) => {
                // It keeps the loop as it is in whose first block it stands: none that begins
                // behind it. (Observed: ptxas 13.0.88.)
                if self.pragma(at)
                    && let Some(label) = self.last_label
                {
                    self.body.rolled.get_or_insert_default().push(label);
                }
            }
            Statement::BranchTargets(at) => {
                self.needs_label(label, at, ".branchtargets");
                self.branch_targets(at, self.list_named(label));
            }
            Statement::CallTargets(at) => {
                self.needs_label(label, at, ".calltargets");
                let mut targets = Vec::new();
                again.names(at.start, |name| targets.extend(self.function_named(name)));
                if let Some(Entity::CallTargets(list)) = self.list_named(label) {
                    self.body.call_targets[list as usize] = targets;
                }
            }
            Statement::CallPrototype(prototype) => {
                self.needs_label(label, prototype.span, ".callprototype");
                self.directive_gates(prototype);
                let lists = self.prototype(prototype);
                if let Some(Entity::Prototype(list)) = self.list_named(label) {
                    self.body.prototypes[list as usize] = lists;
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
            self.body.branch_targets[list as usize] = targets;
        }
    }

    pub(super) fn text(&self, name: Span) -> &'s str {
        self.source.get(name.start as usize..name.end as usize).unwrap_or("")
    }

    /// Labels are known in their whole block, before the instruction that they stand at too.
    pub(super) fn declare_labels(&mut self, block: u32) {
        let labels = std::mem::take(&mut self.labels);
        let body = &mut self.body;
        for (name, names) in labels.of_block(self.source, block) {
            let entity = match names {
                Names::BranchTargets => {
                    body.branch_targets.push(Vec::new());
                    Entity::BranchTargets(body.branch_targets.len() as u32 - 1)
                }
                Names::CallTargets => {
                    body.call_targets.push(Vec::new());
                    Entity::CallTargets(body.call_targets.len() as u32 - 1)
                }
                Names::Prototype => {
                    body.prototypes.push((Vec::new(), Vec::new()));
                    Entity::Prototype(body.prototypes.len() as u32 - 1)
                }
                Names::Place => {
                    body.labels.push((0, name.text));
                    Entity::Label(LabelId(body.labels.len() as u32 - 1))
                }
            };
            if self.scopes.define(name, entity).is_some() {
                let message = format!("Duplicate definition of label '{}'", name.text);
                self.diagnostics.error(name.span, message);
            }
        }
        self.labels = labels;
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

    fn instruction(&mut self, instruction: &ast::Instruction<'s>, tree: &Tree<'s>) {
        self.sums.clear();
        let mut guard = None;
        if let Some((name, negated)) = instruction.guard {
            let number = ast::Number::of(name.text);
            let usual = number.and_then(|number| {
                self.scopes.register(number, name.span, &mut self.body.regs).map(Entity::Reg)
            });
            match usual.or_else(|| self.lookup_numbered(name, number)) {
                Some(Entity::Reg(reg)) => {
                    if self.body.regs[reg.0 as usize].ty != Type::Pred {
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
        let spelling = instruction.spelling as usize;
        self.forms.meet(spelling, tree);
        let start = self.shared.begin(tree.top().len());
        let shape = self.resolve(spelling, guard.is_some(), tree);
        match self.forms.right(spelling, shape, self.shared.from(start)) {
            Some(words) if self.shared.from(start).len() == tree.top().len() => {
                // Behind an error nobody reads it.
                if !self.diagnostics.has_errors() {
                    let operands = self.shared.end(start, &mut self.body.code);
                    self.body.code.push(guard, words, operands, (instruction.span, self.loc));
                }
            }
            _ => self.odd_instruction(instruction, guard, start, shape, tree),
        }
    }

    /// One that is not known to be right, and has its operands in the shared list from `start` on.
    #[inline(never)]
    fn odd_instruction(
        &mut self,
        instruction: &ast::Instruction<'s>,
        guard: Option<(RegId, bool)>,
        start: usize,
        shape: Shape,
        tree: &Tree<'s>,
    ) {
        let spelling = instruction.spelling as usize;
        let resolved = self.shared.from(start).len() == tree.top().len();
        let mut operands = std::mem::take(&mut self.operands);
        operands.clear();
        self.shared.take_back(start, &mut operands);
        let Some((id, words)) = self.forms.words(spelling) else {
            self.operands = operands;
            if resolved {
                self.diagnostics.push(unknown_opcode(instruction.opcode));
            }
            return;
        };
        let mut checked = Checked { guard, words: words.clone(), operands };
        if resolved {
            self.check_instruction(&mut checked, instruction, shape, tree);
        }
        let Checked { guard, mut operands, .. } = checked;
        if !self.diagnostics.has_errors() {
            let (code, loc) = (&mut self.body.code, self.loc);
            for Sum { words, mut operands, span } in std::mem::take(&mut self.sums) {
                let operands = self.shared.add(&mut operands, code);
                let words = code.own(words);
                code.push(None, words, operands, (span, loc));
            }
            let operands = self.shared.add(&mut operands, code);
            code.push(guard, id, operands, (instruction.span, loc));
        }
        self.operands = operands;
    }

    /// Puts the operands into the list that all share: those of which nothing was wrong.
    fn resolve(&mut self, spelling: usize, guarded: bool, tree: &Tree<'s>) -> Shape {
        let literals = self.forms.literals(spelling);
        let mut shape = Shape::new(guarded, self.forms.by_value(spelling));
        for written in tree.top() {
            match self.usual(written, literals, tree, &mut shape) {
                Some(operand) => self.shared.push(operand),
                None => self.odd_operand(written, spelling, tree, &mut shape),
            }
        }
        // Nothing may be written to the register of a sum.
        if !self.sums.is_empty() {
            shape.give_up();
        }
        shape
    }

    #[inline(never)]
    fn odd_operand(
        &mut self,
        written: &ast::Operand,
        spelling: usize,
        tree: &Tree<'s>,
        shape: &mut Shape,
    ) {
        let words = self.forms.words(spelling).map(|(_, words)| words.clone());
        let of = Of {
            tree,
            opcode: words.as_ref().map(|words| words.opcode),
            types: words.as_ref().map_or(&[], |words| &words.types),
        };
        if let Some(operand) = self.operand(written, &of) {
            self.operand_shape(&operand, written, tree, shape);
            self.shared.push(operand);
        }
    }

    /// What most operands are: registers that were met before, numbers, addresses in registers.
    #[inline]
    fn usual(
        &mut self,
        written: &ast::Operand,
        literals: Option<Type>,
        tree: &Tree<'s>,
        shape: &mut Shape,
    ) -> Option<Operand> {
        match written {
            ast::Operand::Name(name, Some(number)) => {
                let reg = self.scopes.register(*number, *name, &mut self.body.regs)?;
                if self.register(reg).vector != 1 {
                    return None;
                }
                self.register_shape(reg, shape);
                Some(Operand::Reg(reg))
            }
            ast::Operand::Const(value, _) => {
                shape.constant(*value);
                Some(literal(*value, literals))
            }
            ast::Operand::Address(parts, _) => {
                let (name, number, offset) = match tree.operands(*parts) {
                    [ast::Operand::Name(name, Some(number))] => (name, *number, 0),
                    [ast::Operand::Sum(name, Some(number), offset)] => {
                        let ast::Operand::Const(offset, _) = tree.operand(*offset) else {
                            return None;
                        };
                        (name, *number, offset.as_i128()? as i64)
                    }
                    _ => return None,
                };
                let reg = self.scopes.register(number, *name, &mut self.body.regs)?;
                self.base_shape(AddressBase::Reg(reg), shape);
                Some(Operand::Address { base: AddressBase::Reg(reg), offset })
            }
            _ => None,
        }
    }
}
