//! Bitwise logic, shifts and byte permutation.

use crate::generate::{Family, Row, each, few, pairs, turn};

pub const LOGIC: Family = Family::rows("logic", LOGIC_ROWS);

const LOGIC_ROWS: &[Row] = &[
    pairs("<and/xor>.b32 =b32, %b32, %b32"),
    each("<and/or/xor>.<b16/b32/b64> =$2, %$2, %$2"),
    each("<and/or/xor>.pred =pred, %pred, %pred"),
    each("not.<b16/b32/b64/pred> =$1, %$1"),
    each("cnot.<b16/b32/b64> =$1, %$1"),
    pairs("lop3.b32 =b32, %b32, %b32, %b32, 0x96"),
    turn(
        "lop3.b32 =b32, %b32, %b32, %b32, <0/1/0x0f/0x1e/0x33/0x3c/0x55/0x78/0x80/0xaa/0xc0/0xca/0xe8/0xf0/0xf8/0xfe/0xff>",
    ),
    each("lop3.<or/and>.b32 =b32|=pred, %b32, %b32, %b32, 0x96, %pred"),
    each("lop3.<or/and>.b32 _|=pred, %b32, %b32, %b32, 0x80, %pred"),
    each("and.b32 =b32, %b32, %b32; setp.ne.s32 =pred, %s32, 0"),
    each("and.pred =pred, %pred, %pred; xor.pred =pred, %pred, %pred; or.pred =pred, %pred, %pred"),
];

pub const SHIFT: Family = Family::rows("shift", SHIFT_ROWS);

const SHIFT_ROWS: &[Row] = &[
    each("shl.<b16/b32/b64> =$1, %$1, %b32"),
    each("shr.<b16/b32/b64/s16/s32/s64/u16/u32/u64> =$1, %$1, %b32"),
    turn("shl.<b16/b32/b64> =$1, %$1, <0/1/2/3/4/5/8/15/16/31/32/33/63/64>"),
    turn(
        "shr.<b16/b32/b64/s16/s32/s64/u16/u32/u64> =$1, %$1, <0/1/2/3/4/5/8/15/16/31/32/33/63/64>",
    ),
    each("shf.<l/r>.<clamp/wrap>.b32 =b32, %b32, %b32, %b32"),
    each("prmt.b32 =b32, %b32, %b32, %b32"),
    few("prmt.b32.<f4e/b4e/rc8/ecl/ecr/rc16> =b32, %b32, %b32, %b32"),
    turn(
        "prmt.b32 =b32, %b32, %b32, <0x3210/0x5410/0x7632/0x0123/0x7531/0x6420/0x4440/0x8880/0xba98/0x1032/0x3214>",
    ),
];
