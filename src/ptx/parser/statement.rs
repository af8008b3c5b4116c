//! Function bodies: labels, blocks, instructions and their operands.

use super::declaration::declared_type;
use super::{MAX_LIST, MAX_WORDS, Parsed, Parser, Reader, Straight};
use crate::ptx::ast::{
    Expr, Function, Ident, Instruction, Number, Operand, Operands, Spelling, Statement, Tree,
    Variable,
};
use crate::ptx::constant::Const;
use crate::ptx::cursor::Cursor;
use crate::ptx::lexer::Kind;
use crate::ptx::types::{Linkage, Space, Span};
use smallvec::SmallVec;

impl<'s> Parser<'s> {
    /// `{ … }`
    pub(super) fn block(&mut self, reader: &mut dyn Reader<'s>) -> Parsed<()> {
        self.expect(Kind::LBrace, "'{'")?;
        while !self.at(Kind::RBrace) {
            if self.at(Kind::Eof) {
                return Err(self.unexpected("'}' at the end of the body"));
            }
            if self.statement(reader).is_err() {
                self.tree.clear();
                self.recover_statement();
            }
        }
        self.bump();
        Ok(())
    }

    /// Behind an error nobody is told anything more.
    fn tell(&self, reader: &mut dyn Reader<'s>, statement: Statement<'_, 's>) {
        if !self.diagnostics.has_errors() {
            reader.statement(statement, &self.tree);
        }
    }

    /// The next statement, behind those before it that the reader takes from the text.
    fn statement(&mut self, reader: &mut dyn Reader<'s>) -> Parsed<()> {
        if matches!(self.token.kind, Kind::Ident | Kind::At | Kind::Word) {
            self.straight(reader);
            if matches!(self.token.kind, Kind::RBrace | Kind::Eof) {
                return Ok(());
            }
        }
        match self.token.kind {
            Kind::Ident => {
                // Most are instructions, and most of those have modifiers.
                if self.lexer.next_byte() != b'.' {
                    let first = self.ident("an instruction")?;
                    if self.eat(Kind::Colon) {
                        self.tell(reader, Statement::Label(first));
                        return Ok(());
                    }
                    self.go_back(first.span);
                }
                let start = self.token.span;
                self.instruction(None, start, reader)
            }
            Kind::At => self.guarded(reader),
            Kind::LBrace => {
                self.tell(reader, Statement::Open(self.token.span.start));
                self.nested(|parser| parser.block(reader))?;
                self.tell(reader, Statement::Close);
                Ok(())
            }
            Kind::Word => self.directive(reader),
            _ => Err(self.unexpected("an instruction, a label or a directive")),
        }
    }

    /// From its guard on.
    fn guarded(&mut self, reader: &mut dyn Reader<'s>) -> Parsed<()> {
        let start = self.bump().span;
        let negated = self.eat(Kind::Not);
        let guard = self.ident("a predicate")?;
        self.instruction(Some((guard, negated)), start, reader)
    }

    /// What a directive lists is read again by who wants it.
    fn directive(&mut self, reader: &mut dyn Reader<'s>) -> Parsed<()> {
        let span = self.token.span;
        let statement = match self.text(span) {
            ".loc" => return self.loc(reader),
            ".pragma" => {
                self.pragma(&mut |_| ())?;
                Statement::Pragma(span.start)
            }
            ".branchtargets" => {
                self.bump();
                self.names("a label", &mut |_| ())?;
                Statement::BranchTargets(span)
            }
            ".calltargets" => {
                self.bump();
                self.names("a function", &mut |_| ())?;
                Statement::CallTargets(span)
            }
            ".callprototype" => {
                let prototype = self.prototype()?;
                self.tell(reader, Statement::CallPrototype(&prototype));
                return Ok(());
            }
            _ if self.at_declaration(span) => return self.declaration(reader),
            _ => return Err(self.unexpected("an instruction, a label or a directive")),
        };
        self.tell(reader, statement);
        Ok(())
    }

    fn declaration(&mut self, reader: &mut dyn Reader<'s>) -> Parsed<()> {
        let clean = !self.diagnostics.has_errors();
        // Declarations have no operands.
        let tree = Tree::default();
        self.variables(Linkage::Internal, &mut |variable| {
            if clean {
                reader.statement(Statement::Declaration(&variable), &tree);
            }
        })
    }

    pub(super) fn names(&mut self, what: &str, each: &mut dyn FnMut(Ident<'s>)) -> Parsed<()> {
        each(self.ident(what)?);
        while self.eat(Kind::Comma) {
            each(self.ident(what)?);
        }
        self.expect(Kind::Semi, "';'")?;
        Ok(())
    }

    /// `.callprototype (returns) _ (params) .noreturn;`
    pub(super) fn prototype(&mut self) -> Parsed<Function<'s>> {
        let start = self.bump().span;
        let returns = if self.at(Kind::LParen) { self.parameters()? } else { Vec::new() };
        let name = self.ident("'_'")?;
        let params = if self.at(Kind::LParen) { self.parameters()? } else { Vec::new() };
        let mut function = Function {
            entry: false,
            linkage: Linkage::Internal,
            name,
            returns,
            params,
            directives: Vec::new(),
            body: None,
            span: start,
        };
        self.function_directives(&mut function)?;
        self.expect(Kind::Semi, "';'")?;
        function.span = start.to(self.last());
        Ok(function)
    }

    /// `.loc 1 10 3[, function_name $L[+5], inlined_at 1 10 3]`
    pub(super) fn loc(&mut self, reader: &mut dyn Reader<'s>) -> Parsed<()> {
        self.bump();
        let file = self.number32("the file's index")?;
        let line = self.number32("a line")?;
        let column = self.number32("a column")?;
        self.tell(reader, Statement::Loc(file, line, column));
        if self.eat(Kind::Comma) {
            self.keyword("function_name")?;
            let function_name = self.ident("a label")?;
            if self.eat(Kind::Plus) {
                self.number("an offset")?;
            }
            self.expect(Kind::Comma, "','")?;
            self.keyword("inlined_at")?;
            self.number32("the file's index")?;
            self.number32("a line")?;
            self.number32("a column")?;
            self.tell(reader, Statement::Inlined(function_name.span));
        }
        Ok(())
    }

    fn keyword(&mut self, word: &str) -> Parsed<()> {
        if self.at(Kind::Ident) && self.text(self.token.span) == word {
            self.bump();
            return Ok(());
        }
        Err(self.unexpected(word))
    }

    /// Begins with the opcode.
    fn instruction(
        &mut self,
        guard: Option<(Ident<'s>, bool)>,
        start: Span,
        reader: &mut dyn Reader<'s>,
    ) -> Parsed<()> {
        self.tree.clear();
        let (opcode, spelling, words) = self.spelling()?;
        if let Some(words) = words {
            match self.plain_operands(words) {
                Ok(semi) => {
                    self.go_on(semi as u32 + 1);
                    let span = Span { start: start.start, end: semi as u32 };
                    let instruction = Instruction { guard, opcode, spelling, span };
                    self.tell(reader, Statement::Instruction(&instruction));
                    return Ok(());
                }
                Err(at) => {
                    self.lexer.rewind(at as u32);
                    self.token = self.lexer.next_token();
                }
            }
        }
        // Behind a comma there is one more.
        if !self.tree.stack.is_empty() || !self.at(Kind::Semi) {
            let call = opcode.text == "call";
            loop {
                if self.tree.stack.len() == MAX_LIST {
                    return Err(self.too_many("operands", MAX_LIST));
                }
                let operand = self.operand(call)?;
                self.tree.stack.push(operand);
                if !self.eat(Kind::Comma) {
                    break;
                }
            }
        }
        let semi = self.expect(Kind::Semi, "';' or ','")?;
        let span = Span { start: start.start, end: semi.span.start };
        let instruction = Instruction { guard, opcode, spelling, span };
        self.tell(reader, Statement::Instruction(&instruction));
        Ok(())
    }

    /// Instructions that the reader takes from the text, from the next token on, and what stands
    /// between them that needs no tokens: labels, lists of registers, places. The next token is the
    /// first of what is none of these.
    fn straight(&mut self, reader: &mut dyn Reader<'s>) {
        if self.diagnostics.has_errors() {
            return;
        }
        let mut cursor = Cursor { source: self.source, at: self.token.span.start as usize };
        let mut end = cursor.at;
        loop {
            let start = cursor.at;
            let instruction = matches!(cursor.byte(), b'@' | b'a'..=b'z');
            if !(instruction && self.straight_one(&mut cursor, reader).is_some()) {
                cursor.at = start;
                if self.straight_other(&mut cursor, reader).is_none() {
                    break;
                }
            }
            end = cursor.at;
            cursor.skip_blanks_and_lines();
        }
        if end != self.token.span.start as usize {
            self.go_on(end as u32);
        }
    }

    #[inline(never)]
    fn straight_other(
        &mut self,
        cursor: &mut Cursor<'s>,
        reader: &mut dyn Reader<'s>,
    ) -> Option<()> {
        match cursor.byte() {
            b'a'..=b'z' | b'A'..=b'Z' | b'$' | b'_' => self.straight_label(cursor, reader),
            b'.' => self.straight_directive(cursor, reader),
            _ => None,
        }
    }

    /// A label with its colon.
    fn straight_label(
        &mut self,
        cursor: &mut Cursor<'s>,
        reader: &mut dyn Reader<'s>,
    ) -> Option<()> {
        let span = cursor.symbol()?;
        cursor.eat(b':')?;
        if cursor.byte() == b':' {
            return None;
        }
        let name = Ident { text: self.text(span), span };
        reader.statement(Statement::Label(name), &self.tree);
        Some(())
    }

    /// `.reg .b32 %r<8>;` or `.loc 1 2 3`
    fn straight_directive(
        &mut self,
        cursor: &mut Cursor<'s>,
        reader: &mut dyn Reader<'s>,
    ) -> Option<()> {
        let start = cursor.at;
        let word = cursor.word()?;
        match self.text(word) {
            ".loc" => {
                let [file, line, column] = [cursor.count()?, cursor.count()?, cursor.count()?];
                let end = cursor.at;
                cursor.skip_blanks_and_lines();
                // With a comma behind it there is more of it.
                if matches!(cursor.byte(), b',' | b'/' | 0) {
                    return None;
                }
                cursor.at = end;
                reader.statement(Statement::Loc(file, line, column), &self.tree);
            }
            ".reg" => {
                cursor.skip_blanks();
                let ty = cursor.word()?;
                let ty = self.text(ty).strip_prefix('.').and_then(declared_type)?;
                cursor.skip_blanks();
                let (name, _) = (cursor.byte() == b'%').then(|| cursor.register())??;
                cursor.eat(b'<')?;
                let count = cursor.count()?;
                cursor.eat(b'>')?;
                // The place of a variable ends before the comma or the end.
                let end = cursor.at;
                cursor.eat(b';')?;
                let variable = Variable {
                    name: Ident { text: self.text(name), span: name },
                    ty,
                    count: Some(count),
                    span: Span::new(start, end),
                    ..Variable::of(Space::Reg, Linkage::Internal, word)
                };
                reader.statement(Statement::Declaration(&variable), &self.tree);
            }
            _ => return None,
        }
        Some(())
    }

    /// The instruction that begins there, if the reader takes it, with its `;`.
    #[inline]
    fn straight_one(&mut self, cursor: &mut Cursor<'s>, reader: &mut dyn Reader<'s>) -> Option<()> {
        let start = cursor.at as u32;
        let mut guard = None;
        if cursor.byte() == b'@' {
            cursor.at += 1;
            let negated = cursor.byte() == b'!';
            cursor.at += usize::from(negated);
            if cursor.byte() != b'%' {
                return None;
            }
            let (name, number) = cursor.register()?;
            guard = Some((name, number?, negated));
            cursor.skip_blanks();
        }
        // No spelling has anything in it but words.
        let end = self.lexer.near_end_of_words(cursor.at)?;
        let words = self.source.get(cursor.at..end)?;
        let spelling = self.tree.spellings.find(words)?;
        let straight = Straight { start, guard, spelling, operands: end as u32 };
        cursor.at = reader.straight(straight)? as usize + 1;
        Some(())
    }

    /// Goes on behind this place, which something ends at.
    pub(super) fn go_on(&mut self, end: u32) {
        self.end = end;
        self.lexer.rewind(end);
        self.token = self.lexer.next_token();
    }

    /// The opcode, and the number of it with its modifiers; where the operands begin, if they may
    /// be read from there without tokens.
    fn spelling(&mut self) -> Parsed<(Ident<'s>, u32, Option<usize>)> {
        let first = self.token.span;
        if self.at(Kind::Ident) {
            let end = self.lexer.end_of_words(first.start);
            let text = self.source.get(first.start as usize..end).unwrap_or("");
            if let Some(number) = self.tree.spellings.find(text) {
                let opcode = Ident { text: self.text(first), span: first };
                self.end = end as u32;
                self.lexer.rewind(end as u32);
                if self.lexer.begins_operand() {
                    return Ok((opcode, number, Some(end)));
                }
                self.token = self.lexer.next_token();
                if !self.at_modifier() {
                    return Ok((opcode, number, None));
                }
                self.go_back(first);
            }
        }
        let opcode = self.ident("an instruction")?;
        let mut modifiers = SmallVec::new();
        while self.at_modifier() {
            if modifiers.len() == MAX_WORDS {
                return Err(self.too_many("modifiers", MAX_WORDS));
            }
            let span = self.bump().span;
            modifiers
                .push(Span { start: span.start + 1 - first.start, end: span.end - first.start });
        }
        let text = self.text(Span { start: first.start, end: self.end });
        if let Some(number) = self.tree.spellings.find(text) {
            return Ok((opcode, number, None));
        }
        let number = self.tree.spellings.add(Spelling::new(text, opcode.text, modifiers));
        Ok((opcode, number, Some(self.token.span.start as usize)))
    }

    /// Whether a dot word is next. A modifier of digits alone looks like a fraction.
    fn at_modifier(&self) -> bool {
        match self.token.kind {
            Kind::Word => true,
            Kind::Float => self.adjacent() && self.text(self.token.span).starts_with('.'),
            _ => false,
        }
    }

    /// Back to a token that has been read.
    fn go_back(&mut self, to: Span) {
        self.lexer.rewind(to.start);
        self.token = self.lexer.next_token();
    }

    /// `lists`: a parenthesis begins a list of arguments, not an expression.
    fn operand(&mut self, lists: bool) -> Parsed<Operand> {
        let start = self.token.span;
        match self.token.kind {
            Kind::Ident => self.named_operand(),
            Kind::LBrace => {
                let items = self.operand_list(Kind::RBrace, "'}' or ','")?;
                let vector = Operand::Vector(items, start.to(self.last()));
                if !self.eat(Kind::Or) {
                    return Ok(vector);
                }
                let second = self.simple_name()?;
                Ok(Operand::Pair(self.tree.pair(vector, second)))
            }
            Kind::LBracket => {
                let items = self.operand_list(Kind::RBracket, "']' or ','")?;
                Ok(Operand::Address(items, start.to(self.last())))
            }
            Kind::LParen if lists => {
                let items = self.operand_list(Kind::RParen, "')' or ','")?;
                Ok(Operand::List(items, start.to(self.last())))
            }
            Kind::Not | Kind::Minus => self.prefixed_operand(),
            Kind::Semi | Kind::RBrace | Kind::Comma | Kind::Word => {
                Err(self.unexpected("an operand"))
            }
            _ => self.constant(),
        }
    }

    /// Only constants are operands, but whoever checks the instruction says so.
    fn constant(&mut self) -> Parsed<Operand> {
        Ok(match self.expression()? {
            Expr::Const(value, span) => Operand::Const(value, span),
            symbolic => Operand::Symbolic(symbolic.span()),
        })
    }

    fn operand_list(&mut self, close: Kind, what: &str) -> Parsed<Operands> {
        self.nested(|parser| {
            parser.bump();
            if parser.eat(close) {
                return Ok(Operands::default());
            }
            let bottom = parser.tree.stack.len();
            loop {
                if parser.tree.stack.len() - bottom == MAX_LIST {
                    return Err(parser.too_many("operands", MAX_LIST));
                }
                let operand = parser.operand(false)?;
                parser.tree.stack.push(operand);
                if !parser.eat(Kind::Comma) {
                    break;
                }
            }
            parser.expect(close, what)?;
            Ok(parser.tree.list(bottom))
        })
    }

    /// `!%p`, `-%r.h0`, or an expression that begins with the same sign.
    fn prefixed_operand(&mut self) -> Parsed<Operand> {
        let (saved, token, end) = (self.lexer, self.token, self.end);
        let sign = self.bump();
        if self.at(Kind::Ident) && self.text(self.token.span) != "WARP_SZ" {
            if sign.kind == Kind::Not {
                return Ok(Operand::Not(self.ident("a predicate")?.span));
            }
            let inner = self.named_operand()?;
            return Ok(Operand::Negate(self.tree.one(inner)));
        }
        (self.lexer, self.token, self.end) = (saved, token, end);
        self.constant()
    }

    fn named_operand(&mut self) -> Parsed<Operand> {
        let first = self.simple_name()?;
        if self.at(Kind::Or) {
            if let Operand::Const(_, span) = first {
                return self.continue_expression(span);
            }
            self.bump();
            let second = self.simple_name()?;
            return Ok(Operand::Pair(self.tree.pair(first, second)));
        }
        match first {
            Operand::Name(name, number) if self.at(Kind::Plus) => self.sum(name, number),
            Operand::Name(name, _) if self.at(Kind::LBracket) => self.index(name),
            Operand::Name(name, _) if self.at(Kind::LParen) => {
                self.bump();
                self.expression()?;
                self.expect(Kind::RParen, "')'")?;
                Ok(Operand::Symbolic(name))
            }
            Operand::Const(_, span) => self.continue_expression(span),
            other => Ok(other),
        }
    }

    /// A name, its element, `_`, or the constant `WARP_SZ`.
    fn simple_name(&mut self) -> Parsed<Operand> {
        let name = self.ident("a register or a name")?;
        match name.text {
            "_" => return Ok(Operand::Sink(name.span)),
            "WARP_SZ" => return Ok(Operand::Const(Const::int(32), name.span)),
            _ => {}
        }
        if self.at(Kind::Word) && self.adjacent() {
            return Ok(Operand::Element(name.span, self.word("an element")?.span));
        }
        Ok(Operand::Name(name.span, Number::of(name.text)))
    }

    /// The rest of an expression whose first operand is the constant `WARP_SZ`.
    fn continue_expression(&mut self, first: Span) -> Parsed<Operand> {
        // Rare: read it again as an expression from its first token.
        self.go_back(first);
        self.constant()
    }

    /// `name + constant`
    fn sum(&mut self, name: Span, number: Option<Number>) -> Parsed<Operand> {
        self.bump();
        let offset = self.constant()?;
        Ok(Operand::Sum(name, number, self.tree.one(offset)))
    }

    /// `name[3]`
    fn index(&mut self, name: Span) -> Parsed<Operand> {
        let index = self.nested(|parser| {
            parser.bump();
            let index = parser.operand(false)?;
            parser.expect(Kind::RBracket, "']'")?;
            Ok(index)
        })?;
        Ok(Operand::Index(name, self.tree.one(index), name.to(self.last())))
    }
}
