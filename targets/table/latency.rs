//! Reads `tables/latency` and writes the cycles between any two ports as bytes, for
//! `latency/mod.rs`.
//!
//! Between a result and its reader lie the fewest cycles that ptxas was seen to leave there
//! (`facts.lat`). Where the pair was never seen, as many as the largest number seen of that result,
//! and no fewer than the rows of their classes say. Two results in one register: what was seen, or
//! what the classes say. SMs of which there are no facts have the classes alone.
//!
//! Results that all readers wait for alike share a row of the matrix, and readers that wait alike a
//! column.

use super::Opcode;
use super::ports::{FILES, Port, Ports};
use std::collections::BTreeMap;
use std::path::Path;

/// Hazards and classes, in the order in which `latency/class.rs` has them.
pub const HAZARDS: [&str; 3] = ["raw", "waw", "war"];
pub const CLASSES: [&str; 19] = [
    "alu",
    "fma",
    "wide",
    "half",
    "halfmma",
    "fp64",
    "mma8",
    "mma",
    "mma2",
    "vote",
    "plogic",
    "uniform",
    "umove",
    "uldc",
    "touniform",
    "special",
    "xu",
    "variable",
    "control",
];

/// Set in a number of cycles that nobody has seen.
pub const ASSUMED: u8 = 0x80;

/// A row of classes that holds for the SM.
struct Row {
    hazard: usize,
    files: Vec<usize>,
    first: Vec<usize>,
    second: Vec<usize>,
    cycles: u8,
}

/// What was seen of two ports.
#[derive(Clone, Copy)]
struct Fact {
    /// At least so many were left, but for a pair or two.
    cycles: u8,
    /// The fewest of all.
    least: u8,
    /// How often, up to 255.
    times: u8,
}

type Facts = BTreeMap<(usize, u16, u16), Fact>;

/// The bytes for an SM.
pub fn write(folder: &Path, sm: u16, ports: &Ports) -> Result<Vec<u8>, String> {
    let read = |name: &str| {
        let path = folder.join("latency").join(name);
        std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))
    };
    let (mut rows, mut least) = (Vec::new(), Least::default());
    for name in ["base.lat", "observed.lat"] {
        for (at, line) in read(name)?.lines().enumerate() {
            read_row(line, sm, &mut rows, &mut least)
                .map_err(|e| format!("{name}:{}: {e}", at + 1))?;
        }
    }
    let facts = match read(&format!("facts{sm}.lat")) {
        Ok(text) => read_facts(&text, ports).map_err(|e| format!("facts{sm}.lat:{e}"))?,
        Err(_) => Facts::new(),
    };
    Ok(put(&class_cycles(&rows), &least, &facts, ports))
}

fn words(line: &str, after: char) -> Option<Vec<&str>> {
    let line = line.split('#').next()?.split(after).next()?;
    let words: Vec<&str> = line.split_whitespace().collect();
    (!words.is_empty()).then_some(words)
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{text} is no number"))
}

fn list(text: &str, all: &[&str]) -> Result<Vec<usize>, String> {
    if text == "*" {
        return Ok((0..all.len()).collect());
    }
    let one = |word: &str| all.iter().position(|a| *a == word).ok_or_else(|| format!("no {word}"));
    text.split(',').map(one).collect()
}

/// Whether a row's provenance, or the SMs that it names, speak of this one.
fn holds(line: &str, sm: u16) -> Result<bool, String> {
    let mut sections = line.split('#').next().unwrap_or("").split(';').skip(1).map(str::trim);
    let provenance = sections.next().unwrap_or("");
    if let Some(on) = sections.next().and_then(|s| s.strip_prefix("on ")) {
        let range = |part: &str| {
            let (first, last) = part.trim().split_once('-').unwrap_or((part.trim(), part.trim()));
            Ok((number::<u16>(first)?..=number(last)?).contains(&sm))
        };
        let there: Result<Vec<bool>, String> = on.split(',').map(range).collect();
        return Ok(there?.contains(&true));
    }
    Ok(match provenance.strip_prefix("observed ") {
        Some(seen) => seen.split_whitespace().any(|s| s.starts_with(&format!("{sm}:"))),
        None => true,
    })
}

/// What instructions need whatever registers they name: the least stall of one, and the least
/// distance from one to another.
#[derive(Default)]
struct Least {
    stalls: Vec<(Opcode, u8)>,
    gaps: Vec<(Opcode, Opcode, u8)>,
    /// By file and class: cycles from a result to where threads join.
    joins: Vec<u8>,
}

fn opcode(name: &str) -> Result<Opcode, String> {
    Opcode::parse(name).ok_or_else(|| format!("no opcode {name}"))
}

fn read_row(line: &str, sm: u16, rows: &mut Vec<Row>, least: &mut Least) -> Result<(), String> {
    let Some(words) = words(line, ';') else { return Ok(()) };
    if !holds(line, sm)? {
        return Ok(());
    }
    match words[..] {
        ["stall", op, cycles] => {
            least.stalls.push((opcode(op)?, number(cycles)?));
        }
        ["gap", first, "->", second, cycles] => {
            for first in first.split(',') {
                for second in second.split(',') {
                    least.gaps.push((opcode(first)?, opcode(second)?, number(cycles)?));
                }
            }
        }
        ["join", files, classes, cycles] => {
            least.joins.resize(FILES.len() * CLASSES.len(), 0);
            for file in list(files, &FILES)? {
                for class in list(classes, &CLASSES)? {
                    least.joins[file * CLASSES.len() + class] = number(cycles)?;
                }
            }
        }
        [hazard, files, first, "->", second, cycles] => rows.push(Row {
            hazard: list(hazard, &HAZARDS)?[0],
            files: list(files, &FILES)?,
            first: list(first, &CLASSES)?,
            second: list(second, &CLASSES)?,
            cycles: number(cycles)?,
        }),
        _ => return Err("HAZARD FILE CLASS -> CLASS CYCLES".into()),
    }
    Ok(())
}

fn class_index(hazard: usize, file: usize, first: usize, second: usize) -> usize {
    ((hazard * FILES.len() + file) * CLASSES.len() + first) * CLASSES.len() + second
}

/// Lays the rows over each other: a later one goes before an earlier one.
fn class_cycles(rows: &[Row]) -> Vec<u8> {
    let mut cycles = vec![0; HAZARDS.len() * FILES.len() * CLASSES.len() * CLASSES.len()];
    for row in rows {
        for file in &row.files {
            for first in &row.first {
                for second in &row.second {
                    cycles[class_index(row.hazard, *file, *first, *second)] = row.cycles;
                }
            }
        }
    }
    cycles
}

/// Lines of a first end, then below it, indented, a line for each second unit: part, cycles, how
/// often at that distance and in all (and the fewest cycles, where a pair or two had less).
fn read_facts(text: &str, ports: &Ports) -> Result<Facts, String> {
    let mut facts = Facts::new();
    let mut first = None;
    for (at, line) in text.lines().enumerate() {
        let place = |e: String| format!("{}: {e}", at + 1);
        let Some(words) = words(line, '#') else { continue };
        if !line.starts_with(' ') {
            let [hazard, file, unit, part] = words[..] else {
                return Err(place("HAZARD FILE UNIT PART".into()));
            };
            let hazard = list(hazard, &HAZARDS).map_err(place)?[0];
            let file = list(file, &FILES).map_err(place)?[0];
            let port = Port { unit: unit.into(), part: part.into(), file };
            let id = ports
                .results
                .find(&port)
                .ok_or_else(|| place(format!("no result {unit} {part}")))?;
            first = Some((hazard, file, id));
            continue;
        }
        let (hazard, file, id) = first.ok_or_else(|| place("a reader without a result".into()))?;
        for reader in words[1..].chunks(3) {
            let [part, cycles, counts] = reader else {
                return Err(place("PART CYCLES COUNTS".into()));
            };
            let port = Port { unit: words[0].into(), part: (*part).into(), file };
            let side = if hazard == 0 { &ports.sources } else { &ports.results };
            let second =
                side.find(&port).ok_or_else(|| place(format!("no {} {part}", words[0])))?;
            let cycles: u8 = number(cycles).map_err(place)?;
            let (counts, least) = counts.split_once('<').unwrap_or((counts, ""));
            let least = if least.is_empty() { cycles } else { number(least).map_err(place)? };
            let (near, all) = counts.split_once('/').unwrap_or((counts, ""));
            let (near, all): (u32, u32) =
                (number(near).map_err(place)?, number(all).map_err(place)?);
            // Where few pairs of many stand at the least distance, ptxas had little occasion to
            // leave less (seen: SEL after PRMT 8 in 24 of 867 pairs, and 4 in kernels that were not
            // mined).
            let times = if near * 10 >= all { all.min(255) as u8 } else { 0 };
            facts.insert((hazard, id, second), Fact { cycles, least, times });
        }
    }
    Ok(facts)
}

/// A matrix whose equal rows and columns stand once; its largest number.
fn put_matrix(
    out: &mut Vec<u8>,
    rows: usize,
    columns: usize,
    at: impl Fn(usize, usize) -> u8,
) -> u8 {
    let cells: Vec<Vec<u8>> = (0..rows).map(|r| (0..columns).map(|c| at(r, c)).collect()).collect();
    let number = |lines: &[Vec<u8>]| {
        let mut known: BTreeMap<Vec<u8>, u16> = BTreeMap::new();
        let mut firsts = Vec::new();
        let of: Vec<u16> = lines
            .iter()
            .enumerate()
            .map(|(i, line)| {
                let next = known.len() as u16;
                let id = *known.entry(line.clone()).or_insert(next);
                if id == next && firsts.len() == next as usize {
                    firsts.push(i);
                }
                id
            })
            .collect();
        (of, firsts)
    };
    let turned: Vec<Vec<u8>> =
        (0..columns).map(|c| cells.iter().map(|row| row[c]).collect()).collect();
    let (row_of, row_firsts) = number(&cells);
    let (column_of, column_firsts) = number(&turned);
    put16(out, row_firsts.len() as u16);
    put16(out, column_firsts.len() as u16);
    row_of.iter().chain(&column_of).for_each(|id| put16(out, *id));
    // Behind them the most of each row.
    let mut most = Vec::new();
    for row in row_firsts {
        out.extend(column_firsts.iter().map(|column| cells[row][*column]));
        most.push(cells[row].iter().map(|cycles| cycles & !ASSUMED).max().unwrap_or(0));
    }
    out.extend_from_slice(&most);
    most.into_iter().max().unwrap_or(0)
}

fn put16(out: &mut Vec<u8>, n: u16) {
    out.extend_from_slice(&n.to_le_bytes());
}

fn put(cycles: &[u8], least: &Least, facts: &Facts, ports: &Ports) -> Vec<u8> {
    let class = |name: &str| CLASSES.iter().position(|c| *c == name).unwrap_or(CLASSES.len() - 1);
    let results: Vec<(usize, usize)> =
        ports.results.list.iter().map(|(p, c)| (p.file, class(c))).collect();
    let sources: Vec<(usize, usize)> =
        ports.sources.list.iter().map(|(p, c)| (p.file, class(c))).collect();
    let mut largest = vec![0u8; results.len()];
    for ((_, first, _), fact) in facts.iter().filter(|(key, _)| key.0 == 0) {
        largest[*first as usize] = largest[*first as usize].max(fact.cycles);
    }
    let variable = |of: usize| matches!(CLASSES[of], "xu" | "variable");
    let raw = |r: usize, s: usize| {
        let ((file, first), (other, second)) = (results[r], sources[s]);
        if file != other || variable(first) {
            return 0;
        }
        let by_class = cycles[class_index(0, file, first, second)];
        match facts.get(&(0, r as u16, s as u16)) {
            Some(fact) => fact.cycles,
            None if facts.is_empty() => by_class,
            None => by_class.max(largest[r]) | ASSUMED,
        }
    };
    let waw = |r: usize, s: usize| {
        let ((file, first), (other, second)) = (results[r], results[s]);
        if file != other || variable(first) {
            return 0;
        }
        let by_class = cycles[class_index(1, file, first, second)];
        facts.get(&(1, r as u16, s as u16)).map_or(by_class, |fact| fact.cycles)
    };
    let mut out = Vec::new();
    put16(&mut out, results.len() as u16);
    put16(&mut out, sources.len() as u16);
    out.extend(results.iter().chain(&sources).map(|(_, class)| *class as u8));
    out.extend_from_slice(cycles);
    let raw = put_matrix(&mut out, results.len(), sources.len(), raw);
    let waw = put_matrix(&mut out, results.len(), results.len(), waw);
    out.push(cycles.iter().copied().max().unwrap_or(0).max(raw).max(waw));
    let first = out.len();
    out.resize(first + Opcode::LIST.len(), 1);
    for (op, cycles) in &least.stalls {
        out[first + *op as usize] = *cycles;
    }
    let begins = out.len();
    out.resize(begins + Opcode::LIST.len(), 0);
    put16(&mut out, least.gaps.len() as u16);
    for (first, second, cycles) in &least.gaps {
        out[begins + *first as usize] = 1;
        put16(&mut out, *first as u16);
        put16(&mut out, *second as u16);
        out.push(*cycles);
    }
    let joins = out.len();
    out.extend_from_slice(&least.joins);
    out.resize(joins + FILES.len() * CLASSES.len(), 0);
    for ((hazard, first, second), fact) in facts {
        put16(&mut out, *first);
        put16(&mut out, *second);
        out.extend_from_slice(&[*hazard as u8, fact.cycles, fact.least, fact.times]);
    }
    out
}
