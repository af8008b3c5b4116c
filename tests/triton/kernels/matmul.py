"""Matrix products: tiles by pointers, with one tile a program, grouped for the cache."""
import triton
import triton.language as tl

from registry import case


@triton.jit
def tile(index, m, n, BM: tl.constexpr, BN: tl.constexpr, GROUP: tl.constexpr):
    """Row and column of a program's tile: groups of rows stay together."""
    tm = tl.cdiv(m, BM)
    tn = tl.cdiv(n, BN)
    width = GROUP * tn
    first = index // width * GROUP
    rows = min(tm - first, GROUP)
    return first + index % width % rows, index % width // rows


@triton.jit
def matmul(a, b, c, m, n, k, am, ak, bk, bn, cm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
           ACTIVATION: tl.constexpr, PRECISION: tl.constexpr, KIND: tl.constexpr):
    i, j = tile(tl.program_id(0), m, n, BM, BN, GROUP)
    rm = (i * BM + tl.arange(0, BM)) % m
    rn = (j * BN + tl.arange(0, BN)) % n
    rk = tl.arange(0, BK)
    pa = a + rm[:, None] * am + rk[None, :] * ak
    pb = b + rk[:, None] * bk + rn[None, :] * bn
    kind: tl.constexpr = KIND
    zero: tl.constexpr = 0 if KIND == tl.int32 else 0.0
    acc = tl.zeros([BM, BN], kind)
    for step in range(0, tl.cdiv(k, BK)):
        left = k - step * BK
        x = tl.load(pa, rk[None, :] < left, other=zero)
        y = tl.load(pb, rk[:, None] < left, other=zero)
        acc = tl.dot(x, y, acc, input_precision=PRECISION, out_dtype=kind)
        pa += BK * ak
        pb += BK * bk
    if ACTIVATION == "leaky":
        acc = tl.where(acc >= 0, acc, 0.01 * acc)
    if ACTIVATION == "silu":
        acc = acc * tl.sigmoid(acc)
    om = i * BM + tl.arange(0, BM)
    on = j * BN + tl.arange(0, BN)
    inside = (om[:, None] < m) & (on[None, :] < n)
    tl.store(c + om[:, None] * cm + on[None, :], acc.to(c.dtype.element_ty), inside)


def product(name, kind, out, bm, bn, bk, warps, stages, order="nn", activation="", precision="ieee", aligned=True):
    d = "%16" if aligned else ""
    sizes = f"m:i32 n:i32 k:i32{d}"
    strides = {"nn": f"am:i32{d} bk:i32{d}", "nt": f"am:i32{d} bn:i32{d}", "tn": f"ak:i32{d} bk:i32{d}"}[order]
    ones = {"nn": {"ak": 1, "bn": 1}, "nt": {"ak": 1, "bk": 1}, "tn": {"am": 1, "bn": 1}}[order]
    sums = {"i8": tl.int32, "fp64": tl.float64}.get(kind, tl.float32)
    case(name, matmul, f"a:*{kind} b:*{kind} c:*{out} {sizes} {strides} cm:i32{d}", warps=warps, stages=stages, BM=bm, BN=bn,
         BK=bk, GROUP=8, ACTIVATION=activation, PRECISION=precision, KIND=sums, **ones)


product("matmul_fp16_64x64x32", "fp16", "fp16", 64, 64, 32, 4, 3)
product("matmul_fp16_128x128x64", "fp16", "fp16", 128, 128, 64, 8, 3)
product("matmul_fp16_128x256x64", "fp16", "fp16", 128, 256, 64, 8, 3)
product("matmul_fp16_256x128x64", "fp16", "fp16", 256, 128, 64, 8, 4)
product("matmul_fp16_64x256x32", "fp16", "fp16", 64, 256, 32, 4, 4, activation="leaky")
product("matmul_fp16_128x64x32", "fp16", "fp16", 128, 64, 32, 4, 4)
product("matmul_fp16_16x16x32", "fp16", "fp16", 16, 16, 32, 1, 2)
product("matmul_fp16_32x32x64", "fp16", "fp32", 32, 32, 64, 2, 2)
product("matmul_fp16_16x64x128", "fp16", "fp16", 16, 64, 128, 4, 5)
product("matmul_fp16_nt", "fp16", "fp16", 128, 128, 64, 8, 3, order="nt")
product("matmul_fp16_tn", "fp16", "fp16", 128, 128, 32, 4, 3, order="tn")
product("matmul_fp16_unaligned", "fp16", "fp16", 64, 64, 32, 4, 2, aligned=False)
product("matmul_bf16_128x128x32", "bf16", "bf16", 128, 128, 32, 4, 4)
product("matmul_bf16_128x256x64", "bf16", "bf16", 128, 256, 64, 8, 4, activation="silu")
product("matmul_bf16_32x64x64", "bf16", "fp32", 32, 64, 64, 4, 3)
product("matmul_fp8e4nv_128x128x128", "fp8e4nv", "fp16", 128, 128, 128, 4, 3, order="nt")
product("matmul_fp8e5_128x256x128", "fp8e5", "fp16", 128, 256, 128, 8, 3, order="nt")
product("matmul_fp8e4nv_32x32x32", "fp8e4nv", "fp16", 32, 32, 32, 4, 2, order="nt")
product("matmul_i8_128x128x64", "i8", "i32", 128, 128, 64, 4, 3, order="nt")
product("matmul_i8_64x64x64", "i8", "i32", 64, 64, 64, 4, 3)
product("matmul_fp32_tf32_64x64x32", "fp32", "fp32", 64, 64, 32, 4, 3, precision="tf32")
product("matmul_fp32_tf32_128x128x32", "fp32", "fp32", 128, 128, 32, 8, 3, precision="tf32")
product("matmul_fp32_tf32x3_64x64x32", "fp32", "fp32", 64, 64, 32, 4, 3, precision="tf32x3")
product("matmul_fp32_ieee_32x32x16", "fp32", "fp32", 32, 32, 16, 4, 2)
product("matmul_fp32_ieee_64x64x32", "fp32", "fp32", 64, 64, 32, 8, 2)
product("matmul_fp64_32x32x16", "fp64", "fp64", 32, 32, 16, 4, 2)
