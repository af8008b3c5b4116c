//! Which pieces of the program compiles touch: what the linker puts beside each other.
//!
//! A small compile runs each of some thousand functions a few times, and what it waits for is that
//! they come to memory: 64 KB of the program at a time, each some three microseconds to map and to
//! let go. What compiles touch is a third of the program. The linker's map says where its pieces
//! (input sections: functions, what is rare in them, tables) are, valgrind what is touched; here
//! that becomes a linker script. Its names are of one build: by them, as by a profile's, another
//! one is ordered as far as it has the same.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// A piece of the program.
#[derive(Debug, PartialEq, Eq)]
struct Piece {
    start: u64,
    end: u64,
    /// The name of its section.
    name: String,
}

/// The pieces of a program that have names of their own, in the order of their addresses.
pub struct Pieces(Vec<Piece>);

/// Of what a map has, these have names of their own; what stands behind them is one function or
/// one constant.
const KINDS: [&str; 2] = [".text.", ".rodata."];

/// Pieces that the linker joins with all of their like.
const MERGED: [&str; 2] = [".rodata.str", ".rodata.cst"];

impl Pieces {
    /// Of a program whose linker (LLVM's) has written this map.
    ///
    /// # Errors
    /// When it cannot be read, or has none.
    pub fn of(map: &Path) -> Result<Pieces, String> {
        let fail = |what: &str| format!("{}: {what}", map.display());
        let text = std::fs::read_to_string(map).map_err(|error| fail(&error.to_string()))?;
        let pieces = Pieces(pieces(&text));
        if pieces.0.is_empty() { Err(fail("no map of lld's with sections")) } else { Ok(pieces) }
    }

    /// The piece that has this byte.
    fn at(&self, address: u64) -> Option<usize> {
        let at = self.0.partition_point(|piece| piece.start <= address).checked_sub(1)?;
        (address < self.0[at].end).then_some(at)
    }
}

/// Rows of a map: address, load address, size (hexadecimal), alignment, `FILE:(SECTION)`.
fn pieces(map: &str) -> Vec<Piece> {
    let piece = |line: &str| {
        let mut fields = line.split_whitespace();
        let start = u64::from_str_radix(fields.next()?, 16).ok()?;
        let size = u64::from_str_radix(fields.nth(1)?, 16).ok()?;
        let (_, section) = line.rsplit_once(":(")?;
        let name = section.strip_suffix(')')?;
        let is_one = KINDS.iter().any(|kind| name.starts_with(kind))
            && !MERGED.iter().any(|merged| name.starts_with(merged));
        (is_one && size > 0).then(|| Piece { start, end: start + size, name: name.to_string() })
    };
    let mut pieces: Vec<Piece> = map.lines().filter_map(piece).collect();
    pieces.sort_by_key(|piece| piece.start);
    pieces
}

/// What valgrind says of one compile.
pub enum Trace {
    /// The instructions that run (callgrind).
    Code,
    /// The constants that are read, too (lackey: some ten times the time).
    Data,
}

/// The pieces that one compile touches.
///
/// # Errors
/// When it fails, or valgrind does.
pub fn touched(
    program: &Path,
    ptx: &Path,
    folder: &Path,
    pieces: &Pieces,
    trace: &Trace,
) -> Result<BTreeSet<usize>, String> {
    let log = folder.join("trace");
    let mut command = Command::new("valgrind");
    match trace {
        Trace::Code => command
            .args(["--tool=callgrind", "--dump-instr=yes", "--compress-pos=no"])
            .arg(format!("--callgrind-out-file={}", log.display())),
        Trace::Data => command
            .args(["--tool=lackey", "--trace-mem=yes"])
            .arg(format!("--log-file={}", log.display())),
    };
    // By one thread: a process of which little is asked has no other.
    command.arg(program).args(["-arch", "sm_90a", "--split-compile=1"]).arg(ptx).arg("-o");
    let done = command.arg(folder.join("order.cubin")).stderr(Stdio::null()).status();
    let done = done.map_err(|error| format!("valgrind: {error}"))?;
    if !done.success() {
        return Err(format!("{}: {done} under valgrind", ptx.display()));
    }
    let fail = |error: std::io::Error| format!("{}: {error}", log.display());
    let mut found = BTreeSet::new();
    for line in BufReader::new(File::open(&log).map_err(fail)?).split(b'\n') {
        let line = line.map_err(fail)?;
        found.extend(address(&line, trace).and_then(|address| pieces.at(address)));
    }
    std::fs::remove_file(&log).map_err(fail)?;
    Ok(found)
}

/// The address that a line of a trace names: ` L 04222c10,8` (lackey), `0x4222c10 12 1`
/// (callgrind).
fn address(line: &[u8], trace: &Trace) -> Option<u64> {
    let text = std::str::from_utf8(line).ok()?;
    let digits = match trace {
        Trace::Code => text.strip_prefix("0x")?.split(' ').next()?,
        Trace::Data => text.trim_start().get(1..)?.trim_start().split_once(',')?.0,
    };
    u64::from_str_radix(digits, 16).ok()
}

/// What stands first in the code: the few pieces without names of their own that every program
/// runs, the C library's beginning, and what runs before and after `main`.
const BEGIN: &str =
    "    *(.text)\n    *crti.o(.init)\n    *(.init)\n    *crti.o(.fini)\n    *(.fini)\n";

/// Bytes of a huge page on x86-64. What is touched begins with one, so that it has no part of one
/// more than it needs: of each that is touched at all there is all in memory.
const HUGE_PAGE: u32 = 2 << 20;

/// A linker script that puts what compiles touch beside each other, what most of them touch first:
/// each counts for so many.
pub fn script(compiles: &[(usize, BTreeSet<usize>)], pieces: &Pieces) -> String {
    let mut counts = vec![0_usize; pieces.0.len()];
    for (weight, touched) in compiles {
        touched.iter().for_each(|&piece| counts[piece] += weight);
    }
    let mut order: Vec<usize> = (0..counts.len()).filter(|&piece| counts[piece] > 0).collect();
    // In the order of addresses where as many compiles touch them.
    order.sort_by_key(|&piece| std::cmp::Reverse(counts[piece]));
    let mut text = String::from(
        "/* What compiles touch, beside each other: made by `orias-speed order`. */\n",
    );
    for (kind, begin, align) in [(KINDS[0], BEGIN, HUGE_PAGE), (KINDS[1], "", 1)] {
        let section = kind.trim_end_matches('.');
        let _ = writeln!(text, "SECTIONS\n{{\n  {section}.often : ALIGN({align})\n  {{");
        text.push_str(begin);
        let mut known = BTreeSet::new();
        for &piece in &order {
            let name = pieces.0[piece].name.as_str();
            if name.starts_with(kind) && known.insert(name) {
                let _ = writeln!(text, "    *({name})");
            }
        }
        let _ = writeln!(text, "  }}\n}}\nINSERT BEFORE {section};");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: &str = "\
             VMA              LMA     Size Align Out     In      Symbol
            1000             1000      300     4 .rodata
            1000             1000       20     4         a.o:(.rodata.B)
            1000             1000       20     4                 B
            1020             1020       10     4         <internal>:(.rodata.cst16)
            2000             2000       40     4         a.o:(.text.hot.f)
            2040             2040       10     4         a.o:(.text.split.f)
            2050             2050        0     4         a.o:(.text.unlikely.g)
            2050             2050       10     4         lib.a(b.o):(.text)
            2060             2060       10     4         lib.a(b.o):(.text.h)
";

    #[test]
    fn a_map_has_the_pieces_with_names_of_their_own() {
        let pieces = Pieces(pieces(MAP));
        let name = |address| pieces.at(address).map(|piece| pieces.0[piece].name.as_str());
        assert_eq!(pieces.0.len(), 4);
        assert_eq!(name(0x101f), Some(".rodata.B"));
        assert_eq!(name(0x1020), None);
        assert_eq!(name(0x2040), Some(".text.split.f"));
        assert_eq!(name(0x2055), None);
        assert_eq!(name(0x206f), Some(".text.h"));
        assert_eq!(name(0x2070), None);
    }

    #[test]
    fn traces_name_addresses() {
        assert_eq!(address(b"0x4222c1 12 1", &Trace::Code), Some(0x4222c1));
        assert_eq!(address(b"fn=(1) main", &Trace::Code), None);
        assert_eq!(address(b"I  0077abe1,3", &Trace::Data), Some(0x77abe1));
        assert_eq!(address(b" S 1ffe,8", &Trace::Data), Some(0x1ffe));
        assert_eq!(address(b"==7== Lackey, an example", &Trace::Data), None);
    }

    #[test]
    fn what_most_compiles_touch_stands_first() {
        let pieces = Pieces(pieces(MAP));
        let compiles = [(1, BTreeSet::from([0, 1, 3])), (2, BTreeSet::from([3]))];
        let text = script(&compiles, &pieces);
        let names: Vec<&str> =
            text.lines().filter_map(|line| line.trim().strip_prefix("*(")).collect();
        let named: Vec<&str> =
            names.iter().copied().filter(|n| n.matches('.').count() > 1).collect();
        assert_eq!(named, [".text.h)", ".text.hot.f)", ".rodata.B)"]);
        assert_eq!(names[0], ".text)", "what has no name of its own");
    }
}
