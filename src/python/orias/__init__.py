"""orias compiles NVIDIA PTX to machine code in a cubin, and shows and runs it without a GPU.

>>> import orias
>>> cubin = orias.compile('''
...     .version 8.0
...     .target sm_90a
...     .address_size 64
...     .visible .entry store(.param .u64 out) {
...         .reg .b64 %rd<2>;
...         ld.param.u64 %rd1, [out];
...         st.global.u32 [%rd1], 7;
...         ret;
...     }''')
>>> cubin.arch, cubin["store"].spill_store_bytes
('sm_90a', 0)
>>> import numpy as np
>>> out = np.zeros(1, np.uint32)
>>> orias.simulate(cubin, "store", grid=1, block=1, args=[out]).instructions > 0
True
>>> out
array([7], dtype=uint32)
"""

from ._compile import Compiler, compile, compile_many
from ._launch import disassemble, profile, simulate
from ._orias import Cancel, __version__
from ._types import (
    Cancelled,
    CompileError,
    Cubin,
    CubinError,
    Diagnostic,
    Error,
    Function,
    Job,
    LaunchError,
    Options,
    Place,
    Simulation,
    SimulationError,
)

__all__ = [
    "Cancel",
    "Cancelled",
    "CompileError",
    "Compiler",
    "Cubin",
    "CubinError",
    "Diagnostic",
    "Error",
    "Function",
    "Job",
    "LaunchError",
    "Options",
    "Place",
    "Simulation",
    "SimulationError",
    "__version__",
    "compile",
    "compile_many",
    "disassemble",
    "profile",
    "simulate",
]
