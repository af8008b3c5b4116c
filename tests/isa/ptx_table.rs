//! The committed table of PTX: for each instruction × type × group of modifiers that ptxas accepts
//! for sm_90a, how many of some of the generator's kernels our parser reads, our checks accept, our
//! compiler compiles at -O0 and -O3, and what their launches give.
//!
//! Modifiers of which an instruction has one of many that only turn a field of the word are one
//! group: scopes, orders, roundings, comparisons, cache words, vector sizes.

use crate::differ::{self, End, Verdict};
use crate::generate::{self, accept::accept};
use crate::ours;
use crate::setup::Setup;
use orias::driver::CompileOptions;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

/// The committed file, from the workspace's root.
pub const FILE: &str = "tests/isa/PTX.tsv";

/// The levels that are compiled.
pub const LEVELS: [u8; 2] = [0, 3];

/// How kernels end that compile, and the columns' names: the worse of both levels, which is the
/// later one here.
///
/// Neither engine can finish what stands from `address` to `refused`: the generator makes kernels
/// to be compiled, and inputs for most of them ([`crate::inputs`]), not for all.
pub const ENDS: [(&str, &str); 11] = [
    ("tested", "both levels give the interpreter's buffers in the simulator"),
    ("address", "not run: it reaches memory that is not there"),
    ("endless", "not run: it waits for what nobody does, or runs on"),
    ("stops", "run until it stops itself, by a trap or an assertion"),
    ("refused", "not run: the launch or an operand is not what the kernel asks for"),
    ("chance", "its result is memory that nobody wrote"),
    ("order", "threads meet in one place in another order; one alone gives the same"),
    ("as_ptxas", "not as the interpreter, but as ptxas's cubin in the simulator"),
    ("hazard", "the simulator finds a hazard"),
    ("one_stops", "one engine stops where the other goes on"),
    ("differs", "the buffers differ"),
];

/// The column of a kernel's end.
fn column(verdict: &Verdict) -> usize {
    let has = |text: &str, list: &[&str]| list.iter().any(|part| text.contains(part));
    let name = match &verdict.end {
        _ if !verdict.hazards.is_empty() => "hazard",
        End::Same | End::Near(_) => "tested",
        End::AsReference(_) => "as_ptxas",
        End::Order(_) => "order",
        End::Differ(_) => "differs",
        End::Interpreter(_) | End::Simulator(_) => "one_stops",
        End::Unwritten(_) => "chance",
        End::Both(text, _) if has(text, &["still running", "deadlock"]) => "endless",
        End::Both(text, _) if has(text, &["trap", "assert"]) => "stops",
        End::Both(text, _) if has(text, ADDRESSES) => "address",
        End::Both(..) => "refused",
    };
    ENDS.iter().position(|(n, _)| *n == name).unwrap_or(ENDS.len() - 1)
}

/// Parts of the interpreter's messages on addresses.
const ADDRESSES: &[&str] =
    &["out-of-bounds", "misaligned", "read-only", "no such block", "no function"];

/// The words of a group, and what stands for them.
const GROUPS: &[(&str, &[&str])] = &[
    ("<scope>", &["cta", "cluster", "gpu", "sys"]),
    ("<order>", &["weak", "volatile", "mmio", "relaxed", "acquire", "release", "acq_rel", "sc"]),
    ("<rounding>", &["rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi"]),
    (
        "<comparison>",
        &[
            "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu",
            "gtu", "geu", "num", "nan",
        ],
    ),
    ("<cache>", &["ca", "cg", "cs", "lu", "cv", "wb", "wt"]),
    ("<vector>", &["v2", "v4", "v8"]),
];

/// The line that a spelled instruction belongs to: `atom.acquire.gpu.global.add.u32` is
/// `atom.<order>.<scope>.global.add.u32`.
pub fn line_of(mnemonic: &str) -> String {
    let mut words = mnemonic.split('.');
    let opcode = words.next().unwrap_or_default();
    let compares = matches!(opcode, "set" | "setp" | "vset" | "vset2" | "vset4");
    let mut line = opcode.to_string();
    for word in words {
        let group = GROUPS
            .iter()
            .find(|(name, list)| list.contains(&word) && (compares || *name != "<comparison>"));
        let hint = ["L1::", "L2::"].iter().any(|p| word.starts_with(p));
        let word = match group {
            Some((name, _)) => name,
            None if hint && opcode != "createpolicy" => "<hint>",
            None if compares && matches!(word, "and" | "or" | "xor") => "<combination>",
            None => word,
        };
        // Several hints are one.
        if !(word == "<hint>" && line.ends_with("<hint>")) {
            let _ = write!(line, ".{word}");
        }
    }
    line
}

/// The line of a kernel: that of the instruction under test, or the name of a text that exercises
/// several.
pub fn kernel_line(group: &str, name: &str, instruction: &str) -> String {
    if instruction.contains('\n') {
        let name = name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('_');
        return format!("({group}) {name}");
    }
    let longest = generate::mnemonics(instruction).into_iter().max_by_key(String::len);
    line_of(&longest.unwrap_or_default())
}

/// What is known of a line.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Line {
    /// Different spellings.
    pub forms: BTreeSet<String>,
    pub kernels: usize,
    pub parsed: usize,
    pub checked: usize,
    /// By level, as [`LEVELS`].
    pub compiled: [usize; 2],
    /// Kernels that compile at both levels, by how they end: as [`ENDS`].
    pub ends: [usize; ENDS.len()],
    /// Why the first kernel that does not compile does not.
    pub why: String,
}

/// Measures `most` of the generator's kernels of each line, evenly spread over it; where ptxas
/// takes none of them, all of the line's.
pub fn measure(ptxas: &Path, target: &str, most: usize) -> BTreeMap<String, Line> {
    let mut modules = generate::modules(target);
    modules.retain(|m| m.options.is_empty());
    let mut of_line: BTreeMap<String, Vec<(usize, usize)>> = BTreeMap::new();
    for (m, module) in modules.iter().enumerate() {
        for (k, kernel) in module.kernels.iter().enumerate() {
            let line = kernel_line(kernel.group, &kernel.name, &kernel.instruction);
            of_line.entry(line).or_default().push((m, k));
        }
    }
    let chosen = |list: &Vec<(usize, usize)>| -> Vec<(usize, usize)> {
        let step = list.len().div_ceil(most.max(1)).max(1);
        list.iter().step_by(step).copied().collect()
    };
    let first = of_line.values().flat_map(chosen).collect();
    let mut all = run(ptxas, &modules, &first);
    let missing = of_line.iter().filter(|(line, _)| !all.contains_key(*line));
    let rest: BTreeSet<(usize, usize)> = missing
        .flat_map(|(_, list)| list.iter().copied())
        .filter(|at| !first.contains(at))
        .collect();
    all.extend(run(ptxas, &modules, &rest));
    all
}

/// Compiles and launches the chosen kernels (module and number) that ptxas takes.
fn run(
    ptxas: &Path,
    modules: &[generate::Module],
    chosen: &BTreeSet<(usize, usize)>,
) -> BTreeMap<String, Line> {
    let kept = |(m, module): (usize, &generate::Module)| {
        let kernels = module.kernels.iter().enumerate();
        let kernels = kernels.filter(|(k, _)| chosen.contains(&(m, *k)));
        generate::Module { kernels: kernels.map(|(_, k)| k.clone()).collect(), ..module.clone() }
    };
    let modules: Vec<generate::Module> = modules.iter().enumerate().map(kept).collect();
    let parts: Vec<BTreeMap<String, Line>> = modules
        .into_par_iter()
        .filter(|module| !module.kernels.is_empty())
        .flat_map_iter(|module| accept(ptxas, module))
        .filter(|part| !part.module.kernels.is_empty())
        .map(|part| one(&part.module, &part.cubin))
        .collect();
    let mut all: BTreeMap<String, Line> = BTreeMap::new();
    for (name, line) in parts.into_iter().flatten() {
        let sum = all.entry(name).or_default();
        sum.forms.extend(line.forms);
        sum.kernels += line.kernels;
        sum.parsed += line.parsed;
        sum.checked += line.checked;
        (0..2).for_each(|level| sum.compiled[level] += line.compiled[level]);
        sum.ends.iter_mut().zip(line.ends).for_each(|(sum, n)| *sum += n);
        if sum.why.is_empty() {
            sum.why = line.why;
        }
    }
    all
}

/// How a kernel fared at one level.
enum Fate {
    Refused(String),
    Ran(usize),
}

fn one(module: &generate::Module, reference: &[u8]) -> BTreeMap<String, Line> {
    let (text, _) = module.text();
    let read = orias::ptx::load(&text).is_ok();
    // Where one kernel is refused each is asked alone.
    let [parsed, checked] = if read {
        [vec![true; module.kernels.len()], vec![true; module.kernels.len()]]
    } else {
        let alone = |kernel: &generate::Kernel| {
            let one = generate::Module { kernels: vec![kernel.clone()], ..module.clone() };
            one.text().0
        };
        let texts: Vec<String> = module.kernels.iter().map(alone).collect();
        let parses = |t: &String| !orias::ptx::parser::parse(t, &mut ()).has_errors();
        [
            texts.iter().map(parses).collect(),
            texts.iter().map(|t| orias::ptx::load(t).is_ok()).collect(),
        ]
    };
    let kept: Vec<generate::Kernel> = module
        .kernels
        .iter()
        .zip(&checked)
        .filter(|(_, checked)| **checked)
        .map(|(kernel, _)| kernel.clone())
        .collect();
    let (text, _) = generate::Module { kernels: kept, ..module.clone() }.text();
    let fates = LEVELS.map(|level| fates(&text, reference, level));
    let mut lines: BTreeMap<String, Line> = BTreeMap::new();
    for (i, kernel) in module.kernels.iter().enumerate() {
        let name = kernel_line(kernel.group, &kernel.name, &kernel.instruction);
        let line = lines.entry(name).or_default();
        line.forms.insert(generate::mnemonics(&kernel.instruction).join(" "));
        line.kernels += 1;
        line.parsed += usize::from(parsed[i]);
        line.checked += usize::from(checked[i]);
        let mut ends = Vec::new();
        for (level, fates) in fates.iter().enumerate() {
            match fates.get(&kernel.name) {
                Some(Fate::Ran(end)) => {
                    line.compiled[level] += 1;
                    ends.push(*end);
                }
                Some(Fate::Refused(why)) if line.why.is_empty() => line.why = why.clone(),
                _ => {}
            }
        }
        if let (2, Some(worst)) = (ends.len(), ends.into_iter().max()) {
            line.ends[worst] += 1;
        }
    }
    lines
}

/// What becomes of each kernel at a level.
fn fates(text: &str, reference: &[u8], opt_level: u8) -> BTreeMap<String, Fate> {
    let options = CompileOptions { opt_level, threads: 1, ..Default::default() };
    let mut fates = BTreeMap::new();
    let Ok(made) = ours::compile(text, &options) else { return fates };
    let setup = Setup { steps: 20_000, meaningful: true, ..Setup::default() };
    if let Some(cubin) = &made.cubin {
        let there = |name: &str| !made.refused.iter().any(|(n, _)| n == name);
        let verdicts = differ::module_beside(text, cubin, Some(reference), setup, there);
        for verdict in verdicts.unwrap_or_default() {
            let end = column(&verdict);
            fates.insert(verdict.kernel, Fate::Ran(end));
        }
    }
    for (kernel, why) in made.refused {
        fates.insert(kernel, Fate::Refused(why.replace(['\t', '\n'], " ")));
    }
    fates
}

/// The file's text.
pub fn text(lines: &BTreeMap<String, Line>) -> String {
    let ends: Vec<&str> = ENDS.iter().map(|(name, _)| *name).collect();
    let mut text =
        format!("instruction\tforms\tkernels\tparsed\tchecked\tO0\tO3\t{}\twhy\n", ends.join("\t"));
    for (name, l) in lines {
        let [o0, o3] = l.compiled;
        let first = [l.forms.len(), l.kernels, l.parsed, l.checked, o0, o3];
        let numbers: Vec<String> = first.iter().chain(&l.ends).map(usize::to_string).collect();
        let _ = writeln!(text, "{name}\t{}\t{}", numbers.join("\t"), l.why);
    }
    text
}

/// A line of the committed file.
pub struct Committed {
    pub kernels: usize,
    pub compiled: [usize; 2],
}

/// Reads the committed file.
///
/// # Errors
/// When a line is not one.
pub fn read(text: &str) -> Result<BTreeMap<String, Committed>, String> {
    let line = |line: &str| -> Option<(String, Committed)> {
        let columns: Vec<&str> = line.split('\t').collect();
        let number = |i: usize| columns.get(i)?.parse().ok();
        let compiled = [number(5)?, number(6)?];
        Some((columns.first()?.to_string(), Committed { kernels: number(2)?, compiled }))
    };
    let read = |text: &str| line(text).ok_or(format!("not a line of the table: {text}"));
    text.lines().skip(1).map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::line_of;

    #[test]
    fn modifiers_of_a_group_are_one() {
        let lines = [
            ("atom.acquire.gpu.global.add.u32", "atom.<order>.<scope>.global.add.u32"),
            ("mul.hi.s32", "mul.hi.s32"),
            ("setp.hi.and.u32", "setp.<comparison>.<combination>.u32"),
            ("ld.global.L1::evict_last.L2::cache_hint.v2.f32", "ld.global.<hint>.<vector>.f32"),
        ];
        for (mnemonic, line) in lines {
            assert_eq!(line_of(mnemonic), line);
        }
    }
}
