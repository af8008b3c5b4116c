//! Instructions taken from PTX, with registers named as [`super::frame`] has them, and their
//! operands as text.

use super::frame::REGISTERS;
use std::collections::HashMap;

/// Mnemonic and operands of every instruction of a module that can stand in the frame, each once in
/// this module.
pub fn of(text: &str) -> Vec<(String, String)> {
    let text = uncommented(text);
    let mut all = Vec::new();
    // Registers are declared by function; a function begins anew.
    for body in text.split(".entry").flat_map(|part| part.split(".func")) {
        let mut types: HashMap<&str, &str> = HashMap::new();
        let pieces = || body.split(['\n', ';', '{']).map(str::trim);
        for piece in pieces() {
            if let Some(rest) = piece.strip_prefix(".reg") {
                let Some((ty, names)) = rest.trim().split_once(char::is_whitespace) else {
                    continue;
                };
                for name in names.split(',') {
                    let name = name.trim();
                    types
                        .insert(name.split('<').next().unwrap_or(name), ty.trim_start_matches('.'));
                }
            }
        }
        for statement in body.split(';') {
            // A label or a brace may stand before it.
            let start = statement.rfind('\n').map_or(0, |at| at + 1);
            let multi = statement.trim_start();
            let statement = if multi.starts_with(['@'])
                || multi.starts_with(|c: char| c.is_ascii_lowercase())
            {
                multi
            } else {
                statement[start..].trim_start_matches([' ', '\t', '{', '}'])
            };
            let statement = match statement.strip_prefix('@') {
                Some(guarded) => guarded.split_once(char::is_whitespace).map_or("", |g| g.1.trim()),
                None => statement.trim(),
            };
            let end = statement.find(char::is_whitespace).unwrap_or(statement.len());
            let (mnemonic, operands) = statement.split_at(end);
            let opcode = mnemonic.split('.').next().unwrap_or("");
            let right = !opcode.is_empty()
                && opcode.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
                && mnemonic.chars().all(|c| c.is_ascii_alphanumeric() || "._:".contains(c));
            if right && !matches!(opcode, "call" | "prototype" | "bra" | "brx") {
                all.push((mnemonic.to_string(), renamed(operands.trim(), &types)));
            }
        }
    }
    all.sort();
    all.dedup();
    all
}

fn uncommented(text: &str) -> String {
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or(""));
    lines.collect::<Vec<_>>().join("\n")
}

/// Registers become `%type_number`, numbered by type in their order.
fn renamed(operands: &str, types: &HashMap<&str, &str>) -> String {
    let mut known: HashMap<&str, String> = HashMap::new();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let mut out = String::with_capacity(operands.len() + 16);
    let mut rest = operands;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let end = rest[at + 1..]
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '$')
            .map_or(rest.len(), |e| at + 1 + e);
        let name = &rest[at..end];
        rest = &rest[end..];
        let ty = types
            .get(name)
            .or_else(|| types.get(name.trim_end_matches(|c: char| c.is_ascii_digit())));
        match ty.filter(|ty| REGISTERS.contains(ty)) {
            Some(ty) => out.push_str(known.entry(name).or_insert_with(|| {
                let count = counts.entry(ty).or_default();
                *count += 1;
                format!("%{ty}_{}", *count - 1)
            })),
            None => out.push_str(name),
        }
    }
    out.push_str(rest);
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Operands, cut at the commas outside of brackets.
pub fn split(operands: &str) -> Vec<String> {
    let mut all = Vec::new();
    let (mut depth, mut start) = (0usize, 0);
    for (at, c) in operands.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                all.push(operands[start..at].trim().to_string());
                start = at + 1;
            }
            _ => {}
        }
    }
    let last = operands[start..].trim();
    if !last.is_empty() {
        all.push(last.to_string());
    }
    all
}

/// What an operand is, without what fills it: `S` a value, `V4` a vector, `A` an address, `P` a
/// pair, `LS,V2` an address of several parts, `X` what the table does not describe.
pub fn shape(operand: &str) -> String {
    let inside = || &operand[1..operand.len().saturating_sub(1).max(1)];
    match operand.as_bytes().first() {
        Some(b'{') if operand.contains('|') => "X".to_string(),
        Some(b'{') => format!("V{}", split(inside()).len()),
        Some(b'[') => match split(inside()) {
            parts if parts.len() == 1 => "A".to_string(),
            parts => {
                let parts: Vec<String> = parts
                    .iter()
                    .map(|p| if p.starts_with('{') { shape(p) } else { "S".to_string() })
                    .collect();
                format!("L{}", parts.join(","))
            }
        },
        Some(b'(') => "X".to_string(),
        _ if operand.contains('|') => "P".to_string(),
        _ => "S".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_found_and_their_registers_named_by_type() {
        let text = ".entry k()\n{\n.reg .b32 %r<4>;\n.reg .pred %p;\n// mov\nL: add.s32 %r1, %r1, %r3;\n@%p shl.b32 %r2,\n %r1, 1;\nret;\n}\n";
        let found = of(text);
        let has = |m: &str, o: &str| found.contains(&(m.to_string(), o.to_string()));
        assert!(has("shl.b32", "%b32_0, %b32_1, 1"), "{found:?}");
        assert!(has("ret", ""));
    }

    #[test]
    fn shapes() {
        let all: Vec<String> =
            split("%p|%q, {a, b}, [x], [x, {y, z}], 4").iter().map(|o| shape(o)).collect();
        assert_eq!(all, ["P", "V2", "A", "LS,V2", "S"]);
    }
}
