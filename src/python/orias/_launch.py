"""Kernels without a GPU, and listings of their code."""

from __future__ import annotations

import json
import struct
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Iterable, List, Optional, Sequence, Tuple, Union

import numpy as np

from . import _orias
from ._types import Cubin, CubinError, Simulation

Code = Union[Cubin, str, bytes, "PathLike[str]"]
"""PTX text, a cubin (bytes too), or a path of a file with either."""
Dimensions = Union[int, Sequence[int]]
Argument = Union["np.ndarray[Any, Any]", np.generic, bytes, Tuple[str, Any]]

_SCALARS = {
    "u8": "B", "u16": "H", "u32": "I", "u64": "Q",
    "s8": "b", "s16": "h", "s32": "i", "s64": "q",
    "f16": "e", "f32": "f", "f64": "d",
}  # fmt: skip


def simulate(
    code: Code,
    entry: str,
    grid: Dimensions,
    block: Dimensions,
    args: Iterable[Argument] = (),
    *,
    shared: int = 0,
    cluster: Optional[Dimensions] = None,
    hazards: bool = False,
    check: Iterable[str] = (),
    max_steps: Optional[int] = None,
    strict_regions: bool = False,
) -> Simulation:
    """Runs a kernel: PTX in the reference interpreter, a cubin in the simulator of its code.

    `args` are the kernel's arguments, in the order of its parameters:

    * a numpy array is a buffer, passed by its address, and updated in place; one that is not
      writeable is a buffer that the kernel may not write. It lies in memory as `order="C"`;
    * a numpy scalar (``np.float32(2)``) or a pair (``("f32", 2)``) is a number of that type, and
      must be as long as its parameter: u8 to u64, s8 to s64, f16, f32, f64;
    * bytes, or a numpy scalar of a structured type, are a parameter passed by value;
    * ``("tensor", "0,f16,64x128,32x8")`` is the map of a tensor in the buffer of argument 0, with
      what ``orias sim --arg tensor=`` takes.

    `grid` and `block` are one to three numbers, `shared` the bytes of dynamic shared memory,
    `cluster` the blocks of a cluster. `hazards` looks for registers that neither stalls nor
    scoreboards protect, `check` for misuse (``uninit``, ``barriers``); both are in what is
    returned. `max_steps` is how many instructions warps may execute, `strict_regions` lets no
    thread go on that waits to reconverge.

    Raises `SimulationError` with the place of what stopped it, and leaves the arrays as they were;
    `LaunchError` where the launch does not fit the kernel; `CompileError`; `CubinError`.
    """
    arguments = list(args)
    _apart(arguments)
    contents, simulation = _run(
        code, entry, grid, block, arguments, shared, cluster, hazards, check, max_steps,
        strict_regions,
    )  # fmt: skip
    arrays = [argument for argument in arguments if isinstance(argument, np.ndarray)]
    for array, content in zip(arrays, contents):
        if array.flags.writeable:
            array[...] = np.frombuffer(content, array.dtype).reshape(array.shape)
    return simulation


def profile(
    cubin: Union[Cubin, bytes, "PathLike[str]"],
    entry: str,
    grid: Dimensions,
    block: Dimensions,
    args: Iterable[Argument] = (),
    *,
    shared: int = 0,
    cluster: Optional[Dimensions] = None,
    max_steps: Optional[int] = None,
) -> Simulation:
    """What a cubin's kernel costs, by the simulator's model of the machine: instructions,
    estimated cycles, hazards. As `simulate`, but it leaves the arrays as they are, and PTX, which
    has no timing, is no cubin.
    """
    code, name = _bytes_of(cubin)
    if not code.startswith(b"\x7fELF"):
        raise CubinError(f"{name}: it is no cubin")
    return _run(
        code, entry, grid, block, list(args), shared, cluster, True, (), max_steps, False
    )[1]  # fmt: skip


def disassemble(
    cubin: Union[Cubin, bytes, "PathLike[str]"],
    *,
    labels: bool = False,
    hex: bool = False,
    control: bool = False,
    functions: Iterable[str] = (),
    format: str = "text",
) -> str:
    """The machine code of a cubin as text.

    As ``cuobjdump -sass``; with `labels` as ``nvdisasm -c``, and then `hex` prints words too;
    `control` prints scoreboards and stalls. `functions` are the only ones to print. `format` may
    also be ``json`` (everything that is known of each instruction: ``src/dis/json.rs``) or ``cfg``
    (control flow for Graphviz). Raises `CubinError`.
    """
    code, _ = _bytes_of(cubin)
    return _orias.disassemble(code, format, labels, hex, control, list(functions))


def _bytes_of(code: Code) -> Tuple[bytes, str]:
    """The bytes, and the name that messages show."""
    if isinstance(code, Cubin):
        return code.data, "<cubin>"
    if isinstance(code, str):
        return code.encode("utf-8", errors="replace"), "<ptx>"
    if isinstance(code, (bytes, bytearray, memoryview)):
        return bytes(code), "<code>"
    return Path(code).read_bytes(), fspath(code)


def _run(
    code: Code,
    entry: str,
    grid: Dimensions,
    block: Dimensions,
    args: List[Argument],
    shared: int,
    cluster: Optional[Dimensions],
    hazards: bool,
    check: Iterable[str],
    max_steps: Optional[int],
    strict_regions: bool,
) -> Tuple[List[bytes], Simulation]:
    what = set(check)
    if what - {"uninit", "barriers"}:
        raise ValueError(f"check: {sorted(what)}: 'uninit' and 'barriers' can be looked for")
    content, file = _bytes_of(code)
    buffers, printed, report, seen = _orias.simulate(
        content,
        file,
        entry,
        _dimensions("grid", grid),
        _dimensions("block", block),
        None if cluster is None else _dimensions("cluster", cluster),
        shared,
        [_argument(index, argument) for index, argument in enumerate(args)],
        hazards,
        "uninit" in what,
        "barriers" in what,
        max_steps,
        strict_regions,
    )
    given = json.loads(report)
    simulation = Simulation(
        entry=given["entry"],
        instructions=given["instructions"],
        thread_instructions=given["thread_instructions"],
        cycles=given["cycles"],
        hazards=tuple(given["hazards"]),
        unseen=tuple(given["unseen"]),
        misuse=tuple(given["misuse"]),
        printed=printed,
        profile=seen,
    )
    return buffers, simulation


def _apart(args: Sequence[Argument]) -> None:
    """Buffers lie apart from each other: of two that share memory each would miss what the kernel
    wrote to the other."""
    arrays = [(i, array) for i, array in enumerate(args) if isinstance(array, np.ndarray)]
    for at, (j, array) in enumerate(arrays):
        for i, other in arrays[:at]:
            if (array.flags.writeable or other.flags.writeable) and np.may_share_memory(
                array, other
            ):
                raise ValueError(f"arguments {i} and {j} share memory")


def _dimensions(what: str, value: Dimensions) -> Tuple[int, int, int]:
    given = (value,) if isinstance(value, (int, np.integer)) else tuple(value)
    if not 1 <= len(given) <= 3 or not all(0 < int(n) < 1 << 32 for n in given):
        raise ValueError(f"{what}: one to three numbers from 1 on are wanted, not {value!r}")
    x, y, z = (*(int(n) for n in given), 1, 1)[:3]
    return x, y, z


def _argument(index: int, argument: Argument) -> Tuple[str, bytes, bool]:
    """Kind, bytes, and whether the kernel may write them."""
    if isinstance(argument, np.ndarray):
        if not argument.flags.c_contiguous:
            raise ValueError(f"argument {index}: an array must lie in memory as order='C'")
        if argument.dtype.hasobject:
            raise TypeError(f"argument {index}: an array of Python objects")
        return "buffer", argument.tobytes(), bool(argument.flags.writeable)
    if isinstance(argument, np.generic):
        return "bytes", argument.tobytes(), False
    if isinstance(argument, bytes):
        return "bytes", argument, False
    if isinstance(argument, tuple) and len(argument) == 2:
        kind, value = argument
        if kind == "tensor":
            return "tensor", str(value).encode(), False
        if kind in _SCALARS:
            try:
                return "bytes", struct.pack("<" + _SCALARS[kind], value), False
            except (struct.error, OverflowError) as error:
                raise ValueError(f"argument {index}: {value!r} as {kind}: {error}") from None
    raise TypeError(
        f"argument {index}: a numpy array or scalar, bytes, or a pair of a type and a value is"
        f" wanted, such as ('s32', 5), not {argument!r}"
    )
