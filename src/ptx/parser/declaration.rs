//! Variables, registers and parameters.

use super::{Parsed, Parser};
use crate::ptx::ast::{Ident, Init, Variable};
use crate::ptx::lexer::Kind;
use crate::ptx::types::{Linkage, Space, Span, Type};

/// The state space that a dot word names, where it declares something.
pub(super) fn space(word: &str) -> Option<Space> {
    Some(match word {
        ".reg" => Space::Reg,
        ".sreg" => Space::Sreg,
        ".const" => Space::Const,
        ".global" => Space::Global,
        ".local" => Space::Local,
        ".param" => Space::Param,
        ".shared" => Space::Shared,
        ".tex" => Space::Tex,
        _ => return None,
    })
}

impl<'s> Parser<'s> {
    /// `.space … type a, b[4] = {…}, c;`
    pub(super) fn variables(
        &mut self,
        linkage: Linkage,
        variables: &mut Vec<Variable<'s>>,
    ) -> Parsed<()> {
        let template = self.declaration_head(linkage)?;
        loop {
            let mut variable = template.clone();
            self.declarator(&mut variable)?;
            if self.eat(Kind::Assign) {
                variable.init = Some(self.init()?);
            }
            variable.span = template.span.to(self.last());
            variables.push(variable);
            if !self.eat(Kind::Comma) {
                break;
            }
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
            self.declarator(&mut variable)?;
            variable.span = variable.span.to(self.last());
            all.push(variable);
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        self.expect(Kind::RParen, "')'")?;
        Ok(all)
    }

    /// Everything before the name: space, alignment, vector, type and attributes, in any order after the space.
    fn declaration_head(&mut self, linkage: Linkage) -> Parsed<Variable<'s>> {
        let start = self.token.span;
        let Some(space) = space(self.text(start)).filter(|_| self.at(Kind::Word)) else {
            return Err(self.unexpected("a state space such as .reg, .global or .param"));
        };
        self.bump();
        let mut ty = None;
        let mut variable = Variable {
            linkage,
            space,
            align: None,
            vector: 1,
            ty: Type::B32,
            name: Ident { text: "", span: start },
            dims: Vec::new(),
            init: None,
            attributes: Vec::new(),
            pointee_align: None,
            count: None,
            span: start,
        };
        // After `.ptr` a space and an alignment are those of what is pointed to.
        let mut pointee = false;
        // `.const[2]`: a bank, of PTX before 2.2.
        if space == Space::Const && self.at(Kind::LBracket) {
            self.bump();
            self.number("the bank")?;
            self.expect(Kind::RBracket, "']'")?;
        }
        while self.at(Kind::Word) {
            let word = self.word("a type")?;
            match word.text {
                "align" => {
                    let span = self.token.span;
                    let align = self.number32("the alignment in bytes")?;
                    if pointee && !align.is_power_of_two() {
                        self.error(span, "Alignment must be a power of two");
                    } else if pointee {
                        variable.pointee_align = Some(align);
                    } else {
                        variable.align = Some(align);
                    }
                }
                "v2" => variable.vector = 2,
                "v4" => variable.vector = 4,
                "v8" => variable.vector = 8,
                "ptr" => {
                    pointee = true;
                    variable.attributes.push(word);
                }
                "attribute" => self.attribute(&mut variable)?,
                "global" | "const" | "local" | "shared" | "generic" if pointee => {
                    variable.attributes.push(word);
                }
                text => match Type::parse(text) {
                    Some(parsed) if ty.is_none() => ty = Some(parsed),
                    Some(_) => return Err(self.error(word.span, "A declaration has one type")),
                    None => {
                        let message = format!("Unknown modifier '.{text}'");
                        return Err(self.error(word.span, message));
                    }
                },
            }
        }
        match ty {
            Some(ty) => variable.ty = ty,
            None => return Err(self.unexpected("a type such as .b32")),
        }
        Ok(variable)
    }

    /// `.attribute(.managed)`, `.attribute(.unified(1, 2))`
    fn attribute(&mut self, variable: &mut Variable<'s>) -> Parsed<()> {
        self.expect(Kind::LParen, "'('")?;
        loop {
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

    /// The name with its `<count>` or dimensions.
    fn declarator(&mut self, variable: &mut Variable<'s>) -> Parsed<()> {
        variable.name = self.ident("a name")?;
        if self.eat(Kind::Lt) {
            variable.count = Some(self.number32("how many registers")?);
            self.expect(Kind::Gt, "'>'")?;
        }
        while self.eat(Kind::LBracket) {
            if self.eat(Kind::RBracket) {
                variable.dims.push(None);
                continue;
            }
            let span = self.token.span;
            let size = self.constant_expression("a size")?;
            let size = size.as_i128().and_then(|size| u64::try_from(size).ok());
            let Some(size) = size else {
                return Err(self.error(span, "An array's size must be a positive integer"));
            };
            variable.dims.push(Some(size));
            self.expect(Kind::RBracket, "']'")?;
        }
        Ok(())
    }

    fn init(&mut self) -> Parsed<Init<'s>> {
        if !self.at(Kind::LBrace) {
            return Ok(Init::Value(self.expression()?));
        }
        self.nested(|parser| {
            parser.bump();
            let mut list = Vec::new();
            while !parser.at(Kind::RBrace) {
                list.push(parser.init()?);
                if !parser.eat(Kind::Comma) {
                    break;
                }
            }
            parser.expect(Kind::RBrace, "'}' or ','")?;
            Ok(Init::List(list))
        })
    }

    /// Whether a dot word begins a declaration.
    pub(super) fn at_declaration(&self, span: Span) -> bool {
        space(self.text(span)).is_some()
    }
}
