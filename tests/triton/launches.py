"""Small launches of the kernels: a grid and what the arguments are, by the kernel's function.

An argument is a number, or a buffer: `some(n)` is n random values, of integers all bits; `below(n, top)` integers 0 … top - 1;
`fill(n, value)` one value; `values(list)`; `matrix(rows, cols)` the tensor of a map. `grouped` alone has no launch: it finds pointers in memory. What the numbers are made of stands in
the JSON file; the buffers' contents are made by who runs them.
"""


def some(count):
    return {"count": count}


def below(count, top):
    return {"count": count, "below": top}


def fill(count, value=0):
    return {"count": count, "fill": value}


def values(*numbers):
    return {"count": len(numbers), "values": list(numbers)}


def matrix(rows, cols):
    return {"rows": rows, "cols": cols}


def elementwise(c):
    n = 2 * c["BLOCK"] - 37
    return {"grid": [2], "n": n, **{name: some(2 * c["BLOCK"]) for name in ["x", "y", "out"]}}


def rows(c, names, cols=None, count=3):
    cols = cols or c["BLOCK"] - 16
    return {"grid": [count], "stride": cols, "cols": cols, "rows": count, "eps": 1e-5, **{n: some(count * cols) for n in names.split()}}


def dense(c, m=None, n=None, k=None):
    m, n, k = m or c["BM"] + 16, n or c["BN"], k or 2 * c["BK"]
    return {"grid": [2], "m": m, "n": n, "k": k, "a": some(m * k), "b": some(k * n), "c": some(m * n)}


def product(c):
    d = dense(c)
    m, n, k = d["m"], d["n"], d["k"]
    return {**d, "am": k if c.get("ak") == 1 else 1, "ak": m, "bk": n, "bn": k, "cm": n}


def tiles(c, m=None, parts=1):
    """A program for each tile in two directions."""
    d = dense(c, m or c["BM"])
    return {**d, "grid": [-(-d["m"] // c["BM"]), d["n"] // c["BN"], parts]}


def flash(c):
    length, size, heads = 2 * max(c["BM"], c["BN"]), c["D"], 1
    all_ = {n: some(length * size * heads) for n in ["q", "k", "v", "out", "dout", "dq", "dk", "dv", "o"]}
    return {"grid": [2, heads], "length": length, "scale": 0.125, **all_, "lse": some(length), "delta": some(length)}


def flash_maps(c):
    length, size = 2 * max(c["BM"], c["BN"]), c["D"]
    return {"grid": [2, 1], "length": length, "scale": 0.125, **{n: matrix(length, size) for n in "qkvo"}}


def tma(c):
    m, n, k = c["BM"], c["BN"], 2 * c["BK"]
    return {"grid": [1, 1], "m": m, "n": n, "k": k, "a": matrix(m, k), "b": matrix(n, k), "c": matrix(m, n)}


def scan(c):
    n = c["BLOCK"] - 5
    return {"grid": [2], "cols": n, **{name: some(2 * n) for name in ["x", "sums", "products", "backwards"]}}


def block(c):
    n = c.get("M", 1) * c.get("N", 1)
    return {"grid": [1], "x": some(n), "out": some(n)}


def scaled(c):
    m, n, k = c["BM"], c["BN"], 2 * c["BK"]
    pa = 2 if c.get("A") == "e2m1" else 1
    pb = 2 if c.get("B") == "e2m1" else 1
    return {"grid": [1, 1], "k": k, "a": some(m * k // pa), "b": some(n * k // pb), "sa": {"count": m * k // 32, "range": [120, 130]},
            "sb": {"count": n * k // 32, "range": [120, 130]}, "c": some(m * n)}


LAUNCHES = {
    # elementwise.py
    "vector_add": elementwise,
    "strided_loop": lambda c: {"grid": [2], "n": 5 * c["BLOCK"] - 3, "x": some(5 * c["BLOCK"]), "out": some(5 * c["BLOCK"])},
    "gelu_tanh": elementwise,
    "gelu_erf": elementwise,
    "swiglu": lambda c: {"grid": [2, 1], "rows": 2, "cols": c["BLOCK"] - 16, **{n: some(2 * c["BLOCK"]) for n in ["gate", "up", "out"]}},
    "swiglu_backward": lambda c: {"grid": [2], "cols": c["BLOCK"] - 16, **{n: some(2 * c["BLOCK"]) for n in ["grad", "gate", "up", "dgate", "dup"]}},
    "dropout": lambda c: {**elementwise(c), "p": 0.25, "seed": 7},
    "dropout_rows": lambda c: {"grid": [2], "n": c["BLOCK"] - 5, "p": 0.5, "x": some(2 * c["BLOCK"]), "out": some(2 * c["BLOCK"]), "seeds": some(2)},
    "normals": lambda c: {"grid": [2], "n": 2 * c["BLOCK"], "seed": 3, "out": some(2 * c["BLOCK"])},
    "math_zoo": elementwise,
    "math_double": elementwise,
    "libdevice_zoo": elementwise,
    "libdevice_double": elementwise,
    "integer_zoo": elementwise,
    "cast": elementwise,
    "rope": lambda c: {"grid": [2, 1], "stride": 2 * c["HALF"] * c["BLOCK_H"], "heads": c["BLOCK_H"] - 1, "q": some(4 * c["HALF"] * c["BLOCK_H"]),
                       "cos": some(2 * c["HALF"]), "sin": some(2 * c["HALF"])},
    "adamw": lambda c: {"grid": [1], "n": c["BLOCK"] - 3, "lr": 1e-3, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "decay": 0.01, "c1": 0.1, "c2": 0.01,
                        **{n: some(c["BLOCK"]) for n in "pgm"}, "v": fill(c["BLOCK"], 0.5)},
    # rows.py
    "softmax": lambda c: rows(c, "x out"),
    "softmax_persistent": lambda c: {**rows(c, "x out", count=5), "grid": [2]},
    "softmax_online": lambda c: rows(c, "x out", cols=3 * c["BLOCK"] - 9, count=2),
    "softmax_backward": lambda c: rows(c, "y dy dx"),
    "layernorm": lambda c: {**rows(c, "x out", cols=c["BLOCK"] + 48, count=2), "w": some(c["BLOCK"] + 48), "b": some(c["BLOCK"] + 48),
                            "mean": some(2), "rstd": some(2)},
    "layernorm_backward": lambda c: {**rows(c, "dx dy x"), "dw": some(c["GROUPS"] * c["BLOCK"]), "db": some(c["GROUPS"] * c["BLOCK"]),
                                     "w": some(c["BLOCK"]), "mean": some(3), "rstd": some(3), "locks": fill(2 * c["GROUPS"])},
    "layernorm_weights": lambda c: {"grid": [1], "groups": 40, "cols": c["BLOCK"], "dw": some(40 * c["BLOCK"]), "db": some(40 * c["BLOCK"]),
                                    "out_w": some(c["BLOCK"]), "out_b": some(c["BLOCK"])},
    "rmsnorm": lambda c: {**rows(c, "x out", count=2), "w": some(c["BLOCK"])},
    "rmsnorm_residual": lambda c: {**rows(c, "x residual out", count=2), "w": some(c["BLOCK"])},
    "rmsnorm_backward": lambda c: {**rows(c, "dy x dx", count=4), "grid": [2], "w": some(c["BLOCK"]), "dw": some(2 * c["BLOCK"])},
    "cross_entropy": lambda c: {**rows(c, "logits", cols=c["BLOCK"] + 64, count=2), "labels": values(5, -100), "loss": some(2)},
    "kl_divergence": lambda c: {**rows(c, "p q", count=2), "loss": some(2)},
    "groupnorm": lambda c: {"grid": [2], "channels": 2 * c["PER"], "size": 600, "eps": 1e-5, "x": some(1200 * c["PER"]), "out": some(1200 * c["PER"]),
                            "w": some(2 * c["PER"]), "b": some(2 * c["PER"])},
    # collective.py
    "reduce_tile": lambda c: {"grid": [2], "x": some(2 * c["M"] * c["N"]), **{n: some(2 * max(c["M"], c["N"])) for n in ["sums", "tops", "lows", "args"]}},
    "reduce_bits": lambda c: {"grid": [2], "n": c["BLOCK"] - 7, "x": some(2 * c["BLOCK"]), "out": some(2)},
    "moments": lambda c: {**rows(c, "x", count=2), "mean": some(2), "deviation": some(2)},
    "column_sums": lambda c: {"grid": [2], "rows": 70, "cols": 100, "x": some(7000), "out": some(100)},
    "scans": scan,
    "scan_tile": block,
    "recurrence": lambda c: {"grid": [2], "stride": 512, "length": 500, "a": fill(1024, 0.75), "x": some(1024), "out": some(1024)},
    "sort_rows": lambda c: {"grid": [2], "x": some(2 * c["BLOCK"]), "out": some(2 * c["BLOCK"])},
    "top_k": lambda c: {**rows(c, "x", count=2), "out": some(2 * c["K"])},
    "top_experts": lambda c: {"grid": [1], "tokens": c["BLOCK"] - 1, "logits": some(c["BLOCK"] * c["EXPERTS"]), "weights": some(c["BLOCK"] * c["K"]),
                              "chosen": some(c["BLOCK"] * c["K"])},
    "expert_counts": lambda c: {"grid": [2], "n": 2 * c["BLOCK"] - 9, "chosen": below(2 * c["BLOCK"], c["EXPERTS"]), "counts": fill(c["EXPERTS"])},
    "histogram": lambda c: {"grid": [2], "n": 3 * c["BLOCK"], "x": below(3 * c["BLOCK"], c["BINS"]), "out": fill(c["BINS"])},
    "atomics": lambda c: {"grid": [1], "n": c["BLOCK"] - 3, "x": below(c["BLOCK"], 100), "where": below(c["BLOCK"], 32),
                          **{n: fill(32) for n in ["sums", "tops", "lows"]}, "bits": fill(32)},
    "atomic_sum": lambda c: {"grid": [2], "n": 2 * c["BLOCK"] - 9, "x": some(2 * c["BLOCK"]), "out": fill(1)},
    "scatter_add": lambda c: {"grid": [3, 1], "cols": c["BLOCK"] - 16, "x": some(3 * c["BLOCK"]), "rows": values(0, 1, 0), "out": fill(2 * c["BLOCK"])},
    "compare_and_swap": lambda c: {"grid": [1], "n": c["BLOCK"], "flags": fill(64), "out": some(c["BLOCK"])},
    "last_program_sums": lambda c: {"grid": [c["PROGRAMS"]], "n": 64 * c["BLOCK"], "x": some(64 * c["BLOCK"]), "partial": some(c["PROGRAMS"]),
                                    "count": fill(1), "out": fill(1)},
    "embedding": lambda c: {"grid": [3], "cols": c["BLOCK"] - 16, "ids": values(2, 0, 1), "table": some(3 * c["BLOCK"]), "out": some(3 * c["BLOCK"])},
    "gather_columns": lambda c: {**block(c), "where": below(c["M"] * c["N"], c["M"] if c["AXIS"] == 0 else c["N"])},
    "bag": lambda c: {"grid": [2], "cols": c["BLOCK"] - 16, "ids": below(7, 4), "offsets": values(0, 3, 7), "table": some(4 * c["BLOCK"]), "out": some(2 * c["BLOCK"])},
    "spmv": lambda c: {"grid": [3], "rows": values(0, 70, 75, 75), "cols": below(75, 50), "values": some(75), "x": some(50), "y": some(3)},
    "transpose": lambda c: {"grid": [2, 1], "m": 80, "n": 48, "x": some(80 * 48), "out": some(80 * 48)},
    "reshape_zoo": lambda c: {"grid": [1], "x": some(c["N"]), "y": some(c["N"]), "out": some(3 * c["N"])},
    "inline_assembly": lambda c: {"grid": [2], **{n: some(2 * c["BLOCK"]) for n in ["x", "y", "out"]}},
    "asserts": lambda c: {"grid": [1], "n": c["BLOCK"] - 3, "x": below(c["BLOCK"], 999), "out": some(c["BLOCK"])},
    # matmul.py, products.py
    "matmul": product,
    "persistent": dense,
    "by_host_maps": tma,
    "by_device_maps": lambda c: dense(c, m=c["BM"]),
    "map_gather": lambda c: {"grid": [2], "ids": values(0, 32), "x": matrix(64, 64), "out": matrix(64, 64)},
    "split_k": lambda c: {**tiles(c, parts=c["PARTS"]), "k": 6 * c["BK"], "a": some(6 * c["BK"] * c["BM"]), "b": some(6 * c["BK"] * c["BN"]), "c": fill(c["BM"] * c["BN"])},
    "experts": lambda c: {"grid": [2, 1], "n": c["BN"], "k": 2 * c["BK"], "count": 2 * c["BM"] - 5, "top": 2, "a": some(2 * c["BM"] * c["BK"]),
                          "b": some(4 * c["BN"] * c["BK"]), "c": some(2 * c["BM"] * c["BN"]), "weights": some(2 * c["BM"]),
                          "tokens": values(*range(2 * c["BM"])), "block_expert": values(1, 0)},
    "batched": lambda c: {"grid": [1], "a": some(c["B"] * c["M"] * c["K"]), "b": some(c["B"] * c["K"] * c["N"]), "c": some(c["B"] * c["M"] * c["N"])},
    "gemv": lambda c: {"grid": [2], "n": 2 * c["BN"] - 1, "k": c["BK"] + 48, "a": some(2 * c["BN"] * (c["BK"] + 48)), "x": some(c["BK"] + 48), "y": some(2 * c["BN"])},
    "block_sparse": lambda c: {"grid": [2, 1], "n": c["BN"], "k": 64, "a": some(3 * c["BM"] * c["BM"]), "b": some(2 * c["BM"] * c["BN"]),
                               "c": some(2 * c["BM"] * c["BN"]), "columns": values(0, 1, 1), "starts": values(0, 2, 3)},
    "conv2d": lambda c: {"grid": [1, 1], "h": 8, "wd": 8, "cin": 32, "cout": 48, "oh": 8, "ow": 8, "x": some(64 * 32), "w": some(9 * 32 * 48), "out": some(64 * 48)},
    "depthwise": lambda c: {"grid": [6, 1], "length": 6, "channels": 240, "x": some(6 * 240), "w": some(4 * 240), "out": some(6 * 240)},
    "pooled": lambda c: {"grid": [1], "h": 16, "w": 32, "x": some(512), "out": some(256)},
    "low_rank": lambda c: {"grid": [1, 1], "k": 2 * c["BK"], "n": c["BN"], "x": some(2 * c["BM"] * c["BK"]), "a": some(2 * c["BK"] * c["R"]), "b": some(c["R"] * c["BN"]),
                           "out": some(c["BM"] * c["BN"])},
    "gated": lambda c: {"grid": [1, 1], "m": c["BM"] - 3, "n": c["BN"], "k": 2 * c["BK"], "x": some(2 * c["BM"] * c["BK"]), "w1": some(2 * c["BK"] * c["BN"]),
                        "w2": some(2 * c["BK"] * c["BN"]), "out": some(c["BM"] * c["BN"])},
    # attention.py, sequence.py
    "attention": flash,
    "attention_delta": lambda c: {**flash({"BM": c["BM"], "BN": c["BM"], "D": c["D"]})},
    "attention_dkdv": flash,
    "attention_dq": flash,
    "decode": lambda c: {"grid": [2, 1, 2], "stride_b": c["HEADS"] * c["D"], "stride_h": 160 * c["D"], "scale": 0.125, "parts": 2, "lengths": values(150, 100),
                         "q": some(2 * c["HEADS"] * c["D"]), "k": some(160 * c["D"]), "v": some(160 * c["D"]), "out": some(4 * c["HEADS"] * c["D"]),
                         "lse": some(4 * c["HEADS"])},
    "combine": lambda c: {"grid": [2], "parts": 3, "parts_out": some(6 * c["D"]), "lse": some(6), "out": some(2 * c["D"])},
    "paged": lambda c: {"grid": [1, 2], "pages": 3, "scale": 0.125, "table": values(2, 0, 1), "lengths": values(2 * c["PAGE"] + 5), "q": some(2 * c["D"]),
                        "cache_k": some(6 * c["PAGE"] * c["D"]), "cache_v": some(6 * c["PAGE"] * c["D"]), "out": some(2 * c["D"])},
    "windowed": lambda c: {**flash(c), "length": 120, "window": 50, "cap": 30.0, "sinks": some(1)},
    "by_maps": flash_maps,
    "linear_attention": lambda c: {"grid": [1], "length": 2 * c["BT"], **{n: some(2 * c["BT"] * c["D"]) for n in ["q", "k", "v", "out"]}, "g": fill(2 * c["BT"], -0.1)},
    "selective_scan": lambda c: {"grid": [1], "length": 5, "channels": c["BLOCK"], **{n: some(5 * c["BLOCK"]) for n in ["x", "dt", "out"]},
                                 "a": fill(c["BLOCK"] * c["STATE"], -0.5), "b": some(5 * c["STATE"]), "c": some(5 * c["STATE"])},
    "varlen_pad": lambda c: {"grid": [2, 4], "width": 4, "cols": c["BLOCK"] - 16, "starts": values(0, 3, 4), "x": some(4 * c["BLOCK"]), "out": some(8 * c["BLOCK"])},
    "kv_write": lambda c: {"grid": [2, 2], "heads": 2, "slots": values(17, -1), "k": some(4 * c["SIZE"]), "v": some(4 * c["SIZE"]),
                           "cache_k": some(4 * c["PAGE"] * c["SIZE"]), "cache_v": some(4 * c["PAGE"] * c["SIZE"])},
    # quantize.py
    "quantize_rows": lambda c: {**rows(c, "x q", count=2), "scales": some(2)},
    "quantize_blocks": lambda c: {"grid": [1], "n": c["BLOCK"], "x": some(c["BLOCK"]), "q": some(c["BLOCK"]), "scales": some(c["BLOCK"] // c["GROUP"])},
    "pack_int4": lambda c: {"grid": [1], "n": c["BLOCK"] - 3, "x": some(2 * c["BLOCK"]), "q": some(c["BLOCK"])},
    "matmul_int4": lambda c: {**tiles(c), "b": some(c["BK"] * c["BN"]), "scales": some(c["BN"])},
    "matmul_mixed": lambda c: {**tiles(c), "scale": some(c["BN"])},
    "matmul_scaled_blocks": lambda c: {**tiles(c), "sa": some(2 * c["BM"]), "sb": some(2)},
    "matmul_microscaled": scaled,
}


def launch(case, metadata):
    """The case's launch, an entry for each parameter of the kernel; None where it has none."""
    make = LAUNCHES.get(case.function.__name__)
    if make is None:
        return None
    given = make(case.constants)
    maps = iter(metadata.tensordesc_meta or [])
    parameters = []
    for name, kind, _ in case.arguments:
        value = given[name]
        if kind.startswith("tensordesc"):
            meta = next(maps)
            element = kind[len("tensordesc<"):].split("[")[0]
            parameters.append({"map": [value["rows"], value["cols"]], "type": element, "box": meta["block_size"], "swizzle": meta["swizzle"]})
            parameters += [{"type": "i32", "value": value["rows"]}, {"type": "i32", "value": value["cols"]}]
            parameters += [{"type": "i64", "value": value["cols"]}, {"type": "i64", "value": 1}]
        elif isinstance(value, dict):
            parameters.append({"type": kind[1:], **value})
        else:
            parameters.append({"type": kind, "value": value})
    grid = given["grid"]
    return {"grid": grid + [1] * (3 - len(grid)), "parameters": parameters}
