//! Loads and stores.

use crate::generate::{Family, Row, each, few, turn};

pub const LOAD: Family = Family::rows("load", LOAD_ROWS);

const LOAD_ROWS: &[Row] = &[
    each("ld</.global/.shared/.local/.const/.param>.<u8/s8/u16/s16/u32/u64/f64/b128> =$2, [@$1]"),
    turn("ld</.global/.shared/.local/.const/.param>.v4.u8 =u8*4, [@$1]"),
    each(
        "ld</.global/.shared/.local/.const/.param>.<v2.u8~u8*2/v4.u8~u8*4/v2.u16~u16*2/v4.u16~u16*4/v2.u32~u32*2/v4.u32~u32*4/v2.u64~u64*2> =$2', [@$1]",
    ),
    turn(
        "ld</.weak/.volatile></.global/.shared/.shared::cta/.shared::cluster/.local/.const/.param/.param::entry>.<b8/u8/s8/b16/u16/s16/b32/u32/s32/f32/b64/u64/s64/f64/b128> =$3, [@$2]",
    ),
    turn(
        "ld</.weak/.volatile></.global/.shared/.shared::cta/.shared::cluster/.local/.const/.param/.param::entry>.v2.<b8/u8/s8/b16/u16/s16/b32/u32/s32/f32/b64/u64/s64/f64> =$3*2, [@$2]",
    ),
    turn(
        "ld</.weak/.volatile></.global/.shared/.shared::cta/.shared::cluster/.local/.const/.param/.param::entry>.v4.<b8/u8/s8/b16/u16/s16/b32/u32/s32/f32> =$3*4, [@$2]",
    ),
    turn("ld</.weak/.volatile></.global/.shared>.<b16/f16/bf16> =b16, [@$2]"),
    turn(
        "ld</.weak></.global/.local/.shared/.const/.param>.<ca/cg/cs/lu/cv></.L2::64B/.L2::128B/.L2::256B>.<u8~u8/b16~b16/f32~f32/b64~b64/v2.s16~s16*2/v4.u32~u32*4/v2.f64~f64*2/v2.b64~b64*2/v4.f32~f32*4> =$5', [@$2]",
    ),
    few(
        "ld.global.<ca/cg/cs/lu/cv></.L2::64B/.L2::128B/.L2::256B>.<u8~u8/s8~s8/u32~u32/b64~b64/v4.f32~f32*4> =$3', [@.global]",
    ),
    turn(
        "ld</.global>.<ca/cg/cs/lu/cv>.L2::cache_hint</.L2::64B/.L2::128B/.L2::256B>.<u8~u8/u32~u32/v2.b64~b64*2/v4.f32~f32*4> =$4', [@$1], %b64",
    ),
    turn(
        "ld</.global></.L1::evict_normal/.L1::evict_unchanged/.L1::evict_first/.L1::evict_last/.L1::no_allocate></.L2::64B/.L2::128B/.L2::256B>.<u8~u8/u32~u32/v2.b64~b64*2/v4.f32~f32*4> =$4', [@$1]",
    ),
    turn(
        "ld</.global></.L1::evict_normal/.L1::evict_unchanged/.L1::evict_first/.L1::evict_last/.L1::no_allocate>.L2::cache_hint</.L2::64B/.L2::128B/.L2::256B>.<u8~u8/u32~u32/v2.b64~b64*2/v4.f32~f32*4> =$4', [@$1], %b64",
    ),
    turn(
        "ld</.global></.L1::evict_normal/.L1::evict_unchanged/.L1::evict_first/.L1::evict_last/.L1::no_allocate>.L2::<evict_normal/evict_first/evict_last></.L2::64B/.L2::128B/.L2::256B>.<v8.b32~b32*8/v8.u32~u32*8/v8.s32~s32*8/v4.b64~b64*4/v4.u64~u64*4/v4.s64~s64*4/v8.f32~f32*8/v4.f64~f64*4/u32~u32> =$5', [@$1]",
    ),
    turn(
        "ld<.global/>.<v8.b32~b32*8/v8.f32~f32*8/v8.u32~u32*8/v8.s32~s32*8/v4.b64~b64*4/v4.f64~f64*4/v4.u64~u64*4/v4.s64~s64*4> =$2', [@$1]",
    ),
    turn(
        "ld.<relaxed/acquire>.<gpu/sys></.global>.<v8.b32~b32*8/v8.f32~f32*8/v8.s32~s32*8/v4.b64~b64*4/v4.f64~f64*4/v4.u64~u64*4/v4.s64~s64*4> =$4', [@$3]",
    ),
    turn(
        "ld.global</.nc>.<v8.b32~b32*8/v8.f32~f32*8/v8.u32~u32*8/v8.s32~s32*8/v4.b64~b64*4/v4.f64~f64*4/v4.u64~u64*4> =$2', [@.global]",
    ),
    turn(
        "ld.global</.ca/.cg/.cs>.nc</.L2::64B/.L2::128B/.L2::256B>.<b8/u8/s8/b16/u16/s16/b32/u32/s32/f32/b64/u64/s64/f64/b128> =$3, [@.global]",
    ),
    turn(
        "ld.global</.ca/.cg/.cs>.nc.<v2.b8~b8*2/v4.b8~b8*4/v2.u8~u8*2/v2.u16~u16*2/v4.u16~u16*4/v2.f32~f32*2/v2.b64~b64*2/v2.u64~u64*2/v2.f64~f64*2/v4.u32~u32*4/v4.f32~f32*4> =$2', [@.global]",
    ),
    few(
        "ld.global.nc</.L1::evict_normal/.L1::evict_unchanged/.L1::evict_first/.L1::evict_last/.L1::no_allocate></.L2::64B/.L2::128B/.L2::256B>.<s8~s8/u32~u32/v2.f64~f64*2/v4.f32~f32*4> =$3', [@.global]",
    ),
    turn(
        "ld.global.nc</.L1::evict_normal/.L1::evict_unchanged/.L1::evict_first/.L1::evict_last/.L1::no_allocate>.L2::cache_hint</.L2::64B/.L2::128B/.L2::256B>.<s8~s8/u32~u32/v2.f64~f64*2/v4.f32~f32*4> =$3', [@.global], %b64",
    ),
    each("ld.global.nc.<u8/s8/u16/s16/u32/u64/b128> =$1, [@.global]"),
    turn("ldu</.global>.<b8/u8/s8/b16/u16/s16/b32/u32/s32/f32/b64/u64/s64/f64> =$2, [@$1]"),
    turn("ldu</.global>.v2.<b8/u8/s8/b16/u16/s16/b32/u32/s32/f32/b64/u64/s64/f64> =$2*2, [@$1]"),
    turn("ldu</.global>.v4.<b8/u8/s8/b16/u16/s16/b32/u32/s32/f32> =$2*4, [@$1]"),
    turn("ld.const[<1/3>].u32 =u32, [@.const]"),
];

pub const LOAD_ORDERED: Family = Family::rows("load_ordered", LOAD_ORDERED_ROWS);

const LOAD_ORDERED_ROWS: &[Row] = &[
    turn(
        "ld.<relaxed/acquire>.<cta/cluster/gpu/sys></.global/.shared/.shared::cta/.shared::cluster>.<u8~u8/u16~u16/u32~u32/b64~b64/f32~f32/f64~f64/b128~b128/v2.s32~s32*2/v4.f32~f32*4> =$4', [@$3]",
    ),
    turn(
        "ld.<relaxed/acquire>.<cta/cluster/gpu/sys></.global></.L1::evict_normal/.L1::evict_unchanged/.L1::evict_first/.L1::evict_last/.L1::no_allocate></.L2::64B/.L2::128B/.L2::256B>.u32 =u32, [@$3]",
    ),
    turn(
        "ld.<relaxed/acquire>.<cta/cluster/gpu/sys></.global>.L2::cache_hint.<u32~u32/v4.f32~f32*4> =$4', [@$3], %b64",
    ),
    turn("ld.mmio.relaxed.sys</.global>.<u8/u16/s16/u32/b64/f32/f64> =$2, [@$1]"),
    turn("ld.mmio.acquire.sys</.global>.<u32/b64> =$2, [@$1]"),
    turn(
        "ld.volatile</.global/.shared/.local/.const>.<u8~u8/u16~u16/u32~u32/b64~b64/f32~f32/v2.s32~s32*2/v4.f32~f32*4> =$2', [@$1]",
    ),
];

pub const STORE: Family = Family::rows("store", STORE_ROWS);

const STORE_ROWS: &[Row] = &[
    each("st</.global/.shared/.local>.<u8/u16/u32/u64/f64/b128> [@$1], %$2"),
    each(
        "st</.global/.shared/.local>.<v2.u8~u8*2/v4.u8~u8*4/v2.u16~u16*2/v4.u16~u16*4/v2.u32~u32*2/v4.u32~u32*4/v2.u64~u64*2> [@$1], %$2'",
    ),
    turn(
        "st</.weak/.volatile></.global/.shared/.shared::cta/.shared::cluster/.local>.<b8/u8/s8/b16/u16/s16/b32/u32/s32/f32/b64/u64/s64/f64/b128> [@$2], %$3",
    ),
    turn(
        "st</.weak/.volatile></.global/.shared/.shared::cta/.shared::cluster/.local>.v2.<b8/u8/s8/b16/u16/s16/b32/u32/s32/f32/b64/u64/s64/f64> [@$2], %$3*2",
    ),
    turn(
        "st</.weak/.volatile></.global/.shared/.shared::cta/.shared::cluster/.local>.v4.<b8/u8/s8/b16/u16/s16/b32/u32/s32/f32> [@$2], %$3*4",
    ),
    turn(
        "st</.weak></.global/.local/.shared>.<wb/cg/cs/wt>.<u8~u8/b16~b16/f32~f32/b64~b64/v2.s16~s16*2/v4.u32~u32*4/v2.f64~f64*2> [@$2], %$4'",
    ),
    turn(
        "st</.global>.<wb/cg/cs/wt>.L2::cache_hint.<u8~u8/u32~u32/v2.b64~b64*2/v4.f32~f32*4> [@$1], %$3', %b64",
    ),
    turn(
        "st</.global></.L1::evict_normal/.L1::evict_unchanged/.L1::evict_first/.L1::evict_last/.L1::no_allocate>.<u8~u8/u32~u32/v2.b64~b64*2/v4.f32~f32*4> [@$1], %$3'",
    ),
    turn(
        "st</.global></.L1::evict_normal/.L1::evict_unchanged/.L1::evict_first/.L1::evict_last/.L1::no_allocate>.L2::cache_hint.<u8~u8/u32~u32/v2.b64~b64*2/v4.f32~f32*4> [@$1], %$3', %b64",
    ),
    turn(
        "st</.global></.L1::evict_normal/.L1::evict_unchanged/.L1::evict_first/.L1::evict_last/.L1::no_allocate>.L2::<evict_normal/evict_first/evict_last>.<v8.b32~b32*8/v4.b64~b64*4/v8.f32~f32*8/v4.f64~f64*4> [@$1], %$4'",
    ),
    turn(
        "st<.global/>.<v8.b32~b32*8/v8.f32~f32*8/v8.u32~u32*8/v8.s32~s32*8/v4.b64~b64*4/v4.f64~f64*4/v4.u64~u64*4/v4.s64~s64*4> [@$1], %$2'",
    ),
    turn(
        "st.<relaxed/release>.<gpu/sys></.global>.<v8.b32~b32*8/v8.f32~f32*8/v4.b64~b64*4/v4.f64~f64*4> [@$3], %$4'",
    ),
    turn("st</.global/.shared/.local>.<u32/u64/u8/u16/b128> [@$1], <0/1/-1/0x12345678>"),
    turn("st</.global/.shared/.local>.v4.u32 [@$1], {%u32, 0, %u32, <0/7>}"),
    turn("st.bulk</.weak></.shared::cta> [@.shared], %u64, 0"),
];

pub const STORE_ORDERED: Family = Family::rows("store_ordered", STORE_ORDERED_ROWS);

const STORE_ORDERED_ROWS: &[Row] = &[
    turn(
        "st.<relaxed/release>.<cta/cluster/gpu/sys></.global/.shared/.shared::cta/.shared::cluster>.<u8~u8/u16~u16/u32~u32/b64~b64/f32~f32/f64~f64/b128~b128/v2.s32~s32*2/v4.f32~f32*4> [@$3], %$4'",
    ),
    turn(
        "st.<relaxed/release>.<cta/cluster/gpu/sys></.global></.L1::evict_normal/.L1::evict_unchanged/.L1::evict_first/.L1::evict_last/.L1::no_allocate>.<u32~u32/v4.f32~f32*4> [@$3], %$5'",
    ),
    turn(
        "st.<relaxed/release>.<cta/cluster/gpu/sys></.global>.L2::cache_hint.<u32~u32/v4.f32~f32*4> [@$3], %$4', %b64",
    ),
    turn("st.mmio.relaxed.sys</.global>.<u8/u16/s16/u32/b64/f32/f64> [@$1], %$2"),
    turn("st.mmio.release.sys</.global>.<u32/b64> [@$1], %$2"),
    turn(
        "st.volatile</.global/.shared/.local>.<u8~u8/u16~u16/u32~u32/b64~b64/f32~f32/v2.s32~s32*2/v4.f32~f32*4> [@$1], %$2'",
    ),
];
