//! What options of the command line change in a module: default and forced cache operators, bounds
//! of launches, and which kernels there are. All of it could stand in the PTX, so it is put there
//! before anything is compiled.
//!
//! Observed (ptxas 13.0.88, sm_90a): a default operator goes to weak loads and stores of global and
//! generic addresses that name none; a forced one replaces those that are named, too. Loads by
//! `.nc` take `cs` alone. Volatile and ordered accesses stay.

use crate::ptx::diagnostics::{Diagnostic, Diagnostics, Severity};
use crate::ptx::program::{Function, Instruction, Program, Words};
use crate::ptx::types::Type;
use crate::ptx::words::{Op, Word, WordSet};
use std::sync::Arc;

/// Cache operators of the command line; each a word of PTX.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Caches {
    /// `--def-load-cache`, `--def-store-cache`
    pub load: Option<Word>,
    /// `--def-store-cache`: for stores that name none.
    pub store: Option<Word>,
    /// `--force-load-cache`, `--force-store-cache`
    pub forced_load: Option<Word>,
    /// `--force-store-cache`: for all stores.
    pub forced_store: Option<Word>,
}

/// The operators of loads and of stores.
pub const LOADS: [Word; 5] = [Word::Ca, Word::Cg, Word::Cs, Word::Lu, Word::Cv];
/// Cache operators of stores that the options take (PTX ISA, "Cache Operators").
pub const STORES: [Word; 4] = [Word::Wb, Word::Cg, Word::Cs, Word::Wt];

/// Bounds of every kernel's launches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bounds {
    /// `--maxntid`
    pub max_threads: Option<[u64; 3]>,
    /// `--minnctapersm`
    pub min_ctas: Option<u64>,
    /// `--override-directive-values`: these, and `--maxrregcount`, come before the kernel's own
    /// directives.
    pub overriding: bool,
}

/// What options change.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Overrides {
    /// `--entry`: the only kernels; none names all.
    pub entries: Vec<String>,
    /// Cache operators that the command line asks for.
    pub caches: Caches,
    /// Threads, CTAs and registers that it asks for.
    pub bounds: Bounds,
    /// `--warn-on-double-precision-use`
    pub warn_of_doubles: bool,
}

/// Changes a module.
///
/// # Errors
/// A kernel that there is none of.
pub fn apply(
    program: &mut Program<'_>,
    overrides: &Overrides,
    max_registers: Option<u32>,
) -> Result<(), Diagnostics> {
    let kernel = |name: &String| program.functions.iter().any(|f| f.entry && f.name == name);
    if let Some(name) = overrides.entries.iter().find(|name| !kernel(name)) {
        return Err(Diagnostic::global(format!("Unknown function {name}")).into());
    }
    for function in program.functions.iter_mut() {
        if function.entry {
            bound(function, &overrides.bounds, max_registers);
        }
        // To ask for the code of one without a body would make it one.
        let Some(body) = &mut function.body else { continue };
        let code = &mut Arc::make_mut(body).code;
        let caches = &overrides.caches;
        for at in 0..code.len() {
            let inst = code.at(at);
            let words = match inst.opcode {
                Op::Ld => cache(&inst, &LOADS, (caches.load, caches.forced_load)),
                Op::St => cache(&inst, &STORES, (caches.store, caches.forced_store)),
                _ => None,
            };
            if let Some(words) = words {
                code.respell(at, words);
            }
        }
    }
    if overrides.warn_of_doubles {
        let all = program.functions.iter().flat_map(|f| &f.code);
        let doubles = all.filter(|i| i.types.contains(&Type::F64));
        let warnings: Vec<Diagnostic> = doubles
            .map(|inst| {
                let message = "Program is doing double precision computations.";
                Diagnostic::new(Severity::Warning, inst.span, message)
            })
            .collect();
        warnings.into_iter().for_each(|w| program.warnings.push(w));
    }
    Ok(())
}

/// An access's words with another cache operator, if it is to have one.
fn cache(
    inst: &Instruction,
    operators: &[Word],
    (default, forced): (Option<Word>, Option<Word>),
) -> Option<Words> {
    /// Orders, other spaces, priorities of the first-level cache.
    const OTHERS: WordSet = WordSet::of(&[
        Word::Volatile,
        Word::Relaxed,
        Word::Acquire,
        Word::Release,
        Word::Mmio,
        Word::Const,
        Word::Local,
        Word::Param,
        Word::ParamEntry,
        Word::ParamFunc,
        Word::Shared,
        Word::SharedCta,
        Word::SharedCluster,
        Word::L1EvictFirst,
        Word::L1EvictLast,
        Word::L1EvictNormal,
        Word::L1EvictUnchanged,
        Word::L1NoAllocate,
    ]);
    if inst.set.intersects(&OTHERS) {
        return None;
    }
    let named = inst.modifiers.iter().position(|m| operators.contains(m));
    let wanted = if named.is_some() { forced } else { forced.or(default) };
    let word = wanted.filter(|w| !inst.has(Word::Nc) || *w == Word::Cs)?;
    let mut modifiers = inst.modifiers.to_vec();
    match named {
        Some(at) => modifiers[at] = word,
        None => modifiers.insert(modifiers.len().saturating_sub(inst.types.len()), word),
    }
    Some(Words::new(inst.opcode, modifiers.into()))
}

/// Gives a kernel directives.
fn bound(function: &mut Function<'_>, bounds: &Bounds, max_registers: Option<u32>) {
    let set =
        |function: &mut Function<'_>, names: &[&str], name: &'static str, values: Vec<u64>| {
            if bounds.overriding {
                function.directives.retain(|(n, _)| !names.contains(n));
            }
            if !function.directives.iter().any(|(n, _)| names.contains(n)) {
                function.directives.push((name, values));
            }
        };
    if let Some(most) = max_registers.filter(|_| bounds.overriding) {
        set(function, &["maxnreg", "minnctapersm"], "maxnreg", vec![u64::from(most)]);
    }
    if let Some(threads) = bounds.max_threads {
        set(function, &["maxntid", "reqntid"], "maxntid", threads.to_vec());
    }
    let bounded = function.directives.iter().any(|(n, _)| matches!(*n, "maxntid" | "reqntid"));
    if let Some(ctas) = bounds.min_ctas.filter(|_| bounded) {
        set(function, &["minnctapersm"], "minnctapersm", vec![ctas]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = ".version 9.0\n.target sm_90a\n.address_size 64
        .visible .entry a(.param .u64 p) { .reg .b64 %p; .reg .b32 %x; ld.param.u64 %p, [p];
        ld.global.b32 %x, [%p]; ld.global.cg.b32 %x, [%p]; ld.global.nc.b32 %x, [%p]; ld.volatile.b32 %x, [%p];
        st.b32 [%p], %x; st.shared.b32 [%x], %x; ret; }
        .visible .entry b() .maxntid 64 { .reg .f64 %f; mov.f64 %f, 0d3ff0000000000000; ret; }";

    fn words(overrides: &Overrides) -> Vec<String> {
        let mut program = crate::ptx::load(SOURCE).expect("the source is right");
        apply(&mut program, overrides, None).expect("the kernels are there");
        let joined =
            |i: Instruction<'_>| i.modifiers.iter().map(|m| m.name()).collect::<Vec<_>>().join(".");
        program.functions[0].code.iter().map(joined).collect()
    }

    #[test]
    fn a_default_operator_is_for_weak_accesses_without_one() {
        let caches = Caches { load: Some(Word::Cs), store: Some(Word::Wt), ..Caches::default() };
        let found = words(&Overrides { caches, ..Overrides::default() });
        assert_eq!(found[0], "param.u64");
        assert_eq!(
            found[1..5],
            ["global.cs.b32", "global.cg.b32", "global.nc.cs.b32", "volatile.b32"]
        );
        assert_eq!(found[5..7], ["wt.b32", "shared.b32"]);
    }

    #[test]
    fn a_forced_operator_replaces_others() {
        let caches = Caches { forced_load: Some(Word::Cv), ..Caches::default() };
        let found = words(&Overrides { caches, ..Overrides::default() });
        assert_eq!(
            found[1..5],
            ["global.cv.b32", "global.cv.b32", "global.nc.b32", "volatile.b32"]
        );
    }

    #[test]
    fn bounds_are_for_kernels_without_unless_they_override() {
        for (overriding, threads) in [(false, 64), (true, 128)] {
            let bounds = Bounds { max_threads: Some([128, 1, 1]), overriding, ..Bounds::default() };
            let mut program = crate::ptx::load(SOURCE).expect("the source is right");
            let overrides = Overrides { bounds, ..Overrides::default() };
            apply(&mut program, &overrides, None).expect("the kernels are there");
            let of = |f: usize| program.functions[f].directives[0].1[0];
            assert_eq!((of(0), of(1)), (128, threads));
        }
    }

    #[test]
    fn doubles_are_told_and_kernels_must_be_there() {
        let mut program = crate::ptx::load(SOURCE).expect("the source is right");
        let overrides = Overrides { warn_of_doubles: true, ..Overrides::default() };
        apply(&mut program, &overrides, None).expect("nothing to refuse");
        assert_eq!(program.warnings.iter().count(), 1);
        let overrides = Overrides { entries: vec!["c".into()], ..Overrides::default() };
        let error = apply(&mut program, &overrides, None).expect_err("there is no such kernel");
        assert!(error.to_string().contains("Unknown function c"), "{error}");
    }
}
