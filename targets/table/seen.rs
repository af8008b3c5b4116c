//! `tables/seen/smNN.seen`, whose notation `tables/README.md` has, as the bytes that `seen.rs` of
//! the library reads: for each form what was seen of its group, by the numbers that operands,
//! modifiers and special registers have. A program compares no names, and reads no more than what
//! it asks for.
//!
//! The lengths of the [`SECTIONS`] in bytes (four bytes each), then those: [`HEAD`] bytes a form;
//! sets of sixteen bytes; parts (operand, zero, modifier); for each opcode and operand the kinds
//! that were seen there, a bit each. All little-endian.

#[path = "shape.rs"]
mod shape;

use super::model::{Form, ModField, Table};
use super::write::order;
use super::{Mod, Opcode};
use std::fs;
use std::path::Path;

pub use shape::{FLAGS, KINDS};

pub const SECTIONS: usize = 4;

/// Bytes of a form: special registers by number, a bit each (32); flags by operand (16); where its
/// sets begin (4): first its shapes, so many (2), then for each modifier field the options, a bit
/// each; how many fields (2); where its parts begin (4), how many (1); guards (1); two of zero.
pub const HEAD: usize = 64;

/// Operands that are told apart.
pub const OPERANDS: usize = 16;

const _: () = assert!(KINDS.len() <= 32, "a bit for each kind");

#[derive(Default)]
struct Group {
    name: String,
    shapes: Vec<u128>,
    guards: u8,
    words: Vec<String>,
    flags: Vec<(u8, u8)>,
    parts: Vec<(u8, String)>,
    specials: Vec<String>,
}

/// The bytes for an SM; none where nobody has looked.
pub fn write(tables: &Path, sm: u16, table: &Table) -> Result<Vec<u8>, String> {
    let file = tables.join(format!("seen/sm{sm}.seen"));
    if !file.exists() {
        return Ok(Vec::new());
    }
    let text = fs::read_to_string(&file).map_err(|e| e.to_string());
    let made = text.and_then(|text| read(&text)).and_then(|groups| bytes(&groups, table));
    made.map_err(|e| format!("{}: {e}", file.display()))
}

fn bytes(groups: &[Group], table: &Table) -> Result<Vec<u8>, String> {
    let mut sections: [Vec<u8>; SECTIONS] = Default::default();
    let [heads, sets, parts, kinds] = &mut sections;
    for form in order(table).into_iter().map(|at| &table.forms[at]) {
        let name = group_of(form);
        let Some(group) = groups.iter().find(|g| g.name == name) else {
            heads.extend([0; HEAD]);
            continue;
        };
        let start = heads.len();
        specials(group, table).iter().for_each(|set| heads.extend(set.to_le_bytes()));
        let mut flags = [0; OPERANDS];
        group.flags.iter().for_each(|(operand, flag)| flags[*operand as usize] |= flag);
        heads.extend(flags);
        heads.extend((sets.len() as u32 / 16).to_le_bytes());
        heads.extend((group.shapes.len() as u16).to_le_bytes());
        heads.extend((form.mods.len() as u16).to_le_bytes());
        heads.extend((parts.len() as u32 / 4).to_le_bytes());
        heads.extend([group.parts.len() as u8, group.guards, 0, 0]);
        assert_eq!(heads.len() - start, HEAD, "the bytes of a form");
        let options = form.mods.iter().map(|field| options(group, field));
        group.shapes.iter().copied().chain(options).for_each(|set| sets.extend(set.to_le_bytes()));
        for (operand, part) in &group.parts {
            // Without a name it is the whole register.
            let part = if part.is_empty() { Some(Mod::NONE) } else { Mod::parse(part) };
            let part = part.ok_or(format!("operand {operand}: no such part"))? as u16;
            parts.extend([*operand, 0]);
            parts.extend(part.to_le_bytes());
        }
    }
    for op in Opcode::LIST {
        let of_op = groups.iter().filter(|g| g.name.split('.').next() == Some(op.name()));
        let mut seen = [0u32; OPERANDS];
        for shape in of_op.flat_map(|g| &g.shapes) {
            for (i, seen) in seen.iter_mut().enumerate() {
                let code = (shape >> (8 * i) & 0xff) as u32;
                *seen |= if code == 0 { 0 } else { 1 << (code - 1) };
            }
        }
        seen.iter().for_each(|seen| kinds.extend(seen.to_le_bytes()));
    }
    let mut out: Vec<u8> = sections.iter().flat_map(|s| (s.len() as u32).to_le_bytes()).collect();
    sections.iter().for_each(|section| out.extend(section));
    Ok(out)
}

/// Its opcode and the words that it always has.
fn group_of(form: &Form) -> String {
    let fixed = form.mods.iter().filter(|field| field.options.len() == 1);
    let words = fixed.flat_map(|field| &field.options[0].words);
    std::iter::once(&form.opcode).chain(words).map(String::as_str).collect::<Vec<_>>().join(".")
}

/// The options of a field that were seen, a bit each.
fn options(group: &Group, field: &ModField) -> u128 {
    if field.options.len() == 1 {
        return 1;
    }
    // An option that shows no words goes by those that the field could show first: `-U32`.
    let shown = field.options.iter().map(|o| &o.words).find(|words| !words.is_empty());
    let mut seen = 0;
    for (i, option) in field.options.iter().enumerate() {
        let name = match option.words.is_empty() {
            true => format!("-{}", shown.map_or(String::new(), |words| words.join("."))),
            false => option.words.join("."),
        };
        seen |= u128::from(group.words.contains(&name)) << i;
    }
    seen
}

/// Special registers by number, a bit each.
fn specials(group: &Group, table: &Table) -> [u128; 2] {
    let mut all = [0; 2];
    for name in &group.specials {
        let number = table.specials.iter().find(|(_, s)| s == name).map(|(n, _)| *n);
        let number = number.or_else(|| name.strip_prefix("SR")?.parse().ok());
        if let Some(n) = number {
            all[n as usize / 128] |= 1 << (n % 128);
        }
    }
    all
}

fn read(text: &str) -> Result<Vec<Group>, String> {
    let mut groups: Vec<Group> = Vec::new();
    for (i, line) in text.lines().enumerate() {
        if line.starts_with('#') || line.trim().is_empty() {
            continue;
        }
        if !line.starts_with(' ') {
            groups.push(Group { name: line.trim().into(), ..Group::default() });
            continue;
        }
        let group = groups.last_mut().ok_or("a line before the first group")?;
        let mut items = line.split_whitespace();
        let kind = items.next().unwrap_or("");
        for item in items {
            let (item, _) = item.rsplit_once('=').ok_or(format!("line {}: ITEM=COUNT", i + 1))?;
            put(group, kind, item).map_err(|e| format!("line {}: {item}: {e}", i + 1))?;
        }
    }
    Ok(groups)
}

fn put(group: &mut Group, kind: &str, item: &str) -> Result<(), String> {
    match kind {
        "shapes" => group.shapes.push(shape(item)?),
        "guards" => {
            let bit = ["always", "if", "never"].iter().position(|g| *g == item);
            group.guards |= 1 << bit.ok_or("always, if or never")?;
        }
        "words" => group.words.push(item.into()),
        "flags" => {
            let flag = item.chars().last().unwrap_or(' ');
            let bit = FLAGS.iter().find(|f| f.0 == flag).ok_or("a flag")?.1;
            let operand = item.trim_end_matches(flag).parse();
            group.flags.push((operand.map_err(|_| "an operand")?, bit));
        }
        "parts" => {
            let (operand, part) = item.split_once('.').ok_or("OPERAND.PART")?;
            group.parts.push((operand.parse().map_err(|_| "an operand")?, part.into()));
        }
        "specials" => group.specials.push(item.into()),
        _ => return Err(format!("{kind} is no kind of line")),
    }
    Ok(())
}

fn shape(text: &str) -> Result<u128, String> {
    let mut shape = 0;
    for (i, name) in text.split(',').enumerate().filter(|_| text != "none") {
        let at = KINDS.iter().position(|k| *k == name).ok_or(format!("{name} is no kind"))?;
        shape |= (at as u128 + 1) << (8 * i);
    }
    Ok(shape)
}
