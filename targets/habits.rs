//! What ptxas does with the control fields of each opcode, and so what is known to work: which
//! scoreboards it gives it, whether that ever waits for one, which stalls it has and whether they
//! yield.
//!
//! The rows are in `tables/habits`, mined by `orias-isa habits` from ptxas's output; the build
//! script makes bytes of them.

#[path = "table/habits.rs"]
pub mod rows;

use orias_components::{Inst, Mod, Mods, Opcode};

/// How often something was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seen {
    /// In none of what was seen.
    Never,
    /// In some, and not in others.
    Sometimes,
    /// In all of what was seen.
    Always,
}

/// What was seen of an opcode with those of its words that matter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Habit {
    /// It was seen so often ([`rows::ENOUGH`]) that what it never did counts.
    pub often: bool,
    /// A scoreboard for results.
    pub write_sb: Seen,
    /// A scoreboard for late reads.
    pub read_sb: Seen,
    /// A wait for any scoreboard.
    pub waits: Seen,
    /// A guard other than `@!PT`.
    pub guards: Seen,
    /// Least and greatest stall in cycles; 16 is what the field says by 0.
    pub stalls: (u8, u8),
    /// Whether the yield bit is mostly set with stalls of 1 and 2, and with those of 3 to 11;
    /// `None` without any such stall.
    pub yields: [Option<bool>; 2],
}

impl Habit {
    /// Seen often, and never with a scoreboard for late reads.
    pub fn never_reads_late(&self) -> bool {
        self.often && self.read_sb == Seen::Never
    }

    /// Seen often, and never waiting.
    pub fn never_waits(&self) -> bool {
        self.often && self.waits == Seen::Never
    }

    /// The yield bit with a stall; `None` where none such was seen. It is clear with more than 11
    /// cycles (observed: always).
    pub fn yields(&self, stall: u8) -> Option<bool> {
        match stall {
            1 | 2 => self.yields[0],
            3..=11 => self.yields[1],
            _ => Some(false),
        }
    }
}

/// The habits on one SM; none are known on most. They are read from the bytes that the build script
/// wrote as they are asked for.
#[derive(Debug)]
pub struct Habits {
    /// By opcode where what is known of it ends in `all`.
    ends: &'static [[u8; 2]],
    all: &'static [u8],
}

/// What is known of an opcode: the words that tell its keys apart, by number; of each key which of
/// them it has, one bit each, whether it is from -O1 on, and what was seen.
struct OfOpcode {
    words: &'static [[u8; 2]],
    records: &'static [[u8; 8]],
}

static SM90: Habits = Habits::read(include_bytes!(concat!(env!("OUT_DIR"), "/sm90.habits")));
static NONE: Habits = Habits { ends: &[], all: &[] };

impl Habits {
    /// The habits on an SM.
    pub fn of(sm: u32) -> &'static Habits {
        if sm == 90 { &SM90 } else { &NONE }
    }

    /// Of what [`rows::Rows::bytes`] wrote.
    const fn read(bytes: &'static [u8]) -> Habits {
        let (ends, all) = bytes.split_at(2 * Opcode::LIST.len());
        Habits { ends: ends.as_chunks().0, all }
    }

    /// Whether the instruction's opcode, with its words, was seen often and never guarded.
    pub fn never_guards(&self, inst: &Inst) -> bool {
        let known = [true, false].map(|optimized| self.get(inst.op, &inst.mods, optimized));
        let mut known = known.into_iter().flatten();
        let often = known.clone().any(|habit| habit.often);
        often && known.all(|habit| habit.guards == Seen::Never)
    }

    /// What was seen of the instruction's opcode, with its words, at -O0 or from -O1 on
    /// (`optimized`).
    pub fn get(&self, op: Opcode, mods: &Mods, optimized: bool) -> Option<Habit> {
        let OfOpcode { words, records } = self.known(op)?;
        let has = |number: u16| mods.iter().any(|m| m as u16 == number);
        let bits = words.iter().enumerate().filter(|(_, word)| has(u16::from_le_bytes(**word)));
        let mask = bits.fold(0, |mask, (i, _)| mask | 1 << i);
        let record = records.iter().find(|r| (r[0], r[1]) == (mask, u8::from(optimized)))?;
        let [_, _, often, hows, least, longest, short, long] = *record;
        let seen = |bits: u8| match hows >> bits & 3 {
            0 => Seen::Never,
            1 => Seen::Sometimes,
            _ => Seen::Always,
        };
        let set = |n: u8| (n < 2).then_some(n == 1);
        Some(Habit {
            often: often != 0,
            write_sb: seen(0),
            read_sb: seen(2),
            waits: seen(4),
            guards: seen(6),
            stalls: (least, longest),
            yields: [set(short), set(long)],
        })
    }

    fn known(&self, op: Opcode) -> Option<OfOpcode> {
        let end = |op: usize| Some(u16::from_le_bytes(*self.ends.get(op)?) as usize);
        let start = (op as usize).checked_sub(1).map_or(Some(0), end)?;
        let (words, known) = self.all.get(start..end(op as usize)?)?.split_first()?;
        let (words, records) = known.split_at_checked(2 * *words as usize)?;
        Some(OfOpcode { words: words.as_chunks().0, records: records.as_chunks().0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orias_components::Operand;

    const TEXT: &str = include_str!("tables/habits/sm90.tsv");

    #[test]
    fn rows_come_back_from_their_text() {
        let rows = rows::Rows::parse(TEXT).expect("rows");
        assert_eq!(rows::Rows::parse(&rows.text()), Ok(rows.clone()));
        assert!(rows.counts.len() > 200 && !rows.neighbours.is_empty());
        assert!(rows::Rows::parse("O1 BAR 5 x3").is_err());
        assert!(rows::Rows::parse("O3 BAR 5").is_err());
    }

    #[test]
    fn words_tell_keys_apart() {
        let habits = Habits::of(90);
        let inst = |op, mods: &[Mod]| Inst::new(op, mods, 0, &[] as &[Operand]);
        let reads = |inst: &Inst| habits.get(inst.op, &inst.mods, true).expect("seen").read_sb;
        assert_eq!(reads(&inst(Opcode::CCTL, &[Mod::IVALL])), Seen::Never, "it reads nothing");
        assert_ne!(reads(&inst(Opcode::MEMBAR, &[Mod::SC, Mod::CTA])), Seen::Never);
        let barrier = habits.get(Opcode::BSYNC, &Mods::default(), true).expect("seen");
        assert_eq!((barrier.stalls.0, barrier.yields(5)), (5, Some(true)));
    }

    #[test]
    fn a_group_that_is_guarded_has_words_that_never_are() {
        let habits = Habits::of(90);
        let inst = |op, mods: &[Mod]| Inst::new(op, mods, 0, &[] as &[Operand]);
        assert!(habits.never_guards(&inst(Opcode::ATOMS, &[Mod::CAS])));
        assert!(!habits.never_guards(&inst(Opcode::ATOMS, &[Mod::ADD])));
        assert!(habits.never_guards(&inst(Opcode::NANOSLEEP, &[])));
    }

    #[test]
    fn at_o0_there_is_one_stall() {
        let habits = Habits::of(90);
        let stalls = |op| habits.get(op, &Mods::default(), false).expect("seen").stalls;
        assert_eq!(stalls(Opcode::IADD3), (15, 15));
        assert_eq!(stalls(Opcode::ERRBAR), (16, 16));
    }

    #[test]
    fn an_sm_without_rows_has_no_habits() {
        let inst = Inst::new(Opcode::BSYNC, &[], 0, &[] as &[Operand]);
        assert!(Habits::of(80).get(inst.op, &inst.mods, true).is_none());
    }
}
