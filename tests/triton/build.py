"""Writes the PTX of every kernel below kernels/: NAME.ptx, and NAME.json with what a launch needs.

    python build.py FOLDER [PART…]     only kernels whose name has one of the parts

Needs Triton and nothing else: no torch, no GPU, no CUDA. A kernel that Triton refuses is listed at the end and makes the
command fail: this set is chosen so that the pinned version takes all of it.
"""
import importlib
import json
import os
import pathlib
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# Before Triton is imported: no .loc lines, nothing from an earlier run's cache.
os.environ["TRITON_DISABLE_LINE_INFO"] = "1"
os.environ["TRITON_ALWAYS_COMPILE"] = "1"
os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp(prefix="orias-triton-")

import shutil

import triton
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import CUDABackend

from launches import launch
from registry import CASES

TARGET = GPUTarget("cuda", 90, 32)
# The wheel's own ptxas is not asked: what happens to the PTX is the comparison's matter.
CUDABackend.make_cubin = lambda *arguments: b""


def compile_case(case):
    """The PTX and what Triton says of it."""
    signature, constants, attributes = {}, dict(case.constants), {}
    for index, (name, kind, divisor) in enumerate(case.arguments):
        signature[name] = kind
        if divisor > 1:
            attributes[(index,)] = [["tt.divisibility", divisor]]
    for name in constants:
        signature[name] = "constexpr"
    source = triton.compiler.ASTSource(fn=case.function, signature=signature, constexprs=constants, attrs=attributes)
    options = {"num_warps": case.warps, "num_stages": case.stages, **case.options}
    return triton.compile(source, target=TARGET, options=options)


def describe(case, compiled, ptx):
    """What a launch needs: the kernel's parameters are the arguments in order, then Triton's two scratch pointers."""
    head = re.search(r"\.entry\s+(\w+)\s*\((.*?)\)", ptx, re.S)
    threads = re.search(r"\.reqntid\s+(\d+)", ptx)
    metadata = compiled.metadata
    return {
        "entry": head.group(1),
        "block": int(threads.group(1)) if threads else 32 * case.warps,
        "shared": metadata.shared,
        "global_scratch": getattr(metadata, "global_scratch_size", 0),
        "params": re.findall(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)", head.group(2)),
        "arguments": [[name, kind] for name, kind, _ in case.arguments],
        "constants": {k: v if isinstance(v, (int, float, bool)) else str(v) for k, v in case.constants.items()},
        "launch": launch(case, metadata),
        "num_warps": case.warps,
        "num_stages": case.stages,
    }


def main():
    out = pathlib.Path(sys.argv[1])
    parts = sys.argv[2:]
    out.mkdir(parents=True, exist_ok=True)
    for file in sorted((HERE / "kernels").glob("*.py")):
        importlib.import_module(f"kernels.{file.stem}")
    wanted = [c for c in CASES if not parts or any(p in c.name for p in parts)]
    names = [c.name for c in wanted]
    if len(set(names)) != len(names):
        sys.exit(f"named twice: {sorted(n for n in names if names.count(n) > 1)}")
    if not parts:
        for old in [*out.glob("*.ptx"), *out.glob("*.json")]:
            old.unlink()
    refused = []
    for case in wanted:
        try:
            compiled = compile_case(case)
            ptx = compiled.asm["ptx"]
            (out / f"{case.name}.ptx").write_text(ptx)
            (out / f"{case.name}.json").write_text(json.dumps(describe(case, compiled, ptx)) + "\n")
        except Exception as error:
            refused.append(f"{case.name}: {type(error).__name__}: {' '.join(str(error).split())[:300]}")
    shutil.rmtree(os.environ["TRITON_CACHE_DIR"], ignore_errors=True)
    print(f"Triton {triton.__version__}: {len(wanted) - len(refused)} of {len(wanted)} kernels written to {out}")
    if refused:
        sys.exit("\n".join(refused))


if __name__ == "__main__":
    main()
