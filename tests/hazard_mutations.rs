//! Of ptxas's cubins with one control bit changed for the worse, nearly all are found out.
//!
//! Kernels are split into two halves. Latencies are mined from one half; in the other half a stall is shortened by a cycle wherever
//! a pair of instructions stands as close as any pair of the first half does, or a wait is left out that a register hangs
//! on. The simulator judges each by the latencies of the first half. What was changed must have run: nothing else can be seen.
//!
//! `ORIAS_MUTATIONS=N` runs every N-th mutation of each half; 1 is all.

use orias::elf::Cubin;
use orias::launch::{Launch, Outcome};
use orias::simulate::simulate;
use orias_isa::differ;
use orias_isa::latency::mined::Mined;
use orias_isa::latency::mutate::{self, Breaks, Change, Mutation};
use orias_runner::case::Suite;
use orias_runner::folders;
use orias_runner::oracle::{tool, workspace};
use orias_targets::Target;
use orias_targets::latency::Latencies;
use orias_targets::simulator::{Hazards, Limits};
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// Share of the mutations that must be found out, of each half.
const FOUND: f64 = 0.95;

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
    let stem = ptx.file_stem()?.to_string_lossy().into_owned();
    let name = format!("orias-mutations-{}-{stem}-O{level}.cubin", std::process::id());
    let output = std::env::temp_dir().join(name);
    let level = format!("-O{level}");
    let mut run = Command::new(ptxas);
    let done = run.args(["-arch=sm_90a", &level, "-o"]).arg(&output).arg(ptx).output().ok()?;
    let cubin = done.status.success().then(|| std::fs::read(&output).ok()).flatten();
    // Not there when ptxas failed.
    let _ = std::fs::remove_file(&output);
    cubin
}

/// The launches of a PTX file: the smallest case of each kernel of a corpus folder, those of the differ for coverage kernels.
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
    let setup = differ::Setup { threads: 32, ..Default::default() };
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

fn trials<'k>(
    kernel: &'k Kernel,
    target: &'static Target,
    latencies: &'static Latencies,
) -> Vec<Trial<'k>> {
    let Some(outcome) = run(&kernel.cubin, &kernel.launch, latencies, false) else {
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
    let mut all = mutate::stalls(target, text, latencies);
    all.extend(mutate::waits(target, text));
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
        pairs(&outcome).iter().any(|pair| !self.before.contains(pair))
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
fn mutations_of_control_bits_are_found_out() {
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
    for half in [0, 1] {
        let mut mined = Mined::new(target);
        for (i, (_, texts)) in loaded.iter().enumerate().filter(|(i, _)| i % 2 == half) {
            texts.iter().for_each(|text| mined.add(&format!("file {i}"), text));
        }
        let latencies: &'static Latencies = Box::leak(Box::new(Latencies::of_rows(mined.rows())));
        let kernels: Vec<&Kernel> =
            loaded.iter().flat_map(|(kernels, _)| kernels).filter(|k| k.file % 2 != half).collect();
        let trials: Vec<Trial<'_>> =
            kernels.par_iter().flat_map(|k| trials(k, target, latencies)).collect();
        let already: usize = trials.iter().filter(|t| !t.before.is_empty()).count();
        let chosen: Vec<&Trial<'_>> = trials.iter().skip(every / 2).step_by(every).collect();
        let found: Vec<bool> = chosen.par_iter().map(|t| t.is_found(latencies)).collect();

        let mut classes: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for (trial, found) in chosen.iter().zip(&found) {
            let class = match (trial.mutation.change, trial.mutation.breaks) {
                (Change::Stall, Breaks::Stall(hazard, file)) => {
                    format!("stall, {} {}", hazard.name(), file.prefix())
                }
                (_, breaks) => format!("wait, {breaks:?}").to_lowercase(),
            };
            let (yes, all) = classes.entry(class).or_default();
            *yes += usize::from(*found);
            *all += 1;
        }
        let (yes, all) = classes.values().fold((0, 0), |sum, c| (sum.0 + c.0, sum.1 + c.1));
        println!(
            "half {half}: {} kernels, {} mutations ({already} in kernels that are closer somewhere), {yes} of {all} tried found",
            kernels.len(),
            trials.len()
        );
        for (class, (yes, all)) in &classes {
            println!("    {class}: {yes} of {all}");
        }
        let missed: Vec<String> =
            chosen.iter().zip(&found).filter(|(_, f)| !**f).map(|(t, _)| t.name()).collect();
        for name in missed.iter().take(if every == EVERY { 20 } else { 500 }) {
            println!("    missed: {name}");
        }
        assert!(all >= 500, "only {all} mutations");
        assert!(yes as f64 >= FOUND * all as f64, "{yes} of {all}");
    }
}
