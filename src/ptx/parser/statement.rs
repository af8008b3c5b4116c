//! Function bodies: labels, blocks, instructions and their operands.

use super::{MAX_LIST, MAX_WORDS, Parsed, Parser};
use crate::ptx::ast::{Body, Expr, Function, Ident, Instruction, Operand, Statement};
use crate::ptx::constant::Const;
use crate::ptx::lexer::Kind;
use crate::ptx::types::{Linkage, Span};

/// Room for the instructions of most small functions.
const USUAL: usize = 32;

impl<'s> Parser<'s> {
    /// `{ … }`
    pub(super) fn body(&mut self) -> Parsed<Body<'s>> {
        let mut body = Body { instructions: Vec::with_capacity(USUAL), ..Body::default() };
        self.block(&mut body)?;
        Ok(body)
    }

    fn block(&mut self, out: &mut Body<'s>) -> Parsed<()> {
        self.expect(Kind::LBrace, "'{'")?;
        while !self.at(Kind::RBrace) {
            if self.at(Kind::Eof) {
                return Err(self.unexpected("'}' at the end of the body"));
            }
            if self.statement(out).is_err() {
                self.recover_statement();
            }
        }
        self.bump();
        Ok(())
    }

    fn statement(&mut self, out: &mut Body<'s>) -> Parsed<()> {
        match self.token.kind {
            Kind::Ident => {
                let first = self.ident("an instruction")?;
                if self.eat(Kind::Colon) {
                    out.statements.push(Statement::Label(first.span.start));
                    return Ok(());
                }
                let instruction = self.instruction(None, first, first.span)?;
                out.push(first.span.start, instruction);
                Ok(())
            }
            Kind::At => {
                let at = self.token.span.start;
                let instruction = self.guarded()?;
                out.push(at, instruction);
                Ok(())
            }
            Kind::LBrace => {
                let at = out.statements.len();
                out.statements.push(Statement::Block(0));
                self.nested(|parser| parser.block(out))?;
                match out.statements.len() - at - 1 {
                    // An empty block is nothing.
                    0 => drop(out.statements.pop()),
                    inside => out.statements[at] = Statement::Block(inside as u32),
                }
                Ok(())
            }
            Kind::Word => self.directive(out),
            _ => Err(self.unexpected("an instruction, a label or a directive")),
        }
    }

    /// From its guard on.
    fn guarded(&mut self) -> Parsed<Instruction<'s>> {
        let start = self.bump().span;
        let negated = self.eat(Kind::Not);
        let guard = self.ident("a predicate")?;
        let opcode = self.ident("an instruction")?;
        self.instruction(Some((guard, negated)), opcode, start)
    }

    /// An instruction that has been read before.
    pub(super) fn whole_instruction(&mut self) -> Parsed<Instruction<'s>> {
        if self.at(Kind::At) {
            return self.guarded();
        }
        let opcode = self.ident("an instruction")?;
        self.instruction(None, opcode, opcode.span)
    }

    /// What a directive lists is read again by who wants it.
    fn directive(&mut self, out: &mut Body<'s>) -> Parsed<()> {
        let span = self.token.span;
        let at = span.start;
        let statement = match self.text(span) {
            ".loc" => return self.loc(out),
            ".pragma" => {
                self.pragma(&mut |_| ())?;
                Statement::Pragma(at)
            }
            ".branchtargets" => {
                self.bump();
                self.names("a label", &mut |_| ())?;
                Statement::BranchTargets(at)
            }
            ".calltargets" => {
                self.bump();
                self.names("a function", &mut |_| ())?;
                Statement::CallTargets(at)
            }
            ".callprototype" => {
                self.prototype()?;
                Statement::CallPrototype(at)
            }
            _ if self.at_declaration(span) => {
                self.variables(Linkage::Internal, &mut |_| ())?;
                Statement::Declaration(at)
            }
            _ => return Err(self.unexpected("an instruction, a label or a directive")),
        };
        out.statements.push(statement);
        Ok(())
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
    pub(super) fn loc(&mut self, out: &mut Body<'s>) -> Parsed<()> {
        self.bump();
        let file = self.number32("the file's index")?;
        let line = self.number32("a line")?;
        let column = self.number32("a column")?;
        // Of those without anything in between the last one counts.
        match out.statements.last_mut() {
            Some(Statement::Loc(last)) => out.locs[*last as usize] = (file, line, column),
            _ => {
                out.statements.push(Statement::Loc(out.locs.len() as u32));
                out.locs.push((file, line, column));
            }
        }
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
            out.statements.push(Statement::Inlined(function_name.span.start));
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

    /// After the first word.
    fn instruction(
        &mut self,
        guard: Option<(Ident<'s>, bool)>,
        opcode: Ident<'s>,
        start: Span,
    ) -> Parsed<Instruction<'s>> {
        // Room for as many as most have.
        let some = |any: bool| if any { 4 } else { 0 };
        let mut modifiers = Vec::with_capacity(some(self.at(Kind::Word)));
        loop {
            if modifiers.len() == MAX_WORDS {
                return Err(self.too_many("modifiers", MAX_WORDS));
            }
            match self.token.kind {
                Kind::Word => modifiers.push(self.word("a modifier")?),
                // A modifier of digits alone looks like a fraction.
                Kind::Float if self.adjacent() && self.text(self.token.span).starts_with('.') => {
                    let span = self.bump().span;
                    let span = Span { start: span.start + 1, end: span.end };
                    modifiers.push(Ident { text: self.text(span), span });
                }
                _ => break,
            }
        }
        let mut operands = Vec::with_capacity(some(!self.at(Kind::Semi)));
        if !self.at(Kind::Semi) {
            let call = opcode.text == "call";
            loop {
                if operands.len() == MAX_LIST {
                    return Err(self.too_many("operands", MAX_LIST));
                }
                operands.push(self.operand(call)?);
                if !self.eat(Kind::Comma) {
                    break;
                }
            }
        }
        let semi = self.expect(Kind::Semi, "';' or ','")?;
        let span = Span { start: start.start, end: semi.span.start };
        Ok(Instruction { guard, opcode, modifiers, operands, span })
    }

    /// `lists`: a parenthesis begins a list of arguments, not an expression.
    fn operand(&mut self, lists: bool) -> Parsed<Operand<'s>> {
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
                Ok(Operand::Pair(Box::new(vector), Box::new(second)))
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
            _ => Ok(Operand::Expr(self.expression()?)),
        }
    }

    fn operand_list(&mut self, close: Kind, what: &str) -> Parsed<Vec<Operand<'s>>> {
        self.nested(|parser| {
            parser.bump();
            let mut items = Vec::new();
            if parser.eat(close) {
                return Ok(items);
            }
            loop {
                if items.len() == MAX_LIST {
                    return Err(parser.too_many("operands", MAX_LIST));
                }
                items.push(parser.operand(false)?);
                if !parser.eat(Kind::Comma) {
                    break;
                }
            }
            parser.expect(close, what)?;
            Ok(items)
        })
    }

    /// `!%p`, `-%r.h0`, or an expression that begins with the same sign.
    fn prefixed_operand(&mut self) -> Parsed<Operand<'s>> {
        let (saved, token, end) = (self.lexer, self.token, self.end);
        let sign = self.bump();
        if self.at(Kind::Ident) && self.text(self.token.span) != "WARP_SZ" {
            if sign.kind == Kind::Not {
                return Ok(Operand::Not(self.ident("a predicate")?));
            }
            let inner = self.named_operand()?;
            return Ok(Operand::Negate(Box::new(inner)));
        }
        (self.lexer, self.token, self.end) = (saved, token, end);
        Ok(Operand::Expr(self.expression()?))
    }

    fn named_operand(&mut self) -> Parsed<Operand<'s>> {
        let first = self.simple_name()?;
        if self.at(Kind::Or) {
            if let Operand::Expr(_) = first {
                return self.continue_expression(first);
            }
            self.bump();
            let second = self.simple_name()?;
            return Ok(Operand::Pair(Box::new(first), Box::new(second)));
        }
        match first {
            Operand::Name(name) if self.at(Kind::Plus) => self.sum(name),
            Operand::Name(name) if self.at(Kind::LBracket) => self.index(name),
            Operand::Name(name) if self.at(Kind::LParen) => {
                self.bump();
                let argument = self.expression()?;
                self.expect(Kind::RParen, "')'")?;
                Ok(Operand::Expr(Expr::Call(name, vec![argument])))
            }
            Operand::Expr(_) => self.continue_expression(first),
            other => Ok(other),
        }
    }

    /// A name, its element, `_`, or the constant `WARP_SZ`.
    fn simple_name(&mut self) -> Parsed<Operand<'s>> {
        let name = self.ident("a register or a name")?;
        match name.text {
            "_" => return Ok(Operand::Sink(name.span)),
            "WARP_SZ" => return Ok(Operand::Expr(Expr::Const(Const::int(32), name.span))),
            _ => {}
        }
        if self.at(Kind::Word) && self.adjacent() {
            return Ok(Operand::Element(name, self.word("an element")?));
        }
        Ok(Operand::Name(name))
    }

    /// The rest of an expression whose first operand is the constant `WARP_SZ`.
    fn continue_expression(&mut self, first: Operand<'s>) -> Parsed<Operand<'s>> {
        let Operand::Expr(Expr::Const(_, span)) = first else { return Ok(first) };
        // Rare: read it again as an expression from its first token.
        self.lexer.rewind(span.start);
        self.token = self.lexer.next_token();
        Ok(Operand::Expr(self.expression()?))
    }

    /// `name + constant`
    fn sum(&mut self, name: Ident<'s>) -> Parsed<Operand<'s>> {
        self.bump();
        Ok(Operand::Sum(name, self.expression()?))
    }

    /// `name[3]`
    fn index(&mut self, name: Ident<'s>) -> Parsed<Operand<'s>> {
        let index = self.nested(|parser| {
            parser.bump();
            let index = parser.operand(false)?;
            parser.expect(Kind::RBracket, "']'")?;
            Ok(index)
        })?;
        Ok(Operand::Index(name, Box::new(index), name.span.to(self.last())))
    }
}
