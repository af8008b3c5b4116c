//! What the interpreter does where threads part, wait for each other, or go wrong: small kernels
//! and their exact outcome.

use orias::interpret::{InterpretError, StepError, run};
use orias::launch::{Argument, Buffer, Launch, LaunchError};
use orias_targets::memory::Fault;

const HEADER: &str = ".version 9.0\n.target sm_90a\n.address_size 64\n";

/// Runs `body` as a kernel with one u32 buffer of `elements`, whose address is in %out; %t is the
/// thread's number in the grid.
fn kernel(body: &str, grid: u32, block: u32, elements: usize) -> Result<Vec<u32>, InterpretError> {
    let source = format!(
        "{HEADER}.visible .entry k(.param .u64 p) {{\n\
         .reg .b64 %out, %a, %a2; .reg .b32 %t, %r<10>; .reg .f32 %f<4>; .reg .pred %p<6>;\n\
         ld.param.u64 %out, [p];\n\
         mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %t, %tid.x;\n\
         mad.lo.u32 %t, %r0, %r1, %t;\n\
         mul.wide.u32 %a, %t, 4; add.u64 %a, %a, %out;\n{body}\nret;\n}}\n"
    );
    module(&source, grid, block, elements)
}

fn module(
    source: &str,
    grid: u32,
    block: u32,
    elements: usize,
) -> Result<Vec<u32>, InterpretError> {
    let program =
        orias::ptx::load(source).unwrap_or_else(|e| panic!("{}", e.render("k.ptx", source)));
    let buffer = Buffer { bytes: vec![0; elements * 4], writable: true, output: None };
    let launch = Launch {
        entry: "k".to_string(),
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        cluster: None,
        dynamic_shared: 0,
        args: vec![Argument::Buffer(buffer)],
    };
    let outcome = run(&program, source, &launch)?;
    Ok(outcome.buffers[0]
        .chunks_exact(4)
        .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect())
}

fn stopped(result: Result<Vec<u32>, InterpretError>) -> (StepError, String) {
    match result {
        Err(InterpretError::Stopped(stopped)) => (stopped.error.clone(), stopped.to_string()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn diverged_lanes_meet_again() {
    // Odd and even lanes part; behind the branch all lanes are active together again.
    let got = kernel(
        "and.b32 %r2, %t, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra EVEN;\n\
         add.u32 %r3, %t, 100; bra.uni JOIN;\n\
         EVEN: add.u32 %r3, %t, 200;\n\
         JOIN: activemask.b32 %r4; popc.b32 %r4, %r4; mad.lo.u32 %r3, %r4, 1000, %r3;\n\
         st.global.u32 [%a], %r3;",
        1,
        32,
        32,
    );
    let want: Vec<u32> = (0..32).map(|t| 32000 + t + if t % 2 == 0 { 200 } else { 100 }).collect();
    assert_eq!(got.unwrap(), want);
}

#[test]
fn loops_of_different_length_end_and_meet() {
    let got = kernel(
        "mov.u32 %r2, 0;\nLOOP: add.u32 %r2, %r2, 1; setp.le.u32 %p1, %r2, %t; @%p1 bra LOOP;\n\
         activemask.b32 %r4; popc.b32 %r4, %r4; mad.lo.u32 %r2, %r4, 1000, %r2; st.global.u32 [%a], %r2;",
        1,
        20,
        20,
    );
    let want: Vec<u32> = (0..20).map(|t| 20_000 + t + 1).collect();
    assert_eq!(got.unwrap(), want, "a block of 20 threads is one warp with 20 lanes");
}

#[test]
fn a_shuffle_waits_for_the_lanes_of_its_mask() {
    // The upper half takes a detour; the exchange still sees all 32 lanes.
    let got = kernel(
        "mov.u32 %r2, %t; setp.lt.u32 %p1, %t, 16; @%p1 bra GO;\n\
         add.u32 %r2, %r2, 1000;\n\
         GO: shfl.sync.bfly.b32 %r3|%p2, %r2, 16, 31, -1; st.global.u32 [%a], %r3;",
        1,
        32,
        32,
    );
    let want: Vec<u32> = (0..32).map(|t| if t < 16 { t + 16 + 1000 } else { t - 16 }).collect();
    assert_eq!(got.unwrap(), want);
}

#[test]
fn lanes_at_different_warp_barriers_release_each_other() {
    let got = kernel(
        "setp.lt.u32 %p1, %t, 16; @%p1 bra LOW;\n\
         bar.warp.sync -1; st.global.u32 [%a], 2; bra DONE;\n\
         LOW: bar.warp.sync -1; st.global.u32 [%a], 1;\nDONE:",
        1,
        32,
        32,
    );
    assert_eq!(got.unwrap(), [[1; 16], [2; 16]].concat());
}

/// PTX ISA, "vote.sync": "the executing thread waits until all non-exited threads of membermask
/// have executed vote.sync with the same qualifiers and same membermask value": nothing says that
/// it is the same instruction.
#[test]
fn lanes_at_different_instructions_of_one_kind_exchange() {
    let both_ways = |one: &str, other: &str| {
        let body = format!(
            "setp.lt.u32 %p1, %t, 16; setp.eq.u32 %p2, %t, 20; add.u32 %r2, %t, 100; @%p1 bra LOW;\n\
             {one} bra DONE;\nLOW: {other}\nDONE: st.global.u32 [%a], %r3;"
        );
        kernel(&body, 1, 32, 32).unwrap()
    };
    let ballot = "vote.sync.ballot.b32 %r3, %p2, -1;";
    assert_eq!(both_ways(ballot, ballot), [1 << 20; 32]);
    let any = "vote.sync.any.pred %p3, %p2, -1; selp.u32 %r3, 1, 0, %p3;";
    assert_eq!(both_ways(any, any), [1; 32]);
    let add = "redux.sync.add.u32 %r3, %t, -1;";
    assert_eq!(both_ways(add, add), [496; 32]);
    // Each lane asks for a lane of the other way, and by an operand of its own.
    let up = "shfl.sync.idx.b32 %r3, %r2, 30, 31, -1;";
    let down = "mov.u32 %r4, %r2; shfl.sync.idx.b32 %r3, %r4, %t, 31, -1;";
    let want: Vec<u32> = (0..32).map(|t| if t < 16 { 130 } else { 100 + t }).collect();
    assert_eq!(both_ways(down, up), want);
    let odd = "and.b32 %r4, %t, 1; match.any.sync.b32 %r3, %r4, -1;";
    let want: Vec<u32> = (0..32).map(|t| 0x5555_5555 << (t & 1)).collect();
    assert_eq!(both_ways(odd, odd), want);
}

/// Other qualifiers or another mask: nobody to exchange with, and the lanes of a part of the warp
/// do not wait for the others.
#[test]
fn lanes_with_other_masks_do_not_exchange() {
    let got = kernel(
        "setp.lt.u32 %p1, %t, 16; setp.eq.u32 %p2, %t, %t; @%p1 bra LOW;\n\
         vote.sync.ballot.b32 %r3, %p2, 0xffff0000; bra DONE;\n\
         LOW: vote.sync.ballot.b32 %r3, %p2, 0xffff;\nDONE: st.global.u32 [%a], %r3;",
        1,
        32,
        32,
    );
    assert_eq!(got.unwrap(), [[0xffff; 16], [0xffff_0000; 16]].concat());
}

#[test]
fn a_lane_may_wait_for_another_lane_of_its_warp() {
    // Each lane takes the lock in turn: the ones that spin must not starve the one that holds it.
    let got = kernel(
        "SPIN: atom.global.cas.b32 %r2, [%out], 0, 1; setp.ne.u32 %p1, %r2, 0; @%p1 bra SPIN;\n\
         ld.global.u32 %r3, [%out+4]; add.u32 %r3, %r3, 1; st.global.u32 [%out+4], %r3;\n\
         atom.global.exch.b32 %r4, [%out], 0;",
        1,
        32,
        2,
    );
    assert_eq!(got.unwrap(), [0, 32]);
}

#[test]
fn a_block_may_wait_for_a_later_one() {
    let got = kernel(
        "setp.eq.u32 %p1, %r0, 3; @%p1 bra LAST;\n\
         SPIN: ld.volatile.global.u32 %r2, [%out]; setp.eq.u32 %p2, %r2, 0; @%p2 bra SPIN;\n\
         atom.global.add.u32 %r3, [%out+4], %r2; bra DONE;\n\
         LAST: st.global.u32 [%out], 7;\nDONE:",
        4,
        1,
        2,
    );
    assert_eq!(got.unwrap(), [7, 21]);
}

#[test]
fn barriers_order_warps_and_reduce_predicates() {
    let source = format!(
        "{HEADER}.visible .entry k(.param .u64 p) {{\n\
         .shared .align 4 .b32 cells[96]; .reg .b64 %out, %a; .reg .b32 %t, %r<8>; .reg .pred %p<4>;\n\
         ld.param.u64 %out, [p]; mov.u32 %t, %tid.x; mul.wide.u32 %a, %t, 4; add.u64 %a, %a, %out;\n\
         mov.u32 %r0, cells; mad.lo.u32 %r1, %t, 4, %r0; st.shared.u32 [%r1], %t;\n\
         bar.sync 0;\n\
         sub.u32 %r2, 95, %t; mad.lo.u32 %r2, %r2, 4, %r0; ld.shared.u32 %r3, [%r2];\n\
         setp.lt.u32 %p1, %t, 40; bar.red.popc.u32 %r4, 1, %p1;\n\
         bar.red.or.pred %p2, 2, %p1; bar.red.and.pred %p3, 2, !%p1;\n\
         selp.u32 %r5, 1, 0, %p2; selp.u32 %r6, 1, 0, %p3;\n\
         mad.lo.u32 %r3, %r4, 1000, %r3; mad.lo.u32 %r3, %r5, 100000, %r3; mad.lo.u32 %r3, %r6, 1000000, %r3;\n\
         st.global.u32 [%a], %r3; ret; }}\n"
    );
    let want: Vec<u32> = (0..96).map(|t| 140_000 + 95 - t).collect();
    assert_eq!(module(&source, 1, 96, 96).unwrap(), want);
}

#[test]
fn producers_and_consumers_share_a_counted_barrier() {
    let got = kernel(
        "setp.lt.u32 %p1, %t, 32; @%p1 bra CONSUME;\n\
         st.global.u32 [%a], 5; bar.arrive 1, 64; bra DONE;\n\
         CONSUME: bar.sync 1, 64; ld.global.u32 %r2, [%a+128]; st.global.u32 [%a], %r2;\nDONE:",
        1,
        64,
        64,
    );
    assert_eq!(got.unwrap(), [5; 64]);
}

#[test]
fn threads_that_exit_are_not_waited_for() {
    let got = kernel(
        "setp.ge.u32 %p1, %t, 40; @%p1 exit; bar.sync 0; shfl.sync.idx.b32 %r2, %t, 0, 31, -1;\n\
         st.global.u32 [%a], %r2;",
        1,
        64,
        64,
    );
    assert_eq!(got.unwrap(), [[0; 32].to_vec(), [32; 8].to_vec(), [0; 24].to_vec()].concat());
}

#[test]
fn waiting_for_ever_is_a_deadlock_that_names_the_instruction() {
    let result = kernel(
        "setp.lt.u32 %p1, %t, 32; @%p1 bra A; bar.sync 1; bra DONE;\nA: bar.sync 2;\nDONE:",
        1,
        64,
        64,
    );
    let Err(error @ InterpretError::Deadlock { .. }) = result else { panic!("{result:?}") };
    let text = error.to_string();
    assert!(
        text.contains("32 threads from block (0, 0, 0), thread (0, 0, 0) on at `bar.sync 2`"),
        "{text}"
    );
    assert!(text.contains("thread (32, 0, 0) on at `bar.sync 1`"), "{text}");
}

#[test]
fn wrong_accesses_say_where() {
    let (error, text) = stopped(kernel("st.global.u32 [%a], %t;", 1, 32, 20));
    let StepError::Fault(Fault::OutOfBounds { size: 4, .. }) = error else { panic!("{error:?}") };
    assert!(
        text.contains("0 bytes past the end of the buffer of argument 0 of 80 bytes"),
        "{text}"
    );
    assert!(
        text.contains(
            "at `st.global.u32 [%a], %t`, line 10, in `k`, block (0, 0, 0), thread (20, 0, 0)"
        ),
        "{text}"
    );

    let (error, _) = stopped(kernel("ld.global.u32 %r2, [%out+2];", 1, 1, 8));
    assert!(matches!(error, StepError::Fault(Fault::Misaligned { size: 4, .. })), "{error:?}");

    let (error, _) = stopped(kernel("ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%out+8];", 1, 1, 8));
    assert!(matches!(error, StepError::Fault(Fault::Misaligned { size: 16, .. })), "{error:?}");

    let (_, text) = stopped(kernel("mov.u64 %a, 0; ld.u32 %r2, [%a];", 1, 1, 8));
    assert!(text.contains("global address 0x0"), "{text}");
}

#[test]
fn what_cannot_run_is_named() {
    let (error, _) = stopped(kernel("trap;", 1, 1, 1));
    assert_eq!(error, StepError::Trap);
    let source = format!(
        "{HEADER}.extern .func f();\n.visible .entry k(.param .u64 p) {{ call.uni f; ret; }}\n"
    );
    let (error, _) = stopped(module(&source, 1, 1, 1));
    assert_eq!(error, StepError::Undefined("f".to_string()));
    let source = format!(
        "{HEADER}.visible .entry k(.param .u64 p) {{ .reg .b64 %f; mov.u64 %f, 64;\n\
         P: .callprototype _ (); call %f, P; ret; }}\n"
    );
    let (error, _) = stopped(module(&source, 1, 1, 1));
    assert_eq!(error, StepError::NoFunction(64));
}

#[test]
fn endless_recursion_overflows_the_stack() {
    let source = format!(
        "{HEADER}.func f(.param .b32 n) {{ .local .b8 frame[256]; .reg .b32 %r<2>; ld.param.u32 %r0, [n];\n\
         {{ .param .b32 m; st.param.b32 [m], %r0; call.uni f, (m); }} ret; }}\n\
         .visible .entry k(.param .u64 p) {{ {{ .param .b32 m; st.param.b32 [m], 1; call.uni f, (m); }} ret; }}\n"
    );
    let (error, _) = stopped(module(&source, 1, 1, 1));
    assert_eq!(error, StepError::StackOverflow);
}

#[test]
fn a_launch_must_fit_the_kernel() {
    let source = format!("{HEADER}.visible .entry k(.param .u64 p) .reqntid 32 {{ ret; }}\n");
    let result = module(&source, 1, 64, 1);
    assert!(matches!(result, Err(InterpretError::Launch(LaunchError::Shape(_)))), "{result:?}");
    let source = format!("{HEADER}.visible .entry other() {{ ret; }}\n");
    let result = module(&source, 1, 32, 1);
    let Err(InterpretError::Launch(error @ LaunchError::NoKernel { .. })) = result else {
        panic!()
    };
    assert_eq!(error.to_string(), "there is no kernel `k`; the file has other");
}

#[test]
fn lanes_may_call_different_functions_and_recurse() {
    // fib by recursion in each lane: calls diverge by argument, results come back to each lane.
    let source = format!(
        "{HEADER}.func (.param .b32 r) fib(.param .b32 n) {{\n\
         .reg .b32 %n, %x, %y; .reg .pred %p;\n\
         ld.param.u32 %n, [n]; setp.lt.u32 %p, %n, 2; @%p bra SMALL;\n\
         {{ .param .b32 a; .param .b32 v; sub.u32 %x, %n, 1; st.param.b32 [a], %x; call.uni (v), fib, (a); ld.param.b32 %x, [v]; }}\n\
         {{ .param .b32 a; .param .b32 v; sub.u32 %y, %n, 2; st.param.b32 [a], %y; call.uni (v), fib, (a); ld.param.b32 %y, [v]; }}\n\
         add.u32 %n, %x, %y;\nSMALL: st.param.b32 [r], %n; ret; }}\n\
         .visible .entry k(.param .u64 p) {{ .reg .b64 %out, %a; .reg .b32 %t, %v;\n\
         ld.param.u64 %out, [p]; mov.u32 %t, %tid.x; mul.wide.u32 %a, %t, 4; add.u64 %a, %a, %out;\n\
         {{ .param .b32 a; .param .b32 v; st.param.b32 [a], %t; call.uni (v), fib, (a); ld.param.b32 %v, [v]; }}\n\
         st.global.u32 [%a], %v; ret; }}\n"
    );
    assert_eq!(module(&source, 1, 12, 12).unwrap(), [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89]);
}

#[test]
fn generic_addresses_reach_every_space() {
    let source = format!(
        "{HEADER}.global .u32 g = 5;\n.const .u32 c = 6;\n\
         .visible .entry k(.param .u64 p) {{ .shared .u32 s; .local .u32 l; .reg .b64 %out, %a<5>; .reg .b32 %r<6>; .reg .pred %p;\n\
         ld.param.u64 %out, [p]; st.shared.u32 [s], 7; st.local.u32 [l], 8;\n\
         mov.u64 %a0, g; cvta.global.u64 %a0, %a0; mov.u64 %a1, c; cvta.const.u64 %a1, %a1;\n\
         cvta.shared.u64 %a2, s; cvta.local.u64 %a3, l;\n\
         ld.u32 %r0, [%a0]; ld.u32 %r1, [%a1]; ld.u32 %r2, [%a2]; ld.u32 %r3, [%a3];\n\
         isspacep.shared %p, %a2; selp.u32 %r4, 1, 0, %p; isspacep.shared %p, %a3; selp.u32 %r5, 1, 0, %p;\n\
         st.global.v4.u32 [%out], {{%r0, %r1, %r2, %r3}}; st.global.v2.u32 [%out+16], {{%r4, %r5}}; ret; }}\n"
    );
    assert_eq!(module(&source, 1, 1, 6).unwrap(), [5, 6, 7, 8, 1, 0]);
}

#[test]
fn a_warp_that_waits_for_products_waits_for_those_of_its_group() {
    // Warp 0 fills the matrices with zeros right after its wait; the others still multiply the ones
    // that were there.
    let source = format!(
        "{HEADER}.shared .align 1024 .b8 tile[2048];\n.visible .entry k(.param .u64 p) {{\n\
         .reg .b64 %out, %a, %da, %db; .reg .b32 %t, %s, %w; .reg .f32 %f<4>; .reg .pred %p0;\n\
         ld.param.u64 %out, [p]; mov.u32 %t, %tid.x; mov.u32 %s, tile; shl.b32 %w, %t, 4; add.u32 %s, %s, %w;\n\
         st.shared.v4.b32 [%s], {{0x3c003c00, 0x3c003c00, 0x3c003c00, 0x3c003c00}}; bar.sync 0;\n\
         mov.u32 %w, tile; shr.u32 %w, %w, 4; cvt.u64.u32 %da, %w; or.b64 %da, %da, 0x4000000080000;\n\
         or.b64 %da, %da, 0; mov.b64 %db, %da;\n\
         wgmma.fence.sync.aligned;\n\
         wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%f0, %f1, %f2, %f3}}, %da, %db, 0, 1, 1, 0, 0;\n\
         wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n\
         st.shared.v4.b32 [%s], {{0, 0, 0, 0}};\n\
         mul.wide.u32 %a, %t, 4; add.u64 %a, %a, %out; st.global.f32 [%a], %f0; ret;\n}}\n"
    );
    let got = module(&source, 1, 128, 128).unwrap();
    assert_eq!(got, vec![16f32.to_bits(); 128]);
}

#[test]
fn a_variable_list_of_arguments_has_the_callers_size() {
    let source = format!(
        "{HEADER}.func (.param .b32 r) last(.param .b32 n, .param .align 8 .b8 va[]) {{\n\
         .reg .b32 %x; .local .b32 own; st.local.b32 [own], 7; ld.param.b32 %x, [va+8]; st.param.b32 [r], %x; ret; }}\n\
         .visible .entry k(.param .u64 p) {{ .reg .b64 %out; .reg .b32 %x;\n\
         ld.param.u64 %out, [p];\n\
         {{ .param .b32 n; .param .align 8 .b8 list[12]; .param .b32 r;\n\
         st.param.b32 [n], 3; st.param.b32 [list], 1; st.param.b32 [list+4], 2; st.param.b32 [list+8], 33;\n\
         call.uni (r), last, (n, list); ld.param.b32 %x, [r]; }}\n\
         st.global.u32 [%out], %x; ret; }}\n"
    );
    assert_eq!(module(&source, 1, 1, 1).unwrap(), [33]);
}
