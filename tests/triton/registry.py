"""The list of kernels to compile; modules below kernels/ add to it with `case`."""
from dataclasses import dataclass, field


@dataclass
class Case:
    name: str
    function: object
    # (name, type, divisor): what the caller promises that the value is a multiple of.
    arguments: list
    constants: dict
    warps: int
    stages: int
    options: dict = field(default_factory=dict)


CASES = []


def case(name, function, arguments, warps=4, stages=3, options=None, **constants):
    """Adds a kernel.

    `arguments` lists those that are no constants: "x:*fp32 n:i32 stride:i32%16"; pointers are multiples of 16, as
    allocations are, unless they say "%1".
    """
    parsed = []
    for argument in arguments.split():
        name_, kind = argument.split(":", 1)
        divisor = 16 if kind.startswith("*") else 1
        if "%" in kind:
            kind, divisor = kind.split("%")
        parsed.append((name_, kind.replace(";", ", "), int(divisor)))
    CASES.append(Case(name, function, parsed, constants, warps, stages, options or {}))
