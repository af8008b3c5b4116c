//! What our compiler made before beside what it makes now: kernels that changed, and the totals of
//! all, as Markdown.

use super::Row;
use super::table::{Before, METRICS};
use std::fmt::Write;

/// The numbers that are compared, by their names in [`METRICS`].
const SHOWN: [&str; 4] = ["instructions", "executed", "registers", "cycles"];

/// A kernel's numbers before and now, for each of [`SHOWN`].
struct Kernel {
    name: String,
    pairs: [Option<(f64, f64)>; SHOWN.len()],
}

/// The table. Kernels that only one of the two compiles are named behind it.
pub fn changed(rows: &[Row], before: &Before) -> String {
    let (mut kernels, mut new, mut lost) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        let name = match row.kernel == row.file || row.kernel.is_empty() {
            true => row.file.clone(),
            false => format!("{} {}", row.file, row.kernel),
        };
        let old = before.get(&(row.file.clone(), row.kernel.clone()));
        let old = old.filter(|numbers| numbers.iter().any(Option::is_some));
        match (&row.ours, old) {
            (Ok(now), Some(old)) => {
                let pairs = SHOWN.map(|shown| {
                    let at = METRICS.iter().position(|m| m.name == shown)?;
                    Some((old[at]?, (METRICS[at].of)(now)?))
                });
                kernels.push(Kernel { name, pairs });
            }
            (Ok(_), None) => new.push(name),
            (Err(_), Some(_)) => lost.push(name),
            (Err(_), None) => {}
        }
    }
    let mut text = rows_of(&kernels);
    text.push_str(&totals(&kernels));
    for (what, names) in [("Compiled now and not before", new), ("No longer compiled", lost)] {
        if !names.is_empty() {
            let _ = writeln!(text, "\n{what}: {}.", names.join(", "));
        }
    }
    text
}

fn rows_of(kernels: &[Kernel]) -> String {
    let differs = |k: &&Kernel| k.pairs.iter().flatten().any(|(old, now)| old != now);
    let mut text = format!("| kernel | {} |\n|---|", SHOWN.join(" | "));
    SHOWN.iter().for_each(|_| text.push_str("---|"));
    text.push('\n');
    for kernel in kernels.iter().filter(differs) {
        let _ = write!(text, "| {} |", kernel.name);
        for pair in &kernel.pairs {
            let _ = match pair {
                None => write!(text, " |"),
                Some((old, now)) if old == now => write!(text, " {now} |"),
                Some((old, now)) => write!(text, " {old} → {now} |"),
            };
        }
        text.push('\n');
    }
    let same = kernels.iter().filter(|k| !differs(k)).count();
    let _ = writeln!(text, "\nOf {} kernels {same} are as they were.\n", kernels.len());
    text
}

fn totals(kernels: &[Kernel]) -> String {
    let mut text =
        "| | kernels | before | ours | geomean ours/before | most | least |\n".to_string();
    text.push_str("|---|---|---|---|---|---|---|\n");
    for (index, shown) in SHOWN.iter().enumerate() {
        let (mut sums, mut log, mut ratios) = ((0.0, 0.0), 0.0, Vec::new());
        for kernel in kernels {
            let Some((old, now)) = kernel.pairs[index] else { continue };
            sums = (sums.0 + old, sums.1 + now);
            if old > 0.0 && now > 0.0 {
                log += (now / old).ln();
                ratios.push((now / old, kernel.name.as_str()));
            }
        }
        ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (Some(least), Some(most)) = (ratios.first(), ratios.last()) else { continue };
        let one = |(ratio, name): &(f64, &str)| match *ratio == 1.0 {
            true => "1.000".to_string(),
            false => format!("{ratio:.3} ({name})"),
        };
        let _ = writeln!(
            text,
            "| {shown} | {} | {} | {} | {:.4} | {} | {} |",
            ratios.len(),
            sums.0,
            sums.1,
            (log / ratios.len() as f64).exp(),
            one(most),
            one(least),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Code, Measured};

    fn row(file: &str, instructions: u64) -> Row {
        let code = Code { instructions, registers: 8, ..Code::default() };
        let ours = Ok(Measured { code, ..Measured::default() });
        let theirs = Err("no".to_string());
        Row { file: file.into(), kernel: file.into(), ours, theirs, notices: Default::default() }
    }

    fn old(instructions: f64) -> [Option<f64>; METRICS.len()] {
        let value = |name| match name {
            "instructions" => Some(instructions),
            "registers" => Some(8.0),
            _ => None,
        };
        METRICS.each_ref().map(|m| value(m.name))
    }

    #[test]
    fn what_changed_is_listed_and_all_is_counted() {
        let rows = [row("a", 20), row("b", 30), row("c", 5)];
        let before = [("a", old(10.0)), ("b", old(30.0))];
        let before = before.map(|(n, numbers)| ((n.to_string(), n.to_string()), numbers));
        let text = changed(&rows, &before.into_iter().collect());
        assert!(text.contains("| a | 10 → 20 | | 8 | |\n"), "{text}");
        assert!(!text.contains("| b |"), "{text}");
        assert!(text.contains("Of 2 kernels 1 are as they were."), "{text}");
        let line = "| instructions | 2 | 40 | 50 | 1.4142 | 2.000 (a) | 1.000 |";
        assert!(text.contains(line), "{text}");
        assert!(text.contains("| registers | 2 | 16 | 16 | 1.0000 | 1.000 | 1.000 |"), "{text}");
        assert!(text.contains("Compiled now and not before: c."), "{text}");
    }
}
