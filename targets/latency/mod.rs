//! How long a result takes: the cycles that must lie between two instructions that share a
//! register.
//!
//! Facts are by instruction, part of the result and operand slot ([`Out`], [`In`]): the fewest
//! cycles that ptxas 13.0.88 was seen to leave (`facts90.lat`, written by `orias-isa latencies
//! --write`). Under them lie rows by timing class: seen (`observed.lat`), published or assumed
//! (`base.lat`). The build script lays all over each other (`table/latency.rs`), so that a look-up
//! is two indices and a byte.

mod class;
mod estimates;
mod needed;
mod rows;

pub use class::{Class, FILES, Hazard};
use class::{index, pairs};
pub use estimates::Estimates;
pub use rows::{Provenance, Row};

use orias_components::{Opcode, RegFile};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

/// A result of one kind of instruction: a destination slot, its first cell or the others
/// (`IMAD.WIDE d+1`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Out(pub u16);

/// A source of one kind of instruction: an operand slot, its first cell or the others; all guards
/// are one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct In(pub u16);

/// No port: of what no row of the instruction table describes.
pub const NO_PORT: u16 = u16::MAX;

/// What was seen of a result and what touches it next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fact {
    /// [`Hazard::ReadAfterWrite`] or [`Hazard::WriteAfterWrite`].
    pub hazard: Hazard,
    /// The result.
    pub first: Out,
    /// [`In`] or [`Out`].
    pub second: u16,
    /// The fewest cycles that ptxas was seen to leave, but for a pair or two.
    pub cycles: u8,
    /// The fewest of all.
    pub least: u8,
    /// How often the two were met, up to 255; 0 where fewer than one in ten of them stood at
    /// `cycles`: then it may be so far for want of occasion.
    pub times: u8,
}

/// In a number of cycles: nobody has seen the pair.
const ASSUMED: u8 = 0x80;

/// A fact is something to judge by when its pair was met so often: of less, kernels that were not
/// mined have shown less (UIADD3.X after UMOV: 8 in all of nine pairs, 2 elsewhere).
const OFTEN: u8 = 20;

/// Cycles by ports. Those that no cycle tells apart share a row or a column.
#[derive(Debug, Default)]
struct Matrix {
    row_of: &'static [[u8; 2]],
    column_of: &'static [[u8; 2]],
    columns: usize,
    cells: &'static [u8],
    /// The largest of each row.
    most: &'static [u8],
}

impl Matrix {
    #[inline]
    fn get(&self, row: u16, column: u16) -> Option<u8> {
        let row = number(self.row_of.get(row as usize)?);
        let column = number(self.column_of.get(column as usize)?);
        self.cells.get(row * self.columns + column).copied()
    }

    fn most(&self, row: u16) -> u8 {
        self.row_of.get(row as usize).map_or(0, |row| self.most[number(row)])
    }

    fn read(bytes: &mut Bytes, rows: usize, columns: usize) -> Matrix {
        let (own_rows, own_columns) = (bytes.short() as usize, bytes.short() as usize);
        let mut ids = |n: usize| bytes.take(2 * n).as_chunks().0;
        let (row_of, column_of) = (ids(rows), ids(columns));
        let cells = bytes.take(own_rows * own_columns);
        Matrix { row_of, column_of, columns: own_columns, cells, most: bytes.take(own_rows) }
    }
}

fn number(bytes: &[u8; 2]) -> usize {
    u16::from_le_bytes(*bytes) as usize
}

/// What the build script wrote, front to back. What is missing reads as nothing: a test looks at
/// every SM.
struct Bytes(&'static [u8]);

impl Bytes {
    fn take(&mut self, n: usize) -> &'static [u8] {
        let (head, tail) = self.0.split_at(n.min(self.0.len()));
        self.0 = tail;
        head
    }

    fn short(&mut self) -> u16 {
        let bytes = self.take(2);
        u16::from_le_bytes([bytes[0], bytes[1]])
    }
}

/// Cycles between the issues of two instructions, for one SM: a number for every pair, whatever has
/// been seen.
#[derive(Debug)]
pub struct Latencies {
    /// By result and source, by result and result.
    raw: Matrix,
    waw: Matrix,
    /// Classes of results, then of sources.
    classes: &'static [u8],
    results: usize,
    /// By hazard, file, first, second class: see [`index`].
    cycles: Cow<'static, [u8]>,
    /// By opcode.
    stalls: &'static [u8],
    /// By opcode: 1 where a gap begins with it.
    begins_gap: &'static [u8],
    /// First and second opcode (16 bits each), and cycles.
    gaps: &'static [u8],
    /// By file and class: see [`Latencies::joined`].
    joins: &'static [u8],
    longest: u8,
    /// Facts as the build script wrote them; read when they are first asked for.
    facts: &'static [u8],
    seen: OnceLock<FxHashMap<(Out, In), u8>>,
    /// 0: of no SM, but of rows that were mined.
    sm: u32,
    rows: OnceLock<Rows>,
}

/// Rows of classes, and what follows from them.
#[derive(Debug)]
struct Rows {
    all: Vec<Row>,
    /// The row that says so, by [`index`].
    of: Vec<u16>,
    /// By [`index`]: see [`Latencies::needed`].
    needed: Vec<u8>,
}

/// Lays rows over each other: a later one goes before an earlier one.
fn lay(all: &[Row]) -> (Vec<u8>, Vec<u16>) {
    let (mut cycles, mut rows) = (vec![0; pairs()], vec![u16::MAX; pairs()]);
    for (number, row) in all.iter().enumerate() {
        for (file, first, second) in row.pairs() {
            let at = index(row.hazard, file, first, second);
            (cycles[at], rows[at]) = (row.cycles, number as u16);
        }
    }
    (cycles, rows)
}

macro_rules! built {
    ($($sm:literal)*) => {
        fn built(sm: u32) -> Option<&'static [u8]> {
            match sm {
                $($sm => Some(include_bytes!(concat!(env!("OUT_DIR"), "/sm", $sm, ".latency"))),)*
                _ => None,
            }
        }
    };
}

built! { 75 80 86 87 88 89 90 100 120 }

impl Latencies {
    /// Of the bytes that the build script, or `rows.rs` at run time, made of `tables/latency`.
    pub(crate) fn read(sm: u32, bytes: &'static [u8]) -> Latencies {
        let mut bytes = Bytes(bytes);
        let (results, sources) = (bytes.short() as usize, bytes.short() as usize);
        let classes = bytes.take(results + sources);
        let cycles = bytes.take(pairs());
        let raw = Matrix::read(&mut bytes, results, sources);
        let waw = Matrix::read(&mut bytes, results, results);
        let longest = bytes.take(1)[0];
        let stalls = bytes.take(Opcode::LIST.len());
        let begins_gap = bytes.take(Opcode::LIST.len());
        let gaps = bytes.short() as usize;
        let gaps = bytes.take(5 * gaps);
        let joins = bytes.take(FILES.len() * Class::ALL.len());
        Latencies {
            raw,
            waw,
            classes,
            results,
            cycles: Cow::Borrowed(cycles),
            stalls,
            begins_gap,
            gaps,
            joins,
            longest,
            facts: bytes.0,
            seen: OnceLock::new(),
            sm,
            rows: OnceLock::new(),
        }
    }

    /// Latencies that are known by nothing but these rows and facts (the fewest cycles that were
    /// seen of pairs that were met often): what none speaks of needs no time.
    pub fn of_rows(all: Vec<Row>, seen: impl IntoIterator<Item = ((Out, In), u8)>) -> Latencies {
        let (cycles, of) = lay(&all);
        let seen: FxHashMap<(Out, In), u8> = seen.into_iter().collect();
        let longest = cycles.iter().chain(seen.values()).copied().max().unwrap_or(0);
        Latencies {
            raw: Matrix::default(),
            waw: Matrix::default(),
            classes: &[],
            results: 0,
            stalls: &[],
            begins_gap: &[],
            gaps: &[],
            joins: &[],
            longest,
            facts: &[],
            seen: OnceLock::from(seen),
            sm: 0,
            rows: OnceLock::from(Rows { needed: cycles.clone(), of, all }),
            cycles: Cow::Owned(cycles),
        }
    }

    /// The latencies of an SM.
    ///
    /// # Panics
    /// When there are none: every SM that has a table has some.
    pub fn of(sm: u32) -> &'static Latencies {
        static KNOWN: Mutex<BTreeMap<u32, &'static Latencies>> = Mutex::new(BTreeMap::new());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(sm).or_insert_with(|| {
            let bytes = built(sm).expect("every SM that has a table has latencies");
            Box::leak(Box::new(Latencies::read(sm, bytes)))
        })
    }

    /// Cycles from the issue of an instruction with this result to that of one with this source,
    /// where both are the same register. It holds where no scoreboard tells the time.
    #[inline]
    pub fn read_after_write(&self, first: Out, second: In) -> u8 {
        self.raw.get(first.0, second.0).map_or(self.longest, |cycles| cycles & !ASSUMED)
    }

    /// The same, to that of one which writes the register too.
    #[inline]
    pub fn write_after_write(&self, first: Out, second: Out) -> u8 {
        self.waw.get(first.0, second.0).unwrap_or(self.longest)
    }

    /// The same, from one that reads it at a fixed time to one that writes it: by classes alone.
    #[inline]
    pub fn write_after_read(&self, file: RegFile, first: In, second: Out) -> u8 {
        let source = self.class(self.results + first.0 as usize);
        let classes = source.zip(self.class(second.0 as usize));
        classes.map_or(self.longest, |(first, second)| {
            self.cycles(Hazard::WriteAfterRead, file, first, second)
        })
    }

    /// Nobody has seen ptxas leave a number of cycles between these: what
    /// [`Latencies::read_after_write`] says is the most that any reader of the result was seen to
    /// wait, or more.
    pub fn is_assumed(&self, first: Out, second: In) -> bool {
        self.raw.get(first.0, second.0).is_none_or(|cycles| cycles & ASSUMED != 0)
    }

    /// The timing class of a result.
    pub fn class_of(&self, result: Out) -> Class {
        self.class(result.0 as usize).unwrap_or(Class::Variable)
    }

    fn class(&self, port: usize) -> Option<Class> {
        Class::ALL.get(*self.classes.get(port)? as usize).copied()
    }

    /// Cycles by classes, 0 for barriers: what holds where there are no facts. Guards are read as
    /// by [`Class::Control`], cells of wide operands as [`Class::of_result`] and
    /// [`Class::of_source`] say.
    #[inline]
    pub fn cycles(&self, hazard: Hazard, file: RegFile, first: Class, second: Class) -> u8 {
        match file {
            RegFile::B => 0,
            _ => self.cycles[index(hazard, file, first, second)],
        }
    }

    fn rows(&self) -> &Rows {
        self.rows.get_or_init(|| {
            let all = rows::read(self.sm).expect("a test reads the rows of every SM");
            let (_, of) = lay(&all);
            Rows { needed: needed::of(self.sm, &all), of, all }
        })
    }

    /// The cycles below which code is wrong, as far as is known: never more than what our code
    /// leaves. Of a pair of ports that was met often they are the fewest that were ever seen; of
    /// others, what rows of classes say that are sure (`latency/needed.rs`), and no more than what
    /// was seen of the pair itself, however rare it is.
    pub fn needed(
        &self,
        hazard: Hazard,
        file: RegFile,
        first: (Class, u16),
        second: (Class, u16),
    ) -> u8 {
        if file == RegFile::B {
            return 0;
        }
        let rows = || self.rows().needed[index(hazard, file, first.0, second.0)];
        let (result, next) = (Out(first.1), second.1);
        match hazard {
            Hazard::ReadAfterWrite => match self.seen().get(&(result, In(next))) {
                Some(cycles) => *cycles,
                None => rows().min(self.read_after_write(result, In(next))),
            },
            Hazard::WriteAfterWrite => rows().min(self.write_after_write(result, Out(next))),
            Hazard::WriteAfterRead => rows(),
        }
    }

    fn seen(&self) -> &FxHashMap<(Out, In), u8> {
        self.seen.get_or_init(|| {
            let often = self.facts().filter(|f| f.times >= OFTEN);
            let reads = often.filter(|f| f.hazard == Hazard::ReadAfterWrite);
            reads.map(|f| ((f.first, In(f.second)), f.least)).collect()
        })
    }

    /// All facts of the SM.
    pub fn facts(&self) -> impl Iterator<Item = Fact> {
        let number = |low: u8, high: u8| u16::from_le_bytes([low, high]);
        self.facts.as_chunks::<8>().0.iter().map(move |f| Fact {
            hazard: if f[4] == 0 { Hazard::ReadAfterWrite } else { Hazard::WriteAfterWrite },
            first: Out(number(f[0], f[1])),
            second: number(f[2], f[3]),
            cycles: f[5],
            least: f[6],
            times: f[7],
        })
    }

    /// The row behind [`Latencies::cycles`]; `None` for barriers.
    pub fn row(&self, hazard: Hazard, file: RegFile, first: Class, second: Class) -> Option<&Row> {
        let rows = self.rows();
        match file {
            RegFile::B => None,
            _ => rows.all.get(*rows.of.get(index(hazard, file, first, second))? as usize),
        }
    }

    /// Cycles from the issue of an instruction with this result until whatever comes may write it,
    /// and read it too if `read`.
    pub fn settled(&self, result: Out, read: bool) -> u8 {
        let written = self.waw.most(result.0);
        if read { written.max(self.raw.most(result.0)) } else { written }
    }

    /// Cycles from the issue of an instruction with this result in a file until threads may join
    /// others and go on with them: `join`; until everything may read it where no row says.
    pub fn joined(&self, result: Out, file: RegFile) -> u8 {
        let class = self.class(result.0 as usize);
        let place = FILES.iter().position(|f| *f == file).zip(class);
        let row = place.map(|(file, class)| file * Class::ALL.len() + class as usize);
        let cycles = row.and_then(|row| self.joins.get(row)).filter(|cycles| **cycles != 0);
        cycles.copied().unwrap_or_else(|| self.settled(result, true))
    }

    /// No two instructions need be farther apart than this, in cycles.
    pub fn longest(&self) -> u8 {
        self.longest
    }

    /// Whether some instructions need a distance from this one whatever registers they name: `gap`.
    #[inline]
    pub fn begins_gap(&self, op: Opcode) -> bool {
        self.begins_gap.get(op as usize).is_some_and(|begins| *begins != 0)
    }

    /// The fewest cycles from one instruction to another behind it, whatever registers they name;
    /// 1 for most.
    pub fn gap(&self, first: Opcode, second: Opcode) -> u8 {
        let [first, second] = [first, second].map(|op| (op as u16).to_le_bytes());
        let rows = self.gaps.as_chunks::<5>().0;
        let row = rows.iter().find(|row| row[..2] == first && row[2..4] == second);
        row.map_or(1, |row| row[4])
    }

    /// No gap is longer, in cycles.
    pub fn longest_gap(&self) -> u8 {
        self.gaps.as_chunks::<5>().0.iter().map(|row| row[4]).max().unwrap_or(1)
    }

    /// The smallest stall of an instruction, whatever follows it; 1 for most.
    #[inline]
    pub fn least_stall(&self, op: Opcode) -> u8 {
        self.stalls.get(op as usize).copied().unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_build_script_knows_the_same_classes() {
        use crate::rows::latency as built;
        assert_eq!(Class::ALL.iter().map(|c| c.name()).collect::<Vec<_>>(), built::CLASSES);
        assert_eq!(Hazard::ALL.map(|h| h.name()), built::HAZARDS);
        assert_eq!(FILES.map(|f| f.prefix()), crate::rows::ports::FILES);
        assert_eq!(ASSUMED, built::ASSUMED);
    }

    #[test]
    fn every_sm_has_a_number_for_every_pair() {
        for target in crate::Target::all() {
            let latencies = Latencies::of(target.sm);
            assert!(latencies.longest() >= 13);
            assert!(!latencies.rows().of.contains(&u16::MAX), "a pair of classes has no row");
            let (cycles, _) = lay(&latencies.rows().all);
            assert_eq!(cycles, latencies.cycles.to_vec(), "the build script reads the rows alike");
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

    /// Seen of ptxas: CS2R four cycles before PRMT, three times of 81, where the classes have six.
    #[test]
    fn no_more_is_needed_than_what_is_left() {
        let l = Latencies::of(90);
        for fact in l.facts() {
            let (first, second) = (fact.first, fact.second);
            let (leaves, port) = match fact.hazard {
                Hazard::WriteAfterWrite => (l.write_after_write(first, Out(second)), second.into()),
                _ => (l.read_after_write(first, In(second)), l.results + usize::from(second)),
            };
            let (first, class) = ((l.class_of(first), first.0), l.class(port));
            let Some(class) = class else { continue };
            for file in [RegFile::R, RegFile::P] {
                assert!(l.needed(fact.hazard, file, first, (class, second)) <= leaves, "{fact:?}");
            }
        }
    }
}
