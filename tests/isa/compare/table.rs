//! What people read: a line for each kernel, and the totals.

use super::{Measured, Row};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// A number that each side has of a kernel, and its name in tables and files.
pub struct Metric {
    pub name: &'static str,
    pub of: fn(&Measured) -> Option<f64>,
}

/// All of them. Runs whose results are wrong have no numbers.
pub const METRICS: [Metric; 17] = [
    Metric { name: "instructions", of: |m| Some(m.code.instructions as f64) },
    Metric { name: "registers", of: |m| Some(m.code.registers as f64) },
    Metric { name: "executed", of: |m| run(m).map(|r| r.executed as f64) },
    Metric { name: "branches", of: |m| run(m).map(|r| r.branches as f64) },
    Metric { name: "regions", of: |m| run(m).map(|r| r.regions as f64) },
    Metric { name: "warpsyncs", of: |m| run(m).map(|r| r.warpsyncs as f64) },
    Metric { name: "cycles", of: |m| run(m).map(|r| r.cycles as f64) },
    Metric { name: "hazards", of: |m| run(m).map(|r| r.hazards as f64) },
    Metric { name: "spill_stores", of: |m| Some(m.spill_store_bytes as f64) },
    Metric { name: "spill_loads", of: |m| Some(m.spill_load_bytes as f64) },
    Metric { name: "frame_bytes", of: |m| Some(m.code.frame_bytes as f64) },
    Metric { name: "shared_bytes", of: |m| Some(m.code.shared_bytes as f64) },
    Metric { name: "constant_loads", of: |m| Some(m.code.constant_loads as f64) },
    Metric { name: "constant_operands", of: |m| Some(m.code.constant_operands as f64) },
    Metric { name: "unseen", of: |m| m.code.unseen.as_ref().map(|u| u.len() as f64) },
    Metric { name: "microseconds", of: |m| run(m).and_then(|r| r.microseconds) },
    Metric { name: "seconds", of: |m| m.seconds },
];

/// What our compiler made before: by file and kernel, a number for each of [`METRICS`].
pub type Before = BTreeMap<(String, String), [Option<f64>; METRICS.len()]>;

fn run(measured: &Measured) -> Option<&super::Run> {
    measured.run.as_ref().filter(|run| run.wrong.is_empty())
}

/// The kernel's name, or the file's where that says as much.
fn name(row: &Row) -> String {
    if row.kernel.is_empty() || row.file.starts_with(&row.kernel) {
        row.file.clone()
    } else {
        format!("{} {}", row.file, row.kernel)
    }
}

/// A line for each kernel that both compile: ours and ptxas's numbers, the ratios of instructions,
/// static and executed, and of cycles; below it, where we have or execute more, by which opcodes.
pub fn kernels(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<44} {:>13} {:>6} {:>15} {:>6} {:>9} {:>11} {:>15} {:>6} {:>15}\n",
        "kernel (ours/ptxas)",
        "instructions",
        "",
        "executed",
        "",
        "registers",
        "spilled",
        "cycles",
        "",
        "seconds"
    );
    for row in rows {
        let (Ok(ours), Ok(theirs)) = (&row.ours, &row.theirs) else { continue };
        let pair = |of: &dyn Fn(&Measured) -> u64| format!("{}/{}", of(ours), of(theirs));
        let code = pair(&|m| m.code.instructions);
        let registers = pair(&|m| m.code.registers);
        let spilled = pair(&|m| m.spill_store_bytes + m.spill_load_bytes);
        let ratio = |a: u64, b: u64| format!("{:.2}", a as f64 / b.max(1) as f64);
        let ran = run(ours).zip(run(theirs));
        let cycles = ran.map_or(String::new(), |(a, b)| format!("{}/{}", a.cycles, b.cycles));
        let executed = ran.map_or(String::new(), |(a, b)| format!("{}/{}", a.executed, b.executed));
        let longer = ran.map_or(String::new(), |(a, b)| ratio(a.executed, b.executed));
        let slower = ran.map_or(String::new(), |(a, b)| ratio(a.cycles, b.cycles));
        let seconds = ours.seconds.zip(theirs.seconds);
        let seconds = seconds.map_or(String::new(), |(a, b)| format!("{a:.3}/{b:.3}"));
        let larger = ratio(ours.code.instructions, theirs.code.instructions);
        let _ = writeln!(
            text,
            "{:<44} {code:>13} {larger:>6} {executed:>15} {longer:>6} {registers:>9} {spilled:>11} \
             {cycles:>15} {slower:>6} {seconds:>15}",
            name(row)
        );
        if ours.code.instructions > theirs.code.instructions {
            why(&mut text, "has", &ours.code.opcodes, &theirs.code.opcodes);
        }
        if let Some((a, b)) = ran.filter(|(a, b)| a.executed > b.executed) {
            why(&mut text, "executes", &a.opcodes, &b.opcodes);
        }
    }
    text
}

/// The opcodes that make the difference: those that we have more of, and fewer, the most first.
fn why(text: &mut String, what: &str, ours: &ByOpcode, theirs: &ByOpcode) {
    let names: BTreeSet<&str> = ours.keys().chain(theirs.keys()).copied().collect();
    let of = |side: &ByOpcode, name: &str| side.get(name).copied().unwrap_or(0) as i64;
    let differences = names.into_iter().map(|name| (of(ours, name) - of(theirs, name), name));
    let mut all: Vec<(i64, &str)> = differences.filter(|(more, _)| *more != 0).collect();
    all.sort_by_key(|(more, _)| -more);
    let (more, fewer): (Vec<_>, Vec<_>) = all.into_iter().partition(|(more, _)| *more > 0);
    let list = |all: &mut dyn Iterator<Item = &(i64, &str)>| {
        let shown = all.take(MOST_OPCODES).map(|(more, name)| format!(" {name} {more:+}"));
        shown.collect::<String>()
    };
    let (more, fewer) = (list(&mut more.iter()), list(&mut fewer.iter().rev()));
    let _ = writeln!(text, "    {what} more:{more};{fewer}");
}

type ByOpcode = BTreeMap<&'static str, u64>;

/// The most opcodes of each kind that are named.
const MOST_OPCODES: usize = 5;

/// The totals: who compiles what, the sums and geometric means of each number, and what only one of
/// both says.
pub fn summary(rows: &[Row], before: Option<&Before>) -> String {
    let mut text = accepted(rows);
    text.push_str(&numbers(rows, before));
    for (who, index) in [("ours", 0), ("ptxas", 1)] {
        let mut said: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for row in rows {
            for notice in &row.notices[index] {
                said.entry(kind(notice)).or_default().insert(&row.file);
            }
        }
        list(&mut text, &format!("notices of {who} alone (files)"), said);
    }
    for (who, index) in [("ours", 0), ("ptxas", 1)] {
        let mut unseen: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for row in rows {
            let side = [&row.ours, &row.theirs][index];
            let kinds = side.iter().filter_map(|m| m.code.unseen.as_ref()).flatten();
            kinds.for_each(|what| {
                unseen.entry(what.clone()).or_default().insert(&row.file);
            });
        }
        list(&mut text, &format!("never seen of ptxas before, in code of {who} (files)"), unseen);
    }
    let mut wrong: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for row in rows {
        for (who, side) in [("ours", &row.ours), ("ptxas", &row.theirs)] {
            let runs = side.iter().filter_map(|m| m.run.as_ref()).flat_map(|r| &r.wrong);
            runs.for_each(|why| {
                wrong.entry(format!("{who}: {why}")).or_default().insert(&row.file);
            });
        }
    }
    list(&mut text, "runs that went wrong (files)", wrong);
    text
}

/// A notice without what is of one place alone: names in quotes, and numbers of lines.
fn kind(notice: &str) -> String {
    let parts = notice.split('\'').enumerate();
    let text: Vec<&str> = parts.map(|(i, part)| if i % 2 == 1 { "…" } else { part }).collect();
    let words = text.join("'");
    let mut last = "";
    let mut kept = Vec::new();
    for word in words.split(' ') {
        kept.push(if last == "line" { "…" } else { word });
        last = word;
    }
    kept.join(" ")
}

/// The most lines of a list, and names of a line, that are printed.
const MOST_LINES: usize = 20;
const MOST_NAMES: usize = 6;

fn list(text: &mut String, title: &str, entries: BTreeMap<String, BTreeSet<&str>>) {
    if entries.is_empty() {
        return;
    }
    let _ = writeln!(text, "{title}: {}", entries.values().map(BTreeSet::len).sum::<usize>());
    let mut entries: Vec<_> = entries.into_iter().collect();
    entries.sort_by_key(|(_, files)| std::cmp::Reverse(files.len()));
    for (what, files) in entries.iter().take(MOST_LINES) {
        let shown: Vec<&str> = files.iter().copied().take(MOST_NAMES).collect();
        let more = files.len().saturating_sub(MOST_NAMES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let _ = writeln!(text, "  {:4} {what}: {}{more}", files.len(), shown.join(" "));
    }
    if entries.len() > MOST_LINES {
        let _ = writeln!(text, "  … and {} other kinds", entries.len() - MOST_LINES);
    }
}

fn accepted(rows: &[Row]) -> String {
    let count = |ours: bool, theirs: bool| {
        rows.iter().filter(|r| r.ours.is_ok() == ours && r.theirs.is_ok() == theirs).count()
    };
    let mut text = format!(
        "of {} kernels both compile {}, ours alone {}, ptxas alone {}, neither {}\n",
        rows.len(),
        count(true, true),
        count(true, false),
        count(false, true),
        count(false, false),
    );
    for (who, ours) in [("ours", true), ("ptxas", false)] {
        let mut refused: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for row in rows {
            let (mine, other) =
                if ours { (&row.ours, &row.theirs) } else { (&row.theirs, &row.ours) };
            if let (Err(message), Ok(_)) = (mine, other) {
                refused.entry(message.clone()).or_default().insert(&row.file);
            }
        }
        list(&mut text, &format!("refused by {who} alone (files)"), refused);
    }
    text
}

/// Sum and logarithms of the ratios of some pairs.
#[derive(Default)]
struct Total {
    sums: [f64; 3],
    /// Sums of logarithms of ours/ptxas, before/ptxas, ours/before, and how many.
    logs: [(f64, usize); 3],
    kernels: usize,
    more: usize,
    less: usize,
}

impl Total {
    fn add(&mut self, ours: f64, before: f64, theirs: f64) {
        self.kernels += 1;
        for (sum, one) in self.sums.iter_mut().zip([ours, before, theirs]) {
            *sum += one;
        }
        self.more += usize::from(ours > theirs);
        self.less += usize::from(ours < theirs);
        for (log, (a, b)) in
            self.logs.iter_mut().zip([(ours, theirs), (before, theirs), (ours, before)])
        {
            if a > 0.0 && b > 0.0 {
                log.0 += (a / b).ln();
                log.1 += 1;
            }
        }
    }

    /// The geometric mean of a ratio where both are above zero.
    fn mean(&self, which: usize) -> String {
        match self.logs[which] {
            (_, 0) => "-".to_string(),
            (log, count) => format!("{:.3}", (log / count as f64).exp()),
        }
    }
}

fn numbers(rows: &[Row], before: Option<&Before>) -> String {
    let mut text = match before {
        None => format!(
            "{:<18} {:>7} {:>14} {:>14} {:>8} {:>8} {:>18}\n",
            "", "kernels", "ours", "ptxas", "of sums", "geomean", "more/same/less"
        ),
        Some(_) => format!(
            "{:<18} {:>7} {:>13} {:>13} {:>13} {:>12} {:>12} {:>12}\n",
            "", "kernels", "before", "ours", "ptxas", "before/ptxas", "ours/ptxas", "ours/before"
        ),
    };
    for (index, metric) in METRICS.iter().enumerate() {
        let mut total = Total::default();
        for row in rows {
            let (Ok(ours), Ok(theirs)) = (&row.ours, &row.theirs) else { continue };
            let (Some(ours), Some(theirs)) = ((metric.of)(ours), (metric.of)(theirs)) else {
                continue;
            };
            let old = match before {
                None => Some(ours),
                Some(all) => {
                    all.get(&(row.file.clone(), row.kernel.clone())).and_then(|m| m[index])
                }
            };
            if let Some(old) = old {
                total.add(ours, old, theirs);
            }
        }
        let [ours, old, theirs] = total.sums;
        let of_sums = if theirs > 0.0 { format!("{:.3}", ours / theirs) } else { "-".to_string() };
        let places = if metric.name == "seconds" { 3 } else { 0 };
        if total.kernels == 0 {
            continue;
        }
        let _ = match before {
            None => writeln!(
                text,
                "{:<18} {:>7} {ours:>14.places$} {theirs:>14.places$} {of_sums:>8} {:>8} {:>18}",
                metric.name,
                total.kernels,
                total.mean(0),
                format!(
                    "{}/{}/{}",
                    total.more,
                    total.kernels - total.more - total.less,
                    total.less
                ),
            ),
            Some(_) => writeln!(
                text,
                "{:<18} {:>7} {old:>13.places$} {ours:>13.places$} {theirs:>13.places$} {:>12} \
                 {:>12} {:>12}",
                metric.name,
                total.kernels,
                total.mean(1),
                total.mean(0),
                total.mean(2),
            ),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Code, Run};

    fn side(instructions: u64, cycles: Option<u64>) -> Measured {
        Measured {
            code: Code { instructions, ..Code::default() },
            run: cycles.map(|cycles| Run { cycles, ..Run::default() }),
            ..Measured::default()
        }
    }

    fn row(file: &str, ours: super::super::Side, theirs: super::super::Side) -> Row {
        Row { file: file.into(), kernel: "k".into(), ours, theirs, notices: Default::default() }
    }

    #[test]
    fn totals_are_of_kernels_that_both_have() {
        let rows = [
            row("a", Ok(side(20, Some(8))), Ok(side(10, Some(2)))),
            row("b", Ok(side(10, None)), Ok(side(20, Some(5)))),
            row("c", Err("no".into()), Ok(side(1000, None))),
        ];
        let text = summary(&rows, None);
        assert!(text.contains("both compile 2, ours alone 0, ptxas alone 1, neither 0"), "{text}");
        assert!(text.contains("   1 no: c\n"), "{text}");
        let line = |name: &str| text.lines().find(|l| l.starts_with(name)).expect(name);
        let words = |name| line(name).split_whitespace().collect::<Vec<_>>();
        assert_eq!(words("instructions")[1..], ["2", "30", "30", "1.000", "1.000", "1/0/1"]);
        assert_eq!(words("cycles")[1..], ["1", "8", "2", "4.000", "4.000", "1/0/0"]);
    }

    #[test]
    fn notices_of_many_places_are_one_kind() {
        let notice = "(C7517) wait is injected in around line 27 for 'x' in function 'f'";
        assert_eq!(
            kind(notice),
            "(C7517) wait is injected in around line … for '…' in function '…'"
        );
    }

    #[test]
    fn a_wrong_run_is_told_and_not_counted() {
        let mut wrong = side(1, Some(7));
        wrong.run.iter_mut().for_each(|r| r.wrong.push("buffer x".to_string()));
        let text = summary(&[row("a", Ok(wrong), Ok(side(1, Some(7))))], None);
        assert!(text.contains("ours: buffer x: a\n"), "{text}");
        assert!(!text.contains("\ncycles"), "{text}");
    }

    #[test]
    fn forms_never_seen_are_counted_and_named() {
        let mut ours = side(2, None);
        ours.code.unseen = Some(vec!["MOV: odd".to_string(), "MOV: odd".to_string()]);
        let mut theirs = side(2, None);
        theirs.code.unseen = Some(Vec::new());
        let text = summary(&[row("a", Ok(ours), Ok(theirs))], None);
        let line = text.lines().find(|l| l.starts_with("unseen")).expect("a line");
        assert_eq!(line.split_whitespace().collect::<Vec<_>>()[1..4], ["1", "2", "0"]);
        assert!(text.contains("in code of ours (files): 1\n     1 MOV: odd: a\n"), "{text}");
        assert!(!text.contains("in code of ptxas"), "{text}");
    }

    #[test]
    fn what_was_before_stands_beside() {
        let rows = [row("a", Ok(side(30, None)), Ok(side(10, None)))];
        let mut old = [None; METRICS.len()];
        old[0] = Some(15.0);
        let before = Before::from([(("a".to_string(), "k".to_string()), old)]);
        let text = summary(&rows, Some(&before));
        let line = text.lines().find(|l| l.starts_with("instructions")).expect("a line");
        let words: Vec<_> = line.split_whitespace().collect();
        assert_eq!(words[1..], ["1", "15", "30", "10", "1.500", "3.000", "2.000"]);
        assert!(!text.contains("registers"), "{text}");
    }
}
