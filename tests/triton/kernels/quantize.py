"""Quantization, and products of quantized matrices."""
import triton
import triton.language as tl

from registry import case


@triton.jit
def quantize_rows(x, q, scales, stride, cols, LARGEST: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + at, at < cols, other=0.0).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(v), 0), 1e-10) / LARGEST
    y = v / scale
    if q.dtype.element_ty == tl.int8:
        y = tl.floor(y + 0.5)
    tl.store(q + row * cols + at, y.to(q.dtype.element_ty), at < cols)
    tl.store(scales + row, scale)


case("quantize_rows_i8", quantize_rows, "x:*fp16 q:*i8 scales:*fp32 stride:i32%16 cols:i32%16", LARGEST=127.0, BLOCK=2048)
case("quantize_rows_fp8", quantize_rows, "x:*bf16 q:*fp8e4nv scales:*fp32 stride:i32%16 cols:i32%16", LARGEST=448.0, BLOCK=4096, warps=8)


@triton.jit
def quantize_blocks(x, q, scales, n, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    """A power of two as the scale of each group."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.reshape(tl.load(x + at, at < n, other=0.0).to(tl.float32), (BLOCK // GROUP, GROUP))
    top = tl.max(tl.abs(v), 1)
    exponent = tl.maximum(((top.to(tl.uint32, bitcast=True) >> 23) & 0xff).to(tl.int32) - 134, -126)
    scale = ((127 - exponent) << 23).to(tl.float32, bitcast=True)
    y = tl.reshape(v * scale[:, None], (BLOCK,))
    tl.store(q + at, y.to(q.dtype.element_ty), at < n)
    tl.store(scales + tl.program_id(0) * (BLOCK // GROUP) + tl.arange(0, BLOCK // GROUP), (exponent + 127).to(tl.uint8))


case("quantize_blocks_fp8", quantize_blocks, "x:*bf16 q:*fp8e4nv scales:*u8 n:i32", GROUP=32, BLOCK=2048)


@triton.jit
def pack_int4(x, q, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    low = tl.load(x + 2 * at, at < n, other=0).to(tl.uint8) & 0xf
    high = tl.load(x + 2 * at + 1, at < n, other=0).to(tl.uint8) & 0xf
    tl.store(q + at, low | (high << 4), at < n)


case("pack_int4", pack_int4, "x:*i8 q:*u8 n:i32", BLOCK=1024)


@triton.jit
def matmul_int4(a, b, scales, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    """Weights of four bits, two in a byte along k, with a scale for each group of k."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    half = tl.arange(0, BK // 2)
    acc = tl.zeros([BM, BN], tl.float32)
    for start in range(0, k, BK):
        x = tl.load(a + rm[:, None] * k + (start + rk)[None, :], rm[:, None] < m, other=0.0)
        w = tl.load(b + (start // 2 + half)[None, :] * n + rn[:, None])
        low = ((w & 0xf).to(tl.int8) - 8).to(tl.float16)
        high = ((w >> 4).to(tl.int8) - 8).to(tl.float16)
        y = tl.reshape(tl.join(low, high), (BN, BK))
        s = tl.load(scales + start // GROUP * n + rn)
        acc = tl.dot(x, tl.trans(y * s[:, None]), acc)
    tl.store(c + rm[:, None] * n + rn[None, :], acc.to(c.dtype.element_ty), rm[:, None] < m)


case("matmul_int4", matmul_int4, "a:*fp16 b:*u8 scales:*fp16 c:*fp16 m:i32 n:i32%16 k:i32%16", BM=64, BN=64, BK=64, GROUP=128)


@triton.jit
def matmul_mixed(a, b, scale, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """8-bit integer weights, made 16-bit floats on the way."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    for start in range(0, k, BK):
        x = tl.load(a + rm[:, None] * k + (start + rk)[None, :], rm[:, None] < m, other=0.0)
        y = tl.load(b + (start + rk)[:, None] * n + rn[None, :], rn[None, :] < n, other=0)
        acc = tl.dot(x, y.to(x.dtype), acc)
    acc *= tl.load(scale + rn, rn < n)[None, :]
    tl.store(c + rm[:, None] * n + rn[None, :], acc.to(c.dtype.element_ty), (rm[:, None] < m) & (rn[None, :] < n))


case("matmul_bf16_i8", matmul_mixed, "a:*bf16 b:*i8 scale:*fp32 c:*bf16 m:i32 n:i32%16 k:i32%16", BM=64, BN=128, BK=64)


@triton.jit
def matmul_scaled_blocks(a, b, sa, sb, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """8-bit floats with a scale for each block of k."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    blocks = k // BK
    acc = tl.zeros([BM, BN], tl.float32)
    for i in range(0, blocks):
        x = tl.load(a + rm[:, None] * k + (i * BK + rk)[None, :], rm[:, None] < m, other=0.0)
        y = tl.load(b + rn[None, :] * k + (i * BK + rk)[:, None])
        p = tl.load(sa + rm * blocks + i, rm < m, other=0.0)
        q = tl.load(sb + tl.program_id(1) * blocks + i)
        acc += tl.dot(x, y) * (p * q)[:, None]
    tl.store(c + rm[:, None] * n + rn[None, :], acc.to(c.dtype.element_ty), rm[:, None] < m)


case("matmul_fp8_blocks", matmul_scaled_blocks, "a:*fp8e4nv b:*fp8e4nv sa:*fp32 sb:*fp32 c:*bf16 m:i32 n:i32%16 k:i32%16", stages=4,
     BM=64, BN=128, BK=128)


@triton.jit
def matmul_microscaled(a, b, sa, sb, c, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, A: tl.constexpr, B: tl.constexpr):
    """Groups of 32 numbers share a power of two."""
    pack_a: tl.constexpr = 2 if A == "e2m1" else 1
    pack_b: tl.constexpr = 2 if B == "e2m1" else 1
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    ra = tl.arange(0, BK // pack_a)
    rb = tl.arange(0, BK // pack_b)
    rs = tl.arange(0, BK // 32)
    acc = tl.zeros([BM, BN], tl.float32)
    for start in range(0, k, BK):
        x = tl.load(a + rm[:, None] * (k // pack_a) + (start // pack_a + ra)[None, :])
        y = tl.load(b + rn[None, :] * (k // pack_b) + (start // pack_b + rb)[:, None])
        p = tl.load(sa + rm[:, None] * (k // 32) + (start // 32 + rs)[None, :])
        q = tl.load(sb + rn[:, None] * (k // 32) + (start // 32 + rs)[None, :])
        acc = tl.dot_scaled(x, p, A, y, q, B, acc)
    tl.store(c + rm[:, None] * (tl.num_programs(1) * BN) + rn[None, :], acc)


case("matmul_mxfp8", matmul_microscaled, "a:*fp8e4nv b:*fp8e4nv sa:*u8 sb:*u8 c:*fp32 k:i32%16", stages=2, BM=64, BN=64, BK=128,
     A="e4m3", B="e4m3")
case("matmul_mxfp4", matmul_microscaled, "a:*fp8e5 b:*u8 sa:*u8 sb:*u8 c:*fp32 k:i32%16", stages=2, BM=64, BN=64, BK=128, A="e5m2", B="e2m1")
