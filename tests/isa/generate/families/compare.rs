//! Comparison and selection.

use crate::generate::{Family, Row, each, few, pairs, turn};

pub const SETP: Family = Family::rows("setp", SETP_ROWS);

const SETP_ROWS: &[Row] = &[
    turn("setp.<eq/ne>.<b16/b32/b64> =pred, %$2, %$2"),
    turn("setp.<eq/ne/lt/le/gt/ge>.<s16/s32/s64/u16/u32/u64> =pred, %$2, %$2"),
    turn("setp.<lo/ls/hi/hs>.<u16/u32/u64> =pred, %$2, %$2"),
    turn(
        "setp.<eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan></.ftz>.<f16/f32> =pred, %$3, %$3",
    ),
    turn("setp.<eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan>.<f64/bf16> =pred, %$2, %$2"),
    turn(
        "setp.<eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan></.ftz>.f16x2 =pred|=pred, %f16x2, %f16x2",
    ),
    turn(
        "setp.<eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan>.bf16x2 =pred|=pred, %bf16x2, %bf16x2",
    ),
    turn("setp.<eq/ne>.<and/or/xor>.<b16/b32/b64> <=pred/=pred|=pred>, %$3, %$3, %pred"),
    turn(
        "setp.<eq/ne/lt/le/gt/ge>.<and/or/xor>.<s16/s32/s64/u16/u32/u64> <=pred/=pred|=pred>, %$3, %$3, %pred",
    ),
    turn("setp.<lo/ls/hi/hs>.<and/or/xor>.<u16/u32/u64> <=pred/=pred|=pred>, %$3, %$3, %pred"),
    turn(
        "setp.<eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan>.<and/or/xor></.ftz>.<f16/f32> <=pred/=pred|=pred>, %$4, %$4, %pred",
    ),
    turn(
        "setp.<eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan>.<and/or/xor>.<f64/bf16> <=pred/=pred|=pred>, %$3, %$3, %pred",
    ),
    turn(
        "setp.<eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan>.<and/or/xor></.ftz>.f16x2 =pred|=pred, %f16x2, %f16x2, %pred",
    ),
    turn(
        "setp.<eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan>.<and/or/xor>.bf16x2 =pred|=pred, %bf16x2, %bf16x2, %pred",
    ),
    pairs("setp.lt.s32 =pred, %s32, %s32"),
    pairs("setp.ge.and.u32 =pred, %u32, %u32, %pred"),
    each("setp.<eq/gt>.<s32/u32/s64/u64/f32/f64/f16/bf16> =pred|=pred, %$2, %$2"),
    few("setp.<ltu/nan>.<or/xor>.<f32/f64/f16/bf16> =pred|=pred, %$3, %$3, %pred"),
    each("setp.<neu/le>.and.<f16x2/bf16x2> =pred|=pred, %$2, %$2, %pred"),
    each("setp.eq.b32 =pred|_, %b32, %b32"),
];

pub const SET: Family = Family::rows("set", SET_ROWS);

const SET_ROWS: &[Row] = &[
    turn("set.<eq/ne>.<u32/s32/f32>.<b16/b32/b64> =$2, %$3, %$3"),
    turn("set.<eq/ne/lt/le/gt/ge>.<u32/s32/f32>.<s16/s32/s64/u16/u32/u64> =$2, %$3, %$3"),
    turn("set.<lo/ls/hi/hs>.<u32/s32/f32>.<u16/u32/u64> =$2, %$3, %$3"),
    turn(
        "set.<eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan></.ftz>.<u32/s32/f32>.<f32/f16> =$3, %$4, %$4",
    ),
    turn(
        "set.<eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan>.<u32/s32/f32>.<f64/bf16> =$2, %$3, %$3",
    ),
    turn(
        "set.<eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan></.ftz>.<u16/s16/f16>.<f16/f32> =$3, %$4, %$4",
    ),
    turn(
        "set.<eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan>.<u16/s16/bf16>.bf16 =$2, %bf16, %bf16",
    ),
    turn(
        "set.<eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan></.ftz>.<f16/bf16>.<f16/bf16/f32/f64/u16/s16/u32/s32/u64/s64/b16/b32/b64> =b16, %$4, %$4",
    ),
    turn(
        "set.<eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan></.ftz>.<f16x2/u16x2/s16x2/b32>.f16x2 =b32, %f16x2, %f16x2",
    ),
    turn(
        "set.<eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan>.<bf16x2/u16x2/s16x2>.bf16x2 =b32, %bf16x2, %bf16x2",
    ),
    turn("set.<eq/ne>.<and/or/xor>.<u32/s32/f32>.<b16/b32/b64> =$3, %$4, %$4, %pred"),
    turn(
        "set.<eq/ne/lt/le/gt/ge>.<and/or/xor>.<u32/s32/f32>.<s16/s32/s64/u16/u32/u64> =$3, %$4, %$4, %pred",
    ),
    turn("set.<lo/ls/hi/hs>.<and/or/xor>.<u32/s32/f32>.<u16/u32/u64> =$3, %$4, %$4, %pred"),
    turn(
        "set.<eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan>.<and/or/xor></.ftz>.<u32/s32/f32>.<f32/f16> =$4, %$5, %$5, %pred",
    ),
    turn(
        "set.<eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan>.<and/or/xor>.<u32/s32/f32>.<f64/bf16> =$3, %$4, %$4, %pred",
    ),
    turn(
        "set.<eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan>.<and/or/xor></.ftz>.<f16x2/u16x2>.f16x2 =b32, %f16x2, %f16x2, %pred",
    ),
    turn(
        "set.<eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan>.<and/or/xor>.<bf16x2/u16x2>.bf16x2 =b32, %bf16x2, %bf16x2, %pred",
    ),
    turn(
        "set.<eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan>.<and/or/xor></.ftz>.<u16/f16>.<f16/f32> =$4, %$5, %$5, %pred",
    ),
    turn("set.<eq/lt/le/gt/nan/geu>.<and/or/xor>.<u16/bf16>.<bf16/f32/s32> =$3, %$4, %$4, %pred"),
    few("set.<gt/leu/nan></.ftz>.<u32/f32>.<f32/f16> =$3, %$4, %$4"),
    few("set.<gt/leu/nan>.<u16/bf16>.bf16 =$2, %bf16, %bf16"),
    few("set.<gt/leu/nan>.<u16x2~b32/f16x2~b32>.f16x2 =$2', %f16x2, %f16x2"),
    few("set.<gt/leu/nan>.<u16x2~b32/bf16x2~b32>.bf16x2 =$2', %bf16x2, %bf16x2"),
];

pub const SELECT: Family = Family::rows("select", SELECT_ROWS);

const SELECT_ROWS: &[Row] = &[
    pairs("selp.b32 =b32, %b32, %b32, %pred"),
    each("selp.<b16/b64/u16/u32/u64/s16/s32/s64/f32/f64> =$1, %$1, %$1, %pred"),
    few("slct.<b16/b32/b64/u16/u32/u64/s16/s32/s64/f32/f64>.s32 =$1, %$1, %$1, %s32"),
    few("slct</.ftz>.<b16/b32/b64/u16/u32/u64/s16/s32/s64/f32/f64>.f32 =$2, %$2, %$2, %f32"),
];
