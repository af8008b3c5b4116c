//! What most operands are, read without making tokens: registers, numbers, addresses of a register
//! or a name with an offset, vectors of registers, each with a comma or the end behind it. Whatever
//! looks different is left to the parser, from where the operand begins.

use super::{MAX_LIST, Parser};
use crate::ptx::ast::{Ident, Number, Operand};
use crate::ptx::constant::{self, Const, Unary};
use crate::ptx::lexer::is_name;
use crate::ptx::types::Span;

/// A place in the text.
#[derive(Clone, Copy)]
struct Cursor<'s> {
    source: &'s str,
    at: usize,
}

impl<'s> Cursor<'s> {
    fn byte(&self) -> u8 {
        self.source.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    fn skip_blanks(&mut self) {
        while matches!(self.byte(), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> Option<()> {
        self.skip_blanks();
        let found = self.byte() == byte;
        self.at += usize::from(found);
        found.then_some(())
    }

    fn text(&self, start: usize) -> (&'s str, Span) {
        (self.source.get(start..self.at).unwrap_or(""), Span::new(start, self.at))
    }

    /// A name; what is no register may not be one of those that mean something else.
    fn name(&mut self) -> Option<Operand<'s>> {
        let bytes = self.source.as_bytes();
        let start = self.at;
        if self.byte() != b'%' {
            while bytes.get(self.at).is_some_and(|byte| is_name(*byte)) {
                self.at += 1;
            }
            let (text, span) = self.text(start);
            let first = text.as_bytes().first()?;
            let name = !(first.is_ascii_digit() || matches!(text, "_" | "WARP_SZ"));
            return name.then_some(Operand::Name(Ident { text, span }, None));
        }
        let (mut letters, mut number, mut digits) = (0u64, 0u32, 0);
        // Letters, and then digits: anything else has no number.
        let mut plain = true;
        self.at += 1;
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b'0'..=b'9' => {
                    digits += 1;
                    number = number.wrapping_mul(10).wrapping_add(u32::from(byte - b'0'));
                }
                byte if is_name(*byte) => {
                    plain &= digits == 0;
                    letters = letters << 8 | u64::from(*byte);
                }
                _ => break,
            }
            self.at += 1;
        }
        let (text, span) = self.text(start);
        let length = text.len() - 1 - digits;
        let zeros = digits > 1 && text.as_bytes()[1 + length] == b'0';
        plain &= (1..=9).contains(&digits) && (1..=8).contains(&length) && !zeros;
        let number = plain.then_some(Number { letters, number });
        (text.len() > 1).then_some(Operand::Name(Ident { text, span }, number))
    }

    /// `12`, `0f3F800000`
    fn number(&mut self) -> Option<(Const, Span)> {
        let bytes = self.source.as_bytes();
        let start = self.at;
        while bytes.get(self.at).is_some_and(|byte| is_name(*byte)) {
            self.at += 1;
        }
        let (text, span) = self.text(start);
        let value = match text.as_bytes() {
            [b'0', b'f' | b'F', digits @ ..] if digits.len() == 8 => {
                if !digits.iter().all(u8::is_ascii_hexdigit) {
                    return None;
                }
                Const::F32(f32::from_bits(u32::from_str_radix(&text[2..], 16).ok()?))
            }
            [b'1'..=b'9', ..] | [b'0'] if text.len() < 19 => constant::parse_int(text)?,
            _ => return None,
        };
        Some((value, span))
    }

    /// The same with a sign.
    fn signed(&mut self) -> Option<(Const, Span)> {
        let start = self.at;
        if self.byte() != b'-' {
            return self.number();
        }
        self.at += 1;
        let (value, span) = self.number()?;
        Some((value.unary(Unary::Minus)?, Span { start: start as u32, ..span }))
    }
}

impl<'s> Parser<'s> {
    /// Puts the operands from here on onto the stack; the place of the `;` behind the last, or
    /// where the first begins that is not plain.
    pub(super) fn plain_operands(&mut self, at: usize) -> Result<usize, usize> {
        let mut cursor = Cursor { source: self.source, at };
        let bottom = self.stack.len();
        loop {
            cursor.skip_blanks();
            let start = cursor.at;
            let height = self.stack.len();
            if height - bottom >= MAX_LIST {
                return Err(start);
            }
            let Some(operand) = self.plain_operand(&mut cursor) else {
                self.stack.truncate(height);
                return Err(start);
            };
            cursor.skip_blanks();
            match cursor.byte() {
                b',' => {
                    self.stack.push(operand);
                    cursor.at += 1;
                }
                b';' => {
                    self.stack.push(operand);
                    return Ok(cursor.at);
                }
                _ => return Err(start),
            }
        }
    }

    fn plain_operand(&mut self, cursor: &mut Cursor<'s>) -> Option<Operand<'s>> {
        match cursor.byte() {
            b'0'..=b'9' | b'-' => {
                let (value, span) = cursor.signed()?;
                Some(Operand::Const(value, span))
            }
            b'[' => {
                let start = cursor.at;
                cursor.at += 1;
                cursor.skip_blanks();
                let base = cursor.name()?;
                cursor.skip_blanks();
                let mut part = base;
                if let (b'+', Operand::Name(name, number)) = (cursor.byte(), base) {
                    cursor.at += 1;
                    cursor.skip_blanks();
                    let (value, span) = cursor.signed()?;
                    let offset = self.tree.one(Operand::Const(value, span));
                    part = Operand::Sum(name, number, offset);
                }
                cursor.eat(b']')?;
                let span = Span::new(start, cursor.at);
                Some(Operand::Address(self.tree.only(part), span))
            }
            b'{' => {
                let (start, bottom) = (cursor.at, self.stack.len());
                cursor.at += 1;
                loop {
                    cursor.skip_blanks();
                    if cursor.byte() != b'%' || self.stack.len() - bottom >= MAX_LIST {
                        return None;
                    }
                    let item = cursor.name()?;
                    self.stack.push(item);
                    cursor.skip_blanks();
                    match cursor.byte() {
                        b',' => cursor.at += 1,
                        b'}' => break,
                        _ => return None,
                    }
                }
                cursor.at += 1;
                let items = self.tree.list(&mut self.stack, bottom);
                Some(Operand::Vector(items, Span::new(start, cursor.at)))
            }
            _ => cursor.name(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ptx::ast::{Function, Header, Item, Operand, Statement, Tree};
    use crate::ptx::parser::{Reader, parse};

    /// What every instruction is made of, as text.
    #[derive(Default)]
    struct Seen(Vec<String>);

    fn text(operand: &Operand<'_>, tree: &Tree<'_>) -> String {
        let list = |list| tree.operands(list).iter().map(|o| text(o, tree)).collect::<Vec<_>>();
        match operand {
            Operand::Vector(items, span) => format!("Vector {:?} {span:?}", list(*items)),
            Operand::Address(items, span) => format!("Address {:?} {span:?}", list(*items)),
            Operand::List(items, span) => format!("List {:?} {span:?}", list(*items)),
            Operand::Sum(name, number, offset) => {
                format!("Sum {name:?} {number:?} {}", text(tree.operand(*offset), tree))
            }
            Operand::Negate(inner) => format!("Negate {}", text(tree.operand(*inner), tree)),
            Operand::Index(name, index, span) => {
                format!("Index {name:?} {} {span:?}", text(tree.operand(*index), tree))
            }
            Operand::Pair(both) => {
                let [first, second] =
                    [*both, both + 1].map(|place| text(tree.operand(place), tree));
                format!("Pair {first} {second}")
            }
            other => format!("{other:?}"),
        }
    }

    impl<'s> Reader<'s> for Seen {
        fn header(&mut self, _: Header<'s>) {}
        fn item(&mut self, _: Item<'s>) {}
        fn function(&mut self, _: &Function<'s>) {}
        fn end_of_body(&mut self) {}

        fn statement(&mut self, statement: Statement<'_, 's>, tree: &Tree<'s>) {
            if let Statement::Instruction(inst) = statement {
                let operands = tree.operands(inst.operands).iter().map(|o| text(o, tree));
                let operands: Vec<String> = operands.collect();
                self.0.push(format!("{:?} {operands:?} {:?}", inst.opcode, inst.span));
            }
        }
    }

    /// What the parser makes of an instruction, and what it complains about. Behind a first one of
    /// the same words, so that these are known.
    fn read(words: &str, blank: &str, operands: &str) -> (Vec<String>, String) {
        let head = ".version 9.0\n.target sm_90a\n.entry a() {\n";
        let source = format!("{head}{words};\n{words}{blank}{operands}}}\n");
        let mut seen = Seen::default();
        let diagnostics = parse(&source, &mut seen);
        (seen.0, format!("{diagnostics:?}"))
    }

    /// A comment makes the parser read tokens.
    fn assert_same(words: &str, operands: &str) {
        let (plain, tokens) = (read(words, "     ", operands), read(words, "/**/ ", operands));
        assert_eq!(plain.0, tokens.0, "{words} {operands}");
        assert_eq!(plain.1, tokens.1, "{words} {operands}");
    }

    #[test]
    fn what_is_read_without_tokens_is_what_tokens_give() {
        for file in ["tri_softmax/tri_softmax", "tri_attention/tri_attention", "sha256/sha256"] {
            let path = format!("{}/tests/corpus/{file}.ptx", env!("CARGO_MANIFEST_DIR"));
            let text = std::fs::read_to_string(path).unwrap();
            for line in text.lines().map(str::trim).filter(|line| line.ends_with(';')) {
                let line = line.rsplit_once("} ").map_or(line, |(_, line)| line);
                if let Some((words, operands)) = line.split_once([' ', '\t'])
                    && !words.starts_with(['.', '@', '{'])
                {
                    assert_same(words, operands.trim_start());
                }
            }
        }
    }

    #[test]
    fn odd_operands_are_read_as_tokens_say() {
        for operands in [
            "%r1, %r2;",
            "%r1, ;",
            ";",
            ",;",
            "%r1 ,%r2 ;",
            "%r, %;",
            "%r01, %r1_2, %1, %rrrrrrrrr1, %r1234567890;",
            "_, WARP_SZ, a;",
            "WARP_SZ + 1;",
            "a.x, %tid.x, %r1.b0;",
            "%p1|%p2, %r1;",
            "!%p1, -%r1;",
            "1, 0, 00, 08, 0x1F, 12U, 1.5, .5, 1e3, 0f3F800000, 0F3f800000, 0f3F80000G, 0f3F;",
            "-1, - 1, -0, +1, --1, -0f3F800000, -0x10;",
            "9223372036854775808, 123456789012345678;",
            "[%r1], [ %r1 ], [%r1+4], [%r1 + 4], [%r1+-4], [%r1+ -4], [%r1-4], [4], [a+4];",
            "[%r1+0x10], [%r1+4+4], [a, {%r1, %r2}], [%r1+a], [], [%r1;",
            "{%r1, %r2};",
            "{%r1,};",
            "{%r1}, {}, {_, %r1}, {%r1.x}, {1, 2}, {{%r1}};",
            "{%r1, %r2}|%p1;",
            "a[3], a[%r1];",
            "(1 + 2), (a);",
            "%r1 %r2;",
            "%r1, /* a */ %r2; // b",
            "%r1,, %r2;",
            "$L_1;",
            "a::b;",
            "%r1",
            "",
            "%r\u{e9}1;",
            "1\u{e9};",
            "generic(a);",
            "1 ? 2 : 3;",
            ".x, %r1;",
            "%r1 .x;",
        ] {
            for words in ["mov.b32", "bra", "call.uni", "mov"] {
                assert_same(words, operands);
            }
        }
    }
}
