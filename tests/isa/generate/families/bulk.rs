//! Asynchronous copies: by thread, in bulk, and by tensor map.

use crate::generate::{Family, Row, each, few, turn};

pub const COPY: Family = Family::rows("cp_async", COPY_ROWS);

const COPY_ROWS: &[Row] = &[
    each("cp.async.ca.shared.global [@.shared], [@.global], <4/8/16>"),
    each("cp.async.cg.shared.global [@.shared], [@.global], 16"),
    turn(
        "cp.async.ca.<shared/shared::cta>.global</.L2::64B/.L2::128B/.L2::256B> [@.$1], [@.global], <4/8/16></, %b32/, 3/, %pred/, !%pred>",
    ),
    turn(
        "cp.async.cg.<shared/shared::cta>.global</.L2::64B/.L2::128B/.L2::256B> [@.$1], [@.global], 16</, %b32/, 7/, %pred/, !%pred>",
    ),
    turn(
        "cp.async.ca.<shared/shared::cta>.global.L2::cache_hint</.L2::64B/.L2::128B/.L2::256B> [@.$1], [@.global], <4/8/16></, %b32/, %pred>, %b64",
    ),
    turn(
        "cp.async.cg.<shared/shared::cta>.global.L2::cache_hint</.L2::64B/.L2::128B/.L2::256B> [@.$1], [@.global], 16</, %b32/, %pred>, %b64",
    ),
    turn("cp.async.commit_group"),
    turn("cp.async.wait_group <0/1/2/7>"),
    turn("cp.async.wait_all"),
    each(
        "cp.async.ca.shared.global [@.shared], [@.global], 16; cp.async.commit_group; cp.async.wait_group 1; cp.async.wait_all",
    ),
];

pub const BULK: Family = Family::rows("bulk", BULK_ROWS);

const BULK_ROWS: &[Row] = &[
    turn(
        "cp.async.bulk.<shared::cluster/shared::cta>.global.mbarrier::complete_tx::bytes</.L2::cache_hint~, %b64> [@.$1], [@.global], <%b32/1024>, [@.shared]$2'",
    ),
    turn(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster</.L2::cache_hint~, %b64> [@.shared::cluster], [@.global], %b32, [@.shared], %b16$1'",
    ),
    turn(
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [@.shared::cluster], [@.shared], <%b32/64>, [@.shared::cluster]",
    ),
    turn(
        "cp.async.bulk.global.shared::cta.bulk_group</.L2::cache_hint~, %b64> [@.global], [@.shared], <%b32/64>$1'",
    ),
    turn(
        "cp.async.bulk.global.shared::cta.bulk_group</.L2::cache_hint~, %b64>.cp_mask [@.global], [@.shared], %b32$1', %b16",
    ),
    turn("cp.async.bulk.prefetch.L2.global</.L2::cache_hint~, %b64> [@.global], <%b32/128>$1'"),
    turn("cp.async.bulk.commit_group"),
    turn("cp.async.bulk.wait_group</.read> <0/1/3>"),
    each(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [@.shared::cluster], [@.global], %b32, [@.shared]",
    ),
    few(
        "cp.async.bulk.global.shared::cta.bulk_group [@.global], [@.shared], %b32; cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0",
    ),
    turn(
        "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.<add.s32/add.u32/add.u64/and.b32/or.b32/xor.b32/and.b64/or.b64/xor.b64/inc.u32/dec.u32/min.s32/min.u32/max.s32/max.u32/min.s64/max.u64/add.s64> [@.shared::cluster], [@.shared], %b32, [@.shared::cluster]",
    ),
    turn(
        "cp.reduce.async.bulk.global.shared::cta.bulk_group</.L2::cache_hint~, %b64>.<add/min/max>.<s32/u32/s64/u64> [@.global], [@.shared], %b32$1'",
    ),
    turn(
        "cp.reduce.async.bulk.global.shared::cta.bulk_group</.L2::cache_hint~, %b64>.<and/or/xor>.<b32/b64> [@.global], [@.shared], %b32$1'",
    ),
    turn(
        "cp.reduce.async.bulk.global.shared::cta.bulk_group</.L2::cache_hint~, %b64>.<inc/dec>.u32 [@.global], [@.shared], %b32$1'",
    ),
    turn(
        "cp.reduce.async.bulk.global.shared::cta.bulk_group</.L2::cache_hint~, %b64>.add.<f32/f64/noftz.f16/noftz.bf16> [@.global], [@.shared], %b32$1'",
    ),
    turn(
        "cp.reduce.async.bulk.global.shared::cta.bulk_group</.L2::cache_hint~, %b64>.<min/max>.<f16/bf16> [@.global], [@.shared], %b32$1'",
    ),
];

pub const TENSOR: Family = Family::rows("tensor", TENSOR_ROWS);

const TENSOR_ROWS: &[Row] = &[
    turn(
        "cp.async.bulk.tensor.<1d~1/2d~2/3d~3/4d~4/5d~5>.<shared::cluster/shared::cta>.global</.tile>.mbarrier::complete_tx::bytes</.L2::cache_hint~, %b64> [@.$2], [%b64, %b32*$1'], [@.shared]$4'",
    ),
    turn(
        "cp.async.bulk.tensor.<1d~1/2d~2/3d~3/4d~4/5d~5>.shared::cluster.global</.tile>.mbarrier::complete_tx::bytes.multicast::cluster</.L2::cache_hint~, %b64> [@.shared::cluster], [%b64, %b32*$1'], [@.shared], %b16$3'",
    ),
    turn(
        "cp.async.bulk.tensor.<3d~3/4d~4/5d~5>.shared::cluster.global.<im2col~1/im2col~2/im2col~3>.mbarrier::complete_tx::bytes</.L2::cache_hint~, %b64> [@.shared::cluster], [%b64, %b32*$1'], [@.shared], %b16*$2'$3'",
    ),
    turn(
        "cp.async.bulk.tensor.<3d~3/4d~4/5d~5>.shared::cta.global.<im2col~1/im2col~2/im2col~3>.mbarrier::complete_tx::bytes</.L2::cache_hint~, %b64> [@.shared], [%b64, %b32*$1'], [@.shared], %b16*$2'$3'",
    ),
    turn(
        "cp.async.bulk.tensor.<3d~3/4d~4/5d~5>.shared::cluster.global.<im2col~1/im2col~2/im2col~3>.mbarrier::complete_tx::bytes.multicast::cluster</.L2::cache_hint~, %b64> [@.shared::cluster], [%b64, %b32*$1'], [@.shared], %b16*$2', %b16$3'",
    ),
    turn(
        "cp.async.bulk.tensor.<3d~3/4d~4/5d~5>.<shared::cluster/shared::cta>.global.<im2col::w/im2col::w::128>.mbarrier::complete_tx::bytes</.multicast::cluster~, %b16></.cta_group::1/.cta_group::2></.L2::cache_hint~, %b64> [@.$2], [%b64, %b32*$1'], [@.shared], {%b16, %b16}$4'$6'",
    ),
    turn(
        "cp.async.bulk.tensor.2d.<shared::cluster/shared::cta>.global.tile::gather4.mbarrier::complete_tx::bytes</.multicast::cluster~, %b16></.cta_group::1/.cta_group::2></.L2::cache_hint~, %b64> [@.$1], [%b64, %b32*5], [@.shared]$2'$4'",
    ),
    turn(
        "cp.async.bulk.tensor.<3d~3/4d~4/5d~5>.shared::cluster.global.<im2col~1/im2col~2/im2col~3>.mbarrier::complete_tx::bytes</.multicast::cluster~, %b16>.cta_group::<1/2> [@.shared::cluster], [%b64, %b32*$1'], [@.shared], %b16*$2'$3'",
    ),
    turn(
        "cp.async.bulk.tensor.<1d~1/2d~2/3d~3/4d~4/5d~5>.shared::cluster.global<.tile/>.mbarrier::complete_tx::bytes</.multicast::cluster~, %b16>.cta_group::<1/2></.L2::cache_hint~, %b64> [@.shared::cluster], [%b64, %b32*$1'], [@.shared]$3'$5'",
    ),
    turn(
        "cp.async.bulk.tensor.<1d~1/2d~2/3d~3/4d~4/5d~5>.global.shared::cta</.tile>.bulk_group</.L2::cache_hint~, %b64> [%b64, %b32*$1'], [@.shared]$3'",
    ),
    turn(
        "cp.async.bulk.tensor.<3d~3/4d~4/5d~5>.global.shared::cta.im2col_no_offs.bulk_group</.L2::cache_hint~, %b64> [%b64, %b32*$1'], [@.shared]$2'",
    ),
    turn(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group</.L2::cache_hint~, %b64> [%b64, %b32*5], [@.shared]$1'",
    ),
    turn(
        "cp.reduce.async.bulk.tensor.<1d~1/2d~2/3d~3/4d~4/5d~5>.global.shared::cta.<add/min/max/inc/dec/and/or/xor></.tile>.bulk_group</.L2::cache_hint~, %b64> [%b64, %b32*$1'], [@.shared]$4'",
    ),
    turn(
        "cp.reduce.async.bulk.tensor.<3d~3/4d~4/5d~5>.global.shared::cta.<add/min/max/inc/dec/and/or/xor>.im2col_no_offs.bulk_group</.L2::cache_hint~, %b64> [%b64, %b32*$1'], [@.shared]$3'",
    ),
    turn(
        "cp.async.bulk.prefetch.tensor.<1d~1/2d~2/3d~3/4d~4/5d~5>.L2.global</.tile></.L2::cache_hint~, %b64> [%b64, %b32*$1']$3'",
    ),
    turn(
        "cp.async.bulk.prefetch.tensor.<3d~3/4d~4/5d~5>.L2.global.<im2col~1/im2col~2/im2col~3></.L2::cache_hint~, %b64> [%b64, %b32*$1'], %b16*$2'$3'",
    ),
    turn(
        "cp.async.bulk.prefetch.tensor.<3d~3/4d~4/5d~5>.L2.global.<im2col::w/im2col::w::128></.L2::cache_hint~, %b64> [%b64, %b32*$1'], {%b16, %b16}$3'",
    ),
    turn(
        "cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4</.L2::cache_hint~, %b64> [%b64, %b32*5]$1'",
    ),
];

pub const TENSOR_MAP: Family = Family::rows("tensor_map", TENSOR_MAP_ROWS);

const TENSOR_MAP_ROWS: &[Row] = &[
    turn("tensormap.replace.tile.global_address</.global/.shared::cta>.b1024.b64 [@$1], %b64"),
    turn("tensormap.replace.tile.rank</.global/.shared::cta>.b1024.b32 [@$1], %b32"),
    turn(
        "tensormap.replace.tile.<box_dim/global_dim/element_stride></.global/.shared::cta>.b1024.b32 [@$2], <0/1/2/3/4>, %b32",
    ),
    turn(
        "tensormap.replace.tile.global_stride</.global/.shared::cta>.b1024.b64 [@$1], <0/1/2/3>, %b64",
    ),
    turn(
        "tensormap.replace.tile.elemtype</.global/.shared::cta>.b1024.b32 [@$1], <0/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15>",
    ),
    turn(
        "tensormap.replace.tile.interleave_layout</.global/.shared::cta>.b1024.b32 [@$1], <0/1/2>",
    ),
    turn("tensormap.replace.tile.swizzle_mode</.global/.shared::cta>.b1024.b32 [@$1], <0/1/2/3/4>"),
    turn(
        "tensormap.replace.tile.swizzle_atomicity</.global/.shared::cta>.b1024.b32 [@$1], <0/1/2/3>",
    ),
    turn("tensormap.replace.tile.fill_mode</.global/.shared::cta>.b1024.b32 [@$1], <0/1>"),
    turn(
        "tensormap.cp_fenceproxy.global.<shared/shared::cta>.tensormap::generic.release.<cta/cluster/gpu/sys>.sync.aligned [@.global], [@.shared], 128",
    ),
];
