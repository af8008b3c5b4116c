//! Moves between registers of different sizes and kinds.

use super::{Family, kernel, rare, row};

pub const MOVE: Family = Family {
    name: "move",
    weight: 4,
    rows: &[
        row("mov.<b16/b32/b64/u16/u32/u64/s16/s32/s64/f32/f64/pred/b128> =$1, !$1"),
        row("mov.<b16/b32/b64/f32/f64> =$1, %$1"),
        row("mov.b32 =b32, {!b16, !b16}"),
        row("mov.b32 {=b16, =b16}, !b32"),
        row("mov.b32 {_, =b16}, !b32"),
        row("mov.b64 =b64, {!b32, !b32}"),
        row("mov.b64 {=b32, =b32}, !b64"),
        row("mov.b64 {=b32, _}, !b64"),
        rare("mov.b64 =b64, {!b16, !b16, !b16, !b16}"),
        rare("mov.b64 {=b16, =b16, =b16, =b16}, !b64"),
        rare("mov.b128 =b128, {!b64, !b64}"),
        rare("mov.b128 {=b64, =b64}, !b128"),
        // Integers as floats.
        row("mov.b32 =f32, !b32"),
        row("mov.b64 =f64, !b64"),
        row("mov.b16 =<f16/bf16>, !b16"),
        row("mov.b32 =<f16x2/bf16x2>, !b32"),
        row("mov.b32 =f16x2, {!f16, !f16}"),
        row("mov.b32 =bf16x2, {!bf16, !bf16}"),
        row("mov.b32 {=f16, =f16}, !f16x2"),
        row("mov.b32 {=bf16, =bf16}, !bf16x2"),
        // Floats as integers: all NaNs are one.
        row(
            "{ .reg .pred %t; .reg .b32 %u; setp.nan.f32 %t, !f32, ^0; mov.b32 %u, ^0; selp.b32 =b32, 0x7fffffff, %u, %t; }",
        ),
        row(
            "{ .reg .pred %t; .reg .b64 %u; setp.nan.f64 %t, !f64, ^0; mov.b64 %u, ^0; selp.b64 =b64, 0x7ff8000000000000, %u, %t; }",
        ),
        row("{ .reg .pred %t; setp.nan.f16 %t, !f16, ^0; selp.b16 =b16, 0x7fff, ^0, %t; }"),
        row("{ .reg .pred %t; setp.nan.bf16 %t, !bf16, ^0; selp.b16 =b16, 0x7fff, ^0, %t; }"),
    ],
};

pub const SPECIAL: Family = Family {
    name: "special registers",
    weight: 2,
    rows: &[
        row("mov.u32 =u32, %<tid/ntid/ctaid/nctaid>.<x/y/z>"),
        row("mov.u32 =u32, %laneid"),
        row("mov.u32 =u32, %lanemask_<eq/le/lt/ge/gt>"),
        rare("mov.u32 =u32, %<clusterid/nclusterid/cluster_ctaid/cluster_nctaid>.<x/y/z>"),
        rare("mov.u32 =u32, %<cluster_ctarank/cluster_nctarank>"),
        rare("mov.u32 =u32, %dynamic_smem_size"),
    ],
};

pub const PARAMETER: Family = Family {
    name: "parameters",
    weight: 2,
    rows: &[
        kernel("ld.param.<b32/u32/s32> =b32, [n]"),
        kernel("ld.param.<u8/s8/u16/s16> =b32, [n+#(0,2,2)]"),
        kernel("ld.param.<b64/u64/s64> =b64, [wide]"),
        kernel("ld.param.f32 =f32, [single]"),
        kernel("ld.param.f64 =f64, [double]"),
        kernel("ld.param.<u8/s8> =b16, [block+#(0,31)]"),
        kernel("ld.param.<b16/u16> =b16, [block+#(0,30,2)]"),
        kernel("ld.param.b32 =b32, [block+#(0,28,4)]"),
        kernel("ld.param.v2.b32 {=b32, =b32}, [block+#(0,24,8)]"),
        kernel("ld.param.v4.b32 {=b32, =b32, =b32, =b32}, [block+#(0,16,16)]"),
        kernel("ld.param.v2.b64 {=b64, =b64}, [block+#(0,16,16)]"),
        kernel("ld.param.b64 =b64, [block+#(0,24,8)]"),
        // An address that only the run knows.
        kernel(
            "{ .reg .b32 %t; .reg .b64 %u, %v; and.b32 %t, !b32, 28; cvt.u64.u32 %u, %t; mov.b64 %v, block; add.u64 %u, %u, %v; ld.param.b32 =b32, [%u]; }",
        ),
    ],
};
