"""Attention for one new token, over pages, with windows and shared heads; linear attention; state spaces; by tensor maps."""
import triton
import triton.language as tl

from registry import case


@triton.jit
def decode(q, k, v, out, lse, lengths, stride_b, stride_h, scale, parts, BN: tl.constexpr, D: tl.constexpr, HEADS: tl.constexpr):
    """One row against a part of the keys; the parts are combined by another kernel. Heads that share keys are one tile."""
    batch = tl.program_id(0)
    head = tl.program_id(1)
    part = tl.program_id(2)
    length = tl.load(lengths + batch)
    per = tl.cdiv(length, parts)
    start = part * per
    end = tl.minimum(start + per, length)
    h = tl.arange(0, HEADS)
    d = tl.arange(0, D)
    qt = tl.load(q + batch * stride_b + (head * HEADS + h)[:, None] * D + d[None, :])
    m = tl.full([HEADS], -float("inf"), tl.float32)
    l = tl.zeros([HEADS], tl.float32)
    acc = tl.zeros([HEADS, D], tl.float32)
    for at in range(start, end, BN):
        n = at + tl.arange(0, BN)
        kt = tl.load(k + head * stride_h + n[None, :] * D + d[:, None], n[None, :] < end, other=0.0)
        s = tl.where(n[None, :] < end, tl.dot(qt, kt) * scale, -float("inf"))
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp(s - new[:, None])
        alpha = tl.exp(m - new)
        vt = tl.load(v + head * stride_h + n[:, None] * D + d[None, :], n[:, None] < end, other=0.0)
        acc = acc * alpha[:, None] + tl.dot(p.to(vt.dtype), vt)
        l = l * alpha + tl.sum(p, 1)
        m = new
    place = (batch * tl.num_programs(1) + head) * parts + part
    tl.store(out + place * HEADS * D + h[:, None] * D + d[None, :], acc / l[:, None])
    tl.store(lse + place * HEADS + h, m + tl.log(l))


case("decode_d64", decode, "q:*fp16 k:*fp16 v:*fp16 out:*fp32 lse:*fp32 lengths:*i32 stride_b:i32%16 stride_h:i32%16 scale:fp32 parts:i32",
     stages=2, BN=64, D=64, HEADS=16)
case("decode_d128_bf16", decode, "q:*bf16 k:*bf16 v:*bf16 out:*fp32 lse:*fp32 lengths:*i32 stride_b:i32%16 stride_h:i32%16 scale:fp32 parts:i32",
     stages=3, BN=32, D=128, HEADS=16)


@triton.jit
def combine(parts_out, lse, out, parts, D: tl.constexpr):
    row = tl.program_id(0)
    d = tl.arange(0, D)
    m = -float("inf")
    total = 0.0
    acc = tl.zeros([D], tl.float32)
    for i in range(parts):
        e = tl.load(lse + row * parts + i)
        new = tl.maximum(m, e)
        old = tl.exp(m - new)
        w = tl.exp(e - new)
        acc = acc * old + w * tl.load(parts_out + (row * parts + i) * D + d)
        total = total * old + w
        m = new
    tl.store(out + row * D + d, (acc / total).to(out.dtype.element_ty))


case("decode_combine", combine, "parts_out:*fp32 lse:*fp32 out:*fp16 parts:i32", warps=2, D=128)


@triton.jit
def paged(q, cache_k, cache_v, table, lengths, out, pages, scale, PAGE: tl.constexpr, D: tl.constexpr):
    """Keys lie in pages that a table names; products by elements, one row."""
    batch = tl.program_id(0)
    head = tl.program_id(1)
    d = tl.arange(0, D)
    n = tl.arange(0, PAGE)
    length = tl.load(lengths + batch)
    x = tl.load(q + (batch * tl.num_programs(1) + head) * D + d).to(tl.float32) * scale
    m = -float("inf")
    l = 0.0
    acc = tl.zeros([D], tl.float32)
    for i in range(tl.cdiv(length, PAGE)):
        page = tl.load(table + batch * pages + i).to(tl.int64)
        at = ((page * tl.num_programs(1) + head) * PAGE + n[:, None]) * D + d[None, :]
        inside = i * PAGE + n < length
        k = tl.load(cache_k + at, inside[:, None], other=0.0).to(tl.float32)
        s = tl.where(inside, tl.sum(k * x[None, :], 1), -float("inf"))
        new = tl.maximum(m, tl.max(s, 0))
        p = tl.exp(s - new)
        old = tl.exp(m - new)
        v = tl.load(cache_v + at, inside[:, None], other=0.0).to(tl.float32)
        acc = acc * old + tl.sum(p[:, None] * v, 0)
        l = l * old + tl.sum(p, 0)
        m = new
    tl.store(out + (batch * tl.num_programs(1) + head) * D + d, (acc / l).to(out.dtype.element_ty))


case("paged_fp16", paged, "q:*fp16 cache_k:*fp16 cache_v:*fp16 table:*i32 lengths:*i32 out:*fp16 pages:i32 scale:fp32", PAGE=16, D=128)
case("paged_fp8", paged, "q:*bf16 cache_k:*fp8e4nv cache_v:*fp8e4nv table:*i32 lengths:*i32 out:*bf16 pages:i32 scale:fp32", PAGE=32, D=64)


@triton.jit
def windowed(q, k, v, sinks, out, length, window, scale, cap, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """A sliding window, scores capped by tanh, and a sink in the sum."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    base = tl.program_id(1).to(tl.int64) * length * D
    d = tl.arange(0, D)
    qt = tl.load(q + base + rows[:, None] * D + d[None, :], rows[:, None] < length, other=0.0)
    m = tl.zeros([BM], tl.float32) + tl.load(sinks + tl.program_id(1)).to(tl.float32)
    l = tl.full([BM], 1.0, tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    first = tl.maximum(0, (tl.program_id(0) * BM - window) // BN * BN)
    for at in range(first, (tl.program_id(0) + 1) * BM, BN):
        n = at + tl.arange(0, BN)
        kt = tl.load(k + base + n[None, :] * D + d[:, None], n[None, :] < length, other=0.0)
        s = tl.dot(qt, kt) * scale
        e = tl.exp(-2.0 * tl.abs(s / cap))
        s = cap * tl.where(s < 0, -1.0, 1.0) * (1.0 - e) / (1.0 + e)
        gap = rows[:, None] - n[None, :]
        s = tl.where((gap >= 0) & (gap < window), s, -1.0e6)
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp(s - new[:, None])
        old = tl.exp(m - new)
        vt = tl.load(v + base + n[:, None] * D + d[None, :], n[:, None] < length, other=0.0)
        acc = tl.dot(p.to(vt.dtype), vt, acc * old[:, None])
        l = l * old + tl.sum(p, 1)
        m = new
    tl.store(out + base + rows[:, None] * D + d[None, :], (acc / l[:, None]).to(out.dtype.element_ty), rows[:, None] < length)


case("attention_window", windowed, "q:*bf16 k:*bf16 v:*bf16 sinks:*bf16 out:*bf16 length:i32 window:i32 scale:fp32 cap:fp32", BM=64, BN=64, D=64)


@triton.jit
def by_maps(q, k, v, o, length, scale, CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """Forward attention, all of whose copies go by tensor maps."""
    row = tl.program_id(1) * length + tl.program_id(0) * BM
    qt = q.load([row, 0])
    m = tl.full([BM], -float("inf"), tl.float32)
    l = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    end = (tl.program_id(0) + 1) * BM if CAUSAL else length
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    for at in tl.range(0, end, BN):
        kt = k.load([tl.program_id(1) * length + at, 0])
        s = tl.dot(qt, kt.T) * scale
        if CAUSAL:
            s = tl.where(rows[:, None] >= at + tl.arange(0, BN)[None, :], s, -1.0e6)
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        old = tl.exp2(m - new)
        l = l * old + tl.sum(p, 1)
        vt = v.load([tl.program_id(1) * length + at, 0])
        acc = tl.dot(p.to(vt.dtype), vt, acc * old[:, None])
        m = new
    o.store([row, 0], (acc / l[:, None]).to(o.dtype))


for bm, bn, d, warps, causal in [(128, 64, 64, 4, False), (128, 128, 128, 8, True), (64, 64, 64, 4, True)]:
    case(f"attention_tma_{bm}x{bn}_d{d}{'_causal' if causal else ''}", by_maps,
         f"q:tensordesc<fp16[{bm};{d}]> k:tensordesc<fp16[{bn};{d}]> v:tensordesc<fp16[{bn};{d}]> o:tensordesc<fp16[{bm};{d}]> length:i32 scale:fp32",
         warps=warps, stages=2, CAUSAL=causal, BM=bm, BN=bn, D=d)


@triton.jit
def linear_attention(q, k, v, g, out, length, BT: tl.constexpr, D: tl.constexpr):
    """Gated linear attention: a state of D x D goes from block to block."""
    base = tl.program_id(0) * length
    t = tl.arange(0, BT)
    d = tl.arange(0, D)
    state = tl.zeros([D, D], tl.float32)
    for start in range(0, length, BT):
        at = (base + start + t)[:, None] * D + d[None, :]
        qt = tl.load(q + at)
        kt = tl.load(k + at)
        vt = tl.load(v + at)
        decay = tl.cumsum(tl.load(g + base + start + t), 0)
        total = tl.sum(tl.where(t == BT - 1, decay, 0.0), 0)
        s = tl.dot(qt, tl.trans(kt)) * tl.where(t[:, None] >= t[None, :], tl.exp(decay[:, None] - decay[None, :]), 0.0)
        o = tl.dot(s.to(vt.dtype), vt) + tl.dot(qt, state.to(qt.dtype)) * tl.exp(decay)[:, None]
        tl.store(out + at, o.to(out.dtype.element_ty))
        kd = (kt * tl.exp(total - decay)[:, None]).to(vt.dtype)
        state = state * tl.exp(total) + tl.dot(tl.trans(kd), vt)


case("linear_attention", linear_attention, "q:*bf16 k:*bf16 v:*bf16 g:*fp32 out:*bf16 length:i32%16", stages=2, BT=32, D=64)


@triton.jit
def selective_scan(x, dt, a, b, c, out, length, channels, STATE: tl.constexpr, BLOCK: tl.constexpr):
    """A state space step by step: each channel with STATE numbers."""
    ch = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.arange(0, STATE)
    w = tl.load(a + ch[:, None] * STATE + s[None, :])
    h = tl.zeros([BLOCK, STATE], tl.float32)
    for t in range(length):
        step = tl.load(dt + t * channels + ch)
        step = tl.where(step > 20.0, step, tl.log(1.0 + tl.exp(step)))
        v = tl.load(x + t * channels + ch)
        h = h * tl.exp(w * step[:, None]) + (step * v)[:, None] * tl.load(b + t * STATE + s)[None, :]
        tl.store(out + t * channels + ch, tl.sum(h * tl.load(c + t * STATE + s)[None, :], 1))


case("selective_scan", selective_scan, "x:*fp32 dt:*fp32 a:*fp32 b:*fp32 c:*fp32 out:*fp32 length:i32 channels:i32%16", BLOCK=64, STATE=16)


@triton.jit
def varlen_pad(x, starts, out, width, cols, BLOCK: tl.constexpr):
    """Rows of sequences of different lengths, padded."""
    row = tl.program_id(0)
    t = tl.program_id(1)
    begin = tl.load(starts + row)
    length = tl.load(starts + row + 1) - begin
    at = tl.arange(0, BLOCK)
    v = tl.load(x + (begin + t) * cols + at, (at < cols) & (t < length), other=0.0)
    tl.store(out + (row * width + t) * cols + at, v, at < cols)


case("varlen_pad", varlen_pad, "x:*fp16 starts:*i32 out:*fp16 width:i32 cols:i32%16", BLOCK=512)


@triton.jit
def kv_write(k, v, cache_k, cache_v, slots, heads, SIZE: tl.constexpr, PAGE: tl.constexpr):
    token = tl.program_id(0)
    slot = tl.load(slots + token).to(tl.int64)
    if slot >= 0:
        head = tl.program_id(1)
        d = tl.arange(0, SIZE)
        at = ((slot // PAGE * heads + head) * PAGE + slot % PAGE) * SIZE + d
        tl.store(cache_k + at, tl.load(k + (token * heads + head) * SIZE + d).to(cache_k.dtype.element_ty))
        tl.store(cache_v + at, tl.load(v + (token * heads + head) * SIZE + d).to(cache_v.dtype.element_ty))


case("kv_write_fp8", kv_write, "k:*bf16 v:*bf16 cache_k:*fp8e4nv cache_v:*fp8e4nv slots:*i64 heads:i32", warps=1, SIZE=128, PAGE=16)
