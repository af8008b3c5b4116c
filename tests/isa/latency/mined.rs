//! What the pairs of many kernels say, by kind of instruction and operand slot, and summed up by
//! timing class.

use super::walk::{self, Between, End, Pair};
use orias_components::{Opcode, RegFile};
use orias_targets::Target;
use orias_targets::latency::{Class, Hazard, Provenance, Row};
use orias_targets::touch::{self, Part};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::collections::hash_map::Entry;

/// Distances are counted up to this; the last entry of a histogram holds all that is farther.
pub const FAR: usize = 48;

/// A kind of instruction, and the part of it that names the register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Kind {
    /// Index of its row.
    pub form: u16,
    pub part: Part,
    /// Which cell of a wide operand.
    pub offset: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Key {
    pub hazard: Hazard,
    pub file: RegFile,
    pub first: Kind,
    pub second: Kind,
}

/// The pairs of one key whose second end no scoreboard of the first holds back.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// How often each distance stood between them.
    pub at: [u32; FAR],
    /// Pairs that a scoreboard of the first tells the time of.
    pub awaited: u32,
    /// Kernel (index in [`Mined::kernels`]) and byte offset of the second end of a closest pair.
    pub example: (u32, u32),
}

impl Default for Seen {
    fn default() -> Seen {
        Seen { at: [0; FAR], awaited: 0, example: (0, 0) }
    }
}

impl Seen {
    /// The fewest cycles that stood there at least `times` times.
    pub fn closest(&self, times: u32) -> Option<usize> {
        self.at.iter().position(|n| *n >= times)
    }

    pub fn total(&self) -> u32 {
        self.at.iter().sum()
    }

    /// Adds what another has seen.
    pub fn add(&mut self, other: &Seen) {
        let mine = self.closest(1).unwrap_or(FAR);
        if other.closest(1).is_some_and(|theirs| theirs < mine) {
            self.example = other.example;
        }
        self.at.iter_mut().zip(other.at).for_each(|(n, m)| *n += m);
        self.awaited += other.awaited;
    }
}

/// Use of scoreboards by one kind of instruction: how often seen, with a write and with a read
/// scoreboard.
#[derive(Clone, Copy, Default, Debug)]
pub struct Scoreboards {
    pub seen: u32,
    pub write: u32,
    pub read: u32,
}

/// By hazard, register file, class of the first and of the second.
pub type ByClass = BTreeMap<(Hazard, RegFile, Class, Class), Seen>;

pub struct Mined {
    pub target: &'static Target,
    pub pairs: FxHashMap<Key, Seen>,
    pub scoreboards: BTreeMap<String, Scoreboards>,
    /// Stalls of each opcode: how often each count.
    pub stalls: FxHashMap<Opcode, [u32; 16]>,
    pub kernels: Vec<String>,
    pub words: usize,
    /// Words that the table does not know.
    pub unknown: usize,
}

impl Kind {
    fn of(end: &End<'_>) -> Kind {
        Kind { form: end.form.index, part: end.part, offset: end.offset }
    }

    /// `IMAD.WIDE d+1`
    pub fn name(&self, target: &Target) -> String {
        let form = target.table().form(self.form);
        let slot = self.part.name(form);
        let cell = if self.offset > 0 { format!("+{}", self.offset) } else { String::new() };
        format!("{} {slot}{cell}", touch::unit(form))
    }

    /// The timing class by which this part is read or written.
    pub fn class(&self, target: &Target, writes: bool) -> Class {
        let form = target.table().form(self.form);
        touch::class(form, self.part, self.offset, writes)
    }
}

impl Key {
    pub fn of(pair: &Pair<'_>) -> Key {
        let (first, second) = (Kind::of(&pair.first), Kind::of(&pair.second));
        Key { hazard: pair.hazard, file: pair.file, first, second }
    }

    /// The classes that the time between the two is about; `None` where scoreboards tell it.
    pub fn classes(&self, target: &Target) -> Option<(Hazard, RegFile, Class, Class)> {
        let writes = self.hazard != Hazard::WriteAfterRead;
        let form = target.table().form(self.first.form);
        let late = match writes {
            true => form.write_sb,
            false => self.file == RegFile::R && (form.may_read_late() || form.write_sb),
        };
        let first = self.first.class(target, writes);
        let second = self.second.class(target, self.hazard != Hazard::ReadAfterWrite);
        (!late).then_some((self.hazard, self.file, first, second))
    }
}

impl Mined {
    pub fn new(target: &'static Target) -> Mined {
        Mined {
            target,
            pairs: FxHashMap::default(),
            scoreboards: BTreeMap::new(),
            stalls: FxHashMap::default(),
            kernels: Vec::new(),
            words: 0,
            unknown: 0,
        }
    }

    /// Adds one text section; `name` is for examples.
    pub fn add(&mut self, name: &str, text: &[u8]) {
        let kernel = self.kernels.len() as u32;
        self.kernels.push(name.into());
        for (at, word) in text.as_chunks::<16>().0.iter().enumerate() {
            self.words += 1;
            let Some((inst, form)) = walk::decode(self.target, *word, at) else {
                self.unknown += 1;
                continue;
            };
            let seen = self.scoreboards.entry(touch::unit(form)).or_default();
            seen.seen += 1;
            seen.write += u32::from(inst.control.write_sb != 7);
            seen.read += u32::from(inst.control.read_sb != 7);
            self.stalls.entry(inst.op).or_default()[inst.control.stall as usize & 15] += 1;
        }
        let pairs = &mut self.pairs;
        walk::walk(self.target, text, |pair| add_pair(pairs, kernel, &pair));
    }

    /// Adds what was mined elsewhere for the same target.
    pub fn merge(&mut self, other: Mined) {
        let before = self.kernels.len() as u32;
        self.kernels.extend(other.kernels);
        self.words += other.words;
        self.unknown += other.unknown;
        for (key, mut seen) in other.pairs {
            seen.example.0 += before;
            match self.pairs.entry(key) {
                Entry::Occupied(mut mine) => mine.get_mut().add(&seen),
                Entry::Vacant(place) => {
                    place.insert(seen);
                }
            }
        }
        for (name, of) in other.scoreboards {
            let mine = self.scoreboards.entry(name).or_default();
            mine.seen += of.seen;
            mine.write += of.write;
            mine.read += of.read;
        }
        for (op, of) in other.stalls {
            let mine = self.stalls.entry(op).or_default();
            mine.iter_mut().zip(of).for_each(|(n, m)| *n += m);
        }
    }

    /// The pairs by class, without those of results and late reads that have scoreboards: where the
    /// first end sets none, one of a later instruction of the same kind does for both.
    pub fn by_class(&self) -> ByClass {
        let mut sums = ByClass::new();
        for (key, seen) in &self.pairs {
            if let Some(classes) = key.classes(self.target) {
                sums.entry(classes).or_default().add(seen);
            }
        }
        sums
    }

    /// The fewest cycles of each pair of classes, as rows: all that these kernels show, however
    /// seldom.
    pub fn rows(&self) -> Vec<Row> {
        let row = |((hazard, file, first, second), seen): ((_, _, Class, Class), Seen)| {
            let cycles = seen.closest(1)?;
            let (there, all) = (seen.at[cycles], seen.total());
            is_near(first, cycles).then(|| Row {
                hazard,
                files: vec![file],
                first: vec![first],
                second: vec![second],
                cycles: cycles as u8,
                provenance: Provenance::Observed(vec![(self.target.sm, there, all)]),
            })
        };
        let files = self.by_class().into_iter().filter(|(key, _)| key.1 != RegFile::B);
        files.filter_map(row).collect()
    }
}

fn add_pair(pairs: &mut FxHashMap<Key, Seen>, kernel: u32, pair: &Pair<'_>) {
    let seen = pairs.entry(Key::of(pair)).or_default();
    if is_told(pair) {
        seen.awaited += 1;
        return;
    }
    let cycles = (pair.cycles as usize).min(FAR - 1);
    if seen.closest(1).is_none_or(|closest| cycles < closest) {
        seen.example = (kernel, pair.second.at as u32 * 16);
    }
    seen.at[cycles] += 1;
}

/// A scoreboard tells the time of the pair, or holds the second end back.
pub fn is_told(pair: &Pair<'_>) -> bool {
    pair.between == Between::Scoreboard || told_by_scoreboard(pair)
}

/// The first end has a scoreboard for what the pair is about, so the time is nothing to rely on,
/// waited for or not. (Memory instructions read in order: a wait for a later one will do. Other
/// registers than general ones are read at issue.)
fn told_by_scoreboard(pair: &Pair<'_>) -> bool {
    let control = pair.first.inst.control;
    match pair.hazard {
        Hazard::WriteAfterRead => {
            pair.file == RegFile::R && (control.read_sb != 7 || control.write_sb != 7)
        }
        _ => control.write_sb != 7,
    }
}

/// The longest stall that the control bits can say.
const LONGEST_STALL: usize = 15;

/// A distance may be about the latency of the first class: longer ones come about for other
/// reasons.
pub fn is_near(first: Class, cycles: usize) -> bool {
    let matrix = matches!(first, Class::MmaSmall | Class::Mma | Class::MmaLong);
    cycles <= if matrix { 2 * LONGEST_STALL } else { LONGEST_STALL }
}
