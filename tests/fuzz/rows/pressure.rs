//! Much that is alive at once: wide registers, predicates, arrays. Programs that have this family
//! begin with many variables, keep them to their end, may be held to few registers, and have larger
//! switches and deeper loops.

use super::{Family, Row, kernel, rare, row};

const fn large(text: &'static str) -> Row {
    Row { weight: 1, ..kernel(text) }
}

pub const PRESSURE: Family = Family {
    name: "pressure",
    weight: 8,
    rows: &[
        // Many at once.
        row(
            "{ .reg .b32 %t<6>; add.u32 %t0, !b32, !b32; xor.b32 %t1, !b32, !b32; mul.lo.u32 %t2, !b32, !b32; sub.u32 %t3, !b32, !b32; mad.lo.u32 %t4, %t0, %t1, %t2; mad.lo.u32 %t5, %t3, %t1, %t0; xor.b32 =b32, %t4, %t5; add.u32 =b32, %t2, %t3; }",
        ),
        row(
            "{ .reg .b64 %t<4>; add.u64 %t0, !b64, !b64; mul.lo.u64 %t1, !b64, !b64; sub.u64 %t2, !b64, %t0; mad.lo.u64 %t3, %t1, %t2, %t0; xor.b64 =b64, %t3, %t1; mul.hi.u64 =b64, %t3, %t2; }",
        ),
        row(
            "{ .reg .f64 %t<3>; fma.rn.f64 %t0, !f64, !f64, !f64; fma.rn.f64 %t1, !f64, !f64, %t0; add.rn.f64 =f64, %t0, %t1; mul.rn.f64 =f64, %t1, %t0; }",
        ),
        row(
            "{ .reg .f32 %t<4>; fma.rn.f32 %t0, !f32, !f32, !f32; fma.rn.f32 %t1, !f32, !f32, %t0; fma.rn.f32 %t2, !f32, %t1, !f32; add.rn.f32 =f32, %t2, %t1; mul.rn.f32 =f32, %t2, %t0; }",
        ),
        // Words and what is made of them.
        row("mov.b64 =b64, {!b32, !b32}; mov.b64 {=b32, =b32}, !b64"),
        row("mov.b128 =b128, {!b64, !b64}; mov.b128 {=b64, =b64}, !b128"),
        row("mov.b128 {=b64, =b64}, !b128; mov.b128 =b128, {^1, ^0}"),
        row("mov.b64 {=b16, =b16, =b16, =b16}, !b64; mov.b32 =b32, {!b16, !b16}"),
        kernel(
            "ld.global.v2.b64 {=b64, =b64}, [%in+#(0,48,16)]; ld.global.v4.b32 {=b32, =b32, =b32, =b32}, [%in+#(0,48,16)]",
        ),
        kernel(
            "ld.global.v4.f32 {=f32, =f32, =f32, =f32}, [%in+#(0,48,16)]; ld.global.v2.f64 {=f64, =f64}, [%in+#(0,48,16)]",
        ),
        kernel(
            "st.global.v4.b32 [%rw+#(0,48,16)], {!b32, !b32, !b32, !b32}; st.global.v2.b64 [%rw+#(0,48,16)], {!b64, !b64}",
        ),
        kernel("st.global.b128 [%rw+#(0,48,16)], !b128; ld.global.b128 =b128, [%rw+#(0,48,16)]"),
        kernel(
            "atom.global.cas.b128 =b128, [%rw+#(0,48,16)], !b128, !b128; atom.global.exch.b128 =b128, [%rw+#(0,48,16)], !b128",
        ),
        // Predicates.
        row("setp.<lt/ge/eq>.and.s32 =pred|=pred, !b32, !b32, ~pred"),
        row("setp.<lt/ge/ne>.xor.u64 =pred|=pred, !b64, !b64, ~pred"),
        row("<and/or/xor>.pred =pred, !pred, !pred; not.pred =pred, !pred"),
        row(
            "selp.b32 =b32, !b32, !b32, !pred; selp.b64 =b64, !b64, !b64, !pred; selp.f64 =f64, !f64, !f64, !pred",
        ),
        row(
            "{ .reg .b32 %t<4>; selp.b32 %t0, 1, 0, !pred; selp.b32 %t1, 2, 0, !pred; selp.b32 %t2, 4, 0, !pred; selp.b32 %t3, 8, 0, !pred; add.u32 %t0, %t0, %t1; add.u32 %t2, %t2, %t3; add.u32 =b32, %t0, %t2; }",
        ),
        // Arrays with an index that is computed.
        kernel(
            "{ .local .align 16 .b8 la[64]; .reg .b32 %t; .reg .b64 %u, %v; st.local.v4.b32 [la], {!b32, !b32, !b32, !b32}; st.local.v2.b64 [la+16], {!b64, !b64}; st.local.v4.b32 [la+32], {!b32, !b32, !b32, !b32}; st.local.b128 [la+48], !b128; mov.u64 %v, la; and.b32 %t, !b32, 60; cvt.u64.u32 %u, %t; add.u64 %u, %u, %v; ld.local.b32 =b32, [%u]; and.b32 %t, !b32, 56; cvt.u64.u32 %u, %t; add.u64 %u, %u, %v; st.local.b64 [%u], !b64; ld.local.b128 =b128, [la+#(0,48,16)]; ld.local.v2.b64 {=b64, =b64}, [la+#(0,48,16)]; }",
        ),
        large(
            "{ .local .align 8 .b32 lw[96]; .reg .b32 %t, %s; .reg .b64 %u, %v; .reg .pred %p; mov.b32 %t, 0; FILL: mul.wide.u32 %u, %t, 4; mov.u64 %v, lw; add.u64 %u, %u, %v; mad.lo.u32 %s, %t, !b32, !b32; st.local.b32 [%u], %s; add.u32 %t, %t, 1; setp.lt.u32 %p, %t, 96; @%p bra FILL; rem.u32 %t, !b32, 96; mul.wide.u32 %u, %t, 4; add.u64 %u, %u, %v; ld.local.b32 =b32, [%u]; rem.u32 %t, !b32, 48; mul.wide.u32 %u, %t, 8; add.u64 %u, %u, %v; ld.local.b64 =b64, [%u]; }",
        ),
        rare("div.rn.f64 =f64, !f64, !f64"),
        rare("sqrt.rn.f64 =f64, !f64"),
        rare("{ .reg .b64 %t; or.b64 %t, !b64, 1; <div/rem>.<s64/u64> =$2, !$2, %t; }"),
        rare("mul.hi.<s64/u64> =$1, !$1, !$1"),
    ],
};
