//! `targets/tables/latency/observed.lat`: for each pair of timing classes the fewest cycles that
//! ptxas relies on.

use super::mined::{ByClass, Mined, Seen, is_near};
use orias_components::{Opcode, RegFile};
use orias_targets::latency::{Class, Hazard};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Pairs of classes met less often than this say nothing.
pub const ENOUGH: u32 = 20;

/// A distance met less often than this may be a mistake of ours about which registers are read.
pub const THERE: u32 = 3;

/// What the pairs of two classes show: cycles, pairs at that distance, pairs in all. `None` where
/// they are too few, or all too far apart for the distance to be about them.
pub fn shown(first: Class, seen: &Seen) -> Option<(usize, u32, u32)> {
    let cycles = seen.closest(THERE)?;
    (seen.total() >= ENOUGH && is_near(first, cycles))
        .then(|| (cycles, seen.at[cycles], seen.total()))
}

/// The smallest stall of control flow and barriers, where it is more than one cycle.
fn stalls(mined: &Mined) -> Vec<(Opcode, usize, u32, u32)> {
    let forms = mined.target.table();
    let control = |op: Opcode| forms.forms_of(op).all(|f| f.class == Class::Control);
    let mut all: Vec<_> = mined.stalls.iter().filter(|(op, _)| control(**op)).collect();
    all.sort_by_key(|(op, _)| op.name());
    let least = |(op, at): (&Opcode, &[u32; 16])| {
        let cycles = at.iter().position(|n| *n >= THERE)?;
        let total: u32 = at.iter().sum();
        (cycles > 1 && total >= ENOUGH).then_some((*op, cycles, at[cycles], total))
    };
    all.into_iter().filter_map(least).collect()
}

/// The whole file, from what was mined for each SM.
pub fn render(mined: &[(Mined, ByClass)]) -> String {
    type Of = BTreeMap<u32, (u32, u32)>;
    let mut pairs: BTreeMap<(Hazard, RegFile, Class, Class, usize), Of> = BTreeMap::new();
    let mut least: BTreeMap<(&str, usize), Of> = BTreeMap::new();
    for (mined, by_class) in mined {
        let sm = mined.target.sm;
        for ((hazard, file, first, second), seen) in by_class {
            // Convergence barriers wait for each other.
            if *file == RegFile::B {
                continue;
            }
            if let Some((cycles, there, all)) = shown(*first, seen) {
                let key = (*hazard, *file, *first, *second, cycles);
                pairs.entry(key).or_default().insert(sm, (there, all));
            }
        }
        for (op, cycles, there, all) in stalls(mined) {
            least.entry((op.name(), cycles)).or_default().insert(sm, (there, all));
        }
    }
    let mut text = String::from(
        "# What ptxas 13.0.88 relies on. Written by `orias-isa latencies --write`: do not edit.\n\
         # After `observed`: SM, pairs at this distance, pairs at any. A row holds for the SMs that it names.\n",
    );
    let mut line = |what: String, of: &Of| {
        let seen: Vec<String> =
            of.iter().map(|(sm, (there, all))| format!("{sm}:{there}/{all}")).collect();
        let _ = writeln!(text, "{what:<38}; observed {}", seen.join(" "));
    };
    for ((hazard, file, first, second, cycles), of) in &pairs {
        let (hazard, file) = (hazard.name(), file.prefix());
        line(format!("{hazard} {file} {} -> {} {cycles}", first.name(), second.name()), of);
    }
    for ((op, cycles), of) in &least {
        line(format!("stall {op} {cycles}"), of);
    }
    text
}
