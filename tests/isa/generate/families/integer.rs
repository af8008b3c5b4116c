//! Integer arithmetic, with and without carry, and bit fields.

use crate::generate::{Family, Row, each, few, pairs, turn};

pub const ARITHMETIC: Family = Family::rows("integer", ROWS);

const ROWS: &[Row] = &[
    pairs("add.<s32/u64> =$1, %$1, %$1"),
    pairs("sub.<s32/s64> =$1, %$1, %$1"),
    pairs("mad.lo.s32 =s32, %s32, %s32, %s32"),
    pairs("mad.wide.u32 =u64, %u32, %u32, %u64"),
    each("<add/sub>.<s16/u16/u32/s64/u64> =$2, %$2, %$2"),
    each("<add/sub>.sat.s32 =s32, %s32, %s32"),
    each("<add/sub></.sat>.<s16x2/u16x2> =$3, %$3, %$3"),
    each("<mul.lo/mul.hi>.<s16/u16/s32/u32/s64/u64> =$2, %$2, %$2"),
    each("<mad.lo/mad.hi>.<s16/u16/s32/u32/s64/u64> =$2, %$2, %$2, %$2"),
    each("mul.wide.<s16~s32/u16~u32/s32~s64/u32~u64> =$1', %$1, %$1"),
    each("mad.wide.<s16~s32/u16~u32/s32~s64> =$1', %$1, %$1, %$1'"),
    each("mad.hi.sat.s32 =s32, %s32, %s32, %s32"),
    each("<mul24.lo/mul24.hi>.<s32/u32> =$2, %$2, %$2"),
    each("<mad24.lo/mad24.hi>.<s32/u32> =$2, %$2, %$2, %$2"),
    each("mad24.hi.sat.s32 =s32, %s32, %s32, %s32"),
    each("sad.<s16/u16/s32/u32/s64/u64> =$1, %$1, %$1, %$1"),
    each("<div/rem>.<s16/u16/s32/u32/s64/u64> =$2, %$2, %$2"),
    turn(
        "<div/rem>.<s16/u16/s32/u32/s64/u64> =$2, %$2, <1/2/3/5/7/8/10/12/100/255/1000/4096/32767>",
    ),
    each("abs.<s16/s32/s64> =$1, %$1"),
    each("neg.<s16/s32/s64> =$1, %$1"),
    each("<min/max>.<s16/u16/s32/u32/s64/u64/s16x2/u16x2> =$2, %$2, %$2"),
    each("<min/max>.relu.<s32/s16x2> =$2, %$2, %$2"),
    each("dp4a.<s32/u32>.<s32/u32> =b32, %b32, %b32, %b32"),
    each("dp2a.<lo/hi>.<s32/u32>.<s32/u32> =b32, %b32, %b32, %b32"),
    // Three inputs or a scaled sum in one instruction.
    each("add.s32 =s32, %s32, %s32; add.s32 =s32, %s32, %s32"),
];

pub const CARRY: Family = Family::rows("carry", CARRY_ROWS);

const CARRY_ROWS: &[Row] = &[
    each("add.cc.<s32/u32/s64/u64> =$1, %$1, %$1; addc.cc.$1 =$1, %$1, %$1; addc.$1 =$1, %$1, %$1"),
    each("sub.cc.<s32/u32/s64/u64> =$1, %$1, %$1; subc.cc.$1 =$1, %$1, %$1; subc.$1 =$1, %$1, %$1"),
    few("mad.<lo/hi>.cc.<s32/u32/s64/u64> =$2, %$2, %$2, %$2; addc.$2 =$2, %$2, %$2"),
    few("add.cc.<s32/u32/s64/u64> =$1, %$1, %$1; madc.<lo/hi>.$1 =$1, %$1, %$1, %$1"),
    few(
        "mad.lo.cc.<s32/u32/s64/u64> =$1, %$1, %$1, %$1; madc.hi.cc.$1 =$1, %$1, %$1, %$1; madc.lo.cc.$1 =$1, %$1, %$1, %$1; madc.hi.$1 =$1, %$1, %$1, %$1",
    ),
    few("sub.cc.<s32/u32/s64/u64> =$1, %$1, %$1; madc.lo.$1 =$1, %$1, %$1, %$1"),
    turn("<addc/subc></.cc>.<s32/u32/s64/u64> =$3, %$3, %$3"),
    turn("<madc.lo/madc.hi></.cc>.<s32/u32/s64/u64> =$3, %$3, %$3, %$3"),
];

pub const BITS: Family = Family::rows("bits", BIT_ROWS);

const BIT_ROWS: &[Row] = &[
    each("<popc/clz>.<b32/b64> =b32, %$2"),
    each("brev.<b32/b64> =$1, %$1"),
    each("bfind</.shiftamt>.<s32/u32/s64/u64> =b32, %$2"),
    each("fns.b32 =b32, %b32, %b32, %b32"),
    each("bfe.<s32/u32/s64/u64> =$1, %$1, %b32, %b32"),
    turn("bfe.<s32/u32/s64/u64> =$1, %$1, <0/1/3/8/16/24/31>, <0/1/5/8/16/24/32/40>"),
    each("bfi.<b32/b64> =$1, %$1, %$1, %b32, %b32"),
    turn("bfi.<b32/b64> =$1, %$1, %$1, <0/1/3/8/16/24/31>, <0/1/5/8/16/24/32>"),
    each("bmsk.<clamp/wrap>.b32 =b32, %b32, %b32"),
    each("szext.<clamp/wrap>.<s32/u32> =b32, %b32, %b32"),
];
