//! Memory that several devices share.

use crate::generate::{Family, Row, turn};

pub const MULTIMEM: Family = Family::rows("multimem", ROWS);

const ROWS: &[Row] = &[
    turn(
        "multimem.ld_reduce</.weak/.relaxed.cta/.relaxed.cluster/.relaxed.gpu/.relaxed.sys/.acquire.cta/.acquire.gpu/.acquire.sys></.global>.<min/max/add>.<u32/s32/u64> =$4, [@$2]",
    ),
    turn(
        "multimem.ld_reduce</.weak/.relaxed.cta/.relaxed.cluster/.relaxed.gpu/.relaxed.sys/.acquire.gpu/.acquire.sys></.global>.<min.s64~s64/max.s64~s64/and.b32~b32/or.b32~b32/xor.b32~b32/and.b64~b64/or.b64~b64/xor.b64~b64/add.f32~f32/add.f64~f64/add.v2.f32~f32*2/add.v4.f32~f32*4> =$3', [@$2]",
    ),
    turn(
        "multimem.ld_reduce</.weak/.relaxed.cta/.relaxed.cluster/.relaxed.gpu/.relaxed.sys/.acquire.gpu/.acquire.sys></.global>.<min/max/add>.<f16~b16/f16x2~b32/bf16~b16/bf16x2~b32/v2.f16~b16*2/v4.f16~b16*4/v8.f16~b16*8/v2.bf16~b16*2/v4.bf16~b16*4/v8.bf16~b16*8/v2.f16x2~b32*2/v4.f16x2~b32*4/v2.bf16x2~b32*2/v4.bf16x2~b32*4> =$4', [@$2]",
    ),
    turn(
        "multimem.ld_reduce</.weak/.relaxed.cta/.relaxed.cluster/.relaxed.gpu/.relaxed.sys/.acquire.gpu/.acquire.sys></.global>.add.acc::f32.<f16~b16/f16x2~b32/bf16~b16/bf16x2~b32/v2.f16~b16*2/v4.f16~b16*4/v8.f16~b16*8/v2.bf16~b16*2/v4.bf16~b16*4/v8.bf16~b16*8/v2.f16x2~b32*2/v4.f16x2~b32*4/v2.bf16x2~b32*2/v4.bf16x2~b32*4> =$3', [@$2]",
    ),
    turn(
        "multimem.ld_reduce</.relaxed.gpu></.global>.<min/max/add/add.acc::f16>.<e5m2~e5m2/e5m2x2~b16/e5m2x4~b32/e4m3~e4m3/e4m3x2~b16/e4m3x4~b32/v2.e5m2x2~b16*2/v2.e5m2x4~b32*2/v2.e4m3x2~b16*2/v2.e4m3x4~b32*2/v4.e4m3~e4m3*4/v4.e5m2~e4m3*4/v4.e4m3x2~b16*4/v4.e5m2x2~b16*4/v4.e4m3x4~b32*4/v4.e5m2x4~b32*4/v8.e4m3~e4m3*8/v8.e5m2~e4m3*8/v8.e4m3x2~b16*8/v8.e5m2x2~b16*8> =$4', [@$2]",
    ),
    turn(
        "multimem.st</.weak/.relaxed.cta/.relaxed.cluster/.relaxed.gpu/.relaxed.sys/.release.cta/.release.gpu/.release.sys></.global>.<u32~u32/s32~s32/u64~u64/s64~s64/b32~b32/b64~b64/f32~f32/f64~f64/f16x2~b32/bf16x2~b32/f16~b16/bf16~b16/v2.f32~f32*2/v4.f32~f32*4/v2.f16x2~b32*2/v4.f16x2~b32*4/v2.bf16x2~b32*2/v4.bf16x2~b32*4/v2.f16~b16*2/v4.f16~b16*4/v8.f16~b16*8/v2.bf16~b16*2/v4.bf16~b16*4/v8.bf16~b16*8> [@$2], %$3'",
    ),
    turn(
        "multimem.red</.relaxed.cta/.relaxed.cluster/.relaxed.gpu/.relaxed.sys/.release.cta/.release.gpu/.release.sys></.global>.<min.u32~u32/min.s32~s32/min.u64~u64/min.s64~s64/max.u32~u32/max.s32~s32/max.u64~u64/max.s64~s64/add.u32~u32/add.s32~s32/add.u64~u64/and.b32~b32/or.b32~b32/xor.b32~b32/and.b64~b64/or.b64~b64/xor.b64~b64/add.f32~f32/add.f64~f64/add.v2.f32~f32*2/add.v4.f32~f32*4> [@$2], %$3'",
    ),
    turn(
        "multimem.red</.relaxed.cta/.relaxed.cluster/.relaxed.gpu/.relaxed.sys/.release.gpu/.release.sys></.global>.<add/min/max>.<f16~b16/f16x2~b32/bf16~b16/bf16x2~b32/v2.f16~b16*2/v4.f16~b16*4/v8.f16~b16*8/v2.bf16~b16*2/v4.bf16~b16*4/v8.bf16~b16*8/v2.f16x2~b32*2/v4.f16x2~b32*4/v2.bf16x2~b32*2/v4.bf16x2~b32*4> [@$2], %$4'",
    ),
    turn(
        "multimem.cp.async.bulk.global.shared::cta.bulk_group</.cp_mask~, %b16> [@.global], [@.shared], %b32$1'",
    ),
    turn(
        "multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.<add.u32/add.s32/add.u64/and.b32/or.b32/xor.b32/min.u32/max.u32/min.s64/max.s64/inc.u32/dec.u32/add.f16/add.bf16/add.f64/min.f16/max.bf16/add.noftz.f16/add.noftz.bf16> [@.global], [@.shared], %b32",
    ),
];
