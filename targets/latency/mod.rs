//! How long a result takes: the timing classes of instructions, and the cycles that must lie between two instructions that
//! share a register.
//!
//! The numbers are rows in `tables/latency`: what ptxas 13.0.88 relies on in its own output (`observed.lat`, written by
//! `orias-isa latencies`), and under it what is published or assumed (`base.lat`). Each says where it comes from.

mod estimates;
mod needed;
mod rows;

pub use estimates::Estimates;
pub use rows::{Provenance, Row};

use orias_components::{Opcode, RegFile};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The list of classes, each with its name in the rows.
macro_rules! classes {
    ($($(#[$doc:meta])* $class:ident $name:literal)*) => {
        /// When an instruction reads its sources and when its results are there, as far as scheduling needs to know.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum Class { $($(#[$doc])* $class,)* }

        impl Class {
            pub const ALL: &[Class] = &[$(Class::$class,)*];

            /// As the rows of the instruction table call it.
            pub fn name(self) -> &'static str {
                match self { $(Class::$class => $name,)* }
            }
        }
    };
}

classes! {
    /// Integer and logic, selects, comparisons, simple conversions.
    Alu "alu"
    /// Multiply-add pipe: IMAD, FFMA, FMUL, FADD, VIADD, IDP.
    Fma "fma"
    /// IMAD.WIDE: the multiply-add pipe with an early low result and a late read of the upper half that it adds.
    Wide "wide"
    /// Packed half precision.
    Half "half"
    /// HFMA2.MMA: half precision in the pipe of the matrix instructions.
    HalfMma "halfmma"
    /// Double precision.
    Fp64 "fp64"
    /// Matrix products of 8 rows.
    MmaSmall "mma8"
    /// Matrix products that pass once through the pipe.
    Mma "mma"
    /// Matrix products that pass twice.
    MmaLong "mma2"
    /// VOTE, ELECT: an ALU result from a predicate that is read as late as a guard.
    Vote "vote"
    /// Predicate logic (PLOP3) and moves out of the predicate file.
    PredicateLogic "plogic"
    /// Uniform datapath.
    Uniform "uniform"
    /// Copies and votes into the uniform file: there at once.
    UniformMove "umove"
    /// Constants into the uniform file: there at once. Constant banks that a uniform register names are read so, too.
    UniformConst "uldc"
    /// Into the uniform file from a general register.
    ToUniform "touniform"
    /// Reads of clocks and lane masks without scoreboard (CS2R).
    Special "special"
    /// Result after an unknown time, told by a scoreboard; sources are read as early as the ALU does: MUFU, conversions, bit
    /// counts, constants.
    Xu "xu"
    /// Result after an unknown time, told by a scoreboard; sources too may be read late: memory, and all that is no other.
    Variable "variable"
    /// Branches and barriers of control flow: read their predicate at issue, as guards are read.
    Control "control"
}

impl Class {
    /// The class that the rows of the instruction table call so.
    pub fn named(name: &str) -> Option<Class> {
        Class::ALL.iter().copied().find(|c| c.name() == name)
    }

    /// The result, if it has one, is there after a time that only a scoreboard tells.
    pub fn is_variable(self) -> bool {
        matches!(self, Class::Xu | Class::Variable)
    }

    /// The class by which the cell `offset` of its result comes: the upper half of IMAD.WIDE is an ordinary product.
    pub fn of_result(self, offset: u8) -> Class {
        if self == Class::Wide && offset > 0 { Class::Fma } else { self }
    }

    /// The class by which it reads the cell `offset` of a source: IMAD.WIDE, and IMAD.HI, whose result is an ordinary product,
    /// read the upper half of what they add two cycles later than all else.
    pub fn of_source(self, offset: u8) -> Class {
        match self {
            Class::Wide | Class::Fma if offset > 0 => Class::Wide,
            Class::Wide => Class::Fma,
            other => other,
        }
    }
}

/// What makes the second of two instructions wait for the first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Hazard {
    ReadAfterWrite,
    WriteAfterWrite,
    WriteAfterRead,
}

impl Hazard {
    pub const ALL: [Hazard; 3] =
        [Hazard::ReadAfterWrite, Hazard::WriteAfterWrite, Hazard::WriteAfterRead];

    /// As the rows call it.
    pub fn name(self) -> &'static str {
        match self {
            Hazard::ReadAfterWrite => "raw",
            Hazard::WriteAfterWrite => "waw",
            Hazard::WriteAfterRead => "war",
        }
    }
}

/// The files that take part; barriers do not.
pub const FILES: [RegFile; 4] = [RegFile::R, RegFile::UR, RegFile::P, RegFile::UP];

/// Cycles between the issues of two instructions, for one SM: a number for every pair, whatever has been seen.
#[derive(Debug)]
pub struct Latencies {
    /// By hazard, file, first, second class: see [`index`].
    cycles: Vec<u8>,
    /// Fewer than these are a mistake: see [`Latencies::needed`].
    needed: Vec<u8>,
    /// The row that said so.
    rows: Vec<u16>,
    all: Vec<Row>,
    stalls: Vec<u8>,
    longest: u8,
}

fn index(hazard: Hazard, file: RegFile, first: Class, second: Class) -> usize {
    let classes = Class::ALL.len();
    ((hazard as usize * FILES.len() + file as usize) * classes + first as usize) * classes
        + second as usize
}

/// How many hazards, files and pairs of classes there are together.
fn pairs() -> usize {
    Hazard::ALL.len() * FILES.len() * Class::ALL.len() * Class::ALL.len()
}

impl Latencies {
    /// Lays the rows over each other: a later one goes before an earlier one.
    fn new(sm: u32) -> Result<Latencies, String> {
        let (all, stall_rows) = rows::read(sm)?;
        let (mut cycles, mut rows) = (vec![0; pairs()], vec![u16::MAX; pairs()]);
        for (number, row) in all.iter().enumerate() {
            for (file, first, second) in row.pairs() {
                let at = index(row.hazard, file, first, second);
                (cycles[at], rows[at]) = (row.cycles, number as u16);
            }
        }
        if rows.contains(&u16::MAX) {
            return Err(format!("sm_{sm}: a pair of classes has no row"));
        }
        let mut stalls = vec![1; Opcode::LIST.len()];
        for (op, cycles) in stall_rows {
            stalls[op as usize] = cycles;
        }
        let longest = cycles.iter().copied().max().unwrap_or(0);
        let needed = needed::of(sm, &all);
        Ok(Latencies { cycles, needed, rows, all, stalls, longest })
    }

    /// Latencies that are known by nothing but these rows: what no row speaks of needs no time.
    pub fn of_rows(all: Vec<Row>) -> Latencies {
        let (mut cycles, mut rows) = (vec![0; pairs()], vec![u16::MAX; pairs()]);
        for (number, row) in all.iter().enumerate() {
            for (file, first, second) in row.pairs() {
                let at = index(row.hazard, file, first, second);
                (cycles[at], rows[at]) = (row.cycles, number as u16);
            }
        }
        let longest = cycles.iter().copied().max().unwrap_or(0);
        let stalls = vec![1; Opcode::LIST.len()];
        Latencies { needed: cycles.clone(), cycles, rows, all, stalls, longest }
    }

    /// The latencies of an SM.
    ///
    /// # Panics
    /// When the rows cannot be read: they are part of the program, and a test reads them for every SM.
    pub fn of(sm: u32) -> &'static Latencies {
        static KNOWN: Mutex<BTreeMap<u32, &'static Latencies>> = Mutex::new(BTreeMap::new());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(sm).or_insert_with(|| {
            Box::leak(Box::new(Latencies::new(sm).expect("a test reads the latencies of every SM")))
        })
    }

    /// Cycles from the issue of `first` to that of `second`, whose hazard is in a register of `file`; 0 for barriers. Guards
    /// are read as by [`Class::Control`], cells of wide operands as [`Class::of_result`] and [`Class::of_source`] say.
    ///
    /// It holds where no scoreboard tells the time: of a `first` that [`Class::is_variable`] the result, and the general
    /// registers that it reads, have one.
    #[inline]
    pub fn cycles(&self, hazard: Hazard, file: RegFile, first: Class, second: Class) -> u8 {
        match file {
            RegFile::B => 0,
            _ => self.cycles[index(hazard, file, first, second)],
        }
    }

    /// The cycles below which code is wrong, as far as is known: never more than [`Latencies::cycles`], which is what code
    /// had better leave. They differ where so few pairs were seen that the closest may be far from what the machine needs.
    #[inline]
    pub fn needed(&self, hazard: Hazard, file: RegFile, first: Class, second: Class) -> u8 {
        match file {
            RegFile::B => 0,
            _ => self.needed[index(hazard, file, first, second)],
        }
    }

    /// The row behind [`Latencies::cycles`]; `None` for barriers.
    pub fn row(&self, hazard: Hazard, file: RegFile, first: Class, second: Class) -> Option<&Row> {
        match file {
            RegFile::B => None,
            _ => self.all.get(*self.rows.get(index(hazard, file, first, second))? as usize),
        }
    }

    /// Cycles from the issue of `first` until whatever comes may write its result, and read it too if `read`.
    pub fn settled(&self, file: RegFile, first: Class, read: bool) -> u8 {
        let after = |hazard| Class::ALL.iter().map(move |c| self.cycles(hazard, file, first, *c));
        let written = after(Hazard::WriteAfterWrite).max().unwrap_or(0);
        let read = read.then(|| after(Hazard::ReadAfterWrite).max()).flatten();
        written.max(read.unwrap_or(0))
    }

    /// No two instructions need be farther apart than this, in cycles.
    pub fn longest(&self) -> u8 {
        self.longest
    }

    /// The smallest stall of an instruction, whatever follows it; 1 for most.
    #[inline]
    pub fn least_stall(&self, op: Opcode) -> u8 {
        self.stalls[op as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sm_has_a_number_for_every_pair() {
        for target in crate::Target::all() {
            let latencies = Latencies::new(target.sm).unwrap_or_else(|e| panic!("{e}"));
            assert!(latencies.longest() >= 13);
        }
    }

    #[test]
    fn a_guard_waits_longer_for_a_comparison_than_a_select_does() {
        let l = Latencies::of(90);
        let wait = |consumer| l.cycles(Hazard::ReadAfterWrite, RegFile::P, Class::Alu, consumer);
        assert_eq!(wait(Class::Control), 13);
        assert_eq!(wait(Class::Alu), 4);
    }

    #[test]
    fn the_halves_of_a_wide_product_come_at_times_of_their_own() {
        let l = Latencies::of(90);
        let wait = |cell| {
            l.cycles(Hazard::ReadAfterWrite, RegFile::R, Class::Wide.of_result(cell), Class::Alu)
        };
        assert!(wait(0) < wait(1), "the low half is early on sm_90");
    }

    /// Seen of ptxas: `IMAD.MOV R11` two cycles before `IMAD.HI.U32 R8, P1, R17, R2, R10`.
    #[test]
    fn the_upper_half_of_what_a_high_product_adds_is_read_late() {
        let l = Latencies::of(90);
        let wait = |cell| {
            l.cycles(Hazard::ReadAfterWrite, RegFile::R, Class::Fma, Class::Fma.of_source(cell))
        };
        assert_eq!((wait(0), wait(1)), (4, 2));
    }

    #[test]
    fn an_unknown_pair_waits_as_long_as_can_be() {
        let l = Latencies::of(90);
        let why = |h, f, a, b| &l.row(h, f, a, b).expect("a row").provenance;
        let pair = why(Hazard::ReadAfterWrite, RegFile::UP, Class::Special, Class::Alu);
        assert!(matches!(pair, Provenance::Assumed(_)));
    }
}
