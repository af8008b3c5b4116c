"""Compiling a dataset of PTX on a Ray cluster: ``pip install orias[ray]``, on every node.

>>> import ray, orias.ray
>>> ray.init()                                                      # doctest: +SKIP
>>> for result in orias.ray.compile(paths, opt_level=3):            # doctest: +SKIP
...     print(result.name, result.error or len(result.cubin))

Modules go to the nodes in shards of about equal cost, and results come back as they are made, each
exactly once. Ray runs a shard again that is lost with its worker or its node; what an input gives
does not depend on where or how often it was compiled.
"""

from __future__ import annotations

import os
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import (
    Any,
    Deque,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Set,
    Tuple,
    Union,
)

import ray
from ray import exceptions

from ._compile import CACHE_BYTES, Folder, compiler, knobs_of
from ._types import Cubin, Error, Job, Options

Input = Union[str, "os.PathLike[str]", Tuple[str, str]]
"""A path of a file with PTX, which the calling process reads, or a name and PTX."""

SHARD_BYTES = 256 << 10
"""Bytes of PTX in a shard at most, but for a longer module, which is alone: they compile in a
hundred times what a task of Ray costs, and few enough of them are lost with a node."""

SHARDS_A_CPU = 4
"""Shards for each CPU of the cluster at least, where there is as much to do: so that all of them
end at about the same time."""

_DIED = (
    exceptions.WorkerCrashedError,
    exceptions.NodeDiedError,
    exceptions.LocalRayletDiedError,
    exceptions.OutOfMemoryError,
    exceptions.ObjectLostError,
)
"""What a task ends with that was lost once more than it may be tried again."""


class WorkerDied(Error):
    """The worker died each time that it compiled this input, alone."""


@dataclass(frozen=True)
class Result:
    """What became of an input."""

    name: str
    """Its path, or the name that it was given with."""
    cubin: Optional[Cubin]
    error: Optional[Exception]
    """Why there is no cubin: `CompileError`, `OSError` of its file, `WorkerDied`."""
    node: str
    """Id of the node that compiled it; empty where none did."""


@dataclass(frozen=True)
class _How:
    """How a worker compiles."""

    options: Options
    cpus: int
    cache: Optional[str]
    cache_bytes: int


@dataclass(frozen=True)
class _Shard:
    modules: Tuple[Tuple[str, str], ...]

    def halves(self) -> List["_Shard"]:
        middle = len(self.modules) // 2
        return [_Shard(self.modules[:middle]), _Shard(self.modules[middle:])]


def compile(
    inputs: Iterable[Input],
    *,
    arch: Optional[str] = None,
    opt_level: int = 3,
    fmad: bool = True,
    max_registers: Optional[int] = None,
    line_info: bool = False,
    disabled: Iterable[str] = (),
    knobs: Optional[Mapping[str, object]] = None,
    recipes: str = "",
    use_profile: str = "",
    cache: Optional[Folder] = None,
    cache_bytes: int = CACHE_BYTES,
    cpus: int = 1,
    retries: int = 3,
    shard_bytes: Optional[int] = None,
    shards_in_flight: Optional[int] = None,
) -> "Run":
    """Compiles inputs on the cluster that `ray` is connected to; iterate over what it gives.

    `cache` is a folder that each node finds under this name: one that all of them share, or one
    on each; see `orias.Compiler`. `cpus` is how many CPUs a shard takes, which are also its threads; `retries` how often Ray runs
    a shard again that was lost. A shard lost more often is split, until the input is found that
    workers die of. `shards_in_flight` bounds what is sent and not yet back, and so the memory of a
    dataset that an iterator makes; without it there are two for each that can run.

    Inputs of a sequence (a list, not an iterator) are compiled largest first. Names must differ:
    the second of two raises `ValueError`.
    """
    options = Options(
        arch,
        opt_level,
        fmad,
        max_registers,
        line_info,
        disabled=tuple(disabled),
        knobs=knobs_of(knobs),
        recipes=recipes,
        use_profile=use_profile,
    )
    folder = None if cache is None else os.fspath(cache)
    how = _How(options, max(1, cpus), folder, cache_bytes)
    return Run(inputs, how, retries, shard_bytes, shards_in_flight)


class Run(Iterator[Result]):
    """A compile on its way: an iterator over results, in the order in which they come."""

    def __init__(
        self,
        inputs: Iterable[Input],
        how: _How,
        retries: int,
        shard_bytes: Optional[int],
        shards_in_flight: Optional[int],
    ) -> None:
        self._how = how
        self._in_flight = shards_in_flight
        self._slots = 0
        self._counted = float("-inf")
        if isinstance(inputs, Sequence):
            inputs = sorted(inputs, key=_bytes_of, reverse=True)
            even = sum(map(_bytes_of, inputs)) // (SHARDS_A_CPU * self._slots_now())
            shard_bytes = shard_bytes or min(SHARD_BYTES, even)
        self._ready: Deque[Result] = deque()
        self._again: Deque[_Shard] = deque()
        self._shards = self._cut(inputs, SHARD_BYTES if shard_bytes is None else shard_bytes)
        self._running: Dict[Any, _Shard] = {}
        self._cancelled = False
        task = ray.remote(_compile_shard)
        self._task = task.options(num_cpus=how.cpus, max_retries=retries)

    def __iter__(self) -> "Run":
        return self

    def __next__(self) -> Result:
        while not self._cancelled:
            if self._ready:
                return self._ready.popleft()
            self._fill()
            if self._ready:
                continue
            if not self._running:
                break
            done, _ = ray.wait(list(self._running), num_returns=1)
            for task in done:
                self._take(task)
        raise StopIteration

    def cancel(self) -> None:
        """Calls off what is not yet done; the iterator ends. From any thread."""
        self._cancelled = True
        for task in list(self._running):
            ray.cancel(task)
        self._running.clear()

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()

    def __del__(self) -> None:
        # Nobody asks for the rest; Ray may be gone too.
        if getattr(self, "_running", None) and ray.is_initialized():
            self.cancel()

    def _fill(self) -> None:
        """Sends shards until enough are on their way."""
        most = self._in_flight or 2 * self._slots_now()
        while len(self._running) < most:
            shard = self._again.popleft() if self._again else next(self._shards, None)
            if shard is None:
                return
            sent = self._task.remote(list(shard.modules), self._how)
            self._running[sent] = shard

    def _take(self, task: Any) -> None:
        """What a task gave."""
        shard = self._running.pop(task, None)
        if shard is None:
            return
        try:
            node, results = ray.get(task)
        except exceptions.TaskCancelledError:
            if not self._cancelled:
                raise
        except _DIED as error:
            if len(shard.modules) > 1:
                self._again.extend(shard.halves())
            else:
                name = shard.modules[0][0]
                died = WorkerDied(f"{name}: its worker died each time: {error}")
                self._ready.append(Result(name, None, died, ""))
        else:
            for (name, _), result in zip(shard.modules, results):
                made = isinstance(result, Cubin)
                cubin, wrong = (result, None) if made else (None, result)
                self._ready.append(Result(name, cubin, wrong, node))

    def _slots_now(self) -> int:
        """Shards that can run at once; nodes come and go."""
        if time.monotonic() - self._counted > 1:
            self._counted = time.monotonic()
            found = ray.cluster_resources().get("CPU", 0)
            self._slots = max(1, int(found) // self._how.cpus)
        return self._slots

    def _cut(self, inputs: Iterable[Input], shard_bytes: int) -> Iterator[_Shard]:
        """Shards of the inputs, read as they are asked for."""
        names: Set[str] = set()
        modules: List[Tuple[str, str]] = []
        size = 0
        for given in inputs:
            name, text = given if isinstance(given, tuple) else (os.fspath(given), None)
            if name in names:
                raise ValueError(f"two inputs have the name {name!r}")
            names.add(name)
            if text is None:
                try:
                    text = Path(name).read_bytes().decode("utf-8", errors="replace")
                except OSError as error:
                    self._ready.append(Result(name, None, error, ""))
                    continue
            if modules and size + len(text) > shard_bytes:
                yield _Shard(tuple(modules))
                modules, size = [], 0
            modules.append((name, text))
            size += len(text)
        if modules:
            yield _Shard(tuple(modules))


def _bytes_of(given: Input) -> int:
    """About: the estimate of what it costs to compile."""
    if isinstance(given, tuple):
        return len(given[1])
    try:
        return os.path.getsize(given)
    except OSError:
        return 0


def _compile_shard(modules: List[Tuple[str, str]], how: _How) -> Tuple[str, List[Any]]:
    """What a worker does: its node, and for each module a cubin or an exception."""
    jobs = [Job(text, name) for name, text in modules]
    found = compiler(how.options, how.cpus, how.cache, how.cache_bytes)
    results = found.compile_many(jobs)
    return ray.get_runtime_context().get_node_id(), list(results)
