//! Which instructions ptxas emits: `tables/seen` is mined from its cubins, and ours are held
//! against it.

use crate::reference;
use crate::sources::{self, Source};
use crate::{coverage, ours};
use clap::Args;
use orias::driver::CompileOptions;
use orias::elf::read::Cubin;
use orias_components::{Inst, Operand};
use orias_runner::oracle;
use orias_targets::form::Form;
use orias_targets::seen::{FLAGS, Guarded, Shape, flags, group, part, words};
use orias_targets::{SlotKind, Target};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;

/// Mines `targets/tables/seen` from what ptxas makes of the corpus, the coverage set, the kernels
/// of `tests/engines/kernels` and the generator's, each at every level.
#[derive(Args)]
pub struct MineArgs {
    /// PTX files and folders of them, beside the project's own. Cubins are not taken: nobody could
    /// tell who made them.
    more: Vec<PathBuf>,
    /// Do not make the generator's kernels (they take minutes): they are among `more`.
    #[arg(long)]
    without_generator: bool,
    /// Write the file; without, print it.
    #[arg(long)]
    write: bool,
}

/// What of our code ptxas was never seen to emit.
#[derive(Args)]
pub struct CheckArgs {
    /// PTX files and folders; corpus, coverage set and `tests/engines/kernels` without any.
    paths: Vec<PathBuf>,
    /// Only these levels.
    #[arg(long, value_delimiter = ',', default_values_t = [0, 1, 2, 3])]
    levels: Vec<u8>,
    /// Cubins as they are, in place of PTX that we compile.
    #[arg(long)]
    cubins: bool,
}

/// Counts of one group.
#[derive(Default, Clone)]
struct Group {
    shapes: BTreeMap<Shape, u64>,
    guards: [u64; 3],
    /// Words, flags, parts and special registers, as the file has them.
    items: [BTreeMap<String, u64>; 4],
}

const ITEMS: [&str; 4] = ["words", "flags", "parts", "specials"];

/// What was seen so far.
#[derive(Default, Clone)]
pub struct Mined {
    groups: BTreeMap<String, Group>,
    /// Words that the table does not know.
    pub unknown: u64,
}

impl Mined {
    /// Adds the code of a cubin.
    pub fn add(&mut self, target: &Target, cubin: &[u8]) {
        let Ok(cubin) = Cubin::read(cubin) else { return };
        for kernel in cubin.kernels() {
            for (at, word) in kernel.text.as_chunks::<16>().0.iter().enumerate() {
                match target.decode_row(u128::from_le_bytes(*word), at as u64 * 16) {
                    Ok((form, inst)) => self.count(target, form, &inst),
                    Err(_) => self.unknown += 1,
                }
            }
        }
    }

    fn count(&mut self, target: &Target, form: &Form, inst: &Inst) {
        let group = self.groups.entry(group(form)).or_default();
        *group.shapes.entry(Shape::of(inst)).or_default() += 1;
        let guard = Guarded::ALL.iter().position(|g| *g == Guarded::of(inst));
        group.guards[guard.unwrap_or(0)] += 1;
        let mut put = |kind: usize, item: String| {
            *group.items[kind].entry(item).or_default() += 1;
        };
        for word in words(form, inst) {
            put(0, word);
        }
        for (i, operand) in inst.operands.iter().enumerate() {
            for (name, _) in FLAGS.iter().filter(|(_, bit)| flags(operand).0 & bit != 0) {
                put(1, format!("{i}{name}"));
            }
            if let Some(part) = part(operand) {
                put(2, format!("{i}.{}", part.name()));
            }
            if let (Operand::Special(n), SlotKind::Special { .. }) = (operand, &form.slots[i].kind)
            {
                put(3, target.special_name(*n).into_owned());
            }
        }
    }

    fn merge(mut self, other: Mined) -> Mined {
        for (name, theirs) in other.groups {
            let mine = self.groups.entry(name).or_default();
            for (shape, n) in theirs.shapes {
                *mine.shapes.entry(shape).or_default() += n;
            }
            for (a, b) in mine.guards.iter_mut().zip(theirs.guards) {
                *a += b;
            }
            for (a, b) in mine.items.iter_mut().zip(theirs.items) {
                for (item, n) in b {
                    *a.entry(item).or_default() += n;
                }
            }
        }
        self.unknown += other.unknown;
        self
    }

    /// The file's text.
    fn render(&self) -> String {
        let mut out = String::from(HEADER);
        for (name, group) in &self.groups {
            let _ = writeln!(out, "{name}");
            let shapes = group.shapes.iter().map(|(shape, n)| format!("{shape}={n}"));
            line(&mut out, "shapes", shapes);
            let guards = Guarded::ALL.iter().zip(group.guards).filter(|(_, n)| *n > 0);
            line(&mut out, "guards", guards.map(|(g, n)| format!("{}={n}", g.name())));
            for (kind, items) in ITEMS.iter().zip(&group.items) {
                line(&mut out, kind, items.iter().map(|(item, n)| format!("{item}={n}")));
            }
        }
        out
    }
}

const HEADER: &str = "\
# What ptxas 13.0.88 was seen to emit, with how often. Written by `orias-isa seen --write`: do not edit. Notation: ../README.md.
";

fn line(out: &mut String, kind: &str, items: impl Iterator<Item = String>) {
    let items: Vec<String> = items.collect();
    if !items.is_empty() {
        let _ = writeln!(out, " {kind} {}", items.join(" "));
    }
}

/// The project's PTX for a target, and what is given beside it.
fn ptx(target: &str, more: &[PathBuf]) -> Vec<Source> {
    let mut all = sources::corpus(target);
    all.extend(sources::one_instruction(target));
    all.extend(sources::below("engines/kernels", target));
    all.extend(given(target, more));
    all
}

fn given(target: &str, paths: &[PathBuf]) -> Vec<Source> {
    paths.iter().flat_map(|path| sources::at(path, target)).collect()
}

pub fn mine(target: &'static Target, args: &MineArgs) -> Result<(), String> {
    let tool = oracle::tool("ptxas").ok_or("the oracle tools are missing")?;
    let mut sources = ptx(target.name, &args.more);
    let mut mined = Mined::default();
    if !args.without_generator {
        // Other options than levels lead to other code; most modules are there once for each of
        // them.
        let mut texts = BTreeSet::new();
        for made in sources::generated(&tool, target.name, false) {
            mined.add(target, &made.cubin);
            texts.insert(made.module.text().0);
        }
        let name = || "generated".to_owned();
        sources.extend(texts.into_iter().map(|text| Source { name: name(), text }));
    }
    let all: Vec<(&Source, &str)> =
        sources.iter().flat_map(|s| ["-O0", "-O1", "-O2", "-O3"].map(|level| (s, level))).collect();
    let compiled = all.par_iter().fold(Mined::default, |mut mined, (source, level)| {
        if let Ok(cubin) = reference::ptxas(&tool, target.name, &source.text, &[level]) {
            mined.add(target, &cubin);
        }
        mined
    });
    mined = mined.merge(compiled.reduce(Mined::default, Mined::merge));
    if !args.write {
        print!("{}", mined.render());
        return Ok(());
    }
    let path = oracle::workspace().join(format!("targets/tables/seen/sm{}.seen", target.sm));
    std::fs::write(&path, mined.render()).map_err(|e| format!("{}: {e}", path.display()))?;
    let shapes: usize = mined.groups.values().map(|g| g.shapes.len()).sum();
    println!("{} groups, {shapes} shapes, {} words unknown", mined.groups.len(), mined.unknown);
    Ok(())
}

/// What our code has that was never seen: by what it is, how often and where first.
pub type Unseen = BTreeMap<String, (u64, String)>;

/// What of a cubin's code was never seen.
///
/// # Errors
/// When it is no cubin.
pub fn unseen(target: &Target, name: &str, cubin: &[u8], out: &mut Unseen) -> Result<u64, String> {
    let cubin = Cubin::read(cubin).map_err(|e| e.to_string())?;
    let mut count = 0;
    for kernel in cubin.kernels() {
        for (at, word) in kernel.text.as_chunks::<16>().0.iter().enumerate() {
            count += 1;
            let found = match target.decode(u128::from_le_bytes(*word), at as u64 * 16) {
                Ok(inst) => target.unseen(&inst).map(|unseen| unseen.to_string()),
                Err(error) => Some(error.to_string()),
            };
            if let Some(found) = found {
                let place = || (0, format!("{name} {} /*{:04x}*/", kernel.name, at * 16));
                out.entry(found).or_insert_with(place).0 += 1;
            }
        }
    }
    Ok(count)
}

/// What came of PTX that was compiled and held against what was seen.
#[derive(Default)]
pub struct Checked {
    pub unseen: Unseen,
    /// Instructions.
    pub count: u64,
    /// Kernels that did not compile: by message, how many and the first.
    pub refused: Unseen,
}

impl Checked {
    fn merge(mut self, other: Checked) -> Checked {
        let lists = [(&mut self.unseen, other.unseen), (&mut self.refused, other.refused)];
        for (mine, theirs) in lists {
            for (what, (count, place)) in theirs {
                mine.entry(what).or_insert((0, place)).0 += count;
            }
        }
        self.count += other.count;
        self
    }
}

/// Compiles PTX at levels and holds the code against what was seen.
pub fn check(target: &Target, sources: &[Source], levels: &[u8]) -> Checked {
    let all: Vec<(&Source, u8)> =
        sources.iter().flat_map(|s| levels.iter().map(move |l| (s, *l))).collect();
    let one = |(source, level): &(&Source, u8)| {
        let options = CompileOptions {
            target: Some(target.name.into()),
            opt_level: *level,
            threads: 1,
            ..Default::default()
        };
        let name = format!("{} -O{level}", source.name);
        let mut checked = Checked::default();
        let mut refuse = |kernel: &str, why: String| {
            let place = || (0, format!("{name} {kernel}"));
            checked.refused.entry(why).or_insert_with(place).0 += 1;
        };
        match ours::compile(&source.text, &options) {
            Err(why) => refuse("", why),
            Ok(compiled) => {
                for (kernel, why) in compiled.refused {
                    // Without the place, which differs from kernel to kernel.
                    let why = why.lines().next().unwrap_or("").to_string();
                    let told = why.split_once("error   : ").map(|(_, told)| told.to_string());
                    refuse(&kernel, told.unwrap_or(why));
                }
                let cubin = compiled.cubin.unwrap_or_default();
                let counted = unseen(target, &name, &cubin, &mut checked.unseen);
                checked.count = counted.unwrap_or(0);
            }
        }
        checked
    };
    all.par_iter().map(one).reduce(Checked::default, Checked::merge)
}

pub fn run_check(target: &'static Target, args: &CheckArgs) -> Result<(), String> {
    let mut checked = Checked::default();
    if args.cubins {
        for file in coverage::files(&args.paths, "cubin") {
            let bytes = std::fs::read(&file).map_err(|e| format!("{}: {e}", file.display()))?;
            let name = file.display().to_string();
            checked.count += unseen(target, &name, &bytes, &mut checked.unseen)?;
        }
    } else {
        let sources = match args.paths.as_slice() {
            [] => ptx(target.name, &[]),
            paths => given(target.name, paths),
        };
        checked = check(target, &sources, &args.levels);
    }
    let Checked { unseen: found, count, refused } = checked;
    for (why, (n, place)) in &refused {
        println!("{n:8} kernels refused: {why}   ({place})");
    }
    let mut list: Vec<_> = found.iter().collect();
    list.sort_by_key(|(_, (n, _))| std::cmp::Reverse(*n));
    for (what, (n, place)) in &list {
        println!("{n:8}  {what}   ({place})");
    }
    let bad: u64 = list.iter().map(|(_, (n, _))| n).sum();
    println!(
        "{bad} of {count} instructions have something that was never seen; {} kinds",
        list.len()
    );
    let groups: BTreeSet<&str> = list.iter().filter_map(|(w, _)| w.split(':').next()).collect();
    println!("groups: {}", groups.into_iter().collect::<Vec<_>>().join(" "));
    if bad == 0 { Ok(()) } else { Err("code that ptxas was never seen to emit".into()) }
}
