//! The summary of a run.

use crate::batch::{Side, Verdict};
use std::collections::BTreeMap;
use std::fmt::Write;

#[derive(Clone, Debug, Default)]
pub struct Summary {
    pub programs: usize,
    /// Programs on which ptxas took part.
    pub with_ptxas: usize,
    pub mistakes: usize,
    /// Programs on which ptxas stands alone.
    pub ptxas_alone: usize,
    /// Programs by nvcc's options.
    flavours: BTreeMap<&'static str, usize>,
    /// By engine and reason.
    missing: BTreeMap<(String, String), usize>,
}

impl Summary {
    pub fn add(&mut self, flavour: &'static str, verdict: &Verdict) {
        self.programs += 1;
        *self.flavours.entry(flavour).or_default() += 1;
        let ptxas = |side: &Side| matches!(side, Side::Ptxas(_));
        let sides = verdict.agree.iter().chain(verdict.failures.iter().map(|(side, _)| side));
        self.with_ptxas += usize::from(sides.into_iter().any(ptxas));
        if verdict.ptxas_alone() {
            self.ptxas_alone += 1;
        } else if verdict.first().is_some() {
            self.mistakes += 1;
        }
        for (side, failure) in &verdict.failures {
            if failure.what == orias_fuzz::engines::What::Unsupported {
                let reason = failure.text.lines().next().unwrap_or_default().to_string();
                *self.missing.entry((side.to_string(), reason)).or_default() += 1;
            }
        }
    }

    pub fn join(&mut self, other: Summary) {
        self.programs += other.programs;
        self.with_ptxas += other.with_ptxas;
        self.mistakes += other.mistakes;
        self.ptxas_alone += other.ptxas_alone;
        for (flavour, count) in other.flavours {
            *self.flavours.entry(flavour).or_default() += count;
        }
        for (reason, count) in other.missing {
            *self.missing.entry(reason).or_default() += count;
        }
    }

    pub fn text(&self) -> String {
        let mut text = format!(
            "{} programs, {} with ptxas, {} mistakes, {} on which ptxas stands alone\n",
            self.programs, self.with_ptxas, self.mistakes, self.ptxas_alone
        );
        for (flavour, count) in &self.flavours {
            let _ = writeln!(text, "{count:>9} {flavour}");
        }
        for ((engine, reason), count) in &self.missing {
            let _ = writeln!(text, "{count:>9} {engine}: {reason}");
        }
        text
    }
}
