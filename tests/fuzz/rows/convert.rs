//! Conversions.

use super::{Family, rare, row};

pub const INTEGER: Family = Family {
    name: "integer conversion",
    weight: 3,
    rows: &[
        row("cvt.<u8/u16/u32/u64/s8/s16/s32/s64>.<u8/u16/u32/u64/s8/s16/s32/s64> =$1, !$2"),
        // Clamping is only for values that the new type may not hold.
        // It may not be of something negated: ptxas 13.0.88 forgets that the least number wraps.
        row("{ .reg .b16 %t; xor.b16 %t, !b16, 0x2a55; cvt.sat.<u8/s8>.<u16/s16> =$1, %t; }"),
        row("{ .reg .b32 %t; brev.b32 %t, !b32; cvt.sat.<u8/s8/u16/s16>.<u32/s32> =$1, %t; }"),
        row(
            "{ .reg .b64 %t; brev.b64 %t, !b64; cvt.sat.<u8/s8/u16/s16/u32/s32>.<u64/s64> =$1, %t; }",
        ),
        rare(
            "{ .reg .b16 %t; xor.b16 %t, !b16, 0x2a55; cvt.sat.<u8.s8/s8.u8/u16.s8/u16.s16/s16.u16> =b16, %t; }",
        ),
        rare("cvt.sat.<u32.s32~b32/s32.u32~b32/u64.s64~b64/s64.u64~b64> =$1', !$1'"),
        // Registers wider than the type.
        // Not u16 of s8: ptxas 13.0.88 leaves the sign in the high half.
        row("cvt.<u8/s8/s16>.<u8/u16/s8/s16/u32/s32> =<b32/b64>, !<b32/b64>"),
        row("cvt.u16.<u8/u16/s16/u32/s32> =<b32/b64>, !<b32/b64>"),
        // Not of a cnot: ptxas 13.0.88 takes it for minus one.
        rare(
            "{ .reg .b32 %t; brev.b32 %t, !b32; cvt.sat.<u8/s8/u16/s16>.<u32/s32> =<b32/b64>, %t; }",
        ),
        row("cvt.<rn/rz/rm/rp></.sat>.<f16/f32/f64>.<u8/u16/u32/u64/s8/s16/s32/s64> =$3, !$4"),
        rare("cvt.<rn/rz/rm/rp>.ftz</.sat>.f32.<u8/u16/u32/u64/s8/s16/s32/s64> =f32, !$3"),
        rare("cvt.<rn/rz/rm/rp>.bf16.<u16/u32/u64/s16/s32/s64> =bf16, !$2"),
        row("cvt.<rni/rzi/rmi/rpi></.sat>.<u8/u16/u32/u64/s8/s16/s32/s64>.<f32/f64> =$3, !$4"),
        // Of a sum: ptxas 13.0.88 drops the rounding behind another conversion, `neg` or `abs`.
        row(
            "{ .reg .b16 %t; add.rn.f16 %t, !f16, ^0; cvt.<rni/rzi/rmi/rpi></.sat>.<u8/u16/u32/u64/s8/s16/s32/s64>.f16 =$3, %t; }",
        ),
        rare(
            "{ .reg .b16 %t; add.rn.bf16 %t, !bf16, ^0; cvt.<rni/rzi/rmi/rpi>.<u16/u32/u64/s16/s32/s64>.bf16 =$2, %t; }",
        ),
        rare("cvt.<rni/rzi/rmi/rpi>.ftz</.sat>.<u8/u16/u32/u64/s8/s16/s32/s64>.f32 =$3, !f32"),
        rare("cvt.pack.sat.<u16/s16>.s32 =b32, !s32, !s32"),
        rare("cvt.pack.sat.<u8/s8/u4/s4/u2/s2>.s32.b32 =b32, !s32, !s32, !b32"),
    ],
};

pub const FLOAT: Family = Family {
    name: "float conversion",
    weight: 2,
    rows: &[
        row("cvt.rn.<f16/bf16/f32>.f64 =$1, !f64"),
        row("cvt.<rz/rm/rp></.sat>.<f16/f32>.f64 =$3, !f64"),
        row("cvt.<rn/rz/rm/rp></.ftz></.sat>.f32.f64 =f32, !f64"),
        row("cvt.<rn/rz></.ftz></.sat>.f16.f32 =f16, !f32"),
        // ptxas 13.0.88 drops .ftz here.
        row("cvt.<rm/rp></.sat>.f16.f32 =f16, !f32"),
        row("cvt.<rn/rz></.relu></.satfinite>.<f16/bf16>.f32 =$4, !f32"),
        row("cvt</.ftz></.sat>.f32.f16 =f32, !f16"),
        row("cvt</.sat>.f64.<f16/f32> =f64, !$2"),
        rare("cvt.ftz</.sat>.f64.f32 =f64, !f32"),
        row("cvt.<f64/f32>.bf16 =$1, !bf16"),
        rare("cvt.ftz.f32.bf16 =f32, !bf16"),
        rare("cvt.<rn/rz>.<f16.bf16~=f16, !bf16/bf16.f16~=bf16, !f16> $2'"),
        row("cvt.<rni/rzi/rmi/rpi></.sat>.<f16/f32/f64>.$3 =$3, !$3"),
        row("cvt.<rn/rz></.relu></.satfinite>.<f16x2/bf16x2>.f32 =$4, !f32, !f32"),
        rare("{ .reg .b32 %t; cvt.<rn/rz></.relu>.tf32.f32 %t, !f32; mov.b32 =f32, %t; }"),
        rare("{ .reg .b32 %t; cvt.rna</.satfinite>.tf32.f32 %t, !f32; mov.b32 =f32, %t; }"),
    ],
};

pub const NARROW: Family = Family {
    name: "narrow float conversion",
    weight: 1,
    rows: &[
        row("cvt.rn.satfinite</.relu>.<e4m3x2/e5m2x2>.f32 =b16, !f32, !f32"),
        row("cvt.rn.satfinite</.relu>.<e4m3x2/e5m2x2>.f16x2 =b16, !f16x2"),
        row("cvt.rn</.relu>.f16x2.<e4m3x2/e5m2x2> =f16x2, !b16"),
    ],
};
