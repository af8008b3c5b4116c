//! Matrix multiplication by a warp group (sm_90a).

use crate::generate::{Family, Row, turn};

/// Every size, with the registers of a 32-bit accumulator.
macro_rules! f32_sizes {
    () => {
        "<n8~4/n16~8/n24~12/n32~16/n40~20/n48~24/n56~28/n64~32/n72~36/n80~40/n88~44/n96~48/n104~52/n112~56/n120~60/n128~64/n136~68/n144~72/n152~76/n160~80/n168~84/n176~88/n184~92/n192~96/n200~100/n208~104/n216~108/n224~112/n232~116/n240~120/n248~124/n256~128>"
    };
}

/// Every size, with the registers of a 16-bit accumulator.
macro_rules! f16_sizes {
    () => {
        "<n8~2/n16~4/n24~6/n32~8/n40~10/n48~12/n56~14/n64~16/n72~18/n80~20/n88~22/n96~24/n104~26/n112~28/n120~30/n128~32/n136~34/n144~36/n152~38/n160~40/n168~42/n176~44/n184~46/n192~48/n200~50/n208~52/n216~54/n224~56/n232~58/n240~60/n248~62/n256~64>"
    };
}

/// Every size of products of integers, with the registers of the accumulator.
macro_rules! s32_sizes {
    () => {
        "<n8~4/n16~8/n24~12/n32~16/n48~24/n64~32/n80~40/n96~48/n112~56/n128~64/n144~72/n160~80/n176~88/n192~96/n208~104/n224~112/n240~120/n256~128>"
    };
}

pub const WGMMA: Family = Family::rows("wgmma", ROWS);

const ROWS: &[Row] = &[
    turn(concat!(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64",
        f32_sizes!(),
        "k16.f32.<f16/bf16>.$2 +f32*$1', %b64, %b64, %pred, 1, 1, 0, 0; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0"
    )),
    turn(concat!(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64",
        f16_sizes!(),
        "k16.f16.f16.f16 +b32*$1', %b64, %b64, %pred, 1, 1, 0, <0/1>; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0"
    )),
    turn(concat!(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64",
        f32_sizes!(),
        "k8.f32.tf32.tf32 +f32*$1', %b64, %b64, %pred, 1, <1/-1>; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0"
    )),
    turn(concat!(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64",
        f32_sizes!(),
        "k32.f32.<e4m3/e5m2>.e5m2 +f32*$1', %b64, %b64, %pred, 1, 1; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0"
    )),
    turn(concat!(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64",
        s32_sizes!(),
        "k32</.satfinite>.s32.s8.u8 +s32*$1', %b64, %b64, %pred; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0"
    )),
    turn(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64<n8~4/n32~16>k16.f32.<f16/bf16>.$2 +f32*$1', %b64, %b64, %pred, <1/-1>, <1/-1>, <0/1>, <0/1>; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0",
    ),
    turn(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64<n8~4/n32~16>k16.f32.<f16/bf16>.$2 +f32*$1', %b32*4, %b64, %pred, <1/-1>, <1/-1>, <0/1>; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0",
    ),
    turn(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64<n8~2/n24~6/n64~16/n128~32/n256~64>k16.f16.f16.f16 +b32*$1', %b64, %b64, %pred, <1/-1>, <1/-1>, 0, <0/1>; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0",
    ),
    turn(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64<n8~2/n24~6/n64~16/n128~32/n256~64>k16.f16.f16.f16 +b32*$1', %b32*4, %b64, %pred, <1/-1>, 1, <0/1>; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0",
    ),
    turn(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64<n8~4/n24~12/n64~32/n128~64/n256~128>k8.f32.tf32.tf32 +f32*$1', %b64, %b64, %pred, <1/-1>, <1/-1>; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0",
    ),
    turn(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64<n8~4/n32~16/n128~64>k32.f32.<e4m3/e5m2>.<e4m3/e5m2> +f32*$1', %b64, %b64, %pred, <1/-1>, 1; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0",
    ),
    turn(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64<n8~2/n32~8/n128~32>k32.f16.<e4m3/e5m2>.<e4m3/e5m2> +b32*$1', %b64, %b64, %pred, 1, <1/-1>; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0",
    ),
    turn(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64<n8~4/n32~16/n128~64>k32</.satfinite>.s32.<s8/u8>.<s8/u8> +s32*$1', %b64, %b64, %pred; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0",
    ),
    turn(concat!(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64",
        s32_sizes!(),
        "k256.s32.b1.b1.and.popc +s32*$1', %b64, %b64, %pred; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0"
    )),
    turn(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64<n8~4/n24~12/n64~32/n128~64/n256~128>k8.f32.tf32.tf32 +f32*$1', %b32*4, %b64, %pred, <1/-1>, <1/-1>; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0",
    ),
    turn(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64<n8~4/n32~16/n128~64>k32.f32.<e4m3/e5m2>.<e4m3/e5m2> +f32*$1', %b32*4, %b64, %pred, <1/-1>, 1; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0",
    ),
    turn(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64<n8~2/n32~8/n128~32>k32.f16.<e4m3/e5m2>.<e4m3/e5m2> +b32*$1', %b32*4, %b64, %pred, 1, <1/-1>; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0",
    ),
    turn(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64<n8~4/n32~16/n128~64>k32</.satfinite>.s32.<s8/u8>.<s8/u8> +s32*$1', %b32*4, %b64, %pred; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0",
    ),
    turn(concat!(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64",
        s32_sizes!(),
        "k256.s32.b1.b1.and.popc +s32*$1', %b32*4, %b64, %pred; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0"
    )),
    turn(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 +f32*8, %b64, %b64, <0/1>, 1, 1, 0, 0; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0",
    ),
    turn(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 +f32*4, %b64, %b64, 1, 1, 1, 0, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 +f32*4, %b64, %b64, 1, 1, 1, 0, 0; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned <0/1>",
    ),
    turn(concat!(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64",
        f16_sizes!(),
        "k32.f16.<e4m3/e5m2>.e5m2 +b32*$1', %b64, %b64, %pred, 1, 1; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0"
    )),
    turn("<wgmma.fence/wgmma.commit_group>.sync.aligned"),
    turn("wgmma.wait_group.sync.aligned <0/1/2/3/7>"),
    turn(
        "<{.maxntid 128}/{.maxntid 128 .maxnreg 168}> setmaxnreg.<inc/dec>.sync.aligned.u32 <24/40/104/168/232/240>",
    ),
];

pub const WGMMA_SPARSE: Family = Family::rows("wgmma_sparse", SPARSE_ROWS);

const SPARSE_ROWS: &[Row] = &[
    turn(concat!(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sp.sync.aligned.m64",
        f32_sizes!(),
        "k32.f32.<f16/bf16>.$2 +f32*$1', %b64, %b64, %b32, 0, %pred, 1, 1, 0, 0; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0"
    )),
    turn(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sp.sync.aligned.m64<n8~4/n32~16>k32.f32.<f16/bf16>.$2 +f32*$1', %b64, %b64, %b32, <0/1>, %pred, <1/-1>, <1/-1>, <0/1>, <0/1>; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0",
    ),
    turn(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sp.sync.aligned.m64<n8~4/n32~16>k32.f32.<f16/bf16>.$2 +f32*$1', %b32*4, %b64, %b32, <0/1>, %pred, <1/-1>, <1/-1>, <0/1>; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0",
    ),
    turn(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sp.sync.aligned.m64<n8~2/n24~6/n64~16/n128~32/n256~64>k32.f16.f16.f16 +b32*$1', %b64, %b64, %b32, <0/1>, %pred, <1/-1>, <1/-1>, 0, <0/1>; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0",
    ),
    turn(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sp.sync.aligned.m64<n8~2/n24~6/n64~16/n128~32/n256~64>k32.f16.f16.f16 +b32*$1', %b32*4, %b64, %b32, <0/1>, %pred, <1/-1>, 1, <0/1>; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0",
    ),
    turn(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sp.sync.aligned.m64<n8~4/n24~12/n32~16/n64~32/n128~64/n256~128>k16.f32.tf32.tf32 +f32*$1', %b64, %b64, %b32, <0/1>, %pred, <1/-1>, <1/-1>; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0",
    ),
    turn(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sp.sync.aligned.m64<n8~4/n32~16/n128~64>k64.f32.<e4m3/e5m2>.<e4m3/e5m2> +f32*$1', %b64, %b64, %b32, 0, %pred, <1/-1>, 1; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0",
    ),
    turn(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sp.sync.aligned.m64<n8~2/n32~8/n128~32>k64.f16.<e4m3/e5m2>.<e4m3/e5m2> +b32*$1', %b64, %b64, %b32, 0, %pred, 1, <1/-1>; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0",
    ),
    turn(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sp.sync.aligned.m64<n8~4/n32~16/n128~64>k64</.satfinite>.s32.<s8/u8>.<s8/u8> +s32*$1', %b64, %b64, %b32, 0, %pred; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0",
    ),
    turn(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sp.sync.aligned.m64<n8~4/n24~12/n32~16/n64~32/n128~64/n256~128>k16.f32.tf32.tf32 +f32*$1', %b32*4, %b64, %b32, <0/1>, %pred, <1/-1>, <1/-1>; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0",
    ),
    turn(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sp.sync.aligned.m64<n8~4/n32~16/n128~64>k64.f32.<e4m3/e5m2>.<e4m3/e5m2> +f32*$1', %b32*4, %b64, %b32, 0, %pred, <1/-1>, 1; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0",
    ),
    turn(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sp.sync.aligned.m64<n8~2/n32~8/n128~32>k64.f16.<e4m3/e5m2>.<e4m3/e5m2> +b32*$1', %b32*4, %b64, %b32, 0, %pred, 1, <1/-1>; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0",
    ),
    turn(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sp.sync.aligned.m64<n8~4/n32~16/n128~64>k64</.satfinite>.s32.<s8/u8>.<s8/u8> +s32*$1', %b32*4, %b64, %b32, 0, %pred; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0",
    ),
    turn(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.f16.f16 +f32*8, %b64, %b64, %b32, 0, <0/1>, 1, 1, 0, 0; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0",
    ),
    turn(concat!(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sp.sync.aligned.m64",
        f16_sizes!(),
        "k32.f16.f16.f16 +b32*$1', %b64, %b64, %b32, 0, %pred, 1, 1, 0, 0; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0"
    )),
    turn(concat!(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sp.sync.aligned.m64",
        f32_sizes!(),
        "k16.f32.tf32.tf32 +f32*$1', %b64, %b64, %b32, 0, %pred, 1, 1; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0"
    )),
    turn(concat!(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sp.sync.aligned.m64",
        f32_sizes!(),
        "k64.f32.e4m3.e5m2 +f32*$1', %b64, %b64, %b32, 0, %pred, 1, 1; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0"
    )),
    turn(concat!(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sp.sync.aligned.m64",
        f16_sizes!(),
        "k64.f16.e4m3.e5m2 +b32*$1', %b64, %b64, %b32, 0, %pred, 1, 1; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0"
    )),
    turn(concat!(
        "wgmma.fence.sync.aligned; wgmma.mma_async.sp.sync.aligned.m64",
        s32_sizes!(),
        "k64.s32.s8.u8 +s32*$1', %b64, %b64, %b32, 0, %pred; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0"
    )),
];
