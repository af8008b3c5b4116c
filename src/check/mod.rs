//! Checks of machine code, from its words alone: nothing of what the compiler knows, or thinks,
//! goes in.
//!
//! [`convergence`]: the threads of a warp reconverge where they are meant to. ([`order::order`]:
//! accesses to memory keep their order.) What is proved, thread by thread, over all ways through
//! each function:
//! * BSYNC is reached only by threads that passed a BSSY of its place, and for which no BREAK was
//!   since.
//! * A thread that passed BSSY comes to its BSYNC, is let go by BREAK, or exits without waiting for
//!   anything before.
//! * No B register is overwritten while it holds a region: but BMOV may save it and bring it back,
//!   and a call may keep it.
//! * Regions end in the opposite order of their beginnings.
//! * No thread waits at BSYNC for threads that wait for it at a barrier of the whole warp
//!   (`WARPSYNC.ALL`, BAR).
//!
//! What cannot be proved is said with its reason: [`Rule::is_fault`] tells the two apart. Masks of
//! WARPSYNC in registers are taken to name only threads that come to it, and counted in
//! [`Report::assumed`].

mod barriers;
mod graph;
mod lines;
pub mod order;
pub mod ptx_lines;
mod regions;
mod report;
mod warp_barriers;

pub use report::{Finding, Report, Rule};

use crate::elf::read::Cubin;
use graph::Code;
use orias_targets::Target;

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
            warp_barriers::judge(code, region, report);
        }
    }
}
