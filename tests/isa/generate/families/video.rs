//! Video instructions: scalar and SIMD.

use crate::generate::{Family, Row, turn};

pub const VIDEO: Family = Family::rows("video", VIDEO_ROWS);

const VIDEO_ROWS: &[Row] = &[
    turn("<vadd/vsub/vabsdiff/vmin/vmax>.<u32/s32>.<u32/s32>.<u32/s32></.sat> =b32, %b32, %b32"),
    turn(
        "<vadd/vsub/vabsdiff/vmin/vmax>.<u32/s32>.<u32/s32>.<u32/s32></.sat>.<add/min/max> =b32, %b32, %b32, %b32",
    ),
    turn(
        "<vadd/vsub/vabsdiff/vmin/vmax>.<u32/s32>.<u32/s32>.<u32/s32></.sat> =b32, %b32.<b0/b3/h1>, %b32.<b1/h0>",
    ),
    turn(
        "<vadd/vsub/vabsdiff/vmin/vmax>.<u32/s32>.u32.s32</.sat> +b32.<b0/b1/b2/b3/h0/h1>, %b32.<b2/h1>, %b32, %b32",
    ),
    turn("<vshl/vshr>.<u32/s32>.<u32/s32>.u32</.sat>.<clamp/wrap> =b32, %b32, %b32"),
    turn(
        "<vshl/vshr>.<u32/s32>.<u32/s32>.u32</.sat>.<clamp/wrap>.<add/min/max> =b32, %b32, %b32, %b32",
    ),
    turn(
        "<vshl/vshr>.<u32/s32>.<u32/s32>.u32</.sat>.<clamp/wrap> =b32, %b32.<b0/b2/h1>, %b32.<b1/h0>",
    ),
    turn("vmad.<u32/s32>.<u32/s32>.<u32/s32></.sat></.shr7/.shr15> =b32, %b32, %b32, %b32"),
    turn("vmad.<u32/s32>.<u32/s32>.<u32/s32>.po</.sat></.shr7/.shr15> =b32, %b32, %b32, %b32"),
    turn(
        "vmad.s32.<u32/s32>.<u32/s32></.sat></.shr7> =b32, <%b32/-%b32>.<b0/h1>, %b32.<b1/h0>, <%b32/-%b32>",
    ),
    turn("vset.<u32/s32>.<u32/s32>.<eq/ne/lt/le/gt/ge> =b32, %b32, %b32"),
    turn("vset.<u32/s32>.<u32/s32>.<eq/ne/lt/le/gt/ge>.<add/min/max> =b32, %b32, %b32, %b32"),
    turn("vset.<u32/s32>.<u32/s32>.<eq/lt/ge> =b32, %b32.<b0/h1>, %b32.<b3/h0>"),
];

pub const VIDEO_SIMD: Family = Family::rows("video_simd", SIMD_ROWS);

const SIMD_ROWS: &[Row] = &[
    turn(
        "<vadd2/vsub2/vavrg2/vabsdiff2/vmin2/vmax2/vadd4/vsub4/vavrg4/vabsdiff4/vmin4/vmax4>.<u32/s32>.<u32/s32>.<u32/s32></.sat/.add> =b32, %b32, %b32, %b32",
    ),
    turn(
        "<vadd2/vsub2/vavrg2/vabsdiff2/vmin2/vmax2>.<u32/s32>.<u32/s32>.<u32/s32></.sat> =b32.<h0/h1/h10>, %b32.<h10/h32/h23>, %b32.<h00/h13>, %b32",
    ),
    turn(
        "<vadd4/vsub4/vavrg4/vabsdiff4/vmin4/vmax4>.<u32/s32>.<u32/s32>.<u32/s32></.sat> =b32.<b0/b21/b310/b3210>, %b32.<b3210/b7654>, %b32.b4567, %b32",
    ),
    turn("<vset2/vset4>.<u32/s32>.<u32/s32>.<eq/ne/lt/le/gt/ge></.add> =b32, %b32, %b32, %b32"),
    turn("vset2.<u32/s32>.<u32/s32>.<eq/lt> =b32.<h0/h1/h10>, %b32.<h01/h32>, %b32, %b32"),
    turn("vset4.<u32/s32>.<u32/s32>.<eq/lt> =b32.<b0/b32/b3210>, %b32.<b7654/b0123>, %b32, %b32"),
];
