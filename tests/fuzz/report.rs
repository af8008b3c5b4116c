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

/// The instruction's name and the reason in a message, without what is particular to the program.
fn reason(text: &str) -> String {
    let line = text.lines().find(|l| l.contains("support") || l.contains("decode"));
    let line = line.or(text.lines().next()).unwrap_or_default();
    let line = line.split("unsupported").nth(1).unwrap_or(line);
    // Our compiler's: an instruction in backquotes, then why.
    if let Some((instruction, why)) = line.split_once('`').and_then(|(_, l)| l.split_once('`')) {
        let name = instruction.split_whitespace().next().unwrap_or_default();
        return format!("{name}{}", why.trim_end());
    }
    let line = line.split(" at 0x").next().unwrap_or(line);
    let words = line.trim_start_matches(" instruction").trim_start_matches(": ").split(' ');
    let name = words.map(|w| w.trim_start_matches('@')).find(|w| w.len() > 3);
    name.unwrap_or(line).to_string()
}

/// The head of a mistake: which engine, and what it did.
pub fn title(verdict: &Verdict) -> Option<(Side, What)> {
    verdict.mistakes().next().map(|(side, failure)| (*side, failure.what))
}
