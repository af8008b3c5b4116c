"""Kernels that reduce the rows of a matrix: softmax, norms, losses."""
import triton
import triton.language as tl

from registry import case


@triton.jit
def softmax(x, out, stride, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + at, at < cols, other=-float("inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * stride + at, (e / tl.sum(e, 0)).to(out.dtype.element_ty), at < cols)


for kind, block, warps in [("fp32", 128, 1), ("fp32", 1024, 4), ("fp16", 4096, 8), ("bf16", 16384, 16)]:
    case(f"softmax_{kind}_{block}", softmax, f"x:*{kind} out:*{kind} stride:i32%16 cols:i32", warps=warps, BLOCK=block)


@triton.jit
def softmax_persistent(x, out, rows, stride, cols, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=STAGES):
        at = tl.arange(0, BLOCK)
        v = tl.load(x + row * stride + at, at < cols, other=-float("inf"))
        v = v - tl.max(v, 0)
        e = tl.exp(v)
        tl.store(out + row * stride + at, e / tl.sum(e, 0), at < cols)


case("softmax_persistent", softmax_persistent, "x:*fp32 out:*fp32 rows:i32 stride:i32%16 cols:i32", warps=8, BLOCK=1024, STAGES=4)


@triton.jit
def softmax_online(x, out, stride, cols, BLOCK: tl.constexpr):
    """Rows longer than a block: the maximum and the sum are kept up as blocks come."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    m = tl.full([BLOCK], -float("inf"), tl.float32)
    s = tl.zeros([BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        v = tl.load(x + row * stride + start + at, start + at < cols, other=-float("inf"))
        n = tl.maximum(m, v)
        s = s * tl.exp(m - n) + tl.exp(v - n)
        m = n
    top = tl.max(m, 0)
    total = tl.sum(s * tl.exp(m - top), 0)
    for start in range(0, cols, BLOCK):
        v = tl.load(x + row * stride + start + at, start + at < cols)
        tl.store(out + row * stride + start + at, tl.exp(v - top) / total, start + at < cols)


case("softmax_online", softmax_online, "x:*fp32 out:*fp32 stride:i32 cols:i32", BLOCK=512)


@triton.jit
def softmax_backward(y, dy, dx, stride, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    a = tl.load(y + row * stride + at, at < cols, other=0.0)
    d = tl.load(dy + row * stride + at, at < cols, other=0.0)
    tl.store(dx + row * stride + at, a * (d - tl.sum(a * d, 0)), at < cols)


case("softmax_backward", softmax_backward, "y:*fp32 dy:*fp32 dx:*fp32 stride:i32%16 cols:i32", BLOCK=1024)


@triton.jit
def layernorm(x, out, w, b, mean, rstd, stride, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x += row * stride
    out += row * stride
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x + at, at < cols, other=0.0).to(tl.float32)
    mu = tl.sum(total, 0) / cols
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        v = tl.load(x + at, at < cols, other=0.0).to(tl.float32)
        v = tl.where(at < cols, v - mu, 0.0)
        squares += v * v
    r = 1 / tl.sqrt(tl.sum(squares, 0) / cols + eps)
    tl.store(mean + row, mu)
    tl.store(rstd + row, r)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        v = tl.load(x + at, at < cols, other=0.0).to(tl.float32)
        y = (v - mu) * r * tl.load(w + at, at < cols) + tl.load(b + at, at < cols)
        tl.store(out + at, y, at < cols)


for kind in ["fp16", "fp32"]:
    case(f"layernorm_{kind}", layernorm,
         f"x:*{kind} out:*{kind} w:*{kind} b:*{kind} mean:*fp32 rstd:*fp32 stride:i32%16 cols:i32 eps:fp32", warps=8, BLOCK=1024)


@triton.jit
def layernorm_backward(dx, dy, dw, db, x, w, mean, rstd, locks, stride, cols, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    """The gradient of a row, and of the weights summed under a lock: as many sums as there are groups."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < cols
    v = tl.load(x + row * stride + at, inside, other=0.0).to(tl.float32)
    d = tl.load(dy + row * stride + at, inside, other=0.0).to(tl.float32)
    g = tl.load(w + at, inside).to(tl.float32)
    mu = tl.load(mean + row)
    r = tl.load(rstd + row)
    h = tl.where(inside, (v - mu) * r, 0.0)
    gd = tl.where(inside, g * d, 0.0)
    c1 = tl.sum(h * gd, 0) / cols
    c2 = tl.sum(gd, 0) / cols
    tl.store(dx + row * stride + at, (gd - (h * c1 + c2)) * r, inside)
    group = row % GROUPS
    lock = locks + group
    count = locks + GROUPS + group
    pw = (d * h).to(g.dtype)
    pb = d.to(g.dtype)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(count) == 0:
        tl.atomic_xchg(count, 1)
    else:
        pw += tl.load(dw + group * cols + at, inside)
        pb += tl.load(db + group * cols + at, inside)
    tl.store(dw + group * cols + at, pw, inside)
    tl.store(db + group * cols + at, pb, inside)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def layernorm_weights(dw, db, out_w, out_b, groups, cols, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.zeros([ROWS, BLOCK], tl.float32)
    b = tl.zeros([ROWS, BLOCK], tl.float32)
    for start in range(0, groups, ROWS):
        r = start + tl.arange(0, ROWS)
        inside = (r[:, None] < groups) & (at[None, :] < cols)
        place = r[:, None] * cols + at[None, :]
        a += tl.load(dw + place, inside, other=0.0)
        b += tl.load(db + place, inside, other=0.0)
    tl.store(out_w + at, tl.sum(a, 0), at < cols)
    tl.store(out_b + at, tl.sum(b, 0), at < cols)


case("layernorm_backward", layernorm_backward,
     "dx:*fp16 dy:*fp16 dw:*fp32 db:*fp32 x:*fp16 w:*fp16 mean:*fp32 rstd:*fp32 locks:*i32 stride:i32%16 cols:i32", warps=8, GROUPS=64, BLOCK=1024)
case("layernorm_weights", layernorm_weights, "dw:*fp32 db:*fp32 out_w:*fp16 out_b:*fp16 groups:i32 cols:i32%16", warps=8, ROWS=32, BLOCK=128)


@triton.jit
def rmsnorm(x, w, out, stride, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + at, at < cols, other=0.0).to(tl.float32)
    r = tl.rsqrt(tl.sum(v * v, 0) / cols + eps)
    tl.store(out + row * stride + at, (v * r).to(out.dtype.element_ty) * tl.load(w + at, at < cols), at < cols)


@triton.jit
def rmsnorm_residual(x, residual, w, out, stride, cols, eps, BLOCK: tl.constexpr):
    """Adds first, keeps the sum, and writes 8-bit numbers."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + at, at < cols, other=0.0) + tl.load(residual + row * stride + at, at < cols, other=0.0)
    tl.store(residual + row * stride + at, v, at < cols)
    f = v.to(tl.float32)
    r = tl.rsqrt(tl.sum(f * f, 0) / cols + eps)
    y = f * r * tl.load(w + at, at < cols).to(tl.float32)
    tl.store(out + row * stride + at, y.to(out.dtype.element_ty), at < cols)


@triton.jit
def rmsnorm_backward(dy, x, w, dx, dw, rows, stride, cols, eps, BLOCK: tl.constexpr):
    """Rows shared out by program; the weights' gradient stays in registers until the end."""
    at = tl.arange(0, BLOCK)
    inside = at < cols
    g = tl.load(w + at, inside, other=0.0).to(tl.float32)
    acc = tl.zeros([BLOCK], tl.float32)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        v = tl.load(x + row * stride + at, inside, other=0.0).to(tl.float32)
        d = tl.load(dy + row * stride + at, inside, other=0.0).to(tl.float32)
        r = tl.rsqrt(tl.sum(v * v, 0) / cols + eps)
        m = d * g
        tl.store(dx + row * stride + at, r * m - r * r * r * tl.sum(m * v, 0) / cols * v, inside)
        acc += d * v * r
    tl.store(dw + tl.program_id(0) * cols + at, acc, inside)


case("rmsnorm_fp16", rmsnorm, "x:*fp16 w:*fp16 out:*fp16 stride:i32%16 cols:i32 eps:fp32", BLOCK=2048)
case("rmsnorm_bf16", rmsnorm, "x:*bf16 w:*bf16 out:*bf16 stride:i32%16 cols:i32%16 eps:fp32", warps=8, BLOCK=8192)
case("rmsnorm_residual", rmsnorm_residual, "x:*bf16 residual:*bf16 w:*bf16 out:*fp8e4nv stride:i32%16 cols:i32 eps:fp32", warps=8, BLOCK=4096)
case("rmsnorm_backward", rmsnorm_backward, "dy:*bf16 x:*bf16 w:*bf16 dx:*bf16 dw:*fp32 rows:i32 stride:i32%16 cols:i32 eps:fp32", warps=8, BLOCK=2048)


@triton.jit
def cross_entropy(logits, labels, loss, stride, cols, BLOCK: tl.constexpr):
    """The loss of a row, and the gradient in the logits' place."""
    row = tl.program_id(0).to(tl.int64)
    label = tl.load(labels + row)
    logits += row * stride
    if label == -100:
        for start in range(0, cols, BLOCK):
            at = start + tl.arange(0, BLOCK)
            tl.store(logits + at, 0.0, at < cols)
        tl.store(loss + row, 0.0)
        return
    top = float("-inf")
    total = 0.0
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        v = tl.load(logits + at, at < cols, other=float("-inf")).to(tl.float32)
        new = tl.maximum(top, tl.max(v, 0))
        total = total * tl.exp(top - new) + tl.sum(tl.exp(v - new), 0)
        top = new
    picked = tl.load(logits + label).to(tl.float32)
    tl.debug_barrier()
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        v = tl.load(logits + at, at < cols, other=float("-inf")).to(tl.float32)
        g = tl.exp(v - top) / total - tl.where(at == label, 1.0, 0.0)
        tl.store(logits + at, g, at < cols)
    tl.store(loss + row, tl.log(total) + top - picked)


case("cross_entropy_bf16", cross_entropy, "logits:*bf16 labels:*i64 loss:*fp32 stride:i32%16 cols:i32", warps=8, BLOCK=4096)
case("cross_entropy_fp32", cross_entropy, "logits:*fp32 labels:*i32 loss:*fp32 stride:i32 cols:i32", BLOCK=1024)


@triton.jit
def kl_divergence(p, q, loss, stride, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros([BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        a = tl.load(p + row * stride + at, at < cols, other=0.0)
        b = tl.load(q + row * stride + at, at < cols, other=0.0)
        acc += tl.exp(b) * (b - a)
    tl.store(loss + row, tl.sum(acc, 0))


case("kl_divergence", kl_divergence, "p:*fp32 q:*fp32 loss:*fp32 stride:i32%16 cols:i32", BLOCK=1024)


@triton.jit
def groupnorm(x, w, b, out, channels, size, eps, BLOCK: tl.constexpr, PER: tl.constexpr):
    group = tl.program_id(0)
    base = x + group * PER * size
    at = tl.arange(0, BLOCK)
    total = PER * size
    s = tl.zeros([BLOCK], tl.float32)
    ss = tl.zeros([BLOCK], tl.float32)
    for start in range(0, total, BLOCK):
        v = tl.load(base + start + at, start + at < total, other=0.0).to(tl.float32)
        s += v
        ss += v * v
    mu = tl.sum(s, 0) / total
    r = tl.rsqrt(tl.sum(ss, 0) / total - mu * mu + eps)
    for c in tl.static_range(PER):
        channel = (group * PER + c) % channels
        a = tl.load(w + channel).to(tl.float32) * r
        d = tl.load(b + channel).to(tl.float32)
        for start in range(0, size, BLOCK):
            place = c * size + start + at
            v = tl.load(base + place, start + at < size, other=0.0).to(tl.float32)
            tl.store(out + group * total + place, (v - mu) * a + d, start + at < size)


case("groupnorm", groupnorm, "x:*fp16 w:*fp16 b:*fp16 out:*fp16 channels:i32 size:i32 eps:fp32", BLOCK=512, PER=4)
