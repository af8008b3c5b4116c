//! Facts of timing by instruction, part of the result and operand slot: what `mined` holds by row,
//! summed up by ports.

use super::mined::{Key, Kind, Mined, Seen, is_near};
use super::observed::THERE;
use orias_components::RegFile;
use orias_targets::latency::{Class, Hazard, In, Out};
use orias_targets::{Target, touch};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A kind of instruction and the part of it that names the register: `IMAD.WIDE`, `d+1`.
pub type Port = (String, String);

/// Two ends, and the register file that they meet in.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Ends {
    pub hazard: Hazard,
    pub file: RegFile,
    pub first: Port,
    pub second: Port,
}

impl std::fmt::Display for Ends {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Ends { hazard, file, first, second } = self;
        let (hazard, file) = (hazard.name(), file.prefix());
        write!(f, "{hazard} {file} {} {} -> {} {}", first.0, first.1, second.0, second.1)
    }
}

/// What was seen of two ends whose time no scoreboard tells, by name, with the class of the first
/// and the cycles that rows of classes say.
pub type Facts = BTreeMap<Ends, (Class, u8, Seen)>;

/// By names: without what scoreboards tell, and without barriers.
pub fn of(mined: &Mined) -> Facts {
    let target = mined.target;
    let mut facts = Facts::new();
    for (key, seen) in fixed(mined) {
        let Some((hazard, file, first, second)) = key.classes(target) else { continue };
        let cycles = target.latencies().cycles(hazard, file, first, second);
        let fact = facts.entry(ends(target, key)).or_insert((first, cycles, Seen::default()));
        fact.2.add(seen);
    }
    facts
}

fn fixed(mined: &Mined) -> impl Iterator<Item = (&Key, &Seen)> {
    mined.pairs.iter().filter(|(key, seen)| {
        key.classes(mined.target).is_some() && key.file != RegFile::B && seen.total() > 0
    })
}

/// The name of one end.
fn port(target: &Target, kind: Kind) -> Port {
    let form = target.table().form(kind.form);
    touch::port_name(form, kind.part, kind.offset)
}

/// The ends of a pair by name.
pub fn ends(target: &Target, key: &Key) -> Ends {
    let [first, second] = [key.first, key.second].map(|kind| port(target, kind));
    Ends { hazard: key.hazard, file: key.file, first, second }
}

/// The numbers of the two ports.
pub fn ports(target: &Target, key: &Key) -> (u16, u16) {
    let number = |kind: Kind, writes| {
        let form = target.table().form(kind.form);
        touch::port(form, kind.part, kind.offset, writes)
    };
    let first = number(key.first, key.hazard != Hazard::WriteAfterRead);
    (first, number(key.second, key.hazard != Hazard::ReadAfterWrite))
}

/// Reads after writes by the numbers of their ports.
pub fn reads(mined: &Mined) -> FxHashMap<(Out, In), Seen> {
    let mut all: FxHashMap<(Out, In), Seen> = FxHashMap::default();
    for (key, seen) in fixed(mined).filter(|(key, _)| key.hazard == Hazard::ReadAfterWrite) {
        let (first, second) = ports(mined.target, key);
        all.entry((Out(first), In(second))).or_default().add(seen);
    }
    all
}

/// The distance that a fact says, how often it was met (or less), and how often any: the fewest
/// cycles that were met three times, or fewer, met once, where rows of classes bear that out.
/// `None` where all are too far apart for the distance to be about the pair.
pub fn shown(first: Class, by_class: u8, seen: &Seen) -> Option<(usize, u32, u32)> {
    let mut there = 0;
    let surely = seen.at.iter().position(|n| {
        there += n;
        there >= THERE
    });
    let once = seen.closest(1)?.max(usize::from(by_class));
    let cycles = surely.map_or(once, |cycles| cycles.min(once));
    let there = seen.at.iter().take(cycles + 1).sum();
    (is_near(first, cycles) && there > 0).then(|| (cycles, there, seen.total()))
}

/// The file of facts: `targets/tables/latency/facts90.lat`.
pub fn render(facts: &Facts) -> String {
    let mut text = String::from(
        "# What ptxas 13.0.88 leaves between two instructions. Written by `orias-isa latencies --facts`: do not edit.\n\
         # The first end, and below it the second ends: part, cycles, pairs no farther apart than that / pairs at any distance (< the\n\
         # fewest cycles, where a pair or two of them had less).\n",
    );
    let mut first: Option<(Hazard, RegFile, &Port)> = None;
    let mut unit = "";
    for (ends, (class, by_class, seen)) in facts {
        if ends.hazard == Hazard::WriteAfterRead {
            continue;
        }
        let Some((cycles, there, all)) = shown(*class, *by_class, seen) else { continue };
        let head = (ends.hazard, ends.file, &ends.first);
        if first != Some(head) {
            let (hazard, file) = (ends.hazard.name(), ends.file.prefix());
            let _ = write!(text, "\n{hazard} {file} {} {}", ends.first.0, ends.first.1);
            (first, unit) = (Some(head), "");
        }
        if unit != ends.second.0 {
            let _ = write!(text, "\n  {}", ends.second.0);
            unit = &ends.second.0;
        }
        let _ = write!(text, " {} {cycles} {there}/{all}", ends.second.1);
        if let Some(least) = seen.closest(1).filter(|least| *least < cycles) {
            let _ = write!(text, "<{least}");
        }
    }
    text + "\n"
}
