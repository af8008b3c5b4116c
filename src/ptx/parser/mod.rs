//! From text to syntax tree.
//!
//! - Items are handed over as they are read, up to the first error: none is kept.
//! - Every instruction is opcode, dot words and operands: none is a syntax error by its name.
//! - After an error parsing goes on at the next statement, so that one run reports several.
//! - Nesting is bounded by [`MAX_DEPTH`], and expressions keep a stack of their own: no input can
//!   exhaust the thread's, here or in what walks the tree.

mod again;
mod declaration;
mod expression;
mod module;
mod plain;
mod statement;

pub use again::Again;

use super::ast::{Function, Header, Ident, Item, Number, Spellings, Statement, Tree};
use super::diagnostics::{Diagnostic, Diagnostics};
use super::lexer::{Kind, Lexer, Token};
use super::types::Span;
use std::borrow::Cow;

/// How deep blocks, parentheses, braces and operators may nest.
pub const MAX_DEPTH: u32 = 200;

/// Parameters that one list may have, and items that may stand between two brackets of an operand:
/// more than a kernel can have bytes of parameters.
pub const MAX_LIST: usize = 1 << 15;

/// Dot words that one instruction may have, and directives of a function, options of a target,
/// dimensions and attributes of a variable: several times what any has.
const MAX_WORDS: usize = 64;

/// Who takes what is read, in the order of the text.
pub trait Reader<'s> {
    /// First of all, and once; gives what it knows of how instructions are spelled.
    fn header(&mut self, header: Header<'s>) -> Spellings;
    /// The next one of the module that is no function.
    fn item(&mut self, item: Item<'s>);
    /// What stands before its body, if it has one.
    fn function(&mut self, function: &Function<'s>);
    /// The next one of the function's body; the tree has an instruction's operands.
    fn statement(&mut self, statement: Statement<'_, 's>, tree: &Tree<'s>);
    /// May take an instruction from the text, and then gives the place of its `;`; else it is told
    /// of the statement.
    fn straight(&mut self, _: Straight) -> Option<u32> {
        None
    }
    /// The end of the body of the function that it was told of, if it does not want the body.
    fn passes_over(&mut self) -> Option<u32> {
        None
    }
    /// Behind the last statement; the place behind the `}`.
    fn end_of_body(&mut self, end: u32);
    /// Last of all, where there was no error.
    fn end(&mut self, _: Spellings) {}
}

/// An instruction whose operands were not looked at yet.
#[derive(Clone, Copy, Debug)]
pub struct Straight {
    /// Where it begins.
    pub start: u32,
    /// The name of the guard, its number, and whether it is negated.
    pub guard: Option<(Span, Number, bool)>,
    /// The number of opcode and modifiers in [`super::ast::Spellings`].
    pub spelling: u32,
    /// Behind the last modifier.
    pub operands: u32,
}

/// Takes nothing: for who only wants to know of errors.
impl<'s> Reader<'s> for () {
    fn header(&mut self, _: Header<'s>) -> Spellings {
        Spellings::default()
    }
    fn item(&mut self, _: Item<'s>) {}
    fn function(&mut self, _: &Function<'s>) {}
    fn statement(&mut self, _: Statement<'_, 's>, _: &Tree<'s>) {}
    fn end_of_body(&mut self, _: u32) {}
}

/// An error has been reported and the construct is given up.
struct Abort;

type Parsed<T> = Result<T, Abort>;

struct Parser<'s> {
    source: &'s str,
    tree: Tree<'s>,
    lexer: Lexer<'s>,
    /// The token that is next.
    token: Token,
    /// End of the token before it.
    end: u32,
    depth: u32,
    diagnostics: Diagnostics,
}

/// Parses a module; the diagnostics may hold errors, then the reader has seen no more than what
/// stands before the first.
pub fn parse<'s>(source: &'s str, reader: &mut dyn Reader<'s>) -> Diagnostics {
    let mut parser = Parser::new(source, 0);
    parser.module(reader);
    if !parser.diagnostics.has_errors() {
        reader.end(parser.tree.spellings);
    }
    parser.diagnostics
}

impl<'s> Parser<'s> {
    /// Begins with the token at or after this place.
    fn new(source: &'s str, at: u32) -> Parser<'s> {
        let mut lexer = Lexer::new(source);
        lexer.rewind(at);
        let token = lexer.next_token();
        let (tree, diagnostics) = (Tree::of(source), Diagnostics::default());
        Parser { source, tree, lexer, token, end: at, depth: 0, diagnostics }
    }

    fn text(&self, span: Span) -> &'s str {
        self.source.get(span.start as usize..span.end as usize).unwrap_or("")
    }

    fn at(&self, kind: Kind) -> bool {
        self.token.kind == kind
    }

    /// Whether the next token is this dot word.
    fn at_word(&self, word: &str) -> bool {
        self.token.kind == Kind::Word && self.text(self.token.span) == word
    }

    fn bump(&mut self) -> Token {
        let token = self.token;
        self.end = token.span.end;
        self.token = self.lexer.next_token();
        token
    }

    fn eat(&mut self, kind: Kind) -> bool {
        let found = self.at(kind);
        if found {
            self.bump();
        }
        found
    }

    /// Whether the next token follows the last one without a blank.
    fn adjacent(&self) -> bool {
        self.token.span.start == self.end
    }

    fn expect(&mut self, kind: Kind, what: &str) -> Parsed<Token> {
        if self.at(kind) { Ok(self.bump()) } else { Err(self.unexpected(what)) }
    }

    fn ident(&mut self, what: &str) -> Parsed<Ident<'s>> {
        let token = self.expect(Kind::Ident, what)?;
        Ok(Ident { text: self.text(token.span), span: token.span })
    }

    /// A dot word without its dot.
    fn word(&mut self, what: &str) -> Parsed<Ident<'s>> {
        let token = self.expect(Kind::Word, what)?;
        let span = Span { start: token.span.start + 1, end: token.span.end };
        Ok(Ident { text: self.text(span), span })
    }

    /// An unsigned number that fits.
    fn number(&mut self, what: &str) -> Parsed<u64> {
        let token = self.expect(Kind::Int, what)?;
        let value = super::constant::parse_int(self.text(token.span)).and_then(|c| c.as_i128());
        match value.map(u64::try_from) {
            Some(Ok(value)) => Ok(value),
            _ => Err(self.error(token.span, "Number out of range")),
        }
    }

    fn number32(&mut self, what: &str) -> Parsed<u32> {
        let span = self.token.span;
        let value = self.number(what)?;
        u32::try_from(value).map_err(|_| self.error(span, "Constant overflow"))
    }

    fn string(&mut self, what: &str) -> Parsed<Cow<'s, str>> {
        let token = self.expect(Kind::Str, what)?;
        let quoted = self.text(token.span);
        let inner = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or("");
        if !inner.contains('\\') {
            return Ok(Cow::Borrowed(inner));
        }
        let mut text = String::with_capacity(inner.len());
        let mut chars = inner.chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some(other) => text.push(other),
                    None => {}
                },
                c => text.push(c),
            }
        }
        Ok(Cow::Owned(text))
    }

    /// The error of a list that goes on behind as many as there may be.
    fn too_many(&mut self, what: &str, most: usize) -> Abort {
        let message = format!("Too many {what} ({most} max)");
        self.error(self.token.span, message)
    }

    fn error(&mut self, span: Span, message: impl Into<String>) -> Abort {
        self.diagnostics.push(Diagnostic::error(span, message));
        Abort
    }

    /// The syntax error at the next token, in ptxas's words.
    fn unexpected(&mut self, what: &str) -> Abort {
        let span = self.token.span;
        let text = self.text(span);
        let diagnostic = match self.token.kind {
            Kind::Eof => Diagnostic::fatal(span, "Parsing error: unexpected end of file"),
            Kind::BadChar => {
                let c = text.chars().next().unwrap_or('\0');
                Diagnostic::fatal(
                    span,
                    format!("Parsing error: invalid character '{}'", c.escape_default()),
                )
            }
            Kind::BadNumber => Diagnostic::fatal(
                span,
                format!("Parsing error near '{}': invalid number", short(text)),
            ),
            Kind::OpenString => {
                Diagnostic::fatal(span, "Parsing error: the string has no end on its line")
            }
            Kind::OpenComment => Diagnostic::fatal(span, "Parsing error: the comment has no end"),
            _ => Diagnostic::fatal(
                span,
                format!("Parsing error near '{}': syntax error", short(text)),
            ),
        };
        self.diagnostics.push(diagnostic.note(format!("expected {what}")));
        Abort
    }

    /// Runs `parse` one level deeper.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            let message = format!("Nested too deeply: more than {MAX_DEPTH} levels");
            return Err(self.error(self.token.span, message));
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    /// Skips to after the next `;` at this level of braces, or to before the `}` that closes it.
    fn recover_statement(&mut self) {
        let mut depth = 0usize;
        loop {
            match self.token.kind {
                Kind::Eof => return,
                Kind::RBrace if depth == 0 => return,
                Kind::LBrace => depth += 1,
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
}

/// What a message shows of a token.
fn short(text: &str) -> &str {
    match text.char_indices().nth(60) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}
