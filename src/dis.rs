//! Disassembly: a cubin, or raw instruction words, as text.
//!
//! The plain listing is that of `cuobjdump -sass` (targets as numbers, words beside the text), the one with labels that of
//! `nvdisasm -c`: the same instruction lines, checked by `tests/dis_oracle.rs`.

use crate::elf::read::{Cubin, Function, ReadError};
use orias_components::{Inst, Operand};
use orias_targets::text::{self, Numeric, Targets};
use orias_targets::{DecodeError, Target, target};
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// Bytes of an instruction.
const WORD: usize = 16;
/// Section type of `.nv.compat`'s record that says whether the code is for one SM only (observed: ptxas 13.0.88).
const COMPAT_ACCELERATED: u8 = 9;

/// What a listing shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DisOptions {
    /// Labels for branch targets, and the directives of `nvdisasm -c`.
    pub labels: bool,
    /// The words beside the text (the plain listing always has them).
    pub hex: bool,
    /// Scoreboards and stalls before the text.
    pub control: bool,
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DisError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("no target `{0}`: sm_90 and sm_90a are known")]
    Target(String),
    #[error("{function}: {bytes} bytes of code are no whole number of 16-byte instructions")]
    Length { function: String, bytes: usize },
    #[error("{function}: {error}")]
    Decode { function: String, error: DecodeError },
}

/// The target that a cubin is for.
pub fn target_of(cubin: &Cubin) -> Result<&'static Target, DisError> {
    let compat = cubin.section(".nv.compat").map_or(&[][..], |s| s.data);
    let accelerated = compat.chunks_exact(4).any(|r| r[1] == COMPAT_ACCELERATED && r[2] == 1);
    let name = format!("sm_{}{}", cubin.sm(), if accelerated { "a" } else { "" });
    target(&name).ok_or(DisError::Target(name))
}

/// The words of a text section.
pub fn words(function: &str, text: &[u8]) -> Result<Vec<u128>, DisError> {
    let (words, rest) = text.as_chunks::<WORD>();
    if !rest.is_empty() {
        return Err(DisError::Length { function: function.into(), bytes: text.len() });
    }
    Ok(words.iter().map(|w| u128::from_le_bytes(*w)).collect())
}

fn decode(target: &Target, function: &str, words: &[u128]) -> Result<Vec<Inst>, DisError> {
    let decoded = words.iter().enumerate().map(|(i, w)| target.decode(*w, (i * WORD) as u64));
    decoded
        .collect::<Result<_, _>>()
        .map_err(|error| DisError::Decode { function: function.into(), error })
}

/// The listing of a whole cubin.
pub fn cubin(file: &[u8], options: DisOptions) -> Result<String, DisError> {
    let cubin = Cubin::read(file)?;
    let target = target_of(&cubin)?;
    let mut out = String::new();
    let mut functions = Vec::new();
    for function in &cubin.functions {
        let words = words(function.name, function.text)?;
        let insts = decode(target, function.name, &words)?;
        functions.push((function, words, insts));
    }
    if options.labels {
        let labels = number_labels(&cubin, functions.iter().map(|(f, _, i)| (*f, i.as_slice())));
        let _ = write!(out, "\t.target\t{}\n\n\t.elftype\t@\"ET_EXEC\"\n\n", target.name);
        for ((function, words, insts), labels) in functions.iter().zip(&labels) {
            section(&mut out, &cubin, function);
            let lines = lines(target, insts, &mut &*labels);
            body(&mut out, words, insts, &lines, options, Some(labels));
        }
    } else {
        let _ = write!(out, "\n\tcode for {0}\n\t.target\t{0}\n", target.name);
        for (function, words, insts) in &functions {
            let flags = if target.accelerated { "EF_CUDA_ACCELERATORS " } else { "" };
            let _ = write!(
                out,
                "\n\t\tFunction : {}\n\t.headerflags\t@\"{flags}EF_CUDA_SM{1} EF_CUDA_VIRTUAL_SM(EF_CUDA_SM{1})\"\n",
                function.name, target.sm
            );
            let lines = lines(target, insts, &mut &Numeric);
            body(&mut out, words, insts, &lines, DisOptions { hex: true, ..options }, None);
            out.push_str("\t\t..........\n\n");
        }
    }
    Ok(out)
}

/// Raw instruction words, as if they stood at address 0.
pub fn raw(target: &Target, bytes: &[u8], options: DisOptions) -> Result<String, DisError> {
    let words = words("raw code", bytes)?;
    let insts = decode(target, "raw code", &words)?;
    let mut out = String::new();
    body(&mut out, &words, &insts, &lines(target, &insts, &mut &Numeric), options, None);
    Ok(out)
}

fn lines(target: &Target, insts: &[Inst], targets: &mut dyn Targets) -> Vec<String> {
    let line = |inst: &Inst| {
        let mut out = String::with_capacity(64);
        text::write(&mut out, target, target.form(inst), inst, targets);
        out
    };
    insts.iter().map(line).collect()
}

/// The head of a text section as nvdisasm prints it.
fn section(out: &mut String, cubin: &Cubin, function: &Function) {
    let name = function.name;
    let _ = write!(
        out,
        "\n//--------------------- .text.{name:<20} --------------------------\n\
         \t.section\t.text.{name},\"ax\",@progbits\n\t.align\t{}\n\
         \x20       .global         {name}\n        .type           {name},@function\n{name}:\n.text.{name}:\n",
        cubin.sections[function.section].align
    );
}

/// Instruction lines; the guard stands before the column of the mnemonics.
fn body(
    out: &mut String,
    words: &[u128],
    insts: &[Inst],
    lines: &[String],
    options: DisOptions,
    labels: Option<&Labels>,
) {
    const GUARD: usize = 19;
    let split = |line: &str| -> (String, String) {
        match line.split_once(' ') {
            Some((guard, rest)) if guard.starts_with('@') => (format!("{guard} "), rest.into()),
            _ => (String::new(), line.into()),
        }
    };
    let width = lines.iter().map(|l| split(l).1.len()).max().unwrap_or(0);
    for (i, line) in lines.iter().enumerate() {
        let address = i * WORD;
        if let Some(name) = labels.and_then(|l| l.0.get(&(address as u64))) {
            let _ = writeln!(out, "{name}:");
        }
        if options.control {
            let _ = write!(out, "  {}", insts[i].control);
        }
        let (guard, text) = split(line);
        let _ = write!(out, "        /*{address:04x}*/{guard:>GUARD$}{text}");
        if options.hex {
            let (low, high) = (words[i] as u64, (words[i] >> 64) as u64);
            let _ = writeln!(out, "{:1$}  /* {low:#018x} */", "", width - text.len());
            let indent = 16 + GUARD + width + if options.control { 25 } else { 0 };
            let _ = writeln!(out, "{:indent$}  /* {high:#018x} */", "");
        } else {
            out.push('\n');
        }
    }
}

/// Names of the places in one text section, by byte offset.
struct Labels(FxHashMap<u64, String>);

impl Targets for &Labels {
    fn place(&mut self, out: &mut String, address: u64) -> bool {
        match self.0.get(&address) {
            Some(label) => write!(out, "`({label})").is_ok(),
            None => false,
        }
    }
}

/// Names every branch target as nvdisasm does: a function's start by its name, other places `.L_x_N`, counted over the
/// whole file in the order in which the code first names them.
fn number_labels<'a>(
    cubin: &Cubin,
    functions: impl Iterator<Item = (&'a Function<'a>, &'a [Inst])>,
) -> Vec<Labels> {
    let mut next = 0;
    let mut all = Vec::new();
    for (function, insts) in functions {
        let mut names: FxHashMap<u64, String> = FxHashMap::default();
        for inner in &function.inner {
            names.insert(inner.range.start, cubin.symbols[inner.symbol].name.to_string());
        }
        names.insert(0, function.name.to_string());
        for inst in insts {
            for operand in &inst.operands {
                let Operand::Addr(address) = operand else { continue };
                // Places outside the section (the `BRX` base) stay numbers.
                if *address >= function.text.len() as u64 {
                    continue;
                }
                names.entry(*address).or_insert_with(|| {
                    next += 1;
                    format!(".L_x_{}", next - 1)
                });
            }
        }
        all.push(Labels(names));
    }
    all
}

/// What `--check` counts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Check {
    pub words: usize,
    pub decoded: usize,
    /// Encoding the decoded instruction gives the same bits.
    pub identical: usize,
    /// The first words that failed: function, byte offset, what is wrong.
    pub failures: Vec<(String, u64, String)>,
}

impl Check {
    /// Decodes and encodes every word of a function's text.
    pub fn text(&mut self, target: &Target, function: &str, text: &[u8]) -> Result<(), DisError> {
        for (i, word) in words(function, text)?.into_iter().enumerate() {
            let pc = (i * WORD) as u64;
            self.words += 1;
            let inst = match target.decode(word, pc) {
                Ok(inst) => inst,
                Err(e) => {
                    self.failures.push((function.into(), pc, e.to_string()));
                    continue;
                }
            };
            self.decoded += 1;
            match target.encode(&inst, pc) {
                Ok(again) if again == word => self.identical += 1,
                Ok(again) => {
                    let what = format!("{word:#034x} encodes as {again:#034x}");
                    self.failures.push((function.into(), pc, what));
                }
                Err(e) => self.failures.push((function.into(), pc, e.to_string())),
            }
        }
        Ok(())
    }

    /// Checks a whole cubin.
    pub fn cubin(file: &[u8]) -> Result<Check, DisError> {
        let cubin = Cubin::read(file)?;
        let target = target_of(&cubin)?;
        let mut check = Check::default();
        for function in &cubin.functions {
            check.text(target, function.name, function.text)?;
        }
        Ok(check)
    }

    /// Every word came back.
    pub fn passed(&self) -> bool {
        self.words == self.identical
    }
}
