//! What most operands are, read without making tokens: registers, numbers, addresses of a register
//! or a name with an offset, vectors of registers, each with a comma or the end behind it. Whatever
//! looks different is left to the parser, from where the operand begins.

use super::{MAX_LIST, Parser};
use crate::ptx::ast::Operand;
use crate::ptx::cursor::Cursor;

impl<'s> Parser<'s> {
    /// Puts the operands from here on onto the stack; the place of the `;` behind the last, or
    /// where the first begins that is not plain.
    pub(super) fn plain_operands(&mut self, at: usize) -> Result<usize, usize> {
        let mut cursor = Cursor { source: self.source, at };
        for _ in 0..MAX_LIST {
            cursor.skip_blanks();
            let start = cursor.at;
            let height = self.tree.stack.len();
            let Some(operand) = self.plain_operand(&mut cursor) else {
                self.tree.stack.truncate(height);
                return Err(start);
            };
            cursor.skip_blanks();
            let next = cursor.byte();
            if !matches!(next, b',' | b';') {
                return Err(start);
            }
            self.tree.stack.push(operand);
            if next == b';' {
                return Ok(cursor.at);
            }
            cursor.at += 1;
        }
        cursor.skip_blanks();
        Err(cursor.at)
    }

    fn plain_operand(&mut self, cursor: &mut Cursor<'s>) -> Option<Operand> {
        match cursor.byte() {
            b'%' => {
                let first = register(cursor)?;
                if cursor.byte() != b'|' {
                    return Some(first);
                }
                cursor.at += 1;
                if cursor.byte() != b'%' {
                    return None;
                }
                let second = register(cursor)?;
                Some(Operand::Pair(self.tree.pair(first, second)))
            }
            b'!' => {
                cursor.at += 1;
                if cursor.byte() != b'%' {
                    return None;
                }
                cursor.register().map(|(name, _)| Operand::Not(name))
            }
            b'0'..=b'9' | b'-' => {
                let (value, span) = cursor.signed()?;
                Some(Operand::Const(value, span))
            }
            b'[' => {
                let start = cursor.at;
                cursor.at += 1;
                cursor.skip_blanks();
                let base = name(cursor)?;
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
                Some(Operand::Address(self.tree.only(part), cursor.span(start)))
            }
            b'{' => {
                let (start, bottom) = (cursor.at, self.tree.stack.len());
                cursor.at += 1;
                loop {
                    cursor.skip_blanks();
                    if cursor.byte() != b'%' || self.tree.stack.len() - bottom >= MAX_LIST {
                        return None;
                    }
                    let (item, number) = cursor.register()?;
                    self.tree.stack.push(Operand::Name(item, number));
                    cursor.skip_blanks();
                    match cursor.byte() {
                        b',' => cursor.at += 1,
                        b'}' => break,
                        _ => return None,
                    }
                }
                cursor.at += 1;
                let items = self.tree.list(bottom);
                Some(Operand::Vector(items, cursor.span(start)))
            }
            _ => name(cursor),
        }
    }
}

/// A register or a symbol.
fn name(cursor: &mut Cursor<'_>) -> Option<Operand> {
    if cursor.byte() == b'%' {
        return cursor.register().map(|(name, number)| Operand::Name(name, number));
    }
    cursor.symbol().map(|name| Operand::Name(name, None))
}

/// A register, or an element or a part of one: `.x`, `.b0`.
fn register(cursor: &mut Cursor<'_>) -> Option<Operand> {
    let (name, number) = cursor.register()?;
    if cursor.byte() != b'.' {
        return Some(Operand::Name(name, number));
    }
    cursor.at += 1;
    if !cursor.byte().is_ascii_alphabetic() {
        return None;
    }
    let element = cursor.symbol()?;
    (cursor.byte() != b':').then_some(Operand::Element(name, element))
}

#[cfg(test)]
mod tests {
    use crate::ptx::ast::{Function, Header, Item, Operand, Spellings, Statement, Tree};
    use crate::ptx::parser::{Reader, parse};

    /// What every instruction is made of, as text.
    #[derive(Default)]
    struct Seen(Vec<String>);

    fn text(operand: &Operand, tree: &Tree<'_>) -> String {
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
        fn header(&mut self, _: Header<'s>) -> Spellings {
            Spellings::default()
        }
        fn item(&mut self, _: Item<'s>) {}
        fn function(&mut self, _: &Function<'s>) {}
        fn end_of_body(&mut self, _: u32) {}

        fn statement(&mut self, statement: Statement<'_, 's>, tree: &Tree<'s>) {
            if let Statement::Instruction(inst) = statement {
                let operands = tree.top().iter().map(|o| text(o, tree));
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
            "!%p1, ! %p1, !p, !%p1.x, !%, !%p1|%p2, !1;",
            "%p1|_, %p1|p, %p1 | %p2, %p1|%p2|%p3, %p1||%p2, %p1|%p2.x, %p1.x|%p2;",
            "%tid.x, %r1.b0, %r1.5, %r1.x.y, %r1.x::y, %r1., %r1.%r2, %tid .x, %tid. x;",
            "0x1F, 0x, 0x1G, 0xFFFFFFFFFFFFFFFF, 0x10000000000000000, 0x1FU, 0X1F, -0x80000000;",
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
