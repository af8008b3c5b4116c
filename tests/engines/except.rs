//! What single kernels of the coverage set may end with besides equal buffers, and why
//! (`except.tbl`).
//!
//! A row names a kernel, its end and the cubins that end so. It fails where its cause cannot be the
//! kernel's (the instruction is another), and where no kernel needs it any more. "Both" is an end
//! too: a kernel that no engine runs shows nothing.

use orias_isa::differ::{End, Verdict};
use orias_isa::exceptions::{Exceptions as Table, has};
use orias_runner::oracle::workspace;
use std::collections::{BTreeMap, BTreeSet};

/// The rows that the verdicts of one compiler's cubins used.
pub struct Exceptions {
    table: Table,
    cubins: &'static str,
    instructions: BTreeMap<(String, String), String>,
    /// Of the opcodes that no engine has those that were met.
    missing: BTreeSet<&'static str>,
}

/// Opcodes that no engine has.
const MISSING: &[(&str, &str)] = &[
    ("istypep", "textures"),
    ("suld", "surfaces"),
    ("suq", "surfaces"),
    ("sured", "surfaces"),
    ("sust", "surfaces"),
    ("tex", "textures"),
    ("tld4", "textures"),
    ("txq", "textures"),
];

/// The same of the kernels from CUDA: file, kernel, end, whose cubins (empty: both compilers'),
/// why. They end so at every level.
const CUDA: &[(&str, &str, &str, &str, &str)] = &[
    ("math", "dmath", "near", "", "fused into one operation, rounded twice in the interpreter"),
    ("math_plain", "dmath", "near", "", "approximations of single precision inside"),
    ("math_plain", "fmath", "near", "", "each computes within the bound"),
    ("math", "fmath", "differ", "", "the sine of a subnormal number: the machine's is zero"),
    ("calls", "wide_values", "differ", "ptxas", "the upper half of a b128 that a function returns"),
];

/// What is wrong with the ends of the kernels from CUDA: file, kernel, end by level.
pub fn judge_cuda(compiler: &str, levels: usize, ends: &[(String, Verdict)]) -> Vec<String> {
    let mut count = vec![0; CUDA.len()];
    let mut wrong = Vec::new();
    for (file, verdict) in ends {
        let (kind, text) = kind(&verdict.end);
        let row = CUDA.iter().position(|(f, kernel, end, by, _)| {
            (*f, *kernel, *end) == (file, &verdict.kernel, kind)
                && (by.is_empty() || *by == compiler)
        });
        match row {
            Some(row) => count[row] += 1,
            None if kind == "same" => {}
            None => wrong.push(format!("{file} {}: {kind}: {text}", verdict.kernel)),
        }
        let hazard = |h| format!("{file} {}: {h}", verdict.kernel);
        wrong.extend(verdict.hazards.iter().map(hazard));
    }
    for ((file, kernel, end, by, why), count) in CUDA.iter().zip(count) {
        if (by.is_empty() || *by == compiler) && count != levels {
            wrong.push(format!("{file} {kernel} ends `{end}` at {count} levels only: {why}"));
        }
    }
    wrong
}

impl Exceptions {
    /// # Panics
    /// When the table is none, or names a cause that cannot be the kernel's.
    pub fn of(cubins: &'static str) -> Exceptions {
        let table = Table::read("except.tbl", include_str!("except.tbl"), 5);
        let instructions = instructions();
        for row in table.rows() {
            let [group, kernel, _, _, cause] = row[..] else { continue };
            let instruction = instructions.get(&(group.to_string(), kernel.to_string()));
            let instruction = instruction.unwrap_or_else(|| panic!("no kernel {group} {kernel}"));
            // Behind what a cause is stand words of which its instructions have one.
            assert!(
                table.cause(cause)[1..].iter().any(|word| instruction.contains(word)),
                "except.tbl: {cause} is not the cause in `{instruction}` ({kernel})"
            );
        }
        Exceptions { table, cubins, instructions, missing: BTreeSet::new() }
    }

    /// None where the verdict is equal buffers or has its row; else what is wrong.
    pub fn judge(&mut self, group: &str, verdict: &Verdict) -> Option<String> {
        let (kind, text) = kind(&verdict.end);
        let key = (group.to_string(), verdict.kernel.clone());
        let opcode = self.instructions.get(&key).and_then(|i| i.split(['.', ' ']).next());
        let lacks = MISSING.iter().map(|(name, _)| *name).find(|name| Some(*name) == opcode);
        if let Some(lacks) = lacks {
            let refused = refused_for(&verdict.end) == Some(lacks);
            self.missing.insert(lacks);
            return (!refused).then(|| format!("{group} {}: {kind}, not missing", verdict.kernel));
        }
        if kind == "same" {
            return None;
        }
        let cubins = self.cubins;
        let fits = |row: &[&str]| row[..3] == [group, &verdict.kernel, kind] && has(row[3], cubins);
        match self.table.find(fits) {
            Some(_) => None,
            None => Some(format!("{group} {}: {kind}: {text}", verdict.kernel)),
        }
    }

    /// The rows for these cubins that no verdict needed. Other inputs may meet fewer differences.
    pub fn unused(&self) -> Vec<String> {
        let mut all = self.table.unused(|row| has(row[3], self.cubins));
        // Our compiler refuses what the engines lack: those kernels are not there.
        if self.cubins == "ptxas" {
            let there = MISSING.iter().filter(|(opcode, _)| !self.missing.contains(opcode));
            all.extend(there.map(|(opcode, what)| format!("nothing needs {opcode}: {what}")));
        }
        all
    }
}

/// The opcode for want of which the interpreter refuses a kernel.
fn refused_for(end: &End) -> Option<&str> {
    let (End::Both(text, _) | End::Interpreter(text)) = end else { return None };
    text.strip_prefix("unsupported instruction ")?.split('.').next()
}

/// The instruction under test by group and kernel.
fn instructions() -> BTreeMap<(String, String), String> {
    let path = workspace().join("tests/coverage/forms.tsv");
    let text = std::fs::read_to_string(path).expect("a committed file");
    let row = |line: &str| {
        let columns: Vec<&str> = line.split('\t').collect();
        let ["sm_90a", group, kernel, instruction] = columns[..] else { return None };
        Some(((group.to_string(), kernel.to_string()), instruction.to_string()))
    };
    text.lines().filter_map(row).collect()
}

pub fn kind(end: &End) -> (&'static str, String) {
    match end {
        End::Same => ("same", String::new()),
        End::Near(text) => ("near", text.clone()),
        End::Differ(text) => ("differ", text.clone()),
        End::AsReference(text) => ("as the reference", text.clone()),
        End::Order(text) => ("order", text.clone()),
        End::Interpreter(text) => ("interpreter", text.clone()),
        End::Simulator(text) => ("simulator", text.clone()),
        End::Both(a, b) => ("both", format!("{a}; simulator: {b}")),
        End::Unwritten(text) => ("unwritten", text.clone()),
    }
}
