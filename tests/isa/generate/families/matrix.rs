//! Matrix multiplication by one warp, and what moves its fragments.

use crate::generate::{Family, Row, each, few, turn};

pub const MMA: Family = Family::rows("mma", MMA_ROWS);

const MMA_ROWS: &[Row] = &[
    turn(
        "mma.sync.aligned.m8n8k4.<row/col>.<row/col>.<f16~b32*4/f32~f32*8>.f16.f16.<f16~b32*4/f32~f32*8> =$3', %b32*2, %b32*2, %$4'",
    ),
    turn(
        "mma.sync.aligned.m16n8k8.row.col.<f16~b32*2/f32~f32*4>.f16.f16.<f16~b32*2/f32~f32*4> =$1', %b32*2, {%b32}, %$2'",
    ),
    each(
        "mma.sync.aligned.m16n8k16.row.col.<f16~b32*2/f32~f32*4>.f16.f16.$1 =$1', %b32*4, %b32*2, %$1'",
    ),
    turn(
        "mma.sync.aligned.m16n8k16.row.col.<f16~b32*2/f32~f32*4>.f16.f16.<f16~b32*2/f32~f32*4> =$1', %b32*4, %b32*2, %$2'",
    ),
    turn("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 =f32*4, %b32*2, {%b32}, %f32*4"),
    turn("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 =f32*4, %b32*4, %b32*2, %f32*4"),
    turn("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 =f32*4, %b32*2, {%b32}, %f32*4"),
    each("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 =f32*4, %b32*4, %b32*2, %f32*4"),
    turn(
        "mma.sync.aligned.m8n8k4.row.col</.rn/.rz/.rm/.rp>.f64.f64.f64.f64 =f64*2, {%f64}, {%f64}, %f64*2",
    ),
    turn(
        "mma.sync.aligned.m16n8k4.row.col</.rn/.rz/.rm/.rp>.f64.f64.f64.f64 =f64*4, %f64*2, {%f64}, %f64*4",
    ),
    turn(
        "mma.sync.aligned.m16n8k8.row.col</.rn/.rz/.rm/.rp>.f64.f64.f64.f64 =f64*4, %f64*4, %f64*2, %f64*4",
    ),
    turn(
        "mma.sync.aligned.m16n8k16.row.col</.rn/.rz/.rm/.rp>.f64.f64.f64.f64 =f64*4, %f64*8, %f64*4, %f64*4",
    ),
    turn(
        "mma.sync.aligned.m8n8k16.row.col</.satfinite>.s32.<u8/s8>.<u8/s8>.s32 =s32*2, {%b32}, {%b32}, %s32*2",
    ),
    turn(
        "mma.sync.aligned.m16n8k16.row.col</.satfinite>.s32.<u8/s8>.<u8/s8>.s32 =s32*4, %b32*2, {%b32}, %s32*4",
    ),
    turn(
        "mma.sync.aligned.m16n8k32.row.col</.satfinite>.s32.<u8/s8>.<u8/s8>.s32 =s32*4, %b32*4, %b32*2, %s32*4",
    ),
    turn(
        "mma.sync.aligned.m8n8k32.row.col</.satfinite>.s32.<u4/s4>.<u4/s4>.s32 =s32*2, {%b32}, {%b32}, %s32*2",
    ),
    turn(
        "mma.sync.aligned.m16n8k32.row.col</.satfinite>.s32.<u4/s4>.<u4/s4>.s32 =s32*4, %b32*2, {%b32}, %s32*4",
    ),
    turn(
        "mma.sync.aligned.m16n8k64.row.col</.satfinite>.s32.<u4/s4>.<u4/s4>.s32 =s32*4, %b32*4, %b32*2, %s32*4",
    ),
    turn(
        "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.<xor/and>.popc =s32*2, {%b32}, {%b32}, %s32*2",
    ),
    turn(
        "mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.<xor/and>.popc =s32*4, %b32*2, {%b32}, %s32*4",
    ),
    turn(
        "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.<xor/and>.popc =s32*4, %b32*4, %b32*2, %s32*4",
    ),
    turn(
        "mma.sync.aligned</.kind::f8f6f4>.m16n8k16.row.col.<f16~b32*2/f32~f32*4>.<e4m3/e5m2>.<e4m3/e5m2>.$2 =$2', %b32*2, {%b32}, %$2'",
    ),
    turn(
        "mma.sync.aligned.m16n8k32.row.col.<f16~b32*2/f32~f32*4>.<e4m3/e5m2>.<e4m3/e5m2>.$1 =$1', %b32*4, %b32*2, %$1'",
    ),
    turn(
        "mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.<f16~b32*2/f32~f32*4>.<e4m3/e5m2/e3m2/e2m3/e2m1>.<e4m3/e5m2/e3m2/e2m3/e2m1>.$1 =$1', %b32*4, %b32*2, %$1'",
    ),
];

pub const SPARSE: Family = Family::rows("mma_sparse", SPARSE_ROWS);

const SPARSE_ROWS: &[Row] = &[
    turn(
        "mma.sp</::ordered_metadata>.sync.aligned.m16n8k16.row.col.<f16~b32*2/f32~f32*4>.f16.f16.<f16~b32*2/f32~f32*4> =$2', %b32*2, %b32*2, %$3', %b32, <0/1/2/3>",
    ),
    turn(
        "mma.sp</::ordered_metadata>.sync.aligned.m16n8k32.row.col.<f16~b32*2/f32~f32*4>.f16.f16.<f16~b32*2/f32~f32*4> =$2', %b32*4, %b32*4, %$3', %b32, <0/1>",
    ),
    turn(
        "mma.sp</::ordered_metadata>.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 =f32*4, %b32*2, %b32*2, %f32*4, %b32, <0/1/2/3>",
    ),
    turn(
        "mma.sp</::ordered_metadata>.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32 =f32*4, %b32*4, %b32*4, %f32*4, %b32, <0/1>",
    ),
    turn(
        "mma.sp</::ordered_metadata>.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 =f32*4, %b32*2, %b32*2, %f32*4, %b32, <0/1/2/3>",
    ),
    turn(
        "mma.sp</::ordered_metadata>.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32 =f32*4, %b32*4, %b32*4, %f32*4, %b32, <0/1>",
    ),
    turn(
        "mma.sp</::ordered_metadata>.sync.aligned.m16n8k32.row.col</.satfinite>.s32.<u8/s8>.<u8/s8>.s32 =s32*4, %b32*2, %b32*2, %s32*4, %b32, <0/1>",
    ),
    turn(
        "mma.sp</::ordered_metadata>.sync.aligned.m16n8k64.row.col</.satfinite>.s32.<u8/s8>.<u8/s8>.s32 =s32*4, %b32*4, %b32*4, %s32*4, %b32, 0",
    ),
    turn(
        "mma.sp</::ordered_metadata>.sync.aligned.m16n8k64.row.col</.satfinite>.s32.<u4/s4>.<u4/s4>.s32 =s32*4, %b32*2, %b32*2, %s32*4, %b32, <0/1>",
    ),
    turn(
        "mma.sp</::ordered_metadata>.sync.aligned.m16n8k128.row.col</.satfinite>.s32.<u4/s4>.<u4/s4>.s32 =s32*4, %b32*4, %b32*4, %s32*4, %b32, 0",
    ),
    turn(
        "mma.sp</::ordered_metadata>.sync.aligned.m16n8k64.row.col.f32.<e4m3/e5m2>.<e4m3/e5m2>.f32 =f32*4, %b32*4, %b32*4, %f32*4, %b32, 0",
    ),
    turn(
        "mma.sp::ordered_metadata.sync.aligned.kind::f8f6f4.m16n8k64.row.col.<f16~b32*2/f32~f32*4>.<e4m3/e5m2/e3m2/e2m3/e2m1>.<e4m3/e5m2/e3m2/e2m3/e2m1>.$1 =$1', %b32*4, %b32*4, %$1', %b32, 0",
    ),
    turn(
        "mma.sp::ordered_metadata.sync.aligned.kind::mxf4.block_scale</.scale_vec::2X>.m16n8k128.row.col.f32.e2m1.e2m1.f32.ue8m0 =f32*4, %b32*4, %b32*4, %f32*4, %b32, 0, {%b32}, {0, <0/1>}, {%b32}, {0, 0}",
    ),
    turn(
        "mma.sp::ordered_metadata.sync.aligned.kind::mxf4nvf4.block_scale.scale_vec::<2X~ue8m0/4X~ue4m3/4X~ue8m0>.m16n8k128.row.col.f32.e2m1.e2m1.f32.$1' =f32*4, %b32*4, %b32*4, %f32*4, %b32, 0, {%b32}, {0, <0/1>}, {%b32}, {0, 0}",
    ),
    turn(
        "mma.sp::ordered_metadata.sync.aligned.kind::mxf8f6f4.block_scale</.scale_vec::1X>.m16n8k64.row.col.f32.<e4m3/e5m2/e3m2/e2m3/e2m1>.<e4m3/e5m2/e3m2/e2m3/e2m1>.f32.ue8m0 =f32*4, %b32*4, %b32*4, %f32*4, %b32, 0, {%b32}, {0, <0/1>}, {%b32}, {0, 0}",
    ),
];

pub const BLOCK_SCALE: Family = Family::rows("mma_block_scale", BLOCK_SCALE_ROWS);

const BLOCK_SCALE_ROWS: &[Row] = &[
    turn(
        "mma.sync.aligned.kind::mxf4.block_scale</.scale_vec::2X>.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue8m0 =f32*4, %b32*4, %b32*2, %f32*4, {%b32}, {<0/2>, <0/1>}, {%b32}, {<0/2>, <0/3>}",
    ),
    turn(
        "mma.sync.aligned.kind::mxf4nvf4.block_scale.scale_vec::<2X~ue8m0/4X~ue4m3/4X~ue8m0>.m16n8k64.row.col.f32.e2m1.e2m1.f32.$1' =f32*4, %b32*4, %b32*2, %f32*4, {%b32}, {0, <0/1>}, {%b32}, {0, <0/3>}",
    ),
    turn(
        "mma.sync.aligned.kind::mxf8f6f4.block_scale</.scale_vec::1X>.m16n8k32.row.col.f32.<e4m3/e5m2/e3m2/e2m3/e2m1>.<e4m3/e5m2/e3m2/e2m3/e2m1>.f32.ue8m0 =f32*4, %b32*4, %b32*2, %f32*4, {%b32}, {<0/3>, <0/1>}, {%b32}, {<0/1>, <0/3>}",
    ),
];

pub const WMMA: Family = Family::rows("wmma", WMMA_ROWS);

const WMMA_ROWS: &[Row] = &[
    turn(
        "wmma.load.<a/b>.sync.aligned.<row/col>.<m16n16k16/m32n8k16/m8n32k16></.global/.shared/.shared::cta>.f16 =b32*8, [@$4]</, %b32>",
    ),
    turn(
        "wmma.load.<a.sync.aligned.row.m16n16k16~4/a.sync.aligned.col.m16n16k16~4/b.sync.aligned.row.m16n16k16~4/b.sync.aligned.col.m16n16k16~4/a.sync.aligned.row.m32n8k16~8/a.sync.aligned.col.m32n8k16~8/b.sync.aligned.row.m32n8k16~2/b.sync.aligned.col.m32n8k16~2/a.sync.aligned.row.m8n32k16~2/a.sync.aligned.col.m8n32k16~2/b.sync.aligned.row.m8n32k16~8/b.sync.aligned.col.m8n32k16~8></.global/.shared>.bf16 =b32*$1', [@$2]</, %b32>",
    ),
    turn(
        "wmma.load.<a.sync.aligned.row.m16n16k16~b32*2/a.sync.aligned.col.m16n16k16~b32*2/b.sync.aligned.row.m16n16k16~b32*2/b.sync.aligned.col.m16n16k16~b32*2/a.sync.aligned.row.m32n8k16~b32*4/a.sync.aligned.col.m32n8k16~b32*4/b.sync.aligned.row.m32n8k16~b32*1/b.sync.aligned.col.m32n8k16~b32*1/a.sync.aligned.row.m8n32k16~b32*1/a.sync.aligned.col.m8n32k16~b32*1/b.sync.aligned.row.m8n32k16~b32*4/b.sync.aligned.col.m8n32k16~b32*4></.global/.shared>.<u8/s8> =$1', [@$2]</, %b32>",
    ),
    turn(
        "wmma.load.<a/b>.sync.aligned.<row/col>.m16n16k8</.global/.shared>.tf32 =b32*4, [@$3]</, %b32>",
    ),
    turn(
        "wmma.load.<a/b>.sync.aligned.<row/col>.m8n8k4</.global/.shared>.f64 =f64*1, [@$3]</, %b32>",
    ),
    turn(
        "wmma.load.<a.sync.aligned.row/b.sync.aligned.col>.m8n8k32</.global/.shared>.<u4/s4> =b32*1, [@$2]</, %b32>",
    ),
    turn(
        "wmma.load.<a.sync.aligned.row/b.sync.aligned.col>.m8n8k128</.global/.shared>.b1 =b32*1, [@$2]</, %b32>",
    ),
    turn(
        "wmma.load.c.sync.aligned.<row/col>.<m16n16k16/m32n8k16/m8n32k16></.global/.shared>.<f16~b32*4/f32~f32*8/s32~s32*8> =$4', [@$3]</, %b32>",
    ),
    turn(
        "wmma.load.c.sync.aligned.<row/col>.m16n16k8</.global/.shared>.f32 =f32*8, [@$2]</, %b32>",
    ),
    turn("wmma.load.c.sync.aligned.<row/col>.m8n8k4</.global/.shared>.f64 =f64*2, [@$2]</, %b32>"),
    turn(
        "wmma.load.c.sync.aligned.<row/col>.<m8n8k32/m8n8k128></.global/.shared>.s32 =s32*2, [@$3]</, %b32>",
    ),
    turn(
        "wmma.store.d.sync.aligned.<row/col>.<m16n16k16/m32n8k16/m8n32k16></.global/.shared>.<f16~b32*4/f32~f32*8/s32~s32*8> [@$3], %$4'</, %b32>",
    ),
    turn(
        "wmma.store.d.sync.aligned.<row/col>.m16n16k8</.global/.shared>.f32 [@$2], %f32*8</, %b32>",
    ),
    turn("wmma.store.d.sync.aligned.<row/col>.m8n8k4</.global/.shared>.f64 [@$2], %f64*2</, %b32>"),
    turn(
        "wmma.store.d.sync.aligned.<row/col>.<m8n8k32/m8n8k128></.global/.shared>.s32 [@$3], %s32*2</, %b32>",
    ),
    turn(
        "wmma.mma.sync.aligned.<row/col>.<row/col>.<m16n16k16/m32n8k16/m8n32k16>.<f16~b32*4/f32~f32*8>.<f16~b32*4/f32~f32*8></.satfinite> =$4', %b32*8, %b32*8, %$5'",
    ),
    turn(
        "wmma.mma.sync.aligned.<row/col>.<row/col>.<m16n16k16~%b32*4, %b32*4/m32n8k16~%b32*8, %b32*2/m8n32k16~%b32*2, %b32*8>.f32.bf16.bf16.f32 =f32*8, $3', %f32*8",
    ),
    turn(
        "wmma.mma.sync.aligned.<row/col>.<row/col>.m16n16k8.f32.tf32.tf32.f32 =f32*8, %b32*4, %b32*4, %f32*8",
    ),
    turn(
        "wmma.mma.sync.aligned.<row/col>.<row/col>.m8n8k4</.rn/.rz/.rm/.rp>.f64.f64.f64.f64 =f64*2, %f64*1, %f64*1, %f64*2",
    ),
    turn(
        "wmma.mma.sync.aligned.<row/col>.<row/col>.<m16n16k16~%b32*2, %b32*2/m32n8k16~%b32*4, %b32*1/m8n32k16~%b32*1, %b32*4>.s32.<u8/s8>.$4.s32</.satfinite> =s32*8, $3', %s32*8",
    ),
    turn(
        "wmma.mma.sync.aligned.row.col.m8n8k32.s32.<u4/s4>.$1.s32</.satfinite> =s32*2, %b32*1, %b32*1, %s32*2",
    ),
    turn(
        "wmma.mma.<xor/and>.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 =s32*2, %b32*1, %b32*1, %s32*2",
    ),
];

pub const MOVE: Family = Family::rows("matrix_move", MOVE_ROWS);

const MOVE_ROWS: &[Row] = &[
    few(
        "ldmatrix.sync.aligned.m8n8.<x1~1/x2~2/x4~4></.trans></.shared/.shared::cta>.b16 =b32*$1', [@$3]",
    ),
    turn(
        "ldmatrix.sync.aligned.m16n16.<x1~2/x2~4>.trans</.shared/.shared::cta>.<b8/b8x16.b6x16_p32/b8x16.b4x16_p64> =b32*$1', [@$2]",
    ),
    turn(
        "ldmatrix.sync.aligned.m8n16.<x1~1/x2~2/x4~4></.shared/.shared::cta>.<b8x16.b6x16_p32/b8x16.b4x16_p64> =b32*$1', [@$2]",
    ),
    few(
        "stmatrix.sync.aligned.m8n8.<x1~1/x2~2/x4~4></.trans></.shared/.shared::cta>.b16 [@$3], %b32*$1'",
    ),
    turn(
        "stmatrix.sync.aligned.m16n8.<x1~1/x2~2/x4~4>.trans</.shared/.shared::cta>.b8 [@$2], %b32*$1'",
    ),
    each("movmatrix.sync.aligned.m8n8.trans.b16 =b32, %b32"),
];
