//! Misuse of memory and barriers that a machine does not stop at: found on demand, in both engines,
//! and reported by instruction.
//!
//! Accesses outside every allocation are no matter of demand: they are faults that end a launch
//! ([`crate::memory::Fault`]).

use crate::space::MemorySpace;
use std::cell::Cell;
use std::fmt;

/// What to look for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Checks {
    /// Reads of shared and local memory that nothing has written.
    pub uninitialised: bool,
    /// Barriers of a block that only some threads of a warp reach together, where the instruction
    /// wants all.
    pub barriers: bool,
}

impl Checks {
    /// Everything is looked for.
    pub const ALL: Checks = Checks { uninitialised: true, barriers: true };
}

/// One kind of misuse, with its first instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Misuse {
    /// A read of what nothing has written.
    Uninitialised {
        /// The memory that was read.
        space: MemorySpace,
        /// Where, in that memory.
        address: u64,
        /// How many bytes.
        bytes: usize,
    },
    /// Lanes that came, of those of the warp that have not ended.
    DivergentBarrier {
        /// The barrier's number in the CTA.
        barrier: u32,
        /// Lanes that came: a bit each.
        lanes: u32,
        /// Lanes that have not ended: a bit each.
        live: u32,
    },
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Misuse::Uninitialised { space, address, bytes } => {
                write!(f, "uninitialised read of {bytes} bytes at {space} address {address:#x}")
            }
            Misuse::DivergentBarrier { barrier, lanes, live } => write!(
                f,
                "divergent barrier {barrier}: {} of the warp's {} threads are here (lanes {lanes:#010x} of {live:#010x})",
                lanes.count_ones(),
                live.count_ones()
            ),
        }
    }
}

/// The first instance of a misuse at an instruction, and how many there were.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Found {
    /// The engine's number of the instruction.
    pub instruction: u32,
    /// What it was.
    pub misuse: Misuse,
    /// The CTA: its place in the grid.
    pub block: [u32; 3],
    /// The thread: its place in the CTA.
    pub thread: [u32; 3],
    /// Instances at this instruction, this one included.
    pub count: u64,
}

/// Instructions reported at most; others are counted together.
const MOST: usize = 100;

/// All that was found, in the order of the first instances.
#[derive(Clone, Debug, Default)]
pub struct Misuses {
    /// What is looked for.
    pub checks: Checks,
    /// By instruction.
    pub found: Vec<Found>,
    /// Instances at instructions beyond the first hundred.
    pub more: u64,
}

impl Misuses {
    /// Nothing was found yet.
    pub fn new(checks: Checks) -> Misuses {
        Misuses { checks, ..Misuses::default() }
    }

    /// Counts an instance.
    #[cold]
    pub fn add(&mut self, instruction: u32, misuse: Misuse, block: [u32; 3], thread: [u32; 3]) {
        let kind = std::mem::discriminant(&misuse);
        let same = |f: &&mut Found| {
            f.instruction == instruction && std::mem::discriminant(&f.misuse) == kind
        };
        if let Some(found) = self.found.iter_mut().find(same) {
            found.count += 1;
        } else if self.found.len() < MOST {
            self.found.push(Found { instruction, misuse, block, thread, count: 1 });
        } else {
            self.more += 1;
        }
    }

    /// One line for each instruction; `place` says where one is.
    pub fn lines(&self, place: impl Fn(&Found) -> String) -> Vec<String> {
        let line = |found: &Found| {
            let more = match found.count {
                1 => String::new(),
                count => format!(" (and {} more there)", count - 1),
            };
            format!("{} {}{more}", found.misuse, place(found))
        };
        let mut lines: Vec<String> = self.found.iter().map(line).collect();
        if self.more > 0 {
            lines.push(format!("{} more at other instructions", self.more));
        }
        lines
    }
}

/// A read of what was never written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Missed {
    /// Who read, as [`Written::reads_as`] said.
    pub reader: usize,
    /// Offset in the memory.
    pub at: usize,
    /// How many bytes.
    pub bytes: usize,
}

/// Which bytes of a memory have been written, and the first that was read without.
#[derive(Clone, Debug, Default)]
pub struct Written {
    bits: Vec<u64>,
    missed: Cell<Option<Missed>>,
    reader: Cell<usize>,
}

impl Written {
    /// Nothing is written of `bytes` bytes.
    pub fn none(bytes: usize) -> Written {
        Written { bits: vec![0; bytes.div_ceil(64)], ..Written::default() }
    }

    /// Bytes from `bytes` on are forgotten, or come new and unwritten.
    pub fn cut(&mut self, bytes: usize) {
        self.bits.truncate(bytes.div_ceil(64));
        if let Some(last) = self.bits.last_mut()
            && !bytes.is_multiple_of(64)
        {
            *last &= (1 << (bytes % 64)) - 1;
        }
    }

    /// Makes room for `bytes` bytes.
    pub fn grow(&mut self, bytes: usize) {
        self.bits.resize(bytes.div_ceil(64), 0);
    }

    /// Notes that bytes are written; what lies behind the end does not count.
    pub fn mark(&mut self, at: usize, bytes: usize) {
        for byte in at..at + bytes {
            if let Some(word) = self.bits.get_mut(byte / 64) {
                *word |= 1 << (byte % 64);
            }
        }
    }

    /// Remembers a read that has, of eight bytes that lie together in an aligned place, none that
    /// is written: a number and not the padding of a structure, which is copied with what it fills
    /// up.
    pub fn look(&self, at: usize, bytes: usize) {
        let is_written =
            |byte: usize| self.bits.get(byte / 64).is_some_and(|w| w >> (byte % 64) & 1 != 0);
        let end = at + bytes;
        let mut parts = (at / 8..end.div_ceil(8)).map(|n| at.max(8 * n)..end.min(8 * n + 8));
        if self.missed.get().is_none() && !parts.all(|mut part| part.any(is_written)) {
            self.missed.set(Some(Missed { reader: self.reader.get(), at, bytes }));
        }
    }

    /// Says who does the reads that follow.
    pub fn reads_as(&self, reader: usize) {
        self.reader.set(reader);
    }

    /// The first such read since the last call.
    pub fn take(&self) -> Option<Missed> {
        self.missed.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_is_missed_until_some_of_its_bytes_are_written() {
        let mut w = Written::none(100);
        w.reads_as(7);
        w.mark(60, 4);
        w.look(60, 4);
        assert_eq!(w.take(), None);
        w.look(64, 4);
        assert_eq!((w.take(), w.take()), (Some(Missed { reader: 7, at: 64, bytes: 4 }), None));
        w.mark(66, 1);
        w.look(64, 4);
        assert_eq!(w.take(), None, "a byte and the padding behind it");
        w.look(64, 2);
        assert_eq!(w.take(), Some(Missed { reader: 7, at: 64, bytes: 2 }), "what is read counts");
    }

    #[test]
    fn each_eight_bytes_of_a_read_are_looked_at() {
        let mut w = Written::none(100);
        w.mark(16, 1);
        w.look(16, 8);
        assert_eq!(w.take(), None, "a byte, and seven that fill up");
        w.look(16, 16);
        assert_eq!(w.take(), Some(Missed { reader: 0, at: 16, bytes: 16 }), "the upper half");
        w.mark(31, 1);
        w.look(16, 16);
        assert_eq!(w.take(), None);
    }

    #[test]
    fn what_is_cut_off_comes_back_unwritten() {
        let mut w = Written::none(100);
        w.mark(0, 100);
        w.cut(70);
        w.grow(100);
        w.look(66, 4);
        assert_eq!(w.take(), None);
        w.look(70, 4);
        assert_eq!(w.take(), Some(Missed { reader: 0, at: 70, bytes: 4 }));
    }

    #[test]
    fn instances_at_one_instruction_are_counted_together() {
        let mut all = Misuses::new(Checks::ALL);
        let read =
            |address| Misuse::Uninitialised { space: MemorySpace::Shared, address, bytes: 4 };
        all.add(3, read(0x400), [0; 3], [5, 0, 0]);
        all.add(3, read(0x404), [0; 3], [6, 0, 0]);
        for instruction in 10..200 {
            all.add(instruction, read(0), [0; 3], [0; 3]);
        }
        let lines = all.lines(|f| format!("at {}", f.instruction));
        let first = "uninitialised read of 4 bytes at shared address 0x400 at 3 (and 1 more there)";
        assert_eq!(lines[0], first);
        assert_eq!(lines.len(), 101);
        assert_eq!(lines[100], "91 more at other instructions");
    }
}
