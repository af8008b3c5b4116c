//! Instructions that are known to be right, taken straight from the text: of a spelling that was
//! met, with operands that most instructions have and of a shape that was right before. What is
//! found not to be so is left to the parser, which begins with its operands again.

use super::Checker;
use super::scope::Entity;
use super::shape::Shape;
use super::special;
use crate::ptx::cursor::Cursor;
use crate::ptx::parser::Straight;
use crate::ptx::program::{AddressBase, Operand, RegId, Register};
use crate::ptx::types::{Span, Type};
use thin_vec::ThinVec;

impl<'s> Checker<'s> {
    /// Where the `;` of an instruction is that was taken; None: it was not.
    pub(super) fn take_straight(&mut self, straight: Straight) -> Option<u32> {
        let spelling = straight.spelling as usize;
        if !self.in_body || self.diagnostics.has_errors() || !self.forms.some_right(spelling) {
            return None;
        }
        let by_value = self.forms.by_value(spelling);
        let mut shape = Shape::new(straight.guard.is_some(), by_value);
        let guard = match straight.guard {
            Some((name, number, negated)) => {
                let reg = self.scopes.register(number, name, &mut self.body.regs)?;
                (self.register(reg).ty == Type::Pred).then_some(())?;
                Some((reg, negated))
            }
            None => None,
        };
        let mut cursor = Cursor { source: self.source, at: straight.operands as usize };
        let start = self.shared.begin(MOST);
        let right = self.straight_operands(&mut cursor, spelling, &mut shape);
        let words = right.and_then(|()| self.forms.right(spelling, shape, self.shared.from(start)));
        let Some(words) = words else {
            self.shared.give_back(start);
            return None;
        };
        let operands = self.shared.end(start, &mut self.body.code);
        let span = Span { start: straight.start, end: cursor.at as u32 };
        self.body.code.push(guard, words, operands, (span, self.loc));
        self.label = None;
        Some(cursor.at as u32)
    }

    /// Puts them into the list that all share, and goes to the `;` behind them.
    fn straight_operands(
        &mut self,
        cursor: &mut Cursor<'s>,
        spelling: usize,
        shape: &mut Shape,
    ) -> Option<()> {
        cursor.skip_blanks();
        if cursor.byte() == b';' {
            return Some(());
        }
        for _ in 0..MOST {
            cursor.skip_blanks();
            let operand = match cursor.byte() {
                b'%' => self.straight_name(cursor, shape)?,
                b'!' => {
                    cursor.at += 1;
                    let (reg, ty) = self.straight_register(cursor)?;
                    shape.not(ty);
                    Operand::NotReg(reg)
                }
                b'0'..=b'9' | b'-' => {
                    let (value, _) = cursor.signed()?;
                    shape.constant(value);
                    super::literal::literal(value, self.forms.literals(spelling))
                }
                b'[' => self.straight_address(cursor, shape)?,
                b'{' => self.straight_vector(cursor, shape)?,
                _ => {
                    let name = cursor.symbol()?;
                    match self.lookup_numbered(self.ident(name), None)? {
                        Entity::Label(label) => {
                            shape.label();
                            Operand::Label(label)
                        }
                        Entity::Var(var) => {
                            self.variable_shape(var, shape);
                            Operand::Var(var, 0.into())
                        }
                        _ => return None,
                    }
                }
            };
            self.shared.push(operand);
            cursor.skip_blanks();
            match cursor.byte() {
                b',' => cursor.at += 1,
                b';' => return Some(()),
                _ => return None,
            }
        }
        None
    }

    /// A register that is no vector, two with `|` between them, or a special register.
    #[inline]
    fn straight_name(&mut self, cursor: &mut Cursor<'s>, shape: &mut Shape) -> Option<Operand> {
        let start = cursor.at;
        let Some((reg, ty)) = self.straight_register(cursor) else {
            cursor.at = start;
            return self.straight_special(cursor, shape);
        };
        if cursor.byte() != b'|' {
            shape.register(ty);
            return Some(Operand::Reg(reg));
        }
        cursor.at += 1;
        let (second, second_ty) = self.straight_register(cursor)?;
        shape.pair();
        shape.register(ty);
        shape.register(second_ty);
        Some(Operand::Pair(Box::new((Operand::Reg(reg), Operand::Reg(second)))))
    }

    /// `%tid.x`, `%laneid`, where no register has the name.
    #[inline(never)]
    fn straight_special(&mut self, cursor: &mut Cursor<'s>, shape: &mut Shape) -> Option<Operand> {
        let (name, number) = cursor.register()?;
        let name = self.ident(name);
        let special = if cursor.byte() == b'.' {
            cursor.at += 1;
            let register = special::vector(name.text)?;
            let element = cursor.symbol()?;
            register(special::element(self.text(element))?)
        } else {
            special::scalar(name.text)?
        };
        let (version, sm) = special::since(special);
        if cursor.byte() == b':'
            || !self.passes(version, sm)
            || self.lookup_numbered(name, number).is_some()
        {
            return None;
        }
        super::shape::special(special, shape);
        Some(Operand::Special(special))
    }

    /// A register that is no vector, and its type.
    #[inline]
    fn straight_register(&mut self, cursor: &mut Cursor<'s>) -> Option<(RegId, Type)> {
        if cursor.byte() != b'%' {
            return None;
        }
        let (name, number) = cursor.register()?;
        let reg = self.scopes.register(number?, name, &mut self.body.regs)?;
        let Register { ty, vector, .. } = self.register(reg);
        (*vector == 1).then_some((reg, *ty))
    }

    /// `[%r1]`, `[%r1+4]`, `[name]`, `[name+4]`
    fn straight_address(&mut self, cursor: &mut Cursor<'s>, shape: &mut Shape) -> Option<Operand> {
        cursor.at += 1;
        cursor.skip_blanks();
        let base = if cursor.byte() == b'%' {
            let (name, number) = cursor.register()?;
            let reg = self.scopes.register(number?, name, &mut self.body.regs)?;
            AddressBase::Reg(reg)
        } else {
            let name = cursor.symbol()?;
            match self.lookup_numbered(self.ident(name), None)? {
                Entity::Var(var) => AddressBase::Var(var),
                _ => return None,
            }
        };
        self.base_shape(base, shape);
        cursor.skip_blanks();
        let mut offset = 0;
        if cursor.byte() == b'+' {
            cursor.at += 1;
            cursor.skip_blanks();
            let (value, _) = cursor.signed()?;
            offset = value.as_i128()? as i64;
        }
        cursor.eat(b']')?;
        Some(Operand::Address { base, offset })
    }

    /// `{%r1, %r2}` of registers that have one type.
    fn straight_vector(&mut self, cursor: &mut Cursor<'s>, shape: &mut Shape) -> Option<Operand> {
        cursor.at += 1;
        // Most have four.
        let mut items = ThinVec::with_capacity(4);
        loop {
            cursor.skip_blanks();
            if cursor.byte() != b'%' || items.len() == usize::from(u8::MAX) {
                return None;
            }
            items.push(Operand::Reg(self.straight_register(cursor)?.0));
            cursor.skip_blanks();
            cursor.at += 1;
            match self.source.as_bytes().get(cursor.at - 1)? {
                b',' => {}
                b'}' => break,
                _ => return None,
            }
        }
        self.alike_shape(&items, shape).then_some(Operand::Vector(items))
    }
}

/// Operands of an instruction that is taken: a shape has no room for more.
const MOST: usize = 16;

#[cfg(test)]
mod tests {
    use crate::ptx::load;

    /// The text with four blanks, or a comment of four letters, behind the words of instructions.
    fn with(text: &str, between: &str) -> String {
        let line = |line: &str| match line.trim_start().split_once([' ', '\t']) {
            Some((words, operands)) if words.starts_with(|c: char| c.is_ascii_lowercase()) => {
                format!("{words}{between}{operands}\n")
            }
            _ => format!("{line}\n"),
        };
        text.lines().map(line).collect()
    }

    #[test]
    fn what_is_taken_from_the_text_is_what_the_parser_gives() {
        for file in ["tri_softmax", "tri_attention", "sha256", "math_precise", "noinline_call"] {
            let path = format!("{}/tests/corpus/{file}/{file}.ptx", env!("CARGO_MANIFEST_DIR"));
            let text = std::fs::read_to_string(path).unwrap();
            // No spelling is found that has a comment behind it.
            let [straight, parsed] = ["    ", "/**/"].map(|between| with(&text, between));
            let [straight, parsed] = [&straight, &parsed].map(|text| load(text).unwrap());
            for (a, b) in straight.functions.iter().zip(&parsed.functions) {
                assert_eq!(a.code.len(), b.code.len(), "{file} {}", a.name);
                for (a, b) in a.code.iter().zip(&b.code) {
                    // Where the lists of operands are cut is not the same.
                    let [a, b] = [a, b].map(|i| {
                        format!("{:?} {:?} {:?} {:?}", i.guard, i.words, i.operands, i.span)
                    });
                    assert_eq!(a, b, "{file}");
                }
                assert!(a.code.locs().zip(b.code.locs()).take(a.code.len()).all(|(a, b)| a == b));
                assert_eq!(format!("{:?}", a.regs), format!("{:?}", b.regs), "{file} {}", a.name);
                assert_eq!(a.labels, b.labels, "{file} {}", a.name);
            }
        }
    }

    #[test]
    fn constants_that_break_a_rule_are_found_behind_right_ones() {
        let errors = |second: &str| {
            let head = ".version 9.0\n.target sm_90a\n.entry a() {\n.reg .b32 %r<4>;\n";
            let text = format!(
                "{head}shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;\nbar.sync 0;\n\
                 bfe.u32 %r1, %r2, 4, 8;\n{second}\n}}\n"
            );
            load(&text).map_or_else(|errors| errors.errors(), |_| 0)
        };
        let right = ["shfl.sync.bfly.b32 %r1, %r2, 2, 31, -1;", "bar.sync 15;", "bar.sync 0, 32;"];
        assert_eq!(right.map(errors), [0; 3]);
        let wrong = ["bar.sync 16;", "bar.sync 0, 33;", "bfe.u32 %r1, %r2, 256, 8;"];
        assert_eq!(wrong.map(errors), [1; 3]);
    }
}
