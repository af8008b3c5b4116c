//! Atomic operations and reductions.

use crate::generate::{Family, Row, each, few, turn};

pub const ATOM: Family = Family::rows("atom", ATOM_ROWS);

const ATOM_ROWS: &[Row] = &[
    each(
        "atom</.global/.shared>.<add.u32~u32/add.s32~s32/add.u64~u64/add.f32~f32/add.f64~f64/add.noftz.f16~f16/add.noftz.f16x2~f16x2/add.noftz.bf16~bf16/add.noftz.bf16x2~bf16x2> =$2', [@$1], %$2'",
    ),
    few("atom</.global/.shared>.<min/max>.<u32/s32/u64/s64> =$3, [@$1], %$3"),
    few("atom</.global/.shared>.<and/or/xor/exch>.<b32/b64> =$3, [@$1], %$3"),
    few("atom</.global/.shared>.<inc/dec>.u32 =u32, [@$1], %u32"),
    few("atom</.global/.shared>.cas.<b16/b32/b64/b128> =$2, [@$1], %$2, %$2"),
    turn(
        "atom</.relaxed/.acquire/.release/.acq_rel></.cta/.cluster/.gpu/.sys></.global/.shared/.shared::cta/.shared::cluster>.add.<u32/s32/u64/f32/f64> =$4, [@$3], %$4",
    ),
    turn(
        "atom</.relaxed/.acquire/.release/.acq_rel></.cta/.cluster/.gpu/.sys></.global/.shared/.shared::cta/.shared::cluster>.add.noftz.<f16/f16x2/bf16/bf16x2> =$4, [@$3], %$4",
    ),
    turn(
        "atom</.relaxed/.acquire/.release/.acq_rel></.cta/.cluster/.gpu/.sys></.global/.shared/.shared::cta/.shared::cluster>.<min/max>.<u32/s32/u64/s64> =$5, [@$3], %$5",
    ),
    turn(
        "atom</.relaxed/.acquire/.release/.acq_rel></.cta/.cluster/.gpu/.sys></.global/.shared/.shared::cta/.shared::cluster>.<inc/dec>.u32 =u32, [@$3], %u32",
    ),
    turn(
        "atom</.relaxed/.acquire/.release/.acq_rel></.cta/.cluster/.gpu/.sys></.global/.shared/.shared::cta/.shared::cluster>.<and/or/xor/exch>.<b32/b64> =$5, [@$3], %$5",
    ),
    turn(
        "atom</.relaxed/.acquire/.release/.acq_rel></.cta/.cluster/.gpu/.sys></.global/.shared/.shared::cta/.shared::cluster>.exch.b128 =b128, [@$3], %b128",
    ),
    turn(
        "atom</.relaxed/.acquire/.release/.acq_rel></.cta/.cluster/.gpu/.sys></.global/.shared/.shared::cta/.shared::cluster>.cas.<b16/b32/b64/b128> =$4, [@$3], %$4, %$4",
    ),
    turn(
        "atom</.relaxed.gpu></.global>.<add/min/max>.L2::cache_hint.<u32/s32/u64> =$4, [@$2], %$4, %b64",
    ),
    turn("atom</.relaxed.gpu></.global>.add.L2::cache_hint.<f32/f64> =$3, [@$2], %$3, %b64"),
    turn(
        "atom</.relaxed.gpu></.global>.add.noftz.L2::cache_hint.<f16/f16x2/bf16/bf16x2> =$3, [@$2], %$3, %b64",
    ),
    turn(
        "atom</.relaxed.gpu></.global>.<and/or/xor/exch>.L2::cache_hint.<b32/b64> =$4, [@$2], %$4, %b64",
    ),
    turn("atom</.relaxed.gpu></.global>.<inc/dec>.L2::cache_hint.u32 =u32, [@$2], %u32, %b64"),
    turn(
        "atom</.relaxed.gpu></.global>.cas.L2::cache_hint.<b16/b32/b64> =$3, [@$2], %$3, %$3, %b64",
    ),
    turn(
        "atom</.global/.shared>.<add.u32~u32/add.f32~f32/exch.b32~b32/or.b32~b32/max.s32~s32/add.u64~u64/exch.b64~b64> _, [@$1], %$2'",
    ),
    turn(
        "atom</.global/.shared>.<add.u32/inc.u32/dec.u32/or.b32/and.b32> =u32, [@$1], <0/1/-1/0x80000000>",
    ),
];

pub const RED: Family = Family::rows("red", RED_ROWS);

const RED_ROWS: &[Row] = &[
    few(
        "red</.global/.shared>.<add.u32~u32/add.s32~s32/add.u64~u64/add.f32~f32/add.f64~f64/add.noftz.f16~f16/add.noftz.f16x2~f16x2/add.noftz.bf16~bf16/add.noftz.bf16x2~bf16x2> [@$1], %$2'",
    ),
    few("red</.global/.shared>.<min/max>.<u32/s32/u64/s64> [@$1], %$3"),
    few("red</.global/.shared>.<and/or/xor>.<b32/b64> [@$1], %$3"),
    few("red</.global/.shared>.<inc/dec>.u32 [@$1], %u32"),
    turn(
        "red</.relaxed/.release></.cta/.cluster/.gpu/.sys></.global/.shared/.shared::cta/.shared::cluster>.add.<u32/s32/u64/f32/f64> [@$3], %$4",
    ),
    turn(
        "red</.relaxed/.release></.cta/.cluster/.gpu/.sys></.global/.shared/.shared::cta/.shared::cluster>.add.noftz.<f16/f16x2/bf16/bf16x2> [@$3], %$4",
    ),
    turn(
        "red</.relaxed/.release></.cta/.cluster/.gpu/.sys></.global/.shared/.shared::cta/.shared::cluster>.<min/max>.<u32/s32/u64/s64> [@$3], %$5",
    ),
    turn(
        "red</.relaxed/.release></.cta/.cluster/.gpu/.sys></.global/.shared/.shared::cta/.shared::cluster>.<inc/dec>.u32 [@$3], %u32",
    ),
    turn(
        "red</.relaxed/.release></.cta/.cluster/.gpu/.sys></.global/.shared/.shared::cta/.shared::cluster>.<and/or/xor>.<b32/b64> [@$3], %$5",
    ),
    turn(
        "red</.relaxed.gpu></.global>.<add/min/max>.L2::cache_hint.<u32/s32/u64> [@$2], %$4, %b64",
    ),
    turn("red</.relaxed.gpu></.global>.<min/max>.L2::cache_hint.s64 [@$2], %s64, %b64"),
    turn("red</.relaxed.gpu></.global>.add.L2::cache_hint.<f32/f64> [@$2], %$3, %b64"),
    turn(
        "red</.relaxed.gpu></.global>.add.noftz.L2::cache_hint.<f16/f16x2/bf16/bf16x2> [@$2], %$3, %b64",
    ),
    turn("red</.relaxed.gpu></.global>.<and/or/xor>.L2::cache_hint.<b32/b64> [@$2], %$4, %b64"),
    turn("red</.relaxed.gpu></.global>.<inc/dec>.L2::cache_hint.u32 [@$2], %u32, %b64"),
    turn(
        "red</.global/.shared>.<add.u32/inc.u32/dec.u32/or.b32/and.b32/add.u64/add.f64> [@$1], <0/1/-1>",
    ),
];

pub const VECTOR: Family = Family::rows("atom_vector", VECTOR_ROWS);

const VECTOR_ROWS: &[Row] = &[
    turn(
        "atom</.relaxed.cta/.relaxed.gpu/.relaxed.sys/.acquire.gpu/.release.gpu/.acq_rel.sys></.global>.add</.L2::cache_hint~, %b64>.<v2.f32~f32*2/v4.f32~f32*4> =$4', [@$2], %$4'$3'",
    ),
    turn(
        "atom</.relaxed.cta/.relaxed.gpu/.relaxed.sys/.acquire.gpu/.release.gpu/.acq_rel.sys></.global>.<add/min/max>.noftz</.L2::cache_hint~, %b64>.<v2.f16~b16*2/v4.f16~b16*4/v8.f16~b16*8/v2.bf16~b16*2/v4.bf16~b16*4/v8.bf16~b16*8/v2.f16x2~b32*2/v4.f16x2~b32*4/v2.bf16x2~b32*2/v4.bf16x2~b32*4> =$5', [@$2], %$5'$4'",
    ),
    turn(
        "red</.relaxed.cta/.relaxed.gpu/.relaxed.sys/.release.gpu/.release.sys></.global>.add</.L2::cache_hint~, %b64>.<v2.f32~f32*2/v4.f32~f32*4> [@$2], %$4'$3'",
    ),
    turn(
        "red</.relaxed.cta/.relaxed.gpu/.relaxed.sys/.release.gpu/.release.sys></.global>.<add/min/max>.noftz</.L2::cache_hint~, %b64>.<v2.f16~b16*2/v4.f16~b16*4/v8.f16~b16*8/v2.bf16~b16*2/v4.bf16~b16*4/v8.bf16~b16*8/v2.f16x2~b32*2/v4.f16x2~b32*4/v2.bf16x2~b32*2/v4.bf16x2~b32*4> [@$2], %$5'$4'",
    ),
];

pub const REMOTE: Family = Family::rows("remote", REMOTE_ROWS);

const REMOTE_ROWS: &[Row] = &[
    turn(
        "red.async</.relaxed.cluster></.shared::cluster>.mbarrier::complete_tx::bytes</.shared::cluster>.<inc.u32~u32/dec.u32~u32/add.u32~u32/add.s32~s32/add.u64~u64/min.u32~u32/max.u32~u32/min.s32~s32/max.s32~s32/and.b32~b32/or.b32~b32/xor.b32~b32> [@.shared::cluster], %$4', [@.shared::cluster]",
    ),
    turn(
        "st.async</.weak/.relaxed.cluster></.shared::cluster>.mbarrier::complete_tx::bytes</.shared::cluster>.<b32~b32/u32~u32/s32~s32/f32~f32/b64~b64/u64~u64/s64~s64/f64~f64/v2.b32~b32*2/v2.u32~u32*2/v2.s32~s32*2/v2.f32~f32*2/v2.b64~b64*2/v2.u64~u64*2/v2.s64~s64*2/v2.f64~f64*2/v4.b32~b32*4/v4.u32~u32*4/v4.s32~s32*4/v4.f32~f32*4> [@.shared::cluster], %$4', [@.shared::cluster]",
    ),
    turn("st.async.mmio.release.<gpu/sys>.global.<b8/b16/b32/b64/u32/s64/f32/f64> [@.global], %$2"),
    turn("red.async.mmio.release.<gpu/sys>.global.add.<u32/s32/u64> [@.global], %$2"),
    few(
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.<b32~b32/b64~b64/v4.b32~b32*4> [@.shared::cluster], %$1', [@.shared::cluster]",
    ),
];
