"""What calls take, give and raise."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Optional, Tuple, Union


@dataclass(frozen=True)
class Diagnostic:
    """One thing that was found in a text."""

    severity: str
    """``warning``, ``error``, or ``fatal`` (nothing after it was read)."""
    message: str
    file: str
    line: Optional[int]
    """From 1 on, as the column, which counts characters; None where it has no place."""
    column: Optional[int]
    text: str
    """All of it for a terminal: message, place, source line, caret, notes."""
    notes: Tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text


class Error(Exception):
    """All that orias raises of its own."""


class CompileError(Error):
    """PTX that is wrong, or that orias cannot compile yet."""

    diagnostics: Tuple[Diagnostic, ...]
    """Everything that was found, warnings among it, in the order in which it was found."""

    def __init__(self, message: str, diagnostics: Tuple[Diagnostic, ...] = ()) -> None:
        super().__init__(message, diagnostics)
        self.diagnostics = diagnostics

    def __str__(self) -> str:
        return str(self.args[0]).rstrip("\n")


class Cancelled(Error):
    """A compile was called off by its `Cancel`."""


class CubinError(Error, ValueError):
    """Bytes that are no cubin, or one that cannot be read."""


class LaunchError(Error, ValueError):
    """A launch that does not fit its kernel: names, shapes, arguments."""


@dataclass(frozen=True)
class Place:
    """An instruction, and the thread that it stopped."""

    function: str
    instruction: str
    line: Optional[int]
    """Its line in the PTX, from 1 on; None for machine code."""
    offset: Optional[int]
    """Bytes from the start of the function's machine code; None for PTX."""
    block: Tuple[int, int, int]
    thread: Tuple[int, int, int]


class SimulationError(Error, RuntimeError):
    """A launch that could not run to its end: a wrong access, a trap, a deadlock, too many steps."""

    place: Optional[Place]
    """The instruction that could not run; None where it was not one (a deadlock, a limit)."""

    def __init__(self, message: str, place: Optional[Place] = None) -> None:
        super().__init__(message, place)
        self.place = place

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True)
class Options:
    """How to compile. The default is what ptxas does without options, for the PTX's own target."""

    arch: Optional[str] = None
    """Such as ``sm_90a``; None is the PTX's own ``.target``."""
    opt_level: int = 3
    """0 to 3"""
    fmad: bool = True
    """Contract multiplications and additions of floats."""
    max_registers: Optional[int] = None
    """Registers that a thread may have."""
    line_info: bool = False
    """Say which lines the code comes from also where the PTX names none."""
    entries: Tuple[str, ...] = ()
    """The only kernels to compile; none named is all of them."""
    disabled: Tuple[str, ...] = ()
    """Names of phases that do not run (``orias phases`` lists them)."""
    knobs: Tuple[Tuple[str, str], ...] = ()
    """Names and values of tuning values of phases."""
    budget: Optional[float] = None
    """Seconds that this level may take; then -O1 gets as much, and at last -O0 has to do. What
    came out so depends on the machine's mood: `Cubin.fell_back`. None is no limit."""
    recipes: str = ""
    """Lines of JSON that set knobs and leave phases out by kernels' names, as ``--recipes`` reads
    them: ``{"kernel": "matmul_*", "knobs": {"UnrollTimes": 2}, "disable": ["GvnCse"]}``."""
    use_profile: str = ""
    """Lines of JSON that say how often instructions were seen to run, as ``--use-profile`` reads
    them: `Simulation.profile`."""


@dataclass(frozen=True)
class Job:
    """One module of many to compile."""

    ptx: str
    file: str = "<ptx>"
    """The name that messages show."""
    options: Optional[Options] = None
    """In place of those of the whole call."""


Given = Tuple[str, str, Options]
"""A module for `_orias`: PTX, the name that messages show, options."""


@dataclass(frozen=True)
class Function:
    """What became of a function."""

    name: str
    entry: bool
    """A kernel, not a device function."""
    registers: int
    """Registers of a thread."""
    instructions: int
    """Machine instructions of its own, without padding and what it calls."""
    barriers: int
    """Named barriers."""
    shared_bytes: int
    """Bytes of static shared variables."""
    frame_bytes: int
    """Bytes of its own frame in local memory."""
    stack_bytes: int
    """Bytes of stack with what it calls, for a kernel."""
    spill_store_bytes: int
    """Bytes that spill code stores, and loads, once for each instruction that does so."""
    spill_load_bytes: int
    constant_bytes: Tuple[int, int]
    """Bytes of constant bank 0 and of bank 3."""
    seconds: float = field(compare=False)
    """That its code took to make."""


@dataclass(frozen=True)
class Cubin:
    """A compiled module. ``bytes(cubin)`` is the file."""

    data: bytes = field(repr=False)
    """The file."""
    arch: str
    """The SM that it is for, such as ``sm_90a``."""
    functions: Tuple[Function, ...]
    """One for each function with code, in source order."""
    warnings: Tuple[Diagnostic, ...]
    """What was found fault with, and compiled all the same."""
    global_bytes: int
    """Bytes of initialised and zero global memory."""
    opt_level: int
    """The level that it was compiled at."""
    fell_back: bool
    """That is lower than the one asked for, because the time for that was over."""
    cached: bool = field(compare=False)
    """It was not compiled now, but found in a cache."""

    def __bytes__(self) -> bytes:
        return self.data

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, name: str) -> Function:
        """The function of this name; KeyError where there is none."""
        for function in self.functions:
            if function.name == name:
                return function
        raise KeyError(name)

    def write(self, path: Union[str, "PathLike[str]"]) -> None:
        """Writes the file: whole, or not at all."""
        path = Path(path)
        part = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}.part")
        try:
            part.write_bytes(self.data)
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)


@dataclass(frozen=True)
class Simulation:
    """What a launch gave, beside the contents of its buffers."""

    entry: str
    instructions: int
    """Instructions that warps executed."""
    thread_instructions: int
    """One for each lane that an instruction ran for."""
    cycles: Optional[int]
    """Estimated, to compare two cubins of one kernel; None for PTX, which has no timing."""
    hazards: Tuple["dict[str, Any]", ...]
    """Registers that neither stalls nor scoreboards protect, where they were looked for: the
    objects of ``orias sim --json`` (``src/launch/report.rs``)."""
    unseen: Tuple[str, ...]
    """Of what ran, what ptxas was never seen to emit, where hazards were looked for."""
    misuse: Tuple[str, ...]
    """What `check` found: a line for each instruction."""
    printed: bytes
    """What the threads printed."""
    profile: str = ""
    """How often threads came to the instructions, for ``use_profile``; empty for a cubin."""
