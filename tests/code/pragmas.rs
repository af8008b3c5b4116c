//! `.pragma "nounroll"`: which loops it keeps as they are.

use orias::dis::{self, DisOptions};
use orias::driver::{self, CompileOptions};
use orias_fuzz::engines;

const PRAGMA: &str = ".pragma \"nounroll\";";

/// Two loops of eight rounds, one that stores and one that adds to memory, with pragmas in some
/// places: of the module, of the kernel, before and behind the first loop's label, before its end;
/// and behind the second one's label.
fn kernel([module, kernel, before, behind, end, second]: [bool; 6]) -> String {
    let [module, kernel, before, behind, end, second] =
        [module, kernel, before, behind, end, second].map(|is| if is { PRAGMA } else { "" });
    format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n{module}\n\
         .visible .entry k(.param .u64 p) {kernel}\n{{\n\
         .reg .b32 %r<4>; .reg .b64 %rd<2>; .reg .pred %p;\n\
         ld.param.u64 %rd1, [p]; mov.u32 %r1, 0;\n\
         {before}\nL:\n{behind}\nst.global.u32 [%rd1], %r1;\n\
         add.s64 %rd1, %rd1, 4; add.s32 %r1, %r1, 1; setp.lt.s32 %p, %r1, 8;\n\
         {end}\n@%p bra L;\n\
         mov.u32 %r2, 0;\nM:\n{second}\nred.global.add.u32 [%rd1], %r2;\n\
         add.s64 %rd1, %rd1, 4; add.s32 %r2, %r2, 1; setp.lt.s32 %p, %r2, 8;\n\
         @%p bra M;\nret;\n}}\n"
    )
}

/// Of our code.
fn compiled(ptx: &str) -> [usize; 2] {
    let options = CompileOptions { verify_each: true, ..Default::default() };
    count(&driver::compile_source(ptx, &options).expect("it compiles").cubin)
}

/// How many stores and additions to memory there are.
fn count(cubin: &[u8]) -> [usize; 2] {
    let text = dis::cubin(cubin, DisOptions::default()).expect("a cubin");
    ["STG", "REDG"].map(|word| text.matches(word).count())
}

#[test]
fn a_pragma_keeps_the_loops_that_ptxas_keeps() {
    const NONE: [bool; 6] = [false; 6];
    let at = |place: usize| std::array::from_fn(|n| n == place);
    let cases = [
        (NONE, [8, 8]),
        (at(0), [1, 1]),
        (at(1), [1, 1]),
        (at(2), [8, 8]),
        (at(3), [1, 8]),
        (at(4), [1, 8]),
        (at(5), [8, 1]),
    ];
    for (places, expected) in cases {
        let ptx = kernel(places);
        assert_eq!(compiled(&ptx), expected, "{places:?}");
        if let Some(cubin) = engines::ptxas(&ptx, 3) {
            let cubin = cubin.expect("ptxas takes it, too");
            assert_eq!(count(&cubin), expected, "ptxas, {places:?}");
        }
    }
}

#[test]
fn a_loop_whose_test_comes_to_its_end_is_still_the_pragma_s() {
    let kernel = |pragma: &str| {
        format!(
            ".version 8.0\n.target sm_90a\n.address_size 64\n\
             .visible .entry k(.param .u64 p)\n{{\n\
             .reg .b32 %r<4>; .reg .b64 %rd<2>; .reg .pred %p;\n\
             ld.param.u64 %rd1, [p]; mov.u32 %r1, 0;\n\
             L:\n{pragma}\nsetp.ge.s32 %p, %r1, 8;\n@%p bra DONE;\n\
             st.global.u32 [%rd1], %r1; add.s64 %rd1, %rd1, 4; add.s32 %r1, %r1, 1;\n\
             bra L;\nDONE: red.global.add.u32 [%rd1], %r1; ret;\n}}\n"
        )
    };
    assert_eq!([compiled(&kernel("")), compiled(&kernel(PRAGMA))], [[8, 1], [1, 1]]);
}
