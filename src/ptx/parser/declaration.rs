//! Variables, registers and parameters.

use super::{MAX_LIST, MAX_WORDS, Parsed, Parser};
use crate::ptx::ast::{Init, InitPart, Variable};
use crate::ptx::cursor::Numbers;
use crate::ptx::lexer::Kind;
use crate::ptx::types::{Linkage, Space, Span, Type};

/// The state space that a dot word names, where it declares something.
pub(super) fn space(word: &str) -> Option<Space> {
    Some(match word {
        ".reg" => Space::Reg,
        ".const" => Space::Const,
        ".global" => Space::Global,
        ".local" => Space::Local,
        ".param" => Space::Param,
        ".shared" => Space::Shared,
        ".tex" => Space::Tex,
        _ => return None,
    })
}

/// The type that a word without its dot names, where it declares something.
pub(super) fn declared_type(word: &str) -> Option<Type> {
    Type::parse(word).filter(|ty| !matches!(ty, Type::Bf16 | Type::Bf16x2 | Type::Tf32))
}

impl<'s> Parser<'s> {
    /// `.space … type a, b[4] = {…}, c;`, or no name at all
    pub(super) fn variables(
        &mut self,
        linkage: Linkage,
        each: &mut dyn FnMut(Variable<'s>),
    ) -> Parsed<()> {
        let template = self.declaration_head(linkage)?;
        // `.global .u32;` declares nothing. Observed: ptxas 13.0.88.
        let mut more = !self.at(Kind::Semi);
        while more {
            let mut variable = template.clone();
            self.declarator(&mut variable, false)?;
            if variable.count.is_none() && self.eat(Kind::Assign) {
                let start = self.token.span.start;
                let length = self.init(&mut |_| ())?;
                variable.init = Some(Init { start, length });
            }
            variable.span = template.span.to(self.last());
            each(variable);
            more = self.eat(Kind::Comma);
        }
        self.expect(Kind::Semi, "';'")?;
        Ok(())
    }

    /// `(.param .u64 a, .reg .b32 b)`
    pub(super) fn parameters(&mut self) -> Parsed<Vec<Variable<'s>>> {
        self.expect(Kind::LParen, "'('")?;
        let mut all = Vec::new();
        if self.eat(Kind::RParen) {
            return Ok(all);
        }
        loop {
            let mut variable = self.declaration_head(Linkage::Internal)?;
            self.declarator(&mut variable, true)?;
            variable.span = variable.span.to(self.last());
            if all.len() == MAX_LIST {
                return Err(self.too_many("parameters", MAX_LIST));
            }
            all.push(variable);
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        self.expect(Kind::RParen, "')'")?;
        Ok(all)
    }

    /// Everything before the name: space, alignment and attributes, then vector and type, then
    /// `.ptr` and what belongs to it.
    fn declaration_head(&mut self, linkage: Linkage) -> Parsed<Variable<'s>> {
        let start = self.token.span;
        let Some(space) = space(self.text(start)).filter(|_| self.at(Kind::Word)) else {
            return Err(self.unexpected("a state space such as .reg, .global or .param"));
        };
        self.bump();
        let mut variable = Variable::of(space, linkage, start);
        if space == Space::Const && self.at(Kind::LBracket) {
            let message =
                "Deprecated feature: 'explicit constant banks' not supported as of PTX version 2.2";
            return Err(self.error(self.token.span, message));
        }
        loop {
            if self.at_word(".align") {
                variable.align = Some(self.align()?);
            } else if self.at_word(".attribute") {
                self.bump();
                self.attribute(&mut variable)?;
            } else {
                break;
            }
        }
        variable.vector = match self.text(self.token.span) {
            ".v2" => 2,
            ".v4" => 4,
            _ => 1,
        };
        if variable.vector > 1 {
            self.bump();
        }
        match self.text(self.token.span).strip_prefix('.').and_then(declared_type) {
            Some(ty) => variable.ty = ty,
            None => return Err(self.unexpected("a type such as .b32")),
        }
        self.bump();
        if self.at_word(".ptr") {
            variable.attributes.push(self.word("'.ptr'")?);
            if matches!(self.text(self.token.span), ".global" | ".const" | ".local" | ".shared") {
                variable.attributes.push(self.word("a state space")?);
            }
            if self.at_word(".align") {
                let span = self.token.span;
                let align = self.align()?;
                if !align.is_power_of_two() {
                    self.error(span, "Alignment must be a power of two");
                }
                variable.pointee_align = Some(align);
            }
        }
        Ok(variable)
    }

    /// `.align 16`
    fn align(&mut self) -> Parsed<u32> {
        self.bump();
        self.number32("the alignment in bytes")
    }

    /// `.attribute(.managed)`, `.attribute(.unified(1, 2))`
    fn attribute(&mut self, variable: &mut Variable<'s>) -> Parsed<()> {
        self.expect(Kind::LParen, "'('")?;
        loop {
            if !self.at_word(".managed") && !self.at_word(".unified") {
                return Err(self.unexpected("an attribute such as .managed"));
            }
            if variable.attributes.len() == MAX_WORDS {
                return Err(self.too_many("attributes", MAX_WORDS));
            }
            variable.attributes.push(self.word("an attribute such as .managed")?);
            if self.eat(Kind::LParen) {
                self.number("a number")?;
                while self.eat(Kind::Comma) {
                    self.number("a number")?;
                }
                self.expect(Kind::RParen, "')'")?;
            }
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        self.expect(Kind::RParen, "')'")?;
        Ok(())
    }

    /// The name with its `<count>` or dimensions; a parameter has one dimension at most.
    fn declarator(&mut self, variable: &mut Variable<'s>, parameter: bool) -> Parsed<()> {
        variable.name = self.ident("a name")?;
        if !parameter && self.eat(Kind::Lt) {
            variable.count = Some(self.number32("how many registers")?);
            self.expect(Kind::Gt, "'>'")?;
            return Ok(());
        }
        while (!parameter || variable.dims.is_empty()) && self.eat(Kind::LBracket) {
            if variable.dims.len() == MAX_WORDS {
                return Err(self.too_many("dimensions", MAX_WORDS));
            }
            if self.eat(Kind::RBracket) {
                variable.dims.push(None);
                continue;
            }
            variable.dims.push(Some(self.number("a size")?));
            self.expect(Kind::RBracket, "']'")?;
        }
        Ok(())
    }

    /// An initial value, step by step; how many elements the outermost list has.
    pub(super) fn init(&mut self, each: &mut dyn FnMut(InitPart<'_, 's>)) -> Parsed<u32> {
        if !self.at(Kind::LBrace) {
            each(InitPart::Value(self.expression()?));
            return Ok(1);
        }
        self.nested(|parser| {
            parser.bump();
            each(InitPart::Open);
            let mut length = 0;
            while !parser.at(Kind::RBrace) || length > 0 {
                let mut numbers = Numbers::new(parser.source, parser.token.span.start);
                each(InitPart::Numbers(&mut numbers));
                numbers.by_ref().for_each(drop);
                if numbers.taken() > 0 {
                    length += numbers.taken() as u32;
                    parser.go_on(numbers.end());
                    if numbers.ended() {
                        break;
                    }
                }
                parser.init(each)?;
                length += 1;
                if !parser.eat(Kind::Comma) {
                    break;
                }
            }
            parser.expect(Kind::RBrace, "'}' or ','")?;
            each(InitPart::Close);
            Ok(length)
        })
    }

    /// Whether a dot word begins a declaration.
    pub(super) fn at_declaration(&self, span: Span) -> bool {
        space(self.text(span)).is_some()
    }
}
