//! Loops in which threads wait for each other, and what may follow them. YIELD lets threads leave
//! BSYNC alone (found on an H200), so what needs the whole warp behind such a loop gathers it
//! first, and loops of the compiler's own do without: theirs cannot wait for ever.

use orias::dis::{DisOptions, cubin};
use orias::driver::{CompileOptions, compile_source};

fn kernel(body: &str) -> String {
    let source = format!(
        "
.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
{{
    .reg .b64 %o, %d; .reg .b32 %t, %s, %x; .reg .b16 %h; .reg .pred %p;
    .shared .align 16 .b8 sh[16];
    ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; cvt.u64.u32 %d, %t; mov.u32 %s, sh;
    {body}
    bar.sync 0;
    ld.shared.u64 %d, [%s];
    st.global.u64 [%o], %d;
    ret;
}}"
    );
    let options = CompileOptions::default();
    let made = compile_source(&source, &options).expect("a kernel that compiles");
    cubin(&made.cubin, DisOptions::default()).expect("a cubin that can be read")
}

fn has(text: &str, op: &str) -> bool {
    text.lines().any(|line| line.contains(&format!(" {op}")))
}

#[test]
fn loops_of_one_instruction_have_no_yield_and_join_their_threads() {
    for body in [
        "red.shared.add.u64 [%s], %d;",
        "red.shared.max.u64 [%s], %d;",
        "red.shared.or.b64 [%s], %d;",
        "cvt.u16.u32 %h, %t; atom.global.cas.b16 %h, [%o], %h, %h; st.shared.b16 [%s], %h;",
    ] {
        let text = kernel(body);
        assert!(has(&text, "BSYNC"), "a loop: {text}");
        assert!(!has(&text, "YIELD"), "{body}: {text}");
        assert!(!has(&text, "WARPSYNC"), "{body}: {text}");
    }
}

#[test]
fn behind_a_loop_that_waits_for_others_the_warp_gathers_before_a_barrier() {
    let text = kernel(
        "mov.u32 %x, 0;
        again:
            atom.global.cas.b32 %x, [%o], %x, %t;
            setp.ne.u32 %p, %x, 0;
            @%p bra again;
        ",
    );
    let at = |op: &str| text.find(op).unwrap_or_else(|| panic!("no {op}: {text}"));
    assert!(at("YIELD") < at("WARPSYNC.ALL") && at("WARPSYNC.ALL") < at("BAR.SYNC"));
}

#[test]
fn behind_a_call_and_in_a_function_the_warp_gathers_before_a_barrier() {
    let source = "
.version 9.0
.target sm_90a
.address_size 64
.func (.param .b32 r) f(.param .b32 a)
{
    .reg .b32 %x; .shared .align 4 .b32 word;
    ld.param.b32 %x, [a];
    st.shared.u32 [word], %x;
    bar.sync 0;
    ld.shared.u32 %x, [word];
    mad.lo.u32 %x, %x, %x, %x; mad.lo.u32 %x, %x, %x, %x; mad.lo.u32 %x, %x, %x, %x;
    st.param.b32 [r], %x;
    ret;
}
.visible .entry k(.param .u64 out)
{
    .reg .b64 %o; .reg .b32 %x; .reg .pred %p;
    ld.param.u64 %o, [out];
    mov.u32 %x, %tid.x;
    { .param .b32 a; .param .b32 r; st.param.b32 [a], %x; call (r), f, (a); ld.param.b32 %x, [r]; }
    bar.sync 1;
    st.global.u32 [%o], %x;
    ret;
}";
    let knobs = ["InlineSmall", "InlineOnce"].map(|name| (name.to_string(), "0".to_string()));
    let knobs = knobs.to_vec();
    let options = CompileOptions { knobs, ..CompileOptions::default() };
    let made = compile_source(source, &options).expect("a kernel that compiles");
    let text = cubin(&made.cubin, DisOptions::default()).expect("a cubin that can be read");
    let count = |op: &str| text.lines().filter(|line| line.contains(&format!(" {op}"))).count();
    assert_eq!((count("BAR.SYNC"), count("WARPSYNC.ALL")), (2, 2), "{text}");
}
