//! Tables of single cases in which a check may end otherwise, each with its cause.
//!
//! A table is a text file beside the check. A line is a row, columns between tabs, its last the
//! name of a cause. Causes are lines too: `cause`, name, what it is; further columns are the
//! table's own. Lines that begin with `#` say what the columns are.
//!
//! A row that nothing needed is a mistake ([`Exceptions::unused`]), as is a cause without a row or
//! a row that is there twice.

use std::collections::BTreeMap;

pub struct Exceptions {
    name: &'static str,
    rows: Vec<Vec<&'static str>>,
    /// By name: what it is, and the further columns.
    causes: BTreeMap<&'static str, Vec<&'static str>>,
    used: Vec<bool>,
}

impl Exceptions {
    /// The table of a file, whose rows have so many columns.
    ///
    /// # Panics
    /// When the table is not as described.
    pub fn read(name: &'static str, text: &'static str, columns: usize) -> Exceptions {
        let lines = text.lines().filter(|l| !l.starts_with('#') && !l.is_empty());
        let lines = lines.map(|l| l.split('\t').collect::<Vec<_>>());
        let (mut causes, mut rows) = (BTreeMap::new(), Vec::new());
        for line in lines {
            match line[..] {
                ["cause", cause, ..] if line.len() > 2 => {
                    let old = causes.insert(cause, line[2..].to_vec());
                    assert!(old.is_none(), "{name}: two causes `{cause}`");
                }
                _ => rows.push(line),
            }
        }
        for (at, row) in rows.iter().enumerate() {
            assert_eq!(row.len(), columns, "{name}: columns of {row:?}");
            let cause = row[columns - 1];
            assert!(causes.contains_key(cause), "{name}: no cause `{cause}`");
            assert!(!rows[..at].contains(row), "{name}: twice {row:?}");
        }
        for cause in causes.keys() {
            let named = |row: &Vec<&str>| row.last() == Some(cause);
            assert!(rows.iter().any(named), "{name}: no row has the cause `{cause}`");
        }
        let used = vec![false; rows.len()];
        Exceptions { name, rows, causes, used }
    }

    pub fn rows(&self) -> impl Iterator<Item = &[&'static str]> {
        self.rows.iter().map(Vec::as_slice)
    }

    /// What a cause is, and its further columns.
    pub fn cause(&self, name: &str) -> &[&'static str] {
        self.causes.get(name).map_or(&[], Vec::as_slice)
    }

    /// The cause of the first row that fits, which is needed then.
    pub fn find(&mut self, fits: impl Fn(&[&'static str]) -> bool) -> Option<&'static str> {
        let at = self.rows.iter().position(|row| fits(row))?;
        self.used[at] = true;
        self.rows[at].last().copied()
    }

    /// The rows that nothing needed, of those whose case was there.
    pub fn unused(&self, there: impl Fn(&[&'static str]) -> bool) -> Vec<String> {
        let rows = self.rows.iter().zip(&self.used);
        let unused = rows.filter(|(row, used)| !**used && there(row));
        let says = |row: &[&str]| {
            let cause = row.last().map_or("", |name| self.cause(name).first().unwrap_or(&""));
            format!("{}: nothing needs `{}` any more: {cause}", self.name, row.join(" "))
        };
        unused.map(|(row, _)| says(row)).collect()
    }
}

/// Whether a column of several values, with commas between, has one of them, or is `all`.
pub fn has(column: &str, value: &str) -> bool {
    column == "all" || column.split(',').any(|v| v == value)
}

/// What a module's kernels are of: the generator's files have numbers and options behind that
/// (`mma_00-1.O0`).
pub fn group(module: &str) -> &str {
    let stem = module.split('.').next().unwrap_or(module);
    let stem = stem.rsplit('/').next().unwrap_or(stem);
    match stem.rsplit_once('_') {
        Some((group, number)) if number.len() > 1 && numbered(number) => group,
        _ => stem,
    }
}

/// Two digits, and parts of it: `00`, `00-1-2`.
fn numbered(text: &str) -> bool {
    let digits = text.bytes().take(2).all(|b| b.is_ascii_digit());
    digits && text.bytes().skip(2).all(|b| b.is_ascii_digit() || b == b'-')
}

#[cfg(test)]
mod tests {
    use super::{Exceptions, group, has};

    const TABLE: &str =
        "# kernel, levels, cause\ncause\topen\tPTX leaves it open\nk\t0,3\topen\nl\tall\topen\n";

    #[test]
    fn a_row_is_for_its_case_and_must_be_needed() {
        let mut table = Exceptions::read("t.tbl", TABLE, 3);
        let find = |table: &mut Exceptions, kernel: &str, level: &str| {
            table.find(|row| row[0] == kernel && has(row[1], level))
        };
        assert_eq!(find(&mut table, "k", "1"), None);
        assert_eq!(find(&mut table, "k", "3"), Some("open"));
        assert_eq!(table.cause("open"), ["PTX leaves it open"]);
        assert!(table.unused(|row| row[0] == "k").is_empty());
        assert_eq!(
            table.unused(|_| true),
            ["t.tbl: nothing needs `l all open` any more: PTX leaves it open"]
        );
    }

    #[test]
    #[should_panic(expected = "no cause `shut`")]
    fn a_row_has_a_cause() {
        Exceptions::read("t.tbl", "cause\topen\tyes\nk\topen\nl\tshut\n", 2);
    }

    #[test]
    #[should_panic(expected = "no row has the cause `open`")]
    fn a_cause_has_a_row() {
        Exceptions::read("t.tbl", "cause\topen\tyes\n", 2);
    }

    #[test]
    fn the_generators_files_are_of_a_group() {
        assert_eq!(group("mma_00-1-1.O0.ptx"), "mma");
        assert_eq!(group("load_ordered_03.no-fmad.ptx"), "load_ordered");
        assert_eq!(group("sm_90a/wmma_tile"), "wmma_tile");
        assert_eq!(group("graphs"), "graphs");
    }
}
