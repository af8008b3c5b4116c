//! What single kernels of the coverage set may end with besides equal buffers, and why (`except.tbl`).
//!
//! A row names a kernel, its end and the cubins that end so. It fails where its cause cannot be the kernel's (the instruction is
//! another), and where no kernel needs it any more. "Both" is an end too: a kernel that no engine runs shows nothing.

use orias_isa::differ::{End, Verdict};
use orias_runner::oracle::workspace;
use std::collections::{BTreeMap, BTreeSet};

/// Causes: what the instruction under test has, one of these words, and what the two engines then differ in.
const CAUSES: &[(&str, &[&str], &str)] = &[
    ("approximate", &["div.approx", "div.full", "lg2.approx"], "each computes within the bound"),
    ("subnormal", &["sin.approx.f32"], "sine of a subnormal number: zero is within the bound"),
    ("order_of_sum", &["mma."], "products are summed in an order that PTX leaves open"),
    ("nan", &["cvt.", "sub."], "bits of a NaN"),
    ("policy", &["createpolicy"], "PTX says nothing of a policy's bits"),
    ("object", &["mbarrier.init"], "PTX says nothing of the bits of a barrier's object"),
    ("clock", &["%clock64", "%globaltimer"], "time"),
    ("place", &["mov.", "cvta.to"], "variables, stacks and windows lie elsewhere"),
    ("stack", &["ld.local"], "a number as local address: the stack lies elsewhere"),
    ("reserved", &["[%t+64]"], "a number as address in shared memory: below the kernel's own"),
    ("past", &["+74560]"], "past the kernel's shared memory, in whose size the offset is no part"),
    ("race", &["ld.shared"], "all lanes store to one place; ptxas takes what the lane stored"),
    ("guarded_lane", &["shfl"], "it reads lanes whose guard is false"),
    ("no_ftz", &["cvt.rp.ftz"], "ptxas leaves out .ftz of the operand"),
    ("position", &["bfe.s64", "bfi.b64"], "ptxas reads all of position and length, PTX a byte"),
    // Video instructions: ptxas's are software. The words say which part of them is at work.
    (
        "third_signed",
        &[".min ", ".max "],
        "the second operation takes the result as unsigned and the third operand as signed",
    ),
    ("clamps_below", &[".sat "], "of a 32-bit result ptxas clamps only what lies below"),
    (
        "clamps_part",
        &[".b0, ", ".b1, ", ".b2, ", ".b3, ", ".h0, ", ".h1, "],
        "ptxas clamps a byte or a half of the destination to another range",
    ),
    ("shifted_out", &["vshl."], "bits that a shift to the left loses are not clamped, or wrongly"),
    ("product", &["vmad."], "a shift brings down other bits of the product; clamping goes by them"),
    ("upper_half", &["vset."], "vset to the upper half gives 0"),
];

pub struct Row {
    group: String,
    kernel: String,
    end: String,
    /// `all`, or of `ptxas`, `O0` and `O3` those that it is for.
    cubins: String,
    cause: String,
}

impl Row {
    fn is_for(&self, cubins: &str) -> bool {
        self.cubins == "all" || self.cubins.split(',').any(|c| c == cubins)
    }
}

/// The rows that the verdicts of one compiler's cubins used.
pub struct Exceptions {
    rows: Vec<Row>,
    used: BTreeSet<usize>,
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

/// The same of the kernels from CUDA: file, kernel, end, whose cubins (empty: both compilers'), why. They end so at every level.
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
    /// When the table has a row that is not of five columns, names a cause that there is not, or one that cannot be the kernel's.
    pub fn of(cubins: &'static str) -> Exceptions {
        let instructions = instructions();
        let row = |line: &str| {
            let columns: Vec<&str> = line.split('\t').collect();
            let [group, kernel, end, cubins, cause] = columns[..] else {
                panic!("except.tbl: `{line}` has {} columns", columns.len())
            };
            let known = CAUSES.iter().find(|(name, ..)| *name == cause);
            let (_, words, _) = known.unwrap_or_else(|| panic!("except.tbl: no cause {cause}"));
            let instruction = instructions.get(&(group.to_string(), kernel.to_string()));
            let instruction = instruction.unwrap_or_else(|| panic!("no kernel {group} {kernel}"));
            assert!(
                words.iter().any(|word| instruction.contains(word)),
                "except.tbl: {cause} is not the cause in `{instruction}` ({kernel})"
            );
            let [group, kernel, end, cubins, cause] =
                [group, kernel, end, cubins, cause].map(str::to_string);
            Row { group, kernel, end, cubins, cause }
        };
        let table = include_str!("except.tbl");
        let rows = table.lines().filter(|l| !l.starts_with('#') && !l.is_empty()).map(row);
        let rows: Vec<Row> = rows.collect();
        for (name, ..) in CAUSES {
            assert!(rows.iter().any(|row| row.cause == *name), "no row has the cause {name}");
        }
        Exceptions { rows, used: BTreeSet::new(), cubins, instructions, missing: BTreeSet::new() }
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
        let row = self.rows.iter().position(|row| {
            (row.group.as_str(), row.kernel.as_str()) == (group, verdict.kernel.as_str())
                && row.end == kind
                && row.is_for(self.cubins)
        });
        match row {
            Some(row) => {
                self.used.insert(row);
                None
            }
            None => Some(format!("{group} {}: {kind}: {text}", verdict.kernel)),
        }
    }

    /// The rows for these cubins that no verdict needed. Other inputs may meet fewer differences.
    pub fn unused(&self) -> Vec<String> {
        let rows = self.rows.iter().enumerate();
        let unused = rows.filter(|(n, row)| row.is_for(self.cubins) && !self.used.contains(n));
        let text = |(_, row): (usize, &Row)| {
            let says = CAUSES.iter().find(|(name, ..)| *name == row.cause);
            let says = says.map_or("", |(_, _, says)| says);
            format!("{} {} no longer ends `{}`: {says}", row.group, row.kernel, row.end)
        };
        let mut all: Vec<String> = unused.map(text).collect();
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
