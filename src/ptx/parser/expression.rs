//! Constant expressions, folded as they are read.

use super::{Parsed, Parser};
use crate::ptx::ast::{Expr, Ident};
use crate::ptx::constant::{Binary, Const, Unary};
use crate::ptx::lexer::{Kind, Token};
use crate::ptx::types::{Span, Type};

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

/// What waits for the rest of an expression: the parser keeps its own stack, so that nesting costs
/// memory and no thread's stack.
enum Open<'s> {
    /// `(`
    Paren,
    /// `generic(`
    Call(Ident<'s>),
    /// `0xff00(`
    Mask(Const, Span),
    /// `(.s64)`
    Cast(Type, Span),
    Unary(Unary, Span),
    /// The left side, the operator and its precedence.
    Binary(Expr<'s>, Binary, u8),
    /// `condition ?`
    Yes(Expr<'s>),
    /// `condition ? yes :`
    No(Expr<'s>, Expr<'s>),
}

/// As many as ptxas 13.0.88 reads, about (observed: between 3,000 and 10,000 parentheses).
const MAX_OPEN: usize = 8_000;

impl<'s> Parser<'s> {
    pub(super) fn expression(&mut self) -> Parsed<Expr<'s>> {
        // What most are: a number alone.
        if let Kind::Int | Kind::F32Bits | Kind::F64Bits = self.token.kind
            && let Some(value) = literal(self.token, self.text(self.token.span))
        {
            let (before, token) = ((self.lexer, self.end), self.bump());
            if let Kind::Comma | Kind::RBrace | Kind::RBracket | Kind::Semi = self.token.kind {
                return Ok(Expr::Const(value, token.span));
            }
            (self.lexer, self.end) = before;
            self.token = token;
        }
        let mut open = Vec::new();
        let mut symbolic = 0;
        loop {
            let mut value = self.atom(&mut open)?;
            // Everything that the value ends, until an operator asks for another one.
            loop {
                let next = binary_operator(self.token.kind);
                match (open.pop(), next) {
                    (Some(Open::Unary(op, start)), _) => value = self.unary(op, start, value)?,
                    (Some(Open::Cast(ty, span)), _) => value = self.cast(ty, span, value)?,
                    (Some(Open::Binary(left, op, precedence)), next)
                        if next.is_none_or(|(_, tighter)| tighter <= precedence) =>
                    {
                        value = self.binary(left, op, value)?;
                    }
                    (last, Some((op, precedence))) => {
                        open.extend(last);
                        self.bump();
                        open.push(Open::Binary(value, op, precedence));
                        break;
                    }
                    (last, None) if self.at(Kind::Question) => {
                        open.extend(last);
                        self.bump();
                        open.push(Open::Yes(value));
                        break;
                    }
                    (Some(Open::Yes(condition)), None) => {
                        self.expect(Kind::Colon, "':'")?;
                        open.push(Open::No(condition, value));
                        break;
                    }
                    (Some(Open::No(condition, yes)), None) => {
                        value = self.choice(condition, yes, value)?;
                    }
                    (Some(Open::Paren), None) => {
                        self.expect(Kind::RParen, "')'")?;
                    }
                    (Some(Open::Call(name)), None) => {
                        self.expect(Kind::RParen, "')'")?;
                        value = Expr::Call(name, vec![value]);
                    }
                    (Some(Open::Mask(mask, start)), None) => {
                        self.expect(Kind::RParen, "')'")?;
                        value = Expr::Mask(mask, Box::new(value), start.to(self.last()));
                    }
                    (None, None) => return Ok(value),
                    (Some(Open::Binary(..)), None) => unreachable!("no operator is looser"),
                }
                // What constants do not fold is a tree, in which others recurse.
                symbolic += u32::from(!matches!(value, Expr::Const(..)));
                if symbolic > super::MAX_DEPTH {
                    return Err(self.error(value.span(), "The expression is too long"));
                }
            }
        }
    }

    /// A number or a name, and what opens before it.
    fn atom(&mut self, open: &mut Vec<Open<'s>>) -> Parsed<Expr<'s>> {
        loop {
            if open.len() > MAX_OPEN {
                let message = format!("Nested too deeply: more than {MAX_OPEN} levels");
                return Err(self.error(self.token.span, message));
            }
            let token = self.token;
            let op = match token.kind {
                Kind::Plus => Some(Unary::Plus),
                Kind::Minus => Some(Unary::Minus),
                Kind::Not => Some(Unary::Not),
                Kind::Tilde => Some(Unary::Complement),
                _ => None,
            };
            if let Some(op) = op {
                self.bump();
                open.push(Open::Unary(op, token.span));
                continue;
            }
            match token.kind {
                Kind::Int | Kind::Float | Kind::F32Bits | Kind::F64Bits => {
                    self.bump();
                    let Some(value) = literal(token, self.text(token.span)) else {
                        return Err(self.error(token.span, "Invalid number"));
                    };
                    if !(value.is_int() && self.eat(Kind::LParen)) {
                        return Ok(Expr::Const(value, token.span));
                    }
                    open.push(Open::Mask(value, token.span));
                }
                Kind::Ident => {
                    self.bump();
                    let name = Ident { text: self.text(token.span), span: token.span };
                    if name.text == "WARP_SZ" {
                        return Ok(Expr::Const(Const::int(32), token.span));
                    }
                    if !self.eat(Kind::LParen) {
                        return Ok(Expr::Name(name));
                    }
                    open.push(Open::Call(name));
                }
                Kind::LParen => {
                    self.bump();
                    open.push(if self.at(Kind::Word) { self.cast_type()? } else { Open::Paren });
                }
                _ => return Err(self.unexpected("a constant or a name")),
            }
        }
    }

    /// After `(` at a dot word: `.s64)`.
    fn cast_type(&mut self) -> Parsed<Open<'s>> {
        let word = self.word("a type")?;
        let Some(ty) = Type::parse(word.text) else {
            return Err(self.error(word.span, format!("Unknown modifier '.{}'", word.text)));
        };
        self.expect(Kind::RParen, "')'")?;
        Ok(Open::Cast(ty, word.span))
    }

    fn unary(&mut self, op: Unary, start: Span, inner: Expr<'s>) -> Parsed<Expr<'s>> {
        match inner {
            Expr::Const(value, span) => match value.unary(op) {
                Some(value) => Ok(Expr::Const(value, start.to(span))),
                None => Err(self.error(start.to(span), "Invalid constant expression")),
            },
            other => Ok(Expr::Unary(op, Box::new(other))),
        }
    }

    fn cast(&mut self, ty: Type, start: Span, inner: Expr<'s>) -> Parsed<Expr<'s>> {
        match inner {
            Expr::Const(value, span) => match value.cast(ty) {
                Some(value) => Ok(Expr::Const(value, start.to(span))),
                None => Err(self.error(start, "Unsupported cast operation")),
            },
            other => Ok(Expr::Cast(ty, Box::new(other))),
        }
    }

    fn binary(&mut self, left: Expr<'s>, op: Binary, right: Expr<'s>) -> Parsed<Expr<'s>> {
        match (left, right) {
            (Expr::Const(a, at), Expr::Const(b, to)) => match a.binary(op, b) {
                Some(value) => Ok(Expr::Const(value, at.to(to))),
                None if a.is_int() != b.is_int() => {
                    Err(self.error(at.to(to), "Constant expression type mismatch"))
                }
                None => Err(self.error(at.to(to), "Invalid constant expression")),
            },
            (a, b) => Ok(Expr::Binary(op, Box::new(a), Box::new(b))),
        }
    }

    fn choice(&mut self, condition: Expr<'s>, yes: Expr<'s>, no: Expr<'s>) -> Parsed<Expr<'s>> {
        match (condition, yes, no) {
            (Expr::Const(c, _), yes @ Expr::Const(a, _), no @ Expr::Const(b, _))
                if c.is_int() && a.is_int() && b.is_int() =>
            {
                Ok(if c.is_zero() { no } else { yes })
            }
            (c, _, _) => Err(self.error(c.span(), "Integer constant expression expected")),
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
