//! The text forms: that of `cuobjdump -sass` and that of `nvdisasm -c` (13.5.37), to the byte.

use super::code::{Code, DisError, DisOptions, OBJECT, Part, Undecoded, WORD, accelerated};
use super::labels::{GLOBAL, Labels, Naming, Places, label};
use super::relocated;
use crate::elf::read::{Cubin, STO_CUDA_ENTRY, Section, Symbol};
use orias_targets::text::{self, Numeric};
use rustc_hash::FxHashSet;
use std::fmt::Write;

/// Column of the mnemonics, counted from the end of the address; guards stand before it.
const GUARD: usize = 19;
/// ELF files with this OS ABI have the flags of toolkits before 13 (observed: what cuobjdump 13
/// makes of such flags).
const OLD_OS_ABI: u8 = 51;
/// `st_other` of a variable in shared memory.
const STO_CUDA_SHARED: u8 = 0x40;
/// `STB_WEAK`
const WEAK: u8 = 2;

/// The text of a function's instructions, in one buffer.
#[derive(Default)]
struct Lines {
    text: String,
    /// Per instruction: where its text ends, bytes of its guard, and its control in the common
    /// notation if that is wanted.
    lines: Vec<Line>,
}

struct Line {
    end: usize,
    guard: usize,
    control: Option<String>,
}

/// The columns of a file.
#[derive(Clone, Copy, Default)]
struct Columns {
    /// Where notes begin.
    note: usize,
    /// Where words begin.
    words: usize,
}

impl<'a> Code<'a> {
    /// The listing, and what of it could not be decoded.
    ///
    /// # Errors
    /// [`DisError::TooLong`] where names are repeated without end.
    pub fn listing(&self, options: DisOptions) -> Result<(String, Vec<Undecoded<'a>>), DisError> {
        listing(self, options)
    }
}

fn listing<'a>(
    code: &Code<'a>,
    options: DisOptions,
) -> Result<(String, Vec<Undecoded<'a>>), DisError> {
    let limit = code.limit();
    let mut size = 0;
    let mut undecoded = Vec::new();
    let mut labels = Labels::new(code);
    let relocations = match options.labels {
        true => relocated::texts(code, &mut labels),
        false => Vec::new(),
    };
    let object = code.cubin.as_ref().is_some_and(|c| c.file_type == OBJECT);
    let mut all = Vec::with_capacity(code.parts.len());
    for (section, part) in code.parts.iter().enumerate() {
        let mut lines = Lines::default();
        let mut naming = Naming { labels: &mut labels, section, relocation: None };
        for (pc, word) in part.instructions() {
            if options.labels {
                naming.relocation = relocations[section].get(&pc).cloned();
            }
            let (guard, control) = match code.target.decode_row(word, pc) {
                Ok((form, inst)) => {
                    if options.labels && object {
                        naming.base(part.name, &inst, pc);
                    }
                    let out = &mut lines.text;
                    let guard = match options.labels {
                        true => text::write(out, code.target, Some(form), &inst, &mut naming),
                        false => text::write(out, code.target, Some(form), &inst, &mut &Numeric),
                    };
                    (guard, options.control.then(|| inst.control.to_string()))
                }
                Err(error) => {
                    let _ = write!(lines.text, "UNDECODED {word:#034x} ;");
                    undecoded.push(Undecoded { function: part.name, error });
                    (0, options.control.then(String::new))
                }
            };
            lines.lines.push(Line { end: lines.text.len(), guard, control });
            if size + lines.text.len() > limit {
                return Err(DisError::TooLong);
            }
        }
        size += lines.text.len();
        all.push(lines);
    }
    if options.labels {
        labels.attributes(code);
        labels.ends(code);
    }
    let mut out = String::new();
    let show = Show { code, options, columns: columns(&all, &labels), labels: &labels };
    match (&code.cubin, options.labels) {
        (Some(cubin), true) => show.labelled(&mut out, cubin, &all)?,
        (Some(cubin), false) => show.plain(&mut out, cubin, &all),
        (None, _) => {
            for (lines, part) in all.iter().zip(&code.parts) {
                show.body(&mut out, part, lines, None);
            }
        }
    }
    Ok((out, undecoded))
}

/// Columns leave room for the longest line. A guard counts twice (observed).
fn columns(all: &[Lines], labels: &Labels<'_>) -> Columns {
    let (mut width, mut note) = (0, 0);
    for (section, lines) in all.iter().enumerate() {
        let mut start = 0;
        for (i, line) in lines.lines.iter().enumerate() {
            let text = &lines.text[start..line.end];
            // As if each ended in ` ;`, whether it does or not.
            let idle = usize::from(!text.ends_with(" ;"));
            let long = text.len().max(text.len() - line.guard + GUARD.min(line.guard));
            width = width.max(8 + address_width(i * WORD) + GUARD + long + idle);
            start = line.end;
        }
        let places = &labels.sections[section];
        for (_, targets) in &places.branches {
            note = note.max(branch_note(places, targets).len());
        }
    }
    Columns { note: width, words: width + note + 2 }
}

/// Characters of `/*0000*/`.
fn address_width(address: usize) -> usize {
    4 + 4.max((usize::BITS - address.leading_zeros()).div_ceil(4) as usize)
}

/// The places that an indirect branch goes to, each once.
fn branch_note(places: &Places<'_>, targets: &[u64]) -> String {
    let mut seen = FxHashSet::default();
    let mut note = String::new();
    for target in targets {
        let start = note.len();
        note.push_str(if start == 0 { "(*\"BRANCH_TARGETS " } else { "," });
        if !seen.insert(target) || !places.write(&mut note, *target) {
            note.truncate(start);
        }
    }
    if !note.is_empty() {
        note.push_str("\"*)");
    }
    note
}

struct Show<'s, 'a> {
    code: &'s Code<'a>,
    options: DisOptions,
    columns: Columns,
    labels: &'s Labels<'s>,
}

impl Show<'_, '_> {
    /// As `cuobjdump -sass`.
    fn plain(&self, out: &mut String, cubin: &Cubin<'_>, all: &[Lines]) {
        let name = self.code.target.name;
        let _ = write!(out, "\n\tcode for {name}\n");
        if cubin.os_abi != OLD_OS_ABI {
            let _ = writeln!(out, "\t.target\t{name}");
        }
        out.push('\n');
        let flags = header_flags(cubin);
        for ((_, part), lines) in self.code.shown().map(|(i, p)| ((i, p), &all[i])) {
            let _ = write!(out, "\t\tFunction : {}\n\t.headerflags\t@\"{flags}\"\n", part.name);
            self.body(out, part, lines, None);
            out.push_str("\t\t..........\n\n\n");
        }
    }

    /// As `nvdisasm -c`.
    fn labelled(&self, out: &mut String, cubin: &Cubin<'_>, all: &[Lines]) -> Result<(), DisError> {
        let limit = self.code.limit();
        if cubin.os_abi == OLD_OS_ABI {
            let _ = writeln!(out, "\t.headerflags\t@\"{}\"", header_flags(cubin));
        } else {
            let _ = writeln!(out, "\t.target\t{}", self.code.target.name);
        }
        let kind = if cubin.file_type == OBJECT { "ET_REL" } else { "ET_EXEC" };
        let _ = write!(out, "\n\t.elftype\t@\"{kind}\"\n");
        for (index, part) in self.code.shown() {
            let Some(function) = self.code.function(index) else { continue };
            self.section(out, &cubin.sections[function.section]);
            let places = &self.labels.sections[index];
            let mut named = false;
            for (_, _, symbol) in places.functions_at(0) {
                // The section's own label stands behind global functions and before all others.
                if symbol.binding != GLOBAL && !named {
                    let _ = writeln!(out, ".text.{}:", part.name);
                    named = true;
                }
                function_head(out, places, symbol);
                if out.len() > limit {
                    return Err(DisError::TooLong);
                }
            }
            if !named {
                let _ = writeln!(out, ".text.{}:", part.name);
            }
            self.body(out, part, &all[index], Some(places));
            if out.len() > limit {
                return Err(DisError::TooLong);
            }
        }
        symbols(out, cubin);
        Ok(())
    }

    /// The head of a text section.
    fn section(&self, out: &mut String, section: &Section<'_>) {
        let name = section.name;
        let _ = write!(
            out,
            "\n\n//--------------------- {name:<25} --------------------------\n\
             \t.section\t{name},\"ax\",@progbits\n"
        );
        let (flags, info) = (section.flags >> 20 & 0x7f, section.info >> 24);
        if flags != 0 {
            let _ = writeln!(out, "\t.sectionflags\t@\"SHF_BARRIERS={flags}\"");
        }
        if info != 0 {
            let _ = writeln!(out, "\t.sectioninfo\t@\"SHI_REGISTERS={info}\"");
        }
        let _ = writeln!(out, "\t.align\t{}", section.align);
    }

    /// Instruction lines, with labels where `places` is given.
    fn body(&self, out: &mut String, part: &Part<'_>, lines: &Lines, places: Option<&Places<'_>>) {
        let hex = self.options.hex || !self.options.labels;
        out.reserve(lines.text.len() + lines.lines.len() * if hex { 200 } else { 50 });
        let mut start = 0;
        for (i, (line, word)) in lines.lines.iter().zip(part.words).enumerate() {
            let address = (i * WORD) as u64;
            if let Some(places) = places {
                self.labels_at(out, places, address, i == 0);
            }
            let text = &lines.text[start..line.end];
            start = line.end;
            let begin = out.len();
            if let Some(control) = &line.control {
                let _ = write!(out, "  {control:<21}");
            }
            let margin = out.len() - begin;
            out.push_str("        /*");
            push_hex(out, address, 4);
            out.push_str("*/");
            spaces(out, GUARD.saturating_sub(line.guard));
            let note = places.map_or(String::new(), |places| {
                let at = places.branches.binary_search_by_key(&address, |b| b.0);
                at.map_or(String::new(), |at| branch_note(places, &places.branches[at].1))
            });
            if note.is_empty() {
                out.push_str(text);
            } else {
                out.push_str(text.trim_end_matches([' ', ';']));
                spaces(out, (begin + margin + self.columns.note).saturating_sub(out.len()));
                out.push_str(&note);
                out.push(';');
            }
            if hex {
                let word = u128::from_le_bytes(*word);
                let column = margin + self.columns.words;
                spaces(out, (begin + column).saturating_sub(out.len()));
                for (i, half) in [word as u64, (word >> 64) as u64].into_iter().enumerate() {
                    if i == 1 {
                        spaces(out, column);
                    }
                    out.push_str("/* 0x");
                    push_hex(out, half, 16);
                    out.push_str(" */\n");
                }
            } else {
                out.push('\n');
            }
        }
        if let Some(places) = places {
            self.labels_at(out, places, part.size(), false);
        }
    }

    /// The functions and labels at a place; the functions at the start stand before the section's
    /// own label.
    fn labels_at(&self, out: &mut String, places: &Places<'_>, address: u64, first: bool) {
        let functions = places.functions_at(address);
        if !first {
            for (_, _, symbol) in functions {
                function_head(out, places, symbol);
            }
        }
        if let (true, Some(number)) = (functions.is_empty(), places.number(address)) {
            label(out, number);
            out.push_str(":\n");
        }
    }
}

/// Directives and label of a function.
fn function_head(out: &mut String, places: &Places<'_>, symbol: &Symbol<'_>) {
    let name = symbol.name;
    match symbol.binding {
        GLOBAL => {
            let _ = writeln!(out, "        .global         {name}");
        }
        WEAK => {
            let _ = writeln!(out, "        .weak           {name}");
        }
        _ => {}
    }
    let _ =
        write!(out, "        .type           {name},@function\n        .size           {name},(");
    places.write(out, symbol.value.saturating_add(symbol.size));
    let _ = writeln!(out, " - {name})");
    if symbol.other & STO_CUDA_ENTRY != 0 {
        let _ = writeln!(out, "        .other          {name},@\"STO_CUDA_ENTRY STV_DEFAULT\"");
    }
    let _ = writeln!(out, "{name}:");
}

/// What the file needs from others.
fn symbols(out: &mut String, cubin: &Cubin<'_>) {
    let mut first = true;
    for symbol in cubin.symbols.iter().filter(|s| s.section == 0) {
        let kind = match symbol.kind {
            1 => "object",
            13 => "\"STT_CUDA_OBJECT\"",
            2 => "function",
            10 => "\"STT_CUDA_TEXTURE\"",
            11 => "\"STT_CUDA_SAMPLER\"",
            12 => "\"STT_CUDA_SURFACE\"",
            _ => continue,
        };
        if first {
            out.push_str("\n\n//--------------------- SYMBOLS --------------------------\n\n");
            first = false;
        }
        let name = symbol.name;
        let _ = writeln!(out, "\t.type\t\t{name},@{kind}");
        if symbol.size != 0 {
            let _ = writeln!(out, "\t.size\t\t{name},{:#x}", symbol.size);
        }
        if symbol.other == STO_CUDA_SHARED {
            let _ = writeln!(out, "\t.other\t\t{name},@\"STO_CUDA_SHARED STV_DEFAULT\"");
        }
    }
}

/// What cuobjdump says of the file's flags.
fn header_flags(cubin: &Cubin<'_>) -> String {
    let flags = cubin.flags;
    if cubin.os_abi == OLD_OS_ABI {
        let mut out = String::new();
        for (bit, name) in [
            (0x100, "EF_CUDA_TEXMODE_UNIFIED "),
            (0x400, "EF_CUDA_64BIT_ADDRESS "),
            (0x800, "EF_CUDA_ACCELERATORS "),
            (0x1000, "EF_CUDA_SW_1729687_v2 "),
        ] {
            if flags & bit != 0 {
                out.push_str(name);
            }
        }
        let _ = write!(out, "EF_CUDA_SM{}", flags & 0xff);
        if flags >> 16 & 0xff != 0 {
            let _ = write!(out, " EF_CUDA_VIRTUAL_SM(EF_CUDA_SM{})", flags >> 16 & 0xff);
        }
        return out;
    }
    let accelerators = if accelerated(cubin) { "EF_CUDA_ACCELERATORS " } else { "" };
    // Byte 26 of the note is the virtual SM; files of an earlier ABI version have none (observed).
    let note = cubin.section(".note.nv.cuinfo").map_or(&[][..], |s| s.data);
    match note.get(26..28) {
        Some(&[low, high]) if cubin.abi_version >= 8 => {
            let sm = u16::from_le_bytes([low, high]);
            format!("{accelerators}EF_CUDA_SM{} EF_CUDA_VIRTUAL_SM(EF_CUDA_SM{sm})", cubin.sm())
        }
        _ => format!("{accelerators}EF_CUDA_SM{} unrecognized:0", cubin.sm()),
    }
}

/// Appends so many spaces.
fn spaces(out: &mut String, mut count: usize) {
    const SPACES: &str = "                                                                ";
    while count > 0 {
        let now = count.min(SPACES.len());
        out.push_str(&SPACES[..now]);
        count -= now;
    }
}

/// Appends hexadecimal digits, at least so many.
fn push_hex(out: &mut String, value: u64, least: u32) {
    let digits = least.max((u64::BITS - value.leading_zeros()).div_ceil(4));
    for i in (0..digits).rev() {
        out.push(char::from(b"0123456789abcdef"[(value >> (4 * i)) as usize & 15]));
    }
}
