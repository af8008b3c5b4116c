//! `--check`: does every word come back from decoding and encoding?

use super::code::{Code, DisError};

/// What `--check` counts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Check<'a> {
    /// Instructions looked at.
    pub words: usize,
    /// Those that a row explains, and that come back bit for bit.
    pub decoded: usize,
    /// Encoding the decoded instruction gives the same bits.
    pub identical: usize,
    /// The words that failed: function, byte offset, what is wrong.
    pub failures: Vec<(&'a str, u64, String)>,
}

impl<'a> Check<'a> {
    /// Decodes and encodes every word that is shown.
    pub fn code(code: &Code<'a>) -> Check<'a> {
        let mut check = Check::default();
        for (_, part) in code.shown() {
            for (pc, word) in part.instructions() {
                check.words += 1;
                let outcome = code.target.decode(word, pc).map_err(|e| e.to_string());
                let outcome = outcome.and_then(|inst| {
                    check.decoded += 1;
                    code.target.encode(&inst, pc).map_err(|e| e.to_string())
                });
                let what = match outcome {
                    Ok(again) if again == word => {
                        check.identical += 1;
                        continue;
                    }
                    Ok(again) => format!("{word:#034x} encodes as {again:#034x}"),
                    Err(what) => what,
                };
                check.failures.push((part.name, pc, what));
            }
        }
        check
    }

    /// Checks a whole cubin.
    pub fn cubin(file: &'a [u8]) -> Result<Check<'a>, DisError> {
        Ok(Check::code(&Code::cubin(file)?))
    }

    /// Every word came back.
    pub fn passed(&self) -> bool {
        self.words == self.identical
    }
}
