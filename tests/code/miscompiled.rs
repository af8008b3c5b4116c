//! What ptxas is known to compile wrongly: ours is right at every level, and the list says which of
//! it ptxas 13.0.88 still gets wrong.

use orias::driver::{CompileOptions, compile_source};
use orias_isa::differ::{self, End};
use orias_isa::setup::Setup;
use orias_isa::sources;
use orias_runner::oracle;
use std::collections::BTreeMap;

const SOURCE: &str = include_str!("miscompiled.ptx");

/// What ptxas 13.0.88 gets wrong: the kernel, and at which levels.
const WRONG: &[(&str, &[&str])] = &[
    ("difference_of_shifts", &["-O1", "-O2", "-O3"]),
    ("guarded_element", &["-O0", "-O1", "-O2", "-O3"]),
    ("store_from_a_wider_register", &["-O0", "-O1", "-O2", "-O3"]),
];

/// What ends only because lanes are let go that wait at BSYNC while no other lane of the warp can
/// go on.
const LET_GO: (&str, &[&str]) = ("table_out_of_a_region", &["-O0", "-O1", "-O2", "-O3"]);

/// Kernels whose cubin gives something else than the interpreter.
fn differing(cubin: &[u8], strict_regions: bool) -> Vec<(String, End)> {
    let setup = Setup { strict_regions, ..Setup::default() };
    let all = differ::module(SOURCE, cubin, setup, |_| true).expect("PTX and cubin are read");
    assert_eq!(all.len(), 6);
    all.into_iter().filter(|v| v.end != End::Same).map(|v| (v.kernel, v.end)).collect()
}

#[test]
fn ours_is_right_at_every_level() {
    for opt_level in 0..=3 {
        let options = CompileOptions { opt_level, verify_each: true, ..Default::default() };
        let output = compile_source(SOURCE, &options).expect("it compiles");
        assert_eq!(differing(&output.cubin, true), [], "-O{opt_level}");
    }
}

#[test]
fn the_list_says_what_ptxas_gets_wrong() {
    let Some(ptxas) = oracle::tool("ptxas") else { return };
    let list = [sources::Source { name: "miscompiled".into(), text: SOURCE.into() }];
    let wrong = |strict_regions: bool| {
        let mut wrong: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for level in ["-O0", "-O1", "-O2", "-O3"] {
            let (built, refused) = sources::build(&ptxas, "sm_90a", &list, &[level]);
            assert_eq!(refused, 0);
            for (kernel, _) in differing(&built[0].cubin, strict_regions) {
                wrong.entry(kernel).or_default().push(level);
            }
        }
        wrong
    };
    let row = |(kernel, levels): &(&str, &[&'static str])| (kernel.to_string(), levels.to_vec());
    let mut expected: BTreeMap<String, Vec<&str>> = WRONG.iter().map(row).collect();
    assert_eq!(wrong(false), expected);
    expected.extend([row(&LET_GO)]);
    assert_eq!(wrong(true), expected);
}
