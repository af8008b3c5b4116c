"""Matrix products in other shapes: persistent, by tensor maps, split along k, grouped, batched, sparse, convolutions."""
import triton
import triton.language as tl

from registry import case


@triton.jit
def persistent(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, FLATTEN: tl.constexpr):
    tm = tl.cdiv(m, BM)
    tn = tl.cdiv(n, BN)
    steps = tl.cdiv(k, BK)
    rk = tl.arange(0, BK)
    for index in tl.range(tl.program_id(0), tm * tn, tl.num_programs(0), flatten=FLATTEN):
        width = GROUP * tn
        first = index // width * GROUP
        rows = min(tm - first, GROUP)
        i = first + index % width % rows
        j = index % width // rows
        rm = tl.max_contiguous(tl.multiple_of(tl.where(i * BM + tl.arange(0, BM) < m, i * BM + tl.arange(0, BM), 0), BM), BM)
        rn = tl.max_contiguous(tl.multiple_of(tl.where(j * BN + tl.arange(0, BN) < n, j * BN + tl.arange(0, BN), 0), BN), BN)
        acc = tl.zeros([BM, BN], tl.float32)
        for s in range(steps):
            at = s * BK + rk
            x = tl.load(a + rm[:, None] * k + at[None, :], rk[None, :] < k - s * BK, other=0.0)
            y = tl.load(b + at[:, None] * n + rn[None, :], rk[:, None] < k - s * BK, other=0.0)
            acc = tl.dot(x, y, acc)
        om = i * BM + tl.arange(0, BM)
        on = j * BN + tl.arange(0, BN)
        tl.store(c + om[:, None] * n + on[None, :], acc.to(c.dtype.element_ty), (om[:, None] < m) & (on[None, :] < n))


case("persistent_fp16", persistent, "a:*fp16 b:*fp16 c:*fp16 m:i32 n:i32%16 k:i32%16", warps=8, stages=3, BM=128, BN=128, BK=64, GROUP=8,
     FLATTEN=False)
case("persistent_flat", persistent, "a:*fp16 b:*fp16 c:*fp16 m:i32 n:i32%16 k:i32%16", warps=4, stages=4, BM=128, BN=64, BK=32, GROUP=4,
     FLATTEN=True)


@triton.jit
def by_host_maps(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Tensor maps made by the host: the copies are bulk copies of tensors."""
    i = tl.program_id(0) * BM
    j = tl.program_id(1) * BN
    acc = tl.zeros([BM, BN], tl.float32)
    for s in range(0, k, BK):
        acc = tl.dot(a.load([i, s]), b.load([j, s]).T, acc)
    c.store([i, j], acc.to(c.dtype))


for kind, bm, bn, bk, warps, stages in [("fp16", 128, 128, 64, 4, 3), ("bf16", 128, 256, 64, 8, 3), ("fp8e4nv", 128, 128, 128, 4, 4), ("fp16", 64, 64, 32, 4, 2)]:
    case(f"matmul_tma_{kind}_{bm}x{bn}", by_host_maps,
         f"a:tensordesc<{kind}[{bm};{bk}]> b:tensordesc<{kind}[{bn};{bk}]> c:tensordesc<fp16[{bm};{bn}]> m:i32 n:i32 k:i32", warps=warps,
         stages=stages, BM=bm, BN=bn, BK=bk)


@triton.jit
def by_device_maps(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr):
    """Tensor maps made by the kernel itself, in scratch memory; the result in two halves."""
    da = tl.make_tensor_descriptor(a, shape=[m, k], strides=[k, 1], block_shape=[BM, BK])
    db = tl.make_tensor_descriptor(b, shape=[n, k], strides=[k, 1], block_shape=[BN, BK])
    dc = tl.make_tensor_descriptor(c, shape=[m, n], strides=[n, 1], block_shape=[BM, BN // 2 if SPLIT else BN])
    tn = tl.cdiv(n, BN)
    for index in tl.range(tl.program_id(0), tl.cdiv(m, BM) * tn, tl.num_programs(0)):
        i = index // tn * BM
        j = index % tn * BN
        acc = tl.zeros([BM, BN], tl.float32)
        for s in range(0, k, BK):
            acc = tl.dot(da.load([i, s]), db.load([j, s]).T, acc)
        if SPLIT:
            low, high = tl.split(tl.permute(tl.reshape(acc, (BM, 2, BN // 2)), (0, 2, 1)))
            dc.store([i, j], low.to(c.dtype.element_ty))
            dc.store([i, j + BN // 2], high.to(c.dtype.element_ty))
        else:
            dc.store([i, j], acc.to(c.dtype.element_ty))


case("matmul_maps_fp16", by_device_maps, "a:*fp16 b:*fp16 c:*fp16 m:i32 n:i32%16 k:i32%16", warps=8, BM=128, BN=128, BK=64, SPLIT=False)
case("matmul_maps_split", by_device_maps, "a:*bf16 b:*bf16 c:*bf16 m:i32 n:i32%16 k:i32%16", warps=8, BM=128, BN=256, BK=64, SPLIT=True)


@triton.jit
def map_gather(x, ids, out, BLOCK: tl.constexpr, COLS: tl.constexpr):
    """Copies of a tensor's block, reduced into another's."""
    t = x.load([tl.program_id(0) * BLOCK, 0])
    out.atomic_add([tl.load(ids + tl.program_id(0)), 0], t)


case("map_reduce", map_gather, "x:tensordesc<fp32[32;64]> ids:*i32 out:tensordesc<fp32[32;64]>", BLOCK=32, COLS=64)


@triton.jit
def split_k(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PARTS: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.program_id(2) * BK + tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    for start in range(0, k, BK * PARTS):
        at = start + rk
        x = tl.load(a + rm[:, None] * k + at[None, :], at[None, :] < k, other=0.0)
        y = tl.load(b + at[:, None] * n + rn[None, :], at[:, None] < k, other=0.0)
        acc = tl.dot(x, y, acc)
    tl.atomic_add(c + rm[:, None] * n + rn[None, :], acc, (rm[:, None] < m) & (rn[None, :] < n), sem="relaxed")


case("split_k", split_k, "a:*fp16 b:*fp16 c:*fp32 m:i32 n:i32%16 k:i32%16", BM=64, BN=64, BK=32, PARTS=4)


@triton.jit
def grouped(pa, pb, pc, sizes, groups, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Many products of different sizes: pointers and sizes come from memory."""
    done = 0
    index = tl.program_id(0)
    for g in range(groups):
        m = tl.load(sizes + 3 * g)
        n = tl.load(sizes + 3 * g + 1)
        k = tl.load(sizes + 3 * g + 2)
        tn = tl.cdiv(n, BN)
        tiles = tl.cdiv(m, BM) * tn
        while index >= done and index < done + tiles:
            a = tl.load(pa + g).to(tl.pointer_type(tl.float16))
            b = tl.load(pb + g).to(tl.pointer_type(tl.float16))
            c = tl.load(pc + g).to(tl.pointer_type(tl.float16))
            rm = (index - done) // tn * BM + tl.arange(0, BM)
            rn = (index - done) % tn * BN + tl.arange(0, BN)
            rk = tl.arange(0, BK)
            acc = tl.zeros([BM, BN], tl.float32)
            for start in range(0, k, BK):
                x = tl.load(a + rm[:, None] * k + (start + rk)[None, :], rm[:, None] < m, other=0.0)
                y = tl.load(b + (start + rk)[:, None] * n + rn[None, :], rn[None, :] < n, other=0.0)
                acc = tl.dot(x, y, acc)
            tl.store(c + rm[:, None] * n + rn[None, :], acc.to(tl.float16), (rm[:, None] < m) & (rn[None, :] < n))
            index += tl.num_programs(0)
        done += tiles


case("grouped", grouped, "pa:*i64 pb:*i64 pc:*i64 sizes:*i32 groups:i32", warps=4, BM=64, BN=64, BK=32)


@triton.jit
def experts(a, b, c, weights, tokens, block_expert, n, k, count, top, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Mixture of experts: the rows of a block are gathered, all of one expert."""
    place = tl.program_id(0) * BM + tl.arange(0, BM)
    row = tl.load(tokens + place)
    inside = row < count
    e = tl.load(block_expert + tl.program_id(0)).to(tl.int64)
    if e == -1:
        return
    rn = (tl.program_id(1) * BN + tl.arange(0, BN)) % n
    rk = tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    for start in range(0, k, BK):
        x = tl.load(a + (row // top)[:, None] * k + (start + rk)[None, :], inside[:, None] & ((start + rk)[None, :] < k), other=0.0)
        y = tl.load(b + e * n * k + rn[None, :] * k + (start + rk)[:, None], (start + rk)[:, None] < k, other=0.0)
        acc = tl.dot(x, y, acc)
    acc *= tl.load(weights + row, inside, other=0.0)[:, None]
    on = tl.program_id(1) * BN + tl.arange(0, BN)
    tl.store(c + row[:, None] * n + on[None, :], acc.to(c.dtype.element_ty), inside[:, None] & (on[None, :] < n))


case("experts_bf16", experts,
     "a:*bf16 b:*bf16 c:*bf16 weights:*fp32 tokens:*i32 block_expert:*i32 n:i32%16 k:i32%16 count:i32 top:i32", stages=4, BM=64, BN=64, BK=32)
case("experts_fp16_16", experts,
     "a:*fp16 b:*fp16 c:*fp16 weights:*fp32 tokens:*i32 block_expert:*i32 n:i32%16 k:i32%16 count:i32 top:i32", stages=3, BM=16, BN=128, BK=64)


@triton.jit
def batched(a, b, c, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """A product of three-dimensional blocks."""
    i = tl.arange(0, B)[:, None, None]
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    k = tl.arange(0, K)
    x = tl.load(a + i * (M * K) + m[None, :, None] * K + k[None, None, :])
    y = tl.load(b + i * (K * N) + k[None, :, None] * N + n[None, None, :])
    tl.store(c + i * (M * N) + m[None, :, None] * N + n[None, None, :], tl.dot(x, y))


case("batched_fp16", batched, "a:*fp16 b:*fp16 c:*fp32", B=4, M=32, N=32, K=32)


@triton.jit
def gemv(a, x, y, n, k, BN: tl.constexpr, BK: tl.constexpr):
    rn = tl.program_id(0) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros([BN, BK], tl.float32)
    for start in range(0, k, BK):
        w = tl.load(a + rn[:, None] * k + (start + rk)[None, :], (rn[:, None] < n) & ((start + rk)[None, :] < k), other=0.0)
        acc += w.to(tl.float32) * tl.load(x + start + rk, start + rk < k, other=0.0).to(tl.float32)[None, :]
    tl.store(y + rn, tl.sum(acc, 1), rn < n)


case("gemv_fp16", gemv, "a:*fp16 x:*fp16 y:*fp32 n:i32 k:i32%16", BN=16, BK=256)
case("gemv_fp8", gemv, "a:*fp8e4nv x:*fp16 y:*fp32 n:i32 k:i32%16", BN=8, BK=512)


@triton.jit
def block_sparse(a, b, c, columns, starts, n, k, BM: tl.constexpr, BN: tl.constexpr):
    """Blocks of A that are not zero, listed by row."""
    row = tl.program_id(0)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rm = tl.arange(0, BM)
    acc = tl.zeros([BM, BN], tl.float32)
    for i in range(tl.load(starts + row), tl.load(starts + row + 1)):
        col = tl.load(columns + i)
        x = tl.load(a + i * BM * BM + rm[:, None] * BM + rm[None, :])
        y = tl.load(b + (col * BM + rm)[:, None] * n + rn[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + (row * BM + rm)[:, None] * n + rn[None, :], acc.to(c.dtype.element_ty))


case("block_sparse", block_sparse, "a:*fp16 b:*fp16 c:*fp16 columns:*i32 starts:*i32 n:i32%16 k:i32%16", BM=32, BN=64)


@triton.jit
def conv2d(x, w, out, h, wd, cin, cout, oh, ow, R: tl.constexpr, S: tl.constexpr, STRIDE: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
           BK: tl.constexpr):
    """A convolution as a product: channels last."""
    p = tl.program_id(0) * BM + tl.arange(0, BM)
    o = tl.program_id(1) * BN + tl.arange(0, BN)
    image = p // (oh * ow)
    y = p // ow % oh
    z = p % ow
    acc = tl.zeros([BM, BN], tl.float32)
    for rs in range(R * S):
        iy = y * STRIDE + rs // S - R // 2
        iz = z * STRIDE + rs % S - S // 2
        inside = (iy >= 0) & (iy < h) & (iz >= 0) & (iz < wd)
        for start in range(0, cin, BK):
            ci = start + tl.arange(0, BK)
            v = tl.load(x + ((image * h + iy) * wd + iz)[:, None] * cin + ci[None, :], inside[:, None] & (ci[None, :] < cin), other=0.0)
            f = tl.load(w + (rs * cin + ci)[:, None] * cout + o[None, :], (ci[:, None] < cin) & (o[None, :] < cout), other=0.0)
            acc = tl.dot(v, f, acc)
    tl.store(out + p[:, None] * cout + o[None, :], acc.to(out.dtype.element_ty), o[None, :] < cout)


case("conv2d_3x3", conv2d, "x:*fp16 w:*fp16 out:*fp16 h:i32 wd:i32 cin:i32%16 cout:i32%16 oh:i32 ow:i32", R=3, S=3, STRIDE=1, BM=64, BN=64, BK=32)


@triton.jit
def depthwise(x, w, out, length, channels, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    """A causal convolution of each channel, then silu."""
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    t = tl.program_id(0)
    acc = tl.zeros([BLOCK], tl.float32)
    for i in tl.static_range(WIDTH):
        at = t - (WIDTH - 1) + i
        v = tl.load(x + at * channels + c, (at >= 0) & (c < channels), other=0.0).to(tl.float32)
        acc += v * tl.load(w + c * WIDTH + i, c < channels, other=0.0).to(tl.float32)
    tl.store(out + t * channels + c, (acc * tl.sigmoid(acc)).to(out.dtype.element_ty), c < channels)


case("depthwise_causal", depthwise, "x:*bf16 w:*bf16 out:*bf16 length:i32 channels:i32%16", WIDTH=4, BLOCK=256)


@triton.jit
def pooled(x, out, h, w, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = at // (w // 2)
    z = at % (w // 2)
    best = tl.full([BLOCK], -float("inf"), tl.float32)
    for i in tl.static_range(2):
        for j in tl.static_range(2):
            best = tl.maximum(best, tl.load(x + (2 * y + i) * w + 2 * z + j, y < h // 2, other=-float("inf")))
    tl.store(out + at, best, y < h // 2)


case("max_pool", pooled, "x:*fp32 out:*fp32 h:i32 w:i32", BLOCK=256)


@triton.jit
def low_rank(x, a, b, out, k, n, R: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """(x a) b with a small rank: two products after one another."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rr = tl.arange(0, R)
    mid = tl.zeros([BM, R], tl.float32)
    for start in range(0, k, BK):
        rk = start + tl.arange(0, BK)
        mid = tl.dot(tl.load(x + rm[:, None] * k + rk[None, :]), tl.load(a + rk[:, None] * R + rr[None, :]), mid)
    y = tl.dot(mid.to(tl.bfloat16), tl.load(b + rr[:, None] * n + rn[None, :]))
    old = tl.load(out + rm[:, None] * n + rn[None, :])
    tl.store(out + rm[:, None] * n + rn[None, :], old + y.to(tl.bfloat16))


case("low_rank", low_rank, "x:*bf16 a:*bf16 b:*bf16 out:*bf16 k:i32%16 n:i32%16", R=16, BM=64, BN=64, BK=64)


@triton.jit
def gated(x, w1, w2, out, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """silu(x w1) * (x w2): two accumulators."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    g = tl.zeros([BM, BN], tl.float32)
    u = tl.zeros([BM, BN], tl.float32)
    for start in range(0, k, BK):
        rk = start + tl.arange(0, BK)
        v = tl.load(x + rm[:, None] * k + rk[None, :], rm[:, None] < m, other=0.0)
        g = tl.dot(v, tl.load(w1 + rk[:, None] * n + rn[None, :]), g)
        u = tl.dot(v, tl.load(w2 + rk[:, None] * n + rn[None, :]), u)
    tl.store(out + rm[:, None] * n + rn[None, :], (g * tl.sigmoid(g) * u).to(out.dtype.element_ty), rm[:, None] < m)


case("gated_product", gated, "x:*bf16 w1:*bf16 w2:*bf16 out:*bf16 m:i32 n:i32%16 k:i32%16", warps=8, BM=128, BN=64, BK=64)
