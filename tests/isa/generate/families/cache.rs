//! Prefetches, discards and cache policies.

use crate::generate::{Family, Row, each, turn};

pub const CACHE: Family = Family::rows("cache", ROWS);

const ROWS: &[Row] = &[
    each("prefetch</.global/.local>.<L1/L2> [@$1]"),
    each("prefetch.global.L2::<evict_last/evict_normal> [@.global]"),
    turn("prefetch</.const/.param>.tensormap [%b64]"),
    each("prefetchu.L1 [@]"),
    each("discard</.global>.L2 [@$1], 128"),
    each("applypriority</.global>.L2::evict_normal [@$1], 128"),
    turn(
        "createpolicy.range</.global>.L2::<evict_last/evict_normal/evict_first/evict_unchanged></.L2::evict_first/.L2::evict_unchanged>.b64 =b64, [@.global], %b32, %b32",
    ),
    turn(
        "createpolicy.fractional.L2::<evict_last/evict_normal/evict_first/evict_unchanged></.L2::evict_first/.L2::evict_unchanged>.b64 =b64</, 0.5/, 1.0/, 0.25>",
    ),
    turn(
        "createpolicy.fractional.L2::<evict_last/evict_first></.L2::evict_unchanged>.b64 =b64, %f32",
    ),
    turn("createpolicy.cvt.L2.b64 =b64, %b64"),
    turn(
        "createpolicy.fractional.L2::evict_first.b64 =b64, 0.5; ld.global.L2::cache_hint.<u32/u64> =$1, [@.global], %b64",
    ),
];
