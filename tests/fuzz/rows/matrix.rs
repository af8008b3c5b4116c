//! Products of matrices by a warp, and what moves their fragments.
//!
//! Floats are small numbers of classes of their own (`xf16` …), so that every sum of products is
//! exact and the order in which an engine adds does not matter: one sign, one bit of the fraction
//! and one of the exponent are taken from any word. Accumulators (`sf32` …) grow by less than 2^7
//! an instruction, in steps of 2^-4, and no program runs 2^13 of them; those of halves are rounded
//! once by both engines where one instruction does it, else what is added to is small. Integers are
//! any.
//!
//! `%mxs` is the warp's own 2048 bytes of shared memory, `%mxt` the lane's 64 of them, `%mxl` the
//! same as a generic address, `%mxr` the warp's rows of the buffer `own`, of which `%rw` is the
//! lane's.

use super::{Family, Row, kernel, whole_warp};

const fn often(text: &'static str) -> Row {
    Row { weight: 8, ..whole_warp(text) }
}

/// Exact numbers out of any, and back.
pub const NUMBERS: Family = Family {
    name: "matrix numbers",
    weight: 2,
    rows: &[
        kernel("{ .reg .b32 %t; and.b32 %t, !b32, 0x82008200; or.b32 =xf16, %t, 0x3c003c00; }"),
        kernel("{ .reg .b32 %t; and.b32 %t, !b32, 0x80c080c0; or.b32 =xbf16, %t, 0x3f003f00; }"),
        kernel("{ .reg .b32 %t; and.b32 %t, !b32, 0x80c00000; or.b32 =xtf32, %t, 0x3f000000; }"),
        kernel("{ .reg .b32 %t; and.b32 %t, !b32, 0x8c8c8c8c; or.b32 =xe4m3, %t, 0x30303030; }"),
        kernel("{ .reg .b32 %t; and.b32 %t, !b32, 0x86868686; or.b32 =xe5m2, %t, 0x38383838; }"),
        kernel(
            "{ .reg .b32 %t; and.b32 %t, !b32, 7; sub.s32 %t, %t, 4; cvt.rn.f64.s32 =<xf64/sf64>, %t; }",
        ),
        kernel("{ .reg .b32 %t; shr.s32 %t, !b32, 22; cvt.rn.f32.s32 =sf32, %t; }"),
        kernel("mov.b32 =sf16, !xf16"),
        kernel("mov.b32 =<xf16/xbf16/xtf32/xe4m3/xe5m2/sf16>, !$1"),
        kernel("mov.b32 =<xf16/xbf16/xtf32/xe4m3/xe5m2/sf16>, 0"),
        kernel(
            "selp.<b32~xf16/b32~xbf16/b32~xe4m3/f32~sf32/f64~sf64/f64~xf64> =$1', !$1', !$1', !pred",
        ),
        whole_warp(
            "shfl.sync.<bfly/idx>.b32 =<xf16/xbf16/xtf32/xe4m3/xe5m2/sf16/sf32>, !$2, #(0,31), 31, -1",
        ),
        kernel("cvt.rni.s32.<f32/f64> =s32, !s$1"),
        kernel("mov.b32 =b32, !<xf16/xbf16/xtf32/xe4m3/xe5m2>"),
    ],
};

/// Products of dense matrices. Those of bytes of floats are several instructions, of which ptxas
/// 13.0.88 writes results before all summands are read, and so are sparse ones
/// (found/sparse-result-over-a-summand.ptx): results are new variables there.
pub const DENSE: Family = Family {
    name: "matrix products",
    weight: 6,
    rows: &[
        often(
            "mma.sync.aligned.<m16n8k8~2~1/m16n8k16~4~2>.row.col.f32.<f16/bf16>.$2.f32 {=sf32:4}, {!x$2:$1'}, {!x$2:$1''}, {!sf32:4}",
        ),
        often(
            "mma.sync.aligned.<m16n8k8~2~1/m16n8k16~4~2>.row.col.f32.<f16/bf16>.$2.f32 {+sf32:4}, {!x$2:$1'}, {!x$2:$1''}, {^0:4}",
        ),
        whole_warp(
            "mma.sync.aligned.<m16n8k8~2~1/m16n8k16~4~2>.row.col.f16.f16.f16.f16 {=sf16:2}, {!xf16:$1'}, {!xf16:$1''}, {!sf16:2}",
        ),
        whole_warp(
            "mma.sync.aligned.<m16n8k8~2~1/m16n8k16~4~2>.row.col.f16.f16.f16.f16 {+sf16:2}, {!xf16:$1'}, {!xf16:$1''}, {^0:2}",
        ),
        whole_warp(
            "mma.sync.aligned.<m16n8k4~2~1/m16n8k8~4~2>.row.col.f32.tf32.tf32.f32 {=sf32:4}, {!xtf32:$1'}, {!xtf32:$1''}, {!sf32:4}",
        ),
        whole_warp(
            "mma.sync.aligned.<m16n8k4~2~1/m16n8k8~4~2>.row.col.f32.tf32.tf32.f32 {+sf32:4}, {!xtf32:$1'}, {!xtf32:$1''}, {^0:4}",
        ),
        whole_warp(
            "mma.sync.aligned.<m16n8k16~2~1/m16n8k32~4~2>.row.col.f32.<e4m3/e5m2>.<e4m3/e5m2>.f32 {*sf32:4}, {!x$2:$1'}, {!x$3:$1''}, {!sf32:4}",
        ),
        whole_warp(
            "mma.sync.aligned.<m16n8k16~2~1/m16n8k32~4~2>.row.col.f32.<e4m3/e5m2>.<e4m3/e5m2>.f32 {+sf32:4}, {!x$2:$1'}, {!x$3:$1''}, {^0:4}",
        ),
        whole_warp(
            "mma.sync.aligned.<m16n8k16~2~1/m16n8k32~4~2>.row.col.f16.<e4m3/e5m2>.<e4m3/e5m2>.f16 {*sf16:2}, {!x$2:$1'}, {!x$3:$1''}, {!xf16:2}",
        ),
        // Any doubles: both engines add one after the other.
        whole_warp(
            "mma.sync.aligned.<m8n8k4~1~1~2/m16n8k4~2~1~4/m16n8k8~4~2~4/m16n8k16~8~4~4>.row.col</.rn/.rz/.rm/.rp>.f64.f64.f64.f64 {=f64:$1'''}, {!f64:$1'}, {!f64:$1''}, {!f64:$1'''}",
        ),
        whole_warp(
            "mma.sync.aligned.<m8n8k4~1~1~2/m16n8k4~2~1~4/m16n8k8~4~2~4/m16n8k16~8~4~4>.row.col</.rn/.rz/.rm/.rp>.f64.f64.f64.f64 {+sf64:$1'''}, {!xf64:$1'}, {!xf64:$1''}, {^0:$1'''}",
        ),
        // Four products of quarters of a warp.
        whole_warp(
            "mma.sync.aligned.m8n8k4.<row/col>.<row/col>.f32.f16.f16.f32 {=sf32:8}, {!xf16:2}, {!xf16:2}, {!sf32:8}",
        ),
        whole_warp(
            "mma.sync.aligned.m8n8k4.<row/col>.<row/col>.f32.f16.f16.f32 {+sf32:8}, {!xf16:2}, {!xf16:2}, {^0:8}",
        ),
        whole_warp(
            "mma.sync.aligned.m8n8k4.<row/col>.<row/col>.<f16~4/f32~8>.f16.f16.f16 {=s$3:$3'}, {!xf16:2}, {!xf16:2}, {!xf16:4}",
        ),
        often(
            "mma.sync.aligned.<m8n8k16~1~1~2/m16n8k16~2~1~4/m16n8k32~4~2~4>.row.col</.satfinite>.s32.<s8/u8>.<s8/u8>.s32 {=b32:$1'''}, {!b32:$1'}, {!b32:$1''}, {!b32:$1'''}",
        ),
        whole_warp(
            "mma.sync.aligned.<m8n8k16~1~1~2/m16n8k16~2~1~4/m16n8k32~4~2~4>.row.col</.satfinite>.s32.<s8/u8>.<s8/u8>.s32 {+b32:$1'''}, {!b32:$1'}, {!b32:$1''}, {^0:$1'''}",
        ),
        whole_warp(
            "mma.sync.aligned.<m8n8k32~1~1~2/m16n8k32~2~1~4/m16n8k64~4~2~4>.row.col</.satfinite>.s32.<s4/u4>.<s4/u4>.s32 {=b32:$1'''}, {!b32:$1'}, {!b32:$1''}, {!b32:$1'''}",
        ),
        whole_warp(
            "mma.sync.aligned.<m8n8k32~1~1~2/m16n8k32~2~1~4/m16n8k64~4~2~4>.row.col</.satfinite>.s32.<s4/u4>.<s4/u4>.s32 {+b32:$1'''}, {!b32:$1'}, {!b32:$1''}, {^0:$1'''}",
        ),
        whole_warp(
            "mma.sync.aligned.<m8n8k128~1~1~2/m16n8k128~2~1~4/m16n8k256~4~2~4>.row.col.s32.b1.b1.s32.<and/xor>.popc {=b32:$1'''}, {!b32:$1'}, {!b32:$1''}, {!b32:$1'''}",
        ),
        // Both of its matrices are one; the same accumulator twice; nothing to begin with.
        whole_warp(
            "mma.sync.aligned.m16n8k16.row.col.f32.<f16/bf16>.$1.f32 {=sf32:4}, {!x$1:4}, {^4, ^6}, {!sf32, ^8, ^8, ^8}",
        ),
        whole_warp(
            "{ .reg .f32 %z; mov.f32 %z, 0f00000000; mma.sync.aligned.m16n8k8.row.col.f32.<f16/bf16>.$1.f32 {=sf32:4}, {!x$1:2}, {!x$1}, {%z, %z, %z, %z}; }",
        ),
        // A guard that is the same for the warp.
        whole_warp(
            "{ .reg .pred %t; vote.sync.<any/all>.pred %t, ~pred, -1; @%t mma.sync.aligned.m16n8k16.row.col.f32.<f16/bf16>.$2.f32 {+sf32:4}, {!x$2:4}, {!x$2:2}, {^1:4}; }",
        ),
        whole_warp(
            "{ .reg .pred %t; vote.sync.<any/all>.pred %t, ~pred, -1; @%t mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {+b32:4}, {!b32:4}, {!b32:2}, {!b32:4}; }",
        ),
        // Chains.
        whole_warp(
            "mma.sync.aligned.m16n8k16.row.col.f32.<f16/bf16>.$1.f32 {+sf32:4}, {!x$1:4}, {!x$1:2}, {^0:4}; mma.sync.aligned.m16n8k8.row.col.f32.$1.$1.f32 {^0:4}, {^4:2}, {^8}, {^0:4}; mma.sync.aligned.m16n8k16.row.col.f32.$1.$1.f32 {=sf32:4}, {!x$1:4}, {^8:2}, {^0:4}",
        ),
        whole_warp(
            "{ .reg .b32 %t<4>; mma.sync.aligned.m16n8k16.row.col.s32.<s8/u8>.<s8/u8>.s32 {%t0, %t1, %t2, %t3}, {!b32:2}, {!b32}, {!b32:4}; mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {=b32:4}, {%t0, %t1, %t2, %t3}, {%t3, %t1}, {%t2, %t3, %t0, %t1}; }",
        ),
    ],
};

/// Each of the metadata's fields names two of four elements, in order; of tf32 one of two, which is
/// the second form.
macro_rules! metadata {
    () => {
        "{ .reg .b32 %t; <and.b32 %t, !b32, 0x55555555; or.b32 %t, %t, 0x88888888/and.b32 %t, !b32, 0x11111111; mad.lo.u32 %t, %t, 10, 0x44444444>; "
    };
    (single) => {
        "{ .reg .b32 %t; and.b32 %t, !b32, 0x11111111; mad.lo.u32 %t, %t, 10, 0x44444444; "
    };
}

/// Products with matrices half of whose elements are not there.
pub const SPARSE: Family = Family {
    name: "matrix sparse products",
    weight: 4,
    rows: &[
        whole_warp(concat!(
            metadata!(),
            "mma.sp</::ordered_metadata>.sync.aligned.<m16n8k16~2~#(0,3)/m16n8k32~4~#(0,1)>.row.col.f32.<f16/bf16>.$4.f32 {=sf32:4}, {!x$4:$3'}, {!x$4:$3'}, {!sf32:4}, %t, $3''; }"
        )),
        whole_warp(concat!(
            metadata!(),
            "mma.sp</::ordered_metadata>.sync.aligned.<m16n8k16~2~#(0,3)/m16n8k32~4~#(0,1)>.row.col.f32.<f16/bf16>.$4.f32 {+sf32:4}, {!x$4:$3'}, {!x$4:$3'}, {^1:4}, %t, $3''; }"
        )),
        whole_warp(concat!(
            metadata!(),
            "mma.sp</::ordered_metadata>.sync.aligned.<m16n8k16~2~#(0,3)/m16n8k32~4~#(0,1)>.row.col.f16.f16.f16.f16 {=sf16:2}, {!xf16:$3'}, {!xf16:$3'}, {!sf16:2}, %t, $3''; }"
        )),
        whole_warp(concat!(
            metadata!(single),
            "mma.sp</::ordered_metadata>.sync.aligned.<m16n8k8~2~#(0,3)/m16n8k16~4~#(0,1)>.row.col.f32.tf32.tf32.f32 {=sf32:4}, {!xtf32:$2'}, {!xtf32:$2'}, {!sf32:4}, %t, $2''; }"
        )),
        whole_warp(concat!(
            metadata!(),
            "mma.sp</::ordered_metadata>.sync.aligned.m16n8k64.row.col.f32.<e4m3/e5m2>.<e4m3/e5m2>.f32 {*sf32:4}, {!x$3:4}, {!x$4:4}, {!sf32:4}, %t, 0; }"
        )),
        whole_warp(concat!(
            metadata!(),
            "mma.sp</::ordered_metadata>.sync.aligned.<m16n8k32~2~#(0,1)/m16n8k64~4~0>.row.col</.satfinite>.s32.<s8/u8>.<s8/u8>.s32 {=b32:4}, {!b32:$3'}, {!b32:$3'}, {!b32:4}, %t, $3''; }"
        )),
        whole_warp(concat!(
            metadata!(),
            "mma.sp</::ordered_metadata>.sync.aligned.<m16n8k64~2~#(0,1)/m16n8k128~4~0>.row.col</.satfinite>.s32.<s4/u4>.<s4/u4>.s32 {=b32:4}, {!b32:$3'}, {!b32:$3'}, {!b32:4}, %t, $3''; }"
        )),
        whole_warp(concat!(
            metadata!(),
            "mma.sp</::ordered_metadata>.sync.aligned.<m16n8k64~2~#(0,1)/m16n8k128~4~0>.row.col</.satfinite>.s32.<s4/u4>.<s4/u4>.s32 {+b32:4}, {!b32:$3'}, {!b32:$3'}, {^1:4}, %t, $3''; }"
        )),
    ],
};

/// The warp's shared memory, or its rows of `own`, full of one class's numbers: slots 0 to 7.
macro_rules! fill {
    ($class:literal) => {
        fill!("shared", "%mxt", $class)
    };
    ("global", $class:literal) => {
        fill!("global", "%rw", $class)
    };
    ($space:literal, $at:literal, $class:literal) => {
        concat!(
            "bar.warp.sync -1; st.",
            $space,
            ".v4.b32 [",
            $at,
            "], {!",
            $class,
            ":4}; st.",
            $space,
            ".v4.b32 [",
            $at,
            "+16], {!",
            $class,
            ":4}; st.",
            $space,
            ".v4.b32 [",
            $at,
            "+32], {^4, ^1, ^6, ^3}; st.",
            $space,
            ".v4.b32 [",
            $at,
            "+48], {^2, ^5, ^0, ^7}; bar.warp.sync -1; "
        )
    };
}

/// Matrices of eight by eight halves.
pub const EIGHTS: Family = Family {
    name: "matrix transfers",
    weight: 4,
    rows: &[
        whole_warp(concat!(
            fill!("xf16"),
            "{ .reg .b32 %t; mov.u32 %t, %laneid; mad.lo.u32 %t, %t, #(1,15), #(0,127); and.b32 %t, %t, 127; mad.lo.u32 %t, %t, 16, %mxs; ldmatrix.sync.aligned.m8n8.<x1~1/x2~2/x4~4></.trans>.shared</::cta>.b16 {=xf16:$1'}, [%t]; }"
        )),
        whole_warp(
            "bar.warp.sync -1; { .reg .b32 %t; and.b32 %t, !b32, 127; mad.lo.u32 %t, %t, 16, %mxs; ldmatrix.sync.aligned.m8n8.<x1~1/x2~2/x4~4></.trans>.shared.b16 {=b32:$1'}, [%t]; }",
        ),
        whole_warp(
            "bar.warp.sync -1; { .reg .b32 %t; .reg .b64 %u; and.b32 %t, !b32, 48; cvt.u64.u32 %u, %t; add.u64 %u, %u, %mxl; ldmatrix.sync.aligned.m8n8.<x1~1/x2~2/x4~4></.trans>.b16 {=b32:$1'}, [%u]; }",
        ),
        whole_warp(
            "bar.warp.sync -1; ldmatrix.sync.aligned.m8n8.x4</.trans>.shared.b16 {=b32:4}, [%mxt+#(0,48,16)]; mma.sync.aligned.m16n8k32.row.col.s32.<s8/u8>.<s8/u8>.s32 {=b32:4}, {^0:4}, {!b32:2}, {!b32:4}",
        ),
        // Rows of different lanes are different.
        whole_warp(
            "bar.warp.sync -1; { .reg .b32 %t; mov.u32 %t, %laneid; mad.lo.u32 %t, %t, #(1,15,2), #(0,127); and.b32 %t, %t, 127; mad.lo.u32 %t, %t, 16, %mxs; stmatrix.sync.aligned.m8n8.<x1~1/x2~2/x4~4></.trans>.shared</::cta>.b16 [%t], {!b32:$1'}; } bar.warp.sync -1; ld.shared.v4.b32 {=b32:4}, [%mxt+#(0,48,16)]",
        ),
        whole_warp(
            "bar.warp.sync -1; { .reg .b32 %t; .reg .b64 %u; mov.u32 %t, %laneid; mad.wide.u32 %u, %t, 16, %mxl; stmatrix.sync.aligned.m8n8.<x1~1/x2~2/x4~4></.trans>.b16 [%u+#(0,48,16)], {!b32:$1'}; } bar.warp.sync -1; ld.shared.v2.b32 {=b32:2}, [%mxt+#(0,56,8)]",
        ),
        whole_warp("movmatrix.sync.aligned.m8n8.trans.b16 =<b32/xf16/xbf16>, !$1"),
        whole_warp(
            "movmatrix.sync.aligned.m8n8.trans.b16 =xf16, !xf16; mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {=sf32:4}, {^0, !xf16}, {^1}, {!sf32:4}",
        ),
    ],
};

/// Eight registers of a fragment.
macro_rules! eight {
    ($of:literal) => {
        concat!(
            "{", $of, "0, ", $of, "1, ", $of, "2, ", $of, "3, ", $of, "4, ", $of, "5, ", $of,
            "6, ", $of, "7}"
        )
    };
}

macro_rules! four {
    ($of:literal) => {
        concat!("{", $of, "0, ", $of, "1, ", $of, "2, ", $of, "3}")
    };
}

/// The whole way of `wmma`, since what a fragment holds where is not said, nor whether it is the
/// same for both layouts. Results are new variables: what is added to may not be among them but
/// each in its place, or ptxas 13.0.88 writes before it has read all
/// (found/wmma-result-over-a-summand.ptx).
pub const WMMA: Family = Family {
    name: "matrix wmma",
    weight: 4,
    rows: &[
        whole_warp(concat!(
            fill!("xf16"),
            "{ .reg .b32 %a<8>, %b<8>; wmma.load.a.sync.aligned.<row/col>.<m16n16k16/m32n8k16/m8n32k16><.shared~[%mxs]/~[%mxl]>.f16 ",
            eight!("%a"),
            ", $3'</, 32>; wmma.load.b.sync.aligned.<row/col>.$2.shared.f16 ",
            eight!("%b"),
            ", [%mxs+<0/256/1024>]; wmma.mma.sync.aligned.$1.$5.$2.f32.f32 {*sf32:8}, ",
            eight!("%a"),
            ", ",
            eight!("%b"),
            ", {!sf32:8}; }"
        )),
        whole_warp(concat!(
            fill!("xf16"),
            "{ .reg .b32 %a<8>, %b<8>; wmma.load.a.sync.aligned.<row/col>.<m16n16k16/m32n8k16/m8n32k16>.shared.f16 ",
            eight!("%a"),
            ", [%mxs]; wmma.load.b.sync.aligned.<row/col>.$2.shared.f16 ",
            eight!("%b"),
            ", [%mxs]</, 32>; wmma.mma.sync.aligned.$1.$3.$2.f32.f32 {+sf32:8}, ",
            eight!("%a"),
            ", ",
            eight!("%b"),
            ", {^8:8}; wmma.mma.sync.aligned.$1.$3.$2.<f16~4/f32~8>.f16 {*s$5:$5'}, ",
            eight!("%a"),
            ", ",
            eight!("%b"),
            ", {!xf16:4}; }"
        )),
        whole_warp(concat!(
            fill!("global", "xf16"),
            "{ .reg .b32 %a<8>, %b<8>; wmma.load.a.sync.aligned.<row/col>.<m16n16k16/m32n8k16/m8n32k16>.global.f16 ",
            eight!("%a"),
            ", [%mxr]; wmma.load.b.sync.aligned.<row/col>.$2.global.f16 ",
            eight!("%b"),
            ", [%mxr+<0/256/1024>]; wmma.mma.sync.aligned.$1.$3.$2.f16.<f16~4~xf16/f32~8~sf32> {*sf16:4}, ",
            eight!("%a"),
            ", ",
            eight!("%b"),
            ", {!$5'':$5'}; }"
        )),
        whole_warp(concat!(
            fill!("xbf16"),
            "{ .reg .b32 %a<4>, %b<4>; wmma.load.a.sync.aligned.<row/col>.m16n16k16.shared.bf16 ",
            four!("%a"),
            ", [%mxs]</, 32>; wmma.load.b.sync.aligned.<row/col>.m16n16k16.shared.bf16 ",
            four!("%b"),
            ", [%mxs+<0/256/1024>]; wmma.mma.sync.aligned.$1.$3.m16n16k16.f32.bf16.bf16.f32 {*sf32:8}, ",
            four!("%a"),
            ", ",
            four!("%b"),
            ", {!sf32:8}; }"
        )),
        whole_warp(concat!(
            fill!("xbf16"),
            "{ .reg .b32 %a<8>, %b<2>; wmma.load.a.sync.aligned.<row/col>.m32n8k16.shared.bf16 ",
            eight!("%a"),
            ", [%mxs]; wmma.load.b.sync.aligned.<row/col>.m32n8k16.shared.bf16 {%b0, %b1}, [%mxs+<0/256/1024>]; wmma.mma.sync.aligned.$1.$2.m32n8k16.f32.bf16.bf16.f32 {+sf32:8}, ",
            eight!("%a"),
            ", {%b0, %b1}, {^8:8}; wmma.load.a.sync.aligned.$1.m8n32k16.shared.bf16 {%b0, %b1}, [%mxs+512]; wmma.load.b.sync.aligned.$2.m8n32k16.shared.bf16 ",
            eight!("%a"),
            ", [%mxs]; wmma.mma.sync.aligned.$1.$2.m8n32k16.f32.bf16.bf16.f32 {*sf32:8}, {%b0, %b1}, ",
            eight!("%a"),
            ", {!sf32:8}; }"
        )),
        whole_warp(concat!(
            fill!("xtf32"),
            "{ .reg .b32 %a<4>, %b<4>; wmma.load.a.sync.aligned.<row/col>.m16n16k8.shared.tf32 ",
            four!("%a"),
            ", [%mxs]</, 32>; wmma.load.b.sync.aligned.<row/col>.m16n16k8.shared.tf32 ",
            four!("%b"),
            ", [%mxs+<0/512/1024>]; wmma.mma.sync.aligned.$1.$3.m16n16k8.f32.tf32.tf32.f32 {*sf32:8}, ",
            four!("%a"),
            ", ",
            four!("%b"),
            ", {!sf32:8}; }"
        )),
        whole_warp(concat!(
            fill!("b32"),
            "{ .reg .b32 %a<4>, %b<4>; wmma.load.a.sync.aligned.<row/col>.m16n16k16.shared.<s8/u8> {%a0, %a1}, [%mxs]</, 32>; wmma.load.b.sync.aligned.<row/col>.m16n16k16.shared.$2 {%b0, %b1}, [%mxs+<0/256/1024>]; wmma.mma.sync.aligned.$1.$4.m16n16k16.s32.$2.$2.s32</.satfinite> {*b32:8}, {%a0, %a1}, {%b0, %b1}, {!b32:8}; }"
        )),
        whole_warp(concat!(
            fill!("b32"),
            "{ .reg .b32 %a<4>, %b<4>; wmma.load.a.sync.aligned.<row/col>.<m32n8k16~{%a0, %a1, %a2, %a3}~{%b0}/m8n32k16~{%a0}~{%b0, %b1, %b2, %b3}>.shared.<s8/u8> $2', [%mxs]; wmma.load.b.sync.aligned.<row/col>.$2.shared.$3 $2'', [%mxs+<0/256/1024>]; wmma.mma.sync.aligned.$1.$4.$2.s32.$3.$3.s32</.satfinite> {*b32:8}, $2', $2'', {!b32:8}; }"
        )),
        whole_warp(concat!(
            fill!("b32"),
            "{ .reg .b32 %a, %b; wmma.load.a.sync.aligned.row.m8n8k32.shared.<s4/u4> {%a}, [%mxs]</, 64>; wmma.load.b.sync.aligned.col.m8n8k32.shared.$1 {%b}, [%mxs+<0/256/1024>]; wmma.mma.sync.aligned.row.col.m8n8k32.s32.$1.$1.s32</.satfinite> {*b32:2}, {%a}, {%b}, {!b32:2}; }"
        )),
        whole_warp(concat!(
            fill!("b32"),
            "{ .reg .b32 %a, %b; wmma.load.a.sync.aligned.row.m8n8k128.shared.b1 {%a}, [%mxs]; wmma.load.b.sync.aligned.col.m8n8k128.shared.b1 {%b}, [%mxs+<0/256/1024>]; wmma.mma.<and/xor>.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 {*b32:2}, {%a}, {%b}, {!b32:2}; }"
        )),
        whole_warp(
            "bar.warp.sync -1; st.shared.v2.f64 [%mxt], {!xf64:2}; st.shared.v2.f64 [%mxt+16], {!xf64:2}; st.shared.v2.f64 [%mxt+32], {^0, ^2}; st.shared.v2.f64 [%mxt+48], {^3, ^1}; bar.warp.sync -1; { .reg .f64 %a, %b; wmma.load.a.sync.aligned.<row/col>.m8n8k4.shared.f64 {%a}, [%mxs]; wmma.load.b.sync.aligned.<row/col>.m8n8k4.shared.f64 {%b}, [%mxs+<0/256/1024>]; wmma.mma.sync.aligned.$1.$2.m8n8k4</.rn/.rz/.rm/.rp>.f64.f64.f64.f64 {*sf64:2}, {%a}, {%b}, {!sf64:2}; }",
        ),
        // What is added to, from memory and back.
        whole_warp(concat!(
            fill!("sf32"),
            "wmma.load.c.sync.aligned.<row/col>.<m16n16k16/m32n8k16/m8n32k16/m16n16k8>.shared.f32 {=sf32:8}, [%mxs+<0/256/1024>]"
        )),
        whole_warp(concat!(
            fill!("xf16"),
            "wmma.load.c.sync.aligned.<row/col>.<m16n16k16/m32n8k16/m8n32k16>.shared.f16 {=sf16:4}, <[%mxs]/[%mxs], 32/[%mxs+256]/[%mxs+1024]>"
        )),
        whole_warp(
            "bar.warp.sync -1; wmma.load.c.sync.aligned.<row/col>.<m16n16k16/m32n8k16/m8n32k16>.shared.s32 {=b32:8}, [%mxs+<0/256/1024>]",
        ),
        whole_warp(
            "bar.warp.sync -1; wmma.load.c.sync.aligned.<row/col>.<m8n8k32/m8n8k128>.shared.s32 {=b32:2}, [%mxs+<0/256/1024>]",
        ),
        whole_warp(
            "bar.warp.sync -1; wmma.store.d.sync.aligned.<row/col>.<m16n16k16/m32n8k16/m8n32k16>.<shared~[%mxs+1024]/global~[%mxr]>.<f32~sf32~8/s32~b32~8/f16~sf16~4> $3', {!$4':$4''}; bar.warp.sync -1; ld.shared.v4.b32 {=b32:4}, [%mxt+#(0,48,16)]",
        ),
        whole_warp(
            "bar.warp.sync -1; wmma.store.d.sync.aligned.<row/col>.<m8n8k32~s32~b32/m8n8k128~s32~b32/m8n8k4~f64~sf64>.shared.$2' [%mxs+256], {!$2'':2}; bar.warp.sync -1; ld.shared.v4.b32 {=b32:4}, [%mxt+#(0,48,16)]",
        ),
    ],
};
