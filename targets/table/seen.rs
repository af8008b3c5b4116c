//! `tables/seen/smNN.seen` as Rust constants. `tables/README.md` has the notation.

#[path = "shape.rs"]
mod shape;

use shape::{FLAGS, KINDS};
use std::fmt::Write;
use std::fs;
use std::path::Path;

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

/// The constants of all files of a folder.
pub fn constants(folder: &Path) -> Result<String, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut files: Vec<_> = entries.filter_map(|e| e.ok().map(|e| e.path())).collect();
    files.retain(|p| p.extension().is_some_and(|e| e == "seen"));
    files.sort();
    let mut out = String::from("pub static ALL: &[(u32, &[Group])] = &[\n");
    for file in files {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let sm: u32 = stem.trim_start_matches("sm").parse().map_err(|_| stem.clone())?;
        let text = fs::read_to_string(&file).map_err(|e| e.to_string())?;
        let groups = read(&text).map_err(|e| format!("{}: {e}", file.display()))?;
        let _ = writeln!(out, "({sm}, &[");
        for group in groups {
            let _ = writeln!(
                out,
                "Group {{ name: {:?}, shapes: &{:?}, guards: {}, words: &{:?}, flags: &{:?}, \
                 parts: &{:?}, specials: &{:?} }},",
                group.name,
                group.shapes,
                group.guards,
                group.words,
                group.flags,
                group.parts,
                group.specials
            );
        }
        out.push_str("]),\n");
    }
    out.push_str("];\n");
    Ok(out)
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
    // They are looked up by their names.
    groups.sort_by(|a, b| a.name.cmp(&b.name));
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
