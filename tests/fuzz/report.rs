//! The summary of a run.

use crate::batch::Verdict;
use crate::engines::{Side, What};
use crate::program::Program;
use std::collections::BTreeMap;
use std::fmt::Write;

#[derive(Clone, Debug, Default)]
pub struct Summary {
    pub programs: usize,
    /// Programs on which all three agree.
    pub three_ways: usize,
    pub mistakes: usize,
    features: BTreeMap<&'static str, usize>,
    /// By engine and reason.
    missing: BTreeMap<(String, String), usize>,
}

impl Summary {
    pub fn add(&mut self, program: &Program, verdict: &Verdict) {
        self.programs += 1;
        for feature in program.features() {
            *self.features.entry(feature).or_default() += 1;
        }
        if verdict.mistakes().next().is_some() {
            self.mistakes += 1;
        }
        if verdict.agree.len() == 2 && verdict.failures.is_empty() {
            self.three_ways += 1;
        }
        for (side, failure) in verdict.missing() {
            let name = match side {
                Side::Interpreter => "interpreter",
                Side::Ptxas(_) => "simulator, ptxas's cubin",
                Side::Orias(_) => "orias",
            };
            let reason = reason(&failure.text);
            *self.missing.entry((name.to_string(), reason)).or_default() += 1;
        }
    }

    pub fn join(&mut self, other: Summary) {
        self.programs += other.programs;
        self.three_ways += other.three_ways;
        self.mistakes += other.mistakes;
        for (feature, count) in other.features {
            *self.features.entry(feature).or_default() += count;
        }
        for (reason, count) in other.missing {
            *self.missing.entry(reason).or_default() += count;
        }
    }

    pub fn text(&self) -> String {
        let mut text = format!(
            "{} programs, {} agree three ways, {} mistakes\n",
            self.programs, self.three_ways, self.mistakes
        );
        let _ = writeln!(text, "programs with");
        for (feature, count) in &self.features {
            let _ = writeln!(text, "{count:>9} {feature}");
        }
        if !self.missing.is_empty() {
            let _ = writeln!(text, "not supported yet");
            let mut all: Vec<_> = self.missing.iter().collect();
            all.sort_by(|a, b| (&a.0.0, b.1).cmp(&(&b.0.0, a.1)));
            for ((engine, reason), count) in all {
                let _ = writeln!(text, "{count:>9} {engine}: {reason}");
            }
        }
        text
    }
}

/// The opcode and the reason of a message, without what is particular to the program.
fn reason(text: &str) -> String {
    let line = text.lines().find(|l| l.contains("support") || l.contains("decode"));
    let line = line.unwrap_or_default();
    let line = line.split("unsupported").nth(1).unwrap_or(line);
    let line = line.split(" [block").next().unwrap_or(line);
    let words = line.split([' ', '`', '%', '!', '$']).filter(|w| {
        let place = w.starts_with("0x") || w.contains(|c: char| c == '[' || c == '{');
        !w.is_empty() && !place && *w != ":" && *w != "at" && *w != "of"
    });
    let mut words: Vec<&str> = words.take(6).collect();
    words.retain(|w| {
        !w.starts_with('k') || w.len() < 2 || !w[1..2].bytes().all(|b| b.is_ascii_digit())
    });
    words.join(" ")
}

/// The head of a mistake: which engine, and what it did.
pub fn title(verdict: &Verdict) -> Option<(Side, What)> {
    verdict.mistakes().next().map(|(side, failure)| (*side, failure.what))
}
