"""Attention, forward and backward, as tiles with an online softmax."""
import triton
import triton.language as tl

from registry import case


@triton.jit
def inner(acc, l, m, q, k, v, start, end, rows, scale, length, CAUSAL: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """One sweep over columns; with CAUSAL those on the diagonal."""
    cols = tl.arange(0, BN)
    d = tl.arange(0, D)
    for at in tl.range(start, end, BN):
        at = tl.multiple_of(at, BN)
        kt = tl.load(k + (at + cols)[None, :] * D + d[:, None], (at + cols)[None, :] < length, other=0.0)
        s = tl.dot(q, kt) * scale
        inside = (at + cols)[None, :] < length
        if CAUSAL:
            inside &= rows[:, None] >= (at + cols)[None, :]
        s = tl.where(inside, s, -1.0e6)
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        alpha = tl.exp2(m - new)
        l = l * alpha + tl.sum(p, 1)
        vt = tl.load(v + (at + cols)[:, None] * D + d[None, :], (at + cols)[:, None] < length, other=0.0)
        acc = tl.dot(p.to(vt.dtype), vt, acc * alpha[:, None])
        m = new
    return acc, l, m


@triton.jit
def attention(q, k, v, out, lse, length, scale, CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    block = tl.program_id(0)
    base = tl.program_id(1).to(tl.int64) * length * D
    rows = block * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    qt = tl.load(q + base + rows[:, None] * D + d[None, :], rows[:, None] < length, other=0.0)
    m = tl.full([BM], -float("inf"), tl.float32)
    l = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    scale *= 1.44269504
    if CAUSAL:
        acc, l, m = inner(acc, l, m, qt, k + base, v + base, 0, block * BM, rows, scale, length, False, BN, D)
        acc, l, m = inner(acc, l, m, qt, k + base, v + base, block * BM, (block + 1) * BM, rows, scale, length, True, BN, D)
    else:
        acc, l, m = inner(acc, l, m, qt, k + base, v + base, 0, length, rows, scale, length, False, BN, D)
    tl.store(lse + tl.program_id(1) * length + rows, m + tl.log2(l), rows < length)
    acc = acc / l[:, None]
    tl.store(out + base + rows[:, None] * D + d[None, :], acc.to(out.dtype.element_ty), rows[:, None] < length)


for bm, bn, d, warps, stages in [(64, 64, 64, 4, 3), (128, 64, 64, 4, 3), (128, 128, 64, 8, 2), (128, 64, 128, 8, 3), (128, 128, 128, 8, 2),
                                 (32, 32, 32, 4, 2), (64, 32, 128, 4, 3)]:
    for causal in [False, True]:
        case(f"attention_{bm}x{bn}_d{d}{'_causal' if causal else ''}", attention,
             "q:*fp16 k:*fp16 v:*fp16 out:*fp16 lse:*fp32 length:i32%16 scale:fp32", warps=warps, stages=stages, CAUSAL=causal, BM=bm,
             BN=bn, D=d)
case("attention_bf16_128x64_d64_causal", attention, "q:*bf16 k:*bf16 v:*bf16 out:*bf16 lse:*fp32 length:i32 scale:fp32", warps=4, stages=4,
     CAUSAL=True, BM=128, BN=64, D=64)
case("attention_fp32_32x32_d32", attention, "q:*fp32 k:*fp32 v:*fp32 out:*fp32 lse:*fp32 length:i32 scale:fp32", warps=4, stages=2,
     CAUSAL=False, BM=32, BN=32, D=32)


@triton.jit
def attention_delta(out, dout, delta, length, BM: tl.constexpr, D: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    base = tl.program_id(1).to(tl.int64) * length * D
    place = base + rows[:, None] * D + d[None, :]
    a = tl.load(out + place, rows[:, None] < length, other=0.0).to(tl.float32)
    b = tl.load(dout + place, rows[:, None] < length, other=0.0).to(tl.float32)
    tl.store(delta + tl.program_id(1) * length + rows, tl.sum(a * b, 1), rows < length)


case("attention_delta_d64", attention_delta, "out:*fp16 dout:*fp16 delta:*fp32 length:i32%16", BM=128, D=64)


@triton.jit
def attention_dkdv(q, k, v, dout, dk, dv, lse, delta, length, scale, CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                   D: tl.constexpr):
    """A block of keys: their gradients, over all rows that see them."""
    n0 = tl.program_id(0) * BN
    base = tl.program_id(1).to(tl.int64) * length * D
    cols = n0 + tl.arange(0, BN)
    d = tl.arange(0, D)
    kt = tl.load(k + base + cols[:, None] * D + d[None, :])
    vt = tl.load(v + base + cols[:, None] * D + d[None, :])
    gk = tl.zeros([BN, D], tl.float32)
    gv = tl.zeros([BN, D], tl.float32)
    first = n0 // BM * BM if CAUSAL else 0
    for start in range(first, length, BM):
        rows = start + tl.arange(0, BM)
        qt = tl.load(q + base + rows[None, :] * D + d[:, None])
        m = tl.load(lse + tl.program_id(1) * length + rows)
        p = tl.exp2(tl.dot(kt, qt) * (scale * 1.44269504) - m[None, :])
        if CAUSAL:
            p = tl.where(rows[None, :] >= cols[:, None], p, 0.0)
        g = tl.load(dout + base + rows[:, None] * D + d[None, :])
        gv = tl.dot(p.to(g.dtype), g, gv)
        dp = tl.dot(vt, tl.trans(g))
        ds = p * (dp - tl.load(delta + tl.program_id(1) * length + rows)[None, :])
        gk = tl.dot(ds.to(qt.dtype), tl.trans(qt), gk)
    tl.store(dv + base + cols[:, None] * D + d[None, :], gv.to(dv.dtype.element_ty))
    tl.store(dk + base + cols[:, None] * D + d[None, :], (gk * scale).to(dk.dtype.element_ty))


@triton.jit
def attention_dq(q, k, v, dout, dq, lse, delta, length, scale, CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    m0 = tl.program_id(0) * BM
    base = tl.program_id(1).to(tl.int64) * length * D
    rows = m0 + tl.arange(0, BM)
    d = tl.arange(0, D)
    qt = tl.load(q + base + rows[:, None] * D + d[None, :])
    g = tl.load(dout + base + rows[:, None] * D + d[None, :])
    m = tl.load(lse + tl.program_id(1) * length + rows)
    dl = tl.load(delta + tl.program_id(1) * length + rows)
    acc = tl.zeros([BM, D], tl.float32)
    end = m0 + BM if CAUSAL else length
    for start in range(0, end, BN):
        cols = start + tl.arange(0, BN)
        kt = tl.load(k + base + cols[None, :] * D + d[:, None])
        vt = tl.load(v + base + cols[None, :] * D + d[:, None])
        p = tl.exp2(tl.dot(qt, kt) * (scale * 1.44269504) - m[:, None])
        if CAUSAL:
            p = tl.where(rows[:, None] >= cols[None, :], p, 0.0)
        ds = p * (tl.dot(g, vt) - dl[:, None])
        acc = tl.dot(ds.to(kt.dtype), tl.trans(kt), acc)
    tl.store(dq + base + rows[:, None] * D + d[None, :], (acc * scale).to(dq.dtype.element_ty))


for bm, bn, d, warps in [(32, 64, 64, 4), (64, 64, 64, 4), (64, 128, 64, 8), (64, 128, 128, 8)]:
    for causal in [False, True]:
        tail = "_causal" if causal else ""
        shape = dict(warps=warps, stages=2, CAUSAL=causal, D=d)
        case(f"attention_dkdv_{bm}x{bn}_d{d}{tail}", attention_dkdv,
             "q:*fp16 k:*fp16 v:*fp16 dout:*fp16 dk:*fp16 dv:*fp16 lse:*fp32 delta:*fp32 length:i32%16 scale:fp32", BM=bm, BN=bn, **shape)
        case(f"attention_dq_{bn}x{bm}_d{d}{tail}", attention_dq,
             "q:*fp16 k:*fp16 v:*fp16 dout:*fp16 dq:*fp16 lse:*fp32 delta:*fp32 length:i32%16 scale:fp32", BM=bn, BN=bm, **shape)
