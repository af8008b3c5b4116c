//! Checks of machine code, from its words alone: nothing of what the compiler knows, or thinks,
//! goes in.
//!
//! [`convergence`]: the threads of a warp meet where they are meant to. ([`order::order`]: accesses
//! to memory keep their order.) What is proved, thread by thread, over all ways through each
//! function:
//! * BSYNC is reached only by threads that passed a BSSY of its place, and for which no BREAK was
//!   since.
//! * A thread that passed BSSY comes to its BSYNC, is let go by BREAK, or exits without waiting for
//!   anything before.
//! * No B register is overwritten while it holds a region: but BMOV may save it and bring it back,
//!   and a call may keep it.
//! * Regions end in the opposite order of their beginnings.
//! * No thread waits at BSYNC for threads that wait for it where the whole warp meets
//!   (`WARPSYNC.ALL`, BAR).
//!
//! What cannot be proved is said with its reason: [`Rule::is_fault`] tells the two apart. Masks of
//! WARPSYNC in registers are taken to name only threads that come to it, and counted in
//! [`Report::assumed`].

mod barriers;
mod graph;
mod lines;
mod meetings;
pub mod order;
pub mod ptx_lines;
mod regions;

use crate::elf::read::Cubin;
use graph::{Code, WORD};
use orias_targets::Target;
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
    /// The whole warp meets where threads may come while others, who took the other way out of a
    /// branch, wait at that branch's BSYNC.
    Unmet,
    /// The same, where the BSYNC that they wait at is further out than where the branch's ways
    /// join: ptxas leaves out the inner barrier alone.
    UnmetOutside,
    /// The same, where other branches have the same BSYNC: ptxas keeps it for those.
    UnmetShared,
    /// The same, where the warp meets by `WARPSYNC.COLLECTIVE`: what ptxas makes at -O0 of a vote
    /// that not all threads come to.
    UnmetCollective,
    /// A B register holds nobody knows what.
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
    pub rule: Rule,
    /// Byte offset in the section.
    pub place: u64,
    pub what: String,
}

/// What was found in the text of a kernel.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub kernel: String,
    pub findings: Vec<Finding>,
    /// Regions (BSSY) that were followed.
    pub regions: usize,
    /// Meetings inside a region that were held to be met, by the reason.
    pub assumed: BTreeMap<&'static str, usize>,
}

impl Report {
    fn add(&mut self, rule: Rule, at: u32, what: String) {
        let finding = Finding { rule, place: u64::from(at) * WORD, what };
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }

    pub fn faults(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|f| f.rule.is_fault())
    }
}

/// Checks all functions with a text section of a cubin.
pub fn convergence(target: &Target, cubin: &Cubin<'_>) -> Vec<Report> {
    let mut reports = Vec::new();
    for function in &cubin.functions {
        let code = Code::new(target, cubin, function);
        let mut report = Report { kernel: function.name.to_string(), ..Report::default() };
        check(&code, &mut report);
        report.findings.sort();
        reports.push(report);
    }
    reports
}

fn check(code: &Code, report: &mut Report) {
    for at in &code.unknown {
        report.add(Rule::UnknownTargets, *at, "an indirect branch without a table".into());
    }
    let mut functions = barriers::Functions::new(code);
    for entry in &code.entries {
        for node in code.reached(*entry) {
            let node = &code.nodes[node as usize];
            let lost = (node.first..node.end).find(|i| code.inst(*i).is_none());
            if let Some(at) = lost {
                report.add(Rule::Undecoded, at, "no row explains the word".into());
            }
        }
        let flow = functions.solve(*entry);
        barriers::judge(code, &flow, &mut functions, report);
        let regions = regions::regions(code, &flow);
        report.regions += regions.len();
        for region in &regions {
            regions::leaving(code, region, report);
            meetings::judge(code, region, report);
        }
    }
}
