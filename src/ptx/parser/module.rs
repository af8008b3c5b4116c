//! The module level: directives, functions and variables.

use super::{Parsed, Parser};
use crate::ptx::ast::{Function, Ident, Item, Module};
use crate::ptx::diagnostics::Diagnostic;
use crate::ptx::lexer::Kind;
use crate::ptx::types::{Linkage, Span};

impl<'s> Parser<'s> {
    pub(super) fn module(&mut self) -> Module<'s> {
        let mut module = Module::default();
        if !self.at_word(".version") {
            let message = if self.at(Kind::Eof) && self.source.trim().is_empty() {
                "Missing .version directive at start of file: the file is empty"
            } else {
                "Missing .version directive at start of file"
            };
            self.diagnostics.push(Diagnostic::fatal(self.token.span, message));
        }
        while !self.at(Kind::Eof) {
            let before = self.token;
            if self.item(&mut module).is_err() {
                self.recover_item(before.span);
            }
        }
        module
    }

    /// Skips to where an item can begin: after a `;`, after the body's `}`, or at a directive of the module level.
    fn recover_item(&mut self, failed: Span) {
        if self.token.span == failed && !self.at(Kind::Eof) {
            self.bump();
        }
        let mut depth = 0usize;
        loop {
            match self.token.kind {
                Kind::Eof => return,
                Kind::Word if depth == 0 => {
                    let word = self.text(self.token.span);
                    if matches!(
                        word,
                        ".visible" | ".entry" | ".func" | ".extern" | ".weak" | ".global"
                    ) {
                        return;
                    }
                }
                Kind::LBrace => depth += 1,
                Kind::RBrace if depth <= 1 => {
                    self.bump();
                    return;
                }
                Kind::RBrace => depth -= 1,
                Kind::Semi if depth == 0 => {
                    self.bump();
                    return;
                }
                _ => {}
            }
            self.bump();
        }
    }

    fn item(&mut self, module: &mut Module<'s>) -> Parsed<()> {
        match self.token.kind {
            Kind::Semi => {
                self.bump();
                return Ok(());
            }
            // `@@DWARF …`: the form of old compilers, a line each.
            Kind::At => {
                self.lexer.skip_line();
                self.bump();
                return Ok(());
            }
            Kind::Word => {}
            _ => return Err(self.unexpected("a directive")),
        }
        let start = self.token.span;
        match self.text(start) {
            ".version" => {
                self.bump();
                self.version(module)
            }
            ".target" => {
                self.bump();
                module.target.push(self.ident("a target such as sm_90a")?);
                while self.eat(Kind::Comma) {
                    module.target.push(self.ident("a target option")?);
                }
                Ok(())
            }
            ".address_size" => {
                self.bump();
                let size = self.number32("32 or 64")?;
                module.address_size = Some((size, start.to(self.last())));
                Ok(())
            }
            ".file" => {
                let item = self.file()?;
                module.items.push(item);
                Ok(())
            }
            ".section" => {
                let item = self.section()?;
                module.items.push(item);
                Ok(())
            }
            ".loc" => self.loc().map(|_| ()),
            ".pragma" => {
                let (values, span) = self.pragma()?;
                module.items.push(Item::Pragma { values, span });
                Ok(())
            }
            ".alias" => {
                self.bump();
                let alias = self.ident("a function's name")?;
                self.expect(Kind::Comma, "','")?;
                let aliasee = self.ident("a function's name")?;
                self.expect(Kind::Semi, "';'")?;
                module.items.push(Item::Alias { alias, aliasee });
                Ok(())
            }
            _ => self.function_or_variables(module),
        }
    }

    pub(super) fn last(&self) -> Span {
        Span { start: self.end, end: self.end }
    }

    fn version(&mut self, module: &mut Module<'s>) -> Parsed<()> {
        let token = self.token;
        if !matches!(token.kind, Kind::Float | Kind::Int) {
            return Err(self.unexpected("a version such as 9.0"));
        }
        self.bump();
        let parsed = self.text(token.span).split_once('.').and_then(|(major, minor)| {
            Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?))
        });
        let Some((major, minor)) = parsed else {
            return Err(self.error(token.span, "The version is not MAJOR.MINOR, such as 9.0"));
        };
        if module.version.is_some() {
            return Err(self.error(token.span, "Duplicate .version directive"));
        }
        module.version = Some((major, minor, token.span));
        Ok(())
    }

    /// `.file 1 "name" [, timestamp, size]`
    fn file(&mut self) -> Parsed<Item<'s>> {
        let start = self.bump().span;
        let index = self.number("the file's index")?;
        let path = self.string("the file's name")?;
        while self.eat(Kind::Comma) {
            self.number("a number")?;
        }
        Ok(Item::File { index, path, span: start.to(self.last()) })
    }

    /// `.section .debug_str { … }`: the braces' content is kept as text.
    fn section(&mut self) -> Parsed<Item<'s>> {
        self.bump();
        let name = if self.at(Kind::Word) { self.word("a name")? } else { self.ident("a name")? };
        let open = self.expect(Kind::LBrace, "'{'")?.span;
        let mut depth = 1u32;
        loop {
            match self.token.kind {
                Kind::Eof => return Err(self.unexpected("'}' at the end of the section")),
                Kind::LBrace => depth += 1,
                Kind::RBrace => depth -= 1,
                _ => {}
            }
            let token = self.bump();
            if depth == 0 {
                let body = Span { start: open.end, end: token.span.start };
                return Ok(Item::Section { name, body });
            }
        }
    }

    /// `.pragma "a", "b";`
    pub(super) fn pragma(&mut self) -> Parsed<(Vec<String>, Span)> {
        let start = self.bump().span;
        let mut values = vec![self.string("a string")?];
        while self.eat(Kind::Comma) {
            values.push(self.string("a string")?);
        }
        self.expect(Kind::Semi, "';'")?;
        Ok((values, start.to(self.last())))
    }

    fn function_or_variables(&mut self, module: &mut Module<'s>) -> Parsed<()> {
        let start = self.token.span;
        let linkage = self.linkage();
        match self.text(self.token.span) {
            ".entry" => {
                self.bump();
                let function = self.function(true, linkage, start)?;
                module.items.push(Item::Function(function));
                Ok(())
            }
            ".func" => {
                self.bump();
                let function = self.function(false, linkage, start)?;
                module.items.push(Item::Function(function));
                Ok(())
            }
            _ => {
                let mut variables = Vec::new();
                let result = self.variables(linkage, &mut variables);
                module.items.extend(variables.into_iter().map(Item::Variable));
                result
            }
        }
    }

    /// `.visible`, `.extern`, `.weak`, `.common`, or none.
    pub(super) fn linkage(&mut self) -> Linkage {
        let mut linkage = Linkage::Internal;
        while self.at(Kind::Word) {
            linkage = match self.text(self.token.span) {
                ".visible" => Linkage::Visible,
                ".extern" => Linkage::Extern,
                ".weak" => Linkage::Weak,
                ".common" => Linkage::Common,
                _ => break,
            };
            self.bump();
        }
        linkage
    }

    /// After `.entry` or `.func`.
    fn function(&mut self, entry: bool, linkage: Linkage, start: Span) -> Parsed<Function<'s>> {
        let mut function = Function {
            entry,
            linkage,
            name: Ident { text: "", span: start },
            returns: Vec::new(),
            params: Vec::new(),
            directives: Vec::new(),
            pragmas: Vec::new(),
            body: None,
            span: start,
        };
        if !entry && self.at(Kind::LParen) {
            function.returns = self.parameters()?;
        }
        function.name = self.ident("the function's name")?;
        if self.at(Kind::LParen) {
            function.params = self.parameters()?;
        }
        self.function_directives(&mut function)?;
        function.span = start.to(self.last());
        if self.at(Kind::LBrace) {
            function.body = Some(self.body()?);
        } else {
            self.expect(Kind::Semi, "'{' or ';'")?;
        }
        Ok(function)
    }

    /// `.maxntid 256, 1, 1`, `.noreturn`, `.pragma "…";` up to the body.
    pub(super) fn function_directives(&mut self, function: &mut Function<'s>) -> Parsed<()> {
        while self.at(Kind::Word) {
            if self.at_word(".pragma") {
                let (values, _) = self.pragma()?;
                function.pragmas.extend(values);
                continue;
            }
            let name = self.word("a directive")?;
            let mut numbers = Vec::new();
            if self.at(Kind::Int) {
                numbers.push(self.number("a number")?);
                while self.eat(Kind::Comma) {
                    numbers.push(self.number("a number")?);
                }
            }
            function.directives.push((name, numbers));
        }
        Ok(())
    }
}
