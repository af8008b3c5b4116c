//! What was mined, for people: one line for each pair of classes, with every SM beside the others;
//! and which instructions use scoreboards.

use super::mined::{ByClass, Mined, Scoreboards};
use super::observed::{ENOUGH, THERE, shown};
use orias_components::RegFile;
use orias_targets::latency::{Class, Hazard, Provenance};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The report over all SMs, as Markdown.
pub fn all(mined: &[(Mined, ByClass)]) -> String {
    let mut text = String::from(
        "# Latencies that ptxas 13.0.88 relies on\n\n\
         Written by `orias-isa latencies --write`. Each cell: the fewest cycles between two instructions of these classes \
         that\nshare a register, with no scoreboard to tell the time (times seen). Empty: too few pairs, or all far \
         apart.\n\n",
    );
    let _ = writeln!(text, "| SM | kernels | words | not in the table |\n|---|---|---|---|");
    for (m, _) in mined {
        let (name, kernels) = (m.target.name, m.kernels.len());
        let _ = writeln!(text, "| {name} | {kernels} | {} | {} |", m.words, m.unknown);
    }
    for hazard in Hazard::ALL {
        let title = match hazard {
            Hazard::ReadAfterWrite => "Read after write",
            Hazard::WriteAfterWrite => "Write after write",
            Hazard::WriteAfterRead => "Write after read",
        };
        let _ = write!(text, "\n## {title}\n\n| file | first | second |");
        mined.iter().for_each(|(m, _)| text += &format!(" {} |", m.target.sm));
        text += "\n|---|---|---|";
        text += &"---|".repeat(mined.len());
        text += "\n";
        let keys: BTreeSet<(RegFile, Class, Class)> = mined
            .iter()
            .flat_map(|(_, by)| by.iter())
            .filter(|((h, file, first, _), seen)| {
                *h == hazard && *file != RegFile::B && shown(*first, seen).is_some()
            })
            .map(|((_, file, first, second), _)| (*file, *first, *second))
            .collect();
        for (file, first, second) in keys {
            let names = (file.prefix(), first.name(), second.name());
            let _ = write!(text, "| {} | {} | {} |", names.0, names.1, names.2);
            for (_, by) in mined {
                let seen = by.get(&(hazard, file, first, second));
                let cell = match seen.and_then(|s| shown(first, s)) {
                    Some((cycles, there, _)) => format!("{cycles} ({there})"),
                    None => String::new(),
                };
                let _ = write!(text, " {cell} |");
            }
            text += "\n";
        }
    }
    text += "\n## Scoreboards\n\nWords seen, with a write scoreboard, with a read scoreboard; instructions without any are \
             left out.\n\n| instruction |";
    mined.iter().for_each(|(m, _)| text += &format!(" {} |", m.target.sm));
    text += "\n|---|";
    text += &"---|".repeat(mined.len());
    text += "\n";
    let mut names: BTreeMap<&str, Vec<Option<Scoreboards>>> = BTreeMap::new();
    for (i, (m, _)) in mined.iter().enumerate() {
        for (name, s) in &m.scoreboards {
            names.entry(name).or_insert_with(|| vec![None; mined.len()])[i] = Some(*s);
        }
    }
    for (name, of) in names {
        if of.iter().flatten().all(|s| s.write + s.read == 0) {
            continue;
        }
        let cell = |s: &Option<Scoreboards>| match s {
            Some(s) => format!("{} {} {}", s.seen, s.write, s.read),
            None => String::new(),
        };
        let cells: Vec<String> = of.iter().map(cell).collect();
        let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
    }
    text
}

/// One SM in detail, as lines of text: each pair of classes with the row that the table has for it,
/// and under it the kinds of instructions in it that are never seen so close although they are seen
/// often enough.
pub fn one(mined: &Mined, by_class: &ByClass) -> String {
    let mut text = format!("{} words, {} not in the table\n", mined.words, mined.unknown);
    for ((hazard, file, first, second), seen) in by_class {
        let Some(closest) = seen.closest(1) else { continue };
        let (h, f, a, b) = (hazard.name(), file.prefix(), first.name(), second.name());
        let near: Vec<String> = (closest..seen.at.len())
            .filter(|d| seen.at[*d] > 0)
            .take(5)
            .map(|d| format!("{d}:{}", seen.at[d]))
            .collect();
        let latencies = mined.target.latencies();
        let why = latencies.row(*hazard, *file, *first, *second).map(|r| &r.provenance);
        let kind = match why {
            Some(Provenance::Observed(_)) => "observed",
            Some(Provenance::Measured(_)) => "measured",
            Some(Provenance::Published(_)) => "published",
            Some(Provenance::Assumed(_)) => "assumed",
            None => "none",
        };
        let ours = latencies.cycles(*hazard, *file, *first, *second);
        let example = &mined.kernels[seen.example.0 as usize];
        let _ = writeln!(
            text,
            "{h} {f} {a} -> {b}: {} of {}; table {ours} {kind}; {example} +{:#x}",
            near.join(" "),
            seen.total(),
            seen.example.1
        );
    }
    text
}

/// Kinds of producers, and kinds of consumers, whose pairs are never as close as the table says for
/// their class: what would belong in a class of its own.
pub fn apart(mined: &Mined) -> String {
    let mut sides: BTreeMap<(Hazard, RegFile, String, Class), (i32, u32)> = BTreeMap::new();
    for (key, seen) in &mined.pairs {
        let writes = key.hazard != Hazard::WriteAfterRead;
        let first = key.first.class(mined.target, writes);
        let second = key.second.class(mined.target, key.hazard != Hazard::ReadAfterWrite);
        let (Some(closest), false) = (seen.closest(THERE), first.is_variable()) else { continue };
        let ours = mined.target.latencies().cycles(key.hazard, key.file, first, second);
        let more = closest as i32 - i32::from(ours);
        for (name, other) in [
            (format!("after {}", key.first.name(mined.target)), second),
            (format!("before {}", key.second.name(mined.target)), first),
        ] {
            let entry = sides.entry((key.hazard, key.file, name, other)).or_insert((more, 0));
            entry.0 = entry.0.min(more);
            entry.1 += seen.total();
        }
    }
    let mut text = String::new();
    for ((hazard, file, name, class), (more, total)) in sides {
        if more != 0 && total >= ENOUGH {
            let (h, f, c) = (hazard.name(), file.prefix(), class.name());
            let _ = writeln!(text, "{h} {f} {name}, {c}: {more:+} cycles ({total} pairs)");
        }
    }
    text
}
