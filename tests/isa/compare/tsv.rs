//! The measured numbers as a file of tab-separated columns, a line for each kernel.

use super::table::{Before, METRICS};
use super::{Row, Side};
use std::fmt::Write;
use std::path::Path;

const SIDES: [&str; 2] = ["ours", "ptxas"];

/// Writes all rows: `file`, `kernel`, then for each side why it refuses the file (empty where it
/// does not) and its numbers (empty where it has none).
pub fn write(file: &Path, rows: &[Row]) -> Result<(), String> {
    let mut text = "file\tkernel".to_string();
    for who in SIDES {
        let _ = write!(text, "\t{who}.refused");
        METRICS.iter().for_each(|m| {
            let _ = write!(text, "\t{who}.{}", m.name);
        });
    }
    text.push('\n');
    for row in rows {
        let _ = write!(text, "{}\t{}", row.file, row.kernel);
        one_side(&mut text, &row.ours);
        one_side(&mut text, &row.theirs);
        text.push('\n');
    }
    std::fs::write(file, text).map_err(|e| format!("{}: {e}", file.display()))
}

fn one_side(text: &mut String, side: &Side) {
    let refused = side.as_ref().err().map_or("", String::as_str);
    let _ = write!(text, "\t{}", refused.replace(['\t', '\n'], " "));
    for metric in &METRICS {
        text.push('\t');
        if let Some(value) = side.as_ref().ok().and_then(metric.of) {
            let _ = write!(text, "{value}");
        }
    }
}

/// What our compiler made, of a file that [`write`] wrote.
///
/// # Errors
/// When it cannot be read, or has no such columns.
pub fn read(file: &Path) -> Result<Before, String> {
    let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
    let column = |name: &str| header.iter().position(|h| *h == name);
    let [Some(of_file), Some(of_kernel)] = ["file", "kernel"].map(column) else {
        return Err(format!("{}: no columns `file` and `kernel`", file.display()));
    };
    // A file of another time may have fewer.
    let places = METRICS.each_ref().map(|m| column(&format!("{}.{}", SIDES[0], m.name)));
    let mut before = Before::new();
    for line in lines {
        let cells: Vec<&str> = line.split('\t').collect();
        let cell = |at: usize| cells.get(at).copied().unwrap_or_default().to_string();
        let numbers = places.map(|place| cells.get(place?)?.parse().ok());
        before.insert((cell(of_file), cell(of_kernel)), numbers);
    }
    Ok(before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Measured;

    #[test]
    fn what_is_written_is_read() {
        let mut ours = Measured { seconds: Some(0.25), ..Measured::default() };
        ours.code.registers = 24;
        let rows = [Row {
            file: "a".into(),
            kernel: "k".into(),
            ours: Ok(ours),
            theirs: Err("no\tsuch".into()),
            notices: Default::default(),
        }];
        let file = std::env::temp_dir().join(format!("orias-tsv-{}.tsv", std::process::id()));
        write(&file, &rows).expect("a written file");
        let before = read(&file).expect("a readable file");
        let _ = std::fs::remove_file(&file);
        let numbers = before[&("a".to_string(), "k".to_string())];
        let of = |name| numbers[METRICS.iter().position(|m| m.name == name).expect(name)];
        assert_eq!(of("registers"), Some(24.0));
        assert_eq!(of("seconds"), Some(0.25));
        assert_eq!(of("cycles"), None);
    }
}
