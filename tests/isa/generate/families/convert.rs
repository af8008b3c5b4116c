//! Conversions.

use crate::generate::{Family, Row, each, few, turn};

pub const INTEGER: Family = Family::rows("convert_integer", INTEGER_ROWS);

const INTEGER_ROWS: &[Row] = &[
    turn("cvt</.sat>.<u8/u16/u32/u64/s8/s16/s32/s64>.<u8/u16/u32/u64/s8/s16/s32/s64> =$2, %$3"),
    turn("cvt.<rn/rz/rm/rp></.sat>.<f16/f32/f64>.<u8/u16/u32/u64/s8/s16/s32/s64> =$3, %$4"),
    turn("cvt.<rn/rz/rm/rp>.ftz</.sat>.f32.<u8/u16/u32/u64/s8/s16/s32/s64> =f32, %$3"),
    few("cvt.<rn/rz/rm/rp>.bf16.<u8/u16/u32/u64/s8/s16/s32/s64> =bf16, %$2"),
    turn("cvt.<rni/rzi/rmi/rpi></.sat>.<u8/u16/u32/u64/s8/s16/s32/s64>.<f32/f64> =$3, %$4"),
    few("cvt.<rni/rzi/rmi/rpi></.sat>.<u8/u16/u32/u64/s8/s16/s32/s64>.<f16/bf16> =$3, %$4"),
    turn("cvt.<rni/rzi/rmi/rpi>.ftz</.sat>.<u8/u16/u32/u64/s8/s16/s32/s64>.f32 =$3, %f32"),
    each("cvt.sat.<u8/s8/u16/s16>.<s32/u32> =$1, %$2"),
    few("cvt.rn.<f16/f32/f64>.<u8/s8/u16/s16/s32/u32/u64/s64> =$1, %$2"),
    few("cvt.<rzi/rni>.<s8/u16/s32/u32/u64/s64>.<f16/f32/f64> =$2, %$3"),
    // A byte of a word as a float.
    turn("{.maxntid 64} bfe.u32 =u32, %u32, <0/8/16/24>, 8; cvt.rn.f32.u32 =f32, %u32"),
    few("cvt.pack.sat.<u16/s16>.s32 =b32, %s32, %s32"),
    few("cvt.pack.sat.<u8/s8/u4/s4/u2/s2>.s32.b32 =b32, %s32, %s32, %b32"),
];

pub const FLOAT: Family = Family::rows("convert_float", FLOAT_ROWS);

const FLOAT_ROWS: &[Row] = &[
    turn("cvt.<rn/rz/rm/rp></.ftz></.sat>.<f16/bf16/f32>.<f16/bf16/f32/f64> =$4, %$5"),
    turn("cvt</.ftz></.sat>.<f16/bf16/f32/f64>.<f16/bf16/f32/f64> =$3, %$4"),
    turn("cvt.<rni/rzi/rmi/rpi></.ftz></.sat>.<f16/bf16/f32/f64>.$4 =$4, %$4"),
    turn("cvt.<rn/rz></.relu></.satfinite>.<f16/bf16>.f32 =$4, %f32"),
    few("cvt.<rn/rz></.relu></.satfinite>.<f16x2/bf16x2>.f32 =$4, %f32, %f32"),
    turn("cvt.<rn/rz></.satfinite></.relu>.tf32.f32 =tf32, %f32"),
    turn("cvt.rna</.satfinite>.tf32.f32 =tf32, %f32"),
    each("cvt.rn.<f16/bf16/f32>.<f32/f64> =$1, %$2"),
    each("cvt.<f32/f64>.<f16/bf16> =$1, %$2"),
    each("cvt.f64.f32 =f64, %f32"),
    each("cvt.<rni/rzi/rmi/rpi>.<f16/f32/f64>.$2 =$2, %$2"),
    // Random bits decide the rounding (sm_100 and later).
    turn("cvt.rs</.relu></.satfinite>.<f16x2/bf16x2>.f32 =$3, %f32, %f32, %b32"),
    turn(
        "cvt.rs</.relu>.satfinite.<e4m3x4/e5m2x4/e2m3x4/e3m2x4/e2m1x4>.f32 =$2, {%f32, %f32, %f32, %f32}, %b32",
    ),
];

pub const NARROW: Family = Family::rows("convert_narrow", NARROW_ROWS);

const NARROW_ROWS: &[Row] = &[
    few("cvt.rn.satfinite</.relu>.<e4m3x2/e5m2x2/e2m3x2/e3m2x2/e2m1x2>.f32 =$2, %f32, %f32"),
    few("cvt.rn.satfinite</.relu>.<e4m3x2/e5m2x2>.<f16x2/bf16x2> =$2, %$3"),
    turn("cvt.rn.satfinite</.relu>.<e2m3x2/e3m2x2/e2m1x2>.<f16x2/bf16x2> =$2, %$3"),
    each("cvt.rn</.relu>.f16x2.<e4m3x2/e5m2x2/e2m3x2/e3m2x2/e2m1x2> =f16x2, %$2"),
    turn("cvt.<rz/rp></.satfinite>.ue8m0x2.<f32~%f32, %f32/bf16x2~%bf16x2> =ue8m0x2, $3'"),
    turn("cvt.rn.bf16x2.ue8m0x2 =bf16x2, %ue8m0x2"),
];
