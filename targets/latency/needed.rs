//! What a hazard is judged by: the cycles that are known to be needed, from rows that say what was
//! seen.
//!
//! The fewest cycles that ptxas leaves between two classes are what the machine needs only where
//! ptxas had reason and occasion to leave no more. So:
//!
//! - a result is read no sooner than was seen or published, whichever is less (seen: PLOP3 after
//!   PLOP3 10 cycles in hundreds of pairs of one pattern, and 4 as published in another kernel);
//!   where neither was, no sooner than the soonest reader of such results;
//! - a result is overwritten in order: by one that comes later at any time, by one that comes `n`
//!   cycles sooner no sooner than after `n`; results told by scoreboards, and those that are there
//!   at once, are as the rows say where many were seen;
//! - a source of fixed latency is overwritten at any time, since it is read before the soonest
//!   result is written (NAK); by what is there at once as the rows say, where many were seen or
//!   a GPU was.

use super::class::{Class, FILES, Hazard, index, pairs};
use super::rows::{Provenance, Row};
use orias_components::RegFile;

/// Pairs met at least so often, and one of so many of them at the closest distance, show what the
/// machine needs.
const MANY: u32 = 400;
const ONE_OF: u32 = 50;

/// What the rows of an SM say of one pair of classes.
#[derive(Clone, Copy, Default)]
struct Said {
    cycles: u8,
    /// Seen so often that it is surely so.
    sure: bool,
    published: Option<u8>,
    observed: Option<u8>,
}

struct Known(Vec<Said>);

impl Known {
    fn get(&self, hazard: Hazard, file: RegFile, first: Class, second: Class) -> Said {
        self.0[index(hazard, file, first, second)]
    }
}

fn is_sure(provenance: &Provenance, sm: u32) -> bool {
    match provenance {
        Provenance::Observed(seen) => {
            seen.iter().any(|(of, there, all)| *of == sm && *all >= MANY && there * ONE_OF >= *all)
        }
        Provenance::Measured(_) => true,
        _ => false,
    }
}

/// By hazard, file, first and second class.
pub fn of(sm: u32, rows: &[Row]) -> Vec<u8> {
    let mut known = Known(vec![Said::default(); pairs()]);
    for row in rows {
        for (file, first, second) in row.pairs() {
            let said = &mut known.0[index(row.hazard, file, first, second)];
            said.cycles = row.cycles;
            said.sure = is_sure(&row.provenance, sm);
            match row.provenance {
                Provenance::Published(_) | Provenance::Measured(_) => {
                    said.published = Some(row.cycles)
                }
                Provenance::Observed(_) => said.observed = Some(row.cycles),
                Provenance::Assumed(_) => said.published = None,
            }
        }
    }
    let mut needed = vec![0; pairs()];
    for file in FILES {
        for first in Class::ALL {
            for second in Class::ALL {
                for hazard in Hazard::ALL {
                    let cycles = match hazard {
                        Hazard::ReadAfterWrite => read(&known, file, *first, *second),
                        Hazard::WriteAfterWrite => overwrite(&known, file, *first, *second),
                        Hazard::WriteAfterRead => {
                            let said = known.get(hazard, file, *first, *second);
                            if said.sure && at_once(*second) { said.cycles } else { 1 }
                        }
                    };
                    needed[index(hazard, file, *first, *second)] = cycles;
                }
            }
        }
    }
    needed
}

fn at_once(class: Class) -> bool {
    matches!(class, Class::UniformMove | Class::UniformConst)
}

fn read(known: &Known, file: RegFile, first: Class, second: Class) -> u8 {
    let said = known.get(Hazard::ReadAfterWrite, file, first, second);
    match (said.observed, said.published) {
        (Some(observed), Some(published)) => observed.min(published),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => {
            let by_any = Class::ALL.iter().filter_map(|second| {
                let said = known.get(Hazard::ReadAfterWrite, file, first, *second);
                said.observed.or(said.published)
            });
            by_any.min().unwrap_or(1).min(said.cycles)
        }
    }
}

fn overwrite(known: &Known, file: RegFile, first: Class, second: Class) -> u8 {
    let said = known.get(Hazard::WriteAfterWrite, file, first, second);
    if second.is_variable() || at_once(second) {
        let sure = said.sure || (said.published == Some(said.cycles) && said.observed.is_some());
        return if sure { said.cycles } else { 1 };
    }
    let reader =
        if matches!(file, RegFile::UR | RegFile::UP) { Class::Uniform } else { Class::Alu };
    let [one, other] = [first, second].map(|class| read(known, file, class, reader));
    one.saturating_sub(other).clamp(1, said.cycles.max(1))
}
