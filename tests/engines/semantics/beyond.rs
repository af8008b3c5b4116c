//! Instructions that the compiler does not lower yet: the interpreter and the simulator with
//! ptxas's code must agree on them.

use super::instructions::{Group, group};

pub const BEYOND: &[Group] = &[
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
