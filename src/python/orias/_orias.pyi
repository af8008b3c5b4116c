"""The native part (`src/python/*.rs`); the modules beside this one are its users' face."""

from os import PathLike
from typing import List, Optional, Tuple, Union, final

from ._types import Cancelled, CompileError, Cubin, Given

__all__ = ["Cancel", "Compiler", "__version__", "disassemble", "simulate"]

__version__: str

@final
class Cancel:
    """Calls compiles off: all that were given it, from any thread, for good. They look at it
    between phases and between functions, so they end soon, not at once."""

    def __new__(cls) -> Cancel: ...
    def cancel(self) -> None: ...
    @property
    def cancelled(self) -> bool: ...

@final
class Compiler:
    def __new__(
        cls, threads: int, cache: Optional[Tuple[PathLike[str], int]]
    ) -> Compiler: ...
    def cache_trouble(self) -> Optional[str]: ...
    def compile(self, module: Given, cancel: Optional[Cancel]) -> Cubin: ...
    def compile_many(
        self, modules: List[Given], cancel: Optional[Cancel]
    ) -> List[Union[Cubin, CompileError, Cancelled]]: ...

def disassemble(
    cubin: bytes, form: str, labels: bool, hex: bool, control: bool, functions: List[str]
) -> str: ...
def simulate(
    code: bytes,
    file: str,
    entry: str,
    grid: Tuple[int, int, int],
    block: Tuple[int, int, int],
    cluster: Optional[Tuple[int, int, int]],
    shared: int,
    args: List[Tuple[str, bytes, bool]],
    hazards: bool,
    uninit: bool,
    barriers: bool,
    max_steps: Optional[int],
    strict_regions: bool,
) -> Tuple[List[bytes], bytes, str, str]: ...
