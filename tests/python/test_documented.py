"""What is written of the package holds: examples, stubs, types."""

import doctest
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

import orias

ROOT = Path(__file__).parents[2]
README = ROOT / "src/python/README.md"


def examples():
    """The Python blocks of the README: those for one machine, and those for a cluster."""
    blocks = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.M | re.S)
    return [b for b in blocks if "orias.ray" not in b], [b for b in blocks if "orias.ray" in b]


def test_the_readmes_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    alone, on_a_cluster = examples()
    assert len(alone) >= 4 and len(on_a_cluster) == 1
    names = {}
    for block in alone:
        exec(compile(block, str(README), "exec"), names)


def test_the_packages_example_runs():
    with np.printoptions():
        result = doctest.testmod(orias)
    assert result.attempted >= 6 and result.failed == 0


def test_all_that_is_exported_is_documented():
    for name in orias.__all__:
        assert name == "__version__" or getattr(orias, name).__doc__, name


def test_stubs_and_types_are_right(tmp_path):
    user = tmp_path / "user.py"
    user.write_text("""
import numpy as np
import orias

cubin: orias.Cubin = orias.compile("", arch="sm_90a", cancel=orias.Cancel())
registers: int = cubin["k"].registers
for result in orias.compile_many([("a", "text"), "text"], threads=2):
    if isinstance(result, orias.CompileError):
        line = result.diagnostics[0].line
        reveal_type(line)
run = orias.simulate(cubin, "k", 1, (1, 1), [np.zeros(4, np.float32), ("f32", 1.0)])
reveal_type(run.cycles)
orias.compile("", opt_level="3")
""")
    run = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache")]
    said = subprocess.run([*run, str(user)], capture_output=True, text=True)
    lines = said.stdout.splitlines()
    assert sum("error:" in line for line in lines) == 1, said.stdout
    assert any('expected "int"' in line and ":13:" in line for line in lines), said.stdout
    assert sum("int | None" in line or "Union[builtins.int, None]" in line for line in lines) == 2
    stubs = [sys.executable, "-m", "mypy.stubtest", "orias._orias"]
    said = subprocess.run(stubs, capture_output=True, text=True, cwd=tmp_path)
    assert said.returncode == 0, said.stdout
    run += ["--config-file", str(ROOT / "src/python/pyproject.toml"), "-p", "orias"]
    said = subprocess.run(run, capture_output=True, text=True, cwd=tmp_path)
    assert said.returncode == 0, said.stdout
