//! What the pairs of many kernels say, by kind of instruction and operand slot.

use super::walk::{self, Between, End, Hazard, Pair};
use orias_components::RegFile;
use orias_targets::{Form, Target};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Cycles are counted up to this; the last entry of a histogram holds all that is farther.
pub const FAR: usize = 32;

/// A kind of instruction, and the part of it that names the register.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Kind {
    /// Mnemonic with the words that every use of the row has.
    pub name: String,
    pub class: &'static str,
    /// `d`, `d+1` (the second cell), `guard`, `a.base`.
    pub slot: String,
}

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Key {
    pub hazard: Hazard,
    pub file: RegFile,
    pub first: Kind,
    pub second: Kind,
}

/// The pairs of one key.
#[derive(Clone, Default, Debug)]
pub struct Seen {
    /// How often each distance stood there with nothing but stalls.
    pub stalls: [u32; FAR],
    /// The same where a branch might have left between.
    pub branch: [u32; FAR],
    /// The same where something unrelated was waited for.
    pub wait: [u32; FAR],
    /// Pairs where the second waits for a scoreboard of the first.
    pub scoreboard: u32,
    /// Pairs without such a wait although the first sets one.
    pub unawaited: u32,
    /// Kernel and byte offset of the second end of a closest pair.
    pub example: Option<(String, usize)>,
}

impl Seen {
    /// The fewest cycles with nothing but stalls between, and how often.
    pub fn closest(&self) -> Option<(usize, u32)> {
        self.stalls.iter().enumerate().find(|(_, n)| **n > 0).map(|(d, n)| (d, *n))
    }
}

/// Use of scoreboards by one row: how often seen, with a write and with a read scoreboard.
#[derive(Clone, Copy, Default, Debug)]
pub struct Scoreboards {
    pub seen: u32,
    pub write: u32,
    pub read: u32,
}

#[derive(Default)]
pub struct Mined {
    pub pairs: BTreeMap<Key, Seen>,
    pub scoreboards: BTreeMap<String, Scoreboards>,
    pub words: usize,
    pub unknown: usize,
    names: FxHashMap<u16, String>,
}

/// Mnemonic with the words that every use of the row has.
pub fn head(form: &Form) -> String {
    let mut name = form.op.name().to_string();
    for field in form.mods.iter().filter(|m| m.bits.width() == 0) {
        for word in field.options.iter().flat_map(|o| o.words) {
            name = name + "." + word.name();
        }
    }
    name
}

impl Mined {
    fn kind(&mut self, end: &End<'_>) -> Kind {
        let name = self.names.entry(end.form.index).or_insert_with(|| head(end.form)).clone();
        let mut slot = end.part.name(end.form);
        if end.offset > 0 {
            slot = format!("{slot}+{}", end.offset);
        }
        Kind { name, class: end.form.class.name(), slot }
    }

    /// Adds the pairs of one text section; `name` is for examples.
    pub fn add(&mut self, target: &'static Target, name: &str, text: &[u8]) {
        for (at, word) in text.as_chunks::<16>().0.iter().enumerate() {
            self.words += 1;
            let Some((inst, form)) = walk::decode(target, *word, at) else {
                self.unknown += 1;
                continue;
            };
            let seen = self.scoreboards.entry(head(form)).or_default();
            seen.seen += 1;
            seen.write += u32::from(inst.control.write_sb != 7);
            seen.read += u32::from(inst.control.read_sb != 7);
        }
        walk::walk(target, text, |pair| self.add_pair(name, &pair));
    }

    fn add_pair(&mut self, kernel: &str, pair: &Pair<'_>) {
        let (first, second) = (self.kind(&pair.first), self.kind(&pair.second));
        let key = Key { hazard: pair.hazard, file: pair.file, first, second };
        let seen = self.pairs.entry(key).or_default();
        let cycles = (pair.cycles as usize).min(FAR - 1);
        let control = pair.first.inst.control;
        let sets = control.write_sb != 7
            || (pair.hazard == Hazard::WriteAfterRead && control.read_sb != 7);
        if pair.between == Between::Scoreboard {
            seen.scoreboard += 1;
            return;
        }
        seen.unawaited += u32::from(sets);
        match pair.between {
            Between::Stalls => {
                if seen.closest().is_none_or(|(d, _)| cycles < d) {
                    seen.example = Some((kernel.into(), pair.second.at * 16));
                }
                seen.stalls[cycles] += 1;
            }
            Between::Branch => seen.branch[cycles] += 1,
            _ => seen.wait[cycles] += 1,
        }
    }
}
