//! Moves, addresses and special registers.

use crate::generate::{Family, Row, each, turn};

pub const MOVE: Family = Family::rows("move", MOVE_ROWS);

const MOVE_ROWS: &[Row] = &[
    each("mov.<b16/b32/b64/u16/u32/u64/s16/s32/s64/f32/f64/pred/b128> =$1, %$1"),
    turn("mov.<u32/u64> =$1, <sh/cb/gl/lo/tx/sa/su/sh+16/gl+64/cb+32>"),
    turn("mov.u64 =u64, <a/x>"),
    turn("mov.<s32/u32/b32> =$1, <0/1/-1/0x12345678/0x80000000>"),
    turn("mov.b64 =b64, <0/1/-1/0x123456789abcdef0/0x100000000>"),
    turn("mov.f32 =f32, <0f00000000/0f3f800000/1.5>"),
    turn("mov.f64 =f64, <0d0000000000000000/0d3ff0000000000000/1.1>"),
    each("mov.b32 =b32, {%b16, %b16}"),
    each("mov.b32 {=b16, =b16}, %b32"),
    each("mov.b32 {_, =b16}, %b32"),
    each("mov.b64 =b64, {%b32, %b32}"),
    each("mov.b64 {=b32, =b32}, %b64"),
    each("mov.b64 =b64, {%b16, %b16, %b16, %b16}"),
    each("mov.b64 {=b16, =b16, =b16, =b16}, %b64"),
    each("mov.b128 =b128, {%b64, %b64}"),
    each("mov.b128 {=b64, =b64}, %b128"),
    turn("mov.b32 =b32, {%u8, %u8, %u8, %u8}"),
    turn(
        "cvta.<global/shared/shared::cta/shared::cluster/local/const/param/param::entry>.u64 =u64, %u64",
    ),
    turn(
        "cvta.to.<global/shared/shared::cta/shared::cluster/local/const/param/param::entry>.u64 =u64, %u64",
    ),
    turn(
        "cvta.<global.u64~gl/shared.u64~sh/shared::cta.u64~sh/local.u64~lo/const.u64~cb/param.u64~a> =u64, $1'",
    ),
    each(
        "isspacep.<global/shared/shared::cta/shared::cluster/local/const/param/param::entry> =pred, %u64",
    ),
    turn("istypep.<texref/samplerref/surfref> =pred, %u64"),
    each("mapa</.shared::cluster>.<u32/u64> =$2, <%$2/sh>, %b32"),
    each("getctarank</.shared::cluster>.<u32/u64> =b32, <%$2/sh>"),
];

pub const SPECIAL: Family = Family::rows("special", SPECIAL_ROWS);

const SPECIAL_ROWS: &[Row] = &[
    turn(
        "mov.u32 =u32, <%tid.x/%tid.y/%tid.z/%ntid.x/%ntid.y/%ntid.z/%ctaid.x/%ctaid.y/%ctaid.z/%nctaid.x/%nctaid.y/%nctaid.z>",
    ),
    turn(
        "mov.u32 =u32, <%laneid/%warpid/%nwarpid/%smid/%nsmid/%clock/%clock_hi/%globaltimer_lo/%globaltimer_hi>",
    ),
    turn("mov.u64 =u64, <%gridid/%clock64/%globaltimer/%current_graph_exec>"),
    turn("mov.u32 =u32, <%lanemask_eq/%lanemask_le/%lanemask_lt/%lanemask_ge/%lanemask_gt>"),
    turn(
        "mov.u32 =u32, <%clusterid.x/%clusterid.y/%clusterid.z/%nclusterid.x/%nclusterid.y/%nclusterid.z>",
    ),
    turn(
        "mov.u32 =u32, <%cluster_ctaid.x/%cluster_ctaid.y/%cluster_ctaid.z/%cluster_nctaid.x/%cluster_nctaid.y/%cluster_nctaid.z>",
    ),
    turn(
        "mov.u32 =u32, <%cluster_ctarank/%cluster_nctarank/%total_smem_size/%dynamic_smem_size/%aggr_smem_size/%reserved_smem_offset_begin/%reserved_smem_offset_end/%reserved_smem_offset_cap/%reserved_smem_offset_0/%reserved_smem_offset_1>",
    ),
    turn("mov.pred =pred, %is_explicit_cluster"),
    turn("mov.u32 =u32, <%pm0/%pm1/%pm2/%pm3/%pm4/%pm5/%pm6/%pm7>"),
    turn("mov.u64 =u64, <%pm0_64/%pm1_64/%pm2_64/%pm3_64/%pm4_64/%pm5_64/%pm6_64/%pm7_64>"),
    turn("mov.b32 =b32, <%envreg0/%envreg1/%envreg2/%envreg7/%envreg15/%envreg30/%envreg31>"),
    turn(
        "mov.v4.u32 =u32*4, <%tid/%ntid/%ctaid/%nctaid/%clusterid/%nclusterid/%cluster_ctaid/%cluster_nctaid>",
    ),
    turn("mov.u16 =u16, <%tid.x/%ntid.x/%ctaid.x>"),
    turn("cvt.<u64/u16/f32>.u32 =b64, <%tid.x/%ctaid.x/%laneid/%warpid>"),
];
