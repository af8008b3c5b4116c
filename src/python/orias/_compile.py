"""Compiling: one module, or many."""

from __future__ import annotations

import warnings
from functools import lru_cache
from os import PathLike, fspath
from pathlib import Path
from typing import Iterable, List, Mapping, Optional, Tuple, Union

from . import _orias
from ._orias import Cancel
from ._types import Cancelled, CompileError, Cubin, Given, Job, Options

Ptx = Union[str, bytes, "PathLike[str]"]
"""Text, its bytes, or a path of a file with it."""
Module = Union[Ptx, Tuple[str, Ptx], Job]
"""The same, with a name for messages, or with options of its own."""
Result = Union[Cubin, CompileError, Cancelled]
Folder = Union[str, "PathLike[str]"]

CACHE_BYTES = 1 << 30
"""Bytes that a cache holds where nothing else is said: as ``orias batch --cache-size``."""


def text_of(ptx: Ptx, file: Optional[str] = None) -> Tuple[str, str]:
    """The text, and the name that messages show."""
    if isinstance(ptx, str):
        return ptx, file or "<ptx>"
    if not isinstance(ptx, bytes):
        file = file or fspath(ptx)
        ptx = Path(ptx).read_bytes()
    # The lexer complains of what is no text.
    return ptx.decode("utf-8", errors="replace"), file or "<ptx>"


class Compiler:
    """Compiles modules, and keeps for the next what the one before left: threads and what they
    work with. May be used by several threads of Python at once.

    `options` are for what has none of its own; `threads` is how many to compile with, 0 for one a
    core. The result does not depend on it. `cache` is a folder of what was compiled before, which
    any number of processes may use, and ``orias batch --cache`` too; it holds `cache_bytes`, and
    what was used longest ago goes first. One that cannot be written is a `RuntimeWarning`.
    """

    def __init__(
        self,
        options: Options = Options(),
        *,
        threads: int = 0,
        cache: Optional[Folder] = None,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        self.options = options
        folder = None if cache is None else (Path(cache), cache_bytes)
        self._native = _orias.Compiler(threads, folder)

    def compile(
        self, ptx: Ptx, *, file: Optional[str] = None, cancel: Optional[Cancel] = None
    ) -> Cubin:
        """Compiles PTX: text, its bytes, or a path. Raises `CompileError`; `Cancelled`."""
        cubin = self._native.compile((*text_of(ptx, file), self.options), cancel)
        self._warn()
        return cubin

    def compile_many(
        self, modules: Iterable[Module], *, cancel: Optional[Cancel] = None
    ) -> List[Result]:
        """Compiles modules side by side, without the interpreter's lock.

        For each module, in the order given, its `Cubin` or the exception that says why there is
        none: that of one does not stop the others. Files are read before the first compile, and one
        that cannot be read raises `OSError`. Ctrl-C calls off what has not begun.
        """
        given = [self._given(module) for module in modules]
        results = self._native.compile_many(given, cancel)
        self._warn()
        return results

    def _warn(self) -> None:
        trouble = self._native.cache_trouble()
        if trouble is not None:
            warnings.warn(f"the cache is not complete: {trouble}", RuntimeWarning, stacklevel=3)

    def _given(self, module: Module) -> Given:
        if isinstance(module, Job):
            return module.ptx, module.file, module.options or self.options
        if isinstance(module, tuple):
            name, ptx = module
            return (*text_of(ptx, name), self.options)
        return (*text_of(module), self.options)


@lru_cache(maxsize=4)
def _kept(options: Options, threads: int, cache: Optional[str], cache_bytes: int) -> Compiler:
    return Compiler(options, threads=threads, cache=cache, cache_bytes=cache_bytes)


def compiler(options: Options, threads: int, cache: Optional[Folder], cache_bytes: int) -> Compiler:
    """One for all calls that ask for the same."""
    return _kept(options, threads, None if cache is None else fspath(cache), cache_bytes)


def compile(
    ptx: Ptx,
    *,
    arch: Optional[str] = None,
    opt_level: int = 3,
    fmad: bool = True,
    max_registers: Optional[int] = None,
    line_info: bool = False,
    entries: Iterable[str] = (),
    disabled: Iterable[str] = (),
    knobs: Optional[Mapping[str, object]] = None,
    budget: Optional[float] = None,
    recipes: str = "",
    use_profile: str = "",
    threads: int = 0,
    cache: Optional[Folder] = None,
    cache_bytes: int = CACHE_BYTES,
    file: Optional[str] = None,
    cancel: Optional[Cancel] = None,
) -> Cubin:
    """Compiles PTX (text, its bytes, or a path) to a cubin.

    `Options` says what the options mean, `Compiler` what `threads` and `cache` are; `file` is the
    name that messages show. Raises `CompileError`, with `diagnostics`, and `Cancelled`.
    """
    options = Options(
        arch,
        opt_level,
        fmad,
        max_registers,
        line_info,
        tuple(entries),
        tuple(disabled),
        knobs_of(knobs),
        budget,
        recipes,
        use_profile,
    )
    found = compiler(options, threads, cache, cache_bytes)
    return found.compile(ptx, file=file, cancel=cancel)


def compile_many(
    modules: Iterable[Module],
    *,
    arch: Optional[str] = None,
    opt_level: int = 3,
    fmad: bool = True,
    max_registers: Optional[int] = None,
    line_info: bool = False,
    disabled: Iterable[str] = (),
    knobs: Optional[Mapping[str, object]] = None,
    budget: Optional[float] = None,
    recipes: str = "",
    use_profile: str = "",
    threads: int = 0,
    cache: Optional[Folder] = None,
    cache_bytes: int = CACHE_BYTES,
    cancel: Optional[Cancel] = None,
) -> List[Result]:
    """Compiles modules side by side: see `Compiler.compile_many`."""
    options = Options(
        arch,
        opt_level,
        fmad,
        max_registers,
        line_info,
        (),
        tuple(disabled),
        knobs_of(knobs),
        budget,
        recipes,
        use_profile,
    )
    return compiler(options, threads, cache, cache_bytes).compile_many(modules, cancel=cancel)


def knobs_of(knobs: Optional[Mapping[str, object]]) -> Tuple[Tuple[str, str], ...]:
    """As `Options` has them."""
    return tuple((name, str(value)) for name, value in (knobs or {}).items())
