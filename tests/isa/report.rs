//! The committed report: for each SM how much of what the compiler of reference emits the table
//! explains, and what is missing, by name.

use crate::coverage::{Coverage, Lines, Seen, lines, measure};
use crate::{proof, sources};
use orias_targets::Target;
use rayon::prelude::*;
use std::fmt::Write;
use std::path::Path;

/// The oracle tools that a report needs.
pub struct Tools<'a> {
    pub ptxas: &'a Path,
    pub nvdisasm: &'a Path,
}

/// What was found out about one SM.
pub struct Section {
    pub target: &'static Target,
    pub cubins: usize,
    pub refused: usize,
    pub coverage: Coverage,
    pub lines: Lines,
    /// Random instructions drawn, and those that nvdisasm reads differently; none for an SM whose
    /// rows are not proved.
    pub random: Option<(usize, usize)>,
}

/// The SMs whose rows the random instructions prove.
pub const PROVED: [&str; 7] = ["sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_90a"];

/// All SMs of the report.
pub const REPORTED: [&str; 10] =
    ["sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_120a"];

/// Everything about one SM: with all of the generator's kernels and two levels (`whole`), or a
/// selection at -O3.
pub fn section(tools: &Tools<'_>, target: &'static Target, random: usize, whole: bool) -> Section {
    let levels: &[&str] = if whole { &["-O3", "-O0"] } else { &["-O3"] };
    let mut stored = sources::one_instruction(target.name);
    stored.extend(sources::corpus(target.name));
    let (mut built, refused) = sources::build(tools.ptxas, target.name, &stored, levels);
    let lines = built
        .par_iter()
        .map(|b| lines(tools.nvdisasm, &b.cubin))
        .reduce(Lines::default, Lines::and);
    let generated = sources::generated(tools.ptxas, target.name, !whole);
    built.extend(
        generated.into_iter().map(|a| sources::Built { name: a.module.name, cubin: a.cubin }),
    );
    let mut seen = Seen::default();
    for cubin in &built {
        seen.add(&cubin.name, &cubin.cubin).expect("ptxas writes cubins");
    }
    let proved = PROVED.contains(&target.name);
    let wrong = || proof::wrong(target, Some(tools.nvdisasm), random, 1).len();
    Section {
        target,
        cubins: built.len(),
        refused,
        coverage: measure(target, tools.nvdisasm, &seen),
        lines,
        random: proved.then(|| (random, wrong())),
    }
}

/// The report as Markdown.
pub fn markdown(sections: &[Section], whole: bool) -> String {
    let mut out = format!(
        "# What the instruction table explains\n\n\
         Written by `orias-isa report`; do not edit. For each SM ptxas 13.0.88 compiled the kernel corpus, the one-instruction\n\
         kernels of `tests/coverage`, and {}\n\
         (`tests/isa/generate`). A word is *decoded* when a row explains it, *identical* when it\n\
         encodes to itself again, control bits included, and its *text* is that of nvdisasm 13.5.37. *Lines* are those of\n\
         `nvdisasm -c` beside `orias dis --labels`, without the generator's kernels. *Random* instructions are drawn from the\n\
         table's own ranges, every row and every value of its fields among them; *differ* are those that nvdisasm refuses or\n\
         reads differently.\n\n\
         | SM | cubins | words | distinct | decoded | identical | text | lines | same lines | random | differ |\n\
         |---|---|---|---|---|---|---|---|---|---|---|\n",
        if whole {
            "all of the generator's, in seven ways, the others at -O0 too"
        } else {
            "a selection of the generator's"
        },
    );
    for s in sections {
        let c = &s.coverage;
        let percent =
            |n: u64, of: u64| format!("{:.3} %", floor(100.0 * n as f64 / of.max(1) as f64));
        let (random, differ) = s
            .random
            .map_or(("".into(), "".into()), |(n, wrong)| (n.to_string(), wrong.to_string()));
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {random} | {differ} |",
            s.target.name,
            s.cubins,
            c.words,
            c.distinct,
            percent(c.decoded, c.words),
            percent(c.identical, c.words),
            percent(c.same_text, c.words),
            s.lines.all,
            percent(s.lines.same, s.lines.all),
        );
    }
    for s in sections {
        let _ = write!(out, "\n## {}: missing forms\n\n", s.target.name);
        let list = s.coverage.by_mnemonic();
        if list.is_empty() {
            out.push_str("None.\n");
            continue;
        }
        out.push_str("| form | words | distinct | fault | an example |\n|---|---|---|---|---|\n");
        for (fault, name, words, distinct, m) in list {
            let text = m.reference.replace('|', "\\|");
            let _ = writeln!(out, "| `{name}` | {words} | {distinct} | {fault:?} | `{text}` |");
        }
    }
    out
}

/// Cut after three digits: 99.9999 is not 100.
fn floor(percent: f64) -> f64 {
    (percent * 1000.0).floor() / 1000.0
}
