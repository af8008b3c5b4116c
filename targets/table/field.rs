//! Reads names with modifiers, fields and bits.

use super::model::{Bits, ModField, ModOption, Result};
use super::sets::{Sets, holds};

/// `NAME.WORD{field@pos.width:opt,opt}…`
pub fn parse_name(text: &str, sets: &Sets) -> Result<(String, Vec<ModField>)> {
    let end = text.find(['.', '{']).unwrap_or(text.len());
    let opcode = text[..end].to_string();
    let mut rest = &text[end..];
    let mut mods = Vec::new();
    while !rest.is_empty() {
        if let Some(tail) = rest.strip_prefix('{') {
            let close = tail.find('}').ok_or("missing }")?;
            mods.push(parse_field(&tail[..close], sets)?);
            rest = &tail[close + 1..];
        } else if let Some(tail) = rest.strip_prefix('.') {
            let end = tail.find(['.', '{']).unwrap_or(tail.len());
            mods.push(fixed_word(&tail[..end]));
            rest = &tail[end..];
        } else {
            return Err(format!("modifiers: {rest}"));
        }
    }
    Ok((opcode, mods))
}

/// `name@73.3:A,B,_,5=C.D*2`
pub fn parse_field(text: &str, sets: &Sets) -> Result<ModField> {
    let Some((head, options)) = text.split_once(':') else {
        // One word that is always there.
        let options = vec![ModOption { value: 0, words: vec![text.into()], cells: 1 }];
        return Ok(ModField { name: text.into(), bits: Bits::default(), options });
    };
    let (name, bits) = head.split_once('@').unwrap_or(("", head));
    let options = match options.strip_prefix('$') {
        Some(set) => sets.lists.get(set).ok_or_else(|| format!("no set {set}"))?.as_str(),
        None => options,
    };
    let mut field = ModField { name: name.into(), bits: parse_bits(bits)?, options: Vec::new() };
    let mut next = 0u16;
    // Without a name of its own a field is called by its words; on an SM where none of them is
    // left, by the first.
    let mut first_word = String::new();
    for option in options.split(',') {
        let (value, option) = match option.split_once('=') {
            Some((v, o)) => (v.parse().map_err(|_| format!("value {v}"))?, o),
            None => (next, option),
        };
        let (option, on) = option.split_once('@').unwrap_or((option, "-"));
        let there = holds(on, sets.generation.sm)?;
        for (option, value) in series(option)?.into_iter().zip(value..) {
            next = value + 1;
            if first_word.is_empty() && !["^", "_"].contains(&option.as_str()) {
                first_word = option.split('*').next().unwrap_or("").into();
            }
            if option == "^" || !there {
                continue;
            }
            let (words, cells) = option.split_once('*').unwrap_or((&option, "1"));
            let words = match words {
                "_" => Vec::new(),
                words => words.split('.').map(String::from).collect(),
            };
            let cells = cells.parse().map_err(|_| "cells")?;
            field.options.push(ModOption { value, words, cells });
        }
    }
    if field.name.is_empty() && field.options.iter().all(|o| o.words.is_empty()) {
        field.name = first_word;
    }
    Ok(field)
}

/// A part selector of an operand: `60.2:_,H0_H0`, or a word that it always has, `SIGN`.
pub fn parse_part(text: &str, sets: &Sets) -> Result<ModField> {
    if text.contains(':') {
        return parse_field(text, sets);
    }
    Ok(fixed_word(text))
}

pub fn fixed_word(word: &str) -> ModField {
    let options = vec![ModOption { value: 0, words: vec![word.into()], cells: 1 }];
    ModField { name: word.into(), bits: Bits::default(), options }
}

/// The options that one stands for: `64x[8-24]x16*[2-6]` is `64x8x16*2`, `64x16x16*4`,
/// `64x24x16*6`. Steps are as large as the first number, or said: `[48-96/16]`.
pub fn series(option: &str) -> Result<Vec<String>> {
    let mut parts = option.split('[');
    let mut all = vec![parts.next().unwrap_or("").to_string()];
    for part in parts {
        let (range, tail) = part.split_once(']').ok_or("missing ]")?;
        let number = |t: &str| t.parse::<usize>().ok().filter(|n| *n > 0).ok_or("[FIRST-LAST]");
        let (first, last) = range.split_once('-').ok_or("[FIRST-LAST]")?;
        let (last, step) = last.split_once('/').unwrap_or((last, first));
        let numbers: Vec<usize> = (number(first)?..=number(last)?).step_by(number(step)?).collect();
        if all.len() == 1 {
            all = vec![all[0].clone(); numbers.len()];
        }
        if all.len() != numbers.len() {
            return Err(format!("{option}: brackets of different lengths"));
        }
        for (text, n) in all.iter_mut().zip(numbers) {
            text.push_str(&format!("{n}{tail}"));
        }
    }
    Ok(all)
}

/// `73.3`, `72` (one bit), `64.3+72.5` (least significant piece first), `^64.3` (complement).
pub fn parse_bits(text: &str) -> Result<Bits> {
    let (inverted, text) = match text.strip_prefix('^') {
        Some(t) => (true, t),
        None => (false, text),
    };
    let mut pieces = Vec::new();
    for piece in text.split('+') {
        let (pos, width) = piece.split_once('.').unwrap_or((piece, "1"));
        let number = |t: &str| t.parse::<u8>().map_err(|_| format!("bits {text}"));
        pieces.push((number(pos)?, number(width)?));
    }
    Ok(Bits { pieces, inverted })
}

/// Takes leading digits, dots, pluses and `^`: a bit field.
pub fn take_bits(text: &str) -> Result<(Bits, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || ".+^".contains(c))).unwrap_or(text.len());
    Ok((parse_bits(&text[..end])?, &text[end..]))
}
