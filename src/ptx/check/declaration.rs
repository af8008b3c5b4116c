//! Variables, parameters and functions: what may be declared where, sizes, alignments, and what two
//! declarations of one name must have in common. What is refused was observed: ptxas 13.0.88,
//! sm_90a.

use super::Checker;
use super::labels::{Labels, TooMany};
use super::limits::{most_in_bodies, one_too_many};
use super::scope::{Entity, Range};
use crate::ptx::ast;
use crate::ptx::diagnostics::Diagnostic;
use crate::ptx::lexer;
use crate::ptx::program::{
    FuncId, Function, FunctionBody, NO_FUNCTION, Pointer, RegId, Register, VarId, Variable,
};
use crate::ptx::types::{Linkage, Space, Span, Type, TypeKind};
use std::sync::Arc;

/// Where a variable is declared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    Module,
    Body,
    /// A kernel's parameter.
    Entry,
    /// A function's parameter, and what it returns.
    Parameter,
    Result,
    /// Of a `.callprototype`, both.
    Prototype,
}

impl Place {
    fn is_parameter(self) -> bool {
        !matches!(self, Place::Module | Place::Body)
    }
}

/// Each is a symbol, as a variable of memory is ([`MOST_VARIABLES`]).
const MOST_FUNCTIONS: usize = 1 << 16;

/// Declarations `name<4>` outside the space of registers: no compiler writes any.
const MOST_RANGES: usize = 1 << 15;

/// Larger variables have no address in any space.
const MAX_SIZE: u64 = 1 << 48;

/// Parameter bytes of a kernel at most, until PTX 8.1 and since (and for SMs from 70 on).
const PARAMETERS: [u64; 2] = [4352, 32764];

/// Alignment in bytes that a parameter may have at most.
const PARAMETER_ALIGNMENT: u32 = 128;

/// Types that only instructions have.
fn only_in_instructions(ty: Type) -> bool {
    use Type::*;
    matches!(ty, F32x2 | E4m3 | E5m2 | E4m3x2 | E5m2x2 | U16x2 | S16x2)
}

impl<'s> Checker<'s> {
    /// A module-scope variable; an `.extern` declaration and its definition are one variable.
    pub(super) fn module_variable(&mut self, variable: &ast::Variable<'s>) {
        let Some(new) = self.variable(variable, None, Place::Module) else { return };
        if let Some(count) = variable.count {
            self.variable_range(new, variable.name, count);
            return;
        }
        match self.scopes.here(variable.name.text) {
            Some(Entity::Var(old)) => {
                let known = &mut self.program.vars[old.0 as usize];
                if (new.space, new.ty) != (known.space, known.ty) {
                    let message =
                        format!("Inconsistent redefinition of variable '{}'", variable.name.text);
                    self.diagnostics.error(variable.name.span, message);
                    return;
                }
                if new.linkage == Linkage::Extern {
                    return;
                }
                if known.linkage == Linkage::Extern {
                    *known = new;
                    return;
                }
                self.duplicate_variable(variable.name.text, variable.name.span);
            }
            Some(_) => self.duplicate_variable(variable.name.text, variable.name.span),
            None => {
                if self.one_too_many(new.space, variable.name.span) {
                    return;
                }
                let id = VarId(self.program.vars.len() as u32);
                self.program.vars.push(new);
                if !self.scopes.define_variable(variable.name, Entity::Var(id)) {
                    self.duplicate_variable(variable.name.text, variable.name.span);
                }
            }
        }
    }

    /// `name<4>` declares four variables like this one; those that nothing names are not made.
    pub(super) fn variable_range(&mut self, variable: Variable, name: ast::Ident<'s>, count: u32) {
        let span = name.span;
        let number = self.variable_ranges.len() as u32;
        if number as usize == MOST_RANGES {
            let message = format!("Too many ranges of variables ({MOST_RANGES} max)");
            self.diagnostics.push(Diagnostic::fatal(span, message));
            return;
        }
        self.variable_ranges.push(variable);
        if let Some(known) = self.scopes.define_range(name, Range::Var(number), count) {
            self.duplicate_variable(&known, span);
        }
    }

    /// Counts the variables of memory, and those of functions; true where there are too many, which
    /// is said once.
    pub(super) fn one_too_many(&mut self, space: Space, span: Span) -> bool {
        if matches!(space, Space::Local | Space::Param) {
            self.body_variables += 1;
            let most = most_in_bodies(self.source);
            if self.body_variables == most + 1 {
                let message =
                    format!("Too many variables in functions of a text this long ({most} max)");
                self.diagnostics.push(Diagnostic::fatal(span, message));
            }
            return self.body_variables > most;
        }
        one_too_many(&mut self.memory_variables, space, span, &mut self.diagnostics)
    }

    /// Closes the innermost scope, and says what was declared alone and in a range.
    pub(super) fn leave_scope(&mut self) {
        for (start, name) in self.scopes.leave() {
            let start = start as usize;
            let span = Span::new(start, lexer::end_of_name(self.source, start));
            self.duplicate_variable(&name, span);
        }
    }

    pub(super) fn duplicate_variable(&mut self, name: &str, span: Span) {
        self.diagnostics.error(span, format!("Duplicate definition of variable '{name}'"));
    }

    /// Size, alignment and initial value; None when it cannot be laid out.
    pub(super) fn variable(
        &mut self,
        variable: &ast::Variable<'s>,
        owner: Option<FuncId>,
        place: Place,
    ) -> Option<Variable> {
        let span = variable.span;
        let name = variable.name.text;
        if let Some(message) = self.misplaced(variable, place) {
            self.diagnostics.error(span, message);
            return None;
        }
        self.type_gate(variable.ty, span);
        let element = u64::from(variable.ty.bytes()) * u64::from(variable.vector);
        let mut shape = Vec::with_capacity(variable.dims.len() + 1);
        let mut open = false;
        for (i, dim) in variable.dims.iter().enumerate() {
            match (dim, &variable.init) {
                (Some(0), _) => open = true,
                (Some(count), _) => shape.push(*count),
                (None, Some(init)) if i == 0 => shape.push(u64::from(init.length)),
                (None, _) => open = true,
            }
        }
        let complete = match place {
            Place::Module => variable.linkage != Linkage::Extern,
            Place::Body => true,
            _ => false,
        };
        if open && complete {
            let message = format!("Non-external variable '{name}' has incomplete type");
            self.diagnostics.error(span, message);
            return None;
        }
        let size = shape.iter().try_fold(element, |size, count| size.checked_mul(*count));
        let Some(size) = size.filter(|size| *size <= MAX_SIZE) else {
            self.diagnostics.error(span, format!("Variable '{name}' is too large"));
            return None;
        };
        let size = if open { 0 } else { size };
        let mut init = None;
        if let Some(value) = &variable.init {
            if variable.linkage == Linkage::Extern {
                let message = format!("No initial value is allowed for external symbol '{name}'");
                self.diagnostics.error(span, message);
            } else if !matches!(variable.space, Space::Global | Space::Const) {
                let message =
                    format!("No initial value is allowed for '{name}' in this state space");
                self.diagnostics.error(span, message);
            } else {
                if variable.vector > 1 {
                    shape.push(u64::from(variable.vector));
                }
                if shape.first() == Some(&0) {
                    self.diagnostics.error(span, "Initial value type mismatch");
                    return None;
                }
                init = Some(self.initial_data(*value, variable.ty, &shape, size, span)?);
            }
        }
        let natural = u64::from(variable.ty.bytes()) * u64::from(variable.vector);
        Some(Variable {
            start: variable.name.span.start,
            space: variable.space,
            linkage: variable.linkage,
            ty: variable.ty,
            size,
            array: !variable.dims.is_empty(),
            log_align: variable
                .align
                .map_or(natural.next_power_of_two(), u64::from)
                .trailing_zeros() as u8,
            place: 0,
            init,
            managed: variable.attributes.iter().any(|a| a.text == "managed"),
            pointer: pointer(variable),
            owner: owner.map_or(NO_FUNCTION, |owner| owner.0),
        })
    }

    /// What is wrong with a declaration in this place, apart from its size and value.
    pub(super) fn misplaced(&self, variable: &ast::Variable<'_>, place: Place) -> Option<String> {
        let (space, ty, name) = (variable.space, variable.ty, variable.name.text);
        let opaque = ty.kind() == TypeKind::Opaque;
        let has = |word: &str| variable.attributes.iter().any(|a| a.text == word);
        if variable.align.is_some_and(|align| !align.is_power_of_two()) {
            return Some("Alignment must be a power of two".to_string());
        }
        let right_space = match place {
            Place::Module if variable.linkage == Linkage::Common && space != Space::Global => {
                Err(".common variables must be declared in .global space".to_string())
            }
            Place::Module => match space {
                Space::Reg => {
                    Err("Module-scoped variables in .reg state space are not allowed with ABI"
                        .to_string())
                }
                Space::Local => {
                    Err("Module-scoped variables in .local state space are not allowed with ABI"
                        .to_string())
                }
                Space::Param => {
                    Err("Parameter variables may not be declared at module scope".to_string())
                }
                Space::Tex => {
                    Err("Deprecated feature: '.tex' not supported as of PTX version 1.5"
                        .to_string())
                }
                _ => Ok(()),
            },
            Place::Body if space == Space::Tex => {
                Err("Texture variables must be declared at module scope".to_string())
            }
            Place::Body => Ok(()),
            Place::Entry if space != Space::Param => {
                Err(format!("Entry parameter '{name}' must have .param state space"))
            }
            Place::Parameter | Place::Result | Place::Prototype
                if !matches!(space, Space::Param | Space::Reg) =>
            {
                Err(format!("Function parameter '{name}' has illegal state space"))
            }
            _ => Ok(()),
        };
        if let Err(message) = right_space {
            return Some(message);
        }
        if place.is_parameter() {
            if name == "_" && !matches!(place, Place::Entry | Place::Prototype) {
                return Some("Illegal parameter name '_'".to_string());
            }
            if has("ptr") && place != Place::Entry {
                return Some("Illegal placement of kernel parameter attribute".to_string());
            }
        }
        if has("managed") && (place != Place::Module || space != Space::Global) {
            return Some(format!("Illegal attribute '.managed' for symbol '{name}'"));
        }
        if has("unified") {
            let text = "Feature 'unified Functions' requires command line option '--compile-only'";
            return Some(text.to_string());
        }
        if only_in_instructions(ty) {
            return Some(format!("Type {ty} may only be used as an instruction type"));
        }
        if ty == Type::Pred && space != Space::Reg {
            return Some(format!("Predicate variable '{name}' must be in register state space"));
        }
        if variable.vector > 1 {
            if ty == Type::Pred {
                let text = "Predicate type can only be used to define scalar register variables";
                return Some(text.to_string());
            }
            if opaque {
                return Some("Vector type only allowed over basic types".to_string());
            }
            if ty.bits() * variable.vector > 128 {
                return Some("Vector type too large, exceeds 128 bit limit".to_string());
            }
        }
        if opaque {
            let wrong = match (place, space) {
                (Place::Body, _) => {
                    "Texture/surface variable must be at module or entry parameter scope"
                }
                (Place::Module, Space::Global) | (Place::Entry, _) => "",
                (Place::Module, _) => {
                    "Texture and surface variables must be declared in .global space"
                }
                _ => {
                    return Some(format!(
                        "Variable '{name}' cannot be allocated in .param state space"
                    ));
                }
            };
            if !wrong.is_empty() {
                return Some(wrong.to_string());
            }
            if variable.linkage == Linkage::Common {
                return Some("Illegal type for .common symbol".to_string());
            }
            if ty == Type::SamplerRef
                && variable.dims.is_empty()
                && !self.program.target_options.contains(&"texmode_independent")
            {
                let text = "Instruction or declaration violates .target texmode_unified setting";
                return Some(text.to_string());
            }
        }
        if space == Space::Reg && place.is_parameter() && !variable.dims.is_empty() {
            return Some(format!("Variable '{name}' cannot be allocated into a register"));
        }
        if space == Space::Param {
            // Arrays of them are let through. Observed: ptxas 13.0.88.
            if variable.dims.is_empty() && (variable.vector > 1 || ty == Type::F16x2) {
                return Some(format!(
                    "Variable '{name}' cannot be allocated in .param state space"
                ));
            }
            if place != Place::Entry
                && let Some(align) = variable.align.filter(|align| *align > PARAMETER_ALIGNMENT)
            {
                return Some(format!(
                    "Parameter '{name}' has illegal alignment (must be aligned to 1, 2, 4, 8, 16, 32, 64, or 128), not {align}"
                ));
            }
        }
        None
    }

    /// What stands before a function's body; false where the body is not to be looked at.
    pub(super) fn declare_function(&mut self, function: &ast::Function<'s>) -> bool {
        let defined = function.body.is_some();
        let name = function.name;
        if function.linkage == Linkage::Extern && defined {
            let message = format!(
                "Function definition conflicts with '.extern' declaration for function '{}'",
                name.text
            );
            self.diagnostics.error(name.span, message);
        }
        self.conflicting_directives(function);
        self.directive_gates(function);
        let mut known = None;
        let id = match self.scopes.here(name.text) {
            Some(Entity::Func(id)) => {
                if self.program.functions[id.0 as usize].defined {
                    self.duplicate_function(name);
                    return false;
                }
                known = Some(id);
                id
            }
            Some(_) => {
                self.duplicate_function(name);
                return false;
            }
            // Said once.
            None if self.program.functions.len() == MOST_FUNCTIONS => {
                if !self.diagnostics.has_errors() {
                    let message =
                        format!("Too many functions in the module ({MOST_FUNCTIONS} max)");
                    self.diagnostics.push(Diagnostic::fatal(name.span, message));
                }
                return false;
            }
            None => {
                let id = FuncId(self.program.functions.len() as u32);
                self.scopes.define(name, Entity::Func(id));
                self.program.functions.push(empty_function(name.text, function));
                id
            }
        };
        self.function = id;
        self.scopes.enter();
        let mut checked = empty_function(name.text, function);
        let input = if function.entry { Place::Entry } else { Place::Parameter };
        let mut regs = Vec::new();
        checked.returns =
            self.parameters(&function.returns, id, &mut regs, Place::Result, defined).into();
        checked.params = self.parameters(&function.params, id, &mut regs, input, defined).into();
        checked.directives =
            function.directives.iter().map(|(name, list)| (name.text, list.clone())).collect();
        if self.is_rolled {
            checked.directives.push((ast::NOUNROLL, Vec::new()));
        }
        checked.defined = defined;
        if let Some(known) = known {
            self.same_prototype(known, &checked, name);
        }
        if known.is_none() || checked.defined {
            self.program.functions[id.0 as usize] = checked;
        }
        let Some(open) = function.body else {
            self.leave_scope();
            return false;
        };
        if let Some(apart) = &mut self.apart
            && !apart.begin(open, self.program.vars.len())
        {
            self.leave_scope();
            return false;
        }
        self.body = FunctionBody { regs, ..FunctionBody::default() };
        (self.loc, self.label) = ((0, 0, 0), None);
        match Labels::of(self.source, open) {
            Ok(labels) => self.labels = labels,
            Err(TooMany { label, most }) => {
                let message =
                    format!("Too many labels in a function of so few instructions ({most} max)");
                self.diagnostics.push(Diagnostic::fatal(label.span, message));
                self.leave_scope();
                return false;
            }
        }
        // Few instructions have fewer bytes.
        let most = self.labels.statements.min((self.source.len() - open as usize) / 24);
        self.body.code.begin(self.spelled.clone(), most);
        self.shared.begin_function();
        // A statement writes one register, as a rule.
        self.body.regs.reserve_exact(most);
        self.declare_labels(open);
        self.last_label = None;
        true
    }

    /// Behind the last statement of a body.
    pub(super) fn end_function(&mut self) {
        let mut body = std::mem::take(&mut self.body);
        if body.regs.capacity() > 2 * body.regs.len() {
            body.regs.shrink_to_fit();
        }
        self.program.functions[self.function.0 as usize].body = Some(Arc::new(body));
        self.leave_scope();
    }

    fn duplicate_function(&mut self, name: ast::Ident<'s>) {
        let message = format!("Duplicate definition of function '{}'", name.text);
        self.diagnostics.error(name.span, message);
    }

    /// Directives that exclude or need each other.
    fn conflicting_directives(&mut self, function: &ast::Function<'s>) {
        let has = |name: &str| function.directives.iter().any(|(d, _)| d.text == name);
        let mut say = |message: &str| self.diagnostics.error(function.name.span, message);
        for (one, other) in [("maxntid", "reqntid"), ("reqnctapercluster", "maxclusterrank")] {
            if has(one) && has(other) {
                say(&format!(
                    "Conflicting directives: .{one} and .{other} cannot both be specified"
                ));
            }
        }
        if has("maxnctapersm") {
            say(
                "Deprecated feature: '.maxnctapersm directive' not supported as of PTX version 2.1",
            );
        }
        if has("blocksareclusters") && !(has("reqntid") && has("reqnctapercluster")) {
            say(
                ".reqntid and .reqnctapercluster directive(s) required for directive '.blocksareclusters'",
            );
        }
    }

    /// Two declarations of one function must agree.
    fn same_prototype(&mut self, known: FuncId, new: &Function<'s>, name: ast::Ident<'s>) {
        let old = &self.program.functions[known.0 as usize];
        let lists = [(&old.returns, &new.returns), (&old.params, &new.params)];
        let differ = |what: fn(&Variable) -> (Space, Type, u64)| {
            lists.iter().any(|(a, b)| {
                a.iter().zip(b.iter()).any(|(a, b)| {
                    what(&self.program.vars[a.0 as usize]) != what(&self.program.vars[b.0 as usize])
                })
            })
        };
        let why = if old.entry != new.entry {
            "kinds of function differ"
        } else if lists.iter().any(|(a, b)| a.len() != b.len()) {
            "number of parameters differ"
        } else if differ(|v| (v.space, v.ty, v.size)) {
            "parameter types differ"
        } else if differ(|v| (Space::Param, Type::B8, v.align())) {
            "parameter alignment differ"
        } else {
            return;
        };
        let message = format!("Inconsistent prototypes of '{}', {why}", name.text);
        self.diagnostics.push(Diagnostic::error(name.span, message));
    }

    /// Declares a parameter list in the innermost scope and lays it out. `named`: there is a body
    /// in which the names count.
    pub(super) fn parameters(
        &mut self,
        list: &[ast::Variable<'s>],
        owner: FuncId,
        regs: &mut Vec<Register<'s>>,
        place: Place,
        named: bool,
    ) -> Vec<VarId> {
        let mut offset = 0u64;
        let mut ids = Vec::with_capacity(list.len());
        for (i, parameter) in list.iter().enumerate() {
            let Some(mut variable) = self.variable(parameter, Some(owner), place) else { continue };
            let open = parameter.dims.iter().any(|dim| dim.unwrap_or(0) == 0);
            if open && let Some(message) = incomplete(place, i + 1 == list.len()) {
                self.diagnostics.error(parameter.span, message);
            }
            if place == Place::Result && i == 1 && list.iter().any(|p| p.space != Space::Reg) {
                let message = "Multiple return parameters require .register state space";
                self.diagnostics.error(parameter.span, message);
            }
            let id = VarId(self.program.vars.len() as u32);
            let name = parameter.name;
            let entity = if parameter.space == Space::Reg {
                let reg = RegId(regs.len() as u32);
                regs.push(Register { name: name.text, ty: parameter.ty, vector: parameter.vector });
                variable.place = u64::from(reg.0);
                Entity::Reg(reg)
            } else {
                offset = offset.next_multiple_of(variable.align());
                variable.place = offset;
                offset += variable.size;
                Entity::Var(id)
            };
            self.program.vars.push(variable);
            ids.push(id);
            if name.text != "_" && named && !self.scopes.define_variable(name, entity) {
                self.duplicate_variable(name.text, name.span);
            }
        }
        if place == Place::Entry {
            self.parameter_gate(offset, list.first().map_or(Span::default(), |p| p.span));
        }
        let limit = PARAMETERS[usize::from(self.program.version >= (8, 1))];
        if place == Place::Entry && offset > limit {
            let name = self.program.functions[owner.0 as usize].name;
            let message = format!(
                "Entry function '{name}' uses too much parameter space ({offset:#x} bytes, {limit:#x} max)."
            );
            let span = list.first().map_or(Span::default(), |p| p.span);
            self.diagnostics.error(span, message);
        }
        ids
    }
}

/// What is wrong with a parameter `name[]`.
fn incomplete(place: Place, last: bool) -> Option<&'static str> {
    match place {
        Place::Result => Some("Output parameter cannot be an incomplete array."),
        _ if !last => Some("Only the last input parameter can be an incomplete array."),
        Place::Entry => Some("Parameter to entry function cannot be an incomplete array."),
        _ => None,
    }
}

/// What a parameter's `.ptr` says (PTX ISA 9.0, "Kernel Parameter Attribute: .ptr").
fn pointer(variable: &ast::Variable<'_>) -> Option<Pointer> {
    let has = |word: &str| variable.attributes.iter().any(|a| a.text == word);
    let spaces = [
        ("global", Space::Global),
        ("const", Space::Const),
        ("local", Space::Local),
        ("shared", Space::Shared),
    ];
    has("ptr").then(|| Pointer {
        space: spaces.iter().find(|(name, _)| has(name)).map(|(_, space)| *space),
        log_align: variable.pointee_align.unwrap_or(1).trailing_zeros() as u8,
    })
}

fn empty_function<'s>(name: &'s str, function: &ast::Function<'s>) -> Function<'s> {
    Function {
        name,
        entry: function.entry,
        linkage: function.linkage,
        returns: Box::default(),
        params: Box::default(),
        directives: Vec::new(),
        defined: false,
        body: None,
        span: function.span,
    }
}
