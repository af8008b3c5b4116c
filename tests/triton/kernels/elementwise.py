"""Elementwise kernels: one program takes one block of elements."""
import triton
import triton.language as tl
from triton.language.extra import libdevice

from registry import case


@triton.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, inside) + tl.load(y + at, inside), inside)


for kind in ["fp32", "fp16", "bf16", "i8", "i32", "i64", "fp64"]:
    case(f"add_{kind}", vector_add, f"x:*{kind} y:*{kind} out:*{kind} n:i32", BLOCK=1024)
case("add_fp32_unaligned", vector_add, "x:*fp32%1 y:*fp32%1 out:*fp32%1 n:i32", BLOCK=512)
case("add_fp16_whole", vector_add, "x:*fp16 y:*fp16 out:*fp16 n:i32%16", warps=8, BLOCK=4096)


@triton.jit
def strided_loop(x, out, n, BLOCK: tl.constexpr):
    """A grid-stride loop."""
    step = tl.num_programs(0) * BLOCK
    for start in range(tl.program_id(0) * BLOCK, n, step):
        at = start + tl.arange(0, BLOCK)
        v = tl.load(x + at, at < n, other=0.0)
        tl.store(out + at, v * v - 1.0, at < n)


case("strided_loop", strided_loop, "x:*fp32 out:*fp32 n:i32", BLOCK=256)


@triton.jit
def gelu_tanh(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, at < n).to(tl.float32)
    t = 0.7978845608028654 * (v + 0.044715 * v * v * v)
    e = tl.exp(2.0 * t)
    y = 0.5 * v * (1.0 + 1.0 - 2.0 / (e + 1.0))
    tl.store(out + at, y.to(out.dtype.element_ty), at < n)


@triton.jit
def gelu_erf(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, at < n).to(tl.float32)
    y = 0.5 * v * (1.0 + tl.erf(v * 0.7071067811865476))
    tl.store(out + at, y.to(out.dtype.element_ty), at < n)


for kind in ["fp32", "bf16"]:
    case(f"gelu_tanh_{kind}", gelu_tanh, f"x:*{kind} out:*{kind} n:i32", BLOCK=1024)
    case(f"gelu_erf_{kind}", gelu_erf, f"x:*{kind} out:*{kind} n:i32", BLOCK=1024)


@triton.jit
def swiglu(gate, up, out, rows, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(gate + row * cols + at, at < cols, other=0.0).to(tl.float32)
    u = tl.load(up + row * cols + at, at < cols, other=0.0)
    silu = g * tl.sigmoid(g)
    tl.store(out + row * cols + at, silu.to(u.dtype) * u, at < cols)


@triton.jit
def swiglu_backward(grad, gate, up, dgate, dup, cols, BLOCK: tl.constexpr):
    base = tl.program_id(0).to(tl.int64) * cols
    at = tl.arange(0, BLOCK)
    inside = at < cols
    d = tl.load(grad + base + at, inside, other=0.0)
    g = tl.load(gate + base + at, inside, other=0.0).to(tl.float32)
    u = tl.load(up + base + at, inside, other=0.0)
    s = tl.sigmoid(g)
    silu = s * g
    tl.store(dup + base + at, d * silu, inside)
    tl.store(dgate + base + at, d * (silu * (1.0 - s) + s) * u, inside)


case("swiglu_fp16", swiglu, "gate:*fp16 up:*fp16 out:*fp16 rows:i32 cols:i32%16", BLOCK=1024)
case("swiglu_bf16", swiglu, "gate:*bf16 up:*bf16 out:*bf16 rows:i32 cols:i32", warps=8, BLOCK=2048)
case("swiglu_backward", swiglu_backward, "grad:*fp16 gate:*fp16 up:*fp16 dgate:*fp16 dup:*fp16 cols:i32%16", warps=8, BLOCK=2048)


@triton.jit
def dropout(x, out, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, at < n)
    keep = tl.rand(seed, at) > p
    tl.store(out + at, tl.where(keep, v / (1 - p), 0.0), at < n)


@triton.jit
def dropout_rows(x, out, seeds, n, p, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    seed = tl.load(seeds + row)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + at, at < n)
    a, b, c, d = tl.randint4x(seed, at)
    keep = ((a ^ b) + (c ^ d)).to(tl.uint32, bitcast=True) > (p * 4294967295.0).to(tl.uint32)
    tl.store(out + row * n + at, tl.where(keep, v, 0.0), at < n)


@triton.jit
def normals(out, n, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.randn(seed, at), at < n)


case("dropout", dropout, "x:*fp32 out:*fp32 n:i32 p:fp32 seed:i32", BLOCK=1024)
case("dropout_rows", dropout_rows, "x:*fp32 out:*fp32 seeds:*i32 n:i32 p:fp32", BLOCK=512)
case("normals", normals, "out:*fp32 n:i32 seed:i32", BLOCK=512)


@triton.jit
def math_zoo(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, at < n, other=1.0)
    a = tl.abs(v) + 1.0
    r = tl.sin(v) * tl.cos(v) + tl.log(a) - tl.exp2(-a) + tl.log2(a) + tl.rsqrt(a) + tl.sqrt(a) + tl.sqrt_rn(a)
    r += tl.floor(v) - tl.ceil(v) + tl.div_rn(v, a) + tl.fma(v, a, r) + tl.minimum(v, r) + tl.maximum(v, 2.0) + tl.clamp(v, -1.0, 1.0)
    tl.store(out + at, r, at < n)


@triton.jit
def libdevice_zoo(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, at < n, other=1.0)
    a = tl.abs(v)
    r = libdevice.tanh(v) + libdevice.atan2(v, a) + libdevice.pow(tl.abs(v), a) + libdevice.log1p(tl.abs(v))
    r += libdevice.expm1(v) + libdevice.asin(v) + libdevice.cbrt(v) + libdevice.fmod(v, a) + libdevice.tgamma(v)
    tl.store(out + at, r, at < n)


@triton.jit
def math_double(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, at < n, other=1.0)
    a = tl.abs(v) + 1.0
    r = tl.sin(v) * tl.cos(v) + tl.log(a) - tl.exp(-a) + tl.rsqrt(a) + tl.sqrt(a) + v / a
    r += tl.floor(v) - tl.ceil(v) + tl.fma(v, a, r) + tl.minimum(v, r) + tl.maximum(v, 2.0)
    tl.store(out + at, r, at < n)


@triton.jit
def libdevice_double(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, at < n, other=1.0)
    a = tl.abs(v)
    r = libdevice.tanh(v) + libdevice.atan2(v, a) + libdevice.pow(a, v) + libdevice.log1p(a) + libdevice.expm1(v) + libdevice.erf(v)
    tl.store(out + at, r, at < n)


case("math_fp32", math_zoo, "x:*fp32 out:*fp32 n:i32", BLOCK=512)
case("math_fp64", math_double, "x:*fp64 out:*fp64 n:i32", BLOCK=256)
case("libdevice_fp32", libdevice_zoo, "x:*fp32 out:*fp32 n:i32", BLOCK=256)
case("libdevice_fp64", libdevice_double, "x:*fp64 out:*fp64 n:i32", BLOCK=128)


@triton.jit
def integer_zoo(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at, at < n, other=7)
    b = tl.load(y + at, at < n, other=3)
    q = tl.where(b == 0, a, a // b) + tl.where(b == 0, b, a % b)
    r = (a << 3) ^ (b >> 1) | (a & 0x55)
    m = tl.minimum(a, b) * tl.maximum(a, b) + tl.cdiv(a, 5) + tl.umulhi(a, b)
    tl.store(out + at, q + r - m + ~a, at < n)


case("integer_i32", integer_zoo, "x:*i32 y:*i32 out:*i32 n:i32", BLOCK=512)
case("integer_u32", integer_zoo, "x:*u32 y:*u32 out:*u32 n:i32", BLOCK=512)
case("integer_i64", integer_zoo, "x:*i64 y:*i64 out:*i64 n:i32", BLOCK=256)


@triton.jit
def cast(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n).to(out.dtype.element_ty), at < n)


for a, b in [("fp32", "fp16"), ("fp32", "bf16"), ("fp16", "fp8e4nv"), ("fp32", "fp8e5"), ("fp8e4nv", "fp32"), ("fp8e5", "bf16"),
             ("i8", "fp16"), ("fp32", "i32"), ("fp64", "fp32"), ("bf16", "i8"), ("i64", "fp32"), ("fp8e4b15", "fp16")]:
    case(f"cast_{a}_{b}", cast, f"x:*{a} out:*{b} n:i32", BLOCK=2048)


@triton.jit
def rope(q, cos, sin, stride, heads, HALF: tl.constexpr, BLOCK_H: tl.constexpr, BACKWARD: tl.constexpr):
    """Rotary embedding, in place: the two halves of each head are rotated."""
    position = tl.program_id(0)
    h = tl.program_id(1) * BLOCK_H + tl.arange(0, BLOCK_H)
    d = tl.arange(0, HALF)
    c = tl.load(cos + position * HALF + d)[None, :]
    s = tl.load(sin + position * HALF + d)[None, :]
    if BACKWARD:
        s = -s
    at = q + position * stride + h[:, None] * (2 * HALF) + d[None, :]
    inside = h[:, None] < heads
    low = tl.load(at, inside, other=0.0)
    high = tl.load(at + HALF, inside, other=0.0)
    tl.store(at, low * c - high * s, inside)
    tl.store(at + HALF, high * c + low * s, inside)


case("rope_fp32", rope, "q:*fp32 cos:*fp32 sin:*fp32 stride:i32%16 heads:i32", HALF=32, BLOCK_H=4, BACKWARD=False)
case("rope_bf16", rope, "q:*bf16 cos:*fp32 sin:*fp32 stride:i32%16 heads:i32", HALF=64, BLOCK_H=8, BACKWARD=True)


@triton.jit
def adamw(p, g, m, v, n, lr, beta1, beta2, eps, decay, c1, c2, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    w = tl.load(p + at, inside)
    d = tl.load(g + at, inside).to(tl.float32)
    a = beta1 * tl.load(m + at, inside) + (1 - beta1) * d
    b = beta2 * tl.load(v + at, inside) + (1 - beta2) * d * d
    w = w * (1 - lr * decay) - lr * (a / c1) / (tl.sqrt(b / c2) + eps)
    tl.store(p + at, w, inside)
    tl.store(m + at, a, inside)
    tl.store(v + at, b, inside)


case("adamw", adamw, "p:*fp32 g:*bf16 m:*fp32 v:*fp32 n:i32 lr:fp32 beta1:fp32 beta2:fp32 eps:fp32 decay:fp32 c1:fp32 c2:fp32", BLOCK=1024)
