//! Tensor memory and its matrix multiplication (sm_100a and its kin).

use crate::generate::{Family, Row, turn};

pub const TCGEN05: Family = Family::rows("tcgen05", ROWS);

const ROWS: &[Row] = &[
    turn(
        "tcgen05.alloc.cta_group::<1/2>.sync.aligned</.shared::cta>.b32 [@.shared], <%b32/32/512>",
    ),
    turn("tcgen05.dealloc.cta_group::<1/2>.sync.aligned.b32 %b32, <%b32/32/512>"),
    turn("tcgen05.relinquish_alloc_permit.cta_group::<1/2>.sync.aligned"),
    turn(
        "tcgen05.ld.sync.aligned.<16x64b/32x32b>.<x1~1/x2~2/x4~4/x8~8/x16~16/x32~32/x64~64/x128~128></.pack::16b>.b32 =b32*$2', [%b32]",
    ),
    turn(
        "tcgen05.ld.sync.aligned.16x128b.<x1~2/x2~4/x4~8/x8~16/x16~32/x32~64/x64~128></.pack::16b>.b32 =b32*$1', [%b32]",
    ),
    turn(
        "tcgen05.ld.sync.aligned.16x256b.<x1~4/x2~8/x4~16/x8~32/x16~64/x32~128></.pack::16b>.b32 =b32*$1', [%b32]",
    ),
    turn(
        "tcgen05.ld.sync.aligned.16x32bx2.<x1~1/x2~2/x4~4/x8~8/x16~16/x32~32/x64~64/x128~128></.pack::16b>.b32 =b32*$1', [%b32], <0/16>",
    ),
    turn(
        "tcgen05.ld.red.sync.aligned.32x32b.<x2~2/x4~4/x32~32>.<min/max></.abs></.NaN>.f32 =f32*$1', =f32, [%b32]",
    ),
    turn(
        "tcgen05.ld.red.sync.aligned.32x32b.<x2~2/x4~4>.<min/max>.<u32/s32> =b32*$1', =b32, [%b32]",
    ),
    turn(
        "tcgen05.st.sync.aligned.<16x64b/32x32b>.<x1~1/x2~2/x4~4/x8~8/x16~16/x32~32/x64~64/x128~128></.unpack::16b>.b32 [%b32], %b32*$2'",
    ),
    turn(
        "tcgen05.st.sync.aligned.16x128b.<x1~2/x2~4/x4~8/x8~16/x16~32/x32~64/x64~128></.unpack::16b>.b32 [%b32], %b32*$1'",
    ),
    turn(
        "tcgen05.st.sync.aligned.16x256b.<x1~4/x2~8/x4~16/x8~32/x16~64/x32~128></.unpack::16b>.b32 [%b32], %b32*$1'",
    ),
    turn(
        "tcgen05.st.sync.aligned.16x32bx2.<x1~1/x2~2/x4~4/x8~8></.unpack::16b>.b32 [%b32], 0, %b32*$1'",
    ),
    turn("tcgen05.wait::<ld/st>.sync.aligned"),
    turn(
        "tcgen05.cp.cta_group::<1/2>.<128x256b/4x256b/128x128b/64x128b.warpx2::02_13/64x128b.warpx2::01_23/32x128b.warpx4></.b8x16.b6x16_p32/.b8x16.b4x16_p64> [%b32], %b64",
    ),
    turn("tcgen05.shift.cta_group::<1/2>.down [%b32]"),
    turn("tcgen05.fence::<before_thread_sync/after_thread_sync>"),
    turn(
        "tcgen05.commit.cta_group::<1/2>.mbarrier::arrive::one</.shared::cluster></.multicast::cluster~, %b16>.b64 [@.shared]$3'",
    ),
    turn(
        "tcgen05.mma.cta_group::<1~4/2~8>.kind::<f16/tf32/f8f6f4/i8> [%b32], <%b64/[%b32]>, %b64, %b32</, %b32*$1'>, %pred",
    ),
    turn(
        "tcgen05.mma.cta_group::<1~4/2~8>.kind::<f16/tf32> [%b32], <%b64/[%b32]>, %b64, %b32, %b32*$1', %pred, <0/7/15>",
    ),
    turn(
        "tcgen05.mma.cta_group::<1/2>.kind::<f16/tf32/f8f6f4/i8>.collector::a::<fill/use/lastuse/discard> [%b32], <%b64/[%b32]>, %b64, %b32, %pred",
    ),
    turn(
        "tcgen05.mma.cta_group::<1/2>.kind::<f16/tf32/f8f6f4/i8>.ashift.collector::a::<lastuse/discard> [%b32], [%b32], %b64, %b32, %pred",
    ),
    turn(
        "tcgen05.mma.sp.cta_group::<1/2>.kind::<f16/tf32/f8f6f4/i8></.collector::a::fill/.collector::a::discard> [%b32], <%b64/[%b32]>, %b64, [%b32], %b32, %pred",
    ),
    turn(
        "tcgen05.mma.cta_group::<1/2>.kind::<mxf8f6f4.block_scale/mxf8f6f4.block_scale.scale_vec::1X/mxf8f6f4.block_scale.block32/mxf4.block_scale/mxf4.block_scale.scale_vec::2X/mxf4.block_scale.block32/mxf4nvf4.block_scale.scale_vec::2X/mxf4nvf4.block_scale.scale_vec::4X/mxf4nvf4.block_scale.block16/mxf4nvf4.block_scale.block32></.collector::a::lastuse> [%b32], <%b64/[%b32]>, %b64, %b32, [%b32], [%b32], %pred",
    ),
    turn(
        "tcgen05.mma.sp.cta_group::<1/2>.kind::<mxf8f6f4.block_scale/mxf8f6f4.block_scale.scale_vec::1X/mxf8f6f4.block_scale.block32/mxf4.block_scale/mxf4.block_scale.block32/mxf4.block_scale.scale_vec::2X/mxf4nvf4.block_scale.scale_vec::2X/mxf4nvf4.block_scale.scale_vec::4X/mxf4nvf4.block_scale.block16/mxf4nvf4.block_scale.block32> [%b32], <%b64/[%b32]>, %b64, [%b32], %b32, [%b32], [%b32], %pred",
    ),
    turn(
        "tcgen05.mma.ws.cta_group::1.kind::<f16/tf32/f8f6f4/i8></.collector::b0::fill/.collector::b1::use/.collector::b2::lastuse/.collector::b3::lastuse/.collector::b3::discard> [%b32], <%b64/[%b32]>, %b64, %b32, %pred</, %b64>",
    ),
    turn(
        "tcgen05.mma.ws.sp.cta_group::1.kind::<f16/tf32/f8f6f4/i8></.collector::b0::fill/.collector::b3::lastuse> [%b32], <%b64/[%b32]>, %b64, [%b32], %b32, %pred</, %b64>",
    ),
];
