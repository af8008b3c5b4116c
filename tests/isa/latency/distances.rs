//! Our code beside the facts of timing: pairs that stand nearer than ptxas ever leaves them, and
//! pairs that nobody has seen.

use super::facts::{self, Ends};
use super::mined::{Key, is_told};
use super::walk;
use crate::ours;
use orias::driver::CompileOptions;
use orias::elf::Cubin;
use orias_components::RegFile;
use orias_targets::Target;
use orias_targets::latency::{Fact, Hazard, In, Out};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// `orias-isa distances`
#[derive(clap::Args)]
pub struct Args {
    /// PTX files, or folders of them; the corpus and the coverage set without any.
    paths: Vec<PathBuf>,
    /// Levels of our compiler.
    #[arg(long, value_delimiter = ',', default_value = "0,1,2,3")]
    levels: Vec<u8>,
    /// Print the pairs, too, that nobody has seen and that stand no farther apart than the
    /// scheduler had to put them.
    #[arg(long)]
    assumed: bool,
}

/// What is wrong with a pair of ours.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum What {
    /// Nearer than the fewest cycles that ptxas leaves.
    Nearer { seen: u8 },
    /// Nobody has seen it: it rests on this many cycles, the most that any reader of the result was
    /// seen to wait or more.
    Assumed { cycles: u8 },
}

/// Pairs of one kind: our fewest cycles, how many there are, and where one is.
#[derive(Clone, Debug)]
pub struct Found {
    pub ours: u32,
    pub count: u32,
    pub example: String,
}

pub type Findings = BTreeMap<(What, Ends), Found>;

/// The facts of an SM by their ports.
pub struct Known {
    target: &'static Target,
    facts: FxHashMap<(Hazard, Out, u16), Fact>,
}

impl Known {
    pub fn of(target: &'static Target) -> Known {
        let facts =
            target.latencies().facts().map(|f| ((f.hazard, f.first, f.second), f)).collect();
        Known { target, facts }
    }

    /// Whether there are any.
    pub fn is_empty(&self) -> bool {
        self.facts.is_empty()
    }

    /// Adds what the words of one text show.
    pub fn check(&self, name: &str, text: &[u8], found: &mut Findings) {
        walk::walk(self.target, text, |pair| {
            if is_told(&pair) || pair.file == RegFile::B || pair.hazard == Hazard::WriteAfterRead {
                return;
            }
            let key = Key::of(&pair);
            if key.classes(self.target).is_none() {
                return;
            }
            let (first, second) = facts::ports(self.target, &key);
            let latencies = self.target.latencies();
            let read = pair.hazard == Hazard::ReadAfterWrite;
            let what = match self.facts.get(&(pair.hazard, Out(first), second)) {
                Some(fact) if pair.cycles < u32::from(fact.cycles) => {
                    What::Nearer { seen: fact.cycles }
                }
                None if read && latencies.is_assumed(Out(first), In(second)) => {
                    let cycles = latencies.read_after_write(Out(first), In(second));
                    if pair.cycles > u32::from(cycles) {
                        return;
                    }
                    What::Assumed { cycles }
                }
                _ => return,
            };
            let one =
                found.entry((what, facts::ends(self.target, &key))).or_insert_with(|| Found {
                    ours: pair.cycles,
                    count: 0,
                    example: format!("{name} {:#06x}", 16 * pair.second.at),
                });
            one.count += 1;
            if pair.cycles < one.ours {
                one.ours = pair.cycles;
                one.example = format!("{name} {:#06x}", 16 * pair.second.at);
            }
        });
    }

    /// Compiles a module by our compiler, as far as it compiles, and checks it.
    pub fn check_source(&self, name: &str, source: &str, level: u8, found: &mut Findings) {
        let options = CompileOptions {
            target: Some(self.target.name.into()),
            opt_level: level,
            threads: 1,
            ..CompileOptions::default()
        };
        let Ok(compiled) = ours::compile(source, &options) else { return };
        let Some(cubin) = compiled.cubin else { return };
        let Ok(cubin) = Cubin::read(&cubin) else { return };
        for function in &cubin.functions {
            self.check(&format!("{name} -O{level} {}", function.name), function.text, found);
        }
    }
}

/// Adds what was found elsewhere.
pub fn merge(mut all: Findings, more: Findings) -> Findings {
    for (key, found) in more {
        let one = all.entry(key).or_insert_with(|| Found { count: 0, ..found.clone() });
        one.count += found.count;
        if found.ours < one.ours {
            (one.ours, one.example) = (found.ours, found.example);
        }
    }
    all
}

/// All modules at all levels.
pub fn check(target: &'static Target, files: &[PathBuf], levels: &[u8]) -> Findings {
    let known = Known::of(target);
    let one = |file: &PathBuf| {
        let mut found = Findings::new();
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        if let Ok(source) = std::fs::read_to_string(file) {
            for level in levels {
                known.check_source(&name, &source, *level, &mut found);
            }
        }
        found
    };
    files.par_iter().map(one).reduce(Findings::new, merge)
}

/// Checks and prints.
///
/// # Errors
/// When a pair of ours is nearer than ptxas's.
pub fn run(target: &'static Target, args: &Args) -> Result<(), String> {
    let files = match args.paths.is_empty() {
        true => super::source::files(target, &[]),
        false => crate::coverage::files(&args.paths, "ptx"),
    };
    let found = check(target, &files, &args.levels);
    let (mut nearer, mut assumed) = ([0, 0], [0, 0]);
    for ((what, ends), one) in &found {
        let Found { ours, count, example } = one;
        let sum = match what {
            What::Nearer { seen } => {
                println!("{ends}: ours {ours}, ptxas {seen} ({count} times, {example})");
                &mut nearer
            }
            What::Assumed { cycles } => {
                if args.assumed {
                    println!("{ends}: never seen, {cycles} ({count} times, {example})");
                }
                &mut assumed
            }
        };
        sum[0] += 1;
        sum[1] += count;
    }
    println!(
        "{} files at {:?}: {} kinds of pairs ({} pairs) nearer than ptxas's, {} kinds ({} pairs) rest on what nobody has seen",
        files.len(),
        args.levels,
        nearer[0],
        nearer[1],
        assumed[0],
        assumed[1]
    );
    if nearer[0] > 0 { Err("pairs nearer than ptxas ever leaves them".into()) } else { Ok(()) }
}
