//! Counts what machine code does with its control fields, by opcode and the words that matter, with
//! a place for each thing done.

use orias::elf::Cubin;
use orias_components::{Inst, Mod, Opcode};
use orias_targets::Target;
use orias_targets::habits::rows::{Counts, ENOUGH, Key, Neighbours, Rows};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// What orders memory or meets other threads, and what copies by itself: whose neighbours are
/// counted.
const ORDERED: [Opcode; 28] = [
    Opcode::MEMBAR,
    Opcode::ERRBAR,
    Opcode::CGAERRBAR,
    Opcode::CCTL,
    Opcode::FENCE,
    Opcode::DEPBAR,
    Opcode::LDGDEPBAR,
    Opcode::UTMACMDFLUSH,
    Opcode::UTMALDG,
    Opcode::UTMASTG,
    Opcode::UTMAREDG,
    Opcode::UTMAPF,
    Opcode::UTMACCTL,
    Opcode::UBLKCP,
    Opcode::UBLKRED,
    Opcode::UBLKPF,
    Opcode::SYNCS,
    Opcode::ARRIVES,
    Opcode::BAR,
    Opcode::B2R,
    Opcode::UCGABAR_ARV,
    Opcode::UCGABAR_WAIT,
    Opcode::WARPSYNC,
    Opcode::ENDCOLLECTIVE,
    Opcode::WARPGROUP,
    Opcode::NANOSLEEP,
    Opcode::USETMAXREG,
    Opcode::ACQBULK,
];

/// More different neighbours than these are no habit.
const MOST_NEIGHBOURS: usize = 3;

/// Something that one instruction does with its control fields, and another of its opcode may not
/// do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Does {
    Write,
    NoWrite,
    Read,
    NoRead,
    Wait,
    NoWait,
    Guard,
    /// The yield bit with stalls of 1 and 2, and with those of 3 to 11.
    ShortClear,
    ShortSet,
    LongClear,
    LongSet,
}

impl Does {
    pub fn name(self) -> &'static str {
        match self {
            Does::Write => "write-scoreboard",
            Does::NoWrite => "no-write-scoreboard",
            Does::Read => "read-scoreboard",
            Does::NoRead => "no-read-scoreboard",
            Does::Wait => "wait",
            Does::NoWait => "no-wait",
            Does::Guard => "guard",
            Does::ShortClear => "short-stall-yield-clear",
            Does::ShortSet => "short-stall-yield-set",
            Does::LongClear => "long-stall-yield-clear",
            Does::LongSet => "long-stall-yield-set",
        }
    }

    /// How often it was done, and how often it could have been.
    pub fn count(self, counts: &Counts) -> (u64, u64) {
        let of = |n: u64| (n, counts.all);
        let yields = |range, set: usize| {
            let n = counts.yields(range);
            (n[set], n[0] + n[1])
        };
        match self {
            Does::Write => of(counts.writes),
            Does::NoWrite => of(counts.all - counts.writes),
            Does::Read => of(counts.reads),
            Does::NoRead => of(counts.all - counts.reads),
            Does::Wait => of(counts.waits),
            Does::NoWait => of(counts.all - counts.waits),
            Does::Guard => of(counts.guards),
            Does::ShortClear => yields(1..=2, 0),
            Does::ShortSet => yields(1..=2, 1),
            Does::LongClear => yields(3..=11, 0),
            Does::LongSet => yields(3..=11, 1),
        }
    }

    pub const ALL: [Does; 11] = [
        Does::Write,
        Does::NoWrite,
        Does::Read,
        Does::NoRead,
        Does::Wait,
        Does::NoWait,
        Does::Guard,
        Does::ShortClear,
        Does::ShortSet,
        Does::LongClear,
        Does::LongSet,
    ];
}

/// Of one key: counts, and where each thing was done first.
#[derive(Clone, Default)]
pub struct OfKey {
    pub counts: Counts,
    pub places: BTreeMap<Does, String>,
    /// By stall.
    pub stalls: BTreeMap<u8, String>,
}

/// What stands before or behind a key: how often, and where first.
type Beside = BTreeMap<(Key, bool, String), (u64, String)>;

/// Counts over many cubins.
#[derive(Clone, Default)]
pub struct Mined {
    pub keys: BTreeMap<Key, OfKey>,
    pub beside: Beside,
}

/// The words that make keys of their own, by opcode.
pub type Words = FxHashMap<Opcode, Vec<Mod>>;

/// The words of the rows.
///
/// # Panics
/// When a row names no opcode or word.
pub fn words(rows: &Rows) -> Words {
    let named = |name: &String| *Mod::LIST.iter().find(|m| m.name() == name).expect("a word");
    let one = |(op, words): (&String, &Vec<String>)| {
        (Opcode::parse(op).expect("an opcode"), words.iter().map(named).collect())
    };
    rows.words.iter().map(one).collect()
}

fn name(words: &Words, inst: &Inst) -> String {
    let mut name = inst.op.name().to_string();
    for word in words.get(&inst.op).into_iter().flatten().filter(|w| inst.mods.has(**w)) {
        name.push('.');
        name.push_str(word.name());
    }
    name
}

/// Fills the end of a text section: nothing comes there.
fn is_padding(inst: &Inst) -> bool {
    inst.control.stall == 0 && matches!(inst.op, Opcode::NOP | Opcode::BRA)
}

impl Mined {
    /// Adds the code of a cubin that was made at a level; `label` says where it is from.
    ///
    /// # Errors
    /// When the file is no cubin.
    pub fn add(
        &mut self,
        target: &Target,
        words: &Words,
        label: &str,
        level: u8,
        cubin: &[u8],
    ) -> Result<(), String> {
        let cubin = Cubin::read(cubin).map_err(|e| format!("{label}: {e}"))?;
        for function in &cubin.functions {
            let chunks = function.text.as_chunks::<16>().0.iter().enumerate();
            let decode = |(i, word): (usize, &[u8; 16])| {
                let at = 16 * i as u64;
                Some((at, target.decode(u128::from_le_bytes(*word), at).ok()?))
            };
            let (places, code): (Vec<u64>, Vec<Inst>) =
                chunks.filter_map(decode).filter(|(_, inst)| !is_padding(inst)).unzip();
            let optimized = level > 0;
            let names: Vec<String> = code.iter().map(|i| name(words, i)).collect();
            for (i, inst) in code.iter().enumerate() {
                let place = || format!("{label} {} {:#x}", function.name, places[i]);
                let key = Key { optimized, name: names[i].clone() };
                if ORDERED.contains(&inst.op) {
                    let at = |j: Option<usize>| j.and_then(|j| names.get(j));
                    for (before, other) in [(true, at(i.checked_sub(1))), (false, at(Some(i + 1)))]
                    {
                        let Some(other) = other else { continue };
                        let entry = self.beside.entry((key.clone(), before, other.clone()));
                        entry.or_insert_with(|| (0, place())).0 += 1;
                    }
                }
                self.keys.entry(key).or_default().add(inst, place);
            }
        }
        Ok(())
    }

    /// Adds what others counted.
    pub fn merge(&mut self, other: Mined) {
        for (key, of) in other.keys {
            let mine = self.keys.entry(key).or_default();
            mine.counts.add(&of.counts);
            for (does, place) in of.places {
                mine.places.entry(does).or_insert(place);
            }
            for (stall, place) in of.stalls {
                mine.stalls.entry(stall).or_insert(place);
            }
        }
        for (beside, (count, place)) in other.beside {
            self.beside.entry(beside).or_insert((0, place)).0 += count;
        }
    }

    /// The rows, with the same words.
    pub fn rows(&self, words: &BTreeMap<String, Vec<String>>) -> Rows {
        let mut neighbours: BTreeMap<(Key, bool), Vec<(String, u64)>> = BTreeMap::new();
        for ((key, before, name), (count, _)) in &self.beside {
            neighbours.entry((key.clone(), *before)).or_default().push((name.clone(), *count));
        }
        // Where mostly arithmetic stands beside it, that is no order but chance.
        let orders = |(name, _): &&(String, u64)| {
            let op = Opcode::parse(name.split('.').next().unwrap_or(name));
            op.is_some_and(|op| ORDERED.contains(&op) || matches!(op, Opcode::NOP | Opcode::BRA))
        };
        let few = |names: &Vec<(String, u64)>| {
            let all: u64 = names.iter().map(|(_, n)| n).sum();
            let ordered: u64 = names.iter().filter(orders).map(|(_, n)| n).sum();
            names.len() <= MOST_NEIGHBOURS && all >= ENOUGH && 2 * ordered > all
        };
        let neighbours = neighbours.into_iter().filter(|(_, names)| few(names));
        Rows {
            words: words.clone(),
            counts: self.keys.iter().map(|(key, of)| (key.clone(), of.counts.clone())).collect(),
            neighbours: neighbours
                .map(|((key, before), names)| Neighbours { key, before, names })
                .collect(),
        }
    }
}

impl OfKey {
    fn add(&mut self, inst: &Inst, place: impl Fn() -> String) {
        let c = inst.control;
        let never = inst.guard.negated && inst.guard.reg.is_zero();
        let guarded = !inst.guard.is_always() && !never;
        let stall = if c.stall == 0 { 16 } else { c.stall };
        let (writes, reads) = (c.write_sb != 7, c.read_sb != 7);
        let one = |is: bool| u64::from(is);
        self.counts.add(&Counts {
            all: 1,
            writes: one(writes),
            reads: one(reads),
            waits: one(c.wait != 0),
            guards: one(guarded),
            stalls: [(stall, [one(!c.yield_), one(c.yield_)])].into(),
        });
        let mut done = vec![
            if writes { Does::Write } else { Does::NoWrite },
            if reads { Does::Read } else { Does::NoRead },
            if c.wait != 0 { Does::Wait } else { Does::NoWait },
        ];
        done.extend(guarded.then_some(Does::Guard));
        done.extend(match (stall, c.yield_) {
            (1 | 2, false) => Some(Does::ShortClear),
            (1 | 2, true) => Some(Does::ShortSet),
            (3..=11, false) => Some(Does::LongClear),
            (3..=11, true) => Some(Does::LongSet),
            _ => None,
        });
        for does in done {
            self.places.entry(does).or_insert_with(&place);
        }
        self.stalls.entry(stall).or_insert_with(place);
    }
}
