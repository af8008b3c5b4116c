//! Errors and warnings with their place, and how they are shown.
//!
//! The first line of each is what ptxas prints for such an error (observed: ptxas 13.0.88), so that
//! programs which read ptxas's log read ours; the place, the source line and a caret follow it.

use super::types::Span;
use serde::{Deserialize, Serialize};
use std::fmt;

/// More errors than this in one run are counted, not kept: a megabyte of garbage needs no megabyte
/// of messages.
pub const MAX_ERRORS: usize = 100;

/// The same of warnings: there may be one for each variable of a module.
pub const MAX_WARNINGS: usize = 1000;

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The module compiles.
    Warning,
    /// The module does not; more errors may follow.
    Error,
    /// Nothing after it can be read: syntax errors, a missing `.version`.
    Fatal,
}

/// One thing that was found.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Bytes of the source that it is about; None when it has no place (`ptxas fatal   : …`).
    pub span: Option<Span>,
    /// In ptxas's words where it has such an error; no place and no severity in it.
    pub message: String,
    /// What helps to understand or mend it; a line each, after the caret.
    pub notes: Vec<String>,
}

impl Diagnostic {
    /// Of a place, without notes.
    pub fn new(severity: Severity, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity, span: Some(span), message: message.into(), notes: Vec::new() }
    }

    /// See [`Severity::Error`].
    pub fn error(span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Error, span, message)
    }

    /// See [`Severity::Fatal`].
    pub fn fatal(span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Fatal, span, message)
    }

    /// See [`Severity::Warning`].
    pub fn warning(span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Warning, span, message)
    }

    /// An error of the whole run, without a place.
    pub fn global(message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Fatal,
            span: None,
            message: message.into(),
            notes: Vec::new(),
        }
    }

    /// The same with one more note.
    pub fn note(mut self, note: impl Into<String>) -> Diagnostic {
        self.notes.push(note.into());
        self
    }

    /// Its text for standard error, with the source line, a caret and the notes: `file` is the name
    /// to show, `lines` are the source's.
    pub fn render(&self, file: &str, source: &str, lines: &LineMap) -> String {
        let mut text = String::new();
        render_one(&mut text, self, file, source, lines);
        text
    }
}

/// What a stage found wrong, in the order in which it found it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Diagnostics {
    items: Vec<Diagnostic>,
    /// Errors beyond [`MAX_ERRORS`].
    dropped: usize,
    errors: usize,
    warnings: usize,
}

impl Diagnostics {
    /// Keeps it, or counts it where there are too many.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if diagnostic.severity != Severity::Warning {
            self.errors += 1;
            if self.errors > MAX_ERRORS {
                self.dropped += 1;
                return;
            }
        } else {
            self.warnings += 1;
            if self.warnings > MAX_WARNINGS {
                return;
            }
        }
        self.items.push(diagnostic);
    }

    /// Keeps an error without notes.
    pub fn error(&mut self, span: Span, message: impl Into<String>) {
        self.push(Diagnostic::error(span, message));
    }

    /// Keeps a warning without notes.
    pub fn warning(&mut self, span: Span, message: impl Into<String>) {
        self.push(Diagnostic::warning(span, message));
    }

    /// How many errors there were.
    pub fn errors(&self) -> usize {
        self.errors
    }

    /// Whether something was found that stops a compile.
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Whether nothing is kept, warnings among it.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Those that are kept, in the order in which they were found.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.items.iter()
    }

    /// Puts others behind these, within the limits of both kinds.
    pub fn extend(&mut self, other: Diagnostics) {
        self.dropped += other.dropped;
        self.errors += other.dropped;
        self.warnings += other.warnings.saturating_sub(MAX_WARNINGS);
        for diagnostic in other.items {
            self.push(diagnostic);
        }
    }

    /// The text for standard error: `file` is the name to show.
    pub fn render(&self, file: &str, source: &str) -> String {
        let lines = LineMap::new(source);
        let mut text = String::new();
        for diagnostic in &self.items {
            text.push_str(&diagnostic.render(file, source, &lines));
        }
        if self.warnings > MAX_WARNINGS {
            text.push_str(&format!("(and {} more warnings)\n", self.warnings - MAX_WARNINGS));
        }
        if self.dropped > 0 {
            text.push_str(&format!("(and {} more errors)\n", self.dropped));
        }
        if self.has_errors() {
            text.push_str("ptxas fatal   : Ptx assembly aborted due to errors\n");
        }
        text
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Diagnostics {
        let mut all = Diagnostics::default();
        all.push(diagnostic);
        all
    }
}

/// The messages alone, for where the source is not at hand.
impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, diagnostic) in self.items.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            f.write_str(&diagnostic.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

/// A place in a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    /// From 1.
    pub line: u32,
    /// In characters, from 1.
    pub column: u32,
}

/// Where lines begin: from a byte to its line and column.
#[derive(Clone, Debug)]
pub struct LineMap {
    starts: Vec<u32>,
}

impl LineMap {
    /// Finds the lines of a text.
    pub fn new(source: &str) -> LineMap {
        let mut starts = vec![0];
        starts.extend(
            source.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i as u32 + 1),
        );
        LineMap { starts }
    }

    /// Line, from 1, of a byte.
    pub fn line(&self, at: u32) -> u32 {
        self.starts.partition_point(|start| *start <= at) as u32
    }

    /// Where a byte of the text is that the lines were found in.
    pub fn position(&self, at: u32, source: &str) -> Position {
        let at = (at as usize).min(source.len());
        let line = self.line(at as u32);
        let range = self.range(line, source);
        let before = source.get(range.start..at.min(range.end)).unwrap_or("");
        Position { line, column: before.chars().count() as u32 + 1 }
    }

    /// Byte range of a line (from 1), without its line break.
    pub fn range(&self, line: u32, source: &str) -> std::ops::Range<usize> {
        let start = self.starts.get(line as usize - 1).map_or(source.len(), |s| *s as usize);
        let end = self.starts.get(line as usize).map_or(source.len(), |s| *s as usize);
        let text = source.get(start..end).unwrap_or("");
        start..start + text.trim_end_matches(['\n', '\r']).len()
    }
}

/// Longest part of a source line that is shown, in characters: generated PTX has lines of
/// megabytes.
const MAX_SHOWN: usize = 160;

fn render_one(
    text: &mut String,
    diagnostic: &Diagnostic,
    file: &str,
    source: &str,
    lines: &LineMap,
) {
    let severity = match diagnostic.severity {
        Severity::Warning => "warning ",
        Severity::Error => "error   ",
        Severity::Fatal => "fatal   ",
    };
    let Some(span) = diagnostic.span else {
        text.push_str(&format!("ptxas {severity}: {}\n", diagnostic.message));
        for note in &diagnostic.notes {
            text.push_str(&format!("  = {note}\n"));
        }
        return;
    };
    let at = (span.start as usize).min(source.len());
    let Position { line, column } = lines.position(span.start, source);
    let column = column as usize;
    let range = lines.range(line, source);
    text.push_str(&format!("ptxas {file}, line {line}; {severity}: {}\n", diagnostic.message));
    text.push_str(&format!("  --> {file}:{line}:{column}\n"));
    let marked = source.get(at..(span.end as usize).min(range.end)).unwrap_or("").chars().count();
    let skip = if column > MAX_SHOWN * 3 / 4 { column - 1 - MAX_SHOWN / 2 } else { 0 };
    // A tab or a control character is one column wide here as in the count above.
    let shown: String = source[range]
        .chars()
        .skip(skip)
        .take(MAX_SHOWN)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let number = line.to_string();
    let margin = " ".repeat(number.len());
    let caret = "^".repeat(marked.clamp(1, MAX_SHOWN.saturating_sub(column - 1 - skip).max(1)));
    text.push_str(&format!("{number} | {}\n", shown.trim_end()));
    text.push_str(&format!("{margin} | {}{caret}\n", " ".repeat(column - 1 - skip)));
    for note in &diagnostic.notes {
        text.push_str(&format!("{margin} = {note}\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_shows_its_line_column_and_a_caret_under_the_text() {
        let source = "first\n\tsecond word\n";
        let mut all = Diagnostics::default();
        all.push(Diagnostic::error(Span::new(14, 18), "Unknown symbol 'word'").note("help"));
        assert_eq!(
            all.render("a.ptx", source),
            "ptxas a.ptx, line 2; error   : Unknown symbol 'word'\n  --> a.ptx:2:9\n2 |  second word\n  |         ^^^^\n  = help\n\
             ptxas fatal   : Ptx assembly aborted due to errors\n"
        );
    }

    #[test]
    fn a_place_at_the_end_of_the_text_is_shown() {
        let all = Diagnostics::from(Diagnostic::fatal(Span::new(0, 0), "Empty"));
        assert!(all.render("e.ptx", "").contains("e.ptx:1:1"));
    }

    #[test]
    fn errors_beyond_the_limit_are_counted() {
        let mut all = Diagnostics::default();
        for _ in 0..MAX_ERRORS + 5 {
            all.error(Span::new(0, 1), "x");
        }
        assert_eq!(all.iter().count(), MAX_ERRORS);
        assert!(all.render("f", "y").contains("(and 5 more errors)"));
    }

    #[test]
    fn a_very_long_line_is_cut_around_the_place() {
        let source = "x".repeat(10_000);
        let mut all = Diagnostics::default();
        all.error(Span::new(5_000, 6_000), "there");
        assert!(all.render("f", &source).lines().all(|line| line.len() < 200));
    }
}
