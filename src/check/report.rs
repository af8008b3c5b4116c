//! What a check of machine code says of it.

use super::graph::WORD;
use std::collections::BTreeMap;

/// What is wrong, or not proved.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rule {
    /// What stands before the place that BSSY names is no BSYNC of its register.
    NoBsync,
    /// BSYNC, by a thread that passed no BSSY, or was let go.
    Unopened,
    /// BSYNC, by a thread whose BSSY names another place.
    Elsewhere,
    /// BREAK, by a thread that is in no region of this register.
    BreakUnopened,
    /// A B register is written while it holds a region.
    Overwritten,
    /// A thread leaves a region for good and does not exit at once.
    Leaves,
    /// A function returns inside a region.
    Returns,
    /// A call changes a B register that holds a region.
    Called,
    /// BSYNC, inside a region that began later.
    Order,
    /// A warp barrier stands where threads may come while others, who took the other way out of a
    /// branch, wait at that branch's BSYNC.
    Unmet,
    /// The same, where the BSYNC that they wait at is further out than where the branch's ways
    /// join: ptxas leaves out the inner barrier alone.
    UnmetOutside,
    /// The same, where other branches have the same BSYNC: ptxas keeps it for those.
    UnmetShared,
    /// The same, where the warp barrier is `WARPSYNC.COLLECTIVE`: what ptxas makes at -O0 of a vote
    /// that not all threads come to.
    UnmetCollective,
    /// A B register holds what is not known.
    Unknown,
    /// An indirect branch, and nothing says where it leads.
    UnknownTargets,
    /// A word that no row explains.
    Undecoded,
}

impl Rule {
    /// Whether the code is wrong; otherwise it is only not proved to be right.
    pub fn is_fault(self) -> bool {
        !matches!(
            self,
            Rule::UnmetOutside
                | Rule::UnmetShared
                | Rule::UnmetCollective
                | Rule::Unknown
                | Rule::UnknownTargets
                | Rule::Undecoded
        )
    }
}

/// One place where something is wrong or not proved.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Finding {
    /// What it breaks, or leaves unproved.
    pub rule: Rule,
    /// Byte offset in the section.
    pub place: u64,
    /// For a reader: registers and places.
    pub what: String,
}

/// What was found in the text of a kernel.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The function whose text it is.
    pub kernel: String,
    /// In order of place, after all of them are found.
    pub findings: Vec<Finding>,
    /// Regions (BSSY) that were followed.
    pub regions: usize,
    /// Warp barriers inside a region that were taken to be reached by all, by the reason.
    pub assumed: BTreeMap<&'static str, usize>,
}

impl Report {
    /// Notes a finding at an instruction, by its index, once.
    pub fn add(&mut self, rule: Rule, at: u32, what: String) {
        let finding = Finding { rule, place: u64::from(at) * WORD, what };
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }

    /// Those of code that is wrong, not only unproved.
    pub fn faults(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|f| f.rule.is_fault())
    }
}
