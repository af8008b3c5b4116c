//! What our code does with its control fields that ptxas never does with the same opcode, seen
//! often enough.

use super::mine::{Does, Mined};
use orias_runner::oracle;
use orias_targets::habits::rows::{Counts, ENOUGH, Key, Rows};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The differences that have a reason, from the root of the project.
const ALLOWED: &str = "tests/isa/habits/allowed.tsv";

/// A habit of ours that ptxas does not have.
pub struct Finding {
    pub key: Key,
    pub habit: String,
    /// How often we do it, of how often we could; and how often ptxas could.
    pub ours: (u64, u64),
    pub theirs: u64,
    pub place: String,
    /// Why it may be.
    pub reason: Option<String>,
}

/// Differences by level, key and habit, each with its reason.
#[derive(Default)]
pub struct Allowed(BTreeMap<(Key, String), String>);

impl Allowed {
    /// Reads the project's list.
    ///
    /// # Errors
    /// When a line is not level, key, habit and reason.
    pub fn read() -> Result<Allowed, String> {
        let path = oracle::workspace().join(ALLOWED);
        let text =
            std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Allowed::parse(&text)
    }

    /// Reads a list: level, key, habit and reason between tabs; a line that begins with `#` is a
    /// remark.
    ///
    /// # Errors
    /// When a line is something else.
    pub fn parse(text: &str) -> Result<Allowed, String> {
        let mut all = BTreeMap::new();
        for line in text.lines().filter(|l| !l.starts_with('#') && !l.trim().is_empty()) {
            let columns: Vec<&str> = line.split('\t').collect();
            let [level @ ("O0" | "O1"), name, habit, reason] = columns[..] else {
                return Err(format!("{ALLOWED}: {line}"));
            };
            let key = Key { optimized: level == "O1", name: name.into() };
            all.insert((key, habit.to_string()), reason.to_string());
        }
        Ok(Allowed(all))
    }

    /// The entries whose reason says that only PTX that is not the project's own needs them.
    pub fn elsewhere(&self) -> Vec<String> {
        let entries = self.0.iter().filter(|(_, reason)| reason.starts_with("elsewhere: "));
        entries.map(|(entry, _)| line(entry)).collect()
    }
}

/// An entry as the list has it.
fn line((key, habit): &(Key, String)) -> String {
    format!("{} {} {habit}", if key.optimized { "O1" } else { "O0" }, key.name)
}

/// All findings, and the exceptions that nothing needed.
#[derive(Default)]
pub struct Report {
    pub findings: Vec<Finding>,
    pub unused: Vec<String>,
    /// Keys of ours that ptxas was seen with too seldom to judge: ours, theirs.
    pub rare: Vec<(Key, u64, u64)>,
    /// Instructions of ours, and those whose key was judged.
    pub instructions: (u64, u64),
}

impl Report {
    pub fn unexplained(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|f| f.reason.is_none())
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = if self.key.optimized { "O1" } else { "O0" };
        let (n, of) = self.ours;
        write!(f, "{level} {} {}: {n} of {of}, ", self.key.name, self.habit)?;
        write!(f, "ptxas none of {} ({})", self.theirs, self.place)?;
        match &self.reason {
            Some(reason) => write!(f, "; allowed: {reason}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            writeln!(f, "{finding}")?;
        }
        for (key, ours, theirs) in &self.rare {
            let level = if key.optimized { "O1" } else { "O0" };
            writeln!(f, "{level} {}: {ours} of ours, {theirs} of ptxas: too few", key.name)?;
        }
        for unused in &self.unused {
            writeln!(f, "not needed: {unused}")?;
        }
        let (all, judged) = self.instructions;
        let open = self.unexplained().count();
        writeln!(
            f,
            "{all} instructions, {judged} judged: {} habits that ptxas never has, {open} without a reason",
            self.findings.len()
        )
    }
}

/// Holds our counts against those of ptxas.
pub fn check(rows: &Rows, ours: &Mined, allowed: &Allowed) -> Report {
    let mut report = Report::default();
    let mut used = BTreeSet::new();
    let mut found = |key: &Key, habit: String, ours, theirs, place: String| {
        let entry = (key.clone(), habit);
        let reason = allowed.0.get(&entry).cloned();
        used.extend(reason.is_some().then(|| entry.clone()));
        report.findings.push(Finding { key: entry.0, habit: entry.1, ours, theirs, place, reason });
    };
    let none = Counts::default();
    for (key, of) in &ours.keys {
        let theirs = rows.counts.get(key).unwrap_or(&none);
        report.instructions.0 += of.counts.all;
        if theirs.all < ENOUGH {
            report.rare.push((key.clone(), of.counts.all, theirs.all));
            continue;
        }
        report.instructions.1 += of.counts.all;
        for does in Does::ALL {
            let ((mine, could), (seen, might)) = (does.count(&of.counts), does.count(theirs));
            // The machine does not know levels: a guard seen at one is one for the opcode.
            let other = Key { optimized: !key.optimized, name: key.name.clone() };
            let elsewhere =
                does == Does::Guard && rows.counts.get(&other).is_some_and(|c| does.count(c).0 > 0);
            if mine > 0 && seen == 0 && might >= ENOUGH && !elsewhere {
                let place = of.places.get(&does).cloned().unwrap_or_default();
                found(key, does.name().into(), (mine, could), might, place);
            }
        }
        let least = theirs.least_stall();
        let early = of.counts.stalls.range(..least);
        let early: u64 = early.map(|(_, n)| n[0] + n[1]).sum();
        if early > 0 {
            let place = of.stalls.values().next().cloned().unwrap_or_default();
            found(key, format!("stall-below-{least}"), (early, of.counts.all), theirs.all, place);
        }
    }
    for neighbours in &rows.neighbours {
        let all: u64 = neighbours.names.iter().map(|(_, n)| n).sum();
        let side = if neighbours.before { "behind" } else { "before" };
        for ((key, before, name), (count, place)) in &ours.beside {
            let same = *key == neighbours.key && *before == neighbours.before;
            if same && !neighbours.names.iter().any(|(n, _)| n == name) {
                let mine = ours.keys.get(key).map_or(0, |of| of.counts.all);
                found(key, format!("{side} {name}"), (*count, mine), all, place.clone());
            }
        }
    }
    let unused = allowed.0.keys().filter(|entry| !used.contains(*entry));
    report.unused = unused.map(line).collect();
    report
}
