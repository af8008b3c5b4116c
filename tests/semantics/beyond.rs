//! Instructions that the compiler does not lower yet: the interpreter and the simulator with ptxas's code must agree on them.

use super::instructions::{Group, group};

pub const BEYOND: &[Group] = &[
    group(
        "narrow_floats",
        &["f32", "f32"],
        "b16",
        &[
            "cvt.rn.satfinite.e4m3x2.f32 %d, %a, %b",
            "cvt.rn.satfinite.relu.e4m3x2.f32 %d, %a, %b",
            "cvt.rn.satfinite.e5m2x2.f32 %d, %a, %b",
            "cvt.rn.satfinite.relu.e5m2x2.f32 %d, %a, %b",
        ],
    ),
    group(
        "narrow_floats",
        &["b32"],
        "b16",
        &["cvt.rn.satfinite.e4m3x2.f16x2 %d, %a", "cvt.rn.satfinite.relu.e5m2x2.f16x2 %d, %a"],
    ),
    group(
        "narrow_floats",
        &["b16"],
        "b32",
        &[
            "cvt.rn.f16x2.e4m3x2 %d, %a",
            "cvt.rn.relu.f16x2.e4m3x2 %d, %a",
            "cvt.rn.f16x2.e5m2x2 %d, %a",
            "cvt.rn.relu.f16x2.e5m2x2 %d, %a",
        ],
    ),
    group(
        "narrow_floats",
        &["f32", "f32"],
        "b32",
        &[
            "cvt.rn.relu.f16x2.f32 %d, %a, %b",
            "cvt.rz.relu.bf16x2.f32 %d, %a, %b",
            "cvt.rn.satfinite.f16x2.f32 %d, %a, %b",
            "cvt.rz.satfinite.relu.bf16x2.f32 %d, %a, %b",
        ],
    ),
    group(
        "narrow_floats",
        &["f32"],
        "b32",
        &["cvt.rn.relu.tf32.f32 %d, %a", "cvt.rz.relu.tf32.f32 %d, %a", "cvt.rni.u8.f32 %d, %a"],
    ),
    group(
        "narrow_floats",
        &["f64"],
        "b16",
        &[
            "cvt.rn.bf16.f64 %d, %a",
            "cvt.rm.bf16.f64 %d, %a",
            "cvt.rp.bf16.f64 %d, %a",
            "cvt.rz.bf16.f64 %d, %a",
        ],
    ),
    group("narrow_floats", &["f64"], "b32", &["cvt.rmi.s8.f64 %d, %a", "cvt.rzi.u16.f64 %d, %a"]),
    group(
        "halves",
        &["b32", "b32"],
        "b32",
        &[
            "add.rn.f16x2 %d, %a, %b",
            "mul.ftz.sat.f16x2 %d, %a, %b",
            "min.ftz.f16x2 %d, %a, %b",
            "max.xorsign.abs.f16x2 %d, %a, %b",
            "min.NaN.bf16x2 %d, %a, %b",
            "max.NaN.xorsign.abs.bf16x2 %d, %a, %b",
            "set.lt.ftz.f16x2.f16x2 %d, %a, %b",
            "set.geu.bf16x2.bf16x2 %d, %a, %b",
        ],
    ),
    group(
        "halves",
        &["b32", "b32", "b32"],
        "b32",
        &[
            "fma.rn.relu.f16x2 %d, %a, %b, %c",
            "fma.rn.ftz.relu.f16x2 %d, %a, %b, %c",
            "fma.rn.relu.bf16x2 %d, %a, %b, %c",
        ],
    ),
    group(
        "packed_integers",
        &["b32", "b32", "b32"],
        "b32",
        &[
            "{ .reg .b32 t; min.s32 t, %a, %b; min.s32 %d, t, %c; }",
            "{ .reg .b32 t; max.u32 t, %a, %b; max.u32 %d, t, %c; }",
            "{ .reg .b32 t; add.s32 t, %a, %b; max.s32.relu %d, t, %c; }",
            "{ .reg .b32 t; add.s16x2 t, %a, %b; min.s16x2 %d, t, %c; }",
            "vabsdiff4.u32.u32.u32 %d, %a, %b, %c",
            "vabsdiff4.u32.u32.u32.add %d, %a, %b, %c",
            "vabsdiff4.u32.s32.s32.add %d, %a, %b, %c",
            "cvt.pack.sat.u8.s32.b32 %d, %a, %b, %c",
            "cvt.pack.sat.s4.s32.b32 %d, %a, %b, %c",
            "cvt.pack.sat.u2.s32.b32 %d, %a, %b, %c",
            "cvt.pack.sat.s16.s32 %d, %a, %b",
            "{ .reg .b32 t; and.b32 t, %b, 31; fns.b32 %d, %a, t, %c; }",
            "{ .reg .pred p; .reg .b32 t; setp.gt.s32 p, %c, 3; lop3.and.b32 t|%q, %a, %b, %c, 0x96, p; }",
            "{ .reg .pred p; .reg .b32 t; setp.gt.s32 p, %c, 3; lop3.or.b32 t|%q, %a, %b, %c, 0x96, p; }",
        ],
    ),
    group(
        "packed_integers",
        &["b32", "b32", "b32"],
        "b32",
        &[
            "mad.hi.sat.s32 %d, %a, %b, %c",
            "vabsdiff2.u32.u32.u32 %d, %a, %b, %c",
            "vavrg4.u32.u32.u32 %d, %a, %b, %c",
        ],
    ),
];
