//! The module level: directives, functions and variables.

use super::{MAX_WORDS, Parsed, Parser, Reader};
use crate::ptx::ast::{Function, Header, Ident, Item, NOUNROLL};
use crate::ptx::diagnostics::Diagnostic;
use crate::ptx::lexer::Kind;
use crate::ptx::types::{Linkage, Span};

impl<'s> Parser<'s> {
    pub(super) fn module(&mut self, reader: &mut dyn Reader<'s>) {
        let mut header = Header::default();
        if !self.at_word(".version") {
            let message = if self.at(Kind::Eof) && self.source.trim().is_empty() {
                "Missing .version directive at start of file: the file is empty"
            } else {
                "Missing .version directive at start of file"
            };
            self.diagnostics.push(Diagnostic::fatal(self.token.span, message));
        }
        self.head(&mut header);
        self.tree.spellings = reader.header(header);
        while !self.at(Kind::Eof) {
            let before = self.token;
            match self.item(reader) {
                Ok(Some(item)) if !self.diagnostics.has_errors() => reader.item(item),
                Ok(_) => {}
                Err(_) => self.recover_item(before.span),
            }
        }
    }

    /// `.version`, `.target` and `.address_size`: in this order, before everything else. Without a
    /// target nothing more is said than that.
    fn head(&mut self, header: &mut Header<'s>) {
        if self.head_lines(header).is_err() {
            // What is left of the line is no item.
            self.recover_head();
        }
    }

    fn head_lines(&mut self, header: &mut Header<'s>) -> Parsed<()> {
        if self.at_word(".version") {
            self.bump();
            self.version(header)?;
        }
        while self.at_word(".target") {
            self.bump();
            header.target.push(self.ident("a target such as sm_90a")?);
            while self.eat(Kind::Comma) {
                if header.target.len() == MAX_WORDS {
                    return Err(self.too_many("target options", MAX_WORDS));
                }
                header.target.push(self.ident("a target option")?);
            }
        }
        if header.target.is_empty() && !self.diagnostics.has_errors() {
            let message = "Missing .target directive at start of file";
            self.diagnostics.push(Diagnostic::fatal(self.token.span, message));
        }
        if self.at_word(".address_size") {
            let start = self.bump().span;
            let size = self.number32("32 or 64")?;
            header.address_size = Some((size, start.to(self.last())));
        }
        Ok(())
    }

    fn recover_head(&mut self) {
        while !matches!(self.token.kind, Kind::Eof | Kind::Word) {
            self.bump();
        }
    }

    /// Skips to where an item can begin: after a `;`, after the body's `}`, or at a directive of
    /// the module level.
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

    /// The next item; functions and variables go to the reader at once: a
    /// declaration may have any number.
    fn item(&mut self, reader: &mut dyn Reader<'s>) -> Parsed<Option<Item<'s>>> {
        match self.token.kind {
            // `@@DWARF …`: the form of old compilers, a line each.
            Kind::At => {
                self.lexer.skip_line();
                self.bump();
                return Ok(None);
            }
            Kind::Word => {}
            _ => return Err(self.unexpected("a directive")),
        }
        let start = self.token.span;
        match self.text(start) {
            ".file" => self.file().map(Some),
            ".section" => self.section().map(Some),
            ".loc" => self.loc(&mut ()).map(|()| None),
            ".pragma" => {
                self.pragma(&mut |_| ())?;
                Ok(Some(Item::Pragma(start)))
            }
            ".alias" => {
                self.bump();
                let alias = self.ident("a function's name")?;
                self.expect(Kind::Comma, "','")?;
                let aliasee = self.ident("a function's name")?;
                self.expect(Kind::Semi, "';'")?;
                Ok(Some(Item::Alias { alias, aliasee }))
            }
            _ => self.function_or_variables(reader),
        }
    }

    pub(super) fn last(&self) -> Span {
        Span { start: self.end, end: self.end }
    }

    fn version(&mut self, header: &mut Header<'s>) -> Parsed<()> {
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
        if header.version.is_some() {
            return Err(self.error(token.span, "Duplicate .version directive"));
        }
        header.version = Some((major, minor, token.span));
        Ok(())
    }

    /// `.file 1 "name" [, timestamp, size]`
    fn file(&mut self) -> Parsed<Item<'s>> {
        let start = self.bump().span;
        let index = self.number("the file's index")?;
        let path = self.string("the file's name")?;
        let mut numbers = [0; 2];
        let mut at = 0;
        while self.eat(Kind::Comma) {
            let number = self.number("a number")?;
            if let Some(place) = numbers.get_mut(at) {
                *place = number;
            }
            at += 1;
        }
        Ok(Item::File { index, path, numbers, span: start.to(self.last()) })
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
    pub(super) fn pragma(&mut self, each: &mut dyn FnMut(&str)) -> Parsed<Span> {
        let start = self.bump().span;
        self.strings(each)?;
        self.expect(Kind::Semi, "';'")?;
        Ok(start.to(self.last()))
    }

    fn strings(&mut self, each: &mut dyn FnMut(&str)) -> Parsed<()> {
        each(&self.string("a string")?);
        while self.eat(Kind::Comma) {
            each(&self.string("a string")?);
        }
        Ok(())
    }

    fn function_or_variables(&mut self, reader: &mut dyn Reader<'s>) -> Parsed<Option<Item<'s>>> {
        let start = self.token.span;
        let linkage = self.linkage();
        match self.text(self.token.span) {
            ".entry" if linkage != Linkage::Common => {
                self.bump();
                self.function(true, linkage, start, reader)
            }
            ".func" if linkage != Linkage::Common => {
                self.bump();
                self.function(false, linkage, start, reader)
            }
            _ => {
                let clean = !self.diagnostics.has_errors();
                let mut take = |variable| {
                    if clean {
                        reader.item(Item::Variable(variable));
                    }
                };
                self.variables(linkage, &mut take)?;
                Ok(None)
            }
        }
    }

    /// `.visible`, `.extern`, `.weak`, `.common`, or none.
    fn linkage(&mut self) -> Linkage {
        let linkage = match self.text(self.token.span) {
            ".visible" => Linkage::Visible,
            ".extern" => Linkage::Extern,
            ".weak" => Linkage::Weak,
            ".common" => Linkage::Common,
            _ => return Linkage::Internal,
        };
        self.bump();
        linkage
    }

    /// After `.entry` or `.func`.
    fn function(
        &mut self,
        entry: bool,
        linkage: Linkage,
        start: Span,
        reader: &mut dyn Reader<'s>,
    ) -> Parsed<Option<Item<'s>>> {
        let mut function = Function {
            entry,
            linkage,
            name: Ident { text: "", span: start },
            returns: Vec::new(),
            params: Vec::new(),
            directives: Vec::new(),
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
        let defined = self.at(Kind::LBrace);
        function.body = defined.then_some(self.token.span.start);
        if !defined {
            self.expect(Kind::Semi, "'{' or ';'")?;
        }
        let clean = !self.diagnostics.has_errors();
        if clean {
            reader.function(&function);
        }
        if clean && let Some(end) = reader.passes_over() {
            self.go_on(end);
        } else if defined {
            let result = self.block(reader);
            if clean {
                reader.end_of_body(self.end);
            }
            result?;
        }
        Ok(None)
    }

    /// `.maxntid 256, 1, 1`, `.pragma "…";` of a kernel, `.noreturn` and `.abi_preserve` of a
    /// function, up to the body.
    pub(super) fn function_directives(&mut self, function: &mut Function<'s>) -> Parsed<()> {
        while self.at(Kind::Word) {
            if self.at_word(".pragma") {
                let span = self.bump().span;
                let mut is_rolled = false;
                self.strings(&mut |value| is_rolled |= value.trim() == NOUNROLL)?;
                if is_rolled {
                    function.directives.push((Ident { text: NOUNROLL, span }, Vec::new()));
                }
                // A function's pragma has no `;` of its own. Observed: ptxas 13.0.88.
                if function.entry {
                    self.expect(Kind::Semi, "';'")?;
                }
                continue;
            }
            let word = self.text(self.token.span);
            let Some(directive) = directive(word, function.entry) else {
                return Err(self.unexpected("a directive of the function, '{' or ';'"));
            };
            if function.directives.len() == MAX_WORDS {
                return Err(self.too_many("directives", MAX_WORDS));
            }
            let name = self.word("a directive")?;
            let mut numbers = Vec::new();
            if directive.most > 0 {
                numbers.push(u64::from(self.number32("a number")?));
                while numbers.len() < directive.most && self.eat(Kind::Comma) {
                    numbers.push(u64::from(self.number32("a number")?));
                }
            }
            if directive.positive && numbers.contains(&0) {
                let message = format!("Positive non-zero value expected for {}", name.text);
                self.error(name.span, message);
            }
            // A prototype's name is `_`. Observed: ptxas 13.0.88, its spelling too.
            if name.text == "noreturn" && !function.returns.is_empty() {
                let of = match function.name.text {
                    "_" => "protoype with return parameters",
                    other => other,
                };
                self.error(name.span, format!("Invalid directive '.noreturn' for function '{of}'"));
            }
            function.directives.push((name, numbers));
        }
        Ok(())
    }
}

/// What may stand between parameters and body.
struct Directive {
    name: &'static str,
    /// Of kernels; else of functions.
    entry: bool,
    /// How many numbers at most; at least one unless it takes none.
    most: usize,
    positive: bool,
}

/// Source: PTX ISA 9.0, "Performance-Tuning Directives", "Cluster Dimension Directives", "Kernel
/// and Function Directives"; what is refused was observed: ptxas 13.0.88.
#[rustfmt::skip]
static DIRECTIVES: [Directive; 12] = [
    Directive { name: ".maxntid", entry: true, most: 3, positive: true },
    Directive { name: ".reqntid", entry: true, most: 3, positive: true },
    Directive { name: ".minnctapersm", entry: true, most: 1, positive: true },
    Directive { name: ".maxnctapersm", entry: true, most: 1, positive: false },
    Directive { name: ".maxnreg", entry: true, most: 1, positive: true },
    Directive { name: ".reqnctapercluster", entry: true, most: 3, positive: false },
    Directive { name: ".maxclusterrank", entry: true, most: 1, positive: false },
    Directive { name: ".explicitcluster", entry: true, most: 0, positive: false },
    Directive { name: ".blocksareclusters", entry: true, most: 0, positive: false },
    Directive { name: ".noreturn", entry: false, most: 0, positive: false },
    Directive { name: ".abi_preserve", entry: false, most: 1, positive: false },
    Directive { name: ".abi_preserve_control", entry: false, most: 1, positive: false },
];

fn directive(word: &str, entry: bool) -> Option<&'static Directive> {
    DIRECTIVES.iter().find(|directive| directive.name == word && directive.entry == entry)
}
