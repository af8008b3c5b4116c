//! Memory. `%in` is the thread's row of 64 bytes that is only read, `%rw` one that is its own,
//! `%all` the buffer that all threads share, `%sha` and `%loa` the thread's own 32 bytes of shared
//! and of local memory, `%shg` and `%log` their generic addresses.

use super::{Family, block, kernel, row};

pub const INPUT: Family = Family {
    name: "input",
    weight: 1,
    rows: &[
        kernel("ld.global.b16 =<b16/f16/bf16>, [%in+#(0,62,2)]"),
        kernel("ld.global.b32 =<b32/f16x2/bf16x2>, [%in+#(0,60,4)]"),
        kernel("ld.global.<b64/f64> =$1, [%in+#(0,56,8)]"),
        kernel("ld.global.f32 =f32, [%in+#(0,60,4)]"),
        row("mov.<b16/b32/b64/f32/f64> =$1, %$1"),
    ],
};

pub const GLOBAL: Family = Family {
    name: "global memory",
    weight: 3,
    rows: &[
        kernel(
            "ld.global</.ca/.cg/.cs/.lu/.cv/.nc/.volatile/.relaxed.gpu/.acquire.sys>.<u8/s8/b8> =<b16/b32/b64>, [%in+#(0,63)]",
        ),
        // What becomes of the high half of such a word ptxas 13.0.88 gets wrong (it takes the low
        // one): see `found`.
        kernel(
            "{ .reg .b32 %t; ld.global</.ca/.cg/.cs/.nc/.relaxed.cta>.<u16/s16/b16> %t, [%in+#(0,62,2)]; add.s32 =b32, %t, %b32; }",
        ),
        kernel("ld.global</.ca/.cg/.cs/.nc/.relaxed.cta>.<u16/s16/b16> =b16, [%in+#(0,62,2)]"),
        kernel("ld.global</.nc/.volatile>.<u32/s32/b32> =<b32/b64>, [%in+#(0,60,4)]"),
        kernel(
            "ld.global</.nc></.L1::evict_last/.L1::no_allocate></.L2::128B>.b64 =b64, [%in+#(0,56,8)]",
        ),
        kernel("ld.global</.nc>.b128 =b128, [%in+#(0,48,16)]"),
        kernel("ld.global</.nc/.cg>.v2.<b32/f32> {=$2, =$2}, [%in+#(0,56,8)]"),
        kernel("ld.global</.nc/.cs>.v4.<b32/f32> {=$2, =$2, =$2, =$2}, [%in+#(0,48,16)]"),
        kernel("ld.global</.nc>.v2.<b64/f64> {=$2, =$2}, [%in+#(0,48,16)]"),
        kernel("ld.global.v4.u8 {=b16, =b16, =b16, =b16}, [%in+#(0,60,4)]"),
        kernel("ld.global.v4.<b16/s16> {=b16, =b16, =b16, =b16}, [%in+#(0,56,8)]"),
        kernel("ldu.global.<b32/b64> =$1, [%in+#(0,56,8)]"),
        kernel(
            "{ .reg .b32 %t; .reg .b64 %u; and.b32 %t, !b32, 60; cvt.u64.u32 %u, %t; add.u64 %u, %u, %in; ld.global.b32 =b32, [%u]; }",
        ),
        kernel(
            "{ .reg .b64 %u; and.b64 %u, !b64, 56; add.u64 %u, %in, %u; ld.global</.nc>.b64 =b64, [%u]; }",
        ),
        kernel(
            "st.global</.wb/.cg/.cs/.wt/.volatile/.relaxed.gpu/.release.sys>.<b8/u8/s8> [%rw+#(0,63)], !<b16/b32/b64>",
        ),
        kernel("st.global</.cg/.volatile>.<b16/u16> [%rw+#(0,62,2)], !<b16/b32>"),
        kernel("st.global.<b32/u32/s32> [%rw+#(0,60,4)], %b32"),
        kernel("st.global.b64 [%rw+#(0,56,8)], %b64"),
        kernel("st.global.b128 [%rw+#(0,48,16)], !b128"),
        kernel("st.global.v2.b32 [%rw+#(0,56,8)], {!b32, !b32}"),
        kernel("st.global.v4.b32 [%rw+#(0,48,16)], {!b32, !b32, !b32, !b32}"),
        kernel("st.global.v2.b64 [%rw+#(0,48,16)], {!b64, !b64}"),
        kernel("st.global.v4.b16 [%rw+#(0,56,8)], {!b16, !b16, !b16, !b16}"),
        kernel("ld.global</.cg/.volatile>.b32 =b32, [%rw+#(0,60,4)]"),
        kernel("ld.global.<u8/s8> =b32, [%rw+#(0,63)]"),
        kernel("ld.global.b64 =b64, [%rw+#(0,56,8)]"),
        kernel("ld.global.v4.b32 {=b32, =b32, =b32, =b32}, [%rw+#(0,48,16)]"),
        kernel(
            "{ .reg .b64 %u; and.b64 %u, !b64, 60; add.u64 %u, %rw, %u; st.global.b32 [%u], !b32; ld.global.b32 =b32, [%rw+#(0,60,4)]; }",
        ),
        kernel("<membar.gl/membar.cta/fence.acq_rel.gpu/fence.sc.cta>"),
        kernel("prefetch.global.<L1/L2> [%in]"),
    ],
};

pub const SHARED: Family = Family {
    name: "shared memory",
    weight: 3,
    rows: &[
        kernel("st.shared</.volatile>.b32 [%sha+#(0,28,4)], !b32"),
        kernel("st.shared.b64 [%sha+#(0,24,8)], !b64"),
        kernel("st.shared.<b8/b16> [%sha+#(0,30,2)], !<b16/b32>"),
        kernel("st.shared.v4.b32 [%sha+#(0,16,16)], {!b32, !b32, !b32, !b32}"),
        kernel("st.shared.v2.b32 [%sha+#(0,24,8)], {!b32, !b32}"),
        kernel("ld.shared</.volatile>.b32 =b32, [%sha+#(0,28,4)]"),
        kernel("ld.shared.<u8/s8> =b32, [%sha+#(0,31)]"),
        kernel(
            "{ .reg .b32 %t; ld.shared.<u16/s16> %t, [%sha+#(0,30,2)]; add.s32 =b32, %t, %b32; }",
        ),
        kernel("ld.shared.b64 =b64, [%sha+#(0,24,8)]"),
        kernel("ld.shared.v2.b64 {=b64, =b64}, [%sha+#(0,16,16)]"),
        kernel("ld.shared.v4.b32 {=b32, =b32, =b32, =b32}, [%sha+#(0,16,16)]"),
        kernel(
            "{ .reg .b32 %t; and.b32 %t, !b32, 28; add.u32 %t, %t, %sha; ld.shared.b32 =b32, [%t]; }",
        ),
        kernel(
            "{ .reg .b32 %t; and.b32 %t, !b32, 28; add.u32 %t, %t, %sha; st.shared.b32 [%t], !b32; }",
        ),
        // What another thread has written, between two barriers.
        block(
            "bar.sync 0; st.shared.b32 [%sha+#(0,28,4)], !b32; bar.sync 0; { .reg .b32 %t; xor.b32 %t, %lin, #(0,31); rem.u32 %t, %t, &T; mad.lo.u32 %t, %t, 32, %shb; ld.shared.b32 =b32, [%t+#(0,28,4)]; } bar.sync 0",
        ),
        block(
            "bar.sync 0; st.shared.b64 [%sha+#(0,24,8)], !b64; bar.sync 0; { .reg .b32 %t; add.u32 %t, %lin, #(0,63); rem.u32 %t, %t, &T; mad.lo.u32 %t, %t, 32, %shb; ld.shared.v2.b32 {=b32, =b32}, [%t+#(0,24,8)]; } bar.sync 0",
        ),
    ],
};

pub const LOCAL: Family = Family {
    name: "local memory",
    weight: 2,
    rows: &[
        kernel("st.local.b32 [%loa+#(0,28,4)], !b32"),
        kernel("st.local.b64 [%loa+#(0,24,8)], !b64"),
        kernel("st.local.<b8/b16> [%loa+#(0,30,2)], !<b16/b32>"),
        kernel("st.local.v4.b32 [%loa+#(0,16,16)], {!b32, !b32, !b32, !b32}"),
        kernel("ld.local.b32 =b32, [%loa+#(0,28,4)]"),
        kernel("ld.local.<u8/s8> =b32, [%loa+#(0,31)]"),
        kernel("ld.local.b64 =b64, [%loa+#(0,24,8)]"),
        kernel("ld.local.v4.b32 {=b32, =b32, =b32, =b32}, [%loa+#(0,16,16)]"),
        kernel(
            "{ .reg .b32 %t; .reg .b64 %u; and.b32 %t, !b32, 28; cvt.u64.u32 %u, %t; add.u64 %u, %u, %loa; ld.local.b32 =b32, [%u]; }",
        ),
        kernel(
            "{ .reg .b32 %t; .reg .b64 %u; and.b32 %t, !b32, 28; cvt.u64.u32 %u, %t; add.u64 %u, %u, %loa; st.local.b32 [%u], !b32; }",
        ),
    ],
};

pub const CONSTANT: Family = Family {
    name: "constant memory",
    weight: 2,
    rows: &[
        row("ld.const.<b32/u32> =b32, [fuzz_table+#(0,60,4)]"),
        row("ld.const.<u8/s8> =b32, [fuzz_table+#(0,63)]"),
        row("ld.const.b64 =b64, [fuzz_table+#(0,56,8)]"),
        row("ld.const.v4.b32 {=b32, =b32, =b32, =b32}, [fuzz_table+#(0,48,16)]"),
        row("ld.const.f32 =f32, [fuzz_table+#(0,60,4)]"),
        row(
            "{ .reg .b64 %t, %u; and.b64 %u, !b64, 60; mov.u64 %t, fuzz_table; add.u64 %u, %t, %u; ld.const.b32 =b32, [%u]; }",
        ),
        row(
            "{ .reg .b32 %t; .reg .b64 %u, %v; and.b32 %t, !b32, 56; cvt.u64.u32 %u, %t; cvta.const.u64 %v, fuzz_table; add.u64 %u, %v, %u; ld.b64 =b64, [%u]; }",
        ),
    ],
};

pub const GENERIC: Family = Family {
    name: "generic addresses",
    weight: 1,
    rows: &[
        kernel("ld.b32 =b32, [<%rw/%in/%shg/%log>+#(0,28,4)]"),
        kernel("st.b32 [<%rw/%shg/%log>+#(0,28,4)], !b32"),
        kernel("ld.v2.b64 {=b64, =b64}, [<%rw/%in/%shg/%log>+#(0,16,16)]"),
        kernel("st.<u8/u16> [<%rw/%shg/%log>+#(0,30,2)], !b32"),
        kernel(
            "{ .reg .b64 %u; selp.b64 %u, <%rw/%shg>, <%log/%in>, !pred; ld.b32 =b32, [%u+#(0,28,4)]; }",
        ),
        kernel(
            "{ .reg .b64 %u; selp.b64 %u, <%rw/%shg>, <%log/%rw>, !pred; st.b32 [%u+#(0,28,4)], !b32; }",
        ),
        kernel("isspacep.<global/shared/local/const> =pred, <%rw/%shg/%log/%in>"),
        kernel(
            "{ .reg .b64 %u; cvta.to.shared.u64 %u, %shg; ld.shared.b32 =b32, [%u+#(0,28,4)]; }",
        ),
        kernel("{ .reg .b64 %u; cvta.to.local.u64 %u, %log; ld.local.b32 =b32, [%u+#(0,28,4)]; }"),
        kernel("atom.<add.u32/xor.b32/max.s32/exch.b32> =b32, [<%rw/%shg>+#(0,28,4)], !b32"),
    ],
};

pub const ATOMIC: Family = Family {
    name: "atomics",
    weight: 2,
    rows: &[
        kernel(
            "atom.global</.relaxed.gpu/.acq_rel.sys/.cta>.add.<u32/s32/u64> =$2, [%rw+#(0,56,8)], %$2",
        ),
        kernel("atom.global</.relaxed.cta>.<min/max>.<u32/s32/u64/s64> =$3, [%rw+#(0,56,8)], %$3"),
        kernel("atom.global.<and/or/xor/exch>.<b32/b64> =$2, [%rw+#(0,56,8)], %$2"),
        kernel("atom.global.<inc/dec>.u32 =u32, [%rw+#(0,60,4)], %u32"),
        kernel("atom.global.cas.<b16/b32/b64> =$1, [%rw+#(0,56,8)], !$1, !$1"),
        kernel(
            "{ .reg .b32 %t; ld.global.b32 %t, [%rw]; atom.global.cas.b32 =b32, [%rw], %t, !b32; }",
        ),
        kernel("atom.shared.add.<u32/s32/u64> =$1, [%sha+#(0,24,8)], %$1"),
        kernel("atom.shared.<min/max>.<u32/s32/u64/s64> =$2, [%sha+#(0,24,8)], %$2"),
        kernel("atom.shared.<and/or/xor/exch>.<b32/b64> =$2, [%sha+#(0,24,8)], %$2"),
        kernel("atom.shared.<inc/dec>.u32 =u32, [%sha+#(0,28,4)], %u32"),
        kernel("atom.shared.cas.<b32/b64> =$1, [%sha+#(0,24,8)], !$1, !$1"),
        kernel("red.global.add.<u32/s32/u64> [%rw+#(0,56,8)], %$1"),
        kernel("red.global.<min/max>.<u32/s32/u64/s64> [%rw+#(0,56,8)], %$2"),
        kernel("red.shared.<and/or/xor>.b32 [%sha+#(0,28,4)], %b32"),
        kernel("red.global.<inc/dec>.u32 [%rw+#(0,60,4)], %u32"),
    ],
};

/// The word is cleared afterwards: it may hold a NaN, and memory is compared bit by bit.
pub const ATOMIC_FLOAT: Family = Family {
    name: "atomics of floats",
    weight: 1,
    rows: &[
        kernel(
            "st.global.f32 [%rw+8], !f32; atom.global.add.f32 =f32, [%rw+8], !f32; ld.global.f32 =f32, [%rw+8]; st.global.b64 [%rw+8], 0",
        ),
        kernel(
            "st.global.f64 [%rw+8], !f64; atom.global.add.f64 =f64, [%rw+8], !f64; ld.global.f64 =f64, [%rw+8]; st.global.b64 [%rw+8], 0",
        ),
        kernel(
            "st.global.b16 [%rw+8], !<f16/bf16>; atom.global.add.noftz.$1 =$1, [%rw+8], !$1; ld.global.b16 =$1, [%rw+8]; st.global.b64 [%rw+8], 0",
        ),
        kernel(
            "st.global.b32 [%rw+8], !<f16x2/bf16x2>; atom.global.add.noftz.$1 =$1, [%rw+8], !$1; ld.global.b32 =$1, [%rw+8]; st.global.b64 [%rw+8], 0",
        ),
        kernel(
            "st.shared.f32 [%sha+8], !f32; atom.shared.add.f32 =f32, [%sha+8], !f32; ld.shared.f32 =f32, [%sha+8]; st.shared.b64 [%sha+8], 0",
        ),
        kernel(
            "st.shared.f64 [%sha+8], !f64; atom.shared.add.f64 =f64, [%sha+8], !f64; ld.shared.f64 =f64, [%sha+8]; st.shared.b64 [%sha+8], 0",
        ),
    ],
};

/// All threads on one word, by operations whose order does not matter.
pub const ATOMIC_TOGETHER: Family = Family {
    name: "atomics of all threads",
    weight: 1,
    rows: &[
        kernel("red.global</.relaxed.gpu/.release.sys>.add.<u32/s32/u64> [%all+&W], %$2"),
        kernel("red.global.<min/max>.<u32/s32/u64/s64> [%all+&W], %$2"),
        kernel("red.global.<and/or/xor>.<b32/b64> [%all+&W], %$2"),
        kernel("red.global.<inc/dec>.u32 [%all+&W], #(1,9)"),
        block(
            "bar.sync 0; { .reg .pred %t; setp.eq.u32 %t, %lin, 0; @%t st.shared.b64 [%shw], %b64; } bar.sync 0; red.shared.<add.u32~b32/add.u64~b64/min.s32~b32/max.u64~b64/xor.b32~b32/or.b64~b64> [%shw], !$1'; bar.sync 0; ld.shared.b64 =b64, [%shw]; bar.sync 0",
        ),
    ],
};

pub const ASYNC: Family = Family {
    name: "asynchronous copies",
    weight: 1,
    rows: &[
        kernel(
            "cp.async.ca.shared.global [%sha+#(0,28,4)], [%in+#(0,60,4)], 4; cp.async.wait_all; ld.shared.b32 =b32, [%sha+#(0,28,4)]",
        ),
        kernel(
            "cp.async.ca.shared.global [%sha+#(0,24,8)], [%in+#(0,56,8)], 8; cp.async.commit_group; cp.async.wait_group 0; ld.shared.b64 =b64, [%sha+#(0,24,8)]",
        ),
        kernel(
            "cp.async.<ca/cg>.shared.global [%sha+#(0,16,16)], [%in+#(0,48,16)], 16; cp.async.wait_all; ld.shared.v2.b64 {=b64, =b64}, [%sha+#(0,16,16)]",
        ),
        kernel(
            "{ .reg .b32 %t; and.b32 %t, !b32, 3; cp.async.ca.shared.global [%sha+#(0,28,4)], [%in+#(0,60,4)], 4, %t; cp.async.wait_all; ld.shared.b32 =b32, [%sha+#(0,28,4)]; }",
        ),
    ],
};
