"""What the tests share; counts as `tests/count.sh` reads them."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

STORE = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry store(.param .u64 out, .param .u32 value) {
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [value];
    st.global.u32 [%rd1], %r1;
    ret;
}
"""

# Line 9 names a register that nothing declares.
WRONG = STORE.replace("[%rd1], %r1", "[%rd1], %r7")


@pytest.fixture
def store():
    """A kernel that stores its second argument where its first one says."""
    return STORE


@pytest.fixture
def wrong():
    """The same with an error in line 9."""
    return WRONG


@pytest.fixture
def vecadd():
    """The folder of a kernel of the corpus, with its PTX and data."""
    return ROOT / "tests/corpus/vecadd"


@pytest.fixture
def program():
    """The compiler as a program."""
    return ROOT / "target/debug/orias"


@pytest.fixture
def corpus():
    """The PTX files of the corpus, in order."""
    files = sorted((ROOT / "tests/corpus").glob("*/*.ptx"))
    assert len(files) > 60
    return files


def pytest_terminal_summary(terminalreporter):
    """The line that cargo's runner prints. Skipped tests are among the passed ones in it, and named
    in the file that `tests/count.sh` asks for, as for Rust (`tests/runner/skip.rs`)."""
    reports = terminalreporter.stats
    skipped = reports.get("skipped", [])
    failed = len(reports.get("failed", [])) + len(reports.get("error", []))
    passed = len(reports.get("passed", [])) + len(skipped)
    state = "FAILED" if failed else "ok"
    terminalreporter.write_line(
        f"test result: {state}. {passed} passed; {failed} failed; 0 ignored"
    )
    if os.environ.get("ORIAS_SKIPS"):
        with open(os.environ["ORIAS_SKIPS"], "a") as file:
            for report in skipped:
                reason = str(report.longrepr[-1]).removeprefix("Skipped: ").replace("\n", " ")
                file.write(f"pytest\t{report.nodeid}\t{reason}\n")
