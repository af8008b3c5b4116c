//! From the syntax tree to a checked [`Program`]: names become indices, scopes and blocks go,
//! operands are checked against their instruction.
//!
//! Messages use ptxas's words where it has such an error (observed: ptxas 13.0.88), so that tools
//! which read its log read ours. Symbols must be declared before they are used; labels need not.

mod apart;
mod body;
mod call;
mod case;
mod declaration;
mod forms;
mod initialiser;
mod known;
mod labels;
mod limits;
mod literal;
mod operand;
mod operand_shape;
mod own_bodies;
mod parameter;
mod rules;
mod scope;
mod shape;
mod since;
mod slots;
mod special;
mod straight;
mod sum;
mod table;
mod words;

use super::ast;
use super::code::{Loc, Shared, SharedOperands, Words};
use super::diagnostics::{Diagnostic, Diagnostics};
use super::parser::{Again, Reader, Straight};
use super::program::{
    FuncId, FunctionBody, LabelId, Operand, Owned, Program, RegId, Register, SourceFile, VarId,
    Variable,
};
use super::target::{self, Sm};
use super::types::Span;
use crate::list::List;
pub(super) use apart::load as load_apart;
use forms::memory::Learned;
use known::Known;
use labels::Labels;
use own_bodies::Apart;
use scope::{Entity, Range, RegShape, Scopes};
use std::sync::Arc;
use sum::Sum;

/// The newest PTX version that is understood (that of ptxas 13.0).
pub const NEWEST_VERSION: (u32, u32) = (9, 0);

/// Takes the items of a module and makes the program of them.
pub struct Checker<'s> {
    source: &'s str,
    again: Again<'s>,
    program: Program<'s>,
    scopes: Scopes<'s>,
    diagnostics: Diagnostics,
    /// The first one.
    target: Option<Sm>,
    /// Of several targets the lowest counts.
    lowest_target: Option<Sm>,
    function: FuncId,
    /// Its body, as far as it has been checked.
    body: FunctionBody<'s>,
    labels: Labels,
    /// The statement before, where that is a label.
    label: Option<Span>,
    /// The last one of the function.
    last_label: Option<LabelId>,
    /// A pragma of the module keeps all loops as they are.
    is_rolled: bool,
    /// Statements count: not those of a function that has been defined before.
    in_body: bool,
    /// `.loc` in force: file, line, column.
    loc: Loc,
    /// Those of the instruction that is checked: nothing may be written to their registers.
    sums: Vec<Sum>,
    /// Of `name<4>` in other spaces than `.reg`: what each variable is but for its name.
    variable_ranges: Vec<Variable>,
    /// Variables of functions that are declared one by one.
    body_variables: usize,
    /// Variables that are symbols of the file.
    memory_variables: usize,
    /// Calls that pass what the ABI does not: wrong unless a function with several results turns it
    /// off.
    narrow_calls: Vec<Diagnostic>,
    /// Spellings of instructions that were met.
    forms: Known,
    /// Of which head that is; the rest of it is where it is used.
    learned: Learned,
    /// Operands of the instruction that is checked, where they are not known to be right.
    operands: Vec<Operand>,
    /// Operands of all instructions.
    shared: SharedOperands,
    /// What bodies find words of instructions in.
    spelled: Shared<Arc<Words>>,
    /// None: all bodies are its own.
    apart: Option<Box<Apart>>,
}

/// Checks each item as it comes.
impl<'s> Reader<'s> for Checker<'s> {
    fn header(&mut self, header: ast::Header<'s>) -> ast::Spellings {
        let mut learned = Learned::take(&header);
        self.forms = std::mem::take(&mut learned.known);
        let spellings = std::mem::take(&mut learned.spellings);
        self.learned = learned;
        self.header_lines(&header);
        spellings
    }

    fn item(&mut self, item: ast::Item<'s>) {
        self.check_item(item);
    }

    fn function(&mut self, function: &ast::Function<'s>) {
        self.in_body = self.declare_function(function);
    }

    fn statement(&mut self, statement: ast::Statement<'_, 's>, tree: &ast::Tree<'s>) {
        if self.in_body {
            self.check_statement(statement, tree);
        }
    }

    fn straight(&mut self, straight: Straight) -> Option<u32> {
        self.take_straight(straight)
    }

    fn passes_over(&mut self) -> Option<u32> {
        self.apart.as_mut().and_then(|apart| apart.passed.take())
    }

    fn end_of_body(&mut self, end: u32) {
        if let Some(apart) = &mut self.apart {
            apart.end(end, self.program.vars.len());
        }
        if self.in_body {
            self.end_function();
        }
        self.in_body = false;
    }

    fn end(&mut self, spellings: ast::Spellings) {
        if !self.diagnostics.has_errors() {
            let known = std::mem::take(&mut self.forms);
            self.spelled.set(known.all_words());
            Learned { spellings, known, ..std::mem::take(&mut self.learned) }.keep();
        }
    }
}

impl<'s> Checker<'s> {
    /// Knows nothing yet of the text.
    pub fn new(source: &'s str) -> Checker<'s> {
        Checker {
            source,
            program: Program {
                version: (0, 0),
                target: "",
                target_options: Vec::new(),
                address_size: 64,
                functions: Vec::new(),
                vars: List::new(),
                owned: Owned::default(),
                source,
                files: Vec::new(),
                aliases: Vec::new(),
                sections: Vec::new(),
                warnings: Diagnostics::default(),
            },
            again: Again::new(source),
            scopes: Scopes::new(source),
            diagnostics: Diagnostics::default(),
            target: None,
            lowest_target: None,
            function: FuncId(0),
            body: FunctionBody::default(),
            labels: Labels::default(),
            label: None,
            last_label: None,
            is_rolled: false,
            in_body: false,
            loc: (0, 0, 0),
            sums: Vec::new(),
            variable_ranges: Vec::new(),
            body_variables: 0,
            memory_variables: 0,
            narrow_calls: Vec::new(),
            forms: Known::default(),
            learned: Learned::default(),
            operands: Vec::new(),
            shared: SharedOperands::default(),
            spelled: Shared::default(),
            apart: None,
        }
    }

    /// The program behind the last item.
    ///
    /// # Errors
    /// Every error and warning that was found.
    pub fn finish(mut self) -> Result<Program<'s>, Diagnostics> {
        self.close();
        if self.diagnostics.has_errors() {
            return Err(self.diagnostics);
        }
        self.program.warnings = self.diagnostics;
        // What the checker alone has.
        drop(self.scopes);
        self.program.owned = Owned::new(self.program.functions.len(), &self.program.vars);
        Ok(self.program)
    }

    /// What is left to be done and said behind the last item.
    fn close(&mut self) {
        self.leave_scope();
        self.shared.close();
        if self.program.functions.iter().all(|function| function.returns.len() < 2) {
            let narrow = std::mem::take(&mut self.narrow_calls);
            narrow.into_iter().for_each(|diagnostic| self.diagnostics.push(diagnostic));
        }
        if self.program.target_options.contains(&"debug") && self.program.sections.is_empty() {
            let message = "Debug information not found in presence of .target debug";
            self.diagnostics.push(Diagnostic::global(message));
        }
    }

    fn header_lines(&mut self, header: &ast::Header<'s>) {
        if let Some((major, minor, span)) = header.version {
            self.program.version = (major, minor);
            if !target::is_version(major, minor) {
                let (newest, revision) = NEWEST_VERSION;
                let message = format!(
                    "Unsupported .version {major}.{minor}; current version is '{newest}.{revision}'"
                );
                self.diagnostics.push(Diagnostic::fatal(span, message));
            }
        }
        // Where there is none, the parser has said so.
        if let Some((first, rest)) = header.target.split_first() {
            self.target_line(*first, rest);
            self.program.target = first.text;
            self.target = Sm::parse(first.text);
            self.program.target_options = rest.iter().map(|word| word.text).collect();
            let all = header.target.iter().filter_map(|word| Sm::parse(word.text));
            self.lowest_target = all.min_by_key(|sm| sm.number);
        }
        if let Some((size, span)) = header.address_size {
            self.program.address_size = size;
            if size != 64 {
                let message = format!(".address_size {size} is not supported; it must be 64");
                self.diagnostics.push(Diagnostic::fatal(span, message));
            }
        }
    }

    /// The `.target` line: an SM that the PTX version has, then options.
    fn target_line(&mut self, first: ast::Ident<'s>, rest: &[ast::Ident<'s>]) {
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
        let has = |option: &str| rest.iter().find(|word| word.text == option);
        if let (Some(_), Some(word)) = (has("texmode_unified"), has("texmode_independent")) {
            let message = "Conflicting .target option 'texmode_independent'";
            self.diagnostics.error(word.span, message);
        }
        if let Some(word) = has("map_f64_to_f32") {
            let message = "Directive map_f64_to_f32 is not supported with SM 1.3 or higher";
            self.diagnostics.error(word.span, message);
        }
    }

    fn check_item(&mut self, item: ast::Item<'s>) {
        match item {
            ast::Item::Variable(variable) => self.module_variable(&variable),
            ast::Item::Alias { alias, aliasee } => {
                self.alias_gate(alias.span);
                match self.lookup(aliasee) {
                    Some(Entity::Func(target)) => {
                        self.program.aliases.push((alias.text, target));
                        self.scopes.define(alias, Entity::Func(target));
                    }
                    _ => self.unknown(aliasee),
                }
            }
            ast::Item::File { index, path, numbers: [time, size], .. } => {
                self.program.files.push(SourceFile { index, path, time, size });
            }
            ast::Item::Section { name, body } => {
                let text = self.source.get(body.start as usize..body.end as usize);
                self.program.sections.push((name.text, text.unwrap_or("")));
            }
            ast::Item::Pragma(span) => self.is_rolled |= self.pragma(span.start),
        }
    }

    /// What a name means here; its register is made at the first use.
    fn lookup(&mut self, name: ast::Ident<'s>) -> Option<Entity> {
        self.lookup_numbered(name, ast::Number::of(name.text))
    }

    /// The name at a place.
    fn ident(&self, name: Span) -> ast::Ident<'s> {
        ast::Ident { text: self.text(name), span: name }
    }

    /// The same of a name whose number is known.
    fn lookup_numbered(
        &mut self,
        name: ast::Ident<'s>,
        number: Option<ast::Number>,
    ) -> Option<Entity> {
        let Checker {
            program, variable_ranges, body, scopes, memory_variables, diagnostics, ..
        } = self;
        scopes.lookup(name, number, |name, range| match range {
            Range::Reg(RegShape { ty, vector }) => {
                let regs = &mut body.regs;
                regs.push(Register { name: name.text, ty, vector: u32::from(vector) });
                Some(Entity::Reg(RegId(regs.len() as u32 - 1)))
            }
            Range::Var(number) => {
                let like = variable_ranges.get(number as usize)?;
                if limits::one_too_many(memory_variables, like.space, name.span, diagnostics) {
                    return None;
                }
                program.vars.push(Variable { start: name.span.start, ..like.clone() });
                Some(Entity::Var(VarId(program.vars.len() as u32 - 1)))
            }
        })
    }

    /// Whether the module's PTX version and SM are no older.
    fn passes(&self, version: (u32, u32), sm: u32) -> bool {
        self.program.version >= version
            && self.lowest_target.is_none_or(|target| target.number >= sm)
    }

    /// Refuses what is younger than the module's PTX version or SM.
    fn gate(&mut self, feature: &str, version: (u32, u32), sm: u32, span: Span) {
        if self.program.version < version {
            let (major, minor) = version;
            let message =
                format!("Feature '{feature}' requires PTX ISA .version {major}.{minor} or later");
            self.diagnostics.error(span, message);
        }
        if self.lowest_target.is_some_and(|target| target.number < sm) {
            let message = format!("Feature '{feature}' requires .target sm_{sm} or higher");
            self.diagnostics.error(span, message);
        }
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
