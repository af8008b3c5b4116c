//! Reads operands.

use super::field::*;
use super::model::*;
use super::sets::Sets;

fn parse_style(text: &str) -> Result<&'static str> {
    Ok(match text {
        "x" => "SignedHex",
        "u" => "Hex",
        "d" => "Decimal",
        "f" => "F32",
        "g" => "F64High",
        "h" => "F16x2",
        "hl" => "F16",
        "bl" => "Bf16",
        "pn" => "Signs",
        "sb" => "Scoreboard",
        "gsb" => "GroupScoreboard",
        "set" => "Set",
        other => return Err(format!("immediate style {other}")),
    })
}

/// `name`, `name=TYPE…` with suffixes: see `tables/README.md`.
pub fn parse_slot(word: &str, sets: &Sets) -> Result<Slot> {
    let end = word.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(word.len());
    let name = word[..end].to_string();
    let rest = &word[end..];
    let (spec, mut rest) = match rest.strip_prefix('=') {
        Some(tail) => (tail, ""),
        // The standing places of destination, A, B, C and their uniform counterparts.
        None => match name.as_str() {
            "d" => ("R16", rest),
            "a" => ("R24", rest),
            "b" | "c" => ("G", rest),
            "ud" => ("UR16", rest),
            "ua" => ("UR24", rest),
            other => return Err(format!("operand {other} has no standing place")),
        },
    };
    let kind_end =
        spec.find(|c: char| c.is_ascii_digit() || "[^:{-~|!?*&".contains(c)).unwrap_or(spec.len());
    let (letters, mut tail) = spec.split_at(kind_end);
    let mut kind = match letters {
        // `{61.3:1D,2D}`: a number shown by name.
        "" if tail.starts_with('{') => {
            let close = tail.find('}').ok_or("missing }")?;
            let field = parse_field(&tail[1..close], sets)?;
            tail = &tail[close + 1..];
            let bits = field.bits.clone();
            Kind::Imm { bits, signed: false, scale: 1, style: "Hex", names: Some(field) }
        }
        "R" | "UR" | "P" | "UP" | "B" => {
            let (mut bits, t) = take_bits(tail)?;
            tail = t;
            let (file, width) = match letters {
                "R" => ("R", 8),
                "UR" => ("UR", sets.generation.uniform_bits),
                "P" => ("P", 3),
                "UP" => ("UP", 3),
                _ => ("B", 4),
            };
            if bits.pieces.len() == 1 && bits.pieces[0].1 == 1 {
                bits.pieces[0].1 = width;
            }
            let reuse = match (file, bits.pieces[0].0) {
                ("R", 24) => 122,
                ("R", 32) => 123,
                ("R", 64) if name == "b" => 123,
                ("R", 64) => 124,
                _ => 0,
            };
            Kind::Reg { file, bits, flags: Flags { reuse, ..Flags::default() }, part: None }
        }
        "G" => Kind::Generic { style: "SignedHex", flags: GenericFlags::default(), part: None },
        "I" | "S" => {
            let (bits, t) = take_bits(tail)?;
            tail = t;
            if letters == "S" {
                Kind::Special { bits }
            } else {
                Kind::Imm { bits, signed: false, scale: 1, style: "Hex", names: None }
            }
        }
        "D" => {
            let (bits, t) = take_bits(tail)?;
            tail = t;
            Kind::Desc {
                bits: Bits::one(bits.pieces[0].0, sets.generation.uniform_bits),
                prefix: "desc".into(),
                matrices: [0; 4],
                after: 0,
            }
        }
        "W" => {
            let inner = tail.strip_prefix('{').ok_or("W{BITS:words}")?;
            let close = inner.find('}').ok_or("missing }")?;
            tail = &inner[close + 1..];
            Kind::Named(parse_field(&inner[..close], sets)?)
        }
        "T" | "J" | "L" | "A" => {
            let (bits, t) = take_bits(tail)?;
            tail = t;
            let scale = if letters == "L" { 1 } else { 4 };
            let relative = matches!(letters, "T" | "L");
            Kind::Target { bits, scale, relative, address: letters == "A" }
        }
        "M" | "C" => {
            let inner = tail.strip_prefix('[').ok_or("M[...]")?;
            let close = inner.find(']').ok_or("missing ]")?;
            tail = &inner[close + 1..];
            let parts = &inner[..close];
            if letters == "M" { parse_mem(parts, sets)? } else { parse_const(parts, sets)? }
        }
        other => return Err(format!("operand type {other}")),
    };
    let (mut twice, mut needed) = (None, false);
    // The pair of registers of a memory operand's descriptor.
    let mut slot_cells = Cells::Fixed(if matches!(kind, Kind::Desc { .. }) { 2 } else { 1 });
    let mut align = u8::MAX;
    let mut hide = match &kind {
        Kind::Desc { prefix, .. } if !sets.generation.shows_descriptors && *prefix == "desc" => {
            Hide::Always
        }
        _ => Hide::Never,
    };
    // Suffixes of a slot with a standing place come from the word, others from the type.
    if rest.is_empty() {
        rest = tail;
    }
    while let Some(c) = rest.chars().next() {
        rest = &rest[1..];
        let number_end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number = rest[..number_end].parse::<u8>().ok();
        match c {
            '!' if matches!(kind, Kind::Desc { .. }) => hide = Hide::Never,
            '!' if number.is_none() && matches!(&kind, Kind::Reg { file: "R" | "UR", .. }) => {
                needed = true;
            }
            '-' | '|' | '~' | '!' => {
                rest = &rest[number_end..];
                let mut at_c = number;
                if let Some(tail) = rest.strip_prefix('/') {
                    let end = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
                    at_c = tail[..end].parse().ok();
                    rest = &tail[end..];
                }
                let usual = |n: Option<u8>| n.unwrap_or(USUAL);
                let placed = Some(Placed { b: usual(number), c: usual(at_c) });
                match &mut kind {
                    Kind::Reg { flags, bits, .. } => {
                        let default = match bits.pieces[0].0 {
                            24 => 72,
                            32 => 63,
                            _ => 75,
                        };
                        let default = match c {
                            '|' if default == 72 => 73,
                            '|' if default == 63 => 62,
                            '|' => 74,
                            _ => default,
                        };
                        let bit = number.unwrap_or(default);
                        match c {
                            '-' => flags.neg = bit,
                            '|' => flags.abs = bit,
                            _ => flags.not = bit,
                        }
                    }
                    Kind::Generic { flags, .. } => match c {
                        '-' => flags.neg = placed,
                        '|' => flags.abs = placed,
                        _ => flags.not = placed,
                    },
                    _ => return Err(format!("{c} on {name}")),
                }
            }
            '?' => {
                let end = rest.find(|c: char| "*:".contains(c)).unwrap_or(rest.len());
                let (what, t) = rest.split_at(end);
                rest = t;
                hide = match what {
                    "" => Hide::Zero,
                    "!" => Hide::NotTrue,
                    w => match w.strip_prefix('@') {
                        Some(slot) => Hide::ZeroUnless(slot.parse().map_err(|_| "?@SLOT")?),
                        None => Hide::Value(w.parse().map_err(|_| "?VALUE")?),
                    },
                };
            }
            '*' => {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
                let (what, t) = rest.split_at(end);
                rest = t;
                slot_cells = parse_cells(what);
            }
            ':' => {
                let end = rest.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(rest.len());
                let (what, t) = rest.split_at(end);
                rest = t;
                let style_of = |w: &str| parse_style(w);
                match &mut kind {
                    Kind::Desc { prefix, .. } => *prefix = what.into(),
                    Kind::Mem { signed, .. } if what == "x" => *signed = true,
                    Kind::Generic { style, .. } => *style = style_of(what)?,
                    Kind::Imm { style, signed, .. } => {
                        *style = style_of(what)?;
                        *signed = what == "x";
                    }
                    _ => return Err(format!("style on {name}")),
                }
            }
            '%' => match &mut kind {
                Kind::Reg { flags, .. } => flags.reuse = 0,
                _ => return Err(format!("% on {name}")),
            },
            '>' => {
                rest = &rest[number_end..];
                match (&mut kind, number) {
                    (Kind::Desc { after, .. }, Some(n)) => *after = n,
                    _ => return Err(format!("> on {name}")),
                }
                align = 1;
            }
            '/' => {
                rest = &rest[number_end..];
                align = number.filter(|n| n.is_power_of_two()).ok_or("/ALIGNMENT")?;
            }
            '@' => {
                rest = &rest[number_end..];
                match (&mut kind, number) {
                    (Kind::Reg { flags, .. }, Some(bit)) => flags.reuse = bit,
                    _ => return Err(format!("reuse hint of {name}")),
                }
            }
            '&' => {
                rest = &rest[number_end..];
                twice = Some(number.unwrap_or(0));
            }
            '{' => {
                let close = rest.find('}').ok_or("missing }")?;
                let text = &rest[..close];
                rest = &rest[close + 1..];
                match &mut kind {
                    Kind::Reg { part, .. } => *part = Some(parse_part(text, sets)?),
                    Kind::Generic { part, .. } => {
                        let b = |bits: &str| bits.split('/').next().unwrap_or("").to_string();
                        let c = |bits: &str| bits.split('/').next_back().unwrap_or("").to_string();
                        let at = |place: &dyn Fn(&str) -> String| match text.split_once(':') {
                            Some((bits, options)) => {
                                parse_part(&format!("{}:{options}", place(bits)), sets)
                            }
                            None => parse_part(text, sets),
                        };
                        *part = Some(Placed { b: at(&b)?, c: at(&c)? });
                    }
                    Kind::Desc { matrices, .. } => {
                        let words = ["negA", "negB", "tnspA", "tnspB"];
                        let field = parse_field(text, sets)?;
                        let word = field.options.first().map(|o| o.words.concat());
                        let at = words.iter().position(|w| Some(*w) == word.as_deref());
                        matrices[at.ok_or("a flag of a descriptor")?] = field.bits.pieces[0].0;
                    }
                    _ => return Err(format!("part on {name}")),
                }
            }
            other => return Err(format!("suffix {other} of {name}")),
        }
    }
    Ok(Slot { name, kind, cells: slot_cells, align, hide, lead: String::new(), needed, twice })
}

/// `2`, or the name of what decides it.
fn parse_cells(text: &str) -> Cells {
    match text.parse::<u8>() {
        Ok(n) => Cells::Fixed(n),
        Err(_) => Cells::Field(text.into()),
    }
}

/// `R24*2{78.2:_,X4,X8,X16}+UR32+40.24`
fn parse_mem(text: &str, sets: &Sets) -> Result<Kind> {
    let (mut base, mut uniform, mut sel) = (None, None, None);
    let (mut base_cells, mut uniform_cells) = (Cells::Fixed(1), Cells::Fixed(1));
    let (mut base_needed, mut uniform_needed) = (false, false);
    let mut offset = Bits::default();
    for part in text.split('+') {
        if let Some(rest) = part.strip_prefix("UR") {
            let rest = match rest.strip_suffix('!') {
                Some(rest) => {
                    uniform_needed = true;
                    rest
                }
                None => rest,
            };
            let (rest, cells) = rest.split_once('*').unwrap_or((rest, "1"));
            uniform_cells = parse_cells(cells);
            uniform = Some(Bits::one(
                rest.parse().map_err(|_| "uniform position")?,
                sets.generation.uniform_bits,
            ));
        } else if let Some(rest) = part.strip_prefix('R') {
            let (bits, mut rest) = take_bits(rest)?;
            base = Some(Bits::one(bits.pieces[0].0, 8));
            if let Some(tail) = rest.strip_prefix('!') {
                base_needed = true;
                rest = tail;
            }
            if let Some(tail) = rest.strip_prefix('*') {
                let (cells, tail) = tail.split_at(tail.find('{').unwrap_or(tail.len()));
                base_cells = parse_cells(cells);
                rest = tail;
            }
            if let Some(tail) = rest.strip_prefix('{') {
                sel = Some(parse_field(tail.trim_end_matches('}'), sets)?);
            }
        } else {
            offset = parse_bits(part)?;
        }
    }
    Ok(Kind::Mem {
        base,
        base_cells,
        base_needed,
        uniform,
        uniform_cells,
        uniform_needed,
        offset,
        signed: false,
        sel,
    })
}

/// `bank54.5+R24+38.16`, `bank54.5+UR24+38.16`, or with a handle in place of the bank
/// `UR32+R24+38.16`
fn parse_const(text: &str, sets: &Sets) -> Result<Kind> {
    let (mut bank, mut base, mut handle, mut offset) = (None, None, None, Bits::default());
    let mut base_file = "R";
    for part in text.split('+') {
        if let Some(rest) = part.strip_prefix("bank") {
            bank = Some(parse_bits(rest)?);
        } else if let Some(rest) = part.strip_prefix("UR") {
            let position = rest.parse().map_err(|_| "position of a uniform register")?;
            let bits = Some(Bits::one(position, sets.generation.uniform_bits));
            if bank.is_some() {
                base_file = "UR";
                base = bits;
            } else {
                handle = bits;
            }
        } else if let Some(rest) = part.strip_prefix('R') {
            base = Some(Bits::one(rest.parse().map_err(|_| "base position")?, 8));
        } else {
            offset = parse_bits(part)?;
        }
    }
    let flags = Flags::default();
    Ok(Kind::Const { offset, scale: 1, bank, base, base_file, handle, flags, part: None })
}
