//! Of ptxas's cubins with one control bit changed for the worse, nearly all are found out; of those
//! as they are, nothing is.
//!
//! Kernels are split into two halves, and facts of timing are mined from each alone. The simulator
//! judges by the facts of one half the kernels of the other, in which a stall is shortened by a
//! cycle, or a wait is left out that a register hangs on. Shortened is where a result and its
//! reader, which both halves have met three times, stand as near as either half ever has them; and
//! where two results, or a source and a result, stand as near as the other half has any of their
//! classes. What was changed must have run: nothing else can be seen.
//!
//! What the facts of one half call too early in the other half as ptxas made it is listed; by those
//! of both, nothing is.
//!
//! `ORIAS_MUTATIONS=N` runs every N-th mutation of each half; 1 is all.

use orias::elf::Cubin;
use orias::launch::{Launch, Outcome};
use orias::simulate::simulate;
use orias_isa::latency::facts;
use orias_isa::latency::mined::{self, Key, Mined, Seen};
use orias_isa::latency::mutate::{self, Breaks, Change, Mutation};
use orias_isa::setup::Setup;
use orias_isa::{differ, reference};
use orias_runner::case::Suite;
use orias_runner::folders;
use orias_runner::oracle::{tool, workspace};
use orias_targets::Target;
use orias_targets::latency::{Class, Hazard, In, Latencies, Out, Provenance, Row};
use orias_targets::simulator::{Hazards, Limits};
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Share of the mutations that must be found out, of each half: a result read too early, a wait
/// left out, the rest (results and sources that are overwritten).
const READS_FOUND: f64 = 0.98;
const WAITS_FOUND: f64 = 0.99;
const OTHERS_FOUND: f64 = 0.9;

/// A pair counts that both halves have met so often.
const MET: u32 = 3;

/// Results of unknown latency over others: classes that were met so often show the fewest cycles.
const MANY: u32 = 400;

/// Every so many mutations of a half run, unless the environment says otherwise.
const EVERY: usize = 40;

/// Warp instructions of a launch at most.
const STEPS: u64 = 300_000;

/// A kernel as ptxas made it, with one launch.
struct Kernel {
    cubin: Arc<Vec<u8>>,
    launch: Launch,
    /// Where its words are in the file, and its other texts for the miner.
    text: std::ops::Range<usize>,
    /// Counts files: neighbours are in different halves.
    file: usize,
}

fn compile(ptxas: &Path, ptx: &Path, level: u8) -> Option<Vec<u8>> {
    let text = std::fs::read_to_string(ptx).ok()?;
    reference::ptxas(ptxas, "sm_90a", &text, &[&format!("-O{level}")]).ok()
}

/// The launches of a PTX file: the smallest case of each kernel of a corpus folder, those of the
/// differ for coverage kernels.
fn launches(ptx: &Path) -> Vec<Launch> {
    let folder = ptx.parent().expect("a folder");
    if folder.join("case.json").is_file() {
        let suite = Suite::load(folder).expect("a case.json that can be read");
        let mut smallest: BTreeMap<String, (u64, Launch)> = BTreeMap::new();
        for case in &suite.cases {
            let launch = suite.launch(case).expect("its inputs");
            let size = launch.grid.iter().chain(&launch.block).map(|n| u64::from(*n)).product();
            match smallest.get(&launch.entry) {
                Some((least, _)) if *least <= size => {}
                _ => {
                    smallest.insert(launch.entry.clone(), (size, launch));
                }
            }
        }
        return smallest.into_values().map(|(_, launch)| launch).collect();
    }
    let source = std::fs::read_to_string(ptx).expect("a readable file");
    let Ok(program) = orias::ptx::load(&source) else { return Vec::new() };
    let kernels = program.functions.iter().filter(|f| f.entry && f.defined);
    let setup = Setup { threads: 32, ..Default::default() };
    kernels.filter_map(|k| differ::launches(&program, k, setup).into_iter().next()).collect()
}

/// Where a kernel's words are in its file.
fn text_of(cubin: &[u8], entry: &str) -> Option<std::ops::Range<usize>> {
    let read = Cubin::read(cubin).ok()?;
    let text = read.kernel(entry)?.text;
    let at = text.as_ptr() as usize - cubin.as_ptr() as usize;
    Some(at..at + text.len())
}

/// Compiles a file and takes its words apart: kernels to mutate, and texts to mine at all levels.
fn load(ptxas: &Path, ptx: &Path, file: usize) -> (Vec<Kernel>, Vec<Vec<u8>>) {
    let mut texts = Vec::new();
    let mut kernels = Vec::new();
    for level in [1, 3] {
        let Some(cubin) = compile(ptxas, ptx, level) else { continue };
        let cubin = Arc::new(cubin);
        let Ok(read) = Cubin::read(&cubin) else { continue };
        texts.extend(read.kernels().map(|k| k.text.to_vec()));
        if level == 3 {
            let kernel = |launch: Launch| {
                let text = text_of(&cubin, &launch.entry)?;
                Some(Kernel { cubin: cubin.clone(), launch, text, file })
            };
            kernels.extend(launches(ptx).into_iter().filter_map(kernel));
        }
    }
    (kernels, texts)
}

fn run(
    cubin: &[u8],
    launch: &Launch,
    latencies: &'static Latencies,
    stop: bool,
) -> Option<Outcome> {
    let hazards = Hazards::By { latencies, stop };
    let limits = Limits { warp_instructions: STEPS, hazards, ..Limits::default() };
    simulate(cubin, launch, limits).ok()
}

type Pairs = HashSet<(u64, u64)>;

fn pairs(outcome: &Outcome) -> Pairs {
    outcome.hazards.iter().map(|h| (h.first.offset, h.second.offset)).collect()
}

/// A mutation that can be seen: what it breaks runs.
struct Trial<'k> {
    kernel: &'k Kernel,
    mutation: Mutation,
    /// Pairs that the latencies of the other half call hazards already.
    before: Arc<Pairs>,
}

/// The least distance of pairs that count, and of others of the half that judges.
struct Least<'m> {
    reads: [&'m HashMap<(Out, In), Seen>; 2],
    judge: &'static Latencies,
    target: &'static Target,
}

impl Least<'_> {
    fn of(&self, key: &Key) -> Option<u32> {
        if key.hazard != Hazard::ReadAfterWrite {
            let (hazard, file, first, second) = key.classes(self.target)?;
            return Some(u32::from(self.judge.cycles(hazard, file, first, second)));
        }
        let (first, second) = facts::ports(self.target, key);
        let ends = (Out(first), In(second));
        let [one, other] = self.reads.map(|reads| reads.get(&ends));
        let (one, other) = (one?, other?);
        let met = one.total() >= MET && other.total() >= MET;
        let least = one.closest(1)?.min(other.closest(1)?);
        met.then_some(least as u32)
    }
}

fn trials<'k>(kernel: &'k Kernel, least: &Least<'_>) -> Vec<Trial<'k>> {
    let Some(outcome) = run(&kernel.cubin, &kernel.launch, least.judge, false) else {
        return Vec::new();
    };
    let before = Arc::new(pairs(&outcome));
    let ran: HashMap<u64, u32> = outcome
        .ran
        .iter()
        .filter(|r| r.function == kernel.launch.entry)
        .map(|r| (r.offset, r.lanes))
        .collect();
    let lanes = |at: usize| ran.get(&(16 * at as u64)).copied().unwrap_or(0);
    let text = &kernel.cubin[kernel.text.clone()];
    let mut all = mutate::stalls(least.target, text, |key| least.of(key));
    all.extend(mutate::waits(least.target, text));
    let runs = |m: &Mutation| {
        m.runs.iter().any(|[first, second]| lanes(*first) & lanes(m.at) & lanes(*second) != 0)
    };
    all.retain(runs);
    all.into_iter().map(|mutation| Trial { kernel, mutation, before: before.clone() }).collect()
}

impl Trial<'_> {
    fn is_found(&self, latencies: &'static Latencies) -> bool {
        let mut cubin = self.kernel.cubin.to_vec();
        self.mutation.apply(&mut cubin[self.kernel.text.clone()]);
        // Where nothing was found before, the first will do.
        let stop = self.before.is_empty();
        let Some(outcome) = run(&cubin, &self.kernel.launch, latencies, stop) else { return false };
        let own = |pair: &(u64, u64)| {
            let is =
                |[first, second]: &[usize; 2]| (16 * *first as u64, 16 * *second as u64) == *pair;
            self.mutation.runs.iter().any(is)
        };
        pairs(&outcome).iter().any(|pair| own(pair) || !self.before.contains(pair))
    }

    fn name(&self) -> String {
        let at = 16 * self.mutation.at;
        format!(
            "{} {at:#06x} {:?} {:?}",
            self.kernel.launch.entry, self.mutation.change, self.mutation.breaks
        )
    }
}

#[test]
fn mutations_of_control_bits_are_found_out_and_nothing_else_is() {
    let Some(ptxas) = tool("ptxas") else { return };
    let target: &'static Target = orias_targets::target("sm_90a").expect("a target");
    let root = workspace();
    let mut files: Vec<PathBuf> = folders::all()
        .iter()
        .map(|name| root.join(format!("tests/corpus/{name}/{name}.ptx")))
        .collect();
    files.extend(orias_isa::coverage::files(&[root.join("tests/coverage/sm_90a")], "ptx"));
    let loaded: Vec<_> =
        files.par_iter().enumerate().map(|(i, file)| load(&ptxas, file, i)).collect();

    let every = std::env::var("ORIAS_MUTATIONS").ok().and_then(|n| n.parse().ok());
    let every: usize = every.unwrap_or(EVERY).max(1);
    let mined = [0, 1].map(|half| {
        let mut mined = Mined::new(target);
        for (i, (_, texts)) in loaded.iter().enumerate().filter(|(i, _)| i % 2 == half) {
            texts.iter().for_each(|text| mined.add(&format!("file {i}"), text));
        }
        mined
    });
    let reads = [&mined[0], &mined[1]].map(|m| facts::reads(m).into_iter().collect());
    let kernels: Vec<&Kernel> = loaded.iter().flat_map(|(kernels, _)| kernels).collect();
    for half in [0, 1] {
        let least = Least {
            reads: [&reads[0], &reads[1]],
            judge: judge(&mined[half], &reads[half]),
            target,
        };
        let kernels: Vec<&Kernel> =
            kernels.iter().copied().filter(|k| k.file % 2 != half).collect();
        flagged(&format!("by half {half}"), &kernels, least.judge);
        mutations_are_found(half, &kernels, &least, every);
    }
    let [one, other] = mined;
    let mut both = one;
    both.merge(other);
    let reads = facts::reads(&both).into_iter().collect();
    let judge = judge(&both, &reads);
    assert_eq!(flagged("by both halves", &kernels, judge), 0, "ptxas's own code");
}

/// What these kernels, and no others, show.
fn judge(mined: &Mined, reads: &HashMap<(Out, In), Seen>) -> &'static Latencies {
    let met = reads.iter().filter(|(_, seen)| seen.total() >= MET);
    let least = met.filter_map(|(ends, seen)| {
        // What is farther apart is so for other reasons.
        let cycles = seen.closest(1)?;
        let class = mined.target.latencies().class_of(ends.0);
        mined::is_near(class, cycles).then_some((*ends, cycles as u8))
    });
    // Overwritten is, in order, what few pairs say little of; and what control flow reads at issue,
    // by ways behind RET and BRX that the miner does not walk (both as `latency/needed.rs` has it).
    let says = |row: &Row| match row.hazard {
        Hazard::ReadAfterWrite => true,
        Hazard::WriteAfterRead => row.first != [Class::Control],
        Hazard::WriteAfterWrite => {
            let Provenance::Observed(seen) = &row.provenance else { return true };
            !row.second[0].is_variable() || seen.iter().all(|(_, _, all)| *all >= MANY)
        }
    };
    let rows = mined.rows().into_iter().filter(says).collect();
    Box::leak(Box::new(Latencies::of_rows(rows, least)))
}

/// Lists what the latencies call a hazard in the kernels as ptxas made them, by cause; says how
/// many there are.
fn flagged(by: &str, kernels: &[&Kernel], latencies: &'static Latencies) -> usize {
    let each = kernels.par_iter().filter_map(|k| run(&k.cubin, &k.launch, latencies, false));
    let outcomes: Vec<Outcome> = each.collect();
    let mut causes: BTreeMap<String, usize> = BTreeMap::new();
    for hazard in outcomes.iter().flat_map(|o| &o.hazards) {
        let name = |text: &str| {
            let mut words = text.split_whitespace().filter(|w| !w.starts_with('@'));
            words.next().unwrap_or("").to_string()
        };
        let (first, second) = (name(&hazard.first.text), name(&hazard.second.text));
        let cause = format!("{} {first} -> {second}: {:?}", hazard.kind.name(), hazard.problem);
        *causes.entry(cause).or_default() += 1;
    }
    let all = causes.values().sum();
    println!("{by}: {all} pairs of {} kernels as they are", kernels.len());
    for (cause, count) in causes {
        println!("    {cause} ({count})");
    }
    all
}

fn mutations_are_found(half: usize, kernels: &[&Kernel], least: &Least<'_>, every: usize) {
    let trials: Vec<Trial<'_>> = kernels.par_iter().flat_map(|k| trials(k, least)).collect();
    let chosen: Vec<&Trial<'_>> = trials.iter().skip(every / 2).step_by(every).collect();
    let found: Vec<bool> = chosen.par_iter().map(|t| t.is_found(least.judge)).collect();

    let mut kinds: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut sums = [(0, 0); 3];
    for (trial, found) in chosen.iter().zip(&found) {
        let (sum, name) = match (trial.mutation.change, trial.mutation.breaks) {
            (Change::Stall, Breaks::Stall(hazard, file)) => {
                let sum = if hazard == Hazard::ReadAfterWrite { 0 } else { 2 };
                (sum, format!("stall, {} {}", hazard.name(), file.prefix()))
            }
            (_, breaks) => (1, format!("wait, {breaks:?}").to_lowercase()),
        };
        for count in [&mut sums[sum], kinds.entry(name).or_default()] {
            count.0 += usize::from(*found);
            count.1 += 1;
        }
    }
    println!("half {half}: {} kernels, {} mutations", kernels.len(), trials.len());
    for (kind, (yes, all)) in &kinds {
        println!("    {kind}: {yes} of {all}");
    }
    let missed: Vec<String> =
        chosen.iter().zip(&found).filter(|(_, f)| !**f).map(|(t, _)| t.name()).collect();
    for name in missed.iter().take(if every == EVERY { 20 } else { 500 }) {
        println!("    missed: {name}");
    }
    let shares = [READS_FOUND, WAITS_FOUND, OTHERS_FOUND];
    for ((yes, all), share) in sums.into_iter().zip(shares) {
        assert!(all >= 50, "only {all} mutations of a kind");
        assert!(yes as f64 >= share * all as f64, "{yes} of {all}");
    }
}
