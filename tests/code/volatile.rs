//! Volatile and ordered accesses to shared memory are as many as the PTX has, though the machine's
//! code for them is that of plain ones, which become one or are done in another order.

use orias::dis::DisOptions;
use orias::driver::{self, CompileOptions};

/// The code for two loads of words beside each other, and for a loop that loads.
fn listing(how: &str) -> String {
    let ptx = format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n\
         .visible .entry k(.param .u64 p, .param .u32 n)\n{{\n\
         .reg .b32 %r<12>; .reg .u64 %rd<2>; .reg .pred %p;\n\
         .shared .align 16 .b8 s[1024];\n\
         ld.param.u64 %rd1, [p]; ld.param.u32 %r9, [n];\n\
         mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 4; mov.u32 %r3, s; add.s32 %r4, %r3, %r2;\n\
         ld{how}.shared.u32 %r5, [%r4];\n\
         ld{how}.shared.u32 %r6, [%r4+4];\n\
         add.u32 %r7, %r5, %r6;\n\
         L: ld{how}.shared.u32 %r8, [%r4+16]; add.u32 %r7, %r7, %r8; add.u32 %r4, %r4, 4;\n\
         add.s32 %r1, %r1, 1; setp.lt.s32 %p, %r1, %r9; @%p bra L;\n\
         st.global.u32 [%rd1], %r7;\nret;\n}}\n"
    );
    let options = CompileOptions { opt_level: 3, threads: 1, ..Default::default() };
    let cubin = driver::compile_source(&ptx, &options).expect("it compiles").cubin;
    orias::dis::cubin(&cubin, DisOptions::default()).expect("a cubin of ours")
}

#[test]
fn volatile_and_ordered_loads_stay_as_many_as_they_are() {
    let count = |how: &str, word: &str| listing(how).matches(word).count();
    assert_eq!(count("", "LDS.64"), 1, "plain loads become one");
    assert!(count("", "LDS") > 3, "and so do rounds");
    for how in [".volatile", ".relaxed.cta", ".acquire.cta"] {
        assert_eq!((count(how, "LDS.64"), count(how, "LDS ")), (0, 3), "{how}");
    }
}
