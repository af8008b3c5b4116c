//! What a PTX file is made of, as far as changing it needs to know: tokens, statements,
//! declarations, labels.
//!
//! This reads good files only and is no parser: where it is wrong, a mutant is less interesting
//! than it was meant to be.

use std::ops::Range;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `add`, `%r1`, `$L1`
    Name,
    /// `.u32`
    Word,
    Number,
    Text,
    Sign,
}

#[derive(Clone, Copy, Debug)]
pub struct Token {
    pub kind: Kind,
    pub start: usize,
    pub end: usize,
}

/// Indices of tokens.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// `@`, `!` and the predicate; empty without a guard.
    pub guard: Range<usize>,
    pub opcode: usize,
    pub modifiers: Range<usize>,
    /// Each without the commas around it.
    pub operands: Vec<Range<usize>>,
    /// The `;`.
    pub end: usize,
}

/// A declaration of variables or registers, or one parameter.
#[derive(Clone, Debug)]
pub struct Declaration {
    pub tokens: Range<usize>,
    /// Not in the list of a function's parameters.
    pub statement: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Scan {
    pub tokens: Vec<Token>,
    pub instructions: Vec<Instruction>,
    pub declarations: Vec<Declaration>,
    /// Registers that are declared: type word and name; of `%r<9>` the first and last.
    pub registers: Vec<(String, String)>,
    /// The tokens of labels where they stand before a statement.
    pub labels: Vec<usize>,
    /// From the first token of a function (`.visible`, `.entry`) to its body or `;`, and to its
    /// end.
    pub functions: Vec<(Range<usize>, usize)>,
}

fn is_name(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b == b'$'
}

pub fn tokens(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let at = |i: usize| bytes.get(i).copied().unwrap_or(0);
    let run = |mut i: usize| {
        while is_name(at(i)) {
            i += 1;
        }
        i
    };
    let mut all = Vec::new();
    let mut i = 0;
    while i < bytes.len() {
        let start = i;
        let kind = match at(i) {
            b if b.is_ascii_whitespace() => {
                i += 1;
                continue;
            }
            b'/' if at(i + 1) == b'/' => {
                i = text[i..].find('\n').map_or(bytes.len(), |n| i + n);
                continue;
            }
            b'/' if at(i + 1) == b'*' => {
                i = text[i..].find("*/").map_or(bytes.len(), |n| i + n + 2);
                continue;
            }
            b'"' => {
                i = text[i + 1..].find('"').map_or(bytes.len(), |n| i + n + 2);
                Kind::Text
            }
            b'.' if is_name(at(i + 1)) => {
                i = run(i + 1);
                while at(i) == b':' && at(i + 1) == b':' {
                    i = run(i + 2);
                }
                Kind::Word
            }
            b'%' if is_name(at(i + 1)) => {
                i = run(i + 1);
                Kind::Name
            }
            b if b.is_ascii_digit() => {
                i = run(i + 1);
                if at(i) == b'.' {
                    i = run(i + 1);
                }
                Kind::Number
            }
            b if is_name(b) => {
                i = run(i);
                Kind::Name
            }
            _ => {
                i += text[i..].chars().next().map_or(1, char::len_utf8);
                Kind::Sign
            }
        };
        all.push(Token { kind, start, end: i });
    }
    all
}

impl Scan {
    pub fn new(text: &str) -> Scan {
        let mut scan = Scan { tokens: tokens(text), ..Scan::default() };
        let mut at = 0;
        while at < scan.tokens.len() {
            at = scan.statement(text, at);
        }
        scan
    }

    pub fn text<'t>(&self, text: &'t str, token: usize) -> &'t str {
        let token = self.tokens[token];
        &text[token.start..token.end]
    }

    /// The bytes of some tokens.
    pub fn span(&self, tokens: &Range<usize>) -> Range<usize> {
        if tokens.is_empty() {
            let at = self.tokens[tokens.start].start;
            return at..at;
        }
        self.tokens[tokens.start].start..self.tokens[tokens.end - 1].end
    }

    /// First token from `at` that is one of these signs outside of brackets; the number of tokens
    /// without one.
    fn find(&self, text: &str, at: usize, signs: &str) -> usize {
        let mut depth = 0;
        for i in at..self.tokens.len() {
            let sign = self.text(text, i);
            if depth == 0 && self.tokens[i].kind == Kind::Sign && signs.contains(sign) {
                return i;
            }
            match sign {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
        }
        self.tokens.len()
    }

    /// Reads what begins at `at`; what follows begins at the result.
    fn statement(&mut self, text: &str, at: usize) -> usize {
        let word = self.text(text, at);
        match self.tokens[at].kind {
            Kind::Word => match word {
                ".version" | ".address_size" | ".file" | ".loc" => self.line_end(text, at),
                ".target" => self.line_end(text, at),
                ".section" => {
                    let open = self.find(text, at, "{");
                    self.find(text, open + 1, "}") + 1
                }
                ".visible" | ".extern" | ".weak" | ".common" | ".entry" | ".func" => {
                    let mut kind = at;
                    while matches!(
                        self.text(text, kind),
                        ".visible" | ".extern" | ".weak" | ".common"
                    ) {
                        kind += 1;
                    }
                    if !matches!(self.text(text, kind), ".entry" | ".func") {
                        return self.declaration(text, at);
                    }
                    let end = self.find(text, at, "{;");
                    for i in at..end {
                        if matches!(self.text(text, i), ".param" | ".reg") {
                            let last = self.find(text, i, ",)").min(end);
                            self.declarations
                                .push(Declaration { tokens: i..last, statement: false });
                            if self.text(text, i) == ".reg" {
                                self.declare(text, i, last);
                            }
                        }
                    }
                    let close = match self.tokens.get(end) {
                        Some(_) if self.text(text, end) == "{" => self.find(text, end + 1, "}"),
                        _ => end,
                    };
                    self.functions.push((at..end, close.min(self.tokens.len() - 1)));
                    end + 1
                }
                ".reg" | ".param" | ".local" | ".shared" | ".global" | ".const" | ".tex" => {
                    self.declaration(text, at)
                }
                _ => self.find(text, at, ";") + 1,
            },
            Kind::Name => {
                if self.tokens.get(at + 1).is_some() && self.text(text, at + 1) == ":" {
                    self.labels.push(at);
                    return at + 2;
                }
                self.instruction(text, at, at..at)
            }
            Kind::Sign if word == "@" => {
                let mut opcode = at + 1;
                if opcode < self.tokens.len() && self.text(text, opcode) == "!" {
                    opcode += 1;
                }
                opcode += 1;
                if opcode >= self.tokens.len() {
                    return self.tokens.len();
                }
                self.instruction(text, opcode, at..opcode)
            }
            _ => at + 1,
        }
    }

    /// First token of the next line.
    fn line_end(&self, text: &str, at: usize) -> usize {
        let line = text[self.tokens[at].start..].find('\n').unwrap_or(text.len());
        let end = self.tokens[at].start + line;
        self.tokens.partition_point(|t| t.start < end).max(at + 1)
    }

    fn declaration(&mut self, text: &str, at: usize) -> usize {
        let end = self.find(text, at, ";");
        self.declarations.push(Declaration { tokens: at..end, statement: true });
        if self.text(text, at) == ".reg" {
            self.declare(text, at, end);
        }
        end + 1
    }

    /// Takes the names of registers from `.reg .b32 %a, %b<4>`.
    fn declare(&mut self, text: &str, at: usize, end: usize) {
        let mut ty = String::new();
        for i in at..end.min(self.tokens.len()) {
            match self.tokens[i].kind {
                Kind::Word => ty = self.text(text, i).to_string(),
                Kind::Name => {
                    let name = self.text(text, i);
                    let count = (i + 2 < end && self.text(text, i + 1) == "<")
                        .then(|| self.text(text, i + 2).parse::<u32>().ok())
                        .flatten();
                    match count {
                        Some(count) => {
                            for number in [0, 1, count.saturating_sub(1)] {
                                self.registers.push((ty.clone(), format!("{name}{number}")));
                            }
                        }
                        None => self.registers.push((ty.clone(), name.to_string())),
                    }
                }
                _ => {}
            }
        }
    }

    fn instruction(&mut self, text: &str, opcode: usize, guard: Range<usize>) -> usize {
        let end = self.find(text, opcode, ";");
        if end >= self.tokens.len() {
            return self.tokens.len();
        }
        let mut at = opcode + 1;
        while at < end && self.tokens[at].kind == Kind::Word {
            at += 1;
        }
        let modifiers = opcode + 1..at;
        let mut operands = Vec::new();
        while at < end {
            let last = self.find(text, at, ",;").min(end);
            operands.push(at..last);
            at = last + 1;
        }
        self.instructions.push(Instruction { guard, opcode, modifiers, operands, end });
        end + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_taken_apart() {
        let text = ".version 9.0\n.entry k(.param .u64 o)\n{ .reg .b32 %r<4>;\nL: @!%p add.s32 %r1, %r2, {1, 2};\nret; }";
        let scan = Scan::new(text);
        assert_eq!(scan.declarations.len(), 2);
        assert_eq!(scan.labels.len(), 1);
        let add = &scan.instructions[0];
        assert_eq!((add.guard.len(), add.modifiers.len(), add.operands.len()), (3, 1, 3));
        assert_eq!(&text[scan.span(&add.operands[2])], "{1, 2}");
        assert_eq!(scan.registers.len(), 3);
        assert_eq!(scan.functions.len(), 1);
    }
}
