//! Changes of one instruction.

use super::Edit;
use super::place::{Place, is_type};
use super::scan::{Instruction, Kind};
use std::ops::Range;

type Made = Option<Vec<Edit>>;

pub fn change_type(place: &mut Place) -> Made {
    let instruction = place.instruction_with(|i| !i.modifiers.is_empty())?;
    let types: Vec<usize> =
        instruction.modifiers.clone().filter(|t| is_type(place.text(*t))).collect();
    let token = *place.random.pick(&types)?;
    let new = place.type_word();
    place.replace(token, new)
}

pub fn drop_modifier(place: &mut Place) -> Made {
    let instruction = place.instruction_with(|i| !i.modifiers.is_empty())?;
    let token = instruction.modifiers.start + place.random.below(instruction.modifiers.len());
    place.replace(token, "")
}

/// A modifier that the opcode has elsewhere, or one of any instruction.
fn modifier(place: &mut Place, instruction: &Instruction) -> Option<String> {
    let opcode = place.text(instruction.opcode);
    let own = place.vocabulary.by_opcode.get(opcode).map_or(&[][..], |list| list.as_slice());
    let all = &place.vocabulary.modifiers;
    let own = if place.random.below(2) == 0 && !own.is_empty() { own } else { all };
    place.random.pick(own).cloned()
}

pub fn add_modifier(place: &mut Place) -> Made {
    let instruction = place.instruction()?;
    let new = modifier(place, instruction)?;
    let place_of = instruction.opcode + place.random.below(instruction.modifiers.len() + 1);
    let at = place.scan().tokens[place_of].end;
    Some(vec![(at..at, new)])
}

pub fn change_modifier(place: &mut Place) -> Made {
    let instruction = place.instruction_with(|i| !i.modifiers.is_empty())?;
    let words: Vec<usize> =
        instruction.modifiers.clone().filter(|t| !is_type(place.text(*t))).collect();
    let token = *place.random.pick(&words)?;
    let new = modifier(place, instruction)?;
    place.replace(token, new)
}

pub fn swap_modifiers(place: &mut Place) -> Made {
    let instruction = place.instruction_with(|i| i.modifiers.len() > 1)?;
    let first = instruction.modifiers.start + place.random.below(instruction.modifiers.len());
    let second = instruction.modifiers.start + place.random.below(instruction.modifiers.len());
    place.swap(place.span(&(first..first + 1)), place.span(&(second..second + 1)))
}

pub fn change_opcode(place: &mut Place) -> Made {
    let instruction = place.instruction()?;
    let new = place.random.pick(&place.vocabulary.opcodes)?.clone();
    place.replace(instruction.opcode, new)
}

/// What may stand as an operand, by kind.
#[rustfmt::skip]
const OPERANDS: &[&str] = &[
    "0", "1", "-1", "7", "1.0", "0f3F800000", "0d3FF0000000000000", "%tid.x", "%tid", "%clock64", "%laneid", "_", "WARP_SZ",
    "{0, 0}", "[0]", "undeclared", "%undeclared7", "!%undeclared", "4294967296", "-2147483649", "0x7fffffffffffffff",
];

fn an_operand<'a>(place: &mut Place<'a>) -> Option<Range<usize>> {
    let instruction = place.instruction_with(|i| !i.operands.is_empty())?;
    let operand = place.random.pick(&instruction.operands)?;
    Some(place.span(operand))
}

pub fn change_operand_kind(place: &mut Place) -> Made {
    let span = an_operand(place)?;
    let old = &place.source.text[span.clone()];
    let register = |place: &mut Place| {
        let registers = &place.source.scan.registers;
        place.random.pick(registers).map(|(_, name)| name.clone())
    };
    let new = match place.random.below(10) {
        0 => format!("[{old}]"),
        1 => format!("{{{old}}}"),
        2 => old.trim_matches(['[', ']', '{', '}', '!']).to_string(),
        3 => format!("{{{}, {}}}", register(place)?, register(place)?),
        4 => format!("[{}]", register(place)?),
        5 => format!("!{}", register(place)?),
        6 => format!("{}|{}", old, register(place)?),
        7 => {
            let label = *place.random.pick(&place.source.scan.labels)?;
            place.text(label).to_string()
        }
        _ => place.random.pick(OPERANDS)?.to_string(),
    };
    Some(vec![(span, new)])
}

/// One register's name becomes another register's.
pub fn change_register(place: &mut Place) -> Made {
    let instruction = place.instruction_with(|i| !i.operands.is_empty())?;
    let first = instruction.operands.first()?.start;
    let names: Vec<usize> = (first..instruction.end)
        .filter(|t| {
            place.scan().tokens[*t].kind == Kind::Name
                && place
                    .source
                    .scan
                    .registers
                    .iter()
                    .any(|(_, r)| r.starts_with(name(place.text(*t))))
        })
        .collect();
    let token = *place.random.pick(&names)?;
    let new = match place.random.below(8) {
        0 => format!("{}9999", name(place.text(token))),
        _ => place.random.pick(&place.source.scan.registers)?.1.clone(),
    };
    place.replace(token, new)
}

/// `%r12` without its number.
fn name(register: &str) -> &str {
    register.trim_end_matches(|c: char| c.is_ascii_digit())
}

pub fn drop_operand(place: &mut Place) -> Made {
    let instruction = place.instruction_with(|i| !i.operands.is_empty())?;
    let number = place.random.below(instruction.operands.len());
    let mut span = place.span(&instruction.operands[number]);
    if number > 0 {
        span.start = place.span(&instruction.operands[number - 1]).end;
    } else if let Some(next) = instruction.operands.get(1) {
        span.end = place.span(next).start;
    }
    Some(vec![(span, String::new())])
}

pub fn add_operand(place: &mut Place) -> Made {
    let instruction = place.instruction_with(|i| !i.operands.is_empty())?;
    let number = place.random.below(instruction.operands.len());
    let span = place.span(&instruction.operands[number]);
    let new = match place.random.below(3) {
        0 => place.source.text[span.clone()].to_string(),
        1 => place.random.pick(&place.source.scan.registers)?.1.clone(),
        _ => place.random.pick(OPERANDS)?.to_string(),
    };
    Some(vec![(span.end..span.end, format!(", {new}"))])
}

pub fn swap_operands(place: &mut Place) -> Made {
    let instruction = place.instruction_with(|i| i.operands.len() > 1)?;
    let a = place.random.pick(&instruction.operands)?;
    let b = place.random.pick(&instruction.operands)?;
    place.swap(place.span(a), place.span(b))
}

#[rustfmt::skip]
const IMMEDIATES: &[&str] = &[
    "0", "1", "-1", "2", "3", "7", "8", "15", "16", "31", "32", "33", "63", "64", "127", "128", "255", "256", "-128", "65535",
    "65536", "-32769", "0x80000000", "0xffffffff", "0x100000000", "-2147483649", "0x7fffffffffffffff", "0xffffffffffffffff",
    "0x10000000000000000", "1.5", "0f00000000", "0d0000000000000000", "0f0", "017", "08", "0b11", "12U", "(1+2)", "-(3)", "~0",
    "!0", "1?2:3", "5/0", "1 << 70", "1e3", "0x", "1.0f",
];

/// A number in an instruction, or a register in the place of one.
pub fn change_immediate(place: &mut Place) -> Made {
    let mut numbers = Vec::new();
    for instruction in &place.source.scan.instructions {
        for token in instruction.opcode + 1..instruction.end {
            if place.scan().tokens[token].kind == Kind::Number {
                numbers.push(token);
            }
        }
    }
    let token = *place.random.pick(&numbers)?;
    let new = *place.random.pick(IMMEDIATES)?;
    place.replace(token, new)
}

/// `.v2` becomes another width, or an element goes or comes.
pub fn change_vector(place: &mut Place) -> Made {
    let vector = |i: &Instruction| {
        i.modifiers
            .clone()
            .any(|t| matches!(place.source.scan.text(&place.source.text, t), ".v2" | ".v4" | ".v8"))
            || i.operands
                .iter()
                .any(|o| place.source.text[place.source.scan.span(o)].starts_with('{'))
    };
    let found: Vec<&Instruction> =
        place.source.scan.instructions.iter().filter(|i| vector(i)).collect();
    let Some(instruction) = place.random.pick(&found).copied() else {
        // Scalars become vectors.
        let instruction = place.instruction_with(|i| !i.modifiers.is_empty())?;
        let at = place.scan().tokens[instruction.modifiers.start].start;
        let new = *place.random.pick(&[".v2", ".v4", ".v8"])?;
        return Some(vec![(at..at, new.to_string())]);
    };
    let words: Vec<usize> = instruction
        .modifiers
        .clone()
        .filter(|t| matches!(place.text(*t), ".v2" | ".v4" | ".v8"))
        .collect();
    if place.random.below(2) == 0
        && let Some(token) = place.random.pick(&words)
    {
        let new = *place.random.pick(&[".v1", ".v2", ".v3", ".v4", ".v8", ".v16", ""])?;
        return place.replace(*token, new);
    }
    let braces: Vec<usize> = (instruction.opcode..instruction.end)
        .filter(|t| {
            place.text(*t) == "}"
                && matches!(place.scan().tokens[t - 1].kind, Kind::Name | Kind::Number)
        })
        .collect();
    let close = *place.random.pick(&braces)?;
    let last = place.text(close - 1);
    if place.random.below(2) == 0 {
        return place.insert(close, format!(", {last}"));
    }
    let start = place.scan().tokens[close - 2];
    if place.text(close - 2) != "," {
        return None;
    }
    Some(vec![(start.start..place.scan().tokens[close - 1].end, String::new())])
}

#[rustfmt::skip]
const SPACES: &[&str] = &[
    ".global", ".shared", ".local", ".const", ".param", ".shared::cta", ".shared::cluster", ".param::entry", ".param::func",
    ".reg", ".tex", "",
];

pub fn change_space(place: &mut Place) -> Made {
    let mut words = Vec::new();
    for instruction in &place.source.scan.instructions {
        words.extend(
            instruction
                .modifiers
                .clone()
                .filter(|t| SPACES.contains(&place.text(*t)) && !place.text(*t).is_empty()),
        );
    }
    let token = *place.random.pick(&words)?;
    let new = *place.random.pick(SPACES)?;
    place.replace(token, new)
}

pub fn change_guard(place: &mut Place) -> Made {
    let registers = &place.source.scan.registers;
    if place.random.below(2) == 0 {
        let instruction = place.instruction_with(|i| i.guard.is_empty())?;
        let predicates: Vec<&(String, String)> =
            registers.iter().filter(|(ty, _)| ty == ".pred").collect();
        let register = match place.random.below(3) {
            0 => &place.random.pick(registers)?.1,
            _ => &place.random.pick(&predicates)?.1,
        };
        let sign = *place.random.pick(&["", "!", "", "!!", "-"])?;
        return place.insert(instruction.opcode, format!("@{sign}{register} "));
    }
    let instruction = place.instruction_with(|i| !i.guard.is_empty())?;
    let span = place.span(&instruction.guard);
    let new = match place.random.below(5) {
        0 => String::new(),
        1 => "@".to_string(),
        2 => format!("@{}", place.random.pick(registers)?.1),
        3 => format!("{0} {0}", &place.source.text[span.clone()]),
        _ => place.random.pick(&["@1", "@%tid.x", "@undeclared", "@!0", "@%p|%q"])?.to_string(),
    };
    Some(vec![(span, new)])
}

#[rustfmt::skip]
const OFFSETS: &[&str] = &[
    "+4", "-4", "+1", "+2", "+3", "+8", "+2147483647", "+2147483648", "+4294967295", "+4294967296", "-2147483648", "-2147483649",
    "+0x7fffffffffffffff", "+0xffffffffffffffff", "-1", "+1.0", "+%r1", "-%r1", "*4", "+(4*2)", "+4+4", "+-4", "[1]", "+16777216",
    "+8388607", "+8388608",
];

/// The end of an address.
pub fn change_offset(place: &mut Place) -> Made {
    let mut ends = Vec::new();
    for instruction in &place.source.scan.instructions {
        for operand in &instruction.operands {
            let span = place.span(operand);
            if place.source.text[span.clone()].starts_with('[') {
                let close = (operand.clone()).find(|t| matches!(place.text(*t), "]" | ","));
                ends.extend(close.map(|close| place.scan().tokens[close].start));
            }
        }
    }
    let at = *place.random.pick(&ends)?;
    let new = *place.random.pick(OFFSETS)?;
    Some(vec![(at..at, new.to_string())])
}

/// Arguments, results and callee of a call.
pub fn change_call(place: &mut Place) -> Made {
    let calls: Vec<&Instruction> = place
        .source
        .scan
        .instructions
        .iter()
        .filter(|i| place.source.scan.text(&place.source.text, i.opcode) == "call")
        .collect();
    let call = place.random.pick(&calls).copied()?;
    let names: Vec<usize> = (call.opcode + 1..call.end)
        .filter(|t| place.scan().tokens[*t].kind == Kind::Name)
        .collect();
    let token = *place.random.pick(&names)?;
    match place.random.below(6) {
        0 => place.insert(token, format!("{}, ", place.text(token))),
        1 => place.replace(token, ""),
        2 => {
            let other = *place.random.pick(&names)?;
            place.replace(token, place.text(other))
        }
        3 => {
            let new = *place.random.pick(&["1", "0f3F800000", "%tid.x", "undeclared", "_"])?;
            place.replace(token, new)
        }
        4 => {
            let register = place.random.pick(&place.source.scan.registers)?.1.clone();
            place.replace(token, register)
        }
        _ => {
            let operand = place.random.pick(&call.operands)?;
            Some(vec![(place.span(operand), String::new())])
        }
    }
}
