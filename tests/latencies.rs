//! Our latencies beside what ptxas relies on: for no pair of classes do we let a consumer issue earlier after its producer than
//! the closest pair of these classes in the cubins that ptxas makes of the corpus.

use orias::elf::Cubin;
use orias_components::RegFile;
use orias_runner::compiler::Compiler;
use orias_runner::folders;
use orias_runner::oracle::{tool, workspace};
use orias_systems::schedule::cells::{self, Cell};
use orias_systems::schedule::timing::Timing;
use orias_targets::latency::{Class, read_after_write};
use rustc_hash::FxHashMap;

/// Cycles between producer and reader: the closest pair of these classes, and how often the pair was seen.
type Closest = FxHashMap<(Class, RegFile, Class), (u32, u32)>;

/// The youngest writer of a register: its class (None when a scoreboard guards it) and when it issued.
type Writers = FxHashMap<Cell, (Option<Class>, u32)>;

/// Adds the pairs of one kernel. Between branches only: there the sum of the stalls is the distance.
fn add(text: &[u8], closest: &mut Closest) {
    let target = orias_targets::target("sm_90a").expect("a target");
    let mut writers = Writers::default();
    let mut now = 0;
    for (at, word) in text.chunks_exact(16).enumerate() {
        let word = u128::from_le_bytes(word.try_into().expect("sixteen bytes"));
        let Ok(inst) = target.decode(word, at as u64 * 16) else {
            writers.clear();
            continue;
        };
        let timing = Timing::of(target, &inst);
        cells::for_each_use(&inst, |cell, guard| {
            if let Some((Some(class), when)) = writers.get(&cell) {
                let reader = if guard { Class::Control } else { timing.class };
                let seen = closest.entry((*class, cell.file(), reader)).or_insert((u32::MAX, 0));
                *seen = (seen.0.min(now - when), seen.1 + 1);
            }
        });
        let class = (!timing.class.is_variable()).then_some(timing.class);
        cells::for_each_def(&inst, |cell| {
            writers.insert(cell, (class, now));
        });
        now += u32::from(inst.control.stall);
        if inst.op.is_branch() {
            writers.clear();
        }
    }
}

#[test]
fn no_latency_is_shorter_than_the_shortest_that_ptxas_relies_on() {
    if tool("ptxas").is_none() {
        return;
    }
    let mut closest = Closest::default();
    for name in folders::all() {
        let ptx = workspace().join(format!("tests/corpus/{name}/{name}.ptx"));
        for opt in [1, 3] {
            let cubin = Compiler::Ptxas.compile(&ptx, opt).expect("ptxas compiles the corpus");
            let cubin = Cubin::read(&cubin).expect("its cubin is read");
            cubin.kernels().for_each(|kernel| add(kernel.text, &mut closest));
        }
    }
    assert!(closest.len() > 30, "only {} pairs of classes were seen", closest.len());
    let mut short = Vec::new();
    for ((producer, file, consumer), (cycles, times)) in closest {
        // The control bits can say 15; whatever ptxas leaves beyond that is not for the latency.
        let ours = u32::from(read_after_write(producer, file, consumer));
        if ours < cycles.min(15) && times >= COMMON {
            short.push(format!(
                "{producer:?} -> {consumer:?} in {file:?}: {ours}, ptxas {cycles} ({times} times)"
            ));
        }
    }
    short.sort();
    assert!(short.is_empty(), "{}", short.join("\n"));
}

/// Pairs seen less often than this stand close by chance only.
const COMMON: u32 = 200;
