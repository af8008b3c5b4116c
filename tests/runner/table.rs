//! What the corpus runner prints: a row for each case, a column for each way to run it.

use std::fmt;

/// How one case went in one column.
#[derive(Clone, PartialEq, Debug)]
pub enum Cell {
    /// Every buffer is as expected; with the median kernel time in microseconds where a GPU ran it.
    Passed { microseconds: Option<f64> },
    /// What is wrong, first the shortest description of it.
    Failed { what: &'static str, details: Vec<String> },
}

impl Cell {
    pub fn passed(&self) -> bool {
        matches!(self, Cell::Passed { .. })
    }
}

pub struct Row {
    /// `folder/case`
    pub name: String,
    pub cells: Vec<Cell>,
}

#[derive(Default)]
pub struct Table {
    pub columns: Vec<String>,
    pub rows: Vec<Row>,
}

impl Table {
    /// Cells that did not pass.
    pub fn failures(&self) -> usize {
        self.rows.iter().flat_map(|row| &row.cells).filter(|cell| !cell.passed()).count()
    }

    fn times(&self) -> bool {
        let timed = |cell: &Cell| matches!(cell, Cell::Passed { microseconds: Some(_) });
        self.rows.iter().flat_map(|row| &row.cells).any(timed)
    }
}

fn text(cell: &Cell) -> String {
    match cell {
        Cell::Passed { microseconds: Some(time) } => format!("{time:.2} us"),
        Cell::Passed { microseconds: None } => "ok".to_string(),
        Cell::Failed { what, .. } => (*what).to_string(),
    }
}

/// The time of the first column over that of the second: ours beside ptxas's.
fn ratio(row: &Row) -> Option<f64> {
    match row.cells[..] {
        [
            Cell::Passed { microseconds: Some(ours) },
            Cell::Passed { microseconds: Some(theirs) },
            ..,
        ] if theirs > 0.0 => Some(ours / theirs),
        _ => None,
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.rows.iter().map(|row| row.name.len()).max().unwrap_or(0).max(4);
        let widths: Vec<usize> = self
            .columns
            .iter()
            .enumerate()
            .map(|(i, column)| {
                let cells = self.rows.iter().filter_map(|row| row.cells.get(i));
                cells.map(|cell| text(cell).len()).max().unwrap_or(0).max(column.len())
            })
            .collect();
        let ratios = self.times() && self.columns.len() >= 2;
        write!(f, "{:first$}", "case")?;
        for (column, width) in self.columns.iter().zip(&widths) {
            write!(f, "  {column:>width$}")?;
        }
        writeln!(f, "{}", if ratios { "  ratio" } else { "" })?;
        for row in &self.rows {
            write!(f, "{:first$}", row.name)?;
            for (cell, width) in row.cells.iter().zip(&widths) {
                write!(f, "  {:>width$}", text(cell))?;
            }
            match ratio(row) {
                Some(ratio) if ratios => writeln!(f, "  {ratio:5.2}")?,
                _ => writeln!(f)?,
            }
        }
        for row in &self.rows {
            for (cell, column) in row.cells.iter().zip(&self.columns) {
                if let Cell::Failed { details, .. } = cell {
                    for detail in details {
                        writeln!(f, "{} [{column}]: {}", row.name, detail.trim_end())?;
                    }
                }
            }
        }
        let cells: usize = self.rows.iter().map(|row| row.cells.len()).sum();
        writeln!(f, "{} of {cells} passed", cells - self.failures())?;
        let ratios: Vec<f64> = self.rows.iter().filter_map(ratio).collect();
        if !ratios.is_empty() {
            let mean = ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len() as f64;
            writeln!(
                f,
                "kernel time, {} over {}: {:.3} (geometric mean)",
                self.columns[0],
                self.columns[1],
                mean.exp()
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_listed_below_the_table() {
        let failed =
            Cell::Failed { what: "WRONG", details: vec!["buffer out [3] is 1".to_string()] };
        let table = Table {
            columns: vec!["orias -O3".to_string(), "ptxas -O3".to_string()],
            rows: vec![Row {
                name: "vecadd/n1000".to_string(),
                cells: vec![failed, Cell::Passed { microseconds: None }],
            }],
        };
        assert_eq!(
            table.to_string(),
            "case          orias -O3  ptxas -O3\n\
             vecadd/n1000      WRONG         ok\n\
             vecadd/n1000 [orias -O3]: buffer out [3] is 1\n\
             1 of 2 passed\n"
        );
        assert_eq!(table.failures(), 1);
    }

    #[test]
    fn times_stand_beside_each_other() {
        let time = |us| Cell::Passed { microseconds: Some(us) };
        let table = Table {
            columns: vec!["orias -O3".to_string(), "ptxas -O3".to_string()],
            rows: vec![Row { name: "a/b".to_string(), cells: vec![time(3.0), time(2.0)] }],
        };
        let text = table.to_string();
        assert!(text.contains("a/b     3.00 us    2.00 us   1.50\n"), "{text}");
        assert!(text.contains("1.500 (geometric mean)"), "{text}");
    }
}
