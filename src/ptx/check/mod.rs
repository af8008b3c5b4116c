//! From the syntax tree to a checked [`Program`]: names become indices, scopes and blocks go, operands are checked against
//! their instruction.
//!
//! Messages use ptxas's words where it has such an error (observed: ptxas 13.0.88), so that tools which read its log read
//! ours. Symbols must be declared before they are used; labels need not.

mod body;
mod call;
mod initialiser;
mod operand;
mod rules;
mod scope;
mod slots;
mod special;
mod table;
mod words;

use super::ast;
use super::diagnostics::{Diagnostic, Diagnostics};
use super::program::{FuncId, Function, Pointer, Program, RegId, Register, VarId, Variable};
use super::target::{self, Sm};
use super::types::{Linkage, Space, Span, Type};
use scope::{Entity, RegShape, Scopes};

/// The newest PTX version that is understood (that of ptxas 13.0).
pub const NEWEST_VERSION: (u32, u32) = (9, 0);

pub(super) struct Checker<'s> {
    source: &'s str,
    program: Program<'s>,
    scopes: Scopes<'s>,
    diagnostics: Diagnostics,
    function: FuncId,
}

/// Checks a module; `Err` holds every error and warning found.
pub fn check<'s>(module: &ast::Module<'s>, source: &'s str) -> Result<Program<'s>, Diagnostics> {
    let mut checker = Checker {
        source,
        program: Program {
            version: (0, 0),
            target: "",
            target_options: Vec::new(),
            address_size: 64,
            functions: Vec::new(),
            vars: Vec::new(),
            files: Vec::new(),
            aliases: Vec::new(),
            pragmas: Vec::new(),
            sections: Vec::new(),
            warnings: Diagnostics::default(),
        },
        scopes: Scopes::new(),
        diagnostics: Diagnostics::default(),
        function: FuncId(0),
    };
    checker.header(module);
    for item in &module.items {
        checker.item(item);
    }
    if checker.diagnostics.has_errors() {
        return Err(checker.diagnostics);
    }
    checker.program.warnings = checker.diagnostics;
    Ok(checker.program)
}

impl<'s> Checker<'s> {
    fn header(&mut self, module: &ast::Module<'s>) {
        if let Some((major, minor, span)) = module.version {
            self.program.version = (major, minor);
            if (major, minor) > NEWEST_VERSION {
                let (newest, revision) = NEWEST_VERSION;
                let message = format!(
                    "Unsupported .version {major}.{minor}; current version is '{newest}.{revision}'"
                );
                self.diagnostics.push(Diagnostic::fatal(span, message));
            }
        }
        match module.target.split_first() {
            Some((first, rest)) => {
                self.target(*first, rest);
                self.program.target = first.text;
                self.program.target_options = rest.iter().map(|word| word.text).collect();
            }
            None => {
                let message = "Missing .target directive at start of file";
                self.diagnostics.push(Diagnostic::fatal(Span::default(), message));
            }
        }
        if let Some((size, span)) = module.address_size {
            self.program.address_size = size;
            if size != 64 {
                let message = format!(".address_size {size} is not supported; it must be 64");
                self.diagnostics.push(Diagnostic::fatal(span, message));
            }
        }
    }

    /// The `.target` line: an SM that the PTX version has, then options.
    fn target(&mut self, first: ast::Ident<'s>, rest: &[ast::Ident<'s>]) {
        match Sm::parse(first.text) {
            Some(sm) => {
                let (major, minor) = self.program.version;
                if (major, minor) < sm.since() {
                    let message = format!(
                        "PTX .version {major}.{minor} does not support .target {}",
                        first.text
                    );
                    let (major, minor) = sm.since();
                    self.diagnostics.push(
                        Diagnostic::error(first.span, message)
                            .note(format!("PTX {major}.{minor} and later have it")),
                    );
                }
            }
            None => {
                let message = format!("Unsupported .target '{}'", first.text);
                self.diagnostics.push(Diagnostic::fatal(first.span, message));
            }
        }
        for word in rest {
            if Sm::parse(word.text).is_none() && !target::OPTIONS.contains(&word.text) {
                let message = format!("Unsupported .target '{}'", word.text);
                self.diagnostics.push(Diagnostic::fatal(word.span, message));
            }
        }
    }

    fn item(&mut self, item: &ast::Item<'s>) {
        match item {
            ast::Item::Variable(variable) => {
                if variable.space == Space::Reg {
                    let message =
                        "Module-scoped variables in .reg state space are not allowed with ABI";
                    self.diagnostics.error(variable.span, message);
                    return;
                }
                self.module_variable(variable);
            }
            ast::Item::Function(function) => self.declare_function(function),
            ast::Item::Alias { alias, aliasee } => {
                match self.scopes.lookup(aliasee.text, |_, _| RegId(0)) {
                    Some(Entity::Func(target)) => {
                        self.program.aliases.push((alias.text, target));
                        self.scopes.define(alias.text, Entity::Func(target));
                    }
                    _ => self.unknown(*aliasee),
                }
            }
            ast::Item::File { index, path, .. } => self.program.files.push((*index, path.clone())),
            ast::Item::Section { name, body } => {
                let text = self.source.get(body.start as usize..body.end as usize);
                self.program.sections.push((name.text, text.unwrap_or("")));
            }
            ast::Item::Pragma { values, .. } => self.program.pragmas.extend(values.iter().cloned()),
        }
    }

    /// A module-scope variable; an `.extern` declaration and its definition are one variable.
    fn module_variable(&mut self, variable: &ast::Variable<'s>) {
        let Some(new) = self.variable(variable, None) else { return };
        match self.scopes.here(variable.name.text) {
            Some(Entity::Var(old)) => {
                let known = &mut self.program.vars[old.0 as usize];
                if new.linkage == Linkage::Extern && known.space == new.space {
                    return;
                }
                if known.linkage == Linkage::Extern && known.space == new.space {
                    *known = new;
                    return;
                }
                self.duplicate_variable(variable.name.text, variable.name.span);
            }
            Some(_) => self.duplicate_variable(variable.name.text, variable.name.span),
            None => {
                let id = VarId(self.program.vars.len() as u32);
                self.program.vars.push(new);
                self.scopes.define(variable.name.text, Entity::Var(id));
            }
        }
    }

    fn duplicate_variable(&mut self, name: &str, span: Span) {
        self.diagnostics.error(span, format!("Duplicate definition of variable '{name}'"));
    }

    /// Size, alignment and initial value; None when it cannot be laid out.
    fn variable(
        &mut self,
        variable: &ast::Variable<'s>,
        owner: Option<FuncId>,
    ) -> Option<Variable<'s>> {
        let span = variable.span;
        let name = variable.name.text;
        if variable.ty == Type::Pred && variable.space != Space::Reg {
            let message = format!("Predicate variable '{name}' must be in register state space");
            self.diagnostics.error(span, message);
            return None;
        }
        if variable.align.is_some_and(|align| !align.is_power_of_two()) {
            self.diagnostics.error(span, "Alignment must be a power of two");
            return None;
        }
        let element = u64::from(variable.ty.bytes()) * u64::from(variable.vector);
        let mut shape = Vec::with_capacity(variable.dims.len() + 1);
        let mut open = false;
        for (i, dim) in variable.dims.iter().enumerate() {
            match (dim, &variable.init) {
                (Some(0), _) => open = true,
                (Some(count), _) => shape.push(*count),
                (None, Some(init)) if i == 0 => shape.push(initialiser::length(init)),
                (None, _) => open = true,
            }
        }
        let incomplete_allowed = variable.linkage == Linkage::Extern
            || variable.space == Space::Param
            || variable.space == Space::Reg;
        if open && !incomplete_allowed {
            let message = format!("Non-external variable '{name}' has incomplete type");
            self.diagnostics.error(span, message);
            return None;
        }
        let size = shape.iter().try_fold(element, |size, count| size.checked_mul(*count));
        let Some(size) = size.filter(|size| *size <= u64::from(u32::MAX) << 8) else {
            self.diagnostics.error(span, format!("Variable '{name}' is too large"));
            return None;
        };
        let size = if open { 0 } else { size };
        let mut init = None;
        let mut relocs = Vec::new();
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
                let data = self.initial_data(value, variable.ty, &shape, size, span)?;
                init = Some(data.bytes);
                relocs = data.relocs;
            }
        }
        let natural = u64::from(variable.ty.bytes()) * u64::from(variable.vector);
        Some(Variable {
            name,
            space: variable.space,
            linkage: variable.linkage,
            ty: variable.ty,
            size,
            align: variable.align.map_or(natural.next_power_of_two(), u64::from),
            offset: 0,
            init,
            relocs,
            reg: None,
            managed: variable.attributes.iter().any(|a| a.text == "managed"),
            pointer: pointer(variable),
            owner,
            span,
        })
    }

    fn declare_function(&mut self, function: &ast::Function<'s>) {
        let name = function.name;
        let id = match self.scopes.here(name.text) {
            Some(Entity::Func(id)) => {
                if function.body.is_some() && self.program.functions[id.0 as usize].defined {
                    let message = format!("Duplicate definition of function '{}'", name.text);
                    self.diagnostics.error(name.span, message);
                    return;
                }
                if function.body.is_none() {
                    return;
                }
                id
            }
            Some(_) => {
                let message = format!("Duplicate definition of function '{}'", name.text);
                self.diagnostics.error(name.span, message);
                return;
            }
            None => {
                let id = FuncId(self.program.functions.len() as u32);
                self.scopes.define(name.text, Entity::Func(id));
                self.program.functions.push(empty_function(name.text, function));
                id
            }
        };
        self.function = id;
        self.scopes.enter();
        let mut checked = empty_function(name.text, function);
        checked.returns = self.parameters(&function.returns, id, &mut checked.regs);
        checked.params = self.parameters(&function.params, id, &mut checked.regs);
        checked.directives =
            function.directives.iter().map(|(name, list)| (name.text, list.clone())).collect();
        checked.pragmas = function.pragmas.clone();
        checked.defined = function.body.is_some();
        self.program.functions[id.0 as usize] = checked;
        if let Some(body) = &function.body {
            self.body(body);
        }
        self.scopes.leave();
    }

    /// Declares a parameter list in the innermost scope and lays it out.
    fn parameters(
        &mut self,
        list: &[ast::Variable<'s>],
        owner: FuncId,
        regs: &mut Vec<Register<'s>>,
    ) -> Vec<VarId> {
        let mut offset = 0u64;
        let mut ids = Vec::with_capacity(list.len());
        for parameter in list {
            let Some(mut variable) = self.variable(parameter, Some(owner)) else { continue };
            let id = VarId(self.program.vars.len() as u32);
            let name = parameter.name;
            let entity = if parameter.space == Space::Reg {
                let reg = RegId(regs.len() as u32);
                regs.push(Register { name: name.text, ty: parameter.ty, vector: parameter.vector });
                variable.reg = Some(reg);
                Entity::Reg(reg)
            } else {
                offset = offset.next_multiple_of(variable.align);
                variable.offset = offset;
                offset += variable.size;
                Entity::Var(id)
            };
            self.program.vars.push(variable);
            ids.push(id);
            if name.text != "_" && self.scopes.define(name.text, entity).is_some() {
                self.duplicate_variable(name.text, name.span);
            }
        }
        ids
    }

    fn current(&mut self) -> &mut Function<'s> {
        &mut self.program.functions[self.function.0 as usize]
    }

    /// What a name means here; its register is made at the first use.
    fn lookup(&mut self, name: &'s str) -> Option<Entity> {
        let regs = &mut self.program.functions[self.function.0 as usize].regs;
        self.scopes.lookup(name, |name, RegShape { ty, vector }| {
            regs.push(Register { name, ty, vector });
            RegId(regs.len() as u32 - 1)
        })
    }

    fn unknown(&mut self, name: ast::Ident<'s>) {
        let mut diagnostic =
            Diagnostic::error(name.span, format!("Unknown symbol '{}'", name.text));
        if let Some(count) = self.scopes.range_of(name.text) {
            let prefix = name.text.trim_end_matches(|c: char| c.is_ascii_digit());
            diagnostic = diagnostic.note(match count {
                0 => format!("'{prefix}<0>' declares no register"),
                1 => format!("only '{prefix}0' is declared"),
                _ => format!("'{prefix}0' to '{prefix}{}' are declared", count - 1),
            });
        } else if let Some(similar) = self.scopes.similar(name.text) {
            diagnostic = diagnostic.note(format!("did you mean '{similar}'?"));
        }
        self.diagnostics.push(diagnostic);
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
        align: u64::from(variable.pointee_align.unwrap_or(1)),
    })
}

fn empty_function<'s>(name: &'s str, function: &ast::Function<'s>) -> Function<'s> {
    Function {
        name,
        entry: function.entry,
        linkage: function.linkage,
        returns: Vec::new(),
        params: Vec::new(),
        directives: Vec::new(),
        pragmas: Vec::new(),
        regs: Vec::new(),
        defined: false,
        code: Vec::new(),
        labels: Vec::new(),
        branch_targets: Vec::new(),
        call_targets: Vec::new(),
        prototypes: Vec::new(),
        span: function.span,
    }
}
