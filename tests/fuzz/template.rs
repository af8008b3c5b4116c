//! The small language of the rows: one text stands for many instructions.
//!
//! `<a/b/c>` is a choice, `</.sat>` an optional part, `$1` … `$9` repeat what the first to ninth
//! choice took. A choice `a~b` takes `a`, and `$1'` then says `b` (`a` where there is no `~`); of
//! `a~b~c~d`, `$1''` and `$1'''` say `c` and `d`. What stands in angle brackets without a slash is
//! plain text.
//!
//! After that an instruction still has slots:
//! - `=T` a result of the PTX type T; `?T` one that is an approximation; `*T` one that is a new
//!   variable, where ptxas takes part
//! - `+T` a variable that is read and written
//! - `%T` an operand; `!T` one that is never a constant; `~pred` a predicate that may be negated
//! - `^N` once more the text of slot N, counted from 0 (results, operands and numbers count)
//! - `#(low,high,step)` a number
//! - `&M` the mask of the threads that run this together; `&W` the offset of a word that only this
//!   instruction touches, in the buffer that all threads share; `&T` the number of threads of a
//!   block
//!
//! A slot with a number behind it, as in `!b32:4`, is so many with commas between; `^2:3` is `^2,
//! ^3, ^4`.

use crate::program::Class;
use crate::random::Random;

#[derive(Clone, PartialEq, Debug)]
pub enum Part {
    Text(String),
    Def { class: Class, near: bool, new: bool },
    Change { class: Class },
    Use { class: Class, constant: bool, negatable: bool },
    Again(usize),
    Number { low: i64, high: i64, step: i64 },
    Mask,
    Word,
    Threads,
}

/// One of the instructions that a row stands for.
pub fn draw(row: &str, random: &mut Random) -> Vec<Part> {
    parts(&choose(row, random))
}

/// The row with its choices made.
fn choose(row: &str, random: &mut Random) -> String {
    let mut chosen: Vec<&str> = Vec::new();
    let mut text = String::new();
    let mut rest = row;
    while let Some(at) = rest.find(['<', '$']) {
        let (before, found) = rest.split_at(at);
        text.push_str(before);
        let choice = found
            .strip_prefix('<')
            .and_then(|f| f.split_once('>'))
            .filter(|(inner, _)| inner.contains('/'));
        let repeat = found
            .strip_prefix('$')
            .and_then(|f| f.chars().next())
            .and_then(|c| c.to_digit(10))
            .and_then(|n| chosen.get((n as usize).checked_sub(1)?));
        rest = if let Some((inner, after)) = choice {
            let choices: Vec<&str> = inner.split('/').collect();
            let one = *random.pick(&choices);
            chosen.push(one);
            text.push_str(side(one, 0));
            after
        } else if let Some(one) = repeat {
            let number = found[2..].bytes().take(3).take_while(|b| *b == b'\'').count();
            text.push_str(side(one, number));
            &found[2 + number..]
        } else {
            text.push_str(&found[..1]);
            &found[1..]
        };
    }
    text.push_str(rest);
    text
}

/// One of the sides of a choice's text, the first where there is none of that number.
fn side(text: &str, number: usize) -> &str {
    text.split('~').nth(number).or(text.split('~').next()).unwrap_or(text)
}

/// Splits an instruction at its slots. A sign with nothing behind it that fits is plain text.
fn parts(instruction: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut text = String::new();
    let mut rest = instruction;
    while let Some(first) = rest.chars().next() {
        if let Some((part, length)) = part(rest) {
            if !text.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut text)));
            }
            rest = &rest[length..];
            let (count, length) = count(rest);
            rest = &rest[length..];
            for number in 0..count {
                if number > 0 {
                    parts.push(Part::Text(", ".to_string()));
                }
                parts.push(match part {
                    Part::Again(slot) => Part::Again(slot + number),
                    ref part => part.clone(),
                });
            }
        } else {
            text.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    if !text.is_empty() {
        parts.push(Part::Text(text));
    }
    parts
}

/// How many slots of a kind there are, by what follows the first one, and the length of that in
/// bytes.
fn count(rest: &str) -> (usize, usize) {
    let digits = rest
        .strip_prefix(':')
        .map_or("", |rest| &rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())]);
    digits.parse().map_or((1, 0), |count| (count, 1 + digits.len()))
}

/// The slot that `rest` begins with, and its length in bytes.
fn part(rest: &str) -> Option<(Part, usize)> {
    let sign = rest.chars().next()?;
    let after = rest.get(1..)?;
    let word = after.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(after.len());
    let (word, end) = (&after[..word], 1 + word);
    let part = match sign {
        '=' | '?' | '*' => {
            Part::Def { class: Class::of(word)?, near: sign == '?', new: sign == '*' }
        }
        '+' => Part::Change { class: Class::of(word)? },
        '%' | '!' => {
            let class = Class::of(word)?;
            let constant = sign == '%' && class.has_constants();
            Part::Use { class, constant, negatable: false }
        }
        '~' => Part::Use { class: Class::of(word)?, constant: false, negatable: true },
        '^' => Part::Again(word.parse().ok()?),
        '#' => {
            let (inner, _) = after.strip_prefix('(')?.split_once(')')?;
            let mut numbers = inner.split(',').map(|n| n.trim().parse::<i64>().ok());
            let (low, high) = (numbers.next()??, numbers.next()??);
            let step = numbers.next().map_or(Some(1), |n| n)?;
            return Some((Part::Number { low, high, step }, inner.len() + 3));
        }
        '&' => match word {
            "M" => Part::Mask,
            "W" => Part::Word,
            "T" => Part::Threads,
            _ => return None,
        },
        _ => return None,
    };
    Some((part, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(row: &str) -> Vec<String> {
        let mut random = Random::new(1);
        let mut found: Vec<String> = (0..100).map(|_| choose(row, &mut random)).collect();
        found.sort();
        found.dedup();
        found
    }

    #[test]
    fn choices_are_made_and_repeated() {
        assert_eq!(
            all("add</.sat>.<s32/u32> =$2"),
            ["add.s32 =s32", "add.sat.s32 =s32", "add.sat.u32 =u32", "add.u32 =u32"]
        );
        assert_eq!(all("x<1~a/2>, $1, $1'"), ["x1, 1, a", "x2, 2, 2"]);
        assert_eq!(all("x<1~a~b/2>, $1', $1''"), ["x1, a, b", "x2, 2, 2"]);
        assert_eq!(all(".reg .b32 %r<4>; $1"), [".reg .b32 %r<4>; $1"]);
    }

    #[test]
    fn a_number_behind_a_slot_repeats_it() {
        let comma = || Part::Text(", ".to_string());
        let change = || Part::Change { class: Class::F32 };
        assert_eq!(
            parts("+f32:2^1:3"),
            [
                change(),
                comma(),
                change(),
                Part::Again(1),
                comma(),
                Part::Again(2),
                comma(),
                Part::Again(3)
            ]
        );
    }

    #[test]
    fn slots_are_found_between_text() {
        let text = |t: &str| Part::Text(t.to_string());
        let operand = |class, constant| Part::Use { class, constant, negatable: false };
        assert_eq!(
            parts("{ fma.rn.f32 ?f32, %f32, !b32, ^2; } [%sha+#(0,28,4)], &M, %tid.x"),
            [
                text("{ fma.rn.f32 "),
                Part::Def { class: Class::F32, near: true, new: false },
                text(", "),
                operand(Class::F32, true),
                text(", "),
                operand(Class::B32, false),
                text(", "),
                Part::Again(2),
                text("; } [%sha+"),
                Part::Number { low: 0, high: 28, step: 4 },
                text("], "),
                Part::Mask,
                text(", %tid.x"),
            ]
        );
    }
}
