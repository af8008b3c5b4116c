"""Reductions of every kind, scans, sorting, histograms, atomics, gathers and changes of shape."""
import triton
import triton.language as tl

from registry import case


@triton.jit
def reduce_tile(x, sums, tops, lows, args, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    rows = tl.arange(0, M)
    cols = tl.arange(0, N)
    v = tl.load(x + tl.program_id(0) * M * N + rows[:, None] * N + cols[None, :])
    kept = cols if AXIS == 0 else rows
    size: tl.constexpr = N if AXIS == 0 else M
    at = tl.program_id(0) * size + kept
    tl.store(sums + at, tl.sum(v, AXIS))
    tl.store(tops + at, tl.max(v, AXIS))
    tl.store(lows + at, tl.min(v, AXIS))
    tl.store(args + at, tl.argmax(v, AXIS))


for kind in ["fp32", "fp16", "i32"]:
    for axis in [0, 1]:
        case(f"reduce_{kind}_axis{axis}", reduce_tile, f"x:*{kind} sums:*{kind} tops:*{kind} lows:*{kind} args:*i32", M=64, N=64, AXIS=axis)


@triton.jit
def reduce_bits(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + tl.program_id(0) * n + at, at < n, other=0)
    tl.store(out + tl.program_id(0), tl.xor_sum(v, 0) + tl.max(v, 0) + tl.reduce_or(v, 0))


case("reduce_bits_i32", reduce_bits, "x:*i32 out:*i32 n:i32", BLOCK=1024)
case("reduce_bits_i64", reduce_bits, "x:*i64 out:*i64 n:i32", BLOCK=512)


@triton.jit
def welford(ma, sa, na, mb, sb, nb):
    n = na + nb
    d = mb - ma
    r = tl.where(n == 0.0, 0.0, nb / n)
    return ma + d * r, sa + sb + d * d * na * r, n


@triton.jit
def moments(x, mean, deviation, stride, cols, BLOCK: tl.constexpr):
    """A reduction of three values at once."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + at, at < cols, other=0.0)
    zero = tl.zeros([BLOCK], tl.float32)
    m, s, n = tl.reduce((v, zero, tl.where(at < cols, 1.0, 0.0)), 0, welford)
    tl.store(mean + row, m)
    tl.store(deviation + row, s / n)


case("welford", moments, "x:*fp32 mean:*fp32 deviation:*fp32 stride:i32 cols:i32", BLOCK=1024)


@triton.jit
def column_sums(x, out, rows, cols, BM: tl.constexpr, BN: tl.constexpr):
    at = tl.program_id(0) * BN + tl.arange(0, BN)
    acc = tl.zeros([BM, BN], tl.float32)
    for start in range(0, rows, BM):
        r = start + tl.arange(0, BM)
        acc += tl.load(x + r[:, None] * cols + at[None, :], (r[:, None] < rows) & (at[None, :] < cols), other=0.0)
    tl.store(out + at, tl.sum(acc, 0), at < cols)


case("column_sums", column_sums, "x:*fp32 out:*fp32 rows:i32 cols:i32", BM=32, BN=64)


@triton.jit
def scans(x, sums, products, backwards, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + at, at < cols, other=0)
    tl.store(sums + row * cols + at, tl.cumsum(v, 0), at < cols)
    tl.store(products + row * cols + at, tl.cumprod(v, 0), at < cols)
    tl.store(backwards + row * cols + at, tl.cumsum(v, 0, reverse=True), at < cols)


case("scan_i32", scans, "x:*i32 sums:*i32 products:*i32 backwards:*i32 cols:i32", BLOCK=512)
case("scan_fp32", scans, "x:*fp32 sums:*fp32 products:*fp32 backwards:*fp32 cols:i32", BLOCK=1024)
case("scan_fp64", scans, "x:*fp64 sums:*fp64 products:*fp64 backwards:*fp64 cols:i32", BLOCK=256)


@triton.jit
def scan_tile(x, out, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    place = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + place, tl.cumsum(tl.load(x + place), AXIS))


case("scan_tile_axis0", scan_tile, "x:*fp32 out:*fp32", M=128, N=32, AXIS=0)
case("scan_tile_axis1", scan_tile, "x:*fp32 out:*fp32", M=32, N=128, AXIS=1)


@triton.jit
def linear_step(a, x, b, y):
    return a * b, b * x + y


@triton.jit
def recurrence(a, x, out, stride, length, BLOCK: tl.constexpr):
    """h[t] = a[t] h[t-1] + x[t] as an associative scan, by blocks with what was before carried along."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    h = 0.0
    for start in range(0, length, BLOCK):
        inside = start + at < length
        d = tl.load(a + row * stride + start + at, inside, other=1.0)
        v = tl.load(x + row * stride + start + at, inside, other=0.0)
        d, v = tl.associative_scan((d, v), 0, linear_step)
        y = d * h + v
        tl.store(out + row * stride + start + at, y, inside)
        h = tl.sum(tl.where(at == BLOCK - 1, y, 0.0), 0)


case("recurrence", recurrence, "a:*fp32 x:*fp32 out:*fp32 stride:i32%16 length:i32", BLOCK=256)


@triton.jit
def sort_rows(x, out, BLOCK: tl.constexpr, DOWN: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.sort(tl.load(x + at), descending=DOWN))


case("sort_i32_256", sort_rows, "x:*i32 out:*i32", BLOCK=256, DOWN=False)
case("sort_fp32_1024", sort_rows, "x:*fp32 out:*fp32", BLOCK=1024, DOWN=True)
case("sort_fp16_128", sort_rows, "x:*fp16 out:*fp16", warps=1, BLOCK=128, DOWN=False)


@triton.jit
def top_k(x, out, stride, cols, BLOCK: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + at, at < cols, other=float("-inf"))
    tl.store(out + row * K + tl.arange(0, K), tl.topk(v, K))


case("top_k_fp32", top_k, "x:*fp32 out:*fp32 stride:i32 cols:i32", BLOCK=256, K=8)


@triton.jit
def top_experts(logits, weights, chosen, tokens, EXPERTS: tl.constexpr, K: tl.constexpr, BLOCK: tl.constexpr):
    """Mixture of experts: the best K of a token, one after another, and their softmax."""
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    e = tl.arange(0, EXPERTS)
    v = tl.load(logits + rows[:, None] * EXPERTS + e[None, :], rows[:, None] < tokens, other=float("-inf")).to(tl.float32)
    top = tl.max(v, 1)
    total = tl.sum(tl.exp(v - top[:, None]), 1)
    for k in tl.static_range(K):
        best = tl.max(v, 1)
        at = tl.argmax(v, 1)
        tl.store(weights + rows * K + k, tl.exp(best - top) / total, rows < tokens)
        tl.store(chosen + rows * K + k, at, rows < tokens)
        v = tl.where(e[None, :] == at[:, None], float("-inf"), v)


case("top_experts", top_experts, "logits:*bf16 weights:*fp32 chosen:*i32 tokens:i32", EXPERTS=64, K=4, BLOCK=16)


@triton.jit
def expert_counts(chosen, counts, n, EXPERTS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    e = tl.load(chosen + at, at < n, other=0)
    h = tl.histogram(e, EXPERTS, mask=at < n)
    tl.atomic_add(counts + tl.arange(0, EXPERTS), h)


case("expert_counts", expert_counts, "chosen:*i32 counts:*i32 n:i32", EXPERTS=64, BLOCK=1024)


@triton.jit
def histogram(x, out, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    acc = tl.zeros([BINS], tl.int32)
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        at = start + tl.arange(0, BLOCK)
        acc += tl.histogram(tl.load(x + at, at < n, other=0).to(tl.int32), BINS)
    tl.atomic_add(out + tl.arange(0, BINS), acc, sem="relaxed")


case("histogram_256", histogram, "x:*u8 out:*i32 n:i32", BINS=256, BLOCK=512)
case("histogram_16", histogram, "x:*i32 out:*i32 n:i32", BINS=16, BLOCK=256)


@triton.jit
def atomics(x, where, sums, tops, lows, bits, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    v = tl.load(x + at, inside)
    i = tl.load(where + at, inside)
    tl.atomic_add(sums + i, v, inside)
    tl.atomic_max(tops + i, v, inside)
    tl.atomic_min(lows + i, v, inside)
    tl.atomic_or(bits + i, at, inside)
    tl.atomic_xor(bits + i, 3, inside)
    old = tl.atomic_and(bits + i, 0x7fff, inside, sem="acquire", scope="cta")
    tl.atomic_add(bits + i, old & 1, inside, sem="release", scope="sys")


case("atomics_fp32", atomics, "x:*fp32 where:*i32 sums:*fp32 tops:*fp32 lows:*fp32 bits:*i32 n:i32", BLOCK=256)
case("atomics_i32", atomics, "x:*i32 where:*i32 sums:*i32 tops:*i32 lows:*i32 bits:*i32 n:i32", BLOCK=256)


@triton.jit
def atomic_sum(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + at, at < n, other=0.0), 0))


@triton.jit
def scatter_add(x, rows, out, cols, BLOCK: tl.constexpr):
    r = tl.load(rows + tl.program_id(0))
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + r * cols + at, tl.load(x + tl.program_id(0) * cols + at, at < cols), at < cols, sem="relaxed")


case("atomic_sum_fp32", atomic_sum, "x:*fp32 out:*fp32 n:i32", BLOCK=1024)
case("atomic_sum_fp64", atomic_sum, "x:*fp64 out:*fp64 n:i32", BLOCK=512)
case("scatter_add_fp32", scatter_add, "x:*fp32 rows:*i32 out:*fp32 cols:i32%16", BLOCK=512)
case("scatter_add_fp16", scatter_add, "x:*fp16 rows:*i32 out:*fp16 cols:i32%16", BLOCK=512)
case("scatter_add_bf16", scatter_add, "x:*bf16 rows:*i64 out:*bf16 cols:i32", BLOCK=512)


@triton.jit
def compare_and_swap(flags, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    old = tl.atomic_cas(flags + at % 64, at * 0, at + 1)
    tl.store(out + at, old, at < n)


case("compare_and_swap_i32", compare_and_swap, "flags:*i32 out:*i32 n:i32", BLOCK=256)


@triton.jit
def last_program_sums(x, partial, count, out, n, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr):
    """The program that ends last adds up what all have written."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(partial + tl.program_id(0), tl.sum(tl.load(x + at, at < n, other=0.0), 0))
    if tl.atomic_add(count, 1, sem="acq_rel") == PROGRAMS - 1:
        tl.store(out, tl.sum(tl.load(partial + tl.arange(0, PROGRAMS), cache_modifier=".cg"), 0))


case("last_program_sums", last_program_sums, "x:*fp32 partial:*fp32 count:*i32 out:*fp32 n:i32", PROGRAMS=128, BLOCK=512)


@triton.jit
def embedding(ids, table, out, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    token = tl.load(ids + row)
    at = tl.arange(0, BLOCK)
    tl.store(out + row * cols + at, tl.load(table + token * cols + at, at < cols), at < cols)


@triton.jit
def gather_columns(x, where, out, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    place = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + place, tl.gather(tl.load(x + place), tl.load(where + place), AXIS))


@triton.jit
def bag(ids, offsets, table, out, cols, BLOCK: tl.constexpr):
    """Sums of rows, as many as each bag has."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK], tl.float32)
    for i in range(tl.load(offsets + row), tl.load(offsets + row + 1)):
        acc += tl.load(table + tl.load(ids + i) * cols + at, at < cols, other=0.0)
    tl.store(out + row * cols + at, acc, at < cols)


case("embedding_fp16", embedding, "ids:*i64 table:*fp16 out:*fp16 cols:i32%16", BLOCK=1024)
case("gather_axis0", gather_columns, "x:*fp32 where:*i32 out:*fp32", M=64, N=32, AXIS=0)
case("gather_axis1", gather_columns, "x:*fp32 where:*i32 out:*fp32", M=32, N=64, AXIS=1)
case("embedding_bag", bag, "ids:*i32 offsets:*i32 table:*fp32 out:*fp32 cols:i32%16", BLOCK=256)


@triton.jit
def spmv(rows, cols, values, x, y, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros([BLOCK], tl.float32)
    end = tl.load(rows + row + 1)
    for start in range(tl.load(rows + row), end, BLOCK):
        at = start + tl.arange(0, BLOCK)
        c = tl.load(cols + at, at < end, other=0)
        acc += tl.load(values + at, at < end, other=0.0) * tl.load(x + c)
    tl.store(y + row, tl.sum(acc, 0))


case("spmv_csr", spmv, "rows:*i32 cols:*i32 values:*fp32 x:*fp32 y:*fp32", warps=1, BLOCK=64)


@triton.jit
def transpose(x, out, m, n, BM: tl.constexpr, BN: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    c = tl.program_id(1) * BN + tl.arange(0, BN)
    v = tl.load(x + r[:, None] * n + c[None, :], (r[:, None] < m) & (c[None, :] < n))
    tl.store(out + c[:, None] * m + r[None, :], tl.trans(v), (c[:, None] < n) & (r[None, :] < m))


for kind in ["fp32", "fp16", "i8"]:
    case(f"transpose_{kind}", transpose, f"x:*{kind} out:*{kind} m:i32%16 n:i32%16", BM=64, BN=64)


@triton.jit
def reshape_zoo(x, y, out, N: tl.constexpr):
    at = tl.arange(0, N)
    a = tl.load(x + at)
    b = tl.load(y + at)
    i = tl.interleave(a, b)
    j = tl.join(a, b)
    low, high = tl.split(tl.reshape(tl.flip(i, 0), (N, 2)))
    t = tl.reshape(tl.permute(tl.reshape(i, (8, 4, N // 16)), (2, 0, 1)), (2 * N,))
    tl.store(out + at, low + high + tl.sum(j, 1))
    tl.store(out + N + tl.arange(0, 2 * N), t + tl.cat(a, b, can_reorder=True))


case("reshape_zoo", reshape_zoo, "x:*fp32 y:*fp32 out:*fp32", N=256)


@triton.jit
def inline_assembly(x, y, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    b = tl.load(y + at)
    r = tl.inline_asm_elementwise("lop3.b32 $0, $1, $2, 0x55, 0xe8;", "=r,r,r", [a, b], dtype=tl.int32, is_pure=True, pack=1)
    q = tl.inline_asm_elementwise("{ .reg .b32 t; prmt.b32 t, $1, $2, 0x5140; dp4a.s32.s32 $0, t, $2, $1; }", "=r,r,r", [a, b],
                                  dtype=tl.int32, is_pure=True, pack=1)
    tl.store(out + at, r + q)


@triton.jit
def asserts(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, at < n, other=0)
    tl.device_assert(v < 1000, "too large")
    tl.device_print("value", v)
    tl.store(out + at, v, at < n)


case("inline_assembly", inline_assembly, "x:*i32 y:*i32 out:*i32", BLOCK=512)
case("assert_and_print", asserts, "x:*i32 out:*i32 n:i32", BLOCK=128, options={"debug": True})
