//! Calls of the system's functions, from our cubins and ptxas's in the simulator and in the
//! interpreter; and warp operations whose lanes have different masks, which ptxas runs one mask
//! after the other.

use orias::driver::{CompileOptions, compile_program};
use orias::launch::{Argument, Buffer, Launch, Outcome};
use orias_isa::reference;
use orias_runner::oracle::tool;
use orias_targets::simulator::{Hazards, Limits};

const SOURCE: &str = r#"
.version 9.0
.target sm_90a
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 arguments);
.extern .func (.param .b64 r) malloc(.param .b64 size);
.extern .func free(.param .b64 block);
.extern .func __assertfail(.param .b64 message, .param .b64 file, .param .b32 line, .param .b64 function, .param .b64 size);
// "%d|%5.2f|%s|%llx|%c\n", "text", "a < b", "x.cu", "f"
.global .align 1 .b8 format[21] = {37,100,124,37,53,46,50,102,124,37,115,124,37,108,108,120,124,37,99,10,0};
.global .align 1 .b8 text[5] = {116,101,120,116,0};
.global .align 1 .b8 message[6] = {97,32,60,32,98,0};
.global .align 1 .b8 file[5] = {120,46,99,117,0};
.global .align 1 .b8 name[2] = {102,0};

// Threads print one line each; the result is the number of arguments.
.visible .entry print(.param .u64 out)
{
    .reg .b32 %t, %r; .reg .b64 %o, %f, %a, %s; .reg .f64 %x;
    .local .align 8 .b8 arguments[40];
    ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mad.wide.u32 %o, %t, 8, %o;
    cvta.local.u64 %a, arguments;
    st.local.u32 [arguments], %t;
    cvt.rn.f64.u32 %x, %t; mul.f64 %x, %x, 0d3fe0000000000000; st.local.f64 [arguments+8], %x;
    mov.u64 %s, text; cvta.global.u64 %s, %s; st.local.u64 [arguments+16], %s;
    mov.u64 %s, 0x1234567890; st.local.u64 [arguments+24], %s;
    add.u32 %r, %t, 65; st.local.u32 [arguments+32], %r;
    mov.u64 %f, format; cvta.global.u64 %f, %f;
    {
        .param .b64 p0; .param .b64 p1; .param .b32 q;
        st.param.b64 [p0], %f; st.param.b64 [p1], %a;
        call.uni (q), vprintf, (p0, p1);
        ld.param.b32 %r, [q];
    }
    st.global.u32 [%o], %r;
    ret;
}

// A block a thread; what is written comes back; the second half frees and asks for too much.
.visible .entry heap(.param .u64 out)
{
    .reg .b32 %t, %r; .reg .b64 %o, %b, %c, %n; .reg .pred %p;
    ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mad.wide.u32 %o, %t, 8, %o;
    mov.u64 %n, 24;
    { .param .b64 p; .param .b64 q; st.param.b64 [p], %n; call.uni (q), malloc, (p); ld.param.b64 %b, [q]; }
    st.u32 [%b+20], %t;
    mov.u64 %n, 0x1000000;
    { .param .b64 p; .param .b64 q; st.param.b64 [p], %n; call.uni (q), malloc, (p); ld.param.b64 %c, [q]; }
    ld.u32 %r, [%b+20];
    { .param .b64 p; st.param.b64 [p], %b; call.uni free, (p); }
    { .param .b64 p; st.param.b64 [p], %c; call.uni free, (p); }
    setp.ne.u64 %p, %c, 0;
    @%p mov.u32 %r, 99;
    st.global.u32 [%o], %r;
    ret;
}

.visible .entry fails(.param .u64 out)
{
    .reg .b32 %t; .reg .b64 %m, %f, %n; .reg .pred %p;
    mov.u32 %t, %tid.x; setp.ne.u32 %p, %t, 5; @%p ret;
    mov.u64 %m, message; cvta.global.u64 %m, %m;
    mov.u64 %f, file; cvta.global.u64 %f, %f;
    mov.u64 %n, name; cvta.global.u64 %n, %n;
    {
        .param .b64 p0; .param .b64 p1; .param .b32 p2; .param .b64 p3; .param .b64 p4;
        st.param.b64 [p0], %m; st.param.b64 [p1], %f; st.param.b32 [p2], 77; st.param.b64 [p3], %n; st.param.b64 [p4], 1;
        call.uni __assertfail, (p0, p1, p2, p3, p4);
    }
    ret;
}

// Freed twice.
.visible .entry twice(.param .u64 out)
{
    .reg .b64 %b, %n;
    mov.u64 %n, 24;
    { .param .b64 p; .param .b64 q; st.param.b64 [p], %n; call.uni (q), malloc, (p); ld.param.b64 %b, [q]; }
    { .param .b64 p; st.param.b64 [p], %b; call.uni free, (p); }
    { .param .b64 p; st.param.b64 [p], %b; call.uni free, (p); }
    ret;
}

// Each lane names its own parity.
.visible .entry masks(.param .u64 out)
{
    .reg .b32 %t, %m, %r, %s; .reg .b64 %o; .reg .pred %p, %q;
    ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mad.wide.u32 %o, %t, 8, %o;
    and.b32 %m, %t, 1; setp.eq.u32 %p, %m, 0; selp.b32 %m, 0x55555555, 0xaaaaaaaa, %p;
    setp.gt.u32 %p, %t, 7;
    elect.sync %r|%q, %m; selp.u32 %s, 256, 0, %q; add.u32 %r, %r, %s;
    vote.sync.ballot.b32 %s, %p, %m; mad.lo.u32 %r, %s, 3, %r;
    shr.u32 %s, %t, 2; match.any.sync.b32 %s, %s, %m; mad.lo.u32 %r, %s, 5, %r;
    redux.sync.add.u32 %s, %t, %m; mad.lo.u32 %r, %s, 7, %r;
    st.global.u32 [%o], %r;
    ret;
}

.weak .func (.param .b32 r) doubled(.param .b32 a)
{
    .reg .b32 %x; ld.param.b32 %x, [a]; add.s32 %x, %x, %x; st.param.b32 [r], %x; ret;
}

// ptxas -g calls weak functions at their absolute place, two fields of the instruction.
.visible .entry weak(.param .u64 out)
{
    .reg .b32 %t, %r; .reg .b64 %o;
    ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mad.wide.u32 %o, %t, 8, %o;
    { .param .b32 p; .param .b32 q; st.param.b32 [p], %t; call (q), doubled, (p); ld.param.b32 %r, [q]; }
    st.global.u32 [%o], %r;
    ret;
}

// Room on the stack that only the launch knows.
.visible .entry room(.param .u64 out)
{
    .reg .b32 %t, %r; .reg .b64 %o, %n, %a;
    ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mad.wide.u32 %o, %t, 8, %o;
    cvt.u64.u32 %n, %t; mad.lo.u64 %n, %n, 8, 16;
    alloca.u64 %a, %n, 8;
    st.local.u32 [%a+8], %t;
    ld.local.u32 %r, [%a+8];
    st.global.u32 [%o], %r;
    ret;
}
"#;

fn launch(entry: &str) -> Launch {
    let buffer = Buffer { bytes: vec![0; 32 * 8], writable: true, output: None };
    Launch {
        entry: entry.into(),
        grid: [1; 3],
        block: [32, 1, 1],
        args: vec![Argument::Buffer(buffer)],
        ..Launch::default()
    }
}

fn words(outcome: &Outcome) -> Vec<u32> {
    let words = outcome.buffers[0].chunks_exact(8);
    words.map(|w| u32::from_le_bytes(w[..4].try_into().unwrap())).collect()
}

/// What every engine gives: the interpreter, and the simulator with ptxas's cubins where there is a
/// ptxas.
fn everywhere(entry: &str) -> Vec<(String, Result<Outcome, String>)> {
    let program = orias::ptx::load(SOURCE).unwrap_or_else(|e| panic!("{}", e.render("k", SOURCE)));
    let interpreted = orias::interpret::run(&program, SOURCE, &launch(entry));
    let mut all = vec![("interpreter".into(), interpreted.map_err(|e| e.to_string()))];
    for opt_level in 0..4 {
        let options = CompileOptions { opt_level, verify_each: true, ..Default::default() };
        let mut program = program.clone();
        for kernel in program.functions.iter_mut().filter(|f| f.entry && f.name != entry) {
            (kernel.defined, kernel.code) = (false, Default::default());
        }
        let output = compile_program(&program, &options).unwrap_or_else(|e| panic!("{e}"));
        let limits = Limits { hazards: Hazards::Find, ..Limits::default() };
        let outcome = orias::simulate::simulate(&output.cubin, &launch(entry), limits);
        all.push((format!("orias -O{opt_level}"), outcome.map_err(|e| e.to_string())));
    }
    let Some(ptxas) = tool("ptxas") else { return all };
    for level in ["-O0", "-O0 -g", "-O1", "-O3", "-O0 -c", "-O3 -c"] {
        let options: Vec<&str> = level.split(' ').collect();
        let bytes =
            reference::ptxas(&ptxas, "sm_90a", SOURCE, &options).unwrap_or_else(|e| panic!("{e}"));
        let outcome = orias::simulate::simulate(&bytes, &launch(entry), Limits::default());
        all.push((format!("ptxas {level}"), outcome.map_err(|e| e.to_string())));
    }
    all
}

fn results(entry: &str, want: &[u32]) {
    for (engine, outcome) in everywhere(entry) {
        let outcome = outcome.unwrap_or_else(|e| panic!("{engine}: {e}"));
        assert_eq!(words(&outcome), want, "{engine}");
    }
}

fn failure(entry: &str, part: &str) {
    for (engine, outcome) in everywhere(entry) {
        let text = outcome.err().unwrap_or_else(|| panic!("{engine}: no error"));
        assert!(text.contains(part), "{engine}: {text}");
    }
}

#[test]
fn printed_text_comes_in_the_order_of_the_threads() {
    let line = |t: u32| {
        let letter = char::from(65 + t as u8);
        format!("{t}|{:5.2}|text|1234567890|{letter}\n", f64::from(t) / 2.0)
    };
    let want: String = (0..32).map(line).collect();
    for (engine, outcome) in everywhere("print") {
        let outcome = outcome.unwrap_or_else(|e| panic!("{engine}: {e}"));
        assert_eq!(String::from_utf8_lossy(&outcome.printed), want, "{engine}");
        assert_eq!(words(&outcome), [5; 32], "{engine}");
    }
}

#[test]
fn blocks_of_the_heap_belong_to_their_threads() {
    results("heap", &(0..32).collect::<Vec<_>>());
}

#[test]
fn a_failed_assertion_names_its_place() {
    failure("fails", "x.cu:77: f: Assertion `a < b` failed");
    failure("fails", "thread (5, 0, 0)");
}

#[test]
fn a_block_can_be_freed_once() {
    failure("twice", "which malloc did not give");
}

#[test]
fn lanes_with_different_masks_have_their_own_results() {
    let want = |t: u32| {
        let parity = t & 1;
        let mask = 0x5555_5555u32 << parity;
        let elected = parity + if t == parity { 256 } else { 0 };
        let ballot = mask & !0xff;
        let same = (0xf << (t & !3)) & mask;
        let sum: u32 = (0..32).filter(|n| n & 1 == parity).sum();
        let all = [elected, ballot.wrapping_mul(3), same.wrapping_mul(5), sum * 7];
        all.into_iter().fold(0, u32::wrapping_add)
    };
    results("masks", &(0..32).map(want).collect::<Vec<_>>());
}

#[test]
fn functions_are_called_at_their_absolute_place() {
    results("weak", &(0..32).map(|t| 2 * t).collect::<Vec<_>>());
}

#[test]
fn the_stack_grows_at_run_time() {
    results("room", &(0..32).collect::<Vec<_>>());
}
