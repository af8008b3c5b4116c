//! Constant expressions, folded as they are read.

use super::{Parsed, Parser};
use crate::ptx::ast::{Expr, Ident};
use crate::ptx::constant::{Binary, Const, Unary};
use crate::ptx::lexer::{Kind, Token};
use crate::ptx::types::Type;

/// Operators from the loosest (1) to the tightest, as in C.
fn binary_operator(kind: Kind) -> Option<(Binary, u8)> {
    Some(match kind {
        Kind::OrOr => (Binary::OrOr, 1),
        Kind::AndAnd => (Binary::AndAnd, 2),
        Kind::Or => (Binary::Or, 3),
        Kind::Caret => (Binary::Xor, 4),
        Kind::And => (Binary::And, 5),
        Kind::EqEq => (Binary::Eq, 6),
        Kind::Ne => (Binary::Ne, 6),
        Kind::Lt => (Binary::Lt, 7),
        Kind::Gt => (Binary::Gt, 7),
        Kind::Le => (Binary::Le, 7),
        Kind::Ge => (Binary::Ge, 7),
        Kind::Shl => (Binary::Shl, 8),
        Kind::Shr => (Binary::Shr, 8),
        Kind::Plus => (Binary::Add, 9),
        Kind::Minus => (Binary::Sub, 9),
        Kind::Star => (Binary::Mul, 10),
        Kind::Slash => (Binary::Div, 10),
        Kind::Percent => (Binary::Rem, 10),
        _ => return None,
    })
}

impl<'s> Parser<'s> {
    pub(super) fn expression(&mut self) -> Parsed<Expr<'s>> {
        self.nested(|parser| {
            let condition = parser.binary(1)?;
            if !parser.eat(Kind::Question) {
                return Ok(condition);
            }
            let yes = parser.expression()?;
            parser.expect(Kind::Colon, "':'")?;
            let no = parser.expression()?;
            match (condition, yes, no) {
                (Expr::Const(c, _), yes @ Expr::Const(a, _), no @ Expr::Const(b, _))
                    if c.is_int() && a.is_int() && b.is_int() =>
                {
                    Ok(if c.is_zero() { no } else { yes })
                }
                (c, _, _) => Err(parser.error(c.span(), "Integer constant expression expected")),
            }
        })
    }

    /// Operators of at least this precedence, left to right.
    fn binary(&mut self, least: u8) -> Parsed<Expr<'s>> {
        let mut left = self.unary()?;
        // Operators on names make a tree that leans left: each adds a level.
        let mut levels = 0;
        while let Some((op, precedence)) = binary_operator(self.token.kind) {
            if precedence < least {
                break;
            }
            self.bump();
            let right = self.nested(|parser| parser.binary(precedence + 1))?;
            left = match (left, right) {
                (Expr::Const(a, at), Expr::Const(b, to)) => match a.binary(op, b) {
                    Some(value) => Expr::Const(value, at.to(to)),
                    None if a.is_int() != b.is_int() => {
                        let message = "Constant expression type mismatch";
                        return Err(self.error(at.to(to), message));
                    }
                    None => return Err(self.error(at.to(to), "Invalid constant expression")),
                },
                (a, b) => {
                    levels += 1;
                    if self.depth + levels > super::MAX_DEPTH {
                        return Err(self.error(b.span(), "The expression is too long"));
                    }
                    Expr::Binary(op, Box::new(a), Box::new(b))
                }
            };
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Expr<'s>> {
        let op = match self.token.kind {
            Kind::Plus => Unary::Plus,
            Kind::Minus => Unary::Minus,
            Kind::Not => Unary::Not,
            Kind::Tilde => Unary::Complement,
            _ => return self.primary(),
        };
        let start = self.bump().span;
        let inner = self.nested(Self::unary)?;
        match inner {
            Expr::Const(value, span) => match value.unary(op) {
                Some(value) => Ok(Expr::Const(value, start.to(span))),
                None => Err(self.error(start.to(span), "Invalid constant expression")),
            },
            other => Ok(Expr::Unary(op, Box::new(other))),
        }
    }

    fn primary(&mut self) -> Parsed<Expr<'s>> {
        let token = self.token;
        match token.kind {
            Kind::Int | Kind::Float | Kind::F32Bits | Kind::F64Bits => {
                self.bump();
                let Some(value) = literal(token, self.text(token.span)) else {
                    return Err(self.error(token.span, "Invalid number"));
                };
                if value.is_int() && self.at(Kind::LParen) {
                    self.bump();
                    let inner = self.expression()?;
                    self.expect(Kind::RParen, "')'")?;
                    return Ok(Expr::Mask(value, Box::new(inner), token.span.to(self.last())));
                }
                Ok(Expr::Const(value, token.span))
            }
            Kind::Ident => {
                self.bump();
                let name = Ident { text: self.text(token.span), span: token.span };
                if name.text == "WARP_SZ" {
                    return Ok(Expr::Const(Const::int(32), token.span));
                }
                if !self.at(Kind::LParen) {
                    return Ok(Expr::Name(name));
                }
                self.bump();
                let argument = self.expression()?;
                self.expect(Kind::RParen, "')'")?;
                Ok(Expr::Call(name, vec![argument]))
            }
            Kind::LParen => {
                self.bump();
                if self.at(Kind::Word) {
                    return self.cast();
                }
                let inner = self.expression()?;
                self.expect(Kind::RParen, "')'")?;
                Ok(inner)
            }
            _ => Err(self.unexpected("a constant or a name")),
        }
    }

    /// After `(` at a dot word: `(.s64) x`.
    fn cast(&mut self) -> Parsed<Expr<'s>> {
        let word = self.word("a type")?;
        let Some(ty) = Type::parse(word.text) else {
            return Err(self.error(word.span, format!("Unknown modifier '.{}'", word.text)));
        };
        self.expect(Kind::RParen, "')'")?;
        match self.nested(Self::unary)? {
            Expr::Const(value, span) => match value.cast(ty) {
                Some(value) => Ok(Expr::Const(value, word.span.to(span))),
                None => Err(self.error(word.span, "Unsupported cast operation")),
            },
            other => Ok(Expr::Cast(ty, Box::new(other))),
        }
    }
}

fn literal(token: Token, text: &str) -> Option<Const> {
    match token.kind {
        Kind::Int => super::super::constant::parse_int(text),
        Kind::Float => text.parse().ok().map(Const::F64),
        Kind::F32Bits => u32::from_str_radix(text.get(2..)?, 16)
            .ok()
            .map(|bits| Const::F32(f32::from_bits(bits))),
        Kind::F64Bits => u64::from_str_radix(text.get(2..)?, 16)
            .ok()
            .map(|bits| Const::F64(f64::from_bits(bits))),
        _ => None,
    }
}
