//! Our latencies beside what ptxas relies on in the cubins that it makes of the corpus: the short
//! form of `orias-isa latencies`.

use orias_isa::latency::distances::{self, What};
use orias_isa::latency::mined::{ByClass, Mined};
use orias_isa::latency::{facts, observed, source};
use orias_runner::folders;
use orias_runner::oracle::{tool, workspace};
use orias_targets::Target;
use orias_targets::latency::{Hazard, Provenance};
use std::collections::HashMap;
use std::sync::OnceLock;

/// Pairs of classes met so often in the corpus stand as close there as anywhere.
const COMMON: u32 = 400;

/// What each half of the corpus's kernels shows, mined once for all tests; `None` without ptxas.
fn halves() -> Option<&'static [(Mined, ByClass); 2]> {
    static HALVES: OnceLock<Option<[(Mined, ByClass); 2]>> = OnceLock::new();
    // Asked for by each test, which is counted as skipped without it.
    let ptxas = tool("ptxas")?;
    let mine = || {
        let target: &'static Target = orias_targets::target("sm_90a")?;
        let ptx = |name: &String| workspace().join(format!("tests/corpus/{name}/{name}.ptx"));
        let files: Vec<_> = folders::all().iter().map(ptx).collect();
        let texts = source::texts(&ptxas, target.name, &[1, 3], &files);
        Some([0, 1].map(|half| {
            let mut mined = Mined::new(target);
            for text in texts.iter().skip(half).step_by(2) {
                mined.add(&text.name, &text.words);
            }
            let by_class = mined.by_class();
            (mined, by_class)
        }))
    };
    HALVES.get_or_init(mine).as_ref()
}

#[test]
fn no_latency_is_shorter_than_the_shortest_that_ptxas_relies_on() {
    let Some(halves) = halves() else { return };
    let (mut wrong, mut common) = (Vec::new(), 0);
    for (mined, by_class) in halves {
        for ((hazard, file, first, second), seen) in by_class {
            let Some((cycles, there, all)) = observed::shown(*first, seen) else { continue };
            let latencies = mined.target.latencies();
            let ours = usize::from(latencies.cycles(*hazard, *file, *first, *second));
            let Some(row) = latencies.row(*hazard, *file, *first, *second) else { continue };
            // What is seen here has been seen when the rows were written.
            let known = matches!(row.provenance, Provenance::Observed(_)) && ours <= cycles;
            // Results are read as soon as they are there; they are seldom overwritten so soon.
            let common_read = *hazard == Hazard::ReadAfterWrite && all >= COMMON;
            let close = !common_read || ours == cycles;
            common += usize::from(common_read);
            if !known || !close {
                wrong.push(format!(
                    "{hazard:?} {file:?} {first:?} -> {second:?}: ours {ours}, ptxas {cycles} ({there} of {all})"
                ));
            }
        }
    }
    assert!(common > 20, "only {common} pairs of classes are common");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn one_half_of_the_kernels_tells_the_latencies_of_the_other() {
    let Some([(_, one), (_, other)]) = halves() else { return };
    let (mut agree, mut differ) = (0, Vec::new());
    for (key, seen) in one.iter().filter(|(key, _)| key.0 == Hazard::ReadAfterWrite) {
        let Some(theirs) = other.get(key) else { continue };
        let (Some(a), Some(b)) = (observed::shown(key.2, seen), observed::shown(key.2, theirs))
        else {
            continue;
        };
        if a.2.min(b.2) < COMMON / 2 {
            continue;
        }
        match a.0 == b.0 {
            true => agree += 1,
            false => differ.push(format!("{key:?}: {} and {}", a.0, b.0)),
        }
    }
    assert!(agree > 10, "{agree} agree");
    assert!(differ.is_empty(), "{agree} agree, these do not:\n{}", differ.join("\n"));
}

/// The facts were mined from these kernels too, so nothing stands nearer here than they say.
#[test]
fn facts_are_no_longer_than_what_the_corpus_shows() {
    let Some(halves) = halves() else { return };
    let target = halves[0].0.target;
    let known: HashMap<_, _> = target
        .latencies()
        .facts()
        .filter(|f| f.hazard == Hazard::ReadAfterWrite)
        .map(|f| ((f.first.0, f.second), f))
        .collect();
    assert!(known.len() > 3000, "only {} facts", known.len());
    let (mut met, mut wrong) = (0, Vec::new());
    for (mined, _) in halves {
        for ((first, second), seen) in facts::reads(mined) {
            let Some(closest) = seen.closest(1) else { continue };
            match known.get(&(first.0, second.0)) {
                Some(fact) if usize::from(fact.least) > closest => wrong.push(format!(
                    "{first:?} -> {second:?}: {} and {closest} in {}",
                    fact.least, mined.kernels[seen.example.0 as usize]
                )),
                Some(_) => met += 1,
                None => {}
            }
        }
    }
    assert!(met > 1000, "only {met} of them are met");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Our code of the corpus and of the coverage set: no result is read, or overwritten, sooner than
/// ptxas ever does it.
#[test]
fn no_pair_of_ours_is_nearer_than_ptxas_ever_leaves_it() {
    let target: &'static Target = orias_targets::target("sm_90a").expect("a target");
    let files = source::files(target, &[]);
    assert!(files.len() > 100, "{} files", files.len());
    let found = distances::check(target, &files, &[1, 3]);
    let nearer = found.iter().filter(|((what, _), _)| matches!(what, What::Nearer { .. }));
    let nearer: Vec<String> =
        nearer.map(|((what, ends), one)| format!("{ends}: {what:?}, {one:?}")).collect();
    assert!(nearer.is_empty(), "{}", nearer.join("\n"));
}
