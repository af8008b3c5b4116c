//! How much of what the compiler of reference emits the table explains: every distinct word of a
//! set of cubins decodes, is the same after encoding it again, and reads as the reference
//! disassembler reads it.

use crate::words;
use orias::dis::{self, DisOptions};
use orias::elf::read::Cubin;
use orias_targets::Target;
use orias_targets::text::{Numeric, instruction};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

/// Words by value: how often each was seen, and where first.
#[derive(Default)]
pub struct Seen {
    pub words: BTreeMap<u128, (u64, String)>,
}

impl Seen {
    /// Adds all instruction words of a cubin. `name` says where they are from.
    ///
    /// # Errors
    /// When the file is no cubin.
    pub fn add(&mut self, name: &str, file: &[u8]) -> Result<(), String> {
        let cubin = Cubin::read(file).map_err(|e| format!("{name}: {e}"))?;
        for function in &cubin.functions {
            for (i, word) in function.text.as_chunks::<16>().0.iter().enumerate() {
                let entry = self.words.entry(u128::from_le_bytes(*word));
                let seen =
                    entry.or_insert_with(|| (0, format!("{name} {} {:#x}", function.name, 16 * i)));
                seen.0 += 1;
            }
        }
        Ok(())
    }
}

/// The files with an extension below some paths, in order; a path that is a file stands for itself.
pub fn files(paths: &[PathBuf], extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting: Vec<PathBuf> = paths.to_vec();
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting
                .extend(std::fs::read_dir(&path).into_iter().flatten().flatten().map(|e| e.path()));
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// What is wrong with a word.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fault {
    /// No row explains it.
    Unknown,
    /// It decodes, but encodes to another word.
    Changed,
    /// It reads differently.
    Text,
}

/// A distinct word with a fault.
pub struct Missing {
    pub fault: Fault,
    pub word: u128,
    pub count: u64,
    pub place: String,
    pub reference: String,
    /// Our text, or why there is none.
    pub ours: String,
}

impl Missing {
    /// Opcode and modifiers of the reference text: the name of the form.
    pub fn mnemonic(&self) -> &str {
        mnemonic(&self.reference)
    }
}

/// Opcode and modifiers of an instruction's text, without its guard.
pub fn mnemonic(text: &str) -> &str {
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or("");
    if first.starts_with('@') { words.next().unwrap_or("") } else { first }
}

/// The numbers for one SM: of words in all, and of distinct ones.
#[derive(Default)]
pub struct Coverage {
    pub words: u64,
    pub distinct: u64,
    pub decoded: u64,
    pub identical: u64,
    pub same_text: u64,
    /// Distinct words with a fault, the most frequent first.
    pub missing: Vec<Missing>,
}

impl Coverage {
    /// Forms with a fault by name: words in all, distinct words, an example.
    pub fn by_mnemonic(&self) -> Vec<(Fault, &str, u64, usize, &Missing)> {
        let mut forms: BTreeMap<(Fault, &str), (u64, usize, &Missing)> = BTreeMap::new();
        for m in &self.missing {
            let form = forms.entry((m.fault, m.mnemonic())).or_insert((0, 0, m));
            form.0 += m.count;
            form.1 += 1;
        }
        let mut list: Vec<_> = forms
            .into_iter()
            .map(|((fault, name), (count, distinct, m))| (fault, name, count, distinct, m))
            .collect();
        list.sort_by_key(|(fault, name, count, ..)| (std::cmp::Reverse(*count), *fault, *name));
        list
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |n: u64| 100.0 * n as f64 / self.words.max(1) as f64;
        write!(
            f,
            "{} words ({} distinct), {} decode ({:.3} %), {} are bit-identical ({:.3} %), {} have the reference text ({:.3} %)",
            self.words,
            self.distinct,
            self.decoded,
            percent(self.decoded),
            self.identical,
            percent(self.identical),
            self.same_text,
            percent(self.same_text),
        )
    }
}

/// Holds every word against the table and the disassembler of reference.
pub fn measure(target: &Target, nvdisasm: &Path, seen: &Seen) -> Coverage {
    let list: Vec<(&u128, &(u64, String))> = seen.words.iter().collect();
    let machine = words::machine(target.name);
    let mut coverage = Coverage::default();
    let parts: Vec<_> = list
        .par_chunks(16384)
        .map(|part| {
            let words: Vec<u128> = part.iter().map(|(w, _)| **w).collect();
            let texts = words::texts(nvdisasm, &machine, &words);
            part.iter().zip(texts).enumerate().map(|(i, e)| check(target, i, e)).collect::<Vec<_>>()
        })
        .collect();
    for (count, reached, missing) in parts.into_iter().flatten() {
        coverage.words += count;
        coverage.distinct += 1;
        coverage.decoded += if reached > 0 { count } else { 0 };
        coverage.identical += if reached > 1 { count } else { 0 };
        coverage.same_text += if reached > 2 { count } else { 0 };
        coverage.missing.extend(missing);
    }
    coverage.missing.sort_by_key(|m| std::cmp::Reverse(m.count));
    coverage
}

type Entry<'a> = (&'a (&'a u128, &'a (u64, String)), Option<String>);

/// How far a word comes (0: unknown, 1: decodes, 2: identical, 3: same text), and its fault.
fn check(target: &Target, index: usize, entry: Entry<'_>) -> (u64, u8, Option<Missing>) {
    let ((word, (count, place)), reference) = entry;
    let pc = 16 * index as u64;
    let reference = reference.unwrap_or_else(|| "refused".into());
    let (reached, fault, ours) = match target.decode(**word, pc) {
        Err(e) => (0, Fault::Unknown, e.to_string()),
        Ok(inst) => {
            let ours = instruction(target, &inst, &Numeric);
            let same = ours == reference;
            match target.encode(&inst, pc) {
                Ok(again) if again == **word => (if same { 3 } else { 2 }, Fault::Text, ours),
                Ok(again) => (1, Fault::Changed, format!("{ours} encodes to {again:032x}")),
                Err(e) => (1, Fault::Changed, format!("{ours}: {e}")),
            }
        }
    };
    let missing =
        Missing { fault, word: **word, count: *count, place: place.clone(), reference, ours };
    (*count, reached, (reached < 3).then_some(missing))
}

/// Instruction lines of listings, and how many of them are the same in both.
#[derive(Clone, Copy, Default, Debug)]
pub struct Lines {
    pub all: u64,
    pub same: u64,
}

impl Lines {
    pub fn and(self, other: Lines) -> Lines {
        Lines { all: self.all + other.all, same: self.same + other.same }
    }
}

/// The instruction lines of a cubin: `nvdisasm -c` beside our listing with labels.
///
/// # Panics
/// When no temporary file can be written, or nvdisasm does not start.
pub fn lines(nvdisasm: &Path, cubin: &[u8]) -> Lines {
    static FILES: AtomicU64 = AtomicU64::new(0);
    let serial = FILES.fetch_add(1, Ordering::Relaxed);
    let file =
        std::env::temp_dir().join(format!("orias-lines-{}-{serial}.cubin", std::process::id()));
    std::fs::write(&file, cubin).expect("a temporary file");
    let out = Command::new(nvdisasm).arg("-c").arg(&file).output().expect("nvdisasm starts");
    let _ = std::fs::remove_file(&file);
    let theirs = String::from_utf8_lossy(&out.stdout).into_owned();
    let options = DisOptions { labels: true, ..DisOptions::default() };
    let ours = dis::cubin(cubin, options).unwrap_or_default();
    let mut mine = instruction_lines(&ours);
    let mut lines = Lines::default();
    for line in instruction_lines(&theirs) {
        lines.all += 1;
        lines.same += u64::from(mine.next() == Some(line));
    }
    lines
}

/// Address and text of each instruction of a listing.
fn instruction_lines(listing: &str) -> impl Iterator<Item = (&str, &str)> {
    listing.lines().filter_map(|line| {
        let (address, text) = line.trim_start().strip_prefix("/*")?.split_once("*/")?;
        let text = text.split("/*").next().unwrap_or("").trim();
        (!address.trim().starts_with("0x")).then_some((address, text))
    })
}
