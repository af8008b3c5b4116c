//! Reads the rows of `tables/latency`. The notation is in `tables/README.md`.

use super::{Class, FILES, Hazard};
use orias_components::{Opcode, RegFile};
use std::sync::OnceLock;

/// In the order in which they replace each other.
const TEXTS: [(&str, &str); 2] = [
    ("base.lat", include_str!("../tables/latency/base.lat")),
    ("observed.lat", include_str!("../tables/latency/observed.lat")),
];

/// Where a number comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Provenance {
    /// Seen in what ptxas emits: SM, pairs at this distance, pairs at any.
    Observed(Vec<(u32, u32, u32)>),
    /// Found on a GPU: which, and how.
    Measured(String),
    /// A source that can be read.
    Published(String),
    /// The reason.
    Assumed(String),
}

/// One row.
#[derive(Clone, Debug)]
pub struct Row {
    /// Why the second waits.
    pub hazard: Hazard,
    /// The files of the register that both name.
    pub files: Vec<RegFile>,
    /// Classes of the first instruction.
    pub first: Vec<Class>,
    /// Classes of the second instruction.
    pub second: Vec<Class>,
    /// The fewest cycles from issue to issue.
    pub cycles: u8,
    /// Where the number comes from.
    pub provenance: Provenance,
}

impl Row {
    /// Every pair that it speaks of.
    pub fn pairs(&self) -> impl Iterator<Item = (RegFile, Class, Class)> {
        let all = self.files.iter().flat_map(|file| self.first.iter().map(move |c| (*file, *c)));
        all.flat_map(|(file, first)| self.second.iter().map(move |second| (file, first, *second)))
    }
}

/// What one line says.
#[derive(Clone)]
enum Said {
    Pair(Row),
    /// A least stall or distance: `table/latency.rs` reads those.
    Stall,
}

#[derive(Clone)]
struct Line {
    said: Said,
    /// First and last of the SMs for which it holds.
    on: Vec<(u32, u32)>,
}

/// The rows that hold for an SM.
pub fn read(sm: u32) -> Result<Vec<Row>, String> {
    static LINES: OnceLock<Result<Vec<Line>, String>> = OnceLock::new();
    let mut rows = Vec::new();
    for line in LINES.get_or_init(read_all).clone()? {
        if line.on.iter().any(|(first, last)| (*first..=*last).contains(&sm))
            && let Said::Pair(row) = line.said
        {
            rows.push(row);
        }
    }
    Ok(rows)
}

fn read_all() -> Result<Vec<Line>, String> {
    let mut lines = Vec::new();
    for (name, text) in TEXTS {
        for (i, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or("").trim();
            if !line.is_empty() {
                lines.push(read_line(line).map_err(|e| format!("{name}:{}: {e}", i + 1))?);
            }
        }
    }
    Ok(lines)
}

fn read_line(line: &str) -> Result<Line, String> {
    let mut sections = line.split(';').map(str::trim);
    let what = sections.next().unwrap_or("");
    let provenance = sections.next().ok_or("it does not say where it comes from")?;
    let provenance = provenance_of(provenance)?;
    let mut on = match &provenance {
        Provenance::Observed(seen) => seen.iter().map(|(sm, _, _)| (*sm, *sm)).collect(),
        _ => vec![(0, u32::MAX)],
    };
    if let Some(section) = sections.next() {
        let list = section.strip_prefix("on ").ok_or("the third section is `on SM,SM-SM`")?;
        on = list.split(',').map(range).collect::<Result<_, String>>()?;
    }
    Ok(Line { said: read_what(what, provenance)?, on })
}

/// `75` or `80-89`
fn range(text: &str) -> Result<(u32, u32), String> {
    let (first, last) = text.trim().split_once('-').unwrap_or((text.trim(), text.trim()));
    Ok((number(first)?, number(last)?))
}

fn read_what(what: &str, provenance: Provenance) -> Result<Said, String> {
    let words: Vec<&str> = what.split_whitespace().collect();
    if let ["stall", op, cycles] = words[..] {
        Opcode::parse(op).ok_or_else(|| format!("no opcode {op}"))?;
        return number::<u8>(cycles).map(|_| Said::Stall);
    }
    if let ["gap", first, "->", second, cycles] = words[..] {
        for op in first.split(',').chain(second.split(',')) {
            Opcode::parse(op).ok_or_else(|| format!("no opcode {op}"))?;
        }
        return number::<u8>(cycles).map(|_| Said::Stall);
    }
    if let ["join", files, classes, cycles] = words[..] {
        list(files, &FILES, |f| f.prefix())?;
        list(classes, Class::ALL, |c| c.name())?;
        return number::<u8>(cycles).map(|_| Said::Stall);
    }
    let [hazard, files, first, "->", second, cycles] = words[..] else {
        return Err("HAZARD FILE CLASS -> CLASS CYCLES".into());
    };
    let hazard = Hazard::ALL.into_iter().find(|h| h.name() == hazard);
    Ok(Said::Pair(Row {
        hazard: hazard.ok_or("raw, waw or war")?,
        files: list(files, &FILES, |f| f.prefix())?,
        first: list(first, Class::ALL, |c| c.name())?,
        second: list(second, Class::ALL, |c| c.name())?,
        cycles: number(cycles)?,
        provenance,
    }))
}

pub(super) fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{text} is no number"))
}

/// `alu,fma`, or `*` for all.
pub(super) fn list<T: Copy>(
    text: &str,
    all: &[T],
    name: impl Fn(T) -> &'static str,
) -> Result<Vec<T>, String> {
    if text == "*" {
        return Ok(all.to_vec());
    }
    let one = |word: &str| {
        all.iter().copied().find(|t| name(*t) == word).ok_or_else(|| format!("no {word}"))
    };
    text.split(',').map(one).collect()
}

/// `observed 90:12/40 80:7/20`, `measured WHAT`, `published WHERE`, `assumed WHY`
fn provenance_of(text: &str) -> Result<Provenance, String> {
    let (kind, rest) =
        text.split_once(' ').ok_or("observed, measured, published or assumed, and by what")?;
    Ok(match kind {
        "observed" => {
            let one = |word: &str| {
                let (sm, counts) = word.split_once(':').ok_or("SM:COUNT/COUNT")?;
                let (there, all) = counts.split_once('/').ok_or("SM:COUNT/COUNT")?;
                Ok((number(sm)?, number(there)?, number(all)?))
            };
            Provenance::Observed(rest.split_whitespace().map(one).collect::<Result<_, String>>()?)
        }
        "measured" => Provenance::Measured(rest.trim().into()),
        "published" => Provenance::Published(rest.trim().into()),
        "assumed" => Provenance::Assumed(rest.trim().into()),
        other => {
            return Err(format!(
                "{other} is neither observed nor measured nor published nor assumed"
            ));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_where_its_number_comes_from() {
        let error = |line: &str| read_line(line).err().expect("is refused");
        assert!(read_line("raw R alu -> fma,wide 5 ; observed 90:3/20").is_ok());
        assert!(error("raw R alu -> fma 5").contains("where"));
        assert!(error("raw R alu -> fma 5 ; seen often").contains("neither"));
        assert!(error("raw R alu -> fmx 5 ; assumed so").contains("fmx"));
        assert!(error("raw R alu -> fma 555 ; assumed so").contains("number"));
        assert!(error("stall FOO 5 ; assumed so").contains("FOO"));
        assert!(error("raw R alu -> fma 5 ; assumed so ; off 75").contains("on SM"));
    }
}
